"""A server without sockets under virtual time, and its faults."""

import pytest

from kcoord.control import Control
from tests.server.client import heartbeat, join, sync
from tests.server.conftest import start, without_sockets


class Bench:
    """A server whose faults are in a test's hands."""

    def __init__(self, server):
        self.server = server
        self.nursery = server.nursery
        self.control = Control(server.running)
        self.faults = self.control.faults

    def connect(self):
        return self.server.connect()

    async def member(self, group="g", client_id="c"):
        """Let one member form a group; return its connection, and what it says in a heartbeat."""
        client = self.connect()
        first = await client.call(join(group), 4, client_id=client_id)
        answer = await client.call(join(group, first.member_id), 4, client_id=client_id)
        assert answer.error_code == 0
        await client.call(sync(group, answer.generation_id, answer.member_id), 3, client_id=client_id)
        return client, heartbeat(group, answer.generation_id, answer.member_id)

    def add(self, **parts):
        return self.faults.add(parts).number


@pytest.fixture
async def bench(autojump_clock, nursery):
    return Bench(await start(nursery, without_sockets(group_initial_rebalance_delay_ms=0)))
