"""How long offsets, and groups without members, are kept.

The rules need a broker that keeps them for one minute, Kafka's least, and looks every second. Most of them are long.
"""

from typing import Final

import trio

from kcoord.check.member import Member
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

MINUTE: Final = 60
JUST_BEFORE: Final = MINUTE - 3
JUST_AFTER: Final = MINUTE + 3
SHORT: Final = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 1_000}
GONE = (-1, -1, "")

CONDITION = "KIP-211; Apache Kafka ClassicGroup.offsetExpirationCondition"
EXPIRED = "KIP-211; Apache Kafka OffsetMetadataManager.cleanupExpiredOffsets"
CLEANED = "Apache Kafka GroupCoordinatorShard.cleanupGroupMetadata, GroupMetadataManager.maybeDeleteGroup"


async def stay(seconds: float, *members: Member) -> None:
    """Let the time pass, with heartbeats; nobody may be lost meanwhile."""
    end = trio.current_time() + seconds
    while (left := end - trio.current_time()) > 0:
        await trio.sleep(min(2, left))
        for member in members:
            assert await member.heartbeat() in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}


async def is_gone(client: Client, group: str) -> bool:
    """Whether a group neither can be described nor is listed; one alone is no answer."""
    dead: bool = (await client.describe(group)).group_state == "Dead"
    assert dead == (group not in await client.list())
    return dead


async def committed(client: Client, group: str) -> set[tuple[str, int]]:
    """Return for which partitions there are offsets."""
    return set(await client.fetch(group))


async def connect_worker(world: World, group: str) -> Member:
    """A Stable member of a group of another type, whose metadata is no subscription."""
    return await world.stable1(group, protocol_type="connect", protocols=[("range", b"\x00")])


# --- groups without members ---


@rule(
    id="R1",
    api="OffsetCommit",
    says="Where there never were members an offset is kept for the retention time from its commit on.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=93.2,
)
async def r1(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    await trio.sleep(30)
    await client.commit(group, {(world.t, 1): 2})
    await trio.sleep(JUST_BEFORE - 30)
    assert await committed(client, group) == {(world.t, 0), (world.t, 1)}
    await trio.sleep(JUST_AFTER - JUST_BEFORE)
    assert await committed(client, group) == {(world.t, 1)}
    assert await client.fetch(group, {world.t: [0]}) == {(world.t, 0): GONE}
    assert not await is_gone(client, group)
    await trio.sleep(30)
    assert await client.fetch(group) == {}
    assert await is_gone(client, group)


@rule(
    id="R2",
    api="LeaveGroup",
    says="Offsets that members left behind are kept for the retention time from when the last one left.",
    source=CONDITION,
    versions="0-5",
    settings=SHORT,
    cost=136.2,
)
async def r2(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.t, 0): 1})
    await stay(70, member)
    await member.client.leave(member.group, member.id)
    await trio.sleep(JUST_BEFORE)
    assert await committed(member.client, member.group) == {(world.t, 0)}
    assert (await member.client.describe(member.group)).group_state == "Empty"
    await trio.sleep(JUST_AFTER - JUST_BEFORE)
    assert await member.client.fetch(member.group) == {}
    assert await is_gone(member.client, member.group)


@rule(
    id="R2b",
    api="Heartbeat",
    says="Offsets are kept for the retention time from when the session of the last member ended.",
    source=CONDITION,
    versions="0-4",
    settings=SHORT,
    cost=86.2,
)
async def r2b(world: World) -> None:
    member = await world.stable1(world.group(), session=20_000)
    await member.commit({(world.t, 0): 1})
    await trio.sleep(20 + JUST_BEFORE)
    assert await committed(member.client, member.group) == {(world.t, 0)}
    await trio.sleep(JUST_AFTER - JUST_BEFORE)
    assert await is_gone(member.client, member.group)


