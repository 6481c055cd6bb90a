"""CreateTopics: what is created, what is refused and in which order.

The texts of messages are each broker's own; whether there is one, and whom it names, is not. What must not come to be
is first asked for with validate_only: a broker that would create it is found out without having to.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from kcoord.check.nodes import node_id
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import NO_ID, has_partitions, partitions
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)

METADATA_TOPIC: Final = "__cluster_metadata"
OFFSETS: Final = "__consumer_offsets"
DRY_FIRST: Final = (True, False)
"""Values of validate_only, the one that does no harm first."""
LARGEST: Final = 2**31 - 1

HANDLED: Final = "Apache Kafka ControllerApis.createTopics"
CREATED: Final = "Apache Kafka ReplicationControlManager.createTopic"
EACH: Final = "Apache Kafka ReplicationControlManager.createTopics"
NAMES: Final = f"{EACH}, validateNewTopicNames"
ASSIGNED: Final = f"{CREATED}, validateManualPartitionAssignment"

Assignment = tuple[int, tuple[int, ...]]
"""The number of a partition, and brokers: 1 is the one there is, 2 and more do not exist."""


def topic(name: str, count: int = 1, replicas: int = 1) -> CreatableTopic:
    """Wish for a topic."""
    return CreatableTopic(name=name, num_partitions=count, replication_factor=replicas)


def number_of(node: int, broker: int) -> int:
    """Return the id of a broker of an `Assignment`."""
    return node + broker - 1 if broker > 0 else broker


def assigned(
    name: str, node: int, assignments: Iterable[Assignment], *, count: int = -1, replicas: int = -1
) -> CreatableTopic:
    """Wish for a topic whose partitions are given one by one."""
    wish = topic(name, count, replicas)
    wish.assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=[number_of(node, each) for each in brokers])
        for index, brokers in assignments
    ]
    return wish


def configured(name: str, **settings: str | None) -> CreatableTopic:
    """Wish for a topic with settings (`retention_ms="5"`)."""
    wish = topic(name)
    wish.configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    return wish


async def create(
    client: Client, *topics: CreatableTopic, version: int | None = None, **what: Any
) -> list[CreatableTopicResult]:
    """Ask for topics; return the entries of the answer. A refused one has nothing of a topic.

    What else comes with both is said by rules of its own (refusals-2, refusals-3).
    """
    version = client.newest(CreateTopicsRequest, 7) if version is None else version
    answer = await client.call(CreateTopicsRequest(topics=list(topics), **what), version)
    assert answer.throttle_time_ms == 0
    found: list[CreatableTopicResult] = answer.topics
    for one in found:
        assert one.topic_config_error_code == 0
        if one.error_code:
            assert one.error_message != ""
            assert (one.topic_id, one.num_partitions, one.replication_factor) == (NO_ID, -1, -1)
            assert not one.configs
        else:
            assert one.error_message is None
            assert one.replication_factor == (1 if version >= 5 else -1)
    return found


async def outcome(client: Client, *topics: CreatableTopic, **what: Any) -> list[tuple[str, ErrorCode]]:
    """Ask for topics; return names and errors."""
    return [(one.name, ErrorCode(one.error_code)) for one in await create(client, *topics, **what)]


async def error(client: Client, wish: CreatableTopic, **what: Any) -> tuple[ErrorCode, str]:
    """Ask for one topic that is refused; return the error and the message, empty if there is none."""
    (one,) = await create(client, wish, **what)
    assert one.name == wish.name
    return ErrorCode(one.error_code), one.error_message or ""


@rule(
    id="create-topics-1",
    api="CreateTopics",
    says="A topic is created, and told about from version 5 on, from 7 on with its id.",
    source=f"KIP-4, KIP-525, KIP-516; {CREATED}",
    versions="2-7",
    each={"version": range(2, 8)},
)
async def create_topics_1(world: World, version: int) -> None:
    client, name = await world.client(), world.topic()
    (made,) = await create(client, topic(name, 3), version=version)
    assert (made.name, made.error_code) == (name, 0)
    assert made.num_partitions == (3 if version >= 5 else -1)
    assert await has_partitions(client, name, 3)
    if version >= 7:
        assert await client.topic_ids(name) == [made.topic_id]


@rule(
    id="create-topics-2",
    api="CreateTopics",
    says="-1 partitions and replicas mean the broker's defaults, also in versions before that was promised.",
    source=f"KIP-464; {CREATED}",
    versions="2-7",
    settings={"num.partitions": 1},
    each={"version": range(2, 8)},
)
async def create_topics_2(world: World, version: int) -> None:
    client, name = await world.client(), world.topic()
    (made,) = await create(client, topic(name, -1, -1), version=version)
    assert (made.error_code, made.num_partitions) == (0, 1 if version >= 5 else -1)
    assert await has_partitions(client, name, 1)


@rule(
    id="create-topics-3",
    api="CreateTopics",
    says="A topic that exists is refused by its name, and stays as it is.",
    source=NAMES,
    versions="2-7",
)
async def create_topics_3(world: World) -> None:
    client = await world.client()
    for version in world.offered(CreateTopicsRequest, range(2, 8)):
        for validate_only in DRY_FIRST:
            code, message = await error(client, topic(world.t, 5), version=version, validate_only=validate_only)
            assert code is ErrorCode.TOPIC_ALREADY_EXISTS
            assert world.t in message
    assert await partitions(client, world.t) == 3


@rule(
    id="create-topics-4",
    api="CreateTopics",
    says="What is only to be validated is answered as if it were created, as often as one likes, and is not created.",
    source=EACH,
    versions="2-7",
)
async def create_topics_4(world: World) -> None:
    client, name = await world.client(), world.topic()
    for version in world.offered(CreateTopicsRequest, range(2, 8)):
        for _ in range(2):
            (would_be,) = await create(client, topic(name, 3), version=version, validate_only=True)
            assert (would_be.error_code, would_be.num_partitions) == (0, 3 if version >= 5 else -1)
            assert await partitions(client, name) is None


@rule(
    id="create-topics-5",
    api="CreateTopics",
    says="A name is refused that is empty, a dot or two, longer than 249 characters, "
    "or of others than ASCII letters, digits, dots, underscores and hyphens.",
    source=f"{NAMES}, Topic.validate",
    versions="2-7",
    each={"name": ("", ".", "..", "a b", "a/b", "ü", "x" * 250, "a\n", "x y" * 100)},
)
async def create_topics_5(world: World, name: str) -> None:
    client = await world.client()
    for validate_only in DRY_FIRST:
        code, _ = await error(client, topic(name), validate_only=validate_only)
        assert code is ErrorCode.INVALID_TOPIC_EXCEPTION


@rule(
    id="create-topics-6",
    api="CreateTopics",
    says="A name may have 249 characters.",
    source=f"{NAMES}, Topic.MAX_NAME_LENGTH",
    versions="2-7",
)
async def create_topics_6(world: World) -> None:
    name = world.topic("long").ljust(249, "x")
    assert await outcome(await world.client(), topic(name), validate_only=True) == [(name, ErrorCode.NONE)]


@rule(
    id="create-topics-7",
    api="CreateTopics",
    says="A name is refused that is another topic's but for dots and underscores; the refusal names that topic.",
    source=f"{NAMES}, Topic.unifyCollisionChars",
    versions="2-7",
)
async def create_topics_7(world: World) -> None:
    client, stem = await world.client(), world.topic()
    older, younger = world.names.derived(stem, ".b"), world.names.derived(stem, "_b")
    assert await outcome(client, topic(older)) == [(older, ErrorCode.NONE)]
    code, message = await error(client, topic(younger))
    assert code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert older in message
    assert await partitions(client, younger) is None


@rule(
    id="create-topics-8",
    api="CreateTopics",
    says="A topic that is refused does not stand in the way of one whose name is the same but for dots.",
    source=NAMES,
    versions="2-7",
)
async def create_topics_8(world: World) -> None:
    client, stem = await world.client(), world.topic()
    refused, free = world.names.derived(stem, ".b"), world.names.derived(stem, "_b")
    assert await outcome(client, topic(refused, 0), topic(free)) == [
        (refused, ErrorCode.INVALID_PARTITIONS),
        (free, ErrorCode.NONE),
    ]


@rule(
    id="create-topics-9",
    api="CreateTopics",
    says="The topic of committed offsets exists, and its name stands in the way of one with a dot.",
    source=f"{NAMES}, Topic.unifyCollisionChars",
    versions="2-7",
)
async def create_topics_9(world: World) -> None:
    client = await world.client()
    for validate_only in DRY_FIRST:
        code, _ = await error(client, topic(OFFSETS), validate_only=validate_only)
        assert code is ErrorCode.TOPIC_ALREADY_EXISTS
        code, _ = await error(client, topic(OFFSETS.replace("r_", "r.")), validate_only=validate_only)
        assert code is ErrorCode.INVALID_TOPIC_EXCEPTION


@rule(
    id="create-topics-10",
    api="CreateTopics",
    says="The name of the controllers' log is refused by its name, before the numbers are looked at.",
    source=HANDLED,
    versions="2-7",
)
async def create_topics_10(world: World) -> None:
    client = await world.client()
    for validate_only in DRY_FIRST:
        for count in (1, 0, 99_999):
            code, message = await error(client, topic(METADATA_TOPIC, count), validate_only=validate_only)
            assert code is ErrorCode.INVALID_REQUEST
            assert METADATA_TOPIC in message


@rule(
    id="create-topics-11",
    api="CreateTopics",
    says="Topics that come twice are not created, and are answered once, behind the others.",
    source=HANDLED,
    versions="2-7",
    each={"version": range(2, 8)},
)
async def create_topics_11(world: World, version: int) -> None:
    client = await world.client()
    once, twice, thrice = world.topic("once"), world.topic("twice"), world.topic("thrice")
    wishes = [topic(twice, 2), topic(thrice), topic(twice, 3), topic(once), topic(thrice, 0), topic(thrice)]
    first, *others = await create(client, *wishes, version=version)
    assert (first.name, first.error_code) == (once, 0)
    assert {(one.name, one.error_code) for one in others} == {
        (twice, ErrorCode.INVALID_REQUEST),
        (thrice, ErrorCode.INVALID_REQUEST),
    }
    assert len(others) == 2
    assert await partitions(client, twice) is None


@rule(
    id="create-topics-12",
    api="CreateTopics",
    says="A name that comes twice is not looked into, whether it exists, is illegal or is the controllers'.",
    source=HANDLED,
    versions="2-7",
)
async def create_topics_12(world: World) -> None:
    client = await world.client()
    for validate_only in DRY_FIRST:
        for name in (world.t, "a b", METADATA_TOPIC):
            answer = await outcome(client, topic(name), topic(name), validate_only=validate_only)
            assert answer == [(name, ErrorCode.INVALID_REQUEST)]


@rule(
    id="create-topics-13",
    api="CreateTopics",
    says="Numbers are refused that cannot be: no or fewer partitions or replicas, more replicas than brokers.",
    source=f"{CREATED}; StripedReplicaPlacer.place",
    versions="2-7",
    each=(
        {"count": 0, "replicas": 1, "code": ErrorCode.INVALID_PARTITIONS},
        {"count": -2, "replicas": 1, "code": ErrorCode.INVALID_PARTITIONS},
        {"count": 1, "replicas": 0, "code": ErrorCode.INVALID_REPLICATION_FACTOR},
        {"count": 1, "replicas": -2, "code": ErrorCode.INVALID_REPLICATION_FACTOR},
        {"count": 1, "replicas": 2, "code": ErrorCode.INVALID_REPLICATION_FACTOR},
        {"count": 1, "replicas": 32767, "code": ErrorCode.INVALID_REPLICATION_FACTOR},
        {"count": 0, "replicas": 0, "code": ErrorCode.INVALID_REPLICATION_FACTOR},
        {"count": 0, "replicas": 2, "code": ErrorCode.INVALID_PARTITIONS},
        {"count": 0, "replicas": -1, "code": ErrorCode.INVALID_PARTITIONS},
        {"count": -1, "replicas": 0, "code": ErrorCode.INVALID_REPLICATION_FACTOR},
    ),
)
async def create_topics_13(world: World, count: int, replicas: int, code: ErrorCode) -> None:
    client, name = await world.client(), world.topic()
    for version in world.offered(CreateTopicsRequest, (7, 2)):
        for validate_only in DRY_FIRST:
            refused, _ = await error(client, topic(name, count, replicas), version=version, validate_only=validate_only)
            assert refused is code
    assert await partitions(client, name) is None


@rule(
    id="create-topics-14",
    api="CreateTopics",
    says="One number may be -1 and the other not.",
    source=f"KIP-464; {CREATED}",
    versions="2-7",
    settings={"num.partitions": 1},
    each=({"count": -1, "replicas": 1}, {"count": 2, "replicas": -1}),
)
async def create_topics_14(world: World, count: int, replicas: int) -> None:
    client = await world.client()
    version = client.newest(CreateTopicsRequest, 7)
    (made,) = await create(client, topic(world.topic(), count, replicas), version=version)
    assert (made.error_code, made.num_partitions) == (0, abs(count) if version >= 5 else -1)


@rule(
    id="create-topics-15",
    api="CreateTopics",
    says="Partitions may be assigned one by one, in any order.",
    source=ASSIGNED,
    versions="2-7",
    each={"version": range(2, 8)},
)
async def create_topics_15(world: World, version: int) -> None:
    client = await world.client()
    wish = assigned(world.topic(), await node_id(client), [(1, (1,)), (0, (1,)), (2, (1,))])
    (made,) = await create(client, wish, version=version)
    assert (made.error_code, made.num_partitions) == (0, 3 if version >= 5 else -1)
    assert await has_partitions(client, wish.name, 3)


@rule(
    id="create-topics-16",
    api="CreateTopics",
    says="Where partitions are assigned one by one, both numbers have to be -1.",
    source=CREATED,
    versions="2-7",
)
async def create_topics_16(world: World) -> None:
    client = await world.client()
    node = await node_id(client)
    for count in (-2, -1, 0, 1):
        for replicas in (-2, -1, 0, 1):
            wish = assigned(world.topic(), node, [(0, (1,))], count=count, replicas=replicas)
            if (count, replicas) == (-1, -1):
                assert await outcome(client, wish) == [(wish.name, ErrorCode.NONE)]
            else:
                code, _ = await error(client, wish)
                assert code is ErrorCode.INVALID_REQUEST


@rule(
    id="create-topics-17",
    api="CreateTopics",
    says="Assignments are refused with gaps, with partitions or brokers that come twice, with no brokers, "
    "with brokers that do not exist, or with different numbers of them.",
    source=ASSIGNED,
    versions="2-7",
    each={
        "assignments": (
            ((0, (1,)), (2, (1,))),
            ((1, (1,)),),
            ((-1, (1,)), (0, (1,))),
            ((0, (1,)), (0, (1,))),
            ((0, ()),),
            ((0, (1,)), (1, ())),
            ((0, (2,)),),
            ((0, (-1,)),),
            ((0, (1, 2)),),
            ((0, (1, 1)),),
            ((0, (1,)), (1, (1, 2))),
        )
    },
)
async def create_topics_17(world: World, assignments: tuple[Assignment, ...]) -> None:
    client = await world.client()
    wish = assigned(world.topic(), await node_id(client), assignments)
    code, _ = await error(client, wish)
    assert code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert await partitions(client, wish.name) is None


@rule(
    id="create-topics-18",
    api="CreateTopics",
    says="Of several faults of an assignment the first is told of, with the number of the broker or the partition.",
    source=ASSIGNED,
    versions="2-7",
    each=(
        {"assignments": ((0, (2,)), (2, (1,))), "what": "broker", "number": 2},
        {"assignments": ((0, (3, 3)),), "what": "broker", "number": 3},
        {"assignments": ((1, (1,)), (1, (7,))), "what": "partition", "number": 1},
        {"assignments": ((5, (4, 1, 1)),), "what": "broker", "number": 1},
    ),
)
async def create_topics_18(world: World, assignments: tuple[Assignment, ...], what: str, number: int) -> None:
    client = await world.client()
    node = await node_id(client)
    _, message = await error(client, assigned(world.topic(), node, assignments))
    named = number_of(node, number) if what == "broker" else number
    assert str(named) in re.findall(r"\d+", message)


@rule(
    id="create-topics-19",
    api="CreateTopics",
    says="Topics are answered each for itself, in the order of the request; only what is not looked into stands "
    "behind.",
    source=f"{HANDLED}; ReplicationControlManager.createTopics",
    versions="2-7",
)
async def create_topics_19(world: World) -> None:
    client = await world.client()
    good, other, zero, wide, tuned, twice = map(world.topic, ("z", "a", "zero", "wide", "tuned", "twice"))
    wishes = [
        topic(METADATA_TOPIC),
        topic(twice),
        topic(good),
        topic("a b"),
        topic(world.u),
        topic(zero, 0),
        topic(wide, 1, 5),
        topic(twice),
        topic("a/b"),
        configured(tuned, no_such_key="x"),
        topic(other),
    ]
    for validate_only in DRY_FIRST:
        answer = await outcome(client, *wishes, validate_only=validate_only)
        assert answer[:8] == [
            (good, ErrorCode.NONE),
            ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
            (world.u, ErrorCode.TOPIC_ALREADY_EXISTS),
            (zero, ErrorCode.INVALID_PARTITIONS),
            (wide, ErrorCode.INVALID_REPLICATION_FACTOR),
            ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
            (tuned, ErrorCode.INVALID_CONFIG),
            (other, ErrorCode.NONE),
        ]
        assert sorted(answer[8:]) == sorted(
            [(twice, ErrorCode.INVALID_REQUEST), (METADATA_TOPIC, ErrorCode.INVALID_REQUEST)]
        )
        for name in (good, other):
            if validate_only:
                assert await partitions(client, name) is None
            else:
                assert await has_partitions(client, name, 1)


@rule(
    id="create-topics-20",
    api="CreateTopics",
    says="No topics are answered with none, whatever the time.",
    source=HANDLED,
    versions="2-7",
)
async def create_topics_20(world: World) -> None:
    client = await world.client()
    for version in world.offered(CreateTopicsRequest, range(2, 8)):
        assert await outcome(client, version=version) == []
        assert await outcome(client, version=version, timeout_ms=0) == []


@rule(
    id="create-topics-21",
    api="CreateTopics",
    says="In no time nothing is created, and everything is answered without a message, twice what comes twice.",
    source=f"{HANDLED}, QuorumController.createTopics",
    versions="2-7",
    each={"timeout_ms": (0, -1, -(2**31))},
)
async def create_topics_21(world: World, timeout_ms: int) -> None:
    client, name, twice = await world.client(), world.topic(), world.topic("twice")
    answer = await create(client, topic(name), topic(twice), topic("a b"), topic(twice), timeout_ms=timeout_ms)
    assert [(one.name, one.error_code, one.error_message) for one in answer] == [
        (each, ErrorCode.REQUEST_TIMED_OUT, None) for each in (name, twice, "a b", twice)
    ]
    assert await partitions(client, name) is None


@rule(
    id="create-topics-22",
    api="CreateTopics",
    says="No time is enough for topics that are refused without being looked into.",
    source=f"{HANDLED}, QuorumController.createTopics",
    versions="2-7",
)
async def create_topics_22(world: World) -> None:
    client, name = await world.client(), world.topic("twice")
    answer = await outcome(client, topic(name), topic(METADATA_TOPIC), topic(name), timeout_ms=0)
    assert sorted(answer) == sorted([(METADATA_TOPIC, ErrorCode.INVALID_REQUEST), (name, ErrorCode.INVALID_REQUEST)])
