"""A sequence that shows a difference, made small by Hypothesis.

Hypothesis shrinks what it has drawn itself. So it draws the same sequence again, from the same seed, and plays what it
makes of it.
"""

import contextlib
import dataclasses
import time

import trio
from hypothesis import Phase

from integration.fuzz.campaign import Campaign
from integration.fuzz.operations import Sequence
from integration.fuzz.playing import Pace, Played
from integration.fuzz.tally import Tally


class Shows(Exception):
    """A sequence shows the difference."""


class Enough(BaseException):
    """Time is up. Hypothesis, which would draw on for minutes, lets through what is no Exception."""


class Smaller:
    """What is known about sequences that Hypothesis asks about. `end` is when (s) to ask the brokers no more."""

    def __init__(self, campaign: Campaign, played: Played, end: float) -> None:
        assert played.difference is not None
        self.best = played
        self._campaign = campaign
        self._sort = played.difference.sort
        self._end = end
        self._known: dict[Sequence, Played | None] = {played.sequence: played}
        self._prefixes: dict[Sequence, Played] = {}
        self._keep(played)

    def shows(self, sequence: Sequence) -> bool:
        """Whether a sequence shows the difference. Raises Enough."""
        if time.monotonic() > self._end:
            raise Enough
        found = self._known.get(sequence)
        if sequence not in self._known:
            found = self._by_its_beginning(sequence)
            if found is None:
                found = self._played(sequence)
            self._known[sequence] = found
        if found is not None:
            self.best = found
        return found is not None

    def _played(self, sequence: Sequence) -> Played | None:
        played = trio.run(self._play, sequence)
        if played.difference is None or played.difference.sort != self._sort:
            return None
        self._keep(played)
        return played

    async def _play(self, sequence: Sequence) -> Played:
        campaign = self._campaign
        return await campaign.play(await campaign.brokers(), sequence, Pace(), Tally())

    def _keep(self, played: Played) -> None:
        """What comes after the difference has nothing to do with it."""
        self._prefixes[beginning(played.sequence, played.begun)] = played

    def _by_its_beginning(self, sequence: Sequence) -> Played | None:
        for count in range(len(sequence.operations), 0, -1):
            if (found := self._prefixes.get(beginning(sequence, count))) is not None:
                return dataclasses.replace(found, sequence=sequence)
        return None


def beginning(sequence: Sequence, count: int) -> Sequence:
    """Return a sequence without what comes after `count` operations."""
    return dataclasses.replace(sequence, operations=sequence.operations[:count])


def shrunk(campaign: Campaign, played: Played, budget: float) -> Played:
    """Return the play of the smallest sequence found within `budget` seconds that shows the same sort of difference.

    Half of the time is Hypothesis's, which makes simple what the operations are. It asks about one sequence after the
    other, so that it is slow where brokers are; for leaving operations out, several are then played side by side.
    """
    smaller = Smaller(campaign, played, time.monotonic() + budget / 2)
    begun = [False]

    def judge(sequence: Sequence) -> None:
        begun[0] = begun[0] or sequence == played.sequence
        if begun[0] and smaller.shows(sequence):
            raise Shows

    number = campaign.drawn.number(played.sequence)
    with contextlib.suppress(Shows, Enough):
        campaign.drawn.each(number, judge, Phase.shrink)
    assert begun[0], "the sequence was not drawn again"
    return trio.run(shortened, campaign, smaller.best, time.monotonic() + budget / 2)


async def shortened(campaign: Campaign, best: Played, end: float) -> Played:
    """Leave operations out, many at once and then each by itself, as long as the difference shows and time lasts."""
    assert best.difference is not None
    brokers, sort = await campaign.brokers(), best.difference.sort
    sequence = beginning(best.sequence, best.begun)
    size = max(1, len(sequence.operations) // 2)
    while time.monotonic() < end:
        kept = sequence.operations
        fewer = [kept[:at] + kept[at + size :] for at in range(0, len(kept), size)]
        plays: list[Played] = []

        async def one(less: Sequence, into: list[Played]) -> None:
            into.append(await campaign.play(brokers, less, Pace(), Tally()))

        async with trio.open_nursery() as nursery:
            for operations in fewer:
                nursery.start_soon(one, dataclasses.replace(sequence, operations=operations), plays)
        showing = [each for each in plays if each.difference is not None and each.difference.sort == sort]
        if showing:
            best = min(showing, key=lambda each: each.begun)
            sequence = beginning(best.sequence, best.begun)
            size = max(1, min(size, len(sequence.operations) // 2))
        elif size == 1:
            break
        else:
            size = size // 2
    return dataclasses.replace(best, sequence=sequence)
