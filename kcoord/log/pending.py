"""What the broker wrote itself and nobody has looked at yet: rows that are not put into batches before somebody does.

Every commit of a group is a record of __consumer_offsets, and mostly nobody reads that topic. Making batches would cost
a commit more than all the rest that the coordinator does for it, and compaction most of it once again. Rows as they
came cost next to nothing, and to compact them is to leave out those whose keys came again. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Row = tuple[bytes | None, bytes | None]
"""A key and a value."""


@dataclass(slots=True)
class Write:
    """Rows that were written together, at one time (ms), from `base_offset` on."""

    base_offset: int
    rows: Sequence[Row]
    time_ms: int
    log_append_time: bool
    deltas: Sequence[int] | None = None
    """How far each row is from the base offset, if some were left out; else there are no gaps."""
    last_delta: int = 0
    """The same of the last row that was written."""


class Pending:
    """Writes in their order. `size` is about the memory that they take, in bytes."""

    ROW_OVERHEAD: Final = 200
    WRITE_OVERHEAD: Final = 250
    """In bytes: what a row takes beside its bytes, and a write beside its rows, rounded up."""

    __slots__ = ("_writes", "size")

    def __init__(self) -> None:
        self._writes: list[Write] = []
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._writes)

    def put(self, write: Write) -> int:
        """Keep a write; return by how much `size` has grown."""
        grown = self.WRITE_OVERHEAD
        for key, value in write.rows:
            grown += self.ROW_OVERHEAD + len(key or b"") + len(value or b"")
        write.last_delta = len(write.rows) - 1
        self._writes.append(write)
        self.size += grown
        return grown

    def discard(self) -> int:
        """Keep nothing; return what `size` was."""
        size, self.size = self.size, 0
        self._writes = []
        return size

    def take(self, *, newest: bool) -> Iterator[Write]:
        """Return all writes and keep none; with `newest` without rows whose keys came again later.

        Rows without a key are left out then, too, and writes of which nothing is left. The last write stays as it is.
        """
        writes, self._writes, self.size = self._writes, [], 0
        if newest:
            seen = {key for key, _ in writes[-1].rows if key is not None}
            for write in reversed(writes[:-1]):
                _leave_out(write, seen)
        return (write for write in writes if write.rows)


def _leave_out(write: Write, seen: set[bytes]) -> None:
    """Leave out the rows of a write whose keys are seen already, and see the others."""
    kept = []
    for delta in range(len(write.rows) - 1, -1, -1):
        key, _ = write.rows[delta]
        if key is not None and key not in seen:
            seen.add(key)
            kept.append(delta)
    if len(kept) < len(write.rows):
        kept.reverse()
        write.rows = [write.rows[delta] for delta in kept]
        write.deltas = kept
