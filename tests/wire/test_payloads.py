"""What rides inside bytes: every version, and what happens to versions from elsewhere. Bytes are in test_vectors."""

import contextlib
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire import samples
from tests.wire.foreign import foreign_payload
from wire import payloads as p
from wire.codec import encode
from wire.errors import Truncated, UnexpectedNull, Unsendable, Unsupported, WireError
from wire.structs import message_of, struct_of, values

PAYLOADS = [
    p.Subscription,
    p.Assignment,
    p.OffsetCommitKey,
    p.GroupMetadataKey,
    p.OffsetCommitValue,
    p.GroupMetadataValue,
]
PAIRS = [(cls, version) for cls in PAYLOADS for version in cls.VERSIONS]


@pytest.mark.parametrize(("cls", "version"), PAIRS, ids=samples.pair_id)
@samples.unhurried
@given(data=st.data())
def test_two_codecs_agree(cls, version, data):
    value = data.draw(samples.structs(cls, version))
    raw = encode(value, version)
    rendered = struct_of(cls, version)
    assert rendered.build(values(value, version)) == raw
    assert message_of(cls, version, rendered.parse(raw)) == value


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@samples.unhurried
@given(data=st.data())
def test_the_consumer_protocol_is_that_of_kafka_python(version, data):
    for cls, encoder, decoder in (
        (p.Subscription, p.encode_subscription, p.decode_subscription),
        (p.Assignment, p.encode_assignment, p.decode_assignment),
    ):
        value = data.draw(samples.structs(cls, version))
        raw = encoder(value, version)
        assert decoder(raw) == value
        assert foreign_payload(value, version) == raw


@samples.unhurried
@given(samples.structs(p.OffsetCommitKey, 1))
def test_offset_keys(key):
    raw = p.encode_key(key)
    assert p.decode_key(raw) == key
    assert p.decode_key(b"\0\0" + raw[2:]) == key


@samples.unhurried
@given(samples.structs(p.GroupMetadataKey, 2))
def test_group_keys(key):
    assert p.decode_key(p.encode_key(key)) == key


OFFSET, GROUP = p.OffsetCommitKey("g", "t", 0), p.GroupMetadataKey("g")


@pytest.mark.parametrize("version", range(5))
@samples.unhurried
@given(data=st.data())
def test_values_of_every_version_are_read(version, data):
    for key, cls in ((OFFSET, p.OffsetCommitValue), (GROUP, p.GroupMetadataValue)):
        value = data.draw(samples.structs(cls, version))
        raw = version.to_bytes(2, "big") + encode(value, version)
        assert p.decode_value(key, raw) == value


def test_an_explicit_expiry_costs_the_leader_epoch():
    stored = p.encode_value(p.OffsetCommitValue(1, 5, "", 10, 20))
    assert stored[:2] == b"\0\1"
    assert p.decode_value(OFFSET, stored) == p.OffsetCommitValue(1, -1, "", 10, 20)


def test_version_4_values_may_carry_tags():
    raw = b"\0\4" + bytes(8) + b"\xff\xff\xff\xff" + b"\2m" + bytes(8) + b"\1\0\1x"
    assert p.decode_value(OFFSET, raw) == p.OffsetCommitValue(0, -1, "m", 0)


@pytest.mark.parametrize("version", [-1, 3, 8, 15, 32767])
def test_unknown_key_versions_are_passed_over(version):
    assert p.decode_key(version.to_bytes(2, "big", signed=True) + b"anything") is None


@pytest.mark.parametrize("key", [OFFSET, GROUP])
@pytest.mark.parametrize("version", [-1, 5, 32767])
def test_unknown_value_versions_are_errors(key, version):
    with pytest.raises(Unsupported):
        p.decode_value(key, version.to_bytes(2, "big", signed=True) + bytes(100))


def test_a_newer_consumer_protocol_is_read_as_far_as_it_is_known():
    subscription = p.Subscription(("t",), b"u", (p.TopicPartitions("t", (1,)),), 3, "rack")
    raw = p.encode_subscription(subscription)
    assert p.decode_subscription(b"\0\x09" + raw[2:] + b"more") == subscription
    assignment = p.Assignment((p.TopicPartitions("t", (1,)),), b"u")
    assert p.decode_assignment(b"\0\x09" + p.encode_assignment(assignment)[2:] + b"more") == assignment


def test_no_bytes_are_no_assignment():
    assert p.decode_assignment(b"") == p.Assignment()


@pytest.mark.parametrize("decode", [p.decode_subscription, p.decode_assignment])
def test_a_negative_version_is_an_error(decode):
    with pytest.raises(Unsupported):
        decode(b"\xff\xff" + bytes(12))


def test_a_version_that_cannot_be_written():
    with pytest.raises(Unsupported):
        p.encode_subscription(p.Subscription(), 4)
    with pytest.raises(Unsupported):
        p.encode_assignment(p.Assignment(), -1)
    with pytest.raises(Unsendable):
        p.encode_key(p.OffsetCommitKey("g", "t", 2**31))
    with pytest.raises(Unsendable):
        p.encode_value(p.GroupMetadataValue("x" * 32768, 0))


class TestSubscribedTopics:
    def test_every_version(self):
        subscription = p.Subscription(("t", "u", "t"), b"data", (p.TopicPartitions("v", (1,)),), 3, "rack")
        for version in p.Subscription.VERSIONS:
            assert p.subscribed_topics(p.encode_subscription(subscription, version)) == {"t", "u"}

    def test_version_0_is_read_whatever_is_stated(self):
        for version in (b"\0\x09", b"\xff\xff", b"\x7f\xff"):
            assert p.subscribed_topics(version + bytes.fromhex("00000001 0001 74 ffffffff")) == {"t"}

    @pytest.mark.parametrize(
        ("raw", "error"),
        [
            ("", Truncated),
            ("00", Truncated),
            ("0000", Truncated),
            ("0000 00000001 0001 74", Truncated),  # the user data is missing
            ("0000 ffffffff ffffffff", UnexpectedNull),
            ("0000 00000001 ffff ffffffff", UnexpectedNull),
            ("0000 00000001 0001 74 00000005 aa", Truncated),
        ],
    )
    def test_bytes_that_are_no_subscription(self, raw, error):
        with pytest.raises(error):
            p.subscribed_topics(bytes.fromhex(raw))


@samples.unhurried
@given(st.binary(max_size=60))
def test_only_wire_errors_escape(raw):
    for read in (
        p.decode_subscription,
        p.decode_assignment,
        p.subscribed_topics,
        p.decode_key,
        lambda data: p.decode_value(OFFSET, data),
        lambda data: p.decode_value(GROUP, data),
    ):
        with contextlib.suppress(WireError):
            read(raw)


def test_payloads_are_values():
    key = p.OffsetCommitKey("g", "t", 1)
    assert {key: 1}[p.OffsetCommitKey(group="g", topic="t", partition=1)] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.partition = 2
    assert hash(samples.full(p.GroupMetadataValue, 4)) == hash(samples.full(p.GroupMetadataValue, 4))
