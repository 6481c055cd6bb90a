"""Batches by their keys, against the plain way of reading and writing them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.keyed import entries, keyed_batch, with_fewer
from wire.primitives import write_varint, write_varlong
from wire.records import Compression, Record, build, check_crc, read_header, records_of, unpack

small = st.one_of(st.none(), st.binary(max_size=40))
large = st.one_of(st.none(), st.binary(max_size=300), st.sampled_from([b"x" * 63, b"x" * 64, b"y" * 8191, b"y" * 8192]))


@given(
    rows=st.lists(st.tuples(small, large), min_size=1, max_size=70),
    timestamp=st.integers(-1, 2**62),
    base_offset=st.integers(0, 2**62),
    leader_epoch=st.integers(-1, 2**31 - 1),
    base_sequence=st.integers(-1, 2**31 - 1),
    log_append_time=st.booleans(),
)
def test_a_batch_of_rows_is_the_batch_that_is_built_of_records(rows, timestamp, **where):
    records = [Record(where["base_offset"] + index, timestamp, *row) for index, row in enumerate(rows)]
    assert keyed_batch(rows, timestamp, **where) == build(records, **where)


@given(
    rows=st.dictionaries(st.integers(0, 20_000), st.tuples(small, large), min_size=1, max_size=20),
    after=st.integers(0, 20_000),
)
def test_a_batch_of_which_rows_were_left_out(rows, after):
    deltas = sorted(rows)
    last = deltas[-1] + after
    found = keyed_batch(
        [rows[delta] for delta in deltas], 7, base_offset=100, leader_epoch=3, deltas=deltas, last_delta=last
    )
    assert check_crc(found)
    assert list(records_of(found)) == [Record(100 + delta, 7, *rows[delta]) for delta in deltas]
    header = read_header(found)
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 100 + last, len(rows))


headers = st.lists(st.tuples(st.text(max_size=5), small), max_size=2).map(tuple)


@st.composite
def batches(draw):
    count = draw(st.integers(1, 20))
    gaps = draw(st.lists(st.sampled_from([1, 1, 1, 70, 20_000]), min_size=count, max_size=count))
    base = draw(st.integers(0, 2**40))
    first = draw(st.integers(0, 2**60))
    offset, records = base - 1, []
    for gap in gaps:
        offset += gap
        time = first + draw(st.integers(-200, 200) | st.integers(-(2**40), 2**40))
        records.append(Record(offset, time, draw(small), draw(large), draw(headers)))
    return build(
        records,
        base_offset=base,
        compression=draw(st.sampled_from(Compression)),
        producer_id=draw(st.integers(-1, 5)),
        base_sequence=draw(st.integers(-1, 5)),
        log_append_time=draw(st.booleans()),
    )


@given(batches())
def test_entries_are_the_records(batch):
    header = read_header(batch)
    records = unpack(batch, header)
    found = list(entries(records, header.record_count))
    expected = list(records_of(batch))
    assert [(header.base_offset + delta, key) for _, _, _, delta, key, _ in found] == [
        (each.offset, each.key) for each in expected
    ]
    assert [tombstone for *_, tombstone in found] == [each.value is None for each in expected]
    if not header.is_log_append_time:
        assert [header.base_timestamp + entry[2] for entry in found] == [each.timestamp for each in expected]
    assert [entry[0] for entry in found] == [0, *(entry[1] for entry in found[:-1])]
    assert found[-1][1] == len(records)


@given(batches(), st.data())
def test_fewer_records_are_those_that_were_chosen(batch, data):
    header = read_header(batch)
    records = unpack(batch, header)
    found = list(entries(records, header.record_count))
    chosen = sorted(data.draw(st.sets(st.integers(0, len(found) - 1), min_size=1)))
    changed = with_fewer(batch, header, records, [found[index] for index in chosen])
    left = list(records_of(changed))
    before = list(records_of(batch))
    assert left == [before[index] for index in chosen]
    assert check_crc(changed)
    after = read_header(changed)
    assert after.record_count == len(chosen)
    if header.is_log_append_time:
        assert after.max_timestamp == header.max_timestamp
    else:
        assert after.max_timestamp == max(-1, *(each.timestamp for each in left))
    for same in (
        "base_offset", "last_offset", "leader_epoch", "attributes", "base_timestamp", "producer_id", "producer_epoch",
        "base_sequence",
    ):  # fmt: skip
        assert getattr(after, same) == getattr(header, same)


def varints(*numbers):
    return b"".join(write_varint(number) for number in numbers)


@pytest.mark.parametrize("null", [b"\x01", b"\x05", b"\x81\x00", write_varint(-2000)])
def test_any_negative_length_is_a_null(null):
    """As for those who read records; and numbers may be written longer than needed."""
    inner = b"\0" + write_varlong(2**40) + varints(-3) + null + null + varints(0)
    value = b"\0\0\0" + null + b"\x82\x00v" + varints(0)
    records = varints(len(inner)) + inner + varints(len(value)) + value
    assert [entry[2:] for entry in entries(records, 2)] == [(2**40, -3, None, True), (0, 0, None, False)]
