"""The wire types that are not made of others, each told once: how it is read and how it is written.

Readers take the whole buffer and a position and return the value and the position after it. They check every length
against the bytes that are there before they act on it, and raise only `WireError`. A null comes back as `None` (or
as count -1); whether the schema allows it is the caller's knowledge.

The generated code of `wire.codec` handles the usual case of each type in line and calls these for the rest: lengths
of 128 and more, nulls, and bytes that are wrong.

Lengths come in two forms. Plain: INT16 for strings, INT32 for bytes and arrays, any negative value meaning null.
Compact (KIP-482): an unsigned varint holding the length plus one, zero meaning null. An unsigned varint is held in
a signed 32-bit variable, as in Apache Kafka's `ByteUtils`: with bit 31 set it looks negative, and reads as null. Only
of the smallest such number, 2**31, less is not less: one taken from it gives the largest length there is, as in Java.
"""

import codecs
import re
import struct
import uuid
from typing import Final

from wire.errors import BadLength, Truncated, Unsendable
from wire.schema import NO_UUID, Primitive

FIXED: Final[dict[Primitive, str]] = {
    Primitive.BOOLEAN: "?",
    Primitive.INT8: "b",
    Primitive.INT16: "h",
    Primitive.INT32: "i",
    Primitive.INT64: "q",
    Primitive.UINT16: "H",
    Primitive.UINT32: "I",
    Primitive.FLOAT64: "d",
    Primitive.UUID: "16s",
}
"""The types of fixed width as `struct` format characters. UUID still needs `uuid_of` and `.bytes` around it."""

MAX_STRING: Final = 32767
"""The longest string in bytes, in either form."""

SIZES: Final = tuple(bytes((n,)) for n in range(128))
"""The unsigned varints of one byte, ready made."""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\ufffd", error.end if surrogate is None else surrogate.end()


AS_JAVA: Final = "wire.as_java"
"""What bytes that are no UTF-8 become, as the second argument of `bytes.decode`: U+FFFD, as often as in Java's decoder.

That is one for each longest piece that could begin a character, as "replace" has it, but for an encoded surrogate, in
three bytes or in the first two of them: Java makes one of it, and Python one of each byte.
"""
codecs.register_error(AS_JAVA, _replaced)


def read_uvarint(data: bytes, pos: int) -> tuple[int, int]:
    """Read an UNSIGNED_VARINT: groups of 7 bits, lowest first, at most 5 bytes; the result is a signed 32-bit value.

    Overlong forms are accepted and bits beyond the 32nd are dropped, as Apache Kafka's reader does.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: The fifth byte says that more follow.

    """
    value = 0
    for shift in range(0, 35, 7):
        if pos >= len(data):
            raise Truncated("the bytes end inside a varint")
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value - (1 << 32) if value >> 31 else value), pos
    raise BadLength("a varint of more than 5 bytes")


def write_uvarint(value: int) -> bytes:
    """Write an UNSIGNED_VARINT.

    Raises:
        Unsendable: `value` is not within 0 .. 2**32 - 1.

    """
    if not 0 <= value < 1 << 32:
        raise Unsendable(f"{value} is no unsigned 32-bit number")
    return _groups(value)


