"""The APIs whose place for errors depends on the version, or that are like no other."""

from dataclasses import replace
from typing import Any

from kcoord.errors_in_place import error_response
from kcoord.faults.entries import Entry
from kcoord.faults.nested import topic_name
from kcoord.faults.place import Name
from wire.errors import ErrorCode
from wire.messages import (
    Coordinator,
    FindCoordinatorResponse,
    LeaveGroupResponse,
    MemberResponse,
    MetadataResponse,
    MetadataResponseTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

KEYS_SINCE = 4
"""FindCoordinator 4 asks for several keys (KIP-699)."""
MEMBERS_SINCE = 3
"""LeaveGroup 3 names several members (KIP-345)."""
GROUPS_SINCE = 8
"""OffsetFetch 8 asks for several groups (KIP-709)."""
OFFSETS_ERROR_SINCE = 2
"""OffsetFetch 2 has an error for the whole answer."""
OFFSETS_ERROR_UNTIL = 7
METADATA_ERROR_SINCE = 13
"""Metadata 13 has an error for the whole answer (KIP-1102)."""
NOWHERE = -1
"""The node id of no broker."""


class FindCoordinatorPlace:
    """FindCoordinator: one key, or several (KIP-699)."""

    def entries(self, request: Any, _name: Name) -> list[Entry]:
        """Return one entry for each key."""
        return [Entry(group=key) for key in request.coordinator_keys or ([request.key] if request.key else [])]

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the answer that names no broker."""
        if version < KEYS_SINCE:
            return FindCoordinatorResponse(error_code=code, error_message=code.name, node_id=NOWHERE, host="", port=-1)
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, node_id=NOWHERE, host="", port=-1, error_code=code, error_message=code.name)
                for at, key in enumerate(request.coordinator_keys)
                if chosen is None or at in chosen
            ]
        )

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen keys."""
        return replace(
            request, coordinator_keys=[key for at, key in enumerate(request.coordinator_keys) if at not in chosen]
        )

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return the errors, and then the rest."""
        return replace(rest, coordinators=[*refused.coordinators, *rest.coordinators])


class LeavePlace:
    """LeaveGroup: one member, or several (KIP-345)."""

    def entries(self, request: Any, _name: Name) -> list[Entry]:
        """Return one entry for each member."""
        if not request.members:
            return [Entry(group=request.group_id, member=request.member_id)]
        return [
            Entry(group=request.group_id, member=each.member_id, instance_id=each.group_instance_id)
            for each in request.members
        ]

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the error of the whole, or of the chosen members."""
        if chosen is None or version < MEMBERS_SINCE:
            return error_response(request, version, code)
        return LeaveGroupResponse(
            error_code=ErrorCode.NONE,
            members=[
                MemberResponse(member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code)
                for at, each in enumerate(request.members)
                if at in chosen
            ],
        )

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen members."""
        return replace(request, members=[each for at, each in enumerate(request.members) if at not in chosen])

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return the errors, and then the rest."""
        return replace(rest, members=[*refused.members, *rest.members])


class MetadataPlace:
    """Metadata: an error for each topic that is named; for all of them only from version 13 on."""

    def entries(self, request: Any, name: Name) -> list[Entry]:
        """Return one entry for each topic that is named."""
        return [Entry(topic=topic_name(topic, name)) for topic in request.topics or []]

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the answer in which each chosen topic has the error, and no broker is named."""
        return MetadataResponse(
            error_code=code if chosen is None and version >= METADATA_ERROR_SINCE else ErrorCode.NONE,
            topics=[
                MetadataResponseTopic(error_code=code, name=topic.name, topic_id=topic.topic_id)
                for at, topic in enumerate(request.topics or [])
                if chosen is None or at in chosen
            ],
        )

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen topics."""
        return replace(request, topics=[topic for at, topic in enumerate(request.topics or []) if at not in chosen])

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return the errors, and then the rest, with the brokers."""
        return replace(rest, topics=[*refused.topics, *rest.topics])


class OffsetFetchPlace:
    """OffsetFetch: of one group up to version 7, of several from version 8 on."""

    def entries(self, request: Any, name: Name) -> list[Entry]:
        """Return one entry for each partition that is named, and one for each group that asks for all."""
        if not request.groups:
            return self._of(request.group_id, request.topics, name)
        return [entry for group in request.groups for entry in self._of(group.group_id, group.topics, name)]

    def _of(self, group: str, topics: Any, name: Name) -> list[Entry]:
        if topics is None:
            return [Entry(group=group)]
        return [
            Entry(group=group, topic=topic_name(topic, name), partition=index)
            for topic in topics
            for index in topic.partition_indexes
        ]

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the error of a group of which everything is chosen, else that of the chosen partitions."""
        if version < GROUPS_SINCE:
            if chosen is None and version >= OFFSETS_ERROR_SINCE:
                return OffsetFetchResponse(error_code=code)
            return OffsetFetchResponse(topics=_old_topics(request.topics, code, chosen))
        groups = []
        at = 0
        for group in request.groups:
            count = len(self._of(group.group_id, group.topics, lambda _identity: None))
            mine = {index for index in range(at, at + count) if chosen is None or index in chosen}
            if chosen is None or (count and len(mine) == count):
                groups.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=code))
            elif mine:
                topics = _topics(group.topics, code, at, mine)
                groups.append(OffsetFetchResponseGroup(group_id=group.group_id, topics=topics))
            at += count
        return OffsetFetchResponse(groups=groups)

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen partitions, and without groups of which nothing is left."""
        if not request.groups:
            return replace(request, topics=_left(request.topics, 0, chosen))
        groups = []
        at = 0
        for group in request.groups:
            count = len(self._of(group.group_id, group.topics, lambda _identity: None))
            if any(index not in chosen for index in range(at, at + count)) or not count:
                topics = None if group.topics is None else _left(group.topics, at, chosen)
                groups.append(replace(group, topics=topics))
            at += count
        return replace(request, groups=groups)

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return the errors of each group, and then the rest of it."""
        mine = {group.group_id: group for group in refused.groups}
        groups = [
            replace(group, topics=[*mine.pop(group.group_id).topics, *group.topics])
            if group.group_id in mine
            else group
            for group in rest.groups
        ]
        return replace(rest, topics=[*refused.topics, *rest.topics], groups=[*mine.values(), *groups])


def _old_topics(topics: Any, code: ErrorCode, chosen: frozenset[int] | None) -> list[OffsetFetchResponseTopic]:
    found = []
    at = 0
    for topic in topics or []:
        partitions = []
        for index in topic.partition_indexes:
            if chosen is None or at in chosen:
                partitions.append(
                    OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=-1, metadata="", error_code=code
                    )
                )
            at += 1
        if partitions:
            found.append(OffsetFetchResponseTopic(name=topic.name, partitions=partitions))
    return found


def _topics(topics: Any, code: ErrorCode, start: int, mine: set[int]) -> list[OffsetFetchResponseTopics]:
    found = []
    at = start
    for topic in topics:
        partitions = []
        for index in topic.partition_indexes:
            if at in mine:
                partitions.append(
                    OffsetFetchResponsePartitions(
                        partition_index=index, committed_offset=-1, metadata="", error_code=code
                    )
                )
            at += 1
        if partitions:
            found.append(OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return found


def _left(topics: Any, start: int, chosen: frozenset[int]) -> list[Any]:
    left = []
    at = start
    for topic in topics:
        kept = [index for place, index in enumerate(topic.partition_indexes, at) if place not in chosen]
        at += len(topic.partition_indexes)
        if kept:
            left.append(replace(topic, partition_indexes=kept))
    return left
