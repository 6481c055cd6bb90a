"""All connections together: how many there may be, and which have been silent for too long."""

from itertools import takewhile

import trio

from kcoord.broker import Broker
from kcoord.net.connection import Connection, Load
from kcoord.nodes import Endpoint, Node
from kcoord.notices import ConnectionRefused

CHECKS_A_LIFETIME = 20
"""How often, in the time that a connection may be idle, the idle ones are looked for at most."""
COMES_AGAIN_WITHIN = 10.0
"""Seconds, of real time, in which a client whose connection was broken off comes again if it still runs: it has waited
for `reconnect.backoff.max.ms`, looked for its coordinator, and sent its next heartbeat by then."""


class Connections:
    """Runs connections and ends idle ones.

    Kafka counts a connection as idle when no bytes moved, also while a request of its waits (Apache Kafka
    `Selector.IdleExpiryManager`); a JoinGroup that is held for longer than `connections.max.idle.ms` loses
    its connection, and its client asks again.
    """

    def __init__(self, broker: Broker, node: Node | None = None, load: Load | None = None) -> None:
        """`node` is the broker that clients come to, if there are several; what is large, `load` shares among them."""
        self._broker = broker
        self._node = broker.nodes.first if node is None else node
        self._load = Load() if load is None else load
        self._open: set[Connection] = set()
        self._broken_off: dict[int, float] = {}
        """By number, the moments, on trio's clock, of those that were broken off lately."""
        self._one_ended = trio.Event()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def present(self) -> frozenset[int]:
        """The numbers of those whose clients are there.

        They are open at both ends, or have been broken off so lately that their clients may not have come again yet.
        """
        self._forget_broken_off()
        return frozenset(each.number for each in self._open if each.is_open).union(self._broken_off)

    def _forget_broken_off(self) -> None:
        """Forget those whose clients would have come again by now."""
        since = trio.current_time() - COMES_AGAIN_WITHIN
        for number in list(takewhile(lambda each: self._broken_off[each] < since, self._broken_off)):
            del self._broken_off[number]

    def end_all(self, why: str) -> frozenset[Connection]:
        """Let all end that are open, whatever they are waiting for; return them."""
        ending = frozenset(self._open)
        for connection in ending:
            connection.close(why)
        return ending

    async def close_all(self, why: str) -> None:
        """End all that are open, and wait until they have ended; who comes meanwhile is not waited for."""
        ending = self.end_all(why)
        while not self._open.isdisjoint(ending):
            await self._one_ended.wait()

    async def serve(
        self, stream: trio.abc.Stream, host: str, port: int, endpoint: Endpoint, listener: str = ""
    ) -> None:
        """Serve one client until its connection ends; close it at once if there are too many already."""
        limit = self._broker.config.max_connections
        if len(self._open) >= limit:
            self._broker.tell(ConnectionRefused(host=host, port=port, limit=limit))
            await trio.aclose_forcefully(stream)
            return
        connection = Connection(self._broker, self._load, stream, host, port, endpoint, self._node, listener)
        self._open.add(connection)
        try:
            await connection.run()
        finally:
            self._open.discard(connection)
            if connection.was_broken_off:
                self._forget_broken_off()
                self._broken_off[connection.number] = trio.current_time()
            # Several may wait for it.
            self._one_ended.set()
            self._one_ended = trio.Event()

    async def close_idle(self) -> None:
        """Look for idle connections until cancelled. One task does that for all: none has a timer of its own."""
        max_idle = self._broker.config.connections_max_idle_ms / 1000
        if max_idle < 0:
            return
        pause = max(max_idle / CHECKS_A_LIFETIME, 0.01)
        while True:
            now = trio.current_time()
            oldest = now
            for connection in tuple(self._open):
                if now - connection.last_active >= max_idle:
                    connection.close(f"nothing moved on it for {max_idle:g} s")
                else:
                    oldest = min(oldest, connection.last_active)
            await trio.sleep(max(oldest + max_idle - now, pause))
