"""What happens when somebody does not rejoin in time, or does not sync."""

import trio

from kcoord.check.member import Member, settle
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
    Stopwatch,
    assert_join_refused,
    beating,
    generation_of_next,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode

COMPLETED = "Apache Kafka GroupMetadataManager.completeClassicGroupJoin"
SCHEDULED = "Apache Kafka GroupMetadataManager.maybeCompleteJoinElseSchedule"
ELECTED = "Apache Kafka ClassicGroup.maybeElectNewJoinedLeader"
EXPIRED = "Apache Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat"
UNSYNCED = "Apache Kafka GroupMetadataManager.expirePendingSync"

# --- dynamic members ---


@rule(
    id="D21",
    api="JoinGroup",
    says="A rebalance waits for the rebalance timeout; who has not rejoined by then is out, heartbeats or not.",
    source=f"{SCHEDULED}; {COMPLETED}",
    versions="1-9",
    cost=8.1,
)
async def d21(world: World) -> None:
    leader, follower = await world.stable2(world.group(), rebalance=4_000)
    third = await world.member(leader.group, rebalance=4_000)
    watch = Stopwatch(world)
    await start_in_order(third)
    await leader.start_join()
    async with beating(world, follower, every=0.8) as told:
        await leader.finish_join()
        assert watch.shows(4)
        await third.finish_join()
    assert told[follower.id] == {ErrorCode.REBALANCE_IN_PROGRESS}
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert set(leader.listed) == {leader.id, third.id}
    assert leader.generation == third.generation == 2


@rule(
    id="D22",
    api="JoinGroup",
    says="If the leader does not rejoin in time, one of those that did becomes the leader.",
    source=f"{COMPLETED}; {ELECTED}",
    versions="1-9",
    cost=8.1,
    varies="which of those who stay leads next, as Kafka's order is that of a hash map",
)
async def d22(world: World) -> None:
    leader, follower = await world.stable2(world.group(), rebalance=4_000)
    third = await world.member(leader.group, rebalance=4_000)
    await start_in_order(third)
    await follower.start_join()
    async with beating(world, leader):
        await follower.finish_join()
        await third.finish_join()
    assert await leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert follower.leader == third.leader
    new_leader, other = (follower, third) if follower.leads else (third, follower)
    assert set(new_leader.listed) == {follower.id, third.id}
    assert other.listed == ()


@rule(
    id="D23",
    api="JoinGroup",
    says="The longest rebalance timeout of all members counts.",
    source="Apache Kafka ClassicGroup.rebalanceTimeoutMs",
    versions="1-9",
    cost=11.1,
)
async def d23(world: World) -> None:
    group = world.waiting_group()
    first, second = await world.member(group, rebalance=4_000), await world.member(group, rebalance=7_000)
    for member in (first, second):
        await member.start_join()
    for member in (first, second):
        await member.finish_join()
    await settle([first, second])
    third = await world.member(group, rebalance=1_000)
    watch = Stopwatch(world)
    await start_in_order(third)
    await first.start_join()
    async with beating(world, second):
        await third.finish_join()
        assert watch.shows(7)
        await first.finish_join()


# --- static members ---


@rule(
    id="D24",
    api="JoinGroup",
    says="A static member that alone has not rejoined keeps the rebalance open for as long as it heartbeats.",
    source=f"KIP-345; {COMPLETED}: if nobody has joined, it is tried again after another rebalance timeout",
    versions="5-9",
    cost=15.1,
)
async def d24(world: World) -> None:
    leader, _ = await world.static2(world.group(), rebalance=4_000)
    assert (await leader.client.leave(leader.group, ("", "i2"))).members[0].error_code == ErrorCode.NONE
    async with beating(world, leader) as told:
        await trio.sleep(11)
        assert await state_of(world, leader.group) == "PreparingRebalance"
        assert told[leader.id] == {ErrorCode.REBALANCE_IN_PROGRESS}
    watch = Stopwatch(world)
    await leader.start_join()
    await leader.finish_join()
    assert watch.shows(0)
    assert (leader.generation, leader.listed) == (2, (leader.id,))


@rule(
    id="D24b",
    api="JoinGroup",
    says="A rebalance that only waits for a static member leaves the group empty when that one's session ends.",
    source=f"KIP-345; {EXPIRED}",
    versions="5-9",
    cost=18.1,
)
async def d24b(world: World) -> None:
    leader, follower = await world.static2(world.group(), rebalance=2_000, session=8_000)
    assert await leader.heartbeat() is ErrorCode.NONE
    watch = Stopwatch(world)
    assert (await follower.client.leave(leader.group, ("", "i2"))).members[0].error_code == ErrorCode.NONE
    await watch.until(7.5)
    assert await state_of(world, leader.group) == "PreparingRebalance"
    await watch.until(9)
    assert await state_of(world, leader.group) == "Empty"
    assert await leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await generation_of_next(world, leader.group) == 3


