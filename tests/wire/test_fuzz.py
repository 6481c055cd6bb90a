"""Whatever the bytes, whole or one at a time: a message comes out, or a WireError."""

import random

import pytest

from tests.wire import samples
from wire import messages as m
from wire.codec import decode, encode, reader
from wire.errors import WireError
from wire.frame import FrameBuffer
from wire.header import read_request_header, request_frame

every_message = pytest.mark.parametrize(("cls", "version"), samples.PAIRS, ids=samples.pair_id)

BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFF)


def attempt(cls, version, data):
    """Decode; a message is returned, a WireError is forgiven, anything else fails the test."""
    try:
        return decode(cls, version, data)
    except WireError:
        return None


@every_message
def test_every_truncation_is_an_error(cls, version):
    data = encode(samples.full(cls, version), version)
    for end in range(len(data)):
        with pytest.raises(WireError):
            decode(cls, version, data[:end])


@every_message
def test_every_byte_changed(cls, version):
    data = bytearray(encode(samples.full(cls, version), version))
    for at, original in enumerate(data):
        for byte in {*BYTES, original ^ 0x01, original ^ 0x80, (original + 1) & 0xFF}:
            data[at] = byte
            attempt(cls, version, bytes(data))
        data[at] = original


@every_message
def test_random_bytes(cls, version):
    source = random.Random(f"{cls.__name__} {version}")
    for _ in range(100):
        attempt(cls, version, source.randbytes(source.randrange(60)))
        # Mostly small numbers, so that lengths and counts are often plausible.
        attempt(cls, version, bytes(source.choice((0, 0, 0, 1, 2, 3, 5, 255)) for _ in range(60)))


@every_message
def test_what_decodes_can_be_encoded(cls, version):
    source = random.Random(f"again {cls.__name__} {version}")
    data = encode(samples.full(cls, version), version)
    for _ in range(50):
        changed = bytearray(data)
        changed[source.randrange(len(data) or 1) : source.randrange(len(data) or 1)] = source.randbytes(2)
        found = attempt(cls, version, bytes(changed))
        if found is not None:
            assert decode(cls, version, encode(found, version)) == found


def serve(chunks):
    """Read requests as a broker would; return what was understood, ending with the first error."""
    frames, understood = FrameBuffer(1000), []
    for chunk in chunks:
        frames.feed(chunk)
        try:
            while (frame := frames.next()) is not None:
                header, offset = read_request_header(frame)
                cls = m.REQUESTS.get(header.api_key)
                if cls is None:
                    understood.append(header)
                else:
                    understood.append((header, reader(cls, header.api_version)(frame, offset)))
        except WireError as error:
            return [*understood, type(error)]
    return understood


def test_streams_whole_and_one_byte_at_a_time():
    source = random.Random(20)
    requests = [pair for pair in samples.PAIRS if pair[0] in m.REQUESTS.values()]
    for cls, version in requests:
        frame = request_frame(source.randrange(2**31), "client", samples.full(cls, version), version)
        stream = frame + request_frame(1, None, m.HeartbeatRequest(), 4)
        assert len(serve([stream])) == 2
        for _ in range(20):
            broken = bytearray(stream)
            for _ in range(source.randrange(3)):
                broken[source.randrange(len(broken))] = source.choice((*BYTES, source.randrange(256)))
            del broken[source.randrange(len(broken)) + 1 :]
            data = bytes(broken)
            assert serve([data]) == serve(bytes((byte,)) for byte in data)


def test_random_streams():
    source = random.Random(21)
    for _ in range(500):
        data = b"\0\0\0" + source.randbytes(source.randrange(1, 200))
        assert serve([data]) == serve(bytes((byte,)) for byte in data)
