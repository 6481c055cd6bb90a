"""What is refused, with which code: as Apache Kafka 4.4 was seen to do, but for what the last tests show."""

import gzip
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.log.topic_config import TopicConfig
from kcoord.log.validation import (
    BRIEF_BYTES,
    BRIEF_HEADERS,
    BRIEF_RECORDS,
    BRIEF_UNPACKED,
    MOST_RECORDS,
    Refused,
    TakesLong,
    check_batch,
    is_transactional,
    only_batch,
)
from tests.records import HOUR, INT32_MAX, NOW, batch, good, header, put, record
from wire import compression
from wire.errors import ErrorCode
from wire.primitives import write_varint
from wire.records import Compression, check_crc, read_header, records_of
from wire.scanning import MOST_FAULTS, MOST_HEADERS

OK = ErrorCode.NONE
FAILED = ErrorCode.UNKNOWN_SERVER_ERROR
CORRUPT = ErrorCode.CORRUPT_MESSAGE
INVALID = ErrorCode.INVALID_RECORD
TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE
UNSUPPORTED = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
BAD_TIME = ErrorCode.INVALID_TIMESTAMP
OPEN = TopicConfig()
COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}))
APPEND_TIME = TopicConfig(message_timestamp_type="LogAppendTime")
GOOD = good()
PAIR = record(0) + record(1)
OLD_MESSAGE = bytes.fromhex(
    "0000000000000000 0000001e 3c5c1ec2 01 00 0000018bcfe56800 00000001 6b 00000001 76".replace(" ", "")
)


def check(records, config=OPEN, version=9):
    return check_batch(only_batch(records, version), config, "t-0", NOW)


def outcome(records, config=OPEN, version=9):
    try:
        check(records, config, version)
    except Refused as refused:
        return refused.code
    return OK


@pytest.mark.parametrize("version", [3, 5, 7, 9, 13])
def test_a_good_batch_is_kept_as_it_is(version):
    checked = check(GOOD, version=version)
    assert checked.batch is GOOD
    assert checked.header == read_header(GOOD)
    assert checked.log_append_time_ms == -1


@pytest.mark.parametrize(
    ("records", "code"),
    [(None, INVALID), (b"", INVALID)]
    + [(GOOD[:size], INVALID) for size in (1, 11, 12, 16, 17, 20, 60, 61, len(GOOD) - 1)]
    + [(put(GOOD, "b", 16, magic), code) for magic, code in ((-1, CORRUPT), (0, INVALID), (1, INVALID), (3, CORRUPT))]
    + [(OLD_MESSAGE, INVALID)]
    + [(put(GOOD, "i", 8, length), CORRUPT) for length in (-(2**31), -12, -1, 0, 5, 13, 14, 30, 48, 49, len(GOOD) - 13)]
    + [(put(GOOD, "i", 8, length), INVALID) for length in (len(GOOD) - 11, INT32_MAX - 12)]
    + [(put(GOOD, "i", 8, length), FAILED) for length in (INT32_MAX - 11, INT32_MAX)]
    + [(GOOD + bytes(count), OK) for count in (1, 11)]
    + [(GOOD + bytes(count), CORRUPT) for count in (12, 16, 17, 61)]
    + [(GOOD + GOOD[:17], OK), (GOOD + GOOD[:61], OK)]
    + [(GOOD + GOOD, INVALID), (GOOD + put(GOOD, "b", 16, 3), CORRUPT), (GOOD + put(GOOD, "b", 16, 0), INVALID)]
    + [(GOOD + put(GOOD, "i", 8, INT32_MAX), FAILED)],
)  # fmt: skip
def test_there_must_be_exactly_one_whole_batch(records, code):
    assert outcome(records) is code


