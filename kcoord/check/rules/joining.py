"""Who may join a group, and what a JoinGroup is checked for."""

import re

import trio

from kcoord.check.probe import Client, sub
from kcoord.check.rule import rule
from kcoord.check.steps import (
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
ADDED = "Apache Kafka GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin"
EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"
COMPLETED = "Apache Kafka GroupMetadataManager.completeClassicGroupJoin"
SUPPORTED = "Apache Kafka ClassicGroup.supportsProtocols"
MEMBER = "Apache Kafka ClassicGroup.validateMember"

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
STATIC = 5
"""The version from which a JoinGroup has an instance id."""
WRITTEN = 0.3
"""How long (s) to wait until a new group can be seen.

Apache Kafka answers a handshake before the group's record is written, and tells of no group before that."""


def with_instances(version: int) -> tuple[str | None, ...]:
    """Return the instance ids that a newcomer may have in this version: none, and one."""
    return (None, "i1") if version >= STATIC else (None,)


async def is_listed(client: Client, group: str) -> bool:
    """Whether there is such a group, once there was time to write it down."""
    await trio.sleep(WRITTEN)
    return group in await client.list()


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
    cost=3.9,
)
async def c2(world: World) -> None:
    members = {version: await world.member(world.group()) for version in world.offered(JoinGroupRequest, range(4, 10))}
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
    cost=3.7,
)
async def c3(world: World) -> None:
    members = {version: await world.member(world.group()) for version in world.offered(JoinGroupRequest, range(4))}
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
    cost=6.4,
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


# --- what is refused before the group is looked up ---


@rule(
    id="C8",
    api="JoinGroup",
    says="The empty group id is refused as such, whatever member id comes with it.",
    source=JOINED,
    versions="0-9",
    alone=True,
)
async def c8(world: World) -> None:
    client, group = await world.client(), await world.take_group("")
    for version in world.offered(JoinGroupRequest):
        for member_id in ("", "x-1"):
            call = await client.join(group, member_id, version=version)
            await assert_join_refused(call, ErrorCode.INVALID_GROUP_ID, member_id)


@rule(
    id="C9",
    api="JoinGroup",
    says="A session timeout below the broker's minimum is refused, and makes no group.",
    source=f"{JOINED}; group.min.session.timeout.ms",
    versions="0-9",
    cost=0.5,
)
async def c9(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(JoinGroupRequest):
        for session in (5_999, 0, -1):
            for member_id in ("", "x-1"):
                call = await client.join(group, member_id, session=session, version=version)
                await assert_join_refused(call, ErrorCode.INVALID_SESSION_TIMEOUT, member_id)
    assert not await is_listed(client, group)


@rule(
    id="C10",
    api="JoinGroup",
    says="A session timeout above the broker's maximum is refused, and makes no group.",
    source=f"{JOINED}; group.max.session.timeout.ms",
    versions="0-9",
    cost=0.5,
)
async def c10(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(JoinGroupRequest):
        for session in (1_800_001, 2**31 - 1):
            for member_id in ("", "x-1"):
                call = await client.join(group, member_id, session=session, version=version)
                await assert_join_refused(call, ErrorCode.INVALID_SESSION_TIMEOUT, member_id)
    assert not await is_listed(client, group)


@rule(
    id="C9b",
    api="JoinGroup",
    says="A session timeout may be as short as the broker's minimum and as long as its maximum.",
    source=f"{JOINED}: the bounds are inclusive",
    versions="4-9",
    also="C10b",
)
async def c9b(world: World) -> None:
    client = await world.client()
    for session in (6_000, 1_800_000):
        answer = await (await client.join(world.group(), session=session)).answer()
        assert ErrorCode(answer.error_code) is ErrorCode.MEMBER_ID_REQUIRED


@rule(
    id="C11",
    api="JoinGroup",
    says="The group id is checked before the session timeout.",
    source=JOINED,
    versions="0-9",
    alone=True,
)
async def c11(world: World) -> None:
    client, group = await world.client(), await world.take_group("")
    await assert_join_refused(await client.join(group, session=5_999), ErrorCode.INVALID_GROUP_ID, "")


@rule(
    id="C12",
    api="JoinGroup",
    says="The session timeout is checked before the group is looked up.",
    source=JOINED,
    versions="0-9",
    cost=0.4,
)
async def c12(world: World) -> None:
    client, group = await world.client(), world.group()
    call = await client.join(group, "x-1", session=5_999)
    await assert_join_refused(call, ErrorCode.INVALID_SESSION_TIMEOUT, "x-1")
    assert not await is_listed(client, group)


# --- member ids that nobody gave, and protocols ---


@rule(
    id="C13",
    api="JoinGroup",
    says="In a group that does not exist a member id is unknown, and no group is made for it.",
    source=LOOKED_UP,
    versions="0-9",
    cost=0.4,
)
async def c13(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(JoinGroupRequest):
        call = await client.join(group, "x-1", version=version)
        await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, "x-1")
    assert not await is_listed(client, group)


@rule(
    id="C14",
    api="JoinGroup",
    says="In a group that does not exist a member id is unknown, also if it comes with an instance id.",
    source=LOOKED_UP,
    versions="5-9",
    cost=0.4,
)
async def c14(world: World) -> None:
    client, group = await world.client(), world.group()
    call = await client.join(group, "x-1", instance="i1")
    await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, "x-1")
    assert not await is_listed(client, group)


@rule(
    id="C15",
    api="JoinGroup",
    says="A member id that nobody was given is unknown in a stable group, and its members notice nothing.",
    source=f"{EXISTING}; {MEMBER}",
    versions="0-9",
    cost=3.1,
)
async def c15(world: World) -> None:
    member = await world.stable1(world.group())
    await assert_join_refused(await member.client.join(member.group, "x-1"), ErrorCode.UNKNOWN_MEMBER_ID, "x-1")
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="C16",
    api="JoinGroup",
    says="A new group needs a protocol type.",
    source=f"{NEWCOMER}; {SUPPORTED}",
    versions="0-9",
)
async def c16(world: World) -> None:
    client = await world.client()
    for version in world.offered(JoinGroupRequest):
        for instance in with_instances(version):
            call = await client.join(world.group(), instance=instance, protocol_type="", version=version)
            await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


