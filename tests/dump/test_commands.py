"""The command line: what is printed, how it fails, how a proxy ends."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
import trio

from kcoord.cli import main
from kcoord.dump.api_names import api_name
from kcoord.dump.frames import BadInput
from kcoord.dump.names import api_key, keys_of, kind_of_answer
from kcoord.dump.session import Broken, Closed, Opened, Passed, first_line, line_of
from tests.dump.samples import heartbeat, heartbeat_answer, join_request, join_response
from tests.server.client import GIVE_UP, join
from tests.server.test_command_line import ask, command, environment, running
from wire.messages import MetadataRequest

READY = re.compile(r"kcoord: listening on 127\.0\.0\.1:([0-9]+)\n")
NOBODY = "127.0.0.1:1"


@pytest.fixture
def run(capsys):
    """Run a command line here; gives status, output and errors."""

    def run_here(*arguments):
        status = 0
        try:
            main(arguments)
        except SystemExit as stopped:
            status = stopped.code
        return status, *capsys.readouterr()

    return run_here


@contextmanager
def proxy(*arguments):
    """A proxy in a process of its own; gives the process and the port."""
    with subprocess.Popen(
        command(*arguments, "--listen", "127.0.0.1:0"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            match = READY.fullmatch(process.stderr.readline())
            assert match is not None
            yield process, int(match[1])
        finally:
            process.kill()
            process.communicate()


def test_a_file_is_printed(run, tmp_path):
    path = tmp_path / "frames"
    path.write_text(heartbeat(1).hex(" ") + "\n" + join_request(2, "ö").hex())
    status, output, errors = run("dump", str(path))
    assert (status, errors) == (0, "")
    assert output.count("#") == 2
    assert "'ö'" in output
    status, output, _ = run("dump", "--json", str(path))
    assert [json.loads(line)["api"] for line in output.splitlines()] == ["Heartbeat", "JoinGroup"]
    assert run("dump", str(path), "--only", "joingroup, 3")[1].startswith("#2")
    assert run("dump", str(path), "--group", "g")[1].count("#") == 1


def test_answers_are_printed(run, tmp_path, monkeypatch):
    path = tmp_path / "frames"
    path.write_bytes(join_response())
    assert "JoinGroup v9 response" in run("dump", str(path), "--response", "JoinGroup:9")[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(heartbeat_answer(3, 27))))
    assert "REBALANCE_IN_PROGRESS" in run("dump", "-", "--response", "12:4", "--whole")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dump"], "what to read is missing"),
        (["dump", "/"], "cannot read /: Is a directory"),
        (["dump", "/nonexistent"], "cannot read /nonexistent: No such file or directory"),
        (["dump", "/dev/null"], "/dev/null is empty"),
        (["dump", "--nope"], "there is no option --nope"),
        (["dump", "/dev/null", "--only", "Dance"], "no API is called 'Dance'"),
        (["dump", "/dev/null", "--response", "11"], "it must be KEY:VERSION"),
        (["dump", "/dev/null", "--response", "11:x"], "it must be KEY:VERSION"),
        (["dump", "/dev/null", "--response", "11:99"], "JoinGroup is described in versions 0 to 9"),
        (["dump", "/dev/null", "--response", "68:0"], "the messages of ConsumerGroupHeartbeat are not described here"),
        (["dump", "/dev/null", "--only", "32768"], "no API is called '32768'"),
        (["dump", "/dev/null", "--port", "99999"], "--port is 99999: it must be a number from 1 to 65535"),
        (["dump", "/dev/null", "--port", "65536"], "--port is 65536"),
        (["dump", "/dev/null", "--port", "0"], "--port is 0"),
        (["dump", "/dev/null", "--port", "-1"], "--port is -1"),
        (["dump", "/dev/null", "--port", "9" * 4000], "--port is a number of more than 30 digits"),
        (["dump", "/dev/null", "--rewrite"], "--rewrite is for --listen and --to"),
        (["dump", "--listen", "127.0.0.1:0"], "--to is missing"),
        (["dump", "--to", NOBODY], "--listen is missing"),
        (["dump", "--listen", "here", "--to", NOBODY], "--listen is 'here': it must be HOST:PORT"),
        (["dump", "file", "--listen", NOBODY, "--to", NOBODY], "there is neither FILE nor"),
        (["dump", "--listen", "192.0.2.1:0", "--to", NOBODY], "cannot listen on 192.0.2.1:0"),
        (["record", "/nonexistent/f", "--listen", NOBODY, "--to", NOBODY], "cannot write /nonexistent/f"),
        (["record", "/dev/null", "--listen", NOBODY, "--to", NOBODY], "/dev/null exists already"),
        (["record", "f"], "requires an argument"),
        (["replay", "/nonexistent", NOBODY], "cannot read /nonexistent"),
        (["replay", "/dev/null", "nobody"], "TO is 'nobody'"),
        (["replay", "/dev/null", NOBODY], "/dev/null is not a session"),
        (["dump", "--listen", NOBODY, "--to", "127.0.0.1:0"], "--to is '127.0.0.1:0': nobody listens at port 0"),
        (["record", "/dev/null", "--listen", NOBODY, "--to", "127.0.0.1:0"], "--to is '127.0.0.1:0'"),
        (["replay", "/dev/null", "127.0.0.1:0"], "TO is '127.0.0.1:0'"),
        (["replay", "/dev/null", "127.0.0.1:65536"], "with a port of at most 65535"),
        (["replay", "/dev/null", NOBODY, "--patience", "0"], "--patience is 0.0"),
        (["replay", "/dev/null", NOBODY, "--patience", "86401"], "above 0, and at most 86400"),
        (["replay", "/dev/null", NOBODY, "--patience", "nan"], "--patience is nan"),
        (["replay", "/dev/null"], "requires an argument"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_status_2(run, arguments, words):
    status, output, errors = run(*arguments)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert words in errors.replace("Parameter", "parameter")


def test_a_port_is_asked_for_in_captures_only(run, tmp_path):
    path = tmp_path / "frames"
    path.write_bytes(heartbeat())
    assert run("dump", str(path), "--port", "65535") == (
        2, "", f"kcoord: --port is for captures; {path} is none\n",
    )  # fmt: skip


def test_what_could_be_read_is_printed_first(run, tmp_path):
    path = tmp_path / "frames"
    path.write_bytes(heartbeat() + heartbeat()[:9])
    status, output, errors = run("dump", str(path))
    assert (status, output.count("#")) == (2, 2)
    assert errors == f"kcoord: {path} ends in the middle of frame 2\n"


def test_a_recording_that_cannot_begin_leaves_no_file(run, tmp_path):
    path = tmp_path / "session"
    assert run("record", str(path), "--listen", "192.0.2.1:0", "--to", NOBODY)[0] == 2
    assert not path.exists()


def test_a_broker_that_is_not_there_is_status_2(run, tmp_path):
    path = tmp_path / "session"
    path.write_text(first_line(0, "b:1") + '{"ms":0,"connection":1,"event":"opened"}\n')
    status, output, errors = run("replay", str(path), NOBODY)
    assert (status, output) == (2, "")
    assert errors == f"kcoord: {NOBODY} cannot be reached: Connection refused\n"


def test_what_a_session_says_tells_the_terminal_nothing(run, tmp_path):
    path = tmp_path / "session"
    order = "\x1b[2J\n#9"
    events = [Opened(0, 1, order), Passed(1, 1, True, heartbeat()), Broken(2, 1, "client", order), Closed(3, 1, order)]
    path.write_text(first_line(0, order) + "".join(map(line_of, events)))
    status, output, _ = run("dump", str(path))
    assert status == 0
    assert output.count("\\x1b[2J\\n#9") == 10
    assert "\x1b" not in output
    assert not [line for line in output.splitlines() if line.startswith("#9")]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_session_is_recorded_printed_and_played(run, tmp_path, how):
    path = tmp_path / "session"
    with running("--listen", "127.0.0.1:0", "--topic", "t:1") as (_, host, port):
        with proxy("record", str(path), "--to", f"{host}:{port}", "--rewrite") as (process, listening):
            answer = await ask(host, listening, MetadataRequest(topics=None), 9)
            assert answer.brokers[0].port == listening
            await ask(host, listening, join("g"), 5)
            process.send_signal(how)
            assert (process.wait(GIVE_UP), process.stdout.read()) == (0, "")
        lines = path.read_text().splitlines()
        events = [json.loads(line) for line in lines[1:]]
        for connection in (1, 2):
            mine = [each.get("event") for each in events if each["connection"] == connection]
            assert mine == ["opened", None, None, "closed"]
        status, output, _ = run("dump", str(path))
        assert (status, output.count("#"), output.count("opened")) == (0, 4, 2)
        with running("--listen", "127.0.0.1:0", "--topic", "u:1") as (_, host, port):
            done = await trio.run_process(
                command("replay", str(path), f"{host}:{port}"),
                env=environment(),
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
        assert (done.returncode, done.stderr) == (1, b"")
        assert "Metadata v9, correlation id 1: topics[name t] was {" in done.stdout.decode()
        assert b"2 requests, 2 answers, " in done.stdout.splitlines()[-1]


async def test_a_proxy_prints_at_once():
    with (
        running("--listen", "127.0.0.1:0") as (_, host, port),
        proxy("dump", "--json", "--to", f"{host}:{port}") as (process, listening),
    ):
        await ask(host, listening, MetadataRequest(topics=[]), 9)
        kinds = [json.loads(process.stdout.readline()).get("kind") for _ in range(3)]
        assert kinds == [None, "request", "response"]
        process.stdout.close()
        deadline = time.monotonic() + GIVE_UP
        while process.poll() is None and time.monotonic() < deadline:
            await ask_in_vain(host, listening)
        assert process.returncode == 2
        assert process.stderr.read() == "kcoord: cannot write to standard output: Broken pipe\n"


async def ask_in_vain(host, port):
    with suppress(OSError, EOFError, trio.BrokenResourceError):
        await ask(host, port, MetadataRequest(topics=[]), 9)


def test_start_up_of_the_server_is_not_burdened():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, kcoord.commands; print([n for n in sys.modules if 'dump' in n])"],
        env=environment(), capture_output=True, text=True, timeout=GIVE_UP, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["dump", "record", "replay"])
def test_help(run, name):
    status, output, _ = run(name, "--help")
    assert status == 0
    assert "--" in output


def test_names():
    assert (api_name(0), api_name(75), api_name(94), api_name(95)) == (
        "Produce", "DescribeTopicPartitions", "UnregisterController", "API 95",
    )  # fmt: skip
    assert (api_key("12"), api_key(" heartbeat ")) == (12, 12)
    assert keys_of(None) is None
    assert keys_of("Fetch,0") == {0, 1}
    assert kind_of_answer("Fetch:12") == (1, 12)
    with pytest.raises(BadInput):
        api_key("9" * 9)
