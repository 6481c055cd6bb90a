"""Waiting on the server's clock, which may be moved, or stand still, meanwhile."""

import trio

from kcoord.clock import Clock


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait until so many seconds are over on a clock."""
    end = clock.now().mono + seconds
    scope = trio.CancelScope()

    def look_again() -> None:
        scope.deadline = clock.deadline(end)

    forget = clock.on_advance(look_again)
    try:
        look_again()
        with scope:
            await trio.sleep_forever()
    finally:
        forget()
