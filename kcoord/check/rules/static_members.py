"""Static members, whose instance id outlives their member id (KIP-345): who they are, and who is one no more."""

from kcoord.check.member import Member, settle
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
    Stopwatch,
    assert_refused,
    assert_sync_refused,
    beating,
    join_at_once,
    leave,
    restarted,
    start_in_order,
)
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import HeartbeatRequest

TAKEN = "KIP-345; Apache Kafka ClassicGroup.replaceStaticMember"
FENCED = "KIP-345; Apache Kafka ClassicGroup.validateMember"
EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"


# --- the one that was replaced ---


async def replaced(world: World) -> tuple[Member, Member, Member]:
    """A leader, a follower that does not know yet that it was replaced, and the one that replaced it."""
    leader, old = await world.static2(world.group())
    new = await restarted(world, old)
    await join_at_once(new)
    return leader, old, new


@rule(
    id="F3",
    api="Heartbeat",
    says="A static member that was replaced is fenced when it heartbeats, and nobody else is.",
    source=FENCED,
    versions="3-4",
    cost=6.1,
)
async def f3(world: World) -> None:
    leader, old, new = await replaced(world)
    for version in world.offered(HeartbeatRequest, (3, 4)):
        assert await old.heartbeat(version=version) is ErrorCode.FENCED_INSTANCE_ID
        assert await new.heartbeat(version=version) is ErrorCode.NONE
        assert await leader.heartbeat(version=version) is ErrorCode.NONE


@rule(
    id="F3b",
    api="OffsetCommit",
    says="A static member that was replaced is fenced when it commits.",
    source=f"{FENCED}; validateOffsetCommit",
    versions="7-10",
    cost=6.6,
)
async def f3b(world: World) -> None:
    leader, old, new = await replaced(world)
    assert await old.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.FENCED_INSTANCE_ID}
    assert await old.client.fetch(old.group, {world.t: [0]}) == {(world.t, 0): (-1, -1, "")}
    assert await new.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F3c",
    api="SyncGroup",
    says="A static member that was replaced is fenced when it syncs.",
    source=FENCED,
    versions="3-5",
    cost=6.6,
)
async def f3c(world: World) -> None:
    leader, old, new = await replaced(world)
    assert_sync_refused(await (await old.sync()).answer(), ErrorCode.FENCED_INSTANCE_ID)
    assert await new.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F3d",
    api="JoinGroup",
    says="A static member that was replaced is fenced when it joins with the member id that it had.",
    source=FENCED,
    versions="5-9",
    cost=6.5,
)
async def f3d(world: World) -> None:
    leader, old, new = await replaced(world)
    call = await old.client.join(old.group, old.id, instance="i2")
    assert_refused(await call.answer(), ErrorCode.FENCED_INSTANCE_ID, old.id, call.version)
    assert await new.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F3e",
    api="LeaveGroup",
    says="A static member that was replaced is fenced when it leaves, and takes nobody with it.",
    source=FENCED,
    versions="3-5",
    cost=6.5,
)
async def f3e(world: World) -> None:
    leader, old, new = await replaced(world)
    left = await old.client.leave(old.group, (old.id, "i2"))
    assert left.error_code == ErrorCode.NONE
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in left.members] == [
        (old.id, "i2", ErrorCode.FENCED_INSTANCE_ID)
    ]
    assert await new.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F4",
    api="Heartbeat",
    says="A static member that was replaced, and does not name its instance id, is no member.",
    source=FENCED,
    versions="0-4",
    cost=6.4,
)
async def f4(world: World) -> None:
    leader, old, new = await replaced(world)
    for version in world.offered(HeartbeatRequest):
        assert await old.heartbeat(instance=None, version=version) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await new.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F4b",
    api="OffsetCommit",
    says="A static member that was replaced, and does not name its instance id, may not commit as a member.",
    source=f"{FENCED}; validateOffsetCommit",
    versions="1-10",
    cost=6.4,
)
async def f4b(world: World) -> None:
    leader, old, new = await replaced(world)
    assert await old.commit({(world.t, 0): 1}, instance=None) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await new.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


# --- rejoining with the member id ---


@rule(
    id="F15",
    api="JoinGroup",
    says="A static follower that rejoins unchanged with its member id is answered at once.",
    source=f"{EXISTING}: Stable, an unchanged follower",
    versions="5-9",
    cost=6.3,
)
async def f15(world: World) -> None:
    leader, follower = await world.static2(world.group())
    answer = await join_at_once(follower)
    assert (answer.generation_id, answer.leader, answer.members) == (1, leader.id, [])
    assert not answer.skip_assignment
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F16",
    api="JoinGroup",
    says="A static leader that rejoins with its member id begins a rebalance.",
    source=f"{EXISTING}: Stable, the leader",
    versions="5-9",
    cost=6.5,
)
async def f16(world: World) -> None:
    leader, follower = await world.static2(world.group())
    call = await leader.start_join()
    assert await call.parked()
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    for member in (leader, follower):
        assert (await member.finish_join()).generation_id == 2


@rule(
    id="F17",
    api="JoinGroup",
    says="A static follower that rejoins changed with its member id begins a rebalance.",
    source=f"{EXISTING}; ClassicGroupMember.matches",
    versions="5-9",
    cost=6.5,
)
async def f17(world: World) -> None:
    leader, follower = await world.static2(world.group())
    follower.protocols = [("range", sub(world.u))]
    call = await follower.start_join()
    assert await call.parked()
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    for member in (leader, follower):
        assert (await member.finish_join()).generation_id == 2


