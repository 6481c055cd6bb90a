"""What the codec accepts, refuses and forgives. That it is right at all is for test_judges to say."""

import tracemalloc
import uuid

import pytest
from construct import ConstructError

from tests.wire import samples
from wire import messages as m
from wire import primitives
from wire.codec import decode, encode, reader, reader_source, writer, writer_source
from wire.errors import BadLength, ErrorCode, Truncated, UnexpectedNull, Unsendable, Unsupported, WireError
from wire.schema import (
    BOOLEAN,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT64,
    STRING,
    UINT16,
    UINT32,
    UUID,
    Array,
    Message,
    Struct,
    Versioned,
    field,
    message,
    payload,
    struct,
)
from wire.structs import message_of, struct_of


@struct
class Inner(Struct):
    number: int = field(UINT16)


@message(api=99, versions="0-1", flexible="1+")
class Odd(Message):
    """The types and shapes that no message described here has."""

    ratio: float = field(FLOAT64)
    unsigned: int = field(UINT32)
    inner: Inner = field(Inner)
    bytes_: list[int] = field(Array(INT8))
    flags: list[bool] = field(Array(BOOLEAN))
    ids: list[uuid.UUID] = field(Array(UUID))
    blobs: list[bytes] | None = field(Array(BYTES), nullable="0+", default=None)
    numbers: list[int] | None = field(Array(INT64), nullable="0+", default=None)
    tagged: list[int] | None = field(Array(INT16), "1+", tag=5, nullable="1+")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("blobs", [None, [], [b"a", b""]])
@pytest.mark.parametrize("numbers", [None, [], [1, -1]])
def test_types_and_shapes_not_met_elsewhere(version, blobs, numbers):
    odd = Odd(
        ratio=-0.5,
        unsigned=2**32 - 1,
        inner=Inner(number=65535),
        bytes_=[1, -128],
        flags=[True, False],
        ids=[uuid.UUID(int=7), samples.NO_UUID],
        blobs=blobs,
        numbers=numbers,
        tagged=None if version and numbers else [],
    )
    data = encode(odd, version)
    assert decode(Odd, version, data) == odd
    for end in range(len(data)):
        with pytest.raises(WireError):
            decode(Odd, version, data[:end])


def test_layout_of_the_odd_one():
    odd = Odd(ratio=1.0, unsigned=1, inner=Inner(number=2), tagged=[3])
    assert encode(odd, 1).hex(" ") == ("3f f0 00 00 00 00 00 00 00 00 00 01 00 02 00 01 01 01 00 00 01 05 03 02 00 03")


def test_a_field_of_an_older_version_gets_its_default():
    old = encode(m.JoinGroupRequest(group_id="g", session_timeout_ms=5), 0)
    assert decode(m.JoinGroupRequest, 0, old) == m.JoinGroupRequest(group_id="g", session_timeout_ms=5)
    assert decode(m.JoinGroupRequest, 0, old).rebalance_timeout_ms == -1


def test_decoded_defaults_are_not_shared():
    data = encode(m.LeaveGroupRequest(), 0)
    decode(m.LeaveGroupRequest, 0, data).members.append(m.MemberIdentity())
    assert decode(m.LeaveGroupRequest, 0, data).members == []


def test_bytes_after_the_message_are_ignored():
    assert decode(m.HeartbeatResponse, 0, b"\0\x1bmore") == m.HeartbeatResponse(error_code=27)


def test_an_error_code_may_be_written():
    data = encode(m.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 0)
    assert data == b"\0\x1b"
    assert type(decode(m.HeartbeatResponse, 0, data).error_code) is int


def test_readers_and_writers_are_kept():
    assert reader(m.HeartbeatRequest, 3) is reader(m.HeartbeatRequest, 3)
    assert writer(m.HeartbeatRequest, 3) is writer(m.HeartbeatRequest, 3)


def test_the_generated_text_can_be_read():
    assert "v1 = data[pos:stop].decode('utf-8', 'wire.as_java')" in reader_source(m.HeartbeatRequest, 4)[0]
    assert "v1 = m.group_id.encode()" in writer_source(m.HeartbeatRequest, 4)[0]


