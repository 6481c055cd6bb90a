"""The choice of the protocol, lost connections, mixed versions, and what a rejoin changes."""

from dataclasses import replace
from typing import Final

from kcoord.check.member import Member, settle
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
    Stopwatch,
    assert_join_refused,
    assert_sync_refused,
    beating,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode

VOTED = "Apache Kafka ClassicGroup.selectProtocol"
UPDATED = "Apache Kafka GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin"
COMPLETED = "Apache Kafka GroupMetadataManager.completeClassicGroupJoin"
EXPIRED = "Apache Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat"

TIES: Final = (
    {"one": "range", "other": "roundrobin", "winner": "range"},
    {"one": "range", "other": "sticky", "winner": "sticky"},
    {"one": "range", "other": "cooperative-sticky", "winner": "range"},
    {"one": "roundrobin", "other": "sticky", "winner": "sticky"},
    {"one": "roundrobin", "other": "cooperative-sticky", "winner": "roundrobin"},
)
"""Two protocols, and which is taken if both have as many votes.

Apache Kafka takes the first in the order of a Java HashMap; it depends on the names alone."""

CLAIMS_TOO_MUCH: Final = b"\0\0" + b"\x7f\xff\xff\xff"
"""A subscription of version 0 with 2**31 - 1 topics, of which none follows."""


async def vote(world: World, *lists: tuple[str, ...]) -> list[Member]:
    """Return members that offer these protocols, in one generation; the metadata of each tells who and for what.

    They are subscriptions, as Kafka up to 4.3 is stuck with some texts that are none (D34b-4.3).
    """
    group = world.group()
    members = [
        await world.member(group, protocols=[(name, sub(f"{number} {name}")) for name in names])
        for number, names in enumerate(lists)
    ]
    await start_in_order(*members)
    answers = [await member.finish_join() for member in members]
    chosen = members[0].protocol_name
    assert {member.protocol_name for member in members} == {chosen}
    assert {one.member_id: one.metadata for one in answers[0].members} == {
        member.id: sub(f"{number} {chosen}") for number, member in enumerate(members)
    }
    return members


# --- the vote ---


@rule(
    id="D34",
    api="JoinGroup",
    says="Each member votes for what it lists first, and the protocol with the most votes is taken.",
    source=VOTED,
    versions="0-9",
    cost=6.2,
    also="D37",
)
async def d34(world: World) -> None:
    members = await vote(world, ("range", "roundrobin"), ("roundrobin", "range"), ("roundrobin", "range"))
    assert members[0].protocol_name == "roundrobin"


@rule(
    id="D34b",
    api="JoinGroup",
    says="A subscription that claims to have more topics than bytes is passed on to the leader as it is.",
    source="Apache Kafka ClassicGroup.computeSubscribedTopics",
    versions="0-9",
    cost=3.1,
    since="4.4",
)
async def d34b(world: World) -> None:
    member = await world.member(world.group(), protocols=[("range", CLAIMS_TOO_MUCH)])
    await member.start_join()
    assert [one.metadata for one in (await member.finish_join()).members] == [CLAIMS_TOO_MUCH]


@rule(
    id="D35",
    api="JoinGroup",
    says="Only a protocol that all members list is taken, though it be nobody's first.",
    source=f"{VOTED}; Apache Kafka ClassicGroup.candidateProtocols",
    versions="0-9",
    cost=6.2,
    each={"second": (("roundrobin", "foo"), ("foo", "roundrobin"))},
)
async def d35(world: World, second: tuple[str, ...]) -> None:
    members = await vote(world, ("range", "roundrobin"), second)
    assert members[0].protocol_name == "roundrobin"


@rule(
    id="D36",
    api="JoinGroup",
    says="A tie has a winner that depends on the protocols' names, and not on who comes first.",
    source=f"{VOTED}: the order of a java.util.HashMap",
    versions="0-9",
    cost=12.1,
    each=TIES,
    since="4.0",
)
async def d36(world: World, one: str, other: str, winner: str) -> None:
    for lists in (((one, other), (other, one)), ((other, one), (one, other))):
        members = await vote(world, *lists)
        assert members[0].protocol_name == winner


