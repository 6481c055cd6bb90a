"""The broker: its identity, its topics, and the shards that the groups are spread over."""

import base64
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol
from uuid import UUID, uuid4

from kcoord.clock import Clock
from kcoord.config import Config
from kcoord.core.hashing import partition_for
from kcoord.core.outcome import Now
from kcoord.log.catalog import OFFSETS_TOPIC, Catalog, Topic
from kcoord.log.memory import LogMemory
from kcoord.nodes import NO_ASSIGNMENTS, Node, Nodes
from kcoord.notices import PartitionsAdded, RequestNotice, TopicConfigured, TopicCreated, TopicDeleted
from kcoord.offsets_log import sequence_before_4_0
from kcoord.shard import Elsewhere, Shard
from kcoord.store.base import Store

OFFSETS_REPLICAS = 3
"""Brokers that have each partition of the offsets topic, at most (Kafka's offsets.topic.replication.factor)."""
PRODUCER_IDS_PER_MS = 1000
"""Producer ids begin at the time of the start, times this.

Nothing of them is stored. Yet an id that an earlier run handed out must not be handed out again: the producer that
has it may still be there, and the records of two producers of one id and epoch are taken for each other's.
"""

OFFSETS_TOPIC_SETTINGS: Mapping[str, str] = MappingProxyType(
    {"cleanup.policy": "compact", "compression.type": "producer"}
)
"""What Kafka gives its offsets topic (Apache Kafka `GroupCoordinatorService.groupMetadataTopicConfigs`)."""
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


