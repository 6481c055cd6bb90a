"""A group and its members: data, counts and choices (Apache Kafka `ClassicGroup`). No rule about requests is here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kcoord.core.behaviour import LATEST, Behaviour, TieOrder
from kcoord.core.hashing import java_hash_map_place, scala_2_12_place, scala_2_13_place
from kcoord.core.states import ALLOWED_FROM, GroupState, IllegalMove
from wire.errors import ErrorCode, WireError
from wire.payloads import subscribed_topics

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type whose metadata the coordinator can read (Apache Kafka `ConsumerProtocol.PROTOCOL_TYPE`)."""

Protocols = tuple[tuple[str, bytes], ...]
"""What a member supports, most wanted first: (protocol name, metadata)."""

TIE_ORDERS: Mapping[TieOrder, Callable[[str, int], Any]] = MappingProxyType(
    {
        TieOrder.JAVA: java_hash_map_place,
        TieOrder.SCALA_2_13: scala_2_13_place,
        TieOrder.SCALA_2_12: scala_2_12_place,
    }
)
"""By what names of protocols are sorted that have equally many votes, given how many names they are."""


@dataclass(frozen=True, slots=True)
class Parked:
    """A request that waits: the token to answer, and the API version to answer it in."""

    token: object
    version: int


class Member:
    """One member. `client_id` and `client_host` are those of its first JoinGroup; rejoining does not change them."""

    __slots__ = (
        "assignment", "client_host", "client_id", "group_instance_id", "is_new", "member_id", "parked_join",
        "parked_sync", "protocols", "rebalance_timeout_ms", "session_timeout_ms",
    )  # fmt: skip

    def __init__(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
        is_new: bool = False,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.is_new = is_new
        self.parked_join: Parked | None = None
        self.parked_sync: Parked | None = None

    @property
    def is_static(self) -> bool:
        """Whether the member has a `group.instance.id` (KIP-345)."""
        return self.group_instance_id is not None

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return its metadata for that protocol; empty where it does not list it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def vote(self, candidates: frozenset[str]) -> str:
        """Return the first of its protocols that is a candidate; the caller knows that there is one."""
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def satisfies_heartbeat(self) -> bool:
        """Whether a held request shows that the member lives, so that its session cannot end.

        A brand-new member is not covered: its first JoinGroup has a deadline of its own (KAFKA-7610).
        """
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)


