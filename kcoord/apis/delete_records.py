"""DeleteRecords (key 21): logs begin later, at the operator's wish (KIP-107).

v1 nothing; v2 flexible (KIP-482).
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Topic
from kcoord.log.partition import Refused
from wire.errors import ErrorCode
from wire.messages import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

NO_OFFSET = -1


async def delete_records(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Answer for each partition by itself. Of one that is named twice only the last entry counts.

    A topic has one entry, or none if nothing of it is asked for. `timeout_ms` is for followers, and there are none.
    """
    turns = Turns()
    wanted: dict[str, dict[int, int]] = {}
    for asked in request.topics:
        await turns.step()
        for each in asked.partitions:
            await turns.step()
            wanted.setdefault(asked.name, {})[each.partition_index] = each.offset
    answer = DeleteRecordsResponse()
    for name, offsets in wanted.items():
        results = DeleteRecordsTopicResult(name=name)
        answer.topics.append(results)
        for index, offset in offsets.items():
            await turns.step()
            topic = call.broker.catalog.by_name(name)
            if topic is not None and topic.partition(index) is not None and not call.leads(topic, index):
                results.partitions.append(
                    DeleteRecordsPartitionResult(
                        partition_index=index,
                        low_watermark=NO_OFFSET,
                        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
                    )
                )
            else:
                results.partitions.append(delete_before(topic, index, offset))
    return answer


def delete_before(topic: Topic | None, index: int, offset: int) -> DeleteRecordsPartitionResult:
    """Let one log begin at the offset, if it does not begin later already; -1 is its end.

    What the broker writes itself is nobody's to delete (Apache Kafka `ReplicaManager.deleteRecordsOnLocalLog`).
    """
    partition = None if topic is None else topic.partition(index)
    result = DeleteRecordsPartitionResult(partition_index=index, low_watermark=NO_OFFSET)
    if topic is None or partition is None:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif topic.is_internal:
        result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
    else:
        try:
            result.low_watermark = partition.delete_before(offset)
        except Refused as refusal:
            result.error_code = refusal.code
    return result


API = Api(request=DeleteRecordsRequest, versions="0-2", handle=delete_records)
