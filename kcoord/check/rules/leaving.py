"""Leaving a group, by members and by operators who put them out."""

from typing import Any

import trio

from kcoord.check.member import Member
from kcoord.check.rule import rule
from kcoord.check.steps import Stopwatch, assert_refused, leave
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import LeaveGroupRequest

BATCHED = range(3, 6)
SINGLE = range(3)
SERVED = "Apache Kafka GroupCoordinatorService.leaveGroup"
FOUND = "Apache Kafka GroupMetadataManager.classicGroupLeave"
HANDLED = "Apache Kafka GroupMetadataManager.classicGroupLeaveToClassicGroup"
REMOVED = "Apache Kafka GroupMetadataManager.removeCurrentMemberFromClassicGroup"


def errors(answer: Any) -> list[ErrorCode]:
    """Return the error of each entry; the request as such must have been good."""
    assert answer.error_code == ErrorCode.NONE
    assert answer.throttle_time_ms == 0
    return [ErrorCode(one.error_code) for one in answer.members]


def echoed(answer: Any) -> list[tuple[str, str | None]]:
    """Return which member each entry speaks of."""
    return [(one.member_id, one.group_instance_id) for one in answer.members]


async def state_of(member: Member) -> str:
    """Return the state of its group."""
    state: str = (await member.client.describe(member.group)).group_state
    return state


# --- requests that name nobody ---


@rule(
    id="I1",
    api="LeaveGroup",
    says="The empty group id is refused as such, for the request as a whole.",
    source=f"{SERVED}: isGroupIdNotEmpty",
    versions="0-5",
)
async def i1(world: World) -> None:
    client = await world.client()
    for version in world.offered(LeaveGroupRequest):
        answer = await client.leave("", "nobody", version=version)
        assert answer.error_code == ErrorCode.INVALID_GROUP_ID
        assert answer.members == []


@rule(
    id="I2",
    api="LeaveGroup",
    says="The empty group id is refused also if the request has no members in it.",
    source=f"{SERVED}: isGroupIdNotEmpty",
    versions="3-5",
)
async def i2(world: World) -> None:
    client = await world.client()
    for version in world.offered(LeaveGroupRequest, BATCHED):
        answer = await client.call(LeaveGroupRequest(group_id="", members=[]), version)
        assert (answer.error_code, answer.members) == (ErrorCode.INVALID_GROUP_ID, [])


@rule(
    id="I3",
    api="LeaveGroup",
    says="In a group that does not exist nobody is a member.",
    source=FOUND,
    versions="0-2",
)
async def i3(world: World) -> None:
    client = await world.client()
    for version in world.offered(LeaveGroupRequest, SINGLE):
        assert await leave(client, world.group(), "m", version) is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="I3b",
    api="LeaveGroup",
    says="If the group does not exist a request with several members is good, and each of them is unknown.",
    source=f"{SERVED}: UNKNOWN_MEMBER_ID becomes one error for each member",
    versions="3-5",
)
async def i3b(world: World) -> None:
    client = await world.client()
    for version in world.offered(LeaveGroupRequest, BATCHED):
        answer = await client.leave(world.group(), "m", ("", "i1"), ("n", "i2"), version=version)
        assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID] * 3
        assert echoed(answer) == [("m", None), ("", "i1"), ("n", "i2")]


@rule(
    id="I4",
    api="LeaveGroup",
    says="In a group with members a member id that is unknown, or empty, is told so, and nobody is disturbed.",
    source=HANDLED,
    versions="0-2",
    cost=3.1,
    also="I21",
)
async def i4(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(LeaveGroupRequest, SINGLE):
        assert await leave(member.client, member.group, "nobody", version) is ErrorCode.UNKNOWN_MEMBER_ID
        assert await leave(member.client, member.group, "", version) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="I5",
    api="LeaveGroup",
    says="Of several members each that is unknown has an entry that says so, and if all are, nobody is disturbed.",
    source=HANDLED,
    versions="3-5",
    cost=3.1,
    also="I4 I21",
)
async def i5(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(LeaveGroupRequest, BATCHED):
        answer = await member.client.leave(member.group, "nobody", "", ("", "i9"), version=version)
        assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID] * 3
        assert echoed(answer) == [("nobody", None), ("", None), ("", "i9")]
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="I20",
    api="LeaveGroup",
    says="A request with no members in it is good, and changes nothing, whether the group exists or not.",
    source=f"{HANDLED}; {SERVED}",
    versions="3-5",
    cost=3.1,
)
async def i20(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(LeaveGroupRequest, BATCHED):
        for group in (member.group, world.group()):
            answer = await member.client.call(LeaveGroupRequest(group_id=group, members=[]), version)
            assert errors(answer) == []
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="I23",
    api="LeaveGroup",
    says="Who has left is unknown when it leaves again, though the group is still there.",
    source=f"{HANDLED}; ClassicGroup.validateMember",
    versions="0-5",
    cost=3.1,
)
async def i23(world: World) -> None:
    member = await world.stable1(world.group())
    assert await leave(member.client, member.group, member.id) is ErrorCode.NONE
    for version in world.offered(LeaveGroupRequest):
        assert await leave(member.client, member.group, member.id, version) is ErrorCode.UNKNOWN_MEMBER_ID


