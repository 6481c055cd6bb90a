"""HTTP/1.1 for one ASGI application, on trio: h11 knows the protocol, this reads and writes.

Nothing here outlives a cancellation, whatever a client does not read, and an application that fails costs one
connection.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from json import dumps
from typing import Any
from urllib.parse import unquote

import h11
import trio
from starlette.types import ASGIApp, Message

CHUNK = 1 << 16
MOST_OF_A_HEAD = 1 << 16
"""Bytes of a request's line and headers."""
PATIENCE = 75.0
"""Seconds for which a connection may be silent between two requests, or within one."""
LAST_BYTES = 1.0
"""Seconds in which a client may take the last answer, and stop sending what nobody reads."""
_ABSOLUTE_FORM = re.compile(rb"https?://([^/?]*)(.*)", re.IGNORECASE)
"""What a request asks for if it was made for a proxy, or by one: a whole URL, in which there is no fragment."""


async def serve_connection(app: ASGIApp, stream: trio.SocketStream, on_failure: Callable[[Exception], None]) -> None:
    """Serve a client until it or the protocol ends the connection. Failures of `app` are told, and end it, too."""
    async with stream:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            connection = Connection(app, stream)
            try:
                await connection.serve()
            except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, others are served
                on_failure(error)
            await connection.see_off()


class Connection:
    """One client's connection."""

    def __init__(self, app: ASGIApp, stream: trio.SocketStream) -> None:
        self._app = app
        self._stream = stream
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_OF_A_HEAD)
        self._is_read = False
        self._head: dict[str, Any] = {}
        self._wants_head_only = False
        self._client = stream.socket.getpeername()[:2]
        self._server = stream.socket.getsockname()[:2]

    async def serve(self) -> None:
        """Answer one request after the other."""
        while True:
            try:
                with trio.move_on_after(PATIENCE) as silence:
                    event = await self._next()
            except h11.RemoteProtocolError as error:
                await self._refuse(error)
                return
            if silence.cancelled_caught or not isinstance(event, h11.Request):
                return
            self._is_read = False
            self._wants_head_only = event.method == b"HEAD"
            await self._app(self._scope(event), self._receive, self._send)
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def see_off(self) -> None:
        """Let the client have the last answer before the connection is closed over what it still sends."""
        with trio.move_on_after(LAST_BYTES):
            await self._stream.send_eof()
            while await self._stream.receive_some(CHUNK):
                pass

    def _scope(self, event: h11.Request) -> dict[str, Any]:
        target, headers = event.target, list(event.headers)
        if (absolute := _ABSOLUTE_FORM.fullmatch(target)) is not None:
            # What such a request names is what counts, whatever its header says (RFC 9112, 3.2.2).
            authority, target = absolute.groups()
            headers = [(b"host", authority), *(each for each in headers if each[0] != b"host")]
        path, _, query = target.partition(b"?")
        if absolute is not None:
            path = path or b"/"
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": event.http_version.decode(),
            "method": event.method.decode(),
            "scheme": "http",
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._client,
            "server": self._server,
        }

    async def _receive(self) -> Message:
        if self._is_read:
            await self._gone()
            return {"type": "http.disconnect"}
        event: Any = None
        # Whoever falls silent within a request, or says what is no part of one, is as good as gone.
        with suppress(h11.RemoteProtocolError), trio.move_on_after(PATIENCE):
            event = await self._next()
        if isinstance(event, h11.Data):
            return {"type": "http.request", "body": bytes(event.data), "more_body": True}
        self._is_read = True
        if isinstance(event, h11.EndOfMessage):
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def _gone(self) -> None:
        """Wait until the client ends the connection. What it sends meanwhile belongs to its next request."""
        while data := await self._stream.receive_some(CHUNK):
            self._http.receive_data(data)
            if len(self._http.trailing_data[0]) > MOST_OF_A_HEAD:
                await trio.sleep_forever()

    async def _next(self) -> Any:
        """Return the next event of a request."""
        while True:
            if self._http.they_are_waiting_for_100_continue:
                going_on = h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[])
                await self._stream.send_all(self._http.send(going_on) or b"")
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(await self._stream.receive_some(CHUNK))

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = dict(message)
            return
        data = b""
        if self._head:
            headers = list(self._head["headers"])
            self._skip()
            if self._http.their_state is h11.SEND_BODY:
                # What is left of the request is not read.
                headers.append((b"connection", b"close"))
            data += self._http.send(h11.Response(status_code=self._head["status"], headers=headers)) or b""
            self._head = {}
        if message.get("body") and not self._wants_head_only:
            data += self._http.send(h11.Data(data=message["body"])) or b""
        if not message.get("more_body"):
            data += self._http.send(h11.EndOfMessage()) or b""
        await self._stream.send_all(data)

    def _skip(self) -> None:
        """Pass over what is here of a body that nobody wanted."""
        with suppress(h11.RemoteProtocolError):
            while self._http.their_state is h11.SEND_BODY and self._http.next_event() is not h11.NEED_DATA:
                pass

    async def _refuse(self, error: h11.RemoteProtocolError) -> None:
        """Answer what is no HTTP."""
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        # What came instead is left out: it may be long, and stands there as Python writes bytes.
        why = str(error).partition(": bytearray(")[0]
        body = dumps({"error": f"this is no request of HTTP/1.1: {why}"}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        data = self._http.send(h11.Response(status_code=error.error_status_hint, headers=headers)) or b""
        data += self._http.send(h11.Data(data=body)) or b""
        await self._stream.send_all(data + (self._http.send(h11.EndOfMessage()) or b""))
