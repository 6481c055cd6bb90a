"""A reference broker as a context: as long as that lasts, and no longer."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .command import KINDS, UNTIL_STDIN_ENDS
from .overseer import UNUSABLE, Unusable

SCRIPT = Path(__file__).parent.parent / "reference.py"
READY = re.compile(r"(?P<name>\S+) (?P<version>\S+), process (?P<pid>\d+), is listening on (?P<bootstrap>\S+)\n")


@dataclass(frozen=True)
class Reference:
    """A broker that runs. `pid` is its process: that of the broker alone, as far as it is one of its own."""

    name: str
    version: str
    pid: int
    bootstrap: str


def why_not(kind: str) -> str | None:
    """Why this machine cannot run this one ("kafka", "kfake", "librdkafka"), in a sentence, or None if it can."""
    lacking = KINDS[kind].missing()
    return f"{kind} needs {', '.join(lacking)}" if lacking else None


@contextmanager
def started(
    kind: str,
    port: int = 0,
    *,
    directory: Path | None = None,
    topics: Mapping[str, int] | None = None,
    overrides: Mapping[str, object] | None = None,
    release: str | None = None,
) -> Iterator[Reference]:
    """Run a broker on 127.0.0.1, on a free port if `port` is 0, with topics of so many partitions.

    Kafka comes in any `release` that Maven Central has, like "3.9.2", from 2.8 on; the usual one is that of the pom.

    Raises Unusable, with a sentence, where the machine cannot run it or it has no such thing as was asked for, and
    AssertionError when it does not start, or ended before it was to. It ends with this process, also when that is
    killed.
    """
    command = [sys.executable, str(SCRIPT), kind, f"--port={port}", UNTIL_STDIN_ENDS]
    command += [f"--directory={directory}"] if directory else []
    command += [f"--release={release}"] if release else []
    command += [f"--topic={name}:{partitions}" for name, partitions in (topics or {}).items()]
    command += [f"--override={key}={value}" for key, value in (overrides or {}).items()]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if (ready := READY.fullmatch(line)) is not None:
                yield Reference(ready["name"], ready["version"], int(ready["pid"]), ready["bootstrap"])
        finally:
            process.communicate()  # its standard input ends
        errors.seek(0)
        said = errors.read().strip()
        if process.returncode == UNUSABLE:
            raise Unusable(said)
        assert ready is not None, f"it did not start: {said}"
        assert process.returncode == 0, f"it did not end in order: {said}"


@contextmanager
def reference(kind: str, port: int = 0, **options: object) -> Iterator[str]:
    """As `started`, for its bootstrap address alone."""
    with started(kind, port, **options) as running:  # type: ignore[arg-type]
        yield running.bootstrap
