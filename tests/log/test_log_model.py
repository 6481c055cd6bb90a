"""A log against a plain list of records, whatever is done to it; and that finding stays cheap in long logs."""

import bisect

from hypothesis import given, settings
from hypothesis import strategies as st

from kcoord.log.memory import LogMemory
from kcoord.log.partition import Found, Partition
from kcoord.log.topic_config import TopicConfig
from tests.records import NOW
from wire import records as wire_records
from wire.records import Compression, Record, build, records_of, split

RETENTION_MS = 50
ages = st.lists(st.integers(-1, 100), min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("append"), ages, st.sampled_from([Compression.NONE, Compression.LZ4])),
    st.tuples(st.just("own"), st.integers(1, 3)),
    st.tuples(st.just("delete"), st.integers(0, 40)),
    st.tuples(st.just("retain"), st.integers(0, 200)),
    st.tuples(st.just("thin"), st.integers(0, 20), st.integers(1, 3), st.integers(1, 4)),
)


class Model:
    """The log, and what it should hold: lists of records, one for each batch, with the offsets that they span."""

    def __init__(self):
        self.memory = LogMemory()
        self.log = Partition("t", 0, TopicConfig(retention_ms=RETENTION_MS), self.memory)
        self.batches = []

    def append(self, times, codec):
        records = [Record(index, time, b"k", bytes(time + 1)) for index, time in enumerate(times)]
        base = self.log.append(build(records, compression=codec), 1000, version=9).base_offset
        self.note([Record(base + each.offset, each.timestamp, each.key, each.value) for each in records], 1000)

    def own(self, count):
        base = self.log.append_own([(b"k", b"v")] * count, 40).base_offset
        self.note([Record(base + index, 40, b"k", b"v") for index in range(count)], 40)

    def note(self, records, now):
        highest = max(each.timestamp for each in records)
        self.batches.append([records[0].offset, records[-1].offset, records, now if highest < 0 else highest])

    def delete(self, offset):
        offset = min(offset, self.log.high_watermark)
        start = max(self.log.log_start_offset, offset)
        assert self.log.delete_before(offset) == start
        self.batches = [each for each in self.batches if each[1] >= start]

    def retain(self, now):
        while self.batches and now - self.batches[0][3] > RETENTION_MS:
            self.batches.pop(0)
        self.log.keep_to_limits(now)

    def thin(self, start, count, every):
        """Keep one record in `every`, as compaction would; a batch without any that can be read goes."""
        old = self.batches[start : start + count]
        if not old:
            return
        new = []
        for base, _, records, _ in old:
            kept = [each for each in records if each.offset % every == 0]
            if kept and kept[-1].offset >= self.log.log_start_offset:
                new.append([base, kept[-1].offset, kept, None])
        for each in new:
            highest = max(one.timestamp for one in each[2])
            each[3] = old[-1][3] if highest < 0 else highest
        self.log.replace(start, start + len(old), [build(each[2], base_offset=each[0]) for each in new])
        self.batches[start : start + len(old)] = new

    def check(self):
        log = self.log
        live = [each for one in self.batches for each in one[2] if each.offset >= log.log_start_offset]
        everything = split(log.read(log.log_start_offset, 10**6, at_least_one=True))
        assert [list(records_of(one)) for one in everything] == [each[2] for each in self.batches]
        assert sum(map(len, everything)) == log.size_bytes
        assert self.memory.used == log.size_bytes + len(everything) * LogMemory.BATCH_OVERHEAD
        lasts = [each[1] for each in self.batches]
        for offset in range(log.log_start_offset, log.high_watermark + 1):
            first = bisect.bisect_left(lasts, offset)
            assert log.bytes_from(offset) == sum(map(len, everything[first:]))
            for most in (0, 150, 400):
                found = split(log.read(offset, most, at_least_one=False))
                assert found == everything[first : first + len(found)]
                assert sum(map(len, found)) <= most
                if first + len(found) < len(everything):
                    assert sum(map(len, everything[first : first + len(found) + 1])) > most
                assert split(log.read(offset, most, at_least_one=True)) == (found or everything[first : first + 1])
        for time in range(0, 102, 3):
            later = next((each for each in live if each.timestamp >= time), None)
            assert log.find_time(time) == (later and Found(later.offset, later.timestamp))
        highest = max((each.timestamp for each in live), default=-1)
        if highest >= 0:
            latest = next(each for each in live if each.timestamp == highest)
            assert log.latest_time() == Found(latest.offset, highest)


@settings(max_examples=200, deadline=None)
@given(st.lists(steps, max_size=12))
def test_a_log_is_a_list_of_records(drawn):
    model = Model()
    for name, *args in drawn:
        getattr(model, name)(*args)
        model.check()


def test_what_is_replaced_where_the_log_begins_inside_of_it():
    model = Model()
    model.append([90, 30, 20, 10], Compression.NONE)
    model.append([25], Compression.NONE)
    model.delete(1)
    model.thin(0, 1, 2)
    assert model.log.find_time(60) is None
    assert model.log.latest_time() == Found(4, 25)
    model.check()


def test_finding_in_a_long_log_looks_at_few_batches(monkeypatch):
    log = Partition("t", 0, TopicConfig(), LogMemory())
    sample = build([Record(0, NOW, b"k", b"v")])
    for _ in range(20_000):
        log.append(sample, NOW, version=9)
    read = []
    real = wire_records.codecs.decompress
    monkeypatch.setattr(wire_records.codecs, "decompress", lambda *args: read.append(args) or real(*args))
    log.append(build([Record(0, NOW + 5, b"k", b"v")]), NOW, version=9)
    read.clear()
    assert log.find_time(NOW + 1) == Found(20_000, NOW + 5)
    assert log.latest_time() == Found(20_000, NOW + 5)
    log.delete_before(15_000)
    assert log.find_time(NOW + 1) == Found(20_000, NOW + 5)
    assert len(read) == 3
