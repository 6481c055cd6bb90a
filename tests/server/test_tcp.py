"""Real sockets: half-closed, reset, of both families, and many."""

import errno
import os
import select
import socket
import struct
from contextlib import closing
from functools import partial

import pytest
import trio

from kcoord.broker import Broker
from kcoord.clock import Clock
from kcoord.config import Address, Config, Listener
from kcoord.core.notes import MemberJoined
from kcoord.net.connections import Connections
from kcoord.net.listening import CannotListen, bind_all
from kcoord.net.socket_stream import PlainSocketStream
from kcoord.notices import AcceptFailed, ConnectionClosed
from kcoord.store.memory import MemoryStore
from tests.server.client import GIVE_UP, Client, find, heartbeat, join, stable_member
from tests.server.conftest import on_loopback, start, without_sockets
from wire.header import request_frame
from wire.messages import DescribeGroupsRequest, MetadataRequest

FAST = {"group_initial_rebalance_delay_ms": 100}


async def until(condition):
    with trio.fail_after(GIVE_UP):
        while not condition():  # noqa: ASYNC110 - what is waited for is in another task's hands
            await trio.sleep(0.005)


async def test_port_0_takes_a_free_one_and_says_which(tcp_server):
    (address,) = tcp_server.running.addresses
    assert address.port > 0
    assert tcp_server.running.bootstrap == str(address)
    found = await (await tcp_server.dial()).call(find("g"), 1)
    assert (found.host, found.port) == ("127.0.0.1", address.port)


async def test_each_listener_has_its_own_idea_of_where_it_is(nursery):
    config = Config(
        listeners=(
            Listener("IN", Address("127.0.0.1", 0)),
            Listener("OUT", Address("::1", 0)),
            Listener("ANY", Address("", 0)),
            Listener("NAME", Address("localhost", 0)),
        ),
        advertised_listeners=(Listener("OUT", Address("example.org", 0)),),
    )
    server = await start(nursery, config)
    ports = [address.port for address in server.running.addresses]
    told = []
    for index, target in enumerate(("127.0.0.1", "::1", "127.0.0.1", "127.0.0.1")):
        client_stream = await trio.open_tcp_stream(target, ports[index])
        client = type(server.connect())(client_stream)
        broker = (await client.call(MetadataRequest(topics=[]), 1)).brokers[0]
        told.append((broker.host, broker.port))
        await client.aclose()
    assert told == [
        ("127.0.0.1", ports[0]),
        ("example.org", ports[1]),
        ("127.0.0.1", ports[2]),
        ("localhost", ports[3]),
    ]
    assert server.running.bootstrap.split(",")[2] == f"[::1]:{ports[2]}"


async def test_an_ipv6_client_is_shown_as_java_shows_it(nursery):
    server = await start(nursery, on_loopback("::1", **FAST))
    client = await server.dial()
    await stable_member(client, "g")
    described = await client.call(DescribeGroupsRequest(groups=["g"]), 5)
    assert described.groups[0].members[0].client_host == "/0:0:0:0:0:0:0:1"


async def test_a_client_that_closes_its_half_still_gets_its_answer(nursery):
    server = await start(nursery, on_loopback(**FAST))
    client = await server.dial()
    member = (await client.call(join("g"), 5)).member_id
    await client.send(join("g", member), 5)
    await client.stream.send_eof()
    joined = await client.receive(GIVE_UP)
    assert (joined.error_code, joined.generation_id) == (0, 1)
    assert await client.is_closed()


async def test_a_client_that_resets_its_connection_disturbs_nobody(nursery):
    server = await start(nursery, on_loopback(**FAST))
    gone, staying = await server.dial(), await server.dial()
    member = (await gone.call(join("g"), 5)).member_id
    await gone.send(join("g", member), 5)
    await until(lambda: server.seen(MemberJoined))
    gone.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await gone.aclose()
    await until(lambda: server.seen(ConnectionClosed))
    # To the group it is a member still, and generation 1 is its.
    assert (await staying.call(heartbeat("g", 1, member), 3)).error_code == 0


async def test_requests_in_flight_are_answered_before_the_end_is_seen(tcp_server):
    client = await tcp_server.dial()
    frames = [request_frame(number, "c", find("g"), 0) for number in range(200)]
    await client.send_raw(b"".join(frames))
    await client.stream.send_eof()
    for number in range(200):
        frame = await client.receive_frame(GIVE_UP)
        assert int.from_bytes(frame[:4], "big") == number
    assert await client.is_closed()


async def test_a_client_that_never_reads_holds_up_nobody(nursery):
    server = await start(nursery, on_loopback(**FAST))
    deaf, other = await server.dial(), await server.dial()
    questions = request_frame(1, "c", MetadataRequest(topics=None), 1) * 1_000_000
    stuck = trio.CancelScope()

    async def ask():
        with stuck:
            await deaf.stream.send_all(questions)
            pytest.fail("all of that was read, though no answer was")

    nursery.start_soon(ask)
    # Whoever asks and whoever answers are in this process: when neither has anything to do, neither can go on.
    await trio.testing.wait_all_tasks_blocked(0.1)
    member, generation = await stable_member(other, "g")
    for _ in range(100):
        with trio.fail_after(GIVE_UP):
            assert (await other.call(heartbeat("g", generation, member), 3)).error_code == 0
    assert server.running.connections == 2
    stuck.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert stuck.cancelled_caught, "it was stuck all the while"
    await deaf.aclose()