def test_what_follows_torn_is_not_kept():
    assert check(GOOD + GOOD[:61]).batch == GOOD


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (put(GOOD, "I", 17, 1, crc=False), CORRUPT),
        (put(GOOD, "q", 0, 5), INVALID),
        (put(GOOD, "q", 0, -1), INVALID),
        (put(put(GOOD, "q", 0, 5), "I", 17, 1, crc=False), INVALID),
        (put(GOOD, "i", 12, 77), OK),
        (put(GOOD, "h", 21, 0x20), INVALID),
        (put(GOOD, "h", 21, 0x10), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (put(GOOD, "h", 21, 0x40), OK),
        (put(GOOD, "h", 21, 0x0780), OK),
        (put(GOOD, "h", 21, -32768), OK),
        (good(producer=(5, 0, -1)), INVALID),
        (good(producer=(5, 0, -5)), INVALID),
        (good(producer=(-2, 0, -5)), OK),
    ]
    + [(put(GOOD, "h", 21, codec), FAILED) for codec in (5, 6, 7)]
    + [(put(put(GOOD, "h", 21, 5), "I", 17, 1, crc=False), CORRUPT)]
    + [(put(put(GOOD, "h", 21, 5), "i", 57, 9), FAILED)],
)
def test_the_header(records, code):
    assert outcome(records) is code


@pytest.mark.parametrize(
    ("count", "last", "records"),
    [
        (4, 2, 3), (4, 3, 3), (2, 1, 3), (0, 2, 3), (-1, 2, 3), (0, -1, 3), (0, 0, 0), (1, 0, 0), (0, -1, 0),
        (3, 1, 3), (3, 3, 3), (3, -1, 3), (3, INT32_MAX, 3), (3, -(2**31), 3), (-(2**31), INT32_MAX, 3),
    ],
)  # fmt: skip
def test_counts_must_agree(count, last, records):
    assert outcome(batch(count, b"".join(map(record, range(records))), last=last)) is INVALID


def test_the_size_is_that_of_the_whole_batch_as_it_is_sent():
    small = TopicConfig(max_message_bytes=len(GOOD))
    assert outcome(GOOD, small) is OK
    assert outcome(GOOD + bytes(11), small) is OK
    smaller = TopicConfig(max_message_bytes=len(GOOD) - 1)
    assert outcome(GOOD, smaller) is TOO_LARGE
    assert outcome(put(GOOD, "I", 17, 1, crc=False), smaller) is TOO_LARGE
    assert outcome(put(GOOD, "h", 21, 0x20), smaller) is TOO_LARGE
    assert outcome(put(GOOD, "q", 0, 5), smaller) is INVALID
    packed = batch(1, gzip.compress(record(value=bytes(10_000))), attributes=1)
    assert outcome(packed, TopicConfig(max_message_bytes=len(packed))) is OK


@pytest.mark.parametrize(("version", "code"), [(3, UNSUPPORTED), (6, UNSUPPORTED), (7, OK)])
def test_zstd_since_version_7(version, code):
    packed = batch(2, compression.compress(Compression.ZSTD, PAIR), attributes=4)
    assert outcome(packed, version=version) is code
    if code is not OK:
        assert outcome(packed + packed, version=version) is code
        assert outcome(put(packed, "I", 17, 1, crc=False), version=version) is code


def test_an_unknown_codec_is_found_early_in_old_versions():
    assert outcome(put(GOOD, "h", 21, 5) * 2, version=6) is FAILED
    assert outcome(put(GOOD, "h", 21, 5) * 2, version=7) is INVALID


