"""What a reference script waits for - its end, and that of its processes - and how it ends them."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO

BOUND = Path(__file__).parent / "bound.py"
FAILED, UNUSABLE = 1, 2
PATIENCE = 30.0
"""How long (s) a process may take to end by itself before it is killed."""
TAIL = 4_000
"""So many characters of a log are shown when a process has failed."""


Process = subprocess.Popen[bytes]


class Unusable(Exception):
    """What was asked for is not to be had on this machine, or of this kind of broker; the text is a sentence."""


class Failed(Exception):
    """Something did not go as it should; the text says what."""


class Stopped(Exception):
    """The script was asked to end."""


class Overseer:
    """Everything that happens comes through one queue, signals too: `wait` is where the script learns of it."""

    def __init__(self) -> None:
        self._happened: queue.SimpleQueue[Process | None] = queue.SimpleQueue()

    def heed_signals(self) -> None:
        """SIGTERM and SIGINT ask the script to end. To be called in the main thread."""

        def ask(_signal: int, _frame: FrameType | None) -> None:
            self._happened.put(None)

        signal.signal(signal.SIGTERM, ask)
        signal.signal(signal.SIGINT, ask)

    def heed_stdin(self) -> None:
        """So does the end of standard input."""

        def read() -> None:
            while os.read(sys.stdin.fileno(), 1024):
                pass
            self._happened.put(None)

        threading.Thread(target=read, daemon=True).start()

    def wait(self, seconds: float | None = None) -> Process | None:
        """Return a process that has ended, or None after so many seconds; raises Stopped."""
        try:
            process = self._happened.get(timeout=seconds)
        except queue.Empty:
            return None
        if process is None:
            raise Stopped
        return process

    def start(self, command: Sequence[str], log: IO[bytes] | int) -> Process:
        """Start a process, in a session of its own, that ends when this one does, however that comes about."""
        return self.watched(
            subprocess.Popen(
                [sys.executable, "-I", str(BOUND), str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )

    def watched(self, process: Process) -> Process:
        """Have `wait` tell of this one's end."""

        def watch() -> None:
            process.wait()
            self._happened.put(process)

        threading.Thread(target=watch, daemon=True).start()
        return process

    def run(self, command: Sequence[str], log: Path) -> None:
        """Run a command to its end; Failed, with what it wrote, if that is not a good one."""
        with log.open("wb") as written:
            process = self.start(command, written)
        try:
            while self.wait() is not process:
                pass
        except Stopped:
            end(process)
            raise
        if process.returncode:
            raise Failed(f"{' '.join(command)} ended with {process.returncode}: {tail(log)}")


def end(process: Process) -> None:
    """End a process that `start` made, with all that it started itself: in order, or by force after some patience."""
    if process.poll() is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)
    except ProcessLookupError:
        process.wait()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def tail(log: Path) -> str:
    """The end of a log."""
    return log.read_text(errors="replace")[-TAIL:].strip()