@pytest.mark.parametrize("version", [-1, 5, 32767])
def test_unknown_versions(version):
    for call in (reader, writer, reader_source, writer_source):
        with pytest.raises(Unsupported, match="HeartbeatRequest has no version"):
            call(m.HeartbeatRequest, version)


class TestStrings:
    def request(self, version, raw):
        return decode(m.DescribeGroupsRequest, version, raw).groups

    def test_malformed_utf8_is_replaced(self):
        assert self.request(0, b"\0\0\0\1\0\3a\xff\xc3") == ["a\ufffd\ufffd"]
        assert self.request(5, b"\2\4a\xff\xc3\0\0") == ["a\ufffd\ufffd"]
        long = b"\xff" * 200
        assert self.request(5, b"\2\xc9\1" + long + b"\0\0") == ["\ufffd" * 200]

    @pytest.mark.parametrize(
        ("raw", "count"),
        [
            (b"\xed\xa0\x80", 1),
            (b"\xed\xa0\x80\xed\xb0\x80", 2),
            (b"\xed\xa0", 1),
            (b"\xed\xbf\xc0", 2),
            (b"\xed", 1),
            (b"\xed\xc0", 2),
            (b"\xe2\x82\xed\xbf\xbf", 2),
            (b"\xf0\x9f\x98", 1),
            (b"\xf4\x90\x80\x80", 4),
        ],
    )
    def test_as_many_characters_replace_malformed_utf8_as_in_java(self, raw, count):
        size = len(raw)
        bodies = {0: b"\0\0\0\1" + bytes([0, size]) + raw, 5: b"\2" + bytes([size + 1]) + raw + b"\0\0"}
        for version, body in bodies.items():
            assert self.request(version, body) == ["\ufffd" * count]
            assert struct_of(m.DescribeGroupsRequest, version).parse(body).groups == ["\ufffd" * count]

    def test_the_longest_compact_string(self):
        assert self.request(5, b"\2\x80\x80\2" + b"x" * 32767 + b"\0\0") == ["x" * 32767]
        with pytest.raises(BadLength):
            self.request(5, b"\2\x81\x80\2" + b"x" * 32768 + b"\0\0")

    @pytest.mark.parametrize("raw", [b"\2\0\0\0", b"\2\x80\0\0\0", b"\2\xff\xff\xff\xff\x0f\0\0"])
    def test_null_compact(self, raw):
        with pytest.raises(UnexpectedNull):
            self.request(5, raw)

    @pytest.mark.parametrize("length", [b"\xff\xff", b"\x80\0", b"\xff\xfe"])
    def test_any_negative_plain_length_is_null(self, length):
        with pytest.raises(UnexpectedNull):
            self.request(0, b"\0\0\0\1" + length)
        data = b"\0\1g\0\0\0\1\0\1m" + length
        assert decode(m.HeartbeatRequest, 3, data).group_instance_id is None

    def test_overlong_lengths_are_accepted(self):
        assert self.request(5, b"\x82\0\x82\x80\0x\0\0") == ["x"]
        null = b"\2g\0\0\0\1\2m\x80\x80\0\0"
        assert decode(m.HeartbeatRequest, 4, null).group_instance_id is None

    def test_too_short(self):
        for raw in (b"\0\0\0\1\0\5abcd", b"\0\0\0\1\0"):
            with pytest.raises(Truncated):
                self.request(0, raw)
        for raw in (b"\2\6abcd", b"\2\x80", b"\2\x80\2" + b"x" * 254):
            with pytest.raises(Truncated):
                self.request(5, raw)

    def test_a_varint_of_six_bytes(self):
        with pytest.raises(BadLength):
            self.request(5, b"\2\x80\x80\x80\x80\x80\0")

    def test_one_less_than_the_least_number_is_the_greatest(self):
        least = b"\x80\x80\x80\x80\x08"
        with pytest.raises(BadLength, match="a string of 2147483647 bytes"):
            decode(m.HeartbeatRequest, 4, b"\2g\0\0\0\1\2m" + least + b"\0")
        with pytest.raises(BadLength, match="an array of 2147483647 elements"):
            decode(m.MetadataRequest, 9, least + b"\1\0\0\0")
        with pytest.raises(Truncated, match="a value of 2147483647 bytes"):
            decode(m.ProduceRequest, 9, b"\0" + bytes(6) + b"\2\2t\2\0\0\0\0" + least + b"\0\0\0")
        with pytest.raises(ConstructError):
            struct_of(m.MetadataRequest, 9).parse(least + b"\1\0\0\0")

    def test_bits_beyond_the_32nd_do_not_count(self):
        assert self.request(5, b"\2\x82\x80\x80\x80\x70x\0\0") == ["x"]
        assert struct_of(m.DescribeGroupsRequest, 5).parse(b"\2\x82\x80\x80\x80\x70x\0\0").groups == ["x"]


