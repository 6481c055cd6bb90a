"""Compaction: of each key the newest record stays, at its offset, and the others go. Pure; the time comes from outside.

A log is clean up to some offset and dirty from there on. Compacting it reads the dirty part to learn the newest offset
of each key in it, and then goes through all batches before its end: what is older than the newest of its key goes, in
the clean part, too. A tombstone, a record without a value, stays for `delete.retention.ms` after the compaction that
met it first, so that readers who are slow see it. (Apache Kafka `Cleaner`, `LogCleanerManager`; KIP-534.)

A batch of which nothing goes is not touched. One of which something goes spans the offsets that it did, is packed as it
was, and keeps its producer's sequence; what producers did last is remembered elsewhere (`kcoord.log.producers`), so a
batch of which everything goes need not stay for that. The last batch of the log is never touched: the end stays where
it is.

Other than in Kafka there are no segments. There, a log is compacted up to its newest segment, which may be 1 GiB; here,
up to its last batch, once there is enough to gain. And the time from which on a tombstone may go is kept beside the
batch, not in it.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Final

from kcoord.log.batches import Batch
from kcoord.log.partition import Partition
from kcoord.log.topic_config import COMPACT
from kcoord.log.work import Steps, Work
from wire.keyed import Entry, entries, with_fewer
from wire.records import BatchHeader, Compression, read_header, unpack

FLOOR: Final = 1024 * 1024
"""Bytes that must be dirty before it is worth looking: a log of less than that is never compacted."""
STEP: Final = 1_000
"""Records that are read before others get their turn; about a millisecond's work."""
LARGE: Final = 256 * 1024
"""Bytes of records from which to copy a part of them takes long enough to be done elsewhere."""
BATCHES_AT_ONCE: Final = 100
REPLACEMENTS: Final = 50
"""A log is changed in so many pieces, if they have so many batches at least: each change takes time in proportion to
the whole log."""
MOST_KEYS: Final = 64 * 1024 * 1024
"""Bytes that the keys of one compaction may take in memory; what comes after them stays dirty (in Apache Kafka,
`log.cleaner.dedupe.buffer.size`)."""
KEY_OVERHEAD: Final = 250
"""Bytes that a key takes beside itself."""

_LAST_OFFSET: Final = attrgetter("last_offset")


@dataclass(slots=True)
class Alive:
    """Of a dirty batch: how many records it has, how many are the newest of their keys, and if it has tombstones."""

    count: int
    newest: int = 0
    tombstones: bool = False


@dataclass(slots=True)
class Dirty:
    """What the dirty part says: where the newest record of each key is, and what that leaves of each batch."""

    end: int
    """The offset at which the part that was read ends."""
    newest: dict[bytes, tuple[int, Alive]] = field(default_factory=dict)
    batches: dict[int, Alive] = field(default_factory=dict)
    """By the last offset of each."""


