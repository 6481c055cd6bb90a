"""When a sequence may send its requests: not at moments at which a timer of a broker may fire.

Which timers a request starts is the brokers' business. So each request is taken to start one of each timeout that may
run out, and each of these, when it fires, to start others, to a depth of three. Between the moments at which one of
them may fire, with a margin for clocks and busy machines, there are gaps in which both brokers are sure to have come
to rest at the same place.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

DEPTH = 3


@dataclass
class Schedule:
    """The timeouts (s) that may run out, and when requests were made. All times are of one clock, in s."""

    timeouts: Sequence[float]
    margin: float
    """How much earlier or later (s) than after its time a timer may fire."""
    room: float
    """How much time for requests a gap must have."""
    burst: float
    """How many requests may be made without a wait."""
    _spans: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        several = (itertools.combinations_with_replacement(self.timeouts, depth) for depth in range(1, DEPTH + 1))
        self._sums = sorted({sum(some) for each in several for some in each})

    def widen(self, margin: float) -> None:
        """Have another margin, as far as there is room for requests between two timers then."""
        self.margin = min(margin, max(self.margin, self.half - self.room)) if self.timeouts else margin

    def note(self, start: float, end: float) -> None:
        """Say that a request was made then."""
        if self._sums:
            self._spans.append((start, end))

    def dangerous(self) -> list[tuple[float, float]]:
        """Return from when to when a timer may fire."""
        return sorted(
            (start + after - self.margin, end + after + self.margin)
            for start, end in self._spans
            for after in self._sums
        )

    @property
    def half(self) -> float:
        """Half of the shortest timeout (s); 0 if none may run out."""
        return min(self.timeouts, default=0.0) / 2

    def is_clear(self, now: float, ahead: float = 0.0) -> bool:
        """Whether no timer may fire now, nor within some time (s) from now."""
        return not any(start < now + ahead and now < end for start, end in self.dangerous())

    def next_gap(self, now: float) -> float:
        """Return the beginning of the next gap after timers that have yet to fire; `now` if there are none."""
        spans = [span for span in self.dangerous() if span[1] > now]
        at = now
        if not spans:
            return now
        at = spans[0][1]
        for start, end in spans[1:]:
            if start - at >= self.room:
                break
            at = max(at, end)
        return at
