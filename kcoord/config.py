"""Every setting of the server, under Kafka's name and with Kafka's default. No files are read here.

The fields of `Config` are the table: a field's name is the key with its dots turned into underscores, its
metadata say what is allowed and what it means. Help texts, the environment's names and the checks all come
from there.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from kcoord.core.behaviour import LATEST, Behaviour
from kcoord.core.settings import GroupSettings
from kcoord.listeners import WILDCARD_HOSTS as WILDCARD_HOSTS
from kcoord.listeners import Address as Address
from kcoord.listeners import Listener as Listener
from kcoord.listeners import advertised_listeners
from kcoord.listeners import listeners as read_listeners
from kcoord.log.catalog import INTERNAL_TOPICS, METADATA_TOPIC, OFFSETS_TOPIC, Catalog, TopicRefused
from kcoord.log.topic_config import JAVA_BLANKS as JAVA_BLANKS
from kcoord.log.topic_config import NO_LIMIT, PRODUCER, TopicConfig, compression_type, policies, timestamp_type
from kcoord.releases.masks import Mask, masks, why_not
from kcoord.releases.release import RELEASES, release_name

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

MOST_BROKERS = 100
"""Logical brokers that one server may have: each has sockets of its own."""
MOST_PARTITIONS = 100_000
"""Of one topic: of one that is there from the start, and by default of those created later."""
MOST_OFFSETS_PARTITIONS = 10_000
"""Of __consumer_offsets; each of them costs a task and some memory, used or not."""
LONGEST_TEXT = 32_767
"""In bytes of UTF-8: what a string may have in a response (Kafka's STRING has a length of 16 bits)."""

SHOWN_AT_MOST = 200
"""Characters of what is wrong that an error names."""


class ConfigError(Exception):
    """A setting is wrong. The text is one sentence that names the key, the value and what is allowed.

    It is one line that can be printed, whatever was in the key and the value.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(printable(sentence))


def printable(text: str) -> str:
    """Return the text as one line that can be printed: other characters are written as Python escapes them."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _text(text: str) -> str:
    """Check a text that is sent to clients. Raises ValueError."""
    # Surrogates stand for bytes of the command line or the environment that are no UTF-8, and are not printable.
    if not text.isprintable():
        raise ValueError("it must be text that can be printed")
    if len(text.encode()) > LONGEST_TEXT:
        raise ValueError(f"it must have at most {LONGEST_TEXT} bytes as UTF-8")
    return text


def _url(text: str) -> str:
    _text(text)
    try:
        urlsplit(text)
    except ValueError:
        raise ValueError("it must be a URL") from None
    return text


def _integer(text: str) -> int:
    """Read an integer as Java's `Integer.parseInt` does, in ASCII digits. Raises ValueError."""
    if re.fullmatch("[+-]?[0-9]{1,20}", text) is None:
        raise ValueError("it must be a whole number")
    return int(text)


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in {"true", "false"}:
        raise ValueError("it must be true or false")
    return lowered == "true"


_READERS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    int: ("int", _integer),
    bool: ("boolean", _boolean),
    str: ("string", _text),
    int | None: ("int", _integer),
    str | None: ("string", _text),
    tuple[Listener, ...]: ("list", read_listeners),
    tuple[str, ...]: ("list", policies),
    tuple[Mask, ...]: ("list", masks),
}
"""How the text of a setting is read, by its field's annotation; the names are those of Kafka's own tables."""


def _setting(
    doc: str,
    *,
    default: Any = MISSING,
    low: int | None = None,
    high: int = INT32_MAX,
    pattern: str | None = None,
    reader: Callable[[str], Any] | None = None,
    aliases: tuple[str, ...] = (),
) -> Any:
    """Declare a setting: its meaning, its default, the integers or the texts that are allowed.

    `reader` is there for a setting that is not read as others of its type are.
    """
    metadata = {"doc": doc, "low": low, "high": high, "pattern": pattern, "reader": reader, "aliases": aliases}
    return field(default=default, metadata=metadata)


def _topic_setting(
    name: str, doc: str, *, low: int | None = 0, high: int = INT64_MAX, reader: Callable[[str], Any] | None = None
) -> Any:
    """Declare what topics have that do not say otherwise; the default is the one that stands there."""
    return _setting(doc, default=TopicConfig.__dataclass_fields__[name].default, low=low, high=high, reader=reader)


