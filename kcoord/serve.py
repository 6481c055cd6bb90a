"""The server: everything wired together. The command line, tests and benchmarks all start it here."""

from collections.abc import Callable
from dataclasses import dataclass

import trio

from kcoord.broker import Broker
from kcoord.cleaner import Cleaner
from kcoord.clock import Clock
from kcoord.config import Address, Config
from kcoord.net.connection import Load
from kcoord.net.listening import CannotListen
from kcoord.net.site import Site
from kcoord.nodes import Endpoint
from kcoord.store.base import Store
from kcoord.store.opening import UnknownStore, open_store

__all__ = ["CannotListen", "Running", "UnknownStore", "serve"]

LAST_WORDS = 0.1
"""Seconds that are left for answers when the server stops."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts connections. `addresses` are those it listens on, with real ports."""

    broker: Broker
    clock: Clock
    sites: tuple[Site, ...]
    _nursery: trio.Nursery

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Those that the server listens on, with real ports."""
        return tuple(address for site in self.sites for address in site.addresses)

    @property
    def bootstrap(self) -> str:
        """What a client on this machine is given as `bootstrap.servers`."""
        loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a wildcard is reached by
        return ",".join(str(Address(loopback.get(each.host, each.host), each.port)) for each in self.addresses)

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return sum(len(site.connections) for site in self.sites)

    @property
    def present_connections(self) -> frozenset[int]:
        """The numbers of the connections whose clients are there, as requests that are told of have them.

        Clients whose connections were broken off a moment ago, as by `stop_broker`, are about to come again.
        """
        return frozenset[int]().union(*(site.connections.present for site in self.sites))

    async def drop_connections(self, why: str) -> None:
        """End every connection that there is, and wait until it has ended; new ones are welcome."""
        for site in self.sites:
            await site.connections.close_all(why)

    async def stop_broker(self, site: Site, why: str) -> None:
        """Let a broker stop serving: who waits is answered first, then its sockets close.

        Who calls this has `site.changing`. Once begun, it comes to its end, also if who wanted it is cancelled: a
        broker that does not run must not keep its addresses, which it will need.
        """
        site.node.running = False
        with trio.CancelScope(shield=True):
            await trio.sleep(LAST_WORDS)
            await site.stop(why)

    async def start_broker(self, site: Site, lead: Callable[[], object] = lambda: None) -> None:
        """Let a broker serve again, at its old addresses; who calls this has `site.changing`. Raises CannotListen.

        `lead` is called when nothing can go wrong any more, and before anybody else knows that the broker runs.
        """
        await site.bind_again()
        lead()
        site.node.running = True
        with trio.CancelScope(shield=True):
            await self._nursery.start(site.accept)

    async def stop(self) -> None:
        """Send away who waits, with NOT_COORDINATOR, as a broker does that shuts down; then cancel `serve`.

        Takes a moment, in which those answers leave; a client that does not read is not waited for.
        """
        for shard in self.broker.shards:
            shard.stop()
        await trio.sleep(LAST_WORDS)

    async def attach(
        self,
        stream: trio.abc.Stream,
        peer_host: str = "127.0.0.1",
        endpoint: Endpoint = Endpoint("localhost", 9092),  # noqa: B008 - a frozen value
        number: int = 0,
    ) -> None:
        """Serve one client over `stream` until it ends.

        `peer_host` is the numeric address it seems to come from, `endpoint` what it is told of the broker that it comes
        to, which is the one of that number, from 0.
        """
        await self.sites[number].connections.serve(stream, peer_host, 0, endpoint)


async def serve(
    config: Config,
    *,
    store: Store | None = None,
    on_note: Callable[[object], None] | None = None,
    task_status: trio.TaskStatus[Running] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled; started, with a `Running`, once every shard is loaded and connections are accepted.

    `store` is used, and left open, instead of the one that the configuration names. `on_note` is told
    everything that happens, from the start. Raises CannotListen and UnknownStore, before anything else was done.

    Cancelling closes the connections at once, whatever waits on them; `Running.stop` before it is what a broker
    does that is shut down.
    """
    own_store = open_store(config.store) if store is None else None
    clock = Clock()
    used = store or own_store
    assert used is not None
    broker = Broker(config, clock, used)
    if on_note is not None:
        broker.on_note(on_note)
    load = Load()
    sites = tuple(Site(broker, node, load) for node in broker.nodes)
    try:
        for number, site in enumerate(sites):
            await site.bind(config, number)
        async with trio.open_nursery() as nursery:
            async with trio.open_nursery() as loading:
                for shard in broker.shards:
                    loading.start_soon(nursery.start, shard.run)
            nursery.start_soon(Cleaner(broker).run)
            for site in sites:
                nursery.start_soon(site.connections.close_idle)
                await nursery.start(site.accept)
            task_status.started(Running(broker, clock, sites, nursery))
            await trio.sleep_forever()
    finally:
        for site in sites:
            site.close()
        if own_store is not None:
            with trio.CancelScope(shield=True):
                await own_store.aclose()
