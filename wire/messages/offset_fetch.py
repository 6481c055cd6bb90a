"""OffsetFetch (key 9): read the positions of groups.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4 (ZooKeeper storage) |
| 1 | |
| 2 | null topics mean all of them; top-level error_code, after the topics |
| 3 | throttle_time_ms in the answer |
| 4 | no change of layout; throttling happens after the answer (KIP-219) |
| 5 | committed_leader_epoch in the answer (KIP-320) |
| 6 | flexible (KIP-482) |
| 7 | require_stable (KIP-447) |
| 8 | many groups in one request; the single-group fields are gone on both sides (KIP-709) |
| 9 | member_id and member_epoch for each group (KIP-848) |
| 10 | topic ids instead of names (KIP-516) |
"""

import uuid

from wire.schema import (
    BOOLEAN,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID,
    Array,
    Message,
    Struct,
    field,
    message,
    struct,
)


@struct
class OffsetFetchRequestTopic(Struct):
    """Partitions asked for, up to v7."""

    name: str = field(STRING)
    partition_indexes: list[int] = field(Array(INT32))


@struct
class OffsetFetchRequestTopics(Struct):
    """Partitions asked for, from v8 on: by name up to v9, by topic id from v10 on."""

    name: str = field(STRING, "8-9", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "10+", ignorable=True)
    partition_indexes: list[int] = field(Array(INT32))


@struct
class OffsetFetchRequestGroup(Struct):
    """One group asked about; null `topics` mean all of them."""

    group_id: str = field(STRING)
    member_id: str | None = field(STRING, "9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = field(INT32, "9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field(Array(OffsetFetchRequestTopics), nullable="8+")


@message(api=9, versions="1-10", flexible="6+")
class OffsetFetchRequest(Message):
    """One group in `group_id` and `topics` up to v7, `groups` from v8 on."""

    group_id: str = field(STRING, "0-7")
    topics: list[OffsetFetchRequestTopic] | None = field(Array(OffsetFetchRequestTopic), "0-7", nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = field(Array(OffsetFetchRequestGroup), "8+")
    require_stable: bool = field(BOOLEAN, "7+")


@struct
class OffsetFetchResponsePartition(Struct):
    """A position, up to v7; offset -1, epoch -1 and metadata "" where none is stored."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, "5-7", default=-1, ignorable=True)
    metadata: str | None = field(STRING, nullable="0-7")
    error_code: int = field(INT16)


@struct
class OffsetFetchResponseTopic(Struct):
    """The positions in one topic, up to v7."""

    name: str = field(STRING)
    partitions: list[OffsetFetchResponsePartition] = field(Array(OffsetFetchResponsePartition))


@struct
class OffsetFetchResponsePartitions(Struct):
    """A position, from v8 on; offset -1, epoch -1 and metadata "" where none is stored."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, default=-1, ignorable=True)
    metadata: str | None = field(STRING, nullable="8+")
    error_code: int = field(INT16)


@struct
class OffsetFetchResponseTopics(Struct):
    """The positions in one topic, from v8 on."""

    name: str = field(STRING, "8-9", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "10+", ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = field(Array(OffsetFetchResponsePartitions))


@struct
class OffsetFetchResponseGroup(Struct):
    """The positions of one group, or the error that stands for them."""

    group_id: str = field(STRING)
    topics: list[OffsetFetchResponseTopics] = field(Array(OffsetFetchResponseTopics))
    error_code: int = field(INT16)


@message(api=9, versions="1-10", flexible="6+", answers=OffsetFetchRequest)
class OffsetFetchResponse(Message):
    """The single group's `topics` and `error_code` up to v7, `groups` from v8 on."""

    throttle_time_ms: int = field(INT32, "3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field(Array(OffsetFetchResponseTopic), "0-7")
    error_code: int = field(INT16, "2-7", ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field(Array(OffsetFetchResponseGroup), "8+")
