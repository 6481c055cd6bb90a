"""Frames: INT32 size, then that many bytes. Bytes in, whole payloads out; nothing is read or sent here."""

import struct
from typing import Final

from wire.errors import BadLength

_SIZE: Final = struct.Struct(">i")


class FrameBuffer:
    """Cuts a stream of bytes into frames.

    `max_size` is the broker's `socket.request.max.bytes` (Kafka's default: 104857600 bytes); exactly that much is
    allowed. A size is judged as soon as its four bytes are in (Apache Kafka, `NetworkReceive`), and nothing is set
    aside for a size that is merely claimed.

    The usual chunk holds whole frames and is sliced where it lies. A frame that spans chunks grows in a bytearray,
    which costs time and memory in proportion to the bytes that came, however small the pieces.
    """

    __slots__ = ("_data", "_pos", "max_size")

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self._data: bytes | bytearray = b""
        self._pos = 0

    def feed(self, data: bytes | bytearray) -> None:
        """Add bytes that came from the peer. A bytearray is copied, so its owner may use it again."""
        held = self._data
        if self._pos == len(held):
            self._data = bytes(data)
        elif isinstance(held, bytearray):
            del held[: self._pos]  # a bytearray forgets its front without moving the rest
            held += data
        else:
            self._data = bytearray(held[self._pos :])
            self._data += data
        self._pos = 0

    @property
    def holds_more(self) -> bool:
        """Whether bytes are there that no frame was made of yet: another frame, or the beginning of one."""
        return self._pos < len(self._data)

    @property
    def missing(self) -> int:
        """How many bytes the next payload lacks, as far as its size has come and is none too large; otherwise 0."""
        there = len(self._data) - self._pos - _SIZE.size
        if there < 0:
            return 0
        size: int = _SIZE.unpack_from(self._data, self._pos)[0]
        return max(0, size - there) if size <= self.max_size else 0

    def next(self) -> bytes | None:
        """Take the next whole payload, without its size; `None` while it is not all there.

        Raises:
            BadLength: Its size is negative or above `max_size`. The stream is of no more use then.

        """
        held, start = self._data, self._pos + _SIZE.size
        if len(held) < start:
            return None
        (size,) = _SIZE.unpack_from(held, self._pos)
        if not 0 <= size <= self.max_size:
            raise BadLength(f"a frame of {size} bytes; 0 to {self.max_size} are allowed")
        end = start + size
        if len(held) < end:
            return None
        if isinstance(held, bytes):
            payload = held[start:end]
        else:
            with memoryview(held) as view:  # one copy, not two
                payload = bytes(view[start:end])
        if end == len(held):  # a large buffer is not kept for the sake of the next, small frame
            self._data, self._pos = b"", 0
        else:
            self._pos = end
        return payload
