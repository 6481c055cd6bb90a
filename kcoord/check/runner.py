"""Runs rules against a broker, side by side, and cleans up after them.

Most rules wait most of the time: for the initial rebalance, for a session to end. So many run at once, those that wait
longest first. But a machine that is busy with many of them is late, and "nothing comes within 0.3 s" is then said of
the wrong thing. Two things keep that from becoming a verdict: while this process notices that it is late, no further
rule begins; and a case that was broken while others ran is run once more when they are done, by itself if time allows.
What comes of that counts, and the report tells of both.

Brokers that break most rules must not make that endless. The second pass takes about a minute: a case begins there only
if what it took at first still fits in. And where more than a few cases are broken, those are not run again that failed
promptly, with all answers there: a wrong answer that comes at once is no matter of load. (Of 843 cases that franz-go's
kfake broke when others ran, 720 were prompt, and one came to be kept by itself: it had failed after 9.6 s.) A note
tells how many were left at that.

Each answer is waited for half a minute beyond what the rule takes; where none at all has come to an API, soon hardly.
When a connection fails, or an answer does not come, the broker is asked for a sign of life. If there is none within
15 s, or it refuses connections for 5 s, the run ends: what then ran, or had not begun, is not broken but not run. What
was broken before, and could not be run once more, stays broken, and a note tells how many cases that are.
"""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import trio

from kcoord import __version__
from kcoord.check.cleaning import clean
from kcoord.check.failure import Failure, failure_of, first_of
from kcoord.check.first_answer import FIRST_ANSWER
from kcoord.check.outcome import CannotRun, NotApplicable
from kcoord.check.probe import PATIENCE, Closed, Heard, offered
from kcoord.check.recognizing import note_of_release
from kcoord.check.result import CaseResult, Progress, Report, RuleResult, Run, Verdict, counted
from kcoord.check.rule import LONG, NEWEST, Case, Rule, release_text
from kcoord.check.shared_topics import make_topics
from kcoord.check.target import Target, measure_the_initial_delay, reach, why_gone
from kcoord.check.transcript import Transcript
from kcoord.check.world import Opener, World

SIDE_BY_SIDE: Final = 48
"""Rules that run at once, unless told otherwise."""
CONNECTIONS: Final = 600
"""Connections that all rules together may have open, as far as they tell."""
TOO_LATE: Final = 0.05
"""Seconds that this process may be late while rules begin."""
PACE: Final = 0.02
"""Seconds between the beginnings of two rules: each begins with a burst of requests."""
SECOND_PASS: Final = 60.0
"""Seconds that may be spent on running broken rules once more; if it takes longer, some run side by side."""
FEW: Final = 50
"""Cases that are run once more however they were broken."""
PROMPT: Final = 0.25
"""Seconds in which a case is broken promptly: less than an answer is waited for that must not come."""
FOR_AN_ANSWER: Final = 30.0
"""Seconds that an answer is waited for, beyond twice what the rule costs."""
TO_CONNECT: Final = 120.0
"""Seconds more that a script may take for its connections to be ready, for which TLS and SASL need a while."""
_NAMED: Final = 10
"""Rules that are named of those that ran when the broker went away."""
_TO_CLOSE: Final = 5.0

Job = tuple[Rule, Case]
MakeWorld = Callable[[Transcript], Awaitable[World]]


@dataclass(frozen=True)
class Plan:
    """What to run and how. `release` is that of Apache Kafka which the broker is to be judged by."""

    rules: Sequence[Rule]
    side_by_side: int = SIDE_BY_SIDE
    connections: int = CONNECTIONS
    long: bool = False
    transcripts: bool = False
    """Whether those of kept rules are told, too."""
    release: tuple[int, int] = NEWEST
    patience: float = FIRST_ANSWER
    """Seconds in which the broker must be connected, and give its first answer."""


