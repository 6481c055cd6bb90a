"""The one clock of a server. It can be moved forward on command, never back."""

import time
from collections.abc import Callable

import trio

from kcoord.core.outcome import Now


class Clock:
    """Trio's clock plus an offset that only grows, and a wall clock that moves with it.

    The wall clock is read once, at the start: after that both times advance together. So virtual time
    (`trio.testing.MockClock`) and moved time show in stored timestamps too, and a correction of the
    system's clock makes no offset expire early.

    Must be created inside `trio.run`. `start_wall_ms` is Unix time in ms; None reads the system's clock.
    """

    def __init__(self, start_wall_ms: int | None = None) -> None:
        self._offset = 0.0
        self._start = trio.current_time()
        self._start_wall_ms = time.time_ns() // 1_000_000 if start_wall_ms is None else start_wall_ms
        self._waiting: dict[int, Callable[[], None]] = {}
        self._next_key = 0

    def now(self) -> Now:
        """Return the time: `mono` in seconds for deadlines, `wall_ms` in Unix ms for timestamps."""
        mono = trio.current_time() + self._offset
        return Now(mono, self._start_wall_ms + int((mono - self._start) * 1000))

    def deadline(self, mono: float) -> float:
        """Return when `mono` (seconds on this clock) is on trio's clock, for a cancel scope."""
        return mono - self._offset

    def advance(self, seconds: float) -> None:
        """Move the time forward by `seconds` and let everybody who waits for a deadline look again.

        Raises ValueError for a negative number: a clock that goes back would bring expired sessions to life.
        """
        if not seconds >= 0:
            raise ValueError(f"the clock only moves forward: {seconds!r} s")
        self._offset += seconds
        for look_again in tuple(self._waiting.values()):
            look_again()

    def on_advance(self, look_again: Callable[[], None]) -> Callable[[], None]:
        """Call `look_again` after each `advance`; what is returned ends that."""
        key = self._next_key = self._next_key + 1
        self._waiting[key] = look_again

        def forget() -> None:
            self._waiting.pop(key, None)

        return forget
