"""What there is to see of groups and topics: frozen data, made in one moment, of plain values.

Times are in seconds and ms as their names say; what has no time, or nobody knows, is None.
"""

from dataclasses import dataclass

from kcoord.core.group import CONSUMER_PROTOCOL_TYPE, Group, Member
from kcoord.core.outcome import Now
from kcoord.core.settings import NEW_MEMBER_JOIN_TIMEOUT_MS
from kcoord.core.states import GroupState
from kcoord.core.tables import Tables
from kcoord.log.catalog import Topic
from wire.errors import WireError
from wire.payloads import TopicPartitions, decode_assignment, decode_subscription

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionView:
    """What a consumer brought with its JoinGroup, as far as its version has it."""

    topics: tuple[str, ...]
    owned: dict[str, tuple[int, ...]]
    """The partitions that it says it still owns (KIP-429), by topic."""
    owned_generation: int | None
    """The generation in which it owned them (KIP-792)."""
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member as it stands."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    leads: bool
    subscription: SubscriptionView | None
    """None where there is nothing that is readable: another protocol type, or bytes that are none of a consumer's."""
    assignment: dict[str, tuple[int, ...]] | None
    """The partitions of each topic; empty before the leader has given any, None where it is not readable."""
    protocols: tuple[str, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    heartbeat_age: float | None
    """Seconds since its session started anew: by a heartbeat, a commit, or the answer to its JoinGroup."""
    session_ends_in: float | None
    """Seconds. None while a request that it has waiting keeps the session from ending."""
    waits_in: str | None
    """The request that it has waiting: JoinGroup, SyncGroup or None."""
    has_synced: bool
    """Whether nothing more is awaited of it in this generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetView:
    """One committed offset."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str
    committed_ms: int
    """Unix time on the server's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """One group as it stands. A group that does not exist is in the state Dead and has nothing."""

    group_id: str
    state: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    """A member id."""
    members: tuple[MemberView, ...]
    handed_out: tuple[str, ...]
    """Member ids that were handed out and have not come back yet (KIP-394)."""
    offsets: tuple[OffsetView, ...]
    waiting_for: tuple[str, ...]
    """The member ids whose JoinGroup, or SyncGroup, the phase waits for."""
    phase_ends_in: float | None
    """Seconds until the join phase is over, or the sync phase for those who have not synced."""
    state_since_ms: int | None
    """Unix time on the server's clock."""
    offsets_partition: int
    """The partition of __consumer_offsets that keeps the group."""
    coordinator: int
    """The node id of the broker that coordinates it."""

    def member(self, name: str) -> MemberView | None:
        """Return the one member whose member id, instance id or client id `name` is, or None."""
        for fits in (
            [each for each in self.members if each.member_id == name],
            [each for each in self.members if each.instance_id == name],
            [each for each in self.members if each.client_id == name],
        ):
            if fits:
                return fits[0] if len(fits) == 1 else None
        return None

    def committed(self, topic: str, partition: int) -> int | None:
        """Return the committed offset, or None."""
        for each in self.offsets:
            if (each.topic, each.partition) == (topic, partition):
                return each.offset
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """One topic."""

    name: str
    partitions: int
    internal: bool
    settings: dict[str, str]
    """Those of its own, by Kafka's names."""
    records: tuple[tuple[int, int], ...]
    """Of each partition the first offset and the next one."""


def group_view(tables: Tables, group_id: str, now: Now, *, partition: int, coordinator: int) -> GroupView:
    """Return what there is to see of a group, be it that it does not exist."""
    group = tables.groups.get(group_id)
    if group is None:
        return GroupView(
            group_id=group_id,
            state=GroupState.DEAD.value,
            generation=NO_GENERATION,
            protocol_type=None,
            protocol=None,
            leader=None,
            members=(),
            handed_out=(),
            offsets=(),
            waiting_for=(),
            phase_ends_in=None,
            state_since_ms=None,
            offsets_partition=partition,
            coordinator=coordinator,
        )
    join_ends, sync_ends = (tables.timers.deadline((phase, group_id)) for phase in ("join", "sync"))
    ends = join_ends if join_ends is not None else sync_ends
    return GroupView(
        group_id=group_id,
        state=group.state.value,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol_name,
        leader=group.leader_id,
        members=tuple(member_view(tables, group, member, now) for member in group.members.values()),
        handed_out=tuple(sorted(group.pending_joins)),
        offsets=tuple(
            OffsetView(
                topic=topic,
                partition=index,
                offset=value.offset,
                leader_epoch=None if value.leader_epoch < 0 else value.leader_epoch,
                metadata=value.metadata,
                committed_ms=value.commit_timestamp,
            )
            for (topic, index), value in sorted(tables.offsets.get(group_id, {}).items())
        ),
        waiting_for=waiting_for(group),
        phase_ends_in=None if ends is None else seconds_until(ends, now),
        state_since_ms=None if group.state_timestamp < 0 else group.state_timestamp,
        offsets_partition=partition,
        coordinator=coordinator,
    )


def waiting_for(group: Group) -> tuple[str, ...]:
    """Return whose JoinGroup the join phase waits for, or whose SyncGroup is still to come."""
    if group.state is GroupState.PREPARING_REBALANCE:
        return tuple(each.member_id for each in group.members.values() if each.parked_join is None)
    return tuple(member_id for member_id in group.members if member_id in group.pending_syncs)


def member_view(tables: Tables, group: Group, member: Member, now: Now) -> MemberView:
    """Return what there is to see of a member."""
    ends = tables.timers.deadline(("session", group.group_id, member.member_id))
    timeout_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.session_timeout_ms
    left = None if ends is None else seconds_until(ends, now)
    waits_in = (
        "JoinGroup" if member.parked_join is not None else "SyncGroup" if member.parked_sync is not None else None
    )
    joining = group.state is GroupState.PREPARING_REBALANCE
    is_consumer = group.protocol_type == CONSUMER_PROTOCOL_TYPE
    name = (
        group.protocol_name if group.protocol_name is not None else next((name for name, _ in member.protocols), None)
    )
    return MemberView(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        leads=group.leader_id == member.member_id,
        subscription=read_subscription(member.metadata(name)) if is_consumer else None,
        assignment=read_assignment(member.assignment) if is_consumer or not member.assignment else None,
        protocols=tuple(name for name, _ in member.protocols),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        heartbeat_age=None if left is None else max(0.0, timeout_ms / 1000 - left),
        session_ends_in=None if member.satisfies_heartbeat else left,
        waits_in=waits_in,
        has_synced=not joining and member.member_id not in group.pending_syncs,
    )


def seconds_until(mono: float, now: Now) -> float:
    """Return how far a moment is away, to the microsecond."""
    return round(max(0.0, mono - now.mono), 6)


def read_subscription(metadata: bytes) -> SubscriptionView | None:
    """Read what a consumer brought; None where that is not readable."""
    try:
        found = decode_subscription(metadata)
    except WireError:
        return None
    return SubscriptionView(
        topics=found.topics,
        owned=by_topic(found.owned_partitions),
        owned_generation=None if found.generation_id < 0 else found.generation_id,
        rack=found.rack_id,
    )


def read_assignment(assignment: bytes) -> dict[str, tuple[int, ...]] | None:
    """Read what a consumer was given; None where that is not readable."""
    try:
        return by_topic(decode_assignment(assignment).assigned_partitions)
    except WireError:
        return None


def by_topic(listed: tuple[TopicPartitions, ...]) -> dict[str, tuple[int, ...]]:
    """Return the partitions of each topic, in order, however often a topic is listed."""
    found: dict[str, list[int]] = {}
    for each in listed:
        found.setdefault(each.topic, []).extend(each.partitions)
    return {topic: tuple(sorted(partitions)) for topic, partitions in sorted(found.items())}


def topic_view(topic: Topic) -> TopicView:
    """Return what there is to see of a topic."""
    return TopicView(
        name=topic.name,
        partitions=len(topic.partitions),
        internal=topic.is_internal,
        settings=dict(topic.settings),
        records=tuple((each.log_start_offset, each.high_watermark) for each in topic.partitions),
    )