LONG = b"\xff\xff\xff\xff\xff\x01"
RECORDS = {
    "good": (2, PAIR, OK),
    "too few": (3, PAIR, INVALID),
    "too many": (1, PAIR, INVALID),
    "a byte after them": (1, record() + b"\0", INVALID),
    "longer than they say": (1, record(size=7), INVALID),
    "shorter than they say": (2, record(size=9) + record(1), INVALID),
    "negative": (1, record(size=-1), INVALID),
    "empty": (1, record(size=0), INVALID),
    "huge": (1, record(size=INT32_MAX), INVALID),
    "beyond the batch": (1, record(size=100), INVALID),
    "attributes": (1, record(attributes=b"\xff"), OK),
    "overlong length": (1, b"\x90\x80\x80\x80\x00" + record()[1:], OK),
    "excess bits of a length": (1, b"\x90\x80\x80\x80\x70" + record()[1:], OK),
    "long key and value": (1, record(key=b"k" * 70, value=b"v" * 9000), OK),
    "longer ones": (1, record(key=b"k" * 9000, value=b"v" * 1_200_000), OK),
    "no key, no value": (1, record(key=None, value=None), OK),
    "key of -2": (1, record(key=b"", key_size=-2), OK),
    "value of -2": (1, record(value=b"", value_size=-2), OK),
    "key beyond the record": (1, record(key_size=10), INVALID),
    "key of 2 GiB": (1, record(key_size=INT32_MAX), INVALID),
    "value beyond the record": (1, record(value_size=50), INVALID),
    "value beyond, in the next": (2, record(value_size=4) + record(1, value=b"x" * 20), INVALID),
    "value of 2 GiB": (1, record(value_size=INT32_MAX), INVALID),
    "a header": (1, record(headers=header(b"a", b"b")), OK),
    "a header without value": (1, record(headers=header(b"a", None)), OK),
    "a header without name": (1, record(headers=header(None, b"b")), INVALID),
    "a header that is no UTF-8": (1, record(headers=header(b"\xff", b"b")), OK),
    "a header's value of -2": (1, record(headers=write_varint(1) + b"\x02a" + write_varint(-2)), OK),
    "a header's name beyond": (1, record(headers=write_varint(1) + write_varint(10) + b"a"), INVALID),
    "a header's value beyond": (1, record(headers=write_varint(1) + b"\x02a" + write_varint(100)), INVALID),
    "a header's value in the next": (2, record(headers=b"\x02\x02a\x0c") + record(1, value=b"x" * 9), INVALID),
    "bytes after headers": (1, record(headers=b"\0abc"), INVALID),
    "-1 headers": (1, record(headers=write_varint(-1)), INVALID),
    "a header that is not there": (1, record(headers=write_varint(1)), INVALID),
    "2 billion headers": (1, record(headers=write_varint(INT32_MAX)), INVALID),
    "more headers than bytes": (1, record(headers=write_varint(3) + b"\0\1"), INVALID),
    "many headers": (1, record(headers=write_varint(500) + (b"\x02a\x01") * 500), OK),
    "time of 11 bytes": (1, write_varint(17) + b"\0" + b"\xff" * 10 + b"\1\0\x02k\x02v\0", INVALID),
    "time of 10 bytes": (1, write_varint(17) + b"\0" + b"\x80" * 9 + b"\0\0\x02k\x02v\0", OK),
    "offset of 6 bytes": (1, write_varint(13) + b"\0\0" + LONG + b"\x02k\x02v\0", INVALID),
    "key length of 6 bytes": (1, write_varint(12) + b"\0\0\0" + LONG + b"k\x02v\0", INVALID),
    "value length of 6 bytes": (1, write_varint(12) + b"\0\0\0\x02k" + LONG + b"v\0", INVALID),
}  # fmt: skip


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("name", RECORDS)
def test_records(codec, name):
    count, records, code = RECORDS[name]
    config = TopicConfig(max_message_bytes=2_000_000)
    sent = batch(count, compression.compress(codec, records), attributes=codec)
    assert outcome(sent, config) is code
    if code is OK:
        assert len(list(records_of(check(sent, config).batch))) == count


def test_every_truncation_of_records_is_invalid():
    records = record(0, time=300, key=b"k" * 70, headers=header(b"name" * 20, b"b" * 70)) + record(9000)
    for size in range(len(records)):
        assert outcome(batch(2, records[:size])) is INVALID


@pytest.mark.parametrize("deltas", [(0, 2, 1), (0, 0, 0), (-1, 0, 1), (5, 6, 7), (0, 1, 9000), (0, 1, 2**30)])
def test_offsets_are_looked_at_in_packed_records_only(deltas):
    records = b"".join(map(record, deltas))
    assert outcome(batch(3, records)) is OK
    assert outcome(batch(3, gzip.compress(records), attributes=1)) is FAILED


