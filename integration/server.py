"""The server under test: `python -m kcoord serve` in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

QUICK: Mapping[str, object] = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1000}
"""Settings for tests that are not about these."""
TOPICS: Mapping[str, int] = {"t": 4, "u": 3, "wide": 40}
PATIENCE = 60
"""How long (s) the server may take to end before that counts as hanging; it needs a fraction of a second."""


class Server:
    """Starts on a free port; `restart` takes the same one again."""

    def __init__(
        self,
        log: Path,
        *,
        host: str = "127.0.0.1",
        topics: Mapping[str, int] = TOPICS,
        settings: Mapping[str, object] = QUICK,
        flags: Sequence[str] = (),
    ) -> None:
        self.log = log
        self._host = host
        self._port = 0
        self._arguments = [f"--topic={name}:{partitions}" for name, partitions in topics.items()]
        self._arguments += [f"--override={key}={value}" for key, value in settings.items()]
        self._arguments += flags
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def bootstrap(self) -> str:
        return f"{self._host}:{self._port}"

    def start(self) -> None:
        """Start, and return once connections are accepted."""
        command = [sys.executable, "-m", "kcoord", "serve", f"--listen={self.bootstrap}", *self._arguments]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KCOORD_")}
        with self.log.open("a") as errors:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=clean)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        before, _, address = line.strip().rpartition(" ")
        if before != "kcoord is listening on":
            self.kill()
            raise AssertionError(f"it did not start, it said {line!r} and: {self.log.read_text()}")
        host, _, port = address.rpartition(":")
        assert host == self._host
        self._port = int(port)

    def terminate(self) -> int:
        """Ask it to end, and return its exit status; TimeoutExpired if it hangs."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash does."""
        self._end(signal.SIGKILL)

    def restart(self, *, crash: bool = False) -> None:
        """End it, in order or not, and start it on the same port."""
        if crash:
            self.kill()
        else:
            assert self.terminate() == 0
        self.start()

    def close(self) -> None:
        """End it if it runs, in order; nothing may have gone wrong in it, at any time."""
        if self._process is not None:
            assert self.terminate() == 0
        text = self.log.read_text()
        assert "Traceback" not in text, text

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(how)
        try:
            more, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        assert not more, "one line on standard output was promised"
        return process.returncode
