"""Requests that no client sends, and that Apache Kafka answers: bytes left over, bad UTF-8, lengths that are odd."""

import struct
from typing import Final

from kcoord.check.frames import ask, exchange
from kcoord.check.rule import rule
from kcoord.check.rules.malformed import ABOUT, PARSED, offered_about
from kcoord.check.tags import many, uvarint
from kcoord.check.topics import TOPIC
from kcoord.check.world import World
from wire.codec import encode
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    MetadataRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    SyncGroupRequest,
)
from wire.schema import Message

READ: Final = "Apache Kafka ByteBufferAccessor, and the readers that MessageDataGenerator makes"
VARINTS: Final = f"KIP-482; Apache Kafka ByteUtils.readUnsignedVarint; {READ}"
HARMLESS: Final[dict[str, dict[str, int]]] = {
    "Produce": {"acks": 1},
    "DescribeTopicPartitions": {"response_partition_limit": 1},
}
"""What a request needs beside its defaults, so that it is answered, and shortly."""
NO_UTF_8: Final = {
    b"\xff": 1,
    b"\xff\xfe\x80": 3,
    b"\xe2\x82": 1,
    b"\xe2\x82\xe2\x82": 2,
    b"\xf0\x9f\x98": 1,
    b"\xc0\x80": 2,
    b"\xe0\x80\x80": 3,
    b"\xf4\x90\x80\x80": 4,
    b"\xed\xa0\x80": 1,
    b"\xed\xa0\x80\xed\xb0\x80": 2,
    b"\xed\xa0": 1,
    b"\xed\xbf\xc0": 2,
}
"""Bytes, and how many characters U+FFFD Java makes of them."""


def shortest(cls: type[Message], version: int) -> Message:
    """Return a request that changes nothing: lists are empty, and what may be null is, other than lists."""
    if cls is OffsetFetchRequest and version >= 8:  # of no groups, brokers before Kafka 4.1 give no answer
        return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="kcoord-check")])
    nulls = {f.name: None for f in cls.FIELDS if version in f.nullable and not isinstance(f.default, list)}
    extra = HARMLESS.get(cls.__name__.removesuffix("Request"), {})
    return cls(**{name: value for name, value in nulls.items() if name not in extra}, **extra)


@rule(
    id="odd-requests-1",
    api="Connection",
    says="Bytes behind the last field of a request are read over.",
    source=PARSED,
    versions="0+",
    topics=(),
    each={"about": ABOUT},
    also="A20",
)
async def odd_requests_1(world: World, about: str) -> None:
    client = await world.client()
    for cls, versions in offered_about(world, about):
        for version in versions:
            body = encode(shortest(cls, version), version)
            odd = await exchange(client, cls, version, body + b"\x01\x00left over")
            usual = await exchange(client, cls, version, body)
            assert getattr(odd, "error_code", 0) == getattr(usual, "error_code", 0)


@rule(
    id="odd-requests-2",
    api="Connection",
    says="Any negative length is that of a null, where there may be one.",
    source=READ,
    versions="0+",
    connections=1,
)
async def odd_requests_2(world: World) -> None:
    client = await world.client()
    world.offered(MetadataRequest, [1])
    for count in (-1, -2, -(2**31)):
        answer = await exchange(client, MetadataRequest, 1, struct.pack(">i", count))
        assert world.t in {each.name for each in answer.topics}
    world.offered(MetadataRequest, [9])
    for negative in (b"\x00", b"\xff\xff\xff\xff\x0f", b"\x81\x80\x80\x80\x08"):
        answer = await exchange(client, MetadataRequest, 9, negative + b"\x00\x00\x00\x00")
        assert world.t in {each.name for each in answer.topics}
    name = world.t.encode()
    resource = struct.pack(">ibh", 1, TOPIC, len(name)) + name
    world.offered(DescribeConfigsRequest, [1])
    for count in (-1, -7):
        answer = await exchange(client, DescribeConfigsRequest, 1, resource + struct.pack(">i", count) + b"\x00")
        assert len(answer.results[0].configs) > 1
    protocol = encode(SyncGroupRequest(group_id=world.group(), protocol_name="range"), 5)
    at = protocol.index(b"\x00\x06range")
    world.offered(SyncGroupRequest, [5])
    body = protocol[:at] + b"\xff\xff\xff\xff\x0f" + protocol[at + 1 :]
    refused = await exchange(client, SyncGroupRequest, 5, body)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@rule(
    id="odd-requests-3",
    api="DescribeGroups",
    says="Bytes that are no UTF-8 become the character U+FFFD, as often as Java's decoder has it.",
    source=f"{READ}: new String(bytes, UTF_8)",
    versions="0-6",
    topics=(),
    each={"version": (0, 5)},
)
async def odd_requests_3(world: World, version: int) -> None:
    client = await world.client()
    texts = [b"kcoord-check " + raw + b"." for raw in NO_UTF_8]
    if version < 5:
        body = struct.pack(">i", len(texts)) + b"".join(struct.pack(">h", len(each)) + each for each in texts)
    else:
        body = many(*(uvarint(len(each) + 1) + each for each in texts)) + b"\x00\x00"
    answer = await exchange(client, DescribeGroupsRequest, version, body)
    assert sorted(each.group_id for each in answer.groups) == sorted(
        f"kcoord-check {chr(0xFFFD) * count}." for count in NO_UTF_8.values()
    )


