"""Static members, whose instance id outlives their member id (KIP-345)."""

from dataclasses import replace
from typing import Any

from kcoord.check.member import Member, settle
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import Stopwatch, assert_refused, assert_sync_refused, beating, start_in_order, state_of
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import HeartbeatRequest

DELAY = {"group.initial.rebalance.delay.ms": 3000}

REPLACED = "KIP-345; Apache Kafka GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"
TAKEN = "KIP-345; Apache Kafka ClassicGroup.replaceStaticMember"
FENCED = "KIP-345; Apache Kafka ClassicGroup.validateMember"
EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"


async def restarted(world: World, member: Member, *, client_id: str = "client", **what: Any) -> Member:
    """The member after its client was started anew: another connection, no member id. It has not joined yet."""
    return replace(member, client=await world.client(client_id), id="", generation=-1, call=None, **what)


async def join_at_once(member: Member, **options: Any) -> Any:
    """Join; the answer must come without a rebalance."""
    call = await member.start_join(**options)
    assert not await call.parked()
    return await member.finish_join()


# --- a restart in a stable group ---


@rule(
    id="F1",
    api="JoinGroup",
    says="A static follower that restarts gets another member id at once, and the group stays as it is.",
    source=REPLACED,
    versions="5-9",
)
async def f1(world: World) -> None:
    leader, follower = await world.static2(world.group())
    new = await restarted(world, follower)
    answer = await join_at_once(new)
    assert new.id != follower.id
    assert new.id.startswith("i2-")
    assert (answer.generation_id, answer.leader, answer.members) == (follower.generation, leader.id, [])
    assert answer.protocol_name == "range"
    assert await state_of(world, leader.group) == "Stable"
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="F1b",
    api="JoinGroup",
    says="A static member that restarts is told the type of its group's protocol.",
    source=f"KIP-559; {REPLACED}",
    versions="7-9",
)
async def f1b(world: World) -> None:
    leader, follower = await world.static2(world.group())
    for member in (leader, follower):
        answer = await join_at_once(await restarted(world, member))
        assert (answer.protocol_name, answer.protocol_type) == ("range", "consumer")


@rule(
    id="F2",
    api="SyncGroup",
    says="A static member that has restarted gets the assignment that it had before, and is a member like any other.",
    source=TAKEN,
    versions="3-5",
)
async def f2(world: World) -> None:
    _, follower = await world.static2(world.group())
    new = await restarted(world, follower)
    await join_at_once(new)
    sync = await (await new.sync()).answer()
    assert (sync.error_code, sync.assignment) == (ErrorCode.NONE, follower.assignment)
    assert await new.heartbeat() is ErrorCode.NONE


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
)
async def f4b(world: World) -> None:
    _, old, new = await replaced(world)
    assert await old.commit({(world.t, 0): 1}, instance=None) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await new.heartbeat() is ErrorCode.NONE


@rule(
    id="F5",
    api="JoinGroup",
    says="Each restart of a static member gives it another member id, and no other generation.",
    source=REPLACED,
    versions="5-9",
)
async def f5(world: World) -> None:
    _, follower = await world.static2(world.group())
    ids = {follower.id}
    for _ in range(3):
        follower = await restarted(world, follower)
        answer = await join_at_once(follower)
        assert answer.generation_id == 1
        ids.add(answer.member_id)
    assert len(ids) == 4


@rule(
    id="F6",
    api="JoinGroup",
    says="A static leader that restarts is told of all members, and that it need not assign anything.",
    source=f"KIP-814; {REPLACED}",
    versions="9",
)
async def f6(world: World) -> None:
    old, follower = await world.static2(world.group())
    new = await restarted(world, old)
    answer = await join_at_once(new, version=9)
    assert new.id != old.id
    assert answer.leader == new.id
    assert {one.member_id: one.group_instance_id for one in answer.members} == {new.id: "i1", follower.id: "i2"}
    assert answer.skip_assignment
    assert answer.generation_id == old.generation


@rule(
    id="F9",
    api="SyncGroup",
    says="If a static leader that has restarted assigns all the same, everybody keeps what it had.",
    source="KIP-814; Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup: Stable",
    versions="3-5",
)
async def f9(world: World) -> None:
    old, follower = await world.static2(world.group())
    new = await restarted(world, old)
    await join_at_once(new)
    sync = await (await new.sync({new.id: b"other", follower.id: b"other"})).answer()
    assert (sync.error_code, sync.assignment) == (ErrorCode.NONE, old.assignment)
    sync = await (await follower.sync()).answer()
    assert sync.assignment == follower.assignment


