"""OffsetCommit (key 8): store the positions of a group.

| version | added |
|---|---|
| 0, 1 | no longer served by Kafka 4 (ZooKeeper storage; a timestamp for each partition) |
| 2 | retention_time_ms for the whole request; the timestamps are gone |
| 3 | throttle_time_ms in the answer |
| 4 | no change of layout; throttling happens after the answer (KIP-219) |
| 5 | retention_time_ms gone (KIP-211) |
| 6 | committed_leader_epoch (KIP-320) |
| 7 | group_instance_id: static members (KIP-345) |
| 8 | flexible (KIP-482) |
| 9 | no change of layout; errors 69 and 113 are allowed (KIP-848) |
| 10 | topic ids instead of names (KIP-516) |
"""

import uuid

from wire.schema import INT16, INT32, INT64, STRING, UUID, Array, Message, Struct, field, message, struct


@struct
class OffsetCommitRequestPartition(Struct):
    """A position: the offset of the next record to read, with whatever note the client wants back."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, "6+", default=-1, ignorable=True)
    commit_timestamp: int = field(INT64, "1", default=-1)
    committed_metadata: str | None = field(STRING, nullable="0+")


@struct
class OffsetCommitRequestTopic(Struct):
    """A topic: by name up to v9, by id from v10 on."""

    name: str = field(STRING, "0-9", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "10+", ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = field(Array(OffsetCommitRequestPartition))


@message(api=8, versions="2-10", flexible="8+")
class OffsetCommitRequest(Message):
    """Generation -1 with an empty member id is a commit from outside the group (a "simple" consumer)."""

    group_id: str = field(STRING)
    generation_id_or_member_epoch: int = field(INT32, "1+", default=-1, ignorable=True)
    member_id: str = field(STRING, "1+", ignorable=True)
    group_instance_id: str | None = field(STRING, "7+", nullable="7+", default=None)
    retention_time_ms: int = field(INT64, "2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = field(Array(OffsetCommitRequestTopic))


@struct
class OffsetCommitResponsePartition(Struct):
    """What became of one position."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class OffsetCommitResponseTopic(Struct):
    """A topic, named in the way of the request."""

    name: str = field(STRING, "0-9", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "10+", ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = field(Array(OffsetCommitResponsePartition))


@message(api=8, versions="2-10", flexible="8+", answers=OffsetCommitRequest)
class OffsetCommitResponse(Message):
    """There is no top-level error: a failure of the group is repeated for every partition."""

    throttle_time_ms: int = field(INT32, "3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = field(Array(OffsetCommitResponseTopic))
