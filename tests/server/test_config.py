"""Settings: Kafka's names and defaults, and errors in one sentence."""

from dataclasses import fields
from datetime import date

import pytest

from kcoord.config import INT32_MAX, SETTINGS, Address, Config, ConfigError, Listener
from kcoord.core.settings import GroupSettings
from kcoord.log.topic_config import TopicConfig

FORM = "it must be HOST:PORT, or [IPV6]:PORT, with a port of at most 65535"
HOST = "a host has at most 253 characters, and 1 to 63 of them between two dots"
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
    "delete.topic.enable": True,
    "compression.type": "producer",
    "log.cleanup.policy": ("delete",),
    "log.retention.ms": None,
    "log.retention.minutes": None,
    "log.retention.hours": 168,
    "log.retention.bytes": -1,
    "log.retention.check.interval.ms": 300000,
    "log.cleaner.delete.retention.ms": 86400000,
    "message.max.bytes": 1048588,
    "log.message.timestamp.type": "CreateTime",
    "log.message.timestamp.before.max.ms": 9223372036854775807,
    "log.message.timestamp.after.max.ms": 3600000,
    "min.insync.replicas": 1,
}


def test_defaults_are_kafkas():
    config = Config.from_settings({})
    for key, value in DEFAULTS.items():
        assert SETTINGS[key].default == value
        assert getattr(config, SETTINGS[key].attribute) == value
    assert config == Config()
    assert config.group_settings == GroupSettings()
    assert config.topic_config == TopicConfig()
    assert config.memory_limit == 2**30


