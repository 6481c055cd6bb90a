"""Static members in operation: removed by an operator, restarted with other timeouts or another assignor."""

from typing import Final

import trio

from kcoord.check.member import settle
from kcoord.check.rule import rule
from kcoord.check.steps import Stopwatch, assert_join_refused, restarted, start_in_order, state_of
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import ApiVersionsRequest

TAKEN = "KIP-345; Apache Kafka ClassicGroup.replaceStaticMember"
RESTARTED = "Apache Kafka GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"
SESSION = f"{TAKEN}: the timer of its session goes on"
NEEDED: Final = {11: 5, 14: 3, 12: 3, 13: 3, 8: 7}
"""The version from which each API knows instance ids: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit."""


@rule(
    id="joining-7",
    api="LeaveGroup",
    says="An operator may remove a static member by its instance id alone; the others are told to rejoin.",
    source="KIP-345; Apache Kafka GroupMetadataManager.classicGroupLeaveToClassicGroup",
    versions="3-5",
    cost=6.2,
)
async def joining_7(world: World) -> None:
    leader, follower = await world.static2(world.group())
    operator = await world.client("operator")
    left = await operator.leave(leader.group, ("", "i2"), ("", "nobody"))
    assert left.error_code == ErrorCode.NONE
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in left.members] == [
        ("", "i2", ErrorCode.NONE),
        ("", "nobody", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    await leader.finish_join()
    assert (leader.generation, leader.listed) == (2, (leader.id,))


@rule(
    id="joining-8",
    api="Heartbeat",
    says="The session timeout that a static member restarts with holds from its first heartbeat on.",
    source=f"{SESSION} until then",
    versions="3-4",
    cost=10.2,
)
async def joining_8(world: World) -> None:
    (member,) = await world.stable(world.group(), "i1", session=20_000)
    again = await restarted(world, member, client_id="another", session=6_000)
    await again.start_join()
    await again.finish_join()
    await (await again.sync()).answer()
    assert await again.heartbeat() is ErrorCode.NONE
    watch = Stopwatch(world)
    (described,) = (await again.client.describe(member.group)).members
    # Apache Kafka keeps telling of the first client, although another one restarted.
    assert (described.member_id, described.client_id) == (again.id, "client")
    await watch.until(5.5)
    assert await state_of(world, member.group) == "Stable"
    await watch.until(7)
    assert await state_of(world, member.group) == "Empty"


@rule(
    id="joining-9",
    api="JoinGroup",
    says="A static member that restarts has, until its first heartbeat, the session timeout that it had before.",
    source=SESSION,
    versions="5-9",
    since="4.0",
    cost=14.2,
    each=({"old": 10_000, "new": 6_000}, {"old": 6_000, "new": 10_000}),
)
async def joining_9(world: World, old: int, new: int) -> None:
    (member,) = await world.stable(world.group(), "i1", session=old)
    again = await restarted(world, member, session=new)
    watch = Stopwatch(world)
    await again.start_join()
    await again.finish_join()
    await trio.sleep(1)
    await (await again.sync()).answer()
    await watch.until(old / 1000 - 0.5)
    assert await state_of(world, member.group) == "Stable"
    await watch.until(old / 1000 + 1)
    assert await state_of(world, member.group) == "Empty"


@rule(
    id="joining-10",
    api="ApiVersions",
    says="Everything that static members need is told of: five requests, in versions that know instance ids.",
    source="KIP-345",
    versions="0-5",
)
async def joining_10(world: World) -> None:
    answer = await (await world.client()).call(ApiVersionsRequest(), 0)
    told = {one.api_key: one.max_version for one in answer.api_keys}
    assert [key for key, version in NEEDED.items() if told.get(key, -1) < version] == []


@rule(
    id="joining-11",
    api="JoinGroup",
    says="A static member that restarts with but one of its assignors makes the group rebalance, and choose that one.",
    source=RESTARTED,
    versions="5-9",
    cost=6.9,
)
async def joining_11(world: World) -> None:
    group = world.group()
    leader = await world.member(group, instance="x", protocols=[("range", b"x"), ("roundrobin", b"x")])
    follower = await world.member(group, instance="y", protocols=[("range", b"y"), ("roundrobin", b"y")])
    await start_in_order(leader)
    await follower.start_join()
    for member in (leader, follower):
        await member.finish_join()
    await settle([leader, follower])
    assert leader.protocol_name == "range"
    again = await restarted(world, leader, protocols=[("roundrobin", b"x")])
    assert await (await again.start_join()).parked()
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    await follower.finish_join()
    await again.finish_join()
    assert (follower.generation, again.generation) == (2, 2)
    assert (follower.protocol_name, again.protocol_name) == ("roundrobin", "roundrobin")


@rule(
    id="joining-12",
    api="JoinGroup",
    says="A static member that restarts with an assignor which it did not offer before is refused, and nobody minds.",
    source="Apache Kafka ClassicGroup.supportsProtocols: what it offered before is counted",
    versions="5-9",
    cost=6.5,
)
async def joining_12(world: World) -> None:
    group = world.group()
    leader = await world.member(group, instance="x", protocols=[("range", b"x")])
    follower = await world.member(group, instance="y", protocols=[("range", b"y"), ("roundrobin", b"y")])
    await start_in_order(leader)
    await follower.start_join()
    for member in (leader, follower):
        await member.finish_join()
    await settle([leader, follower])
    # "roundrobin" would be common to all once x is replaced.
    call = await (await world.client()).join(group, instance="x", protocols=[("roundrobin", b"x")])
    await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE
