"""Messages to test with, all made from the schema: every (class, version), full samples, Hypothesis strategies."""

import functools
import uuid
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from wire import messages
from wire.schema import NO_UUID, Array, Field, Message, Primitive, Struct, WireType

CLASSES = [cls for request in messages.REQUESTS.values() for cls in (request, request.RESPONSE)]
PAIRS = [(cls, version) for cls in CLASSES for version in cls.VERSIONS]

unhurried = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
"""For generated messages: whole trees are slow to draw, and a busy machine is no failure."""


def pair_id(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else f"v{value}"


_SAMPLES = {
    Primitive.BOOLEAN: True,
    Primitive.INT8: -2,
    Primitive.INT16: 0x1234,
    Primitive.INT32: 0x12345678,
    Primitive.INT64: -0x123456789ABCDEF0,
    Primitive.STRING: "consumer é",
    Primitive.BYTES: b"\x00\xffbytes",
    Primitive.RECORDS: b"records",
    Primitive.UUID: uuid.UUID(int=0xA1B2C3D4E5F6),
}


def full(cls: type[Struct], version: int) -> Any:
    """An instance whose every field of the version differs from its default, arrays with two elements."""
    return cls(**{f.name: _full(f.type, version) for f in cls.FIELDS if version in f.versions})


def _full(of: WireType, version: int) -> Any:
    if isinstance(of, Array):
        return of.container(_full(of.item, version) for _ in range(2))
    return _SAMPLES[of] if isinstance(of, Primitive) else full(of, version)


_TEXT = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=6), st.sampled_from(["", "x" * 126, "y" * 127, "é" * 200])
)
_BYTES = st.one_of(st.binary(max_size=6), st.sampled_from([b"", b"a" * 126, b"b" * 127, b"c" * 20000]))


def _int(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


_STRATEGIES: dict[Primitive, st.SearchStrategy[Any]] = {
    Primitive.BOOLEAN: st.booleans(),
    Primitive.INT8: _int(8),
    Primitive.INT16: _int(16),
    Primitive.INT32: _int(32),
    Primitive.INT64: _int(64),
    Primitive.STRING: _TEXT,
    Primitive.BYTES: _BYTES,
    Primitive.RECORDS: _BYTES,
    Primitive.UUID: st.one_of(st.just(NO_UUID), st.uuids()),
}


@functools.cache
def structs(cls: type[Struct], version: int) -> st.SearchStrategy[Any]:
    """Instances that the version can carry exactly: fields it lacks are at their defaults."""
    return st.builds(cls, **{f.name: _field(f, version) for f in cls.FIELDS if version in f.versions})


def _field(f: Field, version: int) -> st.SearchStrategy[Any]:
    values = _values(f.type, version)
    if version in f.nullable:
        values = st.one_of(st.none(), values)
    if f.tag is not None:
        values = st.one_of(st.builds(f.fresh_default), values)
    return values


def _values(of: WireType, version: int) -> st.SearchStrategy[Any]:
    if isinstance(of, Array):
        small = 2 if isinstance(of.item, type) else 5
        return st.lists(_values(of.item, version), max_size=small).map(of.container)
    return _STRATEGIES[of] if isinstance(of, Primitive) else structs(of, version)


def array_fields(cls: type[Message], version: int) -> list[Field]:
    """The top-level arrays that the version has outside its tag buffer."""
    return [f for f in cls.FIELDS if isinstance(f.type, Array) and f.tag is None and version in f.versions]
