"""Everything that the README tells its reader to run, run.

A block of shell is run line by line, a block of Python against the server of the first command, a block of TOML is
the file that a later command names. Three things are put otherwise than they stand there: ports, so that a server that
runs already is no trouble; `./scripts/test` alone, which would run this test again and only collects; and the block of
log lines, which is compared with what the server says, but for ids, versions and times. So is a session with commands
(console) with what they print. A block of JavaScript is run by Node, if that is there.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcoord.web.client import ControlClient
from scripts.reference import why_not

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PATIENCE = 600
"""Seconds: the first run of a script makes an environment."""
pytestmark = pytest.mark.timeout(2 * PATIENCE)


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


SHELL = [line for block in blocks("sh") for line in block.splitlines()]
SERVING = [line for line in SHELL if line.startswith("./scripts/serve")]
OTHERS = [line for line in SHELL if line not in SERVING]
FIRST = SERVING[0]
CONTROLLED = f"{FIRST} --control 127.0.0.1:0"
LOG = "log"


def environment() -> dict[str, str]:
    """This process's environment without what belongs to the test run around it."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COVERAGE_", "KCOORD_"))}


@contextlib.contextmanager
def serving(command: str, directory: Path) -> Iterator[str]:
    """Run a serve command on a free port; give the address that it says it listens on. The log is in `directory`."""
    with started(command, directory) as (address, _):
        yield address


