"""Requests that get no answer, as Produce with acks 0: the next answer is that to the next request."""

import pytest
import trio

from kcoord.apis import BY_KEY
from kcoord.apis.api import Api, CloseConnection
from kcoord.apis.api_versions import listed
from kcoord.net.connection import LARGE
from kcoord.notices import ConnectionClosed, HandlerFailed
from tests.server.client import find
from wire.header import request_frame
from wire.messages import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData


@pytest.fixture
def produced(monkeypatch):
    """What came; Produce is answered as `acks` says, and acks 7 is an error that nobody can be told."""
    seen = []

    async def handle(_call, request):
        seen.append(len(request.topic_data))
        if request.acks == 7:
            raise CloseConnection("its records were refused")
        return ProduceResponse() if request.acks else None

    monkeypatch.setitem(BY_KEY, 0, Api(request=ProduceRequest, versions="3-13", handle=handle, weight=weight))
    return seen


def weight(response):
    return len(response.responses)


def records(acks, size=10):
    data = [PartitionProduceData(index=0, records=bytes(size))]
    return request_frame(99, "c", ProduceRequest(acks=acks, topic_data=[TopicProduceData(partition_data=data)]), 9)


async def test_no_byte_is_sent(autojump_clock, server, produced):
    client = server.connect()
    await client.send_raw(records(0))
    assert await client.is_silent()
    assert (await client.call(find("g"), 3)).error_code == 0
    await client.send_raw(records(0) * 3)
    assert (await client.call(find("g"), 3)).error_code == 0
    assert produced == [1] * 4


async def test_no_byte_is_sent_for_a_large_one_either(server, produced):
    client = server.connect()
    await client.send_raw(records(0, LARGE) * 2)
    assert (await client.call(find("g"), 3)).error_code == 0
    assert produced == [1] * 2


async def test_it_counts_as_a_sign_of_life_and_as_a_request(autojump_clock, server, produced):
    client = server.connect()
    await trio.testing.wait_all_tasks_blocked()
    (connection,) = server.running.sites[0].connections._open
    await trio.sleep(5)
    await client.send_raw(records(0) * 2)
    await trio.testing.wait_all_tasks_blocked()
    assert connection.last_active == trio.current_time()
    await client.aclose()
    await trio.testing.wait_all_tasks_blocked()
    assert server.seen(ConnectionClosed)[0].requests == 2


async def test_others_have_their_turns_between_many_of_them(autojump_clock, server, produced):
    client, other = server.connect(), server.connect()
    await client.send_raw(records(0) * 500)
    assert (await other.call(find("g"), 3)).error_code == 0
    assert len(produced) < 100
    await trio.testing.wait_all_tasks_blocked()
    assert len(produced) == 500


async def test_the_others_are_answered(autojump_clock, server, produced):
    client = server.connect()
    assert (await client.call(ProduceRequest(acks=-1), 9)).responses == []


async def test_an_error_ends_the_connection_and_says_why_to_the_log_alone(autojump_clock, server, produced):
    client = server.connect()
    await client.send_raw(records(7) + records(0))
    assert await client.is_closed()
    await trio.testing.wait_all_tasks_blocked()
    assert produced == [1]
    assert [note.why for note in server.seen(ConnectionClosed)] == ["its records were refused"]
    assert server.seen(HandlerFailed) == []
    assert (await server.connect().call(find("g"), 3)).error_code == 0


def test_an_api_may_be_offered_in_versions_that_are_not_served():
    api = Api(request=ProduceRequest, versions="3-13", handle=None, offered="0-13")
    (row,) = listed([api])
    assert (row.min_version, row.max_version) == (0, 13)
    assert 2 not in api.versions