@rule(
    id="D36b",
    api="SyncGroup",
    says="Who names the protocol that lost the vote is refused, and who names the winner is told of it.",
    source="KIP-559; Apache Kafka GroupMetadataManager.validateSyncGroup",
    versions="5",
    cost=12.1,
    each=TIES,
    since="4.0",
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


# --- connections ---


@rule(
    id="D38",
    api="JoinGroup",
    says="A JoinGroup that is sent again on another connection takes the place of the one that waits.",
    source=f"{UPDATED}; Apache Kafka ClassicGroup.updateMember",
    versions="0-9",
    cost=7.3,
)
async def d38(world: World) -> None:
    leader, follower, third = await world.preparing(world.group())
    again = replace(third, client=await world.client())
    call = await again.start_join()
    assert await call.parked()
    for member in (leader, follower):
        await member.start_join()
    for member in (leader, follower, again):
        await member.finish_join()
    assert sorted(leader.listed) == sorted([leader.id, follower.id, third.id])
    assert third.call is not None
    if not await third.call.parked():
        # Apache Kafka leaves the request whose place was taken without an answer; an error to try again after is
        # as good for whoever still waits for it.
        await assert_join_refused(third.call, ErrorCode.REBALANCE_IN_PROGRESS, third.id)
    await settle([leader, follower, again])


@rule(
    id="D39",
    api="JoinGroup",
    says="When the connection is lost on which a JoinGroup waits, its member is still there, and has joined.",
    source=f"{COMPLETED}; nothing tells a coordinator of connections",
    versions="0-9",
    cost=6.5,
)
async def d39(world: World) -> None:
    leader, follower, third = await world.preparing(world.group())
    await third.client.aclose()
    for member in (leader, follower):
        await member.start_join()
    for member in (leader, follower):
        await member.finish_join()
    assert leader.generation == 2
    assert set(leader.listed) == {leader.id, follower.id, third.id}


@rule(
    id="D40",
    api="JoinGroup",
    says="A member whose connection was lost while it waited is out one session timeout after the rebalance.",
    source=f"{COMPLETED}: sessions begin; {EXPIRED}",
    versions="0-9",
    cost=12.8,
)
async def d40(world: World) -> None:
    member = await world.stable1(world.group())
    lost = await world.member(member.group, session=6_000)
    await start_in_order(lost)
    await lost.client.aclose()
    watch = Stopwatch(world)
    await watch.until(2)
    await member.start_join()
    await member.finish_join()
    assert set(member.listed) == {member.id, lost.id}
    await settle([member])
    async with beating(world, member, every=0.25) as told:
        await watch.until(7.9)
        assert told[member.id] == {ErrorCode.NONE}
        await watch.until(9.3)
        assert told[member.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    await member.start_join()
    await member.finish_join()
    assert (member.generation, member.listed) == (3, (member.id,))


# --- versions, and what stays as it was ---


@rule(
    id="D41",
    api="JoinGroup",
    says="Members that speak old and new versions are in one group, and each is answered in its own.",
    source=f"{COMPLETED}; JoinGroupResponse.json; SyncGroupResponse.json",
    versions="0-9",
    cost=6.1,
)
async def d41(world: World) -> None:
    group = world.group()
    old, new = await world.member(group), await world.member(group)
    await start_in_order(old, version=3)
    await new.start_join(version=9)
    answer = await old.finish_join()
    assert (answer.protocol_type, answer.protocol_name, len(answer.members)) == (None, "range", 2)
    answer = await new.finish_join()
    assert (answer.protocol_type, answer.protocol_name, answer.members) == ("consumer", "range", [])
    assert old.leads
    assert new.leader == old.id
    assignments = {old.id: b"o", new.id: b"n"}
    first, second = await old.sync(assignments, version=1), await new.sync(version=5)
    assert (await first.answer()).assignment == b"o"
    answer = await second.answer()
    assert (answer.assignment, answer.protocol_type, answer.protocol_name) == (b"n", "consumer", "range")
    await new.start_join(version=0)
    answer = await new.finish_join()
    assert (answer.generation_id, answer.leader, answer.members) == (1, old.id, [])


@rule(
    id="D42",
    api="JoinGroup",
    says="A member that rejoins with another client id is shown with the one that it first had, and the same host.",
    source="Apache Kafka ClassicGroup.updateMember: protocols and timeouts are all that changes",
    versions="0-9",
    cost=3.1,
)
async def d42(world: World) -> None:
    member = await world.stable1(world.group(), client_id="first")
    (before,) = (await member.client.describe(member.group)).members
    again = replace(member, client=await world.client("second"))
    await again.start_join()
    await again.finish_join()
    await settle([again])
    (described,) = (await again.client.describe(member.group)).members
    assert (described.member_id, described.client_id) == (member.id, "first")
    assert described.client_host == before.client_host
    assert described.client_host.startswith("/")


@rule(
    id="D43",
    api="JoinGroup",
    says="A member that rejoins may change its session timeout.",
    source="Apache Kafka ClassicGroup.updateMember",
    versions="0-9",
    cost=10.1,
)
async def d43(world: World) -> None:
    member = await world.stable1(world.group(), session=20_000)
    member.session = 6_000
    await member.start_join()
    watch = Stopwatch(world)
    await member.finish_join()
    await watch.until(5.5)
    assert await state_of(world, member.group) == "CompletingRebalance"
    await watch.until(7)
    assert await state_of(world, member.group) == "Empty"
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
