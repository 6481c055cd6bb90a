"""A server without sockets under virtual time, what is recorded of it, and consumers that say what they own."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
import trio

from kcoord.timeline import Recorder
from tests.control.conftest import assignment_of
from tests.server.conftest import start, without_sockets
from wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from wire.payloads import Subscription, TopicPartitions, encode_subscription

NOTHING: Mapping = MappingProxyType({})


class Stage:
    """A server and its recorder; `of` gives the timeline of group g."""

    def __init__(self, server):
        self.server = server
        self.nursery = server.nursery
        self.recorder = Recorder(server.running.clock.now)
        server.running.broker.on_note(self.recorder.note)
        server.running.broker.on_request(self.recorder.request)

    def actor(self, name, **how):
        return Actor(self.server.connect(), name, **how)

    async def act(self, *steps):
        """Do several things at once."""
        async with trio.open_nursery() as nursery:
            for step, *given in steps:
                nursery.start_soon(step, *given)

    async def generation(self, plan, *actors):
        """Let actors join, and hand in a plan: for each actor its partitions of topic t."""
        await self.act(*((each.join,) for each in actors))
        wanted = {each.member_id: {"t": plan.get(each.name, ())} for each in actors}
        await self.act(*((each.sync, wanted if each.leads else NOTHING) for each in actors))
        for each in actors:
            each.owns = tuple(plan.get(each.name, ()))

    def timeline(self, group="g"):
        return self.recorder.of(group)


class Actor:
    """One client with one connection that is one member of group g."""

    def __init__(self, client, name, *, protocol="range", cooperative=False, instance=None, session=10_000):
        self.client = client
        self.name = name
        self.protocol = protocol
        self.cooperative = cooperative
        self.instance = instance
        self.session = session
        self.member_id = ""
        self.generation = -1
        self.leads = False
        self.owns = ()

    async def send(self, request, version):
        return await self.client.call(request, version, client_id=self.name)

    async def first_step(self):
        """Ask without an id, and be given one."""
        answer = await self.send(self._join_request(), 9)
        self.member_id = answer.member_id
        return answer

    async def join(self):
        if not self.member_id and self.instance is None:
            await self.first_step()
        answer = await self.send(self._join_request(), 9)
        if answer.error_code == 0:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self.leads = answer.leader == answer.member_id
        return answer

    def _join_request(self):
        claimed = self.owns if self.cooperative else ()
        owned = (TopicPartitions(topic="t", partitions=claimed),) if claimed else ()
        subscription = Subscription(topics=("t",), owned_partitions=owned, generation_id=self.generation)
        return JoinGroupRequest(
            group_id="g",
            session_timeout_ms=self.session,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=encode_subscription(subscription))],
        )

    async def sync(self, plan=NOTHING):
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name=self.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=assignment_of(mine))
                for member, mine in plan.items()
            ],
        )
        return await self.send(request, 5)

    async def heartbeat(self):
        request = HeartbeatRequest(
            group_id="g", generation_id=self.generation, member_id=self.member_id, group_instance_id=self.instance
        )
        return (await self.send(request, 4)).error_code

    async def leave(self):
        who = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance, reason="done")
        return await self.send(LeaveGroupRequest(group_id="g", members=[who]), 5)

    async def commit(self, offset=7):
        parts = [
            OffsetCommitRequestPartition(partition_index=each, committed_offset=offset, committed_metadata="")
            for each in self.owns
        ]
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name="t", partitions=parts)],
        )
        return (await self.send(request, 8)).topics[0].partitions[0].error_code


@pytest.fixture
async def stage(autojump_clock, nursery):
    return Stage(await start(nursery, without_sockets(group_initial_rebalance_delay_ms=0)))
