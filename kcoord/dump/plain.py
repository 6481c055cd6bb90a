"""Messages as plain values: dicts, lists and what they hold, with what rides inside bytes taken out.

A dict stands for a struct, under the names of its fields; those that the version lacks are absent.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from wire.codec import encode
from wire.compression import MOST_UNPACKED
from wire.errors import CorruptRecords, WireError
from wire.messages import (
    DescribedGroupMember,
    JoinGroupRequestProtocol,
    JoinGroupResponseMember,
    PartitionData,
    PartitionProduceData,
    SyncGroupRequestAssignment,
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


def plain(message: Struct, version: int) -> Any:
    """Lay out a message of that version."""
    return _Layout(version).of(message)


class _Layout:
    """Lays out one message. Records stay bytes once so many have been unpacked that there is no more room."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._room = MOST_UNPACKED

    def of(self, value: Any) -> Any:
        if isinstance(value, Struct):
            present = [each.name for each in value.FIELDS if self._version in each.versions]
            return {name: self._field(value, name) for name in present}
        return [self.of(item) for item in value] if isinstance(value, (list, tuple)) else value

    def _field(self, owner: Struct, name: str) -> Any:
        value = getattr(owner, name)
        if isinstance(owner, (PartitionData, PartitionProduceData)) and name == "records" and value:
            return self._batches(value)
        look = _INSIDE.get((type(owner), name))
        return self.of(value) if look is None or not value else look(value)

    def _batches(self, data: bytes) -> Any:
        """Lay out record batches. Bytes in which one cannot be read stay bytes."""
        try:
            return [self._batch(each) for each in split(data)]
        except CorruptRecords:
            return data

    def _batch(self, batch: bytes) -> dict[str, Any]:
        if self._room <= 0:
            raise CorruptRecords("no room for more")
        header = read_header(batch)
        records = []
        unpacked = unpack(batch, header)
        self._room -= len(unpacked)
        position = 0
        while position < len(unpacked):
            record, position = read_record(unpacked, position, header)
            laid_out = {name: getattr(record, name) for name in ("offset", "timestamp", "key", "value")}
            laid_out["headers"] = [{"header": name, "value": value} for name, value in record.headers]
            records.append(laid_out)
        return {**{name: getattr(header, name) for name in _HEADER_FIELDS}, "records": records}


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


_INSIDE: Final[dict[tuple[type[Struct], str], Callable[[bytes], Any]]] = {
    (JoinGroupRequestProtocol, "metadata"): _subscription,
    (JoinGroupResponseMember, "metadata"): _subscription,
    (SyncGroupRequestAssignment, "assignment"): _assignment,
    (SyncGroupResponse, "assignment"): _assignment,
    (DescribedGroupMember, "member_metadata"): _subscription,
    (DescribedGroupMember, "member_assignment"): _assignment,
}
