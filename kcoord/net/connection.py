"""One connection: one task that reads a request, has it answered, sends the answer, and only then reads on.

So answers are in the order of the requests, and what a client sends behind a JoinGroup that waits, waits as
well (Apache Kafka mutes the channel meanwhile). Bytes that are no request, and requests that are not served,
close the connection without an answer; nothing else that a client sends does.

Between two bytes from the client a request costs no task switch of its own: this is where requests per
second are decided.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import trio

from kcoord.apis import BY_KEY
from kcoord.apis.api import Call, Handler
from kcoord.apis.api_versions import API as API_VERSIONS
from kcoord.apis.api_versions import unsupported
from kcoord.broker import Broker, Endpoint
from kcoord.core.outcome import Context
from kcoord.net.addresses import java_host
from kcoord.notices import ConnectionClosed, RequestUnreadable
from wire.codec import reader
from wire.errors import Unsupported, WireError
from wire.frame import FrameBuffer
from wire.header import RequestHeader, read_request_header, response_frame

READ_SIZE = 65_536
"""Bytes that are read at once, at most."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request of one key and version goes."""

    read: Callable[[bytes, int], tuple[Any, int]]
    handle: Handler


_ROUTES: dict[tuple[int, int], Route] = {}


def route_of(api_key: int, version: int) -> Route | None:
    """Return where such requests go, or None if that version of that key is not served."""
    route = _ROUTES.get((api_key, version))
    if route is None:
        api = BY_KEY.get(api_key)
        if api is None or version not in api.versions:
            return None
        route = _ROUTES[api_key, version] = Route(reader(api.request, version), api.handle)
    return route


class Connection:
    """Serves one client over any trio stream.

    `host` is the peer's numeric address. `last_active` is the moment, on trio's clock in seconds, when bytes
    moved last, in either direction.
    """

    __slots__ = (
        "_broker", "_call", "_endpoint", "_scope", "_stream", "host", "last_active", "port", "requests", "why",
    )  # fmt: skip

    def __init__(self, broker: Broker, stream: trio.abc.Stream, host: str, port: int, endpoint: Endpoint) -> None:
        self._broker = broker
        self._stream = stream
        self._endpoint = endpoint
        self._scope = trio.CancelScope()
        self._call = Call(broker, Context(-1, "", java_host(host)), endpoint)
        self.host = host
        self.port = port
        self.last_active = trio.current_time()
        self.requests = 0
        self.why = "the server stopped"

    def close(self, why: str) -> None:
        """Let the connection end, whatever it is waiting for."""
        self.why = why
        self._scope.cancel()

    async def run(self) -> None:
        """Serve until either side has had enough. Nothing that a client does raises here."""
        try:
            with self._scope:
                await self._serve()
        except WireError as error:
            self.why = "unreadable"
            self._broker.tell(RequestUnreadable(host=self.host, port=self.port, why=str(error)))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.why = "the client broke it off"
        finally:
            await trio.aclose_forcefully(self._stream)
            self._broker.tell(ConnectionClosed(host=self.host, port=self.port, why=self.why, requests=self.requests))

    async def _serve(self) -> None:
        """Answer request after request. Raises WireError for what is no request, or not one that is served."""
        stream = self._stream
        frames = FrameBuffer(self._broker.config.socket_request_max_bytes)
        while True:
            frame = frames.next()
            if frame is None:
                data = await stream.receive_some(READ_SIZE)
                if not data:
                    self.why = "the client closed it"
                    return
                self.last_active = trio.current_time()
                frames.feed(bytes(data))
                continue
            header, offset = read_request_header(frame)
            answer = await self._answer(header, frame, offset)
            await stream.send_all(answer)
            self.requests += 1
            self.last_active = trio.current_time()

    async def _answer(self, header: RequestHeader, frame: bytes, offset: int) -> bytes:
        """Return the response frame for one request."""
        version = header.api_version
        route = route_of(header.api_key, version)
        if route is None:
            if header.api_key == API_VERSIONS.key:
                return response_frame(header.correlation_id, unsupported(), 0)
            raise Unsupported(f"API key {header.api_key}, version {version}")
        request, _ = route.read(frame, offset)
        call = self._call
        if call.context.version != version or call.context.client_id != (header.client_id or ""):
            context = Context(version, header.client_id or "", call.context.client_host)
            call = self._call = Call(self._broker, context, self._endpoint)
        response = await route.handle(call, request)
        return response_frame(header.correlation_id, response, version)
