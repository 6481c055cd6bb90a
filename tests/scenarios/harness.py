"""A raw client, and the two worlds in which a scenario can run.

A scenario is written once. By default it runs against a server in this process: over memory streams, under virtual
time, so that a wait of 45 s costs nothing. With `--bootstrap HOST:PORT` the same lines run over TCP, in real time,
against whatever listens there; that is how the scenarios themselves are judged.

The vocabulary: `call` sends a request and waits for the answer; `send` only sends, and gives a `Call` whose `answer()`
waits and whose `parked()` says that nothing came within 0.3 s. A connection's answers come in the order of its
requests, so a call behind a parked one is parked, too.
"""

import contextlib
import itertools
import struct
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import trio
from trio.testing import memory_stream_pair

from kcoord.config import Config
from kcoord.serve import serve
from wire.errors import ErrorCode
from wire.frame import FrameBuffer
from wire.header import read_response, request_frame
from wire.messages import (
    REQUESTS,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from wire.payloads import Subscription, encode_subscription

PARKED = 0.3
"""How long (s) nothing may come before a call counts as parked."""
PATIENCE = 60.0
"""How long (s) a scenario waits for an answer that must come."""
TOPIC = "t"


class Closed(Exception):
    """The server closed the connection."""


def sub(*topics: str) -> bytes:
    """A version-0 subscription to these topics."""
    return encode_subscription(Subscription(topics=list(topics or (TOPIC,))), 0)


@dataclass(eq=False)
class Call:
    """A request that was sent."""

    client: "Client"
    correlation_id: int
    response_class: type
    version: int
    response: Any = None

    async def answer(self, within: float = PATIENCE) -> Any:
        """Wait for the answer; TimeoutError after `within` seconds."""
        with trio.move_on_after(within):
            await self.client.read_until(self)
        if self.response is None:
            raise TimeoutError(f"no answer to {self.response_class.__name__} within {within} s")
        return self.response

    async def parked(self) -> bool:
        """Whether nothing comes for 0.3 s."""
        with contextlib.suppress(TimeoutError):
            await self.answer(PARKED)
        return self.response is None


@dataclass(eq=False)
class Client:
    """One connection."""

    stream: trio.abc.Stream
    client_id: str | None = "client"
    frames: FrameBuffer = field(default_factory=lambda: FrameBuffer(100_000_000))
    waiting: list[Call] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def send(self, request: Any, version: int | None = None, *, correlation_id: int | None = None) -> Call:
        """Send a request, in the newest version unless told otherwise."""
        cls = type(request)
        version = cls.VERSIONS.highest if version is None else version
        number = next(self.ids) if correlation_id is None else correlation_id
        await self.stream.send_all(request_frame(number, self.client_id, request, version))
        call = Call(self, number, cls.RESPONSE, version)
        self.waiting.append(call)
        return call

    async def call(self, request: Any, version: int | None = None) -> Any:
        """Send a request and wait for its answer."""
        return await (await self.send(request, version)).answer()

    async def read_until(self, call: Call) -> None:
        """Read answers, in order, until `call` has its own; Closed when the connection ends before that."""
        while call.response is None:
            frame = await self.read_frame()
            first = self.waiting.pop(0)
            number, first.response = read_response(frame, first.response_class, first.version)
            assert number == first.correlation_id

    async def read_frame(self) -> bytes:
        """Read one frame, without its size; Closed at the end."""
        while (frame := self.frames.next()) is None:
            try:
                data = await self.stream.receive_some(65536)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise Closed from None
            if not data:
                raise Closed
            self.frames.feed(data)
        return frame

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self.stream.send_all(data)

    async def send_frame(self, payload: bytes) -> None:
        """Send a payload with its size in front."""
        await self.send_bytes(struct.pack(">i", len(payload)) + payload)

    async def is_closed(self, within: float = PATIENCE) -> bool:
        """Whether the server closes the connection, without an answer, within so many seconds."""
        with trio.move_on_after(within):
            try:
                await self.read_frame()
            except Closed:
                return True
        return False

    async def aclose(self) -> None:
        """Close the connection."""
        await self.stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # --- the group's requests, with the defaults that scenarios assume ---

    async def join(
        self,
        group: str,
        member_id: str = "",
        *,
        version: int = 9,
        instance: str | None = None,
        protocols: list[tuple[str, bytes]] | None = None,
        protocol_type: str = "consumer",
        session: int = 10_000,
        rebalance: int = 30_000,
        reason: str | None = None,
    ) -> Call:
        """Send JoinGroup."""
        listed = [("range", sub())] if protocols is None else protocols
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance if version >= 1 else -1,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in listed],
            reason=reason,
        )
        return await self.send(request, version)

    async def sync(
        self,
        group: str,
        generation: int,
        member_id: str,
        assignments: dict[str, bytes] | list[tuple[str, bytes]] | None = None,
        *,
        version: int = 5,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> Call:
        """Send SyncGroup; the protocol goes along from version 5 on."""
        pairs = list(assignments.items()) if isinstance(assignments, dict) else assignments or []
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type if version >= 5 else None,
            protocol_name=protocol_name if version >= 5 else None,
            assignments=[SyncGroupRequestAssignment(member_id=who, assignment=what) for who, what in pairs],
        )
        return await self.send(request, version)

    async def heartbeat(
        self, group: str, generation: int, member_id: str, *, version: int = 4, instance: str | None = None
    ) -> ErrorCode:
        """Send Heartbeat; return the error."""
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        return ErrorCode((await self.call(request, version)).error_code)

    async def leave(self, group: str, *members: str | tuple[str, str | None], version: int = 5) -> Any:
        """Send LeaveGroup for member ids or (member id, instance id) pairs; return the response."""
        pairs = [(one, None) if isinstance(one, str) else one for one in members]
        if version < 3:
            return await self.call(LeaveGroupRequest(group_id=group, member_id=pairs[0][0]), version)
        identities = [MemberIdentity(member_id=who, group_instance_id=instance) for who, instance in pairs]
        return await self.call(LeaveGroupRequest(group_id=group, members=identities), version)

    async def commit(
        self,
        group: str,
        offsets: dict[tuple[str, int], int | tuple[int, str | None]],
        *,
        generation: int = -1,
        member_id: str = "",
        instance: str | None = None,
        version: int = 9,
        epoch: int = -1,
        retention: int = -1,
    ) -> dict[tuple[str, int], ErrorCode]:
        """Send OffsetCommit (by name: up to version 9); return the error of each partition."""
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, partition), what in offsets.items():
            offset, metadata = what if isinstance(what, tuple) else (what, "")
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=metadata,
                )
            )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention,
            topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )
        response = await self.call(request, version)
        return {
            (topic.name, one.partition_index): ErrorCode(one.error_code)
            for topic in response.topics
            for one in topic.partitions
        }

    async def fetch(
        self, group: str, wanted: dict[str, list[int]] | None = None, *, version: int = 9
    ) -> dict[tuple[str, int], tuple[int, int, str | None]]:
        """Send OffsetFetch (by name: up to version 9); return (offset, epoch, metadata). All errors must be 0."""
        if version >= 8:
            topics = (
                None
                if wanted is None
                else [OffsetFetchRequestTopics(name=name, partition_indexes=parts) for name, parts in wanted.items()]
            )
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
            answer = (await self.call(request, version)).groups[0]
            assert answer.group_id == group
        else:
            older = (
                None
                if wanted is None
                else [OffsetFetchRequestTopic(name=name, partition_indexes=parts) for name, parts in wanted.items()]
            )
            answer = await self.call(OffsetFetchRequest(group_id=group, topics=older), version)
        assert answer.error_code == 0
        assert all(one.error_code == 0 for topic in answer.topics for one in topic.partitions)
        return {
            (topic.name, one.partition_index): (one.committed_offset, one.committed_leader_epoch, one.metadata)
            for topic in answer.topics
            for one in topic.partitions
        }

    async def topic_ids(self, *names: str) -> list[uuid.UUID]:
        """Send Metadata; return the ids of topics, all of which must exist."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
        )
        response = await self.call(request, 12)
        assert all(topic.error_code == 0 for topic in response.topics)
        ids = {topic.name: topic.topic_id for topic in response.topics}
        return [ids[name] for name in names]

    async def describe(self, group: str, *, version: int = 6, operations: bool = False) -> Any:
        """Send DescribeGroups for one group; return its entry."""
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=operations)
        return (await self.call(request, version)).groups[0]

    async def list(
        self, *, states: tuple[str, ...] = (), types: tuple[str, ...] = (), version: int = 5
    ) -> dict[str, Any]:
        """Send ListGroups; return the entries by group id."""
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        response = await self.call(request, version)
        assert response.error_code == 0
        return {one.group_id: one for one in response.groups}

    async def delete(self, *groups: str, version: int = 2) -> dict[str, ErrorCode]:
        """Send DeleteGroups; return each group's error."""
        response = await self.call(DeleteGroupsRequest(groups_names=list(groups)), version)
        return {one.group_id: ErrorCode(one.error_code) for one in response.results}


