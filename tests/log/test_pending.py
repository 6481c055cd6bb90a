"""What the broker writes itself is put into batches when somebody looks. Nobody can tell, but for what is gone."""

import random

import pytest

from kcoord.log import partition as module
from kcoord.log.compaction import Compaction
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Partition
from kcoord.log.pending import Pending
from kcoord.log.topic_config import TopicConfig
from wire.records import Record, build, check_crc, read_header, records_of, split

NOW = 1_700_000_000_000
KEPT = TopicConfig()
COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}))


def log(config=COMPACTED):
    return Partition("t", 0, config, LogMemory())


def records(partition, start=0):
    batches = split(partition.read(start, 2**40, at_least_one=True))
    assert all(check_crc(batch) for batch in batches)
    return [(record.offset, record.key, record.value) for batch in batches for record in records_of(batch)]


def check_memory(partition):
    size = partition.size_bytes
    assert partition._memory.used == size + len(partition.batches) * LogMemory.BATCH_OVERHEAD


LOOKS = {
    "read": lambda one: one.read(0, 10**9, at_least_one=True),
    "bytes_from": lambda one: one.bytes_from(0),
    "size_bytes": lambda one: one.size_bytes,
    "batches": lambda one: list(one.batches),
    "find_time": lambda one: one.find_time(0),
    "latest_time": lambda one: one.latest_time(),
    "delete_before": lambda one: one.delete_before(3),
    "keep_to_limits": lambda one: one.keep_to_limits(NOW),
    "append": lambda one: one.append(build([Record(0, NOW, b"k", b"v")]), NOW, version=9).base_offset,
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_shows_what_was_written(look):
    """As if somebody had looked after each write."""
    seen, unseen = log(KEPT), log(KEPT)
    for number in range(5):
        for partition in (seen, unseen):
            appended = partition.append_own([(b"a", b"%d" % number), (b"b", None)], NOW + number)
            assert (appended.base_offset, appended.last_offset) == (2 * number, 2 * number + 1)
            assert partition.high_watermark == 2 * number + 2
        assert seen.size_bytes
    assert unseen.settled_bytes == 0
    first, second = LOOKS[look](seen), LOOKS[look](unseen)
    assert first == second
    assert unseen.settled_bytes == seen.settled_bytes
    assert records(unseen) == records(seen)
    check_memory(unseen)


def test_memory_is_counted_before_anybody_looks():
    partition = log()
    partition.append_own([(b"k" * 1000, b"v" * 1000)], NOW)
    partition.append_own([(b"k" * 1000, None)], NOW)
    partition.append_own([(None, b"v" * 1000)], NOW)
    assert 4000 < partition._memory.used < 6000
    partition.drop()
    assert partition._memory.used == 0
    assert partition.size_bytes == 0


def test_who_watches_and_looks_sees_everything(monkeypatch):
    monkeypatch.setattr(module, "MOST_PENDING", 5000)
    partition = log()
    seen = []
    partition.watch(lambda: seen.extend(records(partition, len(seen))))
    for number in range(1000):
        partition.append_own([(b"k", b"%d" % number)], NOW)
    assert seen == [(number, b"k", b"%d" % number) for number in range(1000)]


def test_who_only_asks_for_settled_bytes_is_no_reader(monkeypatch):
    monkeypatch.setattr(module, "MOST_PENDING", 5000)
    partition = log()
    partition.watch(lambda: partition.settled_bytes)
    for number in range(1000):
        partition.append_own([(b"k", b"%d" % number)], NOW)
    assert partition._memory.used < 60_000


@pytest.mark.parametrize("config", [KEPT, TopicConfig(cleanup_policy=frozenset())])
def test_without_compaction_everything_stays(monkeypatch, config):
    monkeypatch.setattr(module, "MOST_PENDING", 5000)
    partition = log(config)
    for number in range(200):
        partition.append_own([(b"k", b"%d" % number)], NOW)
    assert partition.settled_bytes
    assert records(partition) == [(number, b"k", b"%d" % number) for number in range(200)]
    check_memory(partition)


def test_with_compaction_the_newest_of_each_key_stays_at_its_offset(monkeypatch):
    monkeypatch.setattr(module, "MOST_PENDING", 1200)
    partition = log()
    partition.append_own([(b"a", b"1"), (b"b", b"1"), (b"c", None)], NOW)
    partition.append_own([(None, b"1"), (b"b", None)], NOW + 1)
    partition.append_own([(b"a", b"2"), (b"d", b"1")], NOW + 2)
    assert partition.settled_bytes == 0
    partition.append_own([(b"d", b"2"), (b"d", b"3")], NOW + 3)
    assert partition.settled_bytes > 0
    assert records(partition) == [
        (2, b"c", None), (4, b"b", None), (5, b"a", b"2"), (7, b"d", b"2"), (8, b"d", b"3"),
    ]  # fmt: skip
    headers = [read_header(batch.data) for batch in partition.batches]
    assert [(one.base_offset, one.last_offset, one.record_count, one.max_timestamp) for one in headers] == [
        (0, 2, 1, NOW), (3, 4, 1, NOW + 1), (5, 6, 1, NOW + 2), (7, 8, 2, NOW + 3),
    ]  # fmt: skip
    check_memory(partition)


def test_the_brokers_time_is_that_of_the_write():
    partition = log(TopicConfig(message_timestamp_type="LogAppendTime"))
    assert partition.append_own([(b"k", b"v")], NOW).log_append_time_ms == NOW
    partition.config = KEPT
    assert partition.append_own([(b"k", b"v")], NOW + 1).log_append_time_ms == -1
    first, second = (read_header(batch.data) for batch in partition.batches)
    assert (first.is_log_append_time, second.is_log_append_time) == (True, False)
    assert (first.max_timestamp, second.max_timestamp) == (NOW, NOW + 1)


def test_taking_leaves_nothing():
    pending = Pending()
    assert not pending
    pending.put(0, [(b"a", b"1")], NOW, log_append_time=False)
    assert pending
    assert [write.base_offset for write in pending.take(newest=True)] == [0]
    assert not pending
    assert pending.size == 0


@pytest.mark.parametrize("seed", range(20))
def test_against_a_model(monkeypatch, seed):
    """Producers and the broker write, readers look or not, it is compacted or not: newest records are never gone."""
    chance = random.Random(seed)
    monkeypatch.setattr(module, "MOST_PENDING", chance.choice([1000, 5000, 10**9]))
    partition = log()
    compact = Compaction(partition)
    everything = {}
    for _ in range(150):
        rows = [(b"%d" % chance.randrange(8), chance.choice([None, b"v"])) for _ in range(chance.randint(1, 5))]
        if chance.random() < 0.8:
            base = partition.append_own(rows, NOW).base_offset
        else:
            sent = build([Record(index, NOW, *row) for index, row in enumerate(rows)])
            base = partition.append(sent, NOW, version=9).base_offset
        everything |= {base + index: row for index, row in enumerate(rows)}
        if chance.random() < 0.1:
            records(partition)
        if chance.random() < 0.05:
            for _ in compact.run(NOW):
                pass
    found = records(partition)
    assert [offset for offset, *_ in found] == sorted({offset for offset, *_ in found})
    assert all(everything[offset] == (key, value) for offset, key, value in found)
    newest = {key: offset for offset, (key, _) in sorted(everything.items())}
    assert set(newest.values()) <= {offset for offset, *_ in found}
    assert partition.high_watermark == max(everything) + 1
    assert read_header(partition.batches[-1].data).last_offset == partition.high_watermark - 1
    check_memory(partition)
