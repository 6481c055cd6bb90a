"""Scenarios with `group.max.size`."""

import pytest

from .driver import Driver
from .situations import A1, A2, completing2, stable2, static2


@pytest.fixture
def driver():
    return Driver.of(group_max_size=2)


def test_e1_in_the_initial_rebalance_the_third_is_refused_at_once(driver):
    kept = [driver.join("g", name, 3) for name in ("a", "b")]
    third = driver.join("g", "c", 3)
    assert (third.error, third.response.member_id) == (81, "")
    driver.advance(6)
    assert [call.error for call in kept] == [0, 0]
    assert len(kept[0].response.members) == 2


def test_e2_ids_are_handed_out_beyond_the_limit_but_only_two_may_use_theirs(driver):
    ids = [driver.join("g", name).response.member_id for name in ("a", "b", "c")]
    calls = [driver.join("g", "x", member_id=member_id) for member_id in ids]
    assert [call.parked for call in calls] == [True, True, False]
    assert (calls[2].error, calls[2].response.member_id) == (81, "")
    # Its id is taken back.
    assert driver.join("g", "x", member_id=ids[2]).error == 81
    driver.advance(6)
    assert driver.join("g", "x", member_id=ids[2]).error == 81


def test_e3_a_full_stable_group_hands_out_no_id(driver):
    stable2(driver)
    refused = driver.join("g", "c")
    assert (refused.error, refused.response.member_id) == (81, "")
    assert driver.state("g") == "Stable"


def test_e3_nor_does_a_completing_one(driver):
    completing2(driver)
    assert driver.join("g", "c").error == 81
    assert driver.state("g") == "CompletingRebalance"


def test_e4_members_of_a_full_group_may_rejoin(driver):
    made = completing2(driver)
    m1, m2 = made.members
    assert driver.join("g", "m2", member_id=m2).error == 0
    held = driver.sync("g", m2, 2)
    driver.sync("g", m1, 2, {m1: A1, m2: A2})
    assert held.error == 0
    assert driver.join("g", "m2", member_id=m2).error == 0
    assert driver.join("g", "m1", member_id=m1).parked
    assert driver.join("g", "m2", member_id=m2).error == 0


def test_e5_in_a_join_phase_the_quickest_count(driver):
    made = stable2(driver)
    m1, m2 = made.members
    driver.reload(group_max_size=1)
    first = driver.join("g", "m2", member_id=m2)
    again = driver.join("g", "m2", member_id=m2)
    assert (first.error, again.parked) == (27, True)
    late = driver.join("g", "m1", member_id=m1)
    assert (late.error, late.response.member_id) == (81, "")
    assert driver.heartbeat("g", m1, 2).error == 25
    assert driver.member_ids("g") == [m2]


def test_e6_static_members_are_limited_the_same_way(driver):
    static2(driver)
    assert driver.join("g", "c3", instance="i3").error == 81
    restart = driver.join("g", "c2", instance="i2")
    assert (restart.error, restart.response.member_id) == (81, "")
    assert driver.state("g") == "Stable"


def test_a_group_that_is_too_large_after_a_restart_shrinks():
    driver = Driver()
    made = stable2(driver)
    m1, m2 = made.members
    driver.reload(group_max_size=1)
    assert driver.state("g") == "PreparingRebalance"
    kept = driver.join("g", "m2", member_id=m2)
    assert driver.join("g", "m1", member_id=m1).error == 81
    assert kept.parked, "nobody looks again whether all are there"
    driver.advance(30)
    assert (kept.error, kept.response.generation_id, kept.response.leader) == (0, 3, m2)


def test_a_group_that_fits_is_left_alone():
    driver = Driver()
    stable2(driver)
    driver.reload(group_max_size=2)
    assert driver.state("g") == "Stable"


def test_a_refused_member_gives_its_place_to_nobody_in_particular(driver):
    """7.3: the check sees only the id, so a group may be joined as soon as somebody is gone."""
    made = stable2(driver)
    driver.leave("g", made.members[1])
    newcomer = driver.enter("g", "c")
    assert newcomer.parked
    first = driver.join("g", "m1", member_id=made.leader)
    assert (first.error, newcomer.error) == (0, 0)
