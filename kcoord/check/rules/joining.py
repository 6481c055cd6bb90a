"""Who comes into a group, and how; what a JoinGroup is refused for is in `refused_joins`."""

import re

import trio

from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
    WRITTEN,
    Stopwatch,
    assert_join_refused,
    assert_refused,
    assert_sync_refused,
    beating,
    generation_of_next,
    start_in_order,
    state_of,
)
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest, ListGroupsRequest

JOINED = "Apache Kafka GroupCoordinatorService.joinGroup"
LOOKED_UP = "Apache Kafka GroupMetadataManager.classicGroupJoinToClassicGroup"
NEWCOMER = "Apache Kafka GroupMetadataManager.classicGroupJoinNewMember"
DYNAMIC = "Apache Kafka GroupMetadataManager.classicGroupJoinNewDynamicMember"
EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"
COMPLETED = "Apache Kafka GroupMetadataManager.completeClassicGroupJoin"
SUPPORTED = "Apache Kafka ClassicGroup.supportsProtocols"
MEMBER = "Apache Kafka ClassicGroup.validateMember"

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
STATIC = 5
"""The version from which a JoinGroup has an instance id."""

# --- how one comes in ---


@rule(
    id="C1",
    api="JoinGroup",
    says="A newcomer is given a member id first, made of its client id and a random UUID, and has to join with that.",
    source=f"KIP-394; {DYNAMIC}; Apache Kafka ClassicGroup.generateMemberId",
    versions="4-9",
)
async def c1(world: World) -> None:
    client = await world.client("my client")
    for version in world.offered(JoinGroupRequest, range(4, 10)):
        answer = await (await client.join(world.group(), version=version)).answer()
        assert re.fullmatch(f"my client-{UUID}", answer.member_id)
        assert_refused(answer, ErrorCode.MEMBER_ID_REQUIRED, answer.member_id, version)


@rule(
    id="C2",
    api="JoinGroup",
    says="Who joins with the id that it was given waits for the first rebalance, and leads generation 1.",
    source=f"KIP-394; KIP-134; {EXISTING}; {COMPLETED}",
    versions="4-9",
    cost=3.4,
)
async def c2(world: World) -> None:
    members = {
        version: await world.member(world.waiting_group()) for version in world.offered(JoinGroupRequest, range(4, 10))
    }
    for version, member in members.items():
        await member.start_join(version=version)
    for member in members.values():
        assert member.call is not None
        assert await member.call.parked()
    for version, member in members.items():
        given = member.id
        answer = await member.finish_join()
        assert answer.generation_id == 1
        assert answer.leader == answer.member_id == given
        assert [(one.member_id, one.metadata) for one in answer.members] == [(given, sub(world.names.subscribed))]
        assert answer.protocol_name == "range"
        assert answer.protocol_type == ("consumer" if version >= 7 else None)
        assert not answer.skip_assignment


@rule(
    id="C3",
    api="JoinGroup",
    says="In old versions a newcomer joins in one step, and learns its member id when the rebalance is over.",
    source=f"KIP-394: only versions from 4 on need a known member id; {DYNAMIC}",
    versions="0-3",
    cost=3.4,
)
async def c3(world: World) -> None:
    members = {
        version: await world.member(world.waiting_group()) for version in world.offered(JoinGroupRequest, range(4))
    }
    calls = [await member.start_join(version=version) for version, member in members.items()]
    for call in calls:
        assert await call.parked()
    for member in members.values():
        answer = await member.finish_join()
        assert answer.generation_id == 1
        assert answer.leader == answer.member_id
        assert re.fullmatch(f"client-{UUID}", answer.member_id)
        assert [one.member_id for one in answer.members] == [answer.member_id]


@rule(
    id="C4",
    api="JoinGroup",
    says="A static newcomer joins in one step, and is given a member id made of its instance id and a random UUID.",
    source=f"KIP-345; {NEWCOMER}; Apache Kafka ClassicGroup.generateMemberId",
    versions="5-9",
    cost=3.1,
)
async def c4(world: World) -> None:
    versions = world.offered(JoinGroupRequest, range(STATIC, 10))
    members = {version: await world.member(world.group(), instance="i1") for version in versions}
    for version, member in members.items():
        await member.start_join(version=version)
    for member in members.values():
        answer = await member.finish_join()
        assert answer.generation_id == 1
        assert re.fullmatch(f"i1-{UUID}", answer.member_id)
        assert answer.leader == answer.member_id
        assert [(one.member_id, one.group_instance_id) for one in answer.members] == [(answer.member_id, "i1")]


