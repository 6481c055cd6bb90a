"""What the broker wrote itself and nobody has looked at yet: rows that are not put into batches before somebody does.

Every commit of a group is a record of __consumer_offsets, and mostly nobody reads that topic. To make batches, and to
compact them, would be a good part of what a commit costs. Rows as they came cost next to nothing, and to compact them
is to leave out those whose keys came again. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Row = tuple[bytes | None, bytes | None]
"""A key and a value."""


@dataclass(frozen=True, slots=True)
class Write:
    """Rows that were written together, at one time (ms), from `base_offset` on."""

    base_offset: int
    time_ms: int
    log_append_time: bool
    rows: Sequence[Row]
    deltas: Sequence[int] | None
    """How far each row is from the base offset, if some were left out; else there are no gaps."""
    last_delta: int
    """The same of the last row that was written."""


class Pending:
    """Writes in their order. `size` is about the memory that they take, in bytes.

    They are kept in a few long lists of bytes and numbers, not as an object each: of those, Python's collector would
    have to look through thousands, again and again.
    """

    ROW_OVERHEAD: Final = 100
    WRITE_OVERHEAD: Final = 100
    """In bytes: what a row takes beside its bytes, and a write beside its rows, rounded up."""

    __slots__ = ("_about", "_keys", "_values", "size")

    def __init__(self) -> None:
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._about: list[int] = []
        """Of each write: base offset, time, whether that is the broker's, number of rows."""
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._keys)

    def put(self, base_offset: int, rows: Sequence[Row], time_ms: int, *, log_append_time: bool) -> int:
        """Keep a write; return by how much `size` has grown."""
        grown = self.WRITE_OVERHEAD + self.ROW_OVERHEAD * len(rows)
        for key, value in rows:
            if key is not None:
                grown += len(key)
            if value is not None:
                grown += len(value)
            self._keys.append(key)
            self._values.append(value)
        self._about += (base_offset, time_ms, log_append_time, len(rows))
        self.size += grown
        return grown

    def discard(self) -> int:
        """Keep nothing; return what `size` was."""
        size, self.size = self.size, 0
        self._keys, self._values, self._about = [], [], []
        return size

    def take(self, *, newest: bool) -> Iterator[Write]:
        """Return all writes and keep none; with `newest` without rows whose keys came again later.

        Rows without a key are left out then, too, and writes of which nothing is left. The last write stays as it is.
        """
        keys, values, about = self._keys, self._values, self._about
        self.discard()
        kept = _newest(keys, len(keys) - about[-1]) if newest else None
        start = 0
        for base_offset, time_ms, log_append_time, count in zip(*[iter(about)] * 4, strict=True):
            deltas = None if kept is None else [delta for delta in range(count) if kept[start + delta]]
            places = range(start, start + count) if deltas is None else [start + delta for delta in deltas]
            rows = [(keys[place], values[place]) for place in places]
            if rows:
                yield Write(base_offset, time_ms, bool(log_append_time), rows, deltas, count - 1)
            start += count


def _newest(keys: Sequence[bytes | None], last: int) -> bytearray:
    """Mark, with a 1, the keys from `last` on, and before that those that do not come again."""
    marks = bytearray(len(keys))
    marks[last:] = b"\1" * (len(keys) - last)
    seen = set(keys[last:])
    seen.add(None)
    for place in range(last - 1, -1, -1):
        key = keys[place]
        if key not in seen:
            seen.add(key)
            marks[place] = 1
    return marks
