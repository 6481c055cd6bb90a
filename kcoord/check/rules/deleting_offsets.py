"""OffsetDelete, which spares what the group reads."""

import struct

from kcoord.check.member import Member, settle
from kcoord.check.probe import Client, sub
from kcoord.check.rule import rule
from kcoord.check.topics import created
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
GONE = (-1, -1, "")

DELETED = "KIP-496; Apache Kafka OffsetMetadataManager.deleteOffsets"
VALIDATED = "KIP-496; Apache Kafka ClassicGroup.validateOffsetDelete"
READ = "KIP-496; Apache Kafka ClassicGroup.isSubscribedToTopic, ClassicGroup.computeSubscribedTopics"
HANDLED = "Apache Kafka KafkaApis.handleOffsetDeleteRequest, OffsetDeleteResponse.Builder"


def topic(name: str, *partitions: int) -> OffsetDeleteRequestTopic:
    """A topic of a request."""
    return OffsetDeleteRequestTopic(
        name=name, partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
    )


def request(group: str, wanted: dict[str, list[int]]) -> OffsetDeleteRequest:
    """A request for partitions by the names of the topics."""
    return OffsetDeleteRequest(group_id=group, topics=[topic(name, *wanted[name]) for name in wanted])


async def delete(client: Client, group: str, wanted: dict[str, list[int]]) -> dict[tuple[str, int], ErrorCode]:
    """Send OffsetDelete, which must be good as such; return the error of each partition."""
    answer = await client.call(request(group, wanted))
    assert answer.error_code == ErrorCode.NONE
    assert answer.throttle_time_ms == 0
    return {
        (topic.name, one.partition_index): ErrorCode(one.error_code)
        for topic in answer.topics
        for one in topic.partitions
    }


async def assert_refused(client: Client, group: str, wanted: dict[str, list[int]], error: ErrorCode) -> None:
    """Check that the whole request is answered with this error."""
    answer = await client.call(request(group, wanted))
    assert ErrorCode(answer.error_code) is error
    assert answer.topics == []


# --- groups that have no such offsets to delete ---


@rule(
    id="L1",
    api="OffsetDelete",
    says="The empty group id is refused, whatever else the request names.",
    source="Apache Kafka GroupCoordinatorService.deleteOffsets",
    versions="0",
)
async def l1(world: World) -> None:
    client = await world.client()
    for wanted in ({world.t: [0]}, {world.t: [9]}, {world.topic("nope"): [0]}, {}):
        await assert_refused(client, "", wanted, ErrorCode.INVALID_GROUP_ID)


@rule(
    id="L2",
    api="OffsetDelete",
    says="A group that does not exist is told so for the whole request, also if the topics do not exist either.",
    source=f"{HANDLED}: the coordinator is asked, even if no partition is left to ask about",
    versions="0",
    also="L12",
)
async def l2(world: World) -> None:
    client, nope = await world.client(), world.topic("nope")
    for wanted in ({world.t: [0]}, {nope: [0]}, {nope: [0], world.t: [9]}, {}):
        await assert_refused(client, world.group(), wanted, ErrorCode.GROUP_ID_NOT_FOUND)


@rule(
    id="L6",
    api="OffsetDelete",
    says="From a group with members of another type than consumer nothing is deleted.",
    source=VALIDATED,
    versions="0",
    cost=3.1,
)
async def l6(world: World) -> None:
    member = await world.stable1(world.group(), protocol_type="connect")
    await member.commit({(world.t, 0): 3})
    for wanted in ({world.t: [0]}, {world.topic("nope"): [0]}, {}):
        await assert_refused(member.client, member.group, wanted, ErrorCode.NON_EMPTY_GROUP)
    assert await member.client.fetch(member.group, {world.t: [0]}) == {(world.t, 0): (3, -1, "")}


# --- topics that are read, and topics that are not ---


@rule(
    id="L3",
    api="OffsetDelete",
    says="Offsets of a topic that members read are not deleted, neither those of partitions without any.",
    source=READ,
    versions="0",
    cost=3.1,
)
async def l3(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.t, 0): 3})
    wanted = {world.t: [0, 1]}
    refused = {(world.t, 0): SUBSCRIBED, (world.t, 1): SUBSCRIBED}
    assert await delete(member.client, member.group, wanted) == refused
    assert await member.client.fetch(member.group, {world.t: [0]}) == {(world.t, 0): (3, -1, "")}


