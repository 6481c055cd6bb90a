"""How fast the server is, beside a floor and, if wished, beside other brokers, measured in the same run.

    python scripts/bench_server.py [--quick] [--against kafka] [--against kfake] [--against librdkafka]

The load runs in a process of its own (bench_load.py), over raw frames. The floor is a bare trio server that reads
frames and answers a fixed one (bench_floor.py): what is left of its rate is what the coordinator costs. Each figure
is the median of interleaved rounds; the machine's speed is in the floor and in the other brokers, so compare
ratios, not rates. The others are those that scripts/reference.py starts; with them, each figure is followed by
kcoord's as a multiple of theirs: above 1 kcoord has more of it, be that good (a rate) or bad (seconds, memory).
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from pathlib import Path

from bench_connections import Connection, Dialect
from bench_load import cpu_seconds, resident_kib
from ending import in_order

from wire.messages import (
    CreatableTopic,
    CreateTopicsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
    MetadataRequestTopic,
)

SCRIPTS = Path(__file__).parent
KCOORD = "kcoord"
REFERENCES = ("kafka", "kfake", "librdkafka")
KEPT = 100_000_000
"""Bytes of each partition that kcoord keeps when memory is full: it has no disk to go on filling."""
SESSION_MS, SHORT_SESSION_MS = 300_000, 6_000
LONGEST = 30
"""Seconds that one measurement may take."""
BATCH = 1_000_000
"""Bytes of the batches that throughput is measured with."""


@dataclass(frozen=True)
class Server:
    """A broker that runs: its name, its process, and where it listens."""

    name: str
    pid: int
    port: str
    start_s: float
    """From the command to the first FindCoordinator that was answered without an error."""

    @property
    def mib(self) -> float:
        """Resident memory in MiB, with all its processes."""
        return resident_kib(self.pid) / 1024


@contextmanager
def running(*command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; give its process and the first line it prints; end it afterwards."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def started(name: str) -> Iterator[Server]:
    """Start a broker on a free port, quiet, with no initial delay, and with a topic for the load."""
    if name == KCOORD:
        command = ["-m", "kcoord", "serve", "--listen", "127.0.0.1:0", "--topic", "bench:10", "--log-level", "error",
                   "--override", "group.initial.rebalance.delay.ms=0",
                   "--override", f"log.retention.bytes={KEPT}"]  # fmt: skip
    else:
        command = [str(SCRIPTS / "reference.py"), name, "--port", "0"]
        if name == "kafka":
            command += ["--override", "group.initial.rebalance.delay.ms=0"]
    start = time.perf_counter()
    with running(*command) as (process, line):
        port = line.rpartition(":")[2]
        if not port.isdecimal():
            raise SystemExit(f"{name} did not start: {line}")
        named = re.search(r"process (\d+)", line)
        pid = process.pid if named is None else int(named[1])
        address = ("127.0.0.1", int(port))
        first_answer(address)
        start_s = time.perf_counter() - start
        if name != KCOORD:
            create_topic(address)
        yield Server(name, pid, port, start_s)


def first_answer(address: tuple[str, int]) -> None:
    """Ask for a group's coordinator until there is one."""
    dialect = Dialect(address)
    request = FindCoordinatorRequest(key="bench")
    connection = Connection(address)
    while True:
        answer = dialect.answer(connection.call(dialect.frame(request)), request)
        if not answer.error_code:
            return
        time.sleep(0.02)


def create_topic(address: tuple[str, int]) -> None:
    """Create the topic of the load where the command line could not; a broker without CreateTopics is asked for it."""
    dialect = Dialect(address)
    if dialect.knows(CreateTopicsRequest):
        new = CreatableTopic(name="bench", num_partitions=10, replication_factor=1)
        request = CreateTopicsRequest(topics=[new], timeout_ms=10_000)
        dialect.answer(Connection(address).call(dialect.frame(request)), request)
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="bench")], allow_auto_topic_creation=True)
    connection = Connection(address)
    while dialect.answer(connection.call(dialect.frame(wanted)), wanted).topics[0].error_code:
        time.sleep(0.02)


