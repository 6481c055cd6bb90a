"""Scenarios of retention; it is 10 minutes here and looked after every minute."""

import pytest

from kcoord.core.notes import GroupDeleted, OffsetsExpired
from wire.payloads import GroupMetadataKey, GroupMetadataValue

from .driver import Driver, Record, sub
from .situations import A1, preparing, stable1, stable2

MINUTE = 60.0


@pytest.fixture
def driver():
    return Driver.of(offsets_retention_minutes=10, offsets_retention_check_interval_ms=60_000)


def keep_alive(driver, group, member_id, generation, minutes):
    for _ in range(round(minutes * 12)):
        driver.advance(5)
        assert driver.heartbeat(group, member_id, generation).error == 0


def test_r1_offsets_of_a_simple_group_go_one_retention_after_the_commit_and_the_group_with_them(driver):
    driver.advance(30)
    driver.commit("g", {("t", 0): 1})
    driver.advance(10 * MINUTE - 30)
    assert driver.offset("g") == 1, "looked at after 9 minutes and a half"
    driver.advance(MINUTE)
    assert driver.offset("g") == -1
    assert driver.state("g") == "Dead"
    assert [note.partitions for note in driver.noted(OffsetsExpired)] == [1]
    assert [note.group for note in driver.noted(GroupDeleted)] == ["g"]


def test_r2_offsets_of_a_group_that_had_members_go_one_retention_after_it_became_empty(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1}, made.leader, 1)
    keep_alive(driver, "g", made.leader, 1, 15)
    driver.leave("g", made.leader)
    emptied = driver.now.mono
    driver.advance(9 * MINUTE)
    assert driver.offset("g") == 1
    driver.advance(2 * MINUTE)
    assert driver.offset("g") == -1
    assert driver.now.mono - emptied == 11 * MINUTE


def test_r3_of_a_stable_consumer_group_only_unsubscribed_topics_expire(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1, ("u", 0): 2}, made.leader, 1)
    keep_alive(driver, "g", made.leader, 1, 9)
    assert (driver.offset("g", "t"), driver.offset("g", "u")) == (1, 2)
    keep_alive(driver, "g", made.leader, 1, 2)
    assert (driver.offset("g", "t"), driver.offset("g", "u")) == (1, -1)
    assert driver.state("g") == "Stable"


def test_r3_what_cannot_be_read_counts_as_subscribed_to_everything(driver):
    made = stable1(driver, protocols=(("range", b""),))
    driver.commit("g", {("t", 0): 1}, made.leader, 1)
    keep_alive(driver, "g", made.leader, 1, 20)
    assert driver.offset("g") == 1


def test_r4_of_another_kind_of_stable_group_nothing_expires(driver):
    made = stable1(driver, protocol_type="connect", protocols=(("default", b""),))
    driver.commit("g", {("t", 0): 1}, made.leader, 1)
    driver.commit("g", {("t", 1): 1}, made.leader, 1, 4, retention_ms=1)
    keep_alive(driver, "g", made.leader, 1, 20)
    assert (driver.offset("g"), driver.offset("g", "t", 1)) == (1, 1)


@pytest.mark.parametrize("completing", [False, True])
def test_r5_amid_a_rebalance_nothing_expires(driver, completing):
    long = {"session_ms": 1_800_000, "rebalance_ms": 1_800_000}
    made = stable2(driver, **long)
    driver.commit("g", {("u", 0): 1}, made.leader, 2)
    driver.commit("g", {("u", 1): 1}, made.leader, 2, 4, retention_ms=1)
    first = driver.join("g", "m1", member_id=made.leader, **long)
    if completing:
        driver.join("g", "m2", member_id=made.members[1], **long)
        assert first.error == 0
    driver.advance(20 * MINUTE)
    assert driver.state("g") == ("CompletingRebalance" if completing else "PreparingRebalance")
    assert (driver.offset("g", "u"), driver.offset("g", "u", 1)) == (1, 1)


def test_r6_an_empty_group_without_offsets_goes_at_the_next_look(driver):
    driver.advance(30)
    pending = driver.join("g", "a", session_ms=600_000).response.member_id
    driver.advance(29)
    assert driver.state("g") == "Empty"
    driver.advance(1)
    assert driver.state("g") == "Dead"
    assert driver.join("g", "a", member_id=pending).error == 25
    driver.advance(700)


