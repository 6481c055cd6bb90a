"""What connects to a server in this process."""

from typing import Any

import trio
from trio.testing import memory_stream_pair

from kcoord.check.world import Opener


def opener_to(running: Any, nursery: trio.Nursery) -> Opener:
    """What opens a connection to a running server, over memory."""

    async def attach() -> trio.abc.Stream:
        near, far = memory_stream_pair()
        nursery.start_soon(running.attach, far)
        return near

    return attach
