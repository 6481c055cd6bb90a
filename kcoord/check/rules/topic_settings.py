"""CreateTopics: settings that a topic is created with, and how the answer tells of them."""

from typing import Any, Final

from kcoord.check.nodes import left_at_default, settings_of
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.rules.creating_topics import DRY_FIRST, configured, create, error, topic
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

OWN, DEFAULT = 1, 5
"""Where a value comes from: the topic itself, or nobody."""
DEFAULTS: Final = {
    "cleanup.policy": ("log.cleanup.policy", "delete"),
    "compression.type": ("compression.type", "producer"),
    "delete.retention.ms": ("log.cleaner.delete.retention.ms", "86400000"),
    "max.message.bytes": ("message.max.bytes", "1048588"),
    "message.timestamp.before.max.ms": ("log.message.timestamp.before.max.ms", "9223372036854775807"),
    "message.timestamp.type": ("log.message.timestamp.type", "CreateTime"),
    "retention.bytes": ("log.retention.bytes", "-1"),
    "retention.ms": ("log.retention.ms", "604800000"),
}
"""The broker's setting that stands behind a topic's, and Kafka's default."""

AHEAD: Final = "message.timestamp.after.max.ms"
HOUR: Final = "3600000"
"""Kafka's default of that since 4.0; before that it was the highest number there is."""

TOLD: Final = (
    "KIP-525; Apache Kafka ReplicationControlManager.createTopic, KafkaConfigSchema.resolveEffectiveTopicConfigs"
)
CHECKED: Final = "Apache Kafka ControllerConfigurationValidator.validate, LogConfig.validate"
KNOWN: Final = "Apache Kafka ConfigurationControlManager.incrementalAlterConfig, LogConfig.validateNames"


async def settings(client: Client, wish: CreatableTopic, **what: Any) -> dict[str, tuple[str | None, int]]:
    """Create a topic; return its settings, as the answer tells them: value and source."""
    (made,) = await create(client, wish, **what)
    assert made.error_code == 0
    assert not any(one.read_only or one.is_sensitive for one in made.configs or ())
    return {one.name: (one.value, one.config_source) for one in made.configs or ()}


@rule(
    id="create-topics-40",
    api="CreateTopics",
    says="The answer tells all settings of the topic, those that came along and those at their defaults.",
    source=TOLD,
    versions="5-7",
    each={"version": (5, 6, 7), "validate_only": DRY_FIRST},
)
async def create_topics_40(world: World, version: int, validate_only: bool) -> None:
    client = await world.client()
    await left_at_default(
        client, *(key for key, _ in DEFAULTS.values()), "log.retention.minutes", "log.retention.hours"
    )
    wish = configured(world.topic(), retention_ms="5000", cleanup_policy="compact, delete")
    told = await settings(client, wish, version=version, validate_only=validate_only)
    assert {key: told.get(key) for key in DEFAULTS} == {
        **{key: (value, DEFAULT) for key, (_, value) in DEFAULTS.items()},
        "retention.ms": ("5000", OWN),
        "cleanup.policy": ("compact, delete", OWN),
    }


@rule(
    id="create-topics-40b",
    api="CreateTopics",
    says="The answer tells that by default a topic takes records whose time is up to an hour ahead of the broker's.",
    source=f"KIP-1030; {TOLD}",
    versions="5-7",
    since="4.0",
)
async def create_topics_40b(world: World) -> None:
    await assert_lead(world, HOUR)


async def assert_lead(world: World, lead: str) -> None:
    """Check what is told of how far records may be ahead, where nobody set that. Raises NotApplicable if one did."""
    client = await world.client()
    await left_at_default(client, f"log.{AHEAD}")
    for version in world.offered(CreateTopicsRequest, (5, 6, 7)):
        told = await settings(client, topic(world.topic()), version=version, validate_only=True)
        assert told[AHEAD] == (lead, DEFAULT)


@rule(
    id="create-topics-41",
    api="CreateTopics",
    says="The answer tells how many replicas have to be in sync, which is what the broker wants of all topics.",
    source=TOLD,
    versions="5-7",
)
async def create_topics_41(world: World) -> None:
    client = await world.client()
    wanted = (await settings_of(client, "min.insync.replicas"))["min.insync.replicas"].value
    for version in world.offered(CreateTopicsRequest, (5, 6, 7)):
        told = await settings(client, topic(world.topic()), version=version, validate_only=True)
        assert told["min.insync.replicas"][0] == wanted


