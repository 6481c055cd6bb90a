"""Threads for what takes long and knows nothing of the server, so that others are served meanwhile."""

from collections.abc import Callable
from typing import TypeVar

import trio

from kcoord.apis.turns import a_turn
from kcoord.log.work import Steps

T = TypeVar("T")

_one_at_a_time = trio.CapacityLimiter(1)
"""As they do not give way to each other, several at once would leave little to all other tasks."""


async def in_thread(
    work: Callable[[], T], *, abandon_on_cancel: bool = False, limiter: trio.CapacityLimiter = _one_at_a_time
) -> T:
    """Do work on records that a client wants to be done; who asked first comes first. Raises what it raises."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=abandon_on_cancel, limiter=limiter)


async def worked_off(steps: Steps[T], limiter: trio.CapacityLimiter = _one_at_a_time) -> T:
    """Do the pieces that are handed out in threads, and return what comes of all. Others have their turns.

    With a `limiter` of its own, work that no client waits for stands in no client's way.
    """
    while True:
        try:
            work = next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if work is None:
            await a_turn()
        else:
            await in_thread(work.do, abandon_on_cancel=True, limiter=limiter)
