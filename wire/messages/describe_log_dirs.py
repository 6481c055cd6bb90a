"""DescribeLogDirs (key 35): how much room the partitions of this broker take, directory by directory. KIP-113.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4 |
| 1 | no change of layout; throttling happens after the answer (KIP-219) |
| 2 | flexible (KIP-482) |
| 3 | a top-level error_code |
| 4 | total_bytes and usable_bytes (KIP-827) |
| 5 | is_cordoned (KIP-1066) |
"""

from wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, Array, Message, Struct, field, message, struct


@struct
class DescribableLogDirTopic(Struct):
    """Partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


@message(api=35, versions="1-5", flexible="2+")
class DescribeLogDirsRequest(Message):
    """The partitions to tell of; null for all of them."""

    topics: list[DescribableLogDirTopic] | None = field(Array(DescribableLogDirTopic), nullable="0+")


@struct
class DescribeLogDirsPartition(Struct):
    """The bytes of a log. `offset_lag` is by how many offsets the replica in this directory lags behind."""

    partition_index: int = field(INT32)
    partition_size: int = field(INT64)
    offset_lag: int = field(INT64)
    is_future_key: bool = field(BOOLEAN)


@struct
class DescribeLogDirsTopic(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partitions: list[DescribeLogDirsPartition] = field(Array(DescribeLogDirsPartition))


@struct
class DescribeLogDirsResult(Struct):
    """A directory; `total_bytes` and `usable_bytes` are those of its volume, -1 where they are not known."""

    error_code: int = field(INT16)
    log_dir: str = field(STRING)
    topics: list[DescribeLogDirsTopic] = field(Array(DescribeLogDirsTopic))
    total_bytes: int = field(INT64, "4+", default=-1, ignorable=True)
    usable_bytes: int = field(INT64, "4+", default=-1, ignorable=True)
    is_cordoned: bool = field(BOOLEAN, "5+", ignorable=True)


@message(api=35, versions="1-5", flexible="2+", answers=DescribeLogDirsRequest)
class DescribeLogDirsResponse(Message):
    """One entry for each directory of the broker."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, "3+", ignorable=True)
    results: list[DescribeLogDirsResult] = field(Array(DescribeLogDirsResult))
