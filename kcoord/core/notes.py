"""What happened, as data. Logs, metrics and the timeline are readers of these; the core itself logs nothing.

Every note names its group. `member` is a member id, `instance` a `group.instance.id` or None.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that happened to one group."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCreated(Note):
    """A request for an unknown group brought it into being."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDeleted(Note):
    """The group is gone: asked for (DeleteGroups), or nothing was left in it at a retention sweep."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIdHandedOut(Note):
    """A JoinGroup without an id was answered MEMBER_ID_REQUIRED (KIP-394)."""

    member: str
    client_id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberJoined(Note):
    """A new member is in the group; its JoinGroup waits for the others."""

    member: str
    instance: str | None
    client_id: str
    host: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRejoined(Note):
    """A member sent JoinGroup again and waits for the others."""

    member: str
    instance: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRefused(Note):
    """A JoinGroup was answered with an error other than MEMBER_ID_REQUIRED."""

    member: str
    client_id: str
    host: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceStarted(Note):
    """The group went into PreparingRebalance.

    `generation` is the one that ends; `waiting_for` the members that have yet to send JoinGroup.
    """

    generation: int
    reason: str
    waiting_for: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFormed(Note):
    """The join phase is over: all `members` have this generation, and the leader computes the assignment."""

    generation: int
    protocol: str
    leader: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPhaseHeldOpen(Note):
    """The join phase is over, but nobody rejoined and only static members are left: it goes on (KAFKA-8220)."""

    generation: int
    waiting_for: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStabilized(Note):
    """The leader handed in the assignment; `members` counts the members it is for."""

    generation: int
    leader: str
    members: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEmptied(Note):
    """The last member is gone; the group keeps its offsets."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberExpired(Note):
    """The coordinator put a member out; `why` says which deadline it missed."""

    member: str
    instance: str | None
    client_id: str
    host: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMemberExpired(Note):
    """An id that was handed out is worth nothing any more: not used within the session timeout, or no room for it."""

    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLeft(Note):
    """A member (or a pending id) left by LeaveGroup, its own or an operator's."""

    member: str
    instance: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticMemberReplaced(Note):
    """A static member came back under a new member id (KIP-345)."""

    member: str
    instance: str
    replaced: str
    client_id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFenced(Note):
    """A request named an instance id that belongs to another member id now."""

    member: str
    instance: str
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsCommitted(Note):
    """Offsets were accepted; `member` is "" for a commit without membership."""

    member: str
    generation: int
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsDeleted(Note):
    """Offsets were deleted on request, or with their topic."""

    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsExpired(Note):
    """Offsets were older than their retention."""

    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoaded(Note):
    """A group came back from the store; its members' sessions start anew."""

    state: str
    generation: int
    members: int
