"""One connection: one task that reads a request, has it answered, sends the answer, and only then reads on.

So answers are in the order of the requests, and what a client sends behind a JoinGroup that waits, waits as
well (Apache Kafka mutes the channel meanwhile). Bytes that are no request, and requests that are not served,
close the connection without an answer, and so do the few whose answer would have to give back a text that is
longer than a string may be (only what is no UTF-8 grows like that). A request that wants no answer gets none, and
if it fails, the end of the connection is all that its client sees (Produce with acks 0).

Between two bytes from the client a request costs no task switch of its own: this is where requests per
second are decided. But whoever has sent more than one gives others a turn after each, and what is large is read
and written beside the others' requests.
"""

import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from kcoord.apis.api import Api, Call, CloseConnection, Handler
from kcoord.apis.api_versions import API as API_VERSIONS
from kcoord.apis.api_versions import SOFTWARE_SINCE, is_fine, unsupported
from kcoord.apis.served import served
from kcoord.broker import Broker, Dropped, FaultMet
from kcoord.core.outcome import Context
from kcoord.errors_in_place import answer_in_place_of, is_the_coordinators
from kcoord.net.addresses import java_host
from kcoord.net.letting_go import has_many, let_go
from kcoord.net.socket_stream import PlainSocketStream
from kcoord.net.unread import Unread
from kcoord.nodes import Endpoint, Node
from kcoord.notices import (
    AnswerUnsendable,
    ApiVersionUsed,
    ConnectionClosed,
    HandlerFailed,
    RequestAnswered,
    RequestReceived,
    RequestUnreadable,
)
from wire.codec import reader
from wire.errors import Unsendable, Unsupported, WireError
from wire.frame import FrameBuffer
from wire.header import read_request_header, response_frame

READ_SIZE = 65_536
"""Bytes that are read at once, at most, where nobody knows how many will come."""
MOST_READ = 1024 * 1024
"""Bytes that are read at once, at most, of a request whose size is known."""
LARGE = 256 * 1024
"""Bytes from which a request, or an answer, is large: what is done with it takes long enough to be felt by others."""
HEAVY = 2_000
"""Entries of an answer from which it is written as a large one, whatever the size of its request."""
KEPT_HEADER = 1_024
"""Bytes of a header, a client's name mostly, up to which it is kept to be known again."""


@dataclass(frozen=True, slots=True)
class KnownHeader:
    """What the bytes of a request's header say, apart from the correlation id.

    `rest` is what follows that id: the client's name and the tags. `offset` is where the body begins.
    """

    rest: bytes
    offset: int
    api: str
    read: Callable[[bytes, int], tuple[Any, int]]
    handle: Handler
    call: Call
    response_version: int
    weight: Callable[[Any], int] | None


def read_nothing(_frame: bytes, offset: int) -> tuple[None, int]:
    """Read a body whose layout nobody knows."""
    return None, offset


class Load:
    """What large requests and answers take of the server, all connections together."""

    __slots__ = ("one_at_a_time", "unread")

    def __init__(self) -> None:
        self.one_at_a_time = trio.CapacityLimiter(1)
        self.unread = Unread()


