"""Compaction: what stays is what a simple model says, whatever happens to the log between two steps."""

import itertools
import random

import pytest

from kcoord.log import compaction
from kcoord.log.compaction import FLOOR, Compaction
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Partition
from kcoord.log.topic_config import TopicConfig
from wire.records import Compression, Record, build, check_crc, read_header, records_of, split

NOW = 1_700_000_000_000
DAY = 86_400_000
COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}))
BOTH = TopicConfig(cleanup_policy=frozenset({"compact", "delete"}))


def log(config=COMPACTED):
    return Partition("t", 0, config, LogMemory())


def put(partition, *rows, compression=Compression.NONE, now=NOW, **how):
    """Append one batch of (key, value) as a producer sends it."""
    records = [Record(offset, now + offset, key, value) for offset, (key, value) in enumerate(rows)]
    return partition.append(build(records, compression=compression, **how), now, version=9)


def records(partition, start=0):
    return [record for batch in split(partition.read(start, 2**40, at_least_one=True)) for record in records_of(batch)]


def seen(partition, start=0):
    return [(record.offset, record.key, record.value) for record in records(partition, start)]


def run(compact, now=NOW):
    for _ in compact.run(now):
        pass


def check(partition):
    """The log is in order in itself, and its memory is counted right."""
    batches = split(partition.read(0, 2**40, at_least_one=True))
    assert all(check_crc(batch) for batch in batches)
    headers = [read_header(batch) for batch in batches]
    assert all(a.last_offset < b.base_offset for a, b in itertools.pairwise(headers))
    assert not headers or headers[-1].last_offset == partition.high_watermark - 1
    assert partition.size_bytes == sum(map(len, batches)) == partition.bytes_from(0)
    assert partition._memory.used == partition.size_bytes + len(batches) * LogMemory.BATCH_OVERHEAD


# What stays.


def test_of_each_key_the_newest_stays_at_its_offset():
    partition = log()
    put(partition, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    put(partition, (b"c", b"1"))
    put(partition, (b"a", b"3"), (b"c", b"2"))
    put(partition, (b"end", b""))
    run(Compaction(partition))
    assert seen(partition) == [(1, b"b", b"1"), (4, b"a", b"3"), (5, b"c", b"2"), (6, b"end", b"")]
    check(partition)
    first = read_header(split(partition.read(0, 2**40, at_least_one=True))[0])
    assert (first.base_offset, first.last_offset_delta, first.record_count) == (0, 2, 1)
    assert first.max_timestamp == NOW + 1


def test_the_last_batch_is_not_touched():
    partition = log()
    put(partition, (b"a", b"1"), (b"a", b"2"), (b"b", None))
    for _ in range(3):
        run(Compaction(partition), NOW + 9 * DAY)
    assert seen(partition) == [(0, b"a", b"1"), (1, b"a", b"2"), (2, b"b", None)]
    put(partition, (b"a", b"3"))
    run(Compaction(partition))
    assert seen(partition) == [(1, b"a", b"2"), (2, b"b", None), (3, b"a", b"3")]


def test_an_empty_log():
    partition = log()
    compact = Compaction(partition)
    run(compact)
    assert not compact.is_due
    assert seen(partition) == []


def test_a_batch_of_which_nothing_goes_is_not_touched():
    partition = log()
    put(partition, (b"a", b"1"), (b"b", None), compression=Compression.ZSTD)
    put(partition, (b"c", b"1"), compression=Compression.GZIP)
    put(partition, (b"end", b""))
    before = partition.batches[0], partition.batches[1]
    compact = Compaction(partition)
    run(compact)
    put(partition, (b"d", b"1"), (b"d", b"2"))
    put(partition, (b"end", b""))
    run(compact)
    assert partition.batches[0] is before[0]
    assert partition.batches[1] is before[1]
    check(partition)


@pytest.mark.parametrize("compression", Compression)
def test_a_batch_of_which_something_goes_is_packed_as_it_was(compression):
    partition = log()
    put(partition, (b"a", b"1" * 500), (b"b", b"1" * 500), compression=compression, producer_id=7, producer_epoch=0,
        base_sequence=0)  # fmt: skip
    put(partition, (b"a", b"2"))
    put(partition, (b"end", b""))
    run(Compaction(partition))
    (first, *_) = split(partition.read(0, 2**40, at_least_one=True))
    header = read_header(first)
    assert header.compression == compression
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, 0)
    assert seen(partition)[0] == (1, b"b", b"1" * 500)
    check_without_producers(partition)


