"""Messages as plain values: dicts, lists and what they hold, with what rides inside bytes taken out.

A dict stands for a struct, under the names of its fields; those that the version lacks are absent.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from wire.codec import encode
from wire.errors import CorruptRecords, WireError
from wire.messages import (
    DescribedGroupMember,
    JoinGroupResponseMember,
    PartitionData,
    SyncGroupResponse,
)
from wire.payloads import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from wire.records import BatchHeader, read_header, read_record, split, unpack
from wire.schema import Struct, Versioned

_HEADER_FIELDS: Final = tuple(each.name for each in fields(BatchHeader) if each.name != "size")


def plain(value: Any, version: int) -> Any:
    """Lay out a message, or a value inside one, of that version."""
    if isinstance(value, Struct):
        return {
            each.name: _field(value, each.name, getattr(value, each.name), version)
            for each in value.FIELDS
            if version in each.versions
        }
    return [plain(item, version) for item in value] if isinstance(value, (list, tuple)) else value


def _field(owner: Struct, name: str, value: Any, version: int) -> Any:
    look = _INSIDE.get((type(owner), name))
    return plain(value, version) if look is None or not value else look(value)


def _subscription(data: bytes) -> Any:
    return _payload(data, decode_subscription)


def _assignment(data: bytes) -> Any:
    return _payload(data, decode_assignment)


def _payload(data: bytes, decode: Callable[[bytes], Versioned]) -> Any:
    """Lay out what the consumer protocol says; bytes that say anything more, or something else, stay bytes."""
    stated = int.from_bytes(data[:2], "big", signed=True)
    try:
        found: Subscription | Assignment | Versioned = decode(data)
        if data[2:] != encode(found, stated):
            return data
    except WireError:
        return data
    return {"version": stated, **plain(found, stated)}


def _batches(data: bytes) -> Any:
    """Lay out record batches. Bytes in which one cannot be read stay bytes."""
    try:
        return [_batch(each) for each in split(data)]
    except CorruptRecords:
        return data


def _batch(batch: bytes) -> dict[str, Any]:
    header = read_header(batch)
    shown = {name: getattr(header, name) for name in _HEADER_FIELDS}
    records = []
    unpacked = unpack(batch, header)
    position = 0
    while position < len(unpacked):
        record, position = read_record(unpacked, position, header)
        headers = [{"header": name, "value": value} for name, value in record.headers]
        records.append(
            {
                "offset": record.offset,
                "timestamp": record.timestamp,
                "key": record.key,
                "value": record.value,
                "headers": headers,
            }
        )
    return {**shown, "records": records}


_INSIDE: Final[dict[tuple[type[Struct], str], Callable[[bytes], Any]]] = {
    (JoinGroupResponseMember, "metadata"): _subscription,
    (SyncGroupResponse, "assignment"): _assignment,
    (DescribedGroupMember, "member_metadata"): _subscription,
    (DescribedGroupMember, "member_assignment"): _assignment,
    (PartitionData, "records"): _batches,
}
