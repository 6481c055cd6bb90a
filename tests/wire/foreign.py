"""kafka-python as a judge: its message objects made of ours, ours of its, and Kafka's definition files in its wheel.

Where Apache Kafka has versions by now that its wheel does not, the files, and the objects made from them, are given
these; what such messages look like in bytes, as Apache Kafka itself writes them, is in test_vectors.

What differs is only how values are held: it has no id where we have the zero UUID, bit sets for authorized operations,
and no value at all for a tagged struct that did not come.
"""

import functools
import json
import warnings
from importlib.resources import files
from typing import Any

from wire.schema import NO_UUID, Array, Message, Primitive, Struct, Versions

with warnings.catch_warnings():  # it loads its definitions by a function that Python has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin, consumer, metadata, producer, sasl
    from kafka.protocol.schemas.fields.codecs import BitField

NEWER: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "ApiVersionsRequest": (
        "0-5",
        "",
        [
            {
                "name": "ClusterId",
                "type": "string",
                "versions": "5+",
                "nullableVersions": "5+",
                "default": "null",
                "ignorable": True,
            },
            {"name": "NodeId", "type": "int32", "versions": "5+", "default": "-1", "ignorable": True},
        ],
    ),
    "ApiVersionsResponse": ("0-5", "", []),
    "DeleteGroupsRequest": ("0-3", "", []),
    "DeleteGroupsResponse": (
        "0-3",
        "Results",
        [
            {
                "name": "ErrorMessage",
                "type": "string",
                "versions": "3+",
                "nullableVersions": "3+",
                "default": "null",
                "ignorable": True,
            }
        ],
    ),
}
"""What Kafka 4.4 added to messages: their versions, and fields at their end, or at that of the structs in a field."""

_RENAMED = {
    "topic_authorized_operations": "authorized_operations",
    "cluster_authorized_operations": "authorized_operations",
}
_BIT_FIELDS = {"authorized_operations", *_RENAMED}


def definition(name: str) -> Any:
    """One of Apache Kafka's message definition files: JSON with comments."""
    text = files("kafka.protocol.schemas.resources").joinpath(f"{name}.json").read_text()
    return with_newer(json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))))


def with_newer(found: Any) -> Any:
    if found["name"] in NEWER:
        versions, within, fields = NEWER[found["name"]]
        assert Versions.parse(found["validVersions"]).highest < Versions.parse(versions).highest, "it has them by now"
        found["validVersions"] = versions
        holder = next((row for row in found["fields"] if row["name"] == within), found)
        holder["fields"] += fields
    return found


@functools.cache
def foreign_class(cls: type[Message]) -> Any:
    name = cls.__name__
    theirs = next(
        getattr(module, name) for module in (consumer, producer, metadata, admin, sasl) if hasattr(module, name)
    )
    if name not in NEWER:
        return theirs
    # What is made has the chance to change the file that its name stands for.
    patch = classmethod(lambda _cls, found: with_newer(found))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return type(theirs)(name, (theirs,), {"json_patch": patch, "__slots__": ()})


def _their_name(name: str, cls: Any) -> str:
    renamed = _RENAMED.get(name, name)
    return renamed if renamed in cls._struct.fields else name


def to_foreign(message: Struct, version: int, cls: Any) -> Any:
    values = {}
    for f in message.FIELDS:
        value = getattr(message, f.name)
        if version not in f.versions or (f.tag is not None and value == f.default):
            continue
        name = _their_name(f.name, cls)
        theirs = cls._struct.fields[name]
        if isinstance(f.type, Array) and not isinstance(f.type.item, Primitive):
            value = value and [to_foreign(item, version, theirs.data_class) for item in value]
        elif isinstance(value, Struct):
            value = to_foreign(value, version, theirs.data_class)
        elif getattr(theirs, "_type", None) is BitField:
            value = BitField.from_32_bit_field(value & 0xFFFFFFFF)
            value = None if value == {31} else value
        values[name] = value
    return cls(version=version, **values)


def from_foreign(theirs: Any, version: int, cls: type[Struct]) -> Any:
    values = {}
    for f in cls.FIELDS:
        if version not in f.versions:
            continue
        value = getattr(theirs, _their_name(f.name, type(theirs)))
        if f.tag is not None and value is None and f.default is not None:
            value = f.fresh_default()
        elif isinstance(f.type, Array) and not isinstance(f.type.item, Primitive):
            value = value if value is None else [from_foreign(item, version, f.type.item) for item in value]
        elif not isinstance(f.type, (Primitive, Array)):
            value = value if value is None else from_foreign(value, version, f.type)
        elif f.type is Primitive.UUID and value is None:
            value = NO_UUID
        elif isinstance(value, memoryview):
            value = bytes(value)
        elif f.name in _BIT_FIELDS:
            bits = {31} if value is None else value
            unsigned = bits if isinstance(bits, int) else BitField.to_32_bit_field(bits)
            value = (unsigned + 2**31) % 2**32 - 2**31
        values[f.name] = value
    return cls(**values)


def foreign_payload(value: Struct, version: int) -> bytes:
    """A subscription or an assignment as kafka-python writes it, its version in front."""
    cls = getattr(consumer, f"ConsumerProtocol{type(value).__name__}")
    return bytes(to_foreign(value, version, cls).encode())
