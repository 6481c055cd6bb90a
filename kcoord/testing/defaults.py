"""The settings of a server in tests: Kafka's, but for those that would only make tests wait."""

from collections.abc import Mapping
from types import MappingProxyType

from kcoord.config import SETTINGS, Config, ConfigError
from kcoord.releases.masks import NONE
from kcoord.shown import shown

WITHOUT_WAITING: Mapping[str, object] = MappingProxyType(
    {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 0}
)
"""What differs from Kafka's defaults: the first member of a group is not kept waiting for others, and sessions may be
as short as a test wants them."""
ANY_PORT: Mapping[str, object] = MappingProxyType({"listeners": "PLAINTEXT://127.0.0.1:0"})

Topics = Mapping[str, int]
Settings = Mapping[str, object]
Masks = Mapping[str, str | None]


def config_for(
    topics: Topics | None,
    settings: Settings | None,
    *,
    kafka_defaults: bool,
    brokers: int | None = None,
    as_version: str | None = None,
    mask: Masks | None = None,
) -> Config:
    """Return the configuration; `settings` bear Kafka's names, and come before defaults, Kafka's or not.

    `mask` has the versions that are left of an API, by its name, as "0-6", or None for none. Raises ConfigError, also
    where a setting says something else than the argument of the same meaning.
    """
    for name, given in (("topics", topics), ("settings", settings), ("mask", mask)):
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"{name} must be given by name, as in a dict, not as {shown(given)}")
    if not isinstance(kafka_defaults, bool):
        raise ConfigError(f"kafka_defaults is {shown(kafka_defaults)}: it must be true or false")
    for topic, partitions in (topics or {}).items():
        # A text would do where a file or a command line has it.
        if isinstance(partitions, bool) or not isinstance(partitions, int):
            raise ConfigError(f"topic {topic} has {shown(partitions)} partitions: it must be a whole number")
    arguments: dict[str, object] = {}
    if brokers is not None:
        arguments["brokers"] = _of(int, "a whole number", "brokers", brokers)
    if as_version is not None:
        arguments["as.version"] = _of(str, 'a text, as "2.8"', "as_version", as_version)
    if mask:
        arguments["mask"] = [_mask(api, versions) for api, versions in mask.items()]
    found = dict(settings or {})
    for key, value in arguments.items():
        read, name = SETTINGS[key].read, key.replace(".", "_")
        if key in found and read(key, found[key]) != read(name, value):
            raise ConfigError(f"{name} is {_text(value)}, but settings say that {key} is {_text(found[key])}")
    usual: Mapping[str, object] = {} if kafka_defaults else WITHOUT_WAITING
    return Config.from_settings({**ANY_PORT, **usual, **arguments, **found}, topics or {})


def _of(kind: type, what: str, name: str, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ConfigError(f"{name} is {shown(value)}: it must be {what}")
    return value


def _mask(api: object, versions: object) -> str:
    """Write the mask of one API as the setting has it."""
    if not isinstance(api, str) or not isinstance(versions, str | None) or "," in f"{api}{versions}":
        raise ConfigError(
            f"mask has {shown(versions)} for {shown(api)}: it must be the versions that are left, as '0-6', or None"
        )
    return f"{api}={NONE if versions is None else versions}"


def _text(value: object) -> str:
    return shown(",".join(value)) if isinstance(value, list) else shown(value)
