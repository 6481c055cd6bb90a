"""ListOffsets and Fetch on topics that hold no records yet."""

from uuid import UUID

import pytest
import trio

from wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)


def list_offsets(*asked, topic="t", epoch=-1):
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
                    for index, timestamp in asked
                ],
            )
        ],
    )


def listed(answer):
    return [
        (each.partition_index, each.error_code, each.timestamp, each.offset)
        for topic in answer.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", range(1, 12))
async def test_an_empty_partition_begins_and_ends_at_0(autojump_clock, server, version):
    answer = await server.connect().call(list_offsets((0, -1), (1, -2), (2, 0)), version)
    assert listed(answer) == [(0, 0, -1, 0), (1, 0, -1, 0), (2, 0, -1, -1)]
    epochs = [each.leader_epoch for each in answer.topics[0].partitions]
    assert epochs == ([0, 0, -1] if version >= 4 else [-1, -1, -1])


@pytest.mark.parametrize("version", range(1, 12))
async def test_each_special_timestamp_has_its_first_version(autojump_clock, server, version):
    client = server.connect()
    for timestamp, since, offset in ((-3, 7, -1), (-4, 8, 0), (-5, 9, -1), (-6, 11, -1), (-7, 99, -1)):
        answer = await client.call(list_offsets((0, timestamp)), version)
        expected = (0, 0, -1, offset) if version >= since else (0, 35, -1, -1)
        assert listed(answer) == [expected]


async def test_list_offsets_of_what_does_not_exist_or_comes_twice(autojump_clock, server):
    client = server.connect()
    answer = await client.call(list_offsets((0, -1), (3, -1), (0, -2), (-1, -1)), 5)
    assert listed(answer) == [(0, 42, -1, -1), (3, 3, -1, -1), (-1, 3, -1, -1)]
    answer = await client.call(list_offsets((0, -1), topic="nope"), 5)
    assert listed(answer) == [(0, 3, -1, -1)]


@pytest.mark.parametrize(("epoch", "error", "fetch_error"), [(-1, 0, 0), (0, 0, 0), (1, 75, 75), (-2, 74, 0)])
async def test_the_leader_epoch_is_compared(autojump_clock, server, epoch, error, fetch_error):
    client = server.connect()
    answer = await client.call(list_offsets((0, -1), epoch=epoch), 4)
    assert listed(answer)[0][1] == error
    answer = await client.call(fetch([("t", [0])], epoch=epoch, max_wait=0), 9)
    assert answer.responses[0].partitions[0].error_code == fetch_error


def fetch(topics, *, offset=0, epoch=-1, max_wait=500, min_bytes=1, **session):
    return FetchRequest(
        max_wait_ms=max_wait,
        min_bytes=min_bytes,
        topics=[
            FetchTopic(
                **({"topic_id": name} if isinstance(name, UUID) else {"topic": name}),
                partitions=[
                    FetchPartition(
                        partition=index, fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=1000
                    )
                    for index in indexes
                ],
            )
            for name, indexes in topics
        ],
        **session,
    )


async def timed(client, request, version):
    began = trio.current_time()
    answer = await client.call(request, version)
    return answer, trio.current_time() - began


def told(answer):
    return [
        (topic.topic or topic.topic_id, each.partition_index, each.error_code, each.high_watermark)
        for topic in answer.responses
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", range(4, 19))
async def test_a_fetch_at_the_end_waits_as_long_as_it_may(autojump_clock, server, version):
    topic = server.broker.catalog.by_name("t").topic_id if version >= 13 else "t"
    answer, waited = await timed(server.connect(), fetch([(topic, [0, 2])], max_wait=700), version)
    assert waited == pytest.approx(0.7)
    assert told(answer) == [(topic, 0, 0, 0), (topic, 2, 0, 0)]
    assert (answer.error_code, answer.session_id) == (0, 0)
    assert not answer.responses[0].partitions[0].records


@pytest.mark.parametrize("version", range(4, 19))
async def test_a_fetch_of_nothing_that_exists_is_answered_at_once(autojump_clock, server, version):
    name, error = (UUID(int=5), 100) if version >= 13 else ("nope", 3)
    answer, waited = await timed(server.connect(), fetch([(name, [0])]), version)
    assert told(answer) == [(name, 0, error, -1)]
    assert waited == 0
    answer, waited = await timed(server.connect(), fetch([]), version)
    assert (answer.responses, waited) == ([], 0)


async def test_an_unknown_topic_beside_a_readable_one_does_not_cut_the_wait_short(autojump_clock, server):
    answer, waited = await timed(server.connect(), fetch([("nope", [0]), ("t", [0, 7])]), 12)
    assert told(answer) == [("t", 0, 0, 0), ("nope", 0, 3, -1), ("t", 7, 3, -1)]
    assert waited == pytest.approx(0.5)


async def test_an_offset_that_is_not_there_is_answered_at_once(autojump_clock, server):
    answer, waited = await timed(server.connect(), fetch([("t", [0])], offset=1), 12)
    assert told(answer) == [("t", 0, 1, -1)]
    assert waited == 0


@pytest.mark.parametrize("how", [{"max_wait": 0}, {"min_bytes": 0}])
async def test_a_fetch_that_wants_nothing_does_not_wait(autojump_clock, server, how):
    answer, waited = await timed(server.connect(), fetch([("t", [0])], **how), 12)
    assert told(answer) == [("t", 0, 0, 0)]
    assert waited == 0


@pytest.mark.parametrize("version", range(7, 19))
async def test_sessions_are_declined(autojump_clock, server, version):
    client = server.connect()
    topic = server.broker.catalog.by_name("t").topic_id if version >= 13 else "t"
    for session_id, epoch in ((0, -1), (0, 0), (7, 0), (7, -1)):
        request = fetch([(topic, [0])], session_id=session_id, session_epoch=epoch)
        answer = await client.call(request, version)
        assert (answer.error_code, answer.session_id, len(answer.responses)) == (0, 0, 1)
    for session_id, epoch in ((0, 1), (7, 1), (7, 2**31 - 1)):
        request = fetch([(topic, [0])], session_id=session_id, session_epoch=epoch)
        answer, waited = await timed(client, request, version)
        assert (answer.error_code, answer.responses, waited) == (70, [], 0)
