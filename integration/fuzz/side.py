"""One of the two brokers, as one play of a sequence has it: connections, and the calls on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import trio

from integration.fuzz.masking import Names, evened
from kcoord.check import probe
from kcoord.check.connecting import Endpoint
from kcoord.check.probe import Closed
from wire.errors import WireError

FIRST_SLOWNESS, FORGETTING = 0.02, 0.97


@dataclass
class Broker:
    """A broker that runs. `slowness` is about how long (s) it has taken of late for the slower answers."""

    name: str
    endpoint: Endpoint
    topic_ids: dict[str, Any]
    slowness: float = FIRST_SLOWNESS

    def took(self, seconds: float) -> None:
        """Take note of how long an answer took that nothing held up."""
        self.slowness = max(min(seconds, 0.5), self.slowness * FORGETTING)


@dataclass(eq=False)
class Sent:
    """A request that was sent. `answer` is masked; `lost` says how the connection ended before it came."""

    sent_at: float
    raw: Any = None
    lost: str = ""
    answered_at: float = math.inf

    @property
    def done(self) -> bool:
        """Whether it was answered, or never will be."""
        return self.raw is not None or bool(self.lost)


class Line:
    """A connection, read in the background."""

    def __init__(self, client: probe.Client, side: Side) -> None:
        self._client = client
        self._side = side
        self._scope = trio.CancelScope()
        self._calls: list[tuple[probe.Call, Sent]] = []
        self._more = trio.Event()
        side.nursery.start_soon(self._read)

    async def send(self, request: Any, version: int, client_id: str) -> Sent:
        """Send a request."""
        sent = Sent(trio.current_time())
        self._client.client_id = client_id
        try:
            call = await self._client.send(request, version)
        except Closed:
            sent.lost = "the connection was closed before"
            return sent
        self._calls.append((call, sent))
        self._more.set()
        return sent

    def drop(self) -> None:
        """Close it; whatever is awaited on it will not come."""
        self._scope.cancel()

    async def _read(self) -> None:
        try:
            with self._scope:
                while True:
                    while not self._calls:
                        self._more = trio.Event()
                        await self._more.wait()
                    call, sent = self._calls[0]
                    await self._client.read_until(call)
                    del self._calls[0]
                    sent.raw, sent.answered_at = call.response, trio.current_time()
                    self._side.something()
        except (Closed, WireError) as error:
            for _, sent in self._calls:
                sent.lost = f"{type(error).__name__}: {error}"
            self._side.something()
        finally:
            await trio.aclose_forcefully(self._client.stream)


@dataclass
class Side:
    """One broker in one play."""

    broker: Broker
    names: Names
    nursery: trio.Nursery
    changed: trio.Event
    last_answer: float = 0.0
    lines: dict[Any, Line] = field(default_factory=dict)

    def something(self) -> None:
        """Say that an answer came."""
        self.last_answer = trio.current_time()
        self.changed.set()

    async def send(self, line: Any, request: Any, version: int, client_id: str) -> Sent:
        """Send a request on the connection of that name, which is opened if need be."""
        if line not in self.lines:
            client = probe.Client(await self.broker.endpoint.open())
            self.lines[line] = Line(client, self)
        return await self.lines[line].send(self.names.real(request), version, client_id)

    def drop(self, line: Any) -> None:
        """Close the connection of that name, if there is one."""
        if line in self.lines:
            self.lines.pop(line).drop()

    def masked(self, sent: Sent) -> Any:
        """Return the answer, with symbols for ids."""
        if sent.raw is None:
            return sent.lost
        return evened(self.names.masked(sent.raw), self.names.own)

    def close(self) -> None:
        """Close everything."""
        for line in list(self.lines):
            self.drop(line)
