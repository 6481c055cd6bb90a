"""The answers to JoinGroup and SyncGroup, which several rules give: at once, or much later to a held request."""

from kcoord.core.group import Group, Member, Parked
from kcoord.core.step import Step
from wire.errors import ErrorCode
from wire.messages import JoinGroupResponse, JoinGroupResponseMember, SyncGroupResponse

NULLABLE_PROTOCOL_NAME = 7
"""The JoinGroup version from which an error carries a null protocol name instead of an empty one (KIP-559)."""


LONGEST_TEXT = 32_767
"""Bytes of UTF-8 that a string may have on the wire and in a record."""


def fits(*texts: str | None) -> bool:
    """Whether these texts can be sent and stored.

    What a client sends does fit, but an id that is built from it may not, nor may text that was no UTF-8: each
    byte of that was replaced by a character of three.
    """
    most_bytes_a_character = 4
    return all(
        text is None
        or len(text) <= LONGEST_TEXT // most_bytes_a_character
        or len(text.encode("utf-8", "surrogatepass")) <= LONGEST_TEXT
        for text in texts
    )


def no_protocol_name(version: int) -> str | None:
    """How a JoinGroup answer of this version says that there is no protocol; one that is named "" counts as none."""
    return None if version >= NULLABLE_PROTOCOL_NAME else ""


def join_error(step: Step, parked: Parked, error: ErrorCode, member_id: str) -> None:
    """Answer a JoinGroup with an error; everything but the error and the member id is empty."""
    step.reply(
        parked.token,
        JoinGroupResponse(
            error_code=error,
            generation_id=step.behaviour.error_generation,
            protocol_name=no_protocol_name(parked.version),
            member_id=member_id,
        ),
    )


def join_success(
    step: Step,
    parked: Parked,
    group: Group,
    member: Member,
    *,
    leader: str | None = None,
    skip_assignment: bool = False,
) -> None:
    """Answer a JoinGroup with the current generation; the leader, and only it, gets the list of members.

    `leader` names another leader than the group's: a static leader that came back below version 9 is not told that
    it leads (KIP-814).
    """
    told = group.leader_id if leader is None else leader
    members: list[JoinGroupResponseMember] = []
    if told == member.member_id:
        members = [
            JoinGroupResponseMember(
                member_id=other.member_id,
                group_instance_id=other.group_instance_id,
                metadata=other.metadata(group.protocol_name),
            )
            for other in group.members.values()
        ]
    step.reply(
        parked.token,
        JoinGroupResponse(
            error_code=ErrorCode.NONE,
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name or no_protocol_name(parked.version),
            leader=told or "",
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=members,
        ),
    )


def sync_error(step: Step, parked: Parked, error: ErrorCode) -> None:
    """Answer a SyncGroup with an error and no assignment."""
    step.reply(parked.token, SyncGroupResponse(error_code=error))


def sync_success(step: Step, parked: Parked, group: Group, member: Member) -> None:
    """Answer a SyncGroup with the member's assignment, which may be empty."""
    step.reply(
        parked.token,
        SyncGroupResponse(
            error_code=ErrorCode.NONE,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            assignment=member.assignment,
        ),
    )


def answer_held(step: Step, group: Group, member: Member, error: ErrorCode, member_id: str) -> None:
    """Answer with an error whatever `member` has waiting; `member_id` is what a JoinGroup's answer names."""
    parked_join = group.take_join(member)
    if parked_join is not None:
        join_error(step, parked_join, error, member_id)
    if member.parked_sync is not None:
        sync_error(step, member.parked_sync, error)
        member.parked_sync = None
