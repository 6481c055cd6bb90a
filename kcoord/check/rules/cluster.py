"""DescribeCluster, ListConfigResources and DescribeLogDirs: the cluster, what in it has settings, where logs are."""

from typing import Any, Final

from kcoord.check.nodes import node_id
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, created, soon
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    DescribableLogDirTopic,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsRequest,
    ListConfigResourcesRequest,
    MetadataRequest,
)

NOT_ASKED: Final = -(2**31)
CLUSTER_OPERATIONS: Final = 8096
"""Bits of what there is to do with a cluster; without an authorizer all of it is allowed."""
CONTROLLERS: Final = 2

DESCRIBED: Final = "KIP-700; Apache Kafka KafkaApis.handleDescribeCluster, AuthHelper.computeDescribeClusterResponse"
LISTED: Final = "KIP-1142; Apache Kafka KafkaApis.handleListConfigResources"
LOGS: Final = "KIP-113; Apache Kafka KafkaApis.handleDescribeLogDirsRequest, ReplicaManager.describeLogDirs"


@rule(
    id="describe-cluster-1",
    api="DescribeCluster",
    says="The cluster is told of as Metadata tells of it.",
    source=DESCRIBED,
    versions="0-2",
)
async def describe_cluster_1(world: World) -> None:
    client = await world.client()
    metadata = await client.call(MetadataRequest(topics=[]), client.newest(MetadataRequest, 12))
    (known,) = metadata.brokers
    for version in world.offered(DescribeClusterRequest, range(3)):
        request = DescribeClusterRequest(include_fenced_brokers=version > 1)
        answer = await client.call(request, version)
        assert (answer.throttle_time_ms, answer.error_code, answer.error_message) == (0, 0, None)
        assert answer.endpoint_type == 1
        assert (answer.cluster_id, answer.controller_id) == (metadata.cluster_id, known.node_id)
        assert answer.cluster_authorized_operations == NOT_ASKED
        (broker,) = answer.brokers
        assert (broker.broker_id, broker.host, broker.port) == (known.node_id, known.host, known.port)
        assert (broker.rack, broker.is_fenced) == (known.rack, False)


@rule(
    id="describe-cluster-2",
    api="DescribeCluster",
    says="Whoever asks what he may do with the cluster is told it: without an authorizer, everything.",
    source=f"KIP-430; {DESCRIBED}",
    versions="0-2",
)
async def describe_cluster_2(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeClusterRequest, range(3)):
        request = DescribeClusterRequest(include_fenced_brokers=version > 1)
        without = await client.call(request, version)
        request.include_cluster_authorized_operations = True
        answer = await client.call(request, version)
        assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
        answer.cluster_authorized_operations = NOT_ASKED
        assert answer == without


@rule(
    id="describe-cluster-3",
    api="DescribeCluster",
    says="A broker is no controller, and there is nothing else than these: who asks for one is told nothing but that.",
    source=f"KIP-919; {DESCRIBED}",
    versions="1-2",
)
async def describe_cluster_3(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeClusterRequest, (1, 2)):
        for operations in (False, True):
            for kind in (CONTROLLERS, 0, 3, -1):
                request = DescribeClusterRequest(include_cluster_authorized_operations=operations, endpoint_type=kind)
                answer = await client.call(request, version)
                assert answer.error_message
                answer.error_message = None
                mismatched = kind == CONTROLLERS
                code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if mismatched else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
                assert answer == DescribeClusterResponse(error_code=code)


async def resources(client: Client, *types: int) -> set[tuple[str, int]]:
    """List what has settings, in version 1; each comes once."""
    answer = await client.call(ListConfigResourcesRequest(resource_types=list(types)), 1)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    found = [(each.resource_name, each.resource_type) for each in answer.config_resources]
    assert len(found) == len(set(found))
    return set(found)


@rule(
    id="list-config-resources-1",
    api="ListConfigResources",
    says="Without types everything is listed that has settings: topics, the broker and its loggers.",
    source=LISTED,
    versions="1",
)
async def list_config_resources_1(world: World) -> None:
    client = await world.client()
    node, name = str(await node_id(client)), await created(client)
    everything = await resources(client)
    assert everything >= {(node, BROKER), (node, BROKER_LOGGER), (name, TOPIC), (world.t, TOPIC)}
    # Somebody may have given settings to groups and client metrics, too.
    assert {kind for _, kind in everything} - {GROUP, CLIENT_METRICS} == {BROKER, BROKER_LOGGER, TOPIC}


