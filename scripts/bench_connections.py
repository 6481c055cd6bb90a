"""Raw connections for the load: one process, driven by readiness, with versions that both sides know."""

import selectors
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from wire.header import read_response, request_frame
from wire.messages import ApiVersionsRequest, ApiVersionsResponse

CLIENT_ID = "bench"


class Connection:
    """A socket and what is left of the answer that it waits for."""

    __slots__ = ("_parts", "_size", "frame", "on_answer", "sent_at", "sock")

    def __init__(self, address: tuple[str, int]) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parts: list[bytes] = []
        self._size = 0
        self.frame = b""
        self.sent_at = 0.0
        self.on_answer: Callable[[bytes], None] = lambda _: None

    def send(self, frame: bytes) -> None:
        self.sock.sendall(frame)

    def answer(self) -> bytes | None:
        """Read what is there; the payload when it is whole. Only one answer is ever on its way."""
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        self._parts.append(data)
        self._size += len(data)
        if self._size < 4:
            return None
        if len(self._parts[0]) < 4:
            self._parts = [b"".join(self._parts)]
        if self._size < 4 + struct.unpack_from(">i", self._parts[0])[0]:
            return None
        payload = self._parts[0][4:] if len(self._parts) == 1 else b"".join(self._parts)[4:]
        self._parts, self._size = [], 0
        return payload

    def call(self, frame: bytes) -> bytes:
        """Send, and wait for the answer."""
        self.send(frame)
        while (payload := self.answer()) is None:
            pass
        return payload


class Dialect:
    """The versions that a broker and this load have in common."""

    def __init__(self, address: tuple[str, int]) -> None:
        payload = Connection(address).call(request_frame(0, CLIENT_ID, ApiVersionsRequest(), 0))
        _, answer = read_response(payload, ApiVersionsResponse, 0)
        self._most = {each.api_key: each.max_version for each in answer.api_keys}

    def knows(self, request: Any) -> bool:
        """Whether the broker serves that API at all."""
        return request.API_KEY in self._most

    def version(self, request: Any) -> int:
        """Return the newest common version of a request, or of its class, that is not flexible.

        Every broker can be compared in these: librdkafka's mock offers some flexible versions that it cannot read.
        """
        return min(self._most[request.API_KEY], request.FLEXIBLE.lowest - 1)

    def frame(self, request: Any) -> bytes:
        """Write a request in that version."""
        return request_frame(1, CLIENT_ID, request, self.version(request))

    def answer(self, payload: bytes, request: Any) -> Any:
        """Read the answer to a request, or to one of that class, written with `frame`."""
        return read_response(payload, request.RESPONSE, self.version(request))[1]


def closed_loop(
    connections: Sequence[Connection], seconds: float, on_answer: Callable[[Connection, bytes], None] | None = None
) -> dict[str, float]:
    """Let each connection send its frame, wait, and send again; return requests/s and latencies in ms.

    `on_answer` sees each answer, and may change the frame that is sent next.
    """
    poll = selectors.DefaultSelector()
    for one in connections:
        poll.register(one.sock, selectors.EVENT_READ, one)
    latencies: list[float] = []
    clock = time.perf_counter
    for one in connections:
        one.sent_at = clock()
        one.send(one.frame)
    start = clock()
    warm, end = start + seconds * 0.2, start + seconds
    counted_from = 0
    now = start
    warm_at = start
    while now < end:
        for key, _ in poll.select():
            one = key.data
            payload = one.answer()
            if payload is not None:
                now = clock()
                latencies.append(now - one.sent_at)
                if on_answer is not None:
                    on_answer(one, payload)
                    now = clock()
                one.sent_at = now
                one.send(one.frame)
        if not counted_from and now >= warm:
            counted_from, warm_at = len(latencies), now
    counted = sorted(latencies[counted_from:])
    poll.close()
    return {
        "rate": len(counted) / (now - warm_at),
        "p50_ms": counted[len(counted) // 2] * 1000,
        "p99_ms": counted[len(counted) * 99 // 100] * 1000,
    }
