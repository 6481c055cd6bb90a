"""CreateTopics (key 19): topics made by an operator, each by itself, or only checked (KIP-4).

v4 the broker's defaults without assignments (KIP-464); v5 flexible, and what was made is described (KIP-525); v7
topic ids (KIP-516).

The rules, their order and the order of the answer are those of Apache Kafka 4 (`ControllerApis.createTopics`,
`ReplicationControlManager.createTopics`). On purpose it differs in these points:

- A topic has those settings of Kafka's that rule its records (`kcoord.log.topic_config`). One that is wished for with
  any other is refused with INVALID_CONFIG and a message that names the setting: made without it, it would not be
  what was asked for. An answer lists the settings that there are.
- Two names of one request that differ only in `.` and `_`: the second is refused, as it would be in a request of
  its own. Kafka compares with older topics alone, and makes both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest

from kcoord.apis.api import Api, Call
from kcoord.apis.config_entries import Source, broker_value, source_when_created
from kcoord.apis.turns import Turns
from kcoord.broker import random_id
from kcoord.config import Config
from kcoord.log.catalog import LONGEST_NAME, METADATA_TOPIC, Catalog, TopicRefused
from kcoord.log.topic_config import TOPIC_SETTINGS, InvalidSetting, quoted
from kcoord.nodes import NO_ASSIGNMENTS
from wire.errors import ErrorCode
from wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

MOST_PARTITIONS = 10_000
"""In one request (Apache Kafka `ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`)."""
MOST_RECORDS = 10_000
"""In one request; a topic, a setting, a partition is one (Apache Kafka `QuorumController.MAX_RECORDS_PER_USER_OP`)."""

DEFAULT = -1
"""Stands for the broker's number of partitions or of replicas."""


