"""Section M: DescribeGroups."""

import re

import pytest

from tests.scenarios.harness import World, sub
from wire.errors import ErrorCode
from wire.messages import DescribeGroupsRequest

NOT_ASKED = -(2**31)
ALL_OPERATIONS = 3400


async def test_m1_a_group_that_does_not_exist(world: World):
    client = await world.client()
    for version in range(6):
        group = world.group()
        described = await client.describe(group, version=version)
        assert described.error_code == ErrorCode.NONE
        assert described.group_id == group
        assert described.group_state == "Dead"
        assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])


async def test_m2_version_6_calls_that_an_error(world: World):
    client = await world.client()
    group = world.group()
    described = await client.describe(group, operations=True)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described.error_message == f"Group {group} not found."
    assert described.group_id == group
    assert described.group_state == "Dead"
    assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])
    assert described.authorized_operations == NOT_ASKED


async def test_m3_stable(world: World):
    member = await world.stable1(
        world.group(), client_id="a client", protocols=[("range", sub("t")), ("roundrobin", sub("t", "u"))]
    )
    for version in range(7):
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
        assert one.client_host == "/127.0.0.1"
        assert one.member_metadata == sub("t")
        assert one.member_assignment == member.assignment


async def test_m3_each_member_with_its_own(world: World):
    leader, follower = await world.stable2(world.group())
    members = (await leader.client.describe(leader.group)).members
    assert {one.member_id: one.member_assignment for one in members} == {
        leader.id: leader.assignment,
        follower.id: follower.assignment,
    }


async def test_m4_before_the_assignments_are_known(world: World):
    (member,) = await world.completing(world.group(), None)
    described = await member.client.describe(member.group)
    assert described.error_code == ErrorCode.NONE
    assert described.group_state == "CompletingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    (one,) = described.members
    assert (one.member_id, one.member_metadata, one.member_assignment) == (member.id, b"", b"")


async def test_m5_during_a_rebalance(world: World):
    leader, follower, third = await world.preparing(world.group())
    described = await leader.client.describe(leader.group)
    assert described.group_state == "PreparingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    assert {one.member_id for one in described.members} == {leader.id, follower.id, third.id}
    assert {one.member_metadata for one in described.members} == {b""}
    # What was assigned in the last generation is still shown.
    assert {one.member_id: one.member_assignment for one in described.members} == {
        leader.id: leader.assignment,
        follower.id: follower.assignment,
        third.id: b"",
    }


async def test_m6_a_group_without_members(world: World):
    member = await world.stable1(world.group(), protocol_type="connect")
    await member.client.leave(member.group, member.id)
    for version in range(7):
        described = await member.client.describe(member.group, version=version)
        assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")
        assert (described.protocol_type, described.protocol_data, described.members) == ("connect", "", [])


async def test_m7_a_simple_group(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    described = await client.describe(group)
    assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")
    assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])


async def test_m8_instance_ids(world: World):
    leader, follower = await world.static2(world.group())
    for version in range(7):
        members = (await leader.client.describe(leader.group, version=version)).members
        shown = {one.member_id: one.group_instance_id for one in members}
        assert shown == {leader.id: "i1" if version >= 4 else None, follower.id: "i2" if version >= 4 else None}


@pytest.mark.parametrize("version", range(3, 7))
async def test_m9_what_one_may_do_with_a_group(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    assert (await client.describe(group, version=version)).authorized_operations == NOT_ASKED
    # Bits READ, DELETE, DESCRIBE, and since Apache Kafka 4.0 DESCRIBE_CONFIGS and ALTER_CONFIGS.
    described = await client.describe(group, version=version, operations=True)
    assert described.authorized_operations == ALL_OPERATIONS
    unknown = await client.describe(world.group(), version=version, operations=True)
    assert unknown.authorized_operations == (ALL_OPERATIONS if version < 6 else NOT_ASKED)


async def test_m10_several_groups(world: World):
    client, known, other, unknown = await world.client(), world.group(), world.group(), world.group()
    for group in (known, other):
        await client.commit(group, {("t", 0): 1})
    asked = [known, unknown, other, known, unknown]
    answer = await client.call(DescribeGroupsRequest(groups=asked))
    assert sorted(one.group_id for one in answer.groups) == sorted(asked)
    assert answer.throttle_time_ms == 0
    for one in answer.groups:
        error = ErrorCode.GROUP_ID_NOT_FOUND if one.group_id == unknown else ErrorCode.NONE
        assert ErrorCode(one.error_code) is error
    assert (await client.call(DescribeGroupsRequest(groups=[]))).groups == []


async def test_m11_the_empty_group_id(world: World):
    client = await world.client()
    if world.external is None:
        assert (await client.describe("", version=5)).group_state == "Dead"
        assert (await client.describe("")).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    await client.commit("", {("t", 0): 1})
    described = await client.describe("")
    assert (described.error_code, described.group_id, described.group_state) == (ErrorCode.NONE, "", "Empty")


async def test_m12_ids_that_are_only_handed_out(world: World):
    member = await world.stable1(world.group())
    await (await member.client.join(member.group)).answer()
    described = await member.client.describe(member.group)
    assert described.group_state == "Stable"
    assert [one.member_id for one in described.members] == [member.id]
    group = world.group()
    await (await member.client.join(group)).answer()
    described = await member.client.describe(group)
    assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")
    assert (described.protocol_type, described.members) == ("", [])


async def test_m13_the_initial_delay(world: World):
    member = await world.member(world.group(), instance="i1")
    await member.start_join()
    described = await (await world.client()).describe(member.group)
    assert described.group_state == "PreparingRebalance"
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")
    (one,) = described.members
    assert re.fullmatch("i1-[0-9a-f-]{36}", one.member_id)
    assert one.group_instance_id == "i1"
    assert (one.member_metadata, one.member_assignment) == (b"", b"")


@pytest.mark.parametrize("client_id", ["клиент ü 日本 😀", ""])
async def test_m14_client_ids_come_back_as_they_were(world: World, client_id: str):
    member = await world.stable1(world.group(), client_id=client_id)
    assert member.id.startswith(f"{client_id}-")
    (one,) = (await member.client.describe(member.group)).members
    assert (one.member_id, one.client_id) == (member.id, client_id)