@rule(
    id="list-config-resources-2",
    api="ListConfigResources",
    says="Only the types that are named are listed, once each.",
    source=LISTED,
    versions="1",
)
async def list_config_resources_2(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    topics = await resources(client, TOPIC, TOPIC)
    assert topics >= {(world.t, TOPIC), (world.u, TOPIC)}
    assert {kind for _, kind in topics} == {TOPIC}
    assert await resources(client, BROKER) == {(node, BROKER)}
    assert await resources(client, BROKER_LOGGER, BROKER) == {(node, BROKER), (node, BROKER_LOGGER)}


@rule(
    id="list-config-resources-3",
    api="ListConfigResources",
    says="A group is not listed that has no settings of its own.",
    source=LISTED,
    versions="1",
)
async def list_config_resources_3(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    found = await resources(client, GROUP, CLIENT_METRICS)
    assert {kind for _, kind in found} <= {GROUP, CLIENT_METRICS}
    assert group not in {name for name, _ in found}


@rule(
    id="list-config-resources-4",
    api="ListConfigResources",
    says="Version 0 lists client metrics and nothing else.",
    source=f"KIP-714; {LISTED}",
    versions="0",
)
async def list_config_resources_4(world: World) -> None:
    client = await world.client()
    answer = await client.call(ListConfigResourcesRequest(), 0)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    listed = {(each.resource_name, CLIENT_METRICS) for each in answer.config_resources}
    assert listed == await resources(client, CLIENT_METRICS)


@rule(
    id="list-config-resources-5",
    api="ListConfigResources",
    says="One type that does not exist, or has no settings, and nothing is listed.",
    source=LISTED,
    versions="1",
    each={"types": ((0,), (1,), (64,), (-1,), (TOPIC, 99))},
)
async def list_config_resources_5(world: World, types: tuple[int, ...]) -> None:
    client = await world.client()
    answer = await client.call(ListConfigResourcesRequest(resource_types=list(types)), 1)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


async def sizes(client: Client, asked: Any, version: int) -> dict[str, list[int]]:
    """Describe the directories; return which partitions are told of, by topic.

    Apache Kafka says -1 of a log whose partition it has not taken up yet, or has given up: that one does not count.
    """
    answer = await client.call(DescribeLogDirsRequest(topics=asked), version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    assert answer.results
    found: dict[str, list[int]] = {}
    for directory in answer.results:
        assert (directory.error_code, bool(directory.log_dir), directory.is_cordoned) == (0, True, False)
        if version >= 4:
            assert 0 < directory.usable_bytes <= directory.total_bytes
        else:
            assert directory.usable_bytes == directory.total_bytes == -1
        for topic in directory.topics:
            for one in topic.partitions:
                assert one.partition_size >= 0
                assert (one.offset_lag in (0, -1), one.is_future_key) == (True, False)
                if one.offset_lag == 0:
                    found.setdefault(topic.name, []).append(one.partition_index)
    return {name: sorted(numbers) for name, numbers in found.items()}


def logs_of(name: str, *partitions: int) -> DescribableLogDirTopic:
    """Ask for logs of a topic."""
    return DescribableLogDirTopic(topic=name, partitions=list(partitions))


@rule(
    id="describe-log-dirs-1",
    api="DescribeLogDirs",
    says="The log of each partition is told of with its size, and from version 4 on the room that there is.",
    source=f"KIP-827; {LOGS}",
    versions="1-5",
)
async def describe_log_dirs_1(world: World) -> None:
    client = await world.client()
    name = await created(client, 3)
    for version in world.offered(DescribeLogDirsRequest, range(1, 6)):

        async def all_are_told(version: int = version) -> bool:
            found = await sizes(client, None, version)
            return (found.get(name), found.get(world.t)) == ([0, 1, 2], [0, 1, 2])

        assert await soon(all_are_told)


@rule(
    id="describe-log-dirs-2",
    api="DescribeLogDirs",
    says="Of partitions that are named, those are told of that exist, each once.",
    source=LOGS,
    versions="1-5",
)
async def describe_log_dirs_2(world: World) -> None:
    client = await world.client()
    name = await created(client, 3)
    missing = world.topic()

    async def all_are_told() -> bool:
        return await sizes(client, [logs_of(name, 0, 1, 2)], 1) == {name: [0, 1, 2]}

    assert await soon(all_are_told)
    for version in world.offered(DescribeLogDirsRequest, range(1, 6)):
        assert await sizes(client, [], version) == {}
        assert await sizes(client, [logs_of(name, 2, 0, 7, -1), logs_of(missing, 0)], version) == {name: [0, 2]}
        assert await sizes(client, [logs_of(name, 1, 1), logs_of(world.t), logs_of(name, 0)], version) == {name: [0, 1]}