@rule(
    id="C5",
    api="JoinGroup",
    says="The leader is told the members' instance ids if it speaks a version that has them.",
    source="KIP-345; Apache Kafka ClassicGroup.currentClassicGroupMembers; JoinGroupResponse.json",
    versions="5-9",
    cost=6.1,
    each={"leaders_version": (4, 5, 9)},
)
async def c5(world: World, leaders_version: int) -> None:
    group = world.group()
    leader = await world.member(group)
    await start_in_order(leader, version=leaders_version)
    static = await world.member(group, instance="i1")
    await static.start_join()
    answer = await leader.finish_join()
    await static.finish_join()
    assert leader.leads
    assert {one.member_id: one.group_instance_id for one in answer.members} == {
        leader.id: None,
        static.id: "i1" if leaders_version >= STATIC else None,
    }


@rule(
    id="C6",
    api="JoinGroup",
    says="An answer tells the protocol type from version 7 on, but not when it hands out a member id.",
    source=f"KIP-559; {COMPLETED}; {DYNAMIC}",
    versions="4-9",
    cost=3.2,
)
async def c6(world: World) -> None:
    members = {version: await world.member(world.group()) for version in world.offered(JoinGroupRequest, range(4, 10))}
    for version, member in members.items():
        call = await member.client.join(member.group, version=version)
        assert (await call.answer()).protocol_type is None
        await member.start_join(version=version)
    for version, member in members.items():
        assert (await member.finish_join()).protocol_type == ("consumer" if version >= 7 else None)


@rule(
    id="C7",
    api="JoinGroup",
    says="Whoever joins without a member id is given another one each time.",
    source=f"KIP-394; {DYNAMIC}; Apache Kafka ClassicGroup.generateMemberId",
    versions="4-9",
)
async def c7(world: World) -> None:
    client, group = await world.client(), world.group()
    first = await (await client.join(group)).answer()
    second = await (await client.join(group)).answer()
    assert first.error_code == second.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id != second.member_id


# --- empty groups, and groups that are only begun ---


