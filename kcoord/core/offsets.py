"""OffsetCommit (key 8), OffsetFetch (key 9) and OffsetDelete (key 47).

Which topics and partitions exist is not the coordinator's business: it is asked about those that do.
"""

from kcoord.core.answers import fits
from kcoord.core.batches import NO_RETENTION, can_keep, commit_too_large, too_large
from kcoord.core.group import CONSUMER_PROTOCOL_TYPE, Group
from kcoord.core.listing import remove_group
from kcoord.core.notes import GroupCreated, OffsetsCommitted, OffsetsDeleted
from kcoord.core.outcome import Context, Record
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.tables import Offsets, offset_tombstone
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from wire.payloads import OffsetCommitKey, OffsetCommitValue

GROUP_ID_NOT_FOUND_SINCE = 9
"""From this version of OffsetCommit on an unknown group is called by that name (KIP-848)."""
NO_OFFSET = -1
NO_EPOCH = -1
NO_EXPIRY = -1


def offset_commit(step: Step, token: object, context: Context, request: OffsetCommitRequest) -> None:
    """Store offsets, all that are accepted as one batch, so there is a limit to how many they may be.

    A group-level error stands on every partition, for the answer has no other place. A session is restarted even
    when then every partition's metadata is too long, or nothing is stored because it is too much (where the
    append of the records fails in Kafka, `CoordinatorOperationExceptionHelper`). A group that did not exist
    comes into being even when every partition's metadata is too long.
    """
    group = step.tables.groups.get(request.group_id)
    error = check_commit(step, group, context, request)
    if error is ErrorCode.NONE and commit_too_large(step.tables.settings, request):
        error = step.behaviour.too_large_commit
    topics = [
        OffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                OffsetCommitResponsePartition(
                    partition_index=one.partition_index,
                    error_code=commit_one(step, request, topic.name, one) if error is ErrorCode.NONE else error,
                )
                for one in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    step.reply(token, OffsetCommitResponse(topics=topics))
    codes = [one.error_code for topic in topics for one in topic.partitions]
    stored = codes.count(ErrorCode.NONE)
    if group is None and error is ErrorCode.NONE and codes:
        if not stored:
            if step.behaviour.stores_from_first_generation:
                step.tables.create(request.group_id, step.now.wall_ms)
            else:
                step.tables.begin(request.group_id, step.now.wall_ms)
        step.note(GroupCreated(group=request.group_id))
    if stored:
        step.note(
            OffsetsCommitted(
                group=request.group_id,
                member=request.member_id,
                generation=request.generation_id_or_member_epoch,
                partitions=stored,
            )
        )


def check_commit(step: Step, group: Group | None, context: Context, request: OffsetCommitRequest) -> ErrorCode:
    """Return the error that the whole commit meets, or NONE (`OffsetMetadataManager.validateOffsetCommit`).

    A commit without a generation is an operator's or that of a consumer with assigned partitions. It is fine as long
    as the group has no members, whatever else it says of itself.
    """
    generation, member_id = request.generation_id_or_member_epoch, request.member_id
    if group is None:
        if generation < 0:
            return ErrorCode.NONE if fits(request.group_id) else ErrorCode.UNKNOWN_SERVER_ERROR
        known = context.version >= GROUP_ID_NOT_FOUND_SINCE and step.behaviour.names_unknown_group
        return ErrorCode.GROUP_ID_NOT_FOUND if known else ErrorCode.ILLEGAL_GENERATION
    if generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    error = group.check_member(member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        step.fenced(group, member_id, request.group_instance_id, "OffsetCommit", error)
        return error
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    step.restart_session(group, group.members[member_id])
    return ErrorCode.NONE


def commit_one(step: Step, request: OffsetCommitRequest, topic: str, one: OffsetCommitRequestPartition) -> ErrorCode:
    """Store one offset, unless its metadata is too long."""
    metadata = one.committed_metadata or ""
    if not can_keep(step.tables.settings, metadata):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    now_ms, retention_ms = step.now.wall_ms, request.retention_time_ms
    step.write(
        Record(
            OffsetCommitKey(group=request.group_id, topic=topic, partition=one.partition_index),
            OffsetCommitValue(
                offset=one.committed_offset,
                leader_epoch=one.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
                expire_timestamp=NO_EXPIRY if retention_ms == NO_RETENTION else java_long(now_ms + retention_ms),
            ),
        )
    )
    return ErrorCode.NONE


def java_long(number: int) -> int:
    """Return `number` in 64 bits with sign, as a sum in Java comes out: far in the future is long ago."""
    return (number + 2**63) % 2**64 - 2**63


def offset_fetch(step: Step, token: object, _context: Context, request: OffsetFetchRequest) -> None:
    """Answer for each group of a batch by itself; membership plays no part in it.

    There is no transaction whose commits could be pending, so `require_stable` asks for nothing more.
    """
    step.reply(token, OffsetFetchResponse(groups=[fetch_group(step, one) for one in request.groups]))


def fetch_group(step: Step, wanted: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    """Return the offsets asked for, or all there are (`topics` None). What is not there has offset -1 and no error."""
    stored = step.tables.offsets.get(wanted.group_id, {})
    if wanted.topics is None:
        pairs: dict[str, list[int]] = {}
        for topic, partition in stored:
            pairs.setdefault(topic, []).append(partition)
        asked = list(pairs.items())
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in wanted.topics]
    return OffsetFetchResponseGroup(
        group_id=wanted.group_id,
        topics=[
            OffsetFetchResponseTopics(name=name, partitions=[fetch_one(stored, name, index) for index in indexes])
            for name, indexes in asked
        ],
    )


def fetch_one(stored: Offsets, topic: str, partition: int) -> OffsetFetchResponsePartitions:
    """Return one committed offset; without one, -1 and an empty text."""
    value = stored.get((topic, partition))
    if value is None:
        return OffsetFetchResponsePartitions(
            partition_index=partition,
            committed_offset=NO_OFFSET,
            committed_leader_epoch=NO_EPOCH,
            metadata="",
        )
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=value.offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
    )


def offset_delete(step: Step, token: object, _context: Context, request: OffsetDeleteRequest) -> None:
    """Delete offsets of topics that no member consumes (KIP-496); there need not be any.

    All go or none, so there is a limit to how many they may be. An offset that is named twice has two tombstones.
    """
    group = step.tables.groups.get(request.group_id)
    error = check_delete(group, request)
    if group is None or error is not ErrorCode.NONE:
        step.reply(token, OffsetDeleteResponse(error_code=error))
        return
    stored = len(step.tables.offsets.get(request.group_id, {}))
    tombstones: list[Record] = []
    topics = [delete_topic(step, group, topic, tombstones) for topic in request.topics]
    if step.behaviour.deletes_as_a_whole and too_large(step.tables.settings, tombstones):
        step.reply(token, OffsetDeleteResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
        return
    for tombstone in tombstones:
        step.write(tombstone)
    step.reply(token, OffsetDeleteResponse(error_code=ErrorCode.NONE, topics=topics))
    gone = stored - len(step.tables.offsets.get(request.group_id, {}))
    if gone:
        step.note(OffsetsDeleted(group=request.group_id, partitions=gone))
    if gone and step.behaviour.last_offset_takes_group:
        remove_if_bare(step, group)


def check_delete(group: Group | None, request: OffsetDeleteRequest) -> ErrorCode:
    """Return the error that the whole request meets: what a member of another type consumes cannot be known."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def delete_topic(
    step: Step, group: Group, topic: OffsetDeleteRequestTopic, tombstones: list[Record]
) -> OffsetDeleteResponseTopic:
    """Say what becomes of one topic, and add what its offsets are deleted with, unless some member consumes it."""
    subscribed = group.is_subscribed(topic.name)
    stored = step.tables.offsets.get(group.group_id, {})
    if not subscribed:
        tombstones += [
            offset_tombstone(group.group_id, topic.name, one.partition_index)
            for one in topic.partitions
            if (topic.name, one.partition_index) in stored
        ]
    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
    return OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[
            OffsetDeleteResponsePartition(partition_index=one.partition_index, error_code=error)
            for one in topic.partitions
        ],
    )


def remove_if_bare(step: Step, group: Group) -> None:
    """Let a group go that has neither members nor offsets (Apache Kafka 3.9 `cleanupGroupMetadata`)."""
    if group.state is GroupState.EMPTY and group.group_id not in step.tables.offsets:
        remove_group(step, group, "nothing left in it")


def topics_deleted(step: Step, topics: set[str]) -> None:
    """Drop what was committed for topics that are no more (Apache Kafka `OffsetMetadataManager.onPartitionsDeleted`).

    Whoever consumes them is not disturbed: that a topic is gone is for the members to find out. A group without
    members in which nothing is left is removed by the next sweep.
    """
    for group_id, stored in tuple(step.tables.offsets.items()):
        gone = [place for place in stored if place[0] in topics]
        for topic, partition in gone:
            step.write(offset_tombstone(group_id, topic, partition))
        if gone:
            step.note(OffsetsDeleted(group=group_id, partitions=len(gone)))
    if step.behaviour.last_offset_takes_group:
        for group in list(step.tables.groups.values()):
            remove_if_bare(step, group)
