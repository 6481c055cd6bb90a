"""Topics: names, ids, partitions, and what cannot be created."""

from uuid import UUID

import pytest

from kcoord.log.catalog import Catalog, TopicRefused, is_legal_name
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
