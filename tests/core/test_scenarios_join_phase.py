"""Scenarios of the join phase in which time has to pass: its delay, its deadline, its newcomers. It costs none here."""

import pytest

from kcoord.core.notes import JoinPhaseHeldOpen, MemberExpired, PendingMemberExpired
from kcoord.core.outcome import Now

from .driver import Driver
from .situations import A1, A2, beat, completing2, preparing, stable1, stable2, static2

# --- the initial delay ---


def test_d1_a_single_member_waits_for_the_initial_delay(driver):
    call = driver.enter("g", "m")
    driver.advance(2.999)
    assert call.parked
    driver.advance(0.001)
    assert (call.error, call.response.generation_id) == (0, 1)


def test_d2_a_second_member_buys_a_second_window_and_both_are_answered_together(driver):
    first = driver.enter("g", "a")
    driver.advance(2.75)
    second = driver.enter("g", "b")
    driver.advance(3.0)
    assert first.parked
    assert second.parked
    driver.advance(0.25)
    assert [call.response.generation_id for call in (first, second)] == [1, 1]
    assert driver.now.mono == 6.0


@pytest.mark.parametrize(("rebalance_ms", "ends"), [(10_000, 10.0), (30_000, 30.0), (3_000, 3.0), (1_000, 3.0)])
def test_d3_joining_again_and_again_waits_no_longer_than_the_first_rebalance_timeout(driver, rebalance_ms, ends):
    first = driver.join("g", "a", 3, rebalance_ms=rebalance_ms)
    number = 0
    while first.parked and driver.now.mono < 60:
        driver.advance(0.5)
        number += 1
        if first.parked:
            driver.join("g", f"m{number}", 3, rebalance_ms=60_000)
    assert driver.now.mono == ends


def test_d4_using_a_handed_out_id_in_the_window_extends_it_as_well(driver):
    pending = driver.join("g", "b").response.member_id
    first = driver.enter("g", "a")
    driver.advance(2)
    second = driver.join("g", "b", member_id=pending)
    driver.advance(1)
    assert first.parked
    driver.advance(3)
    assert (first.response.generation_id, second.response.generation_id) == (1, 1)


def test_d5_a_member_that_asks_again_does_not_cut_the_initial_delay_short(driver):
    first = driver.enter("g", "a")
    driver.advance(1)
    again = driver.join("g", "a", member_id=first.request.member_id)
    assert first.error == 27, "the one it takes the place of"
    assert again.parked
    driver.advance(1.75)
    assert again.parked
    driver.advance(0.25)
    assert again.error == 0
    assert driver.now.mono == 3.0, "it was no new member, so there is no second window"


def test_d44_everybody_leaves_during_the_initial_delay(driver):
    call = driver.enter("g", "a")
    assert driver.leave("g", call.request.member_id).error == 0
    assert (call.error, call.response.member_id) == (25, "")
    driver.advance(2.5)
    assert driver.state("g") == "PreparingRebalance"
    driver.advance(0.5)
    assert driver.state("g") == "Empty"
    assert driver.inside("g").generation == 1


def test_c30_with_a_rebalance_timeout_of_0_a_member_is_put_out_right_after_it_was_let_in(driver):
    call = driver.enter("g", "a", rebalance_ms=0)
    driver.advance(3)
    assert (call.error, call.response.generation_id) == (0, 1)
    assert driver.state("g") == "Empty"
    assert driver.inside("g").generation == 2
    assert driver.heartbeat("g", call.response.member_id, 1).error == 25


# --- the join deadline ---


def test_d21_who_does_not_rejoin_by_the_deadline_is_dropped_whatever_it_beats(driver):
    made = preparing(driver)
    m1, m2, m3 = made.members
    (third,) = made.joins
    first = driver.join("g", "m1", member_id=m1)
    beat(driver, "g", 2, m2, seconds=29, every=1)
    assert first.parked
    driver.advance(1)
    assert [call.response.generation_id for call in (first, third)] == [3, 3]
    assert {member.member_id for member in first.response.members} == {m1, m3}
    assert driver.heartbeat("g", m2, 3).error == 25


def test_d22_a_leader_that_does_not_rejoin_is_replaced_and_the_new_one_gets_the_list(driver):
    made = preparing(driver)
    m1, m2, m3 = made.members
    second = driver.join("g", "m2", member_id=m2)
    beat(driver, "g", 2, m1, seconds=30)
    told = {call.response.member_id: call.response for call in (second, *made.joins)}
    leader = second.response.leader
    assert leader in (m2, m3)
    assert {member.member_id for member in told[leader].members} == {m2, m3}
    assert [bool(answer.members) for name, answer in told.items() if name != leader] == [False]
    assert driver.heartbeat("g", m1, 3).error == 25