@rule(
    id="C17",
    api="JoinGroup",
    says="A new group needs at least one protocol.",
    source=f"{NEWCOMER}; {SUPPORTED}",
    versions="0-9",
)
async def c17(world: World) -> None:
    client = await world.client()
    for version in world.offered(JoinGroupRequest):
        for instance in with_instances(version):
            call = await client.join(world.group(), instance=instance, protocols=[], version=version)
            await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


@rule(
    id="C18",
    api="JoinGroup",
    says="A newcomer of another protocol type than the group's is refused, and the members notice nothing.",
    source=f"{NEWCOMER}; {SUPPORTED}",
    versions="0-9",
    cost=3.2,
)
async def c18(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(JoinGroupRequest):
        for instance in with_instances(version):
            call = await member.client.join(member.group, instance=instance, protocol_type="connect", version=version)
            await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="C19",
    api="JoinGroup",
    says="A newcomer that has no protocol in common with the members is refused, and they notice nothing.",
    source=f"{NEWCOMER}; {SUPPORTED}",
    versions="0-9",
    cost=3.2,
)
async def c19(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(JoinGroupRequest):
        call = await member.client.join(member.group, protocols=[("sticky", sub(world.t))], version=version)
        await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="C20",
    api="JoinGroup",
    says="The protocol type is checked before the member id.",
    source=f"{EXISTING}: supportsProtocols comes before validateMember",
    versions="0-9",
    cost=3.1,
)
async def c20(world: World) -> None:
    member = await world.stable1(world.group())
    call = await member.client.join(member.group, "x-1", protocol_type="connect")
    await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "x-1")


@rule(
    id="C21",
    api="JoinGroup",
    says="The session timeout is checked before protocol type and member id.",
    source=JOINED,
    versions="0-9",
    cost=3.1,
)
async def c21(world: World) -> None:
    member = await world.stable1(world.group())
    call = await member.client.join(member.group, "x-1", protocol_type="connect", session=1_800_001)
    await assert_join_refused(call, ErrorCode.INVALID_SESSION_TIMEOUT, "x-1")


