"""Looking into batches piece by piece: what is handed out, and what may happen to the log meanwhile."""

import threading

import pytest

from kcoord.log.compaction import LARGE, Compaction
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Found, Partition
from kcoord.log.topic_config import TopicConfig
from kcoord.log.work import MANY, Work, on_the_spot
from tests.records import NOW
from wire import records as wire_records
from wire.records import Compression, Record, build, records_of, split

COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}))


def log_of(*batches, config=None):
    log = Partition("t", 0, config or TopicConfig(), LogMemory())
    for batch in batches:
        log.append(batch, NOW, version=9)
    return log


def times(*differences, compression=Compression.NONE):
    return build(
        [Record(index, NOW + each, b"k", b"v") for index, each in enumerate(differences)], compression=compression
    )


def pieces(steps):
    """Do everything in another thread; return how many pieces there were, and what came of all."""
    count = 0
    while True:
        try:
            work = next(steps)
        except StopIteration as end:
            return count, end.value
        if work is not None:
            count += 1
            thread = threading.Thread(target=work.do)
            thread.start()
            thread.join()


def test_work_is_done_once():
    done = []
    work = Work(lambda: done.append(1) or "found")
    work.do()
    work.do()
    assert (work.result(), work.result(), done) == ("found", "found", [1])
    assert Work(lambda: 5).result() == 5


def test_work_that_fails_is_told():
    work = Work(lambda: 1 // 0)
    for ask in (work.do, work.result):
        with pytest.raises(ZeroDivisionError):
            ask()


@pytest.mark.parametrize(
    ("batch", "count"),
    [
        (times(*range(MANY)), 1),
        (times(0, 1, compression=Compression.ZSTD), 1),
        (times(*range(MANY - 1)), 0),
    ],
)
def test_only_what_may_take_long_is_handed_out(batch, count):
    log = log_of(times(0), batch)
    assert pieces(log.finding_time(NOW + 1)) == (count, Found(2, NOW + 1))
    highest = max(each.timestamp for each in records_of(batch))
    found = pieces(log.finding_latest_time())
    assert found == (count, Found(log.high_watermark - 1, highest))
    assert log.delete_before(2) == 2
    # Where the log begins inside of a batch, that is looked into first.
    assert pieces(log.finding_time(NOW + 1)) == (2 * count, Found(2, NOW + 1))
    assert pieces(log.finding_time(NOW + 1)) == (count, Found(2, NOW + 1))


def test_no_batch_is_unpacked_to_let_the_log_begin_inside_of_it(monkeypatch):
    log = log_of(times(9, 5, 7, compression=Compression.GZIP))
    monkeypatch.setattr(wire_records.codecs, "decompress", None)
    assert log.delete_before(1) == 1
    monkeypatch.undo()
    assert log.latest_time() == Found(2, NOW + 7)


def in_between(steps, happens):
    """Let something happen while the first piece is in work, once it is done."""
    work = next(steps)
    work.do()
    happens()
    return on_the_spot(steps)


PACKED = times(9, 5, 7, compression=Compression.GZIP)


def test_the_start_moves_while_the_first_batch_is_looked_into():
    log = log_of(PACKED, times(6))
    log.delete_before(1)
    assert in_between(log.finding_latest_time(), lambda: log.delete_before(3)) == Found(3, NOW + 6)
    log = log_of(PACKED, times(6))
    log.delete_before(1)
    assert in_between(log.finding_time(NOW), lambda: log.delete_before(2)) == Found(2, NOW + 7)
    assert log.latest_time() == Found(2, NOW + 7)


def test_the_first_batch_is_replaced_while_it_is_looked_into():
    log = log_of(PACKED, times(6))
    log.delete_before(1)
    left = build([Record(2, NOW + 7, b"k", b"v")], base_offset=0)
    assert in_between(log.finding_latest_time(), lambda: log.replace(0, 1, [left])) == Found(2, NOW + 7)


def test_everything_goes_while_it_is_looked_into():
    for how in (lambda log: log.drop(), lambda log: log.delete_before(-1)):
        log = log_of(PACKED, times(6))
        log.delete_before(1)
        assert in_between(log.finding_latest_time(), lambda log=log, how=how: how(log)) is None
    log = log_of(PACKED)
    assert in_between(log.finding_time(NOW), log.drop) == Found(0, NOW + 9)


def keyed(*keys, compression=Compression.NONE, size=1):
    rows = [Record(index, NOW, key, b"v" * size) for index, key in enumerate(keys)]
    return build(rows, compression=compression)


@pytest.mark.parametrize(
    ("compression", "size", "count"),
    [(Compression.ZSTD, 1, 4), (Compression.NONE, LARGE, 1), (Compression.NONE, 1, 0)],
)
def test_compaction_hands_out_what_may_take_long(compression, size, count):
    """Two batches are read, then the first is read again and written without what came again."""
    config = TopicConfig(cleanup_policy=frozenset({"compact"}), max_message_bytes=10**7)
    first = keyed(b"a", b"b", compression=compression, size=size)
    log = log_of(first, keyed(b"b", b"c", compression=compression), keyed(b"z"), config=config)
    made = sum(1 for work in Compaction(log).run(NOW) if work is not None)
    left = [record.key for batch in split(log.read(0, 10**7, at_least_one=True)) for record in records_of(batch)]
    assert left == [b"a", b"b", b"c", b"z"]
    assert made == count
