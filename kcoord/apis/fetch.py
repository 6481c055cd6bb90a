"""Fetch (key 1): records, of which there are none yet; so it is mostly about waiting well.

v5 log start offset; v7 sessions (KIP-227); v9 leader epoch (KIP-320); v11 racks (KIP-392); v12 flexible, last
fetched epoch (KIP-595); v13 topic ids (KIP-516); v15 replica state (KIP-903); v16 node endpoints (KIP-951);
v17 directory id (KIP-853); v18 high watermark (KIP-1166).
"""

from uuid import UUID

import trio

from kcoord.apis.api import Api, Call
from kcoord.apis.epochs import NO_EPOCH, check_leader_epoch
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Partition, Topic
from wire.errors import ErrorCode
from wire.messages import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

TOPIC_IDS_SINCE = 13
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
FULL_FETCH_EPOCHS = frozenset({0, -1})
"""Session epochs that ask for everything: with a new session, or with none."""


async def fetch(call: Call, request: FetchRequest) -> FetchResponse:
    """Wait for records as long as the client allows.

    Sessions are declined with session id 0, which clients take as "ask in full each time"; one that claims a
    session is told that there is none, and asks in full then. Nothing is waited for when a partition that can
    be read at all has an error, or when there is no such partition, or when nothing is wanted
    (Apache Kafka `ReplicaManager.fetchMessages`).
    """
    if request.session_epoch not in FULL_FETCH_EPOCHS:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        return _all_failed(call.context.version, request)
    aborted: list[AbortedTransaction] | None = [] if request.isolation_level == READ_COMMITTED else None
    responses: list[FetchableTopicResponse] = []
    seen: set[tuple[str | UUID, int]] = set()
    readable = failed = 0
    turns = Turns()
    for asked in request.topics:
        await turns.step()
        topic = _find(call, asked)
        for each in asked.partitions:
            await turns.step()
            place = (asked.topic or asked.topic_id, each.partition)
            if place in seen:
                continue
            seen.add(place)
            partition = None if topic is None else topic.partition(each.partition)
            if partition is None:
                by_id = call.context.version >= TOPIC_IDS_SINCE and topic is None
                unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                found = _error(each, unknown, [])
            else:
                readable += 1
                error = _check(partition, each)
                failed += error is not ErrorCode.NONE
                found = _nothing(partition, aborted) if error is ErrorCode.NONE else _error(each, error, None)
            _entry(responses, asked).append(found)
    if readable and not failed and request.min_bytes > 0 and request.max_wait_ms > 0:
        await trio.sleep(request.max_wait_ms / 1000)
    return FetchResponse(responses=responses)


def _entry(responses: list[FetchableTopicResponse], asked: FetchTopic) -> list[PartitionData]:
    """Return where the next partition of that topic goes: with the last one, if that is the same topic's."""
    if not responses or (responses[-1].topic, responses[-1].topic_id) != (asked.topic, asked.topic_id):
        responses.append(FetchableTopicResponse(topic=asked.topic, topic_id=asked.topic_id))
    return responses[-1].partitions


def _find(call: Call, asked: FetchTopic) -> Topic | None:
    catalog = call.broker.catalog
    if call.context.version >= TOPIC_IDS_SINCE:
        return catalog.by_id(asked.topic_id)
    return catalog.by_name(asked.topic)


def _check(partition: Partition, asked: FetchPartition) -> ErrorCode:
    """Return the error that reading would meet: the wrong leader, or a place where the log is not.

    Epochs below 0 stand for none (`FetchRequest.optionalEpoch`). A last fetched epoch that this log never had leaves
    no common offset to go on from (KIP-595).
    """
    error = check_leader_epoch(partition, max(asked.current_leader_epoch, NO_EPOCH))
    if error is not ErrorCode.NONE:
        return error
    known_epoch = asked.last_fetched_epoch <= NO_EPOCH or asked.last_fetched_epoch == partition.leader_epoch
    if not known_epoch or not partition.log_start_offset <= asked.fetch_offset <= partition.high_watermark:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.NONE


def _nothing(partition: Partition, aborted: list[AbortedTransaction] | None) -> PartitionData:
    return PartitionData(
        partition_index=partition.index,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.high_watermark,
        log_start_offset=partition.log_start_offset,
        aborted_transactions=aborted,
        records=b"",
    )


def _all_failed(version: int, request: FetchRequest) -> FetchResponse:
    """Return the answer where the request itself cannot be: the error on top, and by name on each partition."""
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    if version >= TOPIC_IDS_SINCE:
        return FetchResponse(error_code=error)
    return FetchResponse(
        error_code=error,
        responses=[
            FetchableTopicResponse(
                topic=asked.topic,
                topic_id=asked.topic_id,
                partitions=[_error(each, error, []) for each in asked.partitions],
            )
            for asked in request.topics
        ],
    )


def _error(asked: FetchPartition, code: ErrorCode, aborted: list[AbortedTransaction] | None) -> PartitionData:
    return PartitionData(
        partition_index=asked.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=aborted,
        records=b"",
    )


API = Api(request=FetchRequest, versions="4-18", handle=fetch)
