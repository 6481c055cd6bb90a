"""Protocols as those who join offer them: assignors that change, and types that are not consumers'."""

from typing import Any

from kcoord.check.member import Member, settle
from kcoord.check.rule import rule
from kcoord.check.steps import assert_join_refused, assert_sync_refused, start_in_order
from kcoord.check.world import World
from wire.errors import ErrorCode

RANGE = ("range", b"r")
COOPERATIVE = ("cooperative-sticky", b"c")

CHOSEN = "Apache Kafka ClassicGroup.selectProtocol"
SUPPORTED = "Apache Kafka ClassicGroup.supportsProtocols"
SYNCED = "Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup"
OPAQUE = "KIP-559; Apache Kafka ClassicGroup: type, names and metadata are not interpreted"


async def all_rejoin(*members: Member) -> None:
    """Everybody joins, one after the other, and gets the same generation."""
    *early, last = members
    await start_in_order(*early)
    await last.start_join()
    for member in members:
        await member.finish_join()
    assert len({member.generation for member in members}) == 1


# --- assignors that change, and votes for them ---


@rule(
    id="joining-18",
    api="JoinGroup",
    says="Members move to another assignor one by one: all offer both, and it is chosen as soon as all offer it.",
    source=f"KIP-429; {CHOSEN}",
    versions="4-9",
    cost=4.3,
)
async def joining_18(world: World) -> None:
    old = await world.stable1(world.group(), protocols=[RANGE])
    # First bounce: both are offered, the new one first. While one member lacks it, the old one is chosen.
    both = await world.member(old.group, protocols=[COOPERATIVE, RANGE])
    await start_in_order(both)
    assert await old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await old.start_join()
    answer = await old.finish_join()
    await both.finish_join()
    assert old.protocol_name == both.protocol_name == "range"
    assert {one.member_id: one.metadata for one in answer.members} == {old.id: b"r", both.id: b"r"}
    await settle([old, both])
    old.protocols = [COOPERATIVE, RANGE]
    await all_rejoin(old, both)
    assert old.protocol_name == both.protocol_name == "cooperative-sticky"
    await settle([old, both])
    # Second bounce: the old one is dropped, which is a change, too.
    old.protocols = [COOPERATIVE]
    await start_in_order(old)
    assert await both.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await both.start_join()
    for member in (old, both):
        await member.finish_join()
    await settle([old, both])
    call = await (await world.client()).join(old.group, protocols=[RANGE])
    await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await old.heartbeat() is ErrorCode.NONE
    assert await both.heartbeat() is ErrorCode.NONE


WRONG: dict[str, dict[str, Any]] = {
    "only another assignor": {"protocols": [COOPERATIVE]},
    "another type": {"protocols": [RANGE], "protocol_type": "connect"},
    "no assignor": {"protocols": []},
    "no type": {"protocols": [RANGE], "protocol_type": ""},
}


@rule(
    id="joining-18b",
    api="JoinGroup",
    says="A stranger whose protocols do not go with the group's is refused again and again, and no member minds.",
    source=SUPPORTED,
    versions="0-9",
    cost=3.1,
)
async def joining_18b(world: World) -> None:
    member = await world.stable1(world.group(), protocols=[RANGE])
    stranger = await world.client()
    for wrong in WRONG.values():
        call = await stranger.join(member.group, **wrong)
        await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="joining-19",
    api="JoinGroup",
    says="Each member has a vote for what it lists first of the protocols that all list.",
    source=CHOSEN,
    versions="0-9",
    cost=6.7,
    each=(
        {"lists": ("ab", "ba", "b"), "winner": "b"},
        # One vote each. Apache Kafka then takes the first in the order of a HashMap: a.
        {"lists": ("abc", "cab", "bca"), "winner": "a"},
    ),
)
async def joining_19(world: World, lists: tuple[str, ...], winner: str) -> None:
    group = world.group()
    members = [await world.member(group, protocols=[(name, b"") for name in names]) for names in lists]
    await all_rejoin(*members)
    assert {member.protocol_name for member in members} == {winner}


