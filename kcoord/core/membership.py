"""Heartbeat (key 12) and LeaveGroup (key 13)."""

from kcoord.core.answers import answer_held
from kcoord.core.group import Group
from kcoord.core.notes import MemberLeft
from kcoord.core.outcome import Context
from kcoord.core.rebalance import prepare_rebalance, try_complete
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from wire.errors import ErrorCode
from wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

LEAVE_MANY_SINCE = 3
"""KIP-345: from this version on LeaveGroup names several members and answers for each."""


def heartbeat(step: Step, token: object, _context: Context, request: HeartbeatRequest) -> None:
    """Answer a Heartbeat; a good one, and one in a join phase, starts the session anew."""
    step.reply(token, HeartbeatResponse(error_code=check_heartbeat(step, request)))


def check_heartbeat(step: Step, request: HeartbeatRequest) -> ErrorCode:
    """Return the heartbeat's error code, and let it count (`GroupMetadataManager.classicGroupHeartbeat`)."""
    if not request.group_id:
        return step.no_group_id
    group = step.tables.groups.get(request.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        step.fenced(group, request.member_id, request.group_instance_id, "Heartbeat", error)
        return error
    if group.state is GroupState.COMPLETING_REBALANCE and step.behaviour.heartbeats_wait_for_sync:
        return ErrorCode.REBALANCE_IN_PROGRESS
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    step.restart_session(group, group.members[request.member_id])
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave_group(step: Step, token: object, context: Context, request: LeaveGroupRequest) -> None:
    """Let members go, one or several; the group looks once, at the end, whether that changes anything.

    Up to version 2 a request names one member, whose error is the answer's own.
    """
    if not request.group_id:
        step.reply(token, LeaveGroupResponse(error_code=step.no_group_id))
        return
    many = context.version >= LEAVE_MANY_SINCE
    leaving = request.members if many else [MemberIdentity(member_id=request.member_id)]
    group = step.tables.groups.get(request.group_id)
    if step.behaviour.leaves_one_by_one:
        results = [result for one in leaving for result in leave_together(step, group, [one])]
    else:
        results = leave_together(step, group, leaving)
    if many:
        step.reply(token, LeaveGroupResponse(error_code=ErrorCode.NONE, members=results))
    else:
        step.reply(token, LeaveGroupResponse(error_code=results[0].error_code))


def leave_together(step: Step, group: Group | None, leaving: list[MemberIdentity]) -> list[MemberResponse]:
    """Let members go, and look once what that means to the group."""
    handed_out = 0 if group is None else len(group.pending_joins)
    results = [
        MemberResponse(
            member_id=one.member_id,
            group_instance_id=one.group_instance_id,
            error_code=ErrorCode.UNKNOWN_MEMBER_ID if group is None else leave(step, group, one),
        )
        for one in leaving
    ]
    gone = [identity for identity, one in zip(leaving, results, strict=True) if one.error_code == ErrorCode.NONE]
    if group is not None and gone:
        disturbs = step.behaviour.pending_leave_rebalances or len(group.pending_joins) == handed_out
        if group.state is GroupState.PREPARING_REBALANCE:
            try_complete(step, group)
        elif group.state is not GroupState.EMPTY and disturbs:
            prepare_rebalance(step, group, why_gone(gone))
    return results


def why_gone(gone: list[MemberIdentity]) -> str:
    """Return why the group rebalances: who is gone, and the reasons that were given (KIP-800), each once.

    Apache Kafka logs the reasons of each member by themselves, and those of joins as it is done here.
    """
    who = ", ".join(one.member_id or one.group_instance_id or "" for one in gone)
    reasons = ", ".join(dict.fromkeys(one.reason for one in gone if one.reason))
    return f"explicit removal of {who}; client reason: {reasons}" if reasons else f"explicit removal of {who}"


def leave(step: Step, group: Group, identity: MemberIdentity) -> ErrorCode:
    """Let one member go; an id that was only handed out goes as well, and a static member by its instance id alone."""
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id in group.pending_joins:
        pass
    elif not member_id and instance_id is not None:
        if instance_id not in group.static_members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = group.static_members[instance_id]
    else:
        error = group.check_member(member_id, instance_id)
        if error is not ErrorCode.NONE:
            step.fenced(group, member_id, instance_id, "LeaveGroup", error)
            return error
    let_go(step, group, member_id, identity.reason or "not provided")
    return ErrorCode.NONE


def let_go(step: Step, group: Group, member_id: str, reason: str) -> None:
    """Take an id out of the group, and answer whatever it had waiting: UNKNOWN_MEMBER_ID, for that it is now.

    Apache Kafka does not answer a held SyncGroup here, which then hangs until the client gives up on it.
    """
    step.cancel_session(group, member_id)
    member = group.members.get(member_id)
    if member is not None:
        answer_held(step, group, member, ErrorCode.UNKNOWN_MEMBER_ID, "")
    group.remove(member_id)
    step.note(
        MemberLeft(
            group=group.group_id,
            member=member_id,
            instance=member.group_instance_id if member is not None else None,
            reason=reason,
        )
    )
