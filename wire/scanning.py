"""Walks over the records of a batch that touch as few bytes as their question needs.

`scan` reads what a broker must know of records that nobody has checked. The others are for records that went through
it, and jump from one to the next. All take unpacked records, as `wire.records.unpack` returns them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from wire.errors import BadLength, CorruptRecords, TooManyRecords, Truncated
from wire.primitives import read_uvarint, read_varint, read_varlong

NO_TIMESTAMP: Final = -1
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

MOST_HEADERS: Final = 1_000_000
"""How many headers the records of one batch may have, all together.

Kafka has no such limit. Two bytes are a header, and when they are unpacked, there may be millions of them.
"""
MOST_FAULTS: Final = 1000
"""How many records at fault are noted; the others are counted."""


@dataclass(slots=True)
class Scan:
    """What was found in the records of one batch."""

    max_timestamp: int = NO_TIMESTAMP
    """In ms: the highest of all, but not less than -1."""
    in_order: bool = True
    """Whether their offsets begin with the batch's and have no gaps; only looked at where it is asked for."""
    keyless: int = 0
    """How many have no key, where they need one."""
    untimely: int = 0
    """How many have a time that is out of range, and a key if they need one."""
    faults: list[tuple[int, int]] = field(default_factory=list)
    """Of the first of those: index in the batch, and position in the records."""


def wrapped(value: int) -> int:
    """Return a sum as 64 bits hold it, which is how Kafka adds up times."""
    return (value + 2**63) % 2**64 - 2**63


def scan(  # noqa: C901 - one loop without calls is several times faster than a legible one
    records: bytes,
    count: int,
    base_timestamp: int,
    *,
    earliest: int = INT64_MIN,
    latest: int = INT64_MAX,
    keyed: bool = False,
    ordered: bool = False,
    most_headers: int = MOST_HEADERS,
) -> Scan:
    """Check the structure of `count` records, and that nothing comes after them.

    Besides, records are looked for whose time (ms) is neither -1 nor between `earliest` and `latest`, that have no key
    though they must be `keyed`, and whether their offsets are `ordered`.

    Raises:
        CorruptRecords: A record is malformed, or there are more or fewer of them.
        TooManyRecords: They have more than `most_headers` headers together.

    """
    found = Scan()
    size = len(records)
    position = 0
    delta = 0
    timestamp = wrapped(base_timestamp)
    timely = timestamp == NO_TIMESTAMP or earliest <= timestamp <= latest
    highest = NO_TIMESTAMP
    headers_left = most_headers
    try:
        for index in range(count):
            start = position
            # Varints of one and two bytes are read in place: nearly all are.
            byte = records[position]
            if byte < 0x80:
                position += 1
            elif records[position + 1] < 0x80:
                byte = byte & 0x7F | records[position + 1] << 7
                position += 2
            else:
                byte, position = _long(records, position)
            end = position + (byte >> 1)
            if byte & 1 or end > size:
                raise CorruptRecords(f"record {index} of a batch has a length that cannot be")

            position += 1  # attributes, of which none has a meaning
            byte = records[position]
            if byte < 0x80:
                position += 1
            elif records[position + 1] < 0x80:
                byte = byte & 0x7F | records[position + 1] << 7
                position += 2
            else:
                value, position = read_varlong(records, position)
                byte = value << 1 if value >= 0 else ~(value << 1)
            if byte != delta:
                delta = byte
                timestamp = wrapped(base_timestamp + (byte >> 1 ^ -(byte & 1)))
                timely = timestamp == NO_TIMESTAMP or earliest <= timestamp <= latest
            if timestamp > highest:
                highest = timestamp

            byte = records[position]
            if byte < 0x80:
                position += 1
            elif records[position + 1] < 0x80:
                byte = byte & 0x7F | records[position + 1] << 7
                position += 2
            else:
                byte, position = _long(records, position)
            if ordered and byte != index << 1:
                found.in_order = False

            byte = records[position]
            if byte < 0x80:
                position += 1
            elif records[position + 1] < 0x80:
                byte = byte & 0x7F | records[position + 1] << 7
                position += 2
            else:
                byte, position = _long(records, position)
            if not byte & 1:
                position += byte >> 1
                if not timely:
                    found.untimely += 1
                    if len(found.faults) < MOST_FAULTS:
                        found.faults.append((index, start))
            elif keyed or not timely:
                if keyed:
                    found.keyless += 1
                else:
                    found.untimely += 1
                if len(found.faults) < MOST_FAULTS:
                    found.faults.append((index, start))

            byte = records[position]
            if byte < 0x80:
                position += 1
            elif records[position + 1] < 0x80:
                byte = byte & 0x7F | records[position + 1] << 7
                position += 2
            else:
                byte, position = _long(records, position)
            if not byte & 1:
                position += byte >> 1

            byte = records[position]
            position += 1
            if byte:
                headers, position = read_varint(records, position - 1)
                if not 0 <= headers <= end - position:
                    raise CorruptRecords(f"a record with {headers} headers in {end - position} bytes")
                headers_left -= headers
                if headers_left < 0:
                    raise TooManyRecords(f"the records of a batch have more than {most_headers} headers")
                position = _after_headers(records, position, end, headers)
            if position != end:
                raise CorruptRecords(f"record {index} of a batch is longer or shorter than it says")
    except (IndexError, Truncated, BadLength):
        raise CorruptRecords(f"record {index} of {count} of a batch is malformed or not there") from None
    if position != size:
        raise CorruptRecords(f"{size - position} bytes after the {count} records of a batch")
    found.max_timestamp = highest
    return found


