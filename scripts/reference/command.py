"""The command line of scripts/reference.py.

    python scripts/reference.py kafka|kfake|librdkafka [--port P] [--topic NAME:PARTITIONS] [--override KEY=VALUE]
                                                       [--release RELEASE] [--directory DIR] [--until-stdin-ends]

starts that broker on 127.0.0.1 and prints one line as soon as it answers ApiVersions:

    kafka 4.4.0, process 4711, is listening on 127.0.0.1:9092

Kafka is started in the release of the pom in kafka/ unless --release names another that Maven Central has, from 2.8 on.
SIGTERM, SIGINT (Ctrl-C) and, with --until-stdin-ends, the end of standard input stop it. The data is in a temporary
directory that is removed then, unless --directory names one. Whichever of the processes is killed, the broker is
stopped too: a second process holds it, which learns from a pipe that the first one is gone, and if it is the second,
Linux kills the broker with it. Exit status: 0 when it was stopped, 1 when it failed, 2 for arguments that are wrong
and for what this machine lacks.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from . import apache, kfake, librdkafka
from .brokers import Kind, Running, Wanted
from .overseer import FAILED, UNUSABLE, Failed, Overseer, Stopped, Unusable, tail
from .probe import HOST, check_free

KINDS: Mapping[str, Kind] = {"kafka": apache, "kfake": kfake, "librdkafka": librdkafka}
UNTIL_STDIN_ENDS = "--until-stdin-ends"
LAST_PORT = 65_535


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker until it is to stop; return the exit status."""
    parser = argparse.ArgumentParser(description="A broker to compare with, until SIGTERM or Ctrl-C.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--port", type=port, default=0, help="on 127.0.0.1; by default any that is free")
    parser.add_argument("--directory", type=Path, help="keep the data there; by default it is removed at the end")
    parser.add_argument("--topic", type=topic, action="append", default=[], metavar="NAME:PARTITIONS")
    parser.add_argument("--override", type=setting, action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--release", type=release, help="of Apache Kafka, like 3.9.2; by default that of the pom")
    parser.add_argument(UNTIL_STDIN_ENDS, action="store_true", help="stop at the end of standard input, too")
    given = parser.parse_args(arguments)
    overseer = Overseer()
    overseer.heed_signals()
    try:
        if not given.until_stdin_ends:
            return in_front(sys.argv[1:] if arguments is None else arguments, overseer)
        overseer.heed_stdin()
        run(given, overseer)
    except Stopped:
        return 0
    except (Unusable, Failed) as error:
        print(f"{given.kind}: {error}", file=sys.stderr)
        return UNUSABLE if isinstance(error, Unusable) else FAILED


def in_front(arguments: Sequence[str], overseer: Overseer) -> int:
    """Have another process do it, which is not hit by what ends this one, and learns of it: its standard input ends."""
    command = [sys.executable, str(Path(__file__).parent.parent / "reference.py"), *arguments, UNTIL_STDIN_ENDS]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    overseer.watched(worker)
    assert worker.stdin is not None
    with worker.stdin, suppress(Stopped):
        overseer.wait()
    return worker.wait()


def run(given: argparse.Namespace, overseer: Overseer) -> None:
    """Run it in this process, or as a child of it; ends with Stopped, Unusable or Failed."""
    kind = KINDS[given.kind]
    if lacking := kind.missing():
        raise Unusable(f"it needs {' and '.join(lacking)}, which is not found here")
    with ExitStack() as undo:
        scratch = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="reference-")))
        if given.directory:
            given.directory.mkdir(parents=True, exist_ok=True)
        if given.port:
            check_free(given.port)
        wanted = Wanted(
            port=given.port,
            directory=given.directory and given.directory.resolve(),
            scratch=scratch,
            topics=dict(given.topic),
            overrides=dict(given.override),
            release=given.release,
        )
        running = kind.start(wanted, overseer, undo)
        what = f"{given.kind} {running.version}, process {running.pid}"
        print(f"{what}, is listening on {HOST}:{running.port}", flush=True)
        wait_for_ever(running, overseer)


def wait_for_ever(running: Running, overseer: Overseer) -> None:
    """Ends with Stopped, or Failed if the broker's process ends by itself."""
    while True:
        ended = overseer.wait()
        if ended is not None and ended is running.process:
            raise Failed(f"it ended by itself, with status {ended.returncode}: {tail(running.log)}")


def port(text: str) -> int:
    if not 0 <= (number := int(text)) <= LAST_PORT:
        raise ValueError
    return number


def topic(text: str) -> tuple[str, int]:
    name, separator, count = text.rpartition(":")
    if not separator or int(count) < 1:
        raise ValueError
    return name, int(count)


def release(text: str) -> str:
    # Of Maven, other text would ask for ranges, or name a property of the pom.
    if not re.fullmatch(r"v?\d[\w.-]*", text):
        raise ValueError
    return text


def setting(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ValueError
    return key, value
