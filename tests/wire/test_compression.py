"""Packing and unpacking: our frames are read by others, others' by us, and nothing makes us take too much."""

import contextlib
import gzip
import random
import struct
import tracemalloc
import zlib
from types import SimpleNamespace

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.foreign_records import codecs
from wire import compression
from wire.compression import GZIP, LZ4, MOST_UNPACKED, NONE, SNAPPY, ZSTD, compress, decompress
from wire.errors import CorruptRecords, TooManyRecords

NOISE = random.Random(1).randbytes(70_000)
SAMPLES = [b"", b"a", b"hello " * 1000, NOISE, bytes(300_000), NOISE + bytes(70_000)]

XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)

packing = pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])


def snappy_block(data):
    block = bytes(cramjam.snappy.compress_raw(data))
    return struct.pack(">i", len(block)) + block


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_there_and_back(codec, data):
    packed = compress(codec, data)
    assert decompress(codec, packed) == data
    assert codec == NONE or len(data) < 100_000 or len(packed) < len(data)


THEIR_UNPACK = {
    GZIP: codecs.gzip_decode,
    SNAPPY: codecs.snappy_decode,
    LZ4: codecs.lz4_decode,
    ZSTD: codecs.zstd_decode,
}
THEIR_PACK = {
    GZIP: codecs.gzip_encode,
    SNAPPY: codecs.snappy_encode,
    LZ4: codecs.lz4_encode,
    ZSTD: codecs.zstd_encode,
}


@packing
@pytest.mark.parametrize("data", SAMPLES[1:], ids=len)
def test_kafka_python_reads_ours_and_we_read_its(codec, data):
    assert bytes(THEIR_UNPACK[codec](compress(codec, data))) == data
    assert decompress(codec, bytes(THEIR_PACK[codec](data))) == data


def test_other_programs_agree():
    data = SAMPLES[-1]
    assert gzip.decompress(compress(GZIP, data)) == data
    assert bytes(cramjam.lz4.decompress(compress(LZ4, data))) == data
    assert decompress(GZIP, gzip.compress(data)) == data


@packing
def test_every_end_that_is_too_early_is_an_error(codec):
    packed = compress(codec, b"some records, some more records, and others")
    for size in range(len(packed)):
        if size == {ZSTD: 0, SNAPPY: len(XERIAL)}.get(codec):
            assert decompress(codec, packed[:size]) == b""
        elif codec == SNAPPY and len(XERIAL) < size < len(XERIAL) + 4:
            assert decompress(codec, packed[:size]) == b""  # the torn size of a block ends a xerial stream, too
        else:
            with pytest.raises(CorruptRecords):
                decompress(codec, packed[:size])


@packing
@given(garbage=st.binary(max_size=200))
def test_garbage(codec, garbage):
    with contextlib.suppress(CorruptRecords):
        assert len(decompress(codec, garbage)) <= MOST_UNPACKED


@packing
@settings(max_examples=50)
@given(st.data())
def test_changed_bytes(codec, data):
    packed = bytearray(compress(codec, b"some records " * 50))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(CorruptRecords):
        assert len(decompress(codec, bytes(packed))) <= MOST_UNPACKED


@packing
def test_as_much_as_is_allowed_and_no_byte_more(codec):
    assert len(decompress(codec, compress(codec, bytes(MOST_UNPACKED)))) == MOST_UNPACKED
    with pytest.raises(TooManyRecords):
        decompress(codec, compress(codec, bytes(MOST_UNPACKED + 1)))


@packing
def test_as_much_as_is_asked_for_and_no_byte_more(codec):
    packed = compress(codec, bytes(100_000))
    assert len(decompress(codec, packed, 100_000)) == 100_000
    with pytest.raises(TooManyRecords, match="more than 99999 bytes"):
        decompress(codec, packed, 99_999)


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_a_bomb_is_not_unpacked_further_than_asked_for(codec):
    bomb = compress(codec, bytes(MOST_UNPACKED))
    tracemalloc.start()
    try:
        with pytest.raises(TooManyRecords):
            decompress(codec, bomb, 100_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_what_is_not_packed_has_no_limit_here():
    assert decompress(NONE, bytes(1000), 1) == bytes(1000)


@packing
def test_a_bomb_takes_little_more_memory_than_what_is_allowed(codec):
    bomb = compress(codec, bytes(3 * MOST_UNPACKED))
    tracemalloc.start()
    try:
        with pytest.raises(TooManyRecords):
            decompress(codec, bomb)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * MOST_UNPACKED
    finally:
        tracemalloc.stop()


def test_gzip_members_follow_each_other_and_rubbish_after_them_is_no_matter():
    two = gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0)
    assert decompress(GZIP, two) == b"one two"
    assert decompress(GZIP, two + b"zzzz") == b"one two"
    assert decompress(GZIP, two + bytes(5)) == b"one two"


@pytest.mark.parametrize(
    "wrong",
    [zlib.compress(b"x"), gzip.compress(b"x", mtime=0)[:-8] + bytes(8), gzip.compress(b"x", mtime=0)[:-4] + bytes(4)],
)
def test_what_is_no_gzip(wrong):
    with pytest.raises(CorruptRecords):
        decompress(GZIP, wrong)


def test_very_many_gzip_members_are_each_fed_little(monkeypatch):
    """What follows a member is copied when it ends; with all of it each time, a megabyte would take minutes."""
    fed = 0

    class Counting:
        def __init__(self, wbits):
            self.inner = zlib.decompressobj(wbits)

        def decompress(self, data, most):
            nonlocal fed
            fed += len(data)
            return self.inner.decompress(data, most)

        eof = property(lambda self: self.inner.eof)
        unused_data = property(lambda self: self.inner.unused_data)

    packed = gzip.compress(b"", mtime=0) * 5_000 + gzip.compress(b"one", mtime=0) + compress(GZIP, NOISE) + b"rubbish"
    monkeypatch.setattr(compression, "zlib", SimpleNamespace(decompressobj=Counting, error=zlib.error))
    assert decompress(GZIP, packed) == b"one" + NOISE
    assert fed < 30 * len(packed)