class TestArrays:
    @pytest.mark.parametrize("count", [b"\xff\xff\xff\xff", b"\x80\0\0\0"])
    def test_any_negative_plain_count_is_null(self, count):
        with pytest.raises(UnexpectedNull):
            decode(m.DescribeGroupsRequest, 0, count)
        assert decode(m.MetadataRequest, 1, count).topics is None

    @pytest.mark.parametrize("count", [b"\0", b"\x80\0", b"\xff\xff\xff\xff\x0f"])
    def test_null_compact(self, count):
        with pytest.raises(UnexpectedNull):
            decode(m.DescribeGroupsRequest, 5, count + b"\0\0")
        assert decode(m.MetadataRequest, 9, count + b"\0\0\0\0").topics is None

    def test_more_elements_than_bytes(self):
        with pytest.raises(BadLength):
            decode(m.DescribeGroupsRequest, 0, b"\0\0\0\3\0\0")
        with pytest.raises(BadLength):
            decode(m.DescribeGroupsRequest, 5, b"\4\1\1")

    def test_fixed_elements_that_are_not_all_there(self):
        data = b"\0\1g\0\0\0\1\0\1t\0\0\0\2\0\0\0\1\0\0\0"
        with pytest.raises(Truncated):
            decode(m.OffsetFetchRequest, 1, data)


class TestStructsThatMayBeNull:
    HEAD = b"\1\0\0\x07\xd0"

    @pytest.mark.parametrize("mark", [b"\xff", b"\x80"])
    def test_any_negative_mark_is_null(self, mark):
        data = self.HEAD + mark + b"\0"
        assert reader(m.DescribeTopicPartitionsRequest, 0)(data, 0) == (m.DescribeTopicPartitionsRequest(), len(data))

    @pytest.mark.parametrize("mark", [b"\0", b"\1", b"\x7f"])
    def test_any_other_is_not(self, mark):
        data = self.HEAD + mark + b"\2t\0\0\0\5\0" + b"\0"
        request = m.DescribeTopicPartitionsRequest(cursor=m.Cursor(topic_name="t", partition_index=5))
        assert reader(m.DescribeTopicPartitionsRequest, 0)(data, 0) == (request, len(data))
        for end in range(len(data)):
            with pytest.raises(WireError):
                decode(m.DescribeTopicPartitionsRequest, 0, data[:end])

    def test_what_is_written(self):
        assert encode(m.DescribeTopicPartitionsRequest(), 0) == self.HEAD + b"\xff\0"
        request = m.DescribeTopicPartitionsRequest(cursor=m.Cursor(topic_name="t", partition_index=5))
        assert encode(request, 0) == self.HEAD + b"\1\2t\0\0\0\5\0" + b"\0"
        with pytest.raises(Unsendable):
            encode(m.DescribeTopicPartitionsRequest(cursor="t"), 0)


