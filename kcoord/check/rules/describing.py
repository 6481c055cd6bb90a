"""DescribeGroups."""

import ipaddress
import re

from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DescribeGroupsRequest

OLDER = range(6)
"""The versions in which a group that does not exist is Dead, and no error."""
NOT_ASKED = -(2**31)
ALL_OPERATIONS = 3400
"""Bits of READ, DELETE, DESCRIBE, and since Apache Kafka 4.0 DESCRIBE_CONFIGS and ALTER_CONFIGS."""

DESCRIBED = "Apache Kafka GroupMetadataManager.describeGroups"
MEMBER = f"{DESCRIBED}; ClassicGroupMember.describe"
WITHOUT_METADATA = f"{DESCRIBED}; ClassicGroupMember.describeNoMetadata outside of Stable"
OPERATIONS = "KIP-430; Apache Kafka KafkaApis.handleDescribeGroupsRequest, AclEntry.supportedOperations"

# --- groups that do not exist ---


@rule(
    id="M1",
    api="DescribeGroups",
    says="A group that does not exist is described as Dead, without an error and without anything else.",
    source=DESCRIBED,
    versions="0-5",
)
async def m1(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeGroupsRequest, OLDER):
        group = world.group()
        described = await client.describe(group, version=version)
        assert described.error_code == ErrorCode.NONE
        assert described.group_id == group
        assert described.group_state == "Dead"
        assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])


@rule(
    id="M2",
    api="DescribeGroups",
    says="From version 6 on a group that does not exist is an error, with a message that names it.",
    source=f"KIP-1043; {DESCRIBED}",
    versions="6",
)
async def m2(world: World) -> None:
    client = await world.client()
    group = world.group()
    (version,) = world.offered(DescribeGroupsRequest, (6,))
    described = await client.describe(group, version=version, operations=True)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described.error_message == f"Group {group} not found."
    assert described.group_id == group
    assert described.group_state == "Dead"
    assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])
    assert described.authorized_operations == NOT_ASKED


# --- members ---


@rule(
    id="M3",
    api="DescribeGroups",
    says="A stable group has its protocol, and members with their ids, assignments and metadata for that protocol.",
    source=MEMBER,
    versions="0-6",
    cost=3.1,
)
async def m3(world: World) -> None:
    protocols = [("range", sub(world.t)), ("roundrobin", sub(world.t, world.u))]
    member = await world.stable1(world.group(), client_id="a client", protocols=protocols)
    for version in world.offered(DescribeGroupsRequest):
        described = await member.client.describe(member.group, version=version)
        assert described.error_code == ErrorCode.NONE
        assert described.error_message is None
        assert described.group_id == member.group
        assert described.group_state == "Stable"
        assert (described.protocol_type, described.protocol_data) == ("consumer", "range")
        (one,) = described.members
        assert one.member_id == member.id
        assert one.group_instance_id is None
        assert one.client_id == "a client"
        assert one.member_metadata == sub(world.t)
        assert one.member_assignment == member.assignment