@rule(
    id="F7",
    api="JoinGroup",
    says="Before version 9 a static leader that restarts is told its former member id as the leader's.",
    source=f"KIP-814; {REPLACED}: currentLeader",
    versions="5-8",
    each={"version": (5, 6, 7, 8)},
)
async def f7(world: World, version: int) -> None:
    old, follower = await world.static2(world.group())
    new = await restarted(world, old)
    answer = await join_at_once(new, version=version)
    assert answer.leader == old.id != answer.member_id
    assert answer.members == []
    assert answer.generation_id == old.generation
    assert not answer.skip_assignment
    # It does lead: when it rejoins there is a rebalance.
    call = await new.start_join(version=version)
    assert await call.parked()
    await follower.start_join()
    await follower.finish_join()
    await new.finish_join()
    assert new.leads
    assert set(new.listed) == {new.id, follower.id}


@rule(
    id="F8",
    api="JoinGroup",
    says="A static follower that restarts is told who leads, and never to skip an assignment.",
    source=f"KIP-814; {REPLACED}",
    versions="5-9",
    each={"version": (5, 8, 9)},
)
async def f8(world: World, version: int) -> None:
    leader, follower = await world.static2(world.group())
    answer = await join_at_once(await restarted(world, follower), version=version)
    assert (answer.leader, answer.members, answer.skip_assignment) == (leader.id, [], False)


@rule(
    id="F10",
    api="JoinGroup",
    says="A static member that restarts with other metadata begins no rebalance, and its metadata are the new ones.",
    source=f"{REPLACED}: selectProtocol",
    versions="5-9",
)
async def f10(world: World) -> None:
    leader, follower = await world.static2(world.group())
    for member in (leader, follower):
        new = await restarted(world, member, protocols=[("range", sub(world.u))])
        answer = await join_at_once(new)
        assert answer.generation_id == 1
    assert await state_of(world, leader.group) == "Stable"
    described = await leader.client.describe(leader.group)
    assert {one.member_metadata for one in described.members} == {sub(world.u)}


async def split_votes(world: World) -> tuple[Member, Member]:
    """A static leader that prefers range to roundrobin, and a static follower that knows range only."""
    group = world.group()
    leader = await world.member(group, instance="i1", protocols=[("range", b"1r"), ("roundrobin", b"1o")])
    follower = await world.member(group, instance="i2", protocols=[("range", b"2r")])
    await start_in_order(leader, follower)
    for member in (leader, follower):
        await member.finish_join()
    await settle([leader, follower])
    assert leader.protocol_name == "range"
    return leader, follower


@rule(
    id="F11",
    api="JoinGroup",
    says="A static member whose restart changes the group's choice of a protocol begins a rebalance.",
    source=f"{REPLACED}: selectProtocol",
    versions="5-9",
)
async def f11(world: World) -> None:
    leader, follower = await split_votes(world)
    new = await restarted(world, follower, protocols=[("roundrobin", b"2o"), ("range", b"2r")])
    leader_restarted = await restarted(world, leader, protocols=[("roundrobin", b"1o"), ("range", b"1r")])
    # One vote each way: a tie, which "range" wins as before.
    assert (await join_at_once(new)).generation_id == 1
    # Two votes for "roundrobin".
    call = await leader_restarted.start_join()
    assert await call.parked()
    assert await new.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await new.start_join()
    await new.finish_join()
    answer = await leader_restarted.finish_join()
    assert leader_restarted.generation == new.generation == 2
    assert answer.protocol_name == "roundrobin"
    assert leader_restarted.leads
    assert not answer.skip_assignment
    assert {one.member_id: one.metadata for one in answer.members} == {leader_restarted.id: b"1o", new.id: b"2o"}


