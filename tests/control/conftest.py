"""A server without sockets under virtual time, and its control."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
import trio

from kcoord.control import Control
from tests.server.client import Client, heartbeat
from tests.server.conftest import start, without_sockets
from wire.messages import JoinGroupRequest, JoinGroupRequestProtocol, SyncGroupRequest, SyncGroupRequestAssignment
from wire.payloads import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription


class Bench:
    """A server, its control, and consumers that say what they are told."""

    def __init__(self, server):
        self.server = server
        self.nursery = server.nursery
        self.control = Control(server.running)
        self.groups, self.topics, self.clock = self.control.groups, self.control.topics, self.control.clock

    def consumer(self, name, group="g", **how):
        return Consumer(self.server.connect(), name, group, **how)

    async def stable(self, *consumers):
        """Let consumers form a generation, and give the partitions of topic t one to each."""
        await self.joined(*consumers)
        plan = {each.member_id: {"t": (number,)} for number, each in enumerate(consumers)}
        async with trio.open_nursery() as nursery:
            for each in consumers:
                nursery.start_soon(each.sync, plan if each.leads else {})
        return consumers

    async def joined(self, *consumers):
        """Let consumers form a generation that nobody has synced in."""
        for each in consumers:
            await each.ask()
        async with trio.open_nursery() as nursery:
            for each in consumers:
                nursery.start_soon(each.rejoin)
        return consumers


class Consumer:
    """One client with one connection that is one member."""

    def __init__(self, client: Client, name, group, *, instance=None, session=45_000, rebalance=300_000):
        self.client = client
        self.name = name
        self.group = group
        self.instance = instance
        self.session = session
        self.rebalance = rebalance
        self.member_id = ""
        self.generation = -1
        self.leads = False

    async def ask(self):
        """Get a member id, if that needs a round of its own; a static member has none."""
        if self.instance is None:
            self.member_id = (await self._join()).member_id

    async def rejoin(self):
        answer = await self._join()
        if answer.error_code == 0:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self.leads = answer.leader == answer.member_id
        return answer

    async def _join(self):
        return await self.client.call(self.join_request(), 9, client_id=self.name)

    def join_request(self):
        metadata = encode_subscription(Subscription(topics=("t",)))
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session,
            rebalance_timeout_ms=self.rebalance,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )

    async def sync(self, plan: Mapping = MappingProxyType({})):
        return await self.client.call(
            SyncGroupRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[
                    SyncGroupRequestAssignment(member_id=member_id, assignment=assignment_of(topics))
                    for member_id, topics in plan.items()
                ],
            ),
            5,
            client_id=self.name,
        )

    async def heartbeat(self):
        request = heartbeat(self.group, self.generation, self.member_id)
        request.group_instance_id = self.instance
        return (await self.client.call(request, 4, client_id=self.name)).error_code

    async def crash(self):
        await self.client.aclose()


def assignment_of(topics):
    listed = tuple(TopicPartitions(topic=topic, partitions=tuple(found)) for topic, found in topics.items())
    return encode_assignment(Assignment(assigned_partitions=listed))


@pytest.fixture
async def bench(autojump_clock, nursery):
    return Bench(await start(nursery, without_sockets(group_initial_rebalance_delay_ms=0)))
