"""Rebalances: what begins and completes one."""

from dataclasses import replace

import trio

from kcoord.check.member import Member, settle
from kcoord.check.probe import Client, sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
    Stopwatch,
    assert_sync_refused,
    beating,
    generation_of_next,
    join_at_once,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode

EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"
ADDED = "Apache Kafka GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin"
PREPARED = "Apache Kafka GroupMetadataManager.prepareRebalance"
JOINED = "Apache Kafka ClassicGroup.hasAllMembersJoined"


def changed(world: World) -> list[tuple[str, bytes]]:
    """What a member offers that has subscribed to something else."""
    return [("range", sub(world.u))]


# --- what begins a rebalance ---


@rule(
    id="D7",
    api="JoinGroup",
    says="A newcomer makes a stable group rebalance: it waits, without a delay, until the others have rejoined.",
    source=f"{ADDED}; {JOINED}",
    versions="0-9",
    cost=3.4,
    also="D8",
)
async def d7(world: World) -> None:
    member = await world.stable1(world.group())
    newcomer = await world.member(member.group)
    call = await newcomer.start_join()
    assert await call.parked()
    assert await state_of(world, member.group) == "PreparingRebalance"
    assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    watch = Stopwatch(world)
    await join_at_once(member)
    await newcomer.finish_join()
    assert watch.shows(0)
    assert member.generation == newcomer.generation == 2
    assert await state_of(world, member.group) == "CompletingRebalance"


@rule(
    id="D7b",
    api="JoinGroup",
    says="A leader that rejoins goes on to lead, and is told of the newcomers, too.",
    source="Apache Kafka ClassicGroup.maybeElectNewJoinedLeader",
    versions="0-9",
    cost=3.4,
)
async def d7b(world: World) -> None:
    member = await world.stable1(world.group())
    newcomer = await world.member(member.group)
    await start_in_order(newcomer)
    await join_at_once(member)
    await newcomer.finish_join()
    assert member.leads
    assert newcomer.leader == member.id
    assert set(member.listed) == {member.id, newcomer.id}
    assert newcomer.listed == ()


