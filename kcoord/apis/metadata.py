"""Metadata (key 3): the brokers, and the topics asked for; asking may create them.

v1 null topics mean all, racks, controller, internal flag; v2 cluster id; v3 throttle time; v4 the client says
whether topics may be created; v5 offline replicas; v7 leader epoch (KIP-320); v8 authorized
operations (KIP-430); v9 flexible (KIP-482); v10 topic ids in the answer; v11 no more cluster operations; v12
topics by id (KIP-516); v13 top-level error (KIP-1102).
"""

from contextlib import suppress
from uuid import UUID

from kcoord.apis.api import Api, Call, weighed
from kcoord.apis.turns import Turns
from kcoord.log.catalog import INTERNAL_TOPICS, METADATA_TOPIC, Topic, TopicRefused, is_legal_name
from kcoord.nodes import NOBODY
from wire.errors import ErrorCode
from wire.messages import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NULL_MEANS_ALL_SINCE = 1
CLUSTER_OPERATIONS = range(8, 11)
"""Versions in which the operations on the cluster can be asked for."""
TOPIC_ID_FIELD = range(10, 12)
"""Versions whose request has a field for a topic id that may not be used yet."""

TOPIC_OPERATIONS_ALLOWED = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 11
"""READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: nothing is forbidden."""
CLUSTER_OPERATIONS_ALLOWED = 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12
"""CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE."""

NO_ID = UUID(int=0)


async def metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """Answer for all topics, for those named, or for those whose ids are given."""
    version, broker = call.context.version, call.broker
    turns = Turns()
    error = await invalid(turns, version, request)
    if error is not ErrorCode.NONE:
        return await refused(turns, request, error)
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=where.host, port=where.port, rack=node.rack)
            for node in broker.nodes.alive
            for where in (call.endpoint_of(node),)
        ],
        cluster_id=broker.cluster_id,
        controller_id=broker.nodes.controller,
        topics=await topics(call, request),
    )
    if request.include_topic_authorized_operations:
        async for topic in turns.over(response.topics):
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                topic.topic_authorized_operations = TOPIC_OPERATIONS_ALLOWED
    if version in CLUSTER_OPERATIONS and request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS_ALLOWED
    return response


async def invalid(turns: Turns, version: int, request: MetadataRequest) -> ErrorCode:
    """Return the error of a request that asks for a topic in a way its version does not have, or NONE.

    From version 12 on a topic may go without a name if it has an id; without both, Apache Kafka stumbles.
    """
    async for topic in turns.over(request.topics or ()):
        if version in TOPIC_ID_FIELD and (topic.name is None or topic.topic_id != NO_ID):
            return ErrorCode.INVALID_REQUEST
        if topic.name is None and topic.topic_id == NO_ID:
            return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NONE


async def refused(turns: Turns, request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    """Return the answer to a request that makes no sense: the error on each topic, and nobody else named."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error)
            async for topic in turns.over(request.topics or ())
        ],
        error_code=error,
    )


async def topics(call: Call, request: MetadataRequest) -> list[MetadataResponseTopic]:
    """Return an entry for each topic asked for; one that is named twice has one entry.

    One id in the list, and names are not looked at (Apache Kafka `KafkaApis.handleTopicMetadataRequest`).
    """
    version, catalog, turns = call.context.version, call.broker.catalog, Turns()
    if request.topics is None or (version < NULL_MEANS_ALL_SINCE and not request.topics):
        # Topics come and go between turns; the answer is about those that there are now.
        return [await described(call, turns, topic) for topic in tuple(catalog)]
    ids: dict[UUID, None] = {}
    names: dict[str, None] = {}
    async for asked in turns.over(request.topics):
        if asked.topic_id != NO_ID:
            ids[asked.topic_id] = None
        names[asked.name or ""] = None
    if ids:
        return [
            MetadataResponseTopic(name=None, topic_id=topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            if (known := catalog.by_id(topic_id)) is None
            else await described(call, turns, known)
            async for topic_id in turns.over(ids)
        ]
    may_create = call.broker.config.auto_create_topics_enable and request.allow_auto_topic_creation
    answer: list[MetadataResponseTopic] = []
    for name in names:
        await turns.step()
        topic = catalog.by_name(name)
        answer.append(missing(call, name, may_create) if topic is None else await described(call, turns, topic))
    return answer


async def described(call: Call, turns: Turns, topic: Topic) -> MetadataResponseTopic:
    """Return the entry of a topic."""
    nodes = call.broker.nodes
    entry = MetadataResponseTopic(name=topic.name, topic_id=topic.topic_id, is_internal=topic.is_internal)
    for partition in tuple(topic.partitions):
        await turns.step()
        replicas, leader = nodes.replicas(topic, partition.index), nodes.leader(topic, partition.index)
        entry.partitions.append(
            MetadataResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader == NOBODY else ErrorCode.NONE,
                partition_index=partition.index,
                leader_id=leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(replicas),
                isr_nodes=nodes.in_sync(replicas),
                offline_replicas=nodes.offline(replicas),
            )
        )
    return entry


def weight(response: MetadataResponse) -> int:
    """Return how many entries there are to be written."""
    return weighed(1 + len(topic.partitions) for topic in response.topics)


def missing(call: Call, name: str, may_create: bool) -> MetadataResponseTopic:
    """Return the entry of a topic that does not exist, and create it if that is wished.

    The answer is the same in both cases, and the client asks again: in Kafka it is given while the controller is
    still at work, and it says nothing of a name that the controller refuses. Internal topics come into being by
    themselves or not at all.
    """
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not is_legal_name(name):
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif may_create and name not in INTERNAL_TOPICS and name != METADATA_TOPIC:
        with suppress(TopicRefused):
            call.broker.create_topic(name, call.broker.config.num_partitions, "a client asked for it")
    return MetadataResponseTopic(name=name, error_code=error, is_internal=name in INTERNAL_TOPICS)


API = Api(request=MetadataRequest, versions="0-13", handle=metadata, weight=weight)