def _groups(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_string(data: bytes, pos: int) -> tuple[str | None, int]:
    """Read a STRING: INT16 length, UTF-8 bytes; what is malformed becomes U+FFFD, as `AS_JAVA` tells.

    Raises:
        Truncated: `data` ends inside it.

    """
    length, pos = _read_int(_INT16, data, pos)
    return _text(data, pos, length)


def read_compact_string(data: bytes, pos: int) -> tuple[str | None, int]:
    """Read a COMPACT_STRING.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: It is longer than 32767 bytes.

    """
    length, pos = _read_compact_length(data, pos)
    if length > MAX_STRING:
        raise BadLength(f"a string of {length} bytes")
    return _text(data, pos, length)


def _text(data: bytes, pos: int, length: int) -> tuple[str | None, int]:
    raw, pos = _take(data, pos, length)
    return (None if raw is None else raw.decode("utf-8", AS_JAVA)), pos


def read_bytes(data: bytes, pos: int) -> tuple[bytes | None, int]:
    """Read BYTES or RECORDS: INT32 length, bytes.

    Raises:
        Truncated: `data` ends inside it.

    """
    length, pos = _read_int(_INT32, data, pos)
    return _take(data, pos, length)


def read_compact_bytes(data: bytes, pos: int) -> tuple[bytes | None, int]:
    """Read COMPACT_BYTES or COMPACT_RECORDS.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: Its length is no varint.

    """
    length, pos = _read_compact_length(data, pos)
    return _take(data, pos, length)


def _read_compact_length(data: bytes, pos: int) -> tuple[int, int]:
    size, pos = read_uvarint(data, pos)
    return (size - 1 if size > -(1 << 31) else (1 << 31) - 1), pos


def _read_int(form: struct.Struct, data: bytes, pos: int) -> tuple[int, int]:
    if pos + form.size > len(data):
        raise Truncated("the bytes end inside a length")
    return form.unpack_from(data, pos)[0], pos + form.size


def _take(data: bytes, pos: int, length: int) -> tuple[bytes | None, int]:
    if length < 0:
        return None, pos
    if length > len(data) - pos:
        raise Truncated(f"a value of {length} bytes with {len(data) - pos} bytes left")
    return data[pos : pos + length], pos + length


def read_count(data: bytes, pos: int) -> tuple[int, int]:
    """Read the INT32 in front of an array's elements; -1 is a null array.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: There are fewer bytes left than elements claimed. No element is smaller than a byte, so this
            refuses nothing valid, and nobody allocates what the sender merely claims.

    """
    count, pos = _read_int(_INT32, data, pos)
    return _check_count(data, pos, count)


def read_compact_count(data: bytes, pos: int) -> tuple[int, int]:
    """Read the varint in front of a compact array's elements; -1 is a null array.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: As for `read_count`.

    """
    count, pos = _read_compact_length(data, pos)
    return _check_count(data, pos, count)


def _check_count(data: bytes, pos: int, count: int) -> tuple[int, int]:
    if count > len(data) - pos:
        raise BadLength(f"an array of {count} elements with {len(data) - pos} bytes left")
    return max(count, -1), pos


def read_tag(data: bytes, pos: int) -> tuple[int, int, int]:
    """Read the beginning of an entry of a tag buffer: its tag, the size of what it holds, and where that begins.

    Apache Kafka looks at the size of a tag that it does not know, and only of such a one: what is known is read by its
    type, as `MessageDataGenerator` has it.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: One of the two is no varint.

    """
    tag, pos = read_uvarint(data, pos)
    size, pos = read_uvarint(data, pos)
    return tag, size, pos


def skip_tag(data: bytes, pos: int, size: int) -> int:
    """Pass over what an entry of a tag buffer holds; return the position after it.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: Its size is negative.

    """
    body, pos = _take(data, pos, size)
    if body is None:
        raise BadLength(f"a tagged field of {size} bytes")
    return pos


def read_tag_count(data: bytes, pos: int) -> tuple[int, int]:
    """Read the number of entries of a tag buffer.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: It is negative, or there are fewer bytes left than entries claimed.

    """
    count, pos = read_uvarint(data, pos)
    _check_count(data, pos, count)
    if count < 0:
        raise BadLength("a negative number of tagged fields")
    return count, pos


def skip_tags(data: bytes, pos: int) -> int:
    """Pass over a tag buffer of which no entry is known; return the position after it.

    Raises:
        Truncated: `data` ends inside it.
        BadLength: A count or size in it is no size.

    """
    count, pos = read_tag_count(data, pos)
    for _ in range(count):
        _, size, pos = read_tag(data, pos)
        pos = skip_tag(data, pos, size)
    return pos


def string_size(size: int) -> bytes:
    """Write the varint in front of a compact string, `size` being its length in bytes plus one.

    Raises:
        Unsendable: The string is longer than 32767 bytes.

    """
    if size > MAX_STRING + 1:
        raise Unsendable(f"a string of {size - 1} bytes; the longest has {MAX_STRING}")
    return write_uvarint(size)


def uuid_of(raw: bytes) -> uuid.UUID:
    """Make a UUID of its 16 bytes; the zero one is always the same object."""
    return uuid.UUID(bytes=raw) if raw != NO_UUID.bytes else NO_UUID


def read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """Read a VARINT: a zigzag signed 32-bit number, as in records (KIP-98).

    Raises:
        Truncated: `data` ends inside it.
        BadLength: It has more than 5 bytes.

    """
    value, pos = read_uvarint(data, pos)
    value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), pos


def write_varint(value: int) -> bytes:
    """Write a VARINT.

    Raises:
        Unsendable: `value` is no signed 32-bit number.

    """
    if not -(1 << 31) <= value < 1 << 31:
        raise Unsendable(f"{value} is no signed 32-bit number")
    return _groups((value << 1) ^ (value >> 31))


def read_varlong(data: bytes, pos: int) -> tuple[int, int]:
    """Read a VARLONG: a zigzag signed 64-bit number of at most 10 bytes, as in records (KIP-98).

    Raises:
        Truncated: `data` ends inside it.
        BadLength: It has more than 10 bytes.

    """
    value = 0
    for shift in range(0, 70, 7):
        if pos >= len(data):
            raise Truncated("the bytes end inside a varlong")
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= (1 << 64) - 1
            return (value >> 1) ^ -(value & 1), pos
    raise BadLength("a varlong of more than 10 bytes")


def write_varlong(value: int) -> bytes:
    """Write a VARLONG.

    Raises:
        Unsendable: `value` is no signed 64-bit number.

    """
    if not -(1 << 63) <= value < 1 << 63:
        raise Unsendable(f"{value} is no signed 64-bit number")
    return _groups((value << 1) ^ (value >> 63))
