"""Bytes everybody must agree on. Each was made by an encoder that shares nothing with this one."""

import pytest

from wire import messages as m
from wire import primitives
from wire.codec import decode
from wire.header import RequestHeader, read_request_header, read_response, request_frame, response_frame
from wire.payloads import (
    Assignment,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_key,
    decode_subscription,
    decode_value,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)

SUBSCRIPTION_V0 = bytes.fromhex("0000 00000001 0001 74 ffffffff")


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16383, "ff7f"),
        (16384, "808001"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_unsigned_varint(value, data):
    raw = bytes.fromhex(data)
    assert primitives.write_uvarint(value) == raw
    signed = value - 2**32 if value >= 2**31 else value
    assert primitives.read_uvarint(raw, 0) == (signed, len(raw))


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (-2, "03"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
    ],
)
def test_varint(value, data):
    raw = bytes.fromhex(data)
    assert primitives.write_varint(value) == raw
    assert primitives.read_varint(raw, 0) == (value, len(raw))
    assert primitives.write_varlong(value) == raw
    assert primitives.read_varlong(raw, 0) == (value, len(raw))


@pytest.mark.parametrize(("value", "data"), [(2**63 - 1, "feffffffffffffffff01"), (-(2**63), "ffffffffffffffffff01")])
def test_varlong(value, data):
    raw = bytes.fromhex(data)
    assert primitives.write_varlong(value) == raw
    assert primitives.read_varlong(raw, 0) == (value, len(raw))


def join_request() -> m.JoinGroupRequest:
    return m.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10000,
        rebalance_timeout_ms=60000,
        protocol_type="consumer",
        protocols=[m.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION_V0)],
    )


