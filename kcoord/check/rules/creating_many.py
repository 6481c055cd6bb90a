"""CreateTopics: how many partitions one request may ask for.

What is too much is first asked for with validate_only: a broker that would create it is found out without having to.
"""

from typing import Final

from kcoord.check.nodes import node_id
from kcoord.check.rule import rule
from kcoord.check.rules.creating_topics import DRY_FIRST, LARGEST, assigned, configured, outcome, topic
from kcoord.check.topics import partitions
from kcoord.check.world import World
from wire.errors import ErrorCode

MOST: Final = 10_000
"""Partitions that one request may ask for (MAX_PARTITIONS_PER_BATCH), and records that it may make."""
BATCH: Final = "Apache Kafka ReplicationControlManager.validateTotalNumberOfPartitions"
RECORDS: Final = "Apache Kafka QuorumController.MAX_RECORDS_PER_USER_OP"


@rule(
    id="create-topics-30",
    api="CreateTopics",
    says="If a request has more than 10000 partitions in all, or as many with each topic counted as well, "
    "all of it is refused, also what would be refused anyway.",
    source=f"{BATCH}; BoundedList",
    versions="2-7",
    each={
        "counts": (
            (10_001,),
            (LARGEST,),
            (9_999, 2),
            (9_999, -1, 1),
            (-2, 10_001),
            (10_000,),
            (9_999, 1),
            (5_000, 5_000),
            (4_999, 5_000),
        )
    },
)
async def create_topics_30(world: World, counts: tuple[int, ...]) -> None:
    client = await world.client()
    wishes = [topic(world.topic(), count) for count in counts]
    twice = world.topic("twice")
    wishes += [topic("a b", 0), topic(twice, 0), topic(twice, 0)]
    expected = [(wish.name, ErrorCode.POLICY_VIOLATION) for wish in wishes]
    for validate_only in DRY_FIRST:
        assert await outcome(client, *wishes, validate_only=validate_only) == expected
    assert await partitions(client, wishes[0].name) is None


@rule(
    id="create-topics-31",
    api="CreateTopics",
    says="Partitions that are assigned one by one count as others do.",
    source=BATCH,
    versions="2-7",
)
async def create_topics_31(world: World) -> None:
    client = await world.client()
    wish = assigned(world.topic(), await node_id(client), ((index, (1,)) for index in range(MOST + 1)))
    assert await outcome(client, wish, validate_only=True) == [(wish.name, ErrorCode.POLICY_VIOLATION)]


@rule(
    id="create-topics-32",
    api="CreateTopics",
    says="One request may have 10000 partitions and topics, and those whose number cannot be do not count.",
    source=f"{BATCH}; BoundedList",
    versions="2-7",
    each={"counts": ((9_999,), (4_999, 4_999), (4_999, 4_998, -2))},
)
async def create_topics_32(world: World, counts: tuple[int, ...]) -> None:
    wishes = [topic(world.topic(), count) for count in counts]
    codes = {-2: ErrorCode.INVALID_PARTITIONS}
    expected = [(wish.name, codes.get(wish.num_partitions, ErrorCode.NONE)) for wish in wishes]
    assert await outcome(await world.client(), *wishes, validate_only=True) == expected


@rule(
    id="create-topics-33",
    api="CreateTopics",
    says="Partitions of topics that are refused count among those asked for, but not among those created.",
    source=f"{BATCH}; BoundedList",
    versions="2-7",
)
async def create_topics_33(world: World) -> None:
    client, name, once_more = await world.client(), world.topic(), world.topic()
    wishes = [topic(name, 5_000), topic(world.t, 4_990), topic(world.u, 10), topic(once_more), topic(once_more, 9_000)]
    assert await outcome(client, *wishes, validate_only=True) == [
        (name, ErrorCode.NONE),
        (world.t, ErrorCode.TOPIC_ALREADY_EXISTS),
        (world.u, ErrorCode.TOPIC_ALREADY_EXISTS),
        (once_more, ErrorCode.INVALID_REQUEST),
    ]


@rule(
    id="create-topics-34",
    api="CreateTopics",
    says="A setting counts as one towards what a request may create.",
    source=f"{RECORDS}; BoundedList",
    versions="2-7",
    each=({"count": 9_998, "fits": True}, {"count": 9_999, "fits": False}),
)
async def create_topics_34(world: World, count: int, fits: bool) -> None:
    wish = configured(world.topic(), retention_ms="1")
    wish.num_partitions = count
    code = ErrorCode.NONE if fits else ErrorCode.POLICY_VIOLATION
    assert await outcome(await world.client(), wish, validate_only=True) == [(wish.name, code)]
