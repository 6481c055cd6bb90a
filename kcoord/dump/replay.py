"""A recorded session, played against another broker: the same requests in the same order, the answers compared.

It goes through the session line by line. A request is sent; where an answer was recorded, that answer is waited for
before anything else is done. So the order between connections is kept, and nothing has to run beside it: what a
broker sends meanwhile waits in its socket.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import trio

from kcoord.config import Address
from kcoord.dump.compare import Comparison, Difference, Finding, Question
from kcoord.dump.frames import MOST, SIZE, BadInput, Cutter, reason
from kcoord.dump.learning import Ids, put_in
from kcoord.dump.plain import plain
from kcoord.dump.session import Broken, Closed, Event, Opened, Passed
from wire.codec import decode
from wire.errors import ErrorCode, WireError
from wire.header import read_request_header, read_response, request_frame
from wire.messages import REQUESTS, ApiVersionsRequest

_CHUNK = 65_536
MOST_TOLD = 10_000
"""Differences that are remembered, to be told once."""


@dataclass(slots=True)
class Line:
    """A connection of the session, to the broker of now."""

    stream: trio.SocketStream
    frames: Cutter
    ready: list[bytes] = field(default_factory=list)
    asked: OrderedDict[int, Question] = field(default_factory=OrderedDict)


@dataclass(slots=True)
class Count:
    """What was done."""

    requests: int = 0
    answers: int = 0
    findings: int = 0
    repeated: int = 0
    """Of the findings, those that had been told already, of the same API."""


class GivenUp(Exception):
    """A connection cannot go on as recorded; the text says why."""


class Replay:
    """Plays one session.

    Args:
        target: Where the broker is.
        found: Is told what was not as recorded, as soon as that is known; of the same answer differing in the same
            way on another connection it is told once.
        patience: Seconds to wait for a connection, an answer, or the end of a connection.
        pace: Whether requests are sent no sooner than they were in the recording.
        ignored: Names of fields that are not compared.

    """

    def __init__(
        self,
        target: Address,
        found: Callable[[Finding], None],
        *,
        patience: float = 30.0,
        pace: bool = False,
        ignored: Iterable[str] = (),
    ) -> None:
        self._target = target
        self._found = found
        self._patience = patience
        self._pace = pace
        self._ids = Ids()
        self._comparison = Comparison(self._ids, ignored)
        self._lines: dict[int, Line] = {}
        self._given_up: set[int] = set()
        self._told: set[str] = set()
        self.count = Count()

    async def run(self, events: Iterable[Event]) -> Count:
        """Play it to the end; return what was done. Raises BadInput if the broker cannot be reached."""
        started = trio.current_time()
        try:
            for event in events:
                if event.connection in self._given_up:
                    continue
                if self._pace:
                    await trio.sleep_until(started + event.ms / 1000)
                try:
                    await self._play(event)
                except GivenUp as why:
                    text = f"{why}; what follows on this connection is not played"
                    self._tell(Finding(event.connection, self._last_asked(event), text))
                    await self._close(event.connection)
                    self._given_up.add(event.connection)
        finally:
            for number in tuple(self._lines):
                await self._close(number)
        return self.count

    async def _play(self, event: Event) -> None:
        if isinstance(event, Opened):
            await self._line(event.connection)
        elif isinstance(event, Passed):
            line = await self._line(event.connection)
            await (self._ask(line, event) if event.from_client else self._answered(line, event))
        elif isinstance(event, Closed):
            if event.by == "broker" and event.connection in self._lines:
                await self._ended(self._lines[event.connection])
            await self._close(event.connection)
        else:
            assert isinstance(event, Broken)
            raise GivenUp(f"the {event.by} sent what is no frame, which was not recorded: {event.why}")

    async def _line(self, number: int) -> Line:
        """Return a connection, opened now if it is not. Raises BadInput if that cannot be done."""
        line = self._lines.get(number)
        if line is None:
            why = f"no connection within {self._patience:g} s"
            stream = None
            with trio.move_on_after(self._patience):
                try:
                    stream = await trio.open_tcp_stream(self._target.host, self._target.port)
                except OSError as error:
                    why = reason(error)
            if stream is None:
                raise BadInput(f"{self._target} cannot be reached: {why}")
            line = self._lines[number] = Line(stream, Cutter(MOST))
        return line

    async def _close(self, number: int) -> None:
        line = self._lines.pop(number, None)
        if line is not None:
            await trio.aclose_forcefully(line.stream)

    async def _ask(self, line: Line, event: Passed) -> None:
        data = event.data
        try:
            asked, frame = self._with_ids_of_now(data)
        except WireError as error:
            raise GivenUp(f"a request was recorded that cannot be read ({error})") from None
        line.asked[asked.correlation_id] = asked
        self.count.requests += 1
        try:
            with trio.fail_after(self._patience):
                await line.stream.send_all(frame)
        except trio.TooSlowError:
            raise GivenUp(f"the broker takes no bytes within {self._patience:g} s") from None
        except trio.BrokenResourceError:
            raise GivenUp("the broker has closed the connection") from None

    def _with_ids_of_now(self, data: bytes) -> tuple[Question, bytes]:
        """Return what a recorded request asks, and the frame that asks it now. Raises WireError.

        What is not described here is sent as it was.
        """
        header, offset = read_request_header(data[SIZE:])
        cls = REQUESTS.get(header.api_key)
        asked = Question(header.api_key, header.api_version, header.correlation_id)
        if cls is None or header.api_version not in cls.VERSIONS:
            return asked, data
        message = decode(cls, header.api_version, data, SIZE + offset)
        group = getattr(message, "group_id", "")
        asked = Question(header.api_key, header.api_version, header.correlation_id, group)
        if not put_in(message, self._ids):
            return asked, data
        return asked, request_frame(header.correlation_id, header.client_id, message, header.api_version)

    async def _answered(self, line: Line, event: Passed) -> None:
        """Wait for the answer that takes the place of a recorded one, and compare them."""
        correlation_id = int.from_bytes(event.data[4:8], "big", signed=True)
        asked = line.asked.get(correlation_id)
        if asked is None:
            raise GivenUp(f"an answer was recorded to a request that was not (correlation id {correlation_id})")
        frame = await self._next(line)
        if frame is None:
            raise GivenUp("an answer was recorded; the broker has closed the connection")
        got = int.from_bytes(frame[4:8], "big", signed=True)
        if len(frame) < SIZE + 4 or got != correlation_id:
            raise GivenUp(f"the answer has correlation id {got}")
        del line.asked[correlation_id]
        self.count.answers += 1
        for difference in self._compared(asked, event.data, frame):
            self._tell(Finding(event.connection, asked, difference=difference))

    def _compared(self, asked: Question, recorded: bytes, now: bytes) -> list[Difference]:
        old, new = _laid_out(asked, recorded), _laid_out(asked, now)
        return self._comparison.differences(old, new, asked.group)

    async def _next(self, line: Line) -> bytes | None:
        """Wait for the next frame; None if the connection ends. Raises GivenUp."""
        try:
            with trio.fail_after(self._patience):
                while not line.ready:
                    data = await line.stream.receive_some(_CHUNK)
                    if not data:
                        return None
                    line.ready += line.frames.feed(bytes(data))
                    if line.frames.broken is not None:
                        raise GivenUp(f"the broker sends no frames: {line.frames.broken}")
        except trio.TooSlowError:
            raise GivenUp(f"no answer within {self._patience:g} s") from None
        except trio.BrokenResourceError:
            return None
        return line.ready.pop(0)

    async def _ended(self, line: Line) -> None:
        """Wait for the end of a connection, where the recorded broker ended it. Raises GivenUp."""
        try:
            frame = await self._next(line)
        except GivenUp:
            raise GivenUp(f"the broker closed the connection; now it has not, within {self._patience:g} s") from None
        if frame is not None:
            raise GivenUp("the broker closed the connection; now it answers")

    def _last_asked(self, event: Event) -> Question | None:
        line = self._lines.get(event.connection)
        if line is None or not line.asked:
            return None
        if isinstance(event, Passed) and not event.from_client:
            answered = line.asked.get(int.from_bytes(event.data[4:8], "big", signed=True))
            if answered is not None:
                return answered
        return next(reversed(line.asked.values()))

    def _tell(self, finding: Finding) -> None:
        self.count.findings += 1
        if finding.difference is not None and finding.asked is not None:
            known = f"{finding.asked.key} {finding.asked.version} {finding.difference.gist}"
            if known in self._told:
                self.count.repeated += 1
                return
            if len(self._told) < MOST_TOLD:
                self._told.add(known)
        self._found(finding)


def _laid_out(asked: Question, data: bytes) -> object:
    """Return an answer as plain values; as bytes, if it cannot be read."""
    version = asked.version
    request = REQUESTS.get(asked.key)
    if asked.key == ApiVersionsRequest.API_KEY and data[8:10] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big"):
        version = 0  # KIP-511
    with suppress(WireError):
        if request is not None:
            _, message = read_response(data[SIZE:], request.RESPONSE, version)
            return plain(message, version)
    return data[SIZE + 4 :]
