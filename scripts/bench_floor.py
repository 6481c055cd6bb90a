"""The floor that the server is measured against: trio reads frames and answers a fixed one, and nothing else.

    python scripts/bench_floor.py

Prints the port it got and serves until it is ended. The answer is that of a Heartbeat 4 with correlation id 1.
"""

import contextlib
import struct
from functools import partial

import trio

from wire.errors import ErrorCode
from wire.header import response_frame
from wire.messages import HeartbeatResponse

ANSWER = response_frame(1, HeartbeatResponse(error_code=ErrorCode.NONE), 4)


async def answer_all(stream: trio.SocketStream) -> None:
    """Answer each frame of one connection."""
    buffer = b""
    with contextlib.suppress(trio.BrokenResourceError):
        while data := await stream.receive_some(65536):
            buffer = buffer + data if buffer else data
            while len(buffer) >= 4 and len(buffer) >= 4 + (size := struct.unpack_from(">i", buffer)[0]):
                buffer = buffer[4 + size :]
                await stream.send_all(ANSWER)


async def main() -> None:
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer_all, 0, host="127.0.0.1"))
        print(listeners[0].socket.getsockname()[1], flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        trio.run(main)
