"""OffsetForLeaderEpoch (key 23): where the records of a leader's epoch end, to find out what was truncated. KIP-101.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4, as v1 |
| 1 | leader_epoch in the answer (KIP-279) |
| 2 | current_leader_epoch; throttle_time_ms in the answer (KIP-320) |
| 3 | replica_id (KIP-392) |
| 4 | flexible (KIP-482) |
"""

from wire.schema import INT16, INT32, INT64, STRING, Array, Message, Struct, field, message, struct


@struct
class OffsetForLeaderPartition(Struct):
    """The epoch asked about, and the one in which the caller believes its leader to be."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "2+", default=-1, ignorable=True)
    leader_epoch: int = field(INT32)


@struct
class OffsetForLeaderTopic(Struct):
    """Partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[OffsetForLeaderPartition] = field(Array(OffsetForLeaderPartition))


@message(api=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    """From a consumer (-1), a follower (its id) or a tool that may see more than consumers do (-2)."""

    replica_id: int = field(INT32, "3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field(Array(OffsetForLeaderTopic))


@struct
class OffsetForLeaderPartitionResult(Struct):
    """The greatest epoch not above the one asked about, and the offset behind its last record.

    Kafka calls it `EpochEndOffset`, as it does another struct, of Fetch.
    """

    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, "1+", default=-1, ignorable=True)
    end_offset: int = field(INT64, default=-1)


@struct
class OffsetForLeaderTopicResult(Struct):
    """Partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[OffsetForLeaderPartitionResult] = field(Array(OffsetForLeaderPartitionResult))


@message(api=23, versions="2-4", flexible="4+", answers=OffsetForLeaderEpochRequest)
class OffsetForLeaderEpochResponse(Message):
    """One entry for each partition of the request."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field(Array(OffsetForLeaderTopicResult))
