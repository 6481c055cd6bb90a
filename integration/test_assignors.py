"""Each assignor of kafka-python, in groups that grow and shrink; and what happens where assignors differ."""

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import InconsistentGroupProtocolError

from integration.members import all_of
from integration.waiting import eventually

T, BOTH = all_of(t=4), all_of(t=4, u=3)
EAGER = [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor]
COOPERATIVE = {"partition_assignment_strategy": [CooperativeStickyAssignor]}
REBALANCE_MS = 10_000
"""A poll that takes as long as two rebalances on a busy machine, where one of three seconds was hardly enough."""


def protocol(admin, group) -> str:
    """The assignor that the group has chosen."""
    return admin.describe_groups([group.id])[group.id]["protocol_data"]


@pytest.mark.parametrize("assignor", EAGER, ids=lambda each: each.name)
def test_an_eager_group_grows_and_shrinks(group, admin, assignor):
    config = {"partition_assignment_strategy": [assignor]}
    first = group.join("t", "u", **config)
    alone = group.settled(BOTH)
    assert protocol(admin, group) == assignor.name
    second = group.join("t", "u", **config)
    two = group.settled(BOTH)
    assert two > alone
    third = group.join("t", "u", **config)
    three = group.settled(BOTH)
    assert three > two
    assert all(member.assignment for member in group.members)
    # Eager members give everything up in each rebalance (KIP-429 calls it stop the world).
    assert [event.partitions for event in first.heard("revoked")][:1] == [BOTH]

    second.close()
    four = group.settled(BOTH, first, third)
    assert four > three
    assert group.ledger.conflicts == []


def test_sticky_leaves_partitions_where_they_are(group):
    config = {"partition_assignment_strategy": [StickyPartitionAssignor]}
    first = group.join("t", **config)
    group.settled(T)
    second = group.join("t", **config)
    group.settled(T)
    kept = first.assignment
    third = group.join("t", **config)
    group.settled(T)
    second_kept = second.assignment
    third.close()
    group.settled(T, first, second)
    assert len(kept) == 2
    assert second_kept <= second.assignment


def test_s2_cooperative_members_keep_what_stays_theirs(group, admin):
    first = group.join("t", **COOPERATIVE)
    alone = group.settled(T)
    assert protocol(admin, group) == "cooperative-sticky"
    second = group.join("t", **COOPERATIVE)
    two = group.settled(T)
    assert two >= alone + 2  # one generation to give up, one to hand over (KIP-429)

    # The first was asked for just those that moved, once they were known to move, and for nothing before.
    assert [event.partitions for event in first.heard("revoked", "lost")] == [second.assignment]
    assert first.assignment == T - second.assignment
    assert len(first.assignment) == 2
    given_up, taken = first.heard("revoked")[0], second.heard("assigned")[0]
    assert given_up.at < taken.at
    assert given_up.generation < taken.generation

    third = group.join("t", **COOPERATIVE)
    three = group.settled(T)
    assert three >= two + 2
    moved = first.heard("revoked")[1:] + second.heard("revoked")
    assert [event.partitions for event in moved] == [third.assignment]
    assert not group.ledger.conflicts


def test_a_cooperative_member_leaves(group):
    first, second = group.join("t", **COOPERATIVE), group.join("t", **COOPERATIVE)
    before = group.settled(T)
    kept, inherited = first.assignment, second.assignment
    heard = len(first.events)
    second.close()
    assert group.settled(T, first) > before
    # What the other leaves comes on top; nothing is given up for it.
    assert [(event.kind, event.partitions) for event in first.events[heard:] if event.partitions] == [
        ("assigned", inherited)
    ]
    assert first.assignment == kept | inherited
    assert not group.ledger.conflicts


def test_a_change_of_subscription_moves_only_what_it_is_about(group):
    first, second = group.join("t", "u", **COOPERATIVE), group.join("t", "u", **COOPERATIVE)
    before = group.settled(BOTH)
    second.do(lambda consumer: consumer.subscribe(["t"], listener=second), REBALANCE_MS)
    eventually(lambda: second.generation > before, lambda: second)
    group.settled(BOTH)
    assert {each.topic for each in second.assignment} == {"t"}
    assert all_of(u=3) <= first.assignment
    assert not group.ledger.conflicts


def test_the_assignor_that_all_have_is_chosen(group, admin):
    group.join("t", partition_assignment_strategy=[RangePartitionAssignor, RoundRobinPartitionAssignor])
    group.settled(T)
    assert protocol(admin, group) == "range"
    group.join("t", partition_assignment_strategy=[RoundRobinPartitionAssignor])
    group.settled(T)
    assert protocol(admin, group) == "roundrobin"


def test_an_assignor_that_others_lack_is_refused(group):
    first = group.join("t", partition_assignment_strategy=[RangePartitionAssignor])
    before = group.settled(T)
    refused = group.join("t", **COOPERATIVE)
    eventually(lambda: refused.error, lambda: refused)
    assert isinstance(refused.error, InconsistentGroupProtocolError)
    assert group.settled(T, first) == before
    assert not first.heard("revoked", "lost")
