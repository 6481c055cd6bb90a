"""Connections that are read late, each by a time of its own: what came later is handled sooner then."""

from collections.abc import Callable

import trio

from kcoord.check.world import Opener

LATEST = 0.1
"""Seconds that a connection may be late: less than what shows that a call is parked."""
ORDERS = {
    "older_first": lambda number: LATEST - LATEST / (number + 1),
    "newer_first": lambda number: LATEST / (number + 1),
}


class Late(trio.abc.Stream):
    """A connection whose other end reads everything so many seconds after it was sent."""

    def __init__(self, stream: trio.abc.Stream, seconds: float, nursery: trio.Nursery) -> None:
        self._stream = stream
        self._seconds = seconds
        self._sent, self._due = trio.open_memory_channel[tuple[float, bytes]](float("inf"))
        nursery.start_soon(self._carry)

    async def _carry(self) -> None:
        async with self._stream:
            async for moment, data in self._due:
                await trio.sleep_until(moment)
                try:
                    await self._stream.send_all(data)
                except trio.BrokenResourceError:
                    return

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._sent.send((trio.current_time() + self._seconds, bytes(data)))

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self._stream.receive_some(max_bytes)

    async def aclose(self) -> None:
        await self._sent.aclose()


def late(opener: Opener, seconds: Callable[[int], float], nursery: trio.Nursery) -> Opener:
    """What opens connections that are late, each by its own time, by its number from 0 on."""
    opened = 0

    async def attach() -> trio.abc.Stream:
        nonlocal opened
        opened += 1
        return Late(await opener(), seconds(opened - 1), nursery)

    return attach
