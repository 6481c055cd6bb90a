"""A sequence that shows a difference, made small by Hypothesis.

Hypothesis shrinks what it has drawn itself. So it draws the same sequences again, from the same seed; none of them is
played but the one that is known to differ, and what Hypothesis makes of it.
"""

import time

import trio
from hypothesis import Phase

from integration.fuzz.campaign import Campaign
from integration.fuzz.operations import Sequence
from integration.fuzz.playing import Played


class Shows(Exception):
    """A sequence shows the difference."""


def shrunk(campaign: Campaign, played: Played, budget: float) -> Played:
    """Return the play of the smallest sequence found within `budget` seconds that shows the same sort of difference."""
    assert played.difference is not None
    sort = played.difference.sort
    target = played.sequence
    known: dict[Sequence, Played | None] = {target: played}
    best = [played]
    found = [False]
    end = time.monotonic() + budget

    async def ask(sequence: Sequence) -> Played | None:
        brokers = await campaign.brokers()
        again = await campaign.again(brokers, sequence, target_difference, 1)
        return again if again is not None and again.difference is not None and again.difference.sort == sort else None

    def judge(sequence: Sequence) -> None:
        if not found[0] and sequence != target:
            return
        found[0] = True
        if sequence not in known:
            known[sequence] = trio.run(ask, sequence) if time.monotonic() < end else None
        shows = known[sequence]
        if shows is not None:
            best[0] = shows
            raise Shows

    target_difference = played.difference
    try:
        campaign.drawn.each(judge, Phase.shrink)
    except Shows:
        return best[0]
    raise AssertionError("the sequence was not drawn again")
