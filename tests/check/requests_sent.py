"""What requests that rules sent have in them: whether one is as short as it can be, and which parts of a full one."""

from collections.abc import Iterable, Iterator
from typing import Any

from kcoord.check.transcript import Transcript, What
from wire.errors import WireError
from wire.header import read_request_header
from wire.messages import REQUESTS
from wire.schema import Array, Message, Primitive, Struct
from wire.structs import struct_of

Parts = set[str]
"""What there is to see of a request: "a.b several" for an array, "a.b set" for what may be null or tagged, "a tags"."""


def sent(transcript: Transcript) -> Iterator[tuple[type[Message], int, bytes]]:
    """The class, version and body of each request that can be read and was kept whole."""
    for entry in transcript.entries:
        if entry.what is not What.SENT or entry.size != len(entry.data) or len(entry.data) < 4:
            continue
        try:
            header, at = read_request_header(entry.data[4:])
        except WireError:
            continue
        cls = REQUESTS.get(header.api_key)
        if cls is not None and header.api_version in cls.VERSIONS:
            yield cls, header.api_version, entry.data[4 + at :]


def parsed(cls: type[Message], version: int, body: bytes) -> Any:
    """The request as a Container of its Struct."""
    return struct_of(cls, version).parse(body)


def is_minimal(cls: type[Message], version: int, found: Any) -> bool:
    """Whether its lists are empty, or null where they may be, and whatever else may be null is."""
    for f in cls.FIELDS:
        if version not in f.versions or f.tag is not None:
            continue
        value = found[f.name]
        if isinstance(f.type, Array) and value:
            return False
        if not isinstance(f.type, Array) and version in f.nullable and value is not None:
            return False
    return not found.get("tags")


def parts_of(cls: type[Struct], version: int, *, flexible: bool, path: str = "") -> Parts:
    """All parts that a request of this version can have."""
    found: Parts = {f"{path} tags"} if flexible else set()
    for f in cls.FIELDS:
        if version not in f.versions:
            continue
        at = f"{path}.{f.name}"
        if version in f.nullable or f.tag is not None:
            found.add(f"{at} set")
        item = f.type
        if isinstance(item, Array):
            found.add(f"{at} several")
            item = item.item
        if not isinstance(item, Primitive):
            found |= parts_of(item, version, flexible=flexible, path=at)
    return found


def parts_in(cls: type[Struct], version: int, found: Any, *, flexible: bool, path: str = "") -> Parts:
    """The parts that this request has."""
    known = {f.tag: f for f in cls.FIELDS if f.tag is not None and version in f.versions}
    entries = {entry.tag: entry.body for entry in found.tags} if flexible else {}
    there: Parts = {f"{path} tags"} if entries.keys() - known.keys() else set()
    for f in cls.FIELDS:
        if version not in f.versions or (f.tag is not None and f.tag not in entries):
            continue
        at = f"{path}.{f.name}"
        value = found[f.name] if f.tag is None else entries[f.tag]
        if f.tag is not None or (version in f.nullable and value is not None):
            there.add(f"{at} set")
        item = f.type
        if isinstance(item, Array):
            if value and len(value) > 1:
                there.add(f"{at} several")
            item = item.item
        if not isinstance(item, Primitive):
            for each in _each(value):
                there |= parts_in(item, version, each, flexible=flexible, path=at)
    return there


def _each(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)
