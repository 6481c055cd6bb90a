"""DescribeTopicPartitions (key 75): topics, page by page, with their partitions (KIP-966).

The rules and their order are those of Apache Kafka 4 (`DescribeTopicPartitionsRequestHandler`,
`KRaftMetadataCache.describeTopicResponse`). A request that makes no sense has no place for a reason: the error stands
on each topic that it names.
"""

from kcoord.apis.api import Api, Call, weighed
from kcoord.apis.metadata import TOPIC_OPERATIONS_ALLOWED
from kcoord.apis.turns import Turns
from kcoord.log.catalog import INTERNAL_TOPICS, is_legal_name
from kcoord.nodes import NOBODY
from wire.errors import ErrorCode
from wire.messages import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

MOST_PARTITIONS = 2_000
"""In one answer (Apache Kafka `max.request.partition.size.limit`)."""


async def describe_topic_partitions(
    call: Call, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """Tell of topics in the order of their names, from the cursor on, until the answer has as much as it may have.

    Without names, all topics are told of that there are.
    """
    turns, cursor = Turns(), request.cursor
    named: dict[str, bool] = {}
    for asked in request.topics:
        await turns.step()
        named[asked.name] = True
    error = invalid(cursor, named)
    if error is not ErrorCode.NONE:
        return await refused(turns, request, error)
    first, start = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    names = await in_order(turns, list(named) or [topic.name for topic in call.broker.catalog], first)
    room = max(1, min(MOST_PARTITIONS, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        await turns.step()
        if not room:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        entry, next_index = page(call, name, start if name == first else 0, room)
        response.topics.append(entry)
        room -= len(entry.partitions)
        if next_index is not None:
            response.next_cursor = Cursor(topic_name=name, partition_index=next_index)
            break
    return response


async def in_order(turns: Turns, names: list[str], first: str) -> list[str]:
    """Return the names from `first` on, sorted."""
    begin = java_order(first)
    found: list[tuple[bytes, str]] = []
    for name in names:
        await turns.step()
        order = java_order(name)
        if order >= begin:
            found.append((order, name))
    found.sort()
    return [name for _, name in found]


def java_order(name: str) -> bytes:
    """Return what sorts as Java's strings do: by their UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


def invalid(cursor: Cursor | None, named: dict[str, bool]) -> ErrorCode:
    """Return the error of a request that makes no sense, or NONE.

    A cursor must be at a topic that is asked for, at a partition that could be. Without one, Kafka stumbles on an empty
    name.
    """
    if cursor is None:
        return ErrorCode.UNKNOWN_SERVER_ERROR if "" in named else ErrorCode.NONE
    if (named and cursor.topic_name not in named) or cursor.partition_index < 0:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


async def refused(
    turns: Turns, request: DescribeTopicPartitionsRequest, error: ErrorCode
) -> DescribeTopicPartitionsResponse:
    """Return the answer to a request that makes no sense."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error)
            async for topic in turns.over(request.topics)
        ]
    )


def page(call: Call, name: str, start: int, room: int) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """Return a topic with so many partitions at most, from `start` on, and where the next page begins, if there is one.

    Replicas share one log here, so none but those in sync can lead a partition (KIP-966).
    """
    topic = call.broker.catalog.by_name(name)
    if topic is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
        return DescribeTopicPartitionsResponseTopic(
            name=name,
            error_code=error,
            is_internal=name in INTERNAL_TOPICS,
            topic_authorized_operations=TOPIC_OPERATIONS_ALLOWED,
        ), None
    nodes, end = call.broker.nodes, start + room
    entry = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        topic_authorized_operations=TOPIC_OPERATIONS_ALLOWED,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader == NOBODY else ErrorCode.NONE,
                partition_index=partition.index,
                leader_id=leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(replicas),
                isr_nodes=nodes.in_sync(replicas),
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=nodes.offline(replicas),
            )
            for partition in topic.partitions[start:end]
            for leader in (nodes.leader(topic, partition.index),)
            for replicas in (nodes.replicas(topic, partition.index),)
        ],
    )
    return entry, end if end < len(topic.partitions) else None


def weight(response: DescribeTopicPartitionsResponse) -> int:
    """Return how many entries there are to be written."""
    return weighed(1 + len(topic.partitions) for topic in response.topics)


API = Api(request=DescribeTopicPartitionsRequest, versions="0", handle=describe_topic_partitions, weight=weight)
