"""CreateTopics (key 19): topics with their partitions, replicas and configuration. KIP-4.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4, as v1 |
| 1 | validate_only; error_message in the answer |
| 2 | throttle_time_ms in the answer |
| 3 | no change of layout; throttling happens after the answer (KIP-219) |
| 4 | no change of layout; -1 partitions and -1 replicas mean the broker's defaults (KIP-464) |
| 5 | flexible (KIP-482); partitions, replication factor and configs in the answer (KIP-525) |
| 6 | no change of layout; error 89 is allowed (KIP-599) |
| 7 | topic_id in the answer (KIP-516) |
"""

import uuid

from wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, UUID, Array, Message, Struct, field, message, struct


@struct
class CreatableReplicaAssignment(Struct):
    """One partition, and the brokers that shall hold it; the first of them is preferred as leader."""

    partition_index: int = field(INT32)
    broker_ids: list[int] = field(Array(INT32))


@struct
class CreatableTopicConfig(Struct):
    """A setting of the topic, in its text form."""

    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")


@struct
class CreatableTopic(Struct):
    """A topic wished for: by two numbers (-1 for the broker's default) or, with both at -1, by `assignments`."""

    name: str = field(STRING)
    num_partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    assignments: list[CreatableReplicaAssignment] = field(Array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = field(Array(CreatableTopicConfig))


@message(api=19, versions="2-7", flexible="5+")
class CreateTopicsRequest(Message):
    """The topics, how long to wait for them (ms), and whether they are only to be checked."""

    topics: list[CreatableTopic] = field(Array(CreatableTopic))
    timeout_ms: int = field(INT32, default=60_000)
    validate_only: bool = field(BOOLEAN, "1+")


@struct
class CreatableTopicConfigs(Struct):
    """A setting as the topic has it, and where it comes from (KIP-226)."""

    name: str = field(STRING, "5+")
    value: str | None = field(STRING, "5+", nullable="5+")
    read_only: bool = field(BOOLEAN, "5+")
    config_source: int = field(INT8, "5+", default=-1, ignorable=True)
    is_sensitive: bool = field(BOOLEAN, "5+")


@struct
class CreatableTopicResult(Struct):
    """What became of a topic; `topic_config_error_code` says why `configs` are withheld."""

    name: str = field(STRING)
    topic_id: uuid.UUID = field(UUID, "7+", ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "1+", nullable="0+", ignorable=True)
    topic_config_error_code: int = field(INT16, "5+", tag=0, ignorable=True)
    num_partitions: int = field(INT32, "5+", default=-1, ignorable=True)
    replication_factor: int = field(INT16, "5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field(
        Array(CreatableTopicConfigs), "5+", nullable="5+", ignorable=True
    )


@message(api=19, versions="2-7", flexible="5+", answers=CreateTopicsRequest)
class CreateTopicsResponse(Message):
    """One entry for each name of the request."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    topics: list[CreatableTopicResult] = field(Array(CreatableTopicResult))