async def test_two_thousand_silent_connections_hold_up_nobody(nursery):
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < 4500:
        pytest.skip("the system does not allow that many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = await start(nursery, on_loopback(**FAST))
    host, port = server.running.addresses[0].host, server.running.addresses[0].port
    silent = []
    for _ in range(20):
        for _ in range(100):
            sock = trio.socket.socket()
            await sock.connect((host, port))
            silent.append(sock)
        await trio.lowlevel.checkpoint()
    await until(lambda: server.running.connections == 2000)
    client = await server.dial()
    member, generation = await stable_member(client, "g")
    for _ in range(200):
        with trio.fail_after(GIVE_UP):
            assert (await client.call(heartbeat("g", generation, member), 3)).error_code == 0
    assert server.running.connections == 2001, "the silent ones are there still"
    for sock in silent:
        sock.close()


async def test_a_server_that_cannot_have_all_its_addresses_has_none():
    first = await bind_all(on_loopback())
    taken = first[0].address
    config = Config(listeners=(Listener("A", Address("127.0.0.1", 0)), Listener("B", taken)))
    with pytest.raises(CannotListen, match="Address already in use"):
        await bind_all(config)
    first[0].close()


async def test_a_port_can_be_had_again_at_once(nursery):
    async with trio.open_nursery() as first:
        server = await start(first, on_loopback())
        address = server.running.addresses[0]
        client = await server.dial()
        await client.call(find("g"), 0)
        first.cancel_scope.cancel()
    listener = Listener("PLAINTEXT", address)
    again = await start(nursery, Config(listeners=(listener,)))
    assert again.running.addresses == (address,)
    assert (await (await again.dial()).call(find("g"), 0)).error_code == 0


async def test_without_listeners_there_is_no_address(autojump_clock, nursery):
    server = await start(nursery, without_sockets())
    assert (server.running.addresses, server.running.bootstrap) == ((), "")


async def test_the_stream_waits_where_the_kernel_has_no_room():
    left, right = socket.socketpair()
    for each in (left, right):
        each.setblocking(False)
    sender, receiver = PlainSocketStream(left), PlainSocketStream(right)
    data = bytes(range(256)) * 8000
    got = bytearray()

    async def read():
        while chunk := await receiver.receive_some():
            got.extend(chunk)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await sender.send_all(data)
        await sender.wait_send_all_might_not_block()
        await sender.aclose()
    assert bytes(got) == data
    await sender.aclose()
    with pytest.raises(trio.BrokenResourceError):
        await receiver.send_all(b"x")
    await receiver.aclose()
    await receiver.aclose()


async def test_closing_a_stream_wakes_who_waits_on_it():
    left, right = socket.socketpair()
    left.setblocking(False)
    stream = PlainSocketStream(left)
    async with trio.open_nursery() as nursery:

        async def wait():
            with pytest.raises(trio.ClosedResourceError):
                await stream.receive_some(1)

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        await stream.aclose()
    for call in (stream.receive_some, partial(stream.send_all, b"x"), stream.wait_send_all_might_not_block):
        with pytest.raises(trio.ClosedResourceError):
            await call()
    right.close()


class TiredSocket:
    """A listening socket of a process that has used up what it may open."""

    def __init__(self, sock, errors):
        self.sock = sock
        self.errors = errors

    def fileno(self):
        return self.sock.fileno()

    def close(self):
        self.sock.close()

    def accept(self):
        if self.errors:
            code = self.errors.pop(0)
            raise OSError(code, os.strerror(code))
        return self.sock.accept()


async def test_without_descriptors_clients_wait_and_somebody_is_told(nursery):
    config = on_loopback()
    (listener,) = await bind_all(config)
    broker, notes = Broker(config, Clock(), MemoryStore()), []
    broker.on_note(notes.append)
    listener._socket = TiredSocket(listener._socket, [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED])
    nursery.start_soon(listener.accept, broker, Connections(broker))
    client = Client(await trio.open_tcp_stream(listener.address.host, listener.address.port))
    with trio.fail_after(GIVE_UP):
        assert (await client.call(find("g"), 0)).error_code == 0
    assert [note.why for note in notes if type(note) is AcceptFailed] == [
        "[Errno 24] Too many open files",
        "[Errno 23] Too many open files in system",
    ]
    await client.aclose()
    listener.close()


@pytest.mark.parametrize("unread", [b"", b"more"])
async def test_the_end_of_a_peer_is_seen_without_reading(unread):
    left, right = socket.socketpair()
    left.setblocking(False)
    stream = PlainSocketStream(left)
    right.send(unread)
    assert not stream.peer_has_ended
    right.close()
    assert stream.peer_has_ended
    assert await stream.receive_some() == unread
    await stream.aclose()
    assert stream.peer_has_ended


async def test_where_the_kernel_is_asked_in_no_other_way_the_end_is_peeked_at(monkeypatch):
    monkeypatch.delattr(select, "POLLRDHUP", raising=False)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        right = socket.create_connection(listener.getsockname())
        left, _ = listener.accept()
    left.setblocking(False)
    stream = PlainSocketStream(left)
    assert not stream.peer_has_ended
    right.send(b"x")
    await trio.lowlevel.wait_readable(left)
    assert not stream.peer_has_ended
    assert await stream.receive_some() == b"x"
    right.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    right.close()
    await trio.lowlevel.wait_readable(left)
    assert stream.peer_has_ended
    await stream.aclose()
