"""Frames that are no requests: they are not answered, their connections are closed, and nobody else minds.

What is odd, but is a request to Apache Kafka all the same, is in `odd_requests`.
"""

import contextlib
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kcoord.check.frames import ask, header_of
from kcoord.check.malformed import SIX_BYTES, Wrong, bad_varints, cut_short, negative_tags, nulls, too_long
from kcoord.check.outcome import NotApplicable, fail
from kcoord.check.rule import APIS, rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import ApiVersionsRequest, HeartbeatRequest, JoinGroupRequest
from wire.schema import Message

ABOUT: Final = {
    "members": ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    "groups": ("OffsetCommit", "OffsetFetch", "OffsetDelete", "DescribeGroups", "ListGroups", "DeleteGroups"),
    "topics": ("Metadata", "CreateTopics", "DeleteTopics", "CreatePartitions", "DescribeTopicPartitions"),
    "settings": ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "ListConfigResources"),
    "records": ("Produce", "Fetch", "ListOffsets", "DeleteRecords", "OffsetForLeaderEpoch", "InitProducerId"),
    "cluster": ("ApiVersions", "DescribeCluster", "DescribeLogDirs"),
}
"""The APIs, by what they are about. What comes before a connection is of use, SASL, is not among them."""
CLOSING: Final = 10.0
"""Seconds in which a broker must have closed a connection."""

PARSED: Final = "Apache Kafka SocketServer.processCompletedReceives, RequestContext.parseRequest"
GENERATED: Final = f"{PARSED}, and the readers that MessageDataGenerator makes"
RECEIVED: Final = "Apache Kafka NetworkReceive.readFrom"


def offered_about(world: World, about: str) -> list[tuple[type[Message], list[int]]]:
    """Return those of the APIs that are offered, each with its oldest, its first flexible, and its newest version.

    Raises NotApplicable if there are none.
    """
    found = []
    for cls in (APIS[name] for name in ABOUT[about]):
        with contextlib.suppress(NotApplicable):
            versions = world.offered(cls)
            first = [version for version in versions if version in cls.FLEXIBLE][:1]
            found.append((cls, sorted({versions[0], *first, versions[-1]})))
    if not found:
        raise NotApplicable(f"none of {', '.join(ABOUT[about])} is advertised")
    return found


async def refused(world: World, frames: Iterable[tuple[str, bytes]]) -> None:
    """See that each of these payloads has its connection closed without an answer, while others are served."""
    other, group = await world.client(), world.group()
    beat = HeartbeatRequest(group_id=group, member_id="nobody")
    version = world.offered(HeartbeatRequest)[0]
    usual = (await ask(other, beat, version)).error_code
    for what, payload in frames:
        async with await world.client() as client:
            await client.send_frame(payload)
            if not await client.is_closed(CLOSING):
                fail(f"the connection is not closed, though {what}")
    assert (await ask(other, beat, version)).error_code == usual
    assert (await ask(await world.client(), beat, version)).error_code == usual


def framed(
    world: World, about: str, make: Callable[[type[Message], int], Iterable[Wrong]]
) -> Iterator[tuple[str, bytes]]:
    """Yield payloads with a whole header and each of the bodies that `make` yields, of these APIs."""
    for cls, versions in offered_about(world, about):
        name = cls.__name__.removesuffix("Request")
        for version in versions:
            for wrong in make(cls, version):
                yield f"in {name} {version}, {wrong.what}", header_of(cls, version, 7) + wrong.body


@rule(
    id="malformed-1",
    api="Connection",
    says="A request that ends before its last field does is not answered: its connection is closed, and no other.",
    source=GENERATED,
    versions="0+",
    topics=(),
    connections=3,
    each={"about": ABOUT},
    also="A14",
)
async def malformed_1(world: World, about: str) -> None:
    await refused(world, framed(world, about, cut_short))


@rule(
    id="malformed-2",
    api="Connection",
    says="A null where there may be none is not answered: its connection is closed, and no other.",
    source=GENERATED,
    versions="0+",
    topics=(),
    connections=3,
    each={"about": ABOUT},
    also="A18",
)
async def malformed_2(world: World, about: str) -> None:
    await refused(world, framed(world, about, nulls))


@rule(
    id="malformed-3",
    api="Connection",
    says="A length or a count beyond the bytes that are left is not answered: its connection is closed, and no other.",
    source=GENERATED,
    versions="0+",
    topics=(),
    connections=3,
    each={"about": ABOUT},
    also="A19",
)
async def malformed_3(world: World, about: str) -> None:
    await refused(world, framed(world, about, too_long))


