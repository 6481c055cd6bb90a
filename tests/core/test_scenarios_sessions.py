"""Scenarios of the sync deadline and of sessions, in which time has to pass. It costs none here."""

from .driver import Driver
from .situations import A1, A2, beat, completing2, preparing, stable1, stable2, static2

# --- the sync deadline ---


def test_g23_a_leader_that_dies_before_syncing_frees_the_followers(driver):
    made = completing2(driver)
    m1, m2 = made.members
    waiting = driver.sync("g", m2, 2)
    driver.advance(9.875)
    assert waiting.parked
    driver.advance(0.125)
    assert (waiting.error, waiting.response.assignment) == (27, b"")
    assert driver.heartbeat("g", m1, 2).error == 25


def test_g24_a_leader_that_beats_but_does_not_sync_is_put_out_at_the_deadline(driver):
    made = completing2(driver)
    m1, m2 = made.members
    waiting = driver.sync("g", m2, 2)
    beat(driver, "g", 2, m1, seconds=29, every=1)
    assert waiting.parked
    driver.advance(1)
    assert waiting.error == 27
    assert driver.heartbeat("g", m1, 2).error == 25
    assert driver.heartbeat("g", m2, 2).error == 27


def test_g25_a_follower_that_beats_but_does_not_sync_is_put_out_of_the_stable_group(driver):
    made = completing2(driver)
    m1, m2 = made.members
    driver.sync("g", m1, 2, {m1: A1, m2: A2})
    beat(driver, "g", 2, m1, m2, seconds=29, every=1)
    assert driver.state("g") == "Stable"
    driver.advance(1)
    assert driver.heartbeat("g", m2, 2).error == 25
    assert driver.heartbeat("g", m1, 2).error == 27


def test_g26_nobody_syncs_and_everybody_is_put_out(driver):
    made = completing2(driver)
    beat(driver, "g", 2, *made.members, seconds=29, every=1)
    driver.advance(1)
    assert [driver.heartbeat("g", member_id, 2).error for member_id in made.members] == [25, 25]
    assert driver.state("g") == "Empty"
    assert driver.inside("g").generation == 3


def test_g27_everybody_syncs_and_nothing_happens_at_the_deadline(driver):
    made = stable2(driver)
    beat(driver, "g", 2, *made.members, seconds=60)
    assert driver.state("g") == "Stable"


def test_g28_who_waits_in_sync_does_not_expire(driver):
    made = completing2(driver, session_ms=10_000)
    m1, m2 = made.members
    waiting = driver.sync("g", m2, 2)
    beat(driver, "g", 2, m1, seconds=25, every=5)
    assert waiting.parked
    assert driver.sync("g", m1, 2, {m2: A2}).error == 0
    assert waiting.response.assignment == A2


def test_c31_in_version_0_the_session_timeout_is_the_rebalance_timeout(driver):
    call = driver.join("g", "m", 0, session_ms=20_000)
    driver.advance(3)
    beat(driver, "g", 1, call.response.member_id, seconds=19, every=1)
    assert driver.state("g") == "CompletingRebalance"
    driver.advance(1)
    assert driver.state("g") == "Empty"


def test_g29_a_leader_that_leaves_frees_the_followers(driver):
    made = completing2(driver)
    m1, m2 = made.members
    waiting = driver.sync("g", m2, 2)
    driver.leave("g", m1)
    assert waiting.error == 27
    again = driver.join("g", "m2", member_id=m2)
    assert (again.response.leader, again.response.generation_id) == (m2, 3)


def test_a_member_that_leaves_while_it_waits_in_sync_is_answered(driver):
    made = completing2(driver)
    waiting = driver.sync("g", made.members[1], 2)
    driver.leave("g", made.members[1])
    assert waiting.error == 25


def test_g32_a_sync_sent_again_takes_the_place_of_the_first(driver):
    made = completing2(driver)
    m1, m2 = made.members
    first = driver.sync("g", m2, 2)
    second = driver.sync("g", m2, 2)
    assert first.error == 27
    driver.sync("g", m1, 2, {m2: A2})
    assert second.response.assignment == A2


# --- sessions ---


def test_h13_a_silent_member_is_removed_after_its_session_timeout(driver):
    made = stable1(driver)
    driver.advance(9.875)
    assert driver.state("g") == "Stable"
    driver.advance(0.125)
    assert driver.state("g") == "Empty"
    assert driver.inside("g").generation == 2
    assert driver.heartbeat("g", made.leader, 1).error == 25


def test_h14_heartbeats_keep_the_member(driver):
    made = stable1(driver)
    beat(driver, "g", 1, made.leader, seconds=30, every=5)
    assert driver.state("g") == "Stable"


def test_h15_heartbeats_in_a_join_phase_keep_the_session(driver):
    made = preparing(driver)
    m1, m2, _ = made.members
    for _ in range(5):
        driver.advance(5)
        assert [driver.heartbeat("g", member_id, 2).error for member_id in (m1, m2)] == [27, 27]
    assert set(driver.member_ids("g")) == set(made.members)


def test_h16_a_commit_keeps_the_session(driver):
    made = stable1(driver)
    for offset in range(6):
        driver.advance(5)
        assert driver.commit("g", {("t", 0): offset}, made.leader, 1).error == 0
    assert driver.state("g") == "Stable"