class Group:
    """One classic group.

    `state_timestamp` is the Unix time in ms of the last move; -1 where an old record did not keep it, and that of the
    commit where a commit brought the group into being.
    `subscribed_topics` is None while it cannot be known. `pending_joins` are ids handed out by MEMBER_ID_REQUIRED,
    `pending_syncs` members that have not sent SyncGroup in this generation.
    """

    __slots__ = (
        "_counts", "awaiting_joins", "behaviour", "delay_left_ms", "generation", "group_id", "leader_id", "members",
        "new_member_added", "pending_joins", "pending_syncs", "previous_state", "protocol_name", "protocol_type",
        "state", "state_timestamp", "static_members", "subscribed_topics",
    )  # fmt: skip

    def __init__(self, group_id: str, state_timestamp: int, behaviour: Behaviour = LATEST) -> None:
        self.group_id = group_id
        self.behaviour = behaviour
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_timestamp = state_timestamp
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_joins: set[str] = set()
        self.pending_syncs: set[str] = set()
        self.awaiting_joins = 0
        self.subscribed_topics: frozenset[str] | None = None
        self.new_member_added = False
        self.delay_left_ms = 0
        self._counts: dict[str, int] = {}

    # --- states ---

    def enter(self, state: GroupState, wall_ms: int) -> None:
        """Move to `state`; raise IllegalMove where the table does not allow it."""
        if self.state not in ALLOWED_FROM[state]:
            raise IllegalMove(f"group {self.group_id!r}: {self.state.value} to {state.value}")
        self.previous_state = self.state
        self.state = state
        self.state_timestamp = wall_ms

    @property
    def in_initial_rebalance(self) -> bool:
        """Whether this join phase began with an Empty group, and so runs on the initial delay."""
        return self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Whether the group never had members: it only keeps offsets."""
        return self.protocol_type is None

    # --- members ---

    def check_member(self, member_id: str, instance_id: str | None, *, joining: bool = False) -> ErrorCode:
        """Validate a reference to a member, the instance id first (`ClassicGroup.validateMember`)."""
        if instance_id is not None:
            holder = self.static_members.get(instance_id)
            if holder is None and not (joining or self.behaviour.checks_unknown_instances):
                holder = member_id
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in. The first one of an empty group brings the protocol type with it, and leads."""
        if member.group_instance_id is not None:
            if member.group_instance_id in self.static_members:
                raise IllegalMove(f"group {self.group_id!r}: instance {member.group_instance_id!r} is taken")
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count(member.protocols, 1)
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> Member | None:
        """Drop an id wherever it stands, and return the member if it was one.

        Whoever calls this has answered what the member had parked, for afterwards nobody can.
        """
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._count(member.protocols, -1)
        if member.parked_join is not None:
            self.awaiting_joins -= 1
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def rename_static(self, instance_id: str, member_id: str) -> str:
        """Let a static member go on under a new id, leadership included; return the old id.

        The reference forgets `pending_syncs` here, and a restarted member that has synced is put out with the old id
        at the sync deadline; the entry goes with the member instead.
        """
        replaced = self.static_members[instance_id]
        member = self.members.pop(replaced)
        member.member_id = member_id
        member.is_new = member.is_new and self.behaviour.replaced_member_stays_new
        self.members[member_id] = member
        self.static_members[instance_id] = member_id
        if self.leader_id == replaced:
            self.leader_id = member_id
        if replaced in self.pending_syncs:
            self.pending_syncs.remove(replaced)
            self.pending_syncs.add(member_id)
        return replaced

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        """Replace what a member supports."""
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)

    def park_join(self, member: Member, parked: Parked) -> Parked | None:
        """Let a JoinGroup of `member` wait; return the one it takes the place of."""
        earlier = member.parked_join
        if earlier is None:
            self.awaiting_joins += 1
        member.parked_join = parked
        return earlier

    def take_join(self, member: Member) -> Parked | None:
        """Take out the JoinGroup that waits, to answer it."""
        parked = member.parked_join
        if parked is not None:
            self.awaiting_joins -= 1
            member.parked_join = None
        return parked

    @property
    def has_all_joined(self) -> bool:
        """Whether every member waits in JoinGroup and no id is handed out unused. True of a group without members."""
        return self.awaiting_joins == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members, in ms; 0 without members, and never less."""
        return max([0, *(member.rebalance_timeout_ms for member in self.members.values())])

    def elect_leader(self) -> bool:
        """Keep the leader if it waits in JoinGroup, else let the first member that does lead; False without one."""
        leader = self.members.get(self.leader_id) if self.leader_id is not None else None
        if leader is not None and leader.parked_join is not None:
            return True
        for member in self.members.values():
            if member.parked_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    # --- protocols ---

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with this type and these protocols fits in (`ClassicGroup.supportsProtocols`)."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        return protocol_type == self.protocol_type and any(
            self._counts.get(name, 0) == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """Return the protocol with most votes among those that all members list.

        In a tie that name wins which comes first in the hash table in which the reference counts the votes. Of two in
        one bucket there it is the one that came first, and there members come in the order of their random ids.
        """
        size = len(self.members)
        candidates = frozenset(name for name, count in self._counts.items() if count == size)
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        place = TIE_ORDERS[self.behaviour.tie_order]
        return min(votes, key=lambda name: (-votes[name], place(name, len(votes)), name))

    def compute_subscribed_topics(self) -> None:
        """Read the members' subscriptions, where they can be read (`ClassicGroup.computeSubscribedTopics`)."""
        self.subscribed_topics = None
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return
        topics: set[str] = set()
        try:
            for member in self.members.values():
                topics |= subscribed_topics(member.metadata(self.protocol_name))
        except WireError:
            return
        self.subscribed_topics = frozenset(topics)

    def is_subscribed(self, topic: str) -> bool:
        """Whether some member consumes `topic`, as far as can be known: an unreadable consumer group consumes all."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def _count(self, protocols: Protocols, step: int) -> None:
        for name in {name for name, _ in protocols}:
            count = self._counts.get(name, 0) + step
            if count:
                self._counts[name] = count
            else:
                del self._counts[name]

    # --- invariants ---

    def check(self) -> None:
        """Raise AssertionError where the group contradicts itself. For tests."""
        waiting = [m for m in self.members.values() if m.parked_join is not None]
        assert self.awaiting_joins == len(waiting)
        assert all(key == member.member_id for key, member in self.members.items())
        assert self.static_members == {
            m.group_instance_id: m.member_id for m in self.members.values() if m.group_instance_id is not None
        }
        assert not self.pending_joins & self.members.keys()
        assert self.pending_syncs <= self.members.keys()
        names = [name for m in self.members.values() for name in {name for name, _ in m.protocols}]
        assert self._counts == {name: names.count(name) for name in set(names)}
        assert (self.leader_id is None) == (not self.members)
        assert self.leader_id is None or self.leader_id in self.members
        if self.state is GroupState.EMPTY:
            assert not self.members
            assert self.protocol_name is None
        elif self.state is not GroupState.PREPARING_REBALANCE:
            assert self.members
            assert not waiting
            assert self.protocol_name in self._counts
        if self.state is not GroupState.COMPLETING_REBALANCE:
            assert all(m.parked_sync is None for m in self.members.values())
