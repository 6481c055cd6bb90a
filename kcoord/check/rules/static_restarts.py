"""Static members that restart: the same instance id, and another member id (KIP-345)."""

from kcoord.check.member import Member, settle
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
    Stopwatch,
    assert_refused,
    assert_sync_refused,
    join_at_once,
    restarted,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode

DELAY = {"group.initial.rebalance.delay.ms": 3000}

REPLACED = "KIP-345; Apache Kafka GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"
TAKEN = "KIP-345; Apache Kafka ClassicGroup.replaceStaticMember"


# --- a restart in a stable group ---


@rule(
    id="F1",
    api="JoinGroup",
    says="A static follower that restarts gets another member id at once, and the group stays as it is.",
    source=REPLACED,
    versions="5-9",
    cost=6.1,
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
    cost=6.1,
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
    cost=6.1,
    also="S3",
)
async def f2(world: World) -> None:
    _, follower = await world.static2(world.group())
    new = await restarted(world, follower)
    await join_at_once(new)
    sync = await (await new.sync()).answer()
    assert (sync.error_code, sync.assignment) == (ErrorCode.NONE, follower.assignment)
    assert await new.heartbeat() is ErrorCode.NONE


@rule(
    id="F5",
    api="JoinGroup",
    says="Each restart of a static member gives it another member id, and no other generation.",
    source=REPLACED,
    versions="5-9",
    cost=6.1,
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
    cost=6.2,
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
    cost=6.1,
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
    cost=6.4,
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
    cost=6.1,
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
    cost=6.1,
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


async def all_for_range(world: World) -> list[Member]:
    """A static leader that prefers range to roundrobin, and two static followers that know range only."""
    group = world.group()
    both = [("range", b"1r"), ("roundrobin", b"1o")]
    leader = await world.member(group, instance="i1", protocols=both)
    followers = [await world.member(group, instance=f"i{n}", protocols=[("range", b"%dr" % n)]) for n in (2, 3)]
    await start_in_order(leader, *followers)
    for member in (leader, *followers):
        await member.finish_join()
    await settle([leader, *followers])
    assert leader.protocol_name == "range"
    return [leader, *followers]


@rule(
    id="F11",
    api="JoinGroup",
    says="A static member whose restart changes the group's choice of a protocol begins a rebalance.",
    source=f"{REPLACED}: selectProtocol",
    versions="5-9",
    cost=6.5,
)
async def f11(world: World) -> None:
    members = await all_for_range(world)
    new = [
        await restarted(world, member, protocols=[("roundrobin", b"%do" % number), ("range", b"%dr" % number)])
        for number, member in enumerate(members, 1)
    ]
    leader, *followers = new
    # The third knows "range" only.
    assert (await join_at_once(followers[0])).generation_id == 1
    # One vote for "range", which the leader gave, and two for "roundrobin".
    call = await followers[1].start_join()
    assert await call.parked()
    assert await followers[0].heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    await followers[0].start_join()
    for member in (leader, followers[0]):
        await member.finish_join()
    await followers[1].finish_join()
    assert {(member.generation, member.protocol_name) for member in new} == {(2, "roundrobin")}
    (leading,) = [member for member in new if member.leads]
    assert set(leading.listed) == {member.id for member in new}


@rule(
    id="F11b",
    api="JoinGroup",
    says="A static member that restarts must offer a protocol that all support, counting what it offered before.",
    source="Apache Kafka ClassicGroup.supportsProtocols",
    versions="5-9",
    cost=6.2,
)
async def f11b(world: World) -> None:
    leader, follower, _ = await all_for_range(world)
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
    cost=7.3,
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
    assert await (await new.start_join()).parked()
    assert_sync_refused(await syncs[0].answer(), ErrorCode.FENCED_INSTANCE_ID)
    assert_sync_refused(await syncs[1].answer(), ErrorCode.REBALANCE_IN_PROGRESS)
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
    cost=7.3,
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
    cost=3.2,
    settings=DELAY,
    each={"version": (5, 7, 9)},
)
async def f14(world: World, version: int) -> None:
    watch = Stopwatch(world)
    first = await world.member(world.group(), instance="i1")
    call = await first.start_join(version=version)
    assert await call.parked()
    duplicate = await restarted(world, first)
    assert await (await duplicate.start_join()).parked()
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
    since="4.0",
    cost=12.1,
    settings=DELAY,
)
async def f14b(world: World) -> None:
    group = world.group()
    first = await world.member(group, instance="i1", session=6_000, rebalance=60_000)
    others = [await world.member(group) for _ in range(3)]
    watch = Stopwatch(world)
    await start_in_order(first)
    duplicate = await restarted(world, first)
    await duplicate.start_join()
    # Others come in window after window, past the session timeout of the duplicate, whose request is held.
    for number, other in enumerate(others):
        await watch.until(2.3 + 3 * number)
        await other.start_join()
    for member in (duplicate, *others):
        assert (await member.finish_join()).generation_id == 1
    assert watch.shows(12)
    assert len(duplicate.listed) == 4
