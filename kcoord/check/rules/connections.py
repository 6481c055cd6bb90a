"""One connection: the order of answers, idle ones, versions that are told and versions that are refused."""

import struct

import trio

from kcoord.check.member import settle
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.tags import ask_with_tags, compact
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.header import request_frame
from wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    ListGroupsRequest,
    MetadataRequest,
)

IN_ORDER = "Apache Kafka SocketServer: a connection is not read from while one of its requests is being served"
IDLE = "connections.max.idle.ms; Apache Kafka Selector.IdleExpiryManager"
TOLD = "Apache Kafka KafkaApis.handleApiVersionsRequest"
FUTURE = "KIP-511; Apache Kafka RequestContext.parseRequest, ApiVersionsRequest.getErrorResponse"
PARSED = "Apache Kafka RequestContext.parseRequest: UnsupportedVersionException"
API_VERSIONS, JOIN_GROUP = ApiVersionsRequest.API_KEY, JoinGroupRequest.API_KEY
OF_GROUPS = {3, 8, 9, 10, 11, 12, 13, 14, API_VERSIONS}
"""The keys of Metadata, ApiVersions, and what consumers send to their coordinator."""


async def api_versions_of(client: Client, version: int = 0) -> dict[int, tuple[int, int]]:
    """Return the lowest and highest version that the broker tells, by API key."""
    request = ApiVersionsRequest()
    if version >= 3:
        request = ApiVersionsRequest(client_software_name="case", client_software_version="1")
    answer = await client.call(request, version)
    assert answer.error_code == ErrorCode.NONE
    return {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}


# --- the order of answers ---


@rule(
    id="connections-3",
    api="Connection",
    says="What comes behind a JoinGroup that waits is answered after it, in the order in which it came.",
    source=IN_ORDER,
    versions="0+",
    cost=3.5,
    also="A24",
)
async def connections_3(world: World) -> None:
    member = await world.stable1(world.group())
    client = await world.client()
    pending = await (await client.join(member.group)).answer()
    held = await client.join(member.group, pending.member_id)
    behind = [
        await client.send(MetadataRequest(topics=[]), 5),
        await client.send(HeartbeatRequest(group_id=member.group, member_id="nobody"), 3),
        await client.send(ListGroupsRequest(), 2),
    ]
    assert await held.parked()
    assert [call.response for call in behind] == [None, None, None]
    await member.start_join()
    joined, topics, heartbeat, groups = [await call.answer() for call in (held, *behind)]
    assert joined.error_code == ErrorCode.NONE
    assert topics.topics == []
    assert heartbeat.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.error_code == ErrorCode.NONE


@rule(
    id="connections-4",
    api="Connection",
    says="Of four hundred requests in one write each is answered, in their order.",
    source=IN_ORDER,
    versions="0+",
    also="A23",
)
async def connections_4(world: World) -> None:
    client, group = await world.client(), world.group()
    requests = (
        (MetadataRequest(topics=[]), 5),
        (ApiVersionsRequest(), 0),
        (HeartbeatRequest(group_id=group, member_id="m"), 4),
        (FindCoordinatorRequest(key=group), 1),
    )
    for request, version in requests:
        world.offered(type(request), [version])
    frames = [request_frame(number, "c", *requests[number % len(requests)]) for number in range(400)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_bytes, b"".join(frames))
        numbers = [struct.unpack_from(">i", await client.read_frame())[0] for _ in frames]
    assert numbers == list(range(400))


@rule(
    id="connections-5",
    api="Connection",
    says="A request may come one byte at a time.",
    source="Apache Kafka NetworkReceive",
    versions="0+",
    also="A28",
)
async def connections_5(world: World) -> None:
    client = await world.client()
    world.offered(MetadataRequest, [9])
    for number in range(3):
        for byte in request_frame(number, "slow", MetadataRequest(topics=[]), 9):
            await client.send_bytes(bytes([byte]))
        assert struct.unpack_from(">i", await client.read_frame())[0] == number