# --- dynamic members ---


@rule(
    id="I6",
    api="LeaveGroup",
    says="When the only member leaves the group is empty, keeps its type, and is one generation on.",
    source=f"{REMOVED}; GroupMetadataManager.completeClassicGroupJoin",
    versions="0-5",
    cost=6.1,
    each={"version": (0, 2, 3, 5)},
)
async def i6(world: World, version: int) -> None:
    member = await world.stable1(world.group())
    assert await leave(member.client, member.group, member.id, version) is ErrorCode.NONE
    described = await member.client.describe(member.group)
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Empty", "consumer", "")
    assert described.members == []
    assert (await world.stable1(member.group)).generation == 3


@rule(
    id="I7",
    api="LeaveGroup",
    says="When a follower leaves the leader is told of a rebalance, and goes on alone.",
    source=REMOVED,
    versions="0-5",
    cost=6.1,
)
async def i7(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    assert await leave(follower.client, follower.group, follower.id) is ErrorCode.NONE
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    await leader.start_join()
    answer = await leader.finish_join()
    assert answer.generation_id == 2
    assert leader.leads
    assert [one.member_id for one in answer.members] == [leader.id]


@rule(
    id="I8",
    api="LeaveGroup",
    says="When the leader leaves the follower is told of a rebalance, and leads after it.",
    source=f"{REMOVED}; ClassicGroup.remove: another leader",
    versions="0-5",
    cost=6.1,
)
async def i8(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    assert await leave(leader.client, leader.group, leader.id) is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    answer = await follower.finish_join()
    assert answer.generation_id == 2
    assert follower.leads
    assert [one.member_id for one in answer.members] == [follower.id]


@rule(
    id="I9",
    api="LeaveGroup",
    says="A member id that was only handed out can be given back, and nobody can join with it after that.",
    source=f"KIP-394; {HANDLED}: isPendingMember",
    versions="0-5",
)
async def i9(world: World) -> None:
    client = await world.client()
    group = world.group()
    pending = (await (await client.join(group)).answer()).member_id
    assert await leave(client, group, pending) is ErrorCode.NONE
    call = await client.join(group, pending)
    assert_refused(await call.answer(), ErrorCode.UNKNOWN_MEMBER_ID, pending, call.version)
    assert await leave(client, group, pending) is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await client.describe(group)).group_state == "Empty"


@rule(
    id="I9b",
    api="LeaveGroup",
    says="An id that was only handed out starts a rebalance when it is given back, whatever instance id goes with it.",
    source=f"KIP-394; {HANDLED}: pending members count; the old coordinator, up to 3.9, did not rebalance",
    versions="3-5",
    cost=3.1,
    since="4.0",
)
async def i9b(world: World) -> None:
    member = await world.stable1(world.group())
    pending = (await (await member.client.join(member.group)).answer()).member_id
    assert await member.heartbeat() is ErrorCode.NONE
    # Of an id that is only handed out nobody knows an instance id, so none can be wrong.
    answer = await member.client.leave(member.group, (pending, "i9"))
    assert errors(answer) == [ErrorCode.NONE]
    assert echoed(answer) == [(pending, "i9")]
    assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    call = await (await world.client()).join(member.group, pending)
    assert_refused(await call.answer(), ErrorCode.UNKNOWN_MEMBER_ID, pending, call.version)


@rule(
    id="I10",
    api="LeaveGroup",
    says="The JoinGroup of a member that is put out while it waits is refused at once, with no member id.",
    source=REMOVED,
    versions="0-5",
    cost=6.4,
)
async def i10(world: World) -> None:
    leader, _, third = await world.preparing(world.group())
    assert await leave(leader.client, third.group, third.id) is ErrorCode.NONE
    assert third.call is not None
    assert_refused(await third.call.answer(1), ErrorCode.UNKNOWN_MEMBER_ID, "", third.call.version)
    assert await state_of(leader) == "PreparingRebalance"


@rule(
    id="I10b",
    api="LeaveGroup",
    says="When a member is put out while SyncGroups wait, those of the others are told of a rebalance at once.",
    source=f"{REMOVED}; GroupMetadataManager.prepareRebalance",
    versions="0-5",
    cost=6.7,
)
async def i10b(world: World) -> None:
    leader, gone, follower = await world.completing(world.group(), None, None, None)
    gone_waits, follower_waits = await gone.sync(), await follower.sync()
    assert await gone_waits.parked()
    assert await leave(leader.client, gone.group, gone.id) is ErrorCode.NONE
    assert (await follower_waits.answer(1)).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    # Apache Kafka forgets to answer this one for good; saying what is true of it by now harms nobody.
    if not await gone_waits.parked():
        assert gone_waits.response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert gone_waits.response.assignment == b""


@rule(
    id="I11",
    api="LeaveGroup",
    says="When the only one leaves that has not rejoined, those that wait are answered, and the leader stays.",
    source=f"{HANDLED}; GroupMetadataManager.maybeCompleteJoinPhase",
    versions="0-5",
    cost=6.7,
)
async def i11(world: World) -> None:
    leader, follower, third = await world.preparing(world.group())
    call = await leader.start_join()
    assert await call.parked()
    assert await leave(follower.client, follower.group, follower.id) is ErrorCode.NONE
    for member in (leader, third):
        assert member.call is not None
        assert (await member.call.answer(1)).error_code == ErrorCode.NONE
        assert (await member.finish_join()).generation_id == 2
    assert set(leader.listed) == {leader.id, third.id}
    assert third.leader == leader.id


@rule(
    id="I24",
    api="LeaveGroup",
    says="Who leaves during the first rebalance is answered at once; the others wait until its delay is over.",
    source=f"{HANDLED}; GroupMetadataManager.maybeCompleteJoinPhase: not in the initial rebalance",
    versions="0-5",
    cost=6.1,
    settings={"group.initial.rebalance.delay.ms": 3000},
)
async def i24(world: World) -> None:
    group = world.group()
    first, second = await world.member(group), await world.member(group)
    watch = Stopwatch(world)
    await first.start_join()
    assert await (await second.start_join()).parked()
    client = await world.client()
    assert await leave(client, group, second.id) is ErrorCode.NONE
    assert second.call is not None
    assert_refused(await second.call.answer(1), ErrorCode.UNKNOWN_MEMBER_ID, "", second.call.version)
    assert first.call is not None
    assert await first.call.parked()
    assert (await client.describe(group)).group_state == "PreparingRebalance"
    answer = await first.finish_join()
    assert watch.seconds >= 3
    assert answer.generation_id == 1
    assert first.listed == (first.id,)


@rule(
    id="I24b",
    api="LeaveGroup",
    says="If everybody leaves during the first rebalance the group is empty when its delay is over, not before.",
    source=f"{HANDLED}; GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule",
    versions="0-5",
    cost=7.1,
    settings={"group.initial.rebalance.delay.ms": 3000},
)
async def i24b(world: World) -> None:
    group = world.group()
    member = await world.member(group)
    assert await (await member.start_join()).parked()
    client = await world.client()
    assert await leave(client, group, member.id) is ErrorCode.NONE
    described = await client.describe(group)
    assert (described.group_state, described.members) == ("PreparingRebalance", [])
    await trio.sleep(4)
    assert (await client.describe(group)).group_state == "Empty"
    assert (await world.stable1(group)).generation == 2


@rule(
    id="I26",
    api="LeaveGroup",
    says="What was committed stays when the members have left.",
    source="Apache Kafka GroupMetadataManager.removeCurrentMemberFromClassicGroup: offsets are not touched",
    versions="0-5",
    cost=3.1,
)
async def i26(world: World) -> None:
    member = await world.stable1(world.group())
    assert await member.commit({(world.t, 0): (7, "note")}) == {(world.t, 0): ErrorCode.NONE}
    assert await leave(member.client, member.group, member.id) is ErrorCode.NONE
    assert await member.client.fetch(member.group, {world.t: [0]}) == {(world.t, 0): (7, -1, "note")}
