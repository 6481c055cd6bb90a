"""Cases from the field: large groups, order on a connection, encodings, timers, addresses.

Kinds: K sizes, T connections, V versions and encodings, X timers, Y addresses. The letters and numbers only name the
cases. What needs real sockets is in the integration tests.
"""

import struct
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import pytest
import trio

from tests.scenarios.harness import Client, Member, World, settle
from wire.errors import ErrorCode
from wire.header import read_response, request_frame
from wire.messages import (
    REQUESTS,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    HeartbeatRequest,
    ListGroupsRequest,
    MetadataRequest,
)


class MakeWorld(Protocol):
    def __call__(self, **settings: object) -> AbstractAsyncContextManager[World]: ...


# --- K: many members, many groups ---


async def test_k1_a_large_group_comes_to_rest(world: World):
    """150 members with 4 KiB of metadata each; then every fifth leaves, and the others join again."""
    group, size = world.group(), 150
    what = {"protocols": [("range", b"\x00" * 4096)], "session": 60_000, "rebalance": 60_000}
    members = await world.completing(group, *[None] * size, **what)
    assert {member.generation for member in members} == {members[0].generation}
    assert len({member.id for member in members}) == size
    assert sorted(members[0].listed) == sorted(member.id for member in members)
    assert all(member.listed == () for member in members[1:])
    await settle(members)
    described = await members[0].client.describe(group)
    assert (described.group_state, len(described.members)) == ("Stable", size)
    before = members[0].generation
    for member in members[1::5]:
        (left,) = (await member.client.leave(group, member.id)).members
        assert left.error_code == ErrorCode.NONE
    stayed = [member for number, member in enumerate(members) if number % 5 != 1]
    for member in stayed:
        assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    for member in stayed:
        await member.start_join()
    for member in stayed:
        await member.finish_join()
    assert {member.generation for member in stayed} == {before + 1}
    await settle(stayed)
    described = await members[0].client.describe(group)
    assert described.group_state == "Stable"
    assert {one.member_id: one.member_assignment for one in described.members} == {
        member.id: b"for " + member.id.encode() for member in stayed
    }


@pytest.mark.parametrize("instance", [None, "third"])
async def test_k3_a_full_group_takes_nobody(make_world: MakeWorld, instance: str | None):
    async with make_world(group_max_size=2) as world:
        leader, follower = await world.stable2(world.group())
        third = await world.member(leader.group, instance=instance)
        answer = await (await third.client.join(third.group, instance=instance)).answer()
        assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        assert (answer.generation_id, answer.leader, answer.members) == (-1, "", [])
        for member in (leader, follower):
            assert await member.heartbeat() is ErrorCode.NONE
        described = await leader.client.describe(leader.group)
        assert (described.group_state, len(described.members)) == ("Stable", 2)
        await follower.client.leave(follower.group, follower.id)
        assert await (await third.start_join()).parked()
        await leader.start_join()
        for member in (leader, third):
            await member.finish_join()
        assert set(leader.listed) == {leader.id, third.id}
        await settle([leader, third])


# --- T: one connection ---


async def test_t2_answers_come_in_the_order_of_the_requests(world: World):
    """Three requests behind a held JoinGroup: each would be answered at once, none is before the join."""
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
    answers = [await call.answer() for call in (held, *behind)]
    assert answers[0].error_code == ErrorCode.NONE
    assert answers[1].topics == []
    assert answers[2].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert answers[3].error_code == ErrorCode.NONE


async def test_t2_four_hundred_requests_in_one_write(world: World):
    client = await world.client()
    frames = []
    for number in range(400):
        kind = number % 4
        if kind == 0:
            frames.append(request_frame(number, "c", MetadataRequest(topics=[]), 5))
        elif kind == 1:
            frames.append(request_frame(number, "c", ApiVersionsRequest(), 0))
        elif kind == 2:
            frames.append(request_frame(number, "c", HeartbeatRequest(group_id="g", member_id="m"), 4))
        else:
            frames.append(request_frame(number, "c", FindCoordinatorRequest(key=f"g{number}"), 1))
    data = b"".join(frames)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_bytes, data)
        numbers = [struct.unpack_from(">i", await client.read_frame())[0] for _ in frames]
    assert numbers == list(range(400))


