"""Where frames come from when they are read: what a file is, is told from its first bytes."""

import io
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from kcoord.dump.frames import KEPT_OF_RUBBISH, MOST, SIZE, BadInput, Cutter, Frame, Remark
from kcoord.dump.pcap import MAGICS, PCAPNG, segments
from kcoord.dump.session import MAGIC as SESSION
from kcoord.dump.session import Session, frames_of
from kcoord.dump.tcp import Reassembly

_HEAD: Final = 24
"""Bytes from which the form is told."""
_CHUNK: Final = 65_536
_BLANKS: Final = b" \t\r\n\v\f"
_HEX: Final = re.compile(rb"[0-9A-Fa-f \t\r\n\v\f]+")
_NO_HEX: Final = re.compile(rb"[^0-9A-Fa-f]")


class _Again(io.RawIOBase):
    """A file of which the first bytes have been read, and are read again."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        data = self._head[: len(buffer)] or self._file.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


class _Checked(io.RawIOBase):
    """A file whose errors are BadInput."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__()
        self._file = file
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        try:
            data = self._file.read(len(buffer))
        except OSError as error:
            raise BadInput(f"cannot read {self._name}: {error.strerror}") from None
        buffer[: len(data)] = data
        return len(data)


def checked(file: BinaryIO, name: str) -> BinaryIO:
    """Return a file that reads the same bytes, and raises BadInput where `file` raises OSError."""
    return io.BufferedReader(_Checked(file, name), _CHUNK)


def read(
    file: BinaryIO, name: str, *, port: int | None = None, answers: bool = False, most: int = MOST
) -> Iterator[Frame | Remark]:
    """Read frames from a file of any of the forms; `name` is what it is called in errors.

    Args:
        file: Open for reading bytes; it is left open.
        name: What errors call it.
        port: Of a capture, only connections with one end there.
        answers: Whether single frames are answers; captures and sessions know it themselves.
        most: Bytes that a frame may have.

    Raises:
        BadInput: It has none of the forms, or stops making sense; what comes before that has been yielded then.

    """
    head = file.read(_HEAD)
    whole: BinaryIO = io.BufferedReader(_Again(head, file), _CHUNK)
    if not head:
        raise BadInput(f"{name} is empty")
    if head.startswith(PCAPNG):
        raise BadInput(f"{name} is in the format pcapng; `editcap -F pcap {name} NEW` turns it into one that is read")
    is_capture, is_session = head[:4] in MAGICS, head.startswith(SESSION)
    if answers and (is_capture or is_session):
        raise BadInput(f"--response is for single frames; {name} says itself what answers what")
    if port is not None and not is_capture:
        raise BadInput(f"--port is for captures; {name} is none")
    if is_capture:
        reassembly = Reassembly(port, most)
        try:
            for segment in segments(whole, name):
                yield from reassembly.feed(segment)
        except BadInput:
            yield from reassembly.finish()
            raise
        yield from reassembly.finish()
    elif is_session:
        yield from frames_of(Session(whole, name))
    else:
        pieces = _from_hex(whole, name) if _HEX.fullmatch(head) else iter(lambda: whole.read(_CHUNK), b"")
        yield from _single_frames(pieces, name, not answers, most)


def _from_hex(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Read digits in pairs; blanks and ends of lines may stand anywhere. Raises BadInput."""
    odd = b""
    while chunk := file.read(_CHUNK):
        digits = odd + chunk.translate(None, _BLANKS)
        wrong = _NO_HEX.search(digits)
        if wrong is not None:
            raise BadInput(f"{name} begins with hex digits, but has {chr(wrong[0][0])!r} in it, too")
        odd = digits[len(digits) & ~1 :]
        yield bytes.fromhex(digits[: len(digits) & ~1].decode())
    if odd:
        raise BadInput(f"{name} has an odd number of hex digits")


def _single_frames(pieces: Iterator[bytes], name: str, from_client: bool, most: int) -> Iterator[Frame | Remark]:
    cutter = Cutter(most)
    count = 0
    for piece in pieces:
        for data in cutter.feed(piece):
            count += 1
            yield Frame(data, from_client=from_client)
        if cutter.broken is not None:
            break
    rest = cutter.rest
    hint = "" if count else "; a frame begins with its size, in 4 bytes"
    if cutter.broken is not None:
        yield Remark(cutter.broken, rubbish=rest[:KEPT_OF_RUBBISH])
        raise BadInput(f"{name} is not made of Kafka's frames, from frame {count + 1} on: {cutter.broken}{hint}")
    if len(rest) < SIZE and rest:
        yield Remark(f"{len(rest)} bytes are left", rubbish=rest)
    elif rest:
        yield Frame(rest, from_client=from_client)
    if rest:
        raise BadInput(f"{name} ends in the middle of frame {count + 1}{hint}")
