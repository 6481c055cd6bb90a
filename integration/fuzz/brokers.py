"""The two brokers: started with the same settings, given the same topics, and asked until they coordinate groups."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from integration.fuzz.requests import LOWEST_MS, TOPICS
from integration.fuzz.side import Broker
from kcoord.check.connecting import Endpoint, address_of
from kcoord.check.probe import Client
from wire.errors import ErrorCode
from wire.messages import CreatableTopic, CreateTopicsRequest, DescribeGroupsRequest, FindCoordinatorRequest

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds in which a broker that was started must coordinate groups."""
SHARDS = 400
"""Groups that are asked for, so that there is one in each partition of __consumer_offsets."""


@dataclass(frozen=True)
class Profile:
    """Settings that both brokers have, and how many sequences out of a hundred are played with them."""

    name: str
    share: int
    delay_ms: int
    group_size: int

    @property
    def settings(self) -> dict[str, object]:
        return {
            "group.initial.rebalance.delay.ms": self.delay_ms,
            "group.min.session.timeout.ms": LOWEST_MS,
            "group.max.size": self.group_size,
        }


PROFILES = (Profile("at once", 75, 0, 1000), Profile("waiting", 25, 1000, 3))
"""New groups that do not wait for more members, and small ones that do."""


@contextmanager
def kcoord(settings: dict[str, object], log: Path, *, module: str = "kcoord") -> Iterator[str]:
    """Run the kcoord of this checkout, or what a module of it makes of that; give its address.

    AssertionError if anything went wrong in it.
    """
    overrides = [f"--override={key}={value}" for key, value in settings.items()]
    command = [sys.executable, "-m", module, "serve", "--listen=127.0.0.1:0", "--log-level=error", *overrides]
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.startswith("kcoord is listening on "), f"it did not start: {log.read_text()}"
        yield line.rpartition(" ")[2]
    finally:
        process.terminate()
        process.communicate()
    assert "Traceback" not in log.read_text(), log.read_text()


async def met(name: str, address: str) -> Broker:
    """Make the topics, wait until all groups are coordinated, and return the broker as plays know it."""
    endpoint = Endpoint(*address_of(address))
    with trio.fail_after(PATIENCE):
        async with Client(await endpoint.open()) as client:
            topics = [
                CreatableTopic(name=name, num_partitions=count, replication_factor=1)
                for name, count in TOPICS.items()
            ]  # fmt: skip
            made = await client.call(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 5)
            assert {one.error_code for one in made.topics} <= {0, ErrorCode.TOPIC_ALREADY_EXISTS}, made
            keys = [f"fuzz-{number}" for number in range(SHARDS)]
            while True:
                found = await client.call(FindCoordinatorRequest(coordinator_keys=keys[:1]), 4)
                if found.coordinators[0].error_code == 0:
                    described = await client.call(DescribeGroupsRequest(groups=keys), 5)
                    if not any(group.error_code for group in described.groups):
                        break
                await trio.sleep(0.2)
            while True:
                try:
                    ids = await client.topic_ids(*TOPICS)
                    break
                except AssertionError:
                    await trio.sleep(0.2)
    return Broker(name, endpoint, dict(zip(TOPICS, ids, strict=True)))