@contextlib.contextmanager
def started(command: str, directory: Path) -> Iterator[tuple[str, str]]:
    """The same; give also where it says that it is controlled, if the command asks for that, on a free port, too."""
    script, *arguments = re.sub(r"--control \S+", "--control 127.0.0.1:0", command).split()
    if "--listen" not in arguments:
        arguments += ["--listen", "127.0.0.1:0"]
    with (directory / LOG).open("w") as log:
        process = subprocess.Popen(
            [ROOT / script, *arguments],
            cwd=directory,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("kcoord is listening on "), (directory / LOG).read_text()
        control = process.stdout.readline() if "--control" in arguments else ""
        assert control.startswith("kcoord is controlled at http://") == ("--control" in arguments)
        yield line.split()[-1], control.strip().rpartition(" ")[2]
    finally:
        process.terminate()
        assert process.stdout is not None
        process.stdout.close()
        status = process.wait(60)
    assert status == 0


def test_every_block_is_of_a_kind_that_is_run():
    assert {language for language, _ in BLOCKS} <= {"sh", "python", "toml", "text", "mermaid", "console", "js"}
    assert FIRST == "./scripts/serve --topic orders:6"
    assert "./scripts/test" in OTHERS


def test_every_link_to_a_place_of_its_own_leads_there():
    links = set(re.findall(r"\]\(#([\w-]+)\)", README))
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    assert links
    assert links <= {heading.lower().replace(" ", "-") for heading in headings}


def program(client: str, address: str) -> str:
    """The README's program with that client, for a server at that address."""
    (found,) = (block for block in blocks("python") if client in block and "127.0.0.1:9092" in block)
    return found.replace("127.0.0.1:9092", address)


def produce(address: str) -> None:
    """Run the README's producer."""
    subprocess.run(
        [sys.executable, "-c", program("KafkaProducer", address)], env=environment(), check=True, timeout=PATIENCE
    )


def consumers(address: str, control: str, number: int) -> list[str]:
    """Run the README's consumer so many times at once; return what each printed.

    By the server's clock they come at the same time, however long it takes here: it stands still until all have joined.
    Then the group waits as long as it does for more members. That is not cut short: meanwhile the leader learns of its
    topics, and it would join once more if it did so later.
    """
    clock = ControlClient(control)
    clock.post("clock", "freeze")
    # They begin together when each has loaded what it needs.
    script = "import kafka\nprint('ready', flush=True)\ninput()\n" + program("KafkaConsumer", address)
    with contextlib.ExitStack() as stack:
        processes = []
        for _ in range(number):
            process = subprocess.Popen(
                [sys.executable, "-c", script],
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            processes.append(stack.enter_context(process))
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        clock.post("groups", "readers", "wait", members=number, timeout=PATIENCE, patience=PATIENCE)
        clock.post("clock", "resume")
        printed = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * number
    return printed


def test_the_first_consumer(tmp_path):
    """It prints what it should, and so does the server: these lines, with these fields and values."""
    with started(CONTROLLED, tmp_path) as (address, control):
        produce(address)
        assert consumers(address, control, 1) == ["[0, 1, 2, 3, 4, 5] 12\n"]
    assert "It prints `[0, 1, 2, 3, 4, 5] 12`." in README
    (shown,) = (block for block in blocks("text") if block.startswith("group_created "))
    log = (tmp_path / LOG).read_text()
    (member_id,) = set(re.findall(r"leader=(\S+)", log))
    (short,) = set(re.findall(r"leader=(\S+)", shown))
    logged = [line for line in log.splitlines() if " group=readers" in line]
    assert [fields(line.replace(member_id, short).split("] ", 1)[1]) for line in logged] == [
        fields(line) for line in shown.splitlines()
    ]


def fields(line: str) -> list[str]:
    """A line's event and its fields, without the client's version."""
    event, *rest = re.split(r"\s+(?=\w+=)", line.strip())
    return [event, *(re.sub(r"(client_id=kafka-python)-[\d.]+$", r"\1", each) for each in rest)]


def test_two_consumers_share_the_partitions(tmp_path):
    with started(CONTROLLED, tmp_path) as (address, control):
        produce(address)
        printed = {text.strip() for text in consumers(address, control, 2)}
    assert printed == {"[0, 1, 2] 6", "[3, 4, 5] 6"}
    assert "One prints\n`[0, 1, 2] 6`, the other `[3, 4, 5] 6`." in README


@pytest.mark.parametrize("command", SERVING[1:])
def test_serving(command, tmp_path):
    (configuration,) = blocks("toml")
    (tmp_path / "kcoord.toml").write_text(configuration)
    with serving(command, tmp_path) as address:
        assert re.fullmatch(r"127\.0\.0\.1:[1-9]\d*", address)


@pytest.fixture(scope="module")
def environment_of_the_first_command():
    """What the first command makes for those who go on from there."""
    making = 'source scripts/env.sh; make_environment .venv ""'
    subprocess.run(["bash", "-c", making], cwd=ROOT, env=environment(), check=True, timeout=PATIENCE)


@pytest.mark.parametrize("command", OTHERS)
def test_other_commands(command, tmp_path, environment_of_the_first_command):
    with contextlib.ExitStack() as stack:
        if command == "./scripts/test":
            command += " --collect-only -q"
        if "scripts/fuzz.py" in command:
            if (lacking := why_not("kafka")) is not None:
                assert not os.environ.get("CI"), lacking
                pytest.skip(lacking)
            command = command.replace("--sequences 2000", "--sequences 5")
        for usual in ("127.0.0.1:9092", "127.0.0.1:9093"):
            if usual in command:
                address = stack.enter_context(serving(FIRST, tmp_path))
                command = command.replace(usual, address)
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
    if "kcoord dump" in command:
        assert result.stdout.strip() in {block.strip() for block in blocks("text")}


@pytest.mark.parametrize("block", [block for block in blocks("python") if "kcoord" in block], ids=lambda _: "fixture")
def test_the_fixture(block, tmp_path):
    """Modules of tests are run by pytest, programs by themselves."""
    (tmp_path / "test_it.py").write_text(block)
    tests = ["-m", "pytest", "-q", "-p", "kcoord.testing.pytest_plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, *(tests if "def test_" in block else ["-W", "error"]), "test_it.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "def test_" in block:
        assert "1 passed" in done.stdout


def test_an_environment_of_ones_own(tmp_path):
    """With what its commands bring there, the first test with the fixture passes, and the demo is there."""
    commands = re.findall(r"`(pip install '?/path/to/this/checkout[^`]*)`", README)
    assert len(commands) == 2
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "own"], check=True, timeout=PATIENCE)
    (tmp_path / "test_it.py").write_text(next(block for block in blocks("python") if "def test_" in block))
    path = f"{tmp_path}/own/bin{os.pathsep}{os.environ['PATH']}"
    usual = {key: value for key, value in environment().items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for command in (
        "pip install -q pytest",
        *(f"{command} -q".replace("/path/to/this/checkout", str(ROOT)) for command in commands),
        "python -m pytest -q -p no:cacheprovider",
        "kcoord demo",
    ):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env={**usual, "PATH": path}, capture_output=True, text=True,
            check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert "eager" in done.stdout


@pytest.fixture
def session() -> tuple[str, list[tuple[str, str]]]:
    """The session with the commands: what starts the server, and the commands behind it with what they print."""
    (block,) = blocks("console")
    first, export, *others = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert first[0].startswith("./scripts/serve ")
    assert export[0].startswith("export KCOORD_CONTROL=")
    return first[0], others


def test_the_commands(tmp_path, session, environment_of_the_first_command):
    first, commands = session
    with started(first, tmp_path) as (_, control):
        for command, shown in commands:
            done = subprocess.run(
                command,
                shell=True,
                cwd=ROOT,
                env={**environment(), "KCOORD_CONTROL": control},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE,
            )
            assert done.returncode == 0, done.stdout
            assert without_times(done.stdout) == without_times(shown)


def without_times(text: str) -> list[str]:
    """What was printed, but for times and blanks at the ends of lines."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "TIME", text)
    return [re.sub(r"^ +(\d+\.\d+|SECONDS) s  ", "SECONDS s  ", line).rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("block", blocks("js"), ids=lambda _: "js")
def test_the_program_in_javascript(block, tmp_path):
    if shutil.which("node") is None:
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("node is not there to run the README's program")
    with started(CONTROLLED, tmp_path) as (_, control):
        done = subprocess.run(
            ["node", "--input-type=module", "-"],
            input=block,
            env={**environment(), "KCOORD_CONTROL": control},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Group readers: Empty\n")
