"""`kcoord check` as it is called: what it prints, what it writes, and how it ends."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import trio

from kcoord.check import commands
from kcoord.check.rule import release
from kcoord.check.rules import all_rules
from kcoord.check.running import unless_a_signal
from kcoord.cli import main
from tests.server.client import GIVE_UP
from tests.server.test_command_line import command, environment, run, running
from wire.header import read_response, request_frame
from wire.messages import ListGroupsRequest, ListGroupsResponse


@pytest.fixture(scope="module")
def broker():
    """The address of a server in a process of its own."""
    with running("--listen", "127.0.0.1:0") as (_, host, port):
        yield f"{host}:{port}"


@pytest.fixture
def ends(capsys, monkeypatch, rule_of):
    """Run `kcoord check` with some rules of ours; gives its exit status, standard output and standard error."""

    def run(*arguments, names=("kept", "does_not_apply")):
        monkeypatch.setattr(commands, "all_rules", lambda: {name: rule_of(name) for name in names})
        status = 0
        try:
            main(["check", *arguments])
        except SystemExit as error:
            status = error.code or 0
        out, err = capsys.readouterr()
        return status, out, without_progress(err)

    return run


def without_progress(err):
    """What was said but for the lines that tell every ten seconds how far it is, which a busy machine may need."""
    return re.sub(r"^.*\b\w+: [0-9]+ of [0-9]+, [0-9]+ broken.*\n", "", err, flags=re.MULTILINE)


def test_all_kept(ends, broker):
    status, out, err = ends(broker)
    assert status == 0
    assert "2 rules in" in out
    assert ": 1 kept, 0 broken, 1 not applicable\n" in out
    assert "does_not_apply: it is Sunday" in out
    assert err == ""


def test_one_broken(ends, broker):
    status, out, err = ends(broker, names=("kept", "broken"))
    assert status == 1
    assert "broken is broken (Heartbeat): broken is so." in out
    assert ": 1 kept, 1 broken, 0 not applicable\n" in out
    assert err == ""


def test_nobody_there(ends):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        status, out, err = ends(address)
    assert (status, out) == (2, "")
    assert err.startswith("kcoord: the broker cannot be reached: ")
    assert err.count("\n") == 1


def test_files(ends, broker, tmp_path):
    names = {form: tmp_path / f"out.{form}" for form in ("json", "junit", "html")}
    flags = [text for form, path in names.items() for text in (f"--{form}", str(path))]
    status, out, _ = ends(broker, *flags, "--transcripts", "all", names=("kept", "broken"))
    assert status == 1
    assert "2 rules in" in out
    read = json.loads(names["json"].read_text())
    assert (read["broker"], read["summary"]) == (broker, {"kept": 1, "broken": 1, "not applicable": 0, "not run": 0})
    assert read["rules"][0]["cases"][0]["transcript"]
    assert ET.parse(names["junit"]).getroot().get("failures") == "1"
    assert names["html"].read_text().startswith("<!DOCTYPE html>")


def test_standard_output_instead_of_the_table(ends, broker):
    status, out, _ = ends(broker, "--json", "-")
    assert status == 0
    assert json.loads(out)["summary"]["kept"] == 1


@pytest.fixture(scope="module")
def other():
    """The address of another server, where offsets may have five bytes of text only."""
    with running("--listen", "127.0.0.1:0", "--override", "offset.metadata.max.bytes=5") as (_, host, port):
        yield f"{host}:{port}"


def test_several_that_do_not_differ(ends, broker, other):
    status, out, err = ends(broker, other)
    assert status == 0
    assert f"A  {broker}: 1 kept, 1 not applicable\n" in out
    assert "2 rules of Kafka 4.4 at 2 brokers in " in out
    assert err == ""


def test_several_that_differ(ends, broker, other, tmp_path):
    names = {form: tmp_path / f"out.{form}" for form in ("json", "junit", "html")}
    flags = [text for form, path in names.items() for text in (f"--{form}", str(path))]
    status, out, _ = ends(broker, other, *flags, names=("kept", "commits_text"))
    assert status == 1
    assert "commits_text is judged otherwise" in out
    read = json.loads(names["json"].read_text())
    assert read["brokers"] == [broker, other]
    assert [each["verdicts"] for each in read["differences"]] == [["kept", "not applicable"]]
    assert ET.parse(names["junit"]).getroot().get("failures") == "1"
    assert "Where" in names["html"].read_text()
    status, out, _ = ends(broker, other, "--json", "-")
    assert (status, json.loads(out)["differences"]) == (0, [])


def test_one_of_several_is_not_there(ends, broker):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        status, out, err = ends(broker, address)
    assert (status, out) == (2, "")
    assert err.startswith(f"kcoord: {address}: the broker cannot be reached: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["h:1", "i:1", "h:1"], "h:1 is named twice, and can only be compared with another broker"),
        (["h:1", "nowhere"], "'nowhere' is not the address of a broker: it must be HOST:PORT"),
        ([], "which broker? Give HOST:PORT, or --list or --explain"),
        (["a..b:9092"], "'a..b:9092' is not the address of a broker: no host can be called 'a..b'"),
        (["h:1", "--json", "x", "--html", "./x"], "each form of the results needs a FILE of its own"),
        (["nowhere"], "'nowhere' is not the address of a broker: it must be HOST:PORT"),
        (["::1:9092"], "'::1:9092' is not the address of a broker: it must be HOST:PORT"),
        (["host:0"], "'host:0' has no port that there is: 1 to 65535"),
        (["h:1", "--only", "H999"], "--only has 'H999', which is neither a rule nor an API of one; --list shows them"),
        (["h:1", "--only", ","], "--only names nothing"),
        (["--explain", "nothing"], "there is no rule 'nothing'; --list shows them all"),
        (["h:1", "--at-once", "0"], "--at-once is 0: it must be 1 or more"),
        (["h:1", "--kafka", "four"], "--kafka is 'four': it must be a release like 4.0"),
        (["h:1", "--kafka", "4.5"], "--kafka is 4.5: the newest release that the rules tell of is 4.4"),
        (["--list", "--kafka", "9.0"], "--kafka is 9.0: the newest release that the rules tell of is 4.4"),
        (["--list", "--kafka", "four"], "--kafka is 'four': it must be a release like 4.0"),
        (["--explain", "kept", "--kafka", "four"], "--kafka is 'four': it must be a release like 4.0"),
        (["h:1", "--patience", "0"], "--patience is 0: it must be a number of seconds above 0, and at most 3600"),
        (["h:1", "--patience", "-1"], "--patience is -1: it must be a number of seconds above 0, and at most 3600"),
        (["h:1", "--patience", "nan"], "--patience is nan: it must be a number of seconds above 0, and at most 3600"),
        (["h:1", "--patience", "inf"], "--patience is inf: it must be a number of seconds above 0, and at most 3600"),
        (["h:1", "--json", "/no/such/folder/x"], "--json cannot write /no/such/folder/x: No such file or directory"),
        (["h:1", "--json", ""], "--json needs a FILE"),
        (["h:1", "--only", "h*,x*"], "--only has 'x*', which is neither a rule nor an API of one; --list shows"),
        (["h:1", "--json", "-", "--html", "-"], "standard output can have the results in one form only"),
        (["h:1", "--json", "--html"], "--json needs a FILE, and --html looks like a flag; ./--html would not"),
        (["h:1", "--insecure"], "--ca, --cert, --key and --insecure mean nothing without --tls"),
        (["h:1", "--username", "u"], "--username and --password-file mean nothing without --sasl-mechanism"),
        (["h:1", "--sasl-mechanism", "PLAIN"], "--sasl-mechanism needs --username"),
        (
            ["h:1", "--sasl-mechanism", "PLAIN", "--username", "u"],
            "--sasl-mechanism needs a password, from --password-file or KAFKA_PASSWORD in the environment",
        ),
        (
            ["h:1", "--sasl-mechanism", "PLAIN", "--username", "u", "--password-file", "/no/such/file"],
            "cannot read the password from /no/such/file: ",
        ),
        (["h:1", "--sasl-mechanism", "PLAIN", "--username", "\udcff"], "--username is not in UTF-8"),
        (["h:1", "--tls", "--ca", "/no/such/file"], "--ca /no/such/file cannot be read: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_said_in_a_sentence(ends, monkeypatch, arguments, sentence):
    monkeypatch.delenv("KAFKA_PASSWORD", raising=False)
    status, out, err = ends(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"kcoord: {sentence}")
    assert err.count("\n") == 1


def test_a_flag_that_there_is_not(ends):
    status, _, err = ends("h:1", "--no-such-flag")
    assert status == 2
    assert "--no-such-flag" in err


def test_a_file_that_is_a_folder(ends, broker, tmp_path):
    file = tmp_path / "x"
    file.mkdir()
    status, _, err = ends(broker, "--json", str(file))
    assert (status, err) == (2, f"kcoord: --json cannot write {file}: Is a directory\n")


def test_a_file_that_may_not_be_written(ends, broker, tmp_path, monkeypatch):
    monkeypatch.setattr(commands.os, "access", lambda path, _: path != tmp_path)
    status, _, err = ends(broker, "--json", str(tmp_path / "x"))
    assert (status, err) == (2, f"kcoord: --json cannot write {tmp_path}/x: Permission denied\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that takes nothing")
def test_a_file_that_takes_nothing_costs_no_other_result(ends, broker, tmp_path):
    status, out, err = ends(broker, "--html", "/dev/full", "--json", str(tmp_path / "x"))
    assert (status, err) == (2, "kcoord: cannot write /dev/full: No space left on device\n")
    assert ": 1 kept, 0 broken, 1 not applicable\n" in out
    assert json.loads((tmp_path / "x").read_text())["summary"]["kept"] == 1


@pytest.mark.parametrize("several", [False, True])
def test_an_output_that_nobody_reads_is_no_broken_rule(broker, several):
    brokers = [broker, broker.replace("127.0.0.1", "localhost")] if several else [broker]
    with subprocess.Popen(
        command("check", *brokers, "--only", "H1"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        err = process.stderr.read()
        status = process.wait(GIVE_UP)
    assert (status, without_progress(err)) == (2, "kcoord: cannot write to standard output: Broken pipe\n")


def test_list_and_explain(ends):
    status, out, _ = ends("--list")
    assert status == 0
    assert out.splitlines() == [
        "kept            Heartbeat  kept is so.",
        "does_not_apply  Heartbeat  does_not_apply is so.",
    ]
    assert ends("--list", "--only", "KEPT")[1].count("\n") == 1
    status, out, _ = ends("--explain", "kept")
    assert status == 0
    assert out.startswith("kept: kept is so.\n\nsource    KIP-0\nAPI       Heartbeat 0-4\ncost      0.3 s\n")
    assert out.endswith('        assert await client.heartbeat(world.group(), 1, "m") is ErrorCode.UNKNOWN_MEMBER_ID\n')


@pytest.mark.parametrize("kafka", ["0.11", "2.8", "3.9", "4.0", "4.4"])
def test_the_rules_of_a_release_are_those_that_apply_to_it(capsys, kafka):
    judged_by = release(kafka)
    main(["check", "--list", "--kafka", kafka])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    rules = all_rules().values()
    assert listed == [
        each.id
        for each in rules
        if (each.since is None or each.since <= judged_by) and (each.until is None or judged_by <= each.until)
    ]
    assert 0 < len(listed) < len(rules)


def test_a_list_of_rules_none_of_which_applies(capsys):
    ended = next(each.id for each in all_rules().values() if each.until is not None)
    with pytest.raises(SystemExit) as end:
        main(["check", "--list", "--only", ended, "--kafka", "4.4"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "kcoord: none of these rules is one of Kafka 4.4\n"


def test_a_port_that_says_nothing(ends):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        status, out, err = ends(f"127.0.0.1:{silent.getsockname()[1]}", "--patience", "0.1")
    assert (status, out) == (2, "")
    assert err.startswith("kcoord: the broker is of no use: no answer to ApiVersions 0 within 0.1 s; ")


def test_every_rule_can_be_explained(capsys):
    for name in all_rules():
        main(["check", "--explain", name])
        out, _ = capsys.readouterr()
        assert out.startswith(f"{name}: ")
        assert "    async def " in out


def test_only():
    rules = all_rules()
    assert [each.id for each in commands.chosen(rules, ["h10, H1"])] == ["H1", "H3"]
    assert {each.api for each in commands.chosen(rules, ["heartbeat", "SyncGroup"])} == {"Heartbeat", "SyncGroup"}
    assert {each.id for each in commands.chosen(rules, ["FETCH-?"])} == {
        f"fetch-{n}" for n in range(1, 10)
    } & rules.keys()
    assert {each.api for each in commands.chosen(rules, ["*topics,heart*"])} >= {"Heartbeat", "CreateTopics"}
    assert commands.chosen(rules, None) == list(rules.values())


def test_assertions_must_not_be_left_out():
    ended = subprocess.run(
        [sys.executable, "-O", "-m", "kcoord", "check", "127.0.0.1:1"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=GIVE_UP,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "kcoord: rules are assertions, which python -O leaves out; run it without -O\n"


def test_a_rule_of_the_package_in_a_process_of_its_own(broker):
    ended = run("check", broker, "--only", "H1,H2", "--at-once", "1")
    assert (ended.returncode, without_progress(ended.stderr)) == (0, "")
    assert ": 2 kept, 0 broken, 0 not applicable\n" in ended.stdout


def groups(broker: str) -> list[str]:
    """The groups that the broker has now."""
    host, _, port = broker.rpartition(":")
    with socket.create_connection((host, int(port)), GIVE_UP) as connection:
        connection.sendall(request_frame(1, "test", ListGroupsRequest(), 5))
        with connection.makefile("rb") as answers:
            payload = answers.read(int.from_bytes(answers.read(4), "big"))
    return [group.group_id for group in read_response(payload, ListGroupsResponse, 5)[1].groups]


def signalled(broker, *signals, arguments=(), hangup=signal.SIG_DFL, folder=None):
    """Send signals to a run in which a rule waits for long; return its status and what it said."""

    def as_in_front():
        # What runs in the background may be deaf to an interrupt.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, hangup)

    with subprocess.Popen(
        arguments or command("check", broker, "--only", "H14"),
        env=environment(),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_in_front,
    ) as process:
        # A member has come: the rule runs, and goes on for many seconds.
        while not groups(broker):
            assert process.poll() is None
            time.sleep(0.1)
        for number in signals:
            process.send_signal(number)
        out, err = process.communicate(timeout=GIVE_UP)
    assert groups(broker) == []
    return process.returncode, out, without_progress(err)


STOPPED = "kcoord: stopped; what was made at the broker was removed\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal(broker, number):
    assert signalled(broker, number) == (128 + number, "", STOPPED)


def test_more_signals_change_nothing(broker):
    status, out, err = signalled(broker, signal.SIGTERM, signal.SIGINT, signal.SIGTERM)
    assert status in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert (out, err) == ("", STOPPED)


def test_who_was_told_to_outlive_its_terminal_does(broker):
    ended = signalled(broker, signal.SIGHUP, signal.SIGTERM, hangup=signal.SIG_IGN)
    assert ended == (128 + signal.SIGTERM, "", STOPPED)


def pytest_on(broker, *arguments):
    return [sys.executable, "-m", "pytest", "--pyargs", "kcoord.check", "--bootstrap", broker, "-q", *arguments]


def pytest_at(broker, folder, *arguments):
    return subprocess.run(
        pytest_on(broker, *arguments),
        env=environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=GIVE_UP,
        check=False,
    )


def test_as_tests_of_pytest(broker, tmp_path):
    ended = pytest_at(broker, tmp_path, "-k", "H11 or H4")
    assert ended.returncode == 0, ended.stdout
    assert "3 passed" in ended.stdout


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, f"SIGTERM: {STOPPED[8:-1]}")]
)
def test_a_signal_to_pytest(broker, tmp_path, number, said):
    status, out, _ = signalled(broker, number, arguments=pytest_on(broker, "-k", "H14"), folder=tmp_path)
    assert (status, said in out) == (pytest.ExitCode.INTERRUPTED, True), out
    assert "error" not in out


def test_in_another_thread_no_signal_is_waited_for():
    async def run():
        await trio.lowlevel.checkpoint()
        return 7

    found = []
    thread = threading.Thread(target=lambda: found.append(trio.run(unless_a_signal, run)))
    thread.start()
    thread.join(GIVE_UP)
    assert found == [([7], [])]


needs_xdist = pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not there")


@needs_xdist
def test_as_tests_of_several_processes(tmp_path):
    with running("--listen", "127.0.0.1:0") as (process, host, port):
        ended = pytest_at(f"{host}:{port}", tmp_path, "-k", "H11 or H4", "-n", "2")
        process.terminate()
        _, log = process.communicate(timeout=GIVE_UP)
    assert ended.returncode == 0, ended.stdout
    assert "3 passed" in ended.stdout
    # One process has run them: what was made bears one prefix.
    assert len({line.split("kcoord-check-")[1][:8] for line in log.splitlines() if "kcoord-check-" in line}) == 1


@needs_xdist
def test_as_tests_of_several_processes_without_a_broker(tmp_path):
    ended = pytest_at("127.0.0.1:1", tmp_path, "-k", "H11 or H4", "-n", "2")
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "no rule could be run: the broker cannot be reached: " in ended.stdout
    assert "crashed" not in ended.stdout


def test_as_tests_of_pytest_without_a_broker(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "kcoord.check"],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=GIVE_UP,
        check=False,
    )
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "rules need a broker: --bootstrap HOST:PORT" in ended.stdout + ended.stderr
