"""Frames, headers and order on one connection."""

import struct

import pytest
import trio

from kcoord.apis import BY_KEY
from kcoord.notices import AnswerUnsendable, ConnectionRefused, HandlerFailed, RequestUnreadable
from tests.server.client import find, heartbeat, join, stable_member
from tests.server.conftest import start, without_sockets
from wire.header import read_response, request_frame
from wire.messages import (
    REQUESTS,
    ApiVersionsRequest,
    DescribeGroupsRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)


def header(key, version, correlation=1, client_id=b"c"):
    return struct.pack(">hhih", key, version, correlation, len(client_id)) + client_id


async def assert_unreadable(server, client):
    assert await client.is_closed()
    assert len(server.seen(RequestUnreadable)) == 1
    # It was that connection's problem alone.
    assert (await server.connect().call(find("g"), 0)).error_code == 0


@pytest.mark.parametrize("key", [999, -1, 7, 68, 71])
async def test_an_unknown_api_key_closes_the_connection(autojump_clock, server, key):
    client = server.connect()
    await client.send_frame(header(key, 0))
    await assert_unreadable(server, client)


@pytest.mark.parametrize(("key", "version"), [(11, 10), (11, -1), (0, -1), (0, 3), (1, 3), (1, 19), (8, 1), (9, 0)])
async def test_a_version_that_is_not_served_closes_the_connection(autojump_clock, server, key, version):
    client = server.connect()
    await client.send_frame(header(key, version))
    await assert_unreadable(server, client)


@pytest.mark.parametrize("length", range(10))
async def test_a_truncated_header_closes_the_connection(autojump_clock, server, length):
    client = server.connect()
    await client.send_frame(header(12, 0)[:length])
    await assert_unreadable(server, client)


@pytest.mark.parametrize("version", [0, 4, 5, 6, 9])
async def test_a_missing_body_closes_the_connection(autojump_clock, server, version):
    client = server.connect()
    await client.send_frame(header(11, version))
    await assert_unreadable(server, client)


@pytest.mark.parametrize("size", [-1, -(2**31), 104_857_601, 2**31 - 1])
async def test_a_size_out_of_range_closes_the_connection_at_once(autojump_clock, server, size):
    client = server.connect()
    await client.send_raw(struct.pack(">i", size))
    await assert_unreadable(server, client)


async def test_an_empty_frame_closes_the_connection(autojump_clock, server):
    client = server.connect()
    await client.send_raw(bytes(4))
    await assert_unreadable(server, client)


async def test_a_null_group_id_closes_the_connection(autojump_clock, server):
    client = server.connect()
    await client.send_frame(header(11, 5) + b"\xff\xff" + bytes(64))
    await assert_unreadable(server, client)


async def test_a_huge_count_with_nothing_behind_it_closes_the_connection(autojump_clock, server):
    client = server.connect()
    await client.send_frame(header(15, 0) + struct.pack(">i", 2**31 - 1) + b"\0\1a")
    await assert_unreadable(server, client)


@pytest.mark.parametrize("version", [0, 4])
async def test_bytes_after_the_body_are_ignored(autojump_clock, server, version):
    client = server.connect()
    frame = request_frame(5, "c", HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), version)
    await client.send_frame(frame[4:] + b"left over")
    answer = await client.receive_frame()
    number, message = read_response(answer, HeartbeatRequest.RESPONSE, version)
    assert (number, message.error_code) == (5, 25)


@pytest.mark.parametrize("correlation_id", [-1, 0, 2**31 - 1, -(2**31)])
async def test_correlation_ids_come_back_as_they_are(autojump_clock, server, correlation_id):
    client = server.connect()
    for _ in range(2):
        await client.send(find("g"), 3, correlation_id=correlation_id)
        assert (await client.receive()).error_code == 0


async def test_a_null_client_id_counts_as_empty(autojump_clock, server):
    client = server.connect()
    answer = await client.call(join("g"), 5, client_id=None)
    assert answer.error_code == 79
    assert answer.member_id.startswith("-")
    assert len(answer.member_id) == 37


async def test_a_client_may_change_its_name_between_requests(autojump_clock, server):
    client = server.connect()
    for name in ("one", "two", "one", "", "a" * 300):
        answer = await client.call(join("g"), 5, client_id=name)
        assert answer.member_id[:-37] == name


async def test_pipelined_requests_are_answered_in_their_order(autojump_clock, server):
    client = server.connect()
    await client.send_raw(
        request_frame(1, "c", MetadataRequest(topics=[]), 1) + request_frame(2, "c", ApiVersionsRequest(), 0)
    )
    _, metadata = read_response(await client.receive_frame(), MetadataRequest.RESPONSE, 1)
    assert metadata.brokers
    number, versions = read_response(await client.receive_frame(), ApiVersionsRequest.RESPONSE, 0)
    assert number == 2
    assert versions.api_keys


