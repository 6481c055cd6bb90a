"""The settings of a server in tests: Kafka's, but for those that would only make tests wait."""

from collections.abc import Mapping
from types import MappingProxyType

from kcoord.config import Config, ConfigError
from kcoord.releases.masks import NONE

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
    brokers: int = 1,
    as_version: str | None = None,
    mask: Masks | None = None,
) -> Config:
    """Return the configuration; `settings` bear Kafka's names and come before all else. Raises ConfigError.

    `mask` has the versions that are left of an API, by its name, as "0-6", or None for none.
    """
    for name, given in (("topics", topics), ("settings", settings), ("mask", mask)):
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"{name} must be given by name, as in a dict, not as {given!r}")
    usual: dict[str, object] = {} if kafka_defaults else dict(WITHOUT_WAITING)
    if as_version is not None:
        usual["as.version"] = str(as_version)
    if mask:
        usual["mask"] = [f"{api}={NONE if versions is None else versions}" for api, versions in mask.items()]
    return Config.from_settings({**ANY_PORT, "brokers": brokers, **usual, **(settings or {})}, topics or {})
