"""One partition: its log of record batches, in memory. Pure; the time comes from outside, in ms.

Batches are kept as they were sent, but for their place in the log and, if need be, their time. This broker leads every
partition alone, so what is appended is committed: the high watermark is the end of the log (Apache Kafka `UnifiedLog`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kcoord.log.batches import Batch, Batches
from kcoord.log.epochs import LeaderEpochs
from kcoord.log.memory import LogMemory
from kcoord.log.pending import Pending
from kcoord.log.producers import Producers
from kcoord.log.topic_config import COMPACT, DELETE, LOG_APPEND_TIME, TopicConfig
from kcoord.log.validation import Checked, Refused, check_batch, only_batch
from kcoord.log.work import Steps, on_the_spot
from wire.errors import ErrorCode
from wire.keyed import keyed_batch
from wire.records import at_offset, read_header
from wire.scanning import NO_TIMESTAMP

__all__ = ["Appended", "Batch", "Found", "Partition", "Refused"]

HIGH_WATERMARK: Final = -1
"""What stands for the end of the log where a new start is asked for (Apache Kafka `DeleteRecordsRequest`)."""

MOST_PENDING: Final = 512 * 1024
"""Bytes, about, that what the broker wrote itself may take before it is put into batches unasked."""

_TOLD_WITHOUT_START: Final = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE})
"""Refusals with which Kafka does not tell the log start offset (`ReplicaManager.appendRecordsToLeader`)."""


@dataclass(frozen=True, slots=True)
class Appended:
    """Where records went."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    """The time that the broker gave them, in ms; -1 if they keep their own. Of a repetition, its highest time."""
    log_start_offset: int
    duplicate: bool
    """They had been appended before, at these offsets, and were not again."""


@dataclass(frozen=True, slots=True)
class Found:
    """A record found by its time (ms)."""

    offset: int
    timestamp: int


def no_sequence(_records: Sequence[tuple[bytes | None, bytes | None]]) -> int:
    """Return 0, as Kafka's coordinator has it, which is no producer (`MemoryRecords.builder`)."""
    return 0


