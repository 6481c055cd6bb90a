"""Kafka's own command-line tools: kafka-consumer-groups in all its ways, the console consumer, the performance test."""

import contextlib
import csv
import datetime as dt
import io
import itertools
import re
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import OffsetSpec
from kafka.structs import OffsetAndMetadata

from integration.clients.clients import CLIENTS, Client
from integration.clients.driver import Partition
from integration.clients.group import STATIC_MS, Group
from integration.clients.world import World

pytestmark = pytest.mark.parametrize("java", [CLIENTS["java"]], ids=str)

TOOLS = tomllib.loads((CLIENTS["java"].here / "tools" / "tools.toml").read_text())
PATIENT = ("--timeout", "60000")
"""By default an answer is given up after five seconds, many of which a virtual machine may need to start."""
AT_ONCE = 2
"""So many virtual machines run at a time."""
TITLE = re.compile(r"\S+(?: \(ID\))?")
HOUR_MS = 3_600_000
RECORDS = 10
"""In each partition of a group's topics, an hour apart; the last is as old as that."""
COMMITTED = 5

Row = dict[str, str]
Offsets = dict[Partition, int]


class Tools:
    """Runs tools against the broker of a world."""

    def __init__(self, world: World, java: Client) -> None:
        self._world, self._java = world, java

    def run(self, tool: str, *arguments: str) -> str:
        """What a tool writes to standard output; it must end with status 0."""
        command = [*self._java.command(tuple(TOOLS[tool])), "--bootstrap-server", self._world.bootstrap, *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self._world.logs)
        assert done.returncode == 0, (arguments, done)
        return done.stdout

    def groups(self, *commands: str) -> list[str]:
        """What kafka-consumer-groups writes for each of these, which run at the same time."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda command: self.run("consumer-groups", *PATIENT, *command.split()), commands))


@pytest.fixture
def tools(world, java) -> Tools:
    return Tools(world, java)


def table(output: str) -> list[Row]:
    """The rows of the one table in an output, by the titles of their columns; empty columns are empty."""
    rows = [line for line in output.splitlines() if line and not line.startswith(("Error:", "Warn:", "Request "))]
    titles = list(TITLE.finditer(rows[0]))
    bounds = [(one.group(), one.start(), two.start()) for one, two in itertools.pairwise(titles)]
    bounds.append((titles[-1].group(), titles[-1].start(), max(map(len, rows)) + 1))
    return [{title: row[start:end].strip() for title, start, end in bounds} for row in rows[1:]]


def column(rows: Sequence[Row], title: str) -> dict[Partition, str]:
    """One value of each partition's row."""
    found = {(row["TOPIC"], int(row["PARTITION"])): row[title] for row in rows}
    assert len(found) == len(rows)
    return found


def new_offsets(output: str) -> Offsets:
    """What a reset of one group shows."""
    return {partition: int(offset) for partition, offset in column(table(output), "NEW-OFFSET").items()}


@contextlib.contextmanager
def producer(world: World) -> Iterator[KafkaProducer]:
    opened = KafkaProducer(bootstrap_servers=world.bootstrap)
    yield opened
    opened.close()


def at_each(group: Group, offset: int) -> Offsets:
    return dict.fromkeys(group.partitions, offset)


def commit(world: World, group: str, offsets: Offsets) -> None:
    """Set offsets of a group that nobody is in."""
    named = {TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()}
    world.operator.alter_group_offsets(group, named)


@pytest.fixture
def filled(new_group) -> Callable[..., tuple[Group, int]]:
    """Make a group with records in its topics, and offsets committed; with it comes the time of the first records."""

    def make(**options) -> tuple[Group, int]:
        group = new_group(**options)
        first_ms = int(time.time() * 1000) - RECORDS * HOUR_MS
        with producer(group.world) as opened:
            for topic, partition in sorted(group.partitions):
                for number in range(RECORDS):
                    value = f"{topic}/{partition}/{number}".encode()
                    at_ms = first_ms + number * HOUR_MS
                    opened.send(topic, value, partition=partition, timestamp_ms=at_ms)
                    group.written[topic, value.decode()] += 1
            opened.flush()
        commit(group.world, group.id, at_each(group, COMMITTED))
        return group, first_ms

    return make


