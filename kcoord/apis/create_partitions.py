"""CreatePartitions (key 37): more partitions for topics, each by itself, or only checked (KIP-195).

v2 flexible (KIP-482).

The rules and their order are those of Apache Kafka 4 (`ControllerApis.createPartitions`,
`ReplicationControlManager.createPartitions`), which answers in the order of a hash table. On purpose it differs in this
point: the offsets topic cannot grow (INVALID_REQUEST), because groups are found by its number of partitions. Kafka
lets it grow, and finds them by the number that it had when it started.
"""

from collections import Counter
from collections.abc import Sequence

from kcoord.apis.api import Api, Call
from kcoord.apis.create_topics import wrong_brokers
from kcoord.apis.turns import Turns
from kcoord.log.catalog import OFFSETS_TOPIC, Topic, TopicRefused
from wire.errors import ErrorCode
from wire.messages import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

MOST_PARTITIONS = 10_000
"""New ones in one request (Apache Kafka `ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`)."""


async def create_partitions(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Answer for each name: first for those that come twice, which are not looked into.

    Where the request as a whole cannot be done, nothing is, and each of its entries is answered.
    """
    turns = Turns()
    named: Counter[str] = Counter()
    for asked in request.topics:
        await turns.step()
        named[asked.name] += 1
    results = [
        refused(name, TopicRefused("the topic is named more than once", ErrorCode.INVALID_REQUEST))
        async for name, times in turns.over(named.items())
        if times > 1
    ]
    wished = [asked async for asked in turns.over(request.topics) if named[asked.name] == 1]
    try:
        if wished:
            await check_request(call, turns, wished, request)
    except TopicRefused as refusal:
        return CreatePartitionsResponse(
            results=[refused(asked.name, refusal) async for asked in turns.over(request.topics)]
        )
    for asked in wished:
        await turns.step()
        try:
            add(call, await checked(call, turns, asked), asked, request)
        except TopicRefused as refusal:
            results.append(refused(asked.name, refusal))
        else:
            results.append(CreatePartitionsTopicResult(name=asked.name))
    return CreatePartitionsResponse(results=results)


async def check_request(
    call: Call, turns: Turns, wished: list[CreatePartitionsTopic], request: CreatePartitionsRequest
) -> None:
    """Raise TopicRefused where nothing of the request can be done.

    REQUEST_TIMED_OUT if it gives no time at all, POLICY_VIOLATION if it is too large: topics that do not exist, or
    have as many partitions already, do not count.
    """
    if request.timeout_ms <= 0:
        raise TopicRefused("", ErrorCode.REQUEST_TIMED_OUT)
    total = 0
    for asked in wished:
        await turns.step()
        topic = call.broker.catalog.by_name(asked.name)
        total += 0 if topic is None else max(0, asked.count - len(topic.partitions))
    if total > MOST_PARTITIONS:
        raise TopicRefused(
            f"{total} new partitions are too many for one request: at most {MOST_PARTITIONS} are allowed",
            ErrorCode.POLICY_VIOLATION,
        )


async def checked(call: Call, turns: Turns, asked: CreatePartitionsTopic) -> Topic:
    """Return the topic that may have so many partitions.

    Raises TopicRefused: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT.
    """
    topic = call.broker.catalog.by_name(asked.name)
    if topic is None:
        raise TopicRefused("", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    has = len(topic.partitions)
    if asked.count <= has:
        raise TopicRefused(f"it has {has} partitions; {asked.count} would not be more", ErrorCode.INVALID_PARTITIONS)
    if asked.assignments is not None:
        await check_assignments(turns, asked.assignments, asked.count - has, call.broker.nodes.ids)
    if topic.name == OFFSETS_TOPIC:
        raise TopicRefused("groups are found by its number of partitions", ErrorCode.INVALID_REQUEST)
    return topic


async def check_assignments(
    turns: Turns, assignments: list[CreatePartitionsAssignment], new: int, ids: Sequence[int]
) -> None:
    """Raise TopicRefused if not each new partition is given to brokers that there are."""
    if len(assignments) != new:
        raise TopicRefused(
            f"{new} new partitions need as many assignments, not {len(assignments)}",
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        )
    for each in assignments:
        await turns.step()
        why = wrong_brokers(each.broker_ids, ids)
        if why is not None:
            raise TopicRefused(f"a partition is assigned to {why}", ErrorCode.INVALID_REPLICA_ASSIGNMENT)


def add(call: Call, topic: Topic, asked: CreatePartitionsTopic, request: CreatePartitionsRequest) -> None:
    """Add the partitions, if that is wished. Raises TopicRefused: somebody else may have done so meanwhile."""
    if call.broker.catalog.by_id(topic.topic_id) is None:
        raise TopicRefused("", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not request.validate_only:
        has = len(topic.partitions)
        call.broker.add_partitions(topic, asked.count, "a client added them")
        if asked.assignments is not None and len(call.broker.nodes) > 1:
            given = {has + at: tuple(each.broker_ids) for at, each in enumerate(asked.assignments)}
            call.broker.nodes.assign(topic, given)


def refused(name: str, refusal: TopicRefused) -> CreatePartitionsTopicResult:
    """Return the entry of a topic that gets no partitions."""
    return CreatePartitionsTopicResult(name=name, error_code=refusal.code, error_message=str(refusal) or None)


API = Api(request=CreatePartitionsRequest, versions="0-3", handle=create_partitions)
