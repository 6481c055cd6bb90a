"""Record batches by their keys: what compaction asks of them and leaves of them, and what a broker writes by itself.

The batches are ones that were checked when they came in. They are walked through without making objects of their
records, and what stays of one is copied as it is, because offsets and times of records are relative to their batch.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from crc32c import crc32c

from wire import compression as codecs
from wire.primitives import read_uvarint, read_varint, read_varlong, write_varint
from wire.records import HEADER_SIZE, BatchHeader
from wire.scanning import NO_TIMESTAMP, wrapped

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_INT64: Final = struct.Struct(">q")
_LENGTH_OFFSET, _LENGTH_END = 8, 12
_CRC_OFFSET, _CRC_START = 17, 21
_MAX_TIMESTAMP_OFFSET: Final = 35
_COUNT_OFFSET: Final = 57
_MAGIC: Final = 2
_APPEND_TIME_BIT: Final = 0x08

_SMALL: Final = tuple(write_varint(number) for number in range(64))
"""The varints of one byte that are not negative."""
_NULL: Final = write_varint(-1)


def keyed_batch(
    rows: Sequence[tuple[bytes | None, bytes | None]],
    timestamp: int,
    *,
    base_offset: int,
    leader_epoch: int,
    base_sequence: int = -1,
    log_append_time: bool = False,
    deltas: Sequence[int] | None = None,
    last_delta: int | None = None,
) -> bytes:
    """Write a batch of keys and values, at least one, without headers, all of the same time (ms).

    Where some were left out, `deltas` are the distances of the others from `base_offset`, and `last_delta` is that of
    the last one that there was. The bytes are those of `wire.records.build`, in a fraction of its time: every commit of
    a group comes this way.
    """
    parts: list[bytes] = []
    size = 0
    if last_delta is None:
        last_delta = len(rows) - 1
    for number, (key, value) in enumerate(rows) if deltas is None else zip(deltas, rows, strict=True):
        # Attributes, time and number of headers are one byte each, a zero.
        offset = _SMALL[number] if number < 64 else write_varint(number)
        if key is None:
            key_size, key = _NULL, b""
        else:
            key_size = _SMALL[len(key)] if len(key) < 64 else write_varint(len(key))
        if value is None:
            value_size, value = _NULL, b""
        else:
            value_size = _SMALL[len(value)] if len(value) < 64 else write_varint(len(value))
        inner = 3 + len(offset) + len(key_size) + len(key) + len(value_size) + len(value)
        outer = _SMALL[inner] if inner < 64 else write_varint(inner)
        size += len(outer) + inner
        parts += (outer, b"\0\0", offset, key_size, key, value_size, value, b"\0")
    body = b"".join(parts)
    attributes = _APPEND_TIME_BIT if log_append_time else 0
    header = _HEADER.pack(
        base_offset, HEADER_SIZE - _LENGTH_END + size, leader_epoch, _MAGIC, 0,
        attributes, last_delta, timestamp, timestamp, -1, -1, base_sequence, len(rows),
    )  # fmt: skip
    crc = crc32c(body, crc32c(header[_CRC_START:]))
    return b"".join((header[:_CRC_OFFSET], _UINT32.pack(crc), header[_CRC_START:], body))


Entry = tuple[int, int, int, int, bytes | None, bool]
"""A record as compaction sees it: where it begins and ends among the unpacked records, how far its time (ms) and its
offset are from those of the batch, its key, and whether it is a tombstone, which has no value."""


def entries(records: bytes, count: int) -> Iterator[Entry]:
    """Walk over `count` unpacked records (`wire.records.unpack`) of a batch that was checked (`wire.scanning.scan`)."""
    end = 0
    for _ in range(count):
        start = end
        # Numbers of one byte, nearly all of them, are read in place. Until zigzag is undone, the odd ones are negative.
        number = records[start]
        if number < 0x80:
            position = start + 1
        else:
            number, position = read_uvarint(records, start)
        end = position + (number >> 1)
        time = records[position + 1]
        if time < 0x80:
            time = time >> 1 ^ -(time & 1)
            position += 2
        else:
            time, position = read_varlong(records, position + 1)
        offset = records[position]
        if offset < 0x80:
            offset = offset >> 1 ^ -(offset & 1)
            position += 1
        else:
            offset, position = read_varint(records, position)
        size = records[position]
        if size < 0x80:
            size = size >> 1 ^ -(size & 1)
            position += 1
        else:
            size, position = read_varint(records, position)
        key = None
        if size >= 0:
            key = records[position : position + size]
            position += size
        number = records[position]
        tombstone = number & 1 == 1 if number < 0x80 else read_varint(records, position)[0] < 0
        yield start, end, time, offset, key, tombstone


def with_fewer(batch: bytes, header: BatchHeader, records: bytes, kept: Sequence[Entry]) -> bytes:
    """Return a batch that has that header with only those of its unpacked records, at least one, packed as it was.

    It spans the same offsets and keeps its producer's sequence (Apache Kafka `MemoryRecords.filterTo`).
    """
    changed = bytearray(batch[:HEADER_SIZE])
    view = memoryview(records)
    body = codecs.compress(header.compression, b"".join([view[entry[0] : entry[1]] for entry in kept]))
    _INT32.pack_into(changed, _LENGTH_OFFSET, HEADER_SIZE - _LENGTH_END + len(body))
    _INT32.pack_into(changed, _COUNT_OFFSET, len(kept))
    if not header.is_log_append_time:
        highest = max(wrapped(header.base_timestamp + entry[2]) for entry in kept)
        _INT64.pack_into(changed, _MAX_TIMESTAMP_OFFSET, max(highest, NO_TIMESTAMP))
    crc = crc32c(body, crc32c(memoryview(changed)[_CRC_START:]))
    _UINT32.pack_into(changed, _CRC_OFFSET, crc)
    return b"".join((changed, body))