def test_the_list(java, tools, new_group):
    used, empty = new_group(), new_group()
    member = used.join(java)
    used.settled(member)
    commit(empty.world, empty.id, {(empty.topic, 0): 0})
    mine = {used.id, empty.id}
    plain, states, stable, typed = tools.groups(
        "--list", "--list --state", "--list --state stable,PreparingRebalance", "--list --type classic --state"
    )
    assert mine <= {*plain.split()}

    def of_mine(output: str) -> list[Row]:
        return sorted((row for row in table(output) if row["GROUP"] in mine), key=lambda row: row["STATE"])

    assert of_mine(states) == [{"GROUP": empty.id, "STATE": "Empty"}, {"GROUP": used.id, "STATE": "Stable"}]
    assert of_mine(stable) == [{"GROUP": used.id, "STATE": "Stable"}]
    assert of_mine(typed) == [
        {"GROUP": empty.id, "TYPE": "Classic", "STATE": "Empty"},
        {"GROUP": used.id, "TYPE": "Classic", "STATE": "Stable"},
    ]
    member.close()


def test_a_group_in_use_is_described_and_kept_from_changes(java, tools, filled):
    group, _ = filled()
    static = group.join(java, instance_id="one", session_timeout_ms=STATIC_MS)
    group.settled(static)
    dynamic = group.join(java)
    group.settled(static, dynamic)
    group.all_committed()
    name = group.id
    offsets, members, state, deletion, no_offsets, reset = tools.groups(
        f"--describe --group {name} --offsets --verbose",
        f"--describe --group {name} --members --verbose",
        f"--describe --group {name} --state --verbose",
        f"--delete --group {name}",
        f"--delete-offsets --group {name} --topic {group.topic}",
        f"--reset-offsets --group {name} --topic {group.topic} --to-earliest --execute",
    )

    rows = table(members)
    by_client = {row["CLIENT-ID"]: row for row in rows}
    assert by_client.keys() == {static.name, dynamic.name}
    for driver, instance in ((static, "one"), (dynamic, "")):
        row = by_client[driver.name]
        assert row["CONSUMER-ID"].startswith(f"{instance or driver.name}-")
        assert (row["GROUP"], row["GROUP-INSTANCE-ID"], row["HOST"]) == (name, instance, "/127.0.0.1")
        numbers = ",".join(str(partition) for _, partition in sorted(driver.held))
        assert (row["#PARTITIONS"], row["CURRENT-ASSIGNMENT"]) == ("2", f"{group.topic}:{numbers}")
        assert (row["CURRENT-EPOCH"], row["TARGET-EPOCH"], row["TARGET-ASSIGNMENT"]) == ("-", "-", "-")

    rows = table(offsets)
    assert column(rows, "GROUP").keys() == group.partitions
    for title, value in (("CURRENT-OFFSET", RECORDS), ("LOG-END-OFFSET", RECORDS), ("LAG", 0)):
        assert column(rows, title) == dict.fromkeys(group.partitions, str(value))
    assert column(rows, "CLIENT-ID") == {each: one.name for one in (static, dynamic) for each in one.held}
    ids = {one.name: by_client[one.name]["CONSUMER-ID"] for one in (static, dynamic)}
    assert column(rows, "CONSUMER-ID") == {each: ids[one.name] for one in (static, dynamic) for each in one.held}

    (row,) = table(state)
    assert (row["GROUP"], row["ASSIGNMENT-STRATEGY"], row["STATE"], row["#MEMBERS"]) == (name, "range", "Stable", "2")
    assert row["COORDINATOR (ID)"] == f"{group.world.bootstrap}  (1)"

    assert f"* Group '{name}' could not be deleted due to: " in deletion
    assert "GroupNotEmptyException: The group is not empty." in deletion
    assert len(table(no_offsets)) == len(group.partitions)
    for status in column(table(no_offsets), "STATUS").values():
        assert status.startswith("Error: org.apache.kafka.common.errors.GroupSubscribedToTopicException")
    assert (
        f"Error: Assignments can only be reset if the group '{name}' is inactive, but the current state is Stable."
        in reset
    )
    assert table(reset) == []
    group.all_committed()
    for member in (static, dynamic):
        member.close()


