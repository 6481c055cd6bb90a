"""The server's clock, in the hands of a test."""

import trio

from kcoord.broker import Broker
from kcoord.control import given
from kcoord.control.presence import Presence
from kcoord.core.operators import KeepAlive
from kcoord.core.outcome import Now
from kcoord.notices import ClockFrozen, ClockMoved, ClockResumed

TURNS = 5
"""Turns in which connections that have ended are noticed: one reads the end, others close and forget. A request that
was delayed is handled and answered in as many."""


class ClockControl:
    """Time as the server sees it: sessions, join and sync phases, retention. Sockets live in real time."""

    def __init__(self, broker: Broker, presence: Presence) -> None:
        self._broker = broker
        self._presence = presence

    def now(self) -> Now:
        """Return the time: `mono` in seconds, from some moment on, and `wall_ms`, Unix time in ms."""
        return self._broker.clock.now()

    @property
    def is_frozen(self) -> bool:
        """Whether time stands still."""
        return self._broker.clock.is_frozen

    async def advance(self, seconds: float, *, heartbeats: bool = True) -> Now:
        """Move time forward; return when everything that was due has happened to groups, in its order, and is written.

        Requests that a fault delays are handled on the way, each at its moment, answers that are late are sent, and
        coordinators that load serve when they have.

        With `heartbeats`, members whose connection is open count as having sent heartbeats all the while, as they
        would have; those who are gone do not. Who lost the connection because its broker was stopped has 10 s of real
        time to come again. Without, nobody is heard of, and all sessions that are shorter end.
        Either way nobody can join or sync meanwhile: a join phase that begins and ends within one move is over without
        those who would have joined again.

        Raises Impossible for what is no number of seconds from 0, and for more than 366 days.
        """
        given.move(seconds)
        given.flag("heartbeats", heartbeats)
        await self._let_happen()
        clock, left = self._broker.clock, float(seconds)
        if heartbeats:
            self._keep_alive(left)
        self._broker.tell(ClockMoved(seconds=seconds, heartbeats=heartbeats))
        # What comes in on the way is not waited for: it might never end.
        line, loads = clock.place(), self._loads_within(left)
        try:
            while True:
                sleeper = clock.first_asleep(left, line)
                if loads and (sleeper is None or loads[0] <= sleeper.end):
                    left -= clock.pass_to(loads.pop(0))
                elif sleeper is not None:
                    left -= clock.pass_to(sleeper.end)
                    # Sessions that end before it wakes have ended then.
                    await self._broker.rest()
                    clock.wake(sleeper)
                else:
                    break
                await self._let_happen()
                await self._broker.rest()
                if heartbeats:
                    self._keep_alive(max(left, 0.0))
        finally:
            clock.advance(max(left, 0.0))
        await self._broker.rest()
        return self.now()

    async def _let_happen(self) -> None:
        for _ in range(TURNS):
            await trio.lowlevel.checkpoint()

    def _loads_within(self, seconds: float) -> list[float]:
        """Return the moments within so many seconds at which coordinators have loaded for as long as they are to."""
        now = self.now().mono
        return sorted({each.loads_until for each in self._broker.shards if now < each.loads_until <= now + seconds})

    def freeze(self) -> Now:
        """Let time stand still but for `advance`: no session ends, no phase is over, until `resume`."""
        if not self.is_frozen:
            self._broker.clock.freeze()
            self._broker.tell(ClockFrozen())
        return self.now()

    def resume(self) -> Now:
        """Let time go on from where it stands."""
        if self.is_frozen:
            self._broker.tell(ClockResumed())
            self._broker.clock.resume()
        return self.now()

    def _keep_alive(self, seconds: float) -> None:
        """Let sessions start anew at the moment to which time is about to be moved."""
        now = self.now()
        then = Now(now.mono + seconds, now.wall_ms + round(seconds * 1000))
        present = self._presence.present()
        for shard in self._broker.shards:
            tables = shard.tables
            here = {} if tables is None else {each: present[each] for each in present if each in tables.groups}
            if here:
                shard.begin_operation(KeepAlive(here), then)
