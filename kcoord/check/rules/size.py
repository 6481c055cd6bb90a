"""How many members a group may have (KIP-389). Where there is a limit, it is 2 here."""

from dataclasses import replace
from typing import Any, Final

from kcoord.check.member import settle
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import assert_join_refused, leave, start_in_order, state_of
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest

ACCEPTED = "KIP-389; Apache Kafka GroupMetadataManager.acceptJoiningMember"
REFUSED = "Apache Kafka GroupMetadataManager.classicGroupJoinToClassicGroup"
LIMIT: Final = {"group.max.size": 2}
FULL = ErrorCode.GROUP_MAX_SIZE_REACHED

# --- in a new group ---


@rule(
    id="E1",
    api="JoinGroup",
    says="In the first rebalance of a new group one more than the limit is refused at once.",
    source=f"{ACCEPTED}: PreparingRebalance",
    versions="0-3",
    cost=6.1,
    settings=LIMIT,
)
async def e1(world: World) -> None:
    group = world.group()
    members = [await world.member(group) for _ in range(2)]
    versions = world.offered(JoinGroupRequest, range(4))
    await start_in_order(*members, version=versions[-1])
    client = await world.client()
    for version in versions:
        await assert_join_refused(await client.join(group, version=version), FULL, "")
    for member in members:
        await member.finish_join()
    assert set(members[0].listed) == {member.id for member in members}


@rule(
    id="E2",
    api="JoinGroup",
    says="An empty group hands out more ids than it has places; whose second step finds it full has lost its id.",
    source=f"{ACCEPTED}: Empty; {REFUSED}: the id is removed",
    versions="4-9",
    cost=6.2,
    settings=LIMIT,
)
async def e2(world: World) -> None:
    group = world.waiting_group()
    clients = [await world.client() for _ in range(3)]
    answers = [await (await client.join(group)).answer() for client in clients]
    assert {answer.error_code for answer in answers} == {ErrorCode.MEMBER_ID_REQUIRED}
    ids = [answer.member_id for answer in answers]
    calls = []
    for client, member_id in zip(clients[:2], ids[:2], strict=True):
        calls.append(await client.join(group, member_id))
        assert await calls[-1].parked()
    await assert_join_refused(await clients[2].join(group, ids[2]), FULL, "")
    first, second = await calls[0].answer(), await calls[1].answer()
    assert first.generation_id == second.generation_id == 1
    assert {one.member_id for one in first.members} == set(ids[:2])
    # The refused id is no longer reserved. The group is full, so that is known only once somebody has left.
    await clients[0].leave(group, ids[0])
    await assert_join_refused(await clients[2].join(group, ids[2]), ErrorCode.UNKNOWN_MEMBER_ID, ids[2])


# --- in a full group ---