@rule(
    id="L3b",
    api="OffsetDelete",
    says="During a rebalance the topics count as read that the members had subscribed to.",
    source=READ,
    versions="0",
    cost=6.8,
)
async def l3b(world: World) -> None:
    leader, follower, _ = await world.preparing(world.group())
    await leader.commit({(world.t, 0): 3, (world.u, 0): 4})
    assert await delete(follower.client, leader.group, {world.t: [0], world.u: [0]}) == {
        (world.t, 0): SUBSCRIBED,
        (world.u, 0): ErrorCode.NONE,
    }


@rule(
    id="L4",
    api="OffsetDelete",
    says="Offsets of a topic that no member reads are deleted, and the members do not notice.",
    source=DELETED,
    versions="0",
    cost=3.1,
)
async def l4(world: World) -> None:
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    await member.commit({(world.t, 0): 3, (world.u, 0): 4, (world.u, 1): 5})
    assert await delete(client, group, {world.u: [0], world.t: [0]}) == {
        (world.u, 0): ErrorCode.NONE,
        (world.t, 0): SUBSCRIBED,
    }
    assert await client.fetch(group) == {(world.t, 0): (3, -1, ""), (world.u, 1): (5, -1, "")}
    assert await client.fetch(group, {world.u: [0]}) == {(world.u, 0): GONE}
    assert await member.heartbeat() is ErrorCode.NONE


async def two_who_read(world: World, *topics: str) -> list[Member]:
    """Members of one group in CompletingRebalance, each of which reads one of the topics."""
    group = world.waiting_group()
    members = [await world.member(group, protocols=[("range", sub(topic))]) for topic in topics]
    for member in members:
        await member.start_join()
    for member in members:
        await member.finish_join()
    return members


@rule(
    id="L4b",
    api="OffsetDelete",
    says="A topic counts as read if one of the members reads it.",
    source=READ,
    versions="0",
    cost=6.2,
)
async def l4b(world: World) -> None:
    other = await created(await world.client())
    first, _second = await two_who_read(world, world.t, world.u)
    assert await delete(first.client, first.group, {world.t: [0], world.u: [0], other: [0]}) == {
        (world.t, 0): SUBSCRIBED,
        (world.u, 0): SUBSCRIBED,
        (other, 0): ErrorCode.NONE,
    }


@rule(
    id="L5",
    api="OffsetDelete",
    says="If a member's subscription cannot be read, every topic counts as read.",
    source=READ,
    versions="0",
    each={"metadata": (b"", b"\x00", b"\x00\x00\x00\x00")},
    cost=3.1,
)
async def l5(world: World, metadata: bytes) -> None:
    member = await world.stable1(world.group(), protocols=[("range", metadata)])
    await member.commit({(world.t, 0): 3, (world.u, 0): 4})
    assert await delete(member.client, member.group, {world.t: [0], world.u: [0]}) == {
        (world.t, 0): SUBSCRIBED,
        (world.u, 0): SUBSCRIBED,
    }


@rule(
    id="L5b",
    api="OffsetDelete",
    says="Once a member says what cannot be read, every topic counts as read, whatever was known before.",
    source=f"{READ}: computed anew for each generation",
    versions="0",
    cost=3.2,
)
async def l5b(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.u, 0): 4, (world.u, 1): 5})
    assert await delete(member.client, member.group, {world.u: [0]}) == {(world.u, 0): ErrorCode.NONE}
    member.protocols = [("range", b"\x00")]
    await member.start_join()
    await member.finish_join()
    assert await delete(member.client, member.group, {world.u: [1]}) == {(world.u, 1): SUBSCRIBED}
    await settle([member])
    assert await delete(member.client, member.group, {world.u: [1]}) == {(world.u, 1): SUBSCRIBED}
    assert await member.client.fetch(member.group) == {(world.u, 1): (5, -1, "")}


@rule(
    id="L7",
    api="OffsetDelete",
    says="When the members have left nothing counts as read, whatever the type of the group was.",
    source=f"{VALIDATED}; ClassicGroup.initNextGeneration: nobody is left to read anything",
    versions="0",
    each={"protocol_type": ("consumer", "connect")},
    cost=3.1,
    also="L8",
)
async def l7(world: World, protocol_type: str) -> None:
    member = await world.stable1(world.group(), protocol_type=protocol_type)
    await member.commit({(world.t, 0): 3, (world.t, 1): 4})
    await member.client.leave(member.group, member.id)
    assert await delete(member.client, member.group, {world.t: [0]}) == {(world.t, 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group) == {(world.t, 1): (4, -1, "")}


@rule(
    id="L9",
    api="OffsetDelete",
    says="To delete an offset that is not there is no error.",
    source=DELETED,
    versions="0",
)
async def l9(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 3, (world.t, 1): 4})
    for _ in range(2):
        assert await delete(client, group, {world.t: [0]}) == {(world.t, 0): ErrorCode.NONE}
        assert await client.fetch(group) == {(world.t, 1): (4, -1, "")}


