"""The parts that wait: frames pass a proxy, are recorded, and are played against a server; over real sockets."""

import socket
import struct
from functools import partial

import pytest
import trio

import wire.messages as m
from kcoord.config import Address
from kcoord.dump.fields import Absent
from kcoord.dump.frames import BadInput
from kcoord.dump.proxy import CannotProxy, Proxy
from kcoord.dump.replay import Replay
from kcoord.dump.session import Broken, Closed, Opened, Passed
from kcoord.dump.taps import Printer, PrintingTap
from tests.dump.samples import heartbeat, heartbeat_answer, join_request, join_response
from tests.server.client import GIVE_UP, Client
from wire.errors import ErrorCode

LOOPBACK = Address("127.0.0.1", 0)


class Recorder:
    """A tap that keeps the events of a session."""

    def __init__(self):
        self.events = []
        self.notes = []

    def opened(self, _time_ms, connection, peer):
        self.events.append(Opened(0, connection, peer))

    def passed(self, _time_ms, connection, from_client, data):
        self.events.append(Passed(0, connection, from_client, data))

    def broken(self, _time_ms, connection, by, why, rubbish):
        self.events.append(Broken(0, connection, by, why, rubbish))

    def noted(self, _time_ms, connection, text):
        self.notes.append((connection, text))

    def closed(self, _time_ms, connection, by):
        self.events.append(Closed(0, connection, by))

    async def wait_for(self, kind, count=1):
        with trio.fail_after(GIVE_UP):
            while sum(isinstance(each, kind) for each in self.events) < count:  # noqa: ASYNC110 - a Tap does not wait
                await trio.sleep(0.01)

    def frames(self, from_client):
        return [each.data for each in self.events if isinstance(each, Passed) and each.from_client == from_client]


async def proxied(nursery, to, tap, **how):
    (address,) = await nursery.start(Proxy(to, tap, **how).run, LOOPBACK)
    return address


OPEN_TCP_STREAM = trio.open_tcp_stream


async def connect(nursery, address):
    """A stream that is closed when the test is over."""
    stream = await OPEN_TCP_STREAM(address.host, address.port)
    nursery.start_soon(close_in_the_end, stream)
    return stream


async def close_in_the_end(stream):
    async with stream:
        await trio.sleep_forever()


async def dial(address):
    return Client(await trio.open_tcp_stream(address.host, address.port))


class Script:
    """A broker that does what it is told: for each connection a function of the stream."""

    def __init__(self, nursery, *scripts):
        self.scripts = list(scripts)
        self.nursery = nursery
        self.got = []

    async def start(self):
        listeners = await self.nursery.start(partial(trio.serve_tcp, self.serve, 0, host="127.0.0.1"))
        return Address("127.0.0.1", listeners[0].socket.getsockname()[1])

    async def serve(self, stream):
        async with stream:
            for step in self.scripts.pop(0):
                if isinstance(step, bytes):
                    await stream.send_all(step)
                elif step is None:
                    await trio.sleep_forever()
                else:
                    self.got.append(await Client(stream).receive_frame())


async def consume(address, group, *, topic="t", talk=None):
    """What a client of one member does: join, sync, commit, fetch, leave."""
    client = await dial(address)
    protocols = [m.JoinGroupRequestProtocol(name="range", metadata=bytes(10))]
    join = m.JoinGroupRequest(group_id=group, session_timeout_ms=6000, rebalance_timeout_ms=60000,
        protocol_type="consumer", protocols=protocols)  # fmt: skip
    first = await client.call(join, 9)
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    join.member_id = first.member_id
    joined = await client.call(join, 9)
    assert joined.error_code == 0
    me = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    entry = m.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"mine")
    synced = await client.call(m.SyncGroupRequest(**me, **protocol, assignments=[entry]), 5)
    assert (synced.error_code, synced.assignment) == (0, b"mine")
    assert (await client.call(m.HeartbeatRequest(**me), 4)).error_code == 0
    commit = m.OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=joined.generation_id,
        member_id=joined.member_id, topics=[m.OffsetCommitRequestTopic(name=topic, partitions=[
            m.OffsetCommitRequestPartition(partition_index=0, committed_offset=3)])])  # fmt: skip
    answer = await client.call(commit, 8)
    assert answer.topics[0].partitions[0].error_code == 0
    left = await client.call(
        m.LeaveGroupRequest(group_id=group, members=[m.MemberIdentity(member_id=joined.member_id)]), 5
    )
    assert left.error_code == 0
    await client.aclose()


async def record(nursery, server, *works, **how):
    recorder = Recorder()
    address = await proxied(nursery, server.running.addresses[0], recorder, **how)
    for work in works:
        await work(address)
    await recorder.wait_for(Closed, len(works))
    return recorder