@rule(
    id="E3",
    api="JoinGroup",
    says="A full group refuses a newcomer without giving it an id, and its members notice nothing.",
    source=f"{ACCEPTED}: Stable",
    versions="0-9",
    cost=6.2,
    settings=LIMIT,
)
async def e3(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    client = await world.client()
    for version in world.offered(JoinGroupRequest):
        await assert_join_refused(await client.join(leader.group, version=version), FULL, "")
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="E3b",
    api="JoinGroup",
    says="The limit is checked before the protocols.",
    source=f"{ACCEPTED}; {REFUSED}",
    versions="0-9",
    cost=6.2,
    settings=LIMIT,
)
async def e3b(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    client = await world.client()
    for version in world.offered(JoinGroupRequest):
        call = await client.join(leader.group, version=version, protocol_type="connect")
        await assert_join_refused(call, FULL, "")
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="E3c",
    api="JoinGroup",
    says="The limit is checked before a member id that nobody was given, which is not repeated in the answer.",
    source=f"{ACCEPTED}; {REFUSED}",
    versions="0-9",
    cost=6.2,
    settings=LIMIT,
)
async def e3c(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    client = await world.client()
    for version in world.offered(JoinGroupRequest):
        await assert_join_refused(await client.join(leader.group, "x-1", version=version), FULL, "")
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="E3d",
    api="JoinGroup",
    says="When a member has left a full group there is room for a newcomer.",
    source=ACCEPTED,
    versions="0-9",
    cost=6.1,
    settings=LIMIT,
)
async def e3d(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    await follower.client.leave(follower.group, follower.id)
    newcomer = await world.member(leader.group)
    await start_in_order(newcomer)
    await leader.start_join()
    await leader.finish_join()
    await newcomer.finish_join()
    assert set(leader.listed) == {leader.id, newcomer.id}


@rule(
    id="E4",
    api="JoinGroup",
    says="Members of a full group may always rejoin.",
    source=ACCEPTED,
    versions="0-9",
    cost=6.5,
    settings=LIMIT,
)
async def e4(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    await follower.start_join()
    assert (await follower.finish_join()).generation_id == 1
    await settle([leader, follower])
    await follower.start_join()
    assert (await follower.finish_join()).generation_id == 1
    assert await (await leader.start_join()).parked()
    await follower.start_join()
    for member in (leader, follower):
        assert (await member.finish_join()).generation_id == 2


# --- during a rebalance those count whose JoinGroup waits ---


@rule(
    id="E5",
    api="JoinGroup",
    says="During a rebalance only those count that have rejoined, so the last of too many is refused, and out.",
    source=f"{ACCEPTED}: PreparingRebalance; {REFUSED}: the member is removed",
    versions="1-9",
    cost=8.2,
    settings=LIMIT,
    since="4.0",
)
async def e5(world: World) -> None:
    leader, follower = await world.stable2(world.group(), rebalance=4_000)
    # A rebalance with room in it: only one has rejoined, so the newcomer comes in as the second of two.
    assert await (await leader.start_join()).parked()
    newcomer = await world.member(leader.group, rebalance=4_000)
    assert await (await newcomer.start_join()).parked()
    # Who is parked may send its request again.
    again = replace(leader, client=await world.client())
    call = await again.start_join()
    assert await call.parked()
    # The third is refused, although it is a member, and is none any more.
    await assert_join_refused(await follower.client.join(follower.group, follower.id), FULL, "")
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    # Those that are parked are not looked at again then; they wait for the deadline. Up to 3.9 they were.
    assert await call.parked()
    assert await state_of(world, leader.group) == "PreparingRebalance"
    await again.finish_join()
    await newcomer.finish_join()
    assert again.generation == newcomer.generation == 2
    assert set(again.listed) == {leader.id, newcomer.id}


@rule(
    id="E5b",
    api="JoinGroup",
    says="When so many have rejoined as the limit allows a stranger is refused, and those that did not may still.",
    source=f"{ACCEPTED}: PreparingRebalance",
    versions="0-9",
    cost=6.8,
    settings=LIMIT,
)
async def e5b(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    assert await (await leader.start_join()).parked()
    newcomer = await world.member(leader.group)
    assert await (await newcomer.start_join()).parked()
    client = await world.client()
    await assert_join_refused(await client.join(leader.group), FULL, "")
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


# --- static members ---


@rule(
    id="E6",
    api="JoinGroup",
    says="The limit holds for static newcomers, too.",
    source=ACCEPTED,
    versions="5-9",
    cost=6.1,
    settings=LIMIT,
)
async def e6(world: World) -> None:
    leader, follower = await world.static2(world.group())
    client = await world.client()
    for version in world.offered(JoinGroupRequest, range(5, 10)):
        await assert_join_refused(await client.join(leader.group, instance="i3", version=version), FULL, "")
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="E6b",
    api="JoinGroup",
    says="A static member that restarts is refused in a full group: whose place it takes is found out after that.",
    source=f"{ACCEPTED}: only the member id is looked at",
    versions="5-9",
    cost=6.1,
    settings=LIMIT,
)
async def e6b(world: World) -> None:
    leader, follower = await world.static2(world.group())
    client = await world.client()
    for version in world.offered(JoinGroupRequest, range(5, 10)):
        await assert_join_refused(await client.join(leader.group, instance="i2", version=version), FULL, "")
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="E6c",
    api="JoinGroup",
    says="A static member that still knows its member id may rejoin a full group.",
    source=ACCEPTED,
    versions="5-9",
    cost=6.1,
    settings=LIMIT,
)
async def e6c(world: World) -> None:
    leader, follower = await world.static2(world.group())
    answer = await (await (await world.client()).join(leader.group, follower.id, instance="i2")).answer()
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)


