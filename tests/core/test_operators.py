"""What operators and tests may do to groups, in each state, and what members and clients meet then."""

import pytest

from kcoord.core.notes import (
    GroupCreated,
    GroupDeleted,
    MemberExpired,
    OffsetsCommitted,
    OffsetsDeleted,
    PendingMemberExpired,
    RebalanceStarted,
    StaticMemberReplaced,
)
from kcoord.core.operators import (
    DONE,
    Expire,
    Fence,
    KeepAlive,
    NewOffset,
    Problem,
    Rebalance,
    Remove,
    SetOffsets,
)

from .driver import Driver, protocols_of

OPERATIONS = [
    Rebalance("nobody", ""),
    Expire("nobody", "m"),
    Fence("nobody", "i", object()),
    Remove("nobody", ""),
]


@pytest.fixture
def driver():
    return Driver.of(group_initial_rebalance_delay_ms=0)


def stable(driver, *whom, group="g", **how):
    """A Stable group; the members' ids, the leader's first. Each of `whom` is a client id or (client id, instance)."""
    calls = []
    for one in whom:
        name, instance = (one, None) if isinstance(one, str) else one
        calls.append(driver.enter(group, name, instance=instance, **how))
    driver.advance(0)
    inside = driver.inside(group)
    while inside.state.value != "CompletingRebalance":
        for member in list(inside.members.values()):
            if member.parked_join is None:
                rejoin(driver, member, group)
    ids = list(inside.members)
    for member_id in ids:
        driver.sync(group, member_id, inside.generation, {one: one.encode() for one in ids})
    assert inside.state.value == "Stable"
    return ids


def rejoin(driver, member, group="g"):
    return driver.join(
        group,
        member.client_id,
        member_id=member.member_id,
        instance=member.group_instance_id,
        protocols=member.protocols,
        session_ms=member.session_timeout_ms,
        rebalance_ms=member.rebalance_timeout_ms,
    )


# --- unknown groups ---


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: type(one).__name__)
def test_a_group_that_there_is_not(driver, operation):
    answer = driver.operate(operation)
    assert (answer.problem, answer.sentence) == (Problem.UNKNOWN, "there is no group nobody")
    assert not driver.records
    assert not driver.notes


# --- Rebalance ---


def test_rebalance_lets_every_member_join_again_and_adds_none(driver):
    ids = stable(driver, "a", "b")
    generation = driver.inside("g").generation
    assert driver.operate(Rebalance("g", "topics changed")) == DONE
    assert driver.state("g") == "PreparingRebalance"
    assert [driver.heartbeat("g", one, generation).error for one in ids] == [27, 27]
    started = driver.noted(RebalanceStarted)[-1]
    assert (started.reason, set(started.waiting_for)) == ("asked for by an operator: topics changed", set(ids))
    for member in list(driver.inside("g").members.values()):
        rejoin(driver, member)
    assert driver.state("g") == "CompletingRebalance"
    assert driver.inside("g").generation == generation + 1
    assert list(driver.inside("g").members) == ids


def test_rebalance_in_the_sync_phase_answers_held_syncs(driver):
    driver.enter("g", "a")
    driver.advance(0)
    other = driver.enter("g", "b")
    for member in [one for one in driver.inside("g").members.values() if one.parked_join is None]:
        rejoin(driver, member)
    inside = driver.inside("g")
    follower = next(one for one in inside.members if one != inside.leader_id)
    held = driver.sync("g", follower, inside.generation)
    assert held.parked
    assert driver.operate(Rebalance("g", "")) == DONE
    assert held.error == 27
    assert driver.noted(RebalanceStarted)[-1].reason == "asked for by an operator: not provided"
    assert other.error == 0


def test_rebalance_in_the_join_phase_changes_nothing(driver):
    stable(driver, "a", "b")
    driver.operate(Rebalance("g", "one"))
    before = len(driver.notes)
    assert driver.operate(Rebalance("g", "two")) == DONE
    assert len(driver.notes) == before
    assert driver.state("g") == "PreparingRebalance"


def test_rebalance_of_a_group_without_members_is_impossible(driver):
    driver.commit("g", {("t", 0): 5})
    answer = driver.operate(Rebalance("g", ""))
    assert (answer.problem, answer.sentence) == (
        Problem.IMPOSSIBLE,
        "group g has no members that could join again",
    )


# --- Expire ---


@pytest.mark.parametrize("named_by", ["member id", "instance id", "client id"])
def test_expire_puts_a_member_out_and_the_others_share(driver, named_by):
    ids = stable(driver, ("a", "i1"), ("b", "i2"))
    name = {"member id": ids[1], "instance id": "i2", "client id": "b"}[named_by]
    assert driver.operate(Expire("g", name)) == DONE
    expired = driver.noted(MemberExpired)[-1]
    assert (expired.member, expired.instance, expired.why) == (ids[1], "i2", "an operator ended its session")
    assert driver.noted(RebalanceStarted)[-1].reason == f"removing member {ids[1]} as an operator wished"
    assert driver.state("g") == "PreparingRebalance"
    assert driver.heartbeat("g", ids[1], 1).error == 25
    assert driver.noted(RebalanceStarted)[-1].waiting_for == (ids[0],)