def test_many_packed_records_have_their_offsets():
    packed = batch(20_000, gzip.compress(b"".join(map(record, range(20_000)))), attributes=1)
    assert outcome(packed) is OK


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
@pytest.mark.parametrize("garbage", [b"garbage!garbage!garbage!" * 3, bytes(40)])
def test_what_cannot_be_unpacked(codec, garbage):
    assert outcome(batch(1, garbage, attributes=codec)) is FAILED
    assert outcome(batch(2, compression.compress(codec, PAIR)[:-1], attributes=codec)) is FAILED


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_nothing_packed_is_too_few_records(codec):
    assert outcome(batch(1, compression.compress(codec, b""), attributes=codec)) is INVALID


def refusal(records, config=OPEN):
    with pytest.raises(Refused) as caught:
        check(records, config)
    return caught.value


def test_times_out_of_range():
    refused = refusal(batch(3, record(0) + record(1, time=HOUR + 1) + record(2, time=2 * HOUR)))
    assert refused.code is BAD_TIME
    assert refused.message == "One or more records have been rejected due to invalid timestamp"
    within = f"The timestamp should be within [{NOW - (2**63 - 1)}, {NOW + HOUR}]"
    assert refused.record_errors == (
        (1, f"Timestamp {NOW + HOUR + 1} of message with offset 1 is out of range. {within}"),
        (2, f"Timestamp {NOW + 2 * HOUR} of message with offset 2 is out of range. {within}"),
    )


LATE = TopicConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=2000)


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize(
    ("config", "base", "time", "code"),
    [
        (OPEN, NOW, HOUR, OK), (OPEN, NOW, HOUR + 1, BAD_TIME), (OPEN, -1, 0, OK), (OPEN, -2, 0, OK), (OPEN, 0, 0, OK),
        (OPEN, NOW, -NOW - 1, OK), (OPEN, NOW, -NOW - 5, OK), (OPEN, NOW, 2**63 - 1, BAD_TIME),
        (OPEN, 0, -(2**63), BAD_TIME),
        (LATE, NOW, -1000, OK), (LATE, NOW, -1001, BAD_TIME), (LATE, NOW, 2000, OK), (LATE, NOW, 2001, BAD_TIME),
        (LATE, -1, 0, OK), (LATE, -2, 0, BAD_TIME), (LATE, -1, NOW + 1, OK), (LATE, NOW, -NOW - 1, OK),
        (APPEND_TIME, NOW, 2**60, OK), (APPEND_TIME, -5, 0, OK),
    ],
)  # fmt: skip
def test_times(codec, config, base, time, code):
    records = compression.compress(codec, record(0, time=time))
    assert outcome(batch(1, records, time=base, attributes=codec), config) is code


def test_a_malformed_record_outweighs_a_bad_time():
    assert outcome(batch(3, record(0, time=2 * HOUR) + record(1) + record(2, key_size=99))) is INVALID


def test_a_bad_time_outweighs_bad_offsets():
    records = gzip.compress(record(0, time=2 * HOUR) + record(5))
    assert outcome(batch(2, records, attributes=1)) is BAD_TIME


KEYLESS = "Compacted topic cannot accept message without key in topic partition t-0"


def test_compacted_topics_want_keys():
    assert outcome(GOOD, COMPACTED) is OK
    records = (
        record(0, key=None) + record(1) + record(2, key=b"", key_size=-2) + record(3, key=None) + record(4, key=None)
    )
    refused = refusal(batch(5, records), COMPACTED)
    assert refused.code is INVALID
    assert refused.record_errors == tuple((index, KEYLESS) for index in (0, 2, 3, 4))
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{KEYLESS}')" for index in (0, 2, 3))
    assert refused.message == (
        "One or more records have been rejected due to 4 record errors in total, and only showing the first three "
        f"errors at most: [{shown}]"
    )
    both = TopicConfig(cleanup_policy=frozenset({"compact", "delete"}))
    assert outcome(batch(1, gzip.compress(record(key=None)), attributes=1), both) is INVALID


