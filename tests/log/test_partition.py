"""A partition as its users see it: appending, reading, times, limits, deletion."""

import gzip
from uuid import UUID

import pytest

from kcoord.log.catalog import Catalog
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Appended, Found, Partition, Refused
from kcoord.log.producers import EXPIRATION_MS
from kcoord.log.topic_config import TopicConfig
from tests.records import HOUR, NOW, batch, good, put, record
from wire.errors import ErrorCode
from wire.records import Record, build, read_header, records_of, split

SIZE = len(good(1))
OVERHEAD = LogMemory.BATCH_OVERHEAD


def partition(limit=None, **config):
    return Partition("t", 0, TopicConfig(**config), LogMemory(limit))


def fill(log, *times, now=NOW, codec=0):
    """Append one batch for each sequence of times."""
    for each in times:
        records = b"".join(record(delta, time=time) for delta, time in enumerate(each))
        log.append(batch(len(each), gzip.compress(records) if codec else records, attributes=codec), now, version=9)


def offsets(data):
    return [read_header(each).base_offset for each in split(data)]


def refusal(function, *args, **kwargs):
    with pytest.raises(Refused) as caught:
        function(*args, **kwargs)
    return caught.value


def test_batches_get_their_offsets_and_are_otherwise_as_sent():
    log = partition()
    assert log.append(good(3), NOW, version=9) == Appended(0, 2, -1, 0, duplicate=False)
    assert log.append(good(2, epoch=77), NOW, version=9) == Appended(3, 4, -1, 0, duplicate=False)
    assert (log.log_start_offset, log.high_watermark, log.leader_epoch) == (0, 5, 0)
    first, second = split(log.read(0, 10_000, at_least_one=True))
    assert first == put(good(3), "i", 12, 0)
    assert second == put(put(good(2), "q", 0, 3), "i", 12, 0)
    assert log.size_bytes == len(first) + len(second)
    assert [each.offset for each in records_of(second)] == [3, 4]


def test_log_append_time():
    log = partition(message_timestamp_type="LogAppendTime")
    assert log.append(good(3), NOW + 5, version=9) == Appended(0, 2, NOW + 5, 0, duplicate=False)
    assert [each.timestamp for each in records_of(log.read(0, 10_000, at_least_one=True))] == [NOW + 5] * 3
    assert log.append_own([(b"k", b"v")], NOW + 6).log_append_time_ms == NOW + 6
    assert log.find_time(0) == Found(0, NOW + 5)
    assert log.find_time(NOW + 6) == Found(3, NOW + 6)
    log.delete_before(1)
    assert log.find_time(0) == Found(1, NOW + 5)
    assert log.latest_time() == Found(3, NOW + 6)


def test_what_the_broker_writes_itself():
    log = partition(limit=0, cleanup_policy=frozenset({"compact"}), max_message_bytes=1)
    assert log.append_own([(b"a", b"1"), (b"b", None)], NOW) == Appended(0, 1, -1, 0, duplicate=False)
    assert log.append_own([(b"a", b"2")], NOW + 1).base_offset == 2
    found = [each for one in split(log.read(0, 10_000, at_least_one=True)) for each in records_of(one)]
    assert found == [Record(0, NOW, b"a", b"1"), Record(1, NOW, b"b", None), Record(2, NOW + 1, b"a", b"2")]


