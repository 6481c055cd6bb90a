"""The same tables as `construct` Structs: the legible form of every message.

    struct_of(HeartbeatRequest, 4).parse(body) -> Container(group_id="g", ..., tags=[])
    struct_of(HeartbeatRequest, 4).build(values(message, 4)) -> bytes

It is for people and for tests: to dump a frame field by field, to build a frame that is wrong in one chosen place,
and to judge the generated code of `wire.codec`, with which it shares the tables and what becomes of bad UTF-8, but no
line. It is far too slow and too trusting to face the network: it raises `construct.ConstructError` and knows no limits.

In a Container the fields that the version lacks are absent. The tag buffer of a struct is its last entry, `tags`: a
list of `{"tag": int, "body": ...}`, where the body of a tag that the version defines is parsed and any other is bytes.

`trace` tells where each value lies, also of bytes of which only the beginning makes sense. What it is given may be
anything: it raises nothing, and looks no further than it is told.
"""

import io
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import construct as c  # type: ignore[import-untyped]

from wire.errors import Unsupported
from wire.header import request_header_version, response_header_version
from wire.primitives import AS_JAVA
from wire.schema import Array, Message, Primitive, Struct, Versioned, WireType

_S = TypeVar("_S", bound=Struct)

_SIZED: Final = (Primitive.STRING, Primitive.BYTES, Primitive.RECORDS)

_FIXED: Final[dict[Primitive, Any]] = {
    Primitive.BOOLEAN: c.ExprAdapter(c.Int8ub, lambda byte, _: byte != 0, lambda value, _: int(value)),
    Primitive.INT8: c.Int8sb,
    Primitive.INT16: c.Int16sb,
    Primitive.INT32: c.Int32sb,
    Primitive.INT64: c.Int64sb,
    Primitive.UINT16: c.Int16ub,
    Primitive.UINT32: c.Int32ub,
    Primitive.FLOAT64: c.Float64b,
    Primitive.UUID: c.ExprAdapter(c.Bytes(16), lambda raw, _: uuid.UUID(bytes=raw), lambda value, _: value.bytes),
}

MOST_SPOTS: Final = 100_000
"""Values that a trace takes in, unless it is told otherwise; each takes some hundred bytes of memory."""
_LONGEST_VARINT: Final = 5


@dataclass(slots=True)
class Spot:
    """Where a value lies: bytes `start` to `end`, with its length or count, if it has one, at `start`.

    `path` are names of fields and indexes of arrays, from the outermost on. The entries of a tag buffer are those of
    an array called `tags`, and the field that is in an entry has a name of its own below. `end` is None where the
    bytes made no sense; then there is no `value`.
    """

    path: tuple[str | int, ...]
    start: int
    end: int | None = None
    value: Any = None


class Trace:
    """What a Struct made of bytes: a spot for each value, in the order in which they lie, outer ones first."""

    __slots__ = ("_labels", "_most", "end", "spots", "stopped", "stopped_at")

    def __init__(self, most: int) -> None:
        self.spots: list[Spot] = []
        self.end = 0
        """Where the next value would begin; of a trace that stopped, the same as `stopped_at`."""
        self.stopped: str | None = None
        """Why it went no further, or None."""
        self.stopped_at = 0
        self._labels: list[str | int] = []
        self._most = most

    def note(self, label: str | int, content: Any, stream: Any, context: Any, path: str) -> Any:
        """Parse one value, and note where it was."""
        if len(self.spots) >= self._most:
            self.stopped_at = stream.tell()
            raise _Enough(f"{self._most} values are enough")
        self._labels.append(label)
        spot = Spot(tuple(self._labels), stream.tell())
        self.spots.append(spot)
        self.stopped_at = spot.start
        spot.value = content._parsereport(stream, context, path)  # noqa: SLF001 - construct's way to extend it
        spot.end = stream.tell()
        self._labels.pop()
        return spot.value


class _Enough(c.ConstructError):  # type: ignore[misc]
    """A trace is as long as it may be."""


class _Noted(c.Subconstruct):  # type: ignore[misc]
    """Tells the trace, if there is one, of a value: of a field by its name, of an element by its index."""

    def __init__(self, content: Any, label: str | None = None) -> None:
        super().__init__(content)
        self.label = label

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        noted = context._params.get("noted")  # noqa: SLF001 - construct's place for what a caller passes in
        if noted is None:
            return self.subcon._parsereport(stream, context, path)  # noqa: SLF001
        label = context._index if self.label is None else self.label  # noqa: SLF001
        return noted.note(label, self.subcon, stream, context, path)