@rule(
    id="E6d",
    api="JoinGroup",
    says="When a static member was removed from a full group, its place is free for whoever restarts it.",
    source=f"KIP-345; {ACCEPTED}",
    versions="5-9",
    cost=6.1,
    settings=LIMIT,
)
async def e6d(world: World) -> None:
    leader, follower = await world.static2(world.group())
    client = await world.client()
    await client.leave(leader.group, ("", "i2"))
    call = await client.join(leader.group, instance="i2", protocols=[("range", sub(world.u))])
    assert await call.parked()
    await leader.start_join()
    answer = await leader.finish_join()
    other = await call.answer()
    assert ErrorCode(other.error_code) is ErrorCode.NONE
    assert other.member_id != follower.id
    assert {one.member_id for one in answer.members} == {leader.id, other.member_id}


@rule(
    id="connections-2",
    api="JoinGroup",
    says="Who was refused by a full group, static or not, is taken when a member has left, and all come to rest.",
    source=ACCEPTED,
    versions="5-9",
    cost=7.1,
    settings=LIMIT,
    each={"instance": (None, "third")},
)
async def connections_2(world: World, instance: str | None) -> None:
    leader, follower = await world.stable2(world.group())
    third = await world.member(leader.group, instance=instance)
    await assert_join_refused(await third.client.join(third.group, instance=instance), FULL, "")
    for member in (leader, follower):
        assert await member.heartbeat() is ErrorCode.NONE
    described = await leader.client.describe(leader.group)
    assert (described.group_state, len(described.members)) == ("Stable", 2)
    await follower.client.leave(follower.group, follower.id)
    assert await (await third.start_join()).parked()
    await leader.start_join()
    for member in (leader, third):
        await member.finish_join()
    assert set(leader.listed) == {leader.id, third.id}
    await settle([leader, third])


# --- without a limit ---


@rule(
    id="connections-1",
    api="JoinGroup",
    says="A group of 150 members comes to rest, and again when every fifth has left and the others rejoin.",
    source="KIP-389: group.max.size is no limit by default; Apache Kafka GroupMetadataManager.completeClassicGroupJoin",
    versions="4-9",
    cost=7.2,
    connections=150,
)
async def connections_1(world: World) -> None:
    group, size = world.group(), 150
    what: dict[str, Any] = {"protocols": [("range", b"\x00" * 4096)], "session": 60_000, "rebalance": 60_000}
    members = await world.completing(group, *[None] * size, **what)
    assert {member.generation for member in members} == {members[0].generation}
    assert len({member.id for member in members}) == size
    assert sorted(members[0].listed) == sorted(member.id for member in members)
    assert all(member.listed == () for member in members[1:])
    await settle(members)
    described = await members[0].client.describe(group)
    assert (described.group_state, len(described.members)) == ("Stable", size)
    before = members[0].generation
    for member in members[1::5]:
        assert await leave(member.client, group, member.id) is ErrorCode.NONE
    stayed = [member for number, member in enumerate(members) if number % 5 != 1]
    for member in stayed:
        assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    for member in stayed:
        await member.start_join()
    for member in stayed:
        await member.finish_join()
    assert {member.generation for member in stayed} == {before + 1}
    await settle(stayed)
    described = await members[0].client.describe(group)
    assert described.group_state == "Stable"
    assert {one.member_id: one.member_assignment for one in described.members} == {
        member.id: b"for " + member.id.encode() for member in stayed
    }