@rule(
    id="D9",
    api="JoinGroup",
    says="A leader that rejoins a stable group begins a rebalance, though nothing has changed.",
    source=f"{EXISTING}: Stable, the leader",
    versions="0-9",
    cost=6.4,
)
async def d9(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    call = await leader.start_join()
    assert await call.parked()
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await join_at_once(follower)
    await leader.finish_join()
    assert leader.generation == follower.generation == 2
    assert leader.leads


@rule(
    id="D10",
    api="JoinGroup",
    says="The only member of a group is answered at once when it rejoins, one generation later each time.",
    source=f"{EXISTING}; {JOINED}",
    versions="0-9",
    cost=3.2,
)
async def d10(world: World) -> None:
    member = await world.stable1(world.group())
    for generation in (2, 3, 4):
        await join_at_once(member)
        assert member.generation == generation
        assert member.listed == (member.id,)
        await settle([member])


@rule(
    id="D11",
    api="JoinGroup",
    says="A follower that rejoins a stable group unchanged is answered at once, also if it asks for other timeouts.",
    source=f"{EXISTING}: Stable, an unchanged follower",
    versions="0-9",
    cost=6.1,
)
async def d11(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    follower.session, follower.rebalance = 20_000, 40_000
    await join_at_once(follower)
    assert (follower.generation, follower.leader, follower.listed) == (1, leader.id, ())
    assert await state_of(world, leader.group) == "Stable"
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


async def check_that_change_rebalances(
    world: World, before: list[tuple[str, bytes]], after: list[tuple[str, bytes]]
) -> None:
    """Let a follower rejoin with other protocols; everybody has to."""
    leader, follower = await world.stable2(world.group(), protocols=before)
    follower.protocols = after
    call = await follower.start_join()
    assert await call.parked()
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await join_at_once(leader)
    await follower.finish_join()
    assert leader.generation == follower.generation == 2


@rule(
    id="D12",
    api="JoinGroup",
    says="A follower that rejoins with other metadata begins a rebalance.",
    source=f"{EXISTING}; ClassicGroupMember.matches",
    versions="0-9",
    cost=6.4,
)
async def d12(world: World) -> None:
    await check_that_change_rebalances(world, [("range", sub(world.t))], changed(world))


@rule(
    id="D13",
    api="JoinGroup",
    says="A follower that rejoins with its protocols in another order begins a rebalance.",
    source=f"{EXISTING}; ClassicGroupMember.matches",
    versions="0-9",
    cost=6.4,
)
async def d13(world: World) -> None:
    both = [("range", sub(world.t)), ("roundrobin", sub(world.t))]
    await check_that_change_rebalances(world, both, both[::-1])


@rule(
    id="D14",
    api="JoinGroup",
    says="A follower that rejoins with a protocol more begins a rebalance.",
    source=f"{EXISTING}; ClassicGroupMember.matches",
    versions="0-9",
    cost=6.4,
)
async def d14(world: World) -> None:
    both = [("range", sub(world.t)), ("roundrobin", sub(world.t))]
    await check_that_change_rebalances(world, both[:1], both)


# --- before the leader has sent the assignments ---


@rule(
    id="D15",
    api="JoinGroup",
    says="A leader that rejoins unchanged before its SyncGroup is answered again, with the list of members.",
    source=f"{EXISTING}: CompletingRebalance, the same protocols",
    versions="0-9",
    cost=3.1,
)
async def d15(world: World) -> None:
    (member,) = await world.completing(world.group(), None)
    await join_at_once(member)
    assert (member.generation, member.leader, member.listed) == (1, member.id, (member.id,))
    assert await state_of(world, member.group) == "CompletingRebalance"


@rule(
    id="D16",
    api="JoinGroup",
    says="A follower that rejoins unchanged before the leader's SyncGroup is answered again, and nobody else minds.",
    source=f"{EXISTING}: CompletingRebalance, the same protocols",
    versions="0-9",
    cost=6.1,
)
async def d16(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    await join_at_once(follower)
    assert (follower.generation, follower.leader, follower.listed) == (1, leader.id, ())
    await join_at_once(leader)
    assert set(leader.listed) == {leader.id, follower.id}
    assert leader.generation == 1
    await settle([leader, follower])


@rule(
    id="D17",
    api="JoinGroup",
    says="A leader that rejoins changed before its SyncGroup begins a rebalance; each SyncGroup that waits is told so.",
    source=f"{EXISTING}: CompletingRebalance; {PREPARED}",
    versions="0-9",
    cost=6.8,
)
async def d17(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    sync = await follower.sync()
    assert await sync.parked()
    leader.protocols = changed(world)
    call = await leader.start_join()
    assert await call.parked()
    assert_sync_refused(await sync.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    await join_at_once(follower)
    answer = await leader.finish_join()
    assert leader.generation == follower.generation == 2
    assert {one.member_id: one.metadata for one in answer.members} == {
        leader.id: sub(world.u),
        follower.id: sub(world.t),
    }


@rule(
    id="D17b",
    api="JoinGroup",
    says="A follower that rejoins changed elsewhere, while its SyncGroup waits, begins a rebalance.",
    source=f"{EXISTING}: CompletingRebalance; {PREPARED}",
    versions="0-9",
    cost=6.8,
)
async def d17b(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    sync = await follower.sync()
    assert await sync.parked()
    again = replace(follower, client=await world.client(), protocols=changed(world))
    call = await again.start_join()
    assert await call.parked()
    assert_sync_refused(await sync.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    await join_at_once(leader)
    await again.finish_join()
    assert again.generation == 2


@rule(
    id="D18",
    api="JoinGroup",
    says="A newcomer before the leader's SyncGroup begins a rebalance; each SyncGroup that waits is told so.",
    source=f"{ADDED}; {PREPARED}",
    versions="0-9",
    cost=7.0,
)
async def d18(world: World) -> None:
    leader, *followers = await world.completing(world.group(), None, None, None)
    syncs = [await follower.sync() for follower in followers]
    for sync in syncs:
        assert await sync.parked()
    newcomer = await world.member(leader.group)
    call = await newcomer.start_join()
    for sync in syncs:
        assert_sync_refused(await sync.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert await call.parked()
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    everybody = [leader, *followers, newcomer]
    for member in everybody[:-1]:
        await member.start_join()
    for member in everybody:
        await member.finish_join()
    assert {member.generation for member in everybody} == {2}
    await settle(everybody)


# --- what completes a rebalance ---


@rule(
    id="D19",
    api="JoinGroup",
    says="A rebalance waits until every member has rejoined, and makes one generation of them.",
    source=JOINED,
    versions="0-9",
    cost=6.7,
)
async def d19(world: World) -> None:
    leader, follower, third = await world.preparing(world.group())
    call = await leader.start_join()
    assert await call.parked()
    await join_at_once(follower)
    await leader.finish_join()
    await third.finish_join()
    assert leader.generation == follower.generation == third.generation == 2
    assert set(leader.listed) == {leader.id, follower.id, third.id}


@rule(
    id="D20",
    api="LeaveGroup",
    says="A group becomes empty by a generation of its own.",
    source="Apache Kafka ClassicGroup.initNextGeneration",
    versions="0-5",
    cost=6.1,
)
async def d20(world: World) -> None:
    member = await world.stable1(world.group())
    assert (await member.client.leave(member.group, member.id)).error_code == ErrorCode.NONE
    assert await state_of(world, member.group) == "Empty"
    assert await generation_of_next(world, member.group) == 3


async def held_up(world: World) -> tuple[Member, Member, Client, str]:
    """A rebalance for which all members have come, but not one that was handed out an id.

    Returns the two that wait, and the client and the id of the one that does not.
    """
    member = await world.stable1(world.group())
    client = await world.client()
    answer = await (await client.join(member.group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    call = await member.start_join()
    assert await call.parked()
    return member, newcomer, client, answer.member_id


@rule(
    id="D28",
    api="JoinGroup",
    says="Who was handed out a member id holds a rebalance up, until it joins with it.",
    source=f"KIP-394; {JOINED}",
    versions="4-9",
    cost=3.4,
    also="D29",
)
async def d28(world: World) -> None:
    member, newcomer, client, pending = await held_up(world)
    late = await client.join(member.group, pending)
    assert (await late.answer()).error_code == ErrorCode.NONE
    await member.finish_join()
    await newcomer.finish_join()
    assert member.generation == newcomer.generation == 2
    assert set(member.listed) == {member.id, newcomer.id, pending}


@rule(
    id="D30",
    api="LeaveGroup",
    says="Who holds a rebalance up, as it was handed out a member id, does so no more when it leaves.",
    source=f"KIP-394; Apache Kafka GroupMetadataManager.classicGroupLeaveToClassicGroup; {JOINED}",
    versions="3-5",
    cost=3.4,
)
async def d30(world: World) -> None:
    member, newcomer, client, pending = await held_up(world)
    left = await client.leave(member.group, pending)
    assert (left.error_code, left.members[0].error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    await member.finish_join()
    await newcomer.finish_join()
    assert set(member.listed) == {member.id, newcomer.id}


@rule(
    id="D31",
    api="JoinGroup",
    says="Who holds a rebalance up, as it was handed out a member id, does so for its session timeout at most.",
    source="KIP-394; Apache Kafka GroupMetadataManager.removePendingMemberAndUpdateClassicGroup",
    versions="4-9",
    cost=9.2,
)
async def d31(world: World) -> None:
    group = world.group()
    member = await world.stable1(group)
    watch = Stopwatch(world)
    answer = await (await (await world.client()).join(group, session=6_000)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    newcomer = await world.member(group)
    await newcomer.start_join()
    call = await member.start_join()
    assert await call.parked()
    await member.finish_join()
    assert watch.shows(6)
    await newcomer.finish_join()
    assert set(member.listed) == {member.id, newcomer.id}


@rule(
    id="D32",
    api="JoinGroup",
    says="A member id that was handed out lasts for the session timeout that it was asked for with.",
    source="KIP-394; Apache Kafka GroupMetadataManager.classicGroupJoinNewDynamicMember",
    versions="4-9",
    cost=10.5,
)
async def d32(world: World) -> None:
    client, group = await world.client(), world.group()
    member = await world.stable1(group)
    async with beating(world, member):
        short = (await (await client.join(group, session=6_000)).answer()).member_id
        long = (await (await client.join(group, session=9_000)).answer()).member_id
        await trio.sleep(7)
        answer = await (await client.join(group, short)).answer()
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert answer.member_id == short
        assert await (await client.join(group, long)).parked()
