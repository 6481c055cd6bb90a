"""The task that keeps logs small: when it looks, at what, and that others have their turns meanwhile."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.log import compaction, partition
from kcoord.log.compaction import FLOOR
from tests.server.client import heartbeat, stable_member
from tests.server.conftest import start, without_sockets
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from wire.records import Record, build

MINUTE, HOUR, WEEK = 60, 3_600, 604_800
"""In seconds."""
COMPACT = {"cleanup.policy": "compact"}


def put(server, partition, key=b"k", size=100, count=1):
    now = server.running.clock.now().wall_ms
    records = [Record(offset, now, key, b"v" * size) for offset in range(count)]
    partition.append(build(records), now, version=9)


def topic(server, name="t"):
    return server.broker.catalog.by_name(name)


async def test_old_records_go_when_it_is_time_to_look(autojump_clock, nursery):
    server = await start(nursery, without_sockets(log_retention_ms=HOUR * 1000))
    (partition, *_) = topic(server).partitions
    await trio.sleep(10)
    put(server, partition)
    await trio.sleep(HOUR - 20)
    assert partition.size_bytes
    await trio.sleep(MINUTE * 5 + 20)
    assert partition.size_bytes == 0
    assert (partition.log_start_offset, partition.high_watermark) == (1, 1)


async def test_old_records_go_when_the_clock_is_moved(autojump_clock, server):
    (partition, *_) = topic(server).partitions
    put(server, partition)
    server.running.clock.advance(WEEK)
    await wait_all_tasks_blocked()
    assert partition.size_bytes
    server.running.clock.advance(MINUTE * 5)
    await wait_all_tasks_blocked()
    assert partition.size_bytes == 0


async def test_how_often_is_a_setting(autojump_clock, nursery):
    server = await start(nursery, without_sockets(log_retention_check_interval_ms=1000, log_retention_bytes=0))
    (partition, *_) = topic(server).partitions
    await trio.sleep(0.5)
    for _ in range(3):
        put(server, partition)
        await trio.sleep(0.4)
        assert partition.size_bytes
        await trio.sleep(0.2)
        assert partition.size_bytes == 0
        await trio.sleep(0.4)


async def test_the_longest_interval_is_for_ever(autojump_clock, nursery):
    server = await start(nursery, without_sockets(log_retention_check_interval_ms=2**63 - 1))
    (partition, *_) = topic(server).partitions
    put(server, partition)
    server.running.clock.advance(2 * WEEK)
    await trio.sleep(HOUR)
    assert partition.size_bytes


async def test_deleted_topics_and_new_ones_are_no_matter(autojump_clock, server):
    (partition, *_) = topic(server).partitions
    put(server, partition)
    server.broker.delete_topic(topic(server), "for fun")
    new = server.broker.create_topic("new", 2, "for fun")
    put(server, new.partitions[1])
    server.running.clock.advance(WEEK + MINUTE * 5)
    await wait_all_tasks_blocked()
    assert new.partitions[1].size_bytes == 0


async def commit(client, offset, group="g"):
    request = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
            )
        ],
    )
    response = await client.call(request, 8)
    assert response.topics[0].partitions[0].error_code == 0


async def test_commits_stay_bounded(autojump_clock, nursery, monkeypatch):
    monkeypatch.setattr(compaction, "FLOOR", 10_000)
    monkeypatch.setattr(partition, "MOST_PENDING", 10_000)
    server = await start(nursery, without_sockets())
    client = server.connect()
    most = 0
    for offset in range(1000):
        await commit(client, offset)
        most = max(most, server.broker.catalog.memory.used)
    assert most < 60_000
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    response = await client.call(request, 9)
    assert response.groups[0].topics[0].partitions[0].committed_offset == 999


@pytest.fixture
def compacted(server):
    return server.broker.create_topic("c", 2, "for fun", COMPACT)


async def test_a_compacted_topic_is_compacted_as_soon_as_that_is_worth_it(autojump_clock, server, compacted):
    (partition, _) = compacted.partitions
    await wait_all_tasks_blocked()
    before = trio.current_time()
    for _ in range(30):
        put(server, partition, size=50_000)
        await wait_all_tasks_blocked()
        assert partition.size_bytes < FLOOR + 60_000
    assert partition.size_bytes < FLOOR
    assert trio.current_time() == before


async def test_another_topic_is_not(autojump_clock, server):
    (partition, *_) = topic(server).partitions
    for _ in range(30):
        put(server, partition, size=50_000)
    await trio.sleep(MINUTE * 10)
    assert partition.size_bytes > FLOOR


async def test_the_policy_may_change(autojump_clock, server):
    (partition, *_) = topic(server).partitions
    for _ in range(30):
        put(server, partition, size=50_000)
    server.broker.configure_topic(topic(server), COMPACT, "for fun")
    await wait_all_tasks_blocked()
    assert partition.size_bytes < FLOOR
    server.broker.configure_topic(topic(server), {}, "for fun")
    await wait_all_tasks_blocked()
    for _ in range(30):
        put(server, partition, size=50_000)
    await wait_all_tasks_blocked()
    assert partition.size_bytes > FLOOR


async def test_a_policy_that_changes_while_it_is_due(autojump_clock, server, compacted):
    (partition, _) = compacted.partitions
    await wait_all_tasks_blocked()
    for _ in range(30):
        put(server, partition, size=50_000)
    server.broker.configure_topic(compacted, {}, "for fun")
    await wait_all_tasks_blocked()
    assert partition.size_bytes > FLOOR


async def test_partitions_may_be_added(autojump_clock, server, compacted):
    server.broker.add_partitions(compacted, 3, "for fun")
    await wait_all_tasks_blocked()
    for _ in range(30):
        put(server, compacted.partitions[2], size=50_000)
    await wait_all_tasks_blocked()
    assert compacted.partitions[2].size_bytes < FLOOR


async def test_a_topic_may_be_deleted_while_it_is_due(autojump_clock, server, compacted):
    await wait_all_tasks_blocked()
    for _ in range(30):
        put(server, compacted.partitions[0], size=50_000)
    server.broker.delete_topic(compacted, "for fun")
    await wait_all_tasks_blocked()
    assert server.broker.catalog.memory.used == 0


async def test_both_policies_at_once(autojump_clock, server):
    both = server.broker.create_topic("b", 1, "for fun", {"cleanup.policy": "compact,delete"})
    (partition,) = both.partitions
    await wait_all_tasks_blocked()
    for number in range(60):
        put(server, partition, key=b"%d" % number, size=50_000)
    await wait_all_tasks_blocked()
    assert partition.size_bytes > 2 * FLOOR
    server.running.clock.advance(WEEK + MINUTE * 5)
    await wait_all_tasks_blocked()
    assert partition.size_bytes == 0
    # What was clean is gone; so the next compaction is due as early as the first.
    for _ in range(30):
        put(server, partition, size=50_000)
        await wait_all_tasks_blocked()
    assert partition.size_bytes < FLOOR


async def test_others_have_their_turns_during_a_compaction(autojump_clock, server, compacted, monkeypatch):
    client = server.connect()
    member, generation = await stable_member(client, "g")
    seen = []
    steps = []
    run = compaction.Compaction.run

    def counted(self, now_ms):
        for step in run(self, now_ms):
            steps.append(None)
            yield step

    monkeypatch.setattr(compaction.Compaction, "run", counted)
    await wait_all_tasks_blocked()

    async def beat():
        while True:
            assert (await client.call(heartbeat("g", generation, member), 4)).error_code == 0
            seen.append(len(steps))

    async with trio.open_nursery() as beating:
        beating.start_soon(beat)
        put(server, compacted.partitions[0], size=10, count=30_000)
        put(server, compacted.partitions[0], size=10, count=30_000)
        put(server, compacted.partitions[0], size=10)
        while len(steps) < 30:
            await trio.lowlevel.checkpoint()
        beating.cancel_scope.cancel()
    assert len({count for count in seen if 0 < count < 30}) >= 3