def test_r7_committing_again_refreshes_that_partition_of_a_simple_group(driver):
    driver.commit("g", {("t", 0): 1, ("t", 1): 1})
    driver.advance(6 * MINUTE)
    driver.commit("g", {("t", 0): 2})
    driver.advance(5 * MINUTE)
    assert (driver.offset("g"), driver.offset("g", "t", 1)) == (2, -1)
    driver.advance(5 * MINUTE)
    assert driver.state("g") == "Dead"


def test_r7_and_of_an_unsubscribed_topic_of_a_stable_group(driver):
    made = stable1(driver)
    driver.commit("g", {("u", 0): 1, ("u", 1): 1}, made.leader, 1)
    keep_alive(driver, "g", made.leader, 1, 6)
    driver.commit("g", {("u", 0): 2}, made.leader, 1)
    keep_alive(driver, "g", made.leader, 1, 5)
    assert (driver.offset("g", "u"), driver.offset("g", "u", 1)) == (2, -1)


def test_r7_but_nothing_of_an_empty_group_that_had_members(driver):
    made = stable1(driver)
    driver.leave("g", made.leader)
    driver.commit("g", {("t", 0): 1})
    driver.advance(9 * MINUTE)
    driver.commit("g", {("t", 0): 2})
    driver.advance(2 * MINUTE)
    assert driver.state("g") == "Dead"


@pytest.mark.parametrize("simple", [False, True])
def test_r8_an_expiry_of_its_own_overrides_the_retention(driver, simple):
    if not simple:
        driver.leave("g", stable1(driver).leader)
    driver.commit("g", {("t", 0): 1}, version=4, retention_ms=1)
    driver.commit("g", {("t", 1): 1}, version=4, retention_ms=20 * 60_000)
    driver.advance(MINUTE)
    assert (driver.offset("g"), driver.offset("g", "t", 1)) == (-1, 1)
    driver.advance(18 * MINUTE)
    assert driver.offset("g", "t", 1) == 1
    driver.advance(2 * MINUTE)
    assert driver.state("g") == "Dead"


def test_r8_not_for_a_topic_that_is_subscribed(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1, ("u", 0): 1}, made.leader, 1, 4, retention_ms=1)
    keep_alive(driver, "g", made.leader, 1, 1)
    assert (driver.offset("g", "t"), driver.offset("g", "u")) == (1, -1)


def test_a_retention_of_1_ms_is_the_old_versions_alone(driver):
    driver.commit("old", {("t", 0): 1}, version=2, retention_ms=1)
    driver.commit("new", {("t", 0): 1}, version=5)
    driver.advance(MINUTE)
    assert (driver.offset("old"), driver.offset("new")) == (-1, 1)


def test_r9_a_retention_that_overflows_32_bits_expires_nothing_early():
    driver = Driver.of(offsets_retention_minutes=35_791_395)
    assert driver.settings.offsets_retention_ms > 2**31
    driver.commit("g", {("t", 0): 1})
    driver.advance(86_400.0)
    assert driver.offset("g") == 1


def test_19_2_an_old_record_that_does_not_say_since_when_counts_from_the_commit(driver):
    value = GroupMetadataValue(protocol_type="consumer", generation=3, current_state_timestamp=-1, members=())
    driver.advance(20 * MINUTE)
    driver.commit("g", {("t", 0): 1})
    driver.records.append(Record(GroupMetadataKey(group="g"), value))
    driver.reload()
    assert driver.inside("g").state_timestamp == -1
    driver.advance(9 * MINUTE)
    assert driver.offset("g") == 1
    driver.advance(MINUTE)
    assert driver.state("g") == "Dead"


def test_a_first_rebalance_consumes_everything_so_nothing_expires(driver):
    """3.12: before the first generation a consumer group counts as subscribed to all topics."""
    driver.commit("g", {("t", 0): 1})
    driver.advance(9.5 * MINUTE)
    driver.enter("g", "a", protocols=(("range", sub("u")),), session_ms=60_000)
    driver.advance(2)
    assert driver.offset_delete("g", {"t": [0]}).error == 86
    assert driver.state("g") == "PreparingRebalance"
    driver.advance(1)
    made = driver.member_ids("g")[0]
    driver.sync("g", made, 1, {made: A1})
    driver.advance(40)
    assert driver.offset("g") == -1


def test_the_look_goes_on_every_minute(driver):
    for _ in range(3):
        driver.join("g", "a")
        assert driver.state("g") == "Empty"
        driver.advance(MINUTE)
        assert driver.state("g") == "Dead"
    assert preparing(driver, "h").generation == 2