async def test_t2_one_byte_at_a_time(world: World):
    client = await world.client()
    for number in range(3):
        for byte in request_frame(number, "slow", MetadataRequest(topics=[]), 9):
            await client.send_bytes(bytes([byte]))
        assert struct.unpack_from(">i", await client.read_frame())[0] == number


async def test_t4_idle_connections_are_closed_held_ones_too(make_world: MakeWorld):
    """As in Kafka: idle is where no bytes move. The client of the held join comes again and loses nothing."""
    async with make_world(connections_max_idle_ms=10_000) as world:
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


# --- V: versions and encodings ---

UNKNOWN_TAGS = b"\x02" + b"\x5a\x03abc" + b"\xe8\x07\x00"
"""Two tagged fields that nobody knows: 90 with three bytes, 1000 with none."""


def uvarint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def compact(value: str | bytes | None) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return b"\x00" if data is None else uvarint(len(data) + 1) + data


def many(*items: bytes) -> bytes:
    return uvarint(len(items) + 1) + b"".join(items)


def tagged_frame(key: int, version: int, body: bytes, client_id: str = "tags") -> bytes:
    """A request with flexible header, whose tags nobody knows; the body brings its own."""
    name = client_id.encode()
    return struct.pack(">hhih", key, version, 7, len(name)) + name + UNKNOWN_TAGS + body + UNKNOWN_TAGS


async def ask_with_tags(client: Client, key: int, version: int, *parts: bytes) -> Any:
    await client.send_frame(tagged_frame(key, version, b"".join(parts)))
    number, answer = read_response(await client.read_frame(), REQUESTS[key].RESPONSE, version)
    assert number == 7
    return answer


async def api_versions_of(client: Client, version: int = 0) -> dict[int, tuple[int, int]]:
    request = ApiVersionsRequest(client_software_name="case", client_software_version="1") if version >= 3 else None
    answer = await client.call(request or ApiVersionsRequest(), version)
    assert answer.error_code == ErrorCode.NONE
    return {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}


async def test_v1_the_table_of_versions(world: World):
    client = await world.client()
    table = await api_versions_of(client)
    assert {3, 8, 9, 10, 11, 12, 13, 14, 18} <= table.keys()
    assert all(0 <= low <= high for low, high in table.values())
    for version in range(1, 5):
        assert await api_versions_of(client, version) == table


async def test_v1_a_version_from_the_future(world: World):
    """The answer has the layout of version 0, and names nothing but this API."""
    client = await world.client()
    own = (await api_versions_of(client))[18]
    for version in (99, 32767):
        await client.send_frame(struct.pack(">hhih", 18, version, 5, 1) + b"x" + b"\x00")
        expected = struct.pack(">ihihhh", 5, ErrorCode.UNSUPPORTED_VERSION, 1, 18, *own)
        assert await client.read_frame() == expected
    assert (await api_versions_of(client))[18] == own


@pytest.mark.parametrize("version", [3, 4])
async def test_v1_tags_that_nobody_knows(world: World, version: int):
    client = await world.client()
    answer = await ask_with_tags(client, 18, version, compact("case-client"), compact("1.0"))
    assert isinstance(answer, ApiVersionsResponse)
    assert answer.error_code == ErrorCode.NONE
    table = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
    assert table == await api_versions_of(client)


@pytest.mark.parametrize("client_id", [None, ""])
async def test_v1_a_client_without_a_name(world: World, client_id: str | None):
    client = await world.client(client_id)
    assert await api_versions_of(client)
    answer = await (await client.join(world.group())).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("-")


