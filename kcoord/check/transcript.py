"""What was said while a rule ran, and how it looks when people read it.

Recording costs next to nothing, as most of it is never looked at; reading is done field by field, by `wire.structs`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final

from wire.errors import ErrorCode, WireError
from wire.header import read_request_header, response_header_version
from wire.messages import REQUESTS
from wire.schema import Message
from wire.structs import Trace, response_header_struct, struct_of, trace

MOST_ENTRIES: Final = 400
"""Entries that are kept of one run of a rule: the first half of them, and the last ones."""
MOST_BYTES: Final = 16_384
"""Bytes that are kept of one frame."""
MOST_FIELDS: Final = 200
"""Values that are shown of one frame."""
_SHORT: Final = 48


class What(StrEnum):
    """What an entry is about."""

    OPENED = "opened"
    SENT = "sent"
    GOT = "got"
    CLOSED = "closed"
    """The broker closed the connection."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened on a connection. Seconds are since the rule began; connections count from 1.

    `data` is what was sent, as it was sent, or a frame that came, without its size; of either only the first bytes,
    out of `size`. `answers` is the request that a frame which came is the answer to, with its version.
    """

    seconds: float
    connection: int
    what: What
    data: bytes = b""
    size: int = 0
    answers: tuple[type[Message], int] | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as people read it: a title, and (depth, name, value) of each field."""

    seconds: float
    connection: int
    what: What
    title: str
    fields: tuple[tuple[int, str, str], ...] = ()

    def lines(self) -> Iterator[str]:
        """Write it as lines of text."""
        arrow = {What.SENT: "->", What.GOT: "<-"}.get(self.what, "--")
        yield f"{self.seconds:8.3f} s  #{self.connection} {arrow} {self.title}"
        for depth, name, value in self.fields:
            yield f"{'':17}{'  ' * depth}{name}: {value}" if value else f"{'':17}{'  ' * depth}{name}"


class Transcript:
    """Records what happens on the connections of one run of a rule. `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self._first: list[Entry] = []
        self._last: deque[Entry] = deque(maxlen=MOST_ENTRIES // 2)
        self._count = 0
        self._connections = 0

    def connection(self) -> "Line":
        """Begin a connection."""
        self._connections += 1
        line = Line(self, self._connections)
        line.note(What.OPENED)
        return line

    @property
    def entries(self) -> list[Entry]:
        """What was kept."""
        return [*self._first, *self._last]

    @property
    def left_out(self) -> int:
        """How many entries there were between the first and the last ones that were kept."""
        return self._count - len(self._first) - len(self._last)

    def add(self, connection: int, what: What, data: bytes, answers: tuple[type[Message], int] | None) -> None:
        """Add an entry."""
        entry = Entry(self._clock() - self._start, connection, what, bytes(data[:MOST_BYTES]), len(data), answers)
        self._count += 1
        if len(self._first) < MOST_ENTRIES // 2:
            self._first.append(entry)
        else:
            self._last.append(entry)

    def shown(self) -> list[Shown]:
        """Read all of it."""
        read = [show(each) for each in self._first]
        if self.left_out:
            after = self._first[-1]
            read.append(Shown(after.seconds, after.connection, What.OPENED, f"{self.left_out} entries are left out"))
        return read + [show(each) for each in self._last]


@dataclass(frozen=True, slots=True)
class Line:
    """One connection of a transcript."""

    transcript: Transcript
    number: int

    def note(self, what: What, data: bytes = b"", answers: tuple[type[Message], int] | None = None) -> None:
        """Add an entry about this connection."""
        self.transcript.add(self.number, what, data, answers)


def show(entry: Entry) -> Shown:
    """Read an entry. Bytes that make no sense are shown as they are; nothing is raised."""
    if entry.what is What.SENT:
        title, fields = _request(entry)
    elif entry.what is What.GOT:
        title, fields = _response(entry)
    else:
        title, fields = entry.what.value, []
    return Shown(entry.seconds, entry.connection, entry.what, title, tuple(fields))


_Fields = list[tuple[int, str, str]]


def _request(entry: Entry) -> tuple[str, _Fields]:
    data = entry.data
    if len(data) < 4 or int.from_bytes(data[:4], "big", signed=True) != entry.size - 4:
        return _plain("bytes", data, entry.size)
    try:
        header, at = read_request_header(data[4:])
    except WireError:
        return _plain("a frame", data[4:], entry.size - 4)
    cls = REQUESTS.get(header.api_key)
    name = f"API {header.api_key}" if cls is None else _name(cls)
    title = f"{name} {header.api_version} request {header.correlation_id}, client {header.client_id!r}"
    if cls is None or header.api_version not in cls.VERSIONS:
        return _plain(title, data[4 + at :], entry.size - 4 - at)
    return title, _fields(trace(struct_of(cls, header.api_version), data, 4 + at, most=MOST_FIELDS), entry)


def _response(entry: Entry) -> tuple[str, _Fields]:
    if entry.answers is None:
        return _plain("a frame that answers nothing", entry.data, entry.size)
    cls, version = entry.answers
    header = trace(response_header_struct(response_header_version(cls.API_KEY, version)), entry.data)
    if header.stopped is not None:
        return _plain(f"{_name(cls)} {version} response?", entry.data, entry.size)
    title = f"{_name(cls)} {version} response {header.spots[0].value}"
    body = trace(struct_of(cls.RESPONSE, version), entry.data, header.end, most=MOST_FIELDS)
    return title, _fields(body, entry)


def _name(cls: type[Message]) -> str:
    return cls.__name__.removesuffix("Request")


def _plain(title: str, data: bytes, size: int) -> tuple[str, _Fields]:
    return f"{title}, {size} bytes", [(0, "bytes", _bytes(data, size))] if data else []


def _fields(found: Trace, entry: Entry) -> _Fields:
    fields: _Fields = []
    for spot in found.spots:
        name = spot.path[-1]
        if spot.end is None or "tags" in spot.path:
            continue
        label = f"[{name}]" if isinstance(name, int) else name
        if isinstance(spot.value, list):
            value = f"{len(spot.value)} of them" if spot.value else "[]"
        elif isinstance(spot.value, dict):
            value = ""
        else:
            value = shown_value(spot.value)
            if name == "error_code":
                value += f" {_error(spot.value)}"
        fields.append((len(spot.path) - 1, label, value))
    if found.stopped is not None:
        cut = entry.size > len(entry.data) or len(found.spots) >= MOST_FIELDS
        fields.append((0, "and so on" if cut else f"cannot be read further: {found.stopped}", ""))
    elif found.end < len(entry.data):
        rest = entry.data[found.end :]
        fields.append((0, "left over", _bytes(rest, len(rest))))
    return fields


def _error(number: int) -> str:
    try:
        return ErrorCode(number).name
    except ValueError:
        return "(no error that Kafka has)"


def _bytes(data: bytes, size: int) -> str:
    dots = "" if size <= _SHORT else f" ... ({size} bytes)"
    start = bytes(data[:_SHORT])
    return (repr(start) if start.isascii() and start.decode("ascii").isprintable() else start.hex(" ")) + dots


def shown_value(value: Any, most: int = 400) -> str:
    """Write a value for people, in up to about `most` characters."""
    if isinstance(value, (bytes, bytearray)):
        return _bytes(bytes(value), len(value))
    if isinstance(value, IntEnum):
        return f"{value.name} ({int(value)})"
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