def test_d23_the_longest_rebalance_timeout_of_the_members_is_the_deadline(driver):
    quick = driver.join("g", "quick", 3, rebalance_ms=6_000)
    slow = driver.join("g", "slow", 3, rebalance_ms=40_000, session_ms=60_000)
    driver.advance(6)
    q, s = quick.response.member_id, slow.response.member_id
    for member_id in (s, q):
        driver.sync("g", member_id, 1, {q: A1, s: A2})
    again = driver.join("g", "quick", member_id=q, rebalance_ms=6_000)
    driver.advance(39)
    assert again.parked
    driver.advance(1)
    assert again.error == 0
    assert [member.member_id for member in again.response.members] == [q]


def test_d24_with_only_a_static_member_missing_the_phase_stays_open(driver):
    s1 = static2(driver).leader
    assert driver.leave("g", ("", "i2")).error == 0
    beat(driver, "g", 1, s1, seconds=70)
    assert driver.state("g") == "PreparingRebalance"
    assert driver.inside("g").generation == 1
    assert len(driver.noted(JoinPhaseHeldOpen)) == 2
    again = driver.join("g", "c1", member_id=s1, instance="i1")
    assert (again.error, again.response.generation_id) == (0, 2)


def test_d24_until_its_session_ends(driver):
    made = static2(driver, session_ms=40_000)
    driver.leave("g", ("", "i2"))
    driver.advance(39)
    assert driver.state("g") == "PreparingRebalance"
    driver.advance(1)
    assert driver.state("g") == "Empty"
    assert [note.member for note in driver.noted(MemberExpired)] == [made.leader]


def test_d24_a_rebalance_timeout_of_0_does_not_spin(driver):
    s1, s2 = static2(driver).members
    for member_id, instance in ((s1, "i1"), (s2, "i2")):
        driver.join("g", "c", member_id=member_id, instance=instance, rebalance_ms=0, session_ms=20_000)
    for member_id in (s2, s1):
        driver.sync("g", member_id, 2, {s1: A1, s2: A2})
    assert driver.state("g") == "Stable"
    driver.leave("g", ("", "i2"))
    driver.advance(19)
    assert len(driver.noted(JoinPhaseHeldOpen)) == 20, "once at the deadline, and once in each second after it"
    driver.advance(1)
    assert driver.state("g") == "Empty"


def static_left_behind():
    """A group that moved on without its static follower, which only beat: D25's end."""
    driver = Driver()
    made = static2(driver)
    s1, s2 = made.members
    first = driver.join("g", "c1", member_id=s1, instance="i1")
    beat(driver, "g", 1, s2, seconds=30)
    return driver, s1, s2, first


def test_d25_a_static_member_that_does_not_rejoin_stays_and_its_generation_is_stale():
    driver, s1, s2, first = static_left_behind()
    assert (first.error, first.response.generation_id) == (0, 2)
    assert {(member.member_id, member.group_instance_id) for member in first.response.members} == {
        (s1, "i1"),
        (s2, "i2"),
    }
    assert driver.heartbeat("g", s2, 1, instance="i2").error == 22


def test_d26_it_rejoins_unchanged_and_is_answered_at_once():
    driver, _, s2, _ = static_left_behind()
    again = driver.join("g", "c2", member_id=s2, instance="i2")
    assert (again.error, again.response.generation_id, again.response.members) == (0, 2, [])
    assert driver.state("g") == "CompletingRebalance"


def test_d27_it_beats_but_does_not_sync_and_is_put_out_at_the_sync_deadline():
    driver, s1, s2, _ = static_left_behind()
    assert driver.sync("g", s1, 2, {s1: A1, s2: A2}).error == 0
    beat(driver, "g", 2, s1, s2, seconds=29, every=1)
    assert driver.state("g") == "Stable"
    driver.advance(1)
    assert driver.heartbeat("g", s2, 2, instance="i2").error == 25
    assert driver.heartbeat("g", s1, 2, instance="i1").error == 27


def test_d27_silent_it_goes_one_session_after_the_generation_was_formed():
    driver, s1, s2, _ = static_left_behind()
    assert driver.sync("g", s1, 2, {s1: A1, s2: A2}).error == 0
    beat(driver, "g", 2, s1, seconds=9, every=3)
    assert driver.state("g") == "Stable"
    driver.advance(1)
    assert [note.member for note in driver.noted(MemberExpired)] == [s2]


# --- handed-out ids, and newcomers that wait ---


def ghost_in_the_way(driver, session_ms):
    """STABLE1; x has only taken an id; y and m wait."""
    made = stable1(driver, session_ms=60_000)
    ghost = driver.join("g", "x", session_ms=session_ms).response.member_id
    second = driver.enter("g", "y")
    first = driver.join("g", "m1", member_id=made.leader, session_ms=60_000)
    assert first.parked
    return ghost, first, second


def test_d28_d31_an_unused_id_holds_everybody_until_it_expires(driver):
    _, first, second = ghost_in_the_way(driver, 8_000)
    driver.advance(7.875)
    assert first.parked
    driver.advance(0.125)
    assert [call.response.generation_id for call in (first, second)] == [2, 2]


