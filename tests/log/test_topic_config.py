"""The settings of a topic: what may be set, how it is read and shown, and what is refused by name."""

import pytest

from kcoord.log.topic_config import (
    NOT_HONOURED,
    TOPIC_SETTINGS,
    InvalidSetting,
    TopicConfig,
    appended,
    java_integer,
    shown,
    subtracted,
)

INT64_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("key", "text", "read", "in_force"),
    [
        ("cleanup.policy", "", (), frozenset()),
        ("cleanup.policy", "delete", ("delete",), {"delete"}),
        ("cleanup.policy", "compact", ("compact",), {"compact"}),
        ("cleanup.policy", " compact , delete ", ("compact", "delete"), {"compact", "delete"}),
        ("cleanup.policy", "delete,delete", ("delete",), {"delete"}),
        ("retention.ms", "-1", -1, -1),
        ("retention.ms", "\t+5\r\n", 5, 5),
        ("retention.ms", "-0", 0, 0),
        ("retention.ms", "٣", 3, 3),
        ("retention.ms", "9223372036854775807", INT64_MAX, INT64_MAX),
        ("retention.ms", "0" * 5000 + "7", 7, 7),
        ("retention.bytes", "-2", -2, -1),
        ("retention.bytes", "-9223372036854775808", -(2**63), -1),
        ("retention.bytes", "0", 0, 0),
        ("max.message.bytes", "0", 0, 0),
        ("max.message.bytes", "2147483647", 2**31 - 1, 2**31 - 1),
        ("message.timestamp.type", " LogAppendTime", "LogAppendTime", "LogAppendTime"),
        ("message.timestamp.before.max.ms", "0", 0, 0),
        ("message.timestamp.after.max.ms", "1", 1, 1),
        ("min.insync.replicas", "3", 3, 3),
        ("delete.retention.ms", "0", 0, 0),
    ],
)
def test_what_can_be_set(key, text, read, in_force):
    setting = TOPIC_SETTINGS[key]
    assert setting.read(text) == read
    config = TopicConfig().with_settings({key: text})
    assert getattr(config, setting.attribute) == in_force


def test_what_is_not_set_is_the_brokers():
    brokers = TopicConfig(retention_ms=7, max_message_bytes=8)
    assert brokers.with_settings({}) == brokers
    assert brokers.with_settings({"max.message.bytes": "9"}) == TopicConfig(retention_ms=7, max_message_bytes=9)


