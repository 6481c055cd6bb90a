"""The form that what is sent to one partition must have, before anybody asks whether it can be stored.

Here nothing is read but the lengths and the marks in front of batches; the rest is the log's own affair
(`kcoord.log.partition`).
"""

import struct

from wire.errors import ErrorCode
from wire.records import HEADER_SIZE, Compression

ZSTD_SINCE = 7
"""KIP-110."""

_FRONT = struct.Struct(">8xi4xb")
"""What all formats of batches begin with: offset, length, something of four bytes, magic."""
_LENGTH_END = 12
_SHORTEST = 14
"""The length of the smallest record of any format (Apache Kafka `LegacyRecord.RECORD_OVERHEAD_V0`)."""
_NEWEST_MAGIC = 2
_MAGIC_AT = 16
_ATTRIBUTES_AT = 22
"""The byte of the attributes that means something."""
_CODEC = 0x07
_TRANSACTIONAL = 0x10


class Malformed(Exception):
    """What is sent is no sequence of batches. The text is what Kafka says of it."""


def end_of_batch(records: bytes, start: int) -> int | None:
    """Return where the batch ends that begins at `start`; None if there is none, or not all of it.

    Raises Malformed for a length or a magic that no format has (Apache Kafka `ByteBufferLogInputStream`).
    """
    if len(records) - start < _FRONT.size:
        return None
    length, magic = _FRONT.unpack_from(records, start)
    if length < _SHORTEST:
        raise Malformed(f"Record size {length} is less than the minimum record overhead ({_SHORTEST})")
    if not 0 <= magic <= _NEWEST_MAGIC:
        raise Malformed(f"Invalid magic found in record: {magic}")
    end = start + _LENGTH_END + int(length)
    return end if end <= len(records) else None


def is_transactional(records: bytes) -> bool:
    """Whether the first batch belongs to a transaction. Raises Malformed, as `end_of_batch`."""
    return attributes_of(records, end_of_batch(records, 0)) & _TRANSACTIONAL != 0


def attributes_of(records: bytes, end: int | None) -> int:
    """Return the attributes of the first batch, that ends there; 0 where its format has none like these."""
    if end is None or end < HEADER_SIZE or records[_MAGIC_AT] != _NEWEST_MAGIC:
        return 0
    return records[_ATTRIBUTES_AT]


def fault_of(records: bytes, version: int) -> ErrorCode:
    """Return what is wrong with the form, or NONE: there is exactly one batch, of magic 2.

    What is left behind it is let through if it is no whole batch (Apache Kafka `ProduceRequest.validateRecords`).
    """
    try:
        end = end_of_batch(records, 0)
        if end is None or records[_MAGIC_AT] != _NEWEST_MAGIC:
            return ErrorCode.INVALID_RECORD
        if version < ZSTD_SINCE and attributes_of(records, end) & _CODEC == Compression.ZSTD:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return ErrorCode.NONE if end_of_batch(records, end) is None else ErrorCode.INVALID_RECORD
    except Malformed:
        return ErrorCode.CORRUPT_MESSAGE
