"""Requests and their answers: told to who listens, in order with notes, and to nobody else."""

from dataclasses import replace

from kcoord.core.notes import GenerationFormed, MemberIdHandedOut
from kcoord.net.connection import LARGE
from kcoord.notices import RequestAnswered, RequestReceived
from tests.scenarios.harness import no_jumps_while_threads_work
from tests.server.client import find, heartbeat, join, stable_member, sync
from tests.server.conftest import start, without_sockets
from wire.messages import HeartbeatRequest, ProduceRequest, SyncGroupRequestAssignment

VERSION = 9


class Listener:
    def __init__(self, broker):
        self.told = []
        self.forget = broker.on_request(self.told.append)

    def kinds(self):
        return [each.api if isinstance(each, RequestReceived) else "answered" for each in self.told]


async def test_a_request_and_its_answer_are_told_as_the_messages_they_are(autojump_clock, server):
    listener = Listener(server.broker)
    client = server.connect("10.0.0.7")
    answer = await client.call(heartbeat("g", 1, "m"), 4, client_id="app")
    received, answered = listener.told
    assert received == RequestReceived(
        number=1,
        connection=1,
        host="10.0.0.7",
        port=0,
        client_id="app",
        node_id=1,
        api="Heartbeat",
        version=4,
        request=HeartbeatRequest(group_id="g", generation_id=1, member_id="m"),
    )
    assert answered == RequestAnswered(number=1, response=answer, fault="")


async def test_numbers_count_requests_told_of_and_all_connections(autojump_clock, server):
    await server.connect().call(find("g"), 3)
    listener = Listener(server.broker)
    second = server.connect()
    await second.call(find("g"), 3)
    await server.connect().call(find("g"), 3)
    await second.call(find("g"), 3)
    received = [each for each in listener.told if isinstance(each, RequestReceived)]
    assert [(each.number, each.connection) for each in received] == [(1, 2), (2, 3), (3, 2)]


async def test_notes_come_between_a_request_and_its_answer(autojump_clock, server):
    listener = Listener(server.broker)
    server.broker.on_note(listener.told.append)
    client = server.connect()
    await client.call(join("g"), VERSION)
    kinds = [type(each) for each in listener.told]
    at = kinds.index(MemberIdHandedOut)
    assert kinds.index(RequestReceived) < at < kinds.index(RequestAnswered)


async def test_an_answer_that_waits_is_told_when_it_goes(autojump_clock, server):
    client = server.connect()
    handed_out = await client.call(join("g"), VERSION)
    listener = Listener(server.broker)
    await client.send(join("g", handed_out.member_id), VERSION)
    await server.connect().call(find("g"), 3)
    assert listener.kinds() == ["JoinGroup", "FindCoordinator", "answered"]
    server.broker.on_note(listener.told.append)
    joined = await client.receive()
    formed, answered = listener.told[-2:]
    assert isinstance(formed, GenerationFormed)
    assert answered == RequestAnswered(number=1, response=joined, fault="")


async def test_what_gets_no_answer_is_told_as_well(autojump_clock, server):
    listener = Listener(server.broker)
    client = server.connect()
    await client.send(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[]), 9)
    client.expected.clear()
    await client.call(find("g"), 3)
    assert listener.kinds() == ["Produce", "answered", "FindCoordinator", "answered"]
    assert listener.told[1] == RequestAnswered(number=1, response=None, fault="")


async def test_a_request_whose_connection_is_closed_meanwhile_gets_none(autojump_clock, nursery):
    server = await start(nursery, without_sockets(connections_max_idle_ms=1_000))
    client = server.connect()
    handed_out = await client.call(join("g"), VERSION)
    listener = Listener(server.broker)
    await client.send(join("g", handed_out.member_id), VERSION)
    assert await client.is_closed()
    assert listener.told[1:] == [RequestAnswered(number=1, response=None, fault="")]


async def test_who_forgets_is_told_no_more_and_others_still_are(autojump_clock, server):
    first, second = Listener(server.broker), Listener(server.broker)
    client = server.connect()
    await client.call(find("g"), 3)
    first.forget()
    first.forget()
    await client.call(find("g"), 3)
    assert [len(each.told) for each in (first, second)] == [2, 4]
    second.forget()
    assert not server.broker.request_listeners


async def test_a_request_that_is_read_in_a_thread_is_told_whole(autojump_clock, server):
    client = server.connect()
    member, generation = await stable_member(client, "g", VERSION)
    listener = Listener(server.broker)
    large = replace(sync("g", generation, member), assignments=[])
    large.assignments.append(SyncGroupRequestAssignment(member_id=member, assignment=b"x" * 2 * LARGE))
    with no_jumps_while_threads_work():
        answer = await client.call(large, 5)
    received, answered = listener.told
    assert received.request == large
    assert answered.response == answer
