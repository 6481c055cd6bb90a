"""What no control takes: for each parameter that a control's methods have, values of it that cannot be.

A parameter that is not in the table is an error: whoever adds one says what is wrong for it.
"""

import inspect
from math import inf, nan

from kcoord.control import ControlError, Impossible, NotFound
from kcoord.faults import FaultRule

HUGE = 10**5000
"""Python does not even write it."""
NO_TEXT = [None, 0, True, 1.5, HUGE, b"g", [], {}, (), object(), (each for each in "g"), "\ud800", "x" * 40_000]
NO_NAME = ["", *NO_TEXT]
NO_FLAG = [None, 0, 1, 1.0, "yes", "true", b"", [], object()]
NO_NUMBER = [-1, True, 1.5, 1.0, "1", b"1", nan, inf, 2**31, HUGE, -HUGE, [1], {}, object()]
NO_SECONDS = [
    None, True, "1", b"1", -1, -0.5, nan, inf, -inf, 1e300, HUGE, -HUGE, 366 * 24 * 3600 + 1, [1], 1j, object(),
]  # fmt: skip
WRONG = {
    "group_id": NO_NAME,
    "member": NO_NAME,
    "instance_id": NO_NAME,
    "name": [*NO_NAME, ".", "..", "a b", "ä", "x" * 250, "a\nb"],
    "reason": NO_TEXT,
    "elect": NO_FLAG,
    "heartbeats": NO_FLAG,
    "synced": NO_FLAG,
    "seconds": NO_SECONDS,
    "loading": NO_SECONDS,
    "timeout": NO_SECONDS,
    "node_id": [None, 77, *NO_NUMBER],
    "to": [77, *NO_NUMBER],
    "number": [None, 77, *NO_NUMBER],
    "members": NO_NUMBER,
    "most_events": NO_NUMBER,
    "generation": NO_NUMBER,
    "state": ["", "stable", "Running", "Empty", "Dead", b"Stable", 1, True, [], object(), "\ud800"],
    "partitions": [None, 0, 100_001, 10**9, *NO_NUMBER],
    "settings": [
        None, 5, "x", [], [("retention.ms", "1")], object(), {5: "1"}, {"no.such": "1"}, {"": "1"}, {"\ud800": "1"},
        *({"retention.ms": value} for value in (None, "x", b"1", nan, HUGE, [1], object(), "\ud800")),
    ],
    "offsets": [
        None, 5, "x", [], (), [("t", 0)], object(), (each for each in ()),
        *({place: 1} for place in ("t", ("t",), ("t", 0, 1), ("t", "0"), ("t", 1.0), ("t", True), ("t", None), (1, 0))),
        *({place: 1} for place in (("t", -1), ("t", 2**31), ("t", HUGE), ("", 0), ("\ud800", 0), (b"t", 0))),
        *({("t", 0): value} for value in (True, "5", 1.0, nan, -1, 2**63, HUGE, b"", [], object())),
        *({("t", 0): (5, value)} for value in (b"m", None, 6, "\ud800", "m" * 5000)),
        *({("t", 0): value} for value in ((5,), (5, "m", 7), (None, "m"), (-1, "m"))),
        {("t", 0): 1, ("t", 1): -1},
    ],
    "rule": [
        5, "x", b"", [], [("error", 27)], object(), {}, {"error": 27, "strange": 1}, {1: 2, "x": 3}, {"error": "NONE"},
        *({"error": 27, key: value} for key in ("delay", "late", "seconds") for value in NO_SECONDS[1:]),
        *({"error": 27, key: value} for key in ("nth", "times", "partition") for value in NO_NUMBER),
        *({"error": 27, key: value} for key in ("api", "group", "member", "topic") for value in NO_TEXT[1:-1]),
        *({"error": 27, "state": value} for value in ("", "stable", b"Stable", 1, [], "\ud800")),
        *({"error": 27, "probability": value} for value in (None, 0, -0.5, 1.5, nan, inf, HUGE, "1", True)),
        {"error": 27, "seconds": 0}, {"error": 27, "seconds": 0.0},
        *({"error": 27, "seed": value} for value in (None, 1.5, "1", 2**63, HUGE)),
        *({"error": 27, "generation": value} for value in (2**31, -HUGE, 1.0, "1", True)),
        *({"error": value} for value in (0, 9999, HUGE, -HUGE, "", "NOPE", "a\nb", "x" * 40_000, 1.5, True, b"x", [])),
        *({"truncate": value} for value in NO_NUMBER),
        *({key: value} for key in ("hold", "drop") for value in ("", "x", "x" * 40_000, 1, b"before", [])),
        {"error": 27, "broker": 77}, {"error": 27, "broker": "1"}, {"error": 27, "broker": HUGE},
    ],
}  # fmt: skip
TAKEN = ["t", "__consumer_offsets", "__consumer.offsets", "__cluster_metadata"]
WRONG_THERE = {("create", "name"): TAKEN, ("create_topic", "name"): TAKEN}
"""What is wrong for a parameter of some methods only."""
USUAL = {
    "advance": {"seconds": 1},
    "wait": {"group_id": "g", "members": 1},
    "expire": {"member": "a"},
    "evict": {"member": "a"},
    "fence": {"instance_id": "i1"},
    "set_offsets": {"offsets": {("t", 0): 5}},
    "create": {"name": "new"},
    "create_topic": {"name": "new"},
    "delete_topic": {"name": "t"},
    "loading": {"group_id": "g", "seconds": 1},
    "add": {"rule": FaultRule(api="Heartbeat", error=27)},
    "stop": {"node_id": 1},
    "start": {"node_id": 2},
}
"""What a method is called with beside what is wrong."""


def wrong_calls(cls, *besides):
    """Yield a method's name, keyword arguments that cannot be, and what is to be raised; `besides` are left out."""
    for method, function in vars(cls).items():
        if method.startswith("_") or not inspect.isfunction(function) or method in besides:
            continue
        parameters = dict(list(inspect.signature(function).parameters.items())[1:])
        whatever = {name for name, each in parameters.items() if each.kind is each.VAR_KEYWORD}
        usual = {"group_id": "g", "name": "t", "node_id": 1, "number": 1, **USUAL.get(method, {})}
        usual = {name: value for name, value in usual.items() if name in parameters}
        for name in parameters.keys() - whatever:
            for value in (*WRONG[name], *WRONG_THERE.get((method, name), ())):
                yield method, {**usual, name: value}, (Impossible, NotFound)
        yield method, {**usual, "strange": 1}, (Impossible,) if whatever else (TypeError,)


def written(how):
    """What a method was called with, as a failing test shows it."""
    try:
        return repr(how)[:300]
    except ValueError:
        return f"{', '.join(how)}, of which one is huge"


def refusal(call, **how):
    """What a call raises of that which it may raise; None if it returns."""
    try:
        call(**how)
    except (ControlError, TypeError) as error:
        return error
    return None


async def awaited_refusal(call, **how):
    """The same of what may have to be awaited."""
    try:
        answer = call(**how)
        if hasattr(answer, "__await__"):
            await answer
    except (ControlError, TypeError) as error:
        return error
    return None


def check(error, expected, method, how):
    """What is said is one short sentence, of nothing inside."""
    assert isinstance(error, expected), f"{method} takes {written(how)}"
    text = str(error)
    assert text.isprintable(), text
    assert 10 < len(text) < 1000, text
    assert " object at 0x" not in text, text
    assert "Traceback" not in text, text
