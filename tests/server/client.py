"""A client for the tests of the server: it says exactly what it is told, in the version it is told, if it is any."""

import struct
from collections import deque
from dataclasses import fields, is_dataclass, replace

import trio

from wire.frame import FrameBuffer
from wire.header import read_response, request_frame
from wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
)

CLIENT_ID = "c"
GIVE_UP = 60.0
"""Seconds, real or virtual, after which what is waited for will not come: on a busy machine it may take a few."""


class Client:
    """One connection. `call` sends and waits; `send` and `receive` do it apart, for pipelining and parking."""

    def __init__(self, stream):
        self.stream = stream
        self.frames = FrameBuffer(1 << 30)
        self.correlation_id = 0
        self.expected = deque()

    async def call(self, request, version=None, client_id=CLIENT_ID):
        await self.send(request, self.newest(type(request)) if version is None else version, client_id)
        return await self.receive()

    def newest(self, cls, usual=None):
        """The newest version of a request, up to the one that is `usual`, for helpers that name none."""
        return cls.VERSIONS.highest if usual is None else min(usual, cls.VERSIONS.highest)

    async def send(self, request, version, client_id=CLIENT_ID, correlation_id=None):
        self.correlation_id += 1
        number = self.correlation_id if correlation_id is None else correlation_id
        self.expected.append((number, type(request).RESPONSE, version))
        await self.stream.send_all(request_frame(number, client_id, request, version))

    async def call_shrunk(self, request, version, grown):
        """Call with a request in which `grown`, a text of U+FFFD, goes as bytes that are no UTF-8, a third as long."""
        self.correlation_id += 1
        self.expected.append((self.correlation_id, type(request).RESPONSE, version))
        stand_in = "x" * len(grown)
        frame = request_frame(self.correlation_id, CLIENT_ID, _replaced(request, grown, stand_in), version)
        await self.stream.send_all(frame.replace(stand_in.encode(), b"\xff" * len(grown)))
        return await self.receive()

    async def receive(self, give_up=None):
        number, response, version = self.expected.popleft()
        frame = await self.receive_frame(give_up)
        got, message = read_response(frame, response, version)
        assert got == number
        return message

    async def receive_frame(self, give_up=None):
        """Return the next frame; without `give_up` wait as long as it takes. Raises EOFError at the end."""
        with trio.fail_after(float("inf") if give_up is None else give_up):
            while (frame := self.frames.next()) is None:
                data = await self.stream.receive_some(65536)
                if not data:
                    raise EOFError
                self.frames.feed(bytes(data))
        return frame

    async def send_raw(self, data):
        await self.stream.send_all(data)

    async def send_frame(self, payload):
        await self.stream.send_all(struct.pack(">i", len(payload)) + payload)

    async def is_closed(self):
        """Whether the server ends the connection without another byte."""
        with trio.move_on_after(GIVE_UP):
            try:
                return await self.stream.receive_some(1) == b""
            except trio.BrokenResourceError:
                return True
        return False

    async def is_silent(self, seconds=0.3):
        with trio.move_on_after(seconds):
            await self.stream.receive_some(1)
            return False
        return True

    async def aclose(self):
        await trio.aclose_forcefully(self.stream)


def join(group, member="", *, session=10_000, rebalance=30_000, instance=None, protocols=("range",)):
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance,
        member_id=member,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name=name, metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff") for name in protocols],
    )


def sync(group, generation, member):
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[],
    )


def _replaced(value, old, new):
    """The same request with one text for another, at whatever depth."""
    if value == old:
        return new
    if isinstance(value, list):
        return [_replaced(each, old, new) for each in value]
    if is_dataclass(value):
        return replace(value, **{each.name: _replaced(getattr(value, each.name), old, new) for each in fields(value)})
    return value


def heartbeat(group, generation, member):
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)


def find(key, key_type=0):
    return FindCoordinatorRequest(key=key, key_type=key_type)


def find_all(*keys, key_type=0):
    return FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))


async def stable_member(client, group, version=5):
    """Make `client` the only member of a group in state Stable; return its id and generation."""
    handed_out = await client.call(join(group), version)
    joined = await client.call(join(group, handed_out.member_id), version)
    assert joined.error_code == 0
    synced = await client.call(sync(group, joined.generation_id, joined.member_id), 5)
    assert synced.error_code == 0
    return joined.member_id, joined.generation_id
