"""Produce where a foreign broker cannot be asked: full memory, threads, turns, and what goes on meanwhile."""

import threading
from uuid import UUID

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.apis import produce as module
from kcoord.check.logs import (
    NOBODY,
    TIME,
    attributes,
    batch,
    changed,
    delete_before,
    ends,
    produce,
    put,
    request_of,
    stored,
)
from kcoord.log import validation
from kcoord.log.validation import BRIEF_RECORDS
from kcoord.notices import ConnectionClosed, MemoryFull, RecordsRefused
from tests.server.client import CLIENT_ID, find, heartbeat, stable_member
from tests.server.conftest import start, without_sockets
from wire.errors import ErrorCode
from wire.header import request_frame
from wire.messages import (
    ApiVersionsRequest,
    OffsetCommitRequest,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from wire.records import Compression

ONE = batch(b"one")
BROKEN = changed(ONE, 17, ">I", 0, checksum=False)


def codes(answer):
    """The errors of an answer by topic and partition."""
    return {name: {index: one.error_code for index, one in found.items()} for name, found in answer.items()}


# --- memory ---


@pytest.fixture
async def small(autojump_clock, nursery):
    """A server whose records may take 12 kB, however old they are."""
    return await start(nursery, without_sockets(memory_limit_bytes=12_000, log_retention_ms=-1))


async def test_what_has_no_room_is_refused_in_words(autojump_clock, small):
    client = small.connect()
    large = batch(b"x" * 4000)
    await put(client, "t", 0, large, large)
    answer = await produce(client, 12, ("t", [(0, large), (1, ONE), (2, large)]))
    assert codes(answer) == {"t": {0: 44, 1: 0, 2: 44}}
    assert "--memory-limit" in answer["t"][0].error_message
    assert "12000" in answer["t"][0].error_message
    assert await ends(client, "t", 0, 1, 2) == [2, 1, 0]
    assert len(await stored(client, "t", 0)) == 2


async def test_when_memory_is_full_everything_else_works(autojump_clock, small):
    member, other = small.connect(), small.connect()
    member_id, generation = await stable_member(member, "g")
    large = batch(b"x" * 4000)
    await put(other, "t", 0, large, large)
    for _ in range(20):
        assert codes(await produce(other, 12, ("u", [(0, large)]))) == {"u": {0: 44}}
    assert (await member.call(heartbeat("g", generation, member_id), 4)).error_code == 0
    assert (await other.call(OffsetCommitRequest(group_id="other"), 5)).topics == []
    assert (await other.call(find("g"), 3)).error_code == 0
    assert len(await stored(other, "t", 0)) == 2
    assert (await stable_member(small.connect(), "another"))[0]


async def test_records_that_are_deleted_make_room(autojump_clock, small):
    client = small.connect()
    large = batch(b"x" * 4000)
    await put(client, "t", 0, large, large)
    assert codes(await produce(client, 12, ("u", [(0, large)]))) == {"u": {0: 44}}
    await delete_before(client, "t", 0, 1)
    assert await put(client, "u", 0, large) == [0]
    assert codes(await produce(client, 12, ("u", [(0, large)]))) == {"u": {0: 44}}


async def test_what_other_topics_need_not_keep_makes_room(autojump_clock, nursery):
    """At once, and not when it is time to look the next time: nobody writes to them any more."""
    server = await start(nursery, without_sockets(memory_limit_bytes=12_000, log_retention_ms=1_000))
    client = server.connect()
    large = batch(b"x" * 4000, times=[server.running.clock.now().wall_ms])
    await put(client, "t", 0, large, large)
    await trio.sleep(2)
    assert codes(await produce(client, 12, ("u", [(0, large)]))) == {"u": {0: 44}}
    await wait_all_tasks_blocked()
    assert codes(await produce(client, 12, ("u", [(0, large)]))) == {"u": {0: 0}}


async def test_the_log_tells_what_was_refused_in_one_line(autojump_clock, small):
    client = small.connect()
    large = batch(b"x" * 4000)
    await put(client, "t", 0, large, large)
    assert small.seen(RecordsRefused) == []
    await produce(client, 12, ("t", [(0, ONE), (1, large), (2, large), (7, ONE)]))
    (told,) = small.seen(RecordsRefused)
    assert (told.client_id, told.partitions, told.topic, told.partition) == (CLIENT_ID, 3, "t", 1)
    assert told.error == "POLICY_VIOLATION"
    assert "--memory-limit" in told.why
    (full,) = small.seen(MemoryFull)
    assert full.limit == 12_000
    assert full.used == small.broker.catalog.memory.used


async def test_the_log_names_topics_that_were_sent_to_by_their_ids(autojump_clock, small):
    client = small.connect()
    known, nobody = small.broker.catalog.by_name("t").topic_id, UUID(int=7)
    for topic_id, name in ((known, "t"), (nobody, str(nobody))):
        data = PartitionProduceData(index=99, records=ONE)
        request = ProduceRequest(acks=1, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[data])])
        await client.call(request, 13)
        assert small.seen(RecordsRefused)[-1].topic == name