def test_every_setting_says_what_it_means():
    assert {setting.attribute for setting in SETTINGS.values()} == {
        each.name for each in fields(Config) if each.name not in {"topics", "given"}
    }
    for key, setting in SETTINGS.items():
        assert setting.doc.endswith(".")
        assert setting.type_name in {"int", "long", "boolean", "string", "list"}
        assert key == key.lower()


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("group.max.size", "5", 5),
        ("group.max.size", " 5 ", 5),
        ("group.max.size", "\t5\r\n\0", 5),
        ("group.max.size", "+5", 5),
        ("group.max.size", "005", 5),
        ("num.partitions", "100000", 100_000),
        ("offsets.topic.num.partitions", "10000", 10_000),
        ("broker.rack", " eu-1 a ", "eu-1 a"),
        ("broker.rack", "", ""),
        ("broker.rack", "ü" * 16383, "ü" * 16383),
        ("advertised.listeners", "", ()),
        ("advertised.listeners", [], ()),
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
        ("listeners", "A://h:0,B://h:0", (Listener("A", Address("h", 0)), Listener("B", Address("h", 0)))),
        ("listeners", "A://h:1,B://i:1", (Listener("A", Address("h", 1)), Listener("B", Address("i", 1)))),
        ("listeners", "[::FFFF:1.2.3.4]:1", (Listener("PLAINTEXT", Address("::ffff:102:304", 1)),)),
        ("listeners", "[FE80::0:1%eth0]:1", (Listener("PLAINTEXT", Address("fe80::1%eth0", 1)),)),
        ("listeners", "a_b.example.:00080", (Listener("PLAINTEXT", Address("a_b.example.", 80)),)),
        ("log.cleanup.policy", "compact, delete", ("compact", "delete")),
        ("log.cleanup.policy", "delete,delete", ("delete",)),
        ("log.cleanup.policy", "", ()),
        ("log.cleanup.policy", ["compact"], ("compact",)),
        ("log.message.timestamp.type", "LogAppendTime", "LogAppendTime"),
        ("log.retention.bytes", "-9223372036854775808", -(2**63)),
        ("memory.limit.bytes", "-1", -1),
        ("listeners", f"{'a' * 63}.x:1", (Listener("PLAINTEXT", Address("a" * 63 + ".x", 1)),)),
    ],
)
def test_what_can_be_set(key, given, value):
    assert getattr(Config.from_settings({key: given}), SETTINGS[key].attribute) == value


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"group.max.sized": "1"}, "group.max.sized is not a setting that kcoord knows"),
        ({"given": "1"}, "given is not a setting that kcoord knows"),
        ({"log.retention.hours": "0"}, "log.retention.hours is 0: it must be at least 1, or -1 for no limit"),
        ({"log.retention.minutes": "0"}, "log.retention.minutes is 0: it must be at least 1, or -1 for no limit"),
        (
            {"log.retention.ms": "0", "log.retention.hours": "3"},
            "log.retention.ms is 0: it must be at least 1, or -1 for no limit",
        ),
        ({"message.max.bytes": "-1"}, "message.max.bytes is '-1': it must be from 0 to 2147483647"),
        ({"min.insync.replicas": "0"}, "min.insync.replicas is '0': it must be from 1 to 2147483647"),
        (
            {"log.retention.ms": "9223372036854775808"},
            "log.retention.ms is '9223372036854775808': it must be from -9223372036854775808 to 9223372036854775807",
        ),
        (
            {"log.cleanup.policy": "delete,"},
            "log.cleanup.policy is 'delete,': it must be a list of compact and delete, or empty",
        ),
        (
            {"log.message.timestamp.type": "createtime"},
            "log.message.timestamp.type is 'createtime': it must be CreateTime or LogAppendTime",
        ),
        (
            {"compression.type": "zstd"},
            "compression.type is 'zstd': only producer is honoured, because batches are kept as they were sent",
        ),
        ({"topics": "1"}, "topics is not a setting that kcoord knows"),
        ({"group.max.size": "0"}, "group.max.size is '0': it must be from 1 to 2147483647"),
        ({"group.max.size": "2147483648"}, "group.max.size is '2147483648': it must be from 1 to 2147483647"),
        ({"group.max.size": "many"}, "group.max.size is 'many': it must be a whole number"),
        ({"group.max.size": "1_0"}, "group.max.size is '1_0': it must be a whole number"),
        ({"group.max.size": ""}, "group.max.size is '': it must be a whole number"),
        (
            {"group.max.size": "9" * 5000},
            f"group.max.size is '{'9' * 199}... (5002 characters): it must be a whole number",
        ),
        *[
            ({"group.max.size": text}, f"group.max.size is {shown}: it must be a whole number")
            for text, shown in (
                ("1_000", "'1_000'"),
                ("٣", "'٣'"),
                ("5\N{NO-BREAK SPACE}", r"'5\xa0'"),
                ("+ 5", "'+ 5'"),
                ("0x5", "'0x5'"),
                ("5.0", "'5.0'"),
                ("--5", "'--5'"),
                ("5\0 5", r"'5\x00 5'"),
                ("5\n\n5", r"'5\n\n5'"),
                ("\udcff", r"'\udcff'"),
            )
        ],
        ({"group.max.size": 1.5}, "group.max.size is 1.5: it must be a whole number"),
        ({"group.max.size": {"a": 1}}, "group.max.size is a table: it must be a single value"),
        ({"group.max.size": ["5"]}, "group.max.size is a list: it must be a single value"),
        ({"group.max.size": date(2020, 2, 2)}, "group.max.size is a date: it must be a single value"),
        (
            {"group.max.size": 10**5000},
            f"group.max.size is {f'{10**5000:#x}'[:200]}... (4155 characters): it must be from 1 to 2147483647",
        ),
        ({"num.partitions": "100001"}, "num.partitions is '100001': it must be from 1 to 100000"),
        (
            {"offsets.topic.num.partitions": 10001},
            "offsets.topic.num.partitions is '10001': it must be from 1 to 10000",
        ),
        ({"broker.rack": "\udcff"}, r"broker.rack is '\udcff': it must be text that can be printed"),
        ({"broker.rack": "a\0b"}, r"broker.rack is 'a\x00b': it must be text that can be printed"),
        (
            {"broker.rack": "ü" * 16384},
            f"broker.rack is '{'ü' * 199}... (16386 characters): it must have at most 32767 bytes as UTF-8",
        ),
        ({"store": "x://["}, "store is 'x://[': it must be a URL"),
        ({"store": "mem\x1bory:"}, r"store is 'mem\x1bory:': it must be text that can be printed"),
        ({"cluster.id": "a" * 65}, f"cluster.id is '{'a' * 65}': it must be of the form [A-Za-z0-9_-]{{1,64}}"),
        ({"a\nb\x1b\udcff": "1"}, r"a\nb\x1b\udcff is not a setting that kcoord knows"),
        ({"group.max.size": True}, "group.max.size is 'true': it must be a whole number"),
        ({"auto.create.topics.enable": "yes"}, "auto.create.topics.enable is 'yes': it must be true or false"),
        ({"cluster.id": "a b"}, "cluster.id is 'a b': it must be of the form [A-Za-z0-9_-]{1,64}"),
        ({"node.id": "-1"}, "node.id is '-1': it must be from 0 to 2147483647"),
        ({"node.id": "1", "broker.id": "1"}, "broker.id and node.id are the same setting"),
        ({"listeners": "9092"}, f"listeners is '9092': {FORM}"),
        ({"listeners": "::1:9092"}, f"listeners is '::1:9092': {FORM}"),
        ({"listeners": "h:65536"}, f"listeners is 'h:65536': {FORM}"),
        ({"listeners": []}, "listeners is '': there must be at least one"),
        ({"listeners": " "}, "listeners is '': there must be at least one"),
        ({"listeners": [1]}, "listeners is a list: it must be a single value"),
        *[
            ({"listeners": text}, f"listeners is {text!r}: {FORM}")
            for text in (
                "A://h:1,",
                "h:-1",
                "h:",
                "h:123456",
                "h:٣",
                "h h:1",
                "é:1",
                "a\0b:1",
                "[h]:1",
                "[]:1",
                "[::1%]:1",
                "a%b:1",
            )
        ],
        *[({"listeners": f"{host}:1"}, f"listeners is '{host}:1': {HOST}") for host in ("a..b", ".", ".a", "a" * 64)],
        *[
            (
                {"listeners": f"{host}:1"},
                f"listeners is '{host}:1': {host.strip('[]')} is no IP address, but looks like one",
            )
            for host in (
                "0",
                "127.1",
                "1.2.3.256",
                "0x7f000001",
                "a.0x",
                "1.2.3.4.",
                "01.2.3.4",
                "[1]",
                "[:::]",
                "[1.2.3.4]",
            )
        ],
        (
            {"listeners": f"{'a.' * 127}:1"},
            f"listeners is '{'a.' * 99}a... (258 characters): {HOST}",
        ),
        (
            {"listeners": "A://h:1,B://h:1"},
            "listeners has A://h:1 and B://h:1: they would have the same address",
        ),
        ({"advertised.listeners": "a..b:1"}, f"advertised.listeners is 'a..b:1': {HOST}"),
        (
            {"advertised.listeners": "[0:0::0]:1"},
            "advertised.listeners has PLAINTEXT://[::]:1: clients need a host that they can connect to",
        ),
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
    assert str(caught.value) == sentence
    assert sentence.isprintable()