def test_expire_of_the_last_member_empties_the_group(driver):
    (only,) = stable(driver, "a")
    driver.operate(Expire("g", only))
    assert driver.state("g") == "Empty"
    driver.advance(60)
    assert driver.state("g") == "Empty"


def test_expire_answers_what_the_member_has_waiting(driver):
    stable(driver, "a", "b")
    driver.operate(Rebalance("g", ""))
    first, second = driver.inside("g").members.values()
    join = rejoin(driver, first)
    assert join.parked
    driver.operate(Expire("g", first.member_id))
    assert join.error == 25
    rejoin(driver, second)
    assert driver.state("g") == "CompletingRebalance"


def test_expire_answers_a_held_sync(driver):
    stable(driver, "a", "b")
    driver.operate(Rebalance("g", ""))
    for member in list(driver.inside("g").members.values()):
        rejoin(driver, member)
    inside = driver.inside("g")
    follower = next(one for one in inside.members if one != inside.leader_id)
    held = driver.sync("g", follower, inside.generation)
    driver.operate(Expire("g", follower))
    assert held.error == 25
    assert driver.state("g") == "PreparingRebalance"


def test_expire_of_an_id_that_was_handed_out(driver):
    pending = driver.join("g", "a").response.member_id
    assert driver.operate(Expire("g", pending)) == DONE
    assert driver.noted(PendingMemberExpired)[-1].member == pending
    assert driver.join("g", "a", member_id=pending).error == 25


def test_expire_of_nobody(driver):
    stable(driver, "a")
    answer = driver.operate(Expire("g", "z"))
    assert (answer.problem, answer.sentence) == (Problem.UNKNOWN, "group g has no member z")


def test_expire_by_a_client_id_that_two_members_have(driver):
    stable(driver, "a", "a")
    answer = driver.operate(Expire("g", "a"))
    assert answer.problem is Problem.IMPOSSIBLE
    assert answer.sentence == "group g has 2 members with the client id a: name one by its member id"
    assert len(driver.inside("g").members) == 2


# --- Fence ---


def test_fence_lets_the_member_meet_fenced_instance_id_and_nobody_rebalances(driver):
    ids = stable(driver, ("a", "i1"), ("b", "i2"))
    generation = driver.inside("g").generation
    impostor = driver.impostor("g")
    assert driver.operate(Fence("g", "i2", impostor)) == DONE
    assert driver.state("g") == "Stable"
    assert impostor.error == 0
    replaced = driver.noted(StaticMemberReplaced)[-1]
    assert (replaced.instance, replaced.replaced, replaced.client_id) == ("i2", ids[1], "impostor")
    assert replaced.member == impostor.response.member_id
    assert driver.heartbeat("g", ids[1], generation, instance="i2").error == 82
    assert driver.heartbeat("g", ids[0], generation, instance="i1").error == 0
    assert driver.heartbeat("g", replaced.member, generation, instance="i2").error == 0
    assert driver.commit("g", {("t", 0): 1}, ids[1], generation, instance="i2").error == 82
    assert driver.join("g", "b", member_id=ids[1], instance="i2").error == 82


def test_fence_keeps_the_assignment_also_over_a_restart(driver):
    stable(driver, ("a", "i1"))
    driver.operate(Fence("g", "i1", driver.impostor("g")))
    (member,) = driver.inside("g").members.values()
    assert member.assignment
    driver.reload(group_initial_rebalance_delay_ms=0)
    assert list(driver.inside("g").static_members) == ["i1"]


def test_fence_in_the_join_phase_lets_the_impostor_wait(driver):
    stable(driver, ("a", "i1"), ("b", "i2"))
    driver.operate(Rebalance("g", ""))
    first, second = list(driver.inside("g").members.values())
    held = rejoin(driver, first)
    impostor = driver.impostor("g")
    assert driver.operate(Fence("g", "i1", impostor)) == DONE
    assert held.error == 82
    assert impostor.parked
    rejoin(driver, second)
    assert impostor.error == 0


def test_an_impostor_that_says_nothing_more_is_put_out_in_the_end(driver):
    stable(driver, ("a", "i1"))
    driver.operate(Fence("g", "i1", driver.impostor("g")))
    driver.advance(10)
    assert driver.state("g") == "Empty"


def test_fence_of_a_full_group(driver):
    driver = Driver.of(group_initial_rebalance_delay_ms=0, group_max_size=1)
    stable(driver, ("a", "i1"))
    assert driver.operate(Fence("g", "i1", driver.impostor("g"))) == DONE