def test_it_is_used_in_time(driver):
    ghost, first, second = ghost_in_the_way(driver, 8_000)
    third = driver.join("g", "x", member_id=ghost)
    assert [call.error for call in (first, second, third)] == [0, 0, 0]
    assert len(first.response.members) == 3


def test_d30_it_is_given_back(driver):
    ghost, first, second = ghost_in_the_way(driver, 8_000)
    assert driver.leave("g", ghost).error == 0
    assert [call.error for call in (first, second)] == [0, 0]


def test_d28_the_join_deadline_does_not_wait_for_it(driver):
    _, first, second = ghost_in_the_way(driver, 600_000)
    driver.advance(30)
    assert [call.error for call in (first, second)] == [0, 0]


def test_d32_an_id_is_good_for_the_session_timeout_it_was_asked_for_with(driver):
    early = driver.join("g", "a", session_ms=6_000).response.member_id
    late = driver.join("g", "b", session_ms=60_000).response.member_id
    driver.advance(6)
    assert driver.join("g", "a", member_id=early).error == 25
    assert driver.join("g", "b", member_id=late).parked
    assert [note.member for note in driver.noted(PendingMemberExpired)] == [early]


@pytest.mark.parametrize("version", [3, 9])
def test_d33_a_newcomer_waits_for_five_minutes_at_most(driver, version):
    made = stable1(driver, rebalance_ms=900_000)
    newcomer = driver.enter("g", "n", version, rebalance_ms=900_000)
    beat(driver, "g", 1, made.leader, seconds=299)
    assert newcomer.parked
    driver.advance(1)
    assert (newcomer.error, newcomer.response.member_id) == (25, "")
    assert driver.member_ids("g") == [made.leader]
    assert "first JoinGroup" in driver.noted(MemberExpired)[0].why


def test_d33_its_own_heartbeat_makes_that_a_session_timeout(driver):
    made = stable1(driver, rebalance_ms=900_000, session_ms=600_000)
    newcomer = driver.enter("g", "n", rebalance_ms=900_000)
    assert driver.heartbeat("g", newcomer.request.member_id, 1).error == 27
    driver.advance(10)
    assert newcomer.error == 25
    assert driver.member_ids("g") == [made.leader]


def test_d33_a_member_that_waits_again_is_not_a_newcomer(driver):
    made = stable2(driver, rebalance_ms=900_000, session_ms=600_000)
    m1, m2 = made.members
    again = driver.join("g", "m1", member_id=m1, rebalance_ms=900_000, session_ms=600_000)
    beat(driver, "g", 2, m2, seconds=890)
    assert again.parked


def test_f14_a_static_duplicate_in_the_initial_delay_is_no_newcomer(driver):
    driver = Driver.of(group_initial_rebalance_delay_ms=400_000)
    first = driver.join("g", "c", instance="i", rebalance_ms=900_000)
    driver.advance(1)
    second = driver.join("g", "c", instance="i", rebalance_ms=900_000)
    assert (first.error, first.response.member_id) == (82, "i-1")
    driver.advance(398)
    assert second.parked, "neither its session nor five minutes put out who waits again"
    driver.advance(1)
    assert (second.error, second.response.generation_id, second.response.leader) == (0, 1, "i-2")


def test_d38_a_join_sent_again_replaces_the_first_and_keeps_one_member(driver):
    made = preparing(driver)
    (third,) = made.joins
    again = driver.join("g", "m3", member_id=made.members[2])
    assert (third.error, third.response.member_id) == (27, made.members[2])
    assert again.parked
    assert len(driver.member_ids("g")) == 3


def test_d40_a_member_whose_connection_is_gone_leaves_one_session_after_the_generation(driver):
    m1 = completing2(driver).leader
    assert driver.sync("g", m1, 2, {m1: A1}).error == 0
    beat(driver, "g", 2, m1, seconds=9, every=3)
    assert driver.state("g") == "Stable"
    driver.advance(1)
    assert driver.state("g") == "PreparingRebalance"
    assert driver.member_ids("g") == [m1]


def test_d43_a_rejoin_brings_a_new_session_timeout_into_force(driver):
    made = stable1(driver)
    again = driver.join("g", "m1", member_id=made.leader, session_ms=40_000)
    assert again.response.generation_id == 2
    driver.sync("g", made.leader, 2, {made.leader: A1})
    driver.advance(39)
    assert driver.state("g") == "Stable"
    driver.advance(1)
    assert driver.state("g") == "Empty"


def test_no_timer_of_a_group_outlives_it(driver):
    driver.join("g", "a")
    assert driver.delete_groups("g").error == 0
    made = preparing(driver, "h")
    assert driver.noted(PendingMemberExpired) == []
    driver.unload()
    assert made.joins[0].error == 16
    assert driver.coordinator.next_deadline() is None
    assert driver.coordinator.advance(Now(1e6, 10**15)).notes == []
    assert driver.coordinator.tables.groups == {}
