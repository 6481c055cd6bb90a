"""The two worlds in which a scenario can run; everything else a scenario needs is `kcoord.check`'s.

A scenario is written once. By default it runs against a server in this process: over memory streams, under virtual
time, so that a wait of 45 s costs nothing. With `--bootstrap HOST:PORT` the same lines run over TCP, in real time,
against whatever listens there; that is how the scenarios themselves are judged.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import memory_stream_pair

from kcoord.check import probe, world
from kcoord.check.member import Member, settle
from kcoord.check.probe import Call, Client, Closed
from kcoord.config import Config
from kcoord.serve import serve
from wire.messages import REQUESTS

TOPIC = "t"


def sub(*topics: str) -> bytes:
    """A version-0 subscription to these topics."""
    return probe.sub(*(topics or (TOPIC,)))


class World(world.World):
    """Where a scenario runs. `external` is the address of a foreign broker, or None for a server in this process."""

    def __init__(
        self, opener: world.Opener, running: Any, nursery: trio.Nursery | None, external: tuple[str, int] | None = None
    ) -> None:
        super().__init__(opener, exact=external is None)
        self.running = running
        self.nursery = nursery
        self.external = external


def scenario_config(**settings: Any) -> Config:
    """The settings of the in-process world: Kafka's defaults, no listener, topics t (3 partitions) and u (3)."""
    return Config(listeners=(), topics={TOPIC: 3, "u": 3, "wide": 1000}, **settings)


def opener_to(running: Any, nursery: trio.Nursery) -> world.Opener:
    """What connects to a server in this process."""

    async def attach() -> trio.abc.Stream:
        near, far = memory_stream_pair()
        nursery.start_soon(running.attach, far)
        return near

    return attach


@asynccontextmanager
async def open_world(external: tuple[str, int] | None, **settings: Any) -> AsyncIterator[World]:
    """Run a world: a server of its own with these settings, or the foreign broker as it is."""
    if external is not None:

        async def connect() -> trio.abc.Stream:
            return await trio.open_tcp_stream(*external)

        opened = World(connect, None, None, external)
        try:
            yield opened
        finally:
            await opened.aclose()
        return
    async with trio.open_nursery() as nursery:
        running = await nursery.start(serve, scenario_config(**settings))
        opened = World(opener_to(running, nursery), running, nursery)
        try:
            yield opened
        finally:
            await opened.aclose()
            nursery.cancel_scope.cancel()


__all__ = ["REQUESTS", "Call", "Client", "Closed", "Member", "World", "open_world", "settle", "sub"]
