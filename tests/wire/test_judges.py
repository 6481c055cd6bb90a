"""Three codecs, one answer: ours, the construct Structs, and kafka-python's, for every message in every version."""

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire import samples
from tests.wire.foreign import foreign_class, from_foreign, to_foreign
from wire.codec import decode, encode, reader
from wire.messages import ApiVersionsResponse
from wire.structs import message_of, struct_of, values

every_message = pytest.mark.parametrize(("cls", "version"), samples.PAIRS, ids=samples.pair_id)


rendering = functools.cache(struct_of)


def judge(message, version):
    cls = type(message)
    data = encode(message, version)

    assert decode(cls, version, data) == message
    assert reader(cls, version)(b"lead" + data + b"trail", 4) == (message, 4 + len(data))

    rendered = rendering(cls, version)
    assert rendered.build(values(message, version)) == data
    assert message_of(cls, version, rendered.parse(data)) == message

    theirs = foreign_class(cls)
    assert bytes(to_foreign(message, version, theirs).encode()) == data
    if cls is ApiVersionsResponse and message.error_code:
        return  # kafka-python reads any error as version 0
    assert from_foreign(theirs.decode(data, version=version), version, cls) == message


@every_message
def test_defaults(cls, version):
    judge(cls(), version)


@every_message
def test_full(cls, version):
    judge(samples.full(cls, version), version)


@every_message
@settings(samples.unhurried, max_examples=10)
@given(data=st.data())
def test_anything(cls, version, data):
    judge(data.draw(samples.structs(cls, version)), version)
