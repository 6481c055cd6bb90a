"""Bodies of requests that are wrong in one place, made from the Structs of `wire.structs`, which tell the places.

Each is made of a request that has one entry in each list, and nothing that is null. Its values mean nothing: what is
made here is to be refused before anybody looks at them.
"""

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kcoord.check.tags import uvarint
from wire.schema import Array, Message, Primitive, Struct, Versioned, WireType
from wire.structs import Spot, struct_of, trace, values

NULL, LEAST_COMPACT, NEGATIVE_COMPACT = b"\x00", b"\x80\x80\x80\x80\x08", b"\xff\xff\xff\xff\x0f"
"""Varints for a length of -1, for 2**31 as Java holds it, and for a length of -2."""
MOST_COMPACT: Final = b"\xff\xff\xff\xff\x07"
"""The varint for a length of 2**31 - 2."""
SIX_BYTES: Final = b"\x82\x80\x80\x80\x80\x00"
"""The number 2 as a varint of one byte too many."""
_VALUES: Final[dict[Primitive, Any]] = {
    Primitive.BOOLEAN: True,
    Primitive.STRING: "x",
    Primitive.BYTES: b"x",
    Primitive.RECORDS: b"x",
    Primitive.UUID: uuid.UUID(int=5),
}
_SIZED: Final = (Primitive.STRING, Primitive.BYTES, Primitive.RECORDS)


class Kind(Enum):
    """What is at a place, as far as it has a length."""

    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    TAGS = "tags"
    OTHER = "other"


@dataclass(frozen=True)
class Wrong:
    """A body that is wrong, and how."""

    what: str
    body: bytes


@dataclass(frozen=True)
class _Place:
    name: str
    start: int
    end: int
    kind: Kind
    nullable: bool


def one_of_each(cls: type[Struct], version: int) -> Any:
    """Return a request with one entry in each list, and nothing that is null."""
    return cls(**{f.name: _value(f.type, version) for f in cls.FIELDS if version in f.versions})


def cut_short(cls: type[Message], version: int) -> Iterator[Wrong]:
    """Yield bodies that end where a field begins, or within the last one."""
    body, places = _layout(cls, version)
    starts = dict.fromkeys(place.start for place in reversed(places))
    names = {place.start: place.name for place in reversed(places)}
    for start in starts:
        yield Wrong(f"it ends before {names[start]}", body[:start])
    if body and len(body) - 1 not in starts:
        yield Wrong("it ends one byte early", body[:-1])


def nulls(cls: type[Message], version: int) -> Iterator[Wrong]:
    """Yield bodies with a null where there may be none, by a length of -1 or of less."""
    body, places = _layout(cls, version)
    for place in places:
        if place.nullable or place.kind in (Kind.TAGS, Kind.OTHER):
            continue
        if version in cls.FLEXIBLE:
            lengths = [NULL, NEGATIVE_COMPACT]
        else:
            form = _form(place.kind)
            lengths = [struct.pack(form, -1), struct.pack(form, -(1 << 8 * struct.calcsize(form) - 1))]
        for length in lengths:
            yield Wrong(f"{place.name} has the length {length.hex()}", body[: place.start] + length + body[place.end :])


def too_long(cls: type[Message], version: int) -> Iterator[Wrong]:
    """Yield bodies with a length, or a count, of more than the bytes that are left."""
    body, places = _layout(cls, version)
    for place in places:
        if place.kind is Kind.OTHER:
            continue
        if place.kind is Kind.TAGS or version in cls.FLEXIBLE:
            rest = body[place.start + 1 :]
            more = len(rest) + 1 + (place.kind is not Kind.TAGS)
            lengths = [uvarint(more), MOST_COMPACT]
            if place.kind is not Kind.TAGS:
                lengths.append(LEAST_COMPACT)
        else:
            form = _form(place.kind)
            rest = body[place.start + struct.calcsize(form) :]
            lengths = [
                struct.pack(form, number) for number in (len(rest) + 1, (1 << 8 * struct.calcsize(form) - 1) - 1)
            ]
        for length in lengths:
            yield Wrong(f"{place.name} has the length {length.hex()}", body[: place.start] + length + rest)


def bad_varints(cls: type[Message], version: int) -> Iterator[Wrong]:
    """Yield bodies with varints of six bytes, and with tagged fields that cannot be; none if it has no varints."""
    if version not in cls.FLEXIBLE:
        return
    body, places = _layout(cls, version)
    for place in places:
        before, rest = body[: place.start], body[place.start + 1 :]
        if place.kind is not Kind.OTHER:
            yield Wrong(f"{place.name} has a length of six bytes", before + SIX_BYTES + rest)
        if place.kind is not Kind.TAGS or body[place.start]:
            continue
        for what, tags in {
            "a tag of six bytes": b"\x01" + SIX_BYTES + b"\x00",
            "a tag with a size of six bytes": b"\x01\x5a" + SIX_BYTES + b"xx",
            "a tag with a negative size": b"\x01\x5a" + NEGATIVE_COMPACT,
            "a tag larger than what is left": b"\x01\x5a" + uvarint(len(rest) + 1),
        }.items():
            yield Wrong(f"{place.name} has {what}", before + tags + rest)


def negative_tags(cls: type[Message], version: int) -> Iterator[Wrong]:
    """Yield bodies with a negative number of tagged fields; none if it has no tag buffers."""
    body, places = _layout(cls, version)
    for place in places:
        if place.kind is Kind.TAGS and not body[place.start]:
            for count in (NEGATIVE_COMPACT, LEAST_COMPACT):
                what = f"{place.name} has the number {count.hex()}"
                yield Wrong(what, body[: place.start] + count + body[place.end :])


def _layout(cls: type[Message], version: int) -> tuple[bytes, list[_Place]]:
    rendered = struct_of(cls, version)
    body: bytes = rendered.build(values(one_of_each(cls, version), version))
    found = trace(rendered, body)
    assert (found.stopped, found.end) == (None, len(body))
    return body, [_place(cls, version, spot) for spot in found.spots]


def _place(cls: type[Versioned], version: int, spot: Spot) -> _Place:
    assert spot.end is not None
    of, nullable = _type_at(cls, version, list(spot.path))
    kind = Kind.OTHER
    if spot.path[-1] == "tags":
        kind = Kind.TAGS
    elif isinstance(of, Array):
        kind = Kind.ARRAY
    elif of in _SIZED:
        kind = Kind.STRING if of is Primitive.STRING else Kind.BYTES
    return _Place(".".join(map(str, spot.path)), spot.start, spot.end, kind, nullable)


def _type_at(cls: type[Struct], version: int, path: list[str | int]) -> tuple[WireType | None, bool]:
    """Return the type of what is at a path, and whether it may be null; no type for what belongs to tags."""
    of: WireType = cls
    nullable = False
    while path:
        label = path.pop(0)
        if label == "tags":
            if len(path) < 2 or path[1] == "tag":
                return None, False
            label = path[1]
            path = path[2:]
        if isinstance(of, Array):
            of, nullable = of.item, False
        else:
            assert not isinstance(of, Primitive)
            field = next(each for each in of.FIELDS if each.name == label)
            of, nullable = field.type, version in field.nullable
    return of, nullable


def _form(kind: Kind) -> str:
    return ">h" if kind is Kind.STRING else ">i"


def _value(of: WireType, version: int) -> Any:
    if isinstance(of, Array):
        return [_value(of.item, version)]
    return _VALUES.get(of, 1) if isinstance(of, Primitive) else one_of_each(of, version)
