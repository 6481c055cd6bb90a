"""The program's two outputs, and what becomes of it when they are closed, full, stuck or left by their reader."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from kcoord import commands
from kcoord.cli import main
from kcoord.commands import app
from tests.server.client import GIVE_UP, Client, find, join

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
DEBUG = ("--log-level", "debug")
UNREAD = f"kcoord: cannot write to standard output: {os.strerror(errno.EPIPE)}\n"


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("KCOORD_")}


def shell(redirections, *arguments, **how):
    """The program with outputs as a shell gives them to it."""
    words = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "kcoord", *arguments]
    return subprocess.Popen(words, env=environment(), text=True, **how)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def serving(redirections="", *arguments, **how):
    """A server, and its port, as soon as it answers: whether it can say that it listens does not matter."""
    port = free_port()
    with shell(redirections, "serve", "--listen", f"127.0.0.1:{port}", *arguments, **how) as process:
        try:
            assert trio.run(answers, port, process)
            yield process, port
        finally:
            process.kill()


async def answers(port, process=None):
    """Whether the server does what it is for; waits for it to begin."""
    with trio.fail_after(GIVE_UP):
        while True:
            try:
                client = Client(await trio.open_tcp_stream("127.0.0.1", port))
                break
            except OSError:
                assert process.poll() is None, "it has ended"
                await trio.sleep(0.01)
        try:
            return (await client.call(find("g"), 1)).error_code == 0
        finally:
            await client.aclose()


async def make_noise(port, times):
    """Ask for member ids, each of which is a log line of a few hundred bytes."""
    client = Client(await trio.open_tcp_stream("127.0.0.1", port))
    for number in range(times):
        await client.call(join(f"group-{number}-{'x' * 200}"), 5)
    await client.aclose()


def stops_in_order(process):
    process.terminate()
    assert process.wait(GIVE_UP) == 0


@pytest.mark.parametrize("redirections", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/null"])
def test_outputs_that_are_closed_are_not_missed(redirections):
    with serving(redirections, *DEBUG) as (process, port):
        trio.run(make_noise, port, 20)
        assert trio.run(answers, port)
        stops_in_order(process)


def test_what_is_closed_is_not_taken_by_a_connection():
    with serving("<&- >&- 2>&-", *DEBUG) as (process, port):
        trio.run(make_noise, port, 3)
        descriptors = Path(f"/proc/{process.pid}/fd")
        if not descriptors.exists():
            pytest.skip("the system does not tell")
        assert {str((descriptors / str(number)).readlink()) for number in range(3)} == {os.devnull}
        stops_in_order(process)


@needs_full
def test_a_log_that_has_no_room_is_no_reason_to_end():
    with serving("2>/dev/full", *DEBUG) as (process, port):
        trio.run(make_noise, port, 100)
        assert trio.run(answers, port)
        stops_in_order(process)


def test_a_log_whose_reader_went_away_is_no_reason_to_end():
    with serving("", *DEBUG, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as (process, port):
        process.stderr.close()
        trio.run(make_noise, port, 100)
        assert trio.run(answers, port)
        stops_in_order(process)


def test_a_log_that_nobody_reads_is_no_reason_to_wait():
    with serving("", *DEBUG, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as (process, port):
        trio.run(make_noise, port, 1000)
        assert trio.run(answers, port)
        stops_in_order(process)
        whole_lines = process.stderr.read().splitlines()[:-1]
        assert len(whole_lines) > 50
        assert all("\x1b" not in line for line in whole_lines)


def test_a_log_that_is_read_late_is_complete():
    with serving("", *DEBUG, "--log-format", "json", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as (
        process, port,
    ):  # fmt: skip
        trio.run(make_noise, port, 1000)
        process.terminate()
        _, errors = process.communicate(timeout=GIVE_UP)
        assert process.returncode == 0
    groups = [json.loads(line)["group"] for line in errors.splitlines() if "member_id_handed_out" in line]
    assert groups == [f"group-{number}-{'x' * 200}" for number in range(1000)]


def test_a_log_file_is_complete(tmp_path):
    log = tmp_path / "log"
    with log.open("w") as file, serving("", *DEBUG, stdout=subprocess.DEVNULL, stderr=file) as (process, port):
        trio.run(make_noise, port, 1000)
        stops_in_order(process)
    assert re.findall("member_id_handed_out .*group=group-([0-9]+)-", log.read_text()) == [str(n) for n in range(1000)]


@needs_full
@pytest.mark.parametrize(
    "arguments", [["serve", "--listen", "127.0.0.1:0"], ["--help"], ["serve", "--help"], ["--version"]]
)
def test_what_cannot_be_printed_is_one_sentence_and_status_2(arguments):
    with shell(">/dev/full", *arguments, stderr=subprocess.PIPE) as process:
        _, errors = process.communicate(timeout=GIVE_UP)
    lines = [line for line in errors.splitlines() if "listening" not in line]
    sentence = f"kcoord: cannot write to standard output: {os.strerror(errno.ENOSPC)}"
    assert (process.returncode, lines) == (2, [sentence])


@contextmanager
def unread(monkeypatch):
    """Let standard output, in this process, be one whose reader went away."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        yield