def check_without_producers(partition):
    partition._memory.used -= LogMemory.PRODUCER_SIZE
    check(partition)


def test_a_producer_is_known_after_all_it_sent_is_gone():
    partition = log()
    sent = build([Record(0, NOW, b"a", b"1")], producer_id=7, producer_epoch=0, base_sequence=0)
    partition.append(sent, NOW, version=9)
    put(partition, (b"a", b"2"))
    put(partition, (b"end", b""))
    run(Compaction(partition))
    assert seen(partition) == [(1, b"a", b"2"), (2, b"end", b"")]
    again = partition.append(sent, NOW, version=9)
    assert (again.duplicate, again.base_offset) == (True, 0)


def test_records_with_the_brokers_time_keep_it():
    partition = log(TopicConfig(cleanup_policy=frozenset({"compact"}), message_timestamp_type="LogAppendTime"))
    put(partition, (b"a", b"1"), (b"b", b"1"), now=NOW + 5)
    put(partition, (b"b", b"2"))
    put(partition, (b"end", b""))
    run(Compaction(partition))
    assert records(partition)[0] == Record(0, NOW + 5, b"a", b"1")
    check(partition)


def test_records_without_a_key_go_where_they_came_before_the_policy():
    partition = log(TopicConfig())
    put(partition, (None, b"1"), (b"a", b"1"))
    put(partition, (None, b"2"))
    put(partition, (None, b"3"))
    partition.config = COMPACTED
    run(Compaction(partition))
    assert seen(partition) == [(1, b"a", b"1"), (3, None, b"3")]


def test_the_start_of_the_log_does_not_move():
    partition = log()
    put(partition, (b"a", b"1"))
    put(partition, (b"a", b"2"))
    put(partition, (b"b", b"1"))
    run(Compaction(partition))
    assert partition.log_start_offset == 0
    assert seen(partition, 0) == [(1, b"a", b"2"), (2, b"b", b"1")]


# Tombstones.


