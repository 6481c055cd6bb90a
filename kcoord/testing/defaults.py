"""The settings of a server in tests: Kafka's, but for those that would only make tests wait."""

from collections.abc import Mapping
from types import MappingProxyType

from kcoord.config import Config

WITHOUT_WAITING: Mapping[str, object] = MappingProxyType(
    {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 0}
)
"""What differs from Kafka's defaults: the first member of a group is not kept waiting for others, and sessions may be
as short as a test wants them."""
ANY_PORT: Mapping[str, object] = MappingProxyType({"listeners": "PLAINTEXT://127.0.0.1:0"})

Topics = Mapping[str, int]
Settings = Mapping[str, object]


def config_for(topics: Topics | None, settings: Settings | None, *, kafka_defaults: bool, brokers: int = 1) -> Config:
    """Return the configuration; `settings` bear Kafka's names and come before all else. Raises ConfigError."""
    usual = {} if kafka_defaults else WITHOUT_WAITING
    return Config.from_settings({**ANY_PORT, "brokers": brokers, **usual, **(settings or {})}, topics or {})