async def check(opener: Opener, address: str, plan: Plan, progress: Progress | None = None) -> Report:
    """Run rules against the broker that `opener` connects to, `address` for people.

    If it is cancelled, what it made at the broker is removed all the same.

    Raises:
        CannotRun: The broker cannot be reached, or is of no use.

    """
    progress = Progress() if progress is None else progress
    progress.phase = "connecting"
    began, start = time.time(), trio.current_time()
    target = await reach(opener, {name for each in plan.rules for name in each.settings}, plan.patience)
    round_ = _Round(target, plan, progress)
    try:
        progress.begun = True
        await measure_the_initial_delay(target)
        target.notes += await note_of_release(opener, target.offers, plan.release)
        reasons = {each.id: why for each in plan.rules if (why := not_applicable(each, target, plan))}
        applicable = [each for each in plan.rules if each.id not in reasons]
        progress.phase = "making topics"
        await make_topics(target, {name for each in applicable for name in each.topics})
        cases = await round_.all_of(applicable)
    finally:
        progress.phase = "cleaning up"
        with trio.CancelScope(shield=True):
            left = await clean(target, [*target.groups, *round_.groups], [*target.topics, *round_.topics])
        progress.left += left
    return Report(
        address=address,
        run_id=target.run_id,
        began=began,
        seconds=trio.current_time() - start,
        results=tuple(RuleResult(each, tuple(cases.get(each.id, ())), reasons.get(each.id, "")) for each in plan.rules),
        notes=(*([round_.stopped] if round_.stopped else []), *target.notes, *round_.notes, *left),
        version=__version__,
        judged_by=plan.release,
        stopped=round_.stopped,
        ran=round_.ran,
    )


def of_another_release(rule: Rule, judged_by: tuple[int, int]) -> str:
    """Return why a rule says nothing about a release of Apache Kafka; empty if it does."""
    if rule.since is not None and judged_by < rule.since:
        return (
            f"it holds from Kafka {release_text(rule.since)} on, and the broker is judged by {release_text(judged_by)}"
        )
    if rule.until is not None and judged_by > rule.until:
        return f"it holds up to Kafka {release_text(rule.until)}, and the broker is judged by {release_text(judged_by)}"
    return ""


def not_applicable(rule: Rule, target: Target, plan: Plan) -> str:
    """Return why a rule says nothing about a broker, as far as can be told before; empty if it may say something."""
    if why := of_another_release(rule, plan.release):
        return why
    if rule.request is not None:
        try:
            theirs = offered(target.offers, rule.request)
        except NotApplicable as error:
            return str(error)
        if theirs.highest < rule.span.lowest or theirs.lowest > rule.span.highest:
            return f"{rule.api} is advertised in versions {theirs.lowest} to {theirs.highest}, not {rule.versions}"
    if rule.cost > LONG and not plan.long:
        return f"it takes {rule.cost:g} s, and long ones were not asked for"
    return target.without(rule.settings)


async def run_case(rule: Rule, case: Case, make_world: MakeWorld, *, transcripts: bool = True) -> Run:
    """Run one case of a rule in a world of its own, which is closed afterwards, and tell what came of it.

    Whatever the script raises is a verdict: what a broker answers can make it stumble in any way, by a list of the
    wrong length just as by a wrong number.
    """
    start = trio.current_time()
    transcript = Transcript(trio.current_time)
    failure: Failure | None = None
    why = ""
    unanswered = False
    deadline = PATIENCE + 15 + 2 * rule.cost
    put_off = 0.0
    cancelled: list[BaseException] = []
    scope = trio.CancelScope(deadline=start + deadline)

    def connected(seconds: float) -> None:
        nonlocal put_off
        put_off = min(put_off + seconds, TO_CONNECT)
        scope.deadline = start + deadline + put_off

    async def script() -> None:
        world = await make_world(transcript)
        world.connected = connected
        try:
            await rule.script(world, **case.values)
        except trio.Cancelled as error:
            cancelled.append(error)
            raise
        finally:
            with trio.move_on_after(_TO_CLOSE, shield=True):
                await world.aclose()

    try:
        with scope:
            await script()
        if scope.cancelled_caught:
            connecting = f", and {put_off:.1f} s more until it was connected" if put_off >= 1 else ""
            failure = failure_of(cancelled[0], f"it is not done after {deadline:g} s{connecting}")
            unanswered = True
    except Exception as error:  # noqa: BLE001 - see above
        if isinstance(first_of(error), NotApplicable):
            why = str(first_of(error))
        else:
            failure = failure_of(error)
            unanswered = isinstance(first_of(error), (OSError, Closed, CannotRun))
    verdict = Verdict.BROKEN if failure else Verdict.NOT_APPLICABLE if why else Verdict.KEPT
    told = transcripts or verdict is Verdict.BROKEN
    return Run(
        verdict=verdict,
        seconds=trio.current_time() - start,
        why=why,
        failure=failure,
        transcript=tuple(transcript.shown()) if told else (),
        unanswered=unanswered,
        said=transcript,
    )


