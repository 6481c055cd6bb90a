"""What holds a rebalance up and what ends that: members that leave, stop, ask again, or never come."""

import trio

from kcoord.check.member import Member, settle
from kcoord.check.rule import rule
from kcoord.check.steps import (
    WRITTEN,
    Stopwatch,
    assert_join_refused,
    assert_sync_refused,
    beating,
    generation_of_next,
    leave,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode

LEFT = "Apache Kafka GroupMetadataManager.removeMemberAndUpdateClassicGroup"
SCHEDULED = "Apache Kafka GroupMetadataManager.maybeCompleteJoinElseSchedule"
COMPLETED = "Apache Kafka GroupMetadataManager.completeClassicGroupJoin"
EXPIRED = "Apache Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat"
PENDING = "KIP-394; Apache Kafka GroupMetadataManager.expirePendingMember"


async def rejoined(first: Member, second: Member) -> None:
    """Wait until both are told of one generation."""
    await first.finish_join()
    await second.finish_join()
    assert first.generation == second.generation


# --- members that go ---


@rule(
    id="joining-1",
    api="LeaveGroup",
    says="When the only one leaves that a rebalance waits for, it is over at once.",
    source=f"{LEFT}; {SCHEDULED}",
    versions="3-5",
    cost=7.0,
)
async def joining_1(world: World) -> None:
    leader, follower, third = await world.preparing(world.group())
    assert await (await leader.start_join()).parked()
    watch = Stopwatch(world)
    assert await leave(follower.client, leader.group, follower.id) is ErrorCode.NONE
    await rejoined(leader, third)
    assert watch.shows(0)
    assert leader.generation == 2
    assert set(leader.listed) == {leader.id, third.id}


@rule(
    id="joining-2",
    api="JoinGroup",
    says="When the session ends of the only one that a rebalance waits for, it is over at once.",
    source=f"{EXPIRED}; {SCHEDULED}",
    versions="0-9",
    cost=12.2,
)
async def joining_2(world: World) -> None:
    leader, follower = await world.stable2(world.group(), session=6_000)
    third = await world.member(leader.group)
    # The session begins anew somewhere between the question and its answer.
    watch = Stopwatch(world)
    assert await follower.heartbeat() is ErrorCode.NONE
    await third.start_join()
    assert await (await leader.start_join()).parked()
    await leader.finish_join()
    assert watch.shows(6)
    await third.finish_join()
    assert leader.generation == third.generation == 2
    assert set(leader.listed) == {leader.id, third.id}


@rule(
    id="connections-22",
    api="LeaveGroup",
    says="What a member had that leaves can be given to others at once, and who left joins again as anybody does.",
    source=LEFT,
    versions="0-5",
    cost=6.2,
)
async def connections_22(world: World) -> None:
    leader, follower = await world.stable2(world.group(), session=60_000)
    watch = Stopwatch(world)
    await follower.client.leave(follower.group, follower.id)
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    await leader.finish_join()
    assert watch.shows(0)
    assert leader.listed == (leader.id,)
    await settle([leader])
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    again = await world.member(leader.group)
    await again.start_join()
    await leader.start_join()
    await rejoined(leader, again)
    assert set(leader.listed) == {leader.id, again.id}


@rule(
    id="joining-6",
    api="Heartbeat",
    says="Who has missed its session is told so whatever it asks, and is back by one JoinGroup without the old id.",
    source=f"{EXPIRED}; ClassicGroup.validateMember",
    versions="0-4",
    cost=14.2,
)
async def joining_6(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(8)
    watch = Stopwatch(world)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert_sync_refused(await (await member.sync()).answer(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert set((await member.commit({(world.t, 0): 1})).values()) == {ErrorCode.UNKNOWN_MEMBER_ID}
    call = await member.client.join(member.group, member.id)
    await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, member.id)
    assert watch.shows(0)
    member.id = ""
    await member.start_join()
    await member.finish_join()
    assert member.generation == 3
    await settle([member])
    assert await member.heartbeat() is ErrorCode.NONE


# --- members that ask again, or do not come ---


@rule(
    id="joining-3",
    api="JoinGroup",
    says="A newcomer that loses its connection and asks again, thrice, is one member of one rebalance.",
    source="Apache Kafka GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin; prepareRebalance",
    versions="4-9",
    cost=15.2,
)
async def joining_3(world: World) -> None:
    leader, follower = await world.stable2(world.group(), rebalance=9_000)
    impatient = await world.member(leader.group, rebalance=9_000)
    watch = Stopwatch(world)
    await impatient.start_join()
    async with beating(world, leader, follower):
        for _ in range(3):
            await trio.sleep(2)
            await impatient.client.aclose()
            impatient.client = await world.client()
            await impatient.start_join()
        await leader.start_join()
        await leader.finish_join()
        # The deadline is that of the first request.
        assert watch.shows(9)
        await impatient.finish_join()
    assert sorted(leader.listed) == sorted([leader.id, impatient.id])
    assert leader.generation == impatient.generation == 2
    await settle([leader, impatient])


@rule(
    id="joining-4",
    api="JoinGroup",
    says="Static members that only heartbeat keep a rebalance open, until the sessions of all of them have ended.",
    source=f"KIP-345; {COMPLETED}: if no one has rejoined, it is tried again",
    versions="5-9",
    cost=36.0,
)
async def joining_4(world: World) -> None:
    leader, follower = await world.static2(world.group(), session=7_000, rebalance=2_000)
    async with beating(world, leader) as told_leader:
        async with beating(world, follower) as told_follower:
            passer_by = await world.member(leader.group, rebalance=1_000)
            await start_in_order(passer_by)
            assert await leave(await world.client(), leader.group, passer_by.id) is ErrorCode.NONE
            assert passer_by.call is not None
            assert (await passer_by.call.answer()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
            await trio.sleep(10)
            assert await state_of(world, leader.group) == "PreparingRebalance"
        # Now the follower stops.
        await trio.sleep(8)
        described = await leader.client.describe(leader.group)
        assert described.group_state == "PreparingRebalance"
        assert [one.member_id for one in described.members] == [leader.id]
    assert told_leader[leader.id] <= {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    assert told_follower[follower.id] <= {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    await trio.sleep(8)
    assert await state_of(world, leader.group) == "Empty"
    # It made one empty generation, in the end.
    assert await generation_of_next(world, leader.group) == 3


@rule(
    id="joining-5",
    api="JoinGroup",
    says="The first static member that rejoins completes such a rebalance, and leads; the other one stays.",
    source=f"KIP-345; {COMPLETED}; ClassicGroup.maybeElectNewJoinedLeader",
    versions="5-9",
    cost=9.1,
)
async def joining_5(world: World) -> None:
    leader, follower = await world.static2(world.group(), session=7_000, rebalance=2_000)
    passer_by = await world.member(leader.group, rebalance=1_000)
    async with beating(world, leader, follower) as told:
        await start_in_order(passer_by)
        await (await world.client()).leave(leader.group, passer_by.id)
        await trio.sleep(5)
        assert ErrorCode.REBALANCE_IN_PROGRESS in told[follower.id]
        await follower.start_join()
        # The next deadline completes it.
        await follower.finish_join()
        assert follower.generation == 2
        assert follower.leads
        assert set(follower.listed) == {leader.id, follower.id}


# --- ids that were handed out and are not used ---


@rule(
    id="joining-13",
    api="JoinGroup",
    says="An id that was handed out and is not used holds a rebalance up, unseen, for its session timeout at most.",
    source=PENDING,
    versions="4-9",
    cost=9.2,
)
async def joining_13(world: World) -> None:
    member = await world.stable1(world.group())
    client = await world.client()
    watch = Stopwatch(world)
    ghost = (await (await client.join(member.group, session=6_000)).answer()).member_id
    newcomer = await world.member(member.group)
    await start_in_order(newcomer, member)
    assert ghost not in [one.member_id for one in (await client.describe(member.group)).members]
    await member.finish_join()
    await newcomer.finish_join()
    assert watch.seconds < 7
    assert set(member.listed) == {member.id, newcomer.id}
    await assert_join_refused(await client.join(member.group, ghost), ErrorCode.UNKNOWN_MEMBER_ID, ghost)
    await settle([member, newcomer])


@rule(
    id="joining-14",
    api="LeaveGroup",
    says="An id that was handed out and is given back holds nothing up any more, in old versions, too.",
    source=f"KIP-394; {LEFT}; removePendingMemberAndUpdateClassicGroup",
    versions="0-5",
    cost=3.6,
)
async def joining_14(world: World) -> None:
    member = await world.stable1(world.group())
    client = await world.client()
    ghost = (await (await client.join(member.group)).answer()).member_id
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    assert await (await member.start_join()).parked()
    watch = Stopwatch(world)
    assert await leave(client, member.group, ghost) is ErrorCode.NONE
    await member.finish_join()
    await newcomer.finish_join()
    assert watch.shows(0)
    # The older form names one member, and says the same.
    ghost = (await (await client.join(member.group)).answer()).member_id
    assert (await client.leave(member.group, ghost, version=2)).error_code == ErrorCode.NONE


@rule(
    id="joining-15",
    api="DeleteGroups",
    says="A group that has only handed out ids is empty and can be deleted, and the ids are unknown then.",
    source="KIP-394; Apache Kafka ClassicGroup.validateDeleteGroup",
    versions="0-3",
    cost=0.4,
)
async def joining_15(world: World) -> None:
    client, group = await world.client(), world.group()
    ghost = (await (await client.join(group)).answer()).member_id
    await trio.sleep(WRITTEN)
    assert (await client.list())[group].group_state == "Empty"
    described = await client.describe(group)
    assert (described.group_state, described.members) == ("Empty", [])
    assert await client.delete(group) == {group: ErrorCode.NONE}
    assert group not in await client.list()
    await assert_join_refused(await client.join(group, ghost), ErrorCode.UNKNOWN_MEMBER_ID, ghost)
