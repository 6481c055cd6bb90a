"""DescribeTopicPartitions: topics page by page, and requests that make no sense."""

from typing import Any, Final

from kcoord.check.nodes import node_id
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import NO_ID, created
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import Cursor, DescribeTopicPartitionsRequest, TopicRequest

NOT_ASKED: Final = -(2**31)
TOPIC_OPERATIONS: Final = 3576
"""Bits of what there is to do with a topic; without an authorizer all of it is allowed."""
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Page = tuple[list[tuple[str, list[int]]], tuple[str, int] | None]

HANDLED: Final = "KIP-966; Apache Kafka DescribeTopicPartitionsRequestHandler.handleDescribeTopicPartitionsRequest"
PAGED: Final = f"{HANDLED}, KRaftMetadataCache.describeTopicResponse"


async def three(world: World, client: Client) -> tuple[str, str, str]:
    """Create topics that are neighbours in the alphabet, of 3, 4 and 1 partitions."""
    stem = world.topic("page")
    a, b, c = (world.names.derived(stem, suffix) for suffix in (".a", ".b", ".c"))
    return await created(client, 3, name=a), await created(client, 4, name=b), await created(client, 1, name=c)


async def ask(client: Client, *topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    """Ask for topics, so many partitions at most, from a place on."""
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in topics],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    answer = await client.call(request, 0)
    assert answer.throttle_time_ms == 0
    return answer


async def page(client: Client, *topics: str, **what: Any) -> Page:
    """Return the partitions told of, by topic, and where the next page begins. All topics must exist."""
    answer = await ask(client, *topics, **what)
    assert all(topic.error_code == 0 for topic in answer.topics)
    following = answer.next_cursor
    return (
        [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics],
        None if following is None else (following.topic_name, following.partition_index),
    )


@rule(
    id="describe-topic-partitions-1",
    api="DescribeTopicPartitions",
    says="A topic is told of with its partitions, their leader and replicas, and what may be done: "
    "without an authorizer, everything.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_1(world: World) -> None:
    client = await world.client()
    node, name = await node_id(client), await created(client, 2)
    (topic_id,) = await client.topic_ids(name)
    (topic,) = (await ask(client, name)).topics
    assert (topic.name, topic.topic_id, topic.error_code, topic.is_internal) == (name, topic_id, 0, False)
    assert topic.topic_authorized_operations == TOPIC_OPERATIONS
    assert len(topic.partitions) == 2
    for index, one in enumerate(topic.partitions):
        assert (one.partition_index, one.error_code, one.leader_id, one.leader_epoch) == (index, 0, node, 0)
        assert (one.replica_nodes, one.isr_nodes, one.offline_replicas) == ([node], [node], [])
        assert (one.eligible_leader_replicas, one.last_known_elr) == ([], [])


@rule(
    id="describe-topic-partitions-2",
    api="DescribeTopicPartitions",
    says="Topics come in the order of their names, once each.",
    source=HANDLED,
    versions="0",
)
async def describe_topic_partitions_2(world: World) -> None:
    client = await world.client()
    a, b, c = await three(world, client)
    assert await page(client, b, c, a, b) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3]), (c, [0])], None)


@rule(
    id="describe-topic-partitions-3",
    api="DescribeTopicPartitions",
    says="Topics that do not exist, or cannot, have their place in the order, and what may be done with them is told.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_3(world: World) -> None:
    client = await world.client()
    a, b, _ = await three(world, client)
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
        assert topic.topic_authorized_operations == TOPIC_OPERATIONS
        if topic.error_code:
            assert (topic.topic_id, topic.partitions, topic.is_internal) == (NO_ID, [], False)


@rule(
    id="describe-topic-partitions-4",
    api="DescribeTopicPartitions",
    says="Names are ordered by their UTF-16 units: a letter beyond the first 65536 comes before one at their end.",
    source=f"{HANDLED} (java.lang.String.compareTo)",
    versions="0",
)
async def describe_topic_partitions_4(world: World) -> None:
    answer = await ask(await world.client(), "\uffee", "\U00010000", "z")
    assert [topic.name for topic in answer.topics] == ["z", "\U00010000", "\uffee"]


@rule(
    id="describe-topic-partitions-5",
    api="DescribeTopicPartitions",
    says="Topics are internal by their names, whether they exist or not.",
    source=f"{HANDLED}, Topic.isInternal",
    versions="0",
    since="3.9",
    varies="whether anyone has begun a transaction, or shares, at the broker, by which these topics come to be",
)
async def describe_topic_partitions_5(world: World) -> None:
    answer = await ask(await world.client(), "__share_group_state", "__transaction_state")
    assert [topic.is_internal for topic in answer.topics] == [True, True]


@rule(
    id="describe-topic-partitions-6",
    api="DescribeTopicPartitions",
    says="There is room for one partition, even if there should be none.",
    source=HANDLED,
    versions="0",
)
async def describe_topic_partitions_6(world: World) -> None:
    client = await world.client()
    a, b, _ = await three(world, client)
    for limit in (1, 0, -5):
        assert await page(client, a, b, limit=limit) == ([(a, [0])], (a, 1))


@rule(
    id="describe-topic-partitions-7",
    api="DescribeTopicPartitions",
    says="A page ends where it is full, within a topic or behind it, and tells where the next one begins.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_7(world: World) -> None:
    client = await world.client()
    names = a, b, c = await three(world, client)
    assert await page(client, *names, limit=2) == ([(a, [0, 1])], (a, 2))
    assert await page(client, *names, limit=3) == ([(a, [0, 1, 2])], (b, 0))
    assert await page(client, *names, limit=4) == ([(a, [0, 1, 2]), (b, [0])], (b, 1))
    assert await page(client, *names, limit=7) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3])], (c, 0))
    assert await page(client, *names, limit=8) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3]), (c, [0])], None)


