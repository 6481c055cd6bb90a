"""Section L: OffsetDelete, which spares what the group reads."""

import struct

import pytest

from tests.scenarios.harness import Client, World, sub
from wire.errors import ErrorCode
from wire.messages import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
GONE = (-1, -1, "")


def request(group: str, wanted: dict[str, list[int]]) -> OffsetDeleteRequest:
    topics = [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
        )
        for name, partitions in wanted.items()
    ]
    return OffsetDeleteRequest(group_id=group, topics=topics)


async def delete(client: Client, group: str, wanted: dict[str, list[int]]) -> dict[tuple[str, int], ErrorCode]:
    """Send OffsetDelete, which must be good as such; return the error of each partition."""
    answer = await client.call(request(group, wanted))
    assert answer.error_code == ErrorCode.NONE
    assert answer.throttle_time_ms == 0
    return {
        (topic.name, one.partition_index): ErrorCode(one.error_code)
        for topic in answer.topics
        for one in topic.partitions
    }


async def refused(client: Client, group: str, wanted: dict[str, list[int]], error: ErrorCode) -> None:
    """The whole request is answered with this error."""
    answer = await client.call(request(group, wanted))
    assert ErrorCode(answer.error_code) is error
    assert answer.topics == []


async def test_l1_the_empty_group_id(world: World):
    client = await world.client()
    for wanted in ({"t": [0]}, {"t": [9]}, {"nope": [0]}, {}):
        await refused(client, "", wanted, ErrorCode.INVALID_GROUP_ID)


async def test_l2_l12_a_group_that_does_not_exist(world: World):
    client = await world.client()
    for wanted in ({"t": [0]}, {"nope": [0]}, {"nope": [0], "t": [9]}, {}):
        await refused(client, world.group(), wanted, ErrorCode.GROUP_ID_NOT_FOUND)


async def test_l3_a_topic_that_is_read(world: World):
    member = await world.stable1(world.group())
    await member.commit({("t", 0): 3})
    wanted = {"t": [0, 1]}
    assert await delete(member.client, member.group, wanted) == {("t", 0): SUBSCRIBED, ("t", 1): SUBSCRIBED}
    assert await member.client.fetch(member.group, {"t": [0]}) == {("t", 0): (3, -1, "")}


async def test_l3_while_the_group_rebalances(world: World):
    leader, follower, _ = await world.preparing(world.group())
    await leader.commit({("t", 0): 3, ("u", 0): 4})
    assert await delete(follower.client, leader.group, {"t": [0], "u": [0]}) == {
        ("t", 0): SUBSCRIBED,
        ("u", 0): ErrorCode.NONE,
    }


async def test_l4_a_topic_that_is_no_longer_read(world: World):
    member = await world.stable1(world.group())
    await member.commit({("t", 0): 3, ("u", 0): 4, ("u", 1): 5})
    assert await delete(member.client, member.group, {"u": [0], "t": [0]}) == {
        ("u", 0): ErrorCode.NONE,
        ("t", 0): SUBSCRIBED,
    }
    assert await member.client.fetch(member.group) == {("t", 0): (3, -1, ""), ("u", 1): (5, -1, "")}
    assert await member.client.fetch(member.group, {"u": [0]}) == {("u", 0): GONE}
    assert await member.heartbeat() is ErrorCode.NONE


async def test_l4_what_one_member_reads_counts(world: World):
    group = world.group()
    first = await world.member(group, protocols=[("range", sub("t"))])
    second = await world.member(group, protocols=[("range", sub("u"))])
    for member in (first, second):
        await member.start_join()
    for member in (first, second):
        await member.finish_join()
    assert await delete(first.client, group, {"t": [0], "u": [0], "wide": [0]}) == {
        ("t", 0): SUBSCRIBED,
        ("u", 0): SUBSCRIBED,
        ("wide", 0): ErrorCode.NONE,
    }


@pytest.mark.parametrize("metadata", [b"", b"\x00", b"\x00\x00\x00\x00"])
async def test_l5_a_subscription_that_cannot_be_read(world: World, metadata: bytes):
    member = await world.stable1(world.group(), protocols=[("range", metadata)])
    await member.commit({("t", 0): 3, ("u", 0): 4})
    assert await delete(member.client, member.group, {"t": [0], "u": [0]}) == {
        ("t", 0): SUBSCRIBED,
        ("u", 0): SUBSCRIBED,
    }


