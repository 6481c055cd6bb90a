"""What somebody beside the clients may do to groups: tests and operators, through `Coordinator.operate`.

Each operation is a step like a request: its records are written before it is answered, what it changes is noted, and
clients meet nothing that a coordinator could not do to them by itself. Its answer is an `Answer` and no message.

Rebalance   every member has to join again, and nobody is added
Expire      a member is put out as if its session had ended
Fence       a static member's place is taken by another client of its instance id
SetOffsets  committed offsets become these, whoever is in the group
KeepAlive   these members count as heard of at a moment that is yet to come
Remove      a group is no more, whoever is in it
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeAlias

from kcoord.core.answers import answer_held, fits
from kcoord.core.batches import utf16_length
from kcoord.core.group import Group
from kcoord.core.joining import Join, replace_static_member
from kcoord.core.listing import delete_group
from kcoord.core.notes import GroupCreated, OffsetsCommitted, OffsetsDeleted
from kcoord.core.offsets import NO_EPOCH
from kcoord.core.outcome import Context, Record
from kcoord.core.rebalance import expel, maybe_rebalance, on_session_timeout
from kcoord.core.step import Step
from kcoord.core.tables import offset_tombstone
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest, JoinGroupRequestProtocol
from wire.payloads import OffsetCommitKey, OffsetCommitValue

IMPOSTOR = Context(9, "impostor", "/127.0.0.1")
"""Who takes a static member's place: a client of that name, with JoinGroup 9."""
MOST_OFFSET = 2**63 - 1
MOST_PARTITION = 2**31 - 1


class Problem(Enum):
    """Why an operation was not carried out."""

    UNKNOWN = "the group, member or instance id is not known"
    IMPOSSIBLE = "it cannot be done"
    UNAVAILABLE = "the group's coordinator does not serve"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of an operation: with a `problem` nothing of it was done, and `sentence` says why."""

    problem: Problem | None = None
    sentence: str = ""


DONE = Answer()


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Let every member of a group join again. A group in its join phase has asked for that already."""

    group_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Expire:
    """Put a member out as if its session had ended, also one whose held request keeps the session from ending.

    `member` is a member id (or one that was only handed out), an instance id, or a client id that one member has.
    """

    group_id: str
    member: str


@dataclass(frozen=True, slots=True)
class Fence:
    """Give a static member's place to an impostor, with a new member id and the same protocols and timeouts.

    Whoever held it meets FENCED_INSTANCE_ID from now on (KIP-345). `impostor` is the token to which the impostor's
    JoinGroup is answered, at once or when the join phase is over.
    """

    group_id: str
    instance_id: str
    impostor: object


