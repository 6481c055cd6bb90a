"""Requests about the cluster, topics and settings in full, in every version, as those about groups in `full_groups`."""

from typing import Final
from uuid import UUID

from kcoord.check.frames import ask_in_full
from kcoord.check.nodes import node_id, place_of
from kcoord.check.rule import rule
from kcoord.check.rules.full_groups import NOT_ASKED, TAGS
from kcoord.check.topics import BROKER, NO_ID, TOPIC, created, own, partitions
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    ApiVersionsRequest,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    Cursor,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
    DescribableLogDirTopic,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
    MetadataResponseTopic,
    TopicRequest,
)

TOPIC_OPERATIONS: Final = 3576
"""What may be done with a topic where nothing is forbidden, bit by bit."""
CLUSTER_OPERATIONS: Final = 8096
UNKNOWN, UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
NOBODYS: Final = UUID("0badcafe-0000-4000-8000-0123456789ab")
"""An id that no topic has."""


@rule(
    id="api-versions-full",
    api="ApiVersions",
    says="Who says what it is, and whom it means, is told the same as who is not asked for it.",
    source=f"KIP-511, KIP-1242; {TAGS}",
    versions="0-5",
    topics=(),
    each={"version": range(6)},
    also="A3 A8",
)
async def api_versions_full(world: World, version: int) -> None:
    client = await world.client()
    request = ApiVersionsRequest()
    if version >= 3:
        request = ApiVersionsRequest(client_software_name="kcoord-check", client_software_version="1.0-x")
    if version >= 5:
        request.cluster_id, request.node_id = await place_of(client)
    answer = await ask_in_full(client, request, version)
    assert (answer.error_code, answer.throttle_time_ms) == (0, 0)
    assert answer.api_keys == (await client.call(ApiVersionsRequest(), 0)).api_keys
    if version < 4:
        assert all(each.min_version > 0 for each in answer.supported_features)


@rule(
    id="metadata-full",
    api="Metadata",
    says="Topics are told of with all that the version has, by their names or from version 12 on by their ids.",
    source=f"KIP-430, KIP-516; {TAGS}",
    versions="0-13",
    each={"version": range(14)},
)
async def metadata_full(world: World, version: int) -> None:
    client = await world.client()
    node, ids = await node_id(client), await client.topic_ids(world.t, world.u)
    request = MetadataRequest(
        topics=[
            MetadataRequestTopic(name=name, topic_id=topic_id if version >= 12 else NO_ID)
            for name, topic_id in zip((world.t, world.u), ids, strict=True)
        ],
        allow_auto_topic_creation=version < 4,
        include_cluster_authorized_operations=8 <= version <= 10,
        include_topic_authorized_operations=version >= 8,
    )
    answer = await ask_in_full(client, request, version)
    (broker,) = answer.brokers
    assert (broker.node_id, bool(broker.host), broker.port > 0) == (node, True, True)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    assert (bool(answer.cluster_id), answer.controller_id == node) == (version >= 2, version >= 1)
    assert answer.cluster_authorized_operations == (CLUSTER_OPERATIONS if 8 <= version <= 10 else NOT_ASKED)
    for found in answer.topics:
        found.partitions.sort(key=lambda each: each.partition_index)
    told = [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=node,
            leader_epoch=0 if version >= 7 else -1,
            replica_nodes=[node],
            isr_nodes=[node],
        )
        for index in range(3)
    ]
    assert sorted(answer.topics, key=lambda each: each.name) == [
        MetadataResponseTopic(
            name=name,
            topic_id=topic_id if version >= 10 else NO_ID,
            partitions=told,
            topic_authorized_operations=TOPIC_OPERATIONS if version >= 8 else NOT_ASKED,
        )
        for name, topic_id in zip((world.t, world.u), ids, strict=True)
    ]


@rule(
    id="describe-cluster-full",
    api="DescribeCluster",
    says="Who asks what he may do is told it, besides which brokers there are, also such as are fenced.",
    source=f"KIP-700, KIP-919, KIP-1073; {TAGS}",
    versions="0-2",
    topics=(),
    each={"version": range(3)},
)
async def describe_cluster_full(world: World, version: int) -> None:
    client = await world.client()
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=True, endpoint_type=1, include_fenced_brokers=version >= 2
    )
    answer = await ask_in_full(client, request, version)
    assert (answer.throttle_time_ms, answer.error_code, answer.error_message, answer.endpoint_type) == (0, 0, None, 1)
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
    assert [(each.broker_id, each.is_fenced) for each in answer.brokers] == [(await node_id(client), False)]


