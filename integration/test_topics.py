"""Topics as a group sees them: found by a pattern, created by asking, one more partition of work each time."""

import pytest
from kafka.consumer.group import KafkaConsumer

from integration.members import DEFAULTS, LONG_POLL_MS, POLL_MS, Group, all_of
from integration.server import QUICK
from integration.waiting import eventually

SELDOM = {"metadata_max_age_ms": 300_000}
"""Topics are looked for when the test says so, for the reason given at JOINING_POLL_MS."""


@pytest.fixture
def group(start_server, new_group) -> Group:
    return new_group(start_server(topics={"case-a": 2, "other": 1}, settings={**QUICK, "num.partitions": 3}))


def create(group, name: str) -> None:
    """Create a topic by asking for it, as a consumer does."""
    asker = KafkaConsumer(name, bootstrap_servers=group.bootstrap, **DEFAULTS)
    eventually(lambda: asker.poll(timeout_ms=POLL_MS) or asker.assignment(), f"{name} to be there")
    asker.close()


def create_while_paused(group, *names: str) -> None:
    """Create topics, have the members see them, and let them do what follows."""
    for member in group.members:
        member.pause()
    for name in names:
        create(group, name)
    for member in group.members:
        assert set(names) <= member.do(lambda consumer: consumer.topics())
    for member in group.members:
        member.resume(LONG_POLL_MS)


def test_topics_that_match_a_pattern_are_found_as_they_come(group):
    first = group.join(pattern="^case-.*", **SELDOM)
    group.settled(all_of(**{"case-a": 2}))
    second = group.join(pattern="^case-.*", **SELDOM)
    group.settled(all_of(**{"case-a": 2}))
    create_while_paused(group, "case-b", "uncased-b")
    group.settled(all_of(**{"case-a": 2, "case-b": 3}))
    create_while_paused(group, "case-c")
    group.settled(all_of(**{"case-a": 2, "case-b": 3, "case-c": 3}))
    assert first.assignment
    assert second.assignment
    assert not group.ledger.conflicts


def test_a_topic_that_is_not_there_is_created_by_asking_for_it(group):
    member = group.join("brand-new", poll_ms=LONG_POLL_MS, **SELDOM)
    eventually(lambda: member.assignment, lambda: member)
    member.poll_ms = POLL_MS
    group.settled(all_of(**{"brand-new": 3}))


def test_a_topic_is_not_created_where_that_is_switched_off(start_server, new_group):
    settings = {**QUICK, "auto.create.topics.enable": "false"}
    group = new_group(start_server(topics={"other": 1}, settings=settings))
    member = group.join("never-there", "other", **SELDOM)
    group.settled(all_of(other=1))
    assert member.do(lambda consumer: consumer.topics()) == {"other"}


def test_the_offsets_topic_is_not_offered_to_patterns(group):
    group.join(pattern=".*", **SELDOM)
    group.settled(all_of(**{"case-a": 2, "other": 1}))
