"""Settings described: of topics, of the broker, and of what has none.

A foreign broker has more settings than ours; those that both have are told alike.
"""

from typing import Any

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.topics import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, created, describe, fresh
from wire.errors import ErrorCode
from wire.messages import DescribeConfigsRequest, DescribeConfigsResource

VERSIONS = range(1, 5)
OWN, SET_AT_START, DEFAULT = 1, 4, 5
"""Where a value comes from."""
BOOLEAN, STRING, INT, LONG, LIST = 1, 2, 3, 5, 7

TOPICS_DEFAULTS = {
    "cleanup.policy": ("delete", LIST, "log.cleanup.policy"),
    "compression.type": ("producer", STRING, "compression.type"),
    "delete.retention.ms": ("86400000", LONG, "log.cleaner.delete.retention.ms"),
    "max.message.bytes": ("1048588", INT, "message.max.bytes"),
    "message.timestamp.after.max.ms": ("3600000", LONG, "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": ("9223372036854775807", LONG, "log.message.timestamp.before.max.ms"),
    "message.timestamp.type": ("CreateTime", STRING, "log.message.timestamp.type"),
    "retention.bytes": ("-1", LONG, "log.retention.bytes"),
    "retention.ms": ("604800000", LONG, None),
}
"""Value, type, and the broker's setting that it comes from: retention.ms comes from none, as hours are another key."""

BROKERS_DEFAULTS = {
    "auto.create.topics.enable": ("true", BOOLEAN),
    "broker.rack": (None, STRING),
    "compression.type": ("producer", STRING),
    "connections.max.idle.ms": ("600000", LONG),
    "delete.topic.enable": ("true", BOOLEAN),
    "group.initial.rebalance.delay.ms": ("3000", INT),
    "group.max.session.timeout.ms": ("1800000", INT),
    "group.max.size": ("2147483647", INT),
    "group.min.session.timeout.ms": ("6000", INT),
    "log.cleaner.delete.retention.ms": ("86400000", LONG),
    "log.cleanup.policy": ("delete", LIST),
    "log.message.timestamp.after.max.ms": ("3600000", LONG),
    "log.message.timestamp.before.max.ms": ("9223372036854775807", LONG),
    "log.message.timestamp.type": ("CreateTime", STRING),
    "log.retention.bytes": ("-1", LONG),
    "log.retention.check.interval.ms": ("300000", LONG),
    "log.retention.hours": ("168", INT),
    "log.retention.minutes": (None, INT),
    "log.retention.ms": (None, LONG),
    "max.connections": ("2147483647", INT),
    "message.max.bytes": ("1048588", INT),
    "offset.metadata.max.bytes": ("4096", INT),
    "offsets.commit.timeout.ms": ("5000", INT),
    "offsets.retention.check.interval.ms": ("600000", LONG),
    "offsets.retention.minutes": ("10080", INT),
    "offsets.topic.num.partitions": ("50", INT),
    "socket.request.max.bytes": ("104857600", INT),
}


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


async def told(client: Client, kind: int, name: str, *keys: str, **what: Any) -> dict[str, Any]:
    """Describe a resource that is there; return its settings by their names."""
    found = await describe(client, kind, name, *keys, **what)
    assert (found.error_code, found.error_message) == (0, "")
    return {each.name: each for each in found.configs}


def places(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, each.source) for each in entry.synonyms]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_that_was_made_without_settings(client: Client, version: int):
    found = await told(client, TOPIC, await created(client), version=version, synonyms=True)
    for key, (value, kind, broker_key) in TOPICS_DEFAULTS.items():
        entry = found[key]
        assert (entry.value, entry.config_source, entry.read_only, entry.is_sensitive) == (value, DEFAULT, False, False)
        assert entry.config_type == (kind if version >= 3 else 0)
        assert entry.documentation == (None if version >= 3 else "")
        assert places(entry) == ([(broker_key, value, DEFAULT)] if broker_key else [])
    assert found["min.insync.replicas"].value == "1"


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_set_on_a_topic_comes_first(client: Client, version: int):
    name = await created(client, cleanup_policy=" compact , delete", retention_ms="+007", retention_bytes="-2")
    found = await told(client, TOPIC, name, version=version, synonyms=True)
    for key, value in (("cleanup.policy", "compact,delete"), ("retention.ms", "7"), ("retention.bytes", "-2")):
        default, _, broker_key = TOPICS_DEFAULTS[key]
        assert (found[key].value, found[key].config_source) == (value, OWN)
        behind = [(broker_key, default, DEFAULT)] if broker_key else []
        assert places(found[key]) == [(key, value, OWN), *behind]
    assert found["max.message.bytes"].config_source == DEFAULT


async def test_places_are_told_only_if_that_is_asked_for(client: Client):
    found = await told(client, TOPIC, await created(client, retention_ms="5"))
    assert all(entry.synonyms == [] for entry in found.values())
    assert found["retention.ms"].config_source == OWN


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "t"), (BROKER, "1")])
async def test_what_a_setting_means(client: Client, kind: int, name: str, version: int):
    found = await told(client, kind, name, version=version, doc=True)
    for key in TOPICS_DEFAULTS if kind == TOPIC else BROKERS_DEFAULTS:
        assert len(found[key].documentation) > 10