@rule(
    id="L10",
    api="OffsetDelete",
    says="A group outlives the last of its offsets.",
    source=f"{DELETED}: only offsets are removed, until GroupCoordinatorShard.cleanupGroupMetadata comes by",
    versions="0",
    since="4.0",
)
async def l10(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 3})
    for _ in range(2):
        assert await delete(client, group, {world.t: [0]}) == {(world.t, 0): ErrorCode.NONE}
        assert await client.fetch(group) == {}
    described = await client.describe(group)
    assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")


@rule(
    id="L13",
    api="OffsetDelete",
    says="In a group's first rebalance, when it is not known what members read, every topic counts as read.",
    source=READ,
    versions="0",
)
async def l13(world: World) -> None:
    member = await world.member(world.waiting_group())
    call = await member.start_join()
    assert await call.parked()
    client = await world.client()
    wanted = {world.t: [0], world.u: [0]}
    assert await delete(client, member.group, wanted) == {(world.t, 0): SUBSCRIBED, (world.u, 0): SUBSCRIBED}


# --- the answer ---


@rule(
    id="L11",
    api="OffsetDelete",
    says="Each partition that does not exist is told so by itself, and the others' offsets are deleted.",
    source=HANDLED,
    versions="0",
)
async def l11(world: World) -> None:
    client, group, nope = await world.client(), world.group(), world.topic("nope")
    await client.commit(group, {(world.t, 0): 3, (world.t, 1): 4})
    wanted = {nope: [0, 1], world.t: [0, 3, -1], world.u: [2]}
    assert await delete(client, group, wanted) == {
        (nope, 0): UNKNOWN,
        (nope, 1): UNKNOWN,
        (world.t, 0): ErrorCode.NONE,
        (world.t, 3): UNKNOWN,
        (world.t, -1): UNKNOWN,
        (world.u, 2): ErrorCode.NONE,
    }
    assert await client.fetch(group) == {(world.t, 1): (4, -1, "")}


@rule(
    id="L11b",
    api="OffsetDelete",
    says="Topics with something unknown in them are answered first; a known one without partitions is left out.",
    source=HANDLED,
    versions="0",
    since="4.0",
)
async def l11b(world: World) -> None:
    client, group, nope = await world.client(), world.group(), world.topic("nope")
    other = await created(client)
    await client.commit(group, {(world.t, 0): 3})
    answer = await client.call(request(group, {world.u: [0], other: [], nope: [], world.t: [0, 3, 1]}))
    assert [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics] == [
        (nope, []),
        (world.t, [3, 0, 1]),
        (world.u, [0]),
    ]


@rule(
    id="L11c",
    api="OffsetDelete",
    says="A topic that is named twice is answered twice, but once if a partition is refused as unknown.",
    source=f"{HANDLED}: where nothing is refused, the coordinator's answer is the answer; else the two are merged",
    versions="0",
    since="4.0",
)
async def l11c(world: World) -> None:
    client, group = await world.client(), world.group()
    t, u, nope = world.t, world.u, world.topic("nope")
    await client.commit(group, {(t, 0): 3, (t, 1): 4})

    async def answered(*topics: OffsetDeleteRequestTopic) -> list[tuple[str, list[tuple[int, int]]]]:
        answer = await client.call(OffsetDeleteRequest(group_id=group, topics=list(topics)))
        assert answer.error_code == ErrorCode.NONE
        return [
            (each.name, [(one.partition_index, one.error_code) for one in each.partitions]) for each in answer.topics
        ]

    assert await answered(topic(t, 0, 0)) == [(t, [(0, 0), (0, 0)])]
    assert await answered(topic(t, 0), topic(u, 0), topic(t, 1)) == [(t, [(0, 0)]), (u, [(0, 0)]), (t, [(1, 0)])]
    found = await answered(topic(t, 0, 9), topic(u, 0), topic(t, 1))
    assert found == [(t, [(9, UNKNOWN), (0, 0), (1, 0)]), (u, [(0, 0)])]
    found = await answered(topic(t, 0), topic(nope, 0), topic(t, 1))
    assert found == [(nope, [(0, UNKNOWN)]), (t, [(0, 0), (1, 0)])]


@rule(
    id="L14",
    api="OffsetDelete",
    says="In the answer the error comes before the throttle time.",
    source="KIP-496; Apache Kafka OffsetDeleteResponse.json",
    versions="0",
)
async def l14(world: World) -> None:
    client = await world.client()
    await client.send(request("", {world.t: [0]}), correlation_id=77)
    assert await client.read_frame() == struct.pack(">ihii", 77, ErrorCode.INVALID_GROUP_ID, 0, 0)
