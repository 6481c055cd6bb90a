"""The settings of one topic that rule its records, with Kafka's names and defaults. Pure."""

from dataclasses import dataclass

NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """What is in force for a topic: its own settings, else the broker's (Apache Kafka `LogConfig`)."""

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    """`delete`, `compact`, or both."""
    retention_ms: int = 604_800_000
    """How long records are kept, in ms; -1 for ever."""
    retention_bytes: int = NO_LIMIT
    """How many bytes a partition keeps; -1 means no limit."""
    max_message_bytes: int = 1_048_588
    """The largest record batch, in bytes."""
    message_timestamp_type: str = "CreateTime"
    """`CreateTime` or `LogAppendTime`."""
    message_timestamp_before_max_ms: int = 2**63 - 1
    """How far before the broker's time a record may claim to be, in ms."""
    message_timestamp_after_max_ms: int = 3_600_000
    """How far after the broker's time a record may claim to be, in ms."""
    min_insync_replicas: int = 1
    """How many replicas must have a record for acks -1; there is one."""
    delete_retention_ms: int = 86_400_000
    """How long a tombstone is kept after compaction, in ms."""
