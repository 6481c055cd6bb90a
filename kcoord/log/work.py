"""Work on records that may take long: it is handed out piece by piece, for somebody else to do. Pure.

What looks into batches is a generator. Between two of its pieces anything may happen to the log, and a piece itself
touches nothing but bytes, so it may be done in a thread. Who does not care just goes on: then it is done on the spot.
"""

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from wire.records import BatchHeader, Compression

T = TypeVar("T")

MANY: int = 500
"""Records of a batch from which walking over them takes long: about a millisecond."""


class Work(Generic[T]):
    """One piece. `do` may be called anywhere, `result` where the generator goes on."""

    __slots__ = ("_call", "_found")

    def __init__(self, call: Callable[[], T]) -> None:
        self._call: Callable[[], T] | None = call
        self._found: T

    def do(self) -> None:
        """Do it, if it is not done yet. Raises what it raises."""
        if self._call is not None:
            self._found = self._call()
            self._call = None

    def result(self) -> T:
        """Return what came of it, which has to be done for that."""
        self.do()
        return self._found


Steps = Generator[Work[Any] | None, None, T]
"""What hands out its work, or None where others only should have their turn."""


def on_the_spot(steps: Steps[T]) -> T:
    """Do all of it here and now, and return what came of it."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def takes_long(header: BatchHeader) -> bool:
    """Whether to look into a batch may take long: there may be very much in one that is packed, however small."""
    return header.compression is not Compression.NONE or header.record_count >= MANY
