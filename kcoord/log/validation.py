"""What a broker checks of the records that a producer sends, before they have a place. Pure.

The order of the checks is Apache Kafka's, because it decides which error a batch with several faults gets:
`ProduceRequest.validateRecords`, then `UnifiedLog.analyzeAndValidateRecords`, then `LogValidator`. Where Kafka does not
check but fails, it answers UNKNOWN_SERVER_ERROR, and so does this. Stricter than Kafka it is in four things:

* The length of a record must be that of its content in compressed batches, too. Kafka takes others, and its consumers
  fail on them.
* The records of a batch may not take more than `wire.compression.MOST_UNPACKED` when they are unpacked.
* A batch may not have more than `MOST_RECORDS`.
* Its records may not have more headers than `wire.scanning.MOST_HEADERS`.
"""

import struct
from dataclasses import dataclass
from typing import Final

from kcoord.log.topic_config import COMPACT, LOG_APPEND_TIME, TopicConfig
from wire.compression import MOST_UNPACKED
from wire.errors import CorruptRecords, ErrorCode, TooManyRecords
from wire.records import (
    HEADER_SIZE,
    LENGTH_END,
    MAGIC,
    BatchHeader,
    Compression,
    Record,
    check_crc,
    read_header,
    read_record,
    unpack,
    with_time,
)
from wire.scanning import INT64_MAX, INT64_MIN, MOST_FAULTS, MOST_HEADERS, NO_TIMESTAMP, Scan, scan, wrapped

ZSTD_SINCE: Final = 7
"""The version of Produce from which on zstd may be used (KIP-110)."""
MOST_RECORDS: Final = 1_000_000
"""Of one batch: looking at each of them keeps everybody else waiting. No producer fills a batch with so many."""

BRIEF_BYTES: Final = 4 * 1024 * 1024
"""Of a batch. What a check costs that is to be brief, is within these four: some milliseconds together."""
BRIEF_UNPACKED: Final = 256 * 1024
"""Bytes of records that were packed, and of a batch that is: it may have much in it, or many small pieces."""
BRIEF_RECORDS: Final = 500
BRIEF_HEADERS: Final = 5_000
NO_OFFSET: Final = -1

_FRONT: Final = struct.Struct(">8xi4xb")
"""What all formats of batches begin with: offset, length, something of four bytes, magic."""
_LENGTH: Final = struct.Struct(">8xi")
_COUNT: Final = struct.Struct(">57xi")
_SHORTEST: Final = 14
"""The length of the smallest record of any format (Apache Kafka `LegacyRecord.RECORD_OVERHEAD_V0`)."""
_INT32_MAX: Final = 2**31 - 1
_ATTRIBUTES_AT: Final = 22
_CODEC_BITS: Final = 0x07
_TRANSACTIONAL_BIT: Final = 0x10
_ERRORS_IN_MESSAGE: Final = 3


class Refused(Exception):
    """Records, or a change of a log, are refused.

    `code` and `message` are what Kafka answers (None: no message), `reason` is a sentence for people in any case.
    `record_errors` names records at fault, by their index in the batch, with a sentence or None (KIP-467); there are
    at most `wire.scanning.MOST_FAULTS`. `log_start_offset` belongs to the answer, -1 where Kafka does not tell it.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str | None = None,
        record_errors: tuple[tuple[int, str | None], ...] = (),
        *,
        reason: str | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.record_errors = record_errors
        self.reason = reason or message or code.name
        self.log_start_offset = NO_OFFSET
        super().__init__(self.reason)


class TakesLong(Exception):
    """A check that was to be brief would not be; nothing is known of the batch yet."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A batch in which nothing is wrong; only its producer and its place are not settled."""

    batch: bytes
    header: BatchHeader
    log_append_time_ms: int
    """The time that its records were given, in ms; -1 if they keep their own."""
    looked_at: int
    """Bytes of its records, unpacked."""


def is_transactional(records: bytes | None) -> bool:
    """Whether the first batch of a partition belongs to a transaction.

    Kafka asks this of all partitions before it looks at one, and what is raised is its answer for all of them
    (Apache Kafka `RequestUtils.hasTransactionalRecords`).

    Raises Refused: CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR.
    """
    if records is None or _end_of_batch(records, 0) is None:
        return False
    return records[_FRONT.size - 1] == MAGIC and records[_ATTRIBUTES_AT] & _TRANSACTIONAL_BIT != 0


