"""Topics described page by page: the order, the cursor, the limit, and requests that make no sense."""

from typing import Any

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.topics import NO_ID, created, fresh
from wire.errors import ErrorCode
from wire.messages import Cursor, DescribeTopicPartitionsRequest, TopicRequest

NOT_ASKED = -(2**31)
TOPIC_OPERATIONS = 3576
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Page = tuple[list[tuple[str, list[int]]], tuple[str, int] | None]


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


@pytest.fixture
async def names(client: Client) -> tuple[str, str, str]:
    """Three topics that are neighbours in the alphabet, of 3, 4 and 1 partitions."""
    stem = fresh("page")
    return (
        await created(client, 3, name=f"{stem}.a"),
        await created(client, 4, name=f"{stem}.b"),
        await created(client, 1, name=f"{stem}.c"),
    )


async def ask(client: Client, *topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in topics],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    answer = await client.call(request, 0)
    assert answer.throttle_time_ms == 0
    return answer


async def page(client: Client, *topics: str, **what: Any) -> Page:
    """The numbers of the partitions told of, by topic, and where the next page begins. All topics must exist."""
    answer = await ask(client, *topics, **what)
    assert all(topic.error_code == 0 for topic in answer.topics)
    following = answer.next_cursor
    return (
        [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics],
        None if following is None else (following.topic_name, following.partition_index),
    )


async def test_a_topic(client: Client):
    name = await created(client, 2)
    (topic_id,) = await client.topic_ids(name)
    (topic,) = (await ask(client, name)).topics
    assert (topic.name, topic.topic_id, topic.error_code, topic.is_internal) == (name, topic_id, 0, False)
    assert topic.topic_authorized_operations == TOPIC_OPERATIONS
    for index, one in enumerate(topic.partitions):
        assert (one.partition_index, one.error_code, one.leader_id, one.leader_epoch) == (index, 0, 1, 0)
        assert (one.replica_nodes, one.isr_nodes, one.offline_replicas) == ([1], [1], [])
        assert (one.eligible_leader_replicas, one.last_known_elr) == ([], [])


async def test_topics_come_in_the_order_of_their_names_and_once(client: Client, names: tuple[str, ...]):
    a, b, c = names
    assert await page(client, b, c, a, b) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3]), (c, [0])], None)


async def test_topics_that_do_not_exist_have_their_place_in_the_order(client: Client, names: tuple[str, ...]):
    a, b, _ = names
    between, illegal = f"{a}-nope", f"{b} nope"
    answer = await ask(client, illegal, b, between, a, "__cluster_metadata")
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("__cluster_metadata", UNKNOWN),
        (a, 0),
        (between, UNKNOWN),
        (b, 0),
        (illegal, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    for topic in answer.topics:
        if topic.error_code:
            assert (topic.topic_id, topic.partitions, topic.is_internal) == (NO_ID, [], False)
            assert topic.topic_authorized_operations == TOPIC_OPERATIONS


async def test_the_order_is_that_of_utf_16_units(client: Client):
    """A letter beyond the first 65536 comes before one at their end."""
    answer = await ask(client, "\uffee", "\U00010000", "z")
    assert [topic.name for topic in answer.topics] == ["z", "\U00010000", "\uffee"]


async def test_internal_topics(client: Client):
    answer = await ask(client, "__share_group_state", "__transaction_state")
    assert all(topic.is_internal for topic in answer.topics)


@pytest.mark.parametrize("limit", [1, 0, -5])
async def test_there_is_always_room_for_one(client: Client, names: tuple[str, ...], limit: int):
    a, b, _ = names
    assert await page(client, a, b, limit=limit) == ([(a, [0])], (a, 1))


async def test_a_page_may_end_anywhere(client: Client, names: tuple[str, ...]):
    a, b, c = names
    assert await page(client, *names, limit=2) == ([(a, [0, 1])], (a, 2))
    assert await page(client, *names, limit=3) == ([(a, [0, 1, 2])], (b, 0))
    assert await page(client, *names, limit=4) == ([(a, [0, 1, 2]), (b, [0])], (b, 1))
    assert await page(client, *names, limit=7) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3])], (c, 0))
    assert await page(client, *names, limit=8) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3]), (c, [0])], None)


async def test_the_next_page_may_begin_with_what_does_not_exist(client: Client, names: tuple[str, ...]):
    a, b, _ = names
    missing = f"{a}-nope"
    assert await page(client, a, b, missing, limit=3) == ([(a, [0, 1, 2])], (missing, 0))
    answer = await ask(client, a, b, missing, limit=3, cursor=(missing, 0))
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [(missing, UNKNOWN), (b, 0)]


async def test_pages_follow_each_other(client: Client, names: tuple[str, ...]):
    a, b, c = names
    assert await page(client, *names, limit=5, cursor=(a, 2)) == ([(a, [2]), (b, [0, 1, 2, 3])], (c, 0))
    assert await page(client, *names, cursor=(b, 1)) == ([(b, [1, 2, 3]), (c, [0])], None)
    assert await page(client, b, c, limit=1, cursor=(b, 3)) == ([(b, [3])], (c, 0))


@pytest.mark.parametrize("index", [4, 99])
async def test_a_cursor_behind_the_last_partition(client: Client, names: tuple[str, ...], index: int):
    _, b, c = names
    assert await page(client, b, c, limit=1, cursor=(b, index)) == ([(b, []), (c, [0])], None)


async def test_without_names_all_topics_are_told_of(client: Client, names: tuple[str, ...]):
    a, b, c = names
    found, _ = await page(client, cursor=(a, 1))
    assert found[:3] == [(a, [1, 2]), (b, [0, 1, 2, 3]), (c, [0])]
    found, _ = await page(client, limit=1, cursor=(f"{a}-nope", 7))
    assert found == [(b, [0])]
    told: list[str] = []
    cursor: tuple[str, int] | None = ("", 0)
    while cursor is not None:
        found, cursor = await page(client, cursor=cursor)
        told += [name for name, _ in found]
    assert {*names, "t", "u", "wide"} <= set(told)
    assert sorted(told) == told


@pytest.mark.parametrize("cursor", [("nobody", 0), ("", 0), ("t", -1)], ids=str)
async def test_a_cursor_that_cannot_be(client: Client, cursor: tuple[str, int]):
    """The error stands on each entry, as it was asked for."""
    answer = await ask(client, "u", "t", "no such topic", "t", cursor=cursor)
    assert answer.next_cursor is None
    for topic in answer.topics:
        assert (topic.error_code, topic.topic_id, topic.partitions) == (ErrorCode.INVALID_REQUEST, NO_ID, [])
        assert topic.topic_authorized_operations == NOT_ASKED
    assert [topic.name for topic in answer.topics] == ["u", "t", "no such topic", "t"]


async def test_a_cursor_that_cannot_be_among_all_topics(client: Client):
    answer = await ask(client, cursor=("t", -1))
    assert (answer.topics, answer.next_cursor) == ([], None)


async def test_an_empty_name(client: Client):
    """Kafka stumbles on it, if there is no cursor."""
    answer = await ask(client, "t", "", "t")
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("t", -1), ("", -1), ("t", -1)]
    assert answer.topics[0].topic_authorized_operations == NOT_ASKED
    answer = await ask(client, "t", "", cursor=("", 0))
    illegal = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("", illegal), ("t", 0)]
    assert await page(client, "t", "", cursor=("t", 0)) == ([("t", [0, 1, 2])], None)