async def test_without_acks_no_room_closes_the_connection(autojump_clock, small):
    client = small.connect()
    large = batch(b"x" * 4000)
    await put(client, "t", 0, large, large)
    await client.send_raw(request_frame(1, "c", request_of(12, ("t", [(0, large)]), acks=0), 12))
    assert await client.is_closed()
    await trio.testing.wait_all_tasks_blocked()
    (closed,) = small.seen(ConnectionClosed)
    assert "POLICY_VIOLATION" in closed.why
    assert "t-0" in closed.why


# --- what is refused ---


@pytest.mark.parametrize("version", range(3, 14))
async def test_no_records_at_all(autojump_clock, server, version):
    """Kafka never answers these."""
    client = server.connect()
    topic = server.broker.catalog.by_name("t").topic_id if version >= 13 else "t"
    for acks in (-1, 1, 2):
        answer = await produce(client, version, (topic, [(0, None), (1, ONE)]), acks=acks)
        assert codes(answer) == {topic: {0: 87, 1: 21 if acks == 2 else 0}}
        assert answer[topic][0].log_start_offset == -1
    await client.send_raw(request_frame(1, "c", request_of(version, (topic, [(0, None)]), acks=0), version))
    assert await client.is_closed()
    assert await ends(server.connect(), "t", 0, 1) == [0, 2]


async def test_of_a_partition_that_comes_twice_only_the_last_is_looked_at(autojump_clock, server):
    """Kafka appends the good one, and says that it did not."""
    client = server.connect()
    assert codes(await produce(client, 12, ("t", [(0, ONE), (0, BROKEN)]))) == {"t": {0: 2}}
    assert codes(await produce(client, 12, ("t", [(0, ONE), (0, b"")]))) == {"t": {0: 87}}
    assert await ends(client, "t", 0) == [0]
    for broken in (BROKEN, b"", None):
        assert codes(await produce(client, 12, ("t", [(0, broken)]), ("t", [(0, ONE)]))) == {"t": {0: 0}}
    assert await ends(client, "t", 0) == [3]


async def test_topics_and_partitions_are_answered_in_the_order_of_the_request(autojump_clock, server):
    sent = [("u", [(5, ONE), (0, ONE)]), ("nope", [(1, ONE), (0, b"")]), ("t", [(2, ONE), (0, b""), (1, ONE)])]
    answer = await produce(server.connect(), 12, *sent)
    assert [(name, list(found)) for name, found in answer.items()] == [
        (name, [index for index, _ in partitions]) for name, partitions in sent
    ]


async def test_a_batch_of_a_transaction_is_refused_whoever_sends_it(autojump_clock, server):
    client = server.connect()
    for producer in ((-1, -1, -1), (7, 0, 0)):
        in_one = attributes(batch(b"x", producer=producer), 0x10)
        assert codes(await produce(client, 12, ("t", [(0, in_one), (1, ONE)]), transactional_id="x")) == {
            "t": {0: ErrorCode.INVALID_PRODUCER_ID_MAPPING, 1: 0}
        }
    assert await ends(client, "t", 0) == [0]


async def test_who_waits_at_the_end_never_sees_what_is_refused(autojump_clock, server):
    producer = server.connect()
    seen = []
    consumer = server.connect()
    for good in range(3):
        for refused in (BROKEN, ONE + ONE, b"", changed(ONE, 57, ">i", 7)):
            assert codes(await produce(producer, 12, ("t", [(0, refused)])))["t"][0] != 0
        await put(producer, "t", 0, batch(b"good %d" % good))
        seen += [one.value for one in await stored(consumer, "t", 0, good)]
    assert seen == [b"good 0", b"good 1", b"good 2"]


# --- connections ---


async def test_a_producer_that_lost_its_connection_sends_again(autojump_clock, server):
    """The answer was on its way: the records are there, and are stored once."""
    records = [batch(b"%d" % number, producer=(7, 0, number)) for number in range(5)]
    for number, each in enumerate(records):
        unlucky = server.connect()
        await unlucky.send(request_of(12, ("t", [(0, each)])), 12)
        await trio.testing.wait_all_tasks_blocked()
        await unlucky.aclose()
        found = (await produce(server.connect(), 12, ("t", [(0, each)])))["t"][0]
        assert (found.error_code, found.base_offset, found.log_append_time_ms) == (0, number, TIME)
    assert [one.value for one in await stored(server.connect(), "t", 0)] == [b"0", b"1", b"2", b"3", b"4"]


async def test_several_in_flight_arrive_in_order(autojump_clock, server):
    client = server.connect()
    for number in range(5):
        records = batch(b"%d" % number, producer=(7, 0, number))
        await client.send(request_of(12, ("t", [(0, records)])), 12)
    for number in range(5):
        assert (await client.receive()).responses[0].partition_responses[0].base_offset == number


# --- turns and threads ---


