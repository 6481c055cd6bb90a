"""What the three kinds of broker have in common for the script."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .overseer import Failed, Overseer, Process, Unusable, end, tail
from .probe import is_up

TRIES, PAUSE = 1_200, 0.1
"""How often a broker is asked whether it is up, and how long (s) it is left alone in between."""


@dataclass(frozen=True)
class Wanted:
    """What was asked for. Port 0 is any that is free.

    `directory` is for what is to be kept, None where nothing is; `scratch` for the rest. `release` is that of the
    broker, None for the usual one.
    """

    port: int
    directory: Path | None
    scratch: Path
    topics: Mapping[str, int]
    overrides: Mapping[str, str]
    release: str | None


@dataclass(frozen=True)
class Running:
    """What answers. `pid` is the process that it runs in."""

    version: str
    port: int
    pid: int
    process: Process | None
    log: Path | None


class Kind(Protocol):
    """One of the three: a module."""

    def missing(self) -> Sequence[str]:
        """What it needs that this machine has not."""

    def start(self, wanted: Wanted, overseer: Overseer, undo: ExitStack, /) -> Running:
        """Start it, and return when it answers. What has to be done to end it is put into `undo` as soon as it has.

        Raises Unusable, Failed, and what `Overseer.wait` raises.
        """


def only_one_release(wanted: Wanted, version: str) -> None:
    """Raises Unusable if another release of a broker is asked for than the one that there is."""
    if wanted.release not in (None, version):
        raise Unusable(f"it is to be had in release {version} only, not {wanted.release}")


def not_on_path(*programs: str) -> list[str]:
    """Those of these programs that cannot be found."""
    return [each for each in programs if shutil.which(each) is None]


def serve(command: Sequence[str], log: Path, port: int, overseer: Overseer, undo: ExitStack) -> Process:
    """Start the process of a broker and wait until it answers; Failed if it ends instead, or takes too long."""
    with log.open("ab") as written:
        process = overseer.start(command, written)
    undo.callback(end, process)
    for _ in range(TRIES):
        if is_up(port):
            return process
        if overseer.wait(PAUSE) is process:
            raise Failed(f"it ended with status {process.returncode}: {tail(log)}")
    raise Failed(f"it does not answer: {tail(log)}")