COMMANDS = [name for name in app if not name.startswith("-")]


@pytest.mark.parametrize(
    "arguments",
    ["", "--help", "--version", "check --list", "check --explain H1", "demo", "groups show --help"]
    + [f"{name} --help" for name in COMMANDS],
)
def test_what_nobody_reads_any_more_is_one_sentence_and_status_2(monkeypatch, capsys, arguments):
    with unread(monkeypatch), pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert (ended.value.code, capsys.readouterr().err) == (2, UNREAD)


def test_help_whose_reader_goes_away():
    with shell("", "--help", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == UNREAD
        assert process.wait(GIVE_UP) == 2


@pytest.mark.parametrize("files", [5, 7, 8, 9])
def test_where_hardly_any_file_may_be_opened_there_is_no_traceback(files):
    """Either it serves, or it says in one sentence why it does not."""
    words = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", sys.executable, "-m", "kcoord", "serve"]
    with subprocess.Popen(
        [*words, "--listen=127.0.0.1:0", "--control=127.0.0.1:0"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if files > 7 and process.stdout.readline() and "is controlled at" in process.stdout.readline():
            process.terminate()
            assert "Traceback" not in process.communicate()[1]
            assert process.returncode == 0
        else:
            lines = [line for line in process.communicate()[1].splitlines() if "listening  " not in line]
            assert process.returncode == 2
            assert len(lines) == 1
            assert re.match(f"kcoord: .*{os.strerror(errno.EMFILE)}", lines[0])


TOO_MANY = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
LIBRARY = ImportError(f"libssl.so: cannot open shared object file: {os.strerror(errno.EMFILE)}")
OTHER = OSError(errno.ENOENT, "it is not there")


@pytest.mark.parametrize("error", [TOO_MANY, LIBRARY, ExceptionGroup("", [TOO_MANY, ExceptionGroup("", [LIBRARY])])])
def test_a_want_of_descriptors_is_one_sentence_and_status_2(monkeypatch, capsys, error):
    monkeypatch.setattr(commands, "run", raising(error))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert re.fullmatch(f"kcoord: {os.strerror(errno.EMFILE)}: ulimit -n says [0-9]+\n", capsys.readouterr().err)


@pytest.mark.parametrize("error", [OTHER, ImportError("no such module"), ExceptionGroup("", [TOO_MANY, OTHER])])
def test_other_errors_are_raised(monkeypatch, error):
    monkeypatch.setattr(commands, "run", raising(error))
    with pytest.raises(type(error)) as raised:
        main([])
    assert raised.value is error


def raising(error):
    def run(_arguments):
        raise error

    return run


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["--version"]])
def test_help_that_nobody_wants_is_no_error(arguments):
    with shell(">&-", *arguments, stderr=subprocess.PIPE) as process:
        _, errors = process.communicate(timeout=GIVE_UP)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("redirections", ["2>&-", pytest.param("2>/dev/full", marks=needs_full)])
def test_a_mistake_that_cannot_be_told_is_status_2_still(redirections):
    with shell(redirections, "serve", "--listen", "nowhere", stdout=subprocess.PIPE) as process:
        output, _ = process.communicate(timeout=GIVE_UP)
    assert (process.returncode, output) == (2, "")


def test_a_client_cannot_play_tricks_on_the_console():
    group = "\x1b[2J\u202e\x00 ü"
    with serving("", *DEBUG, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as (process, port):

        async def ask_for_an_id():
            client = Client(await trio.open_tcp_stream("127.0.0.1", port))
            await client.call(join(group), 5)
            await client.aclose()

        trio.run(ask_for_an_id)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=GIVE_UP)
    assert all(line.isprintable() for line in errors.split("\n"))
    assert f"group={group!r}" in errors