def test_a_missing_key_is_found_before_a_bad_time_but_the_time_decides_the_code():
    records = record(0, time=2 * HOUR) + record(1, key=None, time=2 * HOUR) + record(2, key=None)
    refused = refusal(batch(3, records), COMPACTED)
    assert refused.code is BAD_TIME
    assert [index for index, _ in refused.record_errors] == [0, 1, 2]
    assert [sentence == KEYLESS for _, sentence in refused.record_errors] == [False, True, True]


def test_not_every_record_at_fault_is_named():
    count = MOST_FAULTS + 5
    keyless = b"".join(record(delta, key=None) for delta in range(count))
    refused = refusal(batch(count, keyless), COMPACTED)
    assert len(refused.record_errors) == MOST_FAULTS
    assert f"due to {count} record errors" in refused.message
    keyed = b"".join(map(record, range(count)))
    for bad in (
        batch(count, keyless, time=NOW + 2 * HOUR),
        batch(count, keyed, time=NOW + 2 * HOUR),
        batch(count, keyless, attributes=8, highest=-1),
    ):
        refused = refusal(bad)
        assert refused.code is BAD_TIME
        assert len(refused.record_errors) == MOST_FAULTS


@pytest.mark.parametrize(
    ("highest", "times", "kept"),
    [(NOW, (0, 5), NOW + 5), (NOW + 10 * HOUR, (0, 5), NOW + 5), (-1, (5, 0), NOW + 5), (NOW + 7, (-9, -4), NOW - 4)],
)
@pytest.mark.parametrize("codec", [0, 1])
def test_the_highest_time_is_put_right(codec, highest, times, kept):
    records = b"".join(record(delta, time=time) for delta, time in enumerate(times))
    sent = batch(2, compression.compress(codec, records), highest=highest, attributes=0x7C0 & ~0x20 | codec)
    checked = check(sent)
    assert checked.header == read_header(checked.batch)
    assert check_crc(checked.batch)
    assert (checked.header.max_timestamp, checked.header.base_timestamp) == (kept, NOW)
    # The unused bits go when the header is written anew; the one for delete horizons has a use.
    assert checked.header.attributes == 0x40 | codec
    assert checked.batch[61:] == sent[61:]


def test_unused_bits_stay_if_nothing_is_put_right():
    sent = good(attributes=0x7C0 & ~0x20)
    assert check(sent).batch is sent


def test_times_below_none_are_none():
    assert check(good(2, time=-7)).header.max_timestamp == -1


@pytest.mark.parametrize("codec", [0, 1])
def test_log_append_time(codec):
    sent = batch(2, compression.compress(codec, PAIR), time=NOW - 5, highest=NOW + 99, attributes=codec)
    checked = check(sent, APPEND_TIME)
    assert checked.log_append_time_ms == NOW
    assert checked.header.is_log_append_time
    assert (checked.header.base_timestamp, checked.header.max_timestamp) == (NOW - 5, NOW)
    assert check_crc(checked.batch)
    assert [each.timestamp for each in records_of(checked.batch)] == [NOW, NOW]


def test_a_producer_may_not_set_log_append_time():
    records = record(0, key=None, value=None) + record(1)
    refused = refusal(batch(2, records, attributes=8), APPEND_TIME)
    sentence = (
        "Invalid timestamp type in message {}(offset={}, timestamp={}, key={} bytes, value={} bytes). Producer should "
        "not set timestamp type to LogAppendTime."
    )
    assert refused.code is BAD_TIME
    assert refused.record_errors == (
        (0, sentence.format("DefaultRecord", 0, NOW, 0, 0)),
        (1, sentence.format("DefaultRecord", 1, NOW, 1, 1)),
    )
    refused = refusal(batch(2, gzip.compress(records), attributes=9, highest=-1))
    assert refused.record_errors == (
        (0, sentence.format("PartialDefaultRecord", 0, -1, -1, -1)),
        (1, sentence.format("PartialDefaultRecord", 1, -1, 1, 1)),
    )


