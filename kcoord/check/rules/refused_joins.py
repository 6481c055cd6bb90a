"""What a JoinGroup is checked for, in which order, and what those that are refused are told."""

import trio

from kcoord.check.probe import Client, sub
from kcoord.check.rule import rule
from kcoord.check.steps import WRITTEN, assert_join_refused
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest

JOINED = "Apache Kafka GroupCoordinatorService.joinGroup"
LOOKED_UP = "Apache Kafka GroupMetadataManager.classicGroupJoinToClassicGroup"
NEWCOMER = "Apache Kafka GroupMetadataManager.classicGroupJoinNewMember"
EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"
SUPPORTED = "Apache Kafka ClassicGroup.supportsProtocols"
MEMBER = "Apache Kafka ClassicGroup.validateMember"

STATIC = 5
"""The version from which a JoinGroup has an instance id."""


def with_instances(version: int) -> tuple[str | None, ...]:
    """Return the instance ids that a newcomer may have in this version: none, and one."""
    return (None, "i1") if version >= STATIC else (None,)


async def is_listed(client: Client, group: str) -> bool:
    """Whether there is such a group, once there was time to write it down."""
    await trio.sleep(WRITTEN)
    return group in await client.list()


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
    settings={"group.min.session.timeout.ms": 6_000},
    cost=0.4,
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
    settings={"group.max.session.timeout.ms": 1_800_000},
    cost=0.4,
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
    settings={"group.min.session.timeout.ms": 6_000, "group.max.session.timeout.ms": 1_800_000},
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
    settings={"group.min.session.timeout.ms": 6_000},
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
    settings={"group.max.session.timeout.ms": 1_800_000},
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
    cost=3.4,
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


# --- member ids with instance ids ---


@rule(
    id="C33",
    api="JoinGroup",
    says="A member that names an instance id which nobody has is not known under it.",
    source=f"KIP-345; {MEMBER}",
    versions="5-9",
    cost=6.1,
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
    cost=6.1,
)
async def c34(world: World) -> None:
    await fenced(world, bogus=False)


@rule(
    id="C35",
    api="JoinGroup",
    says="Who names a member's instance id, and a member id that nobody was given, is fenced off.",
    source=f"KIP-345; {MEMBER}: the instance id is looked at first",
    versions="5-9",
    cost=6.1,
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
    cost=6.1,
)
async def c37(world: World) -> None:
    leader, follower = await world.static2(world.group())
    answer = await (await follower.client.join(follower.group, follower.id)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.NONE, follower.id)
    assert (answer.generation_id, answer.leader, answer.members) == (leader.generation, leader.id, [])
    described = await leader.client.describe(leader.group)
    assert {one.member_id: one.group_instance_id for one in described.members} == {leader.id: "i1", follower.id: "i2"}
