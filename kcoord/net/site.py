"""One logical broker with its sockets: it can be stopped, and started again at the same addresses."""

from collections.abc import Mapping

import trio

from kcoord.broker import Broker
from kcoord.config import Address, Config
from kcoord.listeners import Listener
from kcoord.net.connection import Load
from kcoord.net.connections import Connections
from kcoord.net.listening import BoundListener, bind, bind_all
from kcoord.nodes import Node


class Site:
    """Where one broker is reached. `node` says whether it runs; who starts or stops it has `changing` meanwhile."""

    def __init__(self, broker: Broker, node: Node, load: Load) -> None:
        self.node = node
        self.connections = Connections(broker, node, load)
        self.changing = trio.Lock()
        self._broker = broker
        self._listeners: list[BoundListener] = []
        self._accepting = trio.CancelScope()
        self._none_left = trio.Event()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Those that it listens on, or did when it ran, with real ports."""
        return tuple(listener.address for listener in self._listeners)

    async def bind(self, config: Config, number: int) -> None:
        """Take the addresses of the broker of that number, from 0. Raises CannotListen."""
        self._take(await bind_all(config, number))

    def _take(self, listeners: list[BoundListener]) -> None:
        self._listeners = listeners
        self.node.endpoints = {listener.name: listener.endpoint for listener in listeners}

    async def accept(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Let clients in until `stop`, or until cancelled; once it is started, `stop` ends it."""
        self._none_left = trio.Event()
        try:
            with trio.CancelScope() as self._accepting:
                async with trio.open_nursery() as nursery:
                    for listener in self._listeners:
                        nursery.start_soon(listener.accept, self._broker, self.connections)
                    task_status.started()
        finally:
            self._none_left.set()

    async def stop(self, why: str) -> None:
        """Give the addresses back, and end all connections."""
        # They are cancelled together with who lets them in: each is to know why before.
        self.connections.end_all(why)
        self._accepting.cancel()
        self.close()
        await self._none_left.wait()
        await self.connections.close_all(why)

    async def bind_again(self) -> None:
        """Take the same addresses again. Raises CannotListen if somebody else has one by now."""
        listeners = [
            Listener(each.name, Address(each.listener.address.host, each.address.port)) for each in self._listeners
        ]
        advertised: Mapping[str, Address] = {
            each.name: each.advertised for each in self._listeners if each.advertised is not None
        }
        self._take(await bind(listeners, advertised))

    def close(self) -> None:
        """Give the addresses back."""
        for listener in self._listeners:
            listener.close()