REQUESTS = {
    "api_versions_v3": (
        1,
        3,
        m.ApiVersionsRequest(client_software_name="x", client_software_version="1"),
        "00000011 0012 0003 00000001 0001 63 00 0278 0231 00",
    ),
    "api_versions_v5_of_nobody": (
        1,
        5,
        m.ApiVersionsRequest(client_software_name="x", client_software_version="1"),
        "00000016 0012 0005 00000001 0001 63 00 0278 0231 00 ffffffff 00",
    ),
    "api_versions_v5": (
        1,
        5,
        m.ApiVersionsRequest(client_software_name="x", client_software_version="1", cluster_id="clu", node_id=7),
        "00000019 0012 0005 00000001 0001 63 00 0278 0231 04636c75 00000007 00",
    ),
    "delete_groups_v3": (
        2,
        3,
        m.DeleteGroupsRequest(groups_names=["g"]),
        "00000010 002a 0003 00000002 0001 63 00 02 0267 00",
    ),
    "join_group_v5": (
        2,
        5,
        join_request(),
        """00000040 000b 0005 00000002 0001 63 0001 67 00002710 0000ea60 0000 ffff 0008 636f6e73756d6572 00000001
        0005 72616e6765 0000000d 0000 00000001 0001 74 ffffffff""",
    ),
    "join_group_v6": (
        2,
        6,
        join_request(),
        """00000038 000b 0006 00000002 0001 63 00 02 67 00002710 0000ea60 01 00 09 636f6e73756d6572 02
        06 72616e6765 0e 0000 00000001 0001 74 ffffffff 00 00""",
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_request(name):
    correlation_id, version, message, data = REQUESTS[name]
    frame = bytes.fromhex(data)
    assert request_frame(correlation_id, "c", message, version) == frame
    header, offset = read_request_header(frame[4:])
    assert header == RequestHeader(message.API_KEY, version, correlation_id, "c")
    assert decode(type(message), version, frame[4:], offset) == message


RESPONSES = {
    "api_versions_v0_fallback": (
        1,
        0,
        m.ApiVersionsResponse(error_code=35, api_keys=[m.ApiVersion(api_key=18, min_version=0, max_version=5)]),
        "00000010 00000001 0023 00000001 0012 0000 0005",
    ),
    "api_versions_v5_rebootstrap_required": (
        7,
        5,
        m.ApiVersionsResponse(error_code=129),
        "0000000c 00000007 0081 01 00000000 00",
    ),
    "delete_groups_v3": (
        2,
        3,
        m.DeleteGroupsResponse(
            results=[
                m.DeletableGroupResult(group_id="a", error_code=68, error_message="no"),
                m.DeletableGroupResult(group_id="b"),
            ]
        ),
        "00000019 00000002 00 00000000 03 0261 0044 036e6f 00 0262 0000 00 00 00",
    ),
    "join_group_v4_member_id_required": (
        2,
        4,
        m.JoinGroupResponse(error_code=79, member_id="c-1"),
        "0000001b 00000002 00000000 004f ffffffff 0000 0000 0003 632d31 00000000",
    ),
    "join_group_v7_member_id_required": (
        2,
        7,
        m.JoinGroupResponse(error_code=79, member_id="c-1", protocol_name=None),
        "00000018 00000002 00 00000000 004f ffffffff 00 00 01 04 632d31 01 00",
    ),
    "offset_fetch_v1_nothing_committed": (
        3,
        1,
        m.OffsetFetchResponse(
            topics=[
                m.OffsetFetchResponseTopic(
                    name="t", partitions=[m.OffsetFetchResponsePartition(partition_index=0, committed_offset=-1)]
                )
            ]
        ),
        "0000001f 00000003 00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0000",
    ),
    "offset_fetch_v8_nothing_committed": (
        3,
        8,
        m.OffsetFetchResponse(
            groups=[
                m.OffsetFetchResponseGroup(
                    group_id="g",
                    topics=[
                        m.OffsetFetchResponseTopics(
                            name="t",
                            partitions=[m.OffsetFetchResponsePartitions(partition_index=0, committed_offset=-1)],
                        )
                    ],
                )
            ]
        ),
        """00000029 00000003 00 00000000 02 02 67 02 02 74 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00
        0000 00 00""",
    ),
    "find_coordinator_v4": (
        4,
        4,
        m.FindCoordinatorResponse(
            coordinators=[m.Coordinator(key="g", node_id=1, host="h", port=9092, error_message=None)]
        ),
        "0000001b 00000004 00 00000000 02 02 67 00000001 02 68 00002384 0000 00 00 00",
    ),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_response(name):
    correlation_id, version, message, data = RESPONSES[name]
    frame = bytes.fromhex(data)
    assert response_frame(correlation_id, message, version) == frame
    assert read_response(frame[4:], type(message), version) == (correlation_id, message)


@pytest.mark.parametrize(
    ("version", "subscription", "data"),
    [
        (0, Subscription(("t",)), "0000 00000001 0001 74 ffffffff"),
        (0, Subscription(("t",), b""), "0000 00000001 0001 74 00000000"),
        (
            3,
            Subscription(("t",), None, (TopicPartitions("t", (0, 2)),), 7, None),
            "0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000002 00000007 ffff",
        ),
    ],
)
def test_subscription(version, subscription, data):
    raw = bytes.fromhex(data)
    assert encode_subscription(subscription, version) == raw
    assert decode_subscription(raw) == subscription


def test_assignment():
    raw = bytes.fromhex("0000 00000001 0001 74 00000002 00000000 00000001 ffffffff")
    assignment = Assignment((TopicPartitions("t", (0, 1)),))
    assert encode_assignment(assignment, 0) == raw
    assert decode_assignment(raw) == assignment


@pytest.mark.parametrize(
    ("key", "data"),
    [(OffsetCommitKey("g", "t", 0), "0001 0001 67 0001 74 00000000"), (GroupMetadataKey("g"), "0002 0001 67")],
)
def test_key(key, data):
    raw = bytes.fromhex(data)
    assert encode_key(key) == raw
    assert decode_key(raw) == key


OFFSET, GROUP = OffsetCommitKey("g", "t", 0), GroupMetadataKey("g")

VALUES = {
    "offset_v3": (
        OFFSET,
        OffsetCommitValue(42, -1, "m", 1000),
        "0003 000000000000002a ffffffff 0001 6d 00000000000003e8",
    ),
    "offset_v1_with_expiry": (
        OFFSET,
        OffsetCommitValue(42, -1, "m", 1000, 2000),
        "0001 000000000000002a 0001 6d 00000000000003e8 00000000000007d0",
    ),
    "empty_group": (
        GROUP,
        GroupMetadataValue("", 0, None, None, 1000, ()),
        "0003 0000 00000000 ffff ffff 00000000000003e8 00000000",
    ),
    "group_of_one": (
        GROUP,
        GroupMetadataValue(
            protocol_type="consumer",
            generation=1,
            protocol="range",
            leader="c-1",
            current_state_timestamp=1000,
            members=(
                MemberMetadata(
                    member_id="c-1",
                    client_id="c",
                    client_host="/127.0.0.1",
                    rebalance_timeout=60000,
                    session_timeout=10000,
                    subscription=SUBSCRIPTION_V0,
                    assignment=encode_assignment(Assignment((TopicPartitions("t", (0,)),)), 0),
                ),
            ),
        ),
        """0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0003 632d31 00000000000003e8 00000001 0003 632d31 ffff
        0001 63 000a 2f3132372e302e302e31 0000ea60 00002710 0000000d 000000000001000174ffffffff
        00000015 0000000000010001740000000100000000ffffffff""",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_value(name):
    key, value, data = VALUES[name]
    raw = bytes.fromhex(data)
    assert encode_value(value) == raw
    assert decode_value(key, raw) == value