@pytest.mark.parametrize(
    ("sent", "version", "code", "start"),
    [
        (b"", 9, ErrorCode.INVALID_RECORD, -1),
        (put(good(), "h", 21, 5), 6, ErrorCode.UNKNOWN_SERVER_ERROR, -1),
        (put(good(), "h", 21, 5), 9, ErrorCode.UNKNOWN_SERVER_ERROR, 2),
        (put(good(), "I", 17, 1, crc=False), 9, ErrorCode.CORRUPT_MESSAGE, -1),
        (put(good(), "q", 0, 1), 9, ErrorCode.INVALID_RECORD, 2),
        (batch(1, record(value=bytes(1000))), 9, ErrorCode.MESSAGE_TOO_LARGE, -1),
        (good(time=NOW + 2 * HOUR), 9, ErrorCode.INVALID_TIMESTAMP, 2),
        (good(producer=(1, 0, 5)), 9, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 2),
        (good(producer=(1, -2, 5)), 9, ErrorCode.INVALID_PRODUCER_EPOCH, 2),
    ],
)
def test_a_refusal_changes_nothing_and_tells_the_start_where_kafka_does(sent, version, code, start):
    log = partition(max_message_bytes=500)
    log.append(good(4, producer=(1, 0, 0)), NOW, version=9)
    log.delete_before(2)
    before = log.read(0, 10_000, at_least_one=True)
    refused = refusal(log.append, sent, NOW, version=version)
    assert (refused.code, refused.log_start_offset) == (code, start)
    assert (log.high_watermark, log.read(0, 10_000, at_least_one=True)) == (4, before)


def test_a_repetition_is_told_where_it_is_and_when_it_was():
    log = partition()
    log.append(good(2), NOW, version=9)
    first = good(3, producer=(9, 0, 0), time=NOW - 77)
    assert log.append(first, NOW, version=9) == Appended(2, 4, -1, 0, duplicate=False)
    log.append(good(1), NOW, version=9)
    assert log.append(first, NOW, version=9) == Appended(2, 4, NOW - 77, 0, duplicate=True)
    log.delete_before(-1)
    again = good(3, producer=(9, 0, 0), time=NOW - 5)
    assert log.append(again, NOW, version=9) == Appended(2, 4, NOW - 77, 6, duplicate=True)
    assert log.high_watermark == 6
    assert log.append(good(1, producer=(9, 0, 3)), NOW, version=9).base_offset == 6


def test_checking_can_be_done_apart():
    log = partition()
    checked = log.check(good(2), NOW, version=9)
    assert log.high_watermark == 0
    assert log.add(checked, NOW).last_offset == 1
    log.drop()
    assert refusal(log.add, checked, NOW).code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Reading