@rule(
    id="F11b",
    api="JoinGroup",
    says="A static member that restarts must offer a protocol that all support, counting what it offered before.",
    source="Apache Kafka ClassicGroup.supportsProtocols",
    versions="5-9",
)
async def f11b(world: World) -> None:
    leader, follower = await split_votes(world)
    # The leader would support it; but "range" is all that it and the old incarnation have in common.
    new = await restarted(world, follower)
    call = await new.client.join(follower.group, instance="i2", protocols=[("roundrobin", b"2o")])
    assert_refused(await call.answer(), ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", call.version)
    assert await follower.heartbeat() is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.NONE


# --- a restart while others are waited for ---


@rule(
    id="F12",
    api="JoinGroup",
    says="A static member that restarts before the leader's SyncGroup begins a rebalance; its own SyncGroup is fenced.",
    source=f"{REPLACED}: CompletingRebalance",
    versions="5-9",
)
async def f12(world: World) -> None:
    group = world.group()
    members = [await world.member(group, instance=name) for name in ("i1", "i2", "i3")]
    await start_in_order(*members)
    for member in members:
        await member.finish_join()
    leader, follower, third = members
    syncs = [await follower.sync(), await third.sync()]
    for sync in syncs:
        assert await sync.parked()
    new = await restarted(world, follower)
    call = await new.start_join()
    assert_sync_refused(await syncs[0].answer(), ErrorCode.FENCED_INSTANCE_ID)
    assert_sync_refused(await syncs[1].answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert await call.parked()
    for member in (leader, third):
        await member.start_join()
    for member in (leader, third, new):
        assert (await member.finish_join()).generation_id == 2
    assert set(leader.listed) == {leader.id, third.id, new.id}


@rule(
    id="F13",
    api="JoinGroup",
    says="A static member that restarts during a rebalance takes the place of the one whose JoinGroup waits.",
    source=TAKEN,
    versions="5-9",
)
async def f13(world: World) -> None:
    leader, follower = await world.static2(world.group())
    newcomer = await world.member(leader.group)
    await start_in_order(newcomer)
    parked = await follower.start_join()
    assert await parked.parked()
    duplicate = await restarted(world, follower)
    call = await duplicate.start_join()
    assert_refused(await parked.answer(), ErrorCode.FENCED_INSTANCE_ID, follower.id, parked.version)
    assert await call.parked()
    await leader.start_join()
    for member in (leader, newcomer, duplicate):
        assert (await member.finish_join()).generation_id == 2
    assert sorted(leader.listed) == sorted([leader.id, newcomer.id, duplicate.id])


@rule(
    id="F14",
    api="JoinGroup",
    says="A static member that restarts in the initial delay fences the one that waits, and is no newcomer.",
    source=f"{TAKEN}; updateStaticMemberThenRebalanceOrCompleteJoin leaves newMemberAdded alone",
    versions="5-9",
    settings=DELAY,
    each={"version": (5, 7, 9)},
)
async def f14(world: World, version: int) -> None:
    watch = Stopwatch(world)
    first = await world.member(world.group(), instance="i1")
    call = await first.start_join(version=version)
    assert await call.parked()
    duplicate = await restarted(world, first)
    await duplicate.start_join()
    answer = await call.answer()
    assert answer.member_id.startswith("i1-")
    assert_refused(answer, ErrorCode.FENCED_INSTANCE_ID, answer.member_id, version)
    await duplicate.finish_join()
    assert watch.shows(3)
    assert duplicate.id != answer.member_id
    assert (duplicate.generation, duplicate.leader, duplicate.listed) == (1, duplicate.id, (duplicate.id,))


@rule(
    id="F14b",
    api="JoinGroup",
    says="A static member that restarted in the initial delay waits on, even for longer than its session timeout.",
    source="Apache Kafka ClassicGroupMember.hasSatisfiedHeartbeat: it is not new, and its JoinGroup waits",
    versions="5-9",
    settings=DELAY,
)
async def f14b(world: World) -> None:
    group = world.group()
    first = await world.member(group, instance="i1", session=6_000, rebalance=60_000)
    await start_in_order(first)
    duplicate = await restarted(world, first)
    await duplicate.start_join()
    # Others come in window after window, past the session timeout of the duplicate, whose request is held.
    others = [await world.member(group) for _ in range(3)]
    watch = Stopwatch(world)
    for number, other in enumerate(others):
        await watch.until(2 + 3 * number)
        await other.start_join()
    for member in (duplicate, *others):
        assert (await member.finish_join()).generation_id == 1
    # The first window began before the watch.
    assert 11.5 < watch.seconds <= 12 + watch.tolerance
    assert len(duplicate.listed) == 4


# --- rejoining with the member id ---


@rule(
    id="F15",
    api="JoinGroup",
    says="A static follower that rejoins unchanged with its member id is answered at once.",
    source=f"{EXISTING}: Stable, an unchanged follower",
    versions="5-9",
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
