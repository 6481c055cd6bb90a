"""Section O: DeleteGroups."""

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.states import group_in_each_state
from wire.errors import ErrorCode
from wire.messages import DeleteGroupsRequest

GONE = (-1, -1, "")


async def delete(client: Client, *groups: str, version: int = 2) -> dict[str, ErrorCode]:
    """Send DeleteGroups; return the error of each group. Each is answered once, however often it is named."""
    answer = await client.call(DeleteGroupsRequest(groups_names=list(groups)), version)
    assert answer.throttle_time_ms == 0
    errors = {one.group_id: ErrorCode(one.error_code) for one in answer.results}
    assert len(errors) == len(answer.results)
    return errors


async def test_o1_a_group_that_does_not_exist(world: World):
    client = await world.client()
    for version in range(3):
        group = world.group()
        assert await delete(client, group, version=version) == {group: ErrorCode.GROUP_ID_NOT_FOUND}
    assert await delete(client) == {}


async def test_o2_o6_o7_groups_in_every_state(world: World):
    groups = await group_in_each_state(world)
    client = await world.client()
    unknown = world.group()
    errors = await delete(client, *groups.values(), unknown, *groups.values(), unknown)
    for name in ("Stable", "CompletingRebalance", "PreparingRebalance", "initial"):
        assert errors.pop(groups[name]) is ErrorCode.NON_EMPTY_GROUP, name
    for name in ("Empty", "simple", "pending"):
        assert errors.pop(groups[name]) is ErrorCode.NONE, name
    assert errors == {unknown: ErrorCode.GROUP_ID_NOT_FOUND}
    listed = await client.list()
    assert {name for name, group in groups.items() if group in listed} == {
        "Stable", "CompletingRebalance", "PreparingRebalance", "initial",
    }  # fmt: skip


async def test_o3_o8_a_group_without_members(world: World):
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    await member.commit({("t", 0): 3, ("u", 1): 4})
    await client.leave(group, member.id)
    assert group in await client.list()
    assert await delete(client, group) == {group: ErrorCode.NONE}
    assert (await client.describe(group, version=5)).group_state == "Dead"
    assert (await client.describe(group)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert await client.fetch(group, {"t": [0], "u": [1]}) == {("t", 0): GONE, ("u", 1): GONE}
    assert await client.fetch(group) == {}
    assert group not in await client.list()
    assert await delete(client, group) == {group: ErrorCode.GROUP_ID_NOT_FOUND}
    # Nothing of a member is left either.
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.commit({("t", 0): 3}, version=8) == {("t", 0): ErrorCode.ILLEGAL_GENERATION}
    assert await member.commit({("t", 0): 3}, version=9) == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND}


@pytest.mark.parametrize("version", range(3))
async def test_o4_a_simple_group(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 3})
    assert await delete(client, group, version=version) == {group: ErrorCode.NONE}
    assert await client.fetch(group, {"t": [0]}) == {("t", 0): GONE}
    assert await client.fetch(group) == {}


async def test_o5_an_id_that_is_only_handed_out(world: World):
    client, group = await world.client(), world.group()
    pending = (await (await client.join(group)).answer()).member_id
    assert await delete(client, group) == {group: ErrorCode.NONE}
    answer = await (await client.join(group, pending)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, pending)
    assert group not in await client.list()


async def test_o9_the_empty_group_id(world: World):
    client = await world.client()
    await client.commit("", {("t", 0): 3})
    assert await delete(client, "") == {"": ErrorCode.NONE}
    if world.external is None:
        assert await delete(client, "") == {"": ErrorCode.GROUP_ID_NOT_FOUND}
        assert await client.fetch("", {"t": [0]}) == {("t", 0): GONE}


async def test_o10_a_group_that_is_deleted_begins_anew(world: World):
    member = await world.stable1(world.group(), protocol_type="connect")
    await member.commit({("t", 0): 3})
    await member.client.leave(member.group, member.id)
    assert await delete(member.client, member.group) == {member.group: ErrorCode.NONE}
    again = await world.stable1(member.group)
    assert again.generation == 1
    assert (await again.client.describe(again.group)).protocol_type == "consumer"
    assert await again.client.fetch(again.group) == {}