@dataclass
class Member:
    """A member as a scenario knows it: its connection, its id, the generation, the last answers."""

    client: Client
    group: str
    id: str = ""
    generation: int = -1
    instance: str | None = None
    leader: str = ""
    assignment: bytes = b""
    listed: tuple[str, ...] = ()
    protocols: list[tuple[str, bytes]] | None = None
    protocol_type: str = "consumer"
    protocol_name: str | None = "range"
    session: int = 10_000
    rebalance: int = 30_000
    call: Call | None = None

    async def start_join(self, *, version: int = 9) -> Call:
        """Send JoinGroup, in two steps where the server asks for that, and leave it waiting."""
        self.call = await self._join(version)
        if version >= 4 and self.instance is None and not self.id:
            answer = await self.call.answer()
            assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
            self.id = answer.member_id
            self.call = await self._join(version)
        return self.call

    async def finish_join(self) -> Any:
        """Wait for the JoinGroup's answer, which must be good, and take it in."""
        assert self.call is not None
        answer = await self.call.answer()
        assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code).name
        self.id, self.generation, self.leader = answer.member_id, answer.generation_id, answer.leader
        self.protocol_name = answer.protocol_name
        self.listed = tuple(one.member_id for one in answer.members)
        return answer

    @property
    def leads(self) -> bool:
        """Whether it was told that it leads."""
        return self.leader == self.id

    async def sync(self, assignments: dict[str, bytes] | None = None, **options: Any) -> Call:
        """Send SyncGroup with what it knows."""
        options = {
            "instance": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
        } | options
        return await self.client.sync(self.group, self.generation, self.id, assignments, **options)

    async def heartbeat(self, **options: Any) -> ErrorCode:
        """Send Heartbeat with what it knows."""
        options = {"instance": self.instance} | options
        return await self.client.heartbeat(self.group, self.generation, self.id, **options)

    async def commit(self, offsets: dict[tuple[str, int], Any], **options: Any) -> dict[tuple[str, int], ErrorCode]:
        """Send OffsetCommit with what it knows."""
        options = {"generation": self.generation, "member_id": self.id, "instance": self.instance} | options
        return await self.client.commit(self.group, offsets, **options)

    async def _join(self, version: int) -> Call:
        return await self.client.join(
            self.group,
            self.id,
            version=version,
            instance=self.instance,
            protocols=self.protocols,
            protocol_type=self.protocol_type,
            session=self.session,
            rebalance=self.rebalance,
        )