def test_whole_batches_are_read():
    log = partition()
    for _ in range(5):
        log.append(good(10), NOW, version=9)
    size = log.size_bytes // 5
    for offset, most, at_least_one, found in (
        (0, 0, False, []), (0, 0, True, [0]), (0, -5, False, []), (0, size - 1, False, []), (0, size - 1, True, [0]),
        (0, size, False, [0]), (5, size, False, [0]), (9, size, False, [0]), (10, size, False, [10]),
        (0, 2 * size - 1, True, [0]), (0, 2 * size, True, [0, 10]), (15, 2 * size, True, [10, 20]),
        (41, 100 * size, True, [40]), (49, 100 * size, True, [40]), (50, 100 * size, True, []),
    ):  # fmt: skip
        assert offsets(log.read(offset, most, at_least_one=at_least_one)) == found
    assert [log.bytes_from(offset) // size for offset in (0, 9, 10, 49, 50)] == [5, 5, 4, 1, 0]
    log.delete_before(25)
    assert [log.bytes_from(offset) // size for offset in (25, 30, 50)] == [3, 2, 0]
    assert offsets(log.read(25, 2 * size, at_least_one=True)) == [20, 30]


def test_one_batch_is_read_without_a_copy():
    log = partition()
    log.append(good(), NOW, version=9)
    assert log.read(0, 10_000, at_least_one=True) is log.batches[0].data


# Times


def by_time(log, *times):
    return [found and (found.offset, found.timestamp - NOW) for found in (log.find_time(NOW + each) for each in times)]


def test_the_first_record_at_a_time_or_later():
    log = partition()
    fill(log, (10, 30, 20), (5, 6, 7))
    fill(log, (30, 40, 40), codec=1)
    fill(log, (-NOW - 1, -NOW - 1), (40, 15))
    assert by_time(log, 0, 10, 11, 20, 21, 30, 31, 40, 41) == [
        (0, 10), (0, 10), (1, 30), (1, 30), (1, 30), (1, 30), (7, 40), (7, 40), None,
    ]  # fmt: skip
    assert log.latest_time() == Found(7, NOW + 40)
    for start, found in {
        1: [(1, 30), (1, 30), (1, 30), (7, 40)],
        2: [(2, 20), (6, 30), (6, 30), (7, 40)],
        3: [(3, 5), (6, 30), (6, 30), (7, 40)],
        7: [(7, 40)] * 4,
        8: [(8, 40)] * 4,
        9: [(11, 40)] * 4,
        12: [(12, 15), None, None, None],
        13: [None] * 4,
    }.items():
        log.delete_before(start)
        assert by_time(log, 0, 25, 30, 40) == found
    assert log.latest_time() is None


def test_the_latest_time_is_that_of_live_records():
    log = partition()
    fill(log, (50, 1), (7, 9, 9))
    assert log.latest_time() == Found(0, NOW + 50)
    log.delete_before(1)
    assert log.latest_time() == Found(3, NOW + 9)


def test_records_without_times():
    log = partition()
    assert log.latest_time() is None
    assert log.find_time(0) is None
    log.append(good(2, time=-1), NOW, version=9)
    log.append(good(2, time=-7), NOW, version=9)
    assert log.find_time(0) is None
    assert log.latest_time() == Found(0, -1)
    log.delete_before(1)
    assert log.latest_time() == Found(1, -1)
    log.append(good(1, time=0), NOW, version=9)
    assert log.find_time(0) == log.latest_time() == Found(4, 0)


def test_offsets_that_records_got_wrong_do_not_stop_the_search():
    log = partition()
    log.append(good(1), NOW, version=9)
    log.append(batch(2, record(0) + record(0, time=30)), NOW, version=9)
    log.append(good(1, time=NOW + 20), NOW, version=9)
    log.delete_before(2)
    assert by_time(log, 10) == [(3, 20)]


def test_a_record_before_its_own_batch_is_not_found_where_the_log_begins_there():
    log = partition()
    log.append(good(1), NOW, version=9)
    log.append(batch(2, record(-1, time=30) + record(0, time=5)), NOW, version=9)
    log.append(good(1, time=NOW + 20), NOW, version=9)
    assert by_time(log, 10) == [(0, 30)]
    log.delete_before(1)
    assert by_time(log, 10, 25) == [(3, 20), None]


def test_times_of_large_records():
    log = partition(max_message_bytes=10**6)
    log.append(batch(3, b"".join(record(delta, time=delta, value=bytes(10_000)) for delta in range(3))), NOW, version=9)
    assert by_time(log, 0, 2, 3) == [(0, 0), (2, 2), None]


# Deletion and limits


@pytest.mark.parametrize("offset", [-2, -(2**63), 6, 2**62])
def test_the_start_moves_within_the_log_only(offset):
    log = partition()
    fill(log, (0, 0, 0, 0, 0))
    assert refusal(log.delete_before, offset).code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.log_start_offset == 0


def test_the_start_moves_up():
    log = partition()
    fill(log, (0, 0), (0, 0), (0, 0))
    assert [log.delete_before(offset) for offset in (0, 1, 0, 2, 5)] == [0, 1, 1, 2, 5]
    assert offsets(log.read(5, 10_000, at_least_one=True)) == [4]
    assert log.delete_before(-1) == 6
    assert (log.size_bytes, len(log.batches)) == (0, 0)
    fill(log, (0,))
    assert log.high_watermark == 7


def test_records_of_a_topic_that_is_only_compacted_are_not_deleted():
    log = partition(cleanup_policy=frozenset({"compact"}))
    fill(log, (0, 0))
    for offset in (1, 99, -1):
        assert refusal(log.delete_before, offset).code is ErrorCode.POLICY_VIOLATION
    assert log.keep_to_limits(NOW * 2) == 0
    assert log.log_start_offset == 0


def test_records_of_a_topic_that_is_neither_compacted_nor_cut_are_deleted_on_demand():
    log = partition(cleanup_policy=frozenset())
    fill(log, (0, 0))
    assert log.keep_to_limits(NOW * 2) == 0
    assert log.delete_before(1) == 1


def test_a_partition_is_emptied_whatever_the_policy_and_offsets_go_on():
    log = partition(cleanup_policy=frozenset({"compact"}))
    told = []
    log.watch(lambda: told.append(log.log_start_offset))
    fill(log, (0, 0))
    log.append_own([(b"k", b"v")], NOW)
    log.empty()
    assert (log.log_start_offset, log.high_watermark, log.size_bytes, log.settled_bytes) == (3, 3, 0, 0)
    assert told[-1] == 3
    assert log.append_own([(b"k", b"w")], NOW).base_offset == 3
    assert offsets(log.read(0, 1000, at_least_one=True)) == [3]


def test_old_batches_go():
    log = partition(retention_ms=1000)
    fill(log, (0,), (10, 500), (2000,), (0,))
    size = log.batches[0].end
    assert log.keep_to_limits(NOW + 1000) == 0
    assert log.keep_to_limits(NOW + 1001) == size
    assert (log.log_start_offset, log.keep_to_limits(NOW + 1500)) == (1, 0)
    assert log.keep_to_limits(NOW + 1501) > 0
    assert log.log_start_offset == 3
    # The youngest keeps what is behind it, as with Kafka's segments.
    assert log.keep_to_limits(NOW + 3000) == 0
    left = log.size_bytes
    assert log.keep_to_limits(NOW + 3001) == left
    assert (log.log_start_offset, log.high_watermark, log.size_bytes) == (5, 5, 0)


def test_a_batch_without_times_is_as_old_as_its_stay():
    log = partition(retention_ms=1000)
    log.append(good(2, time=-1), NOW, version=9)
    assert log.keep_to_limits(NOW + 1000) == 0
    assert log.keep_to_limits(NOW + 1001) > 0


def test_too_many_bytes_go_but_not_below_the_limit():
    log = partition(retention_bytes=2 * SIZE, retention_ms=-1)
    for count, left in ((2, 2), (1, 2), (3, 2)):
        fill(log, *[(0,)] * count)
        log.keep_to_limits(NOW * 2)
        assert len(log.batches) == left
    log.config = TopicConfig(retention_bytes=2 * SIZE + 1, retention_ms=-1)
    fill(log, (0,), (0,))
    assert log.keep_to_limits(NOW) == SIZE
    log.config = TopicConfig(retention_bytes=0)
    assert log.keep_to_limits(NOW) == 3 * SIZE
    assert log.keep_to_limits(NOW) == 0


def test_producers_are_forgotten_whatever_the_policy():
    log = partition(cleanup_policy=frozenset({"compact"}))
    log.append(good(1, producer=(5, 0, 0)), NOW, version=9)
    log.keep_to_limits(NOW + EXPIRATION_MS - 1)
    assert (
        refusal(log.append, good(1, producer=(5, 0, 9)), NOW, version=9).code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    log.keep_to_limits(NOW + EXPIRATION_MS)
    assert log.append(good(1, producer=(5, 0, 9)), NOW, version=9).base_offset == 1


# Memory


def test_the_memory_of_all_partitions_has_one_limit():
    catalog = Catalog(LogMemory(2 * (SIZE + OVERHEAD)))
    topic = catalog.create("t", 3, UUID(int=1))
    first, second, third = topic.partitions
    for log in (first, second):
        log.append(good(1), NOW, version=9)
    assert catalog.memory.used == catalog.memory.limit
    refused = refusal(third.append, good(1), NOW, version=9)
    assert refused.code is ErrorCode.POLICY_VIOLATION
    assert "--memory-limit" in refused.message
    assert refused.log_start_offset == 0
    first.delete_before(-1)
    assert third.append(good(1), NOW, version=9).base_offset == 0
    catalog.delete(topic)
    assert catalog.memory.used == 0


def test_a_full_partition_first_drops_what_it_need_not_keep():
    log = partition(limit=SIZE + OVERHEAD, retention_ms=1000)
    fill(log, (0,))
    assert refusal(log.append, good(1), NOW + 1000, version=9).code is ErrorCode.POLICY_VIOLATION
    assert log.append(good(1), NOW + 1001, version=9) == Appended(1, 1, -1, 1, duplicate=False)


def test_a_producer_takes_memory_but_its_repetitions_need_none():
    log = partition(limit=SIZE + OVERHEAD + LogMemory.PRODUCER_SIZE)
    first = good(1, producer=(5, 0, 0))
    log.append(first, NOW, version=9)
    assert log.append(first, NOW, version=9).duplicate
    assert refusal(log.append, good(1, producer=(5, 0, 1)), NOW, version=9).code is ErrorCode.POLICY_VIOLATION
    log.delete_before(-1)
    assert refusal(log.append, good(1, producer=(6, 0, 0)), NOW, version=9).code is ErrorCode.POLICY_VIOLATION
    assert log.append(good(1, producer=(5, 0, 1)), NOW, version=9).base_offset == 1


# Replacing, watching, dropping


def test_batches_can_be_replaced_by_fewer_records():
    log = partition(limit=10**6)
    fill(log, (10, 20, 30), (5,), (40, 50))
    old = log.batches
    kept = [each for each in records_of(old[0].data) if each.offset == 1]
    before = log.size_bytes
    freed = log.replace(0, 2, [build(kept, base_offset=0)])
    assert log.size_bytes == before - freed == sum(len(each.data) for each in log.batches)
    assert log._memory.used == log.size_bytes + 2 * OVERHEAD
    assert [(each.base_offset, each.last_offset) for each in log.batches] == [(0, 1), (4, 5)]
    assert [offsets(log.read(offset, 10_000, at_least_one=True)) for offset in (0, 1, 2, 3, 4, 6)] == [
        [0, 4], [0, 4], [4], [4], [4], [],
    ]  # fmt: skip
    assert by_time(log, 5, 30) == [(1, 20), (4, 40)]
    assert log.bytes_from(2) == len(log.batches[1].data)
    log.replace(1, 2, [])
    assert (log.high_watermark, len(log.batches), log.read(2, 10_000, at_least_one=True)) == (6, 1, b"")
    fill(log, (60,))
    assert by_time(log, 30) == [(6, 60)]
    assert offsets(log.read(2, 10_000, at_least_one=True)) == [6]


def test_a_replaced_batch_is_as_old_as_it_was():
    log = partition(retention_ms=1000)
    log.append(good(2, time=-1), NOW, version=9)
    log.replace(0, 1, [build([Record(1, -1, b"k", b"v")])])
    assert log.keep_to_limits(NOW + 1000) == 0
    assert log.keep_to_limits(NOW + 1001) > 0


def test_those_who_watch_are_told():
    log = partition()
    seen = []
    forget = log.watch(lambda: seen.append((log.log_start_offset, log.high_watermark, log.deleted)))
    log.append(good(3), NOW, version=9)
    log.append_own([(b"k", b"v")], NOW)
    log.delete_before(2)
    log.delete_before(2)
    refusal(log.append, b"", NOW, version=9)
    assert seen == [(0, 3, False), (0, 4, False), (2, 4, False)]
    log.drop()
    assert seen[3:] == [(4, 4, True)]
    forget()
    forget()
    log.drop()
    assert len(seen) == 4


def test_who_watches_may_stop_while_all_are_told():
    log = partition()
    seen = []
    stops = []
    for name in "ab":
        stops.append(log.watch(lambda name=name: (seen.append(name), [stop() for stop in stops])))
    log.append(good(1), NOW, version=9)
    log.append(good(1), NOW, version=9)
    assert seen == ["a", "b"]


def test_a_dropped_partition_is_empty():
    log = partition()
    log.append(good(3, producer=(1, 0, 0)), NOW, version=9)
    log.drop()
    assert (log.deleted, log.size_bytes, log._memory.used) == (True, 0, 0)
    assert log.read(0, 10_000, at_least_one=True) == b""
