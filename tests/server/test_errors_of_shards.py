"""What the API layer makes of shards that cannot answer."""

import pytest

from kcoord.core.hashing import partition_for
from kcoord.shard import Status
from tests.server.client import join
from tests.server.test_offset_apis import commit, committed, delete, fetch_new, fetch_old, fetched
from wire.messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest

G, H = "a", "b"


@pytest.fixture
async def client(server):
    """A client of a server that has an offset in each of two groups, whose shards differ."""
    assert partition_for(G, 50) != partition_for(H, 50)
    client = server.connect()
    for group in (G, H):
        await client.call(commit(group, [("t", [0])]), 5)
    return client


def stop(server, status, group=H):
    server.broker.shard_for(group).status = status


@pytest.mark.parametrize("version", range(6))
async def test_a_list_with_holes_is_no_list(autojump_clock, server, client, version):
    stop(server, Status.LOADING)
    answer = await client.call(ListGroupsRequest(), version)
    assert (answer.error_code, answer.groups) == (14, [])


@pytest.mark.parametrize("status", [Status.LOST, Status.FAILED])
async def test_shards_that_are_not_owned_are_not_missed_in_a_list(autojump_clock, server, client, status):
    stop(server, status)
    answer = await client.call(ListGroupsRequest(), 5)
    assert (answer.error_code, [each.group_id for each in answer.groups]) == (0, [G])


@pytest.mark.parametrize("version", range(7))
async def test_describe_puts_the_error_at_the_group(autojump_clock, server, client, version):
    stop(server, Status.LOADING)
    answer = await client.call(DescribeGroupsRequest(groups=[H, G]), version)
    assert [(each.group_id, each.error_code, each.group_state) for each in answer.groups] == [
        (H, 14, ""),
        (G, 0, "Empty"),
    ]


async def test_delete_puts_the_error_at_the_group(autojump_clock, server, client):
    stop(server, Status.LOST)
    answer = await client.call(DeleteGroupsRequest(groups_names=[H, G]), 2)
    assert [(each.group_id, each.error_code) for each in answer.results] == [(H, 16), (G, 0)]


@pytest.mark.parametrize("version", [1])
async def test_fetch_1_puts_the_error_at_each_partition(autojump_clock, server, client, version):
    stop(server, Status.LOADING)
    answer = await client.call(fetch_old(H, [("t", [0, 1]), ("nope", [2])]), version)
    assert fetched(answer.topics) == [("t", [(0, -1, "", 14), (1, -1, "", 14)]), ("nope", [(2, -1, "", 14)])]


@pytest.mark.parametrize("version", range(2, 8))
async def test_fetch_2_to_7_puts_the_error_at_the_top(autojump_clock, server, client, version):
    stop(server, Status.LOADING)
    for topics in ([("t", [0, 1])], None):
        answer = await client.call(fetch_old(H, topics), version)
        assert (answer.error_code, answer.topics) == (14, [])


@pytest.mark.parametrize("version", [8, 9, 10])
async def test_fetch_from_8_puts_the_error_at_the_group(autojump_clock, server, client, version):
    stop(server, Status.LOST)
    answer = await client.call(fetch_new((H, None), (G, None), by_id=version >= 10), version)
    assert [(each.group_id, each.error_code, len(each.topics)) for each in answer.groups] == [(H, 16, 0), (G, 0, 1)]


async def test_fetch_10_leaves_out_offsets_of_topics_that_have_no_id(autojump_clock, server, client):
    server.broker.catalog._by_name.pop("t")
    (group,) = (await client.call(fetch_new((G, None), by_id=True), 10)).groups
    assert (group.error_code, group.topics) == (0, [])


@pytest.mark.parametrize("version", range(2, 10))
async def test_commit_puts_the_error_at_each_partition(autojump_clock, server, client, version):
    stop(server, Status.LOADING)
    answer = await client.call(commit(H, [("t", [0, 7]), ("nope", [0])]), version)
    assert committed(answer) == [("t", [(7, 3), (0, 14)]), ("nope", [(0, 3)])]


async def test_offset_delete_puts_the_error_at_the_top(autojump_clock, server, client):
    stop(server, Status.LOADING)
    answer = await client.call(delete(H, [("t", [0]), ("nope", [0])]), 0)
    assert (answer.error_code, answer.topics) == (14, [])


@pytest.mark.parametrize("version", range(10))
async def test_join_gives_no_member_id(autojump_clock, server, client, version):
    stop(server, Status.LOST)
    answer = await client.call(join(H, "m"), version)
    assert (answer.error_code, answer.member_id, answer.generation_id) == (16, "", -1)
    assert answer.protocol_name == (None if version >= 7 else "")
