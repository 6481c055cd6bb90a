"""What Kafka did otherwise with groups and their members before 4.0, when the group coordinator was another one.

Up to 3.9 it was that in kafka.coordinator.group, in Scala, unless a preview of the new one was turned on. Each rule has
the id of the one that replaced it, with the last release in which it held behind that.
"""

from typing import Final

import trio

from kcoord.check.rule import rule
from kcoord.check.rules.choices import CLAIMS_TOO_MUCH, vote
from kcoord.check.rules.describing import NOT_ASKED
from kcoord.check.rules.leaving import echoed, errors
from kcoord.check.rules.listing import assert_filtered
from kcoord.check.rules.size import ACCEPTED, FULL, LIMIT
from kcoord.check.rules.static_restarts import DELAY
from kcoord.check.steps import (
    Stopwatch,
    assert_join_refused,
    assert_refused,
    assert_sync_refused,
    restarted,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DescribeGroupsRequest

COORDINATOR: Final = "Apache Kafka 3.9 GroupCoordinator"
METADATA: Final = "Apache Kafka 3.9 GroupMetadata"
ALL_OPERATIONS: Final = 328
"""Bits of READ, DELETE and DESCRIBE."""
TIES: Final = (
    {"one": "range", "other": "roundrobin", "winner": "roundrobin"},
    {"one": "range", "other": "sticky", "winner": "range"},
    {"one": "range", "other": "cooperative-sticky", "winner": "cooperative-sticky"},
    {"one": "roundrobin", "other": "sticky", "winner": "roundrobin"},
    {"one": "roundrobin", "other": "cooperative-sticky", "winner": "cooperative-sticky"},
)
"""Two protocols, and which was taken if both had as many votes: the one that is not taken since 4.0.

It is the first in the order of a Scala HashMap, which depends on the names alone."""


# --- the vote ---


@rule(
    id="D36-3.9",
    api="JoinGroup",
    says="A tie has a winner that depends on the protocols' names, and is the one that loses since 4.0.",
    source=f"{METADATA}.selectProtocol: the order of a scala.collection.immutable.HashMap",
    versions="0-9",
    cost=12.1,
    each=TIES,
    since="2.8",
    until="3.9",
)
async def d36(world: World, one: str, other: str, winner: str) -> None:
    for lists in (((one, other), (other, one)), ((other, one), (one, other))):
        members = await vote(world, *lists)
        assert members[0].protocol_name == winner


@rule(
    id="D36b-3.9",
    api="SyncGroup",
    says="Who names the protocol that lost the vote is refused, and who names the winner is told of it.",
    source=f"KIP-559; {COORDINATOR}.validateSyncGroup",
    versions="5",
    cost=12.1,
    each=TIES,
    until="3.9",
)
async def d36b(world: World, one: str, other: str, winner: str) -> None:
    for lists in (((one, other), (other, one)), ((other, one), (one, other))):
        members = await vote(world, *lists)
        loser = other if winner == one else one
        refused = await (await members[0].sync(protocol_name=loser, version=5)).answer()
        assert_sync_refused(refused, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        calls = [await member.sync({}, protocol_name=winner, version=5) for member in members]
        for call in calls:
            assert (await call.answer()).protocol_name == winner


@rule(
    id="D34b-4.3",
    api="JoinGroup",
    says="A subscription that claims to have more topics than bytes keeps the join phase from its end.",
    source=f"{METADATA}.computeSubscribedTopics, ClassicGroup.computeSubscribedTopics: they catch other exceptions",
    versions="0-9",
    cost=8.1,
    since="2.8",
    until="4.3",
)
async def d34b(world: World) -> None:
    member = await world.member(world.group(), protocols=[("range", CLAIMS_TOO_MUCH)])
    call = await member.start_join()
    await trio.sleep(world.names.initial_delay + 4)
    assert await call.parked()
    assert await state_of(world, member.group) == "PreparingRebalance"


# --- members ---


@rule(
    id="E5-3.9",
    api="JoinGroup",
    says="During a rebalance only those count that have rejoined; when the last of too many is refused, the others are "
    "answered at once.",
    source=f"{ACCEPTED}: PreparingRebalance; {COORDINATOR}.doJoinGroup: the join phase is looked at after each request",
    versions="1-9",
    cost=4.2,
    settings=LIMIT,
    until="3.9",
)
async def e5(world: World) -> None:
    leader, follower = await world.stable2(world.group(), rebalance=30_000)
    assert await (await leader.start_join()).parked()
    newcomer = await world.member(leader.group, rebalance=30_000)
    assert await (await newcomer.start_join()).parked()
    await assert_join_refused(await follower.client.join(follower.group, follower.id), FULL, "")
    for member in (leader, newcomer):
        assert (await member.finish_join()).generation_id == 2
    assert set(leader.listed) == {leader.id, newcomer.id}
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="F14b-3.9",
    api="JoinGroup",
    says="A static member that restarted in the initial delay is put out when its session ends, though it waits.",
    source=f"{METADATA}.replaceStaticMember: the member is as new as it was, and is not heard of",
    versions="5-9",
    cost=9.1,
    settings=DELAY,
    since="2.8",
    until="3.9",
)
async def f14b(world: World) -> None:
    group = world.group()
    first = await world.member(group, instance="i1", session=6_000, rebalance=60_000)
    others = [await world.member(group) for _ in range(2)]
    await start_in_order(first)
    duplicate = await restarted(world, first)
    call = await duplicate.start_join()
    watch = Stopwatch(world)
    for number, other in enumerate(others):
        await watch.until(2 + 3 * number)
        await other.start_join()
    await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert watch.shows(6)
    for other in others:
        assert (await other.finish_join()).generation_id == 1
    assert {len(other.listed) for other in others} == {0, 2}


@rule(
    id="joining-9-3.9",
    api="JoinGroup",
    says="A static member that restarts has, until its first SyncGroup or heartbeat, the session timeout of before.",
    source=f"KIP-345; {COORDINATOR}.updateStaticMemberAndRebalance",
    versions="5-9",
    cost=14.2,
    each=(
        {"old": 10_000, "new": 6_000, "synced": False},
        {"old": 10_000, "new": 6_000, "synced": True},
        {"old": 6_000, "new": 10_000, "synced": False},
        {"old": 6_000, "new": 10_000, "synced": True},
    ),
    since="3.3",
    until="3.9",
)
async def joining_9(world: World, old: int, new: int, synced: bool) -> None:
    (member,) = await world.stable(world.group(), "i1", session=old)
    again = await restarted(world, member, session=new)
    watch = Stopwatch(world)
    await again.start_join()
    await again.finish_join()
    if synced:
        await trio.sleep(1)
        watch = Stopwatch(world)
        await (await again.sync()).answer()
    session = (new if synced else old) / 1000
    await watch.until(session - 0.5)
    assert await state_of(world, member.group) == "Stable"
    await watch.until(session + 1)
    assert await state_of(world, member.group) in WITHOUT_MEMBERS


WITHOUT_MEMBERS: Final = ("Empty", "Dead")
"""States of a group that nobody is in. Whenever a topic is deleted, groups that have no offsets either are removed."""


@rule(
    id="H22-3.9",
    api="SyncGroup",
    says="A session begins anew with a SyncGroup that is answered at once.",
    source=f"{COORDINATOR}.doSyncGroup: Stable",
    versions="0-5",
    cost=10.2,
    until="3.9",
)
async def h22(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(4)
    assert (await (await member.sync()).answer()).error_code == ErrorCode.NONE
    await trio.sleep(3)
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="I9b-3.9",
    api="LeaveGroup",
    says="An id that was only handed out is given back without a rebalance, whatever instance id goes with it.",
    source=f"KIP-394; {COORDINATOR}.removePendingMemberAndUpdateGroup: only a join phase is looked at",
    versions="3-5",
    cost=3.1,
    since="3.0",
    until="3.9",
)
async def i9b(world: World) -> None:
    member = await world.stable1(world.group())
    pending = (await (await member.client.join(member.group)).answer()).member_id
    answer = await member.client.leave(member.group, (pending, "i9"))
    assert errors(answer) == [ErrorCode.NONE]
    assert echoed(answer) == [(pending, "i9")]
    assert await member.heartbeat() is ErrorCode.NONE
    call = await (await world.client()).join(member.group, pending)
    assert_refused(await call.answer(), ErrorCode.UNKNOWN_MEMBER_ID, pending, call.version)


# --- what operators are told ---


@rule(
    id="M5-3.9",
    api="DescribeGroups",
    says="During a rebalance all are listed, without metadata and without what the last generation assigned to them.",
    source="Apache Kafka 3.9 MemberMetadata.summaryNoMetadata outside of Stable",
    versions="0-5",
    cost=6.8,
    until="3.9",
)
async def m5(world: World) -> None:
    members = await world.preparing(world.group())
    described = await members[0].client.describe(members[0].group)
    assert described.group_state == "PreparingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    assert {(one.member_metadata, one.member_assignment) for one in described.members} == {(b"", b"")}
    assert {one.member_id for one in described.members} == {member.id for member in members}


@rule(
    id="M9b-3.9",
    api="DescribeGroups",
    says="Where nothing is forbidden one may read, delete and describe a group, known or not.",
    source="KIP-430; Apache Kafka KafkaApis.handleDescribeGroupsRequest, AclEntry.supportedOperations",
    versions="3-5",
    until="3.9",
)
async def m9b(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(DescribeGroupsRequest, (3, 4, 5)):
        for described in (group, world.group()):
            answer = await client.describe(described, version=version, operations=True)
            assert answer.authorized_operations == ALL_OPERATIONS


@rule(
    id="admin-12b-3.9",
    api="DescribeGroups",
    says="What may be done with a group that has members is told if it is asked for, and not otherwise.",
    source="KIP-430; Apache Kafka KafkaApis.handleDescribeGroupsRequest, AclEntry.supportedOperations",
    versions="3-5",
    cost=3.1,
    since="2.8",
    until="3.9",
)
async def admin_12b(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(DescribeGroupsRequest, (3, 4, 5)):
        described = await member.client.describe(member.group, version=version)
        assert described.authorized_operations == NOT_ASKED
        described = await member.client.describe(member.group, version=version, operations=True)
        assert described.authorized_operations == ALL_OPERATIONS


@rule(
    id="N3b-3.7",
    api="ListGroups",
    says="Names of states are not the same in capitals and in small letters.",
    source=f"KIP-518; {COORDINATOR}.handleListGroups",
    versions="4",
    cost=7.0,
    until="3.7",
    connections=10,
)
async def n3b(world: World) -> None:
    await assert_filtered(world, (("stable",), set()), (("STABLE",), set()), (("Stable",), {"Stable"}))


@rule(
    id="N3c-3.9",
    api="ListGroups",
    says="A name of a state with blanks around it is the name of none.",
    source=f"KIP-518; {COORDINATOR}.handleListGroups",
    versions="4-5",
    cost=7.0,
    until="3.9",
    connections=10,
)
async def n3c(world: World) -> None:
    await assert_filtered(world, ((" Stable ",), set()), (("Stable",), {"Stable"}))