async def test_a_request_for_very_many_partitions(autojump_clock, server):
    client = server.connect()
    sent = ("t", [(index, ONE) for index in range(1_500)])
    found = codes(await produce(client, 12, sent))["t"]
    assert [found[index] for index in range(1_500)] == [0, 0, 0] + [3] * 1_497


@pytest.mark.parametrize("batches", [10, 1000])
async def test_after_some_bytes_others_have_their_turn(autojump_clock, server, monkeypatch, batches):
    """After so many batches; the second number shows what it would be like without that."""
    monkeypatch.setattr(module, "BYTES_A_TURN", batches * len(ONE))
    topic = server.broker.create_topic("wide", 200, "a test")
    busy, other = server.connect(), server.connect()
    for client in (busy, other):
        await client.call(ApiVersionsRequest(), 0)
    await busy.send(request_of(12, ("wide", [(index, ONE) for index in range(200)])), 12)
    await other.call(ApiVersionsRequest(), 0)
    written = sum(partition.high_watermark for partition in topic.partitions)
    assert written < 150 if batches == 10 else written == 200
    await busy.receive()
    assert {partition.high_watermark for partition in topic.partitions} == {1}


async def test_a_topic_that_goes_while_its_records_wait(autojump_clock, server, monkeypatch):
    """The partition was there when its turn began, or is not; nothing is stored for a topic that is gone."""
    monkeypatch.setattr(module, "BYTES_A_TURN", 1)
    client = server.connect()
    topic = server.broker.catalog.by_name("t")
    topic.partitions[0].watch(lambda: server.broker.catalog.by_name("t") and server.broker.delete_topic(topic, "now"))
    answer = await produce(client, 12, ("t", [(0, ONE), (1, ONE)]), ("u", [(0, ONE)]))
    assert codes(answer) == {"t": {0: 0, 1: 3}, "u": {0: 0}}
    assert codes(await produce(client, 13, (topic.topic_id, [(1, ONE)]), (NOBODY, [(0, ONE)]))) == {
        topic.topic_id: {1: 100},
        NOBODY: {0: 100},
    }


def packed(size, codec=Compression.ZSTD):
    """One record that has so many bytes, nearly all of them zeros, and takes next to nothing."""
    return batch(bytes(size), compression=codec)


async def test_what_counts_of_a_packed_batch_is_what_is_in_it(autojump_clock, server):
    """Others have their turn after each of these, none of which is large as it comes."""
    topic = server.broker.create_topic("wide", 200, "a test")
    busy, other = server.connect(), server.connect()
    for client in (busy, other):
        await client.call(ApiVersionsRequest(), 0)
    records = packed(module.BYTES_A_TURN)
    assert 200 * len(records) < module.BYTES_A_TURN
    wrong = changed(changed(records, 57, ">i", 2), 23, ">i", 1)
    sent = [(index, records if index % 2 else wrong) for index in range(200)]
    await busy.send(request_of(12, ("wide", sent)), 12)
    await other.call(ApiVersionsRequest(), 0)
    assert sum(partition.high_watermark for partition in topic.partitions) < 20
    await busy.receive()
    assert sum(partition.high_watermark for partition in topic.partitions) == 100


LONG = {
    "many records": batch(*(b"%d" % number for number in range(BRIEF_RECORDS))),
    "much that is packed": packed(60 * 1024 * 1024),
}


@pytest.mark.parametrize("what", LONG)
async def test_what_takes_long_is_checked_in_a_thread(server, monkeypatch, what):
    """And is refused or appended as anything else is. No virtual time here: it would run on while a thread works."""
    unpacked = []
    unpack = validation.unpack

    def watched(*given):
        found = unpack(*given)
        unpacked.append((threading.current_thread() is threading.main_thread(), len(found)))
        return found

    monkeypatch.setattr(validation, "unpack", watched)
    client = server.connect()
    records = LONG[what]
    count = int.from_bytes(records[57:61], "big")
    wrong = changed(changed(records, 57, ">i", count + 1), 23, ">i", count)
    answer = await produce(client, 12, ("t", [(0, records), (1, wrong), (2, ONE)]))
    assert codes(answer) == {"t": {0: 0, 1: 87, 2: 0}}
    assert answer["t"][1].log_start_offset == 0
    assert await ends(client, "t", 0, 1, 2) == [count, 0, 1]
    assert [on_the_loop for on_the_loop, _ in unpacked] == [False, False, True]


async def test_others_are_served_while_bombs_are_unpacked(server):
    """Each of them takes some hundred milliseconds. No virtual time here either."""
    server.broker.create_topic("wide", 8, "a test")
    busy, other = server.connect(), server.connect()
    beats = 0
    async with trio.open_nursery() as nursery:

        async def wait_for_it():
            bomb = packed(60 * 1024 * 1024)
            assert set(
                codes(await produce(busy, 12, ("wide", [(index, bomb) for index in range(8)])))["wide"].values()
            ) == {0}
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait_for_it)
        while True:
            assert (await other.call(heartbeat("g", 1, "m"), 4)).error_code == 25
            beats += 1
    assert beats > 20
