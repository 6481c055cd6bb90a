"""Plays cells, many side by side: each with a client in a process of its own, alone in a group of its own."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka import KafkaProducer

from integration.clients.driver import Driver, Failed, Record, eventually
from integration.matrix.cells import Cell, Outcome
from integration.matrix.judging import Seen, seen
from kcoord.control import NotFound
from kcoord.testing import Kcoord

TIMINGS = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 500,
    "rebalance_timeout_ms": 15_000,
    "metadata_max_age_ms": 5_000,
}
BOUND_S = 75.0
"""So long a client has to recover before it hangs: more than the longest time for which one of them waits by itself,
the 60 s of librdkafka's socket.timeout.ms and of Java's default.api.timeout.ms."""
FEED_S = 0.25
"""A record every so often for each consumer."""
LOOK_S = 0.25
TELLS_MOST = 5
BY_A_REBALANCE = frozenset({"JoinGroup", "SyncGroup", "OffsetFetch"})
"""The requests that a consumer sends when its group rebalances; the others it sends anyway."""
ASSIGNOR = "range"
ANOTHER = "another"

Offsets = Mapping[tuple[str, int], int]


class Stage:
    """A server and what writes to its topics, for as long as the `with` statement lasts.

    What drivers write to standard error goes to `logs`. `bound` is in seconds.
    """

    def __init__(self, logs: Path, bound: float = BOUND_S) -> None:
        self.kcoord = Kcoord()
        self._logs, self._bound = logs, bound
        self._topics: dict[str, None] = {}
        self._over = threading.Event()
        self._feeder = threading.Thread(target=self._feed, name="feeder")

    def __enter__(self) -> Self:
        self.kcoord.start()
        self._feeder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._feeder.join()
        self.kcoord.close()

    def _feed(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self.kcoord.bootstrap, enable_idempotence=False)
        number = 0
        while not self._over.wait(FEED_S):
            for topic in list(self._topics):
                producer.send(topic, str(number).encode())
                number += 1
        producer.close()

    def play(self, cell: Cell) -> Outcome:
        """Let a client consume in a group of its own, put the trouble in its way, and see what becomes of it.

        Raises Failed if it does not consume before there is any trouble.
        """
        group = cell.group
        self.kcoord.create_topic(group, cell.partitions)
        with ExitStack() as stack:
            self._topics[group] = None
            stack.callback(self._topics.pop, group)
            driver = self._consuming(cell, group, stack)
            another = self._consuming(cell, ANOTHER, stack, "another", 2) if cell.by_another else None
            committed = self.kcoord.group(group).offsets
            told = len(driver.events)
            fault = self.kcoord.faults.add(**cell.fault)
            stack.callback(self.kcoord.faults.remove, fault.number)
            if another is not None:
                another.leave()
            elif cell.api in BY_A_REBALANCE:
                self.kcoord.group(group).rebalance("the matrix wants one")
            return self._watched(driver, group, told, committed)

    def _consuming(self, cell: Cell, name: str, stack: ExitStack, instance_id: str = "one", members: int = 1) -> Driver:
        """Start a client, and wait until it is one of so many members, and has committed."""
        group = cell.group
        config = {
            "role": "consumer",
            "bootstrap": self.kcoord.bootstrap,
            "client_id": name,
            "group": group,
            "topics": [group],
            "assignors": [ASSIGNOR],
            **({"instance_id": instance_id} if cell.static else {}),
            **TIMINGS,
        }
        driver = Driver(cell.driver, config, self._logs / f"{group}.{name}")
        stack.callback(driver.kill)

        def consumes() -> bool:
            view = self.kcoord.group(group).view() if driver.told("committed") else None
            return view is not None and view.state == "Stable" and len(view.members) == members and bool(view.offsets)

        eventually(lambda: driver.ended or consumes(), f"{name} consumes", driver)
        ready = driver.told("ready")
        version = ready[0]["version"] if ready else "unknown"
        if driver.ended or not f"{version}.".startswith(f"{cell.driver.version}."):
            raise Failed(f"{name}, of version {version}, was to consume:\n{driver.story()}")
        return driver

    def _watched(self, driver: Driver, group: str, told: int, committed: Offsets) -> Outcome:
        """Look until it has recovered or ended, or the bound is over."""
        end = time.monotonic() + self._bound
        while True:
            ended = driver.ended
            timeline = self.kcoord.timeline(group)
            sight = seen(timeline.events, driver.name)
            if ended or (sight and sight.settled(timeline.until)) or time.monotonic() > end:
                found = outcome(driver, sight, timeline.until, told, ended=ended)
                return replace(found, read_again=read_again(driver.records, committed))
            time.sleep(LOOK_S)

    def story(self, group: str) -> str:
        """Return what happened in a group, as text."""
        try:
            return str(self.kcoord.timeline(group))
        except NotFound:
            return f"nothing happened in {group}"


def outcome(driver: Driver, sight: Seen | None, until: float, told: int, *, ended: bool) -> Outcome:
    """Return what became of a client, of which `told` events were told before the trouble."""
    errors = [event for event in driver.events[told:] if event["event"] == "error"]
    messages = tuple(dict.fromkeys(one_line(event["message"]) for event in errors))
    requests = sight.requests if sight else ()
    if ended:
        last = messages or (one_line((driver.log.read_text().strip().splitlines() or ["no word"])[-1]),)
        return Outcome("stopped", told=last[-TELLS_MOST:], ended=True, requests=requests)
    if sight is None:
        return Outcome("not met", told=messages[:TELLS_MOST])
    if sight.settled(until):
        assert sight.recovered_at is not None
        return Outcome(
            "recovered",
            seconds=round(sight.recovered_at - sight.met_at, 2),
            same_member=sight.member_after == sight.member_before,
            told=messages[:TELLS_MOST],
            requests=requests,
        )
    if sight.commits(until):
        return Outcome("no heartbeats", told=messages[:TELLS_MOST], requests=requests)
    return Outcome("stopped" if messages else "hung", told=messages[:TELLS_MOST], requests=requests)


def read_again(records: Sequence[Record], committed: Offsets) -> int:
    """Return how many records that had been committed were told of twice, or more often."""
    times = Counter((topic, partition, offset) for topic, partition, offset, _ in records)
    return sum(count - 1 for read, count in times.items() if read[2] < committed.get(read[:2], 0))


def one_line(text: str) -> str:
    """Return the beginning of a message, without line breaks."""
    return " ".join(text.split())[:200]


def played(
    stage: Stage, cells: Sequence[Cell], width: int, tell: Callable[[Cell, Outcome], None]
) -> dict[Cell, Outcome]:
    """Play cells, `width` at a time; `tell` is called with each and its outcome as it is there."""

    def one(cell: Cell) -> Outcome:
        found = stage.play(cell)
        tell(cell, found)
        return found

    with ThreadPoolExecutor(width) as pool:
        return dict(zip(cells, pool.map(one, cells), strict=True))