@rule(
    id="list-config-resources-full",
    api="ListConfigResources",
    says="Types that are named are listed, all of them.",
    source=f"KIP-1142; {TAGS}",
    versions="0-1",
    each={"version": range(2)},
)
async def list_config_resources_full(world: World, version: int) -> None:
    client = await world.client()
    request = ListConfigResourcesRequest(resource_types=[BROKER, TOPIC] if version else [])
    answer = await ask_in_full(client, request, version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    found = {(each.resource_type, each.resource_name) for each in answer.config_resources}
    if version:
        assert {(TOPIC, world.t), (BROKER, str(await node_id(client)))} <= found
        assert {kind for kind, _ in found} == {TOPIC, BROKER}
    else:
        assert {kind for kind, _ in found} <= {16}


@rule(
    id="describe-log-dirs-full",
    api="DescribeLogDirs",
    says="Of several topics the logs are told that are asked for, and no others.",
    source=f"KIP-113, KIP-827; {TAGS}",
    versions="1-5",
    each={"version": range(1, 6)},
)
async def describe_log_dirs_full(world: World, version: int) -> None:
    topics = [DescribableLogDirTopic(topic=name, partitions=[2, 1]) for name in (world.t, world.u)]
    answer = await ask_in_full(await world.client(), DescribeLogDirsRequest(topics=topics), version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    assert all((each.error_code, bool(each.log_dir), each.is_cordoned) == (0, True, False) for each in answer.results)
    assert all((each.total_bytes > 0) == (version >= 4) for each in answer.results)
    found = {
        (topic.name, one.partition_index): (one.partition_size, one.offset_lag, one.is_future_key)
        for each in answer.results
        for topic in each.topics
        for one in topic.partitions
    }
    assert found == {(name, index): (0, 0, False) for name in (world.t, world.u) for index in (1, 2)}


@rule(
    id="describe-topic-partitions-full",
    api="DescribeTopicPartitions",
    says="A page begins at the cursor, and the next one where this one ends.",
    source=f"KIP-966; {TAGS}",
    versions="0",
)
async def describe_topic_partitions_full(world: World) -> None:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in (world.u, world.t)],
        response_partition_limit=3,
        cursor=Cursor(topic_name=world.t, partition_index=1),
    )
    answer = await ask_in_full(await world.client(), request, 0)
    assert answer.throttle_time_ms == 0
    assert [(each.name, [one.partition_index for one in each.partitions]) for each in answer.topics] == [
        (world.t, [1, 2]),
        (world.u, [0]),
    ]
    assert answer.next_cursor == Cursor(topic_name=world.u, partition_index=1)


# --- topics that come, grow and go ---


@rule(
    id="create-topics-full",
    api="CreateTopics",
    says="Each topic is answered for itself, and told about from version 5 on; to be validated creates nothing.",
    source=f"KIP-525; Apache Kafka ReplicationControlManager.createTopics; {TAGS}",
    versions="2-7",
    topics=(),
    each={"version": range(2, 8)},
)
async def create_topics_full(world: World, version: int) -> None:
    client = await world.client()
    node = await node_id(client)
    names = [world.topic(), world.topic(), world.topic()]
    settings = [
        CreatableTopicConfig(name="retention.ms", value="5"),
        CreatableTopicConfig(name="cleanup.policy", value="compact"),
    ]

    def placed(*brokers: int) -> list[CreatableReplicaAssignment]:
        return [CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers)) for index in (0, 1)]

    wishes = [
        CreatableTopic(name=names[0], num_partitions=3, replication_factor=1, configs=settings),
        CreatableTopic(name=names[1], num_partitions=-1, replication_factor=-1, assignments=placed(node)),
        CreatableTopic(name=names[2], num_partitions=-1, replication_factor=-1, assignments=placed(node, node)),
    ]
    request = CreateTopicsRequest(topics=wishes, timeout_ms=30_000, validate_only=True)
    answer = await ask_in_full(client, request, version)
    assert answer.throttle_time_ms == 0
    found = {each.name: each for each in answer.topics}
    assert [found[name].error_code for name in names] == [0, 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert found[names[2]].error_message
    for name, count in zip(names, (3, 2, -1), strict=True):
        told = count if version >= 5 else -1
        assert (found[name].num_partitions, found[name].replication_factor) == (told, min(told, 1))
        assert found[name].topic_config_error_code == 0
        assert bool(found[name].configs) == (told > 0)
    if version >= 5:
        own = {each.name: each.value for each in found[names[0]].configs if each.config_source == 1}
        assert own == {"retention.ms": "5", "cleanup.policy": "compact"}
    assert [await partitions(client, name) for name in names] == [None] * 3


@rule(
    id="create-partitions-full",
    api="CreatePartitions",
    says="Each topic is answered for itself; to be validated adds nothing.",
    source=f"KIP-195; Apache Kafka ReplicationControlManager.createPartitions; {TAGS}",
    versions="0-3",
    each={"version": range(4)},
)
async def create_partitions_full(world: World, version: int) -> None:
    client = await world.client()
    node = await node_id(client)

    def grown(name: str, *brokers: int) -> CreatePartitionsTopic:
        assignments = [CreatePartitionsAssignment(broker_ids=list(brokers)) for _ in range(2)]
        return CreatePartitionsTopic(name=name, count=5, assignments=assignments)

    wishes = [grown(world.t, node), grown(world.u, node, node)]
    request = CreatePartitionsRequest(topics=wishes, timeout_ms=30_000, validate_only=True)
    answer = await ask_in_full(client, request, version)
    found = {each.name: each for each in answer.results}
    assert answer == CreatePartitionsResponse(results=answer.results)
    assert found == {
        world.t: CreatePartitionsTopicResult(name=world.t),
        world.u: CreatePartitionsTopicResult(
            name=world.u,
            error_code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            error_message=found[world.u].error_message,
        ),
    }
    assert found[world.u].error_message
    assert await partitions(client, world.t) == 3


@rule(
    id="delete-topics-full",
    api="DeleteTopics",
    says="Topics that do not exist are unknown by their names and from version 6 on by their ids.",
    source=f"KIP-516; Apache Kafka ControllerApis.deleteTopics; {TAGS}",
    versions="1-6",
    topics=(),
    each={"version": range(1, 7)},
)
async def delete_topics_full(world: World, version: int) -> None:
    names, topic_id = sorted([world.topic(), world.topic()]), NOBODYS
    if version <= 5:
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=30_000)
        expected = [DeletableTopicResult(name=name, error_code=UNKNOWN) for name in names]
    else:
        states = [*(DeleteTopicState(name=name) for name in names), DeleteTopicState(topic_id=topic_id)]
        request = DeleteTopicsRequest(topics=states, timeout_ms=30_000)
        expected = [DeletableTopicResult(name=None, topic_id=topic_id, error_code=UNKNOWN_ID)]
        expected += [DeletableTopicResult(name=name, error_code=UNKNOWN) for name in names]
    answer = await ask_in_full(await world.client(), request, version)
    if version >= 5:
        assert all(each.error_message for each in answer.responses)
    for each in answer.responses:
        each.error_message = None
    assert answer == DeleteTopicsResponse(responses=answer.responses)
    assert sorted(answer.responses, key=lambda each: each.name or "") == expected