def _after_headers(records: bytes, position: int, end: int, count: int) -> int:
    """Return where `count` headers end, which begin at that position and must not go beyond `end`."""
    for _ in range(count):
        byte = records[position]
        if byte < 0x80:
            position += 1
        elif records[position + 1] < 0x80:
            byte = byte & 0x7F | records[position + 1] << 7
            position += 2
        else:
            byte, position = _long(records, position)
        if byte & 1:
            raise CorruptRecords("a header of a record without a name")
        position += byte >> 1

        byte = records[position]
        if byte < 0x80:
            position += 1
        elif records[position + 1] < 0x80:
            byte = byte & 0x7F | records[position + 1] << 7
            position += 2
        else:
            byte, position = _long(records, position)
        if not byte & 1:
            position += byte >> 1
        if position > end:
            raise CorruptRecords("the headers of a record are longer than it")
    return position


def _long(records: bytes, position: int) -> tuple[int, int]:
    """Read a varint as it is written, before the zigzag is undone."""
    value, position = read_uvarint(records, position)
    return value & 0xFFFF_FFFF, position


def find(records: bytes, count: int, base_timestamp: int, timestamp: int, first_delta: int) -> tuple[int, int] | None:
    """Return offset delta and time (ms) of the first record that is not before `timestamp` and `first_delta`."""
    for delta, time in _times(records, count, base_timestamp):
        if time >= timestamp and delta >= first_delta:
            return delta, time
    return None


def highest_time(records: bytes, count: int, base_timestamp: int, first_delta: int) -> int:
    """Return the highest time (ms) of the records that are not before `first_delta`, but not less than -1."""
    times = (time for delta, time in _times(records, count, base_timestamp) if delta >= first_delta)
    return max(NO_TIMESTAMP, max(times, default=NO_TIMESTAMP))


def _times(records: bytes, count: int, base_timestamp: int) -> Iterator[tuple[int, int]]:
    """Yield offset delta and time (ms) of each record."""
    position = 0
    for _ in range(count):
        byte = records[position]
        if byte < 0x80:
            position += 1
        elif records[position + 1] < 0x80:
            byte = byte & 0x7F | records[position + 1] << 7
            position += 2
        else:
            byte, position = _long(records, position)
        end = position + (byte >> 1)

        position += 1
        time = records[position]
        if time < 0x80:
            time = time >> 1 ^ -(time & 1)
            position += 1
        else:
            time, position = read_varlong(records, position)
        byte = records[position]
        if byte < 0x80:
            delta = byte >> 1 ^ -(byte & 1)
        elif records[position + 1] < 0x80:
            byte = byte & 0x7F | records[position + 1] << 7
            delta = byte >> 1 ^ -(byte & 1)
        else:
            delta, _ = read_varint(records, position)
        yield delta, wrapped(base_timestamp + time)
        position = end
