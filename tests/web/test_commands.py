"""The command line: what it prints of a server in a thread, how it fails, and where a control may listen."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from kcoord.cli import main
from kcoord.config import Address, ConfigError
from kcoord.web.client import ControlClient
from kcoord.web.serving import ControlListener
from tests.server.client import GIVE_UP
from tests.server.test_command_line import command, environment, run, running
from tests.server.test_outputs import UNREAD, unread

OFFSET = {"topic": "t", "partition": 1, "offset": 5}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in tuple(os.environ):
        if name.startswith("KCOORD_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def url():
    """The control of a server in a process of its own."""
    with serving("--brokers=2", "--topic=t:3", "--control=127.0.0.1:0") as url:
        yield url


@contextmanager
def serving(*arguments, **env):
    """A server in a process of its own; gives the URL of its control."""
    with subprocess.Popen(
        command("serve", "--listen=127.0.0.1:0", "--log-level=error", *arguments),
        env=environment(**env),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline().startswith("kcoord is listening on 127.0.0.1:")
            yield controlled(process)
        finally:
            process.terminate()
            assert process.wait(GIVE_UP) == 0


def controlled(process):
    return re.fullmatch(r"kcoord is controlled at (http://127\.0\.0\.1:[0-9]+)\n", process.stdout.readline())[1]


@pytest.fixture
def client(url):
    client = ControlClient(url)
    yield client
    client.post("reset")


@pytest.fixture
def kcoord(url, capsys, monkeypatch):
    """Run a command; gives what it prints, its lines of errors and its status."""
    monkeypatch.setenv("KCOORD_CONTROL", url)

    def kcoord(*arguments):
        status = 0
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code
        out, err = capsys.readouterr()
        return out, err.splitlines(), status

    return kcoord


def test_clock(kcoord, client):
    before = client.get("clock")["wall_ms"]
    out, err, status = kcoord("clock", "advance", "3600", "--json")
    assert (err, status) == ([], 0)
    assert json.loads(out)["wall_ms"] >= before + 3_600_000
    assert kcoord("clock", "freeze")[0].endswith(", and stands still\n")
    assert kcoord("clock")[0] == kcoord("clock")[0]
    assert "stands still" not in kcoord("clock", "resume")[0]


def test_groups(kcoord, client):
    out, err, status = kcoord("groups", "set-offsets", "a/b c", "t:1=5", "t:2=7")
    assert (err, status) == ([], 0)
    assert out.startswith("a/b c: Empty, generation 0, coordinated by broker ")
    assert [line.split() for line in out.splitlines()[3:]] == [["t", "1", "5"], ["t", "2", "7"]]
    listed = kcoord("groups")[0].splitlines()
    assert listed[0].split() == ["GROUP", "STATE", "GENERATION", "PROTOCOL", "MEMBERS", "OFFSETS", "COORDINATOR"]
    assert listed[1].split()[:6] == ["a/b", "c", "Empty", "0", "0", "2"]
    assert json.loads(kcoord("groups", "show", "a/b c", "--json")[0]) == client.get("groups", "a/b c")
    assert "7" not in kcoord("groups", "set-offsets", "a/b c", "t:2=")[0]
    assert kcoord("groups", "wait", "a/b c", "--state", "Empty")[2] == 0
    assert kcoord("timeline")[0] == "a/b c\n"
    assert kcoord("groups", "delete", "a/b c") == ("", [], 0)
    assert client.get("groups") == []


def test_lines_are_as_long_as_they_are_where_the_output_is_no_terminal(kcoord, client):
    name = "long-" * 50
    client.ask("PUT", "groups", name, "offsets", body={"offsets": [OFFSET]})
    assert kcoord("groups")[0].splitlines()[1].startswith(f"{name} ")


@pytest.mark.parametrize("json", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        "groups",
        "groups show g",
        "groups move g",
        "timeline",
        "timeline g",
        "timeline g --findings",
        "faults",
        "faults add api=Heartbeat error=15",
        "brokers",
        "clock",
    ],
)
def test_an_answer_that_nobody_reads_any_more_is_one_sentence_and_status_2(
    kcoord, client, monkeypatch, arguments, json
):
    client.ask("PUT", "groups", "g", "offsets", body={"offsets": [OFFSET]})
    with unread(monkeypatch):
        assert kcoord(*arguments.split(), *json)[1:] == ([UNREAD.rstrip()], 2)


def test_a_wait_in_vain(kcoord, client):
    out, err, status = kcoord("groups", "wait", "g", "--members", "1", "--timeout", "0.1")
    assert (out, status) == ("", 1)
    assert err[0] == "kcoord: group g did not become of 1 member within 0.1 s: there is no such group."
    assert err[-1] == "Nothing happened to a group g."
    err = kcoord("groups", "wait", "g", "--synced", "--members", "1", "--timeout", "0.1")[1]
    assert err[0] == "kcoord: group g did not become of 1 member and synced within 0.1 s: there is no such group."


def test_a_timeline_is_a_story(kcoord, client):
    client.ask("PUT", "groups", "g", "offsets", body={"offsets": [OFFSET]})
    out, _, status = kcoord("timeline", "g")
    assert status == 0
    assert out.startswith("Group g: Empty\nFindings: none.\n")
    assert json.loads(kcoord("timeline", "g", "--json")[0])["group"] == "g"
    assert kcoord("timeline", "g", "--findings")[0] == "nothing\n"
    assert kcoord("timeline", "h") == ("", ["kcoord: nothing is known of a group h"], 1)


def test_faults(kcoord, client):
    out, err, status = kcoord("faults", "add", "api=Heartbeat", "error=27", "nth=2", "probability=0.5", "group=a=b")
    assert (err, status) == ([], 0)
    assert "REBALANCE_IN_PROGRESS is answered" in out
    (fault,) = client.get("faults")
    told = {"api": "Heartbeat", "error": 27, "nth": 2, "probability": 0.5, "group": "a=b"}
    assert fault["rule"].items() >= told.items()
    number = str(fault["number"])
    assert kcoord("faults", "release", number)[0] == "0 went on\n"
    assert number in kcoord("faults")[0].splitlines()[1]
    assert kcoord("faults", "remove", number)[2] == 0
    assert kcoord("faults", "remove", number) == ("", [f"kcoord: there is no fault {number}"], 1)
    client.post("faults", api="Heartbeat", delay=1)
    assert kcoord("faults", "clear") == ("", [], 0)
    assert client.get("faults") == []


def test_brokers(kcoord, client):
    client.ask("PUT", "groups", "g", "offsets", body={"offsets": [OFFSET]})
    (first,) = (each for each in client.get("brokers") if "g" in each["groups"])
    other = 3 - first["node_id"]
    assert kcoord("groups", "move", "g", "--to", str(other))[2] == 0
    assert client.post("groups", "g", "wait", state="Empty")["coordinator"] == other
    assert "stopped" in kcoord("brokers", "stop", str(other))[0]
    assert client.post("groups", "g", "wait", state="Empty")["coordinator"] == first["node_id"]
    assert "runs" in kcoord("brokers", "start", str(other))[0]
    assert kcoord("brokers", "stop", "7") == ("", ["kcoord: there is no broker 7: there are 1, 2"], 1)
    assert kcoord("groups", "load", "g", "1000") == ("", [], 0)
    assert "does not serve" in kcoord("groups", "show", "g")[1][0]
    assert [line.split()[0] for line in kcoord("brokers", "reset")[0].splitlines()[1:]] == ["1", "2"]


def test_topics(kcoord, client):
    assert [line.split() for line in kcoord("topics")[0].splitlines()] == [
        ["TOPIC", "PARTITIONS", "RECORDS", "SETTINGS"],
        ["t", "3", "0"],
    ]
    made = kcoord("topics", "create", "new", "--partitions", "2", "cleanup.policy=compact", "retention.ms=5")[0]
    assert made.splitlines()[1].split() == ["new", "2", "0", "cleanup.policy=compact,", "retention.ms=5"]
    assert [each["name"] for each in json.loads(kcoord("topics", "--json")[0])] == ["t", "new"]
    assert kcoord("topics", "create", "new") == ("", ["kcoord: topic new exists already"], 1)
    assert kcoord("topics", "delete", "new") == ("", [], 0)
    assert kcoord("topics", "delete", "new") == ("", ["kcoord: there is no topic new"], 1)


def test_reset(kcoord, client):
    client.ask("PUT", "groups", "g", "offsets", body={"offsets": [OFFSET]})
    client.post("topics", name="new")
    client.post("brokers", 2, "stop")
    client.post("faults", api="Heartbeat", error=27)
    assert kcoord("reset") == ("", [], 0)
    assert client.get("groups") == client.get("faults") == []
    assert [each["name"] for each in client.get("topics")] == ["t"]
    assert [each["running"] for each in client.get("brokers")] == [True, True]


@pytest.mark.parametrize(
    "arguments", [["rebalance", "g"], ["expire", "g", "m"], ["fence", "g", "i"], ["evict", "g", "m"]]
)
def test_what_is_done_to_a_group_that_is_not(kcoord, client, arguments):
    out, err, status = kcoord("groups", *arguments)
    assert (out, err, status) == ("", ["kcoord: there is no group g"], 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["faults", "add", "api"], "'api' is no part of a fault: it must be KEY=VALUE, with one of api, group"),
        (["faults", "add", "apis=x"], "'apis=x' is no part of a fault"),
        (["faults", "add", "api=x", "api=y"], "api is there twice"),
        (["faults", "add", "nth=x"], "nth is 'x': it must be a number"),
        (["topics", "create", "t2", "x"], "'x' is no setting: it must be KEY=VALUE, each once"),
        (["topics", "create", "t2", "=x"], "'=x' is no setting"),
        (["topics", "create", "t2", "retention.ms=1", "retention.ms=1"], "'retention.ms=1' is no setting"),
        (["topics", "create", "t2", "--partitions=x"], "Invalid value for --partitions"),
        (["reset", "t"], "kcoord reset does not know what to do with 't'"),
        (["groups", "set-offsets", "g"], "which offsets? Give TOPIC:PARTITION=OFFSET"),
        (["groups", "set-offsets", "g", "t=5"], "'t=5' is no offset: it must be TOPIC:PARTITION=OFFSET"),
        (["groups", "set-offsets", "g", "t:0=x"], "'t:0=x' is no offset"),
        (["clock", "advance", "x"], "Invalid value for SECONDS"),
        (["clock", "--control", ""], "'' is no address of a control: it must be http://HOST:PORT"),
        (["clock", "--control-token", ""], "the control's token must be of ASCII characters that can be printed"),
        (["clock", "--control-token", "a b"], "the control's token must be of ASCII characters that can be printed"),
        (["clock", "--control-token", "ä"], "the control's token must be of ASCII characters that can be printed"),
        (["clock", "--control", "http://"], "'http://' is no address of a control: it must be http://HOST:PORT"),
        (["clock", "--control", "ftp://x"], "'ftp://x' is no address of a control"),
        (["clock", "--control", "http://x:y"], "'http://x:y' is no address of a control"),
    ],
)
def test_misuse(kcoord, arguments, sentence):
    out, err, status = kcoord(*arguments)
    assert (out, len(err), status) == ("", 1, 2)
    assert err[0].startswith(f"kcoord: {sentence}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        *(
            (["clock", "advance", each], "the clock only moves forward, by")
            for each in ("-1", "nan", "inf", "-inf", "1e999")
        ),
        (["clock", "advance", "1e300"], "the clock is moved by 31622400 s (366 days) at once at most, not 1e+300"),
        *(
            (["groups", "load", "g", each], f"loading is {each}: it must be a number")
            for each in ("-1.0", "nan", "inf")
        ),
        (["groups", "load", "g", "1e300"], "loading is 1e+300: it must be at most 31622400 s (366 days)"),
        (["groups", "move", "g", "--loading=nan"], "loading is nan: it must be a number of seconds from 0"),
        (["groups", "move", "g", "--to=-1"], "a broker's id is -1: it must be a whole number from 0"),
        (["groups", "move", "g", f"--to={'9' * 40}"], "a broker's id is a number of more than 30 digits"),
        (["groups", "wait", "g"], "nothing to wait for was named"),
        (["groups", "wait", "g", "--members=1", "--timeout=nan"], "timeout is nan: it must be a number of seconds"),
        (["groups", "wait", "g", "--members=1", "--timeout=inf"], "timeout is inf: it must be a number of seconds"),
        (["groups", "wait", "g", "--members=1", "--timeout=1e300"], "timeout is 1e+300: it must be at most"),
        (["groups", "wait", "g", "--members=-1"], "members is -1: it must be a whole number from 0"),
        (["groups", "wait", "g", "--state=stable"], "no group is ever in the state 'stable': the states are"),
        (["groups", "wait", "g", "--state=Empty", "--members=1"], "no group that is Empty has members"),
        (["groups", "wait", "g", "--state=Stable", "--members=0"], "no group that is Stable is without members"),
        (["groups", "wait", "g", "--state=Dead", "--generation=0"], "a group that is Dead has no generation"),
        (["groups", "show", ""], "a group's id is a text that is not empty, not ''"),
        (["groups", "delete", ""], "a group's id is a text that is not empty, not ''"),
        (["groups", "expire", "g", ""], "a member is a text that is not empty, not ''"),
        (["groups", "set-offsets", "g", ":0=1"], ""),
        (["timeline", ""], "a group's id is a text that is not empty, not ''"),
        (["timeline", "", "--findings"], "a group's id is a text that is not empty, not ''"),
        (["faults", "remove", "-1"], "fault is '-1': it must be a whole number from 0"),
        (["faults", "release", "-1"], "fault is '-1': it must be a whole number from 0"),
        (["faults", "add", "error=27", "delay=nan"], "delay must be a number from 0, not nan"),
        (["faults", "add", "error=27", "seconds=1e999"], "seconds must be a number from 0, not inf"),
        (["faults", "add", "error=27", "late=1e300"], "late must be a number from 0 to 31622400, not 1e+300"),
        (["faults", "add", "error=27", "nth=0"], "nth must be a number from 1, not 0"),
        (
            ["faults", "add", "error=27", f"nth={'9' * 40}"],
            "nth must be a number from 1 to 2147483647, not a number of",
        ),
        (["topics", "create", "a b"], "'a b' cannot name a topic"),
        (["topics", "create", ""], "a topic's name is a text that is not empty, not ''"),
        (["topics", "create", "t2", "--partitions=0"], "topic t2 cannot have 0 partitions"),
        (["topics", "create", "t2", "cleanup.policy=x"], "cleanup.policy is 'x': it must be a list of compact and"),
        (["topics", "create", "t2", "x=1"], "'x' is not a setting of topics, in Kafka or here"),
        (["topics", "delete", ""], "a topic's name is a text that is not empty, not ''"),
        (["brokers", "stop", "-1"], "broker is '-1': it must be a whole number from 0"),
        (["brokers", "start", "9" * 40], f"broker is '{'9' * 40}': it must be a whole number from 0"),
    ],
)
def test_what_cannot_be(kcoord, client, arguments, sentence):
    out, err, status = kcoord(*arguments)
    assert (out, len(err)) == ("", 1)
    assert status == (1 if sentence else 2)
    assert err[0].startswith(f"kcoord: {sentence}")
    assert "Traceback" not in err[0]


def test_without_an_address(kcoord, monkeypatch):
    monkeypatch.delenv("KCOORD_CONTROL")
    sentence = "kcoord: which server? Give --control, or KCOORD_CONTROL in the environment: http://HOST:PORT"
    assert kcoord("groups") == ("", [sentence], 2)


def test_nobody_there(kcoord):
    out, err, status = kcoord("groups", "--control", "127.0.0.1:1")
    assert (out, err, status) == ("", ["kcoord: the control at 127.0.0.1:1 cannot be reached: Connection refused"], 1)


def test_somebody_else_there(kcoord):
    with running("--listen=127.0.0.1:0") as (_, host, port):
        out, err, status = kcoord("groups", "--control", f"http://{host}:{port}")
    assert (out, len(err), status) == ("", 1, 1)


def test_a_token(url):
    with serving("--control=0.0.0.0:0", KCOORD_CONTROL_TOKEN="sesame") as where:
        done = run("groups", "--control", where)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "kcoord: this control needs its token, as Authorization: Bearer TOKEN\n"
        assert run("groups", "--json", KCOORD_CONTROL=where, KCOORD_CONTROL_TOKEN="sesame").stdout == "[]\n"
        assert run("groups", "--control", where, "--control-token", "sesame").returncode == 0
    assert "KCOORD_CONTROL" not in environment()


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com"])
def test_who_others_can_reach_needs_a_token(host):
    with pytest.raises(ConfigError, match="which others can reach: that needs a token"):
        ControlListener(Address(host, 0))
    ControlListener(Address(host, 0), "sesame")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_needs_none(host):
    ControlListener(Address(host, 0))


@pytest.mark.parametrize("token", ["", " ", "a b", "ä", "a\n"])
def test_tokens_that_no_header_can_have(token):
    with pytest.raises(ConfigError, match="the control's token must be of ASCII characters"):
        ControlListener(Address("127.0.0.1", 0), token)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--control", "nowhere"], "--control is 'nowhere': it must be HOST:PORT, or [IPV6]:PORT"),
        (["--control", "0.0.0.0:0"], "--control is '0.0.0.0:0', which others can reach: that needs a token"),
        (["--control-token", "x"], "--control-token means nothing without --control"),
        (["--control", "127.0.0.1:0", "--control-token", "a b"], "the control's token must be"),
        (["--control", "127.0.0.1:0", "--control-token", ""], "the control's token must be"),
        (["--control", ""], "--control is '': it must be HOST:PORT"),
    ],
)
def test_serve_refuses(kcoord, arguments, sentence):
    out, err, status = kcoord("serve", "--listen", "127.0.0.1:0", *arguments)
    assert (out, len(err), status) == ("", 1, 2)
    assert err[0].startswith(f"kcoord: {sentence}")


def test_without_the_extra(kcoord, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    _, err, status = kcoord("serve", "--control", "127.0.0.1:0")
    sentence = "control over HTTP needs starlette, which is not installed; kcoord[web] has it"
    assert (err, status) == ([f"kcoord: {sentence}"], 2)


def test_an_address_that_is_taken(url):
    done = run("serve", "--listen=127.0.0.1:0", f"--control={url.removeprefix('http://')}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"kcoord: cannot listen on {url.removeprefix('http://')}: Address already in use"
    )
    assert not done.stdout


def test_an_empty_token_is_not_passed_over_for_that_of_the_environment(kcoord, monkeypatch):
    monkeypatch.setenv("KCOORD_CONTROL_TOKEN", "sesame")
    for arguments in (["clock"], ["serve", "--listen=127.0.0.1:0", "--control=127.0.0.1:0"]):
        _, err, status = kcoord(*arguments, "--control-token", "")
        assert (len(err), status) == (1, 2)
        assert err[0].startswith("kcoord: the control's token must be")


def test_an_empty_variable_is_none_on_loopback(kcoord):
    with serving("--control=127.0.0.1:0", KCOORD_CONTROL_TOKEN="") as where:
        assert run("groups", "--json", KCOORD_CONTROL=where, KCOORD_CONTROL_TOKEN="").stdout == "[]\n"


def test_an_empty_variable_is_none(kcoord):
    done = run("serve", "--listen=127.0.0.1:0", "--control=0.0.0.0:0", KCOORD_CONTROL_TOKEN="")
    assert done.returncode == 2
    assert "needs a token" in done.stderr