def test_a_group_nobody_is_in_and_one_there_is_not(java, tools, filled):
    group, _ = filled()
    offsets, members, state, unknown = tools.groups(
        f"--describe --group {group.id}",
        f"--describe --group {group.id} --members",
        f"--describe --group {group.id} --state",
        f"--describe --group {group.id}-not",
    )
    rows = table(offsets)
    assert column(rows, "CURRENT-OFFSET") == dict.fromkeys(group.partitions, str(COMMITTED))
    assert column(rows, "LAG") == dict.fromkeys(group.partitions, str(RECORDS - COMMITTED))
    assert column(rows, "CONSUMER-ID") == dict.fromkeys(group.partitions, "-")
    assert table(members) == []
    (row,) = table(state)
    assert (row["ASSIGNMENT-STRATEGY"], row["STATE"], row["#MEMBERS"]) == ("-", "Empty", "0")
    assert f"GroupIdNotFoundException: Group {group.id}-not not found." in unknown


def test_offsets_are_reset_in_every_way(java, tools, filled):
    group, first_ms = filled(topics=2)
    a, b = group.topics
    at = dt.datetime.fromtimestamp((first_ms + 2.5 * HOUR_MS) / 1000, dt.UTC)
    later = at + dt.timedelta(days=2)
    of_a = {partition for partition in group.partitions if partition[0] == a}
    end = dict.fromkeys(of_a, RECORDS)
    ways: list[tuple[str, Offsets]] = [
        (f"--topic {a} --to-earliest", dict.fromkeys(of_a, 0)),
        ("--all-topics --to-latest", dict.fromkeys(group.partitions, RECORDS)),
        (f"--topic {a}:0,1 --topic {b}:3 --to-offset 7", {(a, 0): 7, (a, 1): 7, (b, 3): 7}),
        (f"--topic {a} --to-offset 1000", end),
        (f"--topic {a} --shift-by -3", dict.fromkeys(of_a, COMMITTED - 3)),
        (f"--topic {a} --shift-by 1000", end),
        (f"--topic {a} --to-datetime {at:%Y-%m-%dT%H:%M:%S}.000", dict.fromkeys(of_a, 3)),
        (f"--topic {a} --to-datetime {later:%Y-%m-%dT%H:%M:%S}.000", end),
        (f"--topic {a} --by-duration PT4H30M", dict.fromkeys(of_a, 6)),
        ("--all-topics --to-current", at_each(group, COMMITTED)),
    ]
    names = [f"{group.id}-{number}" for number in range(len(ways))]
    for name in names:
        commit(group.world, name, at_each(group, COMMITTED))
    commands = [f"--reset-offsets --group {name} {way} --execute" for name, (way, _) in zip(names, ways, strict=True)]
    for name, (way, expected), shown in zip(names, ways, tools.groups(*commands), strict=True):
        assert new_offsets(shown) == expected, way
        assert {row["GROUP"] for row in table(shown)} == {name}
        assert group.world.offsets(name) == at_each(group, COMMITTED) | expected, way
    assert group.world.offsets(group.id) == at_each(group, COMMITTED)


