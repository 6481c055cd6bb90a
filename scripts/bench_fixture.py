"""How soon the fixture is ready, and whether it leaves anything behind.

    python scripts/bench_fixture.py [--cycles 1000]

Ready is a `Kcoord` when FindCoordinator was answered over a socket; what is told is the quickest, the median and the
slowest tenth, without the imports, which come once and have a figure of their own. Each cycle starts a server, makes a
group on it and stops it. Growth is what the second half of the cycles adds to threads, file descriptors, objects that
Python's collector knows, and resident memory; the exit status is 1 if a thread, a descriptor or objects are left.
"""

import argparse
import gc
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ending import in_order

IMPORTS = "import time; t = time.perf_counter(); from kcoord.testing import Kcoord; print(time.perf_counter() - t)"
PLUGINS = (
    "import time, pytest; t = time.perf_counter(); import kcoord.bootstrap_option; "
    "import kcoord.testing.pytest_plugin; print(time.perf_counter() - t)"
)
ROUNDS = 15
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Held:
    """What the process has at one moment."""

    threads: int
    descriptors: int
    objects: int
    resident_kib: int

    @classmethod
    def now(cls) -> "Held":
        gc.collect()
        return cls(
            threading.active_count(),
            len(list(Path("/proc/self/fd").iterdir())),
            len(gc.get_objects()),
            int(Path("/proc/self/statm").read_text().split()[1]) * PAGE // 1024,
        )


def cycle() -> tuple[float, float]:
    """Start a server, use it, and stop it; return the seconds until it was ready, and those of the end."""
    from kcoord.testing import Kcoord
    from wire.header import request_frame
    from wire.messages import FindCoordinatorRequest

    began = time.perf_counter()
    with Kcoord({"orders": 6}) as kcoord:
        host, port = kcoord.bootstrap.split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(request_frame(1, "c", FindCoordinatorRequest(key="g"), 3))
            assert client.recv(1000)
            ready = time.perf_counter() - began
            kcoord.group("g").set_offsets({("orders", 0): 1})
        stopping = time.perf_counter()
    return ready, time.perf_counter() - stopping


def told(what: str, seconds: list[float]) -> None:
    """Print the quickest, the median and the slowest tenth, in ms."""
    ordered = sorted(seconds)
    median, tenth = statistics.median(ordered), ordered[-max(1, len(ordered) // 10)]
    print(f"{what:42}{ordered[0] * 1e3:9.1f} ms{median * 1e3:9.1f} ms{tenth * 1e3:9.1f} ms")


def elsewhere(source: str) -> list[float]:
    """Return the seconds that a script prints, in processes of its own."""
    command = [sys.executable, "-c", source]
    return [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(ROUNDS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=1000)
    cycles = parser.parse_args().cycles
    print(f"{'':42}{'quickest':>12}{'median':>12}{'tenth':>12}")
    told("both pytest plugins, imported", elsewhere(PLUGINS))
    told("kcoord.testing.Kcoord, imported", elsewhere(IMPORTS))
    half = max(1, cycles // 2)
    first = [cycle() for _ in range(half)]
    before = Held.now()
    second = [cycle() for _ in range(half)]
    after = Held.now()
    told("Kcoord ready: FindCoordinator answered", [ready for ready, _ in first + second])
    told("Kcoord stopped", [stopped for _, stopped in first + second])
    print(f"after {half} cycles {before}")
    print(f"after {2 * half} cycles {after}")
    grown = after.threads > before.threads or after.descriptors > before.descriptors
    return int(grown or after.objects - before.objects > half)


if __name__ == "__main__":
    with in_order():
        sys.exit(main())