async def static_straggler(world: World) -> tuple[Member, Member, Member]:
    """A group completing generation 2, for which the static i2 (the third of the three) did not rejoin."""
    both = sub(world.t, world.u)
    leader, straggler = await world.static2(world.group(), rebalance=4_000, protocols=[("range", both)])
    newcomer = await world.member(leader.group, rebalance=4_000)
    watch = Stopwatch(world)
    await newcomer.start_join()
    await leader.start_join()
    async with beating(world, straggler) as told:
        answer = await leader.finish_join()
        assert watch.shows(4)
        await newcomer.finish_join()
    assert ErrorCode.REBALANCE_IN_PROGRESS in told[straggler.id]
    assert leader.generation == newcomer.generation == 2
    assert leader.leads
    assert {one.member_id: (one.group_instance_id, one.metadata) for one in answer.members} == {
        leader.id: ("i1", both),
        newcomer.id: (None, sub(world.t)),
        straggler.id: ("i2", both),
    }
    return leader, newcomer, straggler


@rule(
    id="D25",
    api="JoinGroup",
    says="A static member that does not rejoin in time stays a member, with the metadata it had, of a new generation.",
    source=f"KIP-345; {COMPLETED}: only dynamic members are removed",
    versions="5-9",
    cost=8.1,
)
async def d25(world: World) -> None:
    _, _, straggler = await static_straggler(world)
    assert straggler.generation == 1
    assert await straggler.heartbeat() is ErrorCode.ILLEGAL_GENERATION


@rule(
    id="D26",
    api="JoinGroup",
    says="A static member that was late to rejoin is answered at once until the group has synced.",
    source="KIP-345; Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember: CompletingRebalance",
    versions="5-9",
    cost=8.1,
)
async def d26(world: World) -> None:
    leader, newcomer, straggler = await static_straggler(world)
    call = await straggler.start_join()
    assert not await call.parked()
    await straggler.finish_join()
    assert (straggler.generation, straggler.leader, straggler.listed) == (2, leader.id, ())
    await settle([leader, newcomer, straggler])


@rule(
    id="D27",
    api="SyncGroup",
    says="Who has not synced one rebalance timeout after the rebalance is out, though it heartbeats; others rejoin.",
    source=f"{UNSYNCED}; KAFKA-13435",
    versions="3-5",
    cost=13.6,
)
async def d27(world: World) -> None:
    leader, newcomer, straggler = await static_straggler(world)
    watch = Stopwatch(world)
    straggler.generation = 2
    async with beating(world, straggler, leader, every=0.5) as told:
        await settle([leader, newcomer])
        await watch.until(3.4)
        assert told[straggler.id] == {ErrorCode.NONE}
        assert told[leader.id] == {ErrorCode.NONE}
        await watch.until(5.5)
        assert told[straggler.id] == {ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID}
        assert told[leader.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}


@rule(
    id="D27b",
    api="SyncGroup",
    says="Who has not synced is out when its session ends, if that is before the deadline for all.",
    source=EXPIRED,
    versions="3-5",
    cost=21.1,
)
async def d27b(world: World) -> None:
    leader, straggler = await world.static2(world.group(), rebalance=8_000, session=6_000)
    newcomer = await world.member(leader.group, rebalance=8_000)
    await newcomer.start_join()
    await leader.start_join()
    async with beating(world, straggler):
        await leader.finish_join()
        await newcomer.finish_join()
    assert straggler.id in leader.listed
    watch = Stopwatch(world)
    async with beating(world, leader, every=0.25) as told:
        await settle([leader, newcomer])
        await watch.until(5.4)
        assert told[leader.id] == {ErrorCode.NONE}
        await watch.until(7)
        assert told[leader.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    assert await straggler.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# --- newcomers ---


@rule(
    id="D33",
    api="JoinGroup",
    says="A newcomer's JoinGroup waits for five minutes at most; then its id is unknown, and the rebalance goes on.",
    source=f"{EXPIRED}; Apache Kafka GroupCoordinatorConfig: five minutes, which no setting changes",
    versions="0-9",
    cost=303.1,
    each={"version": (3, 9)},
)
async def d33(world: World, version: int) -> None:
    member = await world.stable1(world.group(), rebalance=600_000)
    newcomer = await world.member(member.group)
    watch = Stopwatch(world)
    await newcomer.start_join(version=version)
    assert newcomer.call is not None
    async with beating(world, member, every=4):
        await newcomer.call.answer(within=310)
        assert watch.shows(300)
        await assert_join_refused(newcomer.call, ErrorCode.UNKNOWN_MEMBER_ID, "")
        # It was the only newcomer; but the member that was there has not rejoined.
        assert await state_of(world, member.group) == "PreparingRebalance"
        await member.start_join()
        await member.finish_join()
    assert (member.generation, member.listed) == (2, (member.id,))
