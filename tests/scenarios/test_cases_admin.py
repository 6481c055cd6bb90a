"""Cases from the field: heartbeats (B), odd group ids (L), operators that delete and reset (Q), tools that look (R).

What each shows went wrong in some coordinator or client once. The letter and number in a name say which case it is.
"""

import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import memory_stream_pair

from tests.scenarios.harness import Client, Member, World, settle, sub
from tests.scenarios.states import group_in_each_state
from wire.errors import ErrorCode
from wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

ODD = ": ? , \" % \\ ' / * = \n \r \t \x00 é 日本 😀"
GONE = (-1, -1, "")
NOT_ASKED = -(2**31)


@asynccontextmanager
async def another_connection(world: World, client_id: str = "client") -> AsyncIterator[Client]:
    client = await world.client(client_id)
    yield client
    await client.aclose()


async def delete_group(client: Client, group: str) -> ErrorCode:
    (result,) = (await client.call(DeleteGroupsRequest(groups_names=[group]), 2)).results
    assert result.group_id == group
    return ErrorCode(result.error_code)


async def delete_offset(client: Client, group: str, *topics: str) -> dict[str, ErrorCode] | ErrorCode:
    """Send OffsetDelete for partition 0 of these topics; return the error of each, or of the whole."""
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
            for topic in topics
        ],
    )
    answer = await client.call(request)
    if answer.error_code:
        assert answer.topics == []
        return ErrorCode(answer.error_code)
    return {topic.name: ErrorCode(topic.partitions[0].error_code) for topic in answer.topics}


async def keep_alive(*members: Member, seconds: int) -> None:
    """Heartbeat each second for so long; each one must be good."""
    for _ in range(seconds):
        await trio.sleep(1)
        for member in members:
            assert await member.heartbeat() is ErrorCode.NONE


# --- heartbeats ---


async def test_b1_heartbeats_between_join_and_sync_are_good_and_keep_the_session(world: World):
    members = await world.completing(world.group(), None, None, session=6_000)
    await keep_alive(*members, seconds=9)
    await settle(members)
    assert [await member.heartbeat() for member in members] == [ErrorCode.NONE] * 2
    assert {member.generation for member in members} == {1}


async def test_b3_a_member_that_only_heartbeats_stays(world: World):
    member = await world.stable1(world.group(), session=6_000, rebalance=6_000)
    await keep_alive(member, seconds=40)
    described = await member.client.describe(member.group)
    assert described.group_state == "Stable"
    assert [one.member_id for one in described.members] == [member.id]
    assert (await (await member.sync()).answer()).assignment == member.assignment