@rule(
    id="odd-requests-4",
    api="JoinGroup",
    says="A client id need not be UTF-8; what is not becomes the character U+FFFD, also in the member id.",
    source="Apache Kafka RequestHeader.parse, ClassicGroup.generateMemberId",
    versions="4-9",
    topics=(),
    each={"version": (4, 9)},
)
async def odd_requests_4(world: World, version: int) -> None:
    request = JoinGroupRequest(
        group_id=world.group(),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    client, raw = await world.client(), b"c\xff\xed\xa0\x80"
    answer = await exchange(client, JoinGroupRequest, version, encode(request, version), client_id=raw)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("c\ufffd\ufffd-")


@rule(
    id="odd-requests-5",
    api="DescribeGroups",
    says="A varint may have more bytes than it needs, five at most, and of these only 32 bits count.",
    source=VARINTS,
    versions="5-6",
    topics=(),
)
async def odd_requests_5(world: World) -> None:
    client, group = await world.client(), world.group().encode()
    sizes = (len(group) + 1, 2)
    for last in (b"\x00", b"\x80\x00", b"\x80\x80\x00", b"\x80\x80\x80\x00", b"\x80\x80\x80\x10", b"\x80\x80\x80\x70"):
        length, count = (bytes([size | 0x80]) + last for size in sizes)
        answer = await exchange(client, DescribeGroupsRequest, 5, count + length + group + b"\x00\x80\x00")
        assert [each.group_id for each in answer.groups] == [group.decode()]


@rule(
    id="odd-requests-6",
    api="Heartbeat",
    says="Tagged fields that nobody knows may come twice, in any order, and with any number.",
    source=VARINTS,
    versions="4",
    topics=(),
    also="A26",
)
async def odd_requests_6(world: World) -> None:
    client = await world.client()
    body = encode(HeartbeatRequest(group_id=world.group(), member_id="nobody"), 4)[:-1]
    for tags in (
        b"\x02\x5a\x01a\x5a\x01b",
        b"\x02\x5b\x01a\x5a\x01b",
        b"\x01\xff\xff\xff\xff\x0f\x00",
        b"\x01\x00\x00",
        b"\x81\x00\x80\x00\x81\x80\x00x",
    ):
        answer = await exchange(client, HeartbeatRequest, 4, body + tags, tags)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="odd-requests-7",
    api="Fetch",
    says="The size that comes with a tagged field is not looked at, if the field is known.",
    source=f"KIP-482; {READ}",
    versions="12-18",
    topics=(),
    each={"version": (12, 18)},
)
async def odd_requests_7(world: World, version: int) -> None:
    client = await world.client()
    body = encode(FetchRequest(), version)[:-1]
    for size in (b"\x02", b"\x00", b"\x01", b"\x09", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f"):
        tags = b"\x02\x00" + size + b"\x02c" + b"\x5a\x03abc"
        assert await exchange(client, FetchRequest, version, body + tags) == FetchResponse()
        # The second tag is read by its own size again, so this frame does not end within it.
        with_one_more = await exchange(client, FetchRequest, version, body + tags + b"more")
        assert with_one_more == FetchResponse()


@rule(
    id="odd-requests-8",
    api="DescribeGroups",
    says="Any byte but zero is true.",
    source=READ,
    versions="3-5",
    topics=(),
    each={"version": (3, 5)},
)
async def odd_requests_8(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    for byte in (0, 1, 2, 0x7F, 0x80, 0xFF):
        body = bytearray(encode(DescribeGroupsRequest(groups=[group]), version))
        body[-1 if version < 5 else -2] = byte
        (found,) = (await exchange(client, DescribeGroupsRequest, version, bytes(body))).groups
        told = found.authorized_operations != -(2**31)
        assert told is (byte != 0)


@rule(
    id="odd-requests-9",
    api="Connection",
    says="A correlation id may be any number, also one that came before, and is given back as it is.",
    source="Apache Kafka RequestHeader.toResponseHeader",
    versions="0+",
    topics=(),
    also="A21",
)
async def odd_requests_9(world: World) -> None:
    client = await world.client()
    beat = HeartbeatRequest(group_id=world.group(), member_id="nobody")
    for version in world.offered(HeartbeatRequest):
        for number in (-1, 0, 2**31 - 1, -(2**31), 5, 5):
            answer = await exchange(client, HeartbeatRequest, version, encode(beat, version), number=number)
            assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="odd-requests-10",
    api="ApiVersions",
    says="Name and version of a client are of letters, digits, dots and hyphens, and begin and end with no such sign.",
    source="KIP-511; Apache Kafka ApiVersionsRequest.isValid",
    versions="3-5",
    topics=(),
    each={"version": (3, 4, 5)},
    also="A4 A5",
)
async def odd_requests_10(world: World, version: int) -> None:
    client = await world.client()
    refused = ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    for good in ("a", "a-b.c1", "9", "a--b", "A.b"):
        for name, software in ((good, "1"), ("a", good)):
            request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
            assert (await ask(client, request, version)).error_code == ErrorCode.NONE
    for bad in ("", "a b", "-x", "x-", ".x", "x.", "a_b", "a/b", "\u00e9", "a\n"):
        for name, software in ((bad, "1"), ("a", bad)):
            request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
            assert await ask(client, request, version) == refused
