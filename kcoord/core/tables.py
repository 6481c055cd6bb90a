"""The coordinator's tables, and the one place where their durable part changes.

A record is applied as soon as it is written, and again when a shard loads: `apply` serves both. What is not in a
record - held requests, timers, who has rejoined - is soft, and gone after a reload.
"""

from collections.abc import Callable
from typing import Literal

from kcoord.core.behaviour import LATEST, Behaviour
from kcoord.core.group import Group, Member
from kcoord.core.outcome import Record
from kcoord.core.settings import GroupSettings
from kcoord.core.states import GroupState
from kcoord.core.timers import Timers
from wire.payloads import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)

TimerName = tuple[Literal["session"], str, str] | tuple[Literal["join", "sync"], str] | tuple[Literal["sweep"]]
"""A member's (or pending id's) session, a group's join or sync phase, the partition's retention sweep."""

Offsets = dict[tuple[str, int], OffsetCommitValue]
"""The committed offsets of one group, by topic and partition."""

SWEEP: tuple[Literal["sweep"]] = ("sweep",)


class Tables:
    """Groups, offsets and timers of one partition of the offsets topic.

    `unseen` are groups that were begun without a record, which who looks at groups does not see yet.
    """

    __slots__ = ("groups", "live", "new_id", "offsets", "settings", "timers", "unseen")

    def __init__(self, settings: GroupSettings, new_id: Callable[[], str]) -> None:
        self.settings = settings
        self.new_id = new_id
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, Offsets] = {}
        self.timers: Timers[TimerName] = Timers()
        self.unseen: set[str] = set()
        self.live = False

    def begin(self, group_id: str, now_ms: int) -> None:
        """Bring a group into being without a record, as a commit does of which nothing is stored.

        Whoever changes something finds the group there. Whoever looks sees it as soon as any record of the partition
        is written (Apache Kafka `OffsetMetadataManager.validateOffsetCommit` puts it into a `TimelineHashMap`, which
        is read up to the last record that is committed).
        """
        self.create(group_id, now_ms)
        self.unseen.add(group_id)

    def create(self, group_id: str, now_ms: int) -> Group:
        """Bring a group into being without a record, for all to see."""
        group = self.groups[group_id] = Group(group_id, now_ms, self.settings.behaviour)
        return group

    def seen(self, group_id: str) -> Group | None:
        """Return a group as who looks at groups sees it."""
        return None if group_id in self.unseen else self.groups.get(group_id)

    def apply(self, record: Record) -> None:
        """Let one record take effect."""
        self.unseen.clear()
        key = record.key
        if isinstance(key, GroupMetadataKey):
            value = record.value
            assert value is None or isinstance(value, GroupMetadataValue)
            self._apply_group(key.group, value)
        else:
            offset = record.value
            assert offset is None or isinstance(offset, OffsetCommitValue)
            self._apply_offset(key, offset)

    def _apply_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        if value is None:
            self.groups.pop(group_id, None)
            return
        group = self.groups.get(group_id) if self.live else None
        if group is None:
            self.groups[group_id] = restored_group(group_id, value, self.settings.behaviour)
        else:
            settle(group, value)

    def _apply_offset(self, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
        place = (key.topic, key.partition)
        if value is None:
            offsets = self.offsets.get(key.group, {})
            offsets.pop(place, None)
            if not offsets:
                self.offsets.pop(key.group, None)
            return
        if key.group not in self.groups:
            self.create(key.group, value.commit_timestamp)
        self.offsets.setdefault(key.group, {})[place] = value


def group_record(group: Group, state_timestamp: int, assignments: dict[str, bytes] | None = None) -> Record:
    """Return the record that keeps `group` as it is, or as it will be with these `assignments` (by member id).

    A member keeps only its metadata for the chosen protocol (`GroupCoordinatorRecordHelpers.newGroupMetadataRecord`).
    `state_timestamp` is Unix time in ms.
    """
    members = tuple(
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=member.assignment if assignments is None else assignments.get(member.member_id, b""),
        )
        for member in group.members.values()
    )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=state_timestamp,
        members=members,
    )
    return Record(GroupMetadataKey(group=group.group_id), value)


def group_tombstone(group_id: str) -> Record:
    """Return the record that deletes a group."""
    return Record(GroupMetadataKey(group=group_id), None)


def offset_tombstone(group_id: str, topic: str, partition: int) -> Record:
    """Return the record that deletes one committed offset."""
    return Record(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)


def settle(group: Group, value: GroupMetadataValue) -> None:
    """Bring a living group to what its record says: Stable with these assignments, or Empty."""
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.generation = value.generation
    group.leader_id = value.leader
    for kept in value.members:
        group.members[kept.member_id].assignment = kept.assignment
    state = GroupState.STABLE if value.members else GroupState.EMPTY
    if group.state is not state:
        group.enter(state, value.current_state_timestamp)


def restored_group(group_id: str, value: GroupMetadataValue, behaviour: Behaviour = LATEST) -> Group:
    """Build a group from its record: Stable if it lists members, else Empty.

    A member comes back with one protocol, the chosen one, and with its session timeout for a rebalance timeout
    where the record is too old to have one (`GroupMetadataManager.replay`).
    """
    group = Group(group_id, value.current_state_timestamp, behaviour)
    for kept in value.members:
        member = Member(
            member_id=kept.member_id,
            group_instance_id=kept.group_instance_id,
            client_id=kept.client_id,
            client_host=kept.client_host,
            rebalance_timeout_ms=kept.session_timeout if kept.rebalance_timeout == -1 else kept.rebalance_timeout,
            session_timeout_ms=kept.session_timeout,
            protocols=((value.protocol or "", kept.subscription),),
            assignment=kept.assignment,
        )
        group.add(member, value.protocol_type)
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.generation = value.generation
    group.leader_id = value.leader
    group.state = GroupState.STABLE if value.members else GroupState.EMPTY
    group.compute_subscribed_topics()
    return group