@pytest.mark.parametrize("flag", [0x20, 0x40, 0x80, 0xE0])
def test_gzip_flags_without_a_meaning_are_no_matter(flag):
    """As in Java, and so in Apache Kafka; zlib refuses them."""
    packed = bytearray(gzip.compress(b"one", mtime=0))
    packed[3] |= flag
    assert decompress(GZIP, bytes(packed) * 2) == b"oneone"
    packed[3] |= 0x02
    with pytest.raises(CorruptRecords):
        decompress(GZIP, bytes(packed))


def test_gzip_members_share_what_is_allowed():
    half = gzip.compress(bytes(MOST_UNPACKED // 2))
    assert len(decompress(GZIP, half + half)) == MOST_UNPACKED
    with pytest.raises(TooManyRecords):
        decompress(GZIP, half + half + gzip.compress(b"x", mtime=0))


@pytest.mark.parametrize(
    "packed",
    [
        bytes(cramjam.snappy.compress_raw(b"one two")),
        XERIAL + snappy_block(b"one ") + snappy_block(b"two"),
        XERIAL + snappy_block(b"one ") + XERIAL + snappy_block(b"two"),
        XERIAL + snappy_block(b"one two") + b"\0\0\0",
        XERIAL[:8] + struct.pack(">ii", 9, 0) + snappy_block(b"one two"),
    ],
)
def test_snappy_with_and_without_frame(packed):
    assert decompress(SNAPPY, packed) == b"one two"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        XERIAL[:12],
        XERIAL + struct.pack(">i", -1) + b"one",
        XERIAL + struct.pack(">i", 0) + snappy_block(b"one"),
        XERIAL + snappy_block(b"one")[:-1],
        bytes(cramjam.snappy.compress(b"one two")),
    ],
)
def test_what_is_no_snappy(packed):
    with pytest.raises(CorruptRecords):
        decompress(SNAPPY, packed)


def test_snappy_blocks_share_what_is_allowed():
    half = snappy_block(bytes(MOST_UNPACKED // 2))
    assert len(decompress(SNAPPY, XERIAL + half + half)) == MOST_UNPACKED
    with pytest.raises(TooManyRecords):
        decompress(SNAPPY, XERIAL + half + half + snappy_block(b"x"))


FRAME = compress(LZ4, b"one two")


@pytest.mark.parametrize(("flags", "extra"), [(0x60, b""), (0x70, b"\1\2\3\4"), (0x64, b"")])
def test_lz4_checksums_are_passed_over(flags, extra):
    frame = bytes(cramjam.lz4.compress_block(b"one two", store_size=False))
    block = struct.pack("<I", len(frame)) + frame + extra
    assert decompress(LZ4, lz4_header(flags, 0x40) + block + bytes(4)) == b"one two"


def lz4_header(flags, sizes, content_size=b""):
    """The bytes in front of blocks; the check byte is tried out with a reader that is not ours."""
    for check in range(256):
        header = b"\x04\x22\x4d\x18" + bytes((flags, sizes)) + content_size + bytes((check,))
        try:
            cramjam.lz4.decompress(header + bytes(4) + (b"\x05\x5d\xcc\x02" if flags & 4 else b""))
        except cramjam.DecompressionError:
            continue
        return header
    raise AssertionError


def test_lz4_may_say_how_much_is_in_it():
    frame = lz4_header(0x68, 0x70, struct.pack("<Q", 0))
    stored = struct.pack("<I", 7 | 0x8000_0000) + b"one two"
    assert decompress(LZ4, frame + stored + bytes(4)) == b"one two"
    assert decompress(LZ4, FRAME + b"rubbish") == b"one two"
    # A stored block of no bytes is the end as well (Apache Kafka `Lz4BlockInputStream`).
    assert decompress(LZ4, frame + stored + struct.pack("<I", 0x8000_0000)) == b"one two"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x03" + FRAME[1:],
        FRAME[:4] + b"\x40" + FRAME[5:],  # blocks that depend on each other
        FRAME[:4] + b"\x62" + FRAME[5:],
        FRAME[:4] + b"\xa0" + FRAME[5:],
        FRAME[:5] + b"\x30" + FRAME[6:],
        FRAME[:5] + b"\x41" + FRAME[6:],
        FRAME[:6] + bytes((FRAME[6] ^ 1,)) + FRAME[7:],
        FRAME[:7] + struct.pack("<I", 65_537 | 0x8000_0000) + bytes(65_537) + bytes(4),
        FRAME[:7] + struct.pack("<I", 5) + b"\xff\xff\xff\xff\xff" + bytes(4),
    ],
)
def test_what_is_no_lz4(packed):
    with pytest.raises(CorruptRecords):
        decompress(LZ4, packed)


def test_lz4_blocks_fill_no_more_than_they_may():
    too_much = bytes(cramjam.lz4.compress_block(bytes(65_537), store_size=False))
    with pytest.raises(CorruptRecords):
        decompress(LZ4, FRAME[:7] + struct.pack("<I", len(too_much)) + too_much + bytes(4))


def test_zstd_frames_follow_each_other():
    two = compress(ZSTD, b"one ") + b"\x50\x2a\x4d\x18\x04\0\0\0skip" + compress(ZSTD, b"two")
    assert decompress(ZSTD, two) == b"one two"
    with pytest.raises(CorruptRecords):
        decompress(ZSTD, two + b"zz")
