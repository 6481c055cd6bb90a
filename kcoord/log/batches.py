"""The batches of one partition in the order of their offsets, and where in them something is. Pure.

Finding takes a number of steps that grows with the logarithm of the number of batches: they are searched by the last
offset of each, by the bytes up to its end, and by the highest time up to its end, none of which ever falls.

Where a time has to be looked for inside of a batch, that is handed out as `kcoord.log.work`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Final

from kcoord.log.work import Steps, Work, takes_long
from wire.records import BatchHeader, read_header, unpack
from wire.scanning import INT64_MIN, NO_TIMESTAMP, find, highest_time


@dataclass(slots=True)
class Batch:
    """One batch in its place, and what has to be known of it without reading it."""

    data: bytes
    base_offset: int
    last_offset: int
    """Of the last record, or of one that compaction took away behind it."""
    max_timestamp: int
    """In ms; of the records that are left of it, if the log begins inside of it; -1 means none."""
    aged_from: int
    """From when on its age counts, in ms: its highest time, or when it came if it has none."""
    end: int = 0
    """Bytes of the log from its very beginning, dropped ones included, to the end of this batch."""
    peak: int = INT64_MIN
    """The highest `max_timestamp` of this batch and of those before it."""

    @property
    def start(self) -> int:
        """Bytes of the log before this batch, dropped ones included."""
        return self.end - len(self.data)


_LAST_OFFSET: Final = attrgetter("last_offset")
_END: Final = attrgetter("end")
_PEAK: Final = attrgetter("peak")


class Batches:
    """Batches, oldest first."""

    __slots__ = ("_all", "_begin", "_written", "size_bytes")

    def __init__(self) -> None:
        self._all: list[Batch] = []
        self._begin: int | None = None
        """Where the log begins inside of the first batch, if the highest time behind that is not known yet."""
        self._written = 0
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._all)

    @property
    def all(self) -> Sequence[Batch]:
        """All of them, as they are now; not to be changed."""
        return self._all

    def append(self, data: bytes, header: BatchHeader, now_ms: int) -> None:
        """Put a batch at the end."""
        self._written += len(data)
        self.size_bytes += len(data)
        batch = _batch(data, header, now_ms)
        batch.end = self._written
        batch.peak = max(batch.max_timestamp, self._all[-1].peak if self._all else NO_TIMESTAMP)
        self._all.append(batch)

    def drop(self, count: int) -> int:
        """Take the first so many away; return the bytes that they had."""
        freed = sum(len(batch.data) for batch in self._all[:count])
        del self._all[:count]
        self.size_bytes -= freed
        self._repair_peaks(0)
        return freed

    def begin_inside(self, offset: int) -> None:
        """Note that the log begins at `offset`, so that what the first batch holds before it does not count.

        Its highest time is looked for when somebody asks; until then it is one that may be too high.
        """
        self._begin = offset if self._all and self._all[0].base_offset < offset else None

    def make_sure(self) -> Steps[None]:
        """Make the highest times right, for `find_time` and `latest_time`."""
        while self._begin is not None:
            first, begin = self._all[0], self._begin
            header = read_header(first.data)
            work = Work(partial(_highest_time, first.data, header, begin))
            if takes_long(header):
                yield work
            highest = work.result()
            if self._begin == begin and self._all[0] is first:
                first.max_timestamp = highest
                self._begin = None
                self._repair_peaks(0)

    def replace(self, start: int, stop: int, batches: Sequence[bytes]) -> int:
        """Put other batches in the place of those numbered from `start` to before `stop`; return the bytes freed.

        The new ones must be within the offsets of the old ones, and in their order. Time grows with the number of
        batches from there on.
        """
        old = self._all[start:stop]
        assert old
        new: list[Batch] = []
        for data in batches:
            header = read_header(data)
            assert old[0].base_offset <= header.base_offset
            assert header.last_offset <= old[-1].last_offset
            assert not new or new[-1].last_offset < header.base_offset
            # Rewritten records are as old as they were, even if they have no time to tell it.
            new.append(_batch(data, header, old[-1].aged_from))
        self._all[start:stop] = new
        end = self._all[start - 1].end if start else self._written - self.size_bytes
        for batch in self._all[start:]:
            end += len(batch.data)
            batch.end = end
        self._repair_peaks(start)
        freed = self._written - end
        self._written = end
        self.size_bytes -= freed
        return freed

    def index_of(self, offset: int) -> int:
        """Return the number of the first batch that does not end before `offset`, or how many batches there are."""
        return bisect_left(self._all, offset, key=_LAST_OFFSET)

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Return whole batches, `max_bytes` at most, from the one that holds `offset` or what comes next.

        With `at_least_one` the first is among them, however large it is.
        """
        first = self.index_of(offset)
        if first == len(self._all):
            return b""
        stop = bisect_right(self._all, self._all[first].start + max_bytes, first, key=_END)
        if at_least_one:
            stop = max(stop, first + 1)
        return b"".join([batch.data for batch in self._all[first:stop]])

    def bytes_from(self, offset: int) -> int:
        """Return how many bytes there are from the batch on that holds `offset` or what comes next."""
        first = self.index_of(offset)
        return 0 if first == len(self._all) else self._written - self._all[first].start

    def find_time(self, timestamp_ms: int, start: int) -> Steps[tuple[int, int] | None]:
        """Return offset and time (ms) of the first record at `timestamp_ms` or later, not before offset `start`."""
        behind = start
        while True:
            number = max(bisect_left(self._all, timestamp_ms, key=_PEAK), self.index_of(behind))
            later = (batch for batch in islice(self._all, number, None) if batch.max_timestamp >= timestamp_ms)
            batch = next(later, None)
            if batch is None:
                return None
            header = read_header(batch.data)
            work = Work(partial(_find, batch.data, header, timestamp_ms, start))
            if takes_long(header):
                yield work
            found = work.result()
            if found is not None:
                return found
            behind = batch.last_offset + 1

    def latest_time(self, start: int) -> Steps[tuple[int, int] | None]:
        """Return the first record with the highest time (ms), not before offset `start`, like `find_time`.

        Without any times it is the first of all, with the time -1 (Apache Kafka `FileRecords`).
        """
        if not self._all:
            return None
        highest = self._all[-1].peak
        if highest == NO_TIMESTAMP:
            return max(self._all[0].base_offset, start), NO_TIMESTAMP
        return (yield from self.find_time(highest, start))

    def _repair_peaks(self, start: int) -> None:
        """Make the peaks right from there on, up to where they are."""
        peak = self._all[start - 1].peak if start else NO_TIMESTAMP
        for batch in islice(self._all, start, None):
            peak = max(peak, batch.max_timestamp)
            if batch.peak == peak:
                return
            batch.peak = peak


def _batch(data: bytes, header: BatchHeader, now_ms: int) -> Batch:
    aged_from = now_ms if header.max_timestamp < 0 else header.max_timestamp
    return Batch(data, header.base_offset, header.last_offset, header.max_timestamp, aged_from)


def _find(data: bytes, header: BatchHeader, timestamp_ms: int, start: int) -> tuple[int, int] | None:
    records = unpack(data, header)
    first = start - header.base_offset
    if header.is_log_append_time:
        found = find(records, header.record_count, 0, INT64_MIN, first)
        return None if found is None else (header.base_offset + found[0], header.max_timestamp)
    found = find(records, header.record_count, header.base_timestamp, timestamp_ms, first)
    return None if found is None else (header.base_offset + found[0], found[1])


def _highest_time(data: bytes, header: BatchHeader, start: int) -> int:
    if header.is_log_append_time:
        return header.max_timestamp
    return highest_time(unpack(data, header), header.record_count, header.base_timestamp, start - header.base_offset)
