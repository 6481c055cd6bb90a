"""A kcoord in which several checks come in another order: `python -m integration.fuzz.swapped serve`.

Where one thing is wrong about a request it answers as it should; where two are, which a client hardly ever sends, it
names the other one. So it tells whether a run of sequences would notice such a mistake.
"""

from collections.abc import Callable
from typing import Any

from kcoord.cli import main
from kcoord.core import joining, membership, offsets, syncing
from kcoord.core.states import GroupState
from wire.errors import ErrorCode

SWAPS = {
    ("SyncGroup", ErrorCode.ILLEGAL_GENERATION, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ("SyncGroup", ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.REBALANCE_IN_PROGRESS),
    ("Heartbeat", ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION),
    ("OffsetCommit", ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS),
    ("JoinGroup", ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.UNKNOWN_MEMBER_ID),
    ("JoinGroup", ErrorCode.INVALID_SESSION_TIMEOUT, ErrorCode.UNKNOWN_MEMBER_ID),
}
"""The request, what comes first in Kafka, and what comes first here."""


def sync(right: Callable[..., ErrorCode], step: Any, group: Any, request: Any) -> ErrorCode:
    """Look at the protocol before the generation, and at the state before the protocol."""
    error = right(step, group, request)
    types, names = (request.protocol_type, "protocol_type"), (request.protocol_name, "protocol_name")
    if error is ErrorCode.ILLEGAL_GENERATION:
        if any(syncing.differs(named, getattr(group, field)) for named, field in (types, names)):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    elif error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL and group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


def heartbeat(right: Callable[..., ErrorCode], step: Any, request: Any) -> ErrorCode:
    """Look at the generation before the instance id."""
    error = right(step, request)
    group = step.tables.groups.get(request.group_id)
    if error is ErrorCode.FENCED_INSTANCE_ID and request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def commit(right: Callable[..., ErrorCode], step: Any, group: Any, context: Any, request: Any) -> ErrorCode:
    """Look at the state before the generation."""
    error = right(step, group, context, request)
    if error is ErrorCode.ILLEGAL_GENERATION and group is not None and group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


def refuse(right: Callable[..., None], step: Any, join: Any, error: ErrorCode, member_id: str) -> None:
    """Look at the membership before the protocols, and at whether there is such a group before the session timeout."""
    request = join.request
    group = step.tables.groups.get(request.group_id)
    known = group is not None and (request.member_id in group.members or request.member_id in group.pending_joins)
    if request.member_id and not known:
        absent = error is ErrorCode.INVALID_SESSION_TIMEOUT and group is None
        if absent or error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            error = ErrorCode.UNKNOWN_MEMBER_ID
    right(step, join, error, member_id)


PUT: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (syncing, "check_sync", sync),
    (membership, "check_heartbeat", heartbeat),
    (offsets, "check_commit", commit),
    (joining, "refuse", refuse),
)
"""In which module which function is another one."""


def put(module: Any, name: str, swapped: Callable[..., Any]) -> None:
    """Let a function be another one, which is given the one that there was."""
    right = getattr(module, name)
    setattr(module, name, lambda *arguments: swapped(right, *arguments))


if __name__ == "__main__":
    for each in PUT:
        put(*each)
    main()
