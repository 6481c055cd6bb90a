"""ListOffsets (key 2): where a partition begins and ends, and where a point in time lies.

v2 isolation level (KIP-98), throttle time; v4 leader epoch (KIP-320); v6 flexible (KIP-482); v7 timestamp -3
(KIP-734); v8 -4 (KIP-405); v9 -5 (KIP-1005); v10 timeout for remote storage (KIP-1075); v11 -6 (KIP-1023).
"""

from collections import Counter

from kcoord.apis.api import Api, Call
from kcoord.apis.epochs import check_leader_epoch
from kcoord.apis.threads import worked_off
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Partition
from wire.errors import ErrorCode
from wire.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LEADER_EPOCH_SINCE = 4
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST, EARLIEST = -1, -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
SPECIAL_SINCE = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The version from which each negative timestamp has its meaning."""
AS_MUCH_AS = 25
"""So many entries, of those that need no look into records, is the look into a small batch."""


async def list_offsets(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Answer for each partition by itself; one that is asked for twice is an invalid request, and is said so once.

    A topic has one entry, or none if nothing of it is asked for (Apache Kafka `KafkaApis.handleListOffsetRequest`).
    """
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        return await _all_failed(request)
    turns = Turns()
    times: Counter[tuple[str, int]] = Counter()
    for topic in request.topics:
        await turns.step()
        async for each in turns.over(topic.partitions):
            times[topic.name, each.partition_index] += 1
    topics: dict[str, ListOffsetsTopicResponse] = {}
    refused: set[tuple[str, int]] = set()
    for topic in request.topics:
        await turns.step()
        for each in topic.partitions:
            await turns.step()
            place = (topic.name, each.partition_index)
            known = call.broker.catalog.by_name(topic.name)
            partition = None if known is None else known.partition(each.partition_index)
            if times[place] > 1:
                if place in refused:
                    continue
                refused.add(place)
                found = _error(each, ErrorCode.INVALID_REQUEST)
            elif has_no_meaning(call.context.version, each.timestamp):
                found = _error(each, ErrorCode.UNSUPPORTED_VERSION)
            elif known is None or partition is None:
                found = _error(each, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif not call.leads(known, each.partition_index):
                found = _error(each, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            else:
                found = await _look_up(call.context.version, partition, each)
                if reads_records(each.timestamp):
                    await turns.step(AS_MUCH_AS)
            topics.setdefault(topic.name, ListOffsetsTopicResponse(name=topic.name)).partitions.append(found)
    return ListOffsetsResponse(topics=list(topics.values()))


async def _all_failed(request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Return the answer to a request in which the isolation level is none: an error for everything it names."""
    turns = Turns()
    answer = ListOffsetsResponse()
    for topic in request.topics:
        await turns.step()
        entry = ListOffsetsTopicResponse(name=topic.name)
        for each in topic.partitions:
            await turns.step()
            entry.partitions.append(_error(each, ErrorCode.UNKNOWN_SERVER_ERROR))
        answer.topics.append(entry)
    return answer


def has_no_meaning(version: int, timestamp: int) -> bool:
    """Whether a timestamp is one of those that stand for a place, but not in this version."""
    return timestamp < 0 and version < SPECIAL_SINCE.get(timestamp, version + 1)


def reads_records(timestamp: int) -> bool:
    """Whether records have to be read to find the place, which takes longer than all else here."""
    return timestamp >= 0 or timestamp == MAX_TIMESTAMP


async def _look_up(version: int, partition: Partition, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    """Answer for one partition. Where no record is found, nothing is, and that is no error.

    Whatever is found carries the epoch in which it was written, as in Kafka's epoch cache; nothing is tiered. All
    records are committed, so both isolation levels end at the same place. The newest record is the newest one
    that can still be read, while Kafka may name one below the start of the log until its file is gone.
    """
    timestamp = asked.timestamp
    error = check_leader_epoch(partition, asked.current_leader_epoch)
    if error is not ErrorCode.NONE:
        return _error(asked, error)
    answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
    if timestamp == LATEST:
        answer.offset = partition.high_watermark
    elif timestamp in (EARLIEST, EARLIEST_LOCAL):
        answer.offset = partition.log_start_offset
    elif reads_records(timestamp):
        latest = timestamp == MAX_TIMESTAMP
        found = await worked_off(partition.finding_latest_time() if latest else partition.finding_time(timestamp))
        if found is not None:
            answer.offset, answer.timestamp = found.offset, found.timestamp
    if answer.offset >= 0 and version >= LEADER_EPOCH_SINCE:
        answer.leader_epoch = partition.epoch_at(answer.offset)
    return answer


def _error(asked: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=code)


API = Api(request=ListOffsetsRequest, versions="1-11", handle=list_offsets)