async def test_what_is_sent_behind_a_parked_join_waits_as_well(autojump_clock, server):
    client = server.connect()
    member = (await client.call(join("g"), 5)).member_id
    await client.send(join("g", member), 5)
    await client.send(heartbeat("g", 1, member), 3)
    assert await client.is_silent()
    joined = await client.receive()
    assert (joined.error_code, joined.generation_id) == (0, 1)
    assert (await client.receive()).error_code == 0


async def test_a_parked_join_holds_its_own_connection_only(autojump_clock, server):
    parked, other = server.connect(), server.connect()
    member = (await parked.call(join("g"), 5)).member_id
    await parked.send(join("g", member), 5)
    began = trio.current_time()
    # The generation is 0 until the join phase is over.
    assert (await other.call(heartbeat("g", 0, member), 3)).error_code == 27
    assert trio.current_time() == began
    assert await parked.is_silent()


async def test_unknown_tags_in_header_and_body_are_skipped(autojump_clock, server):
    client = server.connect()
    tags = b"\x02\x63\x03abc\x64\x00"
    body = b"\x02g" + struct.pack(">i", 1) + b"\x02m" + b"\x00" + tags
    await client.send_frame(header(12, 4, 9) + tags + body)
    number, message = read_response(await client.receive_frame(), HeartbeatRequest.RESPONSE, 4)
    assert (number, message.error_code) == (9, 25)


async def test_a_varint_that_does_not_end_closes_the_connection(autojump_clock, server):
    client = server.connect()
    await client.send_frame(header(12, 4) + b"\0" + b"\xff" * 6 + bytes(32))
    await assert_unreadable(server, client)


async def test_a_request_may_come_byte_by_byte(autojump_clock, server):
    client = server.connect()
    for byte in request_frame(1, "c", find("g"), 3):
        await client.send_raw(bytes([byte]))
        await trio.testing.wait_all_tasks_blocked()
    _, message = read_response(await client.receive_frame(), FindCoordinatorResponse, 3)
    assert message.error_code == 0


async def test_a_client_that_goes_while_its_join_is_parked_disturbs_nobody(autojump_clock, server):
    staying, going = server.connect(), server.connect()
    first = (await staying.call(join("g"), 5)).member_id
    second = (await going.call(join("g"), 5)).member_id
    await staying.send(join("g", first), 5)
    await going.send(join("g", second), 5)
    await trio.testing.wait_all_tasks_blocked()
    await going.aclose()
    joined = await staying.receive()
    assert (joined.error_code, len(joined.members)) == (0, 2)
    assert (await staying.call(heartbeat("g", 1, first), 3)).error_code == 0


async def test_whatever_the_bytes_only_the_connection_suffers(autojump_clock, server):
    whole = request_frame(1, "c", join("g", "m", instance="i"), 9)
    for cut in range(4, len(whole)):
        client = server.connect()
        await client.send_frame(whole[4:cut])
        assert await client.is_closed()
    for position in range(4, len(whole)):
        client = server.connect()
        spoiled = bytearray(whole)
        spoiled[position] ^= 0xFF
        await client.send_raw(bytes(spoiled))
        with trio.move_on_after(5):
            try:
                await client.receive_frame()
            except EOFError:
                continue
        await client.aclose()
    assert (await server.connect().call(find("g"), 0)).error_code == 0


async def test_group_ids_that_are_no_utf_8_are_read_with_replacements(autojump_clock, server):
    client = server.connect()
    await client.send_frame(header(15, 0) + struct.pack(">ih", 1, 2) + b"\xc3\x28")
    _, message = read_response(await client.receive_frame(), find_response(15), 0)
    assert message.groups[0].group_id == "�("


def find_response(key):
    return REQUESTS[key].RESPONSE


async def test_an_id_too_long_to_be_built_is_an_error(autojump_clock, server):
    client = server.connect()
    answer = await client.call(join("g"), 5, client_id="x" * 32767)
    assert (answer.error_code, answer.member_id) == (-1, "")
    assert (await client.call(join("g"), 5, client_id="x" * 32730)).error_code == 79
    assert (await client.call(join("g"), 5)).error_code == 79


async def test_an_answer_too_long_to_be_sent_is_an_error_where_there_is_a_place_for_it(autojump_clock, server):
    """An id that is no UTF-8 grows to three times its length when it is given back."""
    client = server.connect()
    grown = "\ufffd" * 20_000
    for request, version in (
        (JoinGroupRequest(group_id="g", member_id=grown, session_timeout_ms=10_000), 9),
        (LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=grown)]), 5),
        (OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name=grown, partition_indexes=[0])]), 7),
    ):
        answer = await client.call_shrunk(request, version, grown)
        assert answer.error_code == -1
    assert len(server.seen(AnswerUnsendable)) == 3
    assert (await client.call(heartbeat("g", 1, "m"), 4)).error_code == 25


async def test_an_answer_that_is_nothing_but_the_long_name_closes_the_connection(autojump_clock, server):
    client = server.connect()
    grown = "\ufffd" * 20_000
    with pytest.raises(EOFError):
        await client.call_shrunk(MetadataRequest(topics=[MetadataRequestTopic(name=grown)]), 4, grown)
    client = server.connect()
    with pytest.raises(EOFError):
        await client.call_shrunk(DescribeGroupsRequest(groups=[grown]), 4, grown)
    assert len(server.seen(AnswerUnsendable)) >= 2


