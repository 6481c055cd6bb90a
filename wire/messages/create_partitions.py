"""CreatePartitions (key 37): more partitions for topics that exist. KIP-195.

| version | added |
|---|---|
| 0 | the API |
| 1 | no change of layout; throttling happens after the answer (KIP-219) |
| 2 | flexible (KIP-482) |
| 3 | no change of layout; error 89 is allowed (KIP-599) |
"""

from wire.schema import BOOLEAN, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class CreatePartitionsAssignment(Struct):
    """The brokers that shall hold one of the new partitions."""

    broker_ids: list[int] = field(Array(INT32))


@struct
class CreatePartitionsTopic(Struct):
    """How many partitions the topic shall have in all; null `assignments` leave it to the broker where they go."""

    name: str = field(STRING)
    count: int = field(INT32)
    assignments: list[CreatePartitionsAssignment] | None = field(Array(CreatePartitionsAssignment), nullable="0+")


@message(api=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest(Message):
    """The topics, how long to wait for them (ms), and whether they are only to be checked."""

    topics: list[CreatePartitionsTopic] = field(Array(CreatePartitionsTopic))
    timeout_ms: int = field(INT32)
    validate_only: bool = field(BOOLEAN)


@struct
class CreatePartitionsTopicResult(Struct):
    """What became of a topic."""

    name: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)


@message(api=37, versions="0-3", flexible="2+", answers=CreatePartitionsRequest)
class CreatePartitionsResponse(Message):
    """One entry for each name of the request."""

    throttle_time_ms: int = field(INT32)
    results: list[CreatePartitionsTopicResult] = field(Array(CreatePartitionsTopicResult))
