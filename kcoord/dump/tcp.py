"""From TCP segments to the frames of each connection: enough for captures on the loopback interface, or near it.

Segments may come twice, overlap, and overtake each other a little. Where bytes are missing that is said, and reading
goes on at the next segment that begins like a frame. Which side is the client is told by who asked for the
connection; if that was not captured, by whose first frame can be read as a request.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kcoord.config import Address
from kcoord.dump.explain import is_request
from kcoord.dump.frames import KEPT_OF_RUBBISH, MOST, Cutter, Frame, Remark
from kcoord.dump.pcap import ACK, FIN, RST, SYN, Segment
from wire.messages import REQUESTS

MOST_WAITING: Final = 256
"""Segments of one direction that are kept in the hope that those before them come; then these are missing."""
_HALF: Final = 1 << 31
_MODULUS: Final = 1 << 32
_HIGHEST_KEY, _HIGHEST_VERSION = 200, 30
"""More than any API has; what begins with more is no request."""

End = tuple[str, int]
Found = Frame | Remark


@dataclass(slots=True)
class Direction:
    """What one end sends: the number of the next byte, what overtook it, and the frame that is not complete."""

    expected: int | None = None
    hello: int | None = None
    """The number of its SYN, by which one that comes again is known."""
    waiting: dict[int, Segment] = field(default_factory=dict)
    cutter: Cutter = field(default_factory=Cutter)
    in_step: bool = True
    """Whether the next byte is known to be the first of a frame, or to belong to one that is being put together."""
    ended: bool = False


@dataclass(slots=True)
class Connection:
    """Two ends; `client` is None until it is known which of them it is."""

    number: int
    directions: dict[End, Direction]
    client: End | None = None
    rejected: bool = False
    """Whether it turned out to be something else than Kafka."""
    over: bool = False
    """Whether it was closed; it is kept, as its last segments may come again."""


class Reassembly:
    """Puts together all connections of a capture, or those that have one end at `port`."""

    def __init__(self, port: int | None = None, most: int = MOST) -> None:
        self._port = port
        self._most = most
        self._connections: dict[frozenset[End], Connection] = {}
        self._opened = 0

    def feed(self, segment: Segment) -> Iterator[Found]:
        """Add a segment; yield what is complete with it."""
        ends = frozenset((segment.source, segment.target))
        if len(ends) == 1 or (self._port is not None and all(port != self._port for _, port in ends)):
            return
        connection = self._connections.get(ends)
        if connection is not None and _came_before(connection, segment):
            return
        if connection is not None and connection.over:
            connection = None
        if segment.flags & SYN:
            asks = not segment.flags & ACK
            if connection is None or (asks and connection.directions[segment.source].expected is not None):
                if connection is not None:
                    yield from self._end(connection, segment, "its port is used again")
                connection = self._open(ends, segment)
            connection.client = segment.source if asks else segment.target
            direction = connection.directions[segment.source]
            direction.hello = segment.sequence
            if direction.expected is None:
                direction.expected = (segment.sequence + 1) % _MODULUS
            return
        if connection is None:
            if not segment.payload:
                return
            connection = self._open(ends, segment)
        yield from self._received(connection, segment)
        if segment.flags & FIN:
            connection.directions[segment.source].ended = True
        if segment.flags & RST or all(each.ended for each in connection.directions.values()):
            yield from self._end(connection, segment, "reset" if segment.flags & RST else "closed")
            connection.over = True

    def finish(self) -> Iterator[Found]:
        """Yield what is left when the capture is over."""
        for connection in self._connections.values():
            if not connection.over:
                yield from self._left(connection, None)

    def _open(self, ends: frozenset[End], segment: Segment) -> Connection:
        self._opened += 1
        sides = (segment.source, segment.target)
        connection = Connection(self._opened, {end: Direction(cutter=Cutter(self._most)) for end in sides})
        self._connections[ends] = connection
        return connection

    def _end(self, connection: Connection, segment: Segment, how: str) -> Iterator[Found]:
        yield from self._left(connection, segment.time_ms)
        if not connection.rejected:
            source, target = str(Address(*segment.source)), str(Address(*segment.target))
            yield Remark(how, connection.number, source, target, segment.time_ms, routine=True)

    def _left(self, connection: Connection, time_ms: float | None) -> Iterator[Found]:
        for end, direction in connection.directions.items():
            while direction.waiting:
                yield from self._skip_gap(connection, end, direction)
            rest = direction.cutter.rest
            if rest and direction.cutter.broken is None and not connection.rejected:
                why = f"ends {len(rest)} bytes into a frame"
                yield self._remark(connection, end, time_ms, why, rest[:KEPT_OF_RUBBISH])

    def _received(self, connection: Connection, segment: Segment) -> Iterator[Found]:
        direction = connection.directions[segment.source]
        if connection.rejected or not (segment.payload or segment.missing):
            return
        if direction.expected is None:
            direction.expected = segment.sequence
            direction.in_step = False
        held = direction.waiting.get(segment.sequence)
        if held is None or len(held.payload) < len(segment.payload):
            direction.waiting[segment.sequence] = segment
        yield from self._take_in_order(connection, segment.source, direction)
        while len(direction.waiting) > MOST_WAITING:
            yield from self._skip_gap(connection, segment.source, direction)

    def _take_in_order(self, connection: Connection, end: End, direction: Direction) -> Iterator[Found]:
        """Take the segments that follow what is there, without the bytes that have been there already."""
        while direction.waiting:
            sequence = min(direction.waiting, key=lambda each: _ahead(each, direction))
            if _ahead(sequence, direction) > 0:
                break
            yield from self._take(connection, end, direction, direction.waiting.pop(sequence))

    def _take(self, connection: Connection, end: End, direction: Direction, segment: Segment) -> Iterator[Found]:
        behind = -_ahead(segment.sequence, direction)
        fresh = segment.payload[behind:]
        missing = segment.missing if behind <= len(segment.payload) else 0
        assert direction.expected is not None
        direction.expected = (direction.expected + len(fresh) + missing) % _MODULUS
        if fresh and (direction.in_step or _begins_a_frame(fresh, end == connection.client, self._most)):
            direction.in_step = True
            for data in direction.cutter.feed(fresh):
                yield self._frame(connection, end, data, segment.time_ms)
            if direction.cutter.broken is not None:
                connection.rejected = True
                why = f"{direction.cutter.broken}; this connection is not read any further"
                yield self._remark(connection, end, segment.time_ms, why, direction.cutter.rest[:KEPT_OF_RUBBISH])
        if missing:
            yield self._gap(connection, end, direction, segment.time_ms, f"{missing} bytes were not captured")

    def _skip_gap(self, connection: Connection, end: End, direction: Direction) -> Iterator[Found]:
        """Give up the bytes in front of those that wait."""
        sequence = min(direction.waiting, key=lambda each: _ahead(each, direction))
        time_ms = direction.waiting[sequence].time_ms
        why = f"{_ahead(sequence, direction)} bytes are missing"
        direction.expected = sequence
        yield self._gap(connection, end, direction, time_ms, why)
        yield from self._take_in_order(connection, end, direction)

    def _gap(self, connection: Connection, end: End, direction: Direction, time_ms: float, why: str) -> Remark:
        lost = direction.cutter.rest
        direction.cutter = Cutter(self._most)
        direction.in_step = False
        if lost:
            why += f", in a frame of which {len(lost)} bytes are there"
        return self._remark(connection, end, time_ms, why, lost[:KEPT_OF_RUBBISH])

    def _frame(self, connection: Connection, end: End, data: bytes, time_ms: float) -> Frame:
        (other,) = (each for each in connection.directions if each != end)
        if connection.client is None:
            connection.client = end if is_request(data) or (_may_ask_else(data) and other[1] < end[1]) else other
        from_client = connection.client == end
        return Frame(data, connection.number, from_client, str(Address(*end)), str(Address(*other)), time_ms)

    def _remark(
        self, connection: Connection, end: End, time_ms: float | None, text: str, rubbish: bytes = b""
    ) -> Remark:
        (other,) = (each for each in connection.directions if each != end)
        return Remark(text, connection.number, str(Address(*end)), str(Address(*other)), time_ms, rubbish)


def _came_before(connection: Connection, segment: Segment) -> bool:
    """Whether a segment came before: a SYN with the same number, or something of a connection that is over."""
    direction = connection.directions[segment.source]
    if segment.flags & SYN:
        return segment.sequence == direction.hello
    end = segment.sequence + len(segment.payload) + segment.missing
    return connection.over and direction.expected is not None and _ahead(end % _MODULUS, direction) <= 0


def _ahead(sequence: int, direction: Direction) -> int:
    """Tell by how many bytes a number is ahead of what is expected; numbers begin again after 2**32."""
    assert direction.expected is not None
    return (sequence - direction.expected + _HALF) % _MODULUS - _HALF


def _begins_a_frame(data: bytes, from_client: bool, most: int) -> bool:
    """Whether bytes may be the beginning of a frame, as far as that can be told without those before them."""
    if len(data) < 8 or not 4 <= int.from_bytes(data[:4], "big", signed=True) <= most:
        return False
    return not from_client or _may_ask(data)


def _may_ask_else(data: bytes) -> bool:
    """Whether a frame may be a request of an API that is not described here."""
    return _may_ask(data) and int.from_bytes(data[4:6], "big") not in REQUESTS


def _may_ask(data: bytes) -> bool:
    key, version = int.from_bytes(data[4:6], "big"), int.from_bytes(data[6:8], "big")
    return key <= _HIGHEST_KEY and version <= _HIGHEST_VERSION
