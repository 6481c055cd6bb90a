"""CreateTopics (key 19): topics made by an operator, each by itself, or only checked (KIP-4).

v4 the broker's defaults without assignments (KIP-464); v5 flexible, and what was made is described (KIP-525); v7
topic ids (KIP-516).

The rules, their order and the order of the answer are those of Apache Kafka 4 (`ControllerApis.createTopics`,
`ReplicationControlManager.createTopics`). On purpose it differs in these points:

- A topic has no settings here, because there are no records yet that they could rule. So a topic that is wished
  for with any setting is refused with INVALID_CONFIG and a message that names the setting: made without it, it
  would not be what was asked for. For the same reason an answer lists no settings; Kafka lists all defaults.
- Two names of one request that differ only in `.` and `_`: the second is refused, as it would be in a request of
  its own. Kafka compares with older topics alone, and makes both.
"""

from collections import Counter
from collections.abc import Iterable

from kcoord.apis.api import Api, Call
from kcoord.broker import random_id
from kcoord.log.catalog import LONGEST_NAME, METADATA_TOPIC, Catalog, TopicRefused
from wire.errors import ErrorCode
from wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

MOST_PARTITIONS = 10_000
"""In one request (Apache Kafka `ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`)."""
MOST_RECORDS = 10_000
"""In one request, each topic and each partition being one (Apache Kafka `QuorumController.MAX_RECORDS_PER_USER_OP`)."""

DEFAULT = -1
"""Stands for the broker's number of partitions or of replicas."""


