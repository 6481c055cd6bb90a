"""Fetch (key 1): read records, waiting a while for them if need be.

| version | added |
|---|---|
| 0-3 | no longer served by Kafka 4 (old record formats) |
| 4 | isolation_level, last_stable_offset, aborted_transactions (KIP-98) |
| 5 | log_start_offset in both directions (KIP-107) |
| 6 | no change of layout; error 56 is allowed |
| 7 | fetch sessions and a top-level error_code (KIP-227) |
| 8 | no change of layout; throttling happens after the answer (KIP-219) |
| 9 | current_leader_epoch (KIP-320) |
| 10 | no change of layout; zstd may be used (KIP-110) |
| 11 | rack_id, preferred_read_replica (KIP-392) |
| 12 | flexible; cluster_id, last_fetched_epoch, and the answers' epoch tags (KIP-595) |
| 13 | topic ids instead of names (KIP-516) |
| 14 | no change of layout; tiered storage (KIP-405) |
| 15 | replica_id moves into the tagged replica_state (KIP-903) |
| 16 | node_endpoints (KIP-951) |
| 17 | replica_directory_id (KIP-853) |
| 18 | high_watermark in the request (KIP-1166) |
"""

import uuid

from wire.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
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
class ReplicaState(Struct):
    """The follower that fetches; -1 from a consumer."""

    replica_id: int = field(INT32, default=-1)
    replica_epoch: int = field(INT64, default=-1)


@struct
class FetchPartition(Struct):
    """Where to read one partition from, and how many bytes at most."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "9+", default=-1, ignorable=True)
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, "12+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    partition_max_bytes: int = field(INT32)
    replica_directory_id: uuid.UUID = field(UUID, "17+", tag=0, ignorable=True)
    high_watermark: int = field(INT64, "18+", tag=1, default=2**63 - 1, ignorable=True)


@struct
class FetchTopic(Struct):
    """A topic: by name up to v12, by id from v13 on."""

    topic: str = field(STRING, "0-12", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "13+", ignorable=True)
    partitions: list[FetchPartition] = field(Array(FetchPartition))


@struct
class ForgottenTopic(Struct):
    """Partitions that leave the fetch session."""

    topic: str = field(STRING, "7-12", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "13+", ignorable=True)
    partitions: list[int] = field(Array(INT32))


@message(api=1, versions="4-18", flexible="12+")
class FetchRequest(Message):
    """Waits up to `max_wait_ms` for `min_bytes`; session id 0 with epoch -1 is a fetch without a session."""

    cluster_id: str | None = field(STRING, "12+", nullable="12+", tag=0, default=None, ignorable=True)
    replica_id: int = field(INT32, "0-14", default=-1)
    replica_state: ReplicaState = field(ReplicaState, "15+", tag=1)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, "3+", default=2**31 - 1, ignorable=True)
    isolation_level: int = field(INT8, "4+", ignorable=True)
    session_id: int = field(INT32, "7+", ignorable=True)
    session_epoch: int = field(INT32, "7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = field(Array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic), "7+")
    rack_id: str = field(STRING, "11+", ignorable=True)


@struct
class EpochEndOffset(Struct):
    """Where the fetcher's log and the leader's part ways."""

    epoch: int = field(INT32, default=-1)
    end_offset: int = field(INT64, default=-1)


@struct
class LeaderIdAndEpoch(Struct):
    """Who leads now, told to somebody who asked the wrong broker."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)


@struct
class SnapshotId(Struct):
    """A snapshot to fetch instead, when the log no longer reaches back that far."""

    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


@struct
class AbortedTransaction(Struct):
    """A transaction whose records are to be skipped, from `first_offset` up to its abort marker."""

    producer_id: int = field(INT64)
    first_offset: int = field(INT64)


@struct
class PartitionData(Struct):
    """The records of one partition, as whole record batches back to back."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, "4+", default=-1, ignorable=True)
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId = field(SnapshotId, "12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field(
        Array(AbortedTransaction), "4+", nullable="4+", ignorable=True
    )
    preferred_read_replica: int = field(INT32, "11+", default=-1)
    records: bytes | None = field(RECORDS, nullable="0+")


@struct
class FetchableTopicResponse(Struct):
    """A topic, named in the way of the request."""

    topic: str = field(STRING, "0-12", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "13+", ignorable=True)
    partitions: list[PartitionData] = field(Array(PartitionData))


@struct
class NodeEndpoint(Struct):
    """Where a leader named in the answer listens."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="0+", default=None)


@message(api=1, versions="4-18", flexible="12+", answers=FetchRequest)
class FetchResponse(Message):
    """The records. Session id 0 declines a session."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16, "7+", ignorable=True)
    session_id: int = field(INT32, "7+")
    responses: list[FetchableTopicResponse] = field(Array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), "16+", tag=0)
