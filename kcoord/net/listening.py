"""Listening sockets: bound before anything else happens, accepted from when everything is ready."""

import errno
import os
import socket
from collections.abc import Mapping, Sequence

import trio

from kcoord.broker import Broker
from kcoord.config import WILDCARD_HOSTS, Address, Config, Listener
from kcoord.net.addresses import plain_host
from kcoord.net.connections import Connections
from kcoord.net.socket_stream import CLOSED, PlainSocketStream
from kcoord.nodes import Endpoint
from kcoord.notices import AcceptFailed, Listening

OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""Errors of `accept` that are over when some connection ends."""
ACCEPT_AGAIN = 0.1
"""Seconds until the next attempt then."""
TOLD_EVERY = 10.0
"""Seconds for which an error that lasts, or comes again, is not told again."""
ACCEPTED_AT_ONCE = 100
"""Connections that one turn lets in, so that a crowd at the door does not hold up those who are inside."""
HIGHEST_PORT = 65_535
BACKLOG = 4096
"""Connections that the kernel may hold ready; its own limit may be lower."""


class CannotListen(Exception):
    """A listener cannot have its address; the text is one sentence that says which and why."""


class Lack:
    """What keeps clients out of a listener, told when it begins and now and then, however often it is met."""

    def __init__(self, broker: Broker, listener: str) -> None:
        self._broker = broker
        self._listener = listener
        self._told: dict[int, float] = {}

    async def met(self, error: OSError) -> None:
        """Tell of it, if it is time for that, and wait until the next attempt."""
        now = trio.current_time()
        code = error.errno or 0
        if now - self._told.get(code, -TOLD_EVERY) >= TOLD_EVERY:
            self._told[code] = now
            self._broker.tell(AcceptFailed(listener=self._listener, why=str(error)))
        await trio.sleep(ACCEPT_AGAIN)


class BoundListener:
    """A listener that has its socket."""

    def __init__(self, listener: Listener, sock: socket.socket, advertised: Address | None) -> None:
        self.listener = listener
        self.advertised = advertised
        self.name = listener.name
        host, port = sock.getsockname()[:2]
        self.address = Address(host, port)
        """Where it listens, with the real port."""
        self._socket = sock
        self._endpoint: Endpoint | None = None
        if advertised is not None:
            self._endpoint = Endpoint(advertised.host, advertised.port or port)
        elif host not in WILDCARD_HOSTS:
            self._endpoint = Endpoint(listener.address.host, port)

    @property
    def endpoint(self) -> Endpoint:
        """What clients of other brokers of this server are told; without a host if each has to take its own."""
        return self._endpoint or Endpoint("", self.address.port)

    def endpoint_for(self, local_host: str, local_port: int) -> Endpoint:
        """Return what a client is told to connect to that came to this local address.

        A wildcard is an address of nobody, so without an advertised one the client is told what it used.
        """
        return self._endpoint or Endpoint(plain_host(local_host), local_port)

    def close(self) -> None:
        """Give the address back; `accept` is to be cancelled before."""
        self._socket.close()

    async def accept(self, broker: Broker, connections: Connections) -> None:
        """Serve whoever connects, until cancelled."""
        broker.tell(Listening(address=str(self.address), listener=self.name))
        lack = Lack(broker, self.name)
        async with trio.open_nursery() as nursery:
            # Somebody may have been at the door when it was cancelled: then this goes on once more before it ends.
            while self._socket.fileno() != CLOSED:
                await trio.lowlevel.wait_readable(self._socket)
                error = self._let_in(nursery, connections)
                if error is not None:
                    await lack.met(error)

    def _let_in(self, nursery: trio.Nursery, connections: Connections) -> OSError | None:
        """Serve those who are at the door; return what keeps the others out, if that is a lack of resources."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, peer = self._socket.accept()
            except BlockingIOError:
                return None
            except OSError as error:
                # Everything else that accept may say is about a client that is gone again, or a door that is.
                return error if error.errno in OUT_OF_RESOURCES else None
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                endpoint = self.endpoint_for(*sock.getsockname()[:2])
            except OSError:
                # Some systems say only here that the client is gone.
                sock.close()
                continue
            nursery.start_soon(
                connections.serve, PlainSocketStream(sock), plain_host(peer[0]), peer[1], endpoint, self.name
            )
        return None


def listeners_of(config: Config, number: int) -> tuple[Listener, ...]:
    """Return where the broker of that number, from 0, listens: at the ports behind those of the first one.

    Raises CannotListen where there is no such port.
    """
    return tuple(_shifted(listener, number) for listener in config.listeners)


def _shifted(listener: Listener, number: int) -> Listener:
    address = listener.address
    if not address.port or not number:
        return listener
    port = address.port + number
    if port > HIGHEST_PORT:
        raise CannotListen(f"broker {number + 1} cannot listen on {address.host}:{port}: there is no such port")
    return Listener(listener.name, Address(address.host, port))


async def bind_all(config: Config, number: int = 0) -> list[BoundListener]:
    """Bind every listener of the broker of that number, from 0, or none. Raises CannotListen."""
    advertised = {each.name: _shifted(each, number).address for each in config.advertised_listeners}
    return await bind(listeners_of(config, number), advertised)


async def bind(listeners: Sequence[Listener], advertised: Mapping[str, Address]) -> list[BoundListener]:
    """Bind listeners, or none of them. Raises CannotListen."""
    bound: list[socket.socket] = []
    try:
        for listener in listeners:
            # Not a comprehension: those bound before a failure must be closed.
            bound.append(await _bind(listener))  # noqa: PERF401
    except (CannotListen, trio.Cancelled):
        for sock in bound:
            sock.close()
        raise
    return [
        BoundListener(listener, sock, advertised.get(listener.name))
        for listener, sock in zip(listeners, bound, strict=True)
    ]


async def _bind(listener: Listener) -> socket.socket:
    """Bind one socket: to one address of its host, IPv4 if it has one, and of a wildcard to all of both kinds.

    That is what Java does with a host name, and why a server on "localhost" is found at 127.0.0.1.
    """
    host, port = listener.address.host, listener.address.port
    try:
        if host in {"", "::"} and socket.has_dualstack_ipv6():
            sock = socket.create_server(("::", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
        else:
            found = await trio.socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)  # noqa: S104
            family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
            sock = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except socket.gaierror as error:
        # The resolver has numbers of its own.
        raise CannotListen(f"cannot listen on {listener.address}: {error.strerror}") from None
    except OSError as error:
        # What Python puts in front of the system's words is left out.
        known = os.strerror(error.errno) if error.errno is not None else str(error)
        raise CannotListen(f"cannot listen on {listener.address}: {known}") from None
    except UnicodeError as error:
        raise CannotListen(f"cannot listen on {listener.address}: {error}") from None
    sock.setblocking(False)
    return sock
