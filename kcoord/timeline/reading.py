"""What a timeline keeps of requests and answers: little enough to keep for long, in words that a reader looks for."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from kcoord.core.outcome import Now
from kcoord.notices import RequestReceived
from kcoord.timeline.events import Asked, Claim, TopicPartition
from wire.errors import ErrorCode, WireError
from wire.payloads import TopicPartitions, decode_assignment, decode_subscription

NameOf = Callable[[UUID], str | None]
"""Tells the name of the topic of an id; None if there is none."""
LONGEST: Final = 65_536
"""Bytes of a subscription or an assignment above which it is not read."""
MOST_OFFSETS: Final = 20
"""Offsets of one commit that are kept."""
MOST_GROUPS: Final = 20
"""Groups of one request whose timelines show it."""
MOST_MEMBERS: Final = 1_000
"""Assignments of one SyncGroup that are read."""


def groups_of(api: str, request: Any) -> tuple[str, ...]:
    """Return the groups that a request is about; none for a request of another kind."""
    find = _GROUPS.get(api)
    return () if find is None else tuple(dict.fromkeys(islice(find(request), MOST_GROUPS)))


def asked(notice: RequestReceived, group: str, at: float, now: Now, name_of: NameOf) -> Asked:
    """Return what is kept of a request about a group; `name_of` tells the names of topics that it names by id."""
    details = _DETAILS.get(notice.api)
    return Asked(
        at=at,
        wall_ms=now.wall_ms,
        number=notice.number,
        connection=notice.connection,
        client_id=notice.client_id,
        host=notice.host,
        node_id=notice.node_id,
        api=notice.api,
        version=notice.version,
        **({} if details is None else details(notice.request, group, name_of)),
    )


def errors_of(api: str, response: Any, group: str) -> tuple[str, ...]:
    """Return the names of the errors in an answer, as far as it is about this group; each once."""
    codes = _ERRORS.get(api)
    found = [response.error_code] if codes is None else codes(response, group)
    return tuple(dict.fromkeys(error_name(code) for code in found if code))


def refused_of(api: str, response: Any, name_of: NameOf) -> tuple[TopicPartition, ...]:
    """Return the partitions of a commit that were refused, if others were not; only the first ones of many."""
    if api != "OffsetCommit":
        return ()
    answers = [
        ((topic.name or name_of(topic.topic_id) or str(topic.topic_id), one.partition_index), one.error_code)
        for topic in response.topics
        for one in topic.partitions
    ]
    refused = tuple(place for place, code in answers if code)
    return refused[:MOST_OFFSETS] if len(refused) < len(answers) else ()


def error_name(code: int) -> str:
    """Return Kafka's name of an error code."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def flat(listed: Iterable[TopicPartitions]) -> frozenset[TopicPartition]:
    """Return partitions one by one."""
    return frozenset((each.topic, partition) for each in listed for partition in each.partitions)


def assigned(response: Any) -> frozenset[TopicPartition] | None:
    """Return the partitions that a SyncGroup's answer gives; None where that cannot be read."""
    if response.protocol_type not in (None, "consumer") or len(response.assignment) > LONGEST:
        return None
    try:
        return flat(decode_assignment(response.assignment).assigned_partitions)
    except WireError:
        return None


def _claim(metadata: bytes) -> Claim | None:
    if len(metadata) > LONGEST:
        return None
    try:
        read = decode_subscription(metadata)
    except WireError:
        return None
    told = metadata[:2] != b"\0\0"
    return Claim(topics=read.topics, owned=flat(read.owned_partitions) if told else None, generation=read.generation_id)


def _join(request: Any, _group: str, _name_of: NameOf) -> dict[str, Any]:
    claims = (
        {each.name: _claim(each.metadata) for each in request.protocols} if request.protocol_type == "consumer" else {}
    )
    return {
        "member": request.member_id,
        "instance": request.group_instance_id,
        "protocols": tuple(each.name for each in request.protocols),
        "claims": {name: claim for name, claim in claims.items() if claim is not None},
        "reason": request.reason or "",
    }


def _sync(request: Any, _group: str, _name_of: NameOf) -> dict[str, Any]:
    return {
        "member": request.member_id,
        "instance": request.group_instance_id,
        "generation": request.generation_id,
        "handed_in": _handed_in(request.assignments) if request.protocol_type in (None, "consumer") else None,
    }


