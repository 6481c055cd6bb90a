"""A proxy between clients and one broker, that tells of every frame. It never holds back what it can pass on.

Bytes are passed on as they come, after telling of the frames that are complete with them: so a request is told of
before its answer. Only with rewriting do answers wait until they are complete. What is no frame is passed on, too.
"""

import time

import trio

from kcoord.config import Address
from kcoord.dump.frames import KEPT_OF_RUBBISH, MOST, BadInput, Cutter, reason
from kcoord.dump.rewriting import Rewriter
from kcoord.dump.taps import Tap

CONNECTING: float = 10.0
"""Seconds in which the broker has to take a connection."""
_CHUNK = 65_536


class CannotProxy(BadInput):
    """The proxy cannot listen where it should; the text is one sentence."""


class Proxy:
    """Takes connections at one address, and passes them on to another.

    Args:
        to: Where the broker is.
        tap: Is told of everything. It is called between sends, so while it works nothing is passed on; what it raises
            ends the proxy.
        rewrite: Whether answers that say where the broker is are changed.
        most: Bytes that a frame may have; it is passed on in any case.

    """

    def __init__(self, to: Address, tap: Tap, *, rewrite: bool = False, most: int = MOST) -> None:
        self._to = to
        self._tap = tap
        self._rewrite = rewrite
        self._most = most
        self._count = 0

    async def run(
        self, listen: Address, *, task_status: trio.TaskStatus[tuple[Address, ...]] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until cancelled; started, with the addresses that it listens on, once connections are accepted.

        Raises CannotProxy if it cannot listen there, before anything else was done.
        """
        try:
            listeners = await trio.open_tcp_listeners(listen.port, host=listen.host or None)
        except OSError as error:
            raise CannotProxy(f"cannot listen on {listen}: {error.strerror or error}") from None
        addresses = tuple(Address(*each.socket.getsockname()[:2]) for each in listeners)
        async with trio.open_nursery() as nursery:
            await nursery.start(trio.serve_listeners, self._serve, listeners)
            task_status.started(addresses)

    async def _serve(self, client: trio.SocketStream) -> None:
        try:
            ours, peer = client.socket.getsockname(), client.socket.getpeername()
        except OSError:
            # It is gone again.
            await trio.aclose_forcefully(client)
            return
        self._count += 1
        number = self._count
        self._tap.opened(_now(), number, str(Address(*peer[:2])))
        by = "proxy"
        try:
            async with client:
                broker = await self._connect(number)
                if broker is not None:
                    async with broker:
                        by = await self._pass_on(number, client, broker, Address(*ours[:2]))
        finally:
            self._tap.closed(_now(), number, by)

    async def _connect(self, number: int) -> trio.SocketStream | None:
        why = f"no connection within {CONNECTING:g} s"
        with trio.move_on_after(CONNECTING):
            try:
                return await trio.open_tcp_stream(self._to.host, self._to.port)
            except OSError as error:
                why = reason(error)
        self._tap.noted(_now(), number, f"the broker at {self._to} cannot be reached: {why}")
        return None

    async def _pass_on(
        self, number: int, client: trio.SocketStream, broker: trio.SocketStream, known_as: Address
    ) -> str:
        """Pass on both ways until the broker, which then reads no more, has closed, or both; tell who was the first."""
        rewriter = Rewriter(known_as) if self._rewrite else None
        ended: list[str] = []
        async with trio.open_nursery() as nursery:

            async def run(source: trio.SocketStream, target: trio.SocketStream, by: str) -> None:
                way = _Way(self._tap, number, by, Cutter(self._most), rewriter)
                try:
                    while data := await source.receive_some(_CHUNK):
                        await target.send_all(way.take(bytes(data)))
                    ended.append(by)
                    await target.send_all(way.end())
                    if by == "client":
                        await target.send_eof()
                        return
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    ended.append(by)
                nursery.cancel_scope.cancel()

            nursery.start_soon(run, client, broker, "client")
            nursery.start_soon(run, broker, client, "broker")
        return ended[0]


class _Way:
    """One direction of a connection: what comes in, and what is to go out for it."""

    def __init__(self, tap: Tap, number: int, by: str, cutter: Cutter, rewriter: Rewriter | None) -> None:
        self._tap = tap
        self._number = number
        self._by = by
        self._cutter = cutter
        self._rewriter = rewriter
        self._from_client = by == "client"
        self._changes = rewriter is not None and not self._from_client
        self._unread = False

    def take(self, data: bytes) -> bytes:
        """Tell of the frames that are complete with these bytes; return what is to be passed on now."""
        if self._unread:
            return data
        out = []
        for frame in self._cutter.feed(data):
            passed = self._rewritten(frame)
            self._tap.passed(_now(), self._number, self._from_client, passed)
            out.append(passed)
        if self._cutter.broken is not None:
            self._unread = True
            rest = self._cutter.rest
            self._tap.broken(_now(), self._number, self._by, self._cutter.broken, rest[:KEPT_OF_RUBBISH])
            out.append(rest)
        return b"".join(out) if self._changes else data

    def end(self) -> bytes:
        """Tell of a frame that did not come to its end; return what of it is still to be passed on."""
        rest = self._cutter.rest
        if self._unread or not rest:
            return b""
        why = f"the connection ends {len(rest)} bytes into a frame"
        self._tap.broken(_now(), self._number, self._by, why, rest[:KEPT_OF_RUBBISH])
        return rest if self._changes else b""

    def _rewritten(self, frame: bytes) -> bytes:
        if self._rewriter is None:
            return frame
        if self._from_client:
            self._rewriter.request(frame)
            return frame
        rewritten = self._rewriter.response(frame)
        if rewritten.remark is not None:
            self._tap.noted(_now(), self._number, rewritten.remark)
        return rewritten.data


def _now() -> float:
    """The time in ms since the epoch."""
    return time.time() * 1000
