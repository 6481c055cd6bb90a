"""HTTP itself, over loopback: connections, what is no HTTP, clients that go away or do not read."""

import errno
import json
import os

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.config import Address
from kcoord.control import Control
from kcoord.notices import AcceptFailed, HandlerFailed
from kcoord.web.app import LARGEST_BODY
from kcoord.web.serving import ControlListener
from tests.server.client import GIVE_UP
from tests.server.conftest import start, without_sockets

HEAD_END = b"\r\n\r\n"


class Peer:
    """A client that says exactly what it is told."""

    def __init__(self, stream):
        self.stream = stream
        self.data = b""

    async def say(self, data):
        await self.stream.send_all(data)

    async def ask(self, line, body=b"", headers=""):
        await self.say(f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode())
        await self.say(body)
        return await self.hear()

    async def hear(self, *, head_only=False):
        """The next answer: its status, its headers and what is in its body."""
        with trio.fail_after(GIVE_UP):
            while HEAD_END not in self.data:
                await self._more()
            head, _, self.data = self.data.partition(HEAD_END)
            status, *lines = head.decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines)
            length = 0 if head_only else int(headers.get("content-length", 0))
            while len(self.data) < length:
                await self._more()
        body, self.data = self.data[:length], self.data[length:]
        return int(status.split()[1]), headers, json.loads(body) if body else None

    async def _more(self):
        data = await self.stream.receive_some(65536)
        assert data, "the connection has ended"
        self.data += data

    async def is_closed(self):
        with trio.fail_after(GIVE_UP):
            try:
                return await self.stream.receive_some(1) == b""
            except trio.BrokenResourceError:
                return True


class Place:
    """A control that is served, and its clients."""

    def __init__(self, server, control, url):
        self.server, self.control, self.nursery = server, control, server.nursery
        self.host, self.port = url.removeprefix("http://").rsplit(":", 1)

    async def connect(self):
        stream = await trio.open_tcp_stream(self.host, int(self.port))
        self.nursery.start_soon(self._close_in_the_end, stream)
        return Peer(stream)

    async def _close_in_the_end(self, stream):
        async with stream:
            await trio.sleep_forever()


@pytest.fixture
async def place(nursery):
    return await placed(nursery)


async def placed(nursery):
    server = await start(nursery, without_sockets())
    control = Control(server.running)
    listener = ControlListener(Address("127.0.0.1", 0))
    return Place(server, control, await nursery.start(listener.serve, server.running, control))


async def test_a_connection_serves_one_request_after_the_other(place):
    peer = await place.connect()
    for _ in range(3):
        status, headers, told = await peer.ask("GET /clock")
        assert (status, told["frozen"], headers["content-type"]) == (200, False, "application/json")
    assert (await peer.ask("POST /clock/freeze", b"{}"))[2]["frozen"]
    assert (await peer.ask("POST /reset"))[0] == 204
    assert (await peer.ask("GET /nowhere"))[0] == 404
    assert (await peer.ask("GET /groups"))[2] == []


async def test_requests_that_are_sent_together_are_answered_in_their_order(place):
    peer = await place.connect()
    await peer.say(b"GET /clock HTTP/1.1\r\nHost: localhost\r\n\r\nGET /groups HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert "mono" in (await peer.hear())[2]
    assert (await peer.hear())[2] == []


async def test_a_request_behind_a_wait_has_its_turn(place):
    peer = await place.connect()
    wish = b'{"members": 1, "timeout": 0.2}'
    head = b"POST /groups/g/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(wish)
    await peer.say(head + wish)
    await trio.testing.wait_all_tasks_blocked()
    await peer.say(b"GET /groups HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await peer.hear())[0] == 408
    assert (await peer.hear())[2] == []


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://127.0.0.1:{port}/clock", 200),
        ("HTTP://localhost/clock", 200),
        ("https://[::1]:1/clock", 200),
        ("http://127.0.0.1", 200),
        ("http://127.0.0.1?x=1", 400),
        ("http://127.0.0.1/timeline/g?format=json", 404),
        ("http://127.0.0.1/groups/http%3A%2F%2Fa%2Fb", 404),
        ("http://127.0.0.1//clock", 404),
        ("http://evil.example/clock", 403),
        ("http://127.0.0.1@evil.example/clock", 403),
        ("http://user@LOCALHOST:/clock", 200),
        ("http:///clock", 403),
        ("http://[/clock", 403),
        ("ftp://127.0.0.1/clock", 404),
        ("/http://127.0.0.1/clock", 404),
        ("127.0.0.1:80", 404),
        ("*", 404),
    ],
)
async def test_a_whole_url_is_asked_for_as_clients_of_proxies_do(place, target, status):
    """RFC 9112, 3.2.2: it is to be accepted, and counts instead of the header."""
    peer = await place.connect()
    for host in ("127.0.0.1", "evil.example") if target[:4].lower() == "http" else ("127.0.0.1",):
        line = f"GET {target.format(port=place.port)} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        await peer.say(line.encode())
        got, _, told = await peer.hear()
        assert (got, "error" in told) == (status, status >= 400), told


