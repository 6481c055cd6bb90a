"""Headers: which version stands where, and what a bad one does."""

import pytest

from tests.wire import samples
from tests.wire.foreign import foreign_class, to_foreign
from wire import messages as m
from wire.codec import decode
from wire.errors import BadLength, Truncated, Unsendable, Unsupported, WireError
from wire.header import (
    RequestHeader,
    read_request_header,
    read_response,
    request_frame,
    request_header_version,
    response_frame,
    response_header_version,
)


@pytest.mark.parametrize(("cls", "version"), samples.PAIRS, ids=samples.pair_id)
def test_frames_are_those_of_kafka_python(cls, version):
    message = samples.full(cls, version)
    theirs = to_foreign(message, version, foreign_class(cls))
    if cls in m.REQUESTS.values():
        theirs.with_header(correlation_id=-7, client_id="client")
        frame = request_frame(-7, "client", message, version)
        header, offset = read_request_header(frame[4:])
        assert header == RequestHeader(cls.API_KEY, version, -7, "client")
        assert decode(cls, version, frame[4:], offset) == message
    else:
        theirs.with_header(correlation_id=-7)
        frame = response_frame(-7, message, version)
        assert read_response(frame[4:], cls, version) == (-7, message)
    assert frame == bytes(theirs.encode(header=True, framed=True))


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (11, 5, 1, 0),
        (11, 6, 2, 1),
        (47, 0, 1, 0),
        (18, 0, 1, 0),
        (18, 2, 1, 0),
        (18, 3, 2, 0),
        (18, 4, 2, 0),
        (18, 5, 2, 0),  # not known yet, but it will be flexible
        (18, 32767, 2, 0),
        (18, -1, 1, 0),
        (17, 1, 1, 0),  # a key that is not described here
        (-5, 9, 1, 0),
    ],
)
def test_header_versions(key, version, request_header, response_header):
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


def test_client_id_null_and_empty_are_told_apart():
    message = m.HeartbeatRequest()
    for version in (3, 4):
        for client_id in (None, "", "é"):
            frame = request_frame(1, client_id, message, version)
            assert read_request_header(frame[4:])[0].client_id == client_id


def test_malformed_utf8_in_the_client_id_is_replaced():
    raw = bytes.fromhex("000c 0000 00000001 0002 61 ff")
    assert read_request_header(raw) == (RequestHeader(12, 0, 1, "a\ufffd"), 12)


def test_tags_of_the_header_are_passed_over():
    raw = bytes.fromhex("000c 0004 00000001 ffff 01 05 02 aabb")
    assert read_request_header(raw + b"body") == (RequestHeader(12, 4, 1, None), len(raw))


@pytest.mark.parametrize("raw", ["", "000c", "000c 0004 000000", "000c 0004 00000001 00", "000c 0004 00000001 0001"])
def test_a_frame_shorter_than_its_header(raw):
    with pytest.raises(Truncated):
        read_request_header(bytes.fromhex(raw))


def test_bad_tags_in_a_header():
    with pytest.raises(Truncated):
        read_request_header(bytes.fromhex("000c 0004 00000001 ffff"))
    with pytest.raises(BadLength):
        read_request_header(bytes.fromhex("000c 0004 00000001 ffff 05"))
    with pytest.raises(WireError):
        read_response(bytes.fromhex("00000001"), m.HeartbeatResponse, 4)


def test_a_response_shorter_than_its_header():
    with pytest.raises(Truncated):
        read_response(b"\0\0\0", m.HeartbeatResponse, 0)


@pytest.mark.parametrize("version", [3, 4])
def test_headers_that_cannot_be_written(version):
    for correlation_id, client_id in ((2**31, "c"), (1, "x" * 32768), (1, "\ud800")):
        with pytest.raises(Unsendable, match="request header"):
            request_frame(correlation_id, client_id, m.HeartbeatRequest(), version)
    with pytest.raises(Unsendable, match="response header"):
        response_frame(2**31, m.HeartbeatResponse(), version)


def test_versions_that_are_not_there():
    with pytest.raises(Unsupported):
        request_frame(1, "c", m.HeartbeatRequest(), 5)
    with pytest.raises(Unsupported):
        response_frame(1, m.HeartbeatResponse(), 5)
    with pytest.raises(Unsupported):
        read_response(b"\0\0\0\1\0", m.HeartbeatResponse, 5)