def test_h17_fetching_describing_and_failing_heartbeats_do_not(driver):
    made = stable1(driver)
    driver.advance(9)
    driver.fetch("g")
    driver.describe("g")
    assert driver.heartbeat("g", made.leader, 2).error == 22
    assert driver.heartbeat("g", made.leader, 1, instance="i").error == 25
    assert driver.commit("g", {("t", 0): 1}, made.leader, 0).error == 22
    driver.advance(1)
    assert driver.state("g") == "Empty"


def test_h18_the_others_learn_of_an_expiry_and_go_on_alone(driver):
    m1 = stable2(driver).leader
    beat(driver, "g", 2, m1, seconds=10, every=5)
    assert driver.heartbeat("g", m1, 2).error == 27
    again = driver.join("g", "m1", member_id=m1)
    assert again.response.generation_id == 3
    assert [member.member_id for member in again.response.members] == [m1]


def test_h19_a_session_starts_anew_when_the_join_phase_ends(driver):
    made = preparing(driver, session_ms=10_000)
    m1, m2, _ = made.members
    first = driver.join("g", "m1", member_id=m1)
    beat(driver, "g", 2, m2, seconds=25, every=5)
    second = driver.join("g", "m2", member_id=m2)
    assert (first.error, second.error) == (0, 0)
    driver.advance(9.875)
    assert driver.state("g") == "CompletingRebalance"
    driver.advance(0.125)
    assert driver.state("g") != "CompletingRebalance"


def test_h20_each_member_has_its_own_session_timeout(driver):
    short = driver.join("g", "short", 3, session_ms=6_000)
    long = driver.join("g", "long", 3, session_ms=30_000)
    driver.advance(6)
    s, long_id = short.response.member_id, long.response.member_id
    driver.sync("g", long_id, 1)
    driver.sync("g", s, 1, {s: A1})
    driver.advance(6)
    assert driver.member_ids("g") == [long_id]
    driver.advance(24)
    assert driver.state("g") == "Empty"


def test_h21_a_sync_answered_after_waiting_starts_the_session_anew(driver):
    made = completing2(driver)
    m1, m2 = made.members
    driver.sync("g", m2, 2)
    driver.advance(8)
    driver.sync("g", m1, 2, {m1: A1, m2: A2})
    driver.advance(9)
    assert driver.state("g") == "Stable", "17 s after the generation was formed, 9 s after the sync"
    driver.advance(1)
    assert driver.state("g") == "Empty"


def test_h21_also_when_it_is_answered_with_rebalance_in_progress(driver):
    made = completing2(driver)
    m1, m2 = made.members
    waiting = driver.sync("g", m2, 2)
    driver.advance(8)
    driver.heartbeat("g", m1, 2)
    driver.enter("g", "m3")
    assert waiting.error == 27
    driver.advance(9)
    assert set(driver.member_ids("g")) >= {m1, m2}
    driver.advance(1)
    assert not {m1, m2} & set(driver.member_ids("g"))


def test_h22_a_sync_answered_at_once_does_not(driver):
    made = stable1(driver)
    driver.advance(9)
    assert driver.sync("g", made.leader, 1).error == 0
    driver.advance(1)
    assert driver.state("g") == "Empty"


def test_h23_the_expiry_of_the_last_one_missing_completes_the_join_phase(driver):
    made = preparing(driver)
    m1, _, m3 = made.members
    first = driver.join("g", "m1", member_id=m1)
    driver.advance(9.875)
    assert first.parked
    driver.advance(0.125)
    assert first.response.generation_id == 3
    assert {member.member_id for member in first.response.members} == {m1, m3}


def test_5_2_a_rejoin_does_not_restart_the_session(driver):
    made = stable2(driver)
    m1, m2 = made.members
    beat(driver, "g", 2, m1, seconds=9, every=3)
    assert driver.join("g", "m2", member_id=m2).error == 0
    driver.advance(1)
    assert driver.member_ids("g") == [m1]


def test_f18_a_static_member_that_stays_away_is_removed(driver):
    made = static2(driver)
    s1, s2 = made.members
    beat(driver, "g", 1, s1, seconds=10, every=5)
    assert driver.heartbeat("g", s1, 1, instance="i1").error == 27
    assert driver.member_ids("g") == [s1]
    assert driver.heartbeat("g", s2, 1, instance="i2").error == 25


def test_f18_one_that_restarts_in_time_has_its_old_session_timeout_until_the_next_generation(driver):
    s1 = static2(driver, session_ms=10_000).leader
    driver.advance(8)
    driver.heartbeat("g", s1, 1)
    back = driver.join("g", "c2", instance="i2", session_ms=60_000).response.member_id
    driver.advance(9)
    driver.heartbeat("g", s1, 1)
    assert back in driver.member_ids("g")
    driver.advance(1)
    assert driver.member_ids("g") == [s1]


def test_an_expiry_may_complete_an_initial_rebalance_early(driver):
    """25.7: unlike a leave, an expiry does not look at the initial delay."""
    driver = Driver.of(group_initial_rebalance_delay_ms=60_000)
    pending = driver.join("g", "p", session_ms=6_000)
    call = driver.enter("g", "a")
    driver.advance(6)
    assert pending.error == 79
    assert (call.error, call.response.generation_id) == (0, 1)