@rule(
    id="connections-6",
    api="Connection",
    says="A connection on which no byte moves for long is closed, also if its JoinGroup waits; the group goes on.",
    source=IDLE,
    versions="0+",
    cost=13.5,
    settings={"connections.max.idle.ms": 10_000},
)
async def connections_6(world: World) -> None:
    member = await world.stable1(world.group(), rebalance=40_000)
    idle = await world.client()
    newcomer = await world.member(member.group, rebalance=40_000)
    await newcomer.start_join()
    for _ in range(4):
        await trio.sleep(2)
        assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert not await idle.is_closed(within=1)
    assert not await newcomer.client.is_closed(within=0.5)
    assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await idle.is_closed(within=1.5)
    assert await newcomer.client.is_closed(within=1.5)
    newcomer.client = await world.client()
    await newcomer.start_join()
    await member.start_join()
    for one in (member, newcomer):
        await one.finish_join()
    assert set(member.listed) == {member.id, newcomer.id}
    await settle([member, newcomer])


# --- versions ---


@rule(
    id="connections-7",
    api="ApiVersions",
    says="Every version of ApiVersions tells the same, and what consumers need is among it.",
    source=TOLD,
    versions="0-5",
)
async def connections_7(world: World) -> None:
    client = await world.client()
    table = await api_versions_of(client)
    assert table.keys() >= OF_GROUPS
    assert all(0 <= low <= high for low, high in table.values())
    for version in world.offered(ApiVersionsRequest, range(1, 6)):
        assert await api_versions_of(client, version) == table


@rule(
    id="connections-8",
    api="ApiVersions",
    says="An ApiVersions of a version that is yet to come is answered in version 0, which tells the versions of it.",
    source=FUTURE,
    versions="0+",
    each={"version": (99, 32767)},
    also="A6 A7",
)
async def connections_8(world: World, version: int) -> None:
    client = await world.client()
    own = (await api_versions_of(client))[API_VERSIONS]
    await client.send_frame(struct.pack(">hhih", API_VERSIONS, version, 5, 1) + b"x" + b"\x00")
    only_this_api = struct.pack(">ihihhh", 5, ErrorCode.UNSUPPORTED_VERSION, 1, API_VERSIONS, *own)
    assert await client.read_frame() == only_this_api
    assert (await api_versions_of(client))[API_VERSIONS] == own


@rule(
    id="connections-9",
    api="ApiVersions",
    says="Tagged fields that nobody knows change nothing of an ApiVersions.",
    source=f"KIP-482; {TOLD}",
    versions="3-5",
    each={"version": (3, 4, 5)},
)
async def connections_9(world: World, version: int) -> None:
    client = await world.client()
    software = compact("case-client") + compact("1.0")
    nobody = compact(None) + struct.pack(">i", -1) if version >= 5 else b""
    answer = await ask_with_tags(client, ApiVersionsRequest, version, software, nobody)
    assert isinstance(answer, ApiVersionsResponse)
    assert answer.error_code == ErrorCode.NONE
    table = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
    assert table == await api_versions_of(client)


@rule(
    id="connections-10",
    api="JoinGroup",
    says="A client that has no client id, or an empty one, is given a member id that begins with a hyphen.",
    source="KIP-394; Apache Kafka ClassicGroup.generateMemberId",
    versions="4-9",
    each={"client_id": (None, "")},
    also="A22",
)
async def connections_10(world: World, client_id: str | None) -> None:
    client = await world.client(client_id)
    assert await api_versions_of(client)
    answer = await (await client.join(world.group())).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("-")


@rule(
    id="connections-11",
    api="Connection",
    says="A request of a version above the highest one that is told is not answered, and the connection is closed.",
    source=PARSED,
    versions="0+",
)
async def connections_11(world: World) -> None:
    client = await world.client()
    _, newest = (await api_versions_of(client))[JOIN_GROUP]
    await client.send_frame(struct.pack(">hhih", JOIN_GROUP, newest + 1, 9, 1) + b"x" + b"\x00" * 40)
    assert await client.is_closed()
