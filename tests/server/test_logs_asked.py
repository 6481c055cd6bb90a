"""InitProducerId, ListOffsets, OffsetForLeaderEpoch and DeleteRecords where a foreign broker cannot be asked."""

import pytest
import trio

from kcoord.apis.turns import A_TURN
from kcoord.broker import PRODUCER_IDS_PER_MS, Broker
from kcoord.check.logs import TIME, batch, put
from kcoord.clock import Clock
from kcoord.store.memory import MemoryStore
from tests.server.client import find
from tests.server.conftest import without_sockets
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersionsRequest,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

MANY = 5_000


def asking(transactional_id=None):
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)


@pytest.mark.parametrize("version", range(6))
async def test_there_are_no_producers_of_transactions(autojump_clock, server, version):
    answer = await server.connect().call(asking("tx"), version)
    assert answer == InitProducerIdResponse(
        error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, producer_id=-1, producer_epoch=-1
    )
    assert (await server.connect().call(find("tx", key_type=1), 3)).error_code == answer.error_code


async def test_a_later_run_hands_out_other_ids(autojump_clock):
    """Even if it begins a moment later, and whatever was handed out at a rate that can be."""
    ids = []
    for start_ms in (TIME, TIME + 1):
        broker = Broker(without_sockets(), Clock(start_ms), MemoryStore())
        ids += [next(broker.producer_ids) for _ in range(PRODUCER_IDS_PER_MS)]
    assert len(set(ids)) == len(ids)
    assert max(ids) < 2**53  # some clients keep them in a double


@pytest.mark.parametrize("version", range(1, 12))
async def test_the_newest_record_is_one_that_is_there(autojump_clock, server, version):
    """Kafka names one below the start of the log as long as its file is there."""
    client = server.connect()
    await put(client, "t", 0, batch(times=[TIME + 9]), batch(times=[TIME, TIME + 3]))
    for start, expected in ((0, (TIME + 9, 0)), (1, (TIME + 3, 2)), (3, (-1, -1))):
        await delete(client, ("t", [(0, start)]))
        found = await look_up(client, version, ("t", [(0, -3)]))
        assert found == [expected if version >= 7 else (-1, -1)]


async def delete(client, *wishes):
    topics = [
        DeleteRecordsTopic(
            name=name,
            partitions=[DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in offsets],
        )
        for name, offsets in wishes
    ]
    answer = await client.call(DeleteRecordsRequest(topics=topics, timeout_ms=1000), 2)
    return [(topic.name, [one.error_code for one in topic.partitions]) for topic in answer.topics]


def looking_up(*wishes):
    return ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[ListOffsetsPartition(partition_index=index, timestamp=time) for index, time in times],
            )
            for name, times in wishes
        ]
    )


async def look_up(client, version, *wishes):
    answer = await client.call(looking_up(*wishes), version)
    return [(one.timestamp, one.offset) for topic in answer.topics for one in topic.partitions]


async def test_everything_is_answered_in_the_order_of_the_request(autojump_clock, server):
    client = server.connect()
    answer = await client.call(looking_up(("u", [(5, -1), (0, -1)]), ("nope", [(1, 0)]), ("t", [(2, -2), (0, -3)])), 11)
    assert [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics] == [
        ("u", [5, 0]),
        ("nope", [1]),
        ("t", [2, 0]),
    ]
    assert await delete(client, ("u", [(5, 0), (0, 0)]), ("nope", [(1, 0)]), ("t", [(2, -1), (0, 7)])) == [
        ("u", [3, 0]),
        ("nope", [3]),
        ("t", [0, 1]),
    ]


async def test_requests_for_very_many_partitions(autojump_clock, server):
    client = server.connect()
    indexes = range(MANY)
    found = await look_up(client, 11, ("t", [(index, -1) for index in indexes]))
    assert found == [(-1, 0)] * 3 + [(-1, -1)] * (MANY - 3)
    assert await delete(client, ("t", [(index, -1) for index in indexes])) == [("t", [0] * 3 + [3] * (MANY - 3))]
    request = OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderTopic(topic="t", partitions=[OffsetForLeaderPartition(partition=index) for index in indexes])
        ]
    )
    (topic,) = (await client.call(request, 4)).topics
    assert [one.error_code for one in topic.partitions] == [0] * 3 + [3] * (MANY - 3)
    request = looking_up(("t", [(index, -1) for index in indexes]))
    request.isolation_level = 9
    (topic,) = (await client.call(request, 11)).topics
    assert {one.error_code for one in topic.partitions} == {-1}


@pytest.mark.parametrize("timestamp", [0, -3])
async def test_reading_records_gives_others_their_turn(autojump_clock, server, timestamp):
    """After each partition: they are fewer than those of one turn."""
    topic = server.broker.create_topic("wide", A_TURN - 50, "a test")
    for partition in topic.partitions:
        partition.append(batch(times=[TIME]), TIME, version=9)
    busy, other = server.connect(), server.connect()
    for client in (busy, other):
        await client.call(ApiVersionsRequest(), 0)
    answered = []

    async def wait_for(client, name):
        await client.receive()
        answered.append(name)

    asked = [(index, timestamp) for index in range(A_TURN - 50)]
    async with trio.open_nursery() as nursery:
        await busy.send(looking_up(("wide", asked)), 11)
        await other.send(ApiVersionsRequest(), 0)
        nursery.start_soon(wait_for, busy, "busy")
        nursery.start_soon(wait_for, other, "other")
    assert answered == ["other", "busy"]
