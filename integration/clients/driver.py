"""A client's driver, running: a process that is told and tells in JSON lines."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from integration.clients.clients import ROOT, Client

T = TypeVar("T")

LIMIT = 120.0
"""Seconds that anything may take. A machine on which several JVMs start at once needs some; only a hang needs these."""
PAUSE = 0.2
"""Seconds between two questions about what will change."""
TAIL = 4_000
"""So many characters of a driver's last words are shown when something fails."""
CHANGED = threading.Condition()
"""Notified when any driver said something or ended."""

Partition = tuple[str, int]
Record = tuple[str, int, int, str]


class Failed(AssertionError):
    """What was waited for did not come; the text tells the whole story."""


def wait_until(condition: Callable[[], T], what: str | Callable[[], str], *drivers: "Driver") -> T:
    """Return the first true value of `condition`, which looks at drivers.

    Raises Failed, with everything that the drivers said, after `LIMIT`, or as soon as one of them has ended that was
    not to end.
    """
    end = time.monotonic() + LIMIT
    with CHANGED:
        while not (value := condition()):
            for driver in drivers:
                if driver.ended and not driver.may_end:
                    raise Failed(f"{driver.name} ended, while waiting: {said(what)}\n{stories(drivers)}")
            if not CHANGED.wait(max(0.0, end - time.monotonic())):
                raise Failed(f"not within {LIMIT:.0f} s: {said(what)}\n{stories(drivers)}")
    return value


def eventually(condition: Callable[[], T], what: str | Callable[[], str], *drivers: "Driver") -> T:
    """Return the first true value of `condition`, which asks the server and so is asked again and again.

    Raises Failed as `wait_until` does, but for drivers that end.
    """
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failed(f"not within {LIMIT:.0f} s: {said(what)}\n{stories(drivers)}")
        with CHANGED:
            CHANGED.wait(PAUSE)
    return value


def said(what: str | Callable[[], str]) -> str:
    return what if isinstance(what, str) else what()


def stories(drivers: "Iterable[Driver]") -> str:
    return "\n".join(driver.story() for driver in drivers)


class Driver:
    """Started at once. `events` is what it said so far; a thread reads it, the tests look at it under `CHANGED`."""

    def __init__(self, client: Client, config: dict[str, Any], log: Path) -> None:
        self.client, self.config, self.log = client, config, log
        self.name: str = config["client_id"]
        self.events: list[dict[str, Any]] = []
        self.held: set[Partition] = set()
        self.records: list[Record] = []
        self.faults: list[str] = []
        self.ended = False
        self.may_end = config["role"] == "producer"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KCOORD_")}
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [*client.command(client.run), json.dumps(config)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=log.parent,
                env={**environment, "PYTHONPATH": str(ROOT)},
                start_new_session=True,  # with everything that it starts itself, it can be killed at once
            )
        self._reader = threading.Thread(target=self._read, name=self.name, daemon=True)
        self._reader.start()

    def __repr__(self) -> str:
        return f"<{self.name} holds {sorted(self.held)}>"

    def story(self) -> str:
        """Everything it said, records abridged, and the end of its standard error."""
        said = [json.dumps({**event, **abridged(event)}) for event in self.events]
        state = f"ended with {self._process.poll()}" if self.ended else "running"
        return "\n  ".join([f"{self.name} ({state}, {self.config}):", *said, "stderr:", self.log.read_text()[-TAIL:]])

    def told(self, *kinds: str) -> list[dict[str, Any]]:
        """Its events of these kinds so far."""
        return [event for event in list(self.events) if event["event"] in kinds]

    def moves(self) -> list[dict[str, Any]]:
        """What it was given and gave up, as far as there was anything."""
        return [event for event in self.told("assigned", "revoked", "lost") if event["partitions"]]

    def say(self, **command: Any) -> None:
        """Send it a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Have an operator do something; its answer, be that a result, an error or that it cannot."""
        answers = len(self.told("result", "error", "unsupported"))
        self.say(do=do, **arguments)
        return wait_until(lambda: self.told("result", "error", "unsupported")[answers:], f"{do} is answered", self)[0]

    def value(self, do: str, **arguments: Any) -> Any:
        """Have an operator do something that succeeds; what it returned."""
        answer = self.ask(do, **arguments)
        if answer["event"] != "result":
            raise Failed(f"{do} {arguments}: {answer}\n{self.story()}")
        return answer["value"]

    def comes_to(self, expected: Any, do: str, of: str | None = None, **arguments: Any) -> None:
        """Ask an operator until the answer, or one entry `of` it, is this one.

        What was changed is not seen everywhere at once: in Kafka the controller answers, and the broker learns.
        """
        eventually(lambda: part(self.value(do, **arguments), of) == expected, f"{do} {arguments} is {expected}", self)

    def close(self) -> None:
        """Have it end in order, wait for that, and look that it did."""
        self.leave()
        self.left()

    def leave(self) -> None:
        """Tell it to end in order."""
        self.may_end = True
        self.say(do="close")

    def left(self) -> None:
        """Wait until it has ended, in order."""
        wait_until(lambda: self.ended, f"{self.name} ends", self)
        if self._process.wait() != 0 or self.events[-1]["event"] != "closed":
            raise Failed(f"{self.name} did not close in order\n{self.story()}")

    def kill(self) -> None:
        """End it at once, as a crash does; no harm if it has ended."""
        self.may_end = True
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _read(self) -> None:
        with self._process.stdout as lines:
            for line in lines:
                with CHANGED:
                    self._note(line)
                    CHANGED.notify_all()
        with CHANGED:
            self.ended = True
            self.held.clear()
            CHANGED.notify_all()

    def _note(self, line: str) -> None:
        try:
            event = json.loads(line)
            kind = event["event"]
        except (ValueError, KeyError, TypeError):
            self.faults.append(f"this is no event: {line!r}")
            return
        self.events.append(event)
        if kind == "records":
            for topic, partition, offset, value in event["records"]:
                if (topic, partition) not in self.held:
                    self.faults.append(f"a record of {topic}-{partition}, which it does not hold: {offset} {value!r}")
                self.records.append((topic, partition, offset, value))
        elif kind in {"assigned", "revoked", "lost"}:
            moved = {(topic, partition) for topic, partition in event["partitions"]}
            if kind == "assigned":
                if again := moved & self.held:
                    self.faults.append(f"given again without having been given up: {sorted(again)}")
                self.held |= moved
            else:
                if strange := moved - self.held:
                    self.faults.append(f"{kind}, and it did not hold them: {sorted(strange)}")
                self.held -= moved


def part(value: Any, of: str | None) -> Any:
    return value if of is None else value[of]


def abridged(event: dict[str, Any]) -> dict[str, Any]:
    """Many records by their number."""
    records = event.get("records")
    return {"records": f"{len(records)} records, the first {records[0]}"} if records and len(records) > 2 else {}
