"""Topics created by request: every version, every refusal, and the order of the answer.

The texts of messages are each broker's own; whether there is one, and whom it names, is not.
"""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.scenarios.harness import Client, World
from wire.errors import ErrorCode
from wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    MetadataRequest,
    MetadataRequestTopic,
)

VERSIONS = range(2, 8)
NO_ID = UUID(int=0)
METADATA_TOPIC = "__cluster_metadata"


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


def fresh(stem: str = "new") -> str:
    """A name that nobody has used."""
    return f"{stem}-{uuid4().hex}"


def topic(name: str, partitions: int = 1, replicas: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)


def assigned(
    *assignments: tuple[int, list[int]], name: str = "", partitions: int = -1, replicas: int = -1
) -> CreatableTopic:
    """A topic whose partitions are given one by one, as (number, brokers)."""
    wish = topic(name or fresh(), partitions, replicas)
    wish.assignments = [CreatableReplicaAssignment(partition_index=i, broker_ids=who) for i, who in assignments]
    return wish


def configured(name: str, **settings: str | None) -> CreatableTopic:
    wish = topic(name)
    wish.configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    return wish


async def create(client: Client, *topics: CreatableTopic, version: int = 7, **what: Any) -> list[CreatableTopicResult]:
    """Ask for topics; return the entries of the answer. A refused one has a message, and nothing of a topic."""
    answer = await client.call(CreateTopicsRequest(topics=list(topics), **what), version)
    assert answer.throttle_time_ms == 0
    for one in answer.topics:
        assert one.topic_config_error_code == 0
        if one.error_code:
            assert one.error_message != ""
            assert (one.topic_id, one.num_partitions, one.replication_factor) == (NO_ID, -1, -1)
            assert one.configs == []
        else:
            assert one.error_message is None
            assert (one.topic_id != NO_ID) == (version >= 7)
            assert one.replication_factor == (1 if version >= 5 else -1)
            assert bool(one.configs) == (version >= 5)
    return answer.topics


async def outcome(client: Client, *topics: CreatableTopic, **what: Any) -> list[tuple[str, ErrorCode]]:
    """Ask for topics; return names and errors."""
    return [(one.name, ErrorCode(one.error_code)) for one in await create(client, *topics, **what)]


async def error(client: Client, wish: CreatableTopic, **what: Any) -> tuple[ErrorCode, str]:
    """Ask for one topic that is refused, with a message; return both."""
    (one,) = await create(client, wish, **what)
    assert one.name == wish.name
    assert one.error_message is not None
    return ErrorCode(one.error_code), one.error_message