@rule(
    id="M3b",
    api="DescribeGroups",
    says="Each member of a stable group has its own assignment.",
    source=MEMBER,
    versions="0-6",
    cost=6.2,
)
async def m3b(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    members = (await leader.client.describe(leader.group)).members
    assert {one.member_id: one.member_assignment for one in members} == {
        leader.id: leader.assignment,
        follower.id: follower.assignment,
    }


@rule(
    id="M3c",
    api="DescribeGroups",
    says="A member's host is the IP address that it joined from, with a slash in front of it.",
    source="Apache Kafka KafkaApis.handleJoinGroupRequest, RequestContext.clientAddress: Java's InetAddress.toString",
    versions="0-6",
    cost=3.1,
)
async def m3c(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(DescribeGroupsRequest):
        (one,) = (await member.client.describe(member.group, version=version)).members
        slash, address = one.client_host[:1], one.client_host[1:]
        assert slash == "/"
        # Whatever stands between here and a foreign broker may have given it another one than we have.
        assert str(ipaddress.ip_address(address)) == ("127.0.0.1" if world.exact else address)


@rule(
    id="M8",
    api="DescribeGroups",
    says="Members have their instance ids from version 4 on.",
    source=f"KIP-345; {MEMBER}",
    versions="0-6",
    cost=6.2,
)
async def m8(world: World) -> None:
    leader, follower = await world.static2(world.group())
    for version in world.offered(DescribeGroupsRequest):
        members = (await leader.client.describe(leader.group, version=version)).members
        shown = {one.member_id: one.group_instance_id for one in members}
        assert shown == {leader.id: "i1" if version >= 4 else None, follower.id: "i2" if version >= 4 else None}


@rule(
    id="M14",
    api="DescribeGroups",
    says="A client id is shown as it came, whatever letters it has, and begins the member id.",
    source=f"{MEMBER}; ClassicGroup.generateMemberId",
    versions="0-6",
    each={"client_id": ("клиент ü 日本 😀", "")},
    cost=3.1,
)
async def m14(world: World, client_id: str) -> None:
    member = await world.stable1(world.group(), client_id=client_id)
    assert member.id.startswith(f"{client_id}-")
    (one,) = (await member.client.describe(member.group)).members
    assert (one.member_id, one.client_id) == (member.id, client_id)


# --- states ---


@rule(
    id="M4",
    api="DescribeGroups",
    says="Before its assignments are known a group has no protocol, and its members no metadata and no assignment.",
    source=WITHOUT_METADATA,
    versions="0-6",
    cost=3.1,
)
async def m4(world: World) -> None:
    (member,) = await world.completing(world.group(), None)
    described = await member.client.describe(member.group)
    assert described.error_code == ErrorCode.NONE
    assert described.group_state == "CompletingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    (one,) = described.members
    assert (one.member_id, one.member_metadata, one.member_assignment) == (member.id, b"", b"")


@rule(
    id="M5",
    api="DescribeGroups",
    says="During a rebalance all are listed, without metadata, with what the last generation assigned to them.",
    source=WITHOUT_METADATA,
    versions="0-6",
    since="4.0",
    cost=6.8,
)
async def m5(world: World) -> None:
    leader, follower, third = await world.preparing(world.group())
    described = await leader.client.describe(leader.group)
    assert described.group_state == "PreparingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    assert {one.member_metadata for one in described.members} == {b""}
    assert {one.member_id: one.member_assignment for one in described.members} == {
        leader.id: leader.assignment,
        follower.id: follower.assignment,
        third.id: b"",
    }


@rule(
    id="M6",
    api="DescribeGroups",
    says="A group that its members have left is Empty and keeps its type, but no protocol.",
    source=DESCRIBED,
    versions="0-6",
    cost=3.1,
)
async def m6(world: World) -> None:
    member = await world.stable1(world.group(), protocol_type="connect")
    await member.client.leave(member.group, member.id)
    for version in world.offered(DescribeGroupsRequest):
        described = await member.client.describe(member.group, version=version)
        assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")
        assert (described.protocol_type, described.protocol_data, described.members) == ("connect", "", [])


@rule(
    id="M7",
    api="DescribeGroups",
    says="A group that has offsets and never had members is Empty, and of no type.",
    source=DESCRIBED,
    versions="0-6",
)
async def m7(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(DescribeGroupsRequest):
        described = await client.describe(group, version=version)
        assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")
        assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])


@rule(
    id="M12",
    api="DescribeGroups",
    says="Who was only handed out a member id is not listed among the members.",
    source=f"KIP-394; {DESCRIBED}",
    versions="0-6",
    cost=3.1,
)
async def m12(world: World) -> None:
    member = await world.stable1(world.group())
    await (await member.client.join(member.group)).answer()
    described = await member.client.describe(member.group)
    assert described.group_state == "Stable"
    assert [one.member_id for one in described.members] == [member.id]


@rule(
    id="M12b",
    api="DescribeGroups",
    says="A group that has only handed out a member id is Empty, and of no type.",
    source=f"KIP-394; {DESCRIBED}",
    versions="0-6",
)
async def m12b(world: World) -> None:
    client, group = await world.client(), world.group()
    answer = await (await client.join(group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    described = await client.describe(group)
    assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")
    assert (described.protocol_type, described.members) == ("", [])


@rule(
    id="M13",
    api="DescribeGroups",
    says="In its first rebalance a group has its type, and members with their ids and nothing else.",
    source=WITHOUT_METADATA,
    versions="4-6",
)
async def m13(world: World) -> None:
    member = await world.member(world.waiting_group(), instance="i1")
    call = await member.start_join()
    assert await call.parked()
    described = await (await world.client()).describe(member.group)
    assert described.group_state == "PreparingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    (one,) = described.members
    assert re.fullmatch("i1-[0-9a-f-]{36}", one.member_id)
    assert one.group_instance_id == "i1"
    assert (one.member_metadata, one.member_assignment) == (b"", b"")


# --- the request as a whole ---


@rule(
    id="M9",
    api="DescribeGroups",
    says="What one may do with a group is told only if that is asked for.",
    source=OPERATIONS,
    versions="3-6",
)
async def m9(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(DescribeGroupsRequest, range(3, 7)):
        assert (await client.describe(group, version=version)).authorized_operations == NOT_ASKED
        described = await client.describe(group, version=version, operations=True)
        assert described.authorized_operations != NOT_ASKED
        assert described.authorized_operations & 1 << 8, "who describes a group may do so"


@rule(
    id="M9b",
    api="DescribeGroups",
    says="Where nothing is forbidden one may read, delete and describe a group, and its settings; known or not.",
    source=f"{OPERATIONS}: settings of groups came with KIP-848",
    versions="3-6",
    since="4.0",
)
async def m9b(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(DescribeGroupsRequest, range(3, 7)):
        described = await client.describe(group, version=version, operations=True)
        assert described.authorized_operations == ALL_OPERATIONS
        unknown = await client.describe(world.group(), version=version, operations=True)
        # Where the unknown group is an error nothing is told of it.
        assert unknown.authorized_operations == (ALL_OPERATIONS if version in OLDER else NOT_ASKED)


@rule(
    id="M10",
    api="DescribeGroups",
    says="Each group is described as often as it is named.",
    source="Apache Kafka GroupCoordinatorService.describeGroups",
    versions="0-6",
)
async def m10(world: World) -> None:
    client, known, other, unknown = await world.client(), world.group(), world.group(), world.group()
    for group in (known, other):
        await client.commit(group, {(world.t, 0): 1})
    asked = [known, unknown, other, known, unknown]
    for version in world.offered(DescribeGroupsRequest):
        answer = await client.call(DescribeGroupsRequest(groups=asked), version)
        assert sorted(one.group_id for one in answer.groups) == sorted(asked)
        assert answer.throttle_time_ms == 0
        for one in answer.groups:
            missing = ErrorCode.NONE if version in OLDER else ErrorCode.GROUP_ID_NOT_FOUND
            assert ErrorCode(one.error_code) is (missing if one.group_id == unknown else ErrorCode.NONE)
            assert one.group_state == ("Dead" if one.group_id == unknown else "Empty")
        assert (await client.call(DescribeGroupsRequest(groups=[]), version)).groups == []


@rule(
    id="M11",
    api="DescribeGroups",
    says="The empty group id is one like others, which may exist or not.",
    source=f"{DESCRIBED}: the id is not looked at",
    versions="0-6",
    alone=True,
)
async def m11(world: World) -> None:
    client, group = await world.client(), await world.take_group("")
    for version in world.offered(DescribeGroupsRequest):
        described = await client.describe(group, version=version)
        assert described.group_state == "Dead"
        assert described.error_code == (ErrorCode.NONE if version in OLDER else ErrorCode.GROUP_ID_NOT_FOUND)
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(DescribeGroupsRequest):
        described = await client.describe(group, version=version)
        assert (described.error_code, described.group_id, described.group_state) == (ErrorCode.NONE, "", "Empty")