async def test_v1_one_version_above_the_range(world: World):
    client = await world.client()
    _, newest = (await api_versions_of(client))[11]
    await client.send_frame(struct.pack(">hhih", 11, newest + 1, 9, 1) + b"x" + b"\x00" * 40)
    assert await client.is_closed()


@pytest.mark.parametrize("join_version", range(6, 10))
@pytest.mark.parametrize("sync_version", [4, 5])
async def test_v3_unknown_tags_at_every_level_of_a_members_life(world: World, join_version: int, sync_version: int):
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup: everything arrives as it does without the tags."""
    client, group = await world.client(), world.group()
    metadata, assignment = b"\x00\x00 metadata", b"\x00\x00 assignment"

    def join(member_id: str):
        return ask_with_tags(
            client,
            11,
            join_version,
            compact(group) + struct.pack(">ii", 10_000, 30_000) + compact(member_id) + compact(None),
            compact("consumer"),
            many(compact("range") + compact(metadata) + UNKNOWN_TAGS),
            compact("because") if join_version >= 8 else b"",
        )

    first = await join("")
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    member_id = first.member_id
    assert member_id.startswith("tags-")
    joined = await join(member_id)
    assert (joined.error_code, joined.generation_id, joined.leader) == (ErrorCode.NONE, 1, member_id)
    assert [(one.member_id, one.group_instance_id, one.metadata) for one in joined.members] == [
        (member_id, None, metadata)
    ]
    assert joined.protocol_name == "range"
    assert joined.protocol_type == ("consumer" if join_version >= 7 else None)
    identity = struct.pack(">i", joined.generation_id) + compact(member_id) + compact(None)
    synced = await ask_with_tags(
        client,
        14,
        sync_version,
        compact(group) + identity,
        compact("consumer") + compact("range") if sync_version >= 5 else b"",
        many(compact(member_id) + compact(assignment) + UNKNOWN_TAGS),
    )
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, assignment)
    beat = await ask_with_tags(client, 12, 4, compact(group) + identity)
    assert beat.error_code == ErrorCode.NONE
    assert await client.heartbeat(group, 1, member_id, version=3) is ErrorCode.NONE
    leave_version = sync_version
    left = await ask_with_tags(
        client,
        13,
        leave_version,
        compact(group),
        many(
            compact(member_id) + compact(None) + (compact("done") if leave_version >= 5 else b"") + UNKNOWN_TAGS,
            compact("other") + compact(None) + (compact(None) if leave_version >= 5 else b"") + UNKNOWN_TAGS,
        ),
    )
    assert left.error_code == ErrorCode.NONE
    assert [(one.member_id, one.error_code) for one in left.members] == [
        (member_id, ErrorCode.NONE),
        ("other", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


async def test_v3_unknown_tags_around_offsets(world: World):
    """OffsetCommit and OffsetFetch: what was stored with tags is read without, and the other way round."""
    client, group = await world.client(), world.group()
    for version in (8, 9):
        partition = struct.pack(">iqi", 0, version, 3) + compact("note") + UNKNOWN_TAGS
        identity = struct.pack(">i", -1) + compact("") + compact(None)
        topics = many(compact("t") + many(partition) + UNKNOWN_TAGS)
        answer = await ask_with_tags(client, 8, version, compact(group) + identity + topics)
        assert [(one.partition_index, one.error_code) for one in answer.topics[0].partitions] == [(0, 0)]
        assert await client.fetch(group, version=5) == {("t", 0): (version, 3, "note")}
    expected = [("t", [(0, 9, 3, "note"), (1, -1, -1, "")])]
    asked = many(compact("t") + many(struct.pack(">i", 0), struct.pack(">i", 1)) + UNKNOWN_TAGS)
    for version in range(6, 10):
        stable = b"\x00" if version >= 7 else b""
        if version < 8:
            answer = await ask_with_tags(client, 9, version, compact(group) + asked + stable)
        else:
            member = compact(None) + struct.pack(">i", -1) if version >= 9 else b""
            one = compact(group) + member + asked + UNKNOWN_TAGS
            response = await ask_with_tags(client, 9, version, many(one) + stable)
            (answer,) = response.groups
        found = [
            (
                topic.name,
                [
                    (one.partition_index, one.committed_offset, one.committed_leader_epoch, one.metadata)
                    for one in topic.partitions
                ],
            )
            for topic in answer.topics
        ]
        assert found == expected, version


@pytest.mark.parametrize("version", range(3, 7))
async def test_v3_unknown_tags_when_a_coordinator_is_looked_for(world: World, version: int):
    client = await world.client()
    if version < 4:
        answer = await ask_with_tags(client, 10, version, compact("g"), b"\x00")
        found = [answer]
    else:
        answer = await ask_with_tags(client, 10, version, b"\x00", many(compact("g"), compact("h")))
        found = answer.coordinators
        assert [one.key for one in found] == ["g", "h"]
    older = await client.call(FindCoordinatorRequest(key="g"), 0)
    assert older.error_code == ErrorCode.NONE
    for one in found:
        assert (one.error_code, one.node_id, one.host, one.port) == (0, older.node_id, older.host, older.port)


async def test_v5_one_key_and_several(world: World):
    client = await world.client()
    expected = await client.call(FindCoordinatorRequest(key="g"), 0)
    assert (expected.error_code, expected.node_id) == (ErrorCode.NONE, 1)
    for version in range(4):
        answer = await client.call(FindCoordinatorRequest(key="g"), version)
        assert (answer.error_code, answer.node_id, answer.host, answer.port) == (
            ErrorCode.NONE,
            expected.node_id,
            expected.host,
            expected.port,
        )
    for version in range(4, 7):
        for keys in (["g"], ["c", "a", "b"], [], ["g", "h", "g"], [""]):
            answer = await client.call(FindCoordinatorRequest(coordinator_keys=keys), version)
            assert [one.key for one in answer.coordinators] == keys
            for one in answer.coordinators:
                assert (one.error_code, one.node_id, one.host, one.port) == (
                    ErrorCode.NONE,
                    expected.node_id,
                    expected.host,
                    expected.port,
                )


@pytest.mark.parametrize("version", range(1, 7))
async def test_v5_keys_of_other_types(world: World, version: int):
    client = await world.client()

    async def find(key_type: int) -> list[Any]:
        if version < 4:
            return [await client.call(FindCoordinatorRequest(key="x", key_type=key_type), version)]
        request = FindCoordinatorRequest(coordinator_keys=["x", "y", "x"], key_type=key_type)
        answer = await client.call(request, version)
        assert [one.key for one in answer.coordinators] == ["x", "y", "x"]
        return list(answer.coordinators)

    for one in await find(5):
        assert (one.error_code, one.node_id, one.host, one.port) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
        assert one.error_message
    for one in await find(1):
        if world.external is None:
            assert one.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        else:
            assert one.error_code in {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert one.host is not None
        if one.error_code != ErrorCode.NONE:
            assert (one.node_id, one.host, one.port) == (-1, "", -1)
    for one in await find(0):
        assert one.error_code == ErrorCode.NONE


# --- X: how long the first join takes ---


async def join_at(member: Member, seconds: float) -> None:
    await trio.sleep(seconds)
    await member.start_join()


async def first_joins(
    world: World, group: str, *arrivals: float, rebalance: int = 30_000
) -> tuple[float, list[Member]]:
    """Let members arrive after so many seconds; return when the first was answered, and all of them."""
    members = [await world.member(group, rebalance=rebalance) for _ in arrivals]
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        for member, arrival in zip(members, arrivals, strict=True):
            nursery.start_soon(join_at, member, arrival)
    await members[0].finish_join()
    elapsed = trio.current_time() - start
    for member in members[1:]:
        await member.finish_join()
    return elapsed, members


@pytest.mark.parametrize("delay", [500, 3_000])
async def test_x2_the_first_join_takes_the_initial_delay(make_world: MakeWorld, delay: int):
    async with make_world(group_initial_rebalance_delay_ms=delay) as world:
        elapsed, _ = await first_joins(world, world.group(), 0)
        assert elapsed == pytest.approx(delay / 1000, abs=0.05)


async def test_x2_or_no_time_at_all(make_world: MakeWorld):
    async with make_world(group_initial_rebalance_delay_ms=0) as world:
        elapsed, _ = await first_joins(world, world.group(), 0)
        assert elapsed < 0.1


@pytest.mark.parametrize(
    ("arrivals", "rebalance", "expected"),
    [
        ((0, 0.3), 30_000, 1.0),  # the second comes in the first window
        ((0, 0.3, 0.8), 30_000, 1.5),  # and the third in the second
        ((0, 0.3, 0.8), 1_200, 1.2),  # but not beyond the first one's rebalance timeout
        ((0, 0.2, 0.4), 30_000, 1.0),  # two in one window are as one
        ((0, 0.3), 100, 0.5),  # the first window runs in full
    ],
)
async def test_x2_newcomers_lengthen_it(
    make_world: MakeWorld, arrivals: tuple[float, ...], rebalance: int, expected: float
):
    async with make_world(group_initial_rebalance_delay_ms=500) as world:
        elapsed, members = await first_joins(world, world.group(), *arrivals, rebalance=rebalance)
        assert elapsed == pytest.approx(expected, abs=0.05)
        assert {member.generation for member in members} == {1}


async def test_x2_it_is_so_by_default(world: World):
    """One delay is 3 s; a second member within it buys another."""
    elapsed, _ = await first_joins(world, world.group(), 0, 0.3)
    assert elapsed == pytest.approx(6, abs=0.05 if world.external is None else 0.5)


async def test_x2_each_start_from_empty_takes_it_and_no_other_rebalance(make_world: MakeWorld):
    async with make_world(group_initial_rebalance_delay_ms=500) as world:
        group = world.group()
        _, (first,) = await first_joins(world, group, 0)
        await settle([first])
        second = await world.member(group)
        start = trio.current_time()
        await second.start_join()
        await first.start_join()
        for member in (first, second):
            await member.finish_join()
        assert trio.current_time() - start < 0.1, "everybody is there"
        await settle([first, second])
        await first.client.leave(group, first.id, second.id)
        assert (await first.client.describe(group)).group_state == "Empty"
        elapsed, (third,) = await first_joins(world, group, 0)
        assert elapsed == pytest.approx(0.5, abs=0.05)
        assert third.generation == 4


async def test_x6_a_member_that_leaves_hands_its_share_over_at_once(world: World):
    """However long its session is; and it joins again like anybody."""
    leader, follower = await world.stable2(world.group(), session=60_000)
    start = trio.current_time()
    await follower.client.leave(follower.group, follower.id)
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    await leader.finish_join()
    assert trio.current_time() - start < 30, "half a session"
    assert leader.listed == (leader.id,)
    await settle([leader])
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    again = await world.member(leader.group)
    await again.start_join()
    await leader.start_join()
    for member in (leader, again):
        await member.finish_join()
    assert set(leader.listed) == {leader.id, again.id}


# --- Y: addresses ---


async def test_y1_the_coordinator_is_a_broker_that_metadata_lists(world: World):
    client = await world.client()
    for version in range(14):
        answer = await client.call(MetadataRequest(topics=[]), version)
        (broker,) = answer.brokers
        for group in ("", "g", world.group()):
            found = await client.call(FindCoordinatorRequest(key=group), 2)
            assert found.error_code == ErrorCode.NONE
            assert (found.node_id, found.host, found.port) == (broker.node_id, broker.host, broker.port)
    assert broker.host not in {"", "0.0.0.0", "::"}
    assert broker.port > 0