@rule(
    id="malformed-4",
    api="Connection",
    says="A varint of six bytes, or tagged fields that cannot be, are not answered: the connection is closed.",
    source=f"KIP-482; {GENERATED}, ByteUtils.readUnsignedVarint",
    versions="0+",
    topics=(),
    connections=3,
    each={"about": ABOUT},
    also="A27",
)
async def malformed_4(world: World, about: str) -> None:
    await refused(world, framed(world, about, bad_varints))


@rule(
    id="malformed-10",
    api="Connection",
    says="A negative number of tagged fields is not answered: its connection is closed, and no other.",
    source=f"KIP-482; {GENERATED}",
    versions="0+",
    topics=(),
    connections=3,
    each={"about": ABOUT},
    since="4.4",
)
async def malformed_10(world: World, about: str) -> None:
    await refused(world, framed(world, about, negative_tags))


@rule(
    id="malformed-5",
    api="Connection",
    says="A version beside those that are offered is not answered: its connection is closed, and no other.",
    source=f"{PARSED}: UnsupportedVersionException",
    versions="0+",
    topics=(),
    connections=3,
    each={"about": ABOUT},
    also="A11 A12",
)
async def malformed_5(world: World, about: str) -> None:
    await refused(
        world,
        [
            (f"{cls.__name__} {version} is not offered", header_of(cls, version, 7) + bytes(40))
            for cls, _ in offered_about(world, about)
            if cls is not ApiVersionsRequest
            for version in world.unserved(cls)
        ],
    )


# --- headers and sizes ---


@rule(
    id="malformed-6",
    api="Connection",
    says="An API that does not exist is not answered: its connection is closed, and no other.",
    source=f"{PARSED}: ApiKeys.forId",
    versions="0+",
    topics=(),
    connections=3,
    also="A9 A10",
)
async def malformed_6(world: World) -> None:
    keys = (999, -1, 32767, -32768)
    await refused(world, [(f"{key} is no API", struct.pack(">hhih", key, 0, 7, 1) + b"c" + bytes(40)) for key in keys])


@rule(
    id="malformed-7",
    api="Connection",
    says="A frame that ends within its header is not answered: its connection is closed, and no other.",
    source="Apache Kafka RequestHeader.parse",
    versions="0+",
    topics=(),
    connections=3,
    also="A13 A17",
)
async def malformed_7(world: World) -> None:
    cls, version = HeartbeatRequest, world.offered(HeartbeatRequest)[-1]
    whole = header_of(cls, version, 7)
    tag_counts = {"a number of tags of six bytes": SIX_BYTES, "too many tags": b"\x7f"}
    await refused(
        world,
        [
            *((f"there are {size} bytes", whole[:size]) for size in range(len(whole))),
            ("the client id is longer than the frame", whole[:8] + b"\x7f\xff" + whole[10:]),
            *((f"the header has {what}", whole[:-1] + tags + bytes(40)) for what, tags in tag_counts.items()),
        ],
    )


@rule(
    id="malformed-8",
    api="Connection",
    says="A frame of a negative size, or of more than the broker takes, has its connection closed before it is read.",
    source=f"{RECEIVED}: InvalidReceiveException",
    versions="0+",
    topics=(),
    settings={"socket.request.max.bytes": 104_857_600},
    also="A15 A16",
)
async def malformed_8(world: World) -> None:
    other = await world.client()
    told = await ask(other, ApiVersionsRequest(), 0)
    starts = {
        "a size of -1": struct.pack(">i", -1),
        "the least size": struct.pack(">i", -(2**31)),
        "one byte too many": struct.pack(">i", 104_857_601),
        "the greatest size": struct.pack(">i", 2**31 - 1),
        "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "the beginning of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    }
    for what, start in starts.items():
        async with await world.client() as client:
            await client.send_bytes(start)
            if not await client.is_closed(CLOSING):
                fail(f"the connection is not closed, though it begins with {what}")
    assert await ask(other, ApiVersionsRequest(), 0) == told
    assert await ask(await world.client(), ApiVersionsRequest(), 0) == told


@rule(
    id="malformed-9",
    api="JoinGroup",
    says="A member whose connection is closed for what it sent behind its JoinGroup is still in the group.",
    source=f"{PARSED}; Apache Kafka GroupMetadataManager: a member is not bound to a connection",
    versions="0-9",
    cost=3.5,
    also="A29",
)
async def malformed_9(world: World) -> None:
    member = await world.stable1(world.group())
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    assert newcomer.call is not None
    await newcomer.client.send_frame(struct.pack(">hh", JoinGroupRequest.API_KEY, 0))
    await member.start_join()
    await member.finish_join()
    assert set(member.listed) == {member.id, newcomer.id}
    await newcomer.finish_join()
    assert await newcomer.client.is_closed(CLOSING)
    assert await member.heartbeat() is ErrorCode.NONE