def test_records_stay_as_they_were_sent():
    assert TopicConfig().with_settings({"compression.type": "producer"}) == TopicConfig()


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("cleanup.policy", "DELETE", "cleanup.policy is 'DELETE': it must be a list of compact and delete, or empty"),
        ("cleanup.policy", "delete,", "cleanup.policy is 'delete,': it must be a list of compact and delete, or empty"),
        ("cleanup.policy", ",", "cleanup.policy is ',': it must be a list of compact and delete, or empty"),
        ("retention.ms", "-2", "retention.ms is '-2': it must be from -1 to 9223372036854775807"),
        (
            "retention.ms",
            "9223372036854775808",
            "retention.ms is '9223372036854775808': it must be from -1 to 9223372036854775807",
        ),
        ("retention.ms", "", "retention.ms is '': it must be a whole number"),
        ("retention.ms", "1e3", "retention.ms is '1e3': it must be a whole number"),
        ("retention.ms", "1_000", "retention.ms is '1_000': it must be a whole number"),
        ("retention.ms", "+-1", "retention.ms is '+-1': it must be a whole number"),
        (
            "retention.ms",
            "9" * 5000,
            "retention.ms is a text of 5000 characters: it must be from -1 to 9223372036854775807",
        ),
        ("max.message.bytes", "-1", "max.message.bytes is '-1': it must be from 0 to 2147483647"),
        ("max.message.bytes", "2147483648", "max.message.bytes is '2147483648': it must be from 0 to 2147483647"),
        (
            "message.timestamp.type",
            "createtime",
            "message.timestamp.type is 'createtime': it must be CreateTime or LogAppendTime",
        ),
        (
            "message.timestamp.before.max.ms",
            "-1",
            "message.timestamp.before.max.ms is '-1': it must be from 0 to 9223372036854775807",
        ),
        ("min.insync.replicas", "0", "min.insync.replicas is '0': it must be from 1 to 2147483647"),
        ("delete.retention.ms", "-1", "delete.retention.ms is '-1': it must be from 0 to 9223372036854775807"),
        ("compression.type", "", "compression.type is '': it must be producer"),
        (
            "compression.type",
            "gzip",
            "compression.type is 'gzip': only producer is honoured, because batches are kept as they were sent",
        ),
        ("segment.bytes", "1", "segment.bytes is a setting of Kafka's topics that kcoord does not honour"),
        ("retention_ms", "1", "'retention_ms' is not a setting of topics, in Kafka or here"),
        ("", "1", "'' is not a setting of topics, in Kafka or here"),
        ("a\nb", "1", r"'a\nb' is not a setting of topics, in Kafka or here"),
        ("x" * 30_000, "1", "a text of 30000 characters is not a setting of topics, in Kafka or here"),
    ],
)
def test_what_cannot_be_set_is_said_in_one_sentence(key, text, sentence):
    with pytest.raises(InvalidSetting) as caught:
        TopicConfig().with_settings({key: text})
    assert str(caught.value) == sentence


def test_names_come_before_values():
    with pytest.raises(InvalidSetting, match="'nope' is not a setting"):
        TopicConfig().with_settings({"retention.ms": "abc", "nope": "1"})


def test_every_setting_of_kafkas_is_either_honoured_or_refused_by_name():
    """There are 37 in Apache Kafka 4.4."""
    assert not NOT_HONOURED & TOPIC_SETTINGS.keys()
    assert len(NOT_HONOURED | TOPIC_SETTINGS.keys()) == 37
    assert list(TOPIC_SETTINGS) == sorted(TOPIC_SETTINGS)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (5, "5"), ("x", "x"), (("a", "b"), "a,b"), ((), ""), (None, None)],
)
def test_values_are_shown_as_kafka_writes_them(value, text):
    assert shown(value) == text


def test_a_number_of_thousands_of_digits_is_merely_too_large():
    assert java_integer("-" + "9" * 5000) < -(2**63)
    assert java_integer("9" * 5000) > INT64_MAX


@pytest.mark.parametrize(
    ("old", "more", "new"),
    [
        ("delete", "compact", "delete,compact"),
        ("compact", "compact", "compact"),
        ("", "compact,delete", "compact,delete"),
        ("", "delete,delete", "delete"),
        ("", "", ""),
        ("delete", "", "delete,"),
        ("delete", ",", "delete"),
        ("delete", ",,x", "delete,,x"),
        ("delete", "x,,", "delete,x"),
        ("delete,,compact", "x", "delete,compact,x"),
        ("delete", " delete", "delete, delete"),
    ],
)
def test_lists_grow_as_in_kafka(old, more, new):
    """Where that splits texts with Java's `split`, which sees nothing at their ends."""
    assert appended(old, more) == new


@pytest.mark.parametrize(
    ("old", "less", "new"),
    [
        ("compact,delete", "delete", "compact"),
        ("compact,delete", "delete,compact,,", ""),
        ("compact,compact", "compact", "compact"),
        ("compact,delete,compact", "compact", "delete,compact"),
        ("compact,compact,x", "compact,compact", "x"),
        ("delete", "", "delete"),
        ("delete", ",", "delete"),
        ("delete", " delete", "delete"),
        ("", "delete", ""),
    ],
)
def test_lists_shrink_as_in_kafka(old, less, new):
    assert subtracted(old, less) == new