async def test_a_group_whose_name_cannot_be_stored_is_an_error(autojump_clock, server):
    client = server.connect()
    grown = "\ufffd" * 20_000
    answer = await client.call_shrunk(join(grown), 5, grown)
    assert (answer.error_code, answer.member_id) == (-1, "")
    topics = [
        OffsetCommitRequestTopic(
            name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
        )
    ]
    answer = await client.call_shrunk(OffsetCommitRequest(group_id=grown, topics=topics), 5, grown)
    assert answer.topics[0].partitions[0].error_code == -1
    assert (await client.call(ListGroupsRequest(), 4)).groups == []


async def test_a_retention_beyond_the_end_of_time_is_long_over(autojump_clock, server):
    client = server.connect()
    topics = [
        OffsetCommitRequestTopic(
            name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
        )
    ]
    request = OffsetCommitRequest(group_id="g", retention_time_ms=2**63 - 1, topics=topics)
    answer = await client.call(request, 4)
    assert answer.topics[0].partitions[0].error_code == 0
    await trio.sleep(601)
    assert (await server.connect().call(ListGroupsRequest(), 4)).groups == []


async def test_headers_of_unusual_size_are_not_kept(autojump_clock, server):
    client = server.connect()
    for version in range(5):
        assert (await client.call(heartbeat("g", 1, "m"), version, client_id="x" * 5000)).error_code == 25
    connection = next(iter(server.running.sites[0].connections._open))
    assert connection._known == {}
    assert (await client.call(heartbeat("g", 1, "m"), 4)).error_code == 25
    assert len(connection._known) == 1


async def test_the_smallest_frame_limit_counts_the_payload(autojump_clock, nursery):
    frame = request_frame(1, "c", find("g"), 0)
    server = await start(nursery, without_sockets(socket_request_max_bytes=len(frame) - 4))
    client = server.connect()
    assert (await client.call(find("g"), 0)).error_code == 0
    await client.send(find("gg"), 0)
    assert await client.is_closed()


async def test_idle_connections_are_closed_also_those_that_wait(autojump_clock, nursery):
    server = await start(nursery, without_sockets(connections_max_idle_ms=10_000))
    idle, waiting, busy = server.connect(), server.connect(), server.connect()
    member, generation = await stable_member(busy, "g")
    other = (await waiting.call(join("g", session=60_000), 5)).member_id
    await waiting.send(join("g", other), 5)
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(4):
        await trio.sleep(2.4)
        assert (await busy.call(heartbeat("g", generation, member), 3)).error_code == 27
    assert await waiting.is_silent(0.1)
    await trio.sleep(1.5)
    assert (await busy.call(heartbeat("g", generation, member), 3)).error_code == 27
    assert await idle.is_closed()
    assert await waiting.is_closed()
    assert server.running.connections == 1


async def test_a_negative_idle_time_closes_nothing(autojump_clock, nursery):
    server = await start(nursery, without_sockets(connections_max_idle_ms=-1))
    client = server.connect()
    await trio.sleep(10_000)
    assert (await client.call(find("g"), 0)).error_code == 0


async def test_a_connection_beyond_the_limit_is_closed_at_once(autojump_clock, nursery):
    server = await start(nursery, without_sockets(max_connections=2))
    first, second = server.connect(), server.connect()
    for client in (first, second):
        assert (await client.call(find("g"), 0)).error_code == 0
    assert await server.connect().is_closed()
    assert server.seen(ConnectionRefused)[0].limit == 2
    await second.aclose()
    await trio.testing.wait_all_tasks_blocked()
    assert (await server.connect().call(find("g"), 0)).error_code == 0


@pytest.mark.parametrize(
    ("peer", "shown"),
    [
        ("127.0.0.1", "/127.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("2001:db8::ff00:42:8329", "/2001:db8:0:0:0:ff00:42:8329"),
        ("::ffff:10.1.2.3", "/10.1.2.3"),
        ("fe80::1%eth0", "/fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
async def test_the_clients_address_is_shown_as_java_shows_it(autojump_clock, server, peer, shown):
    client = server.connect(peer)
    await stable_member(client, "g")
    described = await client.call(DescribeGroupsRequest(groups=["g"]), 5)
    assert described.groups[0].members[0].client_host == shown


async def test_a_bug_in_a_handler_costs_its_connection_and_nothing_else(autojump_clock, server, monkeypatch):
    async def broken(_call, _request):
        raise KeyError("no such thing")

    other = server.connect()
    assert (await other.call(heartbeat("g", 1, "m"), 4)).error_code == 25
    with monkeypatch.context() as patched:
        patched.setattr(BY_KEY[10], "handle", broken)
        client = server.connect()
        await client.send(find("g"), 0)
        assert await client.is_closed()
    assert (await other.call(heartbeat("g", 1, "m"), 4)).error_code == 25
    (found,) = server.seen(HandlerFailed)
    assert "no such thing" in found.traceback
