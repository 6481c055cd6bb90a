"""Topics that come, grow and go while they are consumed."""

import pytest

from integration.clients.clients import CLIENTS
from integration.clients.driver import eventually

THREE = [CLIENTS[name] for name in ("kafka-python", "confluent", "java")]
by_client = pytest.mark.parametrize("client", THREE, ids=str)


@by_client
def test_a_pattern_finds_a_topic_that_is_created_later(client, new_group):
    group = new_group(2)
    start = group.topic.removesuffix("-a")
    member = group.join(client, pattern=f"^{start}-.*")
    group.settled(member)
    group.write(client, 20)
    group.all_read()
    for letter in "bc":
        group.topics[f"{start}-{letter}"] = 2
        group.world.create_topic(f"{start}-{letter}", 2)
        group.settled(member)
        group.write(client, 20, f"{start}-{letter}")
    group.world.create_topic(f"x{start}-d", 2)  # the pattern begins where the name does
    group.all_read()
    group.none_twice()
    assert {topic for topic, _ in member.held} == set(group.topics)
    member.close()


@by_client
def test_partitions_that_are_added_are_consumed(client, new_group):
    group = new_group(2)
    operator = group.operator(client)
    first, second = group.join(client), group.join(client)
    group.settled(first, second)
    group.write(client, 20)
    group.all_read()
    operator.value("create_partitions", topic=group.topic, count=6)
    group.topics[group.topic] = 6
    group.settled(first, second)
    group.write(client, 60)
    group.all_read()
    group.none_twice()
    group.all_committed()
    operator.close()


@by_client
def test_a_topic_is_deleted_while_it_is_consumed(client, new_group):
    group = new_group(2, topics=2)
    gone, stays = group.topics
    operator = group.operator(client)
    member = group.join(client)
    group.settled(member)
    group.write(client, 20, gone)
    group.write(client, 20, stays)
    group.all_read()
    group.all_committed()
    operator.value("delete_topic", topic=gone)
    eventually(
        lambda: {topic for topic, _ in group.world.offsets(group.id)} == {stays}, "offsets of it are gone", member
    )
    group.write(client, 20, stays)
    group.all_read()
    group.none_twice()
    member.close()
    operator.close()
