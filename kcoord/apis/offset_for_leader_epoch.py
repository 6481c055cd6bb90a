"""OffsetForLeaderEpoch (key 23): how far the records of a leader's epoch go (KIP-101, KIP-320).

v3 replica id (KIP-392); v4 flexible (KIP-482).
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.epochs import check_leader_epoch
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Partition
from kcoord.log.epochs import NO_EPOCH, NO_OFFSET
from wire.errors import ErrorCode
from wire.messages import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderPartitionResult,
    OffsetForLeaderTopicResult,
)


async def offset_for_leader_epoch(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Answer everything that is asked for, in its order, each as often as it is asked for."""
    turns = Turns()
    answer = OffsetForLeaderEpochResponse()
    for asked in request.topics:
        await turns.step()
        topic = call.broker.catalog.by_name(asked.topic)
        results = OffsetForLeaderTopicResult(topic=asked.topic)
        for each in asked.partitions:
            await turns.step()
            partition = None if topic is None else topic.partition(each.partition)
            found = end_of_epoch(partition, each)
            if topic is not None and partition is not None and not call.leads(topic, each.partition):
                found = OffsetForLeaderPartitionResult(
                    partition=each.partition, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER
                )
            results.partitions.append(found)
        answer.topics.append(results)
    return answer


def end_of_epoch(partition: Partition | None, asked: OffsetForLeaderPartition) -> OffsetForLeaderPartitionResult:
    """Return the entry of one partition (Apache Kafka `Partition.lastOffsetForLeaderEpoch`)."""
    found = OffsetForLeaderPartitionResult(
        partition=asked.partition, error_code=ErrorCode.NONE, leader_epoch=NO_EPOCH, end_offset=NO_OFFSET
    )
    if partition is None:
        found.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return found
    found.error_code = check_leader_epoch(partition, asked.current_leader_epoch)
    if not found.error_code:
        found.leader_epoch, found.end_offset = partition.end_of_epoch(asked.leader_epoch)
    return found


API = Api(request=OffsetForLeaderEpochRequest, versions="2-4", handle=offset_for_leader_epoch)
