"""Who is at the door is let in at once; where that cannot be, it is said now and then, and tried again."""

import errno
import os
import resource
import socket
from contextlib import ExitStack, asynccontextmanager

import pytest
import trio

from kcoord.broker import Broker
from kcoord.clock import Clock
from kcoord.net.connections import Connections
from kcoord.net.listening import ACCEPTED_AT_ONCE, TOLD_EVERY, CannotListen, bind_all
from kcoord.notices import AcceptFailed
from kcoord.store.memory import MemoryStore
from tests.server.client import Client, find
from tests.server.conftest import on_loopback, start
from tests.server.test_tcp import until


class Door:
    """A listening socket of whose `accept` the test says what it does; somebody is always there."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = 0
        self.readable, self.other = socket.socketpair()
        self.other.send(b"knock")

    def fileno(self):
        return self.readable.fileno()

    def accept(self):
        self.asked += 1
        return self.answer()

    def close(self):
        self.readable.close()
        self.other.close()


def failing(*codes):
    """Fail with the next code each time, with the last one for ever."""
    left = list(codes)

    def accept():
        code = left.pop(0) if len(left) > 1 else left[0]
        raise OSError(code, os.strerror(code))

    return accept


class Gone:
    """A connection that was over before anybody looked at it."""

    def __init__(self, closed):
        self.closed = closed

    def setblocking(self, _):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    def close(self):
        self.closed.append(self)


@asynccontextmanager
async def listening(answer):
    """A listener with such a door; gives the door and what it is told."""
    config = on_loopback()
    (listener,) = await bind_all(config)
    listener.close()
    broker, told = Broker(config, Clock(), MemoryStore()), []
    broker.on_note(lambda note: told.append(note.why) if type(note) is AcceptFailed else None)
    listener._socket = Door(answer)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.accept, broker, Connections(broker))
        yield listener._socket, told
        nursery.cancel_scope.cancel()
    listener.close()


async def test_a_lack_that_lasts_is_told_when_it_begins_and_now_and_then(autojump_clock):
    async with listening(failing(errno.EMFILE)) as (door, told):
        await trio.sleep(0.05)
        assert told == ["[Errno 24] Too many open files"]
        await trio.sleep(TOLD_EVERY - 0.5)
        assert len(told) == 1
        assert door.asked > 50
        await trio.sleep(10 * TOLD_EVERY)
        assert len(told) in {10, 11}


async def test_a_lack_that_comes_and_goes_is_not_told_each_time(autojump_clock):
    async with listening(failing(*[errno.EMFILE, errno.EAGAIN] * 20, errno.ENFILE)) as (_, told):
        await trio.sleep(5)
    assert [why.split("]")[0] for why in told] == [f"[Errno {errno.EMFILE}", f"[Errno {errno.ENFILE}"]


@pytest.mark.parametrize("code", [errno.ECONNABORTED, errno.EPERM, errno.EPROTO, errno.EINVAL])
async def test_whatever_else_fails_is_not_told_and_others_have_their_turn(code):
    async with listening(failing(code)) as (door, told):
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert 0 < door.asked <= 10
    assert told == []


async def test_a_client_that_is_gone_already_is_closed():
    closed, left = [], [Gone] * 3

    def accept():
        if not left:
            raise BlockingIOError
        return left.pop()(closed), ("127.0.0.1", 1)

    async with listening(accept):
        await until(lambda: len(closed) == 3)


async def test_a_crowd_is_let_in_at_once_but_others_have_their_turn():
    closed = []
    async with listening(lambda: (Gone(closed), ("127.0.0.1", 1))) as (door, _):
        seen = []
        while len(seen) < 10:
            await trio.lowlevel.checkpoint()
            if door.asked not in seen:
                seen.append(door.asked)
    assert {asked % ACCEPTED_AT_ONCE for asked in seen} == {0}


async def test_a_crowd_of_clients(nursery):
    server = await start(nursery, on_loopback())
    size = 3 * ACCEPTED_AT_ONCE
    address = server.running.addresses[0]
    with ExitStack() as crowd:
        for _ in range(size):
            sock = crowd.enter_context(socket.socket())
            sock.setblocking(False)
            with pytest.raises(BlockingIOError):
                sock.connect((address.host, address.port))
        await until(lambda: server.running.connections == size)


async def test_without_descriptors_it_goes_on_by_itself_when_there_are_some_again(nursery):
    server = await start(nursery, on_loopback())
    first = await server.dial()
    await first.call(find("g"), 0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    address = server.running.addresses[0]
    waiting = socket.socket()
    waiting.setblocking(False)
    try:
        # As many as are open now, and not one more; who is connected still is served.
        spare = os.dup(waiting.fileno())
        os.close(spare)
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
        with pytest.raises(BlockingIOError):
            waiting.connect((address.host, address.port))
        await until(lambda: server.seen(AcceptFailed))
        assert (await first.call(find("g"), 0)).error_code == 0
        assert server.running.connections == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    late = Client(trio.SocketStream(trio.socket.from_stdlib_socket(waiting)))
    assert (await late.call(find("g"), 0)).error_code == 0
    assert len(server.seen(AcceptFailed)) == 1
    await late.aclose()


@pytest.mark.parametrize("host", ["host.invalid", "a..b", "a" * 64, "ü..", "\0"])
async def test_a_host_that_cannot_be_resolved_is_one_sentence(host):
    with pytest.raises(CannotListen, match=r"^cannot listen on "):
        await bind_all(on_loopback(host))


async def test_a_wildcard_by_another_name_is_one_too(nursery):
    server = await start(nursery, on_loopback("0"))
    found = await (await server.dial()).call(find("g"), 0)
    assert found.host == "127.0.0.1"