async def partitions(client: Client, name: str) -> int | None:
    """How many partitions a topic has; None if it does not exist."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (found,) = (await client.call(request, 12)).topics
    return None if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else len(found.partitions)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_is_created_and_told_about(client: Client, version: int):
    name = fresh()
    (made,) = await create(client, topic(name, 3), version=version)
    assert (made.name, made.error_code) == (name, 0)
    assert made.num_partitions == (3 if version >= 5 else -1)
    assert await partitions(client, name) == 3
    if version >= 7:
        assert await client.topic_ids(name) == [made.topic_id]


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_defaults_in_every_version(client: Client, version: int):
    """KIP-464 gave -1 its meaning in version 4; the versions before are not refused it."""
    name = fresh()
    (made,) = await create(client, topic(name, -1, -1), version=version)
    assert made.num_partitions == (1 if version >= 5 else -1)
    assert await partitions(client, name) == 1


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_that_exists(client: Client, version: int, validate_only: bool):
    code, message = await error(client, topic("t", 5), version=version, validate_only=validate_only)
    assert code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert "t" in message
    assert await partitions(client, "t") == 3


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_only_checked_is_not_created(client: Client, version: int):
    name = fresh()
    for _ in range(2):
        (would_be,) = await create(client, topic(name, 3), version=version, validate_only=True)
        assert (would_be.error_code, would_be.num_partitions) == (0, 3 if version >= 5 else -1)
        assert await partitions(client, name) is None


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ü", "x" * 250, "a\n", "x y" * 100])
async def test_illegal_names(client: Client, name: str, validate_only: bool):
    code, _ = await error(client, topic(name), validate_only=validate_only)
    assert code is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_the_longest_legal_name(client: Client):
    assert await outcome(client, topic("x" * 249), validate_only=True) == [("x" * 249, ErrorCode.NONE)]


async def test_names_that_collide(client: Client):
    stem = fresh()
    older, younger = f"{stem}.b", f"{stem}_b"
    assert await outcome(client, topic(older)) == [(older, ErrorCode.NONE)]
    code, message = await error(client, topic(younger))
    assert code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert older in message
    assert await partitions(client, younger) is None


async def test_a_refused_name_stands_in_nobodys_way(client: Client):
    stem = fresh()
    refused, free = f"{stem}.b", f"{stem}_b"
    assert await outcome(client, topic(refused, 0), topic(free)) == [
        (refused, ErrorCode.INVALID_PARTITIONS),
        (free, ErrorCode.NONE),
    ]


async def test_internal_topics(client: Client):
    await client.call(MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")]), 4)
    assert (await error(client, topic("__consumer_offsets")))[0] is ErrorCode.TOPIC_ALREADY_EXISTS
    assert (await error(client, topic("__consumer.offsets")))[0] is ErrorCode.INVALID_TOPIC_EXCEPTION
    for wish in (topic(METADATA_TOPIC), topic(METADATA_TOPIC, 0), topic(METADATA_TOPIC, 99_999)):
        code, message = await error(client, wish)
        assert code is ErrorCode.INVALID_REQUEST
        assert METADATA_TOPIC in message


@pytest.mark.parametrize("version", VERSIONS)
async def test_names_that_come_twice(client: Client, version: int):
    """Whatever is wished for them; they are answered once, and behind the others."""
    once, twice, thrice = fresh("once"), fresh("twice"), fresh("thrice")
    wishes = [topic(twice, 2), topic(thrice), topic(twice, 3), topic(once), topic(thrice, 0), topic(thrice)]
    first, *others = await create(client, *wishes, version=version)
    assert (first.name, first.error_code) == (once, 0)
    assert {(one.name, one.error_code) for one in others} == {
        (twice, ErrorCode.INVALID_REQUEST),
        (thrice, ErrorCode.INVALID_REQUEST),
    }
    assert len(others) == 2
    assert await partitions(client, twice) is None


@pytest.mark.parametrize("name", ["t", "a b", METADATA_TOPIC])
async def test_a_name_that_comes_twice_is_not_looked_into(client: Client, name: str):
    assert await outcome(client, topic(name), topic(name)) == [(name, ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize(
    ("count", "replicas", "code"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 32767, ErrorCode.INVALID_REPLICATION_FACTOR),
        (0, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (0, 2, ErrorCode.INVALID_PARTITIONS),
        (0, -1, ErrorCode.INVALID_PARTITIONS),
        (-1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
async def test_numbers_that_cannot_be(client: Client, count: int, replicas: int, code: ErrorCode):
    name = fresh()
    assert (await error(client, topic(name, count, replicas)))[0] is code
    assert (await error(client, topic(name, count, replicas), version=2, validate_only=True))[0] is code
    assert await partitions(client, name) is None


@pytest.mark.parametrize(("count", "replicas"), [(-1, 1), (2, -1)])
async def test_one_default_and_one_number(client: Client, count: int, replicas: int):
    (made,) = await create(client, topic(fresh(), count, replicas))
    assert (made.error_code, made.num_partitions) == (0, abs(count))


@pytest.mark.parametrize("version", VERSIONS)
async def test_partitions_assigned_one_by_one(client: Client, version: int):
    """In any order."""
    wish = assigned((1, [1]), (0, [1]), (2, [1]))
    (made,) = await create(client, wish, version=version)
    assert made.error_code == 0
    assert made.num_partitions == (3 if version >= 5 else -1)
    assert await partitions(client, wish.name) == 3


@pytest.mark.parametrize("count", [-2, -1, 0, 1])
@pytest.mark.parametrize("replicas", [-2, -1, 0, 1])
async def test_assignments_go_without_numbers(client: Client, count: int, replicas: int):
    wish = assigned((0, [1]), partitions=count, replicas=replicas)
    if (count, replicas) == (-1, -1):
        assert await outcome(client, wish) == [(wish.name, ErrorCode.NONE)]
    else:
        assert (await error(client, wish))[0] is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "assignments",
    [
        [(0, [1]), (2, [1])],
        [(1, [1])],
        [(-1, [1]), (0, [1])],
        [(0, [1]), (0, [1])],
        [(0, [])],
        [(0, [1]), (1, [])],
        [(0, [2])],
        [(0, [-1])],
        [(0, [1, 2])],
        [(0, [1, 1])],
        [(0, [1]), (1, [1, 2])],
    ],
    ids=str,
)
async def test_assignments_that_cannot_be(client: Client, assignments: list[tuple[int, list[int]]]):
    wish = assigned(*assignments)
    assert (await error(client, wish))[0] is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert await partitions(client, wish.name) is None


@pytest.mark.parametrize(
    ("assignments", "named"),
    [([(0, [2]), (2, [1])], "2"), ([(0, [3, 3])], "3"), ([(1, [1]), (1, [7])], "1"), ([(5, [4, 1, 1])], "broker 1")],
)
async def test_the_first_fault_of_an_assignment_is_told(
    client: Client, assignments: list[tuple[int, list[int]]], named: str
):
    _, message = await error(client, assigned(*assignments))
    assert named in message


@pytest.mark.parametrize("value", ["x", None])
async def test_a_setting_that_does_not_exist(client: Client, value: str | None):
    """It comes before the numbers, and after the name."""
    wish = configured(fresh(), no_such_key=value)
    for wish.num_partitions, wish.replication_factor in ((1, 1), (0, 1), (1, 0)):
        code, message = await error(client, wish)
        assert code is ErrorCode.INVALID_CONFIG
        assert "no.such.key" in message
    for name, code in (("t", ErrorCode.TOPIC_ALREADY_EXISTS), ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION)):
        assert (await error(client, configured(name, no_such_key=value)))[0] is code


async def settings(client: Client, wish: CreatableTopic, **what: Any) -> dict[str, tuple[str | None, int]]:
    """Create a topic; return its settings, as the answer tells them: value and source (1: set on the topic)."""
    (made,) = await create(client, wish, **what)
    assert made.error_code == 0
    assert not any(one.read_only or one.is_sensitive for one in made.configs)
    return {one.name: (one.value, one.config_source) for one in made.configs}


DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
"""And min.insync.replicas, which Kafka sets for the cluster when that is made."""


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("version", [5, 6, 7])
async def test_an_answer_tells_all_settings(client: Client, version: int, validate_only: bool):
    wish = configured(fresh(), retention_ms="5000", cleanup_policy="compact, delete")
    told = await settings(client, wish, version=version, validate_only=validate_only)
    assert {key: told[key] for key in DEFAULTS} == {
        **{key: (value, 5) for key, value in DEFAULTS.items()},
        "retention.ms": ("5000", 1),
        "cleanup.policy": ("compact, delete", 1),
    }
    assert told["min.insync.replicas"][0] == "1"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cleanup.policy", ""),
        ("cleanup.policy", "delete"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", " compact "),
        ("cleanup.policy", "delete,delete"),
        ("compression.type", "producer"),
        ("delete.retention.ms", "0"),
        ("max.message.bytes", "0"),
        ("max.message.bytes", "2147483647"),
        ("message.timestamp.after.max.ms", "0"),
        ("message.timestamp.before.max.ms", "9223372036854775807"),
        ("message.timestamp.type", " LogAppendTime"),
        ("min.insync.replicas", "3"),
        ("retention.bytes", "-2"),
        ("retention.bytes", "9223372036854775807"),
        ("retention.ms", "-1"),
        ("retention.ms", " 5 "),
        ("retention.ms", "+5"),
        ("retention.ms", "-0"),
        ("retention.ms", "00005"),
        ("retention.ms", "٣"),
        ("retention.ms", "9223372036854775807"),
    ],
)
async def test_settings_that_can_be(client: Client, key: str, value: str):
    """They are told as they were sent."""
    assert (await settings(client, configured(fresh(), **{key: value})))[key] == (value, 1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cleanup.policy", "DELETE"),
        ("cleanup.policy", "none"),
        ("cleanup.policy", "delete,"),
        ("cleanup.policy", ","),
        ("compression.type", ""),
        ("compression.type", "PRODUCER"),
        ("delete.retention.ms", "-1"),
        ("max.message.bytes", "-1"),
        ("max.message.bytes", "2147483648"),
        ("message.timestamp.after.max.ms", "-1"),
        ("message.timestamp.before.max.ms", "-1"),
        ("message.timestamp.type", "createtime"),
        ("message.timestamp.type", ""),
        ("min.insync.replicas", "0"),
        ("retention.ms", "-2"),
        ("retention.ms", ""),
        ("retention.ms", "abc"),
        ("retention.ms", "1e3"),
        ("retention.ms", "1_000"),
        ("retention.ms", "9223372036854775808"),
        ("segment.bytes", "1"),
        ("log.retention.ms", "1"),
    ],
)
async def test_settings_that_cannot_be(client: Client, key: str, value: str):
    for version in VERSIONS:
        code, message = await error(client, configured(fresh(), **{key: value}), version=version)
        assert code is ErrorCode.INVALID_CONFIG
        assert key in message


async def test_of_a_setting_that_comes_twice_the_last_counts(client: Client):
    wish = topic(fresh())
    wish.configs = [CreatableTopicConfig(name="retention.ms", value=value) for value in ("x", "2")]
    assert (await settings(client, wish))["retention.ms"] == ("2", 1)


@pytest.mark.parametrize(("count", "fits"), [(9_998, True), (9_999, False)])
async def test_a_setting_counts_towards_what_one_request_may_have(client: Client, count: int, fits: bool):
    wish = configured(fresh(), retention_ms="1")
    wish.num_partitions = count
    code = ErrorCode.NONE if fits else ErrorCode.POLICY_VIOLATION
    assert await outcome(client, wish, validate_only=True) == [(wish.name, code)]


async def test_a_setting_without_a_value(client: Client):
    code, message = await error(client, configured(fresh(), retention_ms=None))
    assert code is ErrorCode.INVALID_CONFIG
    assert "retention.ms" in message


@pytest.mark.parametrize("validate_only", [False, True])
async def test_each_topic_is_answered_for_itself_in_the_order_of_the_request(client: Client, validate_only: bool):
    """Only what is not looked into stands behind, in whichever order."""
    good, other, zero, wide, tuned, twice = (fresh(stem) for stem in ("z", "a", "zero", "wide", "tuned", "twice"))
    wishes = [
        topic(METADATA_TOPIC),
        topic(twice),
        topic(good),
        topic("a b"),
        topic("u"),
        topic(zero, 0),
        topic(wide, 1, 5),
        topic(twice),
        topic("a/b"),
        configured(tuned, no_such_key="x"),
        topic(other),
    ]
    answer = await outcome(client, *wishes, validate_only=validate_only)
    assert answer[:8] == [
        (good, ErrorCode.NONE),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("u", ErrorCode.TOPIC_ALREADY_EXISTS),
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
        assert await partitions(client, name) == (None if validate_only else 1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_topics(client: Client, version: int):
    assert await outcome(client, version=version) == []
    assert await outcome(client, version=version, timeout_ms=0) == []


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
async def test_no_time(client: Client, timeout_ms: int):
    """Nothing is created, everything is answered, twice what comes twice; and there is no message."""
    name, twice = fresh(), fresh("twice")
    answer = await create(client, topic(name), topic(twice), topic("a b"), topic(twice), timeout_ms=timeout_ms)
    assert [(one.name, one.error_code, one.error_message) for one in answer] == [
        (each, ErrorCode.REQUEST_TIMED_OUT, None) for each in (name, twice, "a b", twice)
    ]
    assert await partitions(client, name) is None


async def test_no_time_is_enough_for_what_is_not_looked_into(client: Client):
    answer = await outcome(client, topic("x"), topic(METADATA_TOPIC), topic("x"), timeout_ms=0)
    assert sorted(answer) == [(METADATA_TOPIC, ErrorCode.INVALID_REQUEST), ("x", ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize(
    "counts",
    [
        [10_001],
        [2**31 - 1],
        [9_999, 2],
        [9_999, -1, 1],
        [-2, 10_001],
        [10_000],
        [9_999, 1],
        [5_000, 5_000],
        [4_999, 5_000],
    ],
    ids=str,
)
async def test_too_many_partitions_for_one_request(client: Client, counts: list[int]):
    """More than 10000 in all, or more than 10000 when each topic counts as well: nothing is created."""
    wishes = [topic(fresh(), count) for count in counts]
    wishes += [topic("a b", 0), topic(wishes[0].name + "-twice", 0), topic(wishes[0].name + "-twice", 0)]
    expected = [(wish.name, ErrorCode.POLICY_VIOLATION) for wish in wishes]
    assert await outcome(client, *wishes) == expected
    assert await outcome(client, *wishes, validate_only=True) == expected
    assert await partitions(client, wishes[0].name) is None


async def test_too_many_partitions_one_by_one(client: Client):
    wish = assigned(*((index, [1]) for index in range(10_001)))
    assert await outcome(client, wish, validate_only=True) == [(wish.name, ErrorCode.POLICY_VIOLATION)]


@pytest.mark.parametrize("counts", [[9_999], [4_999, 4_999], [4_999, 4_998, -2]], ids=str)
async def test_as_many_partitions_as_there_may_be(client: Client, counts: list[int]):
    wishes = [topic(fresh(), count) for count in counts]
    codes = {-2: ErrorCode.INVALID_PARTITIONS}
    expected = [(wish.name, codes.get(wish.num_partitions, ErrorCode.NONE)) for wish in wishes]
    assert await outcome(client, *wishes, validate_only=True) == expected


async def test_what_is_refused_does_not_count_as_created(client: Client):
    """Up to 10000 partitions are asked for; those of topics that exist are not records to be written."""
    name, once_more = fresh(), fresh()
    wishes = [topic(name, 5_000), topic("t", 4_990), topic("u", 10), topic(once_more), topic(once_more, 9_000)]
    answer = await outcome(client, *wishes, validate_only=True)
    assert answer == [
        (name, ErrorCode.NONE),
        ("t", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("u", ErrorCode.TOPIC_ALREADY_EXISTS),
        (once_more, ErrorCode.INVALID_REQUEST),
    ]
