"""A group of clients on its own topics: who holds what, what was written and read, and what must hold of it."""

import itertools
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from integration.clients.clients import Client
from integration.clients.driver import CHANGED, Driver, Failed, Partition, eventually, stories, wait_until
from integration.clients.world import World

CRASH_MS = 6_000
"""The session of who is to crash: the shortest that a server takes by default, so that it is noticed soon."""
SESSION_MS = 30_000
"""The session of everybody else: nobody is to be put out because this machine is busy."""
STATIC_MS = 60_000
"""The session of static members: longer than any restart takes. librdkafka takes none above `rebalance_timeout_ms`."""
TIMINGS = {
    "session_timeout_ms": SESSION_MS,
    "heartbeat_interval_ms": 500,
    "rebalance_timeout_ms": 60_000,
    "metadata_max_age_ms": 2_000,
}

_numbers = itertools.count(1)


class Group:
    """Everything that it starts ends with `stop`."""

    def __init__(self, world: World, partitions: int = 4, *, topics: int = 1, assignors: Sequence[str] = ("range",)):
        name = uuid.uuid4().hex[:8]
        self.world, self.id = world, f"g-{name}"
        self.assignors = list(assignors)
        self.topics = {f"t-{name}-{letter}": partitions for letter in "abcdef"[:topics]}
        self.drivers: list[Driver] = []
        self.written: Counter[tuple[str, str]] = Counter()
        for topic, count in self.topics.items():
            world.create_topic(topic, count)

    @property
    def topic(self) -> str:
        """Its first topic."""
        return next(iter(self.topics))

    @property
    def partitions(self) -> set[Partition]:
        """All that there are to hold."""
        return {(topic, number) for topic, count in self.topics.items() for number in range(count)}

    @property
    def members(self) -> list[Driver]:
        """Everybody who was ever in it."""
        return [driver for driver in self.drivers if driver.config["role"] == "consumer"]

    # Who does something.

    def start(self, client: Client, role: str, **config: Any) -> Driver:
        """Start a driver. Its client id begins with the client's name and a dot: so the server's log tells of it."""
        client_id = f"{client.name}.{role}.{next(_numbers)}"
        full = {"role": role, "bootstrap": self.world.bootstrap, "client_id": client_id, **config}
        driver = Driver(client, full, self.world.logs / f"{self.id}.{client_id}")
        self.drivers.append(driver)
        return driver

    def join(self, client: Client, **config: Any) -> Driver:
        """Start a member; `config` goes before what is usual here."""
        chosen = {} if "pattern" in config else {"topics": list(self.topics)}
        return self.start(
            client, "consumer", **{**TIMINGS, "group": self.id, "assignors": self.assignors, **chosen, **config}
        )

    def operator(self, client: Client) -> Driver:
        """Start an operator."""
        return self.start(client, "admin")

    def begin_to_write(self, client: Client, count: int, topic: str | None = None, **config: Any) -> Driver:
        """Start a producer of so many records, spread over the topic's partitions, with values of their own."""
        topic = topic or self.topic
        prefix = f"{next(_numbers)}-"
        self.written.update((topic, f"{prefix}{number}") for number in range(count))
        return self.start(
            client, "producer", topic=topic, count=count, partitions=self.topics[topic], prefix=prefix, **config
        )

    def write(self, client: Client, count: int, topic: str | None = None, **config: Any) -> None:
        """The same, to its end."""
        wrote(self.begin_to_write(client, count, topic, **config))

    # What must come.

    def settled(self, *members: Driver) -> None:
        """Wait until these share all partitions, each held by one and nobody idle, and the group is stable."""

        def share() -> bool:
            held = [partition for member in members for partition in member.held]
            return len(held) == len(set(held)) and set(held) == self.partitions and all(each.held for each in members)

        def stable() -> bool:
            wait_until(share, f"{[each.name for each in members]} share {sorted(self.partitions)}", *members)
            described = self.world.describe(self.id)
            with CHANGED:
                return described.state == "Stable" and len(described.members) == len(members) and share()

        eventually(stable, lambda: f"{self.id} is stable, not {self.world.describe(self.id)}", *members)

    def all_read(self) -> None:
        """Wait until everything written was read by somebody, and see that nothing else was."""
        wait_until(
            lambda: not self.unread(), lambda: f"all is read; missing {sorted(self.unread())[:20]}", *self.members
        )
        assert self.read().keys() == self.written.keys()

    def read(self) -> Counter[tuple[str, str]]:
        """How often each record was read."""
        return Counter((topic, value) for each in self.members for topic, _, _, value in list(each.records))

    def unread(self) -> set[tuple[str, str]]:
        return self.written.keys() - self.read().keys()

    def none_twice(self) -> None:
        """See that no record was read twice: after rebalances in which everybody commits what it read."""
        twice = [record for record, times in self.read().items() if times > 1]
        if twice:
            raise Failed(f"read twice: {len(twice)}, as {sorted(twice)[:20]}\n{stories(self.members)}")

    def all_committed(self) -> None:
        """Wait until the group's offsets are behind the last record read of each partition."""
        behind: Counter[Partition] = Counter()
        for member in self.members:
            for topic, partition, offset, _ in list(member.records):
                behind[topic, partition] = max(behind[topic, partition], offset + 1)
        eventually(
            lambda: self.world.offsets(self.id) == behind,
            lambda: f"committed is what was read: {self.world.offsets(self.id)}, {dict(behind)}",
            *self.members,
        )

    # The end.

    def no_faults(self) -> None:
        """See that nobody said what makes no sense, and each was the version that its client.toml names."""
        for driver in self.drivers:
            if driver.faults:
                raise Failed(f"{driver.name}: {driver.faults}\n{driver.story()}")
            for ready in driver.told("ready"):
                wanted = driver.client.version
                assert ready["client"] == driver.client.name
                assert f"{ready['version']}.".startswith(f"{wanted}."), f"{driver.client} is {ready['version']}"

    def stop(self) -> None:
        """End at once whoever still runs."""
        for driver in self.drivers:
            driver.kill()


def wrote(producer: Driver) -> None:
    """Wait until a producer is through, and see that it wrote everything."""
    producer.left()
    (done,) = producer.told("produced")
    assert done["count"] == producer.config["count"]
