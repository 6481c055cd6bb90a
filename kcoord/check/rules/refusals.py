"""What comes with a refusal beside its error: said here once, so that other rules are about what they say."""

from typing import Final

from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import NO_ID, TOPIC, created, describe
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    JoinGroupRequest,
)

JOINED: Final = "Apache Kafka GroupCoordinatorService.joinGroup"
CREATED: Final = "Apache Kafka ReplicationControlManager.createTopics"
TOLD_FROM: Final = 5
"""The version of CreateTopics and of DeleteTopics from which on more is told than an error."""
ENOUGH: Final = 30_000
"""Milliseconds that a broker has which is busy with the wishes of other rules."""


async def refused(client: Client, version: int, group: str, code: ErrorCode, session: int = 10_000) -> None:
    """Join with a member id that nobody was given, which comes back with the error."""
    answer = await (await client.join(group, "x-1", version=version, session=session)).answer()
    assert ErrorCode(answer.error_code) is code
    assert answer.member_id == "x-1"


@rule(
    id="refusals-1",
    api="JoinGroup",
    says="Who is refused is told the member id that it came with.",
    source=f"{JOINED}; Apache Kafka GroupMetadataManager.classicGroupJoin",
    versions="0-9",
    settings={"group.min.session.timeout.ms": 6_000},
    cost=3.4,
)
async def refusals_1(world: World) -> None:
    client, member = await world.client(), await world.stable1(world.group())
    for version in world.offered(JoinGroupRequest):
        await refused(client, version, "", ErrorCode.INVALID_GROUP_ID)
        await refused(client, version, world.group(), ErrorCode.INVALID_SESSION_TIMEOUT, session=5_999)
        await refused(client, version, world.group(), ErrorCode.UNKNOWN_MEMBER_ID)
        await refused(client, version, member.group, ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="refusals-2",
    api="CreateTopics",
    says="A topic that is refused comes with a message, and with a list of settings that is empty and not null.",
    source=f"KIP-525; {CREATED}",
    versions="5-7",
    each={"version": (5, 6, 7), "wrong": ("name", "count")},
)
async def refusals_2(world: World, version: int, wrong: str) -> None:
    name, count = ("not/legal", 1) if wrong == "name" else (world.topic(), 0)
    wish = CreatableTopic(name=name, num_partitions=count, replication_factor=1)
    client = await world.client()
    (one,) = (await client.call(CreateTopicsRequest(topics=[wish]), version)).topics
    assert one.error_code != 0
    assert one.error_message
    assert one.configs == []


@rule(
    id="refusals-3",
    api="CreateTopics",
    says="A topic that is created, or only validated, comes with its settings, and from version 7 on with an id.",
    source=f"KIP-525, KIP-516; {CREATED}",
    versions="5-7",
    each={"version": (5, 6, 7), "validate_only": (True, False)},
)
async def refusals_3(world: World, version: int, validate_only: bool) -> None:
    wish = CreatableTopic(name=world.topic(), num_partitions=1, replication_factor=1)
    client = await world.client()
    request = CreateTopicsRequest(topics=[wish], validate_only=validate_only, timeout_ms=ENOUGH)
    (one,) = (await client.call(request, version)).topics
    assert ErrorCode(one.error_code) is ErrorCode.NONE
    assert one.configs
    assert (one.topic_id != NO_ID) == (version >= 7)


@rule(
    id="refusals-4",
    api="DeleteTopics",
    says="From version 5 on it is told with a message why a topic is not deleted.",
    source="KIP-599; Apache Kafka ReplicationControlManager.deleteTopics",
    versions="5-6",
    each={"version": (5, 6)},
)
async def refusals_4(world: World, version: int) -> None:
    client, name = await world.client(), world.topic("missing")
    request = DeleteTopicsRequest(timeout_ms=ENOUGH)
    if version > TOLD_FROM:
        request.topics = [DeleteTopicState(name=name)]
    else:
        request.topic_names = [name]
    (one,) = (await client.call(request, version)).responses
    assert ErrorCode(one.error_code) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert one.error_message


@rule(
    id="refusals-5",
    api="CreatePartitions",
    says="It is told with a message why a topic does not grow.",
    source="KIP-195; Apache Kafka ReplicationControlManager.createPartitions",
    versions="0-3",
    each={"version": range(4)},
)
async def refusals_5(world: World, version: int) -> None:
    client = await world.client()
    wish = CreatePartitionsTopic(name=await created(client, 2), count=1, assignments=None)
    request = CreatePartitionsRequest(topics=[wish], timeout_ms=ENOUGH)
    (one,) = (await client.call(request, version)).results
    assert ErrorCode(one.error_code) is ErrorCode.INVALID_PARTITIONS
    assert one.error_message


@rule(
    id="refusals-6",
    api="DescribeConfigs",
    says="The message of a resource that is told of is empty, and not null.",
    source="KIP-133; Apache Kafka ConfigHelper.describeConfigs",
    versions="1-4",
    each={"version": range(1, 5)},
)
async def refusals_6(world: World, version: int) -> None:
    client = await world.client()
    found = await describe(client, TOPIC, await created(client), version=version)
    assert ErrorCode(found.error_code) is ErrorCode.NONE
    assert found.error_message == ""


@rule(
    id="refusals-7",
    api="IncrementalAlterConfigs",
    says="It is told with a message why the settings of a resource are not changed, and without one that they are.",
    source="KIP-339; Apache Kafka ConfigurationControlManager.incrementalAlterConfigs",
    versions="0-1",
    each={"version": range(2)},
)
async def refusals_7(world: World, version: int) -> None:
    client = await world.client()
    name = await created(client)
    for value, code in (("5", ErrorCode.NONE), ("never", ErrorCode.INVALID_CONFIG)):
        change = IncrementalAlterableConfig(name="retention.ms", config_operation=0, value=value)
        resource = IncrementalAlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=[change])
        (one,) = (await client.call(IncrementalAlterConfigsRequest(resources=[resource]), version)).responses
        assert ErrorCode(one.error_code) is code
        assert bool(one.error_message) == (code is not ErrorCode.NONE)
