"""The files that `kcoord record` writes: JSON lines, one for each thing that happened, in the order it did.

The first line says what the file is:

    {"kcoord_session": 1, "started": "2026-01-31T12:00:00.000+00:00", "to": "127.0.0.1:9092"}

1 is the version of the format; `started` is UTC, `to` the broker. Every other line has `ms`, the time since `started`
in milliseconds, `connection`, a number from 1 on in the order of arrival, and one of these:

    "event": "opened", "peer": "127.0.0.1:51234"      a client connected, from there
    "from": "client", "frame": "0000001b..."          a frame as it was sent, its size first, in hex
    "from": "broker", "frame": "..."
    "event": "closed", "by": "client"                 or "broker", or "proxy"
    "event": "broken", "by": "client", "why": "...", "bytes": "..."
                                                      what is no frame: the first bytes of it, in hex

Keys that are not named here are ignored, so that later versions may add some.
"""

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from kcoord.dump.frames import MOST, BadInput, Frame, Remark

VERSION: Final = 1
MARK: Final = "kcoord_session"
MAGIC: Final = b'{"kcoord_session"'
"""What a session file begins with: the mark is written first."""
_LONGEST_LINE: Final = 2 * (MOST + 4) + 1024
"""In bytes: a frame of the largest size in hex, and what stands around it."""

_LATEST: Final = 1e13
"""In ms from the start: more than any session lasts, and little enough for every calendar."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A client connected."""

    ms: float
    connection: int
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Passed:
    """A frame went by; `data` begins with its size."""

    ms: float
    connection: int
    from_client: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """A connection ended, and who ended it: "client", "broker" or "proxy"."""

    ms: float
    connection: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """One side sent what is no frame; all that it sent from there on is not in the session."""

    ms: float
    connection: int
    by: str = ""
    why: str = ""
    rubbish: bytes = b""


Event = Opened | Passed | Closed | Broken


def first_line(started_ms: float, to: str) -> str:
    """Write the line that a session begins with; `started_ms` is in ms since the epoch."""
    started = dt.datetime.fromtimestamp(started_ms / 1000, dt.UTC).isoformat(timespec="milliseconds")
    return _line({MARK: VERSION, "started": started, "to": to})


def line_of(event: Event) -> str:
    """Write the line of an event."""
    line: dict[str, Any] = {"ms": round(event.ms, 3), "connection": event.connection}
    if isinstance(event, Passed):
        line |= {"from": _side(event.from_client), "frame": event.data.hex()}
    elif isinstance(event, Opened):
        line |= {"event": "opened", "peer": event.peer}
    elif isinstance(event, Closed):
        line |= {"event": "closed", "by": event.by}
    else:
        line |= {"event": "broken", "by": event.by, "why": event.why, "bytes": event.rubbish.hex()}
    return _line(line)


class Session:
    """A session that is read: who the broker was, when it started (ms since the epoch), and the events."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Read the first line. Raises BadInput if it is not that of a session, or of one of a later version."""
        self._file = file
        self._name = name
        self._number = 0
        line = self._next()
        if line is None or line.get(MARK) != VERSION:
            raise BadInput(f"{name} is not a session of kcoord record, of version {VERSION}")
        self.to = line["to"] if isinstance(line.get("to"), str) else ""
        try:
            started = dt.datetime.fromisoformat(str(line.get("started")))
            self.started_ms = started.timestamp() * 1000
        except (ValueError, OverflowError):
            raise self._bad("the time at which it started cannot be read") from None

    def events(self) -> Iterator[Event]:
        """Read one event after the other. Raises BadInput, with the number of the line, for what is none."""
        while (line := self._next()) is not None:
            yield self._event(line)

    def _next(self) -> dict[str, Any] | None:
        self._number += 1
        raw = self._file.readline(_LONGEST_LINE)
        if not raw:
            return None
        if len(raw) == _LONGEST_LINE:
            raise self._bad(f"it is longer than {_LONGEST_LINE} bytes")
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            raise self._bad("it is not JSON") from None
        if not isinstance(line, dict):
            raise self._bad("it is not a JSON object")
        return line

    def _event(self, line: dict[str, Any]) -> Event:
        ms, connection = line.get("ms"), line.get("connection")
        if not isinstance(ms, int | float) or isinstance(ms, bool) or not 0 <= ms < _LATEST:
            raise self._bad("it must have ms, a number of milliseconds")
        if not isinstance(connection, int) or isinstance(connection, bool) or connection < 1:
            raise self._bad("it must have connection, a number from 1 on")
        if "frame" in line:
            data = self._bytes(line["frame"])
            if len(data) < 4 or len(data) - 4 != int.from_bytes(data[:4], "big", signed=True):
                raise self._bad("its frame has another size than it says")
            return Passed(ms, connection, self._from_client(line), data)
        by, why, peer = (str(line.get(name, "")) for name in ("by", "why", "peer"))
        match line.get("event"):
            case "opened":
                return Opened(ms, connection, peer)
            case "closed":
                return Closed(ms, connection, by)
            case "broken":
                if by not in ("client", "broker"):
                    raise self._bad('it must say by whom: "client" or "broker"')
                return Broken(ms, connection, by, why, self._bytes(line.get("bytes", "")))
            case _:
                raise self._bad("it has no frame, and no event that is known")

    def _from_client(self, line: dict[str, Any]) -> bool:
        if line.get("from") not in ("client", "broker"):
            raise self._bad('its frame is from neither "client" nor "broker"')
        return bool(line["from"] == "client")

    def _bytes(self, text: Any) -> bytes:
        try:
            return bytes.fromhex(text)
        except (ValueError, TypeError):
            raise self._bad("its bytes are not in hex") from None

    def _bad(self, why: str) -> BadInput:
        return BadInput(f"{self._name}, line {self._number}: {why}")


def frames_of(session: Session) -> Iterator[Frame | Remark]:
    """Read the frames of a session, and what else is told of its connections. Raises BadInput."""
    peers: dict[int, str] = {}
    for event in session.events():
        peer = peers.get(event.connection, "")
        time_ms = session.started_ms + event.ms
        if isinstance(event, Passed):
            source, target = (peer, session.to) if event.from_client else (session.to, peer)
            yield Frame(event.data, event.connection, event.from_client, source, target, time_ms)
        elif isinstance(event, Opened):
            peers[event.connection] = event.peer
            yield Remark("opened", event.connection, event.peer, session.to, time_ms, routine=True)
        elif isinstance(event, Closed):
            peers.pop(event.connection, None)
            text = f"closed by the {event.by}" if event.by else "closed"
            yield Remark(text, event.connection, peer, session.to, time_ms, routine=True)
        else:
            source, target = (session.to, peer) if event.by == "broker" else (peer, session.to)
            yield Remark(event.why, event.connection, source, target, time_ms, event.rubbish)


def _side(from_client: bool) -> str:
    return "client" if from_client else "broker"


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"
