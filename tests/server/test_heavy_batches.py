"""Batches with very much in them, when they are looked into: never by the event loop itself.

No virtual time here: it would run on while a thread works.
"""

import threading

import pytest
import trio

from kcoord.apis.list_offsets import MAX_TIMESTAMP
from kcoord.check.logs import TIME, batch, put
from kcoord.log import batches, compaction
from tests.server.client import GIVE_UP, heartbeat
from tests.server.conftest import start, without_sockets
from wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from wire.records import Compression, Record, build

HEAVY = build([Record(number, TIME + number, b"k", None) for number in range(200_000)], compression=Compression.ZSTD)


def watch(monkeypatch, module, name, seen):
    real = getattr(module, name)

    def watched(*given):
        seen.append((name, threading.current_thread() is threading.main_thread()))
        return real(*given)

    monkeypatch.setattr(module, name, watched)


async def offset_of(client, timestamp):
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    answer = await client.call(ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[asked])]), 7)
    return answer.topics[0].partitions[0].offset


@pytest.fixture
async def real_server(nursery):
    return await start(nursery, without_sockets())


async def test_who_asks_for_a_time_keeps_nobody_waiting(real_server, monkeypatch):
    client, other = real_server.connect(), real_server.connect()
    await put(client, "t", 0, HEAVY)
    place = DeleteRecordsPartition(partition_index=0, offset=100_000)
    delete = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[place])], timeout_ms=1000)
    seen, beats, found = [], 0, []
    watch(monkeypatch, batches, "unpack", seen)
    async with trio.open_nursery() as nursery:

        async def ask():
            found.append(await offset_of(client, TIME + 150_000))
            found.append(await offset_of(client, MAX_TIMESTAMP))
            await client.call(delete, 2)
            found.append(await offset_of(client, TIME + 50))
            found.append(await offset_of(client, TIME + 200_000))
            nursery.cancel_scope.cancel()

        nursery.start_soon(ask)
        while True:
            assert (await other.call(heartbeat("g", 1, "m"), 4)).error_code == 25
            beats += 1
    assert found == [150_000, 199_999, 100_000, -1]
    assert beats > 10
    assert seen == [("unpack", False)] * 4


async def test_a_topic_that_goes_while_a_time_is_looked_for(real_server, monkeypatch):
    client = real_server.connect()
    await put(client, "t", 0, HEAVY)
    topic = real_server.broker.catalog.by_name("t")
    real = batches.unpack

    def unpack(*given):
        trio.from_thread.run_sync(lambda: topic.partitions[0].deleted or real_server.broker.delete_topic(topic, "now"))
        return real(*given)

    monkeypatch.setattr(batches, "unpack", unpack)
    assert await offset_of(client, TIME + 5) == 5
    assert await offset_of(client, TIME + 5) == -1


async def test_compaction_unpacks_and_packs_beside_the_others(real_server, monkeypatch):
    seen, packed = [], trio.Event()
    watch(monkeypatch, compaction, "unpack", seen)
    real = compaction.with_fewer

    def with_fewer(*given):
        seen.append(("with_fewer", threading.current_thread() is threading.main_thread()))
        trio.from_thread.run_sync(packed.set)
        return real(*given)

    monkeypatch.setattr(compaction, "with_fewer", with_fewer)
    monkeypatch.setattr(compaction, "FLOOR", 1000)
    client, broker = real_server.connect(), real_server.broker
    broker.configure_topic(broker.catalog.by_name("t"), {"cleanup.policy": "compact"}, "a test")
    large = [batch(bytes(1_000_000), key=b"%d" % number, compression=Compression.GZIP) for number in range(2)]
    two = build([Record(0, TIME, b"0", b"x"), Record(1, TIME, b"k", b"x")], compression=Compression.GZIP)
    await put(client, "t", 0, two, *large, *large)
    with trio.fail_after(GIVE_UP):
        await packed.wait()
    assert ("unpack", False) in seen
    assert not any(on_the_loop for _, on_the_loop in seen)