def test_fence_of_an_instance_that_is_not_there(driver):
    stable(driver, "a")
    answer = driver.operate(Fence("g", "i9", object()))
    assert (answer.problem, answer.sentence) == (Problem.UNKNOWN, "group g has no static member i9")


# --- SetOffsets ---


def test_set_offsets_whoever_is_in_the_group(driver):
    (member,) = stable(driver, "a")
    driver.commit("g", {("t", 0): 5, ("t", 1): 6}, member, 1)
    wish = SetOffsets("g", (NewOffset("t", 0, 2, "back"), NewOffset("t", 1, None), NewOffset("u", 0, None)))
    assert driver.operate(wish) == DONE
    assert (driver.offset("g"), driver.offset("g", "t", 1)) == (2, -1)
    assert driver.coordinator.tables.offsets["g"]["t", 0].metadata == "back"
    assert driver.noted(OffsetsCommitted)[-1].member == ""
    assert driver.noted(OffsetsDeleted)[-1].partitions == 1
    assert driver.state("g") == "Stable"


def test_set_offsets_brings_a_group_into_being(driver):
    assert driver.operate(SetOffsets("new", (NewOffset("t", 0, 7),))) == DONE
    assert (driver.state("new"), driver.offset("new")) == ("Empty", 7)
    assert driver.noted(GroupCreated)[-1].group == "new"


def test_deleting_offsets_of_a_group_that_there_is_not_brings_none_into_being(driver):
    assert driver.operate(SetOffsets("new", (NewOffset("t", 0, None),))) == DONE
    assert not driver.coordinator.tables.groups
    assert not driver.notes


@pytest.mark.parametrize(
    ("group", "wrong", "sentence"),
    [
        ("", NewOffset("t", 0, 1), "a group's id must have"),
        ("x" * 40_000, NewOffset("t", 0, 1), "a group's id must have"),
        ("g", NewOffset("", 0, 1), "-0 is no partition of a topic"),
        ("g", NewOffset("t", -1, 1), "t--1 is no partition of a topic"),
        ("g", NewOffset("t", 2**31, 1), "t-2147483648 is no partition"),
        ("g", NewOffset("x" * 40_000, 0, 1), "is no partition"),
        ("g", NewOffset("t", 0, -1), "the offset of t-0 is -1: it must be from 0 to 9223372036854775807"),
        ("g", NewOffset("t", 0, 2**63), "the offset of t-0 is 9223372036854775808"),
        ("g", NewOffset("t", 0, 1, "x" * 4097), "longer than offset.metadata.max.bytes, which is 4096"),
    ],
)
def test_offsets_that_cannot_be(driver, group, wrong, sentence):
    answer = driver.operate(SetOffsets(group, (NewOffset("t", 1, 5), wrong)))
    assert answer.problem is Problem.IMPOSSIBLE
    assert sentence in answer.sentence
    assert not driver.records


# --- KeepAlive ---


def test_keep_alive_counts_as_a_heartbeat_of_those_named(driver):
    ids = stable(driver, "a", "b", rebalance_ms=60_000)
    driver.advance(9)
    assert driver.operate(KeepAlive({"g": frozenset({ids[0], "gone"}), "nobody": frozenset({"m"})})) == DONE
    driver.advance(5)
    assert [note.member for note in driver.noted(MemberExpired)] == [ids[1]]


def test_keep_alive_does_not_move_the_deadline_of_a_first_join(driver):
    stable(driver, "a", session_ms=1_000_000, rebalance_ms=1_000_000)
    parked = driver.enter("g", "b", session_ms=1_000_000)
    newcomer = list(driver.inside("g").members)[-1]
    driver.advance(200)
    driver.operate(KeepAlive({"g": frozenset({newcomer})}))
    driver.advance(101)
    assert parked.error == 25


# --- Remove ---


def test_remove_sends_everybody_away_and_forgets_the_offsets(driver):
    stable(driver, "a", ("b", "i1"))
    driver.operate(SetOffsets("g", (NewOffset("t", 0, 7),)))
    driver.operate(Rebalance("g", ""))
    first, second = list(driver.inside("g").members.values())
    held = rejoin(driver, first)
    pending = driver.join("g", "c").response.member_id
    assert driver.operate(Remove("g", "a test is over")) == DONE
    assert held.error == 25
    assert driver.noted(GroupDeleted)[-1].why == "a test is over"
    assert not driver.coordinator.tables.groups
    assert not driver.coordinator.tables.offsets
    assert driver.heartbeat("g", second.member_id, 1).error == 25
    assert driver.join("g", "c", member_id=pending).error == 25
    driver.advance(10_000)


def test_remove_amid_the_sync_phase(driver):
    driver.enter("g", "a", protocols=protocols_of(["range"]))
    driver.advance(0)
    assert driver.state("g") == "CompletingRebalance"
    assert driver.operate(Remove("g", "")) == DONE
    driver.advance(10_000)
    driver.reload()
    assert not driver.coordinator.tables.groups
