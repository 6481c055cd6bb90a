"""Servers that are like older releases of Kafka, with real clients that settle for what is offered there."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer
from kafka import KafkaProducer

from integration.waiting import LIMIT, eventually
from kcoord.notices import ApiVersionUsed
from kcoord.releases.release import RELEASES
from kcoord.testing import Kcoord

RECORDS = 12
KAFKA_PYTHON = """
import json, sys
from kafka import KafkaConsumer
from kafka.errors import KafkaError
consumer = KafkaConsumer("t", auto_offset_reset="earliest", enable_auto_commit=False, session_timeout_ms=45_000,
                         heartbeat_interval_ms=100, **json.loads(sys.argv[1]))
consumer.topics()
while True:
    if consumer.poll(timeout_ms=60_000):  # it returns with records; between short polls a join may be forgotten
        try:
            consumer.commit()
        except KafkaError:
            pass  # the group rebalances: what is not committed is consumed again
"""
CONFLUENT = """
import json, sys
from confluent_kafka import Consumer, KafkaException
given = {name.replace("_", "."): value for name, value in json.loads(sys.argv[1]).items()}
consumer = Consumer({"auto.offset.reset": "earliest", "enable.auto.commit": False, "session.timeout.ms": 45_000,
                     "heartbeat.interval.ms": 100, **given})
consumer.subscribe(["t"])
while True:
    message = consumer.poll(0.05)
    if message is not None and message.error() is None:
        try:
            consumer.commit(message, asynchronous=False)
        except KafkaException:
            pass  # the group rebalances: what is not committed is consumed again
"""


def produce_with_kafka_python(bootstrap: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(RECORDS):
        producer.send("t", str(number).encode(), partition=number % 6)
    producer.flush(LIMIT)
    producer.close()


def produce_with_librdkafka(bootstrap: str) -> None:
    failed: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        producer.produce(
            "t", str(number).encode(), partition=number % 6, on_delivery=lambda error, _: error and failed.append(error)
        )
    assert producer.flush(LIMIT) == 0
    assert not failed


CLIENTS = {
    "kafka-python": (KAFKA_PYTHON, produce_with_kafka_python),
    "librdkafka": (CONFLUENT, produce_with_librdkafka),
}


class Consumers:
    """Consumers of topic t in group g, each in a process of its own."""

    def __init__(self, script: str, bootstrap: str) -> None:
        self._script = script
        self._bootstrap = bootstrap
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        config = {"bootstrap_servers": self._bootstrap, "group_id": "g", "client_id": name}
        command = [sys.executable, "-W", "ignore", "-c", self._script, json.dumps(config)]
        self._processes[name] = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def crash(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        for name in list(self._processes):
            self.crash(name)


@pytest.fixture(params=["0.11", "2.0", "2.8", "3.9"])
def kcoord(request: pytest.FixtureRequest) -> Iterator[Kcoord]:
    with Kcoord({"t": 6}, as_version=request.param) as server:
        yield server


@pytest.mark.parametrize("client", CLIENTS)
def test_a_group_forms_rebalances_and_commits(kcoord: Kcoord, client: str) -> None:
    script, produce = CLIENTS[client]
    used: dict[str, set[int]] = {}

    def note(seen: object) -> None:
        if isinstance(seen, ApiVersionUsed):
            used.setdefault(seen.api, set()).add(seen.version)

    kcoord.run(lambda control: control._running.broker.on_note(note))
    produce(kcoord.bootstrap)
    consumers = Consumers(script, kcoord.bootstrap)
    try:
        consumers.start("a")
        kcoord.group("g").wait(synced=True, members=1, timeout=LIMIT)
        consumers.start("b")
        two = kcoord.group("g").wait(synced=True, members=2, timeout=LIMIT)
        assert sorted(len(member.assignment["t"]) for member in two.members) == [3, 3]
        consumers.crash("a")
        kcoord.clock.advance(46)
        one = kcoord.group("g").wait(synced=True, members=1, timeout=LIMIT)
        assert one.member("b").assignment == {"t": (0, 1, 2, 3, 4, 5)}
        eventually(lambda: sum(kcoord.group("g").offsets.values()) == RECORDS, "everything is committed")
    finally:
        consumers.close()
    release = RELEASES[kcoord.run(lambda control: control._running.broker.config.as_version)]
    assert used.keys() >= {"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "Fetch", "Produce"}
    for api, key in (("JoinGroup", 11), ("SyncGroup", 14), ("OffsetCommit", 8), ("OffsetFetch", 9), ("Fetch", 1)):
        assert max(used[api]) <= release.ranges[key].highest
    assert kcoord.group("g").offsets == {("t", number): 2 for number in range(6)}