class Connection:
    """Serves one client over any trio stream.

    `number` counts connections from 1. `host` is the peer's numeric address. `last_active` is the moment, on trio's
    clock in seconds, when bytes came last or an answer was last sent in whole.
    """

    __slots__ = (
        "_broker", "_endpoint", "_java_host", "_known", "_last_words", "_listener", "_load", "_node", "_scope",
        "_software", "_stream", "_used", "host", "last_active", "number", "port", "requests", "was_broken_off", "why",
    )  # fmt: skip

    def __init__(
        self,
        broker: Broker,
        load: Load,
        stream: trio.abc.Stream,
        host: str,
        port: int,
        endpoint: Endpoint,
        node: Node,
        listener: str = "",
    ) -> None:
        self._broker = broker
        self.number = broker.next_connection()
        self._load = load
        self._stream = stream
        self._endpoint = endpoint
        self._node = node
        self._listener = listener
        self._scope = trio.CancelScope()
        self._java_host = java_host(host)
        self._known: dict[bytes, KnownHeader] = {}
        self._used: set[bytes] = set()
        self._last_words = ""
        self._software: tuple[str | None, str | None] = (None, None)
        self.host = host
        self.port = port
        self.last_active = trio.current_time()
        self.requests = 0
        self.was_broken_off = False
        """Whether it was ended while its client could still send something, and not for what the client sent."""
        self.why = "the server stopped"

    @property
    def is_open(self) -> bool:
        """Whether its client may still send something. While a request waits, its end is not read."""
        return not (isinstance(self._stream, PlainSocketStream) and self._stream.peer_has_ended)

    def close(self, why: str) -> None:
        """Let the connection end, whatever it is waiting for."""
        self.why = why
        self._scope.cancel()

    async def run(self) -> None:
        """Serve until either side has had enough. Nothing that a client does raises here."""
        try:
            with self._scope:
                try:
                    await self._serve()
                except trio.Cancelled:
                    self.was_broken_off = self.is_open
                    raise
        except Unsendable as error:
            self.why = "its answer cannot be sent"
            self._broker.tell(AnswerUnsendable(host=self.host, port=self.port, why=str(error)))
        except WireError as error:
            self.why = "unreadable"
            self._broker.tell(RequestUnreadable(host=self.host, port=self.port, why=str(error)))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.why = "the client broke it off"
        except CloseConnection as wish:
            self.why = wish.why
        except Dropped as fault:
            self.why = str(fault)
        except Exception as bug:  # noqa: BLE001 - nobody else's connection may suffer for a bug
            self.why = "a bug"
            trace = "".join(traceback.format_exception(bug))
            self._broker.tell(HandlerFailed(host=self.host, port=self.port, traceback=trace))
        finally:
            try:
                await trio.aclose_forcefully(self._stream)
            finally:
                # Also if it is cancelled together with others.
                closed = ConnectionClosed(host=self.host, port=self.port, why=self.why, requests=self.requests)
                self._broker.tell(closed)

    async def _serve(self) -> None:
        """Answer request after request. Raises WireError for what is no request, or not one that is served."""
        stream = self._stream
        frames = FrameBuffer(self._broker.config.socket_request_max_bytes)
        while True:
            frame = frames.next()
            if frame is None:
                data = await stream.receive_some(max(READ_SIZE, min(frames.missing, MOST_READ)))
                if not data:
                    self.why = "the client closed it"
                    return
                self.last_active = trio.current_time()
                frames.feed(bytes(data))
                continue
            known = self._known.get(frame[:4])
            if known is None or not frame.startswith(known.rest, 8):
                known = self._learn(frame)
            correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
            answer = await self._answer(known, frame, correlation_id)
            del frame  # neither is kept while the other side takes its time
            if answer is None:
                pass
            elif len(answer) < LARGE:
                await stream.send_all(answer)
            else:
                await self._load.unread.send(stream, answer, self._moved, self.close)
            del answer
            if self._last_words:
                raise CloseConnection(self._last_words)
            self.requests += 1
            self.last_active = trio.current_time()
            if frames.holds_more:
                await trio.lowlevel.checkpoint()

    async def _answer(self, known: KnownHeader, frame: bytes, correlation_id: int) -> bytes | None:
        """Read a request, have it handled, and put the answer, if there is one, into bytes. Raises as `_framed`.

        What is large is read in a thread, one request at a time, while others are served, and its answer is written
        there unless the API can tell that it is a light one; what lies in between is the handler's, which lets others
        have their turns itself.
        """
        large = len(frame) >= LARGE
        if large:
            request, _ = await self._in_thread(known.read, frame, known.offset)
        else:
            request, _ = known.read(frame, known.offset)
        told = self._tell_received(known, request) if self._broker.request_listeners else 0
        met = self._fault_met(known, request) if self._broker.faults else None
        response = None
        try:
            if met is None:
                response = await known.handle(known.call, request)
            else:
                response = await met.answer(partial(known.handle, known.call), request)
        finally:
            if told:
                fault = "" if met is None else met.sentence
                self._broker.tell_of_request(RequestAnswered(number=told, response=response, fault=fault))
        framed: bytes | None = None
        heavy = response is not None and (large if known.weight is None else known.weight(response) >= HEAVY)
        if heavy:
            # What cannot be sent is found out once more, where there is a remedy.
            with suppress(Unsendable):
                framed = await self._in_thread(response_frame, correlation_id, response, known.response_version)
        if framed is None and response is not None:
            framed = self._framed(correlation_id, request, response, known.response_version)
        if large or heavy:
            held = [each for each in (request, response) if each is not None and has_many(each)]
            del request, response
            if held:
                await self._in_thread(let_go, held)
        if met is not None and met.truncate is not None and framed is not None and len(framed) > met.truncate:
            self._last_words = met.sentence
            return framed[: met.truncate]
        return framed

    def _fault_met(self, known: KnownHeader, request: Any) -> FaultMet | None:
        """Return the fault that is meant for a request."""
        faults = self._broker.faults
        assert faults is not None
        context = known.call.context
        return faults.met(
            api=known.api,
            version=context.version,
            request=request,
            client_id=context.client_id,
            node_id=self._node.id,
        )

    def _tell_received(self, known: KnownHeader, request: Any) -> int:
        """Tell those who listen of a request, and return its number."""
        number = self._broker.next_request()
        context = known.call.context
        self._broker.tell_of_request(
            RequestReceived(
                number=number,
                connection=self.number,
                host=self.host,
                port=self.port,
                client_id=context.client_id,
                node_id=self._node.id,
                api=known.api,
                version=context.version,
                request=request,
            )
        )
        return number

    async def _in_thread(self, work: Callable[..., Any], *given: Any) -> Any:
        """Do what knows nothing of the server in a thread; a connection that ends does not wait for it."""
        limiter = self._load.one_at_a_time
        return await trio.to_thread.run_sync(work, *given, abandon_on_cancel=True, limiter=limiter)

    def _moved(self) -> None:
        self.last_active = trio.current_time()

    def _framed(self, correlation_id: int, request: Any, response: Any, version: int) -> bytes:
        """Put an answer into bytes, or what stands in for one that has none.

        Raises Unsendable if nothing can stand in for it.
        """
        try:
            return response_frame(correlation_id, response, version)
        except Unsendable as error:
            if not is_the_coordinators(request):
                raise
            self._broker.tell(AnswerUnsendable(host=self.host, port=self.port, why=str(error)))
            return response_frame(correlation_id, answer_in_place_of(request, version), version)

    def _learn(self, frame: bytes) -> "KnownHeader":
        """Read a request's header, and keep what it means: the next one differs in the correlation id only.

        Raises WireError, also for what is not served.
        """
        header, offset = read_request_header(frame)
        version, response_version = header.api_version, header.api_version
        api = served(self._broker.config).get(header.api_key)
        if api is None or (version not in api.versions and api.key != API_VERSIONS.key):
            raise Unsupported(f"API key {header.api_key}, version {version} is not served")
        read: Callable[[bytes, int], tuple[Any, int]]
        handle: Handler
        if version in api.versions:
            read, handle = reader(api.request, version), api.handle
        else:
            # KIP-511: the body is not even looked at, and the answer is one that every client can read.
            read, handle, response_version = read_nothing, unsupported, 0
        context = Context(version, header.client_id or "", self._java_host)
        call = Call(self._broker, context, self._endpoint, self._listener, self._node)
        known = KnownHeader(frame[8:offset], offset, api.name, read, handle, call, response_version, api.weight)
        if version in api.versions:
            if frame[:4] not in self._used:
                self._tell_of_first_use(api, known, frame)
            if len(known.rest) <= KEPT_HEADER:
                self._known[frame[:4]] = known
        return known

    def _tell_of_first_use(self, api: Api, known: KnownHeader, frame: bytes) -> None:
        """Tell which version of an API the client uses, and what it is if it says so here. Raises WireError."""
        self._used.add(frame[:4])
        context = known.call.context
        if api.key == API_VERSIONS.key and context.version >= SOFTWARE_SINCE and len(frame) < LARGE:
            request, _ = known.read(frame, known.offset)
            if is_fine(request):
                self._software = request.client_software_name, request.client_software_version
        name, version = self._software
        self._broker.tell(
            ApiVersionUsed(
                host=self.host,
                port=self.port,
                client_id=context.client_id,
                api=api.name,
                version=context.version,
                client_software_name=name,
                client_software_version=version,
            )
        )
