"""Frames, and how a stream of bytes is cut into them. Offsets and sizes are in bytes, times in ms since the epoch."""

import os
from dataclasses import dataclass
from typing import Final

from kcoord.config import ConfigError

MOST: Final = 104_857_600
"""Bytes that a frame may claim, Kafka's default of socket.request.max.bytes; answers are smaller (fetch.max.bytes)."""
SIZE: Final = 4
"""Bytes of the size in front of a frame."""
KEPT_OF_RUBBISH: Final = 64
"""Bytes that are kept, to be shown, of what is no frame."""
_TLS: Final = range(20, 24)
"""First bytes of TLS records; the next is 3, in any version (RFC 8446, 5.1)."""


class BadInput(ConfigError):
    """What was to be read is not what it should be; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as it passed. `data` begins with the size, and is shorter than it says if the frame was cut short."""

    data: bytes
    connection: int = 1
    from_client: bool = True
    source: str = ""
    target: str = ""
    time_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a connection that is no frame: it was opened, bytes are missing, what comes is no Kafka."""

    text: str
    connection: int = 1
    source: str = ""
    target: str = ""
    time_ms: float | None = None
    rubbish: bytes = b""
    """The first bytes of what could not be read."""
    routine: bool = False
    """Whether it tells of nothing but the usual life of a connection."""


class Cutter:
    """Cuts the bytes of one direction of a connection into frames.

    A size is judged as soon as it is there, and nothing is set aside for what is merely claimed. After a size that is
    none, what follows cannot be cut: `broken` says so then, and all further bytes are ignored.
    """

    __slots__ = ("_held", "broken", "most")

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.broken: str | None = None
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; return the frames that are complete now, each with its size in front."""
        if self.broken is not None:
            return []
        held = self._held
        held += data
        frames = []
        while len(held) >= SIZE:
            size = int.from_bytes(held[:SIZE], "big", signed=True)
            if not 0 <= size <= self.most:
                self.broken = f"a frame of {size} bytes cannot be; it would have 0 to {self.most}"
                if held[0] in _TLS and held[1] == 3:
                    self.broken = "this is TLS, in which no frames can be seen"
                break
            if len(held) < SIZE + size:
                break
            frames.append(bytes(held[: SIZE + size]))
            del held[: SIZE + size]
        return frames

    @property
    def rest(self) -> bytes:
        """What is there of a frame that is not complete; of a broken stream, what came up to then that is no frame."""
        return bytes(self._held)


def reason(error: OSError) -> str:
    """Return what the system says of a connection that was not made; trio hides it below an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            # Numbers below 0 are those of the resolver.
            return os.strerror(cause.errno) if cause.errno and cause.errno > 0 else cause.strerror
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__
    return str(error)
