"""The one clock of a server. It can be moved forward on command, and stopped, but never goes back."""

import time
from collections.abc import Callable
from math import inf, ulp

import trio

from kcoord.core.outcome import Now

MOST_SECONDS = 366 * 24 * 3600
"""A year: by how much the clock is moved at once, and how long anything is waited for on purpose.

Each retention check that falls into a move takes place, in its order.
"""


class Sleeper:
    """Somebody who sleeps until `end`, in seconds on a clock. `place` is its place in line; see `Clock.place`."""

    __slots__ = ("end", "place", "scope")

    def __init__(self, end: float, place: int) -> None:
        self.end = end
        self.place = place
        self.scope = trio.CancelScope()


class Clock:
    """Trio's clock plus an offset, and a wall clock that moves with it. While it is frozen, time stands still.

    The wall clock is read once, at the start: after that both times advance together. So virtual time
    (`trio.testing.MockClock`) and moved time show in stored timestamps too, and a correction of the
    system's clock makes no offset expire early.

    Must be created inside `trio.run`. `start_wall_ms` is Unix time in ms; None reads the system's clock.
    """

    def __init__(self, start_wall_ms: int | None = None) -> None:
        self._offset = 0.0
        self._frozen_at: float | None = None
        self._start = trio.current_time()
        self._start_wall_ms = time.time_ns() // 1_000_000 if start_wall_ms is None else start_wall_ms
        self._waiting: dict[int, Callable[[], None]] = {}
        self._next_key = 0
        self._asleep: set[Sleeper] = set()
        self._last_place = 0

    def now(self) -> Now:
        """Return the time: `mono` in seconds for deadlines, `wall_ms` in Unix ms for timestamps."""
        mono = trio.current_time() + self._offset if self._frozen_at is None else self._frozen_at
        return Now(mono, self._start_wall_ms + int((mono - self._start) * 1000))

    @property
    def is_frozen(self) -> bool:
        """Whether time stands still."""
        return self._frozen_at is not None

    def deadline(self, mono: float) -> float:
        """Return when `mono` (seconds on this clock) is on trio's clock, for a cancel scope.

        While time stands still, what is not over yet never comes.
        """
        if self._frozen_at is None:
            return mono - self._offset
        return trio.current_time() if mono <= self._frozen_at else inf

    def advance(self, seconds: float) -> None:
        """Move the time forward by `seconds` and let everybody who waits for a deadline look again.

        Raises ValueError for a negative number, for a clock that goes back would bring expired sessions to life, and
        for one that is no finite number.
        """
        if not 0 <= seconds < inf:
            raise ValueError(f"the clock only moves forward: {seconds!r} s")
        self._move(seconds)
        self._tell()

    def _move(self, seconds: float) -> None:
        if self._frozen_at is None:
            self._offset += seconds
        else:
            self._frozen_at += seconds

    def freeze(self) -> None:
        """Let time stand still, but for `advance`, until `resume`; nothing happens if it does already."""
        self._frozen_at = self.now().mono
        self._tell()

    def resume(self) -> None:
        """Let time go on from where it stands; nothing happens if it does."""
        if self._frozen_at is not None:
            self._offset = self._frozen_at - trio.current_time()
            self._frozen_at = None
            self._tell()

    def _tell(self, *, sleepers: bool = True) -> None:
        for look_again in tuple(self._waiting.values()):
            look_again()
        for sleeper in self._asleep if sleepers else ():
            sleeper.scope.deadline = self.deadline(sleeper.end)

    # Those who sleep.

    def place(self) -> int:
        """Return a place in line, behind all that there are: of those who are due, the first in line wakes first."""
        self._last_place += 1
        return self._last_place

    async def sleep(self, seconds: float, place: int) -> None:
        """Wait until so many seconds are over on this clock, which may be moved, or stand still, meanwhile."""
        sleeper = Sleeper(self.now().mono + seconds, place)
        sleeper.scope.deadline = self.deadline(sleeper.end)
        self._asleep.add(sleeper)
        try:
            with sleeper.scope:
                await trio.sleep_forever()
        finally:
            self._asleep.discard(sleeper)

    def first_asleep(self, within: float, before: int) -> Sleeper | None:
        """Return who is to wake first of those who are to `within` so many seconds, and whose place is `before` one."""
        until = self.now().mono + within
        due = [each for each in self._asleep if each.place < before and each.end <= until]
        return min(due, key=lambda each: (each.end, each.place), default=None)

    def wake(self, sleeper: Sleeper) -> None:
        """Let a sleeper wake now."""
        self._asleep.discard(sleeper)
        sleeper.scope.cancel()

    def pass_to(self, mono: float) -> float:
        """Move the time forward to a moment on it, and wake nobody who sleeps; return by how many seconds."""
        seconds = max(mono - self.now().mono, 0.0)
        self._move(seconds)
        if self.now().mono < mono:
            # The sum was rounded down.
            self._move(ulp(mono))
        self._tell(sleepers=False)
        return seconds

    def on_advance(self, look_again: Callable[[], None]) -> Callable[[], None]:
        """Call `look_again` after each `advance`, `freeze` and `resume`; what is returned ends that."""
        key = self._next_key = self._next_key + 1
        self._waiting[key] = look_again

        def forget() -> None:
            self._waiting.pop(key, None)

        return forget
