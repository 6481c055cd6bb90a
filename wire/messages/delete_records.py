"""DeleteRecords (key 21): let logs begin later. KIP-107.

| version | added |
|---|---|
| 0 | the API |
| 1 | no change of layout; throttling happens after the answer (KIP-219) |
| 2 | flexible (KIP-482) |
"""

from wire.schema import INT16, INT32, INT64, STRING, Array, Message, Struct, field, message, struct


@struct
class DeleteRecordsPartition(Struct):
    """The offset of the first record to stay; -1 for the high watermark."""

    partition_index: int = field(INT32)
    offset: int = field(INT64)


@struct
class DeleteRecordsTopic(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partitions: list[DeleteRecordsPartition] = field(Array(DeleteRecordsPartition))


@message(api=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest(Message):
    """What to delete, and how long to wait for every replica to have done so (ms)."""

    topics: list[DeleteRecordsTopic] = field(Array(DeleteRecordsTopic))
    timeout_ms: int = field(INT32)


@struct
class DeleteRecordsPartitionResult(Struct):
    """Where the log begins now; -1 if there is an error."""

    partition_index: int = field(INT32)
    low_watermark: int = field(INT64)
    error_code: int = field(INT16)


@struct
class DeleteRecordsTopicResult(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partitions: list[DeleteRecordsPartitionResult] = field(Array(DeleteRecordsPartitionResult))


@message(api=21, versions="0-2", flexible="2+", answers=DeleteRecordsRequest)
class DeleteRecordsResponse(Message):
    """One entry for each partition of the request."""

    throttle_time_ms: int = field(INT32)
    topics: list[DeleteRecordsTopicResult] = field(Array(DeleteRecordsTopicResult))
