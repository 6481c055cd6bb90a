"""Consumers ask how far the records of a leader's epoch go. There is one leader, whose epoch is 0."""

import struct

from kcoord.check.logs import batch, delete_before, new_topic, put
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

FOUND = "Apache Kafka LeaderEpochFileCache.endOffsetFor"
ASKED = "Apache Kafka ReplicaManager.lastOffsetForLeaderEpoch"
LEADER = "KIP-320; Apache Kafka Partition.checkCurrentLeaderEpoch"
NONE = ErrorCode.NONE
UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
AHEAD = (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
FENCED = (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
NOTHING = (NONE, -1, -1)
REPLICA_SINCE = 3
Asked = tuple[str, list[tuple[int, int, int]]]


async def ask(
    client: Client, version: int, *asked: Asked, replica: int = -1
) -> list[tuple[str, list[tuple[int, tuple[int, int, int]]]]]:
    """Ask, of each topic, about (partition, current epoch, epoch); return (partition, (error, epoch, end))."""
    request = OffsetForLeaderEpochRequest(
        replica_id=replica if version >= REPLICA_SINCE else -2,
        topics=[
            OffsetForLeaderTopic(
                topic=name,
                partitions=[
                    OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
                    for index, current, epoch in partitions
                ],
            )
            for name, partitions in asked
        ],
    )
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    return [
        (topic.topic, [(one.partition, (one.error_code, one.leader_epoch, one.end_offset)) for one in topic.partitions])
        for topic in answer.topics
    ]


async def ask_one(client: Client, version: int, name: str, epoch: int, current: int = -1) -> tuple[int, int, int]:
    """Ask about partition 0; return (error, epoch, end)."""
    ((topic, ((index, found),)),) = await ask(client, version, (name, [(0, current, epoch)]))
    assert (topic, index) == (name, 0)
    return found


@rule(
    id="offset-for-leader-epoch-1",
    api="OffsetForLeaderEpoch",
    says="In a log without records the leader's epoch ends at 0, those below it do, and of those above nothing is "
    "known.",
    source=FOUND,
    versions="2-4",
    topics=(),
)
async def offset_for_leader_epoch_1(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    for version in world.offered(OffsetForLeaderEpochRequest):
        for epoch in (-(2**31), -2, 0):
            assert await ask_one(client, version, name, epoch) == (NONE, epoch, 0)
        for epoch in (-1, 1, 2**31 - 1):
            assert await ask_one(client, version, name, epoch) == NOTHING


@rule(
    id="offset-for-leader-epoch-2",
    api="OffsetForLeaderEpoch",
    says="The leader's epoch ends where the log does, and what is below all epochs ended where the log starts.",
    source=f"KIP-279; {FOUND}",
    versions="2-4",
    topics=(),
)
async def offset_for_leader_epoch_2(world: World) -> None:
    client = await world.client()
    for version in world.offered(OffsetForLeaderEpochRequest):
        name = await new_topic(client)
        await put(client, name, 0, batch(b"a", b"b", b"c"))
        for start in (0, 2, 3):
            await delete_before(client, name, 0, start)
            for epoch in (-(2**31), -2):
                assert await ask_one(client, version, name, epoch) == (NONE, epoch, start)
            for epoch in (-1, 1):
                assert await ask_one(client, version, name, epoch) == NOTHING
            assert await ask_one(client, version, name, 0) == (NONE, 0, 3)
        await put(client, name, 0, batch(b"d"))
        assert await ask_one(client, version, name, 0) == (NONE, 0, 4)
        assert await ask_one(client, version, name, -2) == (NONE, -2, 3)


@rule(
    id="offset-for-leader-epoch-3",
    api="OffsetForLeaderEpoch",
    says="Who believes in a later leader is told that it is not known, and who believes in an earlier one is fenced.",
    source=LEADER,
    versions="2-4",
    topics=(),
    each={"epoch": (-2, -1, 0, 1)},
)
async def offset_for_leader_epoch_3(world: World, epoch: int) -> None:
    client = await world.client()
    name = await new_topic(client)
    await put(client, name, 0, batch(b"a"))
    for version in world.offered(OffsetForLeaderEpochRequest):
        for current, what in ((1, AHEAD), (2**31 - 1, AHEAD), (-2, FENCED)):
            assert await ask_one(client, version, name, epoch, current) == what


RIGHT = {-2: (NONE, -2, 0), -1: NOTHING, 0: (NONE, 0, 1), 1: NOTHING}
"""What is said of epochs where there is one record."""


@rule(
    id="offset-for-leader-epoch-4",
    api="OffsetForLeaderEpoch",
    says="Who believes in the right leader is told the same as who does not say in which.",
    source=LEADER,
    versions="2-4",
    topics=(),
)
async def offset_for_leader_epoch_4(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    await put(client, name, 0, batch(b"a"))
    for version in world.offered(OffsetForLeaderEpochRequest):
        for epoch, right in RIGHT.items():
            for current in (-1, 0):
                assert await ask_one(client, version, name, epoch, current) == right


@rule(
    id="offset-for-leader-epoch-5",
    api="OffsetForLeaderEpoch",
    says="Everything is answered in the order of the request, what does not exist by an error.",
    source=ASKED,
    versions="2-4",
    topics=(),
)
async def offset_for_leader_epoch_5(world: World) -> None:
    client = await world.client()
    name, empty, nope = await new_topic(client), await new_topic(client), world.topic("nope")
    await put(client, name, 0, batch(b"a"))
    for version in world.offered(OffsetForLeaderEpochRequest):
        found = await ask(
            client,
            version,
            (nope, [(0, -1, 0), (1, 5, 0)]),
            (name, [(9, -1, 0), (0, -1, 0), (-1, -1, 0)]),
            ("a b", [(0, -1, 0)]),
            ("", [(0, -1, -1)]),
            (empty, []),
        )
        assert found == [
            (nope, [(0, UNKNOWN), (1, UNKNOWN)]),
            (name, [(9, UNKNOWN), (0, (NONE, 0, 1)), (-1, UNKNOWN)]),
            ("a b", [(0, UNKNOWN)]),
            ("", [(0, UNKNOWN)]),
            (empty, []),
        ]


@rule(
    id="offset-for-leader-epoch-6",
    api="OffsetForLeaderEpoch",
    says="What comes twice is answered twice.",
    source=ASKED,
    versions="2-4",
    topics=(),
)
async def offset_for_leader_epoch_6(world: World) -> None:
    client = await world.client()
    name, other = await new_topic(client), await new_topic(client)
    for version in world.offered(OffsetForLeaderEpochRequest):
        found = await ask(
            client, version, (name, [(0, -1, 0), (0, 5, 0)]), (other, [(0, -1, 0)]), (name, [(0, -1, -1), (1, -1, 0)])
        )
        assert found == [
            (name, [(0, (NONE, 0, 0)), (0, AHEAD)]),
            (other, [(0, (NONE, 0, 0))]),
            (name, [(0, NOTHING), (1, (NONE, 0, 0))]),
        ]


@rule(
    id="offset-for-leader-epoch-7",
    api="OffsetForLeaderEpoch",
    says="A topic of which no partition is named is in the answer all the same, even if it does not exist.",
    source=ASKED,
    versions="2-4",
    topics=(),
)
async def offset_for_leader_epoch_7(world: World) -> None:
    client, nope = await world.client(), world.topic("nope")
    for version in world.offered(OffsetForLeaderEpochRequest):
        assert await ask(client, version) == []
        assert await ask(client, version, (nope, [])) == [(nope, [])]


@rule(
    id="offset-for-leader-epoch-8",
    api="OffsetForLeaderEpoch",
    says="It does not matter as which replica somebody asks.",
    source=f"KIP-392; {ASKED}",
    versions="3-4",
    topics=(),
)
async def offset_for_leader_epoch_8(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    for version in world.offered(OffsetForLeaderEpochRequest, (3, 4)):
        for replica in (-1, -2, -3, 0, 1, 5):
            assert await ask(client, version, (name, [(0, -1, 0)]), replica=replica) == [(name, [(0, (NONE, 0, 0))])]


@rule(
    id="offset-for-leader-epoch-9",
    api="OffsetForLeaderEpoch",
    says="A version beside those that are advertised is not served: the connection is closed.",
    source="Apache Kafka RequestContext.parseRequest, SocketServer.processCompletedReceives",
    versions="0+",
    topics=(),
)
async def offset_for_leader_epoch_9(world: World) -> None:
    key = OffsetForLeaderEpochRequest.API_KEY
    for version in world.unserved(OffsetForLeaderEpochRequest):
        async with await world.client() as client:
            await client.send_frame(struct.pack(">hhih", key, version, 1, -1) + bytes(40))
            assert await client.is_closed()
