"""SyncGroup (key 14): the leader hands in the assignment, everybody fetches its own.

The member and the generation are checked before the state (`GroupMetadataManager.classicGroupSync`), so a stale
generation is ILLEGAL_GENERATION in a join phase, too. That versions from 5 on must name type and protocol is
checked before the coordinator is asked at all, and so not here.
"""

from kcoord.core.answers import sync_error, sync_success
from kcoord.core.batches import too_large
from kcoord.core.group import Group, Parked
from kcoord.core.notes import GroupStabilized
from kcoord.core.outcome import Context
from kcoord.core.rebalance import answer_sync_with_error, prepare_rebalance, synced
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.tables import group_record
from wire.errors import ErrorCode
from wire.messages import SyncGroupRequest


def sync_group(step: Step, token: object, context: Context, request: SyncGroupRequest) -> None:
    """Answer a SyncGroup, or let it wait for the leader's."""
    parked = Parked(token, context.version)
    group = step.tables.groups.get(request.group_id)
    error = check_sync(step, group, request)
    if group is None or error is not ErrorCode.NONE:
        sync_error(step, parked, error)
        return
    member = group.members[request.member_id]
    if group.state is GroupState.STABLE:
        synced(step, group, member)
        sync_success(step, parked, group, member)
        if step.behaviour.sync_restarts_session:
            step.restart_session(group, member)
        return
    if member.parked_sync is not None:
        # The same member asks on another connection; the first one is not left without an answer.
        sync_error(step, member.parked_sync, ErrorCode.REBALANCE_IN_PROGRESS)
    member.parked_sync = parked
    synced(step, group, member)
    if group.leader_id == member.member_id:
        # Of two entries for one member the last one counts; who is no member is left out, who is left out gets b"".
        complete_sync(step, group, {one.member_id: one.assignment for one in request.assignments})


def check_sync(step: Step, group: Group | None, request: SyncGroupRequest) -> ErrorCode:
    """Return the error that a SyncGroup meets, or NONE."""
    if not request.group_id:
        return step.no_group_id
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        step.fenced(group, request.member_id, request.group_instance_id, "SyncGroup", error)
        return error
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if differs(request.protocol_type, group.protocol_type) or differs(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def differs(named: str | None, actual: str | None) -> bool:
    """Whether the request names something (KIP-559) that the group has otherwise."""
    return named is not None and actual is not None and named != actual


def complete_sync(step: Step, group: Group, assignments: dict[str, bytes]) -> None:
    """Store the leader's assignment; the group is Stable, and everybody that waits gets its own part.

    The record is made before the group becomes Stable, and so tells since when it has waited for the assignment.
    """
    record = group_record(group, group.state_timestamp, assignments)
    if too_large(step.tables.settings, [record]):
        refuse_assignments(step, group)
        return
    step.write(record)
    group.state_timestamp = step.now.wall_ms
    step.note(
        GroupStabilized(
            group=group.group_id,
            generation=group.generation,
            leader=group.leader_id or "",
            members=len(group.members),
        )
    )
    for member in group.members.values():
        if member.parked_sync is not None:
            sync_success(step, member.parked_sync, group, member)
            member.parked_sync = None
            step.restart_session(group, member)


def refuse_assignments(step: Step, group: Group) -> None:
    """The group's record has no room for what the leader wants: everybody that waits is told so, and is to join again.

    (`GroupMetadataManager.classicGroupSyncToClassicGroup`, where the append fails.) The subscriptions count, too.
    """
    for member in group.members.values():
        answer_sync_with_error(step, group, member, ErrorCode.UNKNOWN_SERVER_ERROR)
    prepare_rebalance(step, group, "what the leader assigned is too large to be stored")
