"""Brokers that are wrong in one chosen way: what stands between a client and a server in this process."""

import struct
from collections import deque

import trio
from trio.testing import memory_stream_pair

from wire.frame import FrameBuffer
from wire.header import read_request_header, read_response, response_frame
from wire.messages import REQUESTS


class Close(Exception):
    """The connection is to be closed instead."""


def between(opener, nursery, change):
    """What connects to the server of `opener`, whose answers `change` makes wrong.

    `change(cls, version, message, frame)` gets the class of the request, its version, the answer and its frame with its
    size in front, and returns the bytes to send instead, none to send nothing, or raises Close.
    """

    async def connect():
        near, far = memory_stream_pair()
        nursery.start_soon(_serve, far, await opener(), change)
        return near

    return connect


async def _serve(client, server, change):
    asked = deque()

    async def forward():
        frames = FrameBuffer(1 << 30)
        while data := await client.receive_some(65536):
            frames.feed(data)
            while (frame := frames.next()) is not None:
                header, _ = read_request_header(frame)
                asked.append((REQUESTS[header.api_key], header.api_version))
            await server.send_all(data)

    async def backward():
        frames = FrameBuffer(1 << 30)
        while data := await server.receive_some(65536):
            frames.feed(data)
            while (frame := frames.next()) is not None:
                cls, version = asked.popleft()
                _, message = read_response(frame, cls.RESPONSE, version)
                await client.send_all(change(cls, version, message, struct.pack(">i", len(frame)) + frame))

    async with client, server:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(forward)
                await backward()
                nursery.cancel_scope.cancel()
        except* (Close, trio.BrokenResourceError, trio.ClosedResourceError):
            pass


def answer(message, version, frame):
    """The frame of another answer to the same request."""
    return response_frame(struct.unpack_from(">i", frame, 4)[0], message, version)
