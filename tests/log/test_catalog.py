"""Topics: names, ids, partitions, and what cannot be created."""

from uuid import UUID

import pytest

from kcoord.log.catalog import Catalog, TopicRefused, is_legal_name
from kcoord.log.memory import LogMemory
from kcoord.log.topic_config import TopicConfig
from wire.errors import ErrorCode


def test_a_topic_is_found_by_name_and_by_id():
    catalog = Catalog()
    topic = catalog.create("t", 2, UUID(int=1))
    other = catalog.create("__consumer_offsets", 1, UUID(int=2))
    assert list(catalog) == [topic, other]
    assert len(catalog) == 2
    assert catalog.by_name("t") is catalog.by_id(UUID(int=1)) is topic
    assert catalog.by_name("u") is catalog.by_id(UUID(int=0)) is None
    assert (topic.is_internal, other.is_internal) == (False, True)
    assert [topic.partition(index) and topic.partition(index).index for index in (-1, 0, 1, 2)] == [None, 0, 1, None]


@pytest.mark.parametrize(
    ("name", "legal"),
    [("a", True), ("A.b_c-9", True), ("x" * 249, True), ("...", True), ("x" * 250, False)]
    + [(name, False) for name in ("", ".", "..", "a b", "a/b", "ä", "a\n", "a:b")],
)
def test_legal_names(name, legal):
    assert is_legal_name(name) is legal


@pytest.mark.parametrize(
    ("name", "partitions", "code"),
    [
        ("a b", 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t.x", 1, ErrorCode.TOPIC_ALREADY_EXISTS),
        ("t_x", 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("fresh", 0, ErrorCode.INVALID_PARTITIONS),
        ("fresh", -1, ErrorCode.INVALID_PARTITIONS),
    ],
)
def test_what_cannot_be_created_is_not(name, partitions, code):
    catalog = Catalog()
    catalog.create("t.x", 1, UUID(int=1))
    with pytest.raises(TopicRefused) as caught:
        catalog.create(name, partitions, UUID(int=2))
    assert caught.value.code is code
    assert len(catalog) == 1
    assert catalog.by_id(UUID(int=2)) is None


def test_a_name_can_be_looked_at_without_creating():
    catalog = Catalog()
    catalog.check_name("t.x")
    assert len(catalog) == 0
    catalog.create("t.x", 1, UUID(int=1))
    for name, code in (
        ("t.x", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("t_x", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t/x", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ):
        with pytest.raises(TopicRefused) as caught:
            catalog.check_name(name)
        assert caught.value.code is code


@pytest.mark.parametrize(("name", "shown"), [("a\n", r"'a\n'"), ("x" * 30_000, "a text of 30000 characters")])
def test_a_refusal_quotes_no_more_than_a_name_could_have(name, shown):
    with pytest.raises(TopicRefused) as caught:
        Catalog().check_name(name)
    assert str(caught.value).startswith(f"{shown} cannot name a topic")


def test_a_topic_has_settings_that_its_partitions_follow():
    catalog = Catalog()
    topic = catalog.create("t", 2, UUID(int=1), TopicConfig(retention_ms=5), {"retention.ms": "5"})
    assert (topic.config.retention_ms, topic.settings) == (5, {"retention.ms": "5"})
    assert {each.config.retention_ms for each in topic.partitions} == {5}
    topic.configure(TopicConfig(retention_ms=7), {"retention.ms": "7"})
    catalog.add_partitions(topic, 3)
    assert topic.settings == {"retention.ms": "7"}
    assert [each.config.retention_ms for each in topic.partitions] == [7, 7, 7]
    plain = catalog.create("u", 1, UUID(int=2))
    assert (plain.config, plain.settings) == (TopicConfig(), {})


def test_partitions_are_added_behind_those_that_are_there():
    catalog = Catalog()
    topic = catalog.create("t", 2, UUID(int=1))
    before = list(topic.partitions)
    for count in (2, 1, 0, -1):
        with pytest.raises(TopicRefused) as caught:
            catalog.add_partitions(topic, count)
        assert caught.value.code is ErrorCode.INVALID_PARTITIONS
    catalog.add_partitions(topic, 4)
    assert topic.partitions[:2] == before
    assert [(each.topic, each.index) for each in topic.partitions] == [("t", index) for index in range(4)]


def test_a_deleted_topic_is_forgotten_and_its_name_is_free():
    catalog = Catalog()
    topic = catalog.create("t.x", 1, UUID(int=1))
    told = []
    topic.partitions[0].watch(lambda: told.append(topic.partitions[0].deleted))
    catalog.delete(topic)
    assert told == [True]
    assert (len(catalog), catalog.by_name("t.x"), catalog.by_id(UUID(int=1))) == (0, None, None)
    assert catalog.create("t_x", 1, UUID(int=1)).partitions[0] is not topic.partitions[0]


def test_all_partitions_share_one_count_of_memory():
    memory = LogMemory(1000)
    catalog = Catalog(memory)
    assert catalog.memory is memory
    topic = catalog.create("t", 2, UUID(int=1))
    for each in topic.partitions:
        each.append_own([(b"k", b"v")], 0)
    assert sum(each.size_bytes + LogMemory.BATCH_OVERHEAD for each in topic.partitions) == memory.used
    assert Catalog().memory.limit is None