def only_batch(records: bytes | None, version: int) -> bytes:
    """Return the one batch that a Produce request of that version must bring for a partition.

    A torn one after it is left out (Apache Kafka `ProduceRequest.validateRecords`). Raises Refused.
    """
    end = None if records is None else _end_of_batch(records, 0)
    if records is None or end is None:
        raise _invalid("there is no whole record batch")
    if records[_FRONT.size - 1] != MAGIC:
        raise _invalid(f"a record batch of magic {records[_FRONT.size - 1]}, but only {MAGIC} is taken")
    attributes = records[_ATTRIBUTES_AT]
    if attributes & _TRANSACTIONAL_BIT:
        raise Refused(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, reason="a record batch of a transaction; there are none"
        )
    if version < ZSTD_SINCE:
        if attributes & _CODEC_BITS > Compression.ZSTD:
            raise _unknown_codec(attributes)
        if attributes & _CODEC_BITS == Compression.ZSTD:
            raise Refused(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                reason=f"Produce v{version} cannot carry zstd, v{ZSTD_SINCE} can",
            )
    try:
        another = _end_of_batch(records, end) is not None
    except Refused as refused:
        raise Refused(refused.code, reason=f"after the first record batch: {refused.reason}") from None
    if another:
        raise _invalid("there is more than one record batch")
    return records if end == len(records) else records[:end]


def check_batch(batch: bytes, config: TopicConfig, place: str, now_ms: int, *, briefly: bool = False) -> Checked:
    """Check all that can be checked of one batch by itself, and put its times right.

    `place` is the partition as messages mention it, "topic-0". Raises Refused; and TakesLong, if it is to be checked
    `briefly` and cannot be, which is found out in no more time than that.
    """
    if briefly and _is_much(batch):
        raise TakesLong
    header = _check_bytes(batch, config)
    _check_header(header)
    return _check_records(batch, header, config, place, now_ms, briefly=briefly)


def _is_much(batch: bytes) -> bool:
    """Whether there is much in a batch, as far as that can be seen from outside."""
    if len(batch) < HEADER_SIZE:
        return False
    (count,) = _COUNT.unpack_from(batch)
    packed = batch[_ATTRIBUTES_AT] & _CODEC_BITS
    return count >= BRIEF_RECORDS or len(batch) >= (BRIEF_UNPACKED if packed else BRIEF_BYTES)


def _end_of_batch(records: bytes, start: int) -> int | None:
    """Return where the batch ends that begins at `start`; None if there is none, or not all of it.

    Raises Refused for a length or a magic that no format has (Apache Kafka `ByteBufferLogInputStream`).
    """
    there = len(records) - start
    if there < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(records, start)
    if length < _SHORTEST:
        raise Refused(
            ErrorCode.CORRUPT_MESSAGE, f"Record size {length} is less than the minimum record overhead ({_SHORTEST})"
        )
    if there < _FRONT.size:
        return None
    _, magic = _FRONT.unpack_from(records, start)
    if not 0 <= magic <= MAGIC:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    size = LENGTH_END + int(length)
    if size > _INT32_MAX:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, reason=f"a record batch of {size} bytes")
    return start + size if size <= there else None


def _check_bytes(batch: bytes, config: TopicConfig) -> BatchHeader:
    """Check the batch as a piece of bytes (Apache Kafka `UnifiedLog.analyzeAndValidateRecords`)."""
    if not batch.startswith(bytes(8)):
        raise _invalid("the base offset of a record batch from a producer must be 0")
    if len(batch) > config.max_message_bytes:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            reason=f"a record batch of {len(batch)} bytes; max.message.bytes is {config.max_message_bytes}",
        )
    if len(batch) < HEADER_SIZE or not check_crc(batch):
        raise Refused(ErrorCode.CORRUPT_MESSAGE, reason="the checksum of a record batch is wrong")
    header = read_header(batch)
    if header.attributes & _CODEC_BITS > Compression.ZSTD:
        raise _unknown_codec(header.attributes)
    return header


def _check_header(header: BatchHeader) -> None:
    """Check what the header says of its records (Apache Kafka `LogValidator.validateBatch`)."""
    count = header.record_count
    if header.last_offset_delta < 0 or count <= 0 or header.last_offset_delta + 1 != count:
        raise _invalid(
            f"a record batch of {count} records, of which the last has the number {header.last_offset_delta}"
        )
    if header.is_control:
        raise _invalid("producers may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(f"sequence {header.base_sequence} of producer {header.producer_id}")
    if count > MOST_RECORDS:
        raise _too_large(f"a record batch of {count} records; {MOST_RECORDS} are taken")


def _check_records(
    batch: bytes, header: BatchHeader, config: TopicConfig, place: str, now_ms: int, *, briefly: bool
) -> Checked:
    """Check the records one by one, and put the times of the batch right (Apache Kafka `LogValidator`)."""
    append_time = config.message_timestamp_type == LOG_APPEND_TIME
    packed = header.compression is not Compression.NONE
    try:
        records = unpack(batch, header, BRIEF_UNPACKED if briefly else MOST_UNPACKED)
    except TooManyRecords as error:
        raise _too_much(error, briefly=briefly) from None
    except CorruptRecords as error:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, reason=f"records that cannot be unpacked: {error}") from None
    earliest, latest = INT64_MIN, INT64_MAX
    if not append_time:
        earliest = now_ms - config.message_timestamp_before_max_ms
        latest = now_ms + config.message_timestamp_after_max_ms
    try:
        found = _scan(
            records, header, earliest, latest, keyed=COMPACT in config.cleanup_policy, ordered=packed, briefly=briefly
        )
    except TooManyRecords as error:
        raise _too_much(error, briefly=briefly) from None
    except CorruptRecords as error:
        raise _invalid(str(error)) from None
    if header.is_log_append_time:
        _judge_common_time(found, records, header, earliest, latest, refuse=append_time)
    if found.faults:
        raise _faulty_records(found, records, header, config, place, now_ms)
    if not found.in_order:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, reason="packed records must have the offsets 0, 1, 2 and so on")
    highest = now_ms if append_time else found.max_timestamp
    if append_time != header.is_log_append_time or highest != header.max_timestamp:
        batch = with_time(batch, highest, log_append_time=append_time)
        header = read_header(batch)
    return Checked(batch, header, now_ms if append_time else NO_TIMESTAMP, len(records))