class World:
    """Where a scenario runs. `external` is the address of a foreign broker, or None for a server in this process."""

    def __init__(self, running: Any, nursery: trio.Nursery | None, external: tuple[str, int] | None = None) -> None:
        self.running = running
        self.nursery = nursery
        self.external = external
        self._closing = contextlib.AsyncExitStack()

    def group(self, name: str = "g") -> str:
        """A group id that nobody has used."""
        return f"{name}-{uuid.uuid4()}"

    async def client(self, client_id: str | None = "client") -> Client:
        """Open a connection; the world closes it in the end."""
        if self.external is None:
            near, far = memory_stream_pair()
            assert self.nursery is not None
            self.nursery.start_soon(self.running.attach, far)
            stream: trio.abc.Stream = near
        else:
            stream = await trio.open_tcp_stream(*self.external)
        client = Client(stream, client_id)
        self._closing.push_async_callback(client.aclose)
        return client

    async def member(self, group: str, *, client_id: str = "client", **what: Any) -> Member:
        """A member-to-be on a connection of its own."""
        return Member(await self.client(client_id), group, **what)

    async def aclose(self) -> None:
        """Close what is open."""
        await self._closing.aclose()

    # --- the situations that scenarios start from ---

    async def completing(self, group: str, *instances: str | None, version: int = 9, **what: Any) -> list[Member]:
        """So many members (static where an instance id is given) in CompletingRebalance, the leader first.

        They come together in the initial rebalance, so the generation is 1.
        """
        members = [await self.member(group, instance=instance, **what) for instance in instances]
        for member in members:
            await member.start_join(version=version)
        for member in members:
            await member.finish_join()
        return sorted(members, key=lambda member: not member.leads)

    async def stable(self, group: str, *instances: str | None, version: int = 9, **what: Any) -> list[Member]:
        """The same, synced: each one's assignment is b"for " and its id."""
        members = await self.completing(group, *instances, version=version, **what)
        await settle(members)
        return members

    async def stable1(self, group: str, **what: Any) -> Member:
        """STABLE1: one dynamic member."""
        return (await self.stable(group, None, **what))[0]

    async def stable2(self, group: str, **what: Any) -> tuple[Member, Member]:
        """STABLE2: dynamic leader and follower."""
        first, second = await self.stable(group, None, None, **what)
        return first, second

    async def static2(self, group: str, **what: Any) -> tuple[Member, Member]:
        """STATIC2: static members, the leader first. Their instance ids are i1 (leader) and i2."""
        leader = await self.member(group, instance="i1", **what)
        # A broker with several threads may read two connections in any order.
        assert await (await leader.start_join()).parked()
        follower = await self.member(group, instance="i2", **what)
        await follower.start_join()
        await leader.finish_join()
        await follower.finish_join()
        assert leader.leads, "the first to join leads a new group"
        await settle([leader, follower])
        return leader, follower

    async def preparing(self, group: str, **what: Any) -> tuple[Member, Member, Member]:
        """PREPARING: STABLE2, and a third member whose JoinGroup is parked."""
        leader, follower = await self.stable2(group, **what)
        third = await self.member(group, **what)
        await third.start_join()
        assert third.call is not None
        assert await third.call.parked()
        return leader, follower, third


