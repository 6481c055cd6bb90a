"""One rule against one broker that is wrong: whether it notices, and by which of its statements."""

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from pathlib import Path

import trio

from kcoord.apis import APIS
from kcoord.check import rule as rules
from kcoord.check.failure import first_of
from kcoord.check.names import SHARED, Names
from kcoord.check.outcome import Broken
from kcoord.check.result import Verdict
from kcoord.check.rules import all_rules
from kcoord.check.runner import run_case
from kcoord.check.world import World
from kcoord.config import Config
from kcoord.serve import serve
from tests.check.faults import Fault, changes_of
from tests.check.faulty import Asked, Between
from tests.check.servers import FAULTS, wrong
from tests.scenarios.harness import opener_to

OFFERS = {api.key: api.offered for api in APIS}
"""What a server in this process offers."""
FILE = Path(__file__).parent / "faults_that_break.json"
RELEASE = (4, 4)
DEEP, FEW = 12, 4
MOST_TRIED = 300
SET_UP = {"world.py", "member.py", "target.py"}


class By(IntEnum):
    """By what a fault was noticed, the best first."""

    ITS_OWN = 0
    """A statement of the rule."""
    A_CHECK = 1
    """An assertion in what it called to check something."""
    SET_UP = 2
    """An assertion in what it called to get to where it starts, or in the client."""
    STUMBLE = 3
    """No assertion: the answer could not be dealt with, or did not come."""
    NOTHING = 4


@dataclass(frozen=True)
class Found:
    """What came of a run: by what a fault was noticed, in which line of the rule's module, and what was said there.

    `asked` is what went to and fro until then.
    """

    verdict: Verdict
    by: By
    line: int
    text: str
    asked: tuple[Asked, ...]


async def run(rule: rules.Rule, case: rules.Case, fault: Fault | None = None) -> Found:
    """Run one case of a rule in this process under virtual time."""
    settings = dict(rule.settings)
    if fault is not None and fault.kind == "setting":
        name, _, value = fault.what.partition("=")
        settings[name] = value
    topics = {name: SHARED[name] for name in ("t", "u", *rule.topics)}
    config = replace(Config.from_settings(settings, topics), listeners=())
    caught: list[Exception] = []

    async def watched(world, **values):
        try:
            await rule.script(world, **values)
        except Exception as error:
            caught.append(error)
            raise

    async with AsyncExitStack() as stack:
        stack.enter_context(wrong(fault))
        nursery = await stack.enter_async_context(trio.open_nursery())
        running = await nursery.start(serve, config)
        opener = opener_to(running, nursery)
        between = Between(opener, nursery, fault)

        async def make_world(transcript):
            return World(between.connect, Names(), offers=OFFERS, exact=True, transcript=transcript)

        found = await run_case(replace(rule, script=watched), case, make_world, transcripts=False)
        nursery.cancel_scope.cancel()
    by, line = (By.NOTHING, 0) if found.verdict is not Verdict.BROKEN else _by(caught)
    text = "" if found.failure is None else found.failure.message
    if found.failure is not None and found.failure.places:
        place = found.failure.places[-1]
        text = f"{place.file}:{place.line} {text}"
    return Found(found.verdict, by, line, text or found.why, tuple(between.asked))


def _by(caught: list[Exception]) -> tuple[By, int]:
    if not caught:
        return By.STUMBLE, 0
    error, line, frames = caught[-1], 0, []
    chain = [error]
    while isinstance(chain[-1], BaseExceptionGroup):
        chain.append(chain[-1].exceptions[0])
    for each in chain:
        traceback = each.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            path = Path(code.co_filename)
            if path.parent.name in ("rules", "check") and "tests" not in path.parts:
                frames.append((path, code.co_name))
                if path.parent.name == "rules" and not line:
                    line = traceback.tb_lineno
            traceback = traceback.tb_next
    if not isinstance(first_of(error), AssertionError):
        return By.STUMBLE, line
    path, name = next(frame for frame in reversed(frames) if frame[0].name != "outcome.py")
    if path.parent.name == "rules" or name.startswith("assert_"):
        return By.ITS_OWN, line
    if path.name in SET_UP or (path.name == "probe.py" and not isinstance(first_of(error), Broken)):
        return By.SET_UP, line
    return (By.SET_UP if path.name == "probe.py" else By.A_CHECK), line


# --- which faults to try ---


