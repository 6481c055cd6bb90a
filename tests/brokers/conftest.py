"""Three logical brokers without sockets under virtual time, and their control."""

import pytest
import trio
from trio.testing import memory_stream_pair

from kcoord.control import Control
from kcoord.nodes import Endpoint
from tests.server.client import Client
from tests.server.conftest import start, without_sockets


class Cluster:
    """Three brokers, with ids from 1 on."""

    def __init__(self, server):
        self.server = server
        self.nursery = server.nursery
        self.broker = server.broker
        self.control = Control(server.running)
        self.brokers = self.control.brokers

    def connect(self, node_id):
        ours, theirs = memory_stream_pair()
        endpoint = Endpoint(f"broker-{node_id}", 9090 + node_id)
        self.nursery.start_soon(self.server.running.attach, theirs, "127.0.0.1", endpoint, node_id - 1)
        return Client(ours)

    def coordinator_of(self, group):
        return self.broker.coordinator_of(group).id

    def not_coordinators_of(self, group):
        return [node.id for node in self.broker.nodes if node.id != self.coordinator_of(group)]

    def leader_of(self, topic, index):
        return self.broker.nodes.leader(self.broker.catalog.by_name(topic), index)


@pytest.fixture
async def cluster(autojump_clock, nursery):
    config = without_sockets(brokers=3, group_initial_rebalance_delay_ms=0)
    cluster = Cluster(await start(nursery, config))
    for node in cluster.broker.nodes:
        # Without sockets nobody listens, so no listener has told where it is reached.
        node.endpoints[""] = Endpoint(f"broker-{node.id}", 9090 + node.id)
    await trio.lowlevel.checkpoint()
    return cluster