@rule(
    id="create-topics-42",
    api="CreateTopics",
    says="Settings are told as they were sent, with blanks, signs and zeros that do not count.",
    source=f"{TOLD}; ConfigDef.parseType",
    versions="5-7",
    each=(
        {"key": "cleanup.policy", "value": ""},
        {"key": "cleanup.policy", "value": "delete"},
        {"key": "cleanup.policy", "value": "compact,delete"},
        {"key": "cleanup.policy", "value": " compact "},
        {"key": "cleanup.policy", "value": "delete,delete"},
        {"key": "compression.type", "value": "producer"},
        {"key": "delete.retention.ms", "value": "0"},
        {"key": "max.message.bytes", "value": "0"},
        {"key": "max.message.bytes", "value": "2147483647"},
        {"key": "message.timestamp.after.max.ms", "value": "0"},
        {"key": "message.timestamp.before.max.ms", "value": "9223372036854775807"},
        {"key": "message.timestamp.type", "value": " LogAppendTime"},
        {"key": "min.insync.replicas", "value": "3"},
        {"key": "retention.bytes", "value": "-2"},
        {"key": "retention.bytes", "value": "9223372036854775807"},
        {"key": "retention.ms", "value": "-1"},
        {"key": "retention.ms", "value": " 5 "},
        {"key": "retention.ms", "value": "+5"},
        {"key": "retention.ms", "value": "-0"},
        {"key": "retention.ms", "value": "00005"},
        {"key": "retention.ms", "value": "٣"},
        {"key": "retention.ms", "value": "9223372036854775807"},
    ),
)
async def create_topics_42(world: World, key: str, value: str) -> None:
    told = await settings(await world.client(), configured(world.topic(), **{key: value}))
    assert told[key] == (value, OWN)


@rule(
    id="create-topics-43",
    api="CreateTopics",
    says="Values are refused that a setting cannot have, and settings that topics do not have, by the setting's name.",
    source=CHECKED,
    versions="2-7",
    each=(
        {"key": "cleanup.policy", "value": "DELETE"},
        {"key": "cleanup.policy", "value": "none"},
        {"key": "cleanup.policy", "value": "delete,"},
        {"key": "cleanup.policy", "value": ","},
        {"key": "compression.type", "value": ""},
        {"key": "compression.type", "value": "PRODUCER"},
        {"key": "delete.retention.ms", "value": "-1"},
        {"key": "max.message.bytes", "value": "-1"},
        {"key": "max.message.bytes", "value": "2147483648"},
        {"key": "message.timestamp.after.max.ms", "value": "-1"},
        {"key": "message.timestamp.before.max.ms", "value": "-1"},
        {"key": "message.timestamp.type", "value": "createtime"},
        {"key": "message.timestamp.type", "value": ""},
        {"key": "min.insync.replicas", "value": "0"},
        {"key": "retention.ms", "value": "-2"},
        {"key": "retention.ms", "value": ""},
        {"key": "retention.ms", "value": "abc"},
        {"key": "retention.ms", "value": "1e3"},
        {"key": "retention.ms", "value": "1_000"},
        {"key": "retention.ms", "value": "9223372036854775808"},
        {"key": "segment.bytes", "value": "1"},
        {"key": "log.retention.ms", "value": "1"},
    ),
)
async def create_topics_43(world: World, key: str, value: str) -> None:
    client = await world.client()
    for version in world.offered(CreateTopicsRequest, range(2, 8)):
        code, message = await error(client, configured(world.topic(), **{key: value}), version=version)
        assert code is ErrorCode.INVALID_CONFIG
        assert key in message


@rule(
    id="create-topics-44",
    api="CreateTopics",
    says="A setting that topics do not have is refused by its name: before the numbers are looked at, "
    "but after the topic's name.",
    source=f"{KNOWN}; ReplicationControlManager.createTopics",
    versions="2-7",
    each={"value": ("x", None)},
)
async def create_topics_44(world: World, value: str | None) -> None:
    client = await world.client()
    wish = configured(world.topic(), no_such_key=value)
    for wish.num_partitions, wish.replication_factor in ((1, 1), (0, 1), (1, 0)):
        code, message = await error(client, wish)
        assert code is ErrorCode.INVALID_CONFIG
        assert "no.such.key" in message
    code, _ = await error(client, configured(world.t, no_such_key=value))
    assert code is ErrorCode.TOPIC_ALREADY_EXISTS
    code, _ = await error(client, configured("a b", no_such_key=value))
    assert code is ErrorCode.INVALID_TOPIC_EXCEPTION


@rule(
    id="create-topics-45",
    api="CreateTopics",
    says="Of a setting that comes twice the last counts, and what came before is not even looked at.",
    source="Apache Kafka ReplicationControlManager.computeConfigChanges",
    versions="5-7",
)
async def create_topics_45(world: World) -> None:
    wish = topic(world.topic())
    wish.configs = [CreatableTopicConfig(name="retention.ms", value=value) for value in ("x", "2")]
    assert (await settings(await world.client(), wish))["retention.ms"] == ("2", OWN)


@rule(
    id="create-topics-46",
    api="CreateTopics",
    says="A setting without a value is refused by its name.",
    source=CHECKED,
    versions="2-7",
)
async def create_topics_46(world: World) -> None:
    code, message = await error(await world.client(), configured(world.topic(), retention_ms=None))
    assert code is ErrorCode.INVALID_CONFIG
    assert "retention.ms" in message
