"""Settings as clients are told of them: of topics and of this broker (KIP-133, KIP-226)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from kcoord.config import SETTINGS, Config, Setting
from kcoord.log.topic_config import TOPIC_SETTINGS, TopicSetting, shown


class ResourceType(IntEnum):
    """What has settings (Apache Kafka `ConfigResource.Type`)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Where a value comes from (Apache Kafka `DescribeConfigsResponse.ConfigSource`)."""

    TOPIC = 1
    BROKER = 4
    """Set when the server was started."""
    DEFAULT = 5


TYPE_IDS = {"boolean": 1, "string": 2, "int": 3, "long": 5, "list": 7}
"""By the name of the type (Apache Kafka `DescribeConfigsResponse.ConfigType`)."""


SENSITIVE = frozenset({"store"})
"""Keys whose values are withheld: the URL of a store may have a password in it."""


@dataclass(frozen=True, slots=True)
class Place:
    """One of the places where a value is looked for, under its name there."""

    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Entry:
    """A setting, its value, and all places in which it has one: the first of them counts."""

    name: str
    value: str | None
    places: tuple[Place, ...]
    type_id: int
    doc: str

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is withheld."""
        return self.name in SENSITIVE

    @property
    def source(self) -> Source:
        """Where the value comes from."""
        return self.places[0].source if self.places else Source.DEFAULT


def topic_entries(config: Config, own: Mapping[str, str]) -> Iterator[Entry]:
    """Tell the settings of a topic that has `own` ones."""
    for setting in TOPIC_SETTINGS.values():
        places = places_of(SETTINGS[setting.broker_key], config)
        value = broker_value(config, setting)
        if setting.key in own:
            value = shown(setting.read(own[setting.key]))
            places = (Place(setting.key, value, Source.TOPIC), *places)
        yield Entry(setting.key, value, places, TYPE_IDS[setting.type_name], setting.doc)


def broker_entries(config: Config) -> Iterator[Entry]:
    """Tell the settings of this broker, under each of their names."""
    for key, setting in SETTINGS.items():
        value = None if key in SENSITIVE else shown(getattr(config, setting.attribute))
        yield Entry(key, value, places_of(setting, config), TYPE_IDS[setting.type_name], setting.doc)


def places_of(setting: Setting, config: Config) -> tuple[Place, ...]:
    """Return where a broker's setting has a value, in the order in which that is looked for."""
    found = []
    if config.is_set(setting.attribute):
        found.append((getattr(config, setting.attribute), Source.BROKER))
    default = config.default_of(setting.attribute)
    if default is not None:
        found.append((default, Source.DEFAULT))
    withheld = setting.key in SENSITIVE
    return tuple(Place(setting.key, None if withheld else shown(value), source) for value, source in found)


def broker_value(config: Config, setting: TopicSetting) -> str | None:
    """Return what a topic has that does not set this."""
    if setting.key == "retention.ms":
        return shown(config.retention_ms)
    return shown(getattr(config, SETTINGS[setting.broker_key].attribute))


def source_when_created(config: Config, setting: TopicSetting) -> Source:
    """Return where a topic has it from that does not set this, as CreateTopics tells it.

    It knows that hours are a retention as well (Apache Kafka `KafkaConfigSchema`); DescribeConfigs does not.
    """
    units = ("log_retention_ms", "log_retention_minutes", "log_retention_hours")
    attributes = units if setting.key == "retention.ms" else (SETTINGS[setting.broker_key].attribute,)
    return Source.BROKER if any(config.is_set(each) for each in attributes) else Source.DEFAULT
