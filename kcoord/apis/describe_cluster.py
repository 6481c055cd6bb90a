"""DescribeCluster (key 60): the brokers of the cluster (KIP-700).

v1 what kind of node is asked (KIP-919); v2 fenced brokers (KIP-1073), of which there are none.
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.metadata import CLUSTER_OPERATIONS_ALLOWED
from wire.errors import ErrorCode
from wire.messages import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse

ENDPOINT_TYPE_SINCE = 1
BROKERS, CONTROLLERS = 1, 2
"""Kinds of node (Apache Kafka `EndpointType`)."""


async def describe_cluster(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Tell of the brokers, unless another kind of node is looked for.

    See Apache Kafka's `AuthHelper.computeDescribeClusterResponse`.
    """
    broker, asked = call.broker, request.endpoint_type
    if call.context.version >= ENDPOINT_TYPE_SINCE and asked != BROKERS:
        if asked == CONTROLLERS:
            return refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker, not a controller")
        return refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"there are no nodes of kind {asked}")
    response = DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=broker.nodes.controller,
        brokers=[
            DescribeClusterBroker(broker_id=node.id, host=where.host, port=where.port, rack=node.rack)
            for node in broker.nodes.alive
            for where in (call.endpoint_of(node),)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS_ALLOWED
    return response


def refused(error: ErrorCode, why: str) -> DescribeClusterResponse:
    """Return the answer to who looks for other nodes."""
    return DescribeClusterResponse(error_code=error, error_message=why)


API = Api(request=DescribeClusterRequest, versions="0-2", handle=describe_cluster)