@rule(
    id="joining-19b",
    api="JoinGroup",
    says="Among very many protocols, too, a tie has a winner that depends on their names.",
    source=f"{CHOSEN}: a java.util.HashMap grows when more than three of four buckets would be taken",
    versions="0-9",
    cost=7.0,
    since="4.0",
    connections=25,
    each=({"count": 13, "winner": "proto08"}, {"count": 25, "winner": "proto19"}),
)
async def joining_19b(world: World, count: int, winner: str) -> None:
    group = world.group()
    names = [f"proto{number:02}" for number in range(count)]
    turned = [names[number:] + names[:number] for number in range(count)]
    members = [await world.member(group, protocols=[(name, b"") for name in each]) for each in turned]
    await all_rejoin(*members)
    assert {member.protocol_name for member in members} == {winner}


@rule(
    id="joining-23",
    api="JoinGroup",
    says="A member that lists a protocol twice can be in a group with others: all are told of one that all list.",
    source=f"{CHOSEN}; {SUPPORTED}",
    versions="0-9",
    cost=6.4,
)
async def joining_23(world: World) -> None:
    group = world.group()
    twice = await world.member(group, protocols=[("range", b"1"), ("range", b"2"), ("sticky", b"3")])
    once = await world.member(group, protocols=[("range", b"4"), ("sticky", b"5")])
    await all_rejoin(twice, once)
    assert twice.protocol_name == once.protocol_name
    # Apache Kafka counts "range" twice, so that it is common to nobody; with no other name the group would hang.
    assert once.protocol_name in {"range", "sticky"}


# --- types other than "consumer" ---


@rule(
    id="joining-20",
    api="SyncGroup",
    says="A member id that was replaced never gets an assignment, whatever generation it names.",
    source=f"{SYNCED}; ClassicGroup.validateMember",
    versions="5",
    cost=6.1,
)
async def joining_20(world: World) -> None:
    client, group = await world.client(), world.group()
    what: dict[str, Any] = {"protocol_type": "sr", "protocols": [("v0", b"")]}
    by: dict[str, Any] = {"protocol_type": "sr", "protocol_name": "v0"}
    first = await (await client.join(group, version=3, **what)).answer()
    await client.leave(group, first.member_id)
    second = await (await client.join(group, version=3, **what)).answer()
    assert second.generation_id == 3
    for generation in (first.generation_id, second.generation_id):
        call = await client.sync(group, generation, first.member_id, {first.member_id: b"x"}, **by)
        assert_sync_refused(await call.answer(), ErrorCode.UNKNOWN_MEMBER_ID)
    synced = await (await client.sync(group, 3, second.member_id, {second.member_id: b"mine"}, **by)).answer()
    assert (synced.error_code, synced.assignment, synced.protocol_type) == (ErrorCode.NONE, b"mine", "sr")


@rule(
    id="joining-22",
    api="JoinGroup",
    says="The type, the names of the protocols and the metadata may be any that a client makes up.",
    source=OPAQUE,
    versions="2-3",
    cost=3.1,
)
async def joining_22(world: World) -> None:
    client, group = await world.client(), world.group()
    names = ["protoköll 日本", "p" * 200]
    protocols = [(name, b"\xff\x00") for name in names]
    call = await client.join(group, protocol_type="my.own-type/1", protocols=protocols, version=3)
    answer = await call.answer()
    assert (answer.error_code, answer.protocol_name) == (ErrorCode.NONE, names[0])
    assert [one.metadata for one in answer.members] == [b"\xff\x00"]
    by: dict[str, Any] = {"protocol_type": "my.own-type/1", "protocol_name": names[0]}
    synced = await (await client.sync(group, 1, answer.member_id, {answer.member_id: b"\x01"}, **by)).answer()
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"\x01")
    assert synced.protocol_type == "my.own-type/1"
    described = await client.describe(group)
    assert (described.protocol_type, described.protocol_data) == ("my.own-type/1", names[0])
    assert described.members[0].member_metadata == b"\xff\x00"