async def replay(events, address, **how):
    findings = []
    how.setdefault("patience", GIVE_UP)
    count = await Replay(address, findings.append, **how).run(events)
    assert count.findings == len(findings) + count.repeated
    return count, findings


# The proxy


async def test_a_proxy_passes_everything_and_tells_of_it(kcoord, nursery):
    recorder = await record(nursery, kcoord, partial(consume, group="g"))
    assert len(recorder.frames(True)) == len(recorder.frames(False)) == 6
    assert recorder.events[0].peer.startswith("127.0.0.1:")
    assert recorder.events[-1] == Closed(0, 1, "client")
    # A request is told of before its answer.
    assert [each.from_client for each in recorder.events[1:-1]] == [True, False] * 6


async def test_addresses_are_rewritten_to_the_proxys(kcoord, nursery):
    recorder = Recorder()
    address = await proxied(nursery, kcoord.running.addresses[0], recorder, rewrite=True)
    client = await dial(address)
    cluster = await client.call(m.MetadataRequest(), 12)
    assert [(each.host, each.port) for each in cluster.brokers] == [("127.0.0.1", address.port)]
    found = await client.call(m.FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    assert [(each.host, each.port) for each in found.coordinators] == [("127.0.0.1", address.port)]
    await client.aclose()
    await recorder.wait_for(Closed)


async def test_a_proxy_prints(kcoord, nursery):
    printed = []
    tap = PrintingTap(Printer(printed.append, group="g"), "broker")
    address = await proxied(nursery, kcoord.running.addresses[0], tap)
    await consume(address, "g")
    await consume(address, "h")
    text = "".join(printed)
    assert text.count("JoinGroup v9 response") == 2
    assert "'h'" not in text
    assert "opened" not in text


async def test_what_is_no_frame_is_passed_on_unread(nursery):
    rubbish = b"GET / HTTP/1.1\r\n\r\n"
    for rewrite in (False, True):
        recorder = Recorder()
        broker = Script(nursery, [heartbeat_answer(7), b"HTTP/1.1 ", b"200 OK"])
        address = await proxied(nursery, await broker.start(), recorder, rewrite=rewrite)
        client = await connect(nursery, address)
        await client.send_all(rubbish)
        got = b""
        with trio.fail_after(GIVE_UP):
            while data := await client.receive_some():
                got += data
        assert got == heartbeat_answer(7) + b"HTTP/1.1 200 OK"
        await client.aclose()
        await recorder.wait_for(Closed)
        broken = [each for each in recorder.events if isinstance(each, Broken)]
        assert {each.by for each in broken} == {"client", "broker"}
        assert {each.rubbish[:4] for each in broken} == {b"GET ", b"HTTP"}


async def test_a_frame_that_is_cut_off_is_passed_on_and_told(nursery):
    for rewrite in (False, True):
        recorder = Recorder()
        broker = Script(nursery, [heartbeat_answer(7)[:9]])
        address = await proxied(nursery, await broker.start(), recorder, rewrite=rewrite)
        client = await connect(nursery, address)
        with trio.fail_after(GIVE_UP):
            assert await client.receive_some() == heartbeat_answer(7)[:9]
            assert await client.receive_some() == b""
        await client.aclose()
        await recorder.wait_for(Closed)
        assert recorder.events[1:] == [
            Broken(0, 1, "broker", "the connection ends 9 bytes into a frame", heartbeat_answer(7)[:9]),
            Closed(0, 1, "broker"),
        ]


async def test_a_broker_that_is_not_there_is_told(nursery):
    with trio.socket.socket() as nobody:
        await nobody.bind(("127.0.0.1", 0))
        recorder = Recorder()
        address = await proxied(nursery, Address(*nobody.getsockname()), recorder)
        client = await dial(address)
        assert await client.is_closed()
        await recorder.wait_for(Closed)
        assert recorder.events[-1] == Closed(0, 1, "proxy")
        assert "cannot be reached: " in recorder.notes[0][1]
        await client.aclose()


async def test_who_is_gone_before_anybody_looks_costs_the_proxy_nothing(nursery):
    with trio.socket.socket() as nobody:
        await nobody.bind(("127.0.0.1", 0))
        recorder = Recorder()
        address = await proxied(nursery, Address(*nobody.getsockname()), recorder)
        for _ in range(3):
            gone = socket.create_connection((address.host, address.port))
            # Closed like this, a connection ends with a reset.
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
        client = await dial(address)
        assert await client.is_closed()
        await recorder.wait_for(Closed)
        assert [type(each) for each in recorder.events] == [Opened, Closed]
        await client.aclose()


async def test_a_broker_that_is_not_reached_in_time_is_told(nursery, monkeypatch):
    async def never(*_args):
        await trio.sleep_forever()

    monkeypatch.setattr("kcoord.dump.proxy.CONNECTING", 0.01)
    recorder = Recorder()
    address = await proxied(nursery, Address("127.0.0.1", 1), recorder)
    monkeypatch.setattr(trio, "open_tcp_stream", never)
    client = await connect(nursery, address)
    await recorder.wait_for(Closed)
    assert "no connection within" in recorder.notes[0][1]
    await client.aclose()


async def test_a_place_that_is_taken_is_told(kcoord):
    with pytest.raises(CannotProxy, match=r"cannot listen on 127\.0\.0\.1:.*in use"):
        await Proxy(LOOPBACK, Recorder()).run(kcoord.running.addresses[0])


# Replays


async def test_a_session_is_the_same_on_the_same_kind_of_broker(kcoord, another, nursery):
    recorder = await record(nursery, kcoord, partial(consume, group="g"), partial(consume, group="h"))
    count, findings = await replay(recorder.events, another.running.addresses[0])
    assert findings == []
    assert (count.requests, count.answers) == (12, 12)


async def test_several_members_keep_their_order(kcoord, another, nursery):
    async def rebalance(address):
        one, two = await dial(address), await dial(address)
        protocols = [m.JoinGroupRequestProtocol(name="range", metadata=b"x")]
        same = {"group_id": "g", "session_timeout_ms": 6000, "rebalance_timeout_ms": 60000,
                "protocol_type": "consumer", "protocols": protocols}  # fmt: skip
        first = (await one.call(m.JoinGroupRequest(**same), 9)).member_id
        alone = await one.call(m.JoinGroupRequest(**same, member_id=first), 9)
        assert alone.leader == first
        second = (await two.call(m.JoinGroupRequest(**same), 9)).member_id
        await two.send(m.JoinGroupRequest(**same, member_id=second), 9)
        me = m.HeartbeatRequest(group_id="g", member_id=first, generation_id=1)
        while (await one.call(me, 4)).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            pass
        joined = await one.call(m.JoinGroupRequest(**same, member_id=first), 9)
        assert (joined.generation_id, len(joined.members)) == (2, 2)
        assert (await two.receive()).leader == first
        now = {"group_id": "g", "generation_id": 2, "protocol_type": "consumer", "protocol_name": "range"}
        await two.send(m.SyncGroupRequest(**now, member_id=second), 5)
        assignments = [
            m.SyncGroupRequestAssignment(member_id=each, assignment=text)
            for each, text in ((first, b"1"), (second, b"2"))
        ]
        synced = await one.call(m.SyncGroupRequest(**now, member_id=first, assignments=assignments), 5)
        assert (synced.assignment, (await two.receive()).assignment) == (b"1", b"2")
        await one.aclose()
        await two.aclose()

    recorder = Recorder()
    address = await proxied(nursery, kcoord.running.addresses[0], recorder)
    await rebalance(address)
    await recorder.wait_for(Closed, 2)
    count, findings = await replay(recorder.events, another.running.addresses[0])
    assert findings == []
    assert count.answers == count.requests


async def test_who_means_a_broker_means_the_one_of_now(kcoord, another, nursery):
    async def ask(address):
        client = await dial(address)
        cluster = await client.call(m.MetadataRequest(topics=[]), 12)
        place = {"cluster_id": cluster.cluster_id, "node_id": cluster.brokers[0].node_id}
        software = {"client_software_name": "x", "client_software_version": "1"}
        answer = await client.call(m.ApiVersionsRequest(**software, **place), 5)
        assert answer.error_code == ErrorCode.NONE
        await client.aclose()

    recorder = await record(nursery, kcoord, ask)
    assert kcoord.broker.cluster_id != another.broker.cluster_id
    assert (await replay(recorder.events, another.running.addresses[0]))[1] == []


async def test_what_differs_is_told_field_by_field(kcoord, another, nursery):
    async def ask(address):
        client = await dial(address)
        await client.call(m.ListGroupsRequest(), 4)
        await client.call(m.ListGroupsRequest(), 4)
        await client.aclose()

    recorder = await record(nursery, kcoord, partial(consume, group="g"), ask)
    only_asked = [each for each in recorder.events if each.connection == 2]
    count, findings = await replay(only_asked, another.running.addresses[0])
    (finding,) = findings
    assert finding.difference.path == ("groups", "[group_id g]")
    assert finding.difference.now == Absent()
    assert (count.findings, count.repeated) == (2, 1)
    assert (await replay(only_asked, another.running.addresses[0], ignored=["groups"]))[1] == []


async def test_the_pace_is_kept_where_asked_for(autojump_clock):
    nobody = Replay(LOOPBACK, [].append, pace=True)
    await nobody.run([Closed(2500, 1)])
    assert trio.current_time() == pytest.approx(2.5)


def lines(*frames, closed=None):
    """The events of one connection; frames of the client are in tuples."""
    events = [Passed(0, 1, isinstance(each, tuple), each[0] if isinstance(each, tuple) else each) for each in frames]
    return [Opened(0, 1), *events, *([] if closed is None else [Closed(0, 1, closed)])]


@pytest.mark.parametrize(
    ("events", "script", "words"),
    [
        (lines((heartbeat(1),), heartbeat_answer(1)), [any, None], "no answer within 0.5 s"),
        (lines((heartbeat(1),), heartbeat_answer(1)), [any], "an answer was recorded; the broker has closed"),
        (lines((heartbeat(1),), heartbeat_answer(1)), [any, heartbeat_answer(2), None], "has correlation id 2"),
        (lines((heartbeat(1),), heartbeat_answer(1)), [any, b"\0\0\0\2ab", None], "the answer has correlation id"),
        (lines((heartbeat(1),), heartbeat_answer(1)), [any, b"\x7f\xff\xff\xff", None], "the broker sends no frames"),
        (lines((heartbeat(1),), closed="broker"), [any, heartbeat_answer(1), None], "; now it answers"),
        (lines((heartbeat(1),), closed="broker"), [any, None], "closed the connection; now it has not, within 0.5 s"),
        (lines(heartbeat_answer(1)), [None], "to a request that was not"),
        (lines((b"\0\0\0\2ab",)), [None], "cannot be read"),
        ([Opened(0, 1), Broken(0, 1, "client", "so it is")], [None], "the client sent what is no frame"),
    ],
)  # fmt: skip
async def test_a_connection_that_cannot_go_on_is_given_up(nursery, events, script, words):
    broker = Script(nursery, script)
    patience = 0.5 if "within 0.5 s" in words else GIVE_UP
    count, findings = await replay([*events, Passed(0, 1, True, heartbeat(9))], await broker.start(), patience=patience)
    (finding,) = findings
    assert words in finding.text
    assert "what follows on this connection is not played" in finding.text
    assert count.requests <= 1


async def test_a_broker_that_closes_where_it_was_recorded_is_no_difference(nursery):
    broker = Script(nursery, [any])
    count, findings = await replay(lines((heartbeat(1),), closed="broker"), await broker.start())
    assert (count.requests, count.answers, findings) == (1, 0, [])


async def test_a_broker_that_takes_nothing_is_given_up(nursery):
    broker = Script(nursery, [None])
    data = (1 << 25).to_bytes(4, "big") + b"\0\x44\0\0" + bytes(4) + b"\xff\xff" + bytes((1 << 25) - 10)
    _, findings = await replay(lines((data,)), await broker.start(), patience=0.5)
    assert "the broker takes no bytes within 0.5 s" in findings[0].text


async def test_what_is_not_described_is_sent_as_it_is_and_compared_as_bytes(nursery):
    asked = b"\0\0\0\x0c\0\x44\0\0\0\0\0\1\xff\xffab"
    broker = Script(nursery, [any, b"\0\0\0\6\0\0\0\1yz", any, heartbeat_answer(2)])
    events = lines((asked,), b"\0\0\0\6\0\0\0\1xz", (heartbeat(2),), heartbeat_answer(2)[:9] + b"\7\7")
    _, findings = await replay(events, await broker.start())
    assert broker.got[0] == asked[4:]
    assert (findings[0].difference.recorded, findings[0].difference.now) == (b"xz", b"yz")
    assert len(findings) == 2


async def test_ids_of_now_go_into_requests_and_old_answers_of_api_versions_are_read(nursery):
    answer = join_response(1, "new", error_code=79)
    old = b"\0\0\0\x0a\0\0\0\3\0\x23\0\0\0\0"
    asked = b"\0\0\0\x0b\0\x12\0\x63\0\0\0\3\xff\xff\0"
    broker = Script(nursery, [any, answer, any, heartbeat_answer(2), any, old])
    events = lines((join_request(1),), join_response(1, "old", error_code=79), (heartbeat(2, member="old"),),
                   heartbeat_answer(2), (asked,), old)  # fmt: skip
    _, findings = await replay(events, await broker.start())
    assert findings == []
    assert broker.got[1] == heartbeat(2, member="new")[4:]


async def test_a_broker_that_is_not_there_is_bad_input():
    with trio.socket.socket() as nobody:
        await nobody.bind(("127.0.0.1", 0))
        with pytest.raises(BadInput, match="cannot be reached: "):
            await replay(lines((heartbeat(),)), Address(*nobody.getsockname()))


async def test_a_broker_that_is_not_reached_in_time_is_bad_input(monkeypatch, autojump_clock):
    async def never(*_args):
        await trio.sleep_forever()

    monkeypatch.setattr(trio, "open_tcp_stream", never)
    with pytest.raises(BadInput, match="no connection within 60 s"):
        await replay(lines((heartbeat(),)), LOOPBACK)
