"""How rules are described."""

import pytest

from kcoord.check import rule as rules
from kcoord.check.rule import Case, make, release, rule
from wire.messages import HeartbeatRequest
from wire.records import Compression


async def script(world):
    """Nothing."""


PARTS = {"api": "Heartbeat", "says": "So it is.", "source": "KIP-0", "versions": "1-4"}


@pytest.mark.parametrize(
    "wrong",
    [{"api": "HeartBeat"}, {"says": "So it is"}, {"versions": "x"}, {"topics": ("t", "v")}, {"since": "four"}],
    ids=str,
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError):
        make(script, id="X", **(PARTS | wrong))


def test_an_id_is_taken_once(monkeypatch):
    monkeypatch.setattr(rules, "_RULES", {})
    assert rule(id="X", **PARTS)(script) is script
    with pytest.raises(ValueError, match="two rules X"):
        rule(id="X", **PARTS)(script)
    assert rules.registered().keys() == {"X"}


def test_its_parts():
    made = make(script, id="X", settings={"a.b": True, "c": 5}, also="Y Z", since="3.9", **PARTS)
    assert made.settings == {"a.b": "true", "c": "5"}
    assert made.also == ("Y", "Z")
    assert made.since == (3, 9)
    assert made.until is None
    assert made.request is HeartbeatRequest
    assert list(made.span) == [1, 2, 3, 4]
    assert made.subject == "test_rule"
    assert made.text() == 'async def script(world):\n    """Nothing."""'
    assert make(script, id="X", **(PARTS | {"api": "Connection"})).request is None


@pytest.mark.parametrize(
    ("each", "cases"),
    [
        (None, [("", {})]),
        (
            {"a": (1, None), "b": "x"},
            [("a=1, b='x'", {"a": 1, "b": "x"}), ("a=None, b='x'", {"a": None, "b": "x"})],
        ),
        (({"n": 1}, {"n": 2}), [("n=1", {"n": 1}), ("n=2", {"n": 2})]),
        (({"f": len},), [("f=len", {"f": len})]),
        ({"packed": [Compression.GZIP]}, [("packed=GZIP", {"packed": Compression.GZIP})]),
        (
            {"text": ["x" * 50 + "1", "x" * 50 + "2"]},
            [
                ("text='" + "x" * 39 + "... (1)", {"text": "x" * 50 + "1"}),
                ("text='" + "x" * 39 + "... (2)", {"text": "x" * 50 + "2"}),
            ],
        ),
    ],
    ids=["none", "product", "list", "function", "enum", "long"],
)
def test_its_cases(each, cases):
    assert make(script, id="X", each=each, **PARTS).cases == tuple(Case(label, values) for label, values in cases)


def test_a_release():
    assert release("4.10") == (4, 10)
    with pytest.raises(ValueError):
        release("4")
