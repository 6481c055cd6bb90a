"""ListOffsets (key 2): the offset that belongs to a timestamp. KIP-79.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4 (a list of offsets for each partition) |
| 1 | one timestamp and one offset instead |
| 2 | isolation_level (KIP-98); throttle_time_ms in the answer |
| 3 | no change of layout; throttling happens after the answer (KIP-219) |
| 4 | current_leader_epoch, leader_epoch (KIP-320) |
| 5 | no change of layout; error 78 is allowed (KIP-207) |
| 6 | flexible (KIP-482) |
| 7 | no change of layout; timestamp -3 is the newest record's (KIP-734) |
| 8 | no change of layout; timestamp -4 is the earliest local one (KIP-405) |
| 9 | no change of layout; timestamp -5 is the latest tiered one (KIP-1005) |
| 10 | timeout_ms (KIP-1075) |
| 11 | no change of layout; timestamp -6 is the earliest not yet tiered (KIP-1023) |
"""

from wire.schema import INT8, INT16, INT32, INT64, STRING, Array, Message, Struct, field, message, struct


@struct
class ListOffsetsPartition(Struct):
    """A partition and the timestamp (ms since the epoch) to look for; -1 is the end, -2 the beginning."""

    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, "4+", default=-1, ignorable=True)
    timestamp: int = field(INT64)
    max_num_offsets: int = field(INT32, "0", default=1)


@struct
class ListOffsetsTopic(Struct):
    """A topic and its partitions asked about."""

    name: str = field(STRING)
    partitions: list[ListOffsetsPartition] = field(Array(ListOffsetsPartition))


@message(api=2, versions="1-11", flexible="6+")
class ListOffsetsRequest(Message):
    """`replica_id` is -1 from a consumer; `timeout_ms` bounds the reading of remote storage."""

    replica_id: int = field(INT32)
    isolation_level: int = field(INT8, "2+")
    topics: list[ListOffsetsTopic] = field(Array(ListOffsetsTopic))
    timeout_ms: int = field(INT32, "10+", ignorable=True)


@struct
class ListOffsetsPartitionResponse(Struct):
    """The offset found, or -1."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    old_style_offsets: list[int] = field(Array(INT64), "0")
    timestamp: int = field(INT64, "1+", default=-1)
    offset: int = field(INT64, "1+", default=-1)
    leader_epoch: int = field(INT32, "4+", default=-1)


@struct
class ListOffsetsTopicResponse(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[ListOffsetsPartitionResponse] = field(Array(ListOffsetsPartitionResponse))


@message(api=2, versions="1-11", flexible="6+", answers=ListOffsetsRequest)
class ListOffsetsResponse(Message):
    """One entry for each partition asked about."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field(Array(ListOffsetsTopicResponse))
