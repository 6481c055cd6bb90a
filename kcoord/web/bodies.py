"""What requests bring, and those answers that are no view of `kcoord.control`. Their fields are those of the JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kcoord.control.groups import USUAL_TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No body, or an object with nothing in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """How far the clock is moved."""

    seconds: float
    """Forward, from 0; 31622400 (366 days) at most."""
    heartbeats: bool = True
    """Whether members whose connection is open count as having sent heartbeats meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a group is waited for to be; at least one of the first four has to be named."""

    state: str | None = None
    """Kafka's name of a state: Dead, Empty, PreparingRebalance, CompletingRebalance or Stable."""
    members: int | None = None
    """So many."""
    generation: int | None = None
    """This one, or a later one."""
    synced: bool = False
    """That it is Stable, and each of its members has been given its assignment."""
    timeout: float = USUAL_TIMEOUT
    """Seconds of real time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """Why every member is to join again."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """Whose session is over."""

    member: str
    """A member id, an instance id, or a client id that one member has alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Whose place is taken."""

    instance_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Who has to leave."""

    member: str
    """A member id, an instance id, or a client id that one member has alone."""
    reason: str = "evicted by an operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetToSet:
    """One offset that is to be the committed one."""

    topic: str
    partition: int
    offset: int | None
    """null deletes what is committed."""
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsToSet:
    """Offsets that are to be the committed ones; others stay."""

    offsets: tuple[OffsetToSet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic that is to be."""

    name: str
    partitions: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    """Those of its own, by Kafka's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Which broker is to coordinate a group."""

    to: int | None = None
    """A node id; null: the next replica that runs."""
    loading: float = 0.0
    """Seconds on the server's clock for which it loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How long a coordinator is to load."""

    seconds: float
    """On the server's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """How a broker stops."""

    elect: bool = True
    """Whether another replica leads what it led; otherwise nobody does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """The server that is controlled."""

    version: str
    """kcoord's."""
    bootstrap: str
    """What clients are given as bootstrap.servers."""
    openapi: str
    """The path of the description of this interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockView:
    """The server's clock."""

    mono: float
    """Seconds from some moment on."""
    wall_ms: int
    """Unix time in ms."""
    frozen: bool
    """Whether time stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """How many requests, or answers, a fault let go."""

    released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsTold:
    """The groups that have a timeline, the oldest first."""

    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What went wrong."""

    error: str
    """One sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOver:
    """What was waited for did not come."""

    error: str
    """One sentence: what the group did not become, and what it waits for."""
    detail: str
    """How the group looks, and its timeline as text."""
    timeline: Mapping[str, Any] | None
    """The same timeline as JSON, null if nothing happened."""