class Pace:
    """Counts records, and says when it is somebody else's turn."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = STEP

    def is_over(self) -> bool:
        """Count one; whether the step is over with it."""
        self._left -= 1
        if self._left:
            return False
        self._left = STEP
        return True


class Compaction:
    """What is known of the compaction of one partition, between one time and the next."""

    __slots__ = ("_clean_until", "_due_at", "_horizons", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._clean_until = 0
        self._due_at = 0
        self._horizons: dict[int, int] = {}
        """From when on (ms) the tombstones of a batch may go, by its last offset."""
        self.look()

    @property
    def is_due(self) -> bool:
        """Whether enough is dirty: `FLOOR`, and as much as is clean (Apache Kafka, `min.cleanable.dirty.ratio` 0.5).

        What the broker wrote itself counts as soon as it is in batches. It costs little enough to be asked after every
        append.
        """
        return self.partition.settled_bytes >= self._due_at

    def look(self) -> None:
        """Notice that the log became smaller by itself, so that `is_due` is right."""
        partition = self.partition
        clean = partition.size_bytes - partition.bytes_from(self._clean_until)
        last = len(partition.batches[-1].data) if partition.batches else 0
        self._due_at = clean + max(FLOOR, clean) + last

    def run(self, now_ms: int) -> Steps[None]:
        """Compact the partition, in steps (`kcoord.log.work`): between two of them, anything may happen to it.

        It ends early if the topic is deleted, or not to be compacted any more.
        """
        partition = self.partition
        dirty = Dirty(partition.batches[-1].base_offset if partition.batches else 0)
        yield from self._read_dirty(dirty)
        yield from self._sweep(dirty, now_ms)
        if self._goes_on():
            self._clean_until = max(self._clean_until, dirty.end)
        self.look()

    def _goes_on(self) -> bool:
        return not self.partition.deleted and COMPACT in self.partition.config.cleanup_policy

    def _batches(self, start: int, end: int) -> Iterator[Batch]:
        """Yield the batches from `start` to before `end`, whatever happens to the log meanwhile."""
        while self._goes_on():
            batches = self.partition.batches
            number = bisect_left(batches, start, key=_LAST_OFFSET)
            if number == len(batches) or batches[number].last_offset >= end:
                return
            start = batches[number].last_offset + 1
            yield batches[number]

    def _read_dirty(self, dirty: Dirty) -> Steps[None]:
        """Learn the newest offset of each key, as far as there is room for keys."""
        pace, room = Pace(), MOST_KEYS
        for batch in self._batches(self._clean_until, dirty.end):
            header = read_header(batch.data)
            alive = dirty.batches[batch.last_offset] = Alive(header.record_count)
            records = yield from _unpacked(batch.data, header)
            for _, _, _, delta, key, tombstone in entries(records, header.record_count):
                if pace.is_over():
                    yield None
                if key is None:
                    continue
                older = dirty.newest.get(key)
                if older is None:
                    room -= len(key) + KEY_OVERHEAD
                else:
                    older[1].newest -= 1
                alive.newest += 1
                alive.tombstones = alive.tombstones or tombstone
                dirty.newest[key] = (header.base_offset + delta, alive)
            if room <= 0:
                dirty.end = batch.last_offset + 1
                return

    def _sweep(self, dirty: Dirty, now_ms: int) -> Steps[None]:
        """Leave of each batch what is to stay."""
        pace, horizons = Pace(), dict[int, int]()
        changes: list[tuple[Batch, bytes | None]] = []
        for batch in self._batches(self.partition.log_start_offset, dirty.end):
            if pace.is_over():
                yield None
            left = yield from self._left_of(batch, dirty, now_ms, pace, horizons)
            if changes or left is not batch.data:
                changes.append((batch, left))
            if len(changes) >= max(BATCHES_AT_ONCE, len(self.partition.batches) // REPLACEMENTS):
                self._apply(changes)
                changes = []
        if self._goes_on():
            self._apply(changes)
            self._horizons = horizons

    def _left_of(
        self, batch: Batch, dirty: Dirty, now_ms: int, pace: Pace, horizons: dict[int, int]
    ) -> Steps[bytes | None]:
        """Return what is to stay of a batch: its own data if that is everything, None if it is nothing."""
        alive = dirty.batches.get(batch.last_offset)
        if alive is not None and not alive.newest:
            return None
        if alive is not None and alive.newest == alive.count and not alive.tombstones:
            return batch.data
        header = read_header(batch.data)
        records = yield from _unpacked(batch.data, header)
        horizon = self._horizons.get(batch.last_offset)
        kept: list[Entry] = []
        for entry in entries(records, header.record_count):
            if pace.is_over():
                yield None
            _, _, _, delta, key, tombstone = entry
            if key is None or (tombstone and horizon is not None and now_ms >= horizon):
                continue
            newest = dirty.newest.get(key)
            if newest is not None and newest[0] > header.base_offset + delta:
                continue
            if tombstone and batch.last_offset not in horizons:
                again = now_ms + self.partition.config.delete_retention_ms
                horizons[batch.last_offset] = again if horizon is None else horizon
            kept.append(entry)
        if len(kept) == header.record_count:
            return batch.data
        if not kept:
            return None
        work = Work(partial(with_fewer, batch.data, header, records, kept))
        if header.compression is not Compression.NONE or len(records) >= LARGE:
            yield work
        return work.result()

    def _apply(self, changes: list[tuple[Batch, bytes | None]]) -> None:
        """Change the log where that was prepared; what it lost at its head meanwhile is lost."""
        partition = self.partition
        # A batch inside of which the log begins is left alone: what is known of it is of its visible part.
        first = bisect_left(changes, partition.log_start_offset, key=_base_offset)
        while len(changes) > first and changes[-1][1] is changes[-1][0].data:
            changes.pop()
        if first < len(changes):
            start = bisect_left(partition.batches, changes[first][0].last_offset, key=_LAST_OFFSET)
            new = [left for _, left in changes[first:] if left is not None]
            partition.replace(start, start + len(changes) - first, new)


def _unpacked(data: bytes, header: BatchHeader) -> Steps[bytes]:
    work = Work(partial(unpack, data, header))
    if header.compression is not Compression.NONE:
        yield work
    return work.result()


def _base_offset(change: tuple[Batch, bytes | None]) -> int:
    return change[0].base_offset