@pytest.mark.parametrize(
    "host", ["", "[", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1:0", "evil.example:x", "127.0.0.1@evil.example"]
)
async def test_a_host_that_makes_no_sense_is_not_this_machine(place, host):
    peer = await place.connect()
    await peer.say(f"GET /clock HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert (await peer.hear())[0] == 403


async def test_head(place):
    peer = await place.connect()
    await peer.say(b"HEAD /clock HTTP/1.1\r\nHost: localhost\r\n\r\n")
    status, headers, _ = await peer.hear(head_only=True)
    assert (status, int(headers["content-length"]) > 0) == (200, True)
    assert (await peer.ask("GET /groups"))[2] == []


async def test_a_body_in_chunks_and_after_a_go_ahead(place):
    peer = await place.connect()
    await peer.say(
        b"POST /clock/advance HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    )
    assert (await peer.hear())[0] == 100
    await peer.say(b'd\r\n{"seconds": 2\r\n1\r\n}\r\n0\r\n\r\n')
    assert (await peer.hear())[0] == 200


@pytest.mark.parametrize(
    "said",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000,
    ],
)
async def test_what_is_no_http(place, said):
    peer = await place.connect()
    await peer.say(said)
    status, _, told = await peer.hear()
    assert status in {400, 431}
    assert told["error"].startswith("this is no request of HTTP/1.1: ")
    assert "bytearray" not in told["error"]
    assert await peer.is_closed()
    assert (await (await place.connect()).ask("GET /groups"))[0] == 200


async def test_an_older_client_is_answered_and_sent_away(place):
    peer = await place.connect()
    await peer.say(b"GET /groups HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert (await peer.hear())[2] == []
    assert await peer.is_closed()


async def test_who_sends_too_much_is_told_so_at_once(place):
    peer = await place.connect()
    await peer.say(b"POST /faults HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")
    await peer.say(b" " * (LARGEST_BODY + 1))
    status, headers, told = await peer.hear()
    assert (status, headers["connection"]) == (413, "close")
    assert "too large" in told["error"]
    assert await peer.is_closed()


async def test_a_request_that_does_not_come_to_its_end(place):
    peer = await place.connect()
    await peer.say(b'POST /clock/advance HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"seconds"')
    await peer.stream.send_eof()
    assert (await peer.hear())[2] == {"error": "the body does not come to its end"}
    assert await peer.is_closed()


async def test_a_wait_ends_when_its_client_goes_away(place, monkeypatch):
    begun, ended = trio.Event(), trio.Event()

    async def wait(*_given, **_how):
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    monkeypatch.setattr(place.control.groups, "wait", wait)
    peer = await place.connect()
    wish = b'{"members": 1, "timeout": 100}'
    await peer.say(b"POST /groups/g/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(wish) + wish)
    with trio.fail_after(GIVE_UP):
        await begun.wait()
        await peer.stream.aclose()
        await ended.wait()
    assert not told_of(place)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EINVAL])
async def test_without_descriptors_clients_wait_and_somebody_is_told(nursery, monkeypatch, caplog, code):
    accept, failing = trio.SocketListener.accept, [code] * 3

    async def accept_in_the_end(listener):
        if failing:
            raise OSError(failing.pop(), os.strerror(code))
        return await accept(listener)

    monkeypatch.setattr(trio.SocketListener, "accept", accept_in_the_end)
    place = await placed(nursery)
    await wait_all_tasks_blocked()
    assert len(failing) == 3
    assert (await (await place.connect()).ask("GET /clock"))[0] == 200
    (note,) = [each for each in place.server.notes if isinstance(each, AcceptFailed)]
    assert (note.listener, note.why) == ("control", f"[Errno {code}] {os.strerror(code)}")
    assert not caplog.records


async def test_who_does_not_read_holds_up_nobody_and_not_the_end(monkeypatch):
    with trio.fail_after(GIVE_UP):
        async with trio.open_nursery() as nursery:
            place = await placed(nursery)
            monkeypatch.setattr(place.control.groups, "list", lambda: ("x" * 50_000_000,))
            slow, other = await place.connect(), await place.connect()
            await slow.say(b"GET /groups HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await slow.stream.receive_some(1)
            assert (await other.ask("GET /clock"))[0] == 200
            nursery.cancel_scope.cancel()


async def test_a_bug_ends_one_connection_and_is_told(place, monkeypatch):
    def broken():
        raise RuntimeError("secret")

    monkeypatch.setattr(place.control.groups, "list", broken)
    peer = await place.connect()
    status, _, told = await peer.ask("GET /groups")
    assert (status, told) == (500, {"error": "this failed by a bug in kcoord; its log has more"})
    assert await peer.is_closed()
    (note,) = told_of(place)
    assert (note.host, "secret" in note.traceback) == ("127.0.0.1", True)
    assert (await (await place.connect()).ask("GET /clock"))[0] == 200


def told_of(place):
    return [note for note in place.server.notes if isinstance(note, HandlerFailed)]
