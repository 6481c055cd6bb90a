"""Named deadlines. Setting a name again moves it; an expiry is taken out one at a time, earliest first."""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


SLACK = 64
"""So many entries more than twice what is needed may lie in the heap before it is made anew."""


class Timers(Generic[K]):
    """A heap of deadlines (seconds, on the clock of `Now.mono`), each under a name.

    A heartbeat moves its member's deadline a little further each time, so moving later must cost nothing: the
    heap keeps the old entry as a reminder, and whoever finds it on top looks up where the deadline is by now. Only
    the newest entry of a name is its reminder; older ones are dropped when they come up.
    """

    __slots__ = ("_deadlines", "_heap", "_order")

    def __init__(self) -> None:
        self._deadlines: dict[K, tuple[float, int, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._deadlines)

    def __contains__(self, name: K) -> bool:
        return name in self._deadlines

    def set(self, name: K, deadline: float) -> None:
        """Set or move the deadline of `name`. Of two equal deadlines the one set first is due first."""
        order = self._order = self._order + 1
        known = self._deadlines.get(name)
        if known is None or deadline < known[0]:
            self._deadlines[name] = (deadline, order, order)
            heappush(self._heap, (deadline, order, name))
            if len(self._heap) > 2 * len(self._deadlines) + SLACK:
                self._rebuild()
        else:
            self._deadlines[name] = (deadline, order, known[2])

    def cancel(self, name: K) -> None:
        """Forget `name`; unknown names are no error."""
        self._deadlines.pop(name, None)

    def deadline(self, name: K) -> float | None:
        """Return the deadline of `name` in seconds, or None."""
        known = self._deadlines.get(name)
        return None if known is None else known[0]

    def next_deadline(self) -> float | None:
        """Return a moment before which nothing is due, or None when no deadline is set.

        It may lie before the earliest deadline, where that one was moved later: whoever wakes then finds nothing
        due and asks again.
        """
        while self._heap:
            deadline, order, name = self._heap[0]
            known = self._deadlines.get(name)
            if known is not None and known[2] == order:
                return deadline
            heappop(self._heap)
        return None

    def pop_due(self, now: float) -> tuple[K, float] | None:
        """Take out the earliest deadline that is not after `now` (seconds); None when there is none."""
        while self._heap and self._heap[0][0] <= now:
            deadline, order, name = heappop(self._heap)
            known = self._deadlines.get(name)
            if known is None or known[2] != order:
                continue
            if known[1] == order:
                del self._deadlines[name]
                return name, deadline
            heappush(self._heap, (known[0], known[1], name))
            self._deadlines[name] = (known[0], known[1], known[1])
        return None

    def _rebuild(self) -> None:
        """Leave the entries out that stand for nothing: names that were cancelled, or moved to an earlier moment."""
        self._deadlines = {name: (deadline, order, order) for name, (deadline, order, _) in self._deadlines.items()}
        self._heap = [(deadline, order, name) for name, (deadline, order, _) in self._deadlines.items()]
        heapify(self._heap)
