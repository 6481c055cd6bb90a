"""The log of an offsets partition: what its readers see is what the store has, each row once, whatever happens."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord import offsets_log
from kcoord.core.coordinator import Coordinator
from kcoord.core.outcome import Context
from kcoord.core.states import IllegalMove
from kcoord.log.topic_config import TopicConfig
from kcoord.notices import ShardLoaded
from kcoord.store.base import StoreError
from tests.server.shards import V5, ScriptedStore, bench_with, commit, offset_of
from wire.messages import DeleteGroupsRequest
from wire.payloads import OffsetCommitValue, decode_key, decode_value, encode_key
from wire.records import read_header, records_of, split

V2 = Context(2, "c", "/127.0.0.1")


def batches(bench):
    return split(bench.log.read(0, 2**40, at_least_one=True))


def rows(bench):
    return [(record.key, record.value) for batch in batches(bench) for record in records_of(batch)]


def offsets(bench):
    """(group, committed offset or None) of every record, in order."""
    found = []
    for key_bytes, value_bytes in rows(bench):
        key = decode_key(key_bytes)
        value = None if value_bytes is None else decode_value(key, value_bytes)
        if value is None or isinstance(value, OffsetCommitValue):
            found.append((key.group, None if value is None else value.offset))
    return found


def living(bench):
    """What a reader has in the end."""
    return {key: value for key, value in dict(rows(bench)).items() if value is not None}


def stored(store):
    return store._rows.get(0, {})


async def test_what_is_durable_is_in_the_log_before_it_is_answered(autojump_clock, nursery):
    bench = await bench_with(nursery)
    with bench.store.hold():
        slot = bench.shard.begin(V5, commit("g", 1))
        await wait_all_tasks_blocked()
        assert rows(bench) == []
    await slot.wait()
    assert offsets(bench) == [("g", 1)]
    assert living(bench) == stored(bench.store)


async def test_each_write_is_one_batch_at_the_time_of_the_clock(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 0))
    await trio.sleep(2)
    with bench.store.hold():
        first = bench.shard.begin(V5, commit("g", 1))
        await wait_all_tasks_blocked()
        more = [bench.shard.begin(V5, commit(group, 5)) for group in "abc"]
    for slot in (first, *more):
        await slot.wait()
    headers = [read_header(batch) for batch in batches(bench)]
    assert [(header.base_offset, header.record_count) for header in headers] == [(0, 1), (1, 1), (2, 3)]
    assert [header.base_timestamp for header in headers] == [1_000_000, 1_002_000, 1_002_000]
    assert {header.producer_id for header in headers} == {-1}
    assert offsets(bench) == [("g", 0), ("g", 1), ("a", 5), ("b", 5), ("c", 5)]


async def test_members_and_tombstones_are_there_too(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 1))
    await bench.shard.submit(V2, DeleteGroupsRequest(groups_names=["g"]))
    assert [value for _, value in offsets(bench)] == [1, None, None]
    assert living(bench) == {}
    await bench.stable("h")
    assert living(bench) == stored(bench.store)


async def test_a_start_from_a_store_shows_what_is_in_it(autojump_clock, nursery, monkeypatch):
    monkeypatch.setattr(offsets_log, "RECORDS_A_TURN", 3)
    store = ScriptedStore()
    before = await bench_with(nursery, store)
    for number in range(10):
        await before.shard.submit(V5, commit(f"g{number}", number))
        await before.shard.submit(V5, commit(f"g{number}", number + 1))
    after = await bench_with(nursery, store)
    assert offsets(after) == [(f"g{number}", number + 1) for number in range(10)]
    assert living(after) == stored(store)


async def reloaded(bench):
    """Give a shard the time to load again."""
    await trio.sleep(10)
    assert len(bench.kinds(ShardLoaded)) == 2


@pytest.mark.parametrize("turn", [1, 500])
async def test_a_failed_write_is_not_seen_and_the_reload_adds_nothing(autojump_clock, nursery, monkeypatch, turn):
    monkeypatch.setattr(offsets_log, "RECORDS_A_TURN", turn)
    bench = await bench_with(nursery)
    await bench.stable("m")
    for number in range(5):
        await bench.shard.submit(V5, commit("g", number))
    await bench.shard.submit(V2, DeleteGroupsRequest(groups_names=["g"]))
    await bench.shard.submit(V5, commit("h", 1))
    before = rows(bench)
    bench.store.failures.append(StoreError("disk full"))
    await bench.shard.submit(V5, commit("h", 2))
    await reloaded(bench)
    assert rows(bench) == before
    await bench.shard.submit(V5, commit("h", 3))
    assert offsets(bench)[-2:] == [("h", 1), ("h", 3)]
    assert living(bench) == stored(bench.store)


async def test_a_write_that_came_through_although_it_failed_is_seen_once(autojump_clock, nursery):
    class Unsure(ScriptedStore):
        async def append(self, partition, epoch, rows):
            await super().append(partition, epoch, rows)
            if self.unsure:
                await trio.sleep(60)

    store = Unsure()
    store.unsure = False
    bench = await bench_with(nursery, store)
    await bench.shard.submit(V5, commit("g", 1))
    await bench.shard.submit(V5, commit("h", 1))
    store.unsure = True
    response = await bench.shard.submit(V5, commit("g", 2))
    assert response.topics[0].partitions[0].error_code == 15
    store.unsure = False
    await reloaded(bench)
    assert offsets(bench) == [("g", 1), ("h", 1), ("g", 2)]
    assert await offset_of(bench, "g") == 2
    assert living(bench) == stored(store)


async def test_what_the_store_has_no_more_gets_a_tombstone(autojump_clock, nursery):
    bench = await bench_with(nursery)
    for group in "abc":
        await bench.shard.submit(V5, commit(group, 1))
    kept = stored(bench.store)
    del kept[next(key for key in kept if decode_key(key).group == "b")]
    bench.store.failures.append(StoreError("somebody else was here"))
    await bench.shard.submit(V5, commit("a", 2))
    await reloaded(bench)
    assert offsets(bench) == [("a", 1), ("b", 1), ("c", 1), ("b", None)]
    assert living(bench) == stored(bench.store)


async def test_a_load_that_fails_half_way_leaves_nothing_twice(autojump_clock, nursery, monkeypatch):
    monkeypatch.setattr(offsets_log, "RECORDS_A_TURN", 2)
    store = ScriptedStore()
    before = await bench_with(nursery, store)
    for number in range(7):
        await before.shard.submit(V5, commit(f"g{number}", number))

    class Breaking:
        """The same store; the first load breaks off."""

        def __init__(self):
            self.loads = 0

        async def acquire(self, partition):
            return await store.acquire(partition)

        async def append(self, partition, epoch, rows):
            await store.append(partition, epoch, rows)

        async def load(self, _partition):
            self.loads += 1
            for number, row in enumerate(tuple(stored(store).items())):
                if self.loads == 1 and number == 5:
                    raise StoreError("broken off")
                yield row

    after = await bench_with(nursery, Breaking())
    assert offsets(after) == [(f"g{number}", number) for number in range(4)]
    await trio.sleep(10)
    assert len(after.kinds(ShardLoaded)) == 1
    assert offsets(after) == [(f"g{number}", number) for number in range(7)]


async def test_a_bug_makes_the_log_follow_the_store(autojump_clock, nursery, monkeypatch):
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 1))
    with monkeypatch.context() as broken, bench.store.hold():
        durable = bench.shard.begin(V5, commit("g", 2))
        await wait_all_tasks_blocked()

        def fail(*_):
            raise IllegalMove("a bug")

        broken.setattr(Coordinator, "handle", fail)
        bench.shard.begin(V5, commit("g", 3))
    await durable.wait()
    await reloaded(bench)
    assert offsets(bench) == [("g", 1), ("g", 2)]
    assert await offset_of(bench, "g") == 2


async def test_a_large_write_is_several_batches(autojump_clock, nursery, monkeypatch):
    monkeypatch.setattr(offsets_log, "LARGEST", 300)
    bench = await bench_with(nursery)
    with bench.store.hold():
        first = bench.shard.begin(V5, commit("g", 0))
        await wait_all_tasks_blocked()
        slots = [bench.shard.begin(V5, commit(f"g{number}", number)) for number in range(20)]
    for slot in (first, *slots):
        await slot.wait()
    sizes = [read_header(batch).record_count for batch in batches(bench)]
    assert sizes[0] == 1
    assert sum(sizes) == 21
    assert len(sizes) > 3
    assert [value for _, value in offsets(bench)] == [0, *range(20)]


async def test_a_row_that_is_larger_than_a_batch_may_be_has_one_of_its_own(autojump_clock, nursery, monkeypatch):
    monkeypatch.setattr(offsets_log, "LARGEST", 10)
    bench = await bench_with(nursery)
    await bench.stable("g")
    assert {read_header(batch).record_count for batch in batches(bench)} == {1}
    assert living(bench) == stored(bench.store)


async def test_records_that_others_put_there_do_not_stay(autojump_clock, nursery):
    """The store is what counts. Who may write to an internal topic may do so, but a reload tidies up."""
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 1))
    ((key, _),) = rows(bench)
    foreign = encode_key(decode_key(key).__class__(group="x", topic="t", partition=1))
    bench.log.append_own([(foreign, b"?"), (None, b"keyless")], 0)
    bench.store.failures.append(StoreError("disk full"))
    await bench.shard.submit(V5, commit("g", 2))
    await reloaded(bench)
    assert rows(bench)[3:] == [(foreign, None)]


async def test_a_log_whose_records_were_all_dropped_is_filled_again(autojump_clock, nursery):
    """Somebody gave the topic another policy than compaction, and deleted its records."""
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 1))
    await bench.shard.submit(V5, commit("h", 1))
    bench.log.config = TopicConfig()
    bench.log.delete_before(-1)
    bench.store.failures.append(StoreError("disk full"))
    await bench.shard.submit(V5, commit("g", 2))
    await reloaded(bench)
    assert offsets(bench) == [("g", 1), ("h", 1)]
    assert living(bench) == stored(bench.store)
