"""Produce (key 0): append records to partitions.

| version | added |
|---|---|
| 0-2 | no longer served by Kafka 4 (old record formats); throttle_time_ms (v1), log_append_time_ms (v2) |
| 3 | transactional_id; record batches of magic 2 only (KIP-98) |
| 4 | no change of layout; error 56 is allowed (KIP-112) |
| 5 | log_start_offset in the answer (KIP-107) |
| 6 | no change of layout; throttling happens after the answer (KIP-219) |
| 7 | no change of layout; zstd may be used (KIP-110) |
| 8 | record_errors and error_message in the answer (KIP-467) |
| 9 | flexible (KIP-482) |
| 10 | current_leader and node_endpoints in the answer (KIP-951) |
| 11 | no change of layout; error 120 is allowed (KIP-890) |
| 12 | no change of layout; a transaction takes its partitions in by itself (KIP-890) |
| 13 | topic ids instead of names (KIP-516) |

With `acks` 0 there is no answer at all: the next bytes that the client gets answer its next request.
"""

import uuid

from wire.messages.fetch import LeaderIdAndEpoch, NodeEndpoint
from wire.schema import INT16, INT32, INT64, RECORDS, STRING, UUID, Array, Message, Struct, field, message, struct


@struct
class PartitionProduceData(Struct):
    """What goes to one partition: exactly one record batch, if the broker is to take it."""

    index: int = field(INT32)
    records: bytes | None = field(RECORDS, nullable="0+")


@struct
class TopicProduceData(Struct):
    """A topic: by name up to v12, by id from v13 on."""

    name: str = field(STRING, "0-12", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "13+", ignorable=True)
    partition_data: list[PartitionProduceData] = field(Array(PartitionProduceData))


@message(api=0, versions="3-13", flexible="9+")
class ProduceRequest(Message):
    """The records, who must have them before the answer (`acks` -1, 1 or 0), and how long that may take (ms)."""

    transactional_id: str | None = field(STRING, "3+", nullable="3+", default=None)
    acks: int = field(INT16)
    timeout_ms: int = field(INT32)
    topic_data: list[TopicProduceData] = field(Array(TopicProduceData))


@struct
class BatchIndexAndErrorMessage(Struct):
    """A record, by its place in the batch, because of which the whole batch was refused."""

    batch_index: int = field(INT32, "8+")
    batch_index_error_message: str | None = field(STRING, "8+", nullable="8+", default=None)


@struct
class PartitionProduceResponse(Struct):
    """Where the records went: the offset of the first. `log_append_time_ms` is -1 where records keep their own time."""

    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)
    log_append_time_ms: int = field(INT64, "2+", default=-1, ignorable=True)
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field(Array(BatchIndexAndErrorMessage), "8+", ignorable=True)
    error_message: str | None = field(STRING, "8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "10+", tag=0)


@struct
class TopicProduceResponse(Struct):
    """A topic, named in the way of the request."""

    name: str = field(STRING, "0-12", ignorable=True)
    topic_id: uuid.UUID = field(UUID, "13+", ignorable=True)
    partition_responses: list[PartitionProduceResponse] = field(Array(PartitionProduceResponse))


@message(api=0, versions="3-13", flexible="9+", answers=ProduceRequest)
class ProduceResponse(Message):
    """One entry for each partition. The throttle time stands behind the topics, other than in all later answers."""

    responses: list[TopicProduceResponse] = field(Array(TopicProduceResponse))
    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), "10+", tag=0)
