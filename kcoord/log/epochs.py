"""Where in a log the epoch of each leader begins, and so where the one before it ends (KIP-101, KIP-320)."""

from bisect import bisect_right
from typing import Final

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class LeaderEpochs:
    """The epochs of one log, each with its first offset, as Apache Kafka's `LeaderEpochFileCache` keeps them.

    An epoch in which nothing was written is forgotten as soon as the next one begins.
    """

    __slots__ = ("_begins",)

    def __init__(self) -> None:
        self._begins = [(0, 0)]

    def begin(self, epoch: int, offset: int) -> None:
        """Let an epoch, which is greater than all before it, begin at the end of the log."""
        while self._begins and self._begins[-1][1] >= offset:
            self._begins.pop()
        self._begins.append((epoch, offset))

    def end_of(self, epoch: int, log_start_offset: int, log_end_offset: int) -> tuple[int, int]:
        """Return the newest epoch up to this one of which there are records, and the offset at which it ends.

        Of epochs to come and of `NO_EPOCH` nothing is known; one of which there are no records any more, and none of an
        older one, ended where the log begins.
        """
        latest, _ = self._begins[-1]
        if epoch == NO_EPOCH or epoch > latest:
            return NO_EPOCH, NO_OFFSET
        if epoch == latest:
            return epoch, log_end_offset
        left = self._left(log_start_offset)
        newer = bisect_right(left, epoch, key=lambda each: each[0])
        return (left[newer - 1][0] if newer else epoch), left[newer][1]

    def at(self, offset: int) -> int:
        """Return the epoch in which what is at an offset was written, or will be at the end of the log."""
        return self._begins[bisect_right(self._begins, offset, key=lambda each: each[1]) - 1][0]

    def _left(self, log_start_offset: int) -> list[tuple[int, int]]:
        """Return the epochs of which there is something left, none of them beginning before the log does."""
        gone = sum(begin <= log_start_offset for _, begin in self._begins) - 1
        (epoch, _), *rest = self._begins[gone:]
        return [(epoch, log_start_offset), *rest]
