"""Packing and unpacking the records of a batch: gzip, snappy, lz4, zstd, each framed as Kafka's own clients do.

Unpacking is for bytes that nobody vouches for. It never yields more than it is told, and never takes much more memory
than that. What it refuses is what Apache Kafka's streams refuse, whose leniency it shares: gzip members and
zstd frames may follow each other, rubbish after gzip or lz4 is not looked at, snappy may come without its frame.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Final

import cramjam

from wire.errors import CorruptRecords, TooManyRecords

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

MOST_UNPACKED: Final = 64 * 1024 * 1024
"""In bytes: what the records of one batch may take when they are unpacked.

Kafka has no such limit. It is 64 times the largest batch that Kafka takes by default, packed; producers fill a batch
with about as much as that.
"""

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_WITH_HEADER: Final = 31
"""What zlib wants to hear for gzip's own frame (zlib manual, `inflateInit2`)."""
_GZIP_FLAGS_AT: Final = 3
_GZIP_HEADER_CHECKSUM: Final = 0x02
"""The flag of a member whose header has a checksum, which is over the flags, too (RFC 1952)."""
_GZIP_RESERVED: Final = 0xE0
_GZIP_FIRST_INPUT: Final = 512
"""Bytes of a member that are looked at first; then twice as many, and so on."""

_XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
_SIZE: Final = struct.Struct(">i")

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_VERSION_AND_INDEPENDENT_BLOCKS: Final = 0x60
_LZ4_BLOCK_CHECKSUM: Final = 0x10
_LZ4_CONTENT_SIZE: Final = 0x08
_LZ4_RESERVED: Final = 0x03
_LZ4_BLOCK_SIZES: Final = {0x40: 1 << 16, 0x50: 1 << 18, 0x60: 1 << 20, 0x70: 1 << 22}
_LZ4_STORED: Final = 0x8000_0000
_LZ4_SIZE: Final = struct.Struct("<I")

_ZSTD_LEVEL: Final = 3
_ZSTD_FIRST_GUESS: Final = 64 * 1024
_ZSTD_FULL: Final = "failed to write whole buffer"
"""What cramjam says when the output has no room left, and of nothing else."""


def compress(codec: int, data: bytes) -> bytes:
    """Pack `data`; `codec` is Kafka's number, 0 to 4 (`wire.records.Compression`)."""
    return _PACK[codec](data)


def decompress(codec: int, data: bytes, most: int = MOST_UNPACKED) -> bytes:
    """Unpack `data` into `most` bytes at most; `codec` is Kafka's number, 0 to 4.

    How long it takes grows with `most` (but for a block of lz4, of up to 4 MiB), not with what there would be. What is
    not packed at all is no matter of it.

    Raises:
        CorruptRecords: The bytes are not what that codec writes, or end too early.
        TooManyRecords: They would become more than `most`.

    """
    return _UNPACK[codec](data, most)


def _as_it_is(data: bytes, _most: int = MOST_UNPACKED) -> bytes:
    return data


def _too_many(most: int) -> TooManyRecords:
    return TooManyRecords(f"the records of a batch have more than {most} bytes when they are unpacked")


def _pack_gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=_GZIP_WITH_HEADER)
    return packer.compress(data) + packer.flush()


def _unpack_gzip(data: bytes, most: int) -> bytes:
    """Unpack members one after the other; what follows the last and does not begin one is no matter."""
    parts: list[bytes] = []
    room = most
    position = 0
    while not parts or data.startswith(_GZIP_MAGIC, position):
        unpacker = zlib.decompressobj(_GZIP_WITH_HEADER)
        # What a member leaves of its input is copied, so each is given little at first: there may be very many.
        size = _GZIP_FIRST_INPUT
        while not unpacker.eof:
            if position >= len(data):
                raise CorruptRecords("gzip that ends too early")
            piece = data[position : position + size]
            if size == _GZIP_FIRST_INPUT:
                piece = _without_reserved_flags(piece)
            try:
                part = unpacker.decompress(piece, room + 1)
            except zlib.error as error:
                raise CorruptRecords(f"no gzip: {error}") from None
            room -= len(part)
            if room < 0:
                raise _too_many(most)
            parts.append(part)
            position += size
            size *= 2
        position = min(position, len(data)) - len(unpacker.unused_data)
    return b"".join(parts)


def _without_reserved_flags(piece: bytes) -> bytes:
    """Return the beginning of a gzip member without flags that have no meaning: zlib minds them, Java does not."""
    flags = piece[_GZIP_FLAGS_AT] if len(piece) > _GZIP_FLAGS_AT else 0
    if not flags & _GZIP_RESERVED or flags & _GZIP_HEADER_CHECKSUM:
        return piece
    return b"".join((piece[:_GZIP_FLAGS_AT], bytes((flags & ~_GZIP_RESERVED,)), piece[_GZIP_FLAGS_AT + 1 :]))


def _pack_snappy(data: bytes) -> bytes:
    """Pack in the frame of the JVM's library, xerial's, which every client can read."""
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        parts += (_SIZE.pack(len(block)), block)
    return b"".join(parts)


def _unpack_snappy(data: bytes, most: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC) or len(data) < len(_XERIAL_HEADER):
        return _unpack_snappy_block(data, most, most)
    parts: list[bytes] = []
    room = most
    position = len(_XERIAL_HEADER)
    while position + _SIZE.size <= len(data):
        if data.startswith(_XERIAL_MAGIC, position):
            position += len(_XERIAL_HEADER)  # frames put one behind the other
            continue
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        if not 0 <= size <= len(data) - position:
            raise CorruptRecords(f"a snappy block of {size} bytes, of which {len(data) - position} are there")
        parts.append(_unpack_snappy_block(data[position : position + size], room, most))
        room -= len(parts[-1])
        position += size
    return b"".join(parts)