def _group_setting(name: str, doc: str, *, low: int, high: int = INT32_MAX) -> Any:
    """Declare a setting of the coordinator; the default is the one that stands there."""
    return _setting(doc, default=GroupSettings.__dataclass_fields__[name].default, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings; times end in their unit. `topics` maps names to partitions of those there from the start.

    Constructing one checks nothing: code is trusted, texts go through `from_settings`.
    """

    node_id: int = _setting(
        "The id of this broker, as Metadata and FindCoordinator give it.",
        default=1,
        low=0,
        aliases=("broker.id",),
    )
    broker_rack: str | None = _setting("The rack of this broker, as Metadata gives it.", default=None)
    cluster_id: str | None = _setting(
        "The id of the cluster; without one, a random id is made at each start.",
        default=None,
        pattern="[A-Za-z0-9_-]{1,64}",
    )
    listeners: tuple[Listener, ...] = _setting(
        "Where to listen: NAME://HOST:PORT, separated by commas. Port 0 takes a free one, no host means all.",
        default=(Listener("PLAINTEXT", Address("127.0.0.1", 9092)),),
    )
    advertised_listeners: tuple[Listener, ...] = _setting(
        "What clients are told to connect to, by listener name; port 0 stands for the port listened on. "
        "A listener not named here is known by its own host or, if that is the wildcard, by the address "
        "that the client came to.",
        default=(),
        reader=advertised_listeners,
    )
    store: str = _setting(
        "Where groups and offsets are kept, as a URL; memory: forgets them.", default="memory:", reader=_url
    )
    num_partitions: int = _setting(
        "Partitions of a topic that is created without saying how many.", default=1, low=1, high=MOST_PARTITIONS
    )
    auto_create_topics_enable: bool = _setting("Whether asking for a topic creates it.", default=True)
    socket_request_max_bytes: int = _setting(
        "The largest request in bytes; a larger one closes its connection.", default=104_857_600, low=1
    )
    connections_max_idle_ms: int = _setting(
        "A connection on which nothing moved for that long is closed, even while a request waits on it; "
        "a negative number closes none.",
        default=600_000,
        low=-1,
        high=INT64_MAX,
    )
    max_connections: int = _setting(
        "A connection beyond that many is closed at once (Kafka lets it wait instead).",
        default=INT32_MAX,
        low=0,
    )
    group_min_session_timeout_ms: int = _group_setting(
        "group_min_session_timeout_ms", "The shortest session a member may ask for.", low=0
    )
    group_max_session_timeout_ms: int = _group_setting(
        "group_max_session_timeout_ms", "The longest session a member may ask for.", low=0
    )
    group_max_size: int = _group_setting("group_max_size", "The most members a group may have.", low=1)
    group_initial_rebalance_delay_ms: int = _group_setting(
        "group_initial_rebalance_delay_ms", "How long an empty group waits for more members to join.", low=0
    )
    offset_metadata_max_bytes: int = _group_setting(
        "offset_metadata_max_bytes",
        "The longest text that a committed offset may carry, in UTF-16 units.",
        low=0,
    )
    offsets_retention_minutes: int = _group_setting(
        "offsets_retention_minutes",
        "How long offsets are kept after their group lost its last member or, if it never had any, after the commit.",
        low=1,
    )
    offsets_retention_check_interval_ms: int = _group_setting(
        "offsets_retention_check_interval_ms",
        "How often expired offsets are looked for.",
        low=1,
        high=INT64_MAX,
    )
    offsets_topic_num_partitions: int = _setting(
        "Partitions of __consumer_offsets, over which groups are spread; fixed once groups are stored.",
        default=50,
        low=1,
        high=MOST_OFFSETS_PARTITIONS,
    )
    offsets_commit_timeout_ms: int = _setting(
        "How long a write of the coordinator may take before its requests are answered with an error.",
        default=5_000,
        low=1,
    )
    delete_topic_enable: bool = _setting("Whether topics can be deleted.", default=True)
    compression_type: str = _setting(
        "How records are compressed: producer, which means as they were sent, is all there is.",
        default=PRODUCER,
        reader=compression_type,
    )
    log_cleanup_policy: tuple[str, ...] = _setting(
        "What is done with the old records of topics that do not say otherwise: delete, compact, both or neither.",
        default=("delete",),
    )
    log_retention_ms: int | None = _setting(
        "How long topics keep records that do not say otherwise; a negative number means for ever.",
        default=None,
        low=INT64_MIN,
        high=INT64_MAX,
    )
    log_retention_minutes: int | None = _setting(
        "The same in minutes; log.retention.ms comes first.", default=None, low=INT32_MIN
    )
    log_retention_hours: int = _setting(
        "The same in hours; log.retention.ms and log.retention.minutes come first.", default=168, low=INT32_MIN
    )
    log_retention_bytes: int = _topic_setting(
        "retention_bytes",
        "How many bytes each partition keeps of topics that do not say otherwise; a negative number means no limit.",
        low=INT64_MIN,
    )
    log_retention_check_interval_ms: int = _setting(
        "How often records are looked for that are too old or too many.", default=300_000, low=1, high=INT64_MAX
    )
    log_cleaner_delete_retention_ms: int = _topic_setting(
        "delete_retention_ms", "How long a tombstone outlives the compaction that found it."
    )
    message_max_bytes: int = _topic_setting(
        "max_message_bytes", "The largest record batch of topics that do not say otherwise.", high=INT32_MAX
    )
    log_message_timestamp_type: str = _topic_setting(
        "message_timestamp_type",
        "Whose time records have: CreateTime, the producer's, or LogAppendTime, the broker's.",
        low=None,
        reader=timestamp_type,
    )
    log_message_timestamp_before_max_ms: int = _topic_setting(
        "message_timestamp_before_max_ms", "How far behind the broker's time a record may claim to be."
    )
    log_message_timestamp_after_max_ms: int = _topic_setting(
        "message_timestamp_after_max_ms", "How far ahead of the broker's time a record may claim to be."
    )
    min_insync_replicas: int = _topic_setting(
        "min_insync_replicas",
        "How many replicas must have a record before a producer with acks=all is answered; there is one.",
        low=1,
        high=INT32_MAX,
    )
    brokers: int = _setting(
        "How many logical brokers there are, with ids from node.id on, each at a port of its own. Not one of Kafka's.",
        default=1,
        low=1,
        high=MOST_BROKERS,
    )
    as_version: str | None = _setting(
        "The release of Apache Kafka, from 0.11 on, whose APIs are offered and whose coordinator is imitated; without "
        "one, all that there is. Not one of Kafka's.",
        default=None,
        reader=release_name,
    )
    mask: tuple[Mask, ...] = _setting(
        "APIs of which only these versions are offered, or none: OffsetCommit=0-6,OffsetDelete=none. "
        "Not one of Kafka's.",
        default=(),
    )
    memory_limit_bytes: int = _setting(
        "How much memory all records together may take; a producer is refused what is beyond it. -1 means no limit. "
        "Not one of Kafka's.",
        default=2**30,
        low=NO_LIMIT,
        high=INT64_MAX,
    )
    topics: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    given: frozenset[str] = field(default=frozenset(), compare=False)
    """Attributes that were set, if only to their default."""

    def is_set(self, attribute: str) -> bool:
        """Whether a setting was set when the server was started."""
        return attribute in self.given or getattr(self, attribute) != self.default_of(attribute)

    def default_of(self, attribute: str) -> Any:
        """Return the default of a setting, which may be another one in the release that is imitated."""
        if self.is_before_4 and attribute in _BEFORE_4:
            return _BEFORE_4[attribute]
        return type(self).__dataclass_fields__[attribute].default

    @property
    def is_before_4(self) -> bool:
        """Whether a release before Kafka 4.0 is imitated."""
        return self.as_version is not None and RELEASES[self.as_version].has_old_coordinator

    @property
    def retention_ms(self) -> int:
        """How long topics keep records that do not say otherwise, in ms; -1 for ever.

        The finest unit that is set counts (Apache Kafka `AbstractKafkaConfig.logRetentionTimeMillis`).
        """
        if self.log_retention_ms is not None:
            found = self.log_retention_ms
        elif self.log_retention_minutes is not None:
            found = self.log_retention_minutes * 60_000
        else:
            found = self.log_retention_hours * 3_600_000
        return max(NO_LIMIT, found)

    @property
    def topic_config(self) -> TopicConfig:
        """What is in force for a topic that has no settings of its own."""
        return TopicConfig(
            cleanup_policy=frozenset(self.log_cleanup_policy),
            retention_ms=self.retention_ms,
            retention_bytes=max(NO_LIMIT, self.log_retention_bytes),
            max_message_bytes=self.message_max_bytes,
            message_timestamp_type=self.log_message_timestamp_type,
            message_timestamp_before_max_ms=self.log_message_timestamp_before_max_ms,
            message_timestamp_after_max_ms=self.log_message_timestamp_after_max_ms,
            min_insync_replicas=self.min_insync_replicas,
            delete_retention_ms=self.log_cleaner_delete_retention_ms,
        )

    @property
    def memory_limit(self) -> int | None:
        """How many bytes all records together may take, or None for no limit."""
        return None if self.memory_limit_bytes == NO_LIMIT else self.memory_limit_bytes

    @property
    def group_settings(self) -> GroupSettings:
        """The part that the coordinator reads."""
        return GroupSettings(
            behaviour=self.behaviour,
            **{each.name: getattr(self, each.name) for each in fields(GroupSettings) if each.name != "behaviour"},
        )

    @property
    def behaviour(self) -> Behaviour:
        """What the coordinator does that is imitated."""
        return LATEST if self.as_version is None else RELEASES[self.as_version].behaviour

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, object], topics: Mapping[str, object] = MappingProxyType({})
    ) -> "Config":
        """Check and read settings, by their Kafka keys, and topics, as name to number of partitions.

        Values are texts, or what a TOML file holds: numbers, booleans, lists of texts. Raises ConfigError.
        """
        values: dict[str, Any] = {}
        given_as: dict[str, str] = {}
        for key, value in settings.items():
            setting = SETTINGS.get(key)
            if setting is None:
                name = _cut(key) if isinstance(key, str) else _shown(key)
                raise ConfigError(f"{name} is not a setting that kcoord knows")
            if setting.attribute in values:
                raise ConfigError(f"{key} and {given_as[setting.attribute]} are the same setting")
            given_as[setting.attribute] = key
            values[setting.attribute] = setting.read(key, value)
        given = frozenset(values)
        if "as_version" in values and RELEASES[values["as_version"]].has_old_coordinator:
            values = {**_BEFORE_4, **values}
        config = cls(**values, topics=MappingProxyType(_read_topics(topics)), given=given)
        config.check()
        return config

    def check(self) -> None:
        """Raise ConfigError where two settings that are fine by themselves do not go together."""
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise ConfigError(
                f"group.min.session.timeout.ms is {self.group_min_session_timeout_ms}: it must not be above "
                f"group.max.session.timeout.ms, which is {self.group_max_session_timeout_ms}"
            )
        if self.retention_ms == 0:
            key = next(each for each in _RETENTION if self.is_set(each)).replace("_", ".")
            raise ConfigError(f"{key} is 0: it must be at least 1, or -1 for no limit")
        for mask in self.mask:
            why = why_not(mask, self.as_version)
            if why:
                raise ConfigError(f"mask has {mask}: {why}")
        names = {listener.name for listener in self.listeners}
        _check_distinct(self.listeners)
        for advertised in self.advertised_listeners:
            if advertised.name not in names:
                raise ConfigError(
                    f"advertised.listeners has {advertised}, but listeners has no listener {advertised.name}"
                )
            if advertised.address.is_wildcard:
                raise ConfigError(
                    f"advertised.listeners has {advertised}: clients need a host that they can connect to"
                )


_BEFORE_4: Mapping[str, Any] = MappingProxyType({"log_message_timestamp_after_max_ms": INT64_MAX})
"""Defaults that were other ones before Kafka 4.0 (KIP-1030)."""
_RETENTION = ("log_retention_ms", "log_retention_minutes", "log_retention_hours")


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: what may be set, and how. `type_name` is Kafka's: boolean, int, list, long, string."""

    key: str
    attribute: str
    type_name: str
    default: Any
    doc: str
    allowed: str
    _reader: Callable[[str], Any]
    _low: int | None
    _high: int
    _pattern: str | None

    def read(self, key: str, value: object) -> Any:
        """Return the value given under `key`, as a text or as TOML has it. Raises ConfigError."""
        if self.type_name == "list" and isinstance(value, list) and all(isinstance(each, str) for each in value):
            value = ",".join(value)
        text = _as_text(value)
        if text is None:
            raise ConfigError(f"{key} is {_shown(value)}: it must be {self._instead_of(value)}")
        if isinstance(value, int) and abs(value) > INT64_MAX and self.type_name in {"int", "long"}:
            raise ConfigError(f"{key} is {_shown(value)}: it must be {self.allowed}")
        text = text.strip(JAVA_BLANKS)
        try:
            result = self._reader(text)
        except ValueError as error:
            raise ConfigError(f"{key} is {_shown(text)}: {error}") from None
        too_small = self._low is not None and result < self._low
        if too_small or (isinstance(result, int) and result > self._high):
            raise ConfigError(f"{key} is {_shown(text)}: it must be {self.allowed}")
        if self._pattern is not None and re.fullmatch(self._pattern, text) is None:
            raise ConfigError(f"{key} is {_shown(text)}: it must be {self.allowed}")
        return result

    def _instead_of(self, value: object) -> str:
        """Say what there is instead of a value that has no text."""
        if isinstance(value, float):
            return "a whole number" if self.type_name in {"int", "long"} else "a text in quotes"
        return "a single value"


def _as_text(value: object) -> str | None:
    """Return a TOML value in the form that a command line would give it; None for what is no single value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Python refuses to write thousands of decimal digits, and nothing that large is allowed anywhere.
        return str(value) if abs(value) <= INT64_MAX else f"{value:#x}"
    return value if isinstance(value, str) else None


def _shown(value: object) -> str:
    """Return a value as an error names it: in quotes if it is a text, and not at any length."""
    if isinstance(value, str | float):
        shown = repr(value)
    else:
        kind = {"dict": "table"}.get(type(value).__name__, type(value).__name__)
        shown = _as_text(value) or f"a {kind}"
    return _cut(shown)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_AT_MOST else f"{text[:SHOWN_AT_MOST]}... ({len(text)} characters)"


def _check_distinct(listeners: tuple[Listener, ...]) -> None:
    """Raise ConfigError where two listeners would have the same address; port 0 is another one each time."""
    seen: dict[Address, Listener] = {}
    for listener in listeners:
        other = seen.setdefault(listener.address, listener)
        if other is not listener and listener.address.port:
            raise ConfigError(f"listeners has {other} and {listener}: they would have the same address")


def _read_topics(topics: Mapping[str, object]) -> dict[str, int]:
    catalog = Catalog()
    catalog.create(OFFSETS_TOPIC, 1, UUID(int=1))
    found: dict[str, int] = {}
    for number, (name, count) in enumerate(topics.items(), start=2):
        if not isinstance(name, str):
            raise ConfigError(f"{_shown(name)} cannot name a topic: it must be a text")
        if name in INTERNAL_TOPICS or name == METADATA_TOPIC:
            raise ConfigError(f"topic {name} is internal and cannot be asked for")
        try:
            catalog.create(name, 1, UUID(int=number))
        except TopicRefused as error:
            raise ConfigError(str(error)) from None
        try:
            partitions = _integer((_as_text(count) or "").strip(JAVA_BLANKS))
        except ValueError:
            partitions = 0
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise ConfigError(
                f"topic {name} has {_shown(count)} partitions: it must be a number from 1 to {MOST_PARTITIONS}"
            )
        found[name] = partitions
    return found


def _row(key: str, each: "Field[Any]") -> Setting:
    type_name, reader = _READERS[each.type]
    low, high, pattern = each.metadata["low"], each.metadata["high"], each.metadata["pattern"]
    if pattern is not None:
        allowed = f"of the form {pattern}"
    elif type_name == "int":
        allowed = f"from {low} to {high}"
    else:
        allowed = {"boolean": "true or false"}.get(type_name, "")
    if type_name == "int" and high > INT32_MAX:
        type_name = "long"
    return Setting(
        key=key, attribute=each.name, type_name=type_name, default=each.default, doc=each.metadata["doc"],
        allowed=allowed, _reader=each.metadata["reader"] or reader, _low=low, _high=high, _pattern=pattern,
    )  # fmt: skip


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        key: _row(key, each)
        for each in fields(Config)
        if each.metadata
        for key in (each.name.replace("_", "."), *each.metadata["aliases"])
    }
)
"""Every key that may be set, Kafka's second names included."""