@rule(
    id="C24",
    api="JoinGroup",
    says="A group that has become empty takes a newcomer of another protocol type, and has that type then.",
    source=f"{SUPPORTED}: an empty group takes any; Apache Kafka ClassicGroup.add",
    versions="0-9",
    cost=6.2,
)
async def c24(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert (await member.client.list())[member.group].protocol_type == "consumer"
    newcomer = await world.member(member.group, protocol_type="connect", protocols=[("default", b"")])
    await newcomer.start_join()
    answer = await newcomer.finish_join()
    assert (answer.generation_id, answer.protocol_name) == (3, "default")
    assert (await newcomer.client.list())[member.group].protocol_type == "connect"


@rule(
    id="C25",
    api="JoinGroup",
    says="Who has left an empty group cannot come back with its old member id.",
    source=f"{EXISTING}; {MEMBER}",
    versions="0-9",
    cost=3.1,
)
async def c25(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    call = await member.client.join(member.group, member.id)
    await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, member.id)
    assert await state_of(world, member.group) == "Empty"


@rule(
    id="C26",
    api="JoinGroup",
    says="When the first member id is handed out there is a group: empty, and of no protocol type yet.",
    source=f"{LOOKED_UP}: an empty group is written down",
    versions="4-9",
    cost=0.5,
)
async def c26(world: World) -> None:
    client, group = await world.client(), world.group()
    assert (await (await client.join(group)).answer()).error_code == ErrorCode.MEMBER_ID_REQUIRED
    await trio.sleep(WRITTEN)
    version = client.newest(ListGroupsRequest, 5)
    listed = (await client.list(version=version))[group]
    assert listed.protocol_type == ""
    assert listed.group_state == ("Empty" if version >= 4 else "")
    assert listed.group_type == ("classic" if version >= 5 else "")
    described = await client.describe(group)
    assert (described.error_code, described.group_state, described.members) == (ErrorCode.NONE, "Empty", [])


@rule(
    id="C27",
    api="JoinGroup",
    says="Handing out a member id begins no rebalance.",
    source=f"KIP-394; {DYNAMIC}",
    versions="4-9",
    cost=3.1,
)
async def c27(world: World) -> None:
    member = await world.stable1(world.group())
    answer = await (await (await world.client()).join(member.group)).answer()
    assert ErrorCode(answer.error_code) is ErrorCode.MEMBER_ID_REQUIRED
    assert await state_of(world, member.group) == "Stable"
    assert await member.heartbeat() is ErrorCode.NONE


# --- what is free ---


@rule(
    id="C28",
    api="JoinGroup",
    says="A member's metadata may be empty.",
    source=f"{SUPPORTED}: only names are looked at",
    versions="0-9",
    cost=3.1,
)
async def c28(world: World) -> None:
    member = await world.member(world.group(), protocols=[("range", b"")])
    await member.start_join()
    answer = await member.finish_join()
    assert [(one.member_id, one.metadata) for one in answer.members] == [(member.id, b"")]


@rule(
    id="C29",
    api="JoinGroup",
    says="The reason for joining may be missing, empty, or longer than clients are meant to make it.",
    source="KIP-800; Apache Kafka JoinGroupRequest.joinReason",
    versions="8-9",
)
async def c29(world: World) -> None:
    client = await world.client()
    for version in world.offered(JoinGroupRequest, (8, 9)):
        for reason in (None, "", "x" * 300):
            answer = await (await client.join(world.group(), reason=reason, version=version)).answer()
            assert ErrorCode(answer.error_code) is ErrorCode.MEMBER_ID_REQUIRED


@rule(
    id="C30",
    api="JoinGroup",
    says="A rebalance timeout of nothing, or less, is taken, but the member is out as soon as it was answered.",
    source=f"{COMPLETED}: the deadline for SyncGroup is the rebalance timeout; GroupMetadataManager.expirePendingSync",
    versions="1-9",
    cost=6.1,
    settings={"group.initial.rebalance.delay.ms": 3000},
    each={"rebalance": (0, -1, -(2**31))},
)
async def c30(world: World, rebalance: int) -> None:
    watch = Stopwatch(world)
    member = await world.member(world.group(), rebalance=rebalance)
    await member.start_join()
    answer = await member.finish_join()
    assert watch.shows(3)
    assert answer.generation_id == 1
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert_sync_refused(await (await member.sync({member.id: b"x"})).answer(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert await state_of(world, member.group) == "Empty"
    assert await generation_of_next(world, member.group) == 3


@rule(
    id="C31",
    api="JoinGroup",
    says="In version 0, which has no rebalance timeout, the session timeout is that, too.",
    source="Apache Kafka JoinGroupRequest: a rebalance timeout that is -1 is the session timeout",
    versions="0",
    cost=10.1,
)
async def c31(world: World) -> None:
    (member,) = await world.stable(world.group(), None, version=0, session=7_000)
    newcomer = await world.member(member.group, session=6_000)
    watch = Stopwatch(world)
    await start_in_order(newcomer, version=0)
    async with beating(world, member) as told:
        answer = await newcomer.finish_join()
        assert watch.shows(7)
    assert [one.member_id for one in answer.members] == [newcomer.id]
    assert told[member.id] == {ErrorCode.REBALANCE_IN_PROGRESS}
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="C32",
    api="JoinGroup",
    says="A group id may be any text that is not empty.",
    source=JOINED,
    versions="4-9",
    cost=0.4,
)
async def c32(world: World) -> None:
    client = await world.client()
    groups = [world.group(stem) for stem in ("grüppe 日本 😀", "x" * 300, "  ", 'a:b?c,"d"%\n', "../..", ".")]
    for group in groups:
        answer = await (await client.join(group)).answer()
        assert ErrorCode(answer.error_code) is ErrorCode.MEMBER_ID_REQUIRED
    await trio.sleep(WRITTEN)
    for group in groups:
        described = await client.describe(group)
        assert (described.group_id, described.group_state) == (group, "Empty")
