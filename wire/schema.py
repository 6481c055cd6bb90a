"""The language in which messages are declared.

A message is a slotted dataclass whose fields say how they look on the wire and in which versions:

    @message(api=11, versions="0-9", flexible="6+")
    class JoinGroupRequest(Message):
        group_id: str = field(STRING)
        rebalance_timeout_ms: int = field(INT32, "1+", default=-1, ignorable=True)
        group_instance_id: str | None = field(STRING, "5+", nullable="5+", default=None)
        protocols: list[JoinGroupRequestProtocol] = field(Array(JoinGroupRequestProtocol))

One class serves every version, as in Kafka's generated `JoinGroupRequestData`. This module keeps only the tables;
`wire.codec` and `wire.structs` each make their own reading of them, and the tests hold one against the other.

Rules of the language (they are those of Kafka's message definition files):

* Wire order is declaration order.
* Every field has a default: the schema's, or else the zero of its type. Null is never an implied default.
* `versions` of a field are seen from the message; a nested struct exists where the field that holds it exists.
* In flexible versions (KIP-482) strings, bytes and arrays are compact and every struct ends with a tag buffer. A
  field with a `tag` lives in that buffer and only there.
* A struct that may be null has a byte in front of it, negative for null (KIP-893).
* A struct can hold only structs declared before it, so a schema cannot be recursive and neither can its readers.
"""

import dataclasses
import uuid
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, dataclass_transform

_UNBOUNDED: Final = 32767  # versions are INT16 on the wire


@dataclasses.dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions, possibly empty (`lowest > highest`)."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """Read Kafka's notation: `"3"`, `"0-9"`, `"6+"` or `"none"`.

        Raises:
            ValueError: `text` is none of these.

        """
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), _UNBOUNDED)
        low, dash, high = text.partition("-")
        return cls(int(low), int(high if dash else low))

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))


class Primitive(Enum):
    """The wire types that are not made of others. How each is read and written is told in `wire.primitives`."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    FLOAT64 = "float64"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"
    UUID = "uuid"


BOOLEAN: Final = Primitive.BOOLEAN
INT8: Final = Primitive.INT8
INT16: Final = Primitive.INT16
INT32: Final = Primitive.INT32
INT64: Final = Primitive.INT64
UINT16: Final = Primitive.UINT16
UINT32: Final = Primitive.UINT32
FLOAT64: Final = Primitive.FLOAT64
STRING: Final = Primitive.STRING
BYTES: Final = Primitive.BYTES
RECORDS: Final = Primitive.RECORDS
UUID: Final = Primitive.UUID

NO_UUID: Final = uuid.UUID(int=0)
"""Kafka's `Uuid.ZERO_UUID`, which stands for "no id"."""

_ZEROS: Final[dict[Primitive, Any]] = {
    Primitive.BOOLEAN: False,
    Primitive.FLOAT64: 0.0,
    Primitive.STRING: "",
    Primitive.BYTES: b"",
    Primitive.RECORDS: b"",
    Primitive.UUID: NO_UUID,
}


class Struct:
    """Base of everything declared with `@struct` or `@message`."""

    __slots__ = ()

    FIELDS: ClassVar[tuple["Field", ...]]
    """The table: one entry a field, in wire order."""

    FROZEN: ClassVar[bool] = False
    """Whether instances are immutable, so that they must be made by calling the class."""


class Versioned(Struct):
    """Base of the structs that stand alone, so that somebody has to say which version they are in."""

    __slots__ = ()

    VERSIONS: ClassVar[Versions]
    """The versions this class can be read and written in."""

    FLEXIBLE: ClassVar[Versions]
    """The versions that use compact encodings and tag buffers (KIP-482)."""


class Message(Versioned):
    """Base of the messages: what one request or one response carries after its header."""

    __slots__ = ()

    API_KEY: ClassVar[int]
    RESPONSE: ClassVar[type["Message"]]
    """On request classes: the class of the answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Array:
    """A counted sequence of one type: a Python `list`, or where `container` says so a `tuple`."""

    item: "Primitive | type[Struct]"
    container: type[list[Any]] | type[tuple[Any, ...]] = list


WireType: TypeAlias = Primitive | Array | type[Struct]


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One row of a struct's table."""

    name: str
    type: WireType
    versions: Versions
    nullable: Versions
    default: Any
    """The value a decoder assumes where the version lacks the field. Do not hand it out: see `fresh_default`."""

    tag: int | None
    ignorable: bool
    """Whether a value that the version cannot carry may be dropped in silence."""

    def fresh_default(self) -> Any:
        """The default, a new one each time where it is mutable."""
        if isinstance(self.default, (list, Struct)):
            return type(self.default)()
        return self.default


