"""Cutting the stream: whatever the chunks, the same frames; and no memory for mere claims."""

import itertools
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire import samples
from wire.errors import BadLength
from wire.frame import FrameBuffer


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def drain(frames: FrameBuffer) -> list[bytes]:
    out = []
    while (payload := frames.next()) is not None:
        out.append(payload)
    return out


@samples.unhurried
@given(payloads=st.lists(st.binary(max_size=40)), cuts=st.lists(st.integers(0, 400)), lazy=st.booleans())
def test_chunks_do_not_matter(payloads, cuts, lazy):
    stream = b"".join(map(framed, payloads))
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    frames, out = FrameBuffer(100), []
    for start, end in itertools.pairwise(edges):
        frames.feed(stream[start:end])
        if not lazy:
            out += drain(frames)
    assert out + drain(frames) == payloads


def test_what_is_left_over_is_known():
    frames = FrameBuffer(100)
    assert not frames.holds_more
    frames.feed(framed(b"one") + b"\0")
    assert frames.holds_more
    assert frames.next() == b"one"
    assert frames.holds_more
    frames.feed(b"\0\0\0")
    assert frames.next() == b""
    assert not frames.holds_more


def test_how_much_is_missing():
    frames = FrameBuffer(100)
    for piece, missing in ((b"", 0), (b"\0\0", 0), (b"\0", 0), (b"\x05", 5), (b"ab", 3), (b"cdefg", 0)):
        frames.feed(piece)
        assert frames.missing == missing
    assert frames.next() == b"abcde"
    assert frames.missing == 0
    for size in (-1, 101):
        frames = FrameBuffer(100)
        frames.feed(size.to_bytes(4, "big", signed=True))
        assert frames.missing == 0


def test_one_byte_at_a_time():
    frames, out = FrameBuffer(100), []
    for byte in framed(b"first") + framed(b"") + framed(b"x" * 100):
        frames.feed(bytes((byte,)))
        out += drain(frames)
    assert out == [b"first", b"", b"x" * 100]


def test_frames_are_bytes_and_the_callers_buffer_is_its_own():
    frames, chunk = FrameBuffer(100), bytearray(framed(b"abc"))
    frames.feed(chunk)
    chunk[:] = b"overwritten"
    assert frames.next() == b"abc"
    frames.feed(b"\0\0\0")
    frames.feed(b"\1z")
    payload = frames.next()
    assert payload == b"z"
    assert type(payload) is bytes


def test_an_empty_chunk():
    frames = FrameBuffer(100)
    frames.feed(b"")
    assert frames.next() is None


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_a_bad_size_is_told_by_four_bytes(size):
    frames = FrameBuffer(100)
    raw = size.to_bytes(4, "big", signed=True)
    frames.feed(raw[:3])
    assert frames.next() is None
    frames.feed(raw[3:])
    with pytest.raises(BadLength, match="0 to 100"):
        frames.next()
    with pytest.raises(BadLength):
        frames.next()


def test_exactly_the_limit_is_allowed():
    frames = FrameBuffer(100)
    frames.feed(framed(b"x" * 100))
    assert frames.next() == b"x" * 100


def test_a_claimed_size_costs_nothing():
    frames = FrameBuffer(104857600)
    tracemalloc.start()
    try:
        frames.feed(b"\x06\x40\0\0")
        assert frames.next() is None
        frames.feed(b"first bytes")
        assert frames.next() is None
        assert tracemalloc.get_traced_memory()[1] < 4096
    finally:
        tracemalloc.stop()


def test_a_taken_frame_is_let_go():
    frames = FrameBuffer(1 << 20)
    tracemalloc.start()
    try:
        frames.feed((1 << 20).to_bytes(4, "big"))
        for _ in range(16):
            frames.feed(bytes(1 << 16))
        assert len(frames.next()) == 1 << 20
        assert tracemalloc.get_traced_memory()[0] < 10_000
    finally:
        tracemalloc.stop()


def test_a_large_frame_grows_in_place():
    """Copying what is there at each piece would cost quadratic time."""
    frames, piece = FrameBuffer(1 << 25), bytes(1 << 12)
    frames.feed((1 << 25).to_bytes(4, "big"))
    frames.feed(piece)
    held = frames._data
    for _ in range((1 << 13) - 1):
        assert frames.next() is None
        frames.feed(piece)
        assert frames._data is held
    assert len(frames.next()) == 1 << 25


def test_many_small_frames_in_large_chunks():
    payloads = [random.Random(7).randbytes(n % 50) for n in range(5000)]
    stream = b"".join(map(framed, payloads))
    frames, out = FrameBuffer(100), []
    for start in range(0, len(stream), 10_000):
        frames.feed(stream[start : start + 10_000])
        out += drain(frames)
    assert out == payloads
