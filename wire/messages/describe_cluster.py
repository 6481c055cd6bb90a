"""DescribeCluster (key 60): the brokers, without any topics. KIP-700.

| version | added |
|---|---|
| 0 | the API |
| 1 | endpoint_type: brokers (1) or controllers (2) (KIP-919) |
| 2 | include_fenced_brokers, is_fenced (KIP-1073) |
"""

from wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@message(api=60, versions="0-2", flexible="0+")
class DescribeClusterRequest(Message):
    """Which nodes to tell of, and whether to tell what the caller may do to the cluster."""

    include_cluster_authorized_operations: bool = field(BOOLEAN)
    endpoint_type: int = field(INT8, "1+", default=1)
    include_fenced_brokers: bool = field(BOOLEAN, "2+")


@struct
class DescribeClusterBroker(Struct):
    """A node and where it listens."""

    broker_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="0+", default=None)
    is_fenced: bool = field(BOOLEAN, "2+")


@message(api=60, versions="0-2", flexible="0+", answers=DescribeClusterRequest)
class DescribeClusterResponse(Message):
    """The cluster. `cluster_authorized_operations` is a set of bits; its default says that nobody asked for it."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)
    endpoint_type: int = field(INT8, "1+", default=1)
    cluster_id: str = field(STRING)
    controller_id: int = field(INT32, default=-1)
    brokers: list[DescribeClusterBroker] = field(Array(DescribeClusterBroker))
    cluster_authorized_operations: int = field(INT32, default=-(2**31))
