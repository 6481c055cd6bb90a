"""What a partition knows of the idempotent producers that wrote to it (KIP-98). Pure.

It knows the epoch of each and its last five batches, and so finds out what is a repetition, what comes out of order
and what comes from a producer that has been replaced (Apache Kafka `ProducerStateManager`, `ProducerAppendInfo`).
"""

from dataclasses import dataclass
from typing import Final

from kcoord.log.memory import LogMemory
from kcoord.log.validation import Refused
from wire.errors import ErrorCode
from wire.records import BatchHeader
from wire.scanning import INT64_MAX, NO_TIMESTAMP

BATCHES_KEPT: Final = 5
"""As many as a producer may have in flight (Apache Kafka `ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""
EXPIRATION_MS: Final = 86_400_000
"""How long a producer is known after the time of its last batch (Kafka's default of `producer.id.expiration.ms`)."""
NO_EPOCH: Final = -1
_NEVER: Final = INT64_MAX
_SEQUENCES: Final = 2**31
"""Sequences begin again at 0 after 2**31 - 1."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One batch that was appended."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int
    """The highest of its records, in ms."""


@dataclass(slots=True)
class Producer:
    """One producer; a new one has no epoch and may begin with any sequence."""

    epoch: int = NO_EPOCH
    batches: tuple[Sent, ...] = ()
    """The last ones of this epoch, oldest first."""
    last_timestamp: int = NO_TIMESTAMP
    """In ms: that of the last batch, whenever it came."""


class Producers:
    """The producers of one partition, by their ids."""

    __slots__ = ("_by_id", "_memory", "_oldest")

    def __init__(self, memory: LogMemory) -> None:
        self._by_id: dict[int, Producer] = {}
        self._memory = memory
        self._oldest = _NEVER
        """No producer's last batch is of an earlier time (ms), so that nobody need be looked for in vain."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._by_id

    def check(self, header: BatchHeader, offset: int, place: str) -> Sent | None:
        """Decide on a batch that would be appended at `offset`; return what it repeats, if it does.

        A repetition has the sequences and the epoch of a batch that is known; what is in it is no matter
        (`ProducerStateEntry.findDuplicateBatch`). `place` is the partition as messages mention it.

        Raises Refused: INVALID_PRODUCER_EPOCH for an epoch that is over, OUT_OF_ORDER_SEQUENCE_NUMBER for a sequence
        that does not follow. Any does after an epoch of -1, which is none.
        """
        known = self._by_id.get(header.producer_id, Producer())
        epoch, sequence = header.producer_epoch, header.base_sequence
        if epoch == known.epoch:
            last = last_sequence(header)
            for sent in known.batches:
                if (sent.first_sequence, sent.last_sequence) == (sequence, last):
                    return sent
        who = f"producer {header.producer_id} at offset {offset} in partition {place}"
        if epoch < known.epoch:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                reason=f"epoch {epoch} of {who} is over: the last one seen is {known.epoch}",
            )
        expected = 0
        if epoch == known.epoch and known.batches:
            expected = (known.batches[-1].last_sequence + 1) % _SEQUENCES
        if known.epoch != NO_EPOCH and sequence != expected:
            raise Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                reason=f"sequence {sequence} of {who} is out of order: {expected} comes next in epoch {epoch}",
            )
        return None

    def remember(self, header: BatchHeader) -> None:
        """Note a batch that was appended, with the offsets that it has now."""
        producer = self._by_id.get(header.producer_id)
        if producer is None:
            producer = self._by_id[header.producer_id] = Producer()
            self._memory.used += LogMemory.PRODUCER_SIZE
        kept = producer.batches[1 - BATCHES_KEPT :] if producer.epoch == header.producer_epoch else ()
        sent = Sent(
            header.base_sequence,
            last_sequence(header),
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
        )
        producer.epoch = header.producer_epoch
        producer.batches = (*kept, sent)
        producer.last_timestamp = header.max_timestamp
        self._oldest = min(self._oldest, header.max_timestamp)

    def expire(self, now_ms: int) -> None:
        """Forget producers that have not been heard of for long, going by the times in their records.

        (Apache Kafka `ProducerStateManager.removeExpiredProducers`) All are looked through only if there may be one:
        this is asked at each append that finds no room.
        """
        if now_ms - self._oldest < EXPIRATION_MS:
            return
        gone = [each for each, known in self._by_id.items() if now_ms - known.last_timestamp >= EXPIRATION_MS]
        for each in gone:
            del self._by_id[each]
        self._memory.used -= len(gone) * LogMemory.PRODUCER_SIZE
        self._oldest = min((known.last_timestamp for known in self._by_id.values()), default=_NEVER)

    def clear(self) -> None:
        """Forget all."""
        self._memory.used -= len(self._by_id) * LogMemory.PRODUCER_SIZE
        self._by_id.clear()
        self._oldest = _NEVER


def last_sequence(header: BatchHeader) -> int:
    """Return the sequence of the last record of a batch (Apache Kafka `DefaultRecordBatch.incrementSequence`)."""
    return (header.base_sequence + header.last_offset_delta) % _SEQUENCES