def test_a_tombstone_stays_for_a_while_and_then_goes():
    partition = log()
    put(partition, (b"a", b"1"), (b"b", b"1"))
    put(partition, (b"a", None), (b"c", b"1"))
    put(partition, (b"end", b""))
    compact = Compaction(partition)
    kept = [(1, b"b", b"1"), (2, b"a", None), (3, b"c", b"1"), (4, b"end", b"")]
    for now in (NOW, NOW + DAY // 2, NOW + DAY - 1):
        run(compact, now)
        assert seen(partition) == kept
    run(compact, NOW + DAY)
    assert seen(partition) == [kept[0], *kept[2:]]
    check(partition)


def test_the_time_of_a_tombstone_begins_with_the_compaction_that_meets_it():
    partition = log()
    compact = Compaction(partition)
    put(partition, (b"a", None))
    put(partition, (b"b", None))
    run(compact, NOW)
    put(partition, (b"end", b""))
    run(compact, NOW + DAY // 2)
    assert seen(partition) == [(0, b"a", None), (1, b"b", None), (2, b"end", b"")]
    run(compact, NOW + DAY)
    assert seen(partition) == [(1, b"b", None), (2, b"end", b"")]
    run(compact, NOW + DAY + DAY // 2)
    assert seen(partition) == [(2, b"end", b"")]


def test_a_tombstone_that_is_no_news_goes_at_once():
    partition = log()
    put(partition, (b"a", None), (b"b", b"1"))
    put(partition, (b"a", b"1"))
    put(partition, (b"end", b""))
    run(Compaction(partition))
    assert seen(partition) == [(1, b"b", b"1"), (2, b"a", b"1"), (3, b"end", b"")]


def test_no_time_at_all_is_until_the_next_compaction():
    partition = log(TopicConfig(cleanup_policy=frozenset({"compact"}), delete_retention_ms=0))
    put(partition, (b"a", None))
    put(partition, (b"end", b""))
    compact = Compaction(partition)
    run(compact)
    assert seen(partition) == [(0, b"a", None), (1, b"end", b"")]
    run(compact)
    assert seen(partition) == [(1, b"end", b"")]


# When.


def fill(partition, size, prefix=b""):
    """Append about `size` bytes, each record of a key of its own."""
    number = 0
    until = partition.size_bytes + size
    while partition.size_bytes < until:
        put(partition, *((prefix + b"%d" % (number + index), b"x" * 1000) for index in range(100)))
        number += 100


def test_it_is_due_when_enough_is_dirty():
    partition = log()
    compact = Compaction(partition)
    assert not compact.is_due
    fill(partition, FLOOR // 2)
    assert not compact.is_due
    fill(partition, FLOOR // 2 + 1)
    assert compact.is_due
    run(compact)
    assert not compact.is_due


def test_it_is_due_when_as_much_is_dirty_as_is_clean():
    partition = log()
    compact = Compaction(partition)
    fill(partition, 3 * FLOOR)
    run(compact)
    clean = partition.size_bytes
    fill(partition, 2 * FLOOR, b"other")
    assert not compact.is_due
    fill(partition, FLOOR + FLOOR // 2)
    assert compact.is_due
    run(compact)
    assert not compact.is_due
    assert partition.size_bytes < clean + 2.5 * FLOOR


def test_a_large_last_batch_is_no_reason():
    """It could not be compacted."""
    partition = log(TopicConfig(cleanup_policy=frozenset({"compact"}), max_message_bytes=10 * FLOOR))
    put(partition, (b"a", b"x" * 3 * FLOOR))
    compact = Compaction(partition)
    assert not compact.is_due
    put(partition, (b"b", b"x" * 3 * FLOOR))
    assert compact.is_due
    run(compact)
    assert [offset for offset, *_ in seen(partition)] == [0, 1]
    assert not compact.is_due


def test_what_is_clean_may_become_smaller():
    partition = log(BOTH)
    compact = Compaction(partition)
    fill(partition, 10 * FLOOR)
    run(compact)
    partition.delete_before(partition.high_watermark - 1)
    fill(partition, 2 * FLOOR)
    assert not compact.is_due
    compact.look()
    assert compact.is_due


def test_what_has_too_many_keys_is_compacted_in_parts(monkeypatch):
    monkeypatch.setattr(compaction, "MOST_KEYS", 5 * (compaction.KEY_OVERHEAD + 1))
    partition = log()
    for round_ in range(2):
        for number in range(8):
            put(partition, (b"%d" % number, b"%d" % round_))
    put(partition, (b"e", b""))
    compact = Compaction(partition)
    run(compact)
    assert len(seen(partition)) == 17  # keys 0 to 4
    run(compact)
    assert [offset for offset, *_ in seen(partition)] == [2, 3, 4, 5, 6, 7, *range(8, 17)]
    for _ in range(2):
        run(compact)
    assert [offset for offset, *_ in seen(partition)] == list(range(8, 17))
    check(partition)


def test_many_commits_of_one_key_stay_small():
    partition = log()
    compact = Compaction(partition)
    most = 0
    for number in range(30_000):
        partition.append_own([(b"key", b"%d" % number)], NOW)
        if compact.is_due:
            run(compact)
        most = max(most, partition.size_bytes)
    assert most < FLOOR + 1000
    assert seen(partition)[-1] == (29_999, b"key", b"29999")
    check(partition)


# What happens meanwhile.


def steps_of(monkeypatch, partition, **how):
    """A compaction in the smallest steps."""
    monkeypatch.setattr(compaction, "STEP", 1)
    monkeypatch.setattr(compaction, "BATCHES_AT_ONCE", how.get("at_once", 1))
    monkeypatch.setattr(compaction, "REPLACEMENTS", 1000)
    return Compaction(partition)


def test_it_ends_when_the_topic_is_deleted(monkeypatch):
    for when in range(30):
        partition = log()
        for number in range(5):
            put(partition, (b"a", b"%d" % number), (b"b", None), (b"%d" % number, b""))
        compact = steps_of(monkeypatch, partition, at_once=when % 4 + 1)
        for number, _ in enumerate(compact.run(NOW)):
            if number == when:
                partition.drop()
        if partition.deleted:
            assert partition.size_bytes == 0
            assert partition._memory.used == 0
        else:
            check(partition)


def test_it_ends_when_the_policy_changes(monkeypatch):
    partition = log()
    for number in range(5):
        put(partition, (b"a", b"%d" % number))
    compact = steps_of(monkeypatch, partition)
    steps = compact.run(NOW)
    next(steps)
    partition.config = TopicConfig()
    assert list(steps) == []
    assert len(seen(partition)) == 5


@pytest.mark.parametrize("seed", range(40))
def test_anything_may_happen_between_two_steps(monkeypatch, seed):
    """Against a model: a key's newest record before the last batch stays, unless the head of the log went away."""
    chance = random.Random(seed)
    partition = log(BOTH)
    compact = steps_of(monkeypatch, partition, at_once=chance.choice([1, 2, 5, 50]))
    everything = {}
    clock = NOW

    def append():
        rows = [
            (b"%d" % chance.randrange(6), None if chance.random() < 0.2 else chance.randbytes(5))
            for _ in range(chance.randint(1, 4))
        ]
        base = put(partition, *rows, compression=chance.choice(list(Compression)), now=clock).base_offset
        everything.update({base + index: row for index, row in enumerate(rows)})

    def check_all(end):
        found = seen(partition)
        assert all(everything[offset] == (key, value) for offset, key, value in found)
        start, offsets = partition.log_start_offset, [offset for offset, *_ in found]
        assert offsets == sorted(offsets)
        missing = {offset for offset in everything if offset >= start} - set(offsets)
        for offset in missing:
            key, value = everything[offset]
            newer = [other for other in everything if other > offset and everything[other][0] == key]
            assert newer or value is None, "a newest record is gone"
            assert offset < end, "what came meanwhile is gone"
        check(partition)
        return set(offsets)

    for _ in range(chance.randint(1, 5)):
        for _ in range(chance.randint(0, 12)):
            append()
        clock += chance.choice([0, DAY // 2, DAY])
        quiet = chance.random() < 0.5
        end = partition.batches[-1].base_offset if partition.batches else 0
        for _ in compact.run(clock):
            if not quiet and chance.random() < 0.2:
                append()
            if not quiet and chance.random() < 0.03 and partition.high_watermark > partition.log_start_offset:
                partition.delete_before(chance.randint(partition.log_start_offset, partition.high_watermark))
            if chance.random() < 0.1:
                check_all(end)
        offsets = check_all(end)
        if quiet and partition.batches:
            inside = partition.batches[0].base_offset < partition.log_start_offset
            first = partition.batches[0].last_offset + 1 if inside else 0
            older = [offset for offset in offsets if first <= offset < end]
            keys = [everything[offset][0] for offset in older]
            assert len(keys) == len(set(keys)), "a key has two records in what was compacted"
