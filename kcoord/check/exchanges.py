"""What was said while a rule ran, as questions with their answers: plain values, which can be compared.

A dict stands for a struct, under the names of its fields, as `kcoord.dump.plain` lays it out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from kcoord.check.transcript import MOST_ENTRIES, Entry, Transcript, What
from kcoord.dump.plain import plain
from wire.codec import decode
from wire.errors import ErrorCode, WireError
from wire.header import read_request_header, read_response, response_header_version
from wire.messages import REQUESTS, ApiVersionsRequest
from wire.schema import Message
from wire.structs import Trace, response_header_struct, struct_of, trace

MOST_OF_A_PART: Final = 300
"""Values that are read of a frame of which only the first bytes were kept."""
_SIZE: Final = 4
_TAGS: Final = "tags"


@dataclass(frozen=True, slots=True)
class Said:
    """A frame: what it is, and its body. `part` means that the body goes on where the value ends.

    What cannot be read stays bytes.
    """

    title: str
    value: Any
    part: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, None if a frame came that answers none; its answer, None if none came.

    Connections count from 1. `closed` means that the broker closed the connection then.
    """

    connection: int
    asked: Said | None
    answer: Said | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that was said in one run of a case, in the order of the questions. It goes on if it is not `whole`."""

    exchanges: tuple[Exchange, ...] = ()
    whole: bool = True


def conversation(transcript: Transcript) -> Conversation:
    """Read a transcript: up to where it has a gap, if it has one. Raises nothing."""
    whole = not transcript.left_out
    entries = transcript.entries
    return Conversation(exchanges(entries if whole else entries[: MOST_ENTRIES // 2]), whole)


@dataclass(slots=True)
class _Open:
    """An exchange of which more may come. `question` is what was asked, with its version, where that can be read."""

    connection: int
    asked: Said | None
    correlation_id: int = 0
    question: tuple[type[Message], int] | None = None
    answer: Said | None = None
    closed: bool = False


def exchanges(entries: Iterable[Entry]) -> tuple[Exchange, ...]:
    """Put questions and answers together. Answers are known by the correlation id, each of the first that has none."""
    reader = _Reader()
    for entry in entries:
        reader.take(entry)
    return reader.end()


class _Reader:
    """Reads one transcript."""

    def __init__(self) -> None:
        self._found: list[_Open] = []
        self._pieces: dict[int, bytes] = {}
        """Of each connection, what was sent that is no frame yet."""
        self._cut: set[int] = set()
        """Connections where more questions were asked than were kept."""

    def take(self, entry: Entry) -> None:
        """Read one entry."""
        if entry.what is What.SENT:
            self._sent(entry)
        elif entry.what is What.GOT:
            self._got(entry)
        elif entry.what is What.CLOSED:
            self._rest(entry.connection, self._pieces.pop(entry.connection, b""))
            self._last_of(entry.connection).closed = True

    def end(self) -> tuple[Exchange, ...]:
        """Return all of it."""
        for connection, rest in self._pieces.items():
            self._rest(connection, rest)
        return tuple(Exchange(each.connection, each.asked, each.answer, each.closed) for each in self._found)

    def _sent(self, entry: Entry) -> None:
        """Take in what was sent: a frame, as a rule, but scripts also send frames in pieces, and several at once."""
        connection, data = entry.connection, entry.data
        if entry.size > len(data) and _claimed(data) == entry.size:
            self._found.append(_question(connection, data, entry.size))
            return
        stream = self._pieces.pop(connection, b"") + data
        while len(stream) >= _SIZE and _SIZE <= (size := _claimed(stream)) <= len(stream):
            self._found.append(_question(connection, stream[:size], size))
            stream = stream[size:]
        if entry.size > len(data):
            self._cut.add(connection)
        elif stream:
            self._pieces[connection] = stream

    def _got(self, entry: Entry) -> None:
        number = int.from_bytes(entry.data[:4], "big", signed=True)
        for each in self._found:
            asked = each.connection == entry.connection and each.question is not None
            if asked and each.correlation_id == number and each.answer is None:
                assert each.question is not None
                each.answer = _answer(entry, *each.question)
                return
        if entry.connection not in self._cut:
            self._found.append(_Open(entry.connection, None, answer=Said("a frame that answers nothing", entry.data)))

    def _rest(self, connection: int, rest: bytes) -> None:
        """Take in bytes that never became a frame."""
        if rest:
            self._found.append(_Open(connection, Said("bytes", rest)))

    def _last_of(self, connection: int) -> _Open:
        for each in reversed(self._found):
            if each.connection == connection:
                return each
        self._found.append(_Open(connection, None))
        return self._found[-1]


def _claimed(stream: bytes) -> int:
    """Return how many bytes a frame has by its own account, with its size in front."""
    return _SIZE + int.from_bytes(stream[:_SIZE], "big", signed=True)


def _question(connection: int, data: bytes, size: int) -> _Open:
    """Read a frame of `size` bytes, of which `data` may be only the beginning."""
    frame = data[_SIZE:]
    try:
        header, at = read_request_header(frame)
    except WireError:
        return _Open(connection, Said("a frame", frame))
    cls = REQUESTS.get(header.api_key)
    version = header.api_version
    name = f"API {header.api_key}" if cls is None else _name(cls)
    title = f"{name} {version} request, client {header.client_id!r}"
    value: Any = frame[at:]
    part = size > len(data)
    if cls is not None and version in cls.VERSIONS:
        value = _body(cls, version, frame, at, part=part)
    question = None if cls is None else (cls, version)
    return _Open(connection, Said(title, value, part), header.correlation_id, question)


def _answer(entry: Entry, cls: type[Message], version: int) -> Said:
    title = f"{_name(cls)} {version} response"
    data = entry.data
    if cls is ApiVersionsRequest and data[4:6] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big"):
        version = 0  # KIP-511
    if version not in cls.RESPONSE.VERSIONS:
        return Said(title, data[4:])
    if entry.size == len(data):
        try:
            return Said(title, plain(read_response(data, cls.RESPONSE, version)[1], version))
        except WireError:
            return Said(title, data[4:])
    header = trace(response_header_struct(response_header_version(cls.API_KEY, version)), data)
    return Said(title, _body(cls.RESPONSE, version, data, header.end, part=True), part=True)


def _body(cls: type[Message], version: int, frame: bytes, at: int, *, part: bool) -> Any:
    if part:
        return _tree(trace(struct_of(cls, version), frame, at, most=MOST_OF_A_PART))
    try:
        return plain(decode(cls, version, frame, at), version)
    except WireError:
        return frame[at:]


def _tree(found: Trace) -> Any:
    """Make of a trace that stopped what `plain` would have made of the message, as far as it goes."""
    nodes: dict[tuple[str | int, ...], Any] = {(): {}}
    for spot in found.spots:
        if spot.end is None or _TAGS in spot.path:
            continue
        value = {} if isinstance(spot.value, dict) else [] if isinstance(spot.value, list) else spot.value
        _put(nodes, spot.path, value)
    return nodes[()]


def _put(nodes: dict[tuple[str | int, ...], Any], path: tuple[str | int, ...], value: Any) -> None:
    """Put a value at its place; what is around it may not have been put there, because it has no end."""
    parent, label = path[:-1], path[-1]
    if parent not in nodes:
        _put(nodes, parent, [] if isinstance(label, int) else {})
    around = nodes[parent]
    if isinstance(around, list):
        around.append(value)
    else:
        around[label] = value
    nodes[path] = value


def _name(cls: type[Message]) -> str:
    return cls.__name__.removesuffix("Request")
