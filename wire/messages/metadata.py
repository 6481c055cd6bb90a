"""Metadata (key 3): brokers, topics, partitions and who leads them.

| version | added |
|---|---|
| 0 | an empty list of topics means all of them |
| 1 | rack, controller_id, is_internal; null means all topics, an empty list means none |
| 2 | cluster_id |
| 3 | throttle_time_ms |
| 4 | allow_auto_topic_creation (KIP-204) |
| 5 | offline_replicas (KIP-112) |
| 6 | no change of layout; throttling happens after the answer (KIP-219) |
| 7 | leader_epoch (KIP-320) |
| 8 | authorized operations of cluster and topics (KIP-430) |
| 9 | flexible (KIP-482) |
| 10 | topic_id in both directions (KIP-516) |
| 11 | cluster authorized operations gone; DescribeCluster has them (KIP-700) |
| 12 | topics may be asked for by id, with a null name |
| 13 | top-level error_code (KIP-1102) |
"""

import uuid

from wire.schema import BOOLEAN, INT16, INT32, STRING, UUID, Array, Message, Struct, field, message, struct


@struct
class MetadataRequestTopic(Struct):
    """One topic asked for: by name, or from v12 on by id."""

    topic_id: uuid.UUID = field(UUID, "10+", ignorable=True)
    name: str | None = field(STRING, nullable="10+")


@message(api=3, versions="0-13", flexible="9+")
class MetadataRequest(Message):
    """Asks about some topics, all of them (`topics` null; in v0 empty), or only about the brokers (empty)."""

    topics: list[MetadataRequestTopic] | None = field(Array(MetadataRequestTopic), nullable="1+")
    allow_auto_topic_creation: bool = field(BOOLEAN, "4+", default=True)
    include_cluster_authorized_operations: bool = field(BOOLEAN, "8-10")
    include_topic_authorized_operations: bool = field(BOOLEAN, "8+")


@struct
class MetadataResponseBroker(Struct):
    """A broker and where it listens."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, "1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition(Struct):
    """A partition, its leader and its replicas."""

    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, "7+", default=-1, ignorable=True)
    replica_nodes: list[int] = field(Array(INT32))
    isr_nodes: list[int] = field(Array(INT32))
    offline_replicas: list[int] = field(Array(INT32), "5+", ignorable=True)


@struct
class MetadataResponseTopic(Struct):
    """A topic. The name is null only for an unknown topic that was asked for by id."""

    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="12+")
    topic_id: uuid.UUID = field(UUID, "10+", ignorable=True)
    is_internal: bool = field(BOOLEAN, "1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = field(Array(MetadataResponsePartition))
    topic_authorized_operations: int = field(INT32, "8+", default=-(2**31))


@message(api=3, versions="0-13", flexible="9+", answers=MetadataRequest)
class MetadataResponse(Message):
    """The cluster as one broker sees it."""

    throttle_time_ms: int = field(INT32, "3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = field(Array(MetadataResponseBroker))
    cluster_id: str | None = field(STRING, "2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = field(INT32, "1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = field(Array(MetadataResponseTopic))
    cluster_authorized_operations: int = field(INT32, "8-10", default=-(2**31))
    error_code: int = field(INT16, "13+", ignorable=True)
