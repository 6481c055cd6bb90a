"""OffsetDelete (key 47): forget positions of a group in topics it does not read now. KIP-496.

Version 0 is the only one. It is older than flexible encoding's reach and was never converted, so its headers are v1
and v0 for ever. Note the order in the answer: the error code comes before throttle_time_ms.
"""

from wire.schema import INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class OffsetDeleteRequestPartition(Struct):
    """A partition whose position goes."""

    partition_index: int = field(INT32)


@struct
class OffsetDeleteRequestTopic(Struct):
    """A topic and those of its partitions."""

    name: str = field(STRING)
    partitions: list[OffsetDeleteRequestPartition] = field(Array(OffsetDeleteRequestPartition))


@message(api=47, versions="0", flexible="none")
class OffsetDeleteRequest(Message):
    """Names the group and the positions."""

    group_id: str = field(STRING)
    topics: list[OffsetDeleteRequestTopic] = field(Array(OffsetDeleteRequestTopic))


@struct
class OffsetDeleteResponsePartition(Struct):
    """What became of one position."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class OffsetDeleteResponseTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OffsetDeleteResponsePartition] = field(Array(OffsetDeleteResponsePartition))


@message(api=47, versions="0", flexible="none", answers=OffsetDeleteRequest)
class OffsetDeleteResponse(Message):
    """With a top-level error the list of topics is empty."""

    error_code: int = field(INT16)
    throttle_time_ms: int = field(INT32, ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = field(Array(OffsetDeleteResponseTopic))
