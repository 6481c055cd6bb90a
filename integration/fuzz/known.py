"""The differences that are meant, each with its reason. They are in the README, under "How it differs".

The first broker is Apache Kafka here, the second one kcoord. What is not listed here is a difference to be reported.
"""

from dataclasses import dataclass
from typing import Any

from integration.fuzz.requests import Asked
from wire.errors import ErrorCode
from wire.messages import (
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListGroupsResponse,
    SyncGroupRequest,
)

SENT_AGAIN = "a JoinGroup or SyncGroup that is held and sent again is answered, where Kafka leaves it without an answer"
LEFT = "a held SyncGroup of a member that leaves is answered, where Kafka leaves it without an answer"
BEHIND = "what waits behind a request that only kcoord answers is carried out by kcoord alone"
LEADER = "who leads after the leader is gone is left to the order of a hash map in Kafka"
UNSEEN = "a group of which nothing is written is seen as soon as others of its partition write something"


@dataclass(frozen=True)
class Asking:
    """A request on its way, with what was asked later of both brokers."""

    asked: Asked
    later: list[Asked]


def never_answered(asking: Asking, answer: Any) -> str | None:
    """Why only kcoord answers this, or None if it is not meant to."""
    request = asking.asked.request
    error = getattr(answer, "error_code", None)
    if not isinstance(request, (JoinGroupRequest, SyncGroupRequest)):
        return None
    later = [one.request for one in asking.later]
    again = any(type(one) is type(request) and who(one) == who(request) for one in later)
    if error == ErrorCode.REBALANCE_IN_PROGRESS and again:
        return SENT_AGAIN
    if error == ErrorCode.UNKNOWN_MEMBER_ID and isinstance(request, SyncGroupRequest):
        for one in later:
            if isinstance(one, LeaveGroupRequest) and one.group_id == request.group_id and names(one, request):
                return LEFT
    return None


def who(request: Any) -> tuple[str, str]:
    """The group and the member that a request is from."""
    return request.group_id, request.member_id


def names(leaving: LeaveGroupRequest, request: SyncGroupRequest) -> bool:
    """Whether a LeaveGroup may be about the member that a SyncGroup is from."""
    ids = {leaving.member_id, *(one.member_id for one in leaving.members)}
    instances = {one.group_instance_id for one in leaving.members if not one.member_id}
    # A SyncGroup need not say under which instance id its member is known: that is in the member id.
    return request.member_id in ids or any(request.member_id.startswith(f"<{each}#") for each in instances)


def other_choice(first: Any, second: Any, leaders: set[str]) -> str | None:
    """Why two answers to a JoinGroup may differ, or None. `leaders` are who led when the brokers last agreed."""
    if not isinstance(first, JoinGroupResponse) or not isinstance(second, JoinGroupResponse):
        return None
    if first.error_code or second.error_code or first.generation_id != second.generation_id:
        return None
    if first.leader != second.leader and not {first.leader, second.leader} & leaders:
        return LEADER
    return None


def unseen(first: Any, second: Any, begun: set[str]) -> str | None:
    """Why a group is there for one broker and not for the other, or None.

    `begun` are the groups whose metadata was too long when they were first committed to. They are there from then on,
    but who looks at groups sees what is written, and that they never are before their first assignment: a JoinGroup
    only writes of a group that it brings into being. Which groups of others are in the same partition, and when they
    write something, is not up to a sequence. Kafka writes records together that come within some milliseconds
    (`group.coordinator.append.linger.ms`), and then sees all that was there when it wrote, also what came after them.
    """
    if not isinstance(first, (DescribeGroupsResponse, ListGroupsResponse)) or type(first) is not type(second):
        return None
    hidden = {group for group in begun if is_hidden(states(first, group), states(second, group))}
    return UNSEEN if without(first, hidden) == without(second, hidden) else None


def states(answer: Any, group_id: str) -> set[str]:
    """Return the state in which a group is, in a set; nothing if it is not there."""
    return {one.group_state for one in answer.groups if one.group_id == group_id} - {"Dead"}


def is_hidden(first: set[str], second: set[str]) -> bool:
    """Whether one broker does not see a group of which nothing need be written yet."""
    return not (first and second) and "Stable" not in first | second


def without(answer: Any, hidden: set[str]) -> list[Any]:
    """Return the groups of an answer, but those."""
    return [one for one in answer.groups if one.group_id not in hidden]
