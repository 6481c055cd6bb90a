"""The fixture with real clients, unmodified and each in a process of its own: what a test can do to them.

What is printed are times of this machine; nothing is asserted of them, but of what happened, and in which order.
"""

import json
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from integration.waiting import LIMIT, eventually
from kcoord.testing import Kcoord

SESSION_S = 45
"""What clients have for a session by default: nobody here waits that long."""

KAFKA_PYTHON = """
import json, sys
from kafka import KafkaConsumer
from kafka.errors import KafkaError
config = {"session_timeout_ms": 45_000, "heartbeat_interval_ms": 100, "auto_offset_reset": "earliest",
          "enable_auto_commit": False, **json.loads(sys.argv[1])}
consumer = KafkaConsumer("t", **config)
for _ in range(2):
    consumer.topics()  # it does not get over topics that it learns of while it joins: see integration/members.py
try:
    while True:
        for records in consumer.poll(timeout_ms=60_000).values():
            for record in records:
                print("record", record.partition, record.offset, flush=True)
except KafkaError as error:
    print("error", type(error).__name__, flush=True)
"""

CONFLUENT = """
import json, sys
from confluent_kafka import Consumer, KafkaException
given = {name.replace("_", "."): value for name, value in json.loads(sys.argv[1]).items()}
consumer = Consumer({"session.timeout.ms": 45_000, "heartbeat.interval.ms": 100, "auto.offset.reset": "earliest",
                     "enable.auto.commit": False, **given})
consumer.subscribe(["t"])
while True:
    message = consumer.poll(0.05)
    if message is not None and message.error() is None:
        print("record", message.partition(), message.offset(), flush=True)
    elif message is not None and message.error().name() == "_FATAL":
        print("error", message.error().str(), flush=True)
"""

CLIENTS = {"kafka-python": KAFKA_PYTHON, "librdkafka": CONFLUENT}


class Process:
    """One consumer of topic t."""

    def __init__(self, script: str, **config: Any) -> None:
        command = [sys.executable, "-W", "ignore", "-c", script, json.dumps(config)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def says(self) -> str:
        """The next line that it prints."""
        return self._lines.get(timeout=LIMIT)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.strip())

    def crash(self) -> None:
        """End it at once; the kernel closes its sockets, and the coordinator hears nothing."""
        self._process.kill()
        self._process.wait(LIMIT)
        self._reader.join()


@pytest.fixture(params=list(CLIENTS))
def start(request: pytest.FixtureRequest, kcoord: Kcoord) -> Iterator[Callable[..., Process]]:
    """Start consumers of one kind: `start("a", group_instance_id="i")`, with kafka-python's names of settings."""
    started: list[Process] = []

    def start(name: str, **config: Any) -> Process:
        full = {"bootstrap_servers": kcoord.bootstrap, "group_id": "g", "client_id": name, **config}
        started.append(Process(CLIENTS[request.param], **full))
        return started[-1]

    yield start
    for each in started:
        each.crash()


@pytest.fixture(scope="module")
def kcoord_config() -> dict[str, Any]:
    return {"topics": {"t": 4}}


def stable(kcoord: Kcoord, members: int, generation: int = 0) -> Any:
    """Wait until the group is Stable and all have asked for their assignment: nobody is amid a rebalance then."""
    return kcoord.group("g").wait(synced=True, members=members, generation=generation, timeout=LIMIT)


def what_happened(kcoord: Kcoord) -> list[tuple[str, str]]:
    """The names of what happened to the group lately, in order, each with the rest of its line."""
    story = kcoord.run(lambda control: control.groups.lately("g"))
    return [(found[1], found[2]) for found in re.finditer(r"s ago +(\w+)\((.*)\)", story)]


def held(view: Any) -> dict[str, tuple[int, ...]]:
    """The partitions of each client id."""
    return {each.client_id: each.assignment.get("t", ()) for each in view.members}


def test_a_crashed_members_partitions_move_at_once(kcoord, start, capsys):
    start("survivor")
    stable(kcoord, 1)
    crashing = start("crashing")
    before = stable(kcoord, 2)
    assert sorted(len(each) for each in held(before).values()) == [2, 2]
    crashing.crash()
    began = time.perf_counter()
    kcoord.clock.advance(SESSION_S)
    after = stable(kcoord, 1, before.generation + 1)
    took = time.perf_counter() - began
    assert held(after) == {"survivor": (0, 1, 2, 3)}
    assert after.member("survivor").member_id == before.member("survivor").member_id
    happened = what_happened(kcoord)
    names = [name for name, _ in happened]
    at = names.index("MemberExpired")
    assert "no heartbeat within the session timeout" in happened[at][1]
    assert "crashing" in happened[at][1]
    following = ["MemberExpired", "RebalanceStarted", "MemberRejoined", "GenerationFormed", "GroupStabilized"]
    assert [name for name in names[at:] if name in following] == following
    with capsys.disabled():
        print(f"\n  the partitions of a member that crashed moved within {took:.3f} s; its session is {SESSION_S} s")


def test_everybody_joins_again_when_asked_to(kcoord, start):
    start("a")
    stable(kcoord, 1)
    start("b")
    before = stable(kcoord, 2)
    kcoord.group("g").rebalance("to see it")
    after = stable(kcoord, 2, before.generation + 1)
    assert {each.member_id for each in after.members} == {each.member_id for each in before.members}


@pytest.mark.parametrize("how", ["expire", "evict"])
def test_who_is_put_out_comes_back_as_somebody_new(kcoord, start, how):
    start("a")
    before = stable(kcoord, 1)
    getattr(kcoord.group("g"), how)("a")
    after = stable(kcoord, 1, before.generation + 1)
    assert after.members[0].member_id != before.members[0].member_id


def test_a_static_member_whose_place_is_taken_is_fenced(kcoord, start):
    """What the client makes of it is its own affair: kafka-python 3.0.12 goes on polling at times."""
    start("a", group_instance_id="i")
    before = stable(kcoord, 1)
    after = kcoord.group("g").fence("i")
    assert (after.generation, after.member("i").assignment) == (before.generation, before.member("i").assignment)
    eventually(lambda: "MemberFenced" in dict(what_happened(kcoord)), lambda: kcoord.timeline("g"))


def test_offsets_that_a_test_set_are_where_consumers_begin(kcoord, start):
    kcoord.group("g").set_offsets({("t", 0): 3})
    produce(kcoord.bootstrap, 5)
    member = start("a")
    assert [member.says() for _ in range(2)] == ["record 0 3", "record 0 4"]


def produce(bootstrap: str, count: int) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for _ in range(count):
        producer.send("t", b"x", partition=0)
    producer.close()


def test_no_session_ends_while_time_stands_still(kcoord, start):
    # From the beginning on: how long a busy machine needs for anything has nothing to do with the session then.
    kcoord.clock.freeze()
    crashing = start("a", session_timeout_ms=1_000, heartbeat_interval_ms=200)
    stable(kcoord, 1)
    crashing.crash()
    start("b")
    kcoord.group("g").wait(state="PreparingRebalance", members=2, timeout=LIMIT)
    kcoord.clock.advance(0.5)
    assert len(kcoord.group("g").members) == 2
    kcoord.clock.advance(0.5)
    assert [each.client_id for each in stable(kcoord, 1).members] == ["b"]


def test_clients_of_a_former_test_are_cut_off_but_a_server_goes_on(kcoord, start):
    start("a")
    stable(kcoord, 1)
    kcoord.reset()
    # It still runs, so it comes again: like a new one.
    assert stable(kcoord, 1).generation <= 2
