"""DescribeTopicPartitions (key 75): topics with their partitions, page by page. KIP-966. There is only version 0."""

import uuid

from wire.schema import BOOLEAN, INT16, INT32, STRING, UUID, Array, Message, Struct, field, message, struct


@struct
class TopicRequest(Struct):
    """A topic to tell of."""

    name: str = field(STRING)


@struct
class Cursor(Struct):
    """The partition at which a page begins."""

    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


@message(api=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(Message):
    """The topics (all, if none is named), how many partitions one answer may tell of, and where to begin."""

    topics: list[TopicRequest] = field(Array(TopicRequest))
    response_partition_limit: int = field(INT32, default=2000)
    cursor: Cursor | None = field(Cursor, nullable="0+", default=None)


@struct
class DescribeTopicPartitionsResponsePartition(Struct):
    """A partition, its leader and its replicas. KIP-966 tells what the eligible leader replicas (ELR) are."""

    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, default=-1, ignorable=True)
    replica_nodes: list[int] = field(Array(INT32))
    isr_nodes: list[int] = field(Array(INT32))
    eligible_leader_replicas: list[int] | None = field(Array(INT32), nullable="0+", default=None)
    last_known_elr: list[int] | None = field(Array(INT32), nullable="0+", default=None)
    offline_replicas: list[int] = field(Array(INT32), ignorable=True)


@struct
class DescribeTopicPartitionsResponseTopic(Struct):
    """A topic, or as much of it as the page has room for."""

    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="0+")
    topic_id: uuid.UUID = field(UUID, ignorable=True)
    is_internal: bool = field(BOOLEAN, ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(Array(DescribeTopicPartitionsResponsePartition))
    topic_authorized_operations: int = field(INT32, default=-(2**31))


@message(api=75, versions="0", flexible="0+", answers=DescribeTopicPartitionsRequest)
class DescribeTopicPartitionsResponse(Message):
    """A page; `next_cursor` is null on the last one."""

    throttle_time_ms: int = field(INT32, ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(Array(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = field(Cursor, nullable="0+", default=None)
