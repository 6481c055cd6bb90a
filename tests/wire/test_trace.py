"""Traces: where in some bytes each value lies, and how far they make sense."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire.messages as m
from tests.wire import samples
from wire.codec import decode, encode
from wire.errors import WireError
from wire.header import request_frame
from wire.structs import request_header_struct, response_header_struct, struct_of, trace

REQUEST = m.JoinGroupRequest(
    group_id="g", protocols=[m.JoinGroupRequestProtocol(name="range", metadata=b"abc")], reason="why"
)


def shown(found):
    return [(".".join(map(str, spot.path)), spot.start, spot.end) for spot in found.spots]


def test_a_request_is_traced_to_its_last_byte():
    frame = request_frame(7, "me", REQUEST, 9)
    header = trace(request_header_struct(2), frame, 4)
    assert shown(header) == [
        ("api_key", 4, 6), ("api_version", 6, 8), ("correlation_id", 8, 12), ("client_id", 12, 16), ("tags", 16, 17),
    ]  # fmt: skip
    assert [spot.value for spot in header.spots[:4]] == [11, 9, 7, "me"]
    body = trace(struct_of(m.JoinGroupRequest, 9), frame, header.end)
    assert shown(body)[6:] == [
        ("protocols", 30, 42), ("protocols.0", 31, 42), ("protocols.0.name", 31, 37),
        ("protocols.0.metadata", 37, 41), ("protocols.0.tags", 41, 42), ("reason", 42, 46), ("tags", 46, 47),
    ]  # fmt: skip
    assert (body.stopped, body.end) == (None, len(frame))


def test_tags_lie_where_they_lie():
    data = encode(m.FetchRequest(cluster_id="c"), 12)[:-5] + b"\2\0\2\2c\x09\1x"
    found = trace(struct_of(m.FetchRequest, 12), data)
    at = len(data) - 8
    assert shown(found)[-7:] == [
        ("tags", at, at + 8), ("tags.0", at + 1, at + 5), ("tags.0.tag", at + 1, at + 2),
        ("tags.0.cluster_id", at + 3, at + 5), ("tags.1", at + 5, at + 8), ("tags.1.tag", at + 5, at + 6),
        ("tags.1.body", at + 7, at + 8),
    ]  # fmt: skip
    assert found.spots[-1].value == b"x"


def test_the_header_of_an_answer_may_have_tags():
    assert shown(trace(response_header_struct(0), bytes(4))) == [("correlation_id", 0, 4)]
    found = trace(response_header_struct(1), bytes(4) + b"\1\7\1y")
    assert shown(found)[-1] == ("tags.0.body", 7, 8)


@pytest.mark.parametrize(
    ("data", "where", "why"),
    [
        (b"\2g\0", "session_timeout_ms", "expected 4, found 1"),
        (b"\0", "group_id", "a null where there must be none"),
        (b"\xff" * 5, "group_id", "a varint of more than 5 bytes"),
        (b"\xff\xff\xff\xff\x07ab", "group_id", "found 2"),
        (b"\2g" + bytes(8) + b"\1\0\1\xff\xff\xff\xff\x07\2r\2x\0", "protocols.1.name", "found 0"),
        (b"", "group_id", "expected 1, found 0"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(data, where, why):
    found = trace(struct_of(m.JoinGroupRequest, 9), data)
    last = found.spots[-1]
    assert (".".join(map(str, last.path)), last.end) == (where, None)
    assert why in found.stopped
    assert found.stopped_at == found.end == last.start


def test_no_more_is_noted_than_was_asked_for():
    data = encode(m.DescribeGroupsRequest(groups=["g"] * 1000), 0)
    found = trace(struct_of(m.DescribeGroupsRequest, 0), data, most=10)
    assert len(found.spots) == 10
    assert (found.stopped, found.stopped_at) == ("10 values are enough", 4 + 9 * 3)


@settings(max_examples=500)
@given(pair=st.sampled_from(samples.PAIRS), data=st.binary(max_size=60))
def test_any_bytes_can_be_traced(pair, data):
    cls, version = pair
    found = trace(struct_of(cls, version), data)
    assert (found.stopped is None) == (all(spot.end is not None for spot in found.spots))
    assert 0 <= found.stopped_at <= len(data)
    assert all(0 <= spot.start <= len(data) for spot in found.spots)
    if found.stopped is None:
        assert found.end == found.stopped_at
    else:
        with pytest.raises(WireError):
            decode(cls, version, data)
