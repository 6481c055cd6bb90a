"""Flags, environment and files that contradict themselves or each other, or hold what no setting can be."""

import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcoord.commands import from_environment, read_file
from kcoord.config import SETTINGS, ConfigError
from tests.server.client import GIVE_UP
from tests.server.test_command_line import fails
from tests.server.test_outputs import environment

__all__ = ["fails"]

ALLOWED = "1 to 249 of a-z A-Z 0-9 . _ - are allowed, but not . or .."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--topic", "a:1", "--topic", "a:2"], "--topic asks for 1 partitions of a, and for 2"),
        (
            ["--topic", "a.b:1", "--topic", "a_b:1"],
            "topic a_b would collide with topic a.b: they differ only in . and _",
        ),
        (["--topic", "__cluster_metadata:1"], "topic __cluster_metadata is internal and cannot be asked for"),
        (["--topic", " :1"], "--topic is ' :1': it must be NAME:PARTITIONS"),
        (["--topic", "t:1_0"], "topic t has '1_0' partitions: it must be a number from 1 to 100000"),
        (["--mask", "OffsetCommit=99"], "mask has OffsetCommit=99: versions 2-10 of OffsetCommit are served"),
        (["--mask", "Fetch=6-2"], "mask is 'Fetch=6-2': of Fetch there can be no versions from 6 to 2"),
        (
            ["--as-version", "2.8", "--mask", "JoinGroup=8"],
            "mask has JoinGroup=8: versions 0-7 of JoinGroup of Kafka 2.8 are served",
        ),
        (["--override", "mask=JoinGroup=10"], "mask has JoinGroup=10: versions 0-9 of JoinGroup are served"),
        (["--topic", "\udcff:1"], f"'\\udcff' cannot name a topic: {ALLOWED}"),
        (["--override", "\udcff\x1b=1"], "\\udcff\\x1b is not a setting that kcoord knows"),
        (["--override", "broker.rack=\udcff"], "broker.rack is '\\udcff': it must be text that can be printed"),
        (["--override", "store=x://["], "store is 'x://[': it must be a URL"),
        (["--override", "store=x\udcff:"], "store is 'x\\udcff:': it must be text that can be printed"),
        (
            ["--listen", "h:1", "--override", "listeners=h:2"],
            "--listen is 'h:1', but --override says that listeners is 'h:2'",
        ),
        (
            ["--advertise", "h:1", "--override", "advertised.listeners=h:2"],
            "--advertise is 'h:1', but --override says that advertised.listeners is 'h:2'",
        ),
        (["--override", "node.id=1", "--override", "broker.id=2"], "broker.id and node.id are the same setting"),
        (["--config", "a\0b"], "a\\x00b is not TOML: embedded null byte"),
        (["--config", "\udcff\n"], "cannot read \\udcff\\n: No such file or directory"),
        (["--config", ""], "cannot read .: Is a directory"),
    ],
)  # fmt: skip
def test_flags_that_cannot_be(fails, arguments, sentence):
    assert fails("serve", *arguments) == f"kcoord: {sentence}\n"