def kafka_uuid_text(value: UUID) -> str:
    """Return the 22 characters by which Kafka shows an id: URL-safe base64 (Apache Kafka `Uuid.toString`)."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode("ascii")


def random_id() -> UUID:
    """Return a fresh id whose text does not look like an option (Apache Kafka `Uuid.randomUuid`)."""
    while True:
        value = uuid4()
        if not kafka_uuid_text(value).startswith("-"):
            return value


class Dropped(Exception):
    """By a fault on purpose a connection is to be closed; the text says by which."""


class FaultMet(Protocol):
    """What a fault does to one request (`kcoord.faults`)."""

    @property
    def sentence(self) -> str:
        """What the fault does."""
        ...

    @property
    def truncate(self) -> int | None:
        """How many bytes of the answer are sent before the connection is closed; None are all."""
        ...

    async def answer(self, handle: Callable[[Any], Awaitable[Any]], request: Any) -> Any:
        """Return what is answered, perhaps by `handle`. Raises Dropped, and what `handle` raises."""
        ...


class FaultsOnPurpose(Protocol):
    """The faults that a test wants; false while there are none."""

    def __bool__(self) -> bool: ...

    def met(self, *, api: str, version: int, request: Any, client_id: str, node_id: int) -> FaultMet | None:
        """Return the fault that is meant for a request, or None."""
        ...


class Broker:
    """Everything that requests are answered from. `shards[p]` serves partition p of the offsets topic."""

    def __init__(self, config: Config, clock: Clock, store: Store) -> None:
        self.config = config
        self.clock = clock
        self.nodes = Nodes(config.node_id, config.brokers, config.broker_rack)
        """The logical brokers, of which there is mostly one."""
        self.cluster_id = config.cluster_id or kafka_uuid_text(random_id())
        self.topic_defaults = config.topic_config
        """What is in force for topics that do not say otherwise."""
        self.catalog = Catalog(LogMemory(config.memory_limit))
        self.producer_ids: Iterator[int] = itertools.count(clock.now().wall_ms * PRODUCER_IDS_PER_MS)
        """The ids that producers get, each once."""
        self._listeners: dict[int, Callable[[object], None]] = {}
        self.request_listeners: dict[int, Callable[[RequestNotice], None]] = {}
        """Who is told of requests; while it is empty, nobody looks at them."""
        self.faults: FaultsOnPurpose | None = None
        """Faults that a test wants."""
        self._next_listener = 0
        self._moment: Now | None = None
        self._connections = itertools.count(1)
        self._requests = itertools.count(1)
        self._offsets_partitions = config.offsets_topic_num_partitions
        offsets_config = self.topic_defaults.with_settings(OFFSETS_TOPIC_SETTINGS)
        offsets_topic = self.catalog.create(
            OFFSETS_TOPIC, self._offsets_partitions, random_id(), offsets_config, OFFSETS_TOPIC_SETTINGS
        )
        self.offsets_topic = offsets_topic
        if config.behaviour.group_records_unnumbered:
            for log in offsets_topic.partitions:
                log.own_sequence = sequence_before_4_0
        self.elsewhere = Elsewhere(config.group_settings)
        """Answers for the groups that the broker which is asked does not coordinate."""
        self.nodes.place(offsets_topic, OFFSETS_REPLICAS)
        self.shards = [
            Shard(
                log.index,
                config.group_settings,
                store,
                clock,
                lambda: str(uuid4()),
                self.tell_all,
                log,
                commit_timeout_ms=config.offsets_commit_timeout_ms,
            )
            for log in offsets_topic.partitions
        ]
        for name, partitions in config.topics.items():
            self.create_topic(name, partitions, "configured", replicas=config.brokers)

    def shard_for(self, group_id: str) -> Shard:
        """Return the shard that owns the group, known or not."""
        return self.shards[partition_for(group_id, self._offsets_partitions)]

    async def rest(self) -> None:
        """Wait until everything that is due by now has happened in every shard, and is written (`Shard.rest`)."""
        for shard in self.shards:
            await shard.rest()

    def coordinator_of(self, group_id: str) -> Node | None:
        """Return the broker that coordinates a group, known or not; None if there is none."""
        return self.nodes.get(self.nodes.leader(self.offsets_topic, partition_for(group_id, self._offsets_partitions)))

    def create_topic(
        self,
        name: str,
        partitions: int,
        why: str,
        settings: Mapping[str, str] = NO_SETTINGS,
        *,
        replicas: int = 1,
        assigned: Mapping[int, tuple[int, ...]] = NO_ASSIGNMENTS,
    ) -> Topic:
        """Create a topic with these settings of its own, by Kafka's names, at so many brokers or at those `assigned`.

        Raises `kcoord.log.catalog.TopicRefused` and `kcoord.log.topic_config.InvalidSetting`.
        """
        config = self.topic_defaults.with_settings(settings)
        topic = self.catalog.create(name, partitions, random_id(), config, settings)
        self.nodes.place(topic, replicas, assigned)
        self.tell(TopicCreated(topic=name, partitions=partitions, why=why))
        return topic

    def delete_topic(self, topic: Topic, why: str) -> None:
        """Delete a topic, its records, and what groups committed for it."""
        self.catalog.delete(topic)
        self.nodes.forget(topic)
        self.tell(TopicDeleted(topic=topic.name, why=why))
        for shard in self.shards:
            shard.topic_deleted(topic.name)

    def add_partitions(self, topic: Topic, count: int, why: str) -> None:
        """Let a topic have so many partitions in all. Raises `kcoord.log.catalog.TopicRefused`."""
        self.catalog.add_partitions(topic, count)
        self.tell(PartitionsAdded(topic=topic.name, partitions=count, why=why))

    def configure_topic(self, topic: Topic, settings: Mapping[str, str], why: str) -> None:
        """Let a topic have these settings of its own and no others.

        Raises `kcoord.log.topic_config.InvalidSetting`.
        """
        topic.configure(self.topic_defaults.with_settings(settings), settings)
        pairs = tuple(f"{key}={value}" for key, value in settings.items())
        self.tell(TopicConfigured(topic=topic.name, settings=pairs, why=why))

    def on_note(self, listener: Callable[[object], None]) -> Callable[[], None]:
        """Call `listener` with everything that happens from now on; what is returned ends that.

        A listener must neither wait nor raise: it runs in the middle of serving.
        """
        key = self._next_listener = self._next_listener + 1
        self._listeners[key] = listener

        def forget() -> None:
            self._listeners.pop(key, None)

        return forget

    def on_request(self, listener: Callable[[RequestNotice], None]) -> Callable[[], None]:
        """Call `listener` with every request and every answer from now on; what is returned ends that.

        It is called in the order in which things happen: a request, what is noted of it (`on_note`), its answer. A
        listener must neither wait nor raise, nor change what it is given. Messages are the ones that are being served.
        """
        key = self._next_listener = self._next_listener + 1
        self.request_listeners[key] = listener

        def forget() -> None:
            self.request_listeners.pop(key, None)

        return forget

    def next_connection(self) -> int:
        """Return the number of a new connection, from 1."""
        return next(self._connections)

    def next_request(self) -> int:
        """Return the number of a request that is told of, from 1."""
        return next(self._requests)

    def tell_of_request(self, notice: RequestNotice) -> None:
        """Tell everybody who listens to requests of one, or of an answer."""
        for listener in tuple(self.request_listeners.values()):
            listener(notice)

    def tell(self, note: object) -> None:
        """Tell everybody who listens that something happened."""
        for listener in tuple(self._listeners.values()):
            listener(note)

    def tell_all(self, notes: Iterable[object], moments: Iterable[Now] | None = None) -> None:
        """Tell several, in their order; `moments` are when they happened, if that is not now."""
        if moments is None:
            for note in notes:
                self.tell(note)
            return
        for note, self._moment in zip(notes, moments, strict=True):
            self.tell(note)
        self._moment = None

    def moment(self) -> Now:
        """Return when that happened which is being told: that may be before now, where the clock was moved."""
        return self.clock.now() if self._moment is None else self._moment
