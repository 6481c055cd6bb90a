"""Operators let logs begin later."""

import struct

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.logs import batch, ends, look_up, new_topic, put, stored
from wire.errors import ErrorCode
from wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    FindCoordinatorRequest,
)

VERSIONS = range(3)
EARLIEST = -2
END = -1
TEN = batch(*(b"%d" % number for number in range(10)))
Wish = tuple[str, list[tuple[int, int]]]
OUT_OF_RANGE = (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


async def delete(
    client: Client, version: int, *wishes: Wish, timeout_ms: int = 10_000
) -> dict[str, dict[int, tuple[int, int]]]:
    """Ask, of each topic, for (partition, offset); return (error, where the log starts). No entry comes twice."""
    request = DeleteRecordsRequest(
        timeout_ms=timeout_ms,
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in offsets],
            )
            for name, offsets in wishes
        ],
    )
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for topic in answer.topics:
        assert topic.name not in found
        found[topic.name] = {one.partition_index: (one.error_code, one.low_watermark) for one in topic.partitions}
        assert len(found[topic.name]) == len(topic.partitions)
    return found


async def filled(client: Client, **settings: str) -> str:
    """A topic with ten records in each of its three partitions."""
    name = await new_topic(client, **settings)
    for index in range(3):
        await put(client, name, index, TEN)
    return name


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_log_begins_later(client: Client, version: int):
    """In the middle of a batch, too; and nothing brings records back."""
    name = await filled(client)
    for offset, start in ((0, 0), (3, 3), (1, 3), (3, 3), (7, 7), (10, 10), (4, 10)):
        assert await delete(client, version, (name, [(0, offset)])) == {name: {0: (0, start)}}
        assert (await look_up(client, name, 0, EARLIEST))[2] == start
        assert [one.offset for one in await stored(client, name, 0, start)] == list(range(start, 10))
    assert await ends(client, name, 0) == [10]
    assert await put(client, name, 0, TEN) == [10]
    assert [one.offset for one in await stored(client, name, 0, 10)] == list(range(10, 20))


@pytest.mark.parametrize("version", VERSIONS)
async def test_deleted_records_are_out_of_range(client: Client, version: int):
    name = await filled(client)
    await delete(client, version, (name, [(0, 4)]))
    for offset, error in ((3, ErrorCode.OFFSET_OUT_OF_RANGE), (4, ErrorCode.NONE)):
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
        request = FetchRequest(topics=[FetchTopic(topic=name, partitions=[partition])])
        ((found,),) = [one.partitions for one in (await client.call(request, 12)).responses]
        assert found.error_code == error


@pytest.mark.parametrize("version", VERSIONS)
async def test_everything_is_deleted(client: Client, version: int):
    name = await filled(client)
    for _ in range(2):
        assert await delete(client, version, (name, [(0, END)])) == {name: {0: (0, 10)}}
    await put(client, name, 0, TEN)
    assert await delete(client, version, (name, [(0, END), (1, END)])) == {name: {0: (0, 20), 1: (0, 10)}}
    empty = await new_topic(client)
    assert await delete(client, version, (empty, [(0, END), (1, 0)])) == {empty: {0: (0, 0), 1: (0, 0)}}


@pytest.mark.parametrize("offset", [-2, -99, -(2**63), 11, 2**63 - 1])
@pytest.mark.parametrize("version", VERSIONS)
async def test_offsets_where_no_log_is(client: Client, version: int, offset: int):
    name = await filled(client)
    assert await delete(client, version, (name, [(0, offset), (1, 5)])) == {name: {0: OUT_OF_RANGE, 1: (0, 5)}}
    assert (await look_up(client, name, 0, EARLIEST))[2] == 0


@pytest.mark.parametrize("offset", [0, 1, 100, END, -5])
@pytest.mark.parametrize("version", VERSIONS)
async def test_where_records_go_by_compaction_only(client: Client, version: int, offset: int):
    name = await filled(client, cleanup_policy="compact")
    assert await delete(client, version, (name, [(0, offset)])) == {name: {0: (ErrorCode.POLICY_VIOLATION, -1)}}
    assert (await look_up(client, name, 0, EARLIEST))[2] == 0


@pytest.mark.parametrize("policy", ["compact,delete", "delete", ""])
async def test_other_policies(client: Client, policy: str):
    name = await filled(client, cleanup_policy=policy)
    assert await delete(client, 2, (name, [(0, 4)])) == {name: {0: (0, 4)}}


@pytest.mark.parametrize("client_id", ["client", "__admin_client"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_internal_topics_are_left_alone(world: World, version: int, client_id: str):
    client = await world.client(client_id)
    name = "__consumer_offsets"
    await client.call(FindCoordinatorRequest(key="g"), 0)
    while await ends(client, name, 0) == [-1]:
        await client.call(FindCoordinatorRequest(key="g"), 0)
    assert await delete(client, version, (name, [(0, 0), (1, END), (77, 0)])) == {
        name: {
            0: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
            1: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
            77: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        }
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_partition_is_answered_for_itself(client: Client, version: int):
    name, compacted = await filled(client), await filled(client, cleanup_policy="compact")
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    found = await delete(
        client,
        version,
        ("nope", [(0, 1)]),
        (name, [(7, 1), (0, 4), (-1, 0), (2, 11)]),
        ("a b", [(0, 0)]),
        ("", [(0, END)]),
        (compacted, [(0, 2), (9, 1)]),
        ("__cluster_metadata", [(0, 0)]),
    )
    assert found == {
        "nope": {0: unknown},
        name: {7: unknown, 0: (0, 4), -1: unknown, 2: OUT_OF_RANGE},
        "a b": {0: unknown},
        "": {0: unknown},
        compacted: {0: (ErrorCode.POLICY_VIOLATION, -1), 9: unknown},
        "__cluster_metadata": {0: unknown},
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_of_what_comes_twice_the_last_counts(client: Client, version: int):
    name, other = await filled(client), await filled(client)
    found = await delete(client, version, (name, [(0, 5), (0, 4)]), (other, [(0, 1)]), (name, [(1, 3), (2, 1)]))
    assert found == {name: {0: (0, 4), 1: (0, 3), 2: (0, 1)}, other: {0: (0, 1)}}
    found = await delete(client, version, (name, [(0, 6)]), (name, [(0, 400)]))
    assert found == {name: {0: OUT_OF_RANGE}}
    found = await delete(client, version, (name, [(0, 400), (0, 7)]))
    assert found == {name: {0: (0, 7)}}


@pytest.mark.parametrize("version", VERSIONS)
async def test_nothing_is_asked(client: Client, version: int):
    name = await new_topic(client)
    assert await delete(client, version) == {}
    assert await delete(client, version, (name, []), ("nope", [])) == {}


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31), 2**31 - 1])
async def test_there_is_nobody_to_wait_for(client: Client, timeout_ms: int):
    name = await filled(client)
    assert await delete(client, 2, (name, [(0, 4), (1, 40)]), timeout_ms=timeout_ms) == {
        name: {0: (0, 4), 1: OUT_OF_RANGE}
    }


@pytest.mark.parametrize("version", [-1, 3])
async def test_other_versions(client: Client, version: int):
    await client.send_frame(struct.pack(">hhih", 21, version, 1, -1) + bytes(40))
    assert await client.is_closed()