@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-7"}, -1),
        ({"log.retention.minutes": "-1"}, -1),
        ({"log.retention.ms": "-1", "log.retention.hours": "2"}, -1),
        ({"log.retention.ms": "5", "log.retention.hours": "0"}, 5),
        ({"log.retention.hours": "2147483647"}, 7_730_941_129_200_000),
    ],
)
def test_the_finest_unit_of_the_retention_counts(settings, retention_ms):
    config = Config.from_settings(settings)
    assert config.retention_ms == config.topic_config.retention_ms == retention_ms


def test_what_topics_have_that_do_not_say_otherwise():
    given = {
        "log.cleanup.policy": "compact",
        "log.retention.ms": "1",
        "log.retention.bytes": "-5",
        "message.max.bytes": "3",
        "log.message.timestamp.type": "LogAppendTime",
        "log.message.timestamp.before.max.ms": "4",
        "log.message.timestamp.after.max.ms": "5",
        "min.insync.replicas": "6",
        "log.cleaner.delete.retention.ms": "7",
    }
    assert Config.from_settings(given).topic_config == TopicConfig(
        cleanup_policy=frozenset({"compact"}),
        retention_ms=1,
        retention_bytes=-1,
        max_message_bytes=3,
        message_timestamp_type="LogAppendTime",
        message_timestamp_before_max_ms=4,
        message_timestamp_after_max_ms=5,
        min_insync_replicas=6,
        delete_retention_ms=7,
    )


def test_memory_without_a_limit():
    assert Config.from_settings({"memory.limit.bytes": "-1"}).memory_limit is None
    assert Config.from_settings({"memory.limit.bytes": "0"}).memory_limit == 0


def test_what_was_set_is_known_even_if_it_is_the_default():
    config = Config.from_settings({"broker.id": "1", "num.partitions": "1"})
    assert [each.name for each in fields(Config) if each.metadata and config.is_set(each.name)] == [
        "node_id",
        "num_partitions",
    ]
    assert Config(max_connections=7).is_set("max_connections")
    assert not Config(max_connections=INT32_MAX).is_set("max_connections")


def test_topics():
    asked = {"a": "3", "b.c": 1, "b_d": " +100000 "}
    assert Config.from_settings({}, asked).topics == {"a": 3, "b.c": 1, "b_d": 100_000}


@pytest.mark.parametrize(
    "count",
    ["0", "x", -1, True, 1.5, "100001", "", "1_0", "٣", ["1"], None, pytest.param(10**5000, id="huge"), "9" * 5000],
)
def test_numbers_of_partitions_that_cannot_be(count):
    with pytest.raises(ConfigError, match=r"^topic a has .* partitions: it must be a number from 1 to 100000$"):
        Config.from_settings({}, {"a": count})


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a b"], "'a b' cannot name a topic"),
        ([""], "'' cannot name a topic"),
        ([".."], "'..' cannot name a topic"),
        (["a\nb"], r"'a\nb' cannot name a topic"),
        (["\udcff"], r"'\udcff' cannot name a topic"),
        (["a" * 250], "a text of 250 characters cannot name a topic"),
        (["__consumer_offsets"], "topic __consumer_offsets is internal"),
        (["__transaction_state"], "topic __transaction_state is internal"),
        (["__cluster_metadata"], "topic __cluster_metadata is internal"),
        (["__consumer.offsets"], "topic __consumer.offsets would collide with topic __consumer_offsets"),
        (["a.b", "a_b"], "topic a_b would collide with topic a.b"),
    ],
)
def test_topics_that_cannot_be(names, words):
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({}, dict.fromkeys(names, "1"))
    assert str(caught.value).startswith(words)
    assert str(caught.value).isprintable()
