"""The logical brokers of one server, and which of them leads what.

They share everything but their addresses: topics, records and groups are there once. What tells them apart is who may
be asked: a partition, of topics as of `__consumer_offsets`, is asked of its leader alone, and others refuse.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from kcoord.log.catalog import Topic

NOBODY = -1
"""The node id of no broker (Apache Kafka `Node.noNode`)."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where clients of one listener reach a broker. No host stands for the one by which the client came."""

    host: str
    port: int


@dataclass(eq=False, slots=True)
class Node:
    """One logical broker. `endpoints` are by the names of listeners."""

    id: int
    rack: str | None = None
    running: bool = True
    endpoints: dict[str, Endpoint] = field(default_factory=dict)


@dataclass(slots=True)
class _Placed:
    """Where the partitions of one topic are. `first` is the place in line of the first one's first replica."""

    first: int
    replicas: int
    assigned: dict[int, tuple[int, ...]] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)


NO_ASSIGNMENTS: Mapping[int, tuple[int, ...]] = MappingProxyType({})


class Nodes:
    """All brokers, by node id from `first_id` on, and the leader of each partition."""

    def __init__(self, first_id: int, count: int, rack: str | None) -> None:
        self._nodes = {number: Node(number, rack) for number in range(first_id, first_id + count)}
        self.ids = tuple(self._nodes)
        self.first = self._nodes[first_id]
        self._topics: dict[UUID, _Placed] = {}
        self._next = 0

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, node_id: int) -> Node | None:
        """Return the broker of that id."""
        return self._nodes.get(node_id)

    @property
    def alive(self) -> list[Node]:
        """Those that run."""
        return [node for node in self if node.running]

    @property
    def controller(self) -> int:
        """The id that is given as the controller's: of a broker that runs, as any takes its requests (KIP-500)."""
        return next((node.id for node in self if node.running), NOBODY)

    # Where partitions are.

    def place(self, topic: Topic, replicas: int, assigned: Mapping[int, tuple[int, ...]] = NO_ASSIGNMENTS) -> None:
        """Give a topic's partitions to brokers, in turn; those that are `assigned` to the brokers named."""
        self._topics[topic.topic_id] = _Placed(self._next, min(replicas, len(self)), dict(assigned))
        self._next += 1

    def assign(self, topic: Topic, assigned: Mapping[int, tuple[int, ...]]) -> None:
        """Give new partitions of a topic to the brokers named."""
        self._topics[topic.topic_id].assigned.update(assigned)

    def forget(self, topic: Topic) -> None:
        """Forget a topic."""
        self._topics.pop(topic.topic_id, None)

    def replicas(self, topic: Topic, index: int) -> tuple[int, ...]:
        """Return the brokers that have a partition, the preferred leader first."""
        placed = self._topics.get(topic.topic_id)
        if placed is None:
            return self.ids[:1]
        assigned = placed.assigned.get(index)
        if assigned is not None:
            return assigned
        start = placed.first + index
        return tuple(self.ids[(start + at) % len(self.ids)] for at in range(placed.replicas))

    def replica_count(self, topic: Topic) -> int:
        """Return how many brokers have each partition of a topic."""
        return len(self.replicas(topic, 0))

    def in_sync(self, replicas: Iterable[int]) -> list[int]:
        """Return those of some brokers that run."""
        return [each for each in replicas if self._nodes[each].running]

    def offline(self, replicas: Iterable[int]) -> list[int]:
        """Return those of some brokers that do not run."""
        return [each for each in replicas if not self._nodes[each].running]

    # Who leads them.

    def leader(self, topic: Topic, index: int) -> int:
        """Return the broker that leads a partition, or NOBODY."""
        placed = self._topics.get(topic.topic_id)
        if placed is None or len(self._nodes) == 1:
            return self.first.id if self.first.running else NOBODY
        leader = placed.leaders.get(index)
        if leader is None:
            alive = self.in_sync(self.replicas(topic, index))
            leader = placed.leaders[index] = alive[0] if alive else NOBODY
        return leader

    def elect_anew(self) -> None:
        """Let each partition be led by the first of its replicas that runs."""
        for placed in self._topics.values():
            placed.leaders.clear()

    def lead(self, topic: Topic, index: int, node_id: int) -> None:
        """Let a broker, or NOBODY, lead a partition from now on."""
        placed = self._topics.get(topic.topic_id)
        if placed is not None:
            placed.leaders[index] = node_id
