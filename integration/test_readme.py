"""Everything that the README tells its reader to run, run.

A block of shell is run line by line, a block of Python against the server of the first command, a block of TOML is
the file that a later command names. Three things are put otherwise than they stand there: ports, so that a server that
runs already is no trouble; `./scripts/test` alone, which would run this test again and only collects; and a block of
text, which is output, and has to name events that exist.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kcoord.core.notes

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
PATIENCE = 600


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


SHELL = [line for block in blocks("sh") for line in block.splitlines()]
SERVING = [line for line in SHELL if line.startswith("./scripts/serve")]
OTHERS = [line for line in SHELL if line not in SERVING]
FIRST = SERVING[0]


def environment() -> dict[str, str]:
    """This process's environment without what belongs to the test run around it."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COVERAGE_", "KCOORD_"))}


@contextlib.contextmanager
def serving(command: str, directory: Path) -> Iterator[str]:
    """Run a serve command on a free port; give the address that it says it listens on."""
    script, *arguments = command.split()
    if "--listen" not in arguments:
        arguments += ["--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [ROOT / script, *arguments],
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("kcoord is listening on "), line
        yield line.split()[-1]
    finally:
        process.terminate()
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(30) == 0


def test_every_block_is_of_a_kind_that_is_run():
    assert {language for language, _ in BLOCKS} <= {"sh", "python", "toml", "text", "mermaid"}
    assert FIRST == "./scripts/serve --topic orders:6"
    assert "./scripts/test" in OTHERS


def test_the_first_consumer(tmp_path):
    (program,) = blocks("python")
    with serving(FIRST, tmp_path) as address:
        assert "127.0.0.1:9092" in program
        result = subprocess.run(
            [sys.executable, "-c", program.replace("127.0.0.1:9092", address)],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
    assert result.stdout == "[0, 1, 2, 3, 4, 5]\n"
    assert "It prints `[0, 1, 2, 3, 4, 5]`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("command", SERVING[1:])
def test_serving(command, tmp_path):
    (configuration,) = blocks("toml")
    (tmp_path / "kcoord.toml").write_text(configuration)
    with serving(command, tmp_path) as address:
        assert re.fullmatch(r"127\.0\.0\.1:[1-9]\d*", address)


@pytest.mark.timeout(PATIENCE)
@pytest.mark.parametrize("command", OTHERS)
def test_other_commands(command, tmp_path):
    with contextlib.ExitStack() as stack:
        if command == "./scripts/test":
            command += " --collect-only -q"
        if "--bootstrap" in command:
            address = stack.enter_context(serving(FIRST, tmp_path))
            command = command.replace("127.0.0.1:9092", address)
        result = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
    assert result.returncode == 0, result.stdout


def test_the_events_shown_exist():
    names = {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in dir(kcoord.core.notes) if name[0].isupper()}
    shown = [line.split()[0] for text in blocks("text") for line in text.splitlines() if " group=readers " in line]
    assert len(shown) == 6
    assert set(shown) <= names
