"""Records of topics that are the broker's own: only an administrator's client writes them, and nobody deletes them.

At a foreign broker none of this is tried: a record that is wrong in its topic of offsets stays there for good.
"""

import struct

import pytest

from kcoord.check.logs import (
    TIME,
    appended,
    batch,
    ends,
    look_up,
    produce,
    refused,
    stored,
)
from kcoord.check.probe import Client
from wire.errors import ErrorCode
from wire.messages import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from wire.records import Record, build

OFFSETS = "__consumer_offsets"
ONE = batch(b"one")
EARLIEST = -2


def connect(server, client_id="client"):
    return Client(server.connect().stream, client_id)


async def tombstone(client):
    """Write, as an administrator may, that an offset is no more which nobody has committed; return where it is."""
    key = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)
    found = (await produce(client, 12, (OFFSETS, [(0, build([Record(0, TIME, key, None)]))])))[OFFSETS][0]
    assert found == appended(0, found.base_offset)
    assert (await stored(client, OFFSETS, 0, found.base_offset))[0].key == key
    return found.base_offset


@pytest.mark.parametrize("client_id", ["client", "", None, "__Admin_client"])
async def test_internal_topics_are_not_written_to(autojump_clock, server, client_id):
    client = connect(server, client_id)
    answer = await produce(client, 12, (OFFSETS, [(0, ONE), (99, ONE)]), ("t", [(0, ONE)]))
    assert answer == {
        OFFSETS: {
            0: refused(0, ErrorCode.INVALID_TOPIC_EXCEPTION),
            99: refused(99, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        },
        "t": {0: appended(0, 0)},
    }
    assert await produce(client, 12, (OFFSETS, [(0, b"x")])) == {OFFSETS: {0: refused(0, ErrorCode.INVALID_RECORD)}}
    answer = await produce(client, 12, (OFFSETS, [(0, ONE)]), acks=2)
    assert answer == {OFFSETS: {0: refused(0, ErrorCode.INVALID_REQUIRED_ACKS)}}
    assert await ends(client, OFFSETS, 0) == [0]


async def test_the_admin_client_writes_to_internal_topics(autojump_clock, server):
    assert [await tombstone(connect(server, "__admin_client")) for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("name", ["__transaction_log", "__cluster_metadata"])
async def test_internal_topics_that_do_not_exist(autojump_clock, server, name):
    answer = await produce(connect(server), 12, (name, [(0, ONE)]))
    assert answer == {name: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}}


@pytest.mark.parametrize("client_id", ["client", "__admin_client"])
@pytest.mark.parametrize("version", range(3))
async def test_records_of_internal_topics_stay(autojump_clock, server, version, client_id):
    """Up to the end, and with a record there."""
    await tombstone(connect(server, "__admin_client"))
    client = connect(server, client_id)
    asked = [DeleteRecordsPartition(partition_index=index, offset=-1) for index in (0, 1, 77)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=OFFSETS, partitions=asked)], timeout_ms=1000)
    (topic,) = (await client.call(request, version)).topics
    assert [(one.partition_index, one.error_code, one.low_watermark) for one in topic.partitions] == [
        (0, ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
        (1, ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
        (77, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert (await look_up(client, OFFSETS, 0, EARLIEST))[2] == 0