def test_a_claim_of_log_append_time_is_believed_once_and_cleared():
    sent = batch(2, record(0, time=-HOUR) + record(1, time=99 * HOUR), highest=NOW + HOUR, attributes=8)
    checked = check(sent)
    assert checked.header.attributes == 0
    assert (checked.header.base_timestamp, checked.header.max_timestamp) == (NOW, NOW + HOUR)
    assert check(batch(1, record(), highest=-5, attributes=8)).header.max_timestamp == -1
    refused = refusal(batch(2, PAIR, highest=NOW + HOUR + 1, attributes=8))
    assert refused.code is BAD_TIME
    assert len(refused.record_errors) == 2
    keyless = batch(2, record(0, key=None) + record(1, key=None), highest=-1, attributes=8)
    assert refusal(keyless, COMPACTED).code is INVALID


def test_whether_a_transaction_is_meant_is_asked_of_first_batches():
    assert not is_transactional(None)
    assert not is_transactional(b"")
    assert not is_transactional(GOOD)
    assert not is_transactional(GOOD + put(GOOD, "h", 21, 0x10))
    assert is_transactional(put(GOOD, "h", 21, 0x10, crc=False))
    assert not is_transactional(put(put(GOOD, "h", 21, 0x10), "b", 16, 1))
    assert not is_transactional(put(GOOD, "h", 21, 0x10)[:-1])


@pytest.mark.parametrize(
    ("records", "code", "message"),
    [
        (put(GOOD, "i", 8, 5)[:12], CORRUPT, "Record size 5 is less than the minimum record overhead (14)"),
        (put(GOOD, "i", 8, -1), CORRUPT, "Record size -1 is less than the minimum record overhead (14)"),
        (put(GOOD, "b", 16, 3), CORRUPT, "Invalid magic found in record: 3"),
        (put(GOOD, "i", 8, INT32_MAX), FAILED, None),
    ],
)
def test_what_no_format_has_is_the_answer_for_the_whole_request(records, code, message):
    with pytest.raises(Refused) as caught:
        is_transactional(records)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_every_refusal_has_a_reason():
    refused = refusal(put(GOOD, "I", 17, 1, crc=False))
    assert refused.message is None
    assert str(refused) == refused.reason == "the checksum of a record batch is wrong"


# Where Kafka takes what this does not


def test_records_that_would_take_too_much_memory_are_too_large():
    for codec in (Compression.GZIP, Compression.ZSTD):
        bomb = compression.compress(codec, record(value=bytes(compression.MOST_UNPACKED)))
        refused = refusal(batch(1, bomb, attributes=codec))
        assert refused.code is TOO_LARGE
        assert str(compression.MOST_UNPACKED) in refused.message


def test_too_many_records_are_too_large():
    refused = refusal(batch(MOST_RECORDS + 1, b""))
    assert refused.code is TOO_LARGE
    assert str(MOST_RECORDS) in refused.message
    assert outcome(batch(MOST_RECORDS, b"")) is INVALID


@given(st.binary(max_size=200), st.sampled_from([OPEN, COMPACTED, APPEND_TIME]), st.integers(0, 4))
def test_whatever_the_records_nothing_but_a_refusal_is_raised(records, config, codec):
    packed = compression.compress(codec, records)
    for sent in (records, batch(2, records, attributes=codec), batch(2, packed, attributes=codec)):
        if outcome(sent, config) is OK:
            list(records_of(check(sent, config).batch))


@given(st.data())
def test_whatever_byte_is_wrong_what_is_taken_can_be_read(data):
    codec = data.draw(st.sampled_from(Compression))
    records = record(0, headers=header(b"a", None)) + record(1, time=300) + record(2, key=None)
    sent = bytearray(batch(3, compression.compress(codec, records), attributes=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(21, len(sent) - 1))] = data.draw(st.integers(0, 255))
    sent = put(bytes(sent), "b", 16, 2)
    if outcome(sent) is OK:
        assert len(list(records_of(check(sent).batch))) == read_header(sent).record_count


