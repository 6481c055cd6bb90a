"""Record batches of format 2 (magic 2, KIP-98): what is inside the records of Produce and Fetch.

A batch is a header of 61 bytes and the records, compressed as one piece or not at all. Base offset, length and
leader epoch lie outside the checksum, so that a broker can place a batch without computing it again.

What bytes are worth is decided here in two steps, as brokers do: `read_header` looks at nothing but the header, and
`records_of` walks over all records. Neither computes the checksum, `check_crc` does.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from crc32c import crc32c

from wire import compression as codecs
from wire.errors import BadLength, CorruptRecords, Truncated, Unsendable
from wire.primitives import read_varint, read_varlong, write_varint, write_varlong
from wire.scanning import NO_TIMESTAMP, wrapped

HEADER_SIZE: Final = 61
"""Bytes in front of the records."""
LENGTH_OFFSET: Final = 8
LENGTH_END: Final = 12
"""Where the length ends, which counts all bytes after itself."""
MAGIC_OFFSET: Final = 16
MAGIC: Final = 2

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PLACE: Final = struct.Struct(">q4si")
_CRC_OFFSET: Final = 17
_CRC_START: Final = 21
"""The checksum is over everything from here on."""
_CODEC_BITS: Final = 0x07
_APPEND_TIME_BIT: Final = 0x08
_TRANSACTIONAL_BIT: Final = 0x10
_CONTROL_BIT: Final = 0x20
_KNOWN_BITS: Final = 0x7F
_ATTRIBUTES_END: Final = 22
"""Of the two bytes of the attributes, the one that means something."""
_MAX_TIMESTAMP_OFFSET: Final = 35
_INT16: Final = struct.Struct(">h")
_INT64: Final = struct.Struct(">q")
_UINT32: Final = struct.Struct(">I")


class Compression(IntEnum):
    """How the records of a batch are packed (Apache Kafka `CompressionType`)."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """The header of one batch, as it is written; nothing in it is checked but the room it takes."""

    base_offset: int
    size: int
    """Bytes of the whole batch, with the header."""
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    """In ms."""
    max_timestamp: int
    """In ms; -1 means none."""
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def compression(self) -> Compression:
        """How the records are packed. Raises CorruptRecords for the numbers 5 to 7, which mean nothing."""
        try:
            return Compression(self.attributes & _CODEC_BITS)
        except ValueError:
            raise CorruptRecords(f"no compression has the number {self.attributes & _CODEC_BITS}") from None

    @property
    def is_log_append_time(self) -> bool:
        """Whether all records have the time at which the broker appended them: `max_timestamp`."""
        return self.attributes & _APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return self.attributes & _TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        """Whether the batch holds marks of a transaction and no records for applications."""
        return self.attributes & _CONTROL_BIT != 0

    @property
    def last_offset(self) -> int:
        """The offset of the last record, or of the last one that was there before compaction."""
        return self.base_offset + self.last_offset_delta


@dataclass(frozen=True, slots=True)
class Record:
    """One record, with the offset and the time (ms) that it has in its log."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    """Names need not be UTF-8; bytes that are not come and go as surrogates (PEP 383)."""


def read_header(data: bytes, offset: int = 0) -> BatchHeader:
    """Read the header of the batch that begins at `offset`.

    Raises:
        CorruptRecords: `data` ends inside the header or the batch, the length is less than a header's, or the magic
            is another one.

    """
    try:
        base_offset, length, *rest = _HEADER.unpack_from(data, offset)
    except struct.error:
        raise CorruptRecords(f"a batch has at least {HEADER_SIZE} bytes, not {len(data) - offset}") from None
    header = BatchHeader(base_offset, length + LENGTH_END, *rest)
    if header.magic != MAGIC:
        raise CorruptRecords(f"a batch of magic {header.magic}; only {MAGIC} can be read")
    if header.size < HEADER_SIZE:
        raise CorruptRecords(f"a batch of {header.size} bytes; its header alone has {HEADER_SIZE}")
    if header.size > len(data) - offset:
        raise CorruptRecords(f"a batch of {header.size} bytes, of which {len(data) - offset} are there")
    return header


def split(data: bytes) -> list[bytes]:
    """Cut batches that lie one behind the other. Raises CorruptRecords, as `read_header`."""
    batches = []
    position = 0
    while position < len(data):
        end = position + read_header(data, position).size
        batches.append(data[position:end])
        position = end
    return batches


def check_crc(batch: bytes) -> bool:
    """Whether the checksum of one whole batch (of 21 bytes at least) is right (CRC-32C, RFC 3720)."""
    (claimed,) = _UINT32.unpack_from(batch, _CRC_OFFSET)
    return bool(crc32c(memoryview(batch)[_CRC_START:]) == claimed)


def at_offset(batch: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """Return the batch as it lies at that offset, written by the leader of that epoch; nothing else changes."""
    return b"".join(
        (
            _PLACE.pack(base_offset, batch[LENGTH_OFFSET:LENGTH_END], leader_epoch),
            memoryview(batch)[MAGIC_OFFSET:],
        )
    )


def at_append_time(batch: bytes, time_ms: int) -> bytes:
    """Return the batch with LogAppendTime, `time_ms` being the time of all its records; the checksum is made anew."""
    return with_time(batch, time_ms, log_append_time=True)


def with_time(batch: bytes, max_timestamp: int, *, log_append_time: bool) -> bytes:
    """Return the batch with that highest time (ms) and that kind of time; the checksum is made anew.

    Attributes that mean nothing are cleared on that occasion (Apache Kafka `DefaultRecordBatch.setMaxTimestamp`).
    """
    changed = bytearray(batch)
    attributes = changed[_ATTRIBUTES_END] & _KNOWN_BITS & ~_APPEND_TIME_BIT
    _INT16.pack_into(changed, _CRC_START, attributes | (_APPEND_TIME_BIT if log_append_time else 0))
    _INT64.pack_into(changed, _MAX_TIMESTAMP_OFFSET, max_timestamp)
    _UINT32.pack_into(changed, _CRC_OFFSET, crc32c(memoryview(changed)[_CRC_START:]))
    return bytes(changed)


def unpack(batch: bytes, header: BatchHeader, most: int = codecs.MOST_UNPACKED) -> bytes:
    """Return the records of a batch that has that header, unpacked, one behind the other.

    Raises:
        CorruptRecords: They cannot be unpacked. TooManyRecords, which is one, if they were packed and would be more
            than `most` bytes.

    """
    return codecs.decompress(header.compression, batch[HEADER_SIZE : header.size], most)


def records_of(batch: bytes) -> Iterator[Record]:
    """Read the records of one batch, in their order.

    Raises:
        CorruptRecords: The batch is none (`read_header`), its records cannot be unpacked, a record is malformed, or
            there are more or fewer of them than the header says. What comes before the fault has been yielded then.

    """
    header = read_header(batch)
    records = unpack(batch, header)
    position = 0
    for _ in range(header.record_count):
        record, position = read_record(records, position, header)
        yield record
    if position != len(records):
        raise CorruptRecords(f"{len(records) - position} bytes after the {header.record_count} records of a batch")


def read_record(records: bytes, position: int, header: BatchHeader, *, with_headers: bool = True) -> tuple[Record, int]:
    """Read the record at that position of unpacked records; return where the next one begins, too.

    Its headers may be left out: there may be very many of them.

    Raises:
        CorruptRecords: It is malformed, as far as it was looked at.

    """
    try:
        return _read_record(records, position, header, with_headers=with_headers)
    except (Truncated, BadLength) as error:
        raise CorruptRecords(f"a malformed record: {error}") from None


def _read_record(body: bytes, position: int, header: BatchHeader, *, with_headers: bool) -> tuple[Record, int]:
    size, start = read_varint(body, position)
    end = start + size
    if not 0 < size <= len(body) - start:
        raise CorruptRecords(f"a record of {size} bytes, of which {len(body) - start} are there")
    timestamp_delta, position = read_varlong(body, start + 1)
    offset_delta, position = read_varint(body, position)
    key, position = _read_bytes(body, position)
    value, position = _read_bytes(body, position)
    headers: Sequence[tuple[str, bytes | None]] = ()
    if with_headers:
        headers, position = _read_headers(body, position, end)
        if position != end:
            raise CorruptRecords(f"a record says it has {size} bytes, but has {position - start}")
    timestamp = header.max_timestamp if header.is_log_append_time else wrapped(header.base_timestamp + timestamp_delta)
    return Record(header.base_offset + offset_delta, timestamp, key, value, tuple(headers)), end


def _read_headers(body: bytes, position: int, end: int) -> tuple[list[tuple[str, bytes | None]], int]:
    count, position = read_varint(body, position)
    if not 0 <= count <= end - position:
        raise CorruptRecords(f"a record with {count} headers in {end - position} bytes")
    headers = []
    for _ in range(count):
        name, position = _read_bytes(body, position)
        if name is None:
            raise CorruptRecords("a header of a record without a name")
        content, position = _read_bytes(body, position)
        headers.append((name.decode("utf-8", "surrogateescape"), content))
    return headers, position


def _read_bytes(body: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = read_varint(body, position)
    if size < 0:
        return None, position
    if size > len(body) - position:
        raise CorruptRecords(f"{size} bytes inside a record, of which {len(body) - position} are there")
    return body[position : position + size], position + size


def build(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    compression: Compression = Compression.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    log_append_time: bool = False,
) -> bytes:
    """Write one batch.

    Offsets ascend from `base_offset` on and may have gaps. With LogAppendTime the highest time (ms) counts for all.

    Raises:
        Unsendable: A number does not fit its field, or is none of those above.

    """
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    body = codecs.compress(compression, b"".join(_write_record(each, base_offset, base_timestamp) for each in records))
    last_offset_delta = records[-1].offset - base_offset if records else -1
    try:
        header = _HEADER.pack(
            base_offset,
            HEADER_SIZE - LENGTH_END + len(body),
            leader_epoch,
            MAGIC,
            0,
            compression | (_APPEND_TIME_BIT if log_append_time else 0),
            last_offset_delta,
            base_timestamp,
            max((each.timestamp for each in records), default=NO_TIMESTAMP),
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        )
    except struct.error as error:
        raise Unsendable(f"a record batch: {error}") from None
    crc = crc32c(body, crc32c(header[_CRC_START:]))
    return b"".join((header[:_CRC_OFFSET], _UINT32.pack(crc), header[_CRC_START:], body))


def size_of(rows: Sequence[tuple[bytes | None, bytes | None]]) -> int:
    """Return how many bytes keys and values take as one batch, of one time, without headers and uncompressed."""
    return size_of_lengths(
        (-1 if key is None else len(key), -1 if value is None else len(value)) for key, value in rows
    )


def size_of_lengths(lengths: Iterable[tuple[int, int]]) -> int:
    """Return the same for keys and values of which only the lengths are known; that of None is -1."""
    total = HEADER_SIZE
    for number, pair in enumerate(lengths):
        size = 3 + len(write_varint(number))  # attributes, time and number of headers are a byte each
        size += sum(len(write_varint(length)) + max(length, 0) for length in pair)
        total += len(write_varint(size)) + size
    return total


def _write_record(record: Record, base_offset: int, base_timestamp: int) -> bytes:
    parts = [
        b"\0",
        write_varlong(record.timestamp - base_timestamp),
        write_varint(record.offset - base_offset),
        *_write_bytes(record.key),
        *_write_bytes(record.value),
        write_varint(len(record.headers)),
    ]
    for name, content in record.headers:
        parts.extend(_write_bytes(name.encode("utf-8", "surrogateescape")))
        parts.extend(_write_bytes(content))
    body = b"".join(parts)
    return write_varint(len(body)) + body


def _write_bytes(value: bytes | None) -> tuple[bytes, bytes]:
    return (write_varint(-1), b"") if value is None else (write_varint(len(value)), value)
