"""Settings: Kafka's names and defaults, and errors in one sentence."""

from dataclasses import fields

import pytest

from kcoord.config import SETTINGS, Address, Config, ConfigError, Listener
from kcoord.core.settings import GroupSettings

FORM = "it must be HOST:PORT, or [IPV6]:PORT, with a port of at most 65535"
PLAIN = "only plaintext connections are served, so no listener can be called"

DEFAULTS = {
    "node.id": 1,
    "broker.rack": None,
    "num.partitions": 1,
    "auto.create.topics.enable": True,
    "socket.request.max.bytes": 104857600,
    "connections.max.idle.ms": 600000,
    "max.connections": 2147483647,
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1800000,
    "group.max.size": 2147483647,
    "group.initial.rebalance.delay.ms": 3000,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.minutes": 10080,
    "offsets.retention.check.interval.ms": 600000,
    "offsets.topic.num.partitions": 50,
    "offsets.commit.timeout.ms": 5000,
}


def test_defaults_are_kafkas():
    config = Config.from_settings({})
    for key, value in DEFAULTS.items():
        assert SETTINGS[key].default == value
        assert getattr(config, SETTINGS[key].attribute) == value
    assert config == Config()
    assert config.group_settings == GroupSettings()


def test_every_setting_says_what_it_means():
    assert {setting.attribute for setting in SETTINGS.values()} == {
        each.name for each in fields(Config) if each.name != "topics"
    }
    for key, setting in SETTINGS.items():
        assert setting.doc.endswith(".")
        assert setting.type_name in {"int", "boolean", "string", "list"}
        assert key == key.lower()


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("group.max.size", "5", 5),
        ("group.max.size", " 5 ", 5),
        ("group.max.size", 5, 5),
        ("auto.create.topics.enable", "FALSE", False),
        ("auto.create.topics.enable", True, True),
        ("connections.max.idle.ms", "-1", -1),
        ("broker.id", "7", 7),
        ("node.id", "0", 0),
        ("cluster.id", "abc_-D", "abc_-D"),
        ("listeners", "localhost:1", (Listener("PLAINTEXT", Address("localhost", 1)),)),
        ("listeners", "PLAINTEXT://:9092", (Listener("PLAINTEXT", Address("", 9092)),)),
        (
            "listeners",
            "in://[::1]:1, OUT://0.0.0.0:2",
            (Listener("IN", Address("::1", 1)), Listener("OUT", Address("0.0.0.0", 2))),
        ),
        ("listeners", ["A://h:1", "B://h:2"], (Listener("A", Address("h", 1)), Listener("B", Address("h", 2)))),
    ],
)
def test_what_can_be_set(key, given, value):
    assert getattr(Config.from_settings({key: given}), SETTINGS[key].attribute) == value


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"group.max.sized": "1"}, "group.max.sized is not a setting that kcoord knows"),
        ({"topics": "1"}, "topics is not a setting that kcoord knows"),
        ({"group.max.size": "0"}, "group.max.size is '0': it must be from 1 to 2147483647"),
        ({"group.max.size": "2147483648"}, "group.max.size is '2147483648': it must be from 1 to 2147483647"),
        ({"group.max.size": "many"}, "group.max.size is 'many': it must be a whole number"),
        ({"group.max.size": "1_0"}, "group.max.size is '1_0': it must be a whole number"),
        ({"group.max.size": ""}, "group.max.size is '': it must be a whole number"),
        ({"group.max.size": "9" * 5000}, "group.max.size is '9{5000}': it must be a whole number"),
        ({"group.max.size": 1.5}, "group.max.size is 1.5: it must be a single value"),
        ({"group.max.size": {"a": 1}}, "group.max.size is {'a': 1}: it must be a single value"),
        ({"group.max.size": True}, "group.max.size is 'true': it must be a whole number"),
        ({"auto.create.topics.enable": "yes"}, "auto.create.topics.enable is 'yes': it must be true or false"),
        ({"cluster.id": "a b"}, "cluster.id is 'a b': it must be of the form [A-Za-z0-9_-]{1,64}"),
        ({"node.id": "-1"}, "node.id is '-1': it must be from 0 to 2147483647"),
        ({"node.id": "1", "broker.id": "1"}, "broker.id and node.id are the same setting"),
        ({"listeners": "9092"}, f"listeners is '9092': {FORM}"),
        ({"listeners": "::1:9092"}, f"listeners is '::1:9092': {FORM}"),
        ({"listeners": "h:65536"}, f"listeners is 'h:65536': {FORM}"),
        ({"listeners": "SSL://h:1"}, f"listeners is 'SSL://h:1': {PLAIN} SSL"),
        (
            {"listeners": "A://h:1,A://h:2"},
            "listeners is 'A://h:1,A://h:2': each listener needs a name of its own, A comes twice",
        ),
        (
            {"listeners": "A://h:1", "advertised.listeners": "B://h:1"},
            "advertised.listeners has B://h:1, but listeners has no listener B",
        ),
        (
            {"advertised.listeners": "[::]:9092"},
            "advertised.listeners has PLAINTEXT://[::]:9092: clients need a host that they can connect to",
        ),
        (
            {"group.min.session.timeout.ms": "9", "group.max.session.timeout.ms": "8"},
            "group.min.session.timeout.ms is 9: it must not be above group.max.session.timeout.ms, which is 8",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(settings, sentence):
    with pytest.raises(ConfigError) as caught:
        Config.from_settings(settings)
    assert str(caught.value) == sentence.replace("9{5000}", "9" * 5000)
    assert "\n" not in str(caught.value)


def test_topics():
    assert Config.from_settings({}, {"a": "3", "b.c": 1}).topics == {"a": 3, "b.c": 1}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *[("a", count) for count in ("0", "x", -1, True, 1.5, "100001", "")],
        *[(name, "1") for name in ("a b", "", "..", "__consumer_offsets")],
    ],
)
def test_topics_that_cannot_be(name, count):
    with pytest.raises(ConfigError):
        Config.from_settings({}, {name: count})
