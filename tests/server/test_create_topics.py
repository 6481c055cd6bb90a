"""CreateTopics where this server is alone in what it does; the rules that it shares stand among the scenarios."""

import pytest

from kcoord.log.catalog import TopicRefused
from kcoord.log.topic_config import TOPIC_SETTINGS, TopicConfig
from kcoord.notices import TopicCreated
from tests.server.conftest import start, without_sockets
from wire.errors import ErrorCode
from wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

VERSIONS = range(2, 8)


def topic(name, partitions=1, **settings):
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=-1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()],
    )


async def create(server, *topics, version=7, validate_only=False):
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return (await server.connect().call(request, version)).topics


async def test_a_topic_that_was_created_is_there_for_everybody(autojump_clock, server):
    (made,) = await create(server, topic("fresh", 2))
    assert server.broker.catalog.by_name("fresh") is server.broker.catalog.by_id(made.topic_id)
    assert [(note.topic, note.partitions, note.why) for note in server.seen(TopicCreated)] == [
        ("fresh", 2, "a client created it")
    ]
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(3)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="fresh", partitions=partitions)])
    (offsets,) = (await server.connect().call(request, 7)).topics
    assert [each.error_code for each in offsets.partitions] == [0, 0, 3]


async def test_what_is_only_checked_leaves_nothing(autojump_clock, server):
    before = list(server.broker.catalog)
    (first,) = await create(server, topic("fresh", 2), validate_only=True)
    (second,) = await create(server, topic("fresh", 2), validate_only=True)
    assert (first.error_code, first.num_partitions) == (0, 2)
    assert first.topic_id != second.topic_id
    assert list(server.broker.catalog) == before
    assert server.seen(TopicCreated) == []


async def test_the_default_is_the_configured_number_of_partitions(autojump_clock, nursery):
    server = await start(nursery, without_sockets(num_partitions=7, node_id=5))
    (made,) = await create(server, topic("fresh", -1))
    assert (made.num_partitions, made.replication_factor) == (7, 1)


async def test_the_default_counts_towards_what_one_request_may_have(autojump_clock, nursery):
    server = await start(nursery, without_sockets(num_partitions=6_000))
    answer = await create(server, topic("one", -1), topic("other", -1))
    assert [each.error_code for each in answer] == [ErrorCode.POLICY_VIOLATION] * 2


async def test_partitions_are_assigned_to_this_broker(autojump_clock, nursery):
    server = await start(nursery, without_sockets(node_id=5))
    for broker, code in ((1, ErrorCode.INVALID_REPLICA_ASSIGNMENT), (5, ErrorCode.NONE)):
        wish = topic("fresh", -1)
        wish.assignments = [CreatableReplicaAssignment(partition_index=0, broker_ids=[broker])]
        (answer,) = await create(server, wish)
        assert answer.error_code == code


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("segment.ms", "1", "segment.ms is a setting of Kafka's topics that kcoord does not honour"),
        ("retention_ms", "1", "'retention_ms' is not a setting of topics, in Kafka or here"),
        ("retention.ms", "-2", "retention.ms is '-2': it must be from -1 to 9223372036854775807"),
        ("retention.ms", None, "'retention.ms' has no value"),
    ],
)
async def test_a_setting_that_is_not_honoured_is_refused_by_name(
    autojump_clock, server, version, validate_only, key, value, sentence
):
    wish = topic("fresh", cleanup_policy="compact")
    wish.configs.append(CreatableTopicConfig(name=key, value=value))
    (refused,) = await create(server, wish, version=version, validate_only=validate_only)
    assert (refused.name, refused.error_code) == ("fresh", ErrorCode.INVALID_CONFIG)
    assert refused.error_message == sentence
    assert server.broker.catalog.by_name("fresh") is None


async def test_settings_rule_every_partition(autojump_clock, server):
    (made,) = await create(server, topic("fresh", 2, retention_ms=" 7 ", cleanup_policy="compact"))
    assert made.error_code == 0
    fresh = server.broker.catalog.by_name("fresh")
    assert fresh.settings == {"retention.ms": " 7 ", "cleanup.policy": "compact"}
    assert fresh.config == TopicConfig(retention_ms=7, cleanup_policy=frozenset({"compact"}))
    assert all(partition.config is fresh.config for partition in fresh.partitions)


@pytest.mark.parametrize(
    "given",
    [{"log_retention_hours": 2}, {"log_retention_minutes": 120}, {"log_retention_ms": 7_200_000}],
    ids=lambda given: next(iter(given)),
)
async def test_what_the_broker_was_started_with_is_in_force_and_told(autojump_clock, nursery, given):
    server = await start(nursery, without_sockets(log_cleanup_policy=("compact", "delete"), **given))
    (made,) = await create(server, topic("fresh"))
    told = {each.name: (each.value, each.config_source) for each in made.configs}
    assert told["retention.ms"] == ("7200000", 4)
    assert told["cleanup.policy"] == ("compact,delete", 4)
    assert told["retention.bytes"] == ("-1", 5)
    assert list(told) == sorted(TOPIC_SETTINGS)
    for name in ("fresh", "t"):
        assert server.broker.catalog.by_name(name).config.retention_ms == 7_200_000


@pytest.mark.parametrize("validate_only", [False, True])
async def test_of_two_names_that_collide_the_first_is_created(autojump_clock, server, validate_only):
    first, second = await create(server, topic("a.b"), topic("a_b"), validate_only=validate_only)
    assert (first.error_code, second.error_code) == (0, ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert "a.b" in second.error_message
    assert server.broker.catalog.by_name("a_b") is None


async def test_internal_topics_that_do_not_exist_yet_can_be_created(autojump_clock, server):
    (made,) = await create(server, topic("__transaction_state", 3))
    assert made.error_code == 0
    assert server.broker.catalog.by_name("__transaction_state").is_internal


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_message_is_short_whatever_it_is_about(autojump_clock, server, version):
    """A text of the protocol has 32767 bytes at most, and a name alone may have as many."""
    longest = "\x01" * 32_767
    answer = await create(
        server,
        topic(longest),
        topic("fresh", **{longest: "x"}),
        topic("twice" * 6_000),
        topic("twice" * 6_000),
        version=version,
    )
    assert [each.error_code for each in answer] == [17, 40, 42]
    assert all(0 < len(each.error_message) < 1_500 for each in answer)


async def test_what_the_broker_refuses_is_answered(autojump_clock, server, monkeypatch):
    def create_topic(name, partitions, why, settings, **_):
        raise TopicRefused("there is no more room", ErrorCode.POLICY_VIOLATION)

    monkeypatch.setattr(server.broker, "create_topic", create_topic)
    (refused,) = await create(server, topic("fresh"))
    assert (refused.error_code, refused.error_message) == (ErrorCode.POLICY_VIOLATION, "there is no more room")
    assert (refused.num_partitions, refused.replication_factor, refused.topic_id.int) == (-1, -1, 0)
