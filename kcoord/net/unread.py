"""Large answers on their way, all connections together: memory that clients hold who do not read."""

from collections.abc import Callable
from dataclasses import dataclass

import trio

MOST = 256 * 1024 * 1024
"""Bytes of large answers that may wait, all together, for clients to read them."""
PIECE = 256 * 1024
"""Bytes that are handed over at once: after each piece it is known that the client reads."""


@dataclass(slots=True, eq=False)
class Sending:
    """One answer on its way: the bytes left, and when some of it was taken last, on trio's clock in seconds."""

    left: int
    moved_at: float
    give_up: Callable[[str], None]


class Unread:
    """Sends large answers, and sees to it that those who do not read leave room for those who do."""

    __slots__ = ("_left", "_sending", "most")

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._left = 0
        self._sending: set[Sending] = set()

    async def send(
        self, stream: trio.abc.SendStream, answer: bytes, moved: Callable[[], None], give_up: Callable[[str], None]
    ) -> None:
        """Send an answer; `moved` is called whenever the client has taken some of it.

        `give_up` is called, with the reason, if its room is needed by others and nobody has taken less for longer: it
        has to end the sending. An answer that is larger than all the room there is goes out alone.
        """
        self._make_room(len(answer))
        sending = Sending(len(answer), trio.current_time(), give_up)
        self._sending.add(sending)
        self._left += sending.left
        try:
            with memoryview(answer) as view:
                for start in range(0, len(answer), PIECE):
                    piece = view[start : start + PIECE]
                    await stream.send_all(piece)
                    if sending in self._sending:
                        sending.left -= len(piece)
                        self._left -= len(piece)
                    sending.moved_at = trio.current_time()
                    moved()
        finally:
            self._forget(sending)

    def _make_room(self, needed: int) -> None:
        while self._sending and self._left + needed > self.most:
            slowest = min(self._sending, key=lambda one: one.moved_at)
            self._forget(slowest)
            slowest.give_up("it did not read its answer, and others needed the room")

    def _forget(self, sending: Sending) -> None:
        if sending in self._sending:
            self._sending.remove(sending)
            self._left -= sending.left
