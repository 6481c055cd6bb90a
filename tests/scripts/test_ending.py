"""Scripts that start processes: whatever signal ends a script, nothing that it started goes on."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.server.client import GIVE_UP
from tests.server.test_outputs import environment

ROOT = Path(__file__).parent.parent.parent
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
# What a script does beside its process: it waits in one way or another. It ignores the signal that is asked for, and no
# other, however these tests were started: in the background of a shell SIGINT is ignored, and under nohup SIGHUP.
SCRIPT = """
import signal, subprocess, sys, time
import trio
from scripts.ending import in_order

async def waiting():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        print(process.pid, flush=True)

async def busy():
    print(process.pid, flush=True)
    while True:
        await trio.sleep(0)

def status():
    try:
        plain()
    except KeyboardInterrupt:
        sys.exit(2)

def plain():
    print(process.pid, flush=True)
    time.sleep(1000)

signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
for name in sys.argv[2:]:
    signal.signal(signal.Signals[name], signal.SIG_IGN)
with in_order():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        what = globals()[sys.argv[1]]
        what() if what in (plain, status) else trio.run(what)
    finally:
        process.kill()
        process.wait()
"""


@contextmanager
def script(*command, **how):
    """A script of this checkout; it is killed in the end if it goes on, with what it has started."""
    command = [sys.executable, *command]
    with subprocess.Popen(command, cwd=ROOT, env=environment(), start_new_session=True, **how) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("how", ["plain", "waiting", "busy"])
def test_a_signal_ends_it_by_way_of_all_finally_clauses(how, number):
    with script("-c", SCRIPT, how, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        process.send_signal(number)
        assert (process.wait(GIVE_UP), process.stderr.read()) == (128 + number, "")
        assert is_gone(child)


def test_a_status_that_is_made_of_an_interrupt_does_not_hide_the_signal():
    with script("-c", SCRIPT, "status", stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        process.terminate()
        assert process.wait(GIVE_UP) == 128 + signal.SIGTERM
        assert is_gone(child)


@pytest.mark.parametrize("how", ["plain", "waiting"])
def test_so_it_does_where_interrupts_are_ignored(how):
    with script("-c", SCRIPT, how, "SIGINT", stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(GIVE_UP) == 128 + signal.SIGTERM
        assert is_gone(child)


def test_it_goes_on_when_its_terminal_is_gone_where_that_is_asked_for():
    with script("-c", SCRIPT, "waiting", "SIGHUP", stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(GIVE_UP) == 128 + signal.SIGTERM
        assert is_gone(child)


def test_the_fuzzer_leaves_no_server():
    """It has started kcoord when it comes to the other broker, which says nothing here."""
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        script(
            "scripts/fuzz.py", "--sequences=1", "--profile=at once", f"--against=127.0.0.1:{other.getsockname()[1]}",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process,
    ):  # fmt: skip
        other.settimeout(GIVE_UP)
        connection, _ = other.accept()
        with connection:
            listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
            pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
            children = [pid for pid, parent in pairs if parent == process.pid]
            assert children
            process.terminate()
            assert process.wait(GIVE_UP) == 128 + signal.SIGTERM
            assert all(map(is_gone, children))
