"""The same tables as `construct` Structs: the legible form of every message.

    struct_of(HeartbeatRequest, 4).parse(body) -> Container(group_id="g", ..., tags=[])
    struct_of(HeartbeatRequest, 4).build(values(message, 4)) -> bytes

It is for people and for tests: to dump a frame field by field, to build a frame that is wrong in one chosen place,
and to judge the generated code of `wire.codec`, with which it shares the tables but no line. It is far too slow and
too trusting to face the network: it raises `construct.ConstructError` and knows no limits.

In a Container the fields that the version lacks are absent. The tag buffer of a struct is its last entry, `tags`: a
list of `{"tag": int, "body": ...}`, where the body of a tag that the version defines is parsed and any other is bytes.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import construct as c  # type: ignore[import-untyped]

from wire.errors import Unsupported
from wire.header import request_header_version, response_header_version
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

_UNKNOWN_TAGS: Final = c.PrefixedArray(
    c.VarInt, c.Struct("tag" / c.VarInt, "body" / c.Prefixed(c.VarInt, c.GreedyBytes))
)


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
    rows = ["api_key" / c.Int16sb, "api_version" / c.Int16sb, "correlation_id" / c.Int32sb]
    rows.append("client_id" / _sized(Primitive.STRING, flexible=False, nullable=True))
    if request_header_version(cls.API_KEY, version) == 2:
        rows.append("tags" / _UNKNOWN_TAGS)
    return _frame(c.Struct(*rows), struct_of(cls, version))


def response_struct(cls: type[Message], version: int) -> Any:
    """Render a whole response frame: size, `header`, `body`. Bytes left over in the frame are `rest`.

    Raises:
        Unsupported: `cls` has no such version.

    """
    rows = ["correlation_id" / c.Int32sb]
    if response_header_version(cls.API_KEY, version) == 1:
        rows.append("tags" / _UNKNOWN_TAGS)
    return _frame(c.Struct(*rows), struct_of(cls, version))


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
    rows = [f.name / _value(f.type, version, flexible, version in f.nullable) for f in present if f.tag is None]
    if flexible:
        known = {f.tag: _value(f.type, version, flexible, version in f.nullable) for f in present if f.tag is not None}
        body = c.Switch(c.this.tag, known, default=c.GreedyBytes)
        entry = c.Struct("tag" / c.VarInt, "body" / c.Prefixed(c.VarInt, body))
        rows.append("tags" / c.PrefixedArray(c.VarInt, entry))
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
        lambda value, _: None if value is None else value.decode("utf-8", "replace"),
        lambda value, _: None if value is None else value.encode(),
    )


def _counted(item: Any, *, flexible: bool, nullable: bool) -> Any:
    return _behind_length(c.Int32sb, c.Array(c.this.length, item), flexible=flexible, nullable=nullable)


def _behind_length(plain: Any, content: Any, *, flexible: bool, nullable: bool) -> Any:
    """Put a length in front of something that reads `this.length` things; a negative length means null."""
    compact = c.ExprAdapter(c.VarInt, lambda size, _: size - 1, lambda length, _: length + 1)
    both = c.Struct(
        "length" / (compact if flexible else plain), "content" / c.If(lambda this: this.length >= 0, content)
    )
    either = c.ExprAdapter(
        both,
        lambda pair, _: pair.content,
        lambda value, _: {"length": -1 if value is None else len(value), "content": value},
    )
    return either if nullable else c.ExprValidator(either, lambda value, _: value is not None)
