"""Requests and answers of unusual size or number: they may take their time, but not everybody's."""

import gc
from dataclasses import replace

import pytest
import trio
from trio.testing import lockstep_stream_pair, wait_all_tasks_blocked

from kcoord.apis.turns import A_TURN, portions
from kcoord.net import connection
from kcoord.notices import AnswerUnsendable, ConnectionClosed
from tests.server.client import CLIENT_ID, Client, heartbeat, stable_member
from tests.server.conftest import start, without_sockets
from wire.header import request_frame
from wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListGroupsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)

MANY = 30_000


def answered(server):
    return sum(one.requests for one in server.running.sites[0].connections._open)


async def test_whoever_sends_much_at_once_gives_others_their_turn(autojump_clock, server):
    busy, other = server.connect(), server.connect()
    for client in (busy, other):
        await client.call(heartbeat("g", 1, "m"), 4)
    before = answered(server)
    await busy.send_raw(request_frame(1, CLIENT_ID, heartbeat("g", 1, "m"), 4) * 1000)
    assert (await other.call(heartbeat("g", 1, "m"), 4)).error_code == 25
    assert answered(server) - before < 500
    await wait_all_tasks_blocked()
    assert answered(server) == before + 1001


@pytest.mark.parametrize("large", [1, connection.LARGE])
async def test_a_large_request_is_answered_like_any_other(server, monkeypatch, large):
    """No virtual time here: it would run on while a thread works."""
    monkeypatch.setattr(connection, "LARGE", large)
    client = server.connect()
    groups = [f"group number {number}" for number in range(MANY)]
    answer = await client.call(DescribeGroupsRequest(groups=groups), 5)
    assert [one.group_id for one in answer.groups] == groups
    assert {one.group_state for one in answer.groups} == {"Dead"}
    answer = await client.call(DeleteGroupsRequest(groups_names=groups), 2)
    assert [(one.group_id, one.error_code) for one in answer.results] == [(group, 69) for group in groups]
    asked = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
    answer = await client.call(OffsetFetchRequest(groups=asked), 8)
    assert [(one.group_id, one.topics) for one in answer.groups] == [(group, []) for group in groups]
    assert (await client.call(heartbeat("g", 1, "m"), 4)).error_code == 25


async def test_a_large_answer_that_cannot_be_sent_is_an_error_too(server, monkeypatch):
    monkeypatch.setattr(connection, "LARGE", 1)
    client = server.connect()
    grown = "\ufffd" * 20_000
    answer = await client.call_shrunk(OffsetFetchRequest(group_id=grown, topics=[]), 7, grown)
    assert answer.error_code == 0
    with pytest.raises(EOFError):
        await client.call_shrunk(DescribeGroupsRequest(groups=[grown]), 4, grown)
    assert server.seen(AnswerUnsendable)


async def test_others_are_served_while_a_large_request_is_worked_on(server):
    client, other = server.connect(), server.connect()
    await client.send(DescribeGroupsRequest(groups=[f"group number {number}" for number in range(MANY)]), 5)
    beats = 0
    async with trio.open_nursery() as nursery:

        async def wait_for_it():
            await client.receive()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait_for_it)
        while True:
            assert (await other.call(heartbeat("g", 1, "m"), 4)).error_code == 25
            beats += 1
    assert beats > 10


async def test_a_heavy_answer_to_a_small_request_is_written_beside_the_others(nursery, monkeypatch):
    """No virtual time here either."""
    monkeypatch.setattr(connection, "HEAVY", 10)
    server = await start(nursery, replace(without_sockets(), topics={"wide": 5000, "narrow": 1}))
    client = server.connect()
    for names in (["wide"], ["narrow"], None):
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        answer = await client.call(MetadataRequest(topics=topics), 9)
        sizes = {topic.name: len(topic.partitions) for topic in answer.topics if not topic.is_internal}
        assert sizes == {name: {"wide": 5000, "narrow": 1}[name] for name in names or ["wide", "narrow"]}


async def test_a_connection_that_waits_keeps_nothing_of_what_it_was_asked(autojump_clock, server):
    client = server.connect()
    await client.call(MetadataRequest(topics=None), 9)
    await wait_all_tasks_blocked()
    gc.collect()
    kept = [one for one in gc.get_objects() if type(one) in {MetadataRequest, MetadataResponse}]
    assert [one for one in kept if type(one) is MetadataRequest and one.topics is None] == []


async def test_who_does_not_read_makes_room_for_who_asks_next(autojump_clock, server, monkeypatch):
    frame = request_frame(1, CLIENT_ID, DescribeGroupsRequest(groups=["g"] * 1000), 4)
    monkeypatch.setattr(connection, "LARGE", len(frame) + 1)
    server.running.sites[0].connections._load.unread.most = 50_000
    clients = []
    for _ in range(5):
        ours, theirs = lockstep_stream_pair()
        server.nursery.start_soon(server.running.attach, theirs)
        await ours.send_all(frame)
        await trio.sleep(1)
        clients.append(Client(ours))
    gone = [note.why for note in server.seen(ConnectionClosed)]
    assert 0 < len(gone) < 5
    assert set(gone) == {"it did not read its answer, and others needed the room"}
    assert len(await clients[-1].receive_frame()) > len(frame)
    assert (await server.connect().call(heartbeat("g", 1, "nobody"), 4)).error_code == 25
    for client in clients:
        await trio.aclose_forcefully(client.stream)


async def test_a_filter_may_have_any_number_of_names(autojump_clock, server):
    client = server.connect()
    await stable_member(client, "g")
    other = server.connect()
    names = [f"no such state {number}" for number in range(5_000)]
    for states, found in (([*names, " sTable\t"], ["g"]), (names, []), ([], ["g"]), ([""], [])):
        answer = await other.call(ListGroupsRequest(states_filter=states), 5)
        assert [one.group_id for one in answer.groups] == found
    for types, found in (([*names, "Classic"], ["g"]), (names, []), ([" classic"], [])):
        answer = await other.call(ListGroupsRequest(types_filter=types), 5)
        assert [one.group_id for one in answer.groups] == found


async def test_a_fetch_of_very_many_partitions(autojump_clock, server):
    client = server.connect()
    partitions = [FetchPartition(partition=number % 7) for number in range(5_000)]
    answer = await client.call(FetchRequest(topics=[FetchTopic(topic="t", partitions=partitions)], max_wait_ms=10), 12)
    assert [one.error_code for one in answer.responses[0].partitions] == [0, 0, 0, 3, 3, 3, 3]
    assert (await client.call(MetadataRequest(topics=[]), 9)).topics == []


def test_portions_are_everything_in_order():
    for size in (0, 1, A_TURN, A_TURN + 1, 3 * A_TURN):
        pieces = list(portions(range(size)))
        assert [one for piece in pieces for one in piece] == list(range(size))
        assert all(len(piece) == A_TURN for piece in pieces[:-1])
