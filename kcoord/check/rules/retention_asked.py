"""Offsets whose commits say how long they are to be kept, as versions 2 to 4 of OffsetCommit can."""

import trio

from kcoord.check.rule import rule
from kcoord.check.rules.retention import (
    CONDITION,
    EXPIRED,
    GONE,
    JUST_AFTER,
    MINUTE,
    SHORT,
    committed,
    connect_worker,
    is_gone,
    stay,
)
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetCommitRequest

EXPLICIT = "Apache Kafka OffsetExpirationConditionImpl.isOffsetExpired, OffsetMetadataManager.expireTimestampMs"


@rule(
    id="R8",
    api="OffsetCommit",
    says="A commit of version 2 to 4 may say how long its offset is kept, shorter or longer than others.",
    source=f"KIP-211; {EXPLICIT}",
    versions="2-4",
    settings=SHORT,
    each={"version": (2, 3, 4)},
    cost=129.3,
    also="J30",
)
async def r8(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    places = {0: 1, 1: 2 * MINUTE * 1000, 2: -1}
    for partition, retention in places.items():
        answer = await client.commit(group, {(world.t, partition): 1}, version=version, retention=retention)
        assert answer == {(world.t, partition): ErrorCode.NONE}
    await trio.sleep(3)
    assert await committed(client, group) == {(world.t, 1), (world.t, 2)}
    assert await client.fetch(group, {world.t: [0]}) == {(world.t, 0): GONE}
    await trio.sleep(JUST_AFTER)
    assert await committed(client, group) == {(world.t, 1)}
    await trio.sleep(JUST_AFTER)
    assert await is_gone(client, group)


@rule(
    id="R8f",
    api="OffsetCommit",
    says="From version 5 on a commit cannot say how long its offset is kept: it is the broker's time.",
    source=f"KIP-211; {EXPLICIT}",
    versions="5-9",
    settings=SHORT,
    cost=66.1,
)
async def r8f(world: World) -> None:
    client, group = await world.client(), world.group()
    places = [(topic, partition) for topic in (world.t, world.u) for partition in range(3)]
    versions = world.offered(OffsetCommitRequest, range(5, 10))
    for place, version in zip(places, versions, strict=False):
        answer = await client.commit(group, {place: 1}, version=version, retention=1)
        assert answer == {place: ErrorCode.NONE}
    await trio.sleep(3)
    assert await committed(client, group) == set(places[: len(versions)])
    await trio.sleep(JUST_AFTER)
    assert await is_gone(client, group)


@rule(
    id="R8b",
    api="OffsetCommit",
    says="An offset that is to be kept for no time, or less, goes soon.",
    source=EXPLICIT,
    versions="2-4",
    settings=SHORT,
    cost=3.1,
)
async def r8b(world: World) -> None:
    client, group = await world.client(), world.group()
    for partition, retention in enumerate((0, -5)):
        await client.commit(group, {(world.t, partition): 1}, version=2, retention=retention)
    await trio.sleep(3)
    assert await is_gone(client, group)


@rule(
    id="R8c",
    api="OffsetCommit",
    says="The time that a commit has said counts from the commit, but does so only when the members have left.",
    source=f"{EXPIRED}; {EXPLICIT}",
    versions="2-4",
    settings=SHORT,
    cost=129.3,
)
async def r8c(world: World) -> None:
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    await member.commit({(world.t, 0): 1}, version=2, retention=20_000)
    await member.commit({(world.t, 1): 1}, version=2, retention=2 * MINUTE * 1000)
    await stay(30, member)
    assert await committed(client, group) == {(world.t, 0), (world.t, 1)}, "what members read is kept"
    await client.leave(group, member.id)
    await trio.sleep(3)
    assert await committed(client, group) == {(world.t, 1)}
    await trio.sleep(JUST_AFTER)
    assert await committed(client, group) == {(world.t, 1)}, "it is kept for longer than the broker's minute"
    await trio.sleep(30)
    assert await is_gone(client, group)


@rule(
    id="R8d",
    api="OffsetCommit",
    says="Under members the time that a commit has said counts for topics that nobody reads, and for no others.",
    source=f"{EXPIRED}; {EXPLICIT}",
    versions="2-4",
    settings=SHORT,
    cost=8.2,
)
async def r8d(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.t, 0): 1, (world.u, 0): 2}, version=2, retention=1_000)
    await stay(5, member)
    assert await committed(member.client, member.group) == {(world.t, 0)}


@rule(
    id="R8e",
    api="OffsetCommit",
    says="The time that a commit has said does not count in a rebalance, nor under members of another type.",
    source=f"{CONDITION}; without a condition nothing expires",
    versions="2-4",
    settings=SHORT,
    cost=11.3,
)
async def r8e(world: World) -> None:
    worker = await connect_worker(world, world.group())
    await worker.commit({(world.t, 0): 1}, version=2, retention=1_000)
    first = await world.stable1(world.group(), rebalance=60_000)
    second = await world.member(first.group)
    await second.start_join()
    await first.commit({(world.u, 0): 1}, version=2, retention=1_000)
    await stay(5, worker, first)
    assert await committed(worker.client, worker.group) == {(world.t, 0)}
    assert await committed(first.client, first.group) == {(world.u, 0)}