@rule(
    id="R6",
    api="LeaveGroup",
    says="A group without offsets goes soon after its members, whatever the retention time.",
    source=CLEANED,
    versions="0-5",
    settings=SHORT,
    cost=6.2,
)
async def r6(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert not await is_gone(member.client, member.group)
    await trio.sleep(3)
    assert await is_gone(member.client, member.group)


@rule(
    id="R6b",
    api="JoinGroup",
    says="A group that has only handed out a member id goes soon, and the id with it.",
    source=f"KIP-394; {CLEANED}",
    versions="4-9",
    settings=SHORT,
    cost=3.1,
)
async def r6b(world: World) -> None:
    client, group = await world.client(), world.group()
    answer = await (await client.join(group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    pending = answer.member_id
    assert not await is_gone(client, group)
    await trio.sleep(3)
    assert await is_gone(client, group)
    answer = await (await client.join(group, pending)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, pending)


@rule(
    id="R6c",
    api="JoinGroup",
    says="A group that comes again after it has gone begins with its first generation.",
    source=CLEANED,
    versions="0-9",
    settings=SHORT,
    cost=9.2,
)
async def r6c(world: World) -> None:
    group = world.group()
    member = await world.stable1(group)
    await member.client.leave(group, member.id)
    await trio.sleep(3)
    assert (await world.stable1(group)).generation == 1


@rule(
    id="R6d",
    api="OffsetDelete",
    says="A group without members goes soon after the last of its offsets was deleted.",
    source=CLEANED,
    versions="0",
    settings=SHORT,
    cost=3.1,
    since="4.0",
)
async def r6d(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    topics = [OffsetDeleteRequestTopic(name=world.t, partitions=partitions)]
    answer = await client.call(OffsetDeleteRequest(group_id=group, topics=topics))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert not await is_gone(client, group)
    await trio.sleep(3)
    assert await is_gone(client, group)


# --- groups with members ---


@rule(
    id="R3",
    api="OffsetCommit",
    says="Under members offsets of topics that they read are kept, those of others for the retention time.",
    source=EXPIRED,
    versions="2-10",
    settings=SHORT,
    cost=186.3,
)
async def r3(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.t, 0): 1, (world.u, 0): 2})
    await stay(JUST_BEFORE, member)
    assert await committed(member.client, member.group) == {(world.t, 0), (world.u, 0)}
    await stay(JUST_AFTER - JUST_BEFORE, member)
    assert await committed(member.client, member.group) == {(world.t, 0)}
    await stay(2 * MINUTE, member)
    assert await committed(member.client, member.group) == {(world.t, 0)}
    assert (await member.client.describe(member.group)).group_state == "Stable"


@rule(
    id="R3b",
    api="OffsetCommit",
    says="If a member's subscription cannot be read all offsets of the group are kept.",
    source=f"{CONDITION}, ClassicGroup.computeSubscribedTopics",
    versions="2-10",
    settings=SHORT,
    cost=66.2,
)
async def r3b(world: World) -> None:
    member = await world.stable1(world.group(), protocols=[("range", b"\x00")])
    await member.commit({(world.t, 0): 1, (world.u, 0): 2})
    await stay(JUST_AFTER, member)
    assert await committed(member.client, member.group) == {(world.t, 0), (world.u, 0)}


@rule(
    id="R4",
    api="OffsetCommit",
    says="Under members of another type than consumer all offsets are kept.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=126.3,
)
async def r4(world: World) -> None:
    worker = await connect_worker(world, world.group())
    await worker.commit({(world.t, 0): 1, (world.u, 0): 2})
    await stay(JUST_AFTER + MINUTE, worker)
    assert await committed(worker.client, worker.group) == {(world.t, 0), (world.u, 0)}


@rule(
    id="R5",
    api="OffsetCommit",
    says="While members gather in a rebalance all offsets are kept.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=86.2,
)
async def r5(world: World) -> None:
    first = await world.stable1(world.group(), rebalance=200_000)
    await first.commit({(world.u, 0): 2})
    second = await world.member(first.group, rebalance=200_000)
    await second.start_join()
    await stay(JUST_AFTER + 20, first)
    assert (await first.client.describe(first.group)).group_state == "PreparingRebalance"
    assert await committed(first.client, first.group) == {(world.u, 0)}


@rule(
    id="R5b",
    api="OffsetCommit",
    says="While members wait for their assignments all offsets are kept.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=86.2,
)
async def r5b(world: World) -> None:
    outsider, group = await world.client(), world.group()
    await outsider.commit(group, {(world.u, 0): 2})
    (member,) = await world.completing(group, None, rebalance=200_000)
    await stay(JUST_AFTER + 20, member)
    assert (await outsider.describe(group)).group_state == "CompletingRebalance"
    assert await committed(outsider, group) == {(world.u, 0)}


# --- new commits ---


@rule(
    id="R7",
    api="OffsetCommit",
    says="Where there never were members a new commit keeps the offset of its partition, and no other.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=63.1,
)
async def r7(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1, (world.t, 1): 2})
    await trio.sleep(30)
    await client.commit(group, {(world.t, 1): 3})
    await trio.sleep(JUST_AFTER - 30)
    assert await client.fetch(group) == {(world.t, 1): (3, -1, "")}


@rule(
    id="R7b",
    api="OffsetCommit",
    says="In topics that no member reads a new commit keeps the offset of its partition, and no other.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=66.2,
)
async def r7b(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.u, 0): 1, (world.u, 1): 2})
    await stay(30, member)
    await member.commit({(world.u, 1): 3})
    await stay(JUST_AFTER - 30, member)
    assert await member.client.fetch(member.group) == {(world.u, 1): (3, -1, "")}


@rule(
    id="R7c",
    api="OffsetCommit",
    says="Where members have left a new commit changes nothing: the time counts from when they left.",
    source=CONDITION,
    versions="2-10",
    settings=SHORT,
    cost=66.2,
)
async def r7c(world: World) -> None:
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    await member.commit({(world.t, 0): 1})
    await client.leave(group, member.id)
    await trio.sleep(30)
    assert await client.commit(group, {(world.t, 0): 2}) == {(world.t, 0): ErrorCode.NONE}
    await trio.sleep(JUST_BEFORE - 30)
    assert await client.fetch(group) == {(world.t, 0): (2, -1, "")}
    await trio.sleep(JUST_AFTER - JUST_BEFORE)
    assert await is_gone(client, group)


# --- very long times ---


async def stays(world: World) -> None:
    """Check that an offset is there after more than the minute to which such times once shrank."""
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    await trio.sleep(JUST_AFTER)
    assert await client.fetch(group) == {(world.t, 0): (1, -1, "")}


@rule(
    id="R9",
    api="OffsetCommit",
    says="A retention of 35791395 minutes is one of 68 years, though in 32 bits its milliseconds are 52 s.",
    source="Apache Kafka GroupCoordinatorConfig.offsetsRetentionMs: minutes are multiplied in 64 bits",
    versions="2-10",
    settings={"offsets.retention.minutes": 35_791_395, "offsets.retention.check.interval.ms": 1_000},
    cost=63.1,
)
async def r9(world: World) -> None:
    await stays(world)


@rule(
    id="R9b",
    api="OffsetCommit",
    says="A retention of 2147483647 minutes is one of 4083 years, though in 32 bits its milliseconds are negative.",
    source="Apache Kafka GroupCoordinatorConfig.offsetsRetentionMs: minutes are multiplied in 64 bits",
    versions="2-10",
    settings={"offsets.retention.minutes": 2**31 - 1, "offsets.retention.check.interval.ms": 1_000},
    cost=63.1,
)
async def r9b(world: World) -> None:
    await stays(world)