_UNSET: Final = object()


def field(
    of: WireType,
    versions: str = "0+",
    *,
    nullable: str = "none",
    default: Any = _UNSET,
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """Declare one field of a struct.

    Args:
        of: Its wire type: a primitive, an `Array`, or a struct class.
        versions: The message versions that have it, in Kafka's notation.
        nullable: The versions in which it may be null (Python `None`).
        default: Its default where the schema names one; otherwise the zero of its type.
        tag: Its number in the tag buffer; `None` for an ordinary field. A tagged field is tagged in all its
            versions, which is true of every definition in Apache Kafka that is described here.
        ignorable: Kafka's flag of the same name: a non-default value may be dropped by versions without the field.

    """
    return Field(
        name="",  # the decorator knows it
        type=of,
        versions=Versions.parse(versions),
        nullable=Versions.parse(nullable),
        default=_zero(of) if default is _UNSET else default,
        tag=tag,
        ignorable=ignorable,
    )


def _zero(of: WireType) -> Any:
    if isinstance(of, Primitive):
        return _ZEROS.get(of, 0)
    return of.container() if isinstance(of, Array) else of()


_S = TypeVar("_S", bound=Struct)
_V = TypeVar("_V", bound=Versioned)
_M = TypeVar("_M", bound=Message)
_NEVER: Final = Versions.parse("none")
_NULLABLE: Final = {STRING, BYTES, RECORDS}


# `field` is left out of `field_specifiers` on purpose: a checker that knew it would call a field without an
# explicit `default=` required, while here every field has one. Unknown to the checker, `field(...)` is a default.
@dataclass_transform(kw_only_default=True)
def struct(cls: type[_S]) -> type[_S]:
    """Make a struct class out of its declaration: a slotted dataclass, plus `FIELDS`.

    Raises:
        TypeError: A field of fixed width or a tagged struct is called nullable; Kafka has no such field in the
            messages described here, and neither codec has a form for it.

    """
    return _made(cls, frozen=False)


@dataclass_transform(frozen_default=True)
def payload(*, versions: str = "0", flexible: str = "none") -> Callable[[type[_V]], type[_V]]:
    """Make a class for what rides inside the bytes of a message or of a record: a versioned, immutable struct.

    Immutable, because payloads are kept: they are keys of maps and values of records. Their arrays should be
    `Array(..., tuple)`. They may be made with positional arguments.

    Args:
        versions: The versions described, e.g. `"0-3"`.
        flexible: The versions in compact encoding, e.g. `"4+"`, or `"none"`.

    """

    def decorate(cls: type[_V]) -> type[_V]:
        made = _made(cls, frozen=True)
        made.VERSIONS = Versions.parse(versions)
        made.FLEXIBLE = Versions.parse(flexible)
        return made

    return decorate


@dataclass_transform(kw_only_default=True)
def message(
    *, api: int, versions: str, flexible: str, answers: type[Message] | None = None
) -> Callable[[type[_M]], type[_M]]:
    """Make a message class out of its declaration: a struct that knows its API key and versions.

    Args:
        api: The API key.
        versions: The versions described, e.g. `"0-9"`.
        flexible: The versions in compact encoding, e.g. `"6+"`, or `"none"`.
        answers: On a response, the request class; its `RESPONSE` becomes the decorated class.

    """

    def decorate(cls: type[_M]) -> type[_M]:
        made = _made(cls, frozen=False)
        made.API_KEY = api
        made.VERSIONS = Versions.parse(versions)
        made.FLEXIBLE = Versions.parse(flexible)
        if answers is not None:
            answers.RESPONSE = made
        return made

    return decorate


def _has_a_null(row: Field) -> bool:
    if isinstance(row.type, Primitive):
        return row.type in _NULLABLE
    return isinstance(row.type, Array) or row.tag is None


def _made(cls: type[_S], *, frozen: bool) -> type[_S]:
    fields = []
    for name in cls.__annotations__:
        row = dataclasses.replace(cls.__dict__[name], name=name)
        if row.nullable != _NEVER and not _has_a_null(row):
            raise TypeError(f"{cls.__name__}.{name} cannot be null on the wire")
        fields.append(row)
        mutable = isinstance(row.default, (list, Struct))
        setattr(cls, name, dataclasses.field(default_factory=row.fresh_default) if mutable else row.default)
    made = dataclasses.dataclass(slots=True, frozen=frozen)(cls)
    made.FIELDS = tuple(fields)
    made.FROZEN = frozen
    return made