@rule(
    id="C22",
    api="JoinGroup",
    says="An id that was handed out stays reserved when it joins with a wrong protocol type, and may be used again.",
    source=f"KIP-394; {EXISTING}: a refusal for the protocol leaves pending members alone",
    versions="4-9",
    cost=3.5,
)
async def c22(world: World) -> None:
    member = await world.stable1(world.group())
    client = await world.client()
    pending = (await (await client.join(member.group)).answer()).member_id
    call = await client.join(member.group, pending, protocol_type="connect")
    await assert_join_refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, pending)
    call = await client.join(member.group, pending)
    assert await call.parked()
    await member.start_join()
    await member.finish_join()
    answer = await call.answer()
    assert (answer.error_code, answer.member_id, answer.generation_id) == (ErrorCode.NONE, pending, 2)


@rule(
    id="C23",
    api="JoinGroup",
    says="An id that was handed out cannot be used with an instance id, but stays good for what it was given for.",
    source=f"KIP-345; {EXISTING}: an IllegalStateException, which clients see as an unknown error of the server",
    versions="5-9",
    cost=3.1,
)
async def c23(world: World) -> None:
    client, group = await world.client(), world.group()
    pending = (await (await client.join(group)).answer()).member_id
    await assert_join_refused(await client.join(group, pending, instance="i1"), ErrorCode.UNKNOWN_SERVER_ERROR, "")
    answer = await (await client.join(group, pending)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.NONE, pending)


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
    await (await client.join(group)).answer()
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
    cost=6.4,
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
    cost=10.4,
)
async def c31(world: World) -> None:
    (member,) = await world.stable(world.group(), None, version=0, session=7_000)
    newcomer = await world.member(member.group, session=6_000)
    watch = Stopwatch(world)
    await newcomer.start_join(version=0)
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
    cost=0.6,
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


# --- member ids with instance ids ---


@rule(
    id="C33",
    api="JoinGroup",
    says="A member that names an instance id which nobody has is not known under it.",
    source=f"KIP-345; {MEMBER}",
    versions="5-9",
    cost=6.4,
)
async def c33(world: World) -> None:
    leader, follower = await world.static2(world.group())
    for member in (leader, follower):
        call = await member.client.join(member.group, member.id, instance="i9")
        await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, member.id)
    assert await leader.heartbeat() is ErrorCode.NONE


@rule(
    id="C34",
    api="JoinGroup",
    says="A member that names another member's instance id is fenced off, and neither of them loses its place.",
    source=f"KIP-345; {MEMBER}",
    versions="5-9",
    cost=6.4,
)
async def c34(world: World) -> None:
    await fenced(world, bogus=False)


@rule(
    id="C35",
    api="JoinGroup",
    says="Who names a member's instance id, and a member id that nobody was given, is fenced off.",
    source=f"KIP-345; {MEMBER}: the instance id is looked at first",
    versions="5-9",
    cost=6.4,
)
async def c35(world: World) -> None:
    await fenced(world, bogus=True)


async def fenced(world: World, *, bogus: bool) -> None:
    """Join with the leader's instance id, and the follower's member id or one that nobody has."""
    leader, follower = await world.static2(world.group())
    member_id = "bogus" if bogus else follower.id
    for version in world.offered(JoinGroupRequest, range(STATIC, 10)):
        call = await leader.client.join(leader.group, member_id, instance="i1", version=version)
        await assert_join_refused(call, ErrorCode.FENCED_INSTANCE_ID, member_id)
    assert await leader.heartbeat() is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="C36",
    api="JoinGroup",
    says="A dynamic member cannot become static by naming an instance id.",
    source=f"KIP-345; {MEMBER}",
    versions="5-9",
    cost=3.1,
)
async def c36(world: World) -> None:
    member = await world.stable1(world.group())
    call = await member.client.join(member.group, member.id, instance="i1")
    await assert_join_refused(call, ErrorCode.UNKNOWN_MEMBER_ID, member.id)


@rule(
    id="C37",
    api="JoinGroup",
    says="A static member may leave its instance id out when it rejoins, and keeps it.",
    source=f"KIP-345; {MEMBER}: only an instance id that is named is looked at; {EXISTING}",
    versions="5-9",
    cost=6.4,
)
async def c37(world: World) -> None:
    leader, follower = await world.static2(world.group())
    answer = await (await follower.client.join(follower.group, follower.id)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.NONE, follower.id)
    assert (answer.generation_id, answer.leader, answer.members) == (leader.generation, leader.id, [])
    described = await leader.client.describe(leader.group)
    assert {one.member_id: one.group_instance_id for one in described.members} == {leader.id: "i1", follower.id: "i2"}