def test_what_the_command_line_does_not_know_is_shown_without_its_tricks(fails):
    assert fails("serve", "--\x1b[2J").isprintable() is False  # The end of the line alone is not.
    assert "\x1b" not in fails("serve", "--\x1b[2J")


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "ü", "h\0"])
def test_hosts_that_no_resolver_takes(fails, host):
    assert "listeners is" in fails("serve", "--listen", f"{host}:0")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("listeners = []", "listeners is '': there must be at least one"),
        ('broker.rack = "a\\u0000b"', "broker.rack is 'a\\x00b': it must be text"),
        ('"a\\nb" = 1', "a\\nb is not a setting"),
        ("group.max.size = 0x" + "f" * 5000, "group.max.size is 0xffff"),
        ("group.max.size = " + "9" * 5000, "is not TOML"),
        ("group.max.size = 2020-02-30", "is not TOML"),
        ("group.max.size = 2020-02-02", "group.max.size is a date: it must be a single value"),
        ("group.max.size = nan", "group.max.size is nan: it must be a whole number"),
        ("group.max.size = [5]", "group.max.size is a list: it must be a single value"),
        ("as.version = 2.8", "as.version is 2.8: it must be a text in quotes"),
        ('mask = "OffsetCommit=99"', "mask has OffsetCommit=99: versions 2-10 of OffsetCommit are served"),
        ('mask = ["OffsetCommit=0-6", "Joingroup=1"]', "Joingroup is no API that is served"),
        ("mask = 6", "mask is '6': it must be of the form"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ('"group.max.size" = 1\n[group.max]\nsize = 2', "has group.max.size twice"),
        ('[topics]\n"a.b" = 1\n[topics.a]\nb = 2', "has a.b twice"),
        ("[topics]\n__cluster_metadata = 1", "topic __cluster_metadata is internal"),
        ('[topics]\na_b = 1\n"a.b" = 1', "topic a.b would collide with topic a_b"),
        ("[topics]\na = [1]", "topic a has a list partitions"),
    ],
)
def test_files_that_cannot_be(fails, tmp_path, text, words):
    path = tmp_path / "kcoord.toml"
    path.write_text(text)
    sentence = fails("serve", "--config", str(path))
    assert words in sentence
    assert len(sentence) < 1000


@given(st.binary() | st.text(st.sampled_from("a.b=[]{}\"'\n 019-:T#,\\u")).map(str.encode))
def test_a_file_is_read_or_refused_in_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    refused = ""
    try:
        settings, topics = read_file(path)
        assert all(isinstance(key, str) for key in (*settings, *topics))
    except ConfigError as error:
        refused = str(error)
    assert refused.isprintable()


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_has_its_name_in_the_environment(key):
    assert from_environment({"KCOORD_" + key.upper().replace(".", "_"): "x", "PATH": "y"}) == {key: "x"}


def test_what_kubernetes_says_of_a_service_called_kcoord_is_not_meant_for_the_server():
    assert from_environment({
        "KCOORD_SERVICE_HOST": "10.0.0.1", "KCOORD_SERVICE_PORT": "9092", "KCOORD_SERVICE_PORT_KAFKA_PLAIN": "9092",
        "KCOORD_PORT": "tcp://10.0.0.1:9092", "KCOORD_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "KCOORD_PORT_9092_TCP_PROTO": "tcp", "KCOORD_PORT_9092_TCP_PORT": "9092",
        "KCOORD_PORT_9092_TCP_ADDR": "10.0.0.1",
        "KCOORD_PORT_53_UDP_ADDR": "10.0.0.1", "KCOORD_PORT_53_SCTP": "sctp://10.0.0.1:53",
        "KCOORD_NUM_PARTITIONS": "3",
    }) == {"num.partitions": "3"}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "KCOORD_PORTS", "KCOORD_PORT_TCP", "KCOORD_PORT_9092", "KCOORD_PORT_9092_TLS", "KCOORD_PORT_9092_TCP_HOST",
        "KCOORD_SERVICE", "KCOORD_SERVICE_HOSTS", "KCOORD_SERVICE_PORT_", "KCOORD_service_host", "KCOORD_NODE.ID",
        "KCOORD_GROUP_MAX\nSIZE", "KCOORD_\udcff",
    ],
)  # fmt: skip
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match="is not a setting that kcoord knows") as caught:
        from_environment({name: "1"})
    assert str(caught.value).isprintable()


def test_bytes_that_are_no_text():
    done = subprocess.run(
        [sys.executable, "-m", "kcoord", "serve", "--override", b"broker.rack=\xff"],
        env=environment(), capture_output=True, timeout=GIVE_UP, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == rb"kcoord: broker.rack is '\udcff': it must be text that can be printed" + b"\n"


def test_a_topic_may_be_asked_for_twice_in_the_same_way():
    arguments = ["serve", "--listen", "127.0.0.1:0", "--topic", "a:1", "--topic", "a:1"]
    with subprocess.Popen(
        [sys.executable, "-m", "kcoord", *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=GIVE_UP)
    assert process.returncode == 0
