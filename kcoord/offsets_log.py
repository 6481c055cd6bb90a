"""One partition of __consumer_offsets as its readers see it: every row that is durable, in the order of the writes.

The store is what counts; the log is what tools read. Rows come into the log when the store has them, in one batch for
each write, and so the log never shows what may yet be lost. When a partition is loaded, the log is brought to where the
store is: at the start that is all of it, after a failed write it is what the failure left open. Only rows that differ
are added, so a reader sees none of them twice, and misses none.
"""

from collections.abc import Sequence
from typing import Final

import trio

from kcoord.log.partition import Partition
from kcoord.store.base import Row
from wire.records import read_header, records_of

LARGEST: Final = 1_000_000
"""Bytes of keys and values that one batch may have (Apache Kafka: `max.message.bytes` of the topic)."""
GROUP_KEY: Final = b"\x00\x02"
"""What the key of a record about a group begins with: the version of its layout."""
RECORDS_A_TURN: Final = 500
"""Records that are read or added before other tasks get a turn."""


def sequence_before_4_0(records: Sequence[tuple[bytes | None, bytes | None]]) -> int:
    """Return the base sequence of a batch: -1 if it is about a group, 0 if it is about offsets.

    Each was a batch of its own then; where a batch here has both, its first record counts. (Apache Kafka 3.9
    `GroupMetadataManager.storeGroup`, `storeOffsets`.)
    """
    key = records[0][0] or b""
    return -1 if key[:2] == GROUP_KEY else 0


class OffsetsLog:
    """Adds to the log of one partition. Who adds waits its turn in between if there is much: one task may use it."""

    __slots__ = ("_partition",)

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    async def add(self, rows: Sequence[Row], time_ms: int) -> None:
        """Append rows that the store has, at that time (Unix, ms).

        Of one write they are one batch, as long as that is not too large.
        """
        start, size = 0, 0
        for number, (key, value) in enumerate(rows):
            grown = len(key) if value is None else len(key) + len(value)
            if size + grown > LARGEST and number > start:
                self._partition.append_own(rows[start:number], time_ms)
                await trio.lowlevel.checkpoint()
                start, size = number, 0
            size += grown
        if start < len(rows):
            self._partition.append_own(rows[start:] if start else rows, time_ms)

    async def catch_up(self, time_ms: int) -> "CatchingUp":
        """Begin to compare the log with the store; what has to be added has that time."""
        return CatchingUp(self, await self._living(), time_ms)

    async def _living(self) -> dict[bytes, bytes]:
        """Return what a reader of the whole log has in the end: the newest value of each key."""
        living: dict[bytes, bytes] = {}
        count = 0
        position = self._partition.log_start_offset
        while batch := self._partition.read(position, 0, at_least_one=True):
            for record in records_of(batch):
                if record.key is not None:
                    living.pop(record.key, None)
                    if record.value is not None:
                        living[record.key] = record.value
                count += 1
                if count % RECORDS_A_TURN == 0:
                    await trio.lowlevel.checkpoint()
            position = read_header(batch).last_offset + 1
        return living


class CatchingUp:
    """Takes the living rows of the store, each key once, and adds what the log does not have."""

    __slots__ = ("_fresh", "_living", "_log", "_time_ms")

    def __init__(self, log: OffsetsLog, living: dict[bytes, bytes], time_ms: int) -> None:
        self._log = log
        self._time_ms = time_ms
        self._living = living
        self._fresh: list[Row] = []

    async def take(self, key: bytes, value: bytes) -> None:
        """Take one row."""
        if self._living.pop(key, None) != value:
            await self._put(key, value)

    async def finish(self) -> None:
        """Add tombstones for what the store has no more."""
        for key in self._living:
            await self._put(key, None)
        await self._log.add(self._fresh, self._time_ms)

    async def _put(self, key: bytes, value: bytes | None) -> None:
        self._fresh.append((key, value))
        if len(self._fresh) == RECORDS_A_TURN:
            await self._log.add(self._fresh, self._time_ms)
            self._fresh = []
            await trio.lowlevel.checkpoint()
