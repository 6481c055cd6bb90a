"""Record batches: headers, records, and two other libraries as judges."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records import INT32_MAX, NOW, batch, good, header, put, record
from tests.wire.foreign_records import AioBatch, AioBuilder, KafkaBuilder, KafkaRecords
from wire.errors import CorruptRecords, TooManyRecords, Unsendable
from wire.primitives import write_varint
from wire.records import (
    BatchHeader,
    Compression,
    Record,
    at_append_time,
    at_offset,
    build,
    check_crc,
    read_header,
    records_of,
    size_of,
    split,
    with_time,
)
from wire.scanning import INT64_MAX, INT64_MIN, find, highest_time, scan, wrapped

times = st.integers(-1, NOW * 2)
texts = st.none() | st.binary(max_size=100)
headers = st.lists(st.tuples(st.text(max_size=5), texts), max_size=3).map(tuple)
contents = st.lists(st.tuples(times, texts, texts, headers), min_size=1, max_size=20)
codecs = st.sampled_from(Compression)
rows = st.lists(st.tuples(texts, texts), max_size=200)


def placed(drawn, base=0):
    return [Record(base + delta, *each) for delta, each in enumerate(drawn)]


SAMPLE = placed(
    [(NOW, b"k", b"v", ()), (NOW + 5, None, None, (("h", b"1"), ("h", None))), (NOW - 7, b"", b"x" * 9000, ())]
)


def test_a_batch_byte_by_byte():
    data = build(SAMPLE[:1], base_offset=0, producer_id=7, producer_epoch=3, base_sequence=9, leader_epoch=4)
    assert data == batch(1, record(), producer=(7, 3, 9), epoch=4)
    assert read_header(b"lead" + data, 4) == BatchHeader(
        0, len(data), 4, 2, struct.unpack_from(">I", data, 17)[0], 0, 0, NOW, NOW, 7, 3, 9, 1
    )


def test_what_attributes_mean():
    plain = read_header(good())
    assert (plain.is_log_append_time, plain.is_transactional, plain.is_control) == (False, False, False)
    assert plain.compression is Compression.NONE
    marked = read_header(good(attributes=0x38))
    assert (marked.is_log_append_time, marked.is_transactional, marked.is_control) == (True, True, True)
    assert read_header(good(attributes=0xFC)).compression is Compression.ZSTD
    assert read_header(good(5, base_offset=100)).last_offset == 104
    with pytest.raises(CorruptRecords):
        _ = read_header(good(attributes=5)).compression


@pytest.mark.parametrize(
    "data",
    [b"", good()[:60], good()[:-1], put(good(), "b", 16, 1), put(good(), "b", 16, 3)]
    + [put(good(), "i", 8, length) for length in (-(2**31), -1, 0, 48, len(good()) - 11, INT32_MAX)],
)
def test_what_is_no_batch(data):
    for read in (read_header, split, lambda data: list(records_of(data))):
        if read is split and not data:
            assert split(data) == []
            continue
        with pytest.raises(CorruptRecords):
            read(data)


def test_batches_are_cut_apart():
    assert split(good(1) + good(2) + good(3)) == [good(1), good(2), good(3)]


def test_checksums():
    assert check_crc(good())
    assert not check_crc(put(good(), "I", 17, 1, crc=False))
    assert not check_crc(good()[:-1] + b"\1")


def test_a_place_is_outside_the_checksum():
    data = at_offset(good(), 2**40, 6)
    assert check_crc(data)
    assert (read_header(data).base_offset, read_header(data).leader_epoch) == (2**40, 6)
    assert (data[8:12], data[16:]) == (good()[8:12], good()[16:])


def test_times_are_given():
    data = at_append_time(good(attributes=0x780), NOW + 9)
    assert check_crc(data)
    assert [each.timestamp for each in records_of(data)] == [NOW + 9] * 3
    assert read_header(data).attributes == 8
    back = with_time(data, NOW, log_append_time=False)
    assert back == good()


@given(contents, codecs, st.integers(0, 2**60), st.booleans())
def test_there_and_back(drawn, codec, base, append_time):
    records = placed(drawn, base)
    data = build(records, base_offset=base, compression=codec, log_append_time=append_time)
    assert check_crc(data)
    highest = max(each.timestamp for each in records)
    assert read_header(data).max_timestamp == highest
    found = list(records_of(data))
    if append_time:
        assert {each.timestamp for each in found} == {highest}
        found = [Record(f.offset, r.timestamp, f.key, f.value, f.headers) for f, r in zip(found, records, strict=True)]
    assert found == records


def test_offsets_may_have_gaps():
    records = [Record(offset, NOW, None, None) for offset in (10, 12, 9000)]
    data = build(records, base_offset=7)
    assert list(records_of(data)) == records
    assert (read_header(data).base_offset, read_header(data).last_offset) == (7, 9000)


def test_an_empty_batch():
    data = build([], base_offset=7)
    assert list(records_of(data)) == []
    assert (read_header(data).record_count, read_header(data).last_offset, read_header(data).max_timestamp) == (
        0,
        6,
        -1,
    )


def test_header_names_need_not_be_utf_8():
    data = batch(1, record(headers=header(b"\xff\xfe", b"x")))
    found = list(records_of(data))
    assert found[0].headers == (("\udcff\udcfe", b"x"),)
    assert build(found) == data


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_offset": 2**63},
        {"producer_id": 2**63},
        {"producer_epoch": 2**15},
        {"base_sequence": 2**31},
        {"leader_epoch": 2**31},
        {"base_offset": -(2**31) - 1},
    ],
)
def test_what_cannot_be_written(wrong):
    with pytest.raises(Unsendable):
        build(SAMPLE, **wrong)


@pytest.mark.parametrize(
    ("count", "records"),
    [
        (3, record(0) + record(1)),
        (1, record(0) + record(1)),
        (1, record() + b"\0"),
        (1, record(size=7)),
        (1, record(size=9) + b"\0"),
        (1, record(size=100)),
        (1, record(size=0)),
        (1, record(size=-1)),
        (1, record(key_size=50)),
        (1, record(headers=write_varint(-1))),
        (1, record(headers=write_varint(9))),
        (1, record(headers=write_varint(1) + write_varint(-1) + b"\0")),
        (1, b"\xff\xff\xff\xff\xff\x01"),
        (1, write_varint(17) + b"\0" + b"\xff" * 10 + b"\1\0\x02k\x02v\0"),
    ],
)
def test_malformed_records(count, records):
    with pytest.raises(CorruptRecords):
        list(records_of(batch(count, records)))


def test_what_comes_before_a_fault_is_read():
    reading = records_of(batch(3, record(0) + record(1) + b"\xff"))
    assert [next(reading).offset, next(reading).offset] == [0, 1]
    with pytest.raises(CorruptRecords):
        next(reading)


@given(st.binary(max_size=150), st.integers(-1, 4), codecs)
def test_whatever_the_bytes_nothing_else_is_raised(data, count, codec):
    for one in (data, batch(count, data, attributes=codec)):
        with contextlib.suppress(CorruptRecords):
            list(records_of(one))


@given(st.binary(max_size=60), st.integers(0, 4))
def test_scanning_and_reading_agree_on_what_is_a_record(data, count):
    try:
        found = list(records_of(batch(count, data)))
    except CorruptRecords:
        with pytest.raises(CorruptRecords):
            scan(data, count, NOW)
    else:
        assert scan(data, count, NOW).max_timestamp == max([-1, *(each.timestamp for each in found)])


def test_scanning_goes_over_long_headers_and_finds_late_offsets():
    long = header(b"n" * 9000, b"v" * 9000)
    assert scan(record(headers=long) + record(1), 2, NOW).max_timestamp == NOW
    for wrong in (long[:-1], long + b"x"):
        with pytest.raises(CorruptRecords):
            scan(record(headers=wrong), 1, NOW)
    late = record(0) + record(100, 1) + record(9000, 300) + record(10_000, 2**40)
    for delta, time in ((100, 1), (9000, 300), (10_000, 2**40)):
        assert find(late, 4, NOW, NOW + time, 0) == find(late, 4, NOW, NOW, delta) == (delta, NOW + time)


def test_scanning_counts_headers_of_all_records():
    pair = record(headers=header(b"a", b"b")) + record(1, headers=header(b"a", None))
    assert scan(pair, 2, NOW, most_headers=2).max_timestamp == NOW
    with pytest.raises(TooManyRecords, match="more than 1 headers"):
        scan(pair, 2, NOW, most_headers=1)


@given(contents, codecs, times, st.integers(0, 20))
def test_times_are_found_as_if_all_records_were_read(drawn, codec, time, start):
    records = placed(drawn)
    body = build(records)[61:]
    base = records[0].timestamp
    later = [(each.offset, each.timestamp) for each in records if each.timestamp >= time and each.offset >= start]
    assert find(body, len(records), base, time, start) == (later[0] if later else None)
    left = [each.timestamp for each in records if each.offset >= start]
    assert highest_time(body, len(records), base, start) == max([-1, *left])


def test_sums_of_times_are_64_bits_wide():
    assert (wrapped(INT64_MAX + 1), wrapped(INT64_MIN - 1), wrapped(5)) == (INT64_MIN, INT64_MAX, 5)
    assert [each.timestamp for each in records_of(batch(1, record(time=INT64_MAX)))] == [wrapped(NOW + INT64_MAX)]


# Other libraries


@pytest.mark.parametrize("codec", Compression)
def test_kafka_python_writes_the_same_and_reads_ours(codec):
    theirs = KafkaBuilder(
        magic=2, compression_type=int(codec), is_transactional=False, producer_id=7, producer_epoch=1,
        base_sequence=5, batch_size=100_000,
    )  # fmt: skip
    for each in SAMPLE:
        theirs.append(each.offset, each.timestamp, each.key, each.value, list(each.headers))
    data = bytes(theirs.build())
    assert list(records_of(data)) == SAMPLE
    ours = build(SAMPLE, compression=codec, producer_id=7, producer_epoch=1, base_sequence=5)
    if codec is Compression.NONE:
        assert ours == put(data, "i", 12, -1)
    reading = KafkaRecords(ours)
    one = reading.next_batch()
    assert one.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in one] == [
        (r.offset, r.timestamp, r.key, r.value, r.headers) for r in SAMPLE
    ]
    assert not reading.has_next()


@pytest.mark.parametrize("codec", Compression)
def test_aiokafka_writes_the_same_and_reads_ours(codec):
    theirs = AioBuilder(2, int(codec), 0, 7, 1, 5, 100_000)
    for each in SAMPLE:
        theirs.append(each.offset, each.timestamp, each.key, each.value, list(each.headers))
    data = bytes(theirs.build())
    assert list(records_of(data)) == SAMPLE
    ours = build(SAMPLE, compression=codec, producer_id=7, producer_epoch=1, base_sequence=5)
    if codec is Compression.NONE:
        assert ours == put(data, "i", 12, -1)
    one = AioBatch(bytearray(ours))
    assert one.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in one] == [
        (r.offset, r.timestamp, r.key, r.value, r.headers) for r in SAMPLE
    ]


@given(rows)
def test_the_size_of_a_batch_is_known_without_it(rows):
    records = [Record(place, NOW, key, value) for place, (key, value) in enumerate(rows)]
    assert size_of(rows) == len(build(records))


def test_the_size_of_a_large_batch_is_known_without_it():
    rows = [(b"k" * 70, b"v" * 9000), (None, b"x" * 3_000_000), (b"", None)]
    assert size_of(rows) == len(build([Record(place, NOW, *row) for place, row in enumerate(rows)]))