@rule(
    id="F23",
    api="LeaveGroup",
    says="A leader that others stand before, since it has restarted, leads on when a follower leaves.",
    source=f"{TAKEN}; ClassicGroup.remove: the first member leads only if it is the leader that is gone",
    versions="3-5",
    cost=6.6,
)
async def f23(world: World) -> None:
    leader, follower = await world.static2(world.group())
    leader = await restarted(world, leader)
    await join_at_once(leader)
    third = await world.member(leader.group)
    members = (follower, leader, third)
    assert await (await third.start_join()).parked()
    await follower.start_join()
    await leader.start_join()
    for member in members:
        assert (await member.finish_join()).leader == leader.id
    await settle([leader, follower, third])
    assert await leave(third.client, third.group, third.id) is ErrorCode.NONE
    for member in (follower, leader):
        await member.start_join()
    for member in (follower, leader):
        assert (await member.finish_join()).leader == leader.id
    assert set(leader.listed) == {follower.id, leader.id}


# --- who stays away, and who is there ---


async def alone_after_a_session(world: World) -> tuple[Member, Member]:
    """A static leader that has gone on without a follower that stayed away, and that follower."""
    leader, follower = await world.static2(world.group(), session=6_000)
    watch = Stopwatch(world)
    async with beating(world, leader, every=0.25) as told:
        await watch.until(5.3)
        assert told[leader.id] == {ErrorCode.NONE}
        await watch.until(7)
        assert told[leader.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    await leader.start_join()
    await leader.finish_join()
    assert leader.listed == (leader.id,)
    await settle([leader])
    return leader, follower


@rule(
    id="F18",
    api="Heartbeat",
    says="A static member that stays away for its session timeout is removed, and the others are told to rejoin.",
    source="KIP-345; Apache Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat",
    versions="3-4",
    cost=13.2,
)
async def f18(world: World) -> None:
    leader, _ = await alone_after_a_session(world)
    assert leader.generation == 2
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F19",
    api="JoinGroup",
    says="A static member that comes back after it was removed is a newcomer.",
    source="KIP-345; Apache Kafka GroupMetadataManager.classicGroupJoinNewStaticMember",
    versions="5-9",
    cost=13.4,
)
async def f19(world: World) -> None:
    leader, follower = await alone_after_a_session(world)
    new = await restarted(world, follower)
    call = await new.start_join()
    assert await call.parked()
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    for member in (leader, new):
        assert (await member.finish_join()).generation_id == 3
    assert set(leader.listed) == {leader.id, new.id}


@rule(
    id="F20",
    api="DescribeGroups",
    says="A static member that restarts under another client id is described by its first one.",
    source=TAKEN,
    versions="4-6",
    cost=6.2,
)
async def f20(world: World) -> None:
    leader, follower = await world.static2(world.group(), client_id="first")
    before = await leader.client.describe(leader.group)
    hosts = {one.client_host for one in before.members}
    new = await restarted(world, follower, client_id="second")
    await join_at_once(new)
    await (await new.sync()).answer()
    assert await new.heartbeat() is ErrorCode.NONE
    described = await leader.client.describe(leader.group)
    assert {one.member_id: one.client_id for one in described.members} == {leader.id: "first", new.id: "first"}
    assert {one.client_host for one in described.members} == hosts


@rule(
    id="F21",
    api="JoinGroup",
    says="Two instances with one client id are two members.",
    source="KIP-345; Apache Kafka ClassicGroup.generateMemberId",
    versions="5-9",
    cost=6.2,
)
async def f21(world: World) -> None:
    leader, follower = await world.static2(world.group(), client_id="same")
    assert leader.id != follower.id
    described = await leader.client.describe(leader.group)
    assert {one.member_id: (one.group_instance_id, one.client_id) for one in described.members} == {
        leader.id: ("i1", "same"),
        follower.id: ("i2", "same"),
    }
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="F22",
    api="JoinGroup",
    says="Next to static members a dynamic one needs a member id first, and then is a member like them.",
    source="KIP-394; KIP-345; Apache Kafka GroupMetadataManager.classicGroupJoinNewMember",
    versions="5-9",
    cost=6.7,
)
async def f22(world: World) -> None:
    leader, follower = await world.static2(world.group())
    dynamic = await world.member(leader.group)
    answer = await (await dynamic.client.join(leader.group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert await leader.heartbeat() is ErrorCode.NONE
    dynamic.id = answer.member_id
    await start_in_order(dynamic)
    for member in (leader, follower):
        await member.start_join()
    for member in (leader, follower, dynamic):
        assert (await member.finish_join()).generation_id == 2
    await settle([leader, follower, dynamic])
    described = await leader.client.describe(leader.group)
    assert {one.member_id: one.group_instance_id for one in described.members} == {
        leader.id: "i1",
        follower.id: "i2",
        dynamic.id: None,
    }


@rule(
    id="static-1",
    api="JoinGroup",
    says="An empty instance id is one like any other.",
    source="Apache Kafka GroupMetadataManager.classicGroupJoinNewMember: only null is none",
    versions="5-9",
    cost=3.2,
)
async def static_1(world: World) -> None:
    first = await world.member(world.group(), instance="")
    await first.start_join()
    answer = await first.finish_join()
    assert answer.member_id.startswith("-")
    assert [one.group_instance_id for one in answer.members] == [""]
    await settle([first])
    again = await restarted(world, first)
    assert (await join_at_once(again)).generation_id == 1