def _scan(
    records: bytes,
    header: BatchHeader,
    earliest: int,
    latest: int,
    *,
    keyed: bool,
    ordered: bool,
    briefly: bool,
) -> Scan:
    most_headers = BRIEF_HEADERS if briefly else MOST_HEADERS
    if header.is_log_append_time:  # the times of the records themselves say nothing then
        return scan(records, header.record_count, 0, keyed=keyed, ordered=ordered, most_headers=most_headers)
    return scan(
        records,
        header.record_count,
        header.base_timestamp,
        earliest=earliest,
        latest=latest,
        keyed=keyed,
        ordered=ordered,
        most_headers=most_headers,
    )


def _judge_common_time(
    found: Scan, records: bytes, header: BatchHeader, earliest: int, latest: int, *, refuse: bool
) -> None:
    """Judge a batch that claims LogAppendTime, so that all of its records have the time of the batch.

    Kafka takes it where records keep their own time, if that time is one (`LogValidator.validateTimestamp`).
    """
    found.max_timestamp = max(header.max_timestamp, NO_TIMESTAMP)
    if refuse or header.max_timestamp == NO_TIMESTAMP or not earliest <= header.max_timestamp <= latest:
        found.untimely = header.record_count - found.keyless
        found.faults = []
        position = 0
        for index in range(min(header.record_count, MOST_FAULTS)):
            found.faults.append((index, position))
            _, position = read_record(records, position, header, with_headers=False)


def _faulty_records(
    found: Scan, records: bytes, header: BatchHeader, config: TopicConfig, place: str, now_ms: int
) -> Refused:
    errors = tuple(
        (index, _fault(read_record(records, position, header, with_headers=False)[0], header, config, place, now_ms))
        for index, position in found.faults
    )
    if found.untimely:
        return Refused(
            ErrorCode.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", errors
        )
    shown = ", ".join(
        f"RecordError(batchIndex={index}, message='{sentence}')" for index, sentence in errors[:_ERRORS_IN_MESSAGE]
    )
    return Refused(
        ErrorCode.INVALID_RECORD,
        f"One or more records have been rejected due to {found.keyless} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]",
        errors,
    )


def _fault(record: Record, header: BatchHeader, config: TopicConfig, place: str, now_ms: int) -> str:
    """Say what is wrong with a record, as Kafka does (`LogValidator.validateRecord`)."""
    if COMPACT in config.cleanup_policy and record.key is None:
        return f"Compacted topic cannot accept message without key in topic partition {place}"
    if config.message_timestamp_type != LOG_APPEND_TIME and record.timestamp != NO_TIMESTAMP:
        earliest = wrapped(now_ms - config.message_timestamp_before_max_ms)
        latest = wrapped(now_ms + config.message_timestamp_after_max_ms)
        return (
            f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. The timestamp "
            f"should be within [{earliest}, {latest}]"
        )
    # Kafka prints the record as the class that read it does, and the one for packed records knows only sizes.
    kind, none = ("DefaultRecord", 0) if header.compression is Compression.NONE else ("PartialDefaultRecord", -1)
    key, value = (none if each is None else len(each) for each in (record.key, record.value))
    return (
        f"Invalid timestamp type in message {kind}(offset={record.offset}, timestamp={record.timestamp}, "
        f"key={key} bytes, value={value} bytes). Producer should not set timestamp type to LogAppendTime."
    )


def _invalid(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, reason=reason)


def _too_large(message: str) -> Refused:
    """Refuse what is within Kafka's limits, but not within ours; so the client is told in words, too."""
    return Refused(ErrorCode.MESSAGE_TOO_LARGE, message)


def _too_much(error: TooManyRecords, *, briefly: bool) -> Exception:
    """Return what is to be raised for records of which there is more than was allowed."""
    return TakesLong() if briefly else _too_large(str(error))


def _unknown_codec(attributes: int) -> Refused:
    return Refused(ErrorCode.UNKNOWN_SERVER_ERROR, reason=f"no compression has the number {attributes & _CODEC_BITS}")