def _handed_in(assignments: Any) -> Mapping[str, frozenset[TopicPartition]] | None:
    if not assignments or sum(len(each.assignment) for each in assignments) > LONGEST * 16:
        return None
    found: dict[str, frozenset[TopicPartition]] = {}
    for each in assignments[:MOST_MEMBERS]:
        try:
            found[each.member_id] = flat(decode_assignment(each.assignment).assigned_partitions)
        except WireError:
            return None
    return found


def _heartbeat(request: Any, _group: str, _name_of: NameOf) -> dict[str, Any]:
    return {
        "member": request.member_id,
        "instance": request.group_instance_id,
        "generation": request.generation_id,
    }


def _leave(request: Any, _group: str, _name_of: NameOf) -> dict[str, Any]:
    many = request.members[:MOST_MEMBERS]
    reasons = dict.fromkeys(each.reason for each in many if each.reason)
    return {
        "member": many[0].member_id if len(many) == 1 else request.member_id,
        "leaving": tuple(each.group_instance_id or each.member_id for each in many) or (request.member_id,),
        "reason": "; ".join(reasons),
    }


def _commit(request: Any, _group: str, name_of: NameOf) -> dict[str, Any]:
    pairs = (
        ((topic.name or name_of(topic.topic_id) or str(topic.topic_id), one.partition_index), one.committed_offset)
        for topic in request.topics
        for one in topic.partitions
    )
    return {
        "member": request.member_id,
        "instance": request.group_instance_id,
        "generation": request.generation_id_or_member_epoch,
        "offsets": dict(islice(pairs, MOST_OFFSETS)),
        "partitions": sum(len(topic.partitions) for topic in request.topics),
    }


def _fetch(request: Any, group: str, _name_of: NameOf) -> dict[str, Any]:
    wanted = next((each.topics for each in request.groups if each.group_id == group), request.topics)
    return {"partitions": -1 if wanted is None else sum(len(topic.partition_indexes) for topic in wanted)}


def _delete_offsets(request: Any, _group: str, _name_of: NameOf) -> dict[str, Any]:
    return {"partitions": sum(len(topic.partitions) for topic in request.topics)}


_DETAILS: Mapping[str, Callable[[Any, str, NameOf], dict[str, Any]]] = MappingProxyType(
    {
        "JoinGroup": _join,
        "SyncGroup": _sync,
        "Heartbeat": _heartbeat,
        "LeaveGroup": _leave,
        "OffsetCommit": _commit,
        "OffsetFetch": _fetch,
        "OffsetDelete": _delete_offsets,
    }
)


def _one(request: Any) -> Iterable[str]:
    return (request.group_id,)


_GROUPS: Mapping[str, Callable[[Any], Iterable[str]]] = MappingProxyType(
    {
        "JoinGroup": _one,
        "SyncGroup": _one,
        "Heartbeat": _one,
        "LeaveGroup": _one,
        "OffsetCommit": _one,
        "OffsetDelete": _one,
        "OffsetFetch": lambda request: (each.group_id for each in request.groups) if request.groups else _one(request),
        "DescribeGroups": lambda request: request.groups,
        "DeleteGroups": lambda request: request.groups_names,
    }
)


def _of_topics(topics: Any) -> Iterable[int]:
    return (one.error_code for topic in topics for one in topic.partitions)


def _fetch_errors(response: Any, group: str) -> Iterable[int]:
    mine = [each for each in response.groups if each.group_id == group]
    if not mine:
        return (response.error_code, *_of_topics(response.topics))
    return (code for each in mine for code in (each.error_code, *_of_topics(each.topics)))


_ERRORS: Mapping[str, Callable[[Any, str], Iterable[int]]] = MappingProxyType(
    {
        "LeaveGroup": lambda response, _: (response.error_code, *(each.error_code for each in response.members)),
        "OffsetCommit": lambda response, _: _of_topics(response.topics),
        "OffsetDelete": lambda response, _: (response.error_code, *_of_topics(response.topics)),
        "OffsetFetch": _fetch_errors,
        "DescribeGroups": lambda response, group: (
            each.error_code for each in response.groups if each.group_id == group
        ),
        "DeleteGroups": lambda response, group: (
            each.error_code for each in response.results if each.group_id == group
        ),
    }
)
