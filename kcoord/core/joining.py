"""JoinGroup (key 11): who may join, under which id, and what joining does to the group.

The order of the checks is Apache Kafka 4's (`GroupMetadataManager.classicGroupJoin`): bounds of the session timeout
before anything about the group, the protocols before the membership.
"""

from copy import copy

from kcoord.core.answers import answer_held, fits, join_error, join_success, no_protocol_name
from kcoord.core.batches import too_large
from kcoord.core.group import Group, Member, Parked, Protocols
from kcoord.core.notes import (
    GroupCreated,
    JoinRefused,
    MemberIdHandedOut,
    MemberJoined,
    MemberRejoined,
    PendingMemberExpired,
    StaticMemberReplaced,
)
from kcoord.core.outcome import Context
from kcoord.core.rebalance import maybe_rebalance, note_expired, prepare_rebalance, try_complete
from kcoord.core.settings import NEW_MEMBER_JOIN_TIMEOUT_MS
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.tables import group_record
from wire.errors import ErrorCode
from wire.messages import JoinGroupRequest, JoinGroupResponse

REBALANCE_TIMEOUT_SINCE = 1
"""Version 0 has no rebalance timeout; the session timeout serves for it."""
MEMBER_ID_REQUIRED_SINCE = 4
"""KIP-394: a newcomer gets an id first and joins with it, so that a lost answer leaves no ghost member."""
SETTLED = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
SKIP_ASSIGNMENT_SINCE = 9
"""KIP-814: a static leader that came back may be told that it leads, without computing an assignment."""