class Partition:
    """The log of one partition. `high_watermark` is the offset that the next record will get."""

    __slots__ = (
        "_batches",
        "_epochs",
        "_memory",
        "_next_watcher",
        "_pending",
        "_producers",
        "_watchers",
        "config",
        "deleted",
        "high_watermark",
        "index",
        "leader_epoch",
        "log_start_offset",
        "own_sequence",
        "topic",
    )

    def __init__(self, topic: str, index: int, config: TopicConfig, memory: LogMemory) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = 0
        self.own_sequence: Callable[[Sequence[tuple[bytes | None, bytes | None]]], int] = no_sequence
        """What batches that the broker itself writes have for a base sequence."""
        self.log_start_offset = 0
        self.high_watermark = 0
        self.config = config
        self.deleted = False
        self._memory = memory
        self._batches = Batches()
        self._epochs = LeaderEpochs()
        self._pending = Pending()
        self._producers = Producers(memory)
        self._watchers: dict[int, Callable[[], None]] = {}
        self._next_watcher = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches."""
        return self._settled.size_bytes

    @property
    def settled_bytes(self) -> int:
        """Bytes of all batches but for what the broker wrote lately and nobody has looked at: that stays as it is."""
        return self._batches.size_bytes

    @property
    def batches(self) -> Sequence[Batch]:
        """All batches, oldest first, as they are now; not to be changed."""
        return self._settled.all

    @property
    def _settled(self) -> Batches:
        if self._pending:
            self._settle()
        return self._batches

    def lead_anew(self) -> None:
        """Let the next leader's epoch begin here (Apache Kafka `Partition.makeLeader`)."""
        if self._pending:
            self._settle()  # it was written in the epoch that ends
        self.leader_epoch += 1
        self._epochs.begin(self.leader_epoch, self.high_watermark)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return where a leader's epoch ends, as `LeaderEpochs.end_of` does."""
        return self._epochs.end_of(epoch, self.log_start_offset, self.high_watermark)

    def epoch_at(self, offset: int) -> int:
        """Return the leader's epoch in which what is at an offset of this log was written, at its end the present."""
        return self._epochs.at(offset)

    def append(self, records: bytes | None, now_ms: int, *, version: int) -> Appended:
        """Append what a Produce request of that version brought for this partition.

        Raises Refused, as `check` and `add`; nothing has changed then.
        """
        return self.add(self.check(records, now_ms, version=version), now_ms)

    def check(self, records: bytes | None, now_ms: int, *, version: int, briefly: bool = False) -> Checked:
        """Do the part of `append` that takes time and needs nothing of the log but its settings.

        A thread may do it. Raises Refused: for all that Kafka's `LogValidator` and those before it check. With
        `briefly` raises `kcoord.log.validation.TakesLong` where it would take longer than some milliseconds.
        """
        batch = only_batch(records, version)
        try:
            return check_batch(batch, self.config, f"{self.topic}-{self.index}", now_ms, briefly=briefly)
        except Refused as refused:
            raise self._with_start(refused) from None

    def add(self, checked: Checked, now_ms: int) -> Appended:
        """Append a batch that has been checked, unless its producer repeats it.

        Raises Refused: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER; POLICY_VIOLATION if the logs are full;
        UNKNOWN_TOPIC_OR_PARTITION if the topic is deleted.
        """
        if self.deleted:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        header = checked.header
        size = header.size + LogMemory.BATCH_OVERHEAD
        try:
            if header.producer_id >= 0:
                repeated = self._producers.check(header, self.high_watermark, f"{self.topic}-{self.index}")
                if repeated is not None:
                    return Appended(
                        repeated.first_offset,
                        repeated.last_offset,
                        repeated.timestamp,
                        self.log_start_offset,
                        duplicate=True,
                    )
                size += 0 if header.producer_id in self._producers else LogMemory.PRODUCER_SIZE
            self._make_room(size, now_ms)
        except Refused as refused:
            raise self._with_start(refused) from None
        return self._place(checked.batch, checked.log_append_time_ms, now_ms)

    def append_own(self, records: Sequence[tuple[bytes | None, bytes | None]], now_ms: int) -> Appended:
        """Append what the broker itself writes, keys and values, at least one, as one batch.

        Neither its size nor the memory is a reason to refuse it. The batch is made when somebody wants to see it; of
        what nobody wants to see, only the newest of each key may be left then, in a topic that is compacted.
        """
        assert not self.deleted
        assert records
        append_time = self.config.message_timestamp_type == LOG_APPEND_TIME
        base = self.high_watermark
        self.high_watermark += len(records)
        self._memory.used += self._pending.put(base, records, now_ms, log_append_time=append_time)
        self._tell()
        if self._pending.size > MOST_PENDING:
            self._settle(newest=COMPACT in self.config.cleanup_policy)
        return Appended(
            base,
            self.high_watermark - 1,
            now_ms if append_time else NO_TIMESTAMP,
            self.log_start_offset,
            duplicate=False,
        )

    def _settle(self, *, newest: bool = False) -> None:
        """Put into batches what waits for that, because somebody wants to see it; or, compacted, to save memory."""
        self._memory.used -= self._pending.size
        for write in self._pending.take(newest=newest):
            batch = keyed_batch(
                write.rows,
                write.time_ms,
                base_offset=write.base_offset,
                leader_epoch=self.leader_epoch,
                base_sequence=self.own_sequence(write.rows),
                log_append_time=write.log_append_time,
                deltas=write.deltas,
                last_delta=write.last_delta,
            )
            self._batches.append(batch, read_header(batch), write.time_ms)
            self._memory.used += len(batch) + LogMemory.BATCH_OVERHEAD

    def _make_room(self, size: int, now_ms: int) -> None:
        if not self._memory.has_room(size):
            self.keep_to_limits(now_ms)
        if not self._memory.has_room(size):
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"The records of all topics may take {self._memory.limit} bytes of memory (--memory-limit). "
                f"{self._memory.used} are taken, so there is no room for {size} more.",
            )

    def _place(self, batch: bytes, log_append_time_ms: int, now_ms: int) -> Appended:
        batch = at_offset(batch, self.high_watermark, self.leader_epoch)
        header = read_header(batch)
        self._settled.append(batch, header, now_ms)
        self._memory.used += len(batch) + LogMemory.BATCH_OVERHEAD
        if header.producer_id >= 0:
            self._producers.remember(header)
        self.high_watermark = header.last_offset + 1
        self._tell()
        return Appended(
            header.base_offset, header.last_offset, log_append_time_ms, self.log_start_offset, duplicate=False
        )

    def _with_start(self, refused: Refused) -> Refused:
        if refused.code not in _TOLD_WITHOUT_START:
            refused.log_start_offset = self.log_start_offset
        return refused

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Return whole batches, from the one that holds `offset` or the next record after it.

        They have at most `max_bytes` together; with `at_least_one` the first is returned, however large it is.
        """
        return self._settled.read(offset, max_bytes, at_least_one=at_least_one)

    def bytes_from(self, offset: int) -> int:
        """Return how many bytes `read` would find from there to the end."""
        return self._settled.bytes_from(offset)

    def find_time(self, timestamp_ms: int) -> Found | None:
        """Return the first record, by its offset, of that time (0 or more) or later; None if there is none."""
        return on_the_spot(self.finding_time(timestamp_ms))

    def finding_time(self, timestamp_ms: int) -> Steps[Found | None]:
        """Do what `find_time` does, piece by piece: there may be very much in one batch."""
        yield from self._settled.make_sure()
        found = yield from self._settled.find_time(timestamp_ms, self.log_start_offset)
        return None if found is None else Found(*found)

    def latest_time(self) -> Found | None:
        """Return the record with the highest time, the first of them by its offset (KIP-734); None without records.

        If no record has a time, it is the first one, with the time -1.
        """
        return on_the_spot(self.finding_latest_time())

    def finding_latest_time(self) -> Steps[Found | None]:
        """Do what `latest_time` does, piece by piece."""
        yield from self._settled.make_sure()
        found = yield from self._settled.latest_time(self.log_start_offset)
        return None if found is None else Found(*found)

    def delete_before(self, offset: int) -> int:
        """Move the start of the log up to `offset` (-1: to its end), and return where it is then.

        Raises Refused: POLICY_VIOLATION if the topic is compacted and nothing else, OFFSET_OUT_OF_RANGE
        (Apache Kafka `Partition.deleteRecordsOnLeader`).
        """
        if self.config.cleanup_policy == {COMPACT}:
            raise Refused(ErrorCode.POLICY_VIOLATION, reason="records of a topic that is only compacted stay")
        target = self.high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= target <= self.high_watermark:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        if target > self.log_start_offset:
            self._drop(self._settled.index_of(target), target)
        return self.log_start_offset

    def keep_to_limits(self, now_ms: int) -> int:
        """Drop the oldest batches beyond `retention.ms` and `retention.bytes`; return the bytes freed.

        A batch is as old as its youngest record. As Kafka does with segments, one that reaches across
        `retention.bytes` stays (`UnifiedLog.deleteRetentionSizeBreachedSegments`). Producers that were not heard of
        for long are forgotten, whatever the policy.
        """
        self._producers.expire(now_ms)
        config = self.config
        if DELETE not in config.cleanup_policy:
            return 0
        left = self.size_bytes
        count = 0
        for batch in self._settled.all:
            too_old = config.retention_ms >= 0 and now_ms - batch.aged_from > config.retention_ms
            too_many = config.retention_bytes >= 0 and left - len(batch.data) >= config.retention_bytes
            if not too_old and not too_many:
                break
            left -= len(batch.data)
            count += 1
        if count == 0:
            return 0
        freed = self.size_bytes - left
        self._drop(count, self._batches.all[count - 1].last_offset + 1)
        return freed

    def replace(self, start: int, stop: int, batches: Sequence[bytes]) -> int:
        """Put other batches in the place of `batches[start:stop]`, which is not empty; return the bytes freed.

        They must lie within the offsets of those, in order. Where offsets are left out, reading goes on after them.
        """
        freed = self._batches.replace(start, stop, batches)
        self._batches.begin_inside(self.log_start_offset)
        fewer = stop - start - len(batches)
        self._memory.used -= freed + fewer * LogMemory.BATCH_OVERHEAD
        return freed

    def _drop(self, count: int, start: int) -> None:
        freed = self._batches.drop(count)
        self._memory.used -= freed + count * LogMemory.BATCH_OVERHEAD
        self.log_start_offset = start
        self._batches.begin_inside(start)
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

    def empty(self) -> None:
        """Drop all records, whatever the policy says; offsets go on from where they are."""
        self._memory.used -= self._pending.discard()
        self._drop(len(self._batches), self.high_watermark)

    def drop(self) -> None:
        """Give everything up, because the topic is deleted."""
        self.deleted = True
        self._producers.clear()
        self.empty()
