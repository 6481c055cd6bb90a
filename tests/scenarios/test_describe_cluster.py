"""The cluster described, what in it has settings, and how large its logs are."""

from typing import Any

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.topics import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, created, fresh, soon
from wire.errors import ErrorCode
from wire.messages import (
    DescribableLogDirTopic,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsRequest,
    ListConfigResourcesRequest,
    MetadataRequest,
)

NOT_ASKED = -(2**31)
CLUSTER_OPERATIONS = 8096


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("operations", [False, True])
async def test_the_cluster(client: Client, version: int, operations: bool):
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=operations, include_fenced_brokers=version > 1
    )
    answer = await client.call(request, version)
    metadata = await client.call(MetadataRequest(topics=[]), 12)
    assert (answer.throttle_time_ms, answer.error_code, answer.error_message, answer.endpoint_type) == (0, 0, None, 1)
    assert (answer.cluster_id, answer.controller_id) == (metadata.cluster_id, 1)
    assert answer.cluster_authorized_operations == (CLUSTER_OPERATIONS if operations else NOT_ASKED)
    (broker,) = answer.brokers
    (known,) = metadata.brokers
    assert (broker.broker_id, broker.host, broker.port) == (1, known.host, known.port)
    assert (broker.rack, broker.is_fenced) == (None, False)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("operations", [False, True])
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (-1, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
async def test_this_is_a_broker(client: Client, version: int, operations: bool, kind: int, code: ErrorCode):
    request = DescribeClusterRequest(include_cluster_authorized_operations=operations, endpoint_type=kind)
    answer = await client.call(request, version)
    assert answer.error_message
    answer.error_message = None
    assert answer == DescribeClusterResponse(error_code=code)


async def resources(client: Client, *types: int) -> set[tuple[str, int]]:
    answer = await client.call(ListConfigResourcesRequest(resource_types=list(types)), 1)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    found = [(each.resource_name, each.resource_type) for each in answer.config_resources]
    assert len(found) == len(set(found))
    return set(found)


async def test_what_has_settings(client: Client):
    name = await created(client)
    everything = await resources(client)
    assert everything >= {("1", BROKER), ("1", BROKER_LOGGER), (name, TOPIC), ("t", TOPIC)}
    assert {kind for _, kind in everything} == {BROKER, BROKER_LOGGER, TOPIC}
    topics = await resources(client, TOPIC, TOPIC)
    assert topics >= {(name, TOPIC), ("t", TOPIC)}
    assert {kind for _, kind in topics} == {TOPIC}
    assert await resources(client, BROKER) == {("1", BROKER)}
    assert await resources(client, BROKER_LOGGER, BROKER) == {("1", BROKER), ("1", BROKER_LOGGER)}
    assert await resources(client, GROUP, CLIENT_METRICS) == set()


async def test_at_first_only_client_metrics_could_be_listed(client: Client):
    answer = await client.call(ListConfigResourcesRequest(), 0)
    assert (answer.throttle_time_ms, answer.error_code, answer.config_resources) == (0, 0, [])


@pytest.mark.parametrize("types", [[0], [1], [64], [-1], [TOPIC, 99]], ids=str)
async def test_types_that_do_not_exist(client: Client, types: list[int]):
    answer = await client.call(ListConfigResourcesRequest(resource_types=types), 1)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


async def sizes(client: Client, asked: Any, version: int) -> dict[str, list[int]]:
    """Which partitions are told of, by topic; there is one directory."""
    answer = await client.call(DescribeLogDirsRequest(topics=asked), version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    (directory,) = answer.results
    assert (directory.error_code, bool(directory.log_dir), directory.is_cordoned) == (0, True, False)
    if version >= 4:
        assert 0 < directory.usable_bytes <= directory.total_bytes
    else:
        assert directory.usable_bytes == directory.total_bytes == -1
    for topic in directory.topics:
        for one in topic.partitions:
            assert one.partition_size >= 0
            assert (one.offset_lag, one.is_future_key) == (0, False)
    return {topic.name: sorted(one.partition_index for one in topic.partitions) for topic in directory.topics}


def logs_of(name: str, *partitions: int) -> DescribableLogDirTopic:
    return DescribableLogDirTopic(topic=name, partitions=list(partitions))


@pytest.mark.parametrize("version", range(1, 6))
async def test_the_logs(client: Client, version: int):
    name = await created(client, 3)

    async def all_are_told() -> bool:
        found = await sizes(client, None, version)
        return (found.get(name), found["t"]) == ([0, 1, 2], [0, 1, 2])

    assert await soon(all_are_told)
    assert await sizes(client, [], version) == {}
    assert await sizes(client, [logs_of(name, 2, 0, 7, -1), logs_of(fresh(), 0)], version) == {name: [0, 2]}
    assert await sizes(client, [logs_of(name, 1, 1), logs_of("t"), logs_of(name, 0)], version) == {name: [0, 1]}