class Join:
    """One JoinGroup on its way through the checks."""

    __slots__ = ("context", "parked", "protocols", "request")

    def __init__(self, token: object, context: Context, request: JoinGroupRequest) -> None:
        self.parked = Parked(token, context.version)
        self.context = context
        self.request = request
        self.protocols: Protocols = tuple((protocol.name, protocol.metadata) for protocol in request.protocols)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The rebalance timeout asked for, in ms."""
        if self.context.version < REBALANCE_TIMEOUT_SINCE:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms

    @property
    def reason(self) -> str:
        """Why the client says it joins (KIP-800)."""
        return self.request.reason or "not provided"

    def can_be_kept_as(self, member_id: str) -> bool:
        """Whether a member with this id could be stored and answered; Apache Kafka fails with -1 where it cannot."""
        request = self.request
        return fits(member_id, self.context.client_id, request.group_instance_id, request.protocol_type) and fits(
            *(name for name, _ in self.protocols)
        )

    def supported_by(self, group: Group) -> bool:
        """Whether the group can take a member with this type and these protocols."""
        return group.supports(self.request.protocol_type, (name for name, _ in self.protocols))


def join_group(step: Step, token: object, context: Context, request: JoinGroupRequest) -> None:
    """Answer a JoinGroup, or let it wait on its member."""
    join = Join(token, context, request)
    settings = step.tables.settings
    if not request.group_id:
        refuse(step, join, ErrorCode.INVALID_GROUP_ID, request.member_id)
        return
    shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not shortest <= request.session_timeout_ms <= longest:
        refuse(step, join, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        return
    group = step.tables.groups.get(request.group_id)
    if group is None:
        if request.member_id:
            refuse(step, join, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
            return
        if not fits(request.group_id):
            refuse(step, join, ErrorCode.UNKNOWN_SERVER_ERROR, "")
            return
        group = create_group(step, request.group_id)
    if not has_room(group, request.member_id, settings.group_max_size):
        turn_away(step, group, request.member_id)
        refuse(step, join, ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    elif not request.member_id:
        join_without_id(step, group, join)
    else:
        join_with_id(step, group, join)
    if step.behaviour.each_join_may_complete:
        try_complete(step, group)


def create_group(step: Step, group_id: str) -> Group:
    """Bring a group into being for a JoinGroup, whatever becomes of that: it is stored, and so listed."""
    if step.behaviour.stores_from_first_generation:
        step.tables.create(group_id, step.now.wall_ms)
    else:
        step.write(group_record(Group(group_id, step.now.wall_ms), step.now.wall_ms))
    step.note(GroupCreated(group=group_id))
    return step.tables.groups[group_id]


def has_room(group: Group, member_id: str, limit: int) -> bool:
    """Whether `group.max.size` lets this id in (KAFKA-7862). Ids that are only handed out do not count.

    In PreparingRebalance it is the members that have joined again who count, so that a group that shrinks to a
    lowered limit keeps the quickest.
    """
    if group.state is GroupState.EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        return (member is not None and member.parked_join is not None) or group.awaiting_joins < limit
    return member is not None or len(group.members) < limit


def turn_away(step: Step, group: Group, member_id: str) -> None:
    """Take an id out of the group for which there is no room; it may be that of a member that rejoined too late.

    Whether the others have all joined now is not looked at, in Kafka neither: they wait for the join timer.
    """
    step.cancel_session(group, member_id)
    pending = member_id in group.pending_joins
    member = group.remove(member_id)
    if member is not None:
        note_expired(step, group, member, "rejoined when group.max.size others had")
    elif pending:
        step.note(PendingMemberExpired(group=group.group_id, member=member_id))


def join_without_id(step: Step, group: Group, join: Join) -> None:
    """A newcomer, or a static member that lost its id in a restart."""
    request, context = join.request, join.context
    if not join.supported_by(group):
        refuse(step, join, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
        return
    instance_id = request.group_instance_id
    prefix = context.client_id if instance_id is None else instance_id
    member_id = f"{prefix}-{step.tables.new_id()}"
    if not join.can_be_kept_as(member_id):
        refuse(step, join, ErrorCode.UNKNOWN_SERVER_ERROR, "")
    elif instance_id is not None and instance_id in group.static_members:
        replace_static_member(step, group, join, instance_id, member_id)
    elif instance_id is None and context.version >= MEMBER_ID_REQUIRED_SINCE:
        group.pending_joins.add(member_id)
        step.set_session(group, member_id, request.session_timeout_ms)
        join_error(step, join.parked, ErrorCode.MEMBER_ID_REQUIRED, member_id)
        step.note(
            MemberIdHandedOut(
                group=group.group_id, member=member_id, client_id=context.client_id, host=context.client_host
            )
        )
    else:
        add_member(step, group, join, member_id)


def join_with_id(step: Step, group: Group, join: Join) -> None:
    """A member that joins again, or a newcomer that brings the id it was given."""
    request = join.request
    if not join.supported_by(group):
        refuse(step, join, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        return
    if request.member_id in group.pending_joins:
        if request.group_instance_id is not None or not join.can_be_kept_as(request.member_id):
            # No client does this: ids are only handed out to dynamic members. Apache Kafka throws here.
            refuse(step, join, ErrorCode.UNKNOWN_SERVER_ERROR, "")
        else:
            add_member(step, group, join, request.member_id)
        return
    error = group.check_member(request.member_id, request.group_instance_id, joining=True)
    if error is not ErrorCode.NONE:
        step.fenced(group, request.member_id, request.group_instance_id, "JoinGroup", error)
        refuse(step, join, error, request.member_id)
        return
    rejoin(step, group, join, group.members[request.member_id])


def add_member(step: Step, group: Group, join: Join, member_id: str) -> None:
    """Take a new member in; its JoinGroup waits, for five minutes at most (KAFKA-7610)."""
    request, context = join.request, join.context
    member = Member(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.client_id,
        client_host=context.client_host,
        rebalance_timeout_ms=join.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=join.protocols,
        is_new=True,
    )
    if group.in_initial_rebalance and not (step.behaviour.only_first_generation_extends and group.generation):
        group.new_member_added = True
    group.add(member, request.protocol_type)
    group.park_join(member, join.parked)
    step.set_session(group, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
    step.note(
        MemberJoined(
            group=group.group_id,
            member=member_id,
            instance=member.group_instance_id,
            client_id=member.client_id,
            host=member.client_host,
            reason=join.reason,
        )
    )
    maybe_rebalance(step, group, f"new member {member_id} joined; client reason: {join.reason}")


def rejoin(step: Step, group: Group, join: Join, member: Member) -> None:
    """A member of the group sends JoinGroup again."""
    unchanged = join.protocols == member.protocols
    if group.state is GroupState.PREPARING_REBALANCE:
        wait_again(step, group, join, member)
        try_complete(step, group)
    elif unchanged and (group.state is GroupState.COMPLETING_REBALANCE or group.leader_id != member.member_id):
        # The answer was lost, or a follower asks again: nothing changes for anybody.
        join_success(step, join.parked, group, member)
    else:
        # A leader that joins again in Stable asks for a rebalance: it saw topics change (KAFKA-2486).
        wait_again(step, group, join, member)
        what = "changed its protocols" if not unchanged else "leads and asks for a rebalance"
        prepare_rebalance(
            step, group, f"member {member.member_id} joined again and {what}; client reason: {join.reason}"
        )


def wait_again(step: Step, group: Group, join: Join, member: Member) -> None:
    """Let a member's JoinGroup wait, with what it says now about protocols and timeouts.

    One that waited already is answered REBALANCE_IN_PROGRESS, upon which clients join again. Apache Kafka forgets it
    instead; its connection, which can only be an abandoned one, then never gets an answer.
    """
    if not step.behaviour.rejoining_keeps_timeouts:
        member.rebalance_timeout_ms = join.rebalance_timeout_ms
        member.session_timeout_ms = join.request.session_timeout_ms
    group.change_protocols(member, join.protocols)
    superseded = group.park_join(member, join.parked)
    if superseded is not None:
        join_error(step, superseded, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
    step.note(
        MemberRejoined(
            group=group.group_id,
            member=member.member_id,
            instance=member.group_instance_id,
            reason=join.reason,
        )
    )


def replace_static_member(step: Step, group: Group, join: Join, instance_id: str, member_id: str) -> None:
    """A static member came back without its id: it goes on under a new one, and the old one is fenced (KIP-345).

    In Stable nobody else notices, unless the group would choose another protocol now. It is stored then; if there is
    no room for that, the member stays who it was.
    """
    leader_before = group.leader_id
    member = group.members[group.static_members[instance_id]]
    before = copy(member)
    replaced = group.rename_static(instance_id, member_id)
    answer_held(step, group, member, ErrorCode.FENCED_INSTANCE_ID, replaced)
    step.cancel_session(group, replaced)
    step.restart_session(group, member)
    if not step.behaviour.rejoining_keeps_timeouts:
        member.rebalance_timeout_ms = join.rebalance_timeout_ms
        member.session_timeout_ms = join.request.session_timeout_ms
    group.change_protocols(member, join.protocols)
    stays = step.behaviour.restarts_never_rebalance and group.state in SETTLED
    stays = stays or (group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name)
    record = group_record(group, group.state_timestamp) if stays and group.state is GroupState.STABLE else None
    if record is not None and too_large(step.tables.settings, [record]):
        refuse_replacement(step, group, join, before)
        return
    step.note(
        StaticMemberReplaced(
            group=group.group_id,
            member=member_id,
            instance=instance_id,
            replaced=replaced,
            client_id=join.context.client_id,
            host=join.context.client_host,
        )
    )
    if stays:
        if record is not None:
            step.write(record)
        if join.context.version >= SKIP_ASSIGNMENT_SINCE:
            skip = group.leader_id == member_id
            join_success(step, join.parked, group, member, skip_assignment=skip)
        else:
            join_success(step, join.parked, group, member, leader=leader_before)
        return
    group.park_join(member, join.parked)
    maybe_rebalance(step, group, f"static member {instance_id} came back with other protocols or amid a rebalance")


def refuse_replacement(step: Step, group: Group, join: Join, before: Member) -> None:
    """Say that a static member cannot be stored under another id, and let it be who it was `before`.

    The answer tells the generation and the leader as to a member, and no member id
    (`GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin`, where the append fails).
    """
    assert before.group_instance_id is not None
    member_id = group.rename_static(before.group_instance_id, before.member_id)
    step.cancel_session(group, member_id)
    member = group.members[before.member_id]
    group.change_protocols(member, before.protocols)
    member.rebalance_timeout_ms, member.session_timeout_ms = before.rebalance_timeout_ms, before.session_timeout_ms
    step.restart_session(group, member)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    step.reply(
        join.parked.token,
        JoinGroupResponse(
            error_code=error,
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name or no_protocol_name(join.parked.version),
            leader=group.leader_id or "",
        ),
    )
    note_refusal(step, join, error)


def refuse(step: Step, join: Join, error: ErrorCode, member_id: str) -> None:
    """Answer with an error and note it."""
    join_error(step, join.parked, error, member_id)
    note_refusal(step, join, error)


def note_refusal(step: Step, join: Join, error: ErrorCode) -> None:
    """Note that a JoinGroup was refused."""
    step.note(
        JoinRefused(
            group=join.request.group_id,
            member=join.request.member_id,
            client_id=join.context.client_id,
            host=join.context.client_host,
            error=error.name,
        )
    )