def _unpack_snappy_block(block: bytes, room: int, most: int) -> bytes:
    try:
        if cramjam.snappy.decompress_raw_len(block) > room:
            raise _too_many(most)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptRecords(str(error)) from None


def _pack_lz4(data: bytes) -> bytes:
    """Pack in a frame of independent blocks, the only one that Apache Kafka's reader takes."""
    descriptor = bytes((_LZ4_VERSION_AND_INDEPENDENT_BLOCKS, 0x40))
    parts = [_LZ4_MAGIC, descriptor, _lz4_check(descriptor)]
    for start in range(0, len(data), _LZ4_BLOCK_SIZES[0x40]):
        raw = data[start : start + _LZ4_BLOCK_SIZES[0x40]]
        block = bytes(cramjam.lz4.compress_block(raw, store_size=False))
        if len(block) < len(raw):
            parts += (_LZ4_SIZE.pack(len(block)), block)
        else:
            parts += (_LZ4_SIZE.pack(len(raw) | _LZ4_STORED), raw)
    parts.append(_LZ4_SIZE.pack(0))
    return b"".join(parts)


def _unpack_lz4(data: bytes, most: int) -> bytes:
    """Unpack one frame; checksums of blocks and content are skipped, because the batch has one of its own."""
    try:
        flags, largest, position = _read_lz4_header(data)
        parts: list[bytes] = []
        room = most
        buffer = bytearray(largest)
        while True:
            (size,) = _LZ4_SIZE.unpack_from(data, position)
            position += _LZ4_SIZE.size
            stored, size = size & _LZ4_STORED, size & ~_LZ4_STORED
            if size == 0:
                return b"".join(parts)
            if size > min(largest, len(data) - position):
                raise CorruptRecords(f"an lz4 block of {size} bytes")
            block = data[position : position + size]
            if not stored:
                block = bytes(buffer[: cramjam.lz4.decompress_block_into(block, buffer, output_len=largest)])
            parts.append(block)
            room -= len(block)
            if room < 0:
                raise _too_many(most)
            position += size + (_LZ4_SIZE.size if flags & _LZ4_BLOCK_CHECKSUM else 0)
    except (struct.error, IndexError):
        raise CorruptRecords("lz4 that ends too early") from None
    except cramjam.DecompressionError as error:
        raise CorruptRecords(f"lz4: {error}") from None


def _read_lz4_header(data: bytes) -> tuple[int, int, int]:
    """Return the flags, the largest block (bytes), and where the first block begins. Raises IndexError, too."""
    if not data.startswith(_LZ4_MAGIC):
        raise CorruptRecords("no lz4 frame")
    flags = data[4]
    most = _LZ4_BLOCK_SIZES.get(data[5])
    position = 14 if flags & _LZ4_CONTENT_SIZE else 6
    if flags & (0xE0 | _LZ4_RESERVED) != _LZ4_VERSION_AND_INDEPENDENT_BLOCKS or most is None:
        raise CorruptRecords("an lz4 frame of another version, with dependent blocks or unknown flags")
    if data[position : position + 1] != _lz4_check(data[4:position]):
        raise CorruptRecords("an lz4 frame with a corrupt header")
    return flags, most, position + 1


def _lz4_check(descriptor: bytes) -> bytes:
    """Return the byte that vouches for the header of an lz4 frame: the second lowest of xxHash-32, seed 0.

    A descriptor has at most 14 bytes, so the steps of that hash for 16 bytes and more are left out.
    """
    mask = 0xFFFF_FFFF
    value = 374_761_393 + len(descriptor)
    whole = len(descriptor) & ~3
    for position in range(0, whole, 4):
        value = value + _LZ4_SIZE.unpack_from(descriptor, position)[0] * 3_266_489_917 & mask
        value = (value << 17 & mask | value >> 15) * 668_265_263 & mask
    for byte in descriptor[whole:]:
        value = value + byte * 374_761_393 & mask
        value = (value << 11 & mask | value >> 21) * 2_654_435_761 & mask
    value = (value ^ value >> 15) * 2_246_822_519 & mask
    value = (value ^ value >> 13) * 3_266_489_917 & mask
    return bytes(((value ^ value >> 16) >> 8 & 0xFF,))


def _pack_zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL))


def _unpack_zstd(data: bytes, most: int) -> bytes:
    """Unpack into a buffer that grows, because frames need not say how much is in them."""
    if not data:
        return b""
    size = min(max(len(data) * 8, _ZSTD_FIRST_GUESS), most)
    while True:
        buffer = bytearray(size)
        try:
            found = cramjam.zstd.decompress_into(data, buffer)
            return bytes(memoryview(buffer)[:found])
        except cramjam.DecompressionError as error:
            if str(error) != _ZSTD_FULL:
                raise CorruptRecords(f"zstd: {error}") from None
        if size == most:
            raise _too_many(most)
        size = min(size * 4, most)


_PACK: Final[dict[int, Callable[[bytes], bytes]]] = {
    NONE: _as_it_is,
    GZIP: _pack_gzip,
    SNAPPY: _pack_snappy,
    LZ4: _pack_lz4,
    ZSTD: _pack_zstd,
}
_UNPACK: Final[dict[int, Callable[[bytes, int], bytes]]] = {
    NONE: _as_it_is,
    GZIP: _unpack_gzip,
    SNAPPY: _unpack_snappy,
    LZ4: _unpack_lz4,
    ZSTD: _unpack_zstd,
}
