"""A broker with one of the faults of `tests.check.faults`: what stands between a rule and a server in this process."""

import struct
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import trio
from trio.testing import memory_stream_pair

from tests.check.faults import LATE, OPAQUE, Fault, change_in
from wire.errors import WireError
from wire.frame import FrameBuffer
from wire.header import read_request_header, read_response, response_frame, response_header_version
from wire.messages import REQUESTS
from wire.schema import Message

HELD = ("JoinGroup", "SyncGroup", "Fetch")
SOON = 0.05
"""Seconds in which requests are answered that do not wait for others."""


@dataclass
class Asked:
    """A request on its way, and what came of it. Without a class it is one that nobody knows."""

    api: str
    number: int
    correlation_id: int
    version: int
    cls: type[Message] | None
    at: float
    answer: Message | None = None
    seconds: float | None = None
    """After how long it was answered; None if it was not."""
    closed: bool = False
    """Whether the broker closed the connection while it was to be answered."""

    @property
    def held(self) -> bool:
        """Whether it was a request that waited for others."""
        return self.api in HELD and not self.closed and (self.seconds is None or self.seconds > SOON)


@dataclass
class Between:
    """Connects to the server of `opener`, and lets one thing go wrong; without a fault it only looks on."""

    opener: Any
    nursery: trio.Nursery
    fault: Fault | None = None
    asked: list[Asked] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    async def connect(self) -> trio.abc.Stream:
        """Open a connection."""
        near, far = memory_stream_pair()
        self.nursery.start_soon(_Line(self, far, await self.opener()).serve)
        return near

    def request(self, frame: bytes) -> Asked:
        """Note a request."""
        api, cls, version, correlation_id = OPAQUE, None, 0, 0
        try:
            header, _ = read_request_header(frame)
        except WireError:
            pass
        else:
            correlation_id, version = header.correlation_id, header.api_version
            known = REQUESTS.get(header.api_key)
            if known is not None:
                api = known.__name__.removesuffix("Request")
                cls = known if version in known.VERSIONS else None
        self.counts[api] += 1
        self.asked.append(Asked(api, self.counts[api], correlation_id, version, cls, trio.current_time()))
        return self.asked[-1]

    def meets(self, kind: str, asked: Asked | None) -> bool:
        """Whether the fault is of this kind and about this request."""
        fault = self.fault
        if fault is None or asked is None or fault.kind != kind:
            return False
        return (fault.what, fault.number) == (asked.api, asked.number)


class _Line:
    """One connection."""

    def __init__(self, between: Between, client: trio.abc.Stream, server: trio.abc.Stream) -> None:
        self.between, self.client, self.server = between, client, server
        self.open: deque[Asked] = deque()
        self.frames = FrameBuffer(1 << 30)

    async def serve(self) -> None:
        async with self.client, self.server:
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._backward)
                    await self._forward()
                    nursery.cancel_scope.cancel()
            except* (trio.BrokenResourceError, trio.ClosedResourceError):
                pass

    async def _forward(self) -> None:
        """From the client to the server, until the client goes."""
        readable = True
        while data := await self.client.receive_some(65536):
            try:
                self.frames.feed(data)
                while readable and (frame := self.frames.next()) is not None:
                    await self._asked(frame)
            except WireError:
                readable = False
                await self._asked(b"")
            # That the server has closed, the other direction tells.
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self.server.send_all(data)

    async def _asked(self, frame: bytes) -> None:
        asked = self.between.request(frame)
        self.open.append(asked)
        if self.between.meets("now", asked):
            await self.client.send_all(made_up(asked))

    async def _backward(self) -> None:
        """From the server to the client, until the server closes; then the client is told by closing, too."""
        frames = FrameBuffer(1 << 30)
        while data := await self.server.receive_some(65536):
            frames.feed(data)
            while (frame := frames.next()) is not None:
                await self._answer(frame)
        told = self.open[0] if self.open else self.between.request(b"")
        told.closed = True
        if self.between.meets("open", told):
            await self.client.send_all(made_up(told))
            return
        await self.client.aclose()

    async def _answer(self, frame: bytes) -> None:
        number = struct.unpack_from(">i", frame)[0]
        while self.open and self.open[0].correlation_id != number:
            self.open.popleft()
        whole = struct.pack(">i", len(frame)) + frame
        if not self.open:
            await self.client.send_all(whole)
            return
        asked = self.open.popleft()
        asked.seconds = trio.current_time() - asked.at
        if asked.cls is not None:
            _, asked.answer = read_response(frame, asked.cls.RESPONSE, asked.version)
        for data in await self._sent_instead(asked, frame, whole):
            await self.client.send_all(data)

    async def _sent_instead(self, asked: Asked, frame: bytes, whole: bytes) -> list[bytes]:
        meets, fault = self.between.meets, self.between.fault
        if fault is None:
            return [whole]
        if meets("answer", asked) and asked.answer is not None:
            if not change_in(asked.answer, asked.version, fault.path, fault.change, asked.api):
                return [whole]
            return [response_frame(asked.correlation_id, asked.answer, asked.version)]
        if meets("now", asked):
            return []
        if meets("late", asked):
            await trio.sleep(LATE)
        elif meets("other-number", asked):
            return [struct.pack(">ii", len(frame), asked.correlation_id ^ 0x55) + frame[4:]]
        elif meets("more-bytes", asked):
            return [struct.pack(">i", len(frame) + 1) + frame + b"\0"]
        elif meets("then-close", asked):
            await self.client.send_all(whole)
            await self.client.aclose()
            return []
        return [whole]


def made_up(asked: Asked) -> bytes:
    """An answer in which nothing is said."""
    if asked.cls is None:
        return struct.pack(">iih", 6, asked.correlation_id, 0)
    message = asked.cls.RESPONSE()
    try:
        return response_frame(asked.correlation_id, message, asked.version)
    except WireError:
        tags = b"\0" * response_header_version(asked.cls.API_KEY, asked.version)
        return struct.pack(">ii", 6 + len(tags), asked.correlation_id) + tags + b"\0\0"
