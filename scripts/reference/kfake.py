"""kfake, the in-memory broker of franz-go: a Go program of ours over its module."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from .brokers import Running, Wanted, not_on_path, only_one_release, serve
from .building import built
from .overseer import Overseer
from .probe import create_topics, free_ports

SOURCE = Path(__file__).parent / "kfake"
MODULE = "github.com/twmb/franz-go/pkg/kfake"


def missing() -> Sequence[str]:
    """The programs that it needs and that cannot be found."""
    return not_on_path("go")


def version() -> str:
    """That of the module."""
    found = re.search(rf"{MODULE} (\S+)", (SOURCE / "go.mod").read_text())
    assert found is not None
    return found[1]


def start(wanted: Wanted, overseer: Overseer, undo: ExitStack) -> Running:
    """See `brokers.Kind`."""
    only_one_release(wanted, version())
    home = built("kfake", SOURCE, make, overseer)
    port = wanted.port or free_ports(1)[0]
    command = [str(home / "kfake"), f"-port={port}"]
    command += [f"-directory={wanted.directory}"] if wanted.directory else []
    command += [f"-override={key}={value}" for key, value in wanted.overrides.items()]
    log = wanted.scratch / "kfake.log"
    process = serve(command, log, port, overseer, undo)
    create_topics(port, wanted.topics)
    return Running(version(), port, process.pid, process, log)


def make(overseer: Overseer, home: Path) -> None:
    """Compile it."""
    overseer.run(["go", "build", "-C", str(SOURCE), "-trimpath", "-o", str(home / "kfake"), "."], home / "go.log")
