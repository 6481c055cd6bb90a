"""The program itself: what it prints, how it fails, how it stops."""

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

from kcoord.cli import main
from tests.server.client import GIVE_UP, Client, find, join
from wire.errors import ErrorCode
from wire.messages import DescribeGroupsRequest, MetadataRequest

READY = re.compile(r"kcoord is listening on (\[.*\]|[^:]+):([0-9]+)\n")


def environment(**more):
    return {name: value for name, value in os.environ.items() if not name.startswith("KCOORD_")} | more


def command(*arguments):
    return [sys.executable, "-m", "kcoord", *arguments]


def run(*arguments, **env):
    return subprocess.run(
        command(*arguments), env=environment(**env), capture_output=True, text=True, timeout=GIVE_UP, check=False
    )


@contextmanager
def running(*arguments, **env):
    """A server in a process of its own; gives the process, the host and the port."""
    with subprocess.Popen(
        command("serve", *arguments),
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            match = READY.fullmatch(process.stdout.readline())
            assert match is not None
            yield process, match[1].strip("[]"), int(match[2])
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def fails(capsys, monkeypatch):
    """Run a command line that must fail with status 2; gives the one line that it says."""
    for name in tuple(os.environ):
        if name.startswith("KCOORD_"):
            monkeypatch.delenv(name)

    def run_here(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        output, errors = capsys.readouterr()
        assert (stopped.value.code, output, errors.count("\n")) == (2, "", 1)
        return errors

    return run_here


async def ask(host, port, request, version):
    client = Client(await trio.open_tcp_stream(host, port))
    with trio.fail_after(GIVE_UP):
        try:
            return await client.call(request, version)
        finally:
            await client.aclose()


def test_the_version():
    done = run("--version")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "0.1.0", "")


def test_help_names_every_flag():
    done = run("serve", "--help")
    assert done.returncode == 0
    for flag in ("--listen", "--advertise", "--topic", "--override", "--config", "--log-format", "--log-level"):
        assert flag in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--override", "group.max.size=0"], "group.max.size is '0': it must be from 1 to 2147483647"),
        (["--override", "nope=1"], "nope is not a setting that kcoord knows"),
        (["--override", "nope"], "--override is 'nope': it must be KEY=VALUE"),
        (["--topic", "t"], "--topic is 't': it must be NAME:PARTITIONS"),
        (["--topic", "t:0"], "topic t has '0' partitions"),
        (["--listen", "nowhere"], "listeners is 'nowhere'"),
        (["--listen", "host.invalid:0"], "cannot listen on host.invalid:0"),
        (["--listen", "192.0.2.1:0"], "cannot listen on 192.0.2.1:0"),
        (["--advertise", "0.0.0.0:1"], "clients need a host that they can connect to"),
        (["--config", "/nonexistent.toml"], "cannot read /nonexistent.toml: No such file or directory"),
        (["--config", "/"], "cannot read /: Is a directory"),
        (["--override", "store=tape:"], "no store is called 'tape:'; known are memory:"),
        (["--nope"], "--nope"),
        (["orders", "6"], "kcoord serve does not know what to do with 'orders 6'; kcoord serve --help tells"),
        (["--listen"], "--listen requires an argument"),
        (["--log-level", "loud"], "--log-level"),
        (["--log-format", "xml"], "--log-format"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_status_2(fails, arguments, words):
    assert words in fails("serve", *arguments)


@pytest.mark.parametrize("arguments", [["--nope"], ["--override", "group.max.size=x"], ["--listen", "192.0.2.1:0"]])
def test_as_a_process_it_is_no_different(arguments):
    done = run("serve", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("kcoord: ")


def test_an_unknown_command_is_status_2(fails):
    assert "dance" in fails("dance")


def test_an_address_in_use_is_status_2(fails):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = fails("serve", "--listen", f"127.0.0.1:{port}")
    assert sentence == f"kcoord: cannot listen on 127.0.0.1:{port}: Address already in use\n"


@pytest.mark.parametrize("name", ["KCOORD_NOPE", "KCOORD_GROUP_MAX", "KCOORD_group_max_size", "KCOORD_"])
def test_an_unknown_name_in_the_environment_is_status_2(fails, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert f"{name} in the environment is not a setting" in fails("serve")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("group.max.size = ", "is not TOML"),
        ("[group.max]\nsize = 0", "group.max.size is '0'"),
        ("topics = 3", "must be a table"),
        ("[topics]\nt = 0", "topic t has 0 partitions"),
        ("nope = 1", "nope is not a setting"),
        ("\xff", "is not TOML"),
    ],
)
def test_a_wrong_file_is_status_2(fails, tmp_path, text, words):
    path = tmp_path / "kcoord.toml"
    path.write_bytes(text.encode("latin-1"))
    assert words in fails("serve", "--config", str(path))


async def test_flags_come_before_environment_before_file_before_defaults(tmp_path):
    path = tmp_path / "kcoord.toml"
    path.write_text(
        'broker.rack = "file"\ncluster.id = "file"\n"node.id" = 3\nlisteners = ["127.0.0.1:0"]\n'
        '[topics]\n"a.b" = 2\nc.d = 4\ne = 1\n'
    )
    with running(
        "--config", str(path), "--override", "broker.id=5", "--topic", "e:6", "--advertise", "example.org:77",
        KCOORD_BROKER_RACK="environment", KCOORD_NODE_ID="4", KCOORD_BOOTSTRAP="elsewhere:1",
    ) as (_, host, port):  # fmt: skip
        answer = await ask(host, port, MetadataRequest(topics=None), 9)
    broker = answer.brokers[0]
    assert (broker.node_id, broker.rack, answer.cluster_id) == (5, "environment", "file")
    assert (broker.host, broker.port) == ("example.org", 77)
    partitions = {topic.name: len(topic.partitions) for topic in answer.topics if not topic.is_internal}
    assert partitions == {"a.b": 2, "c.d": 4, "e": 6}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_though_requests_wait_and_they_are_told(how):
    with running("--listen", "127.0.0.1:0", "--log-level", "error") as (process, host, port):

        async def park():
            client = Client(await trio.open_tcp_stream(host, port))
            member = (await client.call(join("g"), 5)).member_id
            await client.send(join("g", member), 5)
            while not (await ask(host, port, DescribeGroupsRequest(groups=["g"]), 5)).groups[0].members:
                pass
            process.send_signal(how)
            answer = await client.receive()
            assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, member)
            assert await client.is_closed()
            await client.aclose()

        trio.run(park)
        output, errors = process.communicate(timeout=GIVE_UP)
        assert (process.returncode, output, errors) == (0, "", "")
        # And the port is free again at once.
        with running("--listen", f"127.0.0.1:{port}") as (_, _, again):
            assert again == port


async def test_a_wildcard_is_never_told_to_clients():
    with running("--listen", "0.0.0.0:0") as (_, host, port):
        assert host == "0.0.0.0"
        for target in ("127.0.0.1", "127.0.0.2"):
            found = await ask(target, port, find("g"), 1)
            assert (found.host, found.port) == (target, port)


async def test_ipv6_in_brackets():
    with running("--listen", "[::1]:0") as (_, host, port):
        assert host == "::1"
        found = await ask("::1", port, find("g"), 1)
        assert (found.host, found.port) == ("::1", port)


async def test_json_log_lines():
    with running("--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug") as (process, host, port):
        await ask(host, port, join("g"), 5)
        lines = []
        while not lines or lines[-1]["event"] != "connection_closed":
            lines.append(json.loads(process.stderr.readline()))
        process.terminate()
        process.communicate(timeout=GIVE_UP)
    by_event = {line["event"]: line for line in lines}
    handed_out = by_event["member_id_handed_out"]
    assert (handed_out["group"], handed_out["client_id"], handed_out["host"]) == ("g", "c", "/127.0.0.1")
    assert handed_out["level"] == "debug"
    assert handed_out["member"].startswith("c-")
    assert by_event["listening"]["address"] == f"127.0.0.1:{port}"
    assert by_event["connection_closed"]["requests"] == 1


async def test_console_log_lines():
    with running("--listen", "127.0.0.1:0") as (process, host, port):
        client = Client(await trio.open_tcp_stream(host, port))
        await client.send_frame(b"\0")
        assert await client.is_closed()
        await client.aclose()
        process.terminate()
        _, errors = process.communicate(timeout=GIVE_UP)
    (line,) = [line for line in errors.splitlines() if "request_unreadable" in line]
    assert "warning" in line
    assert "Traceback" not in errors


def test_idle_it_needs_little_memory():
    with running("--listen", "127.0.0.1:0") as (process, _, _):
        status = Path(f"/proc/{process.pid}/status")
        if not status.exists():
            pytest.skip("the system does not tell")
        resident = int(re.search(r"VmRSS:\s+(\d+) kB", status.read_text())[1])
    assert resident < 60 * 1024
