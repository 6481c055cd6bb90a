"""Consumers ask how far the records of a leader's epoch go. There is one leader, whose epoch is 0."""

import struct

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.logs import batch, delete_before, new_topic, put
from wire.errors import ErrorCode
from wire.messages import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

VERSIONS = range(2, 5)
UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
NOTHING = (ErrorCode.NONE, -1, -1)
Asked = tuple[str, list[tuple[int, int, int]]]


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


async def ask(
    client: Client, version: int, *asked: Asked, replica: int = -1
) -> list[tuple[str, list[tuple[int, tuple[int, int, int]]]]]:
    """Ask, of each topic, about (partition, current epoch, epoch); return (partition, (error, epoch, end))."""
    request = OffsetForLeaderEpochRequest(
        replica_id=replica if version >= 3 else -2,
        topics=[
            OffsetForLeaderTopic(
                topic=name,
                partitions=[
                    OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
                    for index, current, epoch in partitions
                ],
            )
            for name, partitions in asked
        ],
    )
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    return [
        (topic.topic, [(one.partition, (one.error_code, one.leader_epoch, one.end_offset)) for one in topic.partitions])
        for topic in answer.topics
    ]


async def ask_one(client: Client, version: int, name: str, epoch: int, current: int = -1) -> tuple[int, int, int]:
    ((_, ((_, found),)),) = await ask(client, version, (name, [(0, current, epoch)]))
    return found


@pytest.mark.parametrize("version", VERSIONS)
async def test_epochs_of_an_empty_log(client: Client, version: int):
    name = await new_topic(client)
    expected = {-(2**31): (0, -(2**31), 0), -2: (0, -2, 0), -1: NOTHING, 0: (0, 0, 0), 1: NOTHING, 2**31 - 1: NOTHING}
    for epoch, what in expected.items():
        assert await ask_one(client, version, name, epoch) == what, epoch


@pytest.mark.parametrize("version", VERSIONS)
async def test_epochs_of_a_log(client: Client, version: int):
    """What is below all epochs ended where the log starts, the one there is ends where the log does."""
    name = await new_topic(client)
    await put(client, name, 0, batch(b"a", b"b", b"c"))
    for start in (0, 2, 3):
        await delete_before(client, name, 0, start)
        expected = {-(2**31): (0, -(2**31), start), -2: (0, -2, start), -1: NOTHING, 0: (0, 0, 3), 1: NOTHING}
        for epoch, what in expected.items():
            assert await ask_one(client, version, name, epoch) == what, (start, epoch)
    await put(client, name, 0, batch(b"d"))
    assert await ask_one(client, version, name, 0) == (0, 0, 4)
    assert await ask_one(client, version, name, -2) == (0, -2, 3)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("epoch", [-2, -1, 0, 1])
async def test_who_believes_in_another_leader(client: Client, version: int, epoch: int):
    name = await new_topic(client)
    await put(client, name, 0, batch(b"a"))
    right = await ask_one(client, version, name, epoch)
    for current, what in {
        -1: right,
        0: right,
        1: (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1),
        2**31 - 1: (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1),
        -2: (ErrorCode.FENCED_LEADER_EPOCH, -1, -1),
    }.items():
        assert await ask_one(client, version, name, epoch, current) == what, current


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_does_not_exist(client: Client, version: int):
    """Everything is answered in the order of the request."""
    name, empty = await new_topic(client), await new_topic(client)
    await put(client, name, 0, batch(b"a"))
    found = await ask(
        client,
        version,
        ("nope", [(0, -1, 0), (1, 5, 0)]),
        (name, [(9, -1, 0), (0, -1, 0), (-1, -1, 0)]),
        ("a b", [(0, -1, 0)]),
        ("", [(0, -1, -1)]),
        (empty, []),
    )
    assert found == [
        ("nope", [(0, UNKNOWN), (1, UNKNOWN)]),
        (name, [(9, UNKNOWN), (0, (0, 0, 1)), (-1, UNKNOWN)]),
        ("a b", [(0, UNKNOWN)]),
        ("", [(0, UNKNOWN)]),
        (empty, []),
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_comes_twice_is_answered_twice(client: Client, version: int):
    name, other = await new_topic(client), await new_topic(client)
    found = await ask(
        client, version, (name, [(0, -1, 0), (0, 5, 0)]), (other, [(0, -1, 0)]), (name, [(0, -1, -1), (1, -1, 0)])
    )
    assert found == [
        (name, [(0, (0, 0, 0)), (0, (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1))]),
        (other, [(0, (0, 0, 0))]),
        (name, [(0, NOTHING), (1, (0, 0, 0))]),
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_nothing_is_asked(client: Client, version: int):
    assert await ask(client, version) == []
    assert await ask(client, version, ("nope", [])) == [("nope", [])]


@pytest.mark.parametrize("replica", [-1, -2, -3, 0, 1, 5])
async def test_it_does_not_matter_who_asks(client: Client, replica: int):
    name = await new_topic(client)
    assert await ask(client, 4, (name, [(0, -1, 0)]), replica=replica) == [(name, [(0, (0, 0, 0))])]


@pytest.mark.parametrize("version", [-1, 0, 1, 5])
async def test_other_versions(client: Client, version: int):
    await client.send_frame(struct.pack(">hhih", 23, version, 1, -1) + bytes(40))
    assert await client.is_closed()