# --- briefly ---

PACKED = (Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD)
NOISE = random.Random(1).randbytes(BRIEF_UNPACKED)


def packed_batch(codec, records, count=1):
    return batch(count, compression.compress(codec, records), attributes=codec)


def of_size(size):
    """One record that takes so many bytes."""
    whole = record(value=b"v" * size)
    found = record(value=b"v" * (2 * size - len(whole)))
    assert len(found) == size
    return found


def with_headers(count, each=b"\0\0"):
    return record(headers=write_varint(count) + each * count)


LONG = {
    "many records": good(BRIEF_RECORDS),
    "many bytes": batch(1, of_size(BRIEF_BYTES)),
    "many packed bytes": packed_batch(Compression.ZSTD, record(value=NOISE)),
    "many headers": batch(1, with_headers(BRIEF_HEADERS + 1)),
    "many headers of several": batch(2, with_headers(BRIEF_HEADERS) + record(1, headers=header(b"a", b"b"))),
    "many packed headers": packed_batch(Compression.ZSTD, with_headers(BRIEF_HEADERS + 1)),
} | {f"much in {codec.name}": packed_batch(codec, of_size(BRIEF_UNPACKED + 1)) for codec in PACKED}
SHORT = {
    "few records": good(BRIEF_RECORDS - 1),
    "not many bytes": batch(1, of_size(1_000_000)),
    "not many headers": batch(1, with_headers(BRIEF_HEADERS)),
} | {f"not much in {codec.name}": packed_batch(codec, of_size(BRIEF_UNPACKED)) for codec in PACKED}
ROOMY = TopicConfig(max_message_bytes=2 * BRIEF_BYTES)


@pytest.mark.parametrize("what", LONG)
def test_what_takes_long_is_told_if_it_is_to_be_brief(what):
    with pytest.raises(TakesLong):
        check_batch(LONG[what], ROOMY, "t-0", NOW, briefly=True)
    assert check_batch(LONG[what], ROOMY, "t-0", NOW).batch == LONG[what]


@pytest.mark.parametrize("what", SHORT)
def test_what_does_not_take_long_is_checked_briefly(what):
    found = check_batch(SHORT[what], ROOMY, "t-0", NOW, briefly=True)
    assert found == check_batch(SHORT[what], ROOMY, "t-0", NOW)
    assert found.looked_at == len(compression.decompress(SHORT[what][22], SHORT[what][61:]))


def test_what_is_wrong_is_found_briefly_too():
    for size in (0, 20, 60):
        with pytest.raises(Refused) as refused:
            check_batch(GOOD[:size], OPEN, "t-0", NOW, briefly=True)
        assert refused.value.code is (INVALID if size == 0 else CORRUPT)
    with pytest.raises(Refused):
        check_batch(batch(1, record() + b"x"), OPEN, "t-0", NOW, briefly=True)


def test_a_batch_has_no_more_headers_than_that():
    most = packed_batch(Compression.ZSTD, with_headers(MOST_HEADERS))
    assert outcome(most) is OK
    with pytest.raises(Refused) as refused:
        check(packed_batch(Compression.ZSTD, with_headers(MOST_HEADERS + 1)))
    assert refused.value.code is TOO_LARGE
    assert "1000000 headers" in refused.value.message


@pytest.mark.parametrize("given", [{}, {"attributes": 8}])
def test_the_headers_of_a_record_at_fault_are_not_kept_in_memory(given):
    """Each of them would be an object of some hundred bytes."""
    wrong = batch(1, record(key=None, headers=write_varint(500_000) + bytes(1_000_000)), **given)
    tracemalloc.start()
    try:
        assert outcome(wrong, APPEND_TIME if given else COMPACTED) in (INVALID, BAD_TIME)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