# --- settings ---


@rule(
    id="describe-configs-full",
    api="DescribeConfigs",
    says="Of each resource the settings are told that are named, with where they come from and what they mean.",
    source=f"KIP-226, KIP-569; {TAGS}",
    versions="1-4",
    each={"version": range(1, 5)},
)
async def describe_configs_full(world: World, version: int) -> None:
    client = await world.client()
    node = str(await node_id(client))
    asked = {
        (TOPIC, world.t): ["retention.ms", "cleanup.policy"],
        (BROKER, node): ["group.min.session.timeout.ms", "group.max.size"],
    }
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for (kind, name), keys in asked.items()
        ],
        include_synonyms=True,
        include_documentation=version >= 3,
    )
    answer = await ask_in_full(client, request, version)
    assert answer.throttle_time_ms == 0
    assert [(each.error_code, each.resource_type, each.resource_name) for each in answer.results] == [
        (0, kind, name) for kind, name in asked
    ]
    for found, keys in zip(answer.results, asked.values(), strict=True):
        assert sorted(each.name for each in found.configs) == sorted(keys)
        for each in found.configs:
            assert (each.is_sensitive, each.value is None) == (False, False)
            assert each.synonyms or each.name != "cleanup.policy"
            assert (each.config_type > 0, bool(each.documentation)) == (version >= 3, version >= 3)


@rule(
    id="alter-configs-full",
    api="AlterConfigs",
    says="Each resource is answered for itself; to be validated changes nothing.",
    source=f"KIP-133; {TAGS}",
    versions="0-2",
    topics=(),
    each={"version": range(3)},
)
async def alter_configs_full(world: World, version: int) -> None:
    client = await world.client()
    names = [await created(client), world.topic()]
    settings = [AlterableConfig(name="retention.ms", value="5"), AlterableConfig(name="retention.bytes", value="6")]
    resources = [AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=settings) for name in names]
    answer = await ask_in_full(client, AlterConfigsRequest(resources=resources, validate_only=True), version)
    assert answer == AlterConfigsResponse(responses=altered(names, answer.responses))
    assert await own(client, names[0]) == {}


@rule(
    id="incremental-alter-configs-full",
    api="IncrementalAlterConfigs",
    says="Each resource is answered for itself; to be validated changes nothing.",
    source=f"KIP-339; {TAGS}",
    versions="0-1",
    topics=(),
    each={"version": range(2)},
)
async def incremental_alter_configs_full(world: World, version: int) -> None:
    client = await world.client()
    names = [await created(client), world.topic()]
    changes = [
        IncrementalAlterableConfig(name="cleanup.policy", config_operation=2, value="compact"),
        IncrementalAlterableConfig(name="retention.ms", config_operation=0, value="5"),
    ]
    resources = [
        IncrementalAlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=changes) for name in names
    ]
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=True)
    answer = await ask_in_full(client, request, version)
    assert answer == IncrementalAlterConfigsResponse(responses=altered(names, answer.responses))
    assert await own(client, names[0]) == {}


def altered(names: list[str], found: list[AlterConfigsResourceResponse]) -> list[AlterConfigsResourceResponse]:
    """Return what is said where the first topic exists and the second does not; messages are those that were found."""
    return [
        AlterConfigsResourceResponse(
            error_code=code, error_message=each.error_message, resource_type=TOPIC, resource_name=name
        )
        for name, code, each in zip(names, (ErrorCode.NONE, UNKNOWN), found, strict=True)
    ]