async def settle(members: list[Member]) -> None:
    """Sync everybody; each gets b"for " and its id."""
    assignments = {member.id: b"for " + member.id.encode() for member in members}
    calls = [await member.sync(assignments if member.leads else None) for member in members]
    for member, call in zip(members, calls, strict=True):
        answer = await call.answer()
        assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code).name
        member.assignment = answer.assignment
        assert member.assignment == assignments[member.id]


def scenario_config(**settings: Any) -> Config:
    """The settings of the in-process world: Kafka's defaults, no listener, topics t (3 partitions) and u (3)."""
    return Config(listeners=(), topics={TOPIC: 3, "u": 3, "wide": 1000}, **settings)


@asynccontextmanager
async def open_world(external: tuple[str, int] | None, **settings: Any) -> AsyncIterator[World]:
    """Run a world: a server of its own with these settings, or the foreign broker as it is."""
    if external is not None:
        world = World(None, None, external)
        try:
            yield world
        finally:
            await world.aclose()
        return
    async with trio.open_nursery() as nursery:
        world = World(await nursery.start(serve, scenario_config(**settings)), nursery)
        try:
            yield world
        finally:
            await world.aclose()
            nursery.cancel_scope.cancel()


__all__ = ["REQUESTS", "Call", "Client", "Closed", "Member", "World", "open_world", "settle", "sub"]