async def test_b5_wrong_heartbeats_do_not_disturb_the_member(world: World):
    member = await world.stable1(world.group())
    await member.start_join()
    await member.finish_join()
    await settle([member])
    assert member.generation == 2
    client, group = member.client, member.group
    assert await client.heartbeat(group, 1, member.id) is ErrorCode.ILLEGAL_GENERATION
    assert await client.heartbeat(group, 3, member.id) is ErrorCode.ILLEGAL_GENERATION
    assert await client.heartbeat(group, 2, "nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert await client.heartbeat(world.group(), 2, member.id) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.heartbeat() is ErrorCode.NONE
    assert await member.commit({("t", 0): 1}) == {("t", 0): ErrorCode.NONE}
    await client.leave(group, member.id)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# --- odd group ids ---


async def test_l1_the_empty_group_id_may_commit_but_not_join(world: World):
    client = await world.client()
    assert await client.commit("", {("t", 2): 11}) == {("t", 2): ErrorCode.NONE}
    assert await client.fetch("", {"t": [2]}) == {("t", 2): (11, -1, "")}
    assert (await client.fetch(""))[("t", 2)] == (11, -1, "")
    assert (await client.describe("")).group_state == "Empty"
    assert (await client.list())[""].group_state == "Empty"
    assert (await (await client.join("")).answer()).error_code == ErrorCode.INVALID_GROUP_ID
    assert (await (await client.sync("", 1, "m")).answer()).error_code == ErrorCode.INVALID_GROUP_ID
    assert await client.heartbeat("", 1, "m") is ErrorCode.INVALID_GROUP_ID
    assert (await client.leave("", "m")).error_code == ErrorCode.INVALID_GROUP_ID
    assert await delete_group(client, "") is ErrorCode.NONE
    assert await client.fetch("", {"t": [2]}) == {("t", 2): GONE}


@pytest.mark.parametrize(
    ("group_suffix", "client_id"),
    [(ODD, ODD), (" ", " "), ("x" * 5_000, "y" * 5_000)],
    ids=["odd", "blank", "long"],
)
async def test_l3_odd_characters_and_long_names(world: World, group_suffix: str, client_id: str):
    member = await world.stable1(world.group() + group_suffix, client_id=client_id)
    assert member.id.startswith(f"{client_id}-")
    assert await member.heartbeat() is ErrorCode.NONE
    assert await member.commit({("t", 0): (1, ODD)}) == {("t", 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group, {"t": [0]}) == {("t", 0): (1, -1, ODD)}
    described = await member.client.describe(member.group)
    assert (described.group_id, described.group_state) == (member.group, "Stable")
    assert [(one.member_id, one.client_id) for one in described.members] == [(member.id, client_id)]
    assert member.group in await member.client.list()


# --- operators ---


async def test_q1_an_operators_round(world: World):
    member = await world.stable1(world.group(), client_id="consumer")
    group = member.group
    await member.commit({("t", 0): 3})
    async with another_connection(world, "operator") as operator:
        assert await delete_group(operator, group) is ErrorCode.NON_EMPTY_GROUP
        assert await operator.commit(group, {("t", 0): 1}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
        assert await operator.fetch(group) == {("t", 0): (3, -1, "")}
        assert await member.heartbeat() is ErrorCode.NONE
        await member.client.leave(group, member.id)
        described = await operator.describe(group)
        assert (described.group_state, described.members) == ("Empty", [])
        assert await operator.commit(group, {("t", 0): 1}) == {("t", 0): ErrorCode.NONE}
        assert await operator.fetch(group) == {("t", 0): (1, -1, "")}
        assert group in await operator.list()
        assert await delete_group(operator, group) is ErrorCode.NONE
        assert await delete_group(operator, group) is ErrorCode.GROUP_ID_NOT_FOUND
        assert group not in await operator.list()
        assert await operator.fetch(group, {"t": [0]}) == {("t", 0): GONE}


async def test_q3_offsets_of_a_topic_that_is_no_longer_read(world: World):
    member = await world.stable1(world.group(), protocols=[("range", sub("t"))])
    client, group = member.client, member.group
    await member.commit({("t", 0): 3, ("u", 0): 4})
    assert await delete_offset(client, group, "t", "u") == {
        "t": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        "u": ErrorCode.NONE,
    }
    assert await client.fetch(group) == {("t", 0): (3, -1, "")}
    assert await member.heartbeat() is ErrorCode.NONE
    await member.commit({("u", 0): 4})
    await client.leave(group, member.id)
    assert await delete_offset(client, group, "t", "u") == {"t": ErrorCode.NONE, "u": ErrorCode.NONE}
    assert await client.fetch(group) == {}
    assert await delete_offset(client, world.group(), "t", "u") is ErrorCode.GROUP_ID_NOT_FOUND


async def test_q3_a_member_that_changes_its_topics_frees_the_old_ones(world: World):
    member = await world.stable1(world.group(), protocols=[("range", sub("t"))])
    await member.commit({("t", 0): 3, ("u", 0): 4})
    member.protocols = [("range", sub("u"))]
    await member.start_join()
    await member.finish_join()
    await settle([member])
    assert await delete_offset(member.client, member.group, "t", "u") == {
        "t": ErrorCode.NONE,
        "u": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }


async def test_q5_a_deleted_group_does_not_come_back(world: World):
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    await member.commit({("t", 0): (3, "old"), ("u", 1): 4})
    await client.leave(group, member.id)
    assert await delete_group(client, group) is ErrorCode.NONE
    answer = await (await client.join(group, member.id)).answer()
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    again = await world.stable1(group)
    assert again.generation == 1
    assert again.listed == (again.id,)
    assert await client.fetch(group) == {}
    assert await client.fetch(group, {"t": [0], "u": [1]}) == {("t", 0): GONE, ("u", 1): GONE}


# --- tools that look ---


async def test_r2_a_member_without_partitions_has_empty_bytes(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    assert (await (await leader.sync({leader.id: b"everything"})).answer()).assignment == b"everything"
    answer = await waiting.answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")
    for version in range(7):
        described = await leader.client.describe(leader.group, version=version)
        assert {one.member_id: one.member_assignment for one in described.members} == {
            leader.id: b"everything",
            follower.id: b"",
        }


async def test_r4_states_and_types_are_spelt_as_tools_expect(world: World):
    groups = await group_in_each_state(world)
    client = await world.client()
    spelling = dict.fromkeys(groups, "Empty") | {
        "Stable": "Stable",
        "CompletingRebalance": "CompletingRebalance",
        "PreparingRebalance": "PreparingRebalance",
        "initial": "PreparingRebalance",
    }
    described = (await client.call(DescribeGroupsRequest(groups=list(groups.values())))).groups
    states = {one.group_id: one.group_state for one in described}
    assert states == {group: spelling[name] for name, group in groups.items()}
    assert (await client.describe(world.group())).group_state == "Dead"
    for version in (4, 5):
        for state in set(spelling.values()):
            listed = await client.list(states=(state,), version=version)
            assert {one.group_state for one in listed.values()} == {state}
            assert {one.group_type for one in listed.values()} == {"classic" if version == 5 else ""}
            assert {name for name, group in groups.items() if group in listed} == {
                name for name, spelt in spelling.items() if spelt == state
            }
        answer = await client.call(ListGroupsRequest(states_filter=["AwaitingSync"]), version)
        assert (answer.error_code, answer.groups) == (ErrorCode.NONE, [])
    answer = await client.call(ListGroupsRequest(types_filter=["unknown"]))
    assert (answer.error_code, answer.groups) == (ErrorCode.NONE, [])


async def test_r6_instance_ids_client_ids_and_hosts(world: World):
    group = world.group()
    static = await world.member(group, client_id="one", instance="i1")
    dynamic = await world.member(group, client_id="two")
    for member in (static, dynamic):
        await member.start_join()
    for member in (static, dynamic):
        await member.finish_join()
    for version in (4, 5, 6):
        described = await static.client.describe(group, version=version)
        shown = {one.member_id: (one.group_instance_id, one.client_id, one.client_host) for one in described.members}
        assert shown == {static.id: ("i1", "one", "/127.0.0.1"), dynamic.id: (None, "two", "/127.0.0.1")}
        assert described.authorized_operations == NOT_ASKED
        described = await static.client.describe(group, version=version, operations=True)
        assert described.authorized_operations == 3400


@pytest.mark.parametrize(
    ("peer", "shown"),
    [
        ("10.1.2.3", "/10.1.2.3"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("2001:db8::a", "/2001:db8:0:0:0:0:0:a"),
        ("::ffff:10.1.2.3", "/10.1.2.3"),
    ],
)
async def test_r6_a_host_is_written_as_java_writes_it(world: World, peer: str, shown: str):
    if world.nursery is None:
        pytest.skip("needs to come from this address")
    near, far = memory_stream_pair()
    world.nursery.start_soon(functools.partial(world.running.attach, far, peer_host=peer))
    member = Member(Client(near), world.group())
    await member.start_join()
    await member.finish_join()
    (one,) = (await member.client.describe(member.group)).members
    assert one.client_host == shown
    await near.aclose()
