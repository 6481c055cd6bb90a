"""kafka-python as a judge: its message objects made of ours, ours of its, and Kafka's definition files in its wheel.

What differs is only how values are held: it has no id where we have the zero UUID, bit sets for authorized operations,
and no value at all for a tagged struct that did not come.
"""

import json
import warnings
from importlib.resources import files
from typing import Any

from wire.schema import NO_UUID, Array, Message, Primitive, Struct

with warnings.catch_warnings():  # it loads its definitions by a function that Python has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin, consumer, metadata, producer, sasl
    from kafka.protocol.schemas.fields.codecs import BitField

_RENAMED = {
    "topic_authorized_operations": "authorized_operations",
    "cluster_authorized_operations": "authorized_operations",
}
_BIT_FIELDS = {"authorized_operations", *_RENAMED}


def definition(name: str) -> Any:
    """One of Apache Kafka's message definition files: JSON with comments."""
    text = files("kafka.protocol.schemas.resources").joinpath(f"{name}.json").read_text()
    return json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))


def foreign_class(cls: type[Message]) -> Any:
    for module in (consumer, producer, metadata, admin, sasl):
        if hasattr(module, cls.__name__):
            return getattr(module, cls.__name__)
    raise LookupError(cls.__name__)


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