def test_offsets_are_reset_by_a_file_or_not_at_all(java, tools, filled, tmp_path):
    group, _ = filled()
    fresh, both, from_file = (f"{group.id}-{end}" for end in ("fresh", "both", "file"))
    commit(group.world, both, at_each(group, COMMITTED))
    plan, new, exported, two = tools.groups(
        f"--reset-offsets --group {group.id} --topic {group.topic} --to-earliest --dry-run",
        f"--reset-offsets --group {fresh} --topic {group.topic} --to-latest --execute",
        f"--reset-offsets --group {group.id} --topic {group.topic} --shift-by 2 --export --dry-run",
        f"--reset-offsets --group {group.id} --group {both} --topic {group.topic}:1 --to-latest --export --dry-run",
    )
    assert new_offsets(plan) == at_each(group, 0)
    assert group.world.offsets(group.id) == at_each(group, COMMITTED)
    assert new_offsets(new) == group.world.offsets(fresh) == at_each(group, RECORDS)
    rows = [row for row in csv.reader(io.StringIO(exported)) if row]
    assert {(topic, int(partition)): int(at) for topic, partition, at in rows} == at_each(group, COMMITTED + 2)
    assert sorted(two.split()) == sorted(f"{name},{group.topic},1,{RECORDS}" for name in (group.id, both))

    (tmp_path / "plan.csv").write_text(exported.strip() + "\n")
    (shown,) = tools.groups(f"--reset-offsets --group {from_file} --from-file {tmp_path}/plan.csv --execute")
    assert new_offsets(shown) == group.world.offsets(from_file) == at_each(group, COMMITTED + 2)


def test_offsets_and_groups_are_deleted(java, tools, filled):
    group, _ = filled(topics=2)
    a, b = group.topics
    gone = f"{group.id}-gone"
    commit(group.world, gone, {(a, 0): 1})
    some, groups = tools.groups(
        f"--delete-offsets --group {group.id} --topic {a}:0,1 --topic {b}",
        f"--delete --group {gone} --group {gone}-not",
    )
    assert f"Request succeeded for deleting offsets from group {group.id}." in some
    deleted = {(a, 0), (a, 1), *((b, number) for number in range(4))}
    assert column(table(some), "STATUS") == dict.fromkeys(deleted, "Successful")
    assert group.world.offsets(group.id) == {(a, 2): COMMITTED, (a, 3): COMMITTED}
    assert f"These consumer groups were deleted successfully: '{gone}'" in groups
    assert f"* Group '{gone}-not' could not be deleted due to: " in groups
    assert "GroupIdNotFoundException: The group id does not exist." in groups
    assert group.world.describe(gone).state == "Dead"


def test_the_console_consumer_reads_from_the_beginning_and_goes_on(java, tools, filled):
    group, _ = filled()
    name = f"{group.id}-console"
    lines = tools.run(
        "console-consumer", *f"--topic {group.topic} --group {name} --from-beginning --max-messages 40".split()
    ).splitlines()
    assert sorted(lines) == sorted(value for _, value in group.written)
    assert group.world.offsets(name) == at_each(group, RECORDS)
    with producer(group.world) as opened:
        opened.send(group.topic, b"more", key=b"k", partition=2, timestamp_ms=1_700_000_000_000)
    shown = ("partition", "offset", "timestamp", "key")
    more = tools.run(
        "console-consumer",
        *f"--topic {group.topic} --group {name} --max-messages 1".split(),
        *(word for each in shown for word in ("--formatter-property", f"print.{each}=true")),
    )
    assert more == "CreateTime:1700000000000\tPartition:2\tOffset:10\tk\tmore\n"
    assert group.world.offsets(name) == {**at_each(group, RECORDS), (group.topic, 2): RECORDS + 1}


def test_the_performance_test_produces(java, tools, new_group):
    group = new_group()
    said = tools.run(
        "producer-perf-test", *f"--topic {group.topic} --num-records 5000 --record-size 200 --throughput -1".split()
    )
    assert re.match(r"5000 records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, ", said)
    ends = group.world.operator.list_partition_offsets(
        {TopicPartition(*partition): OffsetSpec.LATEST for partition in group.partitions}
    )
    assert sum(each.offset for each in ends.values()) == 5000
