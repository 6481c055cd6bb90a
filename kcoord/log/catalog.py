"""The topics of the cluster: their names, ids and partitions. Pure; ids come from outside."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from kcoord.log.memory import LogMemory
from kcoord.log.partition import Partition as Partition
from kcoord.log.topic_config import TopicConfig
from wire.errors import ErrorCode

OFFSETS_TOPIC = "__consumer_offsets"
"""The topic that holds the groups (Apache Kafka `Topic.GROUP_METADATA_TOPIC_NAME`)."""

INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, "__transaction_state", "__share_group_state"})
"""Names that are internal whether the topic exists or not (Apache Kafka `Topic.isInternal`)."""

METADATA_TOPIC = "__cluster_metadata"
"""The log of Kafka's controllers, which is no topic for clients (Apache Kafka `Topic.CLUSTER_METADATA_TOPIC_NAME`)."""

LONGEST_NAME = 249
"""In characters: with a partition number behind it, a name must fit a file name (Apache Kafka `Topic`)."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_ZERO_ID = UUID(int=0)


class TopicRefused(Exception):
    """The topic cannot be created; `code` says why in Kafka's number."""

    def __init__(self, message: str, code: ErrorCode) -> None:
        super().__init__(message)
        self.code = code


def is_legal_name(name: str) -> bool:
    """Whether Kafka allows a topic of that name (Apache Kafka `Topic.validate`)."""
    return len(name) <= LONGEST_NAME and name not in {".", ".."} and _LEGAL_NAME.fullmatch(name) is not None


def why_illegal(name: str) -> str:
    """Say why a name that is not legal is not; what that quotes is short, whatever a client sends for a name."""
    what = repr(name) if len(name) <= LONGEST_NAME else f"a text of {len(name)} characters"
    return f"{what} cannot name a topic: 1 to {LONGEST_NAME} of a-z A-Z 0-9 . _ - are allowed, but not . or .."


@dataclass(slots=True)
class Topic:
    """A topic; its partitions are numbered from 0 without gaps."""

    name: str
    topic_id: UUID
    partitions: list[Partition] = field(default_factory=list)
    config: TopicConfig = field(default_factory=TopicConfig)
    """What is in force."""
    settings: dict[str, str] = field(default_factory=dict)
    """What was set on the topic itself, by Kafka's names, as it was given."""

    @property
    def is_internal(self) -> bool:
        """Whether clients should leave it alone."""
        return self.name in INTERNAL_TOPICS

    def partition(self, index: int) -> Partition | None:
        """Return the partition with that number, or None; negative numbers name none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None

    def configure(self, config: TopicConfig, settings: Mapping[str, str]) -> None:
        """Put other settings in force, for all that happens from now on."""
        self.config = config
        self.settings = dict(settings)
        for partition in self.partitions:
            partition.config = config


class Catalog:
    """All topics, in the order of their creation, found by name and by id."""

    def __init__(self, memory: LogMemory | None = None) -> None:
        self.memory = LogMemory() if memory is None else memory
        """What all logs take together."""
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._by_collision_name: dict[str, Topic] = {}

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def by_name(self, name: str) -> Topic | None:
        """Return the topic of that name, or None."""
        return self._by_name.get(name)

    def by_id(self, topic_id: UUID) -> Topic | None:
        """Return the topic of that id, or None; the zero id names none."""
        return self._by_id.get(topic_id)

    def check_name(self, name: str) -> None:
        """Raise TopicRefused if no topic can be created under that name now.

        INVALID_TOPIC_EXCEPTION for an illegal name and for one that differs from another's only in `.` and `_`
        (metric names would collide, Apache Kafka `Topic.hasCollision`), TOPIC_ALREADY_EXISTS.
        """
        if not is_legal_name(name):
            raise TopicRefused(why_illegal(name), ErrorCode.INVALID_TOPIC_EXCEPTION)
        if name in self._by_name:
            raise TopicRefused(f"topic {name} exists already", ErrorCode.TOPIC_ALREADY_EXISTS)
        other = self._by_collision_name.get(name.replace(".", "_"))
        if other is not None:
            raise TopicRefused(
                f"topic {name} would collide with topic {other.name}: they differ only in . and _",
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            )

    def create(
        self,
        name: str,
        partitions: int,
        topic_id: UUID,
        config: TopicConfig | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        """Create a topic with so many partitions (1 and up) under a fresh, non-zero id.

        Raises TopicRefused: as `check_name`, and INVALID_PARTITIONS.
        """
        self.check_name(name)
        if partitions < 1:
            raise TopicRefused(
                f"topic {name} needs at least one partition, not {partitions}", ErrorCode.INVALID_PARTITIONS
            )
        assert topic_id not in self._by_id
        assert topic_id != _ZERO_ID
        topic = Topic(name, topic_id, [], config or TopicConfig(), dict(settings or {}))
        self._add(topic, partitions)
        self._by_name[name] = topic
        self._by_collision_name[name.replace(".", "_")] = topic
        self._by_id[topic_id] = topic
        return topic

    def add_partitions(self, topic: Topic, count: int) -> None:
        """Give a topic `count` partitions in all; what it has stays as it is.

        Raises TopicRefused: INVALID_PARTITIONS, because that is no more than it has.
        """
        if count <= len(topic.partitions):
            raise TopicRefused(
                f"topic {topic.name} has {len(topic.partitions)} partitions; {count} would not be more",
                ErrorCode.INVALID_PARTITIONS,
            )
        self._add(topic, count)

    def delete(self, topic: Topic) -> None:
        """Forget a topic and all of its records; those who watch its partitions are told."""
        assert self._by_name.get(topic.name) is topic
        del self._by_name[topic.name]
        del self._by_collision_name[topic.name.replace(".", "_")]
        del self._by_id[topic.topic_id]
        for partition in topic.partitions:
            partition.drop()

    def _add(self, topic: Topic, count: int) -> None:
        topic.partitions += [
            Partition(topic.name, index, topic.config, self.memory) for index in range(len(topic.partitions), count)
        ]