class Unmeasured(Exception):
    """The load came to no figure."""


def load(port: str, kind: str, *numbers: int) -> dict[str, float]:
    """Run the load generator once. Raises Unmeasured if it fails, or takes too long."""
    command = [sys.executable, str(SCRIPTS / "bench_load.py"), "127.0.0.1", port, kind, *map(str, numbers)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        raise Unmeasured(f"{kind}: not done after {LONGEST} s") from None
    if finished.returncode:
        raise Unmeasured(f"{kind}: {finished.stderr.strip().splitlines()[-1]}")
    measured: dict[str, float] = json.loads(finished.stdout)
    return measured


def median(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def medians_of(
    servers: Sequence[Server], rounds: int, kind: str, numbers: Callable[[Server], tuple[int, ...]], *keys: str
) -> list[list[float]]:
    """Measure each broker in turn, round by round; return, for each key, the median of each broker.

    A broker that comes to no figure has none, and why is said.
    """
    found: list[list[dict[str, float]]] = [[] for _ in servers]
    failed: set[str] = set()
    for _ in range(rounds):
        for each, server in zip(found, servers, strict=True):
            if server.name in failed:
                continue
            try:
                each.append(load(server.port, kind, *numbers(server)))
            except Unmeasured as why:
                failed.add(server.name)
                print(f"({server.name}: {why})", flush=True)
    return [
        [nan if server.name in failed else median(each)[key] for each, server in zip(found, servers, strict=True)]
        for key in keys
    ]


def print_row(name: str, figures: dict[str, float], floor: dict[str, float] | None = None) -> None:
    """Print one row of rates and latencies."""
    ratio = f"{figures['rate'] / floor['rate']:6.2f}" if floor else "      "
    print(
        f"{name:<44} {figures['rate']:>10,.0f} {ratio}  {figures['p50_ms']:>8.2f} {figures['p99_ms']:>8.2f}", flush=True
    )


def rates(port: str, floor_port: str, seconds: int, rounds: int) -> None:
    """Heartbeats and commits, each beside the floor at the same number of connections."""
    print(f"{'':<44} {'requests/s':>10} {'/floor':>6}  {'p50 ms':>8} {'p99 ms':>8}")
    for connections, spread in ((1, (1,)), (50, (1, 50)), (500, (1, 500))):
        floor_rounds: list[dict[str, float]] = []
        by_groups: dict[int, list[dict[str, float]]] = {groups: [] for groups in spread}
        commit_rounds: list[dict[str, float]] = []
        for _ in range(rounds):
            floor_rounds.append(load(floor_port, "fixed", connections, seconds))
            for groups in spread:
                by_groups[groups].append(load(port, "beats", connections, groups, seconds))
            if connections == 50:
                commit_rounds.append(load(port, "commits", connections, 10, seconds))
        floor = median(floor_rounds)
        print_row(f"floor, {connections} connections", floor)
        for groups, measured in by_groups.items():
            what = "one group" if groups == 1 else f"{groups} groups"
            print_row(f"heartbeats, {connections} connections, {what}", median(measured), floor)
        if commit_rounds:
            print_row(f"commits of 10 partitions, {connections} connections", median(commit_rounds), floor)


def groups_form(sizes: tuple[int, ...], rounds: int) -> None:
    """How long N members take to form a group, and to rebalance after one leaves; memory a member."""
    titles = ("form s", "rebalance s", "ms a member", "server cpu ms", "KiB a member")
    print(f"\n{'members':>8} {titles[0]:>8} {titles[1]:>12} {titles[2]:>12} {titles[3]:>14} {titles[4]:>13}")
    for size in sizes:
        measured: list[dict[str, float]] = []
        for _ in range(rounds):
            with started(KCOORD) as server:
                measured.append(load(server.port, "form", size, server.pid, SESSION_MS))
        one = median(measured)
        cpu = (one["form_cpu_s"] + one["rebalance_cpu_s"]) / size * 1000
        each = (one["form_s"] + one["rebalance_s"]) / size * 1000
        print(
            f"{size:>8} {one['form_s']:>8.3f} {one['rebalance_s']:>12.3f} {each:>12.3f} {cpu:>14.3f}"
            f" {one['kib_per_member']:>13.1f}",
            flush=True,
        )


@dataclass(frozen=True)
class Figure:
    """One figure that brokers are compared in: the load's arguments, and the key of what it measures."""

    title: str
    kind: str
    numbers: tuple[int, ...]
    key: str


def figures(seconds: int) -> tuple[Figure, ...]:
    """What is compared."""
    return (
        Figure("heartbeats/s, 50 connections, 50 groups", "beats", (50, 50, seconds), "rate"),
        Figure("commits/s of 10 partitions, 50 connections", "commits", (50, 10, seconds), "rate"),
        Figure("produce MB/s, 1 MB batches, 4 connections", "produce", (4, BATCH, seconds), "mb_per_s"),
        Figure("produce requests/s, 100 B batches, 4 connections", "produce", (4, 100, seconds), "rate"),
        Figure("fetch MB/s, 1 MB batches, 4 connections", "fetch", (4, BATCH, seconds), "mb_per_s"),
    )


def comparison(others: Sequence[str], seconds: int, rounds: int) -> None:
    """Print kcoord beside other brokers that run on this machine at the same time."""
    print(f"\n{'':<52}" + "".join(f"{name:>12}{'':>8}" for name in (KCOORD, *others)))
    with ExitStack() as stack:
        servers = [stack.enter_context(started(name)) for name in (KCOORD, *others)]
        row("from the command to FindCoordinator answered, s", [server.start_s for server in servers])
        row("resident memory when idle, MiB", [server.mib for server in servers])
        for size in (100, 1000):
            forming = partial(members_of, size)
            formed, rebalanced = medians_of(servers, rounds, "form", forming, "form_s", "rebalance_s")
            row(f"a group of {size} forms, s", formed)
            row(f"a group of {size} rebalances after a leave, s", rebalanced)
        for figure in figures(seconds):
            (values,) = medians_of(servers, rounds, figure.kind, lambda _, one=figure: one.numbers, figure.key)
            row(figure.title, values)
        row("resident memory at the end, MiB", [server.mib for server in servers])


def members_of(size: int, server: Server) -> tuple[int, ...]:
    """What the load is told of a group. librdkafka's mock waits for members as long as a session, less a second."""
    return size, server.pid, SHORT_SESSION_MS if server.name == "librdkafka" else SESSION_MS


def row(title: str, values: Sequence[float]) -> None:
    """Print one figure of each broker, and kcoord's as a multiple of it; a figure that is not there is a dash."""
    own, *others = (
        "-".rjust(12) if isnan(each) else f"{each:>12,.0f}" if each >= 100 else f"{each:>12.3f}" for each in values
    )
    multiples = (f"{'' if isnan(each) else f'x{values[0] / each:.2f}':>8}" for each in values[1:])
    print(f"{title:<52}{own}{'':>8}" + "".join(map("".join, zip(others, multiples, strict=True))), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round of everything, up to 1000 members")
    parser.add_argument("--against", action="append", choices=REFERENCES, default=[], help="compare with that broker")
    options = parser.parse_args()
    seconds, rounds = (1, 1) if options.quick else (3, 3)
    if options.against:
        comparison(options.against, seconds, rounds)
        return
    with started(KCOORD) as server, running(str(SCRIPTS / "bench_floor.py")) as (_, floor_port):
        time.sleep(0.2)
        before = cpu_seconds(server.pid)
        print(f"{os.cpu_count()} CPUs; idle server: {server.mib:.1f} MiB resident, {before:.2f} s to start\n")
        rates(server.port, floor_port, seconds, rounds)
    groups_form((10, 100, 300, 1000) if options.quick else (10, 100, 300, 1000, 3000), rounds)


if __name__ == "__main__":
    with in_order():
        main()
