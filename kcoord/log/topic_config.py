"""The settings of one topic that rule its records: Kafka's names, types, defaults and limits. Pure.

What Kafka has beside these rules files, several brokers or another tier of storage, of which there are none here. It
is refused by name: a topic that quietly lacks what it was made with is not the topic that was asked for.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

NO_LIMIT = -1

INT32_MAX = 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

JAVA_BLANKS = "".join(map(chr, range(0x21)))
"""What Kafka takes off both ends of a value (Apache Kafka `ConfigDef.parseType`, Java's `String.trim`)."""

COMPACT, DELETE = "compact", "delete"
POLICIES = (COMPACT, DELETE)
CREATE_TIME, LOG_APPEND_TIME = "CreateTime", "LogAppendTime"
TIMESTAMP_TYPES = (CREATE_TIME, LOG_APPEND_TIME)
PRODUCER = "producer"
"""The only `compression.type` here: what a producer sent is kept as it is."""
_COMPRESSIONS = (PRODUCER, "uncompressed", "gzip", "snappy", "lz4", "zstd")

_SHOWN_AT_MOST = 100
"""Characters of a name or a value that a sentence quotes."""


class InvalidSetting(Exception):
    """A topic cannot have a setting. The text is one short sentence that names it and says why."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """What is in force for a topic: its own settings, else the broker's (Apache Kafka `LogConfig`)."""

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    """`delete`, `compact`, both or, for records that are never removed, neither (KIP-1161)."""
    retention_ms: int = 604_800_000
    """How long records are kept, in ms; -1 for ever."""
    retention_bytes: int = NO_LIMIT
    """How many bytes a partition keeps; -1 means no limit."""
    max_message_bytes: int = 1_048_588
    """The largest record batch, in bytes."""
    message_timestamp_type: str = CREATE_TIME
    """`CreateTime` or `LogAppendTime`."""
    message_timestamp_before_max_ms: int = INT64_MAX
    """How far before the broker's time a record may claim to be, in ms."""
    message_timestamp_after_max_ms: int = 3_600_000
    """How far after the broker's time a record may claim to be, in ms."""
    min_insync_replicas: int = 1
    """How many replicas must have a record for acks -1; there is one."""
    delete_retention_ms: int = 86_400_000
    """How long a tombstone is kept after compaction, in ms."""

    def with_settings(self, settings: Mapping[str, str]) -> "TopicConfig":
        """Return what is in force for a topic with these settings of its own, if this is what the broker has.

        Raises InvalidSetting: for the first unknown name, else for the first wrong value.
        """
        for key in settings:
            if key not in TOPIC_SETTINGS:
                raise InvalidSetting(_why_not(key))
        own: dict[str, Any] = {}
        for key, setting in TOPIC_SETTINGS.items():
            if key in settings:
                value = setting.read(settings[key])
                if setting.attribute is not None:
                    own[setting.attribute] = setting.force(value)
        return replace(self, **own)


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """One setting that is honoured. `type_name` is Kafka's: "int", "long", "string", "list"."""

    key: str
    type_name: str
    broker_key: str
    """The broker's setting that it stands in for (Apache Kafka `ServerTopicConfigSynonyms`)."""
    attribute: str | None
    """Its place in `TopicConfig`; None for a setting that has only one value."""
    _reader: Callable[[str], Any]
    doc: str
    default: str = ""
    """To which a list is added, and from which taken, if it is not set on the topic."""

    def read(self, text: str) -> Any:
        """Return the value that `text` stands for; a list is a tuple. Raises InvalidSetting."""
        try:
            return self._reader(text.strip(JAVA_BLANKS))
        except ValueError as error:
            raise InvalidSetting(f"{self.key} is {quoted(text)}: {error}") from None

    def force(self, value: Any) -> Any:
        """Return a value that was read as `TopicConfig` has it."""
        if self.type_name == "list":
            return frozenset(value)
        return max(NO_LIMIT, value) if self.key == "retention.bytes" else value


def quoted(text: str) -> str:
    """Return a text as a sentence names it: in quotes, on one line, and not at any length."""
    return repr(text) if len(text) <= _SHOWN_AT_MOST else f"a text of {len(text)} characters"


def shown(value: Any) -> str | None:
    """Return a value as Kafka writes it (Apache Kafka `ConfigDef.convertToString`); None for none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(str(each) for each in value)
    return None if value is None else str(value)


def appended(old: str, more: str) -> str:
    """Return a list with those elements of another that it lacks (Apache Kafka `AlterConfigOp.OpType.APPEND`)."""
    elements = _elements(old)
    present = set(elements)
    for each in _java_split(more):
        if each not in present:
            present.add(each)
            elements.append(each)
    return ",".join(elements)


def subtracted(old: str, less: str) -> str:
    """Return a list without the elements of another, each taken as often as it stands there (`OpType.SUBTRACT`)."""
    taken = Counter(_java_split(less))
    left = []
    for each in _elements(old):
        if taken[each]:
            taken[each] -= 1
        else:
            left.append(each)
    return ",".join(left)


def _elements(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def _java_split(text: str) -> list[str]:
    """Return what Java's `String.split` finds between commas: nothing at the end, but all of a text without any."""
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts


def java_integer(text: str) -> int:
    """Read an integer as Java's `Long.parseLong` does: in decimal digits of any script. Raises ValueError.

    What has more digits than any number that is allowed anywhere comes out as one that is too large.
    """
    match = re.fullmatch(r"([+-]?)(\d+)", text)
    if match is None:
        raise ValueError("it must be a whole number")
    digits = match[2].lstrip("0") or "0"
    number = int(digits) if len(digits) <= len(str(INT64_MAX)) else INT64_MAX + 2
    return -number if match[1] == "-" else number


def policies(text: str) -> tuple[str, ...]:
    """Read a cleanup policy; a policy that comes twice counts once, none at all is fine. Raises ValueError."""
    names = tuple(dict.fromkeys(re.split(r"\s*,\s*", text))) if text else ()
    if not all(name in POLICIES for name in names):
        raise ValueError(f"it must be a list of {' and '.join(POLICIES)}, or empty")
    return names


def timestamp_type(text: str) -> str:
    """Read a timestamp type. Raises ValueError."""
    if text not in TIMESTAMP_TYPES:
        raise ValueError(f"it must be {' or '.join(TIMESTAMP_TYPES)}")
    return text


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = java_integer(text)
        if not low <= number <= high:
            raise ValueError(f"it must be from {low} to {high}")
        return number

    return read


def compression_type(text: str) -> str:
    """Read a compression type. Raises ValueError."""
    if text not in _COMPRESSIONS:
        raise ValueError(f"it must be {PRODUCER}")
    if text != PRODUCER:
        raise ValueError(f"only {PRODUCER} is honoured, because batches are kept as they were sent")
    return text


_TABLE = (
    TopicSetting(
        "cleanup.policy", "list", "log.cleanup.policy", "cleanup_policy", policies,
        doc="What is done with old records: delete drops what is past retention.ms or retention.bytes, compact keeps "
        "the newest record of each key; both are possible, and neither keeps everything.", default="delete",
    ),
    TopicSetting(
        "compression.type", "string", "compression.type", None, compression_type,
        doc="How records are compressed: producer means as they were sent.",
    ),
    TopicSetting(
        "delete.retention.ms", "long", "log.cleaner.delete.retention.ms", "delete_retention_ms", _whole(0, INT64_MAX),
        doc="How long a tombstone outlives the compaction that found it, in ms.",
    ),
    TopicSetting(
        "max.message.bytes", "int", "message.max.bytes", "max_message_bytes", _whole(0, INT32_MAX),
        doc="The largest record batch, in bytes.",
    ),
    TopicSetting(
        "message.timestamp.after.max.ms", "long", "log.message.timestamp.after.max.ms",
        "message_timestamp_after_max_ms", _whole(0, INT64_MAX),
        doc="How far ahead of the broker's time a record may claim to be, in ms.",
    ),
    TopicSetting(
        "message.timestamp.before.max.ms", "long", "log.message.timestamp.before.max.ms",
        "message_timestamp_before_max_ms", _whole(0, INT64_MAX),
        doc="How far behind the broker's time a record may claim to be, in ms.",
    ),
    TopicSetting(
        "message.timestamp.type", "string", "log.message.timestamp.type", "message_timestamp_type", timestamp_type,
        doc="Whose time a record has: CreateTime, the producer's, or LogAppendTime, the broker's.",
    ),
    TopicSetting(
        "min.insync.replicas", "int", "min.insync.replicas", "min_insync_replicas", _whole(1, INT32_MAX),
        doc="How many replicas must have a record before a producer with acks=all is answered; there is one.",
    ),
    TopicSetting(
        "retention.bytes", "long", "log.retention.bytes", "retention_bytes", _whole(INT64_MIN, INT64_MAX),
        doc="How many bytes a partition keeps; a negative number means no limit.",
    ),
    TopicSetting(
        "retention.ms", "long", "log.retention.ms", "retention_ms", _whole(NO_LIMIT, INT64_MAX),
        doc="How long records are kept, in ms; -1 means for ever.",
    ),
)  # fmt: skip

TOPIC_SETTINGS: Mapping[str, TopicSetting] = MappingProxyType({each.key: each for each in _TABLE})
"""What a topic may have set, in the order of the names."""

NOT_HONOURED = frozenset(
    {
        "compression.gzip.level", "compression.lz4.level", "compression.zstd.level",
        "errors.deadletterqueue.group.enable", "file.delete.delay.ms", "flush.messages", "flush.ms",
        "follower.replication.throttled.replicas", "index.interval.bytes", "leader.replication.throttled.replicas",
        "local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.decompressed.message.bytes",
        "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "preallocate", "remote.copy.lag.bytes",
        "remote.copy.lag.ms", "remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable",
        "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
    }
)  # fmt: skip
"""What topics of Apache Kafka 4.4 have beside `TOPIC_SETTINGS`."""


def _why_not(key: str) -> str:
    if key in NOT_HONOURED:
        return f"{key} is a setting of Kafka's topics that kcoord does not honour"
    return f"{quoted(key)} is not a setting of topics, in Kafka or here"