@dataclass(frozen=True, slots=True)
class NewOffset:
    """What a partition's committed offset is to be; `offset` None deletes it."""

    topic: str
    partition: int
    offset: int | None
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class SetOffsets:
    """Let these offsets be committed. An unknown group comes into being, as by a commit without membership."""

    group_id: str
    offsets: tuple[NewOffset, ...]


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Let sessions start anew, of these member ids by group; ids that are no members, or no more, are passed over.

    A first JoinGroup has a deadline of its own, which no heartbeat moves (KAFKA-7610).
    """

    members: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Remove:
    """Let a group be no more, with its members, what they wait for (UNKNOWN_MEMBER_ID), and its offsets."""

    group_id: str
    why: str


Operation: TypeAlias = Rebalance | Expire | Fence | SetOffsets | KeepAlive | Remove


def operate(step: Step, token: object, operation: Operation) -> None:
    """Carry an operation out, or say why not, and answer `token`."""
    step.reply(token, RULES[type(operation)](step, operation))


def rebalance(step: Step, wanted: Rebalance) -> Answer:
    """Open the join phase."""
    group = step.tables.groups.get(wanted.group_id)
    if group is None:
        return unknown_group(wanted.group_id)
    if not group.members:
        return Answer(Problem.IMPOSSIBLE, f"group {group.group_id} has no members that could join again")
    maybe_rebalance(step, group, f"asked for by an operator: {wanted.reason or 'not provided'}")
    return DONE


def expire(step: Step, wanted: Expire) -> Answer:
    """Put one member, or one handed-out id, out."""
    group = step.tables.groups.get(wanted.group_id)
    if group is None:
        return unknown_group(wanted.group_id)
    found = find_member(group, wanted.member)
    if isinstance(found, Answer):
        return found
    step.cancel_session(group, found)
    if found in group.pending_joins:
        on_session_timeout(step, group, found)
        return DONE
    member = group.members[found]
    answer_held(step, group, member, ErrorCode.UNKNOWN_MEMBER_ID, "")
    expel(step, group, member, "an operator ended its session", "as an operator wished")
    return DONE


def find_member(group: Group, name: str) -> str | Answer:
    """Return the member id that `name` stands for: itself, or whose instance id or client id it is."""
    if name in group.members or name in group.pending_joins:
        return name
    if name in group.static_members:
        return group.static_members[name]
    named = [member.member_id for member in group.members.values() if member.client_id == name]
    if len(named) == 1:
        return named[0]
    if named:
        return Answer(
            Problem.IMPOSSIBLE,
            f"group {group.group_id} has {len(named)} members with the client id {name}: name one by its member id",
        )
    return Answer(Problem.UNKNOWN, f"group {group.group_id} has no member {name}")


def fence(step: Step, wanted: Fence) -> Answer:
    """Let another client come under the instance id."""
    group = step.tables.groups.get(wanted.group_id)
    if group is None:
        return unknown_group(wanted.group_id)
    held_by = group.static_members.get(wanted.instance_id)
    if held_by is None:
        return Answer(Problem.UNKNOWN, f"group {group.group_id} has no static member {wanted.instance_id}")
    member = group.members[held_by]
    request = JoinGroupRequest(
        group_id=group.group_id,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        group_instance_id=wanted.instance_id,
        protocol_type=group.protocol_type or "",
        protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in member.protocols],
    )
    join = Join(wanted.impostor, IMPOSTOR, request)
    replace_static_member(step, group, join, wanted.instance_id, f"{wanted.instance_id}-{step.tables.new_id()}")
    return DONE


def set_offsets(step: Step, wanted: SetOffsets) -> Answer:
    """Write or delete each offset, or none of them."""
    wrong = wrong_with(step, wanted)
    if wrong:
        return Answer(Problem.IMPOSSIBLE, wrong)
    kept = [one for one in wanted.offsets if one.offset is not None]
    if kept and wanted.group_id not in step.tables.groups:
        step.note(GroupCreated(group=wanted.group_id))
    deleted = 0
    for one in wanted.offsets:
        if one.offset is not None:
            step.write(offset_record(step, wanted.group_id, one, one.offset))
        elif (one.topic, one.partition) in step.tables.offsets.get(wanted.group_id, {}):
            step.write(offset_tombstone(wanted.group_id, one.topic, one.partition))
            deleted += 1
    if kept:
        step.note(OffsetsCommitted(group=wanted.group_id, member="", generation=-1, partitions=len(kept)))
    if deleted:
        step.note(OffsetsDeleted(group=wanted.group_id, partitions=deleted))
    return DONE


def wrong_with(step: Step, wanted: SetOffsets) -> str:
    """Return what makes the offsets impossible, or ""."""
    if not wanted.group_id or not fits(wanted.group_id):
        return "a group's id must have at least one character, and at most 32767 bytes"
    longest = step.tables.settings.offset_metadata_max_bytes
    for one in wanted.offsets:
        place = f"{one.topic}-{one.partition}"
        if not one.topic or not fits(one.topic) or not 0 <= one.partition <= MOST_PARTITION:
            return f"{place} is no partition of a topic"
        if one.offset is not None and not 0 <= one.offset <= MOST_OFFSET:
            return f"the offset of {place} is {one.offset}: it must be from 0 to {MOST_OFFSET}"
        if utf16_length(one.metadata) > longest or not fits(one.metadata):
            return f"the metadata of {place} is longer than offset.metadata.max.bytes, which is {longest}"
    return ""


def offset_record(step: Step, group_id: str, one: NewOffset, offset: int) -> Record:
    """Return the record that a commit of this offset now would write."""
    return Record(
        OffsetCommitKey(group=group_id, topic=one.topic, partition=one.partition),
        OffsetCommitValue(
            offset=offset, leader_epoch=NO_EPOCH, metadata=one.metadata, commit_timestamp=step.now.wall_ms
        ),
    )


def keep_alive(step: Step, wanted: KeepAlive) -> Answer:
    """Start the sessions anew, at the step's own time."""
    for group_id, member_ids in wanted.members.items():
        group = step.tables.groups.get(group_id)
        if group is not None:
            for member in group.members.values():
                if member.member_id in member_ids and not member.is_new:
                    step.restart_session(group, member)
    return DONE


def remove(step: Step, wanted: Remove) -> Answer:
    """Send everybody away, and forget the group."""
    group = step.tables.groups.get(wanted.group_id)
    if group is None:
        return unknown_group(wanted.group_id)
    for member in group.members.values():
        answer_held(step, group, member, ErrorCode.UNKNOWN_MEMBER_ID, "")
        step.cancel_session(group, member.member_id)
    step.tables.timers.cancel(("join", group.group_id))
    step.tables.timers.cancel(("sync", group.group_id))
    delete_group(step, group, wanted.why)
    return DONE


def unknown_group(group_id: str) -> Answer:
    """Return the answer for a group that there is not."""
    return Answer(Problem.UNKNOWN, f"there is no group {group_id}")


RULES: Mapping[type, Callable[[Step, Any], Answer]] = MappingProxyType(
    {
        Rebalance: rebalance,
        Expire: expire,
        Fence: fence,
        SetOffsets: set_offsets,
        KeepAlive: keep_alive,
        Remove: remove,
    }
)
