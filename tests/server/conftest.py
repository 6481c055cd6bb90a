"""A server without sockets under virtual time, and one with sockets under real time.

A test under virtual time names `autojump_clock` itself: pytest-trio looks for it among a test's own arguments.
"""

from dataclasses import replace
from functools import partial

import pytest
import trio
from trio.testing import memory_stream_pair

from kcoord.config import Address, Config, Listener
from kcoord.serve import serve
from tests.server.client import Client


class Server:
    """A running server; `connect` gives a client over memory, `dial` one over TCP."""

    def __init__(self, nursery, running, notes):
        self.nursery = nursery
        self.running = running
        self.broker = running.broker
        self.notes = notes

    def connect(self, peer_host="127.0.0.1", **attach):
        ours, theirs = memory_stream_pair()
        self.nursery.start_soon(partial(self.running.attach, theirs, peer_host, **attach))
        return Client(ours)

    async def dial(self, index=0):
        address = self.running.addresses[index]
        client = Client(await trio.open_tcp_stream(address.host, address.port))
        self.nursery.start_soon(self._close_in_the_end, client)
        return client

    async def _close_in_the_end(self, client):
        try:
            await trio.sleep_forever()
        finally:
            await client.aclose()

    def seen(self, kind):
        return [note for note in self.notes if type(note) is kind]


async def start(nursery, config, **how):
    notes = []
    running = await nursery.start(partial(serve, config, on_note=notes.append, **how))
    return Server(nursery, running, notes)


def without_sockets(**settings):
    return Config(listeners=(), topics={"t": 3, "u": 1}, **settings)


def on_loopback(*hosts, **settings):
    listeners = tuple(Listener(f"L{number}", Address(host, 0)) for number, host in enumerate(hosts or ["127.0.0.1"]))
    return replace(without_sockets(**settings), listeners=listeners)


@pytest.fixture
async def server(autojump_clock, nursery):
    return await start(nursery, without_sockets())


@pytest.fixture
async def tcp_server(nursery):
    return await start(nursery, on_loopback())
