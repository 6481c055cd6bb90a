"""What a run over the clients showed: which requests each sent, in which versions, and how many scenarios it passed.

The run writes .clients/report.json, scripts/readme.py makes the README's table of it. A client that the machine cannot
run is not in the report, and what the table says of it stays.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.clients.clients import BUILT, CLIENTS, HERE
from integration.clients.toolchains import files

REPORT = BUILT / "report.json"
SEEN_EVENT = "api_version_used"
"""The line of the server's log that tells of a request's version."""
HEAD = [
    "| client | of | version | requests, in the versions seen on the wire | alone | together |",
    "|---|---|---|---|---:|---:|",
]
ROW = re.compile(r"^\| (?P<name>\S+) \|.*\| (?P<together>\d+) \|$")

Seen = dict[str, dict[str, list[int]]]
"""Versions by client and API."""


def note(seen: Seen, log: Path) -> None:
    """Add what a server's log tells; a client id begins with the client's name and a dot."""
    with log.open() as lines:
        for line in lines:
            if SEEN_EVENT in line and (told := json.loads(line))["event"] == SEEN_EVENT:
                name = told["client_id"].partition(".")[0]
                if name in CLIENTS:
                    add(seen, name, told["api"], [told["version"]])


def add(seen: Seen, name: str, api: str, versions: Iterable[int]) -> None:
    known = seen.setdefault(name, {}).setdefault(api, [])
    known[:] = sorted({*known, *versions})


@dataclass
class Run:
    """Outcomes by scenario: who was in it, and whether all of it went well."""

    casts: dict[str, list[str]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    seen: Seen = field(default_factory=dict)

    def hear(self, scenario: str, cast: list[str], outcome: str, when: str) -> None:
        """Note one phase of a scenario."""
        self.casts[scenario] = cast
        if outcome == "failed":
            self.failed.add(scenario)
        elif when == "call" and outcome == "passed":
            self.passed.add(scenario)

    def merge(self, seen: Seen) -> None:
        """Add what another process saw."""
        for name, apis in seen.items():
            for api, versions in apis.items():
                add(self.seen, name, api, versions)

    def summary(self, left_out: dict[str, str]) -> dict[str, Any]:
        """What is written."""
        well = self.passed - self.failed
        return {
            "state": state(),
            "left_out": left_out,
            "clients": {
                name: {
                    "requests": dict(sorted(self.seen.get(name, {}).items())),
                    "alone": sum(self.casts[each] == [name] for each in well),
                    "together": sum(name in self.casts[each] and len(self.casts[each]) > 1 for each in well),
                }
                for name in CLIENTS
                if name not in left_out
            },
        }


def state() -> str:
    """A hash over everything here: a report is of one state of it."""
    digest = hashlib.sha256()
    for path in sorted(files(HERE)):
        digest.update(f"{path.relative_to(HERE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def write(summary: dict[str, Any]) -> None:
    BUILT.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(summary, indent=1) + "\n")


def table(before: str) -> str:
    """The README's table, given what stands there: made of the last report, if that is of what is here now.

    What needs a client that was left out - its row, and how often the others met it - stays as it was.
    """
    if not REPORT.exists() or (report := json.loads(REPORT.read_text()))["state"] != state():
        return before
    rows = {found["name"]: (line, found["together"]) for line in before.splitlines() if (found := ROW.match(line))}
    made = list(HEAD)
    for name, client in CLIENTS.items():
        line, together = rows.get(name, (None, "0"))
        told = report["clients"].get(name)
        if told is not None:
            if not report["left_out"]:
                together = told["together"]
            cells = (name, client.language, client.version, shown(told["requests"]), told["alone"], together)
            line = f"| {' | '.join(map(str, cells))} |"
        if line is not None:
            made.append(line)
    return "\n".join(made)


def shown(requests: dict[str, list[int]]) -> str:
    return ", ".join(f"{api} {'/'.join(map(str, versions))}" for api, versions in requests.items())