def candidates(rule: rules.Rule, asked: tuple[Asked, ...]) -> list[Fault]:
    """What could go wrong in an unharmed run, nearest to the rule's meaning first.

    That is in the answers of its own API, the last ones first, and of these in each field once. What comes later in a
    script is less likely to be how it got there.
    """
    own = [one for one in reversed(asked) if one.api == rule.api]
    others = [one for one in reversed(asked) if one.api != rule.api]
    found: list[Fault] = []
    deeper: list[Fault] = []
    for some in (own, others):
        found += [Fault("open", one.api, one.number) for one in some if one.closed]
        found += [Fault("now", one.api, one.number) for one in some if one.held]
        kinds = list(_changes_by_kind(some).values())
        found += [each[0] for each in kinds]
        deeper += [each[at] for at in range(1, DEEP) for each in kinds if len(each) > at]
        late = [Fault("late", one.api, one.number) for one in some if one.seconds is not None]
        found += late[:FEW]
        deeper += late[FEW:]
        answered = [one for one in (some if some is own else asked[-1:]) if one.seconds is not None]
        found += [Fault(kind, one.api, one.number) for one in answered[:1] for kind in ("more-bytes", "other-number")]
    found += deeper
    found += [Fault("now", one.api, one.number) for one in (*own, *others) if one.seconds is None and not one.held]
    found += [Fault("then-close", one.api, one.number) for one in (*own, *others)]
    return list(dict.fromkeys(found))


def _changes_by_kind(asked: list[Asked]) -> dict[tuple[str, ...], list[Fault]]:
    """All changes in these answers, by field and change, wherever in a list it is."""
    kinds: dict[tuple[str, ...], list[Fault]] = {}
    for one in asked:
        if one.answer is not None:
            for path, change in changes_of(one.answer, one.version, one.api):
                kind = (one.api, *(part for part in path if isinstance(part, str)), change)
                kinds.setdefault(kind, []).append(Fault("answer", one.api, one.number, path, change))
    return kinds


async def search(
    rule: rules.Rule, case: rules.Case, unharmed: Found, most: int = MOST_TRIED
) -> tuple[Fault | None, Found]:
    """Find the fault by which a case is broken best: the first that one of its statements notices.

    `most` faults are tried that can be seen from what came of it without a fault, `unharmed`. If it has no check that
    notices one, the server is made wrong as a whole: where a changed answer is needed to get further, only the set-up
    notices it.
    """
    best: tuple[Fault | None, Found] = (None, unharmed)
    for fault in [*candidates(rule, unharmed.asked)[:most], *FAULTS]:
        if fault in FAULTS and best[1].by <= By.A_CHECK:
            break
        found = await run(rule, case, fault)
        if found.verdict is Verdict.BROKEN and found.by < best[1].by:
            best = (fault, found)
            if found.by is By.ITS_OWN:
                break
    return best


async def noticed(rule: rules.Rule, case: rules.Case, most: int) -> tuple[int, int]:
    """Of how many changes in the answers of its API a case notices how many; they are different ones as far as can be.

    That a client is throttled is left out: rules are not about that.
    """
    unharmed = await run(rule, case)
    changes = [
        fault
        for fault in candidates(rule, unharmed.asked)
        if (fault.kind, fault.what) == ("answer", rule.api) and fault.path != ("throttle_time_ms",)
    ][:most]
    broken = [(await run(rule, case, fault)).verdict is Verdict.BROKEN for fault in changes]
    return sum(broken), len(broken)


# --- what is known of that ---


@dataclass
class Table:
    """What broke which case, which cases noticed a wrong server, and how much each rule noticed of how much."""

    faults: dict[str, str]
    servers: dict[str, list[str]]
    noticed: dict[str, list[int]]

    def write(self) -> None:
        """Write it, a line for each entry, in the order of the rules."""
        parts = []
        for part in fields(self):
            known = getattr(self, part.name)
            lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in known.items())
            parts.append(f"{json.dumps(part.name)}: {{\n{lines}\n}}")
        FILE.write_text("{" + ",\n".join(parts) + "}\n")


def table() -> Table:
    """Read what is known."""
    return Table(**json.loads(FILE.read_text()))


def cases() -> Iterator[tuple[rules.Rule, rules.Case]]:
    """All cases of all rules that hold for the release which kcoord is like."""
    for rule in all_rules().values():
        if rule.until is None or rule.until >= RELEASE:
            yield from ((rule, case) for case in rule.cases)


def name_of(rule: rules.Rule, case: rules.Case) -> str:
    """What the table calls a case."""
    return f"{rule.id} {case.label}".strip()