async def create_topics(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Answer for each name: first for those that are looked into, in the order of the request.

    A name that comes twice is not looked into, nor is that of the metadata log. Where the request as a whole
    cannot be done, nothing is, and each of its entries is answered.
    """
    named = Counter(topic.name for topic in request.topics)
    wished = [topic for topic in request.topics if named[topic.name] == 1 and topic.name != METADATA_TOPIC]
    try:
        results = create(call, wished, request) if wished else []
    except TopicRefused as refusal:
        return CreateTopicsResponse(topics=[refused(topic.name, refusal) for topic in request.topics])
    for name, times in named.items():
        if times > 1:
            twice = TopicRefused(f"topic {name[:LONGEST_NAME]} is named {times} times", ErrorCode.INVALID_REQUEST)
            results.append(refused(name, twice))
    if named[METADATA_TOPIC] == 1:
        forbidden = TopicRefused(f"{METADATA_TOPIC} cannot be created by clients", ErrorCode.INVALID_REQUEST)
        results.append(refused(METADATA_TOPIC, forbidden))
    return CreateTopicsResponse(topics=results)


def create(call: Call, wished: list[CreatableTopic], request: CreateTopicsRequest) -> list[CreatableTopicResult]:
    """Check all topics, and create those that can be if that is wished; return what became of each.

    Raises TopicRefused where the request fails as a whole: REQUEST_TIMED_OUT if it gives no time at all,
    POLICY_VIOLATION if it is too large.
    """
    if request.timeout_ms <= 0:
        raise TopicRefused("", ErrorCode.REQUEST_TIMED_OUT)
    broker = call.broker
    asked_for = sum(max(0, number_asked_for(topic, broker.config.num_partitions)) for topic in wished)
    if asked_for > MOST_PARTITIONS:
        raise TopicRefused(
            f"{asked_for} partitions are too many for one request: at most {MOST_PARTITIONS} are allowed",
            ErrorCode.POLICY_VIOLATION,
        )
    planned = Catalog()
    results: list[CreatableTopicResult] = []
    for topic in wished:
        try:
            results.append(plan(call, topic, planned))
        except TopicRefused as refusal:
            results.append(refused(topic.name, refusal))
    records = sum(1 + len(topic.partitions) for topic in planned)
    if records > MOST_RECORDS:
        raise TopicRefused(
            f"topics and partitions are {records} together: at most {MOST_RECORDS} are allowed in one request",
            ErrorCode.POLICY_VIOLATION,
        )
    if request.validate_only:
        return results
    return [result if result.error_code else made(call, result) for result in results]


def number_asked_for(topic: CreatableTopic, default: int) -> int:
    """Return how many partitions the topic shall have, right or wrong."""
    if topic.assignments:
        return len(topic.assignments)
    return default if topic.num_partitions == DEFAULT else topic.num_partitions


def plan(call: Call, topic: CreatableTopic, planned: Catalog) -> CreatableTopicResult:
    """Return the answer that creating the topic would have, and add it to those planned. Raises TopicRefused."""
    broker = call.broker
    broker.catalog.check_name(topic.name)
    if topic.configs:
        raise TopicRefused(
            f"{topic.configs[0].name[:LONGEST_NAME]!r} is not honoured here: topics have no settings",
            ErrorCode.INVALID_CONFIG,
        )
    if topic.assignments:
        check_assignments(topic, broker.node_id)
    else:
        check_numbers(topic)
    count = number_asked_for(topic, broker.config.num_partitions)
    new = planned.create(topic.name, count, random_id())
    return CreatableTopicResult(
        name=new.name,
        topic_id=new.topic_id,
        error_message=None,
        num_partitions=len(new.partitions),
        replication_factor=1,
    )


def check_assignments(topic: CreatableTopic, node_id: int) -> None:
    """Raise TopicRefused if partitions are given one by one and not all of them, or not to this broker alone.

    INVALID_REQUEST where numbers are given as well, INVALID_REPLICA_ASSIGNMENT otherwise.
    """
    if topic.replication_factor != DEFAULT or topic.num_partitions != DEFAULT:
        raise TopicRefused(
            "partitions that are assigned one by one need -1 for the number of partitions and of replicas",
            ErrorCode.INVALID_REQUEST,
        )
    why = wrong_with(topic.assignments, node_id)
    if why is not None:
        raise TopicRefused(why, ErrorCode.INVALID_REPLICA_ASSIGNMENT)


def wrong_with(assignments: Iterable[CreatableReplicaAssignment], node_id: int) -> str | None:
    """Return what is wrong with the assignments, or None.

    With one broker there is one right list of brokers, so two partitions cannot differ in how many they have.
    """
    found: set[int] = set()
    for each in assignments:
        partition = each.partition_index
        if partition in found:
            return f"partition {partition} is assigned more than once"
        found.add(partition)
        if not each.broker_ids:
            return f"partition {partition} is assigned to no broker"
        previous = None
        for broker in sorted(each.broker_ids):
            if broker == previous:
                return f"partition {partition} is assigned to broker {broker} more than once"
            if broker != node_id:
                return f"partition {partition} is assigned to broker {broker}, which does not exist"
            previous = broker
    if found != set(range(len(found))):
        return "partitions are numbered from 0 without gaps"
    return None


def check_numbers(topic: CreatableTopic) -> None:
    """Raise TopicRefused if there cannot be so many replicas (INVALID_REPLICATION_FACTOR) or partitions.

    A number of replicas that can never be comes before that of partitions, one that is too large after it.
    """
    replicas = topic.replication_factor
    if replicas != DEFAULT and replicas <= 0:
        raise TopicRefused(
            f"there cannot be {replicas} replicas: 1 is allowed, or -1 for the default",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        )
    if topic.num_partitions != DEFAULT and topic.num_partitions <= 0:
        raise TopicRefused(
            f"there cannot be {topic.num_partitions} partitions: 1 and more are allowed, or -1 for the default",
            ErrorCode.INVALID_PARTITIONS,
        )
    if replicas > 1:
        raise TopicRefused(
            f"there cannot be {replicas} replicas: this broker is the only one",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        )


def made(call: Call, planned: CreatableTopicResult) -> CreatableTopicResult:
    """Create a topic as planned, and return what became of it."""
    try:
        topic = call.broker.create_topic(planned.name, planned.num_partitions, "a client created it")
    except TopicRefused as refusal:
        return refused(planned.name, refusal)
    planned.topic_id = topic.topic_id
    return planned


def refused(name: str, refusal: TopicRefused) -> CreatableTopicResult:
    """Return the entry of a topic that is not created."""
    return CreatableTopicResult(name=name, error_code=refusal.code, error_message=str(refusal) or None)


API = Api(request=CreateTopicsRequest, versions="2-7", handle=create_topics)