@pytest.mark.parametrize("version", VERSIONS)
async def test_some_keys(client: Client, version: int):
    """What does not exist is left out; what comes twice is told once."""
    keys = ["retention.ms", "no.such.key", "cleanup.policy", "retention.ms"]
    assert (await told(client, TOPIC, "t", *keys, version=version)).keys() == {"cleanup.policy", "retention.ms"}
    assert await told(client, TOPIC, "t", "no.such.key", version=version) == {}
    assert (await told(client, BROKER, "1", "group.max.size", "nope", version=version)).keys() == {"group.max.size"}


async def test_no_keys_mean_all(client: Client):
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=[])
    (found,) = (await client.call(DescribeConfigsRequest(resources=[resource]), 4)).results
    assert {each.name for each in found.configs} == (await told(client, TOPIC, "t")).keys()


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_broker(client: Client, version: int):
    found = await told(client, BROKER, "1", version=version, synonyms=True)
    for key, (value, kind) in BROKERS_DEFAULTS.items():
        entry = found[key]
        assert (key, entry.value, entry.config_source, entry.is_sensitive) == (key, value, DEFAULT, False)
        assert entry.config_type == (kind if version >= 3 else 0)
        assert entry.documentation == (None if version >= 3 else "")
        assert places(entry) == ([] if value is None else [(key, value, DEFAULT)])
    assert (found["node.id"].value, found["broker.id"].value, found["node.id"].read_only) == ("1", "1", True)


@pytest.mark.parametrize("name", ["1", "01", "+1"])
async def test_a_brokers_id_is_a_number(client: Client, name: str):
    assert (await told(client, BROKER, name, "group.max.size"))["group.max.size"].value == "2147483647"


async def test_what_was_set_for_all_brokers_while_they_run(client: Client):
    """A new cluster of Kafka's has one such setting."""
    assert (await told(client, BROKER, "")).keys() <= {"min.insync.replicas"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "no such topic", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "..", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "x" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "no-such-topic", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "__cluster_metadata", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "-1", ErrorCode.INVALID_REQUEST),
        (BROKER, " 1", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "x", ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (0, "x", ErrorCode.INVALID_REQUEST),
        (1, "x", ErrorCode.INVALID_REQUEST),
        (64, "x", ErrorCode.INVALID_REQUEST),
        (-1, "x", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_is_not_there(client: Client, version: int, kind: int, name: str, code: ErrorCode):
    found = await describe(client, kind, name, version=version)
    assert (found.error_code, found.configs) == (code, [])
    assert bool(found.error_message) == (code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("kind", [GROUP, CLIENT_METRICS])
async def test_groups_and_client_metrics_need_not_exist(client: Client, kind: int):
    """Kafka has settings for them, and tells the defaults."""
    found = await told(client, kind, fresh())
    assert all(each.config_source == DEFAULT for each in found.values())


async def test_resources_are_answered_one_by_one_in_their_order(client: Client):
    """Also one that comes twice."""
    asked = [(TOPIC, "u"), (TOPIC, "nope"), (BROKER, "7"), (TOPIC, "u"), (BROKER, "1")]
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=["retention.ms", "node.id"])
        for kind, name in asked
    ]
    answer = await client.call(DescribeConfigsRequest(resources=resources), 4)
    assert [(one.resource_type, one.resource_name, one.error_code, len(one.configs)) for one in answer.results] == [
        (TOPIC, "u", 0, 1),
        (TOPIC, "nope", 3, 0),
        (BROKER, "7", 42, 0),
        (TOPIC, "u", 0, 1),
        (BROKER, "1", 0, 1),
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_resources(client: Client, version: int):
    assert (await client.call(DescribeConfigsRequest(resources=[]), version)).results == []


async def test_what_was_set_when_the_broker_was_started(make_world):
    """Hours are in force for topics, but not where their retention.ms is said to come from."""
    settings = {"log_retention_hours": 5, "log_cleanup_policy": ("compact", "delete"), "message_max_bytes": 2_000_000}
    async with make_world(**settings) as world:
        client = await world.client()
        found = await told(client, TOPIC, await created(client), synonyms=True)
        assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("18000000", DEFAULT)
        assert places(found["retention.ms"]) == []
        assert (found["cleanup.policy"].value, found["cleanup.policy"].config_source) == (
            "compact,delete",
            SET_AT_START,
        )
        assert places(found["cleanup.policy"]) == [
            ("log.cleanup.policy", "compact,delete", SET_AT_START),
            ("log.cleanup.policy", "delete", DEFAULT),
        ]
        assert found["max.message.bytes"].value == "2000000"
        broker = await told(client, BROKER, "1", synonyms=True)
        assert (broker["log.retention.hours"].value, broker["log.retention.hours"].config_source) == ("5", SET_AT_START)
        assert places(broker["log.retention.hours"]) == [
            ("log.retention.hours", "5", SET_AT_START),
            ("log.retention.hours", "168", DEFAULT),
        ]
        assert places(broker["log.retention.ms"]) == []