async def test_l6_a_group_of_another_type(world: World):
    member = await world.stable1(world.group(), protocol_type="connect")
    await member.commit({("t", 0): 3})
    for wanted in ({"t": [0]}, {"nope": [0]}, {}):
        await refused(member.client, member.group, wanted, ErrorCode.NON_EMPTY_GROUP)
    assert await member.client.fetch(member.group, {"t": [0]}) == {("t", 0): (3, -1, "")}


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
async def test_l7_l8_a_group_without_members(world: World, protocol_type: str):
    member = await world.stable1(world.group(), protocol_type=protocol_type)
    await member.commit({("t", 0): 3, ("t", 1): 4})
    await member.client.leave(member.group, member.id)
    assert await delete(member.client, member.group, {"t": [0]}) == {("t", 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group) == {("t", 1): (4, -1, "")}


async def test_l9_l10_a_simple_group(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 3})
    for _ in range(2):
        assert await delete(client, group, {"t": [0]}) == {("t", 0): ErrorCode.NONE}
        assert await client.fetch(group) == {}
    # The group outlives the last of its offsets.
    described = await client.describe(group)
    assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Empty")


async def test_l11_unknown_topics_and_partitions(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 3, ("t", 1): 4})
    wanted = {"nope": [0, 1], "t": [0, 3, -1], "u": [2]}
    assert await delete(client, group, wanted) == {
        ("nope", 0): UNKNOWN,
        ("nope", 1): UNKNOWN,
        ("t", 0): ErrorCode.NONE,
        ("t", 3): UNKNOWN,
        ("t", -1): UNKNOWN,
        ("u", 2): ErrorCode.NONE,
    }
    assert await client.fetch(group) == {("t", 1): (4, -1, "")}


async def test_l11_in_which_order_topics_are_answered(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 3})
    # Topics with something unknown in them come first; a known one without partitions does not come at all.
    answer = await client.call(request(group, {"u": [0], "wide": [], "nope": [], "t": [0, 3, 1]}))
    assert [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics] == [
        ("nope", []),
        ("t", [3, 0, 1]),
        ("u", [0]),
    ]


async def test_l11_a_topic_that_is_named_twice(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 3, ("t", 1): 4})

    async def answered(*wanted: tuple[str, list[int]]) -> list[tuple[str, list[tuple[int, int]]]]:
        topics = [topic for name, partitions in wanted for topic in request(group, {name: partitions}).topics]
        answer = await client.call(OffsetDeleteRequest(group_id=group, topics=topics))
        assert answer.error_code == ErrorCode.NONE
        return [
            (topic.name, [(one.partition_index, one.error_code) for one in topic.partitions]) for topic in answer.topics
        ]

    assert await answered(("t", [0, 0])) == [("t", [(0, 0), (0, 0)])]
    # Where nothing is refused, each entry is answered by one of its own; else there is one for each name.
    assert await answered(("t", [0]), ("u", [0]), ("t", [1])) == [("t", [(0, 0)]), ("u", [(0, 0)]), ("t", [(1, 0)])]
    assert await answered(("t", [0, 9]), ("u", [0]), ("t", [1])) == [("t", [(9, 3), (0, 0), (1, 0)]), ("u", [(0, 0)])]
    assert await answered(("t", [0]), ("nope", [0]), ("t", [1])) == [("nope", [(0, 3)]), ("t", [(0, 0), (1, 0)])]


async def test_l13_the_first_rebalance(world: World):
    member = await world.member(world.group())
    await member.start_join()
    client = await world.client()
    assert await delete(client, member.group, {"t": [0], "u": [0]}) == {("t", 0): SUBSCRIBED, ("u", 0): SUBSCRIBED}


async def test_l14_the_error_comes_before_the_throttle_time(world: World):
    client = await world.client()
    call = await client.send(request("", {"t": [0]}), correlation_id=77)
    client.waiting.remove(call)
    assert await client.read_frame() == struct.pack(">ihii", 77, ErrorCode.INVALID_GROUP_ID, 0, 0)
