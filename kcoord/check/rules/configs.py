"""DescribeConfigs: settings of topics, of the broker, and of what has none.

A broker may have more settings than are looked at here; those at which nobody turned are told as Kafka's defaults.
"""

from typing import Any, Final

from kcoord.check.nodes import left_at_default, node_id, settings_of
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.rules.topic_settings import AHEAD, HOUR
from kcoord.check.topics import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, created, describe
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DescribeConfigsRequest, DescribeConfigsResource

OWN, SET_FOR_ALL, SET_AT_START, DEFAULT = 1, 3, 4, 5
"""Where a value comes from: the topic itself, what was set for all brokers or at the start, or nobody."""
BOOLEAN, STRING, INT, LONG, LIST = 1, 2, 3, 5, 7
TYPED: Final = 3
"""The version from which on types and documentation are told."""

OF_TOPICS: Final = {
    "cleanup.policy": ("delete", LIST, "log.cleanup.policy"),
    "compression.type": ("producer", STRING, "compression.type"),
    "delete.retention.ms": ("86400000", LONG, "log.cleaner.delete.retention.ms"),
    "max.message.bytes": ("1048588", INT, "message.max.bytes"),
    "message.timestamp.before.max.ms": ("9223372036854775807", LONG, "log.message.timestamp.before.max.ms"),
    "message.timestamp.type": ("CreateTime", STRING, "log.message.timestamp.type"),
    "retention.bytes": ("-1", LONG, "log.retention.bytes"),
    "retention.ms": ("604800000", LONG, "log.retention.ms"),
}
"""Value, type, and the broker's setting that stands behind it."""
OF_BROKERS: Final = {
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
"""Value and type."""

DESCRIBED: Final = "Apache Kafka ConfigHelper.describeConfigs"
OF_A_TOPIC: Final = f"KIP-226; {DESCRIBED}, createTopicConfigEntry"
OF_A_BROKER: Final = f"KIP-226; {DESCRIBED}, createBrokerConfigEntry"


async def told(client: Client, kind: int, name: str, *keys: str, **what: Any) -> dict[str, Any]:
    """Describe a resource that is there; return its settings by their names. Its message: refusals-6."""
    found = await describe(client, kind, name, *keys, **what)
    assert ErrorCode(found.error_code) is ErrorCode.NONE
    assert not found.error_message
    return {each.name: each for each in found.configs}


def places(entry: Any) -> list[tuple[str, str | None, int]]:
    """Return where a value might come from, and which it would be, the place that counts first."""
    return [(each.name, each.value, each.source) for each in entry.synonyms]


def behind(key: str) -> list[tuple[str, str | None, int]]:
    """Return the place behind a topic's own setting: none for retention.ms, as there hours are the default."""
    value, _, of_broker = OF_TOPICS[key]
    return [] if key == "retention.ms" else [(of_broker, value, DEFAULT)]


async def assert_default_of_topics(
    world: World, key: str, value: str, kind: int, places_behind: list[tuple[str, str | None, int]]
) -> None:
    """Check what is told of a topic's setting that nobody set."""
    client = await world.client()
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        entry = (await told(client, TOPIC, world.t, version=version, synonyms=True))[key]
        assert (entry.value, entry.config_source, entry.read_only, entry.is_sensitive) == (value, DEFAULT, False, False)
        assert entry.config_type == (kind if version >= TYPED else 0)
        assert entry.documentation == (None if version >= TYPED else "")
        assert places(entry) == places_behind


async def assert_default_of_broker(world: World, key: str, value: str | None, kind: int) -> None:
    """Check what is told of a broker's setting that nobody set. Raises NotApplicable if somebody did."""
    client = await world.client()
    await left_at_default(client, key)
    node = str(await node_id(client))
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        entry = (await told(client, BROKER, node, version=version, synonyms=True))[key]
        assert (entry.value, entry.config_source, entry.is_sensitive) == (value, DEFAULT, False)
        assert entry.config_type == (kind if version >= TYPED else 0)
        assert entry.documentation == (None if version >= TYPED else "")
        assert places(entry) == ([] if value is None else [(key, value, DEFAULT)])


async def topics_at_default(client: Client, *keys: str) -> None:
    """See that the broker's settings behind these of topics are at their defaults. Raises NotApplicable."""
    hours = ("log.retention.minutes", "log.retention.hours") if "retention.ms" in keys else ()
    await left_at_default(client, *(OF_TOPICS[key][2] for key in keys), *hours)


@rule(
    id="describe-configs-1",
    api="DescribeConfigs",
    says="A topic that was made without settings has Kafka's defaults, each with the broker's setting that stands "
    "behind it, and its type from version 3 on.",
    source=f"{OF_A_TOPIC}; LogConfig",
    versions="1-4",
    each={"key": OF_TOPICS},
)
async def describe_configs_1(world: World, key: str) -> None:
    await topics_at_default(await world.client(), key)
    value, kind, _ = OF_TOPICS[key]
    await assert_default_of_topics(world, key, value, kind, behind(key))


@rule(
    id="describe-configs-1b",
    api="DescribeConfigs",
    says="By default a topic takes records whose time is up to an hour ahead of the broker's.",
    source=f"KIP-1030; {OF_A_TOPIC}; LogConfig",
    versions="1-4",
    since="4.0",
)
async def describe_configs_1b(world: World) -> None:
    await left_at_default(await world.client(), f"log.{AHEAD}")
    await assert_default_of_topics(world, AHEAD, HOUR, LONG, [(f"log.{AHEAD}", HOUR, DEFAULT)])


@rule(
    id="describe-configs-2",
    api="DescribeConfigs",
    says="A topic tells how many replicas have to be in sync, which is what the broker wants of all.",
    source=OF_A_TOPIC,
    versions="1-4",
)
async def describe_configs_2(world: World) -> None:
    client = await world.client()
    wanted = (await settings_of(client, "min.insync.replicas"))["min.insync.replicas"].value
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        assert (await told(client, TOPIC, world.t, version=version))["min.insync.replicas"].value == wanted


@rule(
    id="describe-configs-3",
    api="DescribeConfigs",
    says="What is set on a topic comes first, as it was read and not as it was sent; the broker's stands behind it.",
    source=f"{OF_A_TOPIC}; ConfigDef.parseType, convertToString",
    versions="1-4",
)
async def describe_configs_3(world: World) -> None:
    client = await world.client()
    await topics_at_default(client, "cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes")
    name = await created(client, cleanup_policy=" compact , delete", retention_ms="+007", retention_bytes="-2")
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        found = await told(client, TOPIC, name, version=version, synonyms=True)
        for key, value in (("cleanup.policy", "compact,delete"), ("retention.ms", "7"), ("retention.bytes", "-2")):
            assert (found[key].value, found[key].config_source) == (value, OWN)
            assert places(found[key]) == [(key, value, OWN), *behind(key)]
        assert found["max.message.bytes"].config_source == DEFAULT


@rule(
    id="describe-configs-4",
    api="DescribeConfigs",
    says="The places that a value might come from are only told to whoever asks for them.",
    source=OF_A_TOPIC,
    versions="1-4",
)
async def describe_configs_4(world: World) -> None:
    client = await world.client()
    found = await told(client, TOPIC, await created(client, retention_ms="5"))
    assert all(entry.synonyms == [] for entry in found.values())
    assert found["retention.ms"].config_source == OWN


@rule(
    id="describe-configs-5",
    api="DescribeConfigs",
    says="What a setting of a topic means is told to whoever asks for it.",
    source=f"KIP-569; {DESCRIBED}",
    versions="3-4",
)
async def describe_configs_5(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeConfigsRequest, (3, 4)):
        found = await told(client, TOPIC, world.t, version=version, doc=True)
        for key in OF_TOPICS:
            assert len(found[key].documentation) > 10


@rule(
    id="describe-configs-6",
    api="DescribeConfigs",
    says="What a setting of the broker means is told to whoever asks for it.",
    source=f"KIP-569; {DESCRIBED}",
    versions="3-4",
)
async def describe_configs_6(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    for version in world.offered(DescribeConfigsRequest, (3, 4)):
        found = await told(client, BROKER, node, version=version, doc=True)
        for key in OF_BROKERS:
            assert len(found[key].documentation) > 10


@rule(
    id="describe-configs-7",
    api="DescribeConfigs",
    says="Of settings that are named, those that do not exist are left out, and those that come twice are told once.",
    source=DESCRIBED,
    versions="1-4",
)
async def describe_configs_7(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    keys = ["retention.ms", "no.such.key", "cleanup.policy", "retention.ms"]
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        found = await describe(client, TOPIC, world.t, *keys, version=version)
        assert sorted(each.name for each in found.configs) == ["cleanup.policy", "retention.ms"]
        assert await told(client, TOPIC, world.t, "no.such.key", version=version) == {}
        of_broker = await told(client, BROKER, node, "group.max.size", "nope", version=version)
        assert of_broker.keys() == {"group.max.size"}


@rule(
    id="describe-configs-8",
    api="DescribeConfigs",
    says="An empty list of settings means all, as null does.",
    source=DESCRIBED,
    versions="1-4",
)
async def describe_configs_8(world: World) -> None:
    client = await world.client()
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name=world.t, configuration_keys=[])
    (found,) = (await client.call(DescribeConfigsRequest(resources=[resource]))).results
    assert {each.name for each in found.configs} == (await told(client, TOPIC, world.t)).keys()


@rule(
    id="describe-configs-9",
    api="DescribeConfigs",
    says="The broker has Kafka's defaults where nobody set anything else, with their type from version 3 on.",
    source=f"{OF_A_BROKER}; AbstractKafkaConfig",
    versions="1-4",
    each={"key": OF_BROKERS},
)
async def describe_configs_9(world: World, key: str) -> None:
    value, kind = OF_BROKERS[key]
    await assert_default_of_broker(world, key, value, kind)


@rule(
    id="describe-configs-9b",
    api="DescribeConfigs",
    says="By default the broker lets records be up to an hour ahead of its time.",
    source=f"KIP-1030; {OF_A_BROKER}; AbstractKafkaConfig",
    versions="1-4",
    since="4.0",
)
async def describe_configs_9b(world: World) -> None:
    await assert_default_of_broker(world, f"log.{AHEAD}", HOUR, LONG)


@rule(
    id="describe-configs-10",
    api="DescribeConfigs",
    says="The broker tells its id under both names; it cannot be changed while the broker runs.",
    source=OF_A_BROKER,
    versions="1-4",
)
async def describe_configs_10(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        found = await told(client, BROKER, node, version=version)
        assert (found["node.id"].value, found["broker.id"].value, found["node.id"].read_only) == (node, node, True)


@rule(
    id="describe-configs-11",
    api="DescribeConfigs",
    says="The broker's name is its id, however that number is written.",
    source=f"{DESCRIBED}, resourceNameToBrokerId",
    versions="1-4",
    each={"written": ("{}", "0{}", "+{}")},
)
async def describe_configs_11(world: World, written: str) -> None:
    client = await world.client()
    node = str(await node_id(client))
    assert (await told(client, BROKER, written.format(node), "node.id"))["node.id"].value == node


@rule(
    id="describe-configs-12",
    api="DescribeConfigs",
    says="The empty name stands for all brokers: only what was set for them while they run is told.",
    source=DESCRIBED,
    versions="1-4",
)
async def describe_configs_12(world: World) -> None:
    found = await told(await world.client(), BROKER, "")
    assert {each.config_source for each in found.values()} <= {SET_FOR_ALL}
    assert "node.id" not in found


@rule(
    id="describe-configs-13",
    api="DescribeConfigs",
    says="What is not there is refused with a reason; only of a topic that could be there it is said without one.",
    source=DESCRIBED,
    versions="1-4",
    each=(
        {"kind": TOPIC, "name": "no such topic", "code": ErrorCode.INVALID_TOPIC_EXCEPTION},
        {"kind": TOPIC, "name": "", "code": ErrorCode.INVALID_TOPIC_EXCEPTION},
        {"kind": TOPIC, "name": "..", "code": ErrorCode.INVALID_TOPIC_EXCEPTION},
        {"kind": TOPIC, "name": "x" * 250, "code": ErrorCode.INVALID_TOPIC_EXCEPTION},
        {"kind": TOPIC, "name": "{missing}", "code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        {"kind": TOPIC, "name": "__cluster_metadata", "code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        {"kind": BROKER, "name": "{other}", "code": ErrorCode.INVALID_REQUEST},
        {"kind": BROKER, "name": "-1", "code": ErrorCode.INVALID_REQUEST},
        {"kind": BROKER, "name": " {node}", "code": ErrorCode.INVALID_REQUEST},
        {"kind": BROKER, "name": "x", "code": ErrorCode.INVALID_REQUEST},
        {"kind": BROKER_LOGGER, "name": "", "code": ErrorCode.INVALID_REQUEST},
        {"kind": BROKER_LOGGER, "name": "{other}", "code": ErrorCode.INVALID_REQUEST},
        {"kind": BROKER_LOGGER, "name": "x", "code": ErrorCode.INVALID_REQUEST},
        {"kind": CLIENT_METRICS, "name": "", "code": ErrorCode.INVALID_REQUEST},
        {"kind": GROUP, "name": "", "code": ErrorCode.INVALID_REQUEST},
        {"kind": 0, "name": "x", "code": ErrorCode.INVALID_REQUEST},
        {"kind": 1, "name": "x", "code": ErrorCode.INVALID_REQUEST},
        {"kind": 64, "name": "x", "code": ErrorCode.INVALID_REQUEST},
        {"kind": -1, "name": "x", "code": ErrorCode.INVALID_REQUEST},
    ),
)
async def describe_configs_13(world: World, kind: int, name: str, code: ErrorCode) -> None:
    client = await world.client()
    node = await node_id(client)
    name = name.format(node=node, other=node + 1, missing=world.topic())
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        found = await describe(client, kind, name, version=version)
        assert (ErrorCode(found.error_code), found.configs) == (code, [])
        assert bool(found.error_message) == (code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@rule(
    id="describe-configs-14",
    api="DescribeConfigs",
    says="Client metrics need not exist to be told of; nothing is set on them then.",
    source=f"KIP-714; {DESCRIBED}",
    versions="1-4",
)
async def describe_configs_14(world: World) -> None:
    found = await told(await world.client(), CLIENT_METRICS, world.group("client-metrics"))
    assert all(each.config_source == DEFAULT for each in found.values())


@rule(
    id="describe-configs-14b",
    api="DescribeConfigs",
    says="Groups need not exist to be told of; nothing is set on them then.",
    source=f"KIP-848; {DESCRIBED}",
    versions="1-4",
    since="4.0",
)
async def describe_configs_14b(world: World) -> None:
    found = await told(await world.client(), GROUP, world.group("a-group"))
    assert all(each.config_source == DEFAULT for each in found.values())


@rule(
    id="describe-configs-15",
    api="DescribeConfigs",
    says="Resources are answered one by one in the order of the request, also one that comes twice.",
    source=DESCRIBED,
    versions="1-4",
)
async def describe_configs_15(world: World) -> None:
    client = await world.client()
    node, missing = await node_id(client), world.topic("nope")
    asked = [(TOPIC, world.u), (TOPIC, missing), (BROKER, str(node + 6)), (TOPIC, world.u), (BROKER, str(node))]
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=["retention.ms", "node.id"])
        for kind, name in asked
    ]
    answer = await client.call(DescribeConfigsRequest(resources=resources))
    assert [(one.resource_type, one.resource_name, one.error_code, len(one.configs)) for one in answer.results] == [
        (TOPIC, world.u, ErrorCode.NONE, 1),
        (TOPIC, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0),
        (BROKER, str(node + 6), ErrorCode.INVALID_REQUEST, 0),
        (TOPIC, world.u, ErrorCode.NONE, 1),
        (BROKER, str(node), ErrorCode.NONE, 1),
    ]


@rule(
    id="describe-configs-16",
    api="DescribeConfigs",
    says="No resources are answered with none.",
    source=DESCRIBED,
    versions="1-4",
)
async def describe_configs_16(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        assert (await client.call(DescribeConfigsRequest(resources=[]), version)).results == []


@rule(
    id="describe-configs-17",
    api="DescribeConfigs",
    says="What was set at the broker's start is told of topics as well, with the default behind it.",
    source=OF_A_TOPIC,
    versions="1-4",
    settings={"log.cleanup.policy": "compact,delete", "message.max.bytes": 2_000_000},
)
async def describe_configs_17(world: World) -> None:
    client = await world.client()
    found = await told(client, TOPIC, world.t, synonyms=True)
    assert (found["cleanup.policy"].value, found["cleanup.policy"].config_source) == ("compact,delete", SET_AT_START)
    assert places(found["cleanup.policy"]) == [
        ("log.cleanup.policy", "compact,delete", SET_AT_START),
        ("log.cleanup.policy", "delete", DEFAULT),
    ]
    assert found["max.message.bytes"].value == "2000000"


@rule(
    id="describe-configs-18",
    api="DescribeConfigs",
    says="Hours of retention that were set at the broker's start are in force for topics, "
    "whose retention.ms is told as a default all the same.",
    source=OF_A_TOPIC,
    versions="1-4",
    settings={"log.retention.hours": 5},
)
async def describe_configs_18(world: World) -> None:
    client = await world.client()
    found = await told(client, TOPIC, world.t, synonyms=True)
    assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("18000000", DEFAULT)
    assert places(found["retention.ms"]) == []
    of_broker = await told(client, BROKER, str(await node_id(client)), synonyms=True)
    assert (of_broker["log.retention.hours"].value, of_broker["log.retention.hours"].config_source) == (
        "5",
        SET_AT_START,
    )
    assert places(of_broker["log.retention.hours"]) == [
        ("log.retention.hours", "5", SET_AT_START),
        ("log.retention.hours", "168", DEFAULT),
    ]
    assert places(of_broker["log.retention.ms"]) == []
