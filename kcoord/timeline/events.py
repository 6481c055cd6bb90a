"""The events of a timeline. All are immutable; `at` is in seconds on the server's clock, from the recording's start."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a group. `wall_ms` is Unix time on the server's clock."""

    at: float
    wall_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """A note of the coordinator about the group (`kcoord.core.notes`), or one of the server's that concerns it."""

    note: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a consumer says in its JoinGroup, under one protocol: its topics, and what it still owns (KIP-429).

    `owned` is None where its version of the subscription cannot tell.
    """

    topics: tuple[str, ...]
    owned: frozenset[TopicPartition] | None
    generation: int = -1
    """The generation in which it owned them, -1 where that is not told (KIP-792)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Event):
    """A request about the group came in. `number` is that of its `Answered`.

    `member` is "" where the request names none.
    """

    number: int
    connection: int
    client_id: str
    host: str
    node_id: int
    api: str
    version: int
    member: str = ""
    instance: str | None = None
    generation: int | None = None
    claims: Mapping[str, Claim] = field(default_factory=dict)
    """JoinGroup: by protocol, as far as it can be read."""
    protocols: tuple[str, ...] = ()
    """JoinGroup: what it lists, most wanted first."""
    reason: str = ""
    """JoinGroup, LeaveGroup: why, in the client's words."""
    handed_in: Mapping[str, frozenset[TopicPartition]] | None = None
    """SyncGroup: the assignment, by member id; None where there is none, or none that can be read."""
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    """OffsetCommit: the offsets; only the first ones of many."""
    partitions: int = 0
    """OffsetCommit, OffsetFetch, OffsetDelete: how many partitions it is about; -1 for all that there are."""
    leaving: tuple[str, ...] = ()
    """LeaveGroup: the members, each by its instance id or member id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Event):
    """The answer to a request, or that there was none. `errors` are names of Kafka's error codes, each once."""

    asked: Asked
    errors: tuple[str, ...]
    silent: bool = False
    """Whether no answer was sent."""
    fault: str = ""
    """The sentence of the fault that had a hand in it."""
    refused: tuple[TopicPartition, ...] = ()
    """OffsetCommit: the partitions that have an error, where others have none."""
    member: str = ""
    """JoinGroup: the member id that was given."""
    generation: int | None = None
    leader: str = ""
    protocol: str | None = None
    assigned: frozenset[TopicPartition] | None = None
    """SyncGroup: what the member was given; None where that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beats(Event):
    """Heartbeats of one member that were answered alike, with nothing but others' heartbeats between them.

    `at` is the first one's moment, `last` the last one's.
    """

    member: str
    instance: str | None
    client_id: str
    error: str
    count: int
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Event):
    """So many events were forgotten here, as there were too many."""

    count: int
