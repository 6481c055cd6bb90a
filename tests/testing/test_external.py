"""The fixture on a server that is known by its address alone."""

import pytest

from kcoord.testing import Impossible, Kcoord
from kcoord.testing.external import ExternalKcoord


@pytest.fixture
def k():
    with Kcoord() as running:
        yield running


def named(k):
    return {each.name: each.partitions for each in k.topics()}


def test_topics_that_a_client_of_the_test_deleted_are_there_anew_after_a_reset(k):
    external = ExternalKcoord(k.bootstrap, {"orders": 6, "more": 1})
    external.create_topic("of-the-test", 2)
    for topic in ("orders", "of-the-test"):
        k.delete_topic(topic)
    external.reset()
    assert named(k) == {"orders": 6, "more": 1}
    k.delete_topic("more")
    external.close()
    assert named(k) == {}


def test_topics_that_grew_have_their_size_again_after_a_reset(k):
    external = ExternalKcoord(k.bootstrap, {"orders": 6})
    k.delete_topic("orders")
    k.create_topic("orders", 8)
    external.reset()
    assert named(k) == {"orders": 6}


def test_topics_of_others_are_taken_as_they_are_but_not_with_another_number_of_partitions(k):
    k.create_topic("orders", 3)
    ExternalKcoord(k.bootstrap, {"orders": 3}).close()
    assert named(k) == {"orders": 3}
    with pytest.raises(Impossible, match="has a topic orders with 3 partitions, not 6"):
        ExternalKcoord(k.bootstrap, {"orders": 6})