@rule(
    id="describe-topic-partitions-8",
    api="DescribeTopicPartitions",
    says="The next page may begin with a topic that does not exist.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_8(world: World) -> None:
    client = await world.client()
    a, b, _ = await three(world, client)
    missing = f"{a}-nope"
    assert await page(client, a, b, missing, limit=3) == ([(a, [0, 1, 2])], (missing, 0))
    answer = await ask(client, a, b, missing, limit=3, cursor=(missing, 0))
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [(missing, UNKNOWN), (b, 0)]


@rule(
    id="describe-topic-partitions-9",
    api="DescribeTopicPartitions",
    says="A page begins where the cursor is, with that partition.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_9(world: World) -> None:
    client = await world.client()
    names = a, b, c = await three(world, client)
    assert await page(client, *names, limit=5, cursor=(a, 2)) == ([(a, [2]), (b, [0, 1, 2, 3])], (c, 0))
    assert await page(client, *names, cursor=(b, 1)) == ([(b, [1, 2, 3]), (c, [0])], None)
    assert await page(client, b, c, limit=1, cursor=(b, 3)) == ([(b, [3])], (c, 0))


@rule(
    id="describe-topic-partitions-10",
    api="DescribeTopicPartitions",
    says="A cursor behind the last partition of a topic makes that topic come without any.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_10(world: World) -> None:
    client = await world.client()
    _, b, c = await three(world, client)
    for index in (4, 99):
        assert await page(client, b, c, limit=1, cursor=(b, index)) == ([(b, []), (c, [0])], None)


@rule(
    id="describe-topic-partitions-11",
    api="DescribeTopicPartitions",
    says="Without names all topics are told of, from the cursor on, be it at one that exists or not.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_11(world: World) -> None:
    client = await world.client()
    a, b, c = await three(world, client)
    found, _ = await page(client, cursor=(a, 1))
    assert found[:3] == [(a, [1, 2]), (b, [0, 1, 2, 3]), (c, [0])]
    found, _ = await page(client, limit=1, cursor=(f"{a}-nope", 7))
    assert found == [(b, [0])]
    found, following = await page(client, limit=7, cursor=(a, 0))
    assert (found, following) == ([(a, [0, 1, 2]), (b, [0, 1, 2, 3])], (c, 0))


@rule(
    id="describe-topic-partitions-12",
    api="DescribeTopicPartitions",
    says="Whoever follows the cursor is told of all topics, in the order of their names.",
    source=PAGED,
    versions="0",
)
async def describe_topic_partitions_12(world: World) -> None:
    client = await world.client()
    names = await three(world, client)
    told: list[str] = []
    cursor: tuple[str, int] | None = ("", 0)
    while cursor is not None:
        found, cursor = await page(client, limit=500, cursor=cursor)
        told += [name for name, _ in found]
    assert {*names, world.t, world.u} <= set(told)
    assert sorted(told) == told


@rule(
    id="describe-topic-partitions-13",
    api="DescribeTopicPartitions",
    says="A cursor at a topic that is not asked for, or at a partition below zero, is refused on each entry, "
    "as it was asked for.",
    source=HANDLED,
    versions="0",
    each={"cursor": (("nobody", 0), ("", 0), ("t", -1))},
)
async def describe_topic_partitions_13(world: World, cursor: tuple[str, int]) -> None:
    name, index = cursor
    place = (world.t if name == "t" else name, index)
    asked = [world.u, world.t, "no such topic", world.t]
    answer = await ask(await world.client(), *asked, cursor=place)
    assert answer.next_cursor is None
    for topic in answer.topics:
        assert (topic.error_code, topic.topic_id, topic.partitions) == (ErrorCode.INVALID_REQUEST, NO_ID, [])
        assert topic.topic_authorized_operations == NOT_ASKED
    assert [topic.name for topic in answer.topics] == asked


@rule(
    id="describe-topic-partitions-14",
    api="DescribeTopicPartitions",
    says="A cursor that cannot be makes the answer empty if no topics are named.",
    source=HANDLED,
    versions="0",
)
async def describe_topic_partitions_14(world: World) -> None:
    answer = await ask(await world.client(), cursor=(world.t, -1))
    assert (answer.topics, answer.next_cursor) == ([], None)


@rule(
    id="describe-topic-partitions-15",
    api="DescribeTopicPartitions",
    says="An empty name makes the broker stumble if there is no cursor, and is illegal or left out if there is one.",
    source=f"seen on Apache Kafka 4.4.0; {HANDLED}",
    versions="0",
)
async def describe_topic_partitions_15(world: World) -> None:
    client, t = await world.client(), world.t
    answer = await ask(client, t, "", t)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [(t, -1), ("", -1), (t, -1)]
    assert answer.topics[0].topic_authorized_operations == NOT_ASKED
    answer = await ask(client, t, "", cursor=("", 0))
    illegal = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("", illegal), (t, 0)]
    assert await page(client, t, "", cursor=(t, 0)) == ([(t, [0, 1, 2])], None)
