"""Runs the same rules against several brokers, and finds out where they differ.

They run at the same time: rules wait most of the time, so that takes hardly longer than one broker, and a machine that
is late is late for all of them. What else is said though the verdict is the same counts if it is there again, at the
same place, when the case is run once more at all brokers, with nothing but other such cases beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import trio

from kcoord.check.differences import ComparedCase, Comparison, Key, Offer, compared, steady
from kcoord.check.outcome import CannotRun
from kcoord.check.result import Progress, Report
from kcoord.check.rule import Rule
from kcoord.check.runner import Plan, check
from kcoord.check.world import Opener

AT_ONCE_AGAIN = 12
"""Cases that run side by side, at most, when those that differ are run once more."""
NOT_AGAIN = "what was said otherwise was not asked once more, as a broker was gone: it may be chance"
"""The note of a comparison that did not come to its end."""


@dataclass
class Broker:
    """A broker that is compared, how to connect to it, and how far its run is."""

    address: str
    opener: Opener
    progress: Progress = field(default_factory=Progress)


class _Gone(CannotRun):
    """A broker is not there, or of no use. In the place of a report it tells that, or nothing if `why` is empty."""

    def __init__(self, broker: Broker, why: str) -> None:
        super().__init__(f"{broker.address}: {why}")
        self.broker = broker
        self.stopped = why and f"the run was stopped: {why}"
        self.notes = (self.stopped,) if why else ()


async def compare(brokers: Sequence[Broker], plan: Plan) -> Comparison:
    """Run the rules at each of these brokers, the first of which the others are held against.

    If it is cancelled, what was made at the brokers is removed all the same. If a broker goes away, what was found
    until then is told, but `Comparison.stopped` is not empty.

    Raises:
        CannotRun: One of them cannot be reached in the beginning, or is of no use; the text begins with its address.

    """
    start = trio.current_time()
    reports, cases, offers = await _compare_once(brokers, plan)
    gone: list[Key] = []
    different = {each.key for each in cases if each.differs and not each.verdict_differs}
    if different and not any(each.stopped for each in reports):
        rules = _only(plan.rules, different)
        once_more = replace(plan, rules=rules, side_by_side=min(plan.side_by_side, AT_ONCE_AGAIN))
        again, cases_again = await _once_more(brokers, once_more)
        reports = [_with_notes(one, other) for one, other in zip(reports, again, strict=True)]
        if not any(each.stopped for each in again):
            cases, gone = steady(cases, cases_again)
    if different and any(each.stopped for each in reports):
        reports[0] = replace(reports[0], notes=(*reports[0].notes, NOT_AGAIN))
    return Comparison(tuple(reports), tuple(cases), tuple(offers), tuple(gone), trio.current_time() - start)


async def _compare_once(brokers: Sequence[Broker], plan: Plan) -> tuple[list[Report], list[ComparedCase], list[Offer]]:
    reports = await _everywhere(brokers, plan)
    for broker in brokers:
        broker.progress.phase = "comparing"
    # Seconds of computing, in which a signal is to be heard.
    compare_them = partial(compared, reports, transcripts=plan.transcripts)
    cases, offers = await trio.to_thread.run_sync(compare_them, abandon_on_cancel=True)
    return reports, cases, offers


async def _once_more(brokers: Sequence[Broker], plan: Plan) -> tuple[list[Report | _Gone], list[ComparedCase]]:
    """Run some cases at all brokers once more. One that cannot be reached any more is told of, and ends it."""
    problems: list[_Gone] = []
    try:
        again, cases, _ = await _compare_once(brokers, plan)
    except* _Gone as group:
        problems = [each for each in _leaves(group) if isinstance(each, _Gone)]
    else:
        return list(again), cases
    told = {id(each.broker): each for each in problems}
    return [told.get(id(broker), _Gone(broker, "")) for broker in brokers], []


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        else:
            yield each


def _with_notes(first: Report, again: Report | _Gone) -> Report:
    """Add what the second run noted, which may be that something could not be removed, or that the broker was gone."""
    return replace(first, notes=tuple(dict.fromkeys((*first.notes, *again.notes))), stopped=again.stopped)


def _only(rules: Sequence[Rule], wanted: set[Key]) -> list[Rule]:
    cases = {rule.id: tuple(each for each in rule.cases if (rule.id, each.label) in wanted) for rule in rules}
    return [replace(rule, cases=cases[rule.id]) for rule in rules if cases[rule.id]]


async def _everywhere(brokers: Sequence[Broker], plan: Plan) -> list[Report]:
    found: dict[int, Report] = {}

    async def run(number: int, broker: Broker) -> None:
        broker.progress = Progress(begun=broker.progress.begun, left=broker.progress.left)
        try:
            found[number] = await check(broker.opener, broker.address, plan, broker.progress)
        except CannotRun as error:
            raise _Gone(broker, str(error)) from error

    async with trio.open_nursery() as nursery:
        for number, broker in enumerate(brokers):
            nursery.start_soon(run, number, broker)
    return [found[number] for number in range(len(brokers))]
