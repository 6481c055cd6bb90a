"""Requests that name groups of several shards: they are split, and put together again."""

import pytest

from kcoord.core.hashing import partition_for
from tests.server.client import join, stable_member, sync
from wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)

NAMES = ["a", "b", "", "ü", "nobody", "a"]


async def groups_of_many_shards(client):
    assert len({partition_for(name, 50) for name in NAMES[:4]}) == 4
    for name in NAMES[:2]:
        await stable_member(client, name)
    await client.call(join("ü"), 5)


@pytest.mark.parametrize("version", range(7))
async def test_describe_answers_in_the_order_of_the_request(autojump_clock, server, version):
    client = server.connect()
    await groups_of_many_shards(client)
    request = DescribeGroupsRequest(groups=NAMES, include_authorized_operations=version >= 3)
    answer = await client.call(request, version)
    unknown = (69, "Dead") if version >= 6 else (0, "Dead")
    assert [(each.group_id, each.error_code, each.group_state) for each in answer.groups] == [
        ("a", 0, "Stable"),
        ("b", 0, "Stable"),
        ("", *unknown),
        ("ü", 0, "Empty"),
        ("nobody", *unknown),
        ("a", 0, "Stable"),
    ]
    operations = [3400 if each.error_code == 0 else -(2**31) for each in answer.groups]
    assert [each.authorized_operations for each in answer.groups] == (operations if version >= 3 else [-(2**31)] * 6)
    assert (await client.call(DescribeGroupsRequest(), version)).groups == []


@pytest.mark.parametrize("version", range(6))
async def test_a_new_server_has_no_groups(autojump_clock, server, version):
    answer = await server.connect().call(ListGroupsRequest(), version)
    assert (answer.error_code, answer.throttle_time_ms, answer.groups) == (0, 0, [])


@pytest.mark.parametrize("version", range(6))
async def test_list_collects_all_shards(autojump_clock, server, version):
    client = server.connect()
    await groups_of_many_shards(client)
    answer = await client.call(ListGroupsRequest(), version)
    assert answer.error_code == 0
    assert {(each.group_id, each.protocol_type) for each in answer.groups} == {
        ("a", "consumer"),
        ("b", "consumer"),
        ("ü", ""),
    }
    if version >= 4:
        answer = await client.call(ListGroupsRequest(states_filter=["stable "]), version)
        assert {(each.group_id, each.group_state) for each in answer.groups} == {("a", "Stable"), ("b", "Stable")}
    if version >= 5:
        answer = await client.call(ListGroupsRequest(types_filter=["consumer"]), version)
        assert answer.groups == []


@pytest.mark.parametrize("version", range(4))
async def test_delete_names_each_group_once(autojump_clock, server, version):
    client = server.connect()
    await groups_of_many_shards(client)
    answer = await client.call(DeleteGroupsRequest(groups_names=["ü", "a", "nobody", "ü", "a"]), version)
    assert [(each.group_id, each.error_code) for each in answer.results] == [("ü", 0), ("a", 68), ("nobody", 69)]
    assert [each.error_message for each in answer.results] == [None] * 3
    listed = await client.call(ListGroupsRequest(), 0)
    assert {each.group_id for each in listed.groups} == {"a", "b"}


@pytest.mark.parametrize(("field", "error"), [("protocol_type", 23), ("protocol_name", 23), (None, 25)])
async def test_sync_5_must_name_its_protocol_before_anything_is_looked_at(autojump_clock, server, field, error):
    request = sync("nobody", 1, "m")
    if field is not None:
        setattr(request, field, None)
    answer = await server.connect().call(request, 5)
    assert (answer.error_code, answer.assignment) == (error, b"")


async def test_sync_4_need_not_name_its_protocol(autojump_clock, server):
    client = server.connect()
    member = (await client.call(join("g"), 5)).member_id
    joined = await client.call(join("g", member), 5)
    request = sync("g", joined.generation_id, member)
    request.protocol_type = request.protocol_name = None
    assert (await client.call(request, 4)).error_code == 0
