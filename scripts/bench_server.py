"""How fast the server is, beside a floor measured in the same run.

    python scripts/bench_server.py [--quick]

The load runs in a process of its own (bench_load.py), over raw frames. The floor is a bare trio server that reads
frames and answers a fixed one (bench_floor.py): what is left of its rate is what the coordinator costs. Each figure
is the median of interleaved rounds; the machine's speed is in the floor, so compare ratios, not rates.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPTS = Path(__file__).parent
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@contextmanager
def running(*command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; give its process and the first line it prints; end it afterwards."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


def load(port: str, kind: str, *numbers: int) -> dict[str, float]:
    """Run the load generator once."""
    command = [sys.executable, str(SCRIPTS / "bench_load.py"), "127.0.0.1", port, kind, *map(str, numbers)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(finished.stdout)
    return measured


def median(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


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
            with started_server() as (process, port):
                measured.append(load(port, "form", size, process.pid))
        one = median(measured)
        cpu = (one["form_cpu_s"] + one["rebalance_cpu_s"]) / size * 1000
        each = (one["form_s"] + one["rebalance_s"]) / size * 1000
        print(
            f"{size:>8} {one['form_s']:>8.3f} {one['rebalance_s']:>12.3f} {each:>12.3f} {cpu:>14.3f}"
            f" {one['kib_per_member']:>13.1f}",
            flush=True,
        )


@contextmanager
def started_server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start kcoord on a free port, quiet, with no initial delay; give its process and port."""
    overrides = [part for key, value in SETTINGS.items() for part in ("--override", f"{key}={value}")]
    command = (
        "-m",
        "kcoord",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--topic",
        "bench:10",
        "--log-level",
        "error",
        *overrides,
    )
    with running(*command) as (process, line):
        yield process, line.rpartition(":")[2]


def resident_mib(pid: int) -> float:
    """Resident memory of a process in MiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round of everything, up to 1000 members")
    quick = parser.parse_args().quick
    seconds, rounds = (1, 1) if quick else (3, 3)
    with started_server() as (process, port), running(str(SCRIPTS / "bench_floor.py")) as (_, floor_port):
        time.sleep(0.2)
        print(f"{os.cpu_count()} CPUs; idle server: {resident_mib(process.pid):.1f} MiB resident\n")
        rates(port, floor_port, seconds, rounds)
    groups_form((10, 100, 300, 1000) if quick else (10, 100, 300, 1000, 3000), rounds)


if __name__ == "__main__":
    main()