@dataclass
class _Round:
    """One run of many rules, and what it leaves to be removed."""

    target: Target
    plan: Plan
    progress: Progress
    groups: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    connections: int = 0
    beside: dict[str, int] = field(default_factory=dict)
    """How many others ran, at most, beside each of those that run."""
    heard: Heard = field(default_factory=Heard)
    notes: list[str] = field(default_factory=list)
    stopped: str = ""
    """Why the run ended before its end."""
    ran: tuple[str, ...] = ()
    """The rules that ran then."""
    seen: float = -math.inf
    """When a question began that the broker answered, after something had failed."""
    asking: trio.Lock = field(default_factory=trio.Lock)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    async def all_of(self, rules: Sequence[Rule]) -> dict[str, list[CaseResult]]:
        """Run all cases of the rules; return what came of them by the rules' ids, in the order of the cases."""
        jobs = [(rule, case) for rule in rules for case in rule.cases]
        jobs.sort(key=lambda job: -job[0].cost)
        self.progress.total = len(jobs)
        found: dict[tuple[str, str], Run] = {}
        again: dict[tuple[str, str], Run] = {}
        with self.scope:
            self.progress.phase = "running"
            await self._side_by_side([job for job in jobs if not job[0].alone], found, self.plan.side_by_side)
            self.progress.phase = "running alone"
            await self._side_by_side([job for job in jobs if job[0].alone], found, 1)
            await self._once_more([job for job in jobs if found[_key(*job)].verdict is Verdict.BROKEN], found, again)
        if self.stopped:
            unsure = [key for key, run in found.items() if run.verdict is Verdict.BROKEN and key not in again]
            if unsure:
                # A broker that ends in order tells clients so, which is what many rules stumble over.
                self.notes.append(
                    f"broken, and not run once more, as the broker was gone: {counted(len(unsure), 'cases')}; it may be"
                    " that it was about to go"
                )
        not_run = Run(Verdict.NOT_RUN, 0.0, why="the broker was gone")
        results: dict[str, list[CaseResult]] = {}
        for rule in rules:
            for case in rule.cases:
                key = _key(rule, case)
                second = again.get(key)
                first = found.get(key, not_run)
                result = CaseResult(case, first) if second is None else CaseResult(case, second, first)
                results.setdefault(rule.id, []).append(result)
        return results

    async def _once_more(
        self, broken: Sequence[Job], found: dict[tuple[str, str], Run], again: dict[tuple[str, str], Run]
    ) -> None:
        """Run broken cases once more, those that took longest first, as far as it makes sense and there is time."""
        worth = [job for job in broken if len(broken) <= FEW or not _prompt(found[_key(*job)])]
        worth.sort(key=lambda job: -found[_key(*job)].seconds)
        # What takes longer than the time for all of them was asked for, as long rules are.
        end = trio.current_time() + max([SECOND_PASS, *(found[_key(*job)].seconds for job in worth)])
        self.progress.phase = "running once more"
        self.progress.total += len(worth)
        for alone in (False, True):
            jobs = [job for job in worth if job[0].alone is alone]
            width = 1 if alone else _width(jobs, found)
            await self._side_by_side(jobs, again, width, lambda job: _fits(job, found, end))
        if prompt := len(broken) - len(worth):
            self.notes.append(f"broken at once, by a wrong answer, and not run once more: {counted(prompt, 'cases')}")
        if late := len(worth) - len(again):
            self.notes.append(f"broken, and not run once more for want of time: {counted(late, 'cases')}")

    async def _side_by_side(
        self,
        jobs: Sequence[Job],
        found: dict[tuple[str, str], Run],
        width: int,
        fits: Callable[[Job], bool] = lambda _: True,
    ) -> None:
        limit = trio.CapacityLimiter(max(1, width))
        async with trio.open_nursery() as nursery:
            for rule, case in jobs:
                await limit.acquire_on_behalf_of((rule.id, case.label))
                await self._wait_for_room(rule.connections)
                if not fits((rule, case)):
                    limit.release_on_behalf_of((rule.id, case.label))
                    continue
                self.connections += rule.connections
                nursery.start_soon(self._run, rule, case, found, limit)

    async def _wait_for_room(self, connections: int) -> None:
        """Wait until this process is in time, and so many connections may be opened; one rule may open any number.

        A task that sleeps wakes late when others had much to do, or the machine had.
        """
        while True:
            before = trio.current_time()
            await trio.sleep(PACE)
            in_time = trio.current_time() - before - PACE <= TOO_LATE
            if in_time and (not self.connections or self.connections + connections <= self.plan.connections):
                return

    async def _run(
        self, rule: Rule, case: Case, found: dict[tuple[str, str], Run], limit: trio.CapacityLimiter
    ) -> None:
        label = f"{rule.id} {case.label}".strip()

        async def make_world(transcript: Transcript) -> World:
            return World(
                self.target.opener,
                names,
                offers=self.target.offers,
                patience=min(PATIENCE, FOR_AN_ANSWER + 2 * rule.cost),
                heard=self.heard,
                transcript=transcript,
            )

        names = self.target.names(rule.settings)
        self.progress.running[label] = trio.current_time()
        for each in self.progress.running:
            self.beside[each] = max(self.beside.get(each, 0), len(self.progress.running) - 1)
        try:
            run = await run_case(rule, case, make_world, transcripts=self.plan.transcripts)
            if run.unanswered:
                await self._see_that_it_lives(trio.current_time())
        finally:
            self.groups += names.groups
            self.topics += names.topics
            del self.progress.running[label]
            self.connections -= rule.connections
            limit.release_on_behalf_of((rule.id, case.label))
        found[_key(rule, case)] = replace(run, beside=self.beside.pop(label))
        self.progress.done += 1
        self.progress.broken += run.verdict is Verdict.BROKEN

    async def _see_that_it_lives(self, since: float) -> None:
        """Stop everything, and be cancelled, if the broker gives no sign of life. One asks for all others."""
        ran = sorted({label.partition(" ")[0] for label in self.progress.running})
        async with self.asking:
            if self.seen >= since:
                return
            began = trio.current_time()
            why = await why_gone(self.target)
            if not why:
                self.seen = began
                return
            self.ran = tuple(ran)
            named = ", ".join(ran[:_NAMED]) + (f" and {len(ran) - _NAMED} more" if len(ran) > _NAMED else "")
            self.stopped = f"the run was stopped, as the broker is gone ({why}); when it went, {named} ran"
            self.scope.cancel()
            await trio.lowlevel.checkpoint()


def _prompt(run: Run) -> bool:
    """Whether a case was broken so soon, and with all answers there, that it cannot be for want of time."""
    return not run.unanswered and run.seconds < PROMPT


def _fits(job: Job, found: dict[tuple[str, str], Run], end: float) -> bool:
    """Whether a case that takes as long as it took before is done in time."""
    return trio.current_time() + found[_key(*job)].seconds <= end


def _width(jobs: Sequence[tuple[Rule, Case]], found: dict[tuple[str, str], Run]) -> int:
    """Return how many broken cases must run side by side, so that it takes about a minute at most; 1 if it can."""
    return math.ceil(sum(found[_key(*job)].seconds for job in jobs) / SECOND_PASS)


def _key(rule: Rule, case: Case) -> tuple[str, str]:
    return rule.id, case.label


__all__ = ["Opener", "Plan", "check", "not_applicable", "run_case"]