class TestTags:
    def test_unknown_tags_are_passed_over(self):
        plain = encode(m.HeartbeatRequest(group_id="g"), 4)
        tagged = plain[:-1] + b"\2\0\3abc\x80\x02\0"
        assert reader(m.HeartbeatRequest, 4)(tagged, 0) == (m.HeartbeatRequest(group_id="g"), len(tagged))

    def test_unknown_tags_among_known_ones(self):
        data = encode(m.FetchRequest(cluster_id="c"), 14)
        assert data.endswith(b"\1\0\2\2c")
        # Tag 1 is known, but only from v15 on; tag 9 never was; order and repetition do not matter.
        tagged = data[:-5] + b"\5\x09\1x\1\1x\0\2\2b\0\2\2c\x0a\0"
        assert decode(m.FetchRequest, 14, tagged) == m.FetchRequest(cluster_id="c")

    @pytest.mark.parametrize("size", [b"\x08", b"\0", b"\4", b"\x0a", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f"])
    def test_the_size_of_a_known_tag_does_not_count(self, size):
        request = m.FetchRequest(cluster_id="cluster")
        start = encode(request, 12)[: -len(b"\1\0\x08\x08cluster")]
        data = start + b"\2\0" + size + b"\x08cluster" + b"\x09\3abc"
        assert reader(m.FetchRequest, 12)(data, 0) == (request, len(data))
        parsed = struct_of(m.FetchRequest, 12).parse(data)
        assert message_of(m.FetchRequest, 12, parsed) == request
        assert [(entry.tag, entry.body) for entry in parsed.tags] == [(0, "cluster"), (9, b"abc")]

    def test_a_known_tag_of_which_too_little_is_there(self):
        data = encode(m.FetchRequest(cluster_id="cluster"), 12)
        with pytest.raises(Truncated):
            decode(m.FetchRequest, 12, data[:-1])

    def test_what_is_too_much_in_a_known_tag_is_the_next_entry(self):
        start = encode(m.FetchRequest(cluster_id="c"), 12)[:-5]
        assert decode(m.FetchRequest, 12, start + b"\2\0\5\2c\x09\1x") == m.FetchRequest(cluster_id="c")
        with pytest.raises(Truncated):
            decode(m.FetchRequest, 12, start + b"\2\0\4\2czz")

    def test_a_null_in_a_tagged_field(self):
        data = encode(m.ApiVersionsResponse(), 3)
        assert data.endswith(b"\0")
        with pytest.raises(UnexpectedNull):
            decode(m.ApiVersionsResponse, 3, data[:-1] + b"\1\0\1\0")

    def test_only_what_differs_from_the_default_is_written(self):
        assert encode(m.ApiVersionsResponse(), 3) == b"\0\0\1\0\0\0\0\0"
        data = encode(m.ApiVersionsResponse(zk_migration_ready=True, finalized_features_epoch=0), 3)
        assert data == b"\0\0\1\0\0\0\0" + b"\2" + b"\1\x08" + bytes(8) + b"\3\1\1"

    @pytest.mark.parametrize(
        ("tags", "error"),
        [
            (b"\xff\xff\xff\xff\x0f", BadLength),  # a count that looks negative
            (b"\x08\0\0", BadLength),  # eight entries in two bytes
            (b"\1\7\xff\xff\xff\xff\x0f", BadLength),  # a size that looks negative
            (b"\1\7\5abcd", Truncated),
            (b"\1\7", Truncated),
            (b"\1", BadLength),
            (b"", Truncated),
        ],
    )
    @pytest.mark.parametrize(("cls", "version"), [(m.HeartbeatRequest, 4), (m.ApiVersionsResponse, 3)])
    def test_broken_tag_buffers(self, cls, version, tags, error):
        data = encode(cls(), version)[:-1]
        with pytest.raises(error):
            decode(cls, version, data + tags)


class TestUnsendable:
    def test_a_value_the_version_lacks(self):
        static = m.JoinGroupRequest(group_instance_id="i")
        with pytest.raises(Unsendable, match=r"JoinGroupRequest\.group_instance_id is not in v4"):
            encode(static, 4)
        assert decode(m.JoinGroupRequest, 5, encode(static, 5)) == static

    def test_an_ignorable_value_is_dropped(self):
        request = m.JoinGroupRequest(reason="why", rebalance_timeout_ms=5)
        assert decode(m.JoinGroupRequest, 7, encode(request, 7)) == m.JoinGroupRequest(rebalance_timeout_ms=5)
        assert decode(m.JoinGroupRequest, 0, encode(request, 0)) == m.JoinGroupRequest()

    def test_a_list_the_version_lacks(self):
        with pytest.raises(Unsendable):
            encode(m.FindCoordinatorRequest(coordinator_keys=["g"]), 3)
        with pytest.raises(Unsendable):
            encode(m.OffsetFetchRequest(topics=None), 8)
        encode(m.OffsetFetchRequest(topics=[]), 8)

    def test_a_tagged_value_the_version_lacks(self):
        with pytest.raises(Unsendable):
            encode(m.FetchRequest(replica_state=m.ReplicaState(replica_id=1)), 14)
        encode(m.FetchRequest(cluster_id="ignorable"), 11)

    def test_a_value_in_an_element(self):
        commit = m.OffsetCommitRequest(
            topics=[m.OffsetCommitRequestTopic(partitions=[m.OffsetCommitRequestPartition(commit_timestamp=1)])]
        )
        with pytest.raises(Unsendable):
            encode(commit, 2)

    @pytest.mark.parametrize(("cls", "version"), samples.PAIRS, ids=samples.pair_id)
    def test_the_rule_holds_for_every_field(self, cls, version):
        newest = {f.name: f for f in cls.FIELDS if version not in f.versions}
        full = samples.full(cls, max(v for v in cls.VERSIONS))
        for name, f in newest.items():
            value = getattr(full, name)
            if value == f.default:
                continue
            if f.ignorable:
                assert encode(cls(**{name: value}), version) == encode(cls(), version)
            else:
                with pytest.raises(Unsendable, match=f"{name} is not in v{version}"):
                    encode(cls(**{name: value}), version)

    @pytest.mark.parametrize("version", [0, 6])
    @pytest.mark.parametrize(
        "values",
        [
            {"session_timeout_ms": 2**31},
            {"session_timeout_ms": -(2**31) - 1},
            {"session_timeout_ms": 10**30},
            {"session_timeout_ms": 1.5},
            {"session_timeout_ms": None},
            {"session_timeout_ms": "5"},
            {"group_id": "x" * 32768},
            {"group_id": "\ud800"},
            {"group_id": None},
            {"group_id": 5},
            {"protocols": None},
            {"protocols": 5},
            {"protocols": [None]},
            {"protocols": [m.JoinGroupRequestProtocol(metadata=None)]},
            {"protocols": [m.JoinGroupRequestProtocol(metadata="text")]},
        ],
        ids=str,
    )
    def test_values_that_fit_no_bytes(self, version, values):
        with pytest.raises(Unsendable, match=r"JoinGroupRequest|a string of 32768"):
            encode(m.JoinGroupRequest(**values), version)

    def test_a_null_before_it_was_allowed(self):
        with pytest.raises(Unsendable):
            encode(m.JoinGroupResponse(protocol_name=None), 6)
        encode(m.JoinGroupResponse(protocol_name=None), 7)
        with pytest.raises(Unsendable):
            encode(m.MetadataRequest(topics=None), 0)
        encode(m.MetadataRequest(topics=None), 1)

    def test_a_string_of_the_greatest_length(self):
        for version in (0, 6):
            request = m.JoinGroupRequest(group_id="x" * 32767)
            assert decode(m.JoinGroupRequest, version, encode(request, version)) == request

    def test_a_number_too_great_for_a_float(self):
        with pytest.raises(Unsendable):
            encode(Odd(ratio=10**400), 0)

    def test_a_thing_that_is_no_uuid(self):
        with pytest.raises(Unsendable):
            encode(Odd(ids=["x"]), 0)


class TestClaims:
    """A length is a claim until the bytes are there; believing it must cost nothing."""

    HUGE = b"\x7f\xff\xff\xff"
    COMPACT = b"\xff\xff\xff\xff\x07"

    def cost(self, cls, version, data):
        reader(cls, version)
        tracemalloc.start()
        try:
            with pytest.raises(WireError):
                decode(cls, version, data)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        ("cls", "version", "data"),
        [
            (m.DescribeGroupsRequest, 0, HUGE + b"\0\0"),
            (m.DescribeGroupsRequest, 5, COMPACT + b"\1\1"),
            (m.JoinGroupRequest, 0, b"\0\0" + bytes(4) + b"\0\0\0\0" + HUGE + b"\0\0\0\0"),
            (m.JoinGroupRequest, 0, b"\0\0" + bytes(4) + b"\0\0\0\0\0\0\0\1\0\0" + HUGE + b"\0\0"),
            (m.JoinGroupRequest, 6, b"\1" + bytes(8) + b"\1\0\1" + COMPACT + b"\1\1\0\0"),
            (m.JoinGroupRequest, 6, b"\1" + bytes(8) + b"\1\0\1\2\1" + COMPACT + b"\1\1\0\0"),
            (m.OffsetFetchRequest, 1, b"\0\0\0\0\0\1\0\1t" + HUGE + b"\0\0\0\0"),
            (m.OffsetFetchRequest, 6, b"\1\2\2t" + COMPACT + b"\0\0\0\0"),
            (m.HeartbeatRequest, 4, b"\1\0\0\0\0\1\0" + COMPACT + b"\0\0"),
            (m.HeartbeatRequest, 4, b"\1\0\0\0\0\1\0\1\5" + COMPACT + b"\0"),
            (m.HeartbeatRequest, 4, COMPACT + b"\0\0"),
        ],
    )
    def test_a_claim_costs_nothing(self, cls, version, data):
        assert self.cost(cls, version, data) < 20_000

    def test_every_array_of_every_message(self):
        for cls, version in samples.PAIRS:
            for f in samples.array_fields(cls, version):
                data = encode(cls(), version)
                empty, huge = (b"\1", self.COMPACT) if version in cls.FLEXIBLE else (bytes(4), self.HUGE)
                one = f.type.container([_element(f.type)])
                marked = encode(cls(**{f.name: one}), version)
                at = next(i for i, (x, y) in enumerate(zip(data, marked, strict=False)) if x != y)
                at -= len(empty) - 1
                assert data[at : at + len(empty)] == empty
                assert self.cost(cls, version, data[:at] + huge + data[at + len(empty) :]) < 20_000


def _element(of):
    return "" if of.item is STRING else 0 if not isinstance(of.item, type) else of.item()


class TestPrimitives:
    def test_varints_that_do_not_end(self):
        for read, most in ((primitives.read_uvarint, 5), (primitives.read_varint, 5), (primitives.read_varlong, 10)):
            with pytest.raises(Truncated):
                read(b"\x80" * (most - 1), 0)
            with pytest.raises(BadLength):
                read(b"\x80" * most, 0)

    def test_excess_bits_of_the_last_byte_are_dropped(self):
        assert primitives.read_uvarint(b"\xff\xff\xff\xff\x7f", 0) == (-1, 5)
        assert primitives.read_varint(b"\xff\xff\xff\xff\x7f", 0) == (-(2**31), 5)
        assert primitives.read_varlong(b"\xff" * 9 + b"\x7f", 0) == (-(2**63), 10)

    @pytest.mark.parametrize(
        ("write", "least", "most"),
        [
            (primitives.write_uvarint, 0, 2**32 - 1),
            (primitives.write_varint, -(2**31), 2**31 - 1),
            (primitives.write_varlong, -(2**63), 2**63 - 1),
        ],
    )
    def test_ranges(self, write, least, most):
        for value in (least, most):
            write(value)
        for value in (least - 1, most + 1):
            with pytest.raises(Unsendable):
                write(value)

    def test_there_is_one_zero_uuid(self):
        assert primitives.uuid_of(bytes(16)) is samples.NO_UUID
        assert primitives.uuid_of(bytes(15) + b"\1") == uuid.UUID(int=1)


def test_a_payload_may_hold_any_shape():
    @payload(versions="0")
    class Pair(Versioned):
        names: tuple[str, ...] = field(Array(STRING, tuple))
        numbers: tuple[int, ...] = field(Array(INT64, tuple))

    pair = Pair(("a", "b"), (1, 2))
    assert decode(Pair, 0, encode(pair, 0)) == pair
    assert hash(pair) == hash(Pair(("a", "b"), (1, 2)))