def _signed(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


class _Uvarint(type(c.VarInt)):  # type: ignore[misc]
    """A varint of at most 5 bytes in a signed variable, as `wire.primitives` has it; construct's own knows no end."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:  # noqa: ARG002 - construct calls it so
        value = 0
        for shift in range(0, 7 * _LONGEST_VARINT, 7):
            (byte,) = c.stream_read(stream, 1, path)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return _signed(value)
        raise c.IntegerError(f"a varint of more than {_LONGEST_VARINT} bytes", path=path)


_UVARINT: Final = _Uvarint()


class _Entry(c.Construct):  # type: ignore[misc]
    """What a tagged field holds. The size in front of it only counts where nobody knows the tag, as in Apache Kafka."""

    def __init__(self, known: Mapping[int, Any]) -> None:
        super().__init__()
        self.known = known
        self.written = c.Prefixed(_UVARINT, c.Switch(c.this.tag, known, default=c.GreedyBytes))

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        size = _UVARINT._parsereport(stream, context, path)  # noqa: SLF001
        content = self.known.get(context.tag, _Noted(c.Bytes(size), "body"))
        return content._parsereport(stream, context, path)  # noqa: SLF001

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self.written._build(obj, stream, context, path)  # noqa: SLF001


def _tag_buffer(known: Mapping[int, Any]) -> Any:
    entry = c.Struct(_row("tag", _UVARINT), "body" / _Entry(known))
    return _row("tags", c.PrefixedArray(_UVARINT, _Noted(entry)))


def _row(name: str, content: Any) -> Any:
    return name / _Noted(content, name)


_UNKNOWN_TAGS: Final = _tag_buffer({})


def trace(rendered: Any, data: bytes, start: int = 0, *, most: int = MOST_SPOTS) -> Trace:
    """Parse the bytes from `start` on and tell where each value lies, up to `most` values. Raises nothing."""
    found = Trace(most)
    stream = io.BytesIO(data)
    stream.seek(start)
    found.stopped_at = start
    try:
        rendered.parse_stream(stream, noted=found)
        found.end = found.stopped_at = stream.tell()
    except c.ValidationError:
        found.stopped, found.end = "a null where there must be none", found.stopped_at
    except c.ConstructError as error:
        found.stopped, found.end = str(error).rpartition("\n")[2], found.stopped_at
    return found


def struct_of(cls: type[Versioned], version: int) -> Any:
    """Render one version of a message as a `construct.Struct`.

    Raises:
        Unsupported: `cls` has no such version.

    """
    if version not in cls.VERSIONS:
        raise Unsupported(f"{cls.__name__} has no version {version}")
    return _struct(cls, version, flexible=version in cls.FLEXIBLE)


def request_struct(cls: type[Message], version: int) -> Any:
    """Render a whole request frame: size, `header`, `body`. Bytes left over in the frame are `rest`.

    Raises:
        Unsupported: `cls` has no such version.

    """
    return _frame(request_header_struct(request_header_version(cls.API_KEY, version)), struct_of(cls, version))


def response_struct(cls: type[Message], version: int) -> Any:
    """Render a whole response frame: size, `header`, `body`. Bytes left over in the frame are `rest`.

    Raises:
        Unsupported: `cls` has no such version.

    """
    return _frame(response_header_struct(response_header_version(cls.API_KEY, version)), struct_of(cls, version))


def request_header_struct(version: int) -> Any:
    """Render the header of a request, in its version 1 or 2; which one it is, `wire.header` knows."""
    rows = [_row("api_key", c.Int16sb), _row("api_version", c.Int16sb), _row("correlation_id", c.Int32sb)]
    rows.append(_row("client_id", _sized(Primitive.STRING, flexible=False, nullable=True)))
    return c.Struct(*rows, *([_UNKNOWN_TAGS] if version == 2 else ()))


def response_header_struct(version: int) -> Any:
    """Render the header of a response, in its version 0 or 1; which one it is, `wire.header` knows."""
    return c.Struct(_row("correlation_id", c.Int32sb), *([_UNKNOWN_TAGS] if version == 1 else ()))


def values(message: Struct, version: int) -> dict[str, Any]:
    """Lay out a message as the Struct of its version wants it. Fields the version lacks are left out, come what may."""
    present = [f for f in message.FIELDS if version in f.versions]
    out = {f.name: _plain(getattr(message, f.name), version) for f in present if f.tag is None}
    tagged = sorted((f.tag, f) for f in present if f.tag is not None and getattr(message, f.name) != f.default)
    out["tags"] = [{"tag": tag, "body": _plain(getattr(message, f.name), version)} for tag, f in tagged]
    return out


def message_of(cls: type[_S], version: int, parsed: Mapping[str, Any]) -> _S:
    """Make a message of what its Struct parsed. Fields the version lacks get their defaults; unknown tags are lost."""
    tags = {entry["tag"]: entry["body"] for entry in parsed.get("tags", ())}
    found = {}
    for f in cls.FIELDS:
        if version not in f.versions:
            continue
        if f.tag is None:
            found[f.name] = _typed(f.type, version, parsed[f.name])
        elif f.tag in tags:
            found[f.name] = _typed(f.type, version, tags[f.tag])
    return cls(**found)


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, Struct):
        return values(value, version)
    return [_plain(item, version) for item in value] if isinstance(value, (list, tuple)) else value


def _typed(of: WireType, version: int, value: Any) -> Any:
    if isinstance(of, Array):
        return None if value is None else of.container(_typed(of.item, version, item) for item in value)
    return value if value is None or isinstance(of, Primitive) else message_of(of, version, value)


def _frame(header: Any, body: Any) -> Any:
    rest = "rest" / c.Default(c.GreedyBytes, b"")
    return c.Prefixed(c.Int32sb, c.Struct("header" / header, "body" / body, rest))


def _struct(cls: type[Struct], version: int, *, flexible: bool) -> Any:
    present = [f for f in cls.FIELDS if version in f.versions]
    content = {f.name: _value(f.type, version, flexible, version in f.nullable) for f in present}
    rows = [_row(f.name, content[f.name]) for f in present if f.tag is None]
    if flexible:
        known = {f.tag: _Noted(content[f.name], f.name) for f in present if f.tag is not None}
        rows.append(_tag_buffer(known))
    return c.Struct(*rows)


def _value(of: WireType, version: int, flexible: bool, nullable: bool) -> Any:
    if isinstance(of, Array):
        return _counted(_value(of.item, version, flexible, False), flexible=flexible, nullable=nullable)
    if not isinstance(of, Primitive):
        plain = _struct(of, version, flexible=flexible)
        return _or_null(plain) if nullable else plain
    return _sized(of, flexible=flexible, nullable=nullable) if of in _SIZED else _FIXED[of]


def _or_null(content: Any) -> Any:
    """Put the byte in front of a struct that says whether there is one."""
    both = c.Struct("mark" / c.Int8sb, "content" / c.If(lambda this: this.mark >= 0, content))
    return c.ExprAdapter(
        both,
        lambda pair, _: pair.content,
        lambda value, _: {"mark": -1 if value is None else 1, "content": value},
    )


def _sized(of: Primitive, *, flexible: bool, nullable: bool) -> Any:
    text = of is Primitive.STRING
    raw = _behind_length(c.Int16sb if text else c.Int32sb, c.Bytes(c.this.length), flexible=flexible, nullable=nullable)
    if not text:
        return raw
    return c.ExprAdapter(
        raw,
        lambda value, _: None if value is None else value.decode("utf-8", AS_JAVA),
        lambda value, _: None if value is None else value.encode(),
    )


def _counted(item: Any, *, flexible: bool, nullable: bool) -> Any:
    return _behind_length(c.Int32sb, c.Array(c.this.length, _Noted(item)), flexible=flexible, nullable=nullable)


def _behind_length(plain: Any, content: Any, *, flexible: bool, nullable: bool) -> Any:
    """Put a length in front of something that reads `this.length` things; a negative length means null."""
    compact = c.ExprAdapter(_UVARINT, lambda size, _: _signed(size - 1), lambda length, _: length + 1)
    both = c.Struct(
        "length" / (compact if flexible else plain), "content" / c.If(lambda this: this.length >= 0, content)
    )
    either = c.ExprAdapter(
        both,
        lambda pair, _: pair.content,
        lambda value, _: {"length": -1 if value is None else len(value), "content": value},
    )
    return either if nullable else c.ExprValidator(either, lambda value, _: value is not None)