async def create_topics(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Answer for each name: first for those that are looked into, in the order of the request.

    A name that comes twice is not looked into, nor is that of the metadata log. Where the request as a whole
    cannot be done, nothing is, and each of its entries is answered.
    """
    turns = Turns()
    named: Counter[str] = Counter()
    for topic in request.topics:
        await turns.step()
        named[topic.name] += 1
    wished = [
        topic async for topic in turns.over(request.topics) if named[topic.name] == 1 and topic.name != METADATA_TOPIC
    ]
    try:
        results = await create(call, turns, wished, request) if wished else []
    except TopicRefused as refusal:
        return CreateTopicsResponse(topics=[refused(topic.name, refusal) async for topic in turns.over(request.topics)])
    async for name, times in turns.over(named.items()):
        if times > 1:
            twice = TopicRefused(f"topic {name[:LONGEST_NAME]} is named {times} times", ErrorCode.INVALID_REQUEST)
            results.append(refused(name, twice))
    if named[METADATA_TOPIC] == 1:
        forbidden = TopicRefused(f"{METADATA_TOPIC} cannot be created by clients", ErrorCode.INVALID_REQUEST)
        results.append(refused(METADATA_TOPIC, forbidden))
    return CreateTopicsResponse(topics=results)


async def create(
    call: Call, turns: Turns, wished: list[CreatableTopic], request: CreateTopicsRequest
) -> list[CreatableTopicResult]:
    """Check all topics, and create those that can be if that is wished; return what became of each.

    Raises TopicRefused where the request fails as a whole: REQUEST_TIMED_OUT if it gives no time at all,
    POLICY_VIOLATION if it is too large.
    """
    if request.timeout_ms <= 0:
        raise TopicRefused("", ErrorCode.REQUEST_TIMED_OUT)
    broker = call.broker
    asked_for = 0
    async for topic in turns.over(wished):
        asked_for += max(0, number_asked_for(topic, broker.config.num_partitions))
    if asked_for > MOST_PARTITIONS:
        raise TopicRefused(
            f"{asked_for} partitions are too many for one request: at most {MOST_PARTITIONS} are allowed",
            ErrorCode.POLICY_VIOLATION,
        )
    planned = Catalog()
    results: list[CreatableTopicResult] = []
    assigned: dict[str, dict[int, tuple[int, ...]]] = {}
    records = 0
    for topic in wished:
        await turns.step()
        if topic.assignments and len(broker.nodes) > 1:
            assigned[topic.name] = {each.partition_index: tuple(each.broker_ids) for each in topic.assignments}
        try:
            result = await plan(call, turns, topic, planned)
        except TopicRefused as refusal:
            result = refused(topic.name, refusal)
        else:
            records += 1 + result.num_partitions + len(settings_planned(planned, result))
        results.append(result)
    if records > MOST_RECORDS:
        raise TopicRefused(
            f"topics, settings and partitions are {records} together: "
            f"at most {MOST_RECORDS} are allowed in one request",
            ErrorCode.POLICY_VIOLATION,
        )
    if request.validate_only:
        return results
    answers = []
    for result in results:
        await turns.step()
        answers.append(
            result
            if result.error_code
            else made(call, result, settings_planned(planned, result), assigned.get(result.name, NO_ASSIGNMENTS))
        )
    return answers


def number_asked_for(topic: CreatableTopic, default: int) -> int:
    """Return how many partitions the topic shall have, right or wrong."""
    if topic.assignments:
        return len(topic.assignments)
    return default if topic.num_partitions == DEFAULT else topic.num_partitions


async def plan(call: Call, turns: Turns, topic: CreatableTopic, planned: Catalog) -> CreatableTopicResult:
    """Return the answer that creating the topic would have, and add it to those planned. Raises TopicRefused."""
    broker = call.broker
    broker.catalog.check_name(topic.name)
    settings = await settings_of(turns, topic.configs)
    try:
        broker.topic_defaults.with_settings(settings)
    except InvalidSetting as wrong:
        raise TopicRefused(str(wrong), ErrorCode.INVALID_CONFIG) from None
    if topic.assignments:
        await check_assignments(turns, topic, broker.nodes.ids)
    else:
        check_numbers(topic, len(broker.nodes))
    # One partition is enough for a plan, which is only asked what is in it already.
    new = planned.create(topic.name, 1, random_id(), settings=settings)
    return CreatableTopicResult(
        name=new.name,
        topic_id=new.topic_id,
        error_message=None,
        num_partitions=number_asked_for(topic, broker.config.num_partitions),
        replication_factor=replicas_of(topic),
        configs=described(broker.config, settings),
    )


async def settings_of(turns: Turns, configs: Iterable[CreatableTopicConfig]) -> dict[str, str]:
    """Return the settings that are wished for; of one that comes twice the last counts.

    Raises TopicRefused, with INVALID_CONFIG, for one without a value.
    """
    settings: dict[str, str] = {}
    for each in configs:
        await turns.step()
        if each.value is None:
            raise TopicRefused(f"{quoted(each.name)} has no value", ErrorCode.INVALID_CONFIG)
        settings[each.name] = each.value
    return settings


def described(config: Config, settings: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    """Return all settings of a topic that has these of its own, as they were given."""
    return [
        CreatableTopicConfigs(
            name=key,
            value=settings[key] if key in settings else broker_value(config, setting),
            config_source=Source.TOPIC if key in settings else source_when_created(config, setting),
        )
        for key, setting in TOPIC_SETTINGS.items()
    ]


def settings_planned(planned: Catalog, result: CreatableTopicResult) -> Mapping[str, str]:
    """Return the settings of a topic that is to be created."""
    topic = planned.by_name(result.name)
    assert topic is not None
    return topic.settings


def replicas_of(topic: CreatableTopic) -> int:
    """Return how many brokers shall have each partition; one if that is left open (default.replication.factor)."""
    if topic.assignments:
        return len(topic.assignments[0].broker_ids)
    return 1 if topic.replication_factor == DEFAULT else topic.replication_factor


async def check_assignments(turns: Turns, topic: CreatableTopic, ids: Sequence[int]) -> None:
    """Raise TopicRefused if partitions are given one by one and not all of them, or not to brokers that there are.

    INVALID_REQUEST where numbers are given as well, INVALID_REPLICA_ASSIGNMENT otherwise.
    """
    if topic.replication_factor != DEFAULT or topic.num_partitions != DEFAULT:
        raise TopicRefused(
            "partitions that are assigned one by one need -1 for the number of partitions and of replicas",
            ErrorCode.INVALID_REQUEST,
        )
    why = await wrong_with(turns, topic.assignments, ids)
    if why is not None:
        raise TopicRefused(why, ErrorCode.INVALID_REPLICA_ASSIGNMENT)


async def wrong_with(turns: Turns, assignments: Iterable[CreatableReplicaAssignment], ids: Sequence[int]) -> str | None:
    """Return what is wrong with the assignments, or None."""
    found: set[int] = set()
    replicas: int | None = None
    async for each in turns.over(assignments):
        partition = each.partition_index
        if partition in found:
            return f"partition {partition} is assigned more than once"
        found.add(partition)
        why = wrong_brokers(each.broker_ids, ids)
        if why is not None:
            return f"partition {partition} is assigned to {why}"
        replicas = len(each.broker_ids) if replicas is None else replicas
        if replicas != len(each.broker_ids):
            return f"partition {partition} has {len(each.broker_ids)} replicas, while others have {replicas}"
    if found != set(range(len(found))):
        return "partitions are numbered from 0 without gaps"
    return None


def wrong_brokers(broker_ids: list[int], ids: Sequence[int]) -> str | None:
    """Return what the brokers of one partition are that are wrong, or None; they are looked at in their order."""
    if not broker_ids:
        return "no broker"
    # More than there are cannot all be right ones, so the smallest of them are enough to find a wrong one.
    before: int | None = None
    for each in nsmallest(len(ids) + 1, broker_ids):
        if each not in ids:
            return f"broker {each}, which does not exist"
        if each == before:
            return f"broker {each} more than once"
        before = each
    return None


def check_numbers(topic: CreatableTopic, brokers: int) -> None:
    """Raise TopicRefused if there cannot be so many replicas (INVALID_REPLICATION_FACTOR) or partitions.

    A number of replicas that can never be comes before that of partitions, one that is too large after it.
    """
    replicas = topic.replication_factor
    if replicas != DEFAULT and replicas <= 0:
        raise TopicRefused(
            f"there cannot be {replicas} replicas: 1 to {brokers} are allowed, or -1 for the default"
            if brokers > 1
            else f"there cannot be {replicas} replicas: 1 is allowed, or -1 for the default",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        )
    if topic.num_partitions != DEFAULT and topic.num_partitions <= 0:
        raise TopicRefused(
            f"there cannot be {topic.num_partitions} partitions: 1 and more are allowed, or -1 for the default",
            ErrorCode.INVALID_PARTITIONS,
        )
    if replicas > brokers:
        only = "this broker is the only one" if brokers == 1 else f"there are {brokers} brokers"
        raise TopicRefused(
            f"there cannot be {replicas} replicas: {only}",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        )


def made(
    call: Call,
    planned: CreatableTopicResult,
    settings: Mapping[str, str],
    assigned: Mapping[int, tuple[int, ...]],
) -> CreatableTopicResult:
    """Create a topic as planned, and return what became of it; somebody else may have created it meanwhile."""
    try:
        topic = call.broker.create_topic(
            planned.name,
            planned.num_partitions,
            "a client created it",
            settings,
            replicas=planned.replication_factor,
            assigned=assigned,
        )
    except TopicRefused as refusal:
        return refused(planned.name, refusal)
    planned.topic_id = topic.topic_id
    return planned


def refused(name: str, refusal: TopicRefused) -> CreatableTopicResult:
    """Return the entry of a topic that is not created."""
    return CreatableTopicResult(name=name, error_code=refusal.code, error_message=str(refusal) or None)


API = Api(request=CreateTopicsRequest, versions="2-7", handle=create_topics)
