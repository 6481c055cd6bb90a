"""The topics of the cluster: their names, ids and partitions. Pure; ids come from outside."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

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


@dataclass(slots=True)
class Partition:
    """What Metadata, ListOffsets and Fetch say of one partition.

    Offsets are those of Kafka's log: the first offset kept, and the one that the next record will get.
    """

    index: int
    leader_epoch: int = 0
    log_start_offset: int = 0
    high_watermark: int = 0


@dataclass(slots=True)
class Topic:
    """A topic; its partitions are numbered from 0 without gaps."""

    name: str
    topic_id: UUID
    partitions: list[Partition] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        """Whether clients should leave it alone."""
        return self.name in INTERNAL_TOPICS

    def partition(self, index: int) -> Partition | None:
        """Return the partition with that number, or None; negative numbers name none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class Catalog:
    """All topics, in the order of their creation, found by name and by id."""

    def __init__(self) -> None:
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
        (metric names would collide, Apache Kafka `Topic.hasCollision`), TOPIC_ALREADY_EXISTS. What the message
        quotes is short, whatever a client sends for a name.
        """
        if not is_legal_name(name):
            what = repr(name) if len(name) <= LONGEST_NAME else f"a text of {len(name)} characters"
            raise TopicRefused(
                f"{what} cannot name a topic: 1 to {LONGEST_NAME} of a-z A-Z 0-9 . _ - are allowed, but not . or ..",
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            )
        if name in self._by_name:
            raise TopicRefused(f"topic {name} exists already", ErrorCode.TOPIC_ALREADY_EXISTS)
        other = self._by_collision_name.get(name.replace(".", "_"))
        if other is not None:
            raise TopicRefused(
                f"topic {name} would collide with topic {other.name}: they differ only in . and _",
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            )

    def create(self, name: str, partitions: int, topic_id: UUID) -> Topic:
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
        topic = Topic(name, topic_id, [Partition(index) for index in range(partitions)])
        self._by_name[name] = topic
        self._by_collision_name[name.replace(".", "_")] = topic
        self._by_id[topic_id] = topic
        return topic
