"""One partition: its log of record batches, in memory. Pure; the time comes from outside, in ms.

Batches lie in the order of their offsets. They are kept as they were sent, but for their place in the log and, with
LogAppendTime, their time (Apache Kafka `UnifiedLog`).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from kcoord.log.memory import LogMemory
from kcoord.log.topic_config import NO_LIMIT, TopicConfig
from kcoord.log.validation import Refused
from wire.errors import CorruptRecords, ErrorCode
from wire.records import Record, at_append_time, at_offset, build, check_crc, read_header, records_of

__all__ = ["Appended", "Found", "Partition", "Refused"]

HIGH_WATERMARK = -1
"""What stands for the end of the log where a new start is asked for (Apache Kafka `DeleteRecordsRequest`)."""


@dataclass(frozen=True, slots=True)
class Appended:
    """Where records went."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    """The time that the broker gave them, in ms; -1 if they keep their own."""
    log_start_offset: int
    duplicate: bool
    """They had been appended before, at these offsets, and were not again."""


@dataclass(frozen=True, slots=True)
class Found:
    """A record found by its time (ms)."""

    offset: int
    timestamp: int


@dataclass(slots=True)
class Batch:
    """One batch in its place, and what has to be known of it without reading it."""

    data: bytes
    base_offset: int
    last_offset: int
    max_timestamp: int
    end: int
    """Bytes of the log from its very beginning to the end of this batch, dropped ones included."""


_LAST_OFFSET = attrgetter("last_offset")


class Partition:
    """The log of one partition, led by this broker. `high_watermark` is where the next record will go."""

    __slots__ = (
        "_appended_bytes",
        "_batches",
        "_memory",
        "_next_watcher",
        "_watchers",
        "config",
        "deleted",
        "high_watermark",
        "index",
        "leader_epoch",
        "log_start_offset",
        "size_bytes",
    )

    def __init__(self, index: int, config: TopicConfig, memory: LogMemory) -> None:
        self.index = index
        self.leader_epoch = 0
        self.log_start_offset = 0
        self.high_watermark = 0
        self.size_bytes = 0
        self.config = config
        self.deleted = False
        self._memory = memory
        self._batches: list[Batch] = []
        self._appended_bytes = 0
        self._watchers: dict[int, Callable[[], None]] = {}
        self._next_watcher = 0

    def append(self, records: bytes | None, now_ms: int, *, version: int) -> Appended:
        """Append what a Produce request of that version brought for this partition.

        Raises Refused; nothing has changed then.
        """
        if not records:
            raise Refused(
                ErrorCode.INVALID_RECORD,
                f"Produce requests with version {version} must have at least one record batch per partition",
            )
        try:
            header = read_header(records)
        except CorruptRecords as error:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
        if not check_crc(records):
            raise Refused(ErrorCode.CORRUPT_MESSAGE, "the checksum is wrong")
        if not self._memory.has_room(header.size + LogMemory.BATCH_OVERHEAD):
            self.keep_to_limits(now_ms)
            if not self._memory.has_room(header.size + LogMemory.BATCH_OVERHEAD):
                raise Refused(ErrorCode.POLICY_VIOLATION, "the logs are full (see --memory-limit)")
        return self._place(records, now_ms)

    def append_own(self, records: Sequence[tuple[bytes | None, bytes | None]], now_ms: int) -> Appended:
        """Append what the broker itself writes, keys and values, as one batch; memory is no reason to refuse it."""
        made = [Record(offset, now_ms, key, value) for offset, (key, value) in enumerate(records)]
        return self._place(build(made), now_ms)

    def _place(self, batch: bytes, now_ms: int) -> Appended:
        base = self.high_watermark
        append_time = -1
        if self.config.message_timestamp_type == "LogAppendTime":
            append_time = now_ms
            batch = at_append_time(batch, now_ms)
        batch = at_offset(batch, base, self.leader_epoch)
        header = read_header(batch)
        self._appended_bytes += len(batch)
        self._batches.append(Batch(batch, base, header.last_offset, header.max_timestamp, self._appended_bytes))
        self.high_watermark = header.last_offset + 1
        self.size_bytes += len(batch)
        self._memory.used += len(batch) + LogMemory.BATCH_OVERHEAD
        self._tell()
        return Appended(base, header.last_offset, append_time, self.log_start_offset, duplicate=False)

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Return whole batches, from the one that holds `offset` or the next record after it.

        They have at most `max_bytes` together; with `at_least_one` the first is returned, however large it is.
        """
        first = self._index_of(offset)
        if first == len(self._batches):
            return b""
        start = self._batches[first].end - len(self._batches[first].data)
        stop = bisect_left(self._batches, start + max_bytes + 1, first, key=attrgetter("end"))
        if stop == first and at_least_one:
            stop += 1
        return b"".join(batch.data for batch in self._batches[first:stop])

    def bytes_from(self, offset: int) -> int:
        """Return how many bytes `read` would find from there to the end."""
        first = self._index_of(offset)
        if first == len(self._batches):
            return 0
        return self._appended_bytes - (self._batches[first].end - len(self._batches[first].data))

    def _index_of(self, offset: int) -> int:
        """Return which batch is the first that does not end before `offset`."""
        return bisect_left(self._batches, offset, key=_LAST_OFFSET)

    def find_time(self, timestamp_ms: int) -> Found | None:
        """Return the first record, by its offset, that is of that time or later."""
        for batch in self._batches:
            if batch.max_timestamp >= timestamp_ms:
                for record in records_of(batch.data):
                    if record.timestamp >= timestamp_ms and record.offset >= self.log_start_offset:
                        return Found(record.offset, record.timestamp)
        return None

    def latest_time(self) -> Found | None:
        """Return the record with the highest time, the first of them by its offset (KIP-734)."""
        latest = max((batch.max_timestamp for batch in self._batches), default=-1)
        return None if latest < 0 else self.find_time(latest)

    def delete_before(self, offset: int) -> int:
        """Move the start of the log up to `offset` (-1: to its end), and return where it is then.

        Raises Refused: OFFSET_OUT_OF_RANGE.
        """
        target = self.high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= target <= self.high_watermark:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        if target > self.log_start_offset:
            self._drop(self._index_of(target), target)
        return self.log_start_offset

    def keep_to_limits(self, now_ms: int) -> int:
        """Drop from the head what `retention.ms` and `retention.bytes` do not allow; return the bytes freed."""
        if "delete" not in self.config.cleanup_policy:
            return 0
        before, config = self.size_bytes, self.config
        size, count = self.size_bytes, 0
        for batch in self._batches:
            expired = config.retention_ms != NO_LIMIT and now_ms - batch.max_timestamp > config.retention_ms
            too_many = config.retention_bytes != NO_LIMIT and size - len(batch.data) >= config.retention_bytes
            if not expired and not too_many:
                break
            size -= len(batch.data)
            count += 1
        if count:
            self._drop(count, self._batches[count - 1].last_offset + 1)
        return before - self.size_bytes

    def compact(self, now_ms: int) -> Iterator[None]:
        """Not built yet."""
        raise NotImplementedError

    def _drop(self, count: int, start: int) -> None:
        freed = sum(len(batch.data) for batch in self._batches[:count])
        del self._batches[:count]
        self.size_bytes -= freed
        self._memory.used -= freed + count * LogMemory.BATCH_OVERHEAD
        self.log_start_offset = start
        self._tell()

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every append, move of the start, and deletion; what is returned ends that.

        It must neither wait nor raise nor change this partition.
        """
        key = self._next_watcher = self._next_watcher + 1
        self._watchers[key] = callback

        def forget() -> None:
            self._watchers.pop(key, None)

        return forget

    def _tell(self) -> None:
        for callback in tuple(self._watchers.values()):
            callback()

    def drop(self) -> None:
        """Give everything up, because the topic is deleted."""
        self.deleted = True
        self._drop(len(self._batches), self.high_watermark)
