"""Keeps logs from growing: one task that drops what retention does not allow, and compacts.

Retention is looked at every `log.retention.check.interval.ms` of the server's clock, which may be moved (Apache Kafka
`LogManager.cleanupLogs`), and when records were refused because memory is full. Compaction comes when a partition has
enough to gain from it, which it tells at its appends, rather than at intervals: a group that commits without a pause
would fill a lot of memory in Kafka's fifteen seconds. Both let others have their turns.
"""

from collections.abc import Callable
from math import inf

import trio

from kcoord.apis.threads import worked_off
from kcoord.apis.turns import Turns
from kcoord.broker import Broker
from kcoord.log.catalog import Topic
from kcoord.log.compaction import Compaction
from kcoord.log.partition import Partition
from kcoord.log.topic_config import COMPACT
from kcoord.notices import MemoryFull, PartitionsAdded, TopicConfigured, TopicCreated, TopicDeleted

OF_TOPICS = (TopicCreated, TopicDeleted, PartitionsAdded, TopicConfigured)
"""Notices after which other partitions may be compacted than before."""
SOON = 1.0
"""Seconds after which retention may be looked at once more, out of turn, when memory is full."""


class Cleaner:
    """Looks after all partitions of a broker, as long as `run` runs."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._interval = broker.config.log_retention_check_interval_ms / 1000
        self._watched: dict[Partition, tuple[Compaction, Callable[[], None]]] = {}
        self._due: dict[Compaction, None] = {}
        """In the order in which they became so."""
        self._topics_changed = True
        self._nap = trio.CancelScope()
        self._thread = trio.CapacityLimiter(1)
        self._check_at = 0.0
        self._checked_at = -inf

    async def run(self) -> None:
        """Clean until cancelled."""
        clock = self._broker.clock
        endings = (clock.on_advance(self._time_moved), self._broker.on_note(self._heard))
        self._check_at = clock.now().mono + self._interval
        try:
            while True:
                if self._topics_changed:
                    self._topics_changed = False
                    await self._watch_compacted()
                elif clock.deadline(self._check_at) <= trio.current_time():
                    await self._keep_to_limits()
                    self._checked_at = clock.now().mono
                    self._check_at = self._checked_at + self._interval
                elif self._due:
                    await self._compact(next(iter(self._due)))
                else:
                    await self._sleep()
        finally:
            for end in endings:
                end()
            for _, forget in self._watched.values():
                forget()

    async def _watch_compacted(self) -> None:
        """Watch the partitions that are to be compacted, and no others."""
        turns = Turns()
        compacted: set[Partition] = set()
        for topic in tuple(self._broker.catalog):
            await turns.step()
            if COMPACT in topic.config.cleanup_policy:
                compacted.update(topic.partitions)
        for partition in [each for each in self._watched if each not in compacted]:
            compaction, forget = self._watched.pop(partition)
            forget()
            self._due.pop(compaction, None)
        for partition in compacted:
            await turns.step()
            if partition not in self._watched and not partition.deleted:
                self._watch(Compaction(partition))

    def _watch(self, compaction: Compaction) -> None:
        def look() -> None:
            if compaction.is_due:
                self._due[compaction] = None
                self._nap.cancel()

        self._watched[compaction.partition] = (compaction, compaction.partition.watch(look))
        look()

    async def _keep_to_limits(self) -> None:
        now_ms = self._broker.clock.now().wall_ms
        if not self._broker.catalog.memory.used:
            return
        turns = Turns()
        topics: tuple[Topic, ...] = tuple(self._broker.catalog)
        for topic in topics:
            await turns.step()
            for partition in tuple(topic.partitions):
                await turns.step()
                if partition.keep_to_limits(now_ms) and partition in self._watched:
                    compaction, _ = self._watched[partition]
                    compaction.look()

    async def _compact(self, compaction: Compaction) -> None:
        if compaction.is_due:
            await worked_off(compaction.run(self._broker.clock.now().wall_ms), self._thread)
        self._due.pop(compaction, None)
        await trio.lowlevel.checkpoint()

    def _heard(self, note: object) -> None:
        if isinstance(note, OF_TOPICS):
            self._topics_changed = True
            self._nap.cancel()
        elif isinstance(note, MemoryFull):
            # A topic that nobody writes to any more may hold what it need not keep.
            self._check_at = min(self._check_at, max(self._checked_at + SOON, self._broker.clock.now().mono))
            self._time_moved()

    def _time_moved(self) -> None:
        self._nap.deadline = max(self._broker.clock.deadline(self._check_at), trio.current_time())

    async def _sleep(self) -> None:
        """Sleep until retention is to be looked at, or somebody wakes the task."""
        with trio.CancelScope(deadline=self._broker.clock.deadline(self._check_at)) as self._nap:
            await trio.sleep_forever()
