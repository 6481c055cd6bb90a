"""An error, put where each API of the coordinator has its place for one.

Used where no rule of a group has spoken: the partition is loading, is not owned, or could not be written.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kcoord.core.answers import no_protocol_name
from kcoord.core.settings import GroupSettings
from wire.errors import ErrorCode
from wire.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    SyncGroupRequest,
    SyncGroupResponse,
)

UNKNOWN_GENERATION = -1
"""The generation of a JoinGroup's answer where no rule of a group has spoken."""
_MANY_GROUPS_SINCE = 8
"""OffsetFetch 8 asks for several groups (KIP-709)."""

_GROUP_ERRORS = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


def group_error(code: ErrorCode) -> ErrorCode:
    """Return what a group's client is told when writing its records failed with `code`.

    Apache Kafka `CoordinatorOperationExceptionHelper`; codes that are not in its list pass unchanged.
    """
    return _GROUP_ERRORS.get(code, code)


def error_response(request: Any, version: int, code: ErrorCode) -> Any:
    """Return the response to `request` in that version that says `code` and nothing else.

    Requests are those that the coordinator takes; OffsetFetch in its many-groups form.
    """
    return _PLACES[type(request)](request, version, code)


def is_the_coordinators(request: Any) -> bool:
    """Whether a request is one that the coordinator takes, and so has a place for any error."""
    return type(request) in _PLACES


def answer_in_place_of(request: Any, version: int) -> Any:
    """Return what is sent where the true answer has no bytes: UNKNOWN_SERVER_ERROR, and as little else as can be.

    That is an answer with an id in it that is longer than a string may be (Apache Kafka `KafkaApis.handleError`).
    """
    if isinstance(request, OffsetFetchRequest) and version < _MANY_GROUPS_SINCE:
        return OffsetFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return error_response(request, version, ErrorCode.UNKNOWN_SERVER_ERROR)


def refusal(request: Any, version: int, code: ErrorCode, settings: GroupSettings) -> Any:
    """Return the response while no coordinator is in memory: `code` says why there is none.

    What Kafka checks before it looks for the coordinator comes first (`GroupCoordinatorService`): an empty
    group id where that is an error, and the bounds of the session timeout. A Heartbeat during loading is
    answered NONE, so that nobody rejoins for that. Releases before 4.0 differ as their `Behaviour` says.
    """
    behaviour = settings.behaviour
    needs_group_id = (JoinGroupRequest,) if behaviour.empty_group_id_refused_by_join_only else _NEEDS_GROUP_ID
    if isinstance(request, needs_group_id) and not request.group_id:
        code = ErrorCode.INVALID_GROUP_ID
    elif (
        isinstance(request, JoinGroupRequest)
        and behaviour.session_bounds_first
        and not (
            settings.group_min_session_timeout_ms <= request.session_timeout_ms <= settings.group_max_session_timeout_ms
        )
    ):
        code = ErrorCode.INVALID_SESSION_TIMEOUT
    elif isinstance(request, SyncGroupRequest) and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        code = behaviour.sync_while_loading
    elif isinstance(request, HeartbeatRequest) and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        code = ErrorCode.NONE
    answer = error_response(request, version, code)
    if isinstance(answer, JoinGroupResponse):
        answer.generation_id = behaviour.error_generation
    return answer


_NEEDS_GROUP_ID = (
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    OffsetDeleteRequest,
)
_BEFORE_THE_COORDINATOR = frozenset({ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT})
"""Errors with which JoinGroup gives the member id back; after them it is empty."""


def _join_group(request: JoinGroupRequest, version: int, code: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code,
        generation_id=UNKNOWN_GENERATION,
        protocol_name=no_protocol_name(version),
        member_id=request.member_id if code in _BEFORE_THE_COORDINATOR else "",
    )


def _sync_group(_request: SyncGroupRequest, _version: int, code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code)


def _heartbeat(_request: HeartbeatRequest, _version: int, code: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=code)


def _leave_group(_request: LeaveGroupRequest, _version: int, code: ErrorCode) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=code)


def _offset_commit(request: OffsetCommitRequest, _version: int, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_fetch(request: OffsetFetchRequest, _version: int, code: ErrorCode) -> OffsetFetchResponse:
    if request.require_stable and code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        # Consumers before 3.9 give up at 15 here, and look for the coordinator again at 16.
        code = ErrorCode.NOT_COORDINATOR
    return OffsetFetchResponse(
        groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=code) for group in request.groups]
    )


def _describe_groups(request: DescribeGroupsRequest, _version: int, code: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[DescribedGroup(group_id=group, error_code=code) for group in request.groups])


def _list_groups(_request: ListGroupsRequest, _version: int, code: ErrorCode) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=code)


def _delete_groups(request: DeleteGroupsRequest, _version: int, code: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group, error_code=code) for group in request.groups_names]
    )


def _offset_delete(_request: OffsetDeleteRequest, _version: int, code: ErrorCode) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=code)


_PLACES: Mapping[type, Callable[[Any, int, ErrorCode], Any]] = MappingProxyType(
    {
        JoinGroupRequest: _join_group,
        SyncGroupRequest: _sync_group,
        HeartbeatRequest: _heartbeat,
        LeaveGroupRequest: _leave_group,
        OffsetCommitRequest: _offset_commit,
        OffsetFetchRequest: _offset_fetch,
        DescribeGroupsRequest: _describe_groups,
        ListGroupsRequest: _list_groups,
        DeleteGroupsRequest: _delete_groups,
        OffsetDeleteRequest: _offset_delete,
    }
)
