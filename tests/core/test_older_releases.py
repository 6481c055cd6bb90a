"""What each switch for the releases before Kafka 4 changes, and that nothing else does."""

import pytest

from kcoord.core.behaviour import GROUP_OPERATIONS, Behaviour, OffsetValues, StateNames, TieOrder
from kcoord.core.listing import known_states
from kcoord.core.notes import GroupCreated, GroupDeleted, RebalanceStarted
from kcoord.core.settings import GroupSettings
from wire.errors import ErrorCode

from .driver import EPOCH_MS, Driver, protocols_of
from .situations import A1, A2, completing1, completing2, stable1, stable2, static2


def older(**switches):
    """A coordinator of Kafka 4 but for these switches."""
    return with_settings(Behaviour(**switches))


def with_settings(behaviour, **settings):
    return Driver(GroupSettings(behaviour=behaviour, **settings))


# --- the vote ---


@pytest.mark.parametrize(
    ("order", "ranking"),
    [
        (TieOrder.JAVA, ["sticky", "range", "roundrobin", "cooperative-sticky"]),
        (TieOrder.SCALA_2_13, ["cooperative-sticky", "roundrobin", "range", "sticky"]),
        (TieOrder.SCALA_2_12, ["range", "sticky", "roundrobin", "cooperative-sticky"]),
    ],
)
def test_a_tie_is_decided_by_the_hash_table_of_the_release(order, ranking):
    for nth, winner in enumerate(ranking):
        for loser in ranking[nth + 1 :]:
            driver = older(tie_order=order)
            driver.join("g", "m1", instance="i1", protocols=protocols_of([loser, winner]))
            second = driver.join("g", "m2", instance="i2", protocols=protocols_of([winner, loser]))
            driver.advance(6)
            assert second.response.protocol_name == winner


# --- joining ---


@pytest.mark.parametrize("switch", [False, True])
def test_a_refused_join_group_may_end_the_join_phase(switch):
    driver = with_settings(Behaviour(each_join_may_complete=switch), group_max_size=2)
    m1, m2 = stable2(driver).members
    first = driver.join("g", "m1", member_id=m1)
    assert first.parked
    extra = driver.join("g", "m3", version=3)
    assert extra.parked
    late = driver.join("g", "m2", member_id=m2)
    assert late.error == 81
    assert (first.parked, extra.parked) == (not switch, not switch)
    driver.advance(30)
    assert (first.error, extra.error) == (0, 0)


@pytest.mark.parametrize("switch", [False, True])
def test_newcomers_prolong_the_initial_delay_in_generation_0_only(switch):
    driver = older(only_first_generation_extends=switch)
    driver.enter("g", "m1")
    first = driver.enter("g", "m2")
    driver.advance(3)
    assert first.parked
    driver.advance(3)
    assert first.response.generation_id == 1
    driver.leave("g", "m1-1", first.response.member_id)
    assert driver.state("g") == "Empty"
    generation = driver.inside("g").generation
    assert generation > 0
    third = driver.enter("g", "m3")
    fourth = driver.enter("g", "m4")
    driver.advance(3)
    assert third.parked is fourth.parked is not switch
    driver.advance(3)
    assert (third.error, fourth.error) == (0, 0)


@pytest.mark.parametrize("switch", [False, True])
def test_who_expires_ends_the_initial_delay_early_or_not(switch):
    driver = with_settings(Behaviour(expiry_spares_initial_delay=switch), group_initial_rebalance_delay_ms=20_000)
    driver.join("g", "m1", session_ms=6_000)
    second = driver.join("g", "m2", instance="i2", session_ms=6_000)
    driver.advance(6)
    assert second.parked is switch
    driver.advance(14)
    assert second.error == 0


@pytest.mark.parametrize("switch", [False, True])
def test_after_the_initial_delay_an_expiry_ends_the_join_phase(switch):
    driver = older(expiry_spares_initial_delay=switch)
    m1, m2 = stable2(driver, session_ms=6_000, rebalance_ms=60_000).members
    first = driver.join("g", "m1", member_id=m1, session_ms=6_000, rebalance_ms=60_000)
    driver.advance(5.9)
    assert first.parked
    driver.advance(0.2)
    assert (first.error, driver.member_ids("g")) == (0, [m1])
    assert m2 not in driver.member_ids("g")


@pytest.mark.parametrize("switch", [False, True])
def test_an_expiry_ends_no_join_phase_that_others_have_not_joined(switch):
    driver = older(expiry_spares_initial_delay=switch)
    m1, m2 = stable2(driver, session_ms=20_000, rebalance_ms=60_000).members
    driver.join("g", "m3", session_ms=6_000)
    first = driver.join("g", "m1", member_id=m1, session_ms=20_000, rebalance_ms=60_000)
    driver.advance(6)
    assert first.parked
    assert driver.member_ids("g") == [m1, m2]


@pytest.mark.parametrize("switch", [False, True])
def test_a_static_member_that_restarts_in_its_first_join_phase_has_a_session_or_none(switch):
    driver = with_settings(Behaviour(replaced_member_stays_new=switch), group_initial_rebalance_delay_ms=20_000)
    driver.join("g", "c1", instance="i1", session_ms=6_000)
    back = driver.join("g", "c1", instance="i1", session_ms=6_000)
    driver.advance(6)
    assert back.parked is not switch
    if switch:
        assert back.error == 25
    driver.advance(14)
    assert back.error == (25 if switch else 0)


def test_who_was_not_new_any_more_is_not_new_after_a_restart_either():
    driver = older(replaced_member_stays_new=True)
    s1, s2 = static2(driver, session_ms=6_000, rebalance_ms=60_000).members
    held = driver.join("g", "c2", instance="i2", protocols=protocols_of(["range"], "u"), session_ms=6_000)
    driver.join("g", "c3", instance="i3", rebalance_ms=60_000)
    back = driver.join("g", "c2", instance="i2", session_ms=6_000, rebalance_ms=60_000)
    for _ in range(2):
        driver.advance(5)
        driver.heartbeat("g", s1, 1, instance="i1")
    assert (held.error, back.parked) == (0, True)
    assert s2 not in driver.member_ids("g")


@pytest.mark.parametrize("switch", [False, True])
def test_a_static_member_that_restarts_with_other_protocols_rebalances_or_not(switch):
    driver = older(restarts_never_rebalance=switch)
    s1, s2 = static2(driver, protocols=protocols_of(["range", "roundrobin"])).members
    back = driver.join("g", "c2", 8, instance="i2", protocols=protocols_of(["roundrobin"]))
    assert back.parked is not switch
    if switch:
        assert (back.error, back.response.generation_id, back.response.leader) == (0, 1, s1)
        assert driver.state("g") == "Stable"
        assert driver.sync("g", back.response.member_id, 1, instance="i2").response.assignment == A2
    assert s2 not in driver.member_ids("g")


@pytest.mark.parametrize("switch", [False, True])
def test_a_static_member_that_restarts_in_stable_is_written(switch):
    driver = older(restarts_never_rebalance=switch)
    static2(driver)
    assert driver.join("g", "c2", instance="i2").error == 0
    (record,) = driver.last.records
    assert record.value.current_state_timestamp == driver.inside("g").state_timestamp
    assert driver.state("g") == "Stable"


@pytest.mark.parametrize("switch", [False, True])
def test_a_static_member_that_restarts_before_the_assignments_are_there(switch):
    driver = older(restarts_never_rebalance=switch)
    first = driver.join("g", "c1", instance="i1")
    driver.join("g", "c2", instance="i2")
    driver.advance(6)
    back = driver.join("g", "c2", instance="i2")
    assert back.parked is not switch
    assert driver.state("g") == ("CompletingRebalance" if switch else "PreparingRebalance")
    if switch:
        assert back.response.generation_id == 1
        assert back.response.leader == first.response.member_id
        assert driver.last.records == []


def test_a_static_member_that_restarts_in_a_join_phase_waits_with_the_others():
    driver = older(restarts_never_rebalance=True)
    static2(driver)
    driver.join("g", "c3", instance="i3")
    assert driver.state("g") == "PreparingRebalance"
    assert driver.join("g", "c2", instance="i2").parked


@pytest.mark.parametrize(("switch", "timeouts"), [(False, (20_000, 50_000)), (True, (10_000, 30_000))])
def test_a_member_that_joins_again_has_new_timeouts_or_its_first_ones(switch, timeouts):
    driver = older(rejoining_keeps_timeouts=switch)
    m1 = stable1(driver).leader
    driver.join("g", "m1", member_id=m1, session_ms=20_000, rebalance_ms=50_000)
    member = driver.inside("g").members[m1]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == timeouts


@pytest.mark.parametrize(("switch", "timeouts"), [(False, (20_000, 50_000)), (True, (10_000, 30_000))])
def test_so_has_a_static_member_that_restarts(switch, timeouts):
    driver = older(rejoining_keeps_timeouts=switch)
    static2(driver)
    back = driver.join("g", "c2", instance="i2", session_ms=20_000, rebalance_ms=50_000)
    member = driver.inside("g").members[back.response.member_id]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == timeouts


@pytest.mark.parametrize(("switch", "error"), [(True, 25), (False, 0)])
def test_an_instance_id_that_is_nobodys_is_refused_or_passed_over(switch, error):
    driver = older(checks_unknown_instances=switch)
    m1 = stable1(driver).leader
    static = driver.join("g", "c2", instance="i2")
    assert driver.join("g", "m1", member_id=m1, instance="nobody").error == 25
    driver.join("g", "m1", member_id=m1)
    driver.sync("g", m1, 2, {m1: A1})
    assert static.error == 0
    assert driver.heartbeat("g", m1, 2, instance="nobody").error == error
    assert driver.sync("g", m1, 2, instance="nobody").error == error
    assert driver.commit("g", {("t", 0): 5}, m1, 2, instance="nobody").error == error
    assert driver.heartbeat("g", m1, 2, instance="i2").error == 82
    assert driver.heartbeat("g", "no member", 2, instance="nobody").error == 25
    assert driver.leave("g", (m1, "nobody")).error == error


@pytest.mark.parametrize("switch", [False, True])
def test_who_does_not_sync_is_put_out_or_stays_while_it_heartbeats(switch):
    driver = older(keeps_who_does_not_sync=switch)
    made = completing2(driver, session_ms=100_000, rebalance_ms=10_000)
    assert bool(driver.inside("g").pending_syncs) is not switch
    assert (("sync", "g") in driver.coordinator.tables.timers) is not switch
    driver.advance(60)
    assert driver.member_ids("g") == ([] if not switch else made.members)
    assert driver.state("g") == ("CompletingRebalance" if switch else "Empty")


@pytest.mark.parametrize("generation", [-1, 0])
def test_a_refused_join_group_names_this_generation(generation):
    driver = older(error_generation=generation)
    assert driver.join("g", "m", member_id="nobody").response.generation_id == generation


def test_the_empty_group_id_is_refused_by_join_group_and_unknown_elsewhere():
    driver = older(empty_group_id_refused_by_join_only=True)
    assert driver.join("", "m").error == 24
    assert driver.heartbeat("", "m", 1).error == 25
    assert driver.sync("", "m", 1).error == 25
    assert driver.leave("", "m").response.error_code == 25


# --- the other requests of members ---


@pytest.mark.parametrize(("switch", "error"), [(False, 0), (True, 27)])
def test_a_heartbeat_before_the_assignment_is_there(switch, error):
    driver = older(heartbeats_wait_for_sync=switch)
    m1 = completing1(driver, session_ms=10_000).leader
    driver.advance(5)
    assert driver.heartbeat("g", m1, 1).error == error
    assert driver.heartbeat("g", m1, 9).error == (27 if switch else 22)
    assert driver.heartbeat("g", "nobody", 1).error == 25
    driver.advance(5)
    assert driver.member_ids("g") == ([] if switch else [m1])


def test_a_heartbeat_waits_for_nothing_in_the_other_states():
    driver = older(heartbeats_wait_for_sync=True)
    m1 = stable1(driver).leader
    assert driver.heartbeat("g", m1, 1).error == 0
    assert driver.heartbeat("g", m1, 9).error == 22


@pytest.mark.parametrize("switch", [False, True])
def test_a_sync_group_in_stable_starts_the_session_anew_or_not(switch):
    driver = older(sync_restarts_session=switch)
    m1 = stable1(driver, session_ms=10_000).leader
    driver.advance(6)
    assert driver.sync("g", m1, 1).response.assignment == A1
    driver.advance(6)
    assert driver.member_ids("g") == ([m1] if switch else [])
    driver.advance(4)
    assert driver.member_ids("g") == []


@pytest.mark.parametrize("switch", [False, True])
def test_of_several_that_leave_each_has_its_effect_before_the_next(switch):
    driver = older(leaves_one_by_one=switch)
    m1, m2 = stable2(driver).members
    before = len(driver.noted(RebalanceStarted))
    answer = driver.leave("g", "nobody", m1, m2).response
    assert [(one.member_id, one.error_code) for one in answer.members] == [("nobody", 25), (m1, 0), (m2, 0)]
    reasons = [note.reason for note in driver.noted(RebalanceStarted)[before:]]
    together = [f"explicit removal of {m1}, {m2}"]
    assert reasons == ([f"explicit removal of {m1}"] if switch else together)
    assert driver.state("g") == "Empty"


def test_who_left_by_its_instance_id_is_named_by_it():
    driver = older(leaves_one_by_one=True)
    s1, _ = static2(driver).members
    driver.leave("g", ("", "i2"), s1)
    assert driver.noted(RebalanceStarted)[-1].reason == "explicit removal of i2"


@pytest.mark.parametrize("switch", [False, True])
def test_who_leaves_a_group_that_there_is_not_is_told_so(switch):
    driver = older(leaves_one_by_one=switch)
    answer = driver.leave("nobody", "a", "b").response
    assert [one.error_code for one in answer.members] == [25, 25]


@pytest.mark.parametrize("switch", [False, True])
def test_a_handed_out_id_that_is_given_back_begins_a_rebalance_or_not(switch):
    driver = older(pending_leave_rebalances=switch)
    m1 = stable1(driver).leader
    pending = driver.join("g", "m2").response.member_id
    assert driver.leave("g", pending).error == 0
    assert driver.state("g") == ("PreparingRebalance" if switch else "Stable")
    assert driver.member_ids("g") == [m1]


@pytest.mark.parametrize("switch", [False, True])
def test_a_handed_out_id_that_is_given_back_to_an_empty_group_begins_nothing(switch):
    driver = older(pending_leave_rebalances=switch)
    pending = driver.join("g", "m1").response.member_id
    assert driver.leave("g", pending).error == 0
    assert (driver.state("g"), driver.noted(RebalanceStarted)) == ("Empty", [])


def test_a_member_that_leaves_begins_a_rebalance_whatever_is_handed_out():
    driver = older(pending_leave_rebalances=False)
    m1, m2 = stable2(driver).members
    driver.join("g", "m3")
    assert driver.leave("g", m2).error == 0
    assert (driver.state("g"), driver.member_ids("g")) == ("PreparingRebalance", [m1])


def test_an_id_that_is_given_back_may_end_the_join_phase():
    driver = older(pending_leave_rebalances=False)
    m1 = stable1(driver).leader
    pending = driver.join("g", "m2").response.member_id
    again = driver.join("g", "m1", member_id=m1)
    assert again.parked
    assert driver.leave("g", pending).error == 0
    assert (again.error, again.response.generation_id) == (0, 2)


# --- offsets ---


@pytest.mark.parametrize(("switch", "version", "error"), [(True, 9, 69), (True, 8, 22), (False, 9, 22), (False, 8, 22)])
def test_a_commit_of_a_generation_to_a_group_that_there_is_not(switch, version, error):
    driver = older(names_unknown_group=switch)
    assert driver.commit("g", {("t", 0): 5}, "m", 1, version=version).error == error


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_COMMIT_OFFSET_SIZE])
def test_a_commit_that_is_too_large_for_a_batch(error):
    driver = with_settings(Behaviour(too_large_commit=error), message_max_bytes=100)
    assert driver.commit("g", {("t", 0): 5}).error == error
    assert driver.offset("g") == -1


@pytest.mark.parametrize("switch", [False, True])
def test_a_group_without_members_goes_with_its_last_offset_or_stays(switch):
    driver = older(last_offset_takes_group=switch)
    driver.commit("g", {("t", 0): 5, ("t", 1): 6})
    driver.offset_delete("g", {"t": [0]})
    assert driver.state("g") == "Empty"
    driver.offset_delete("g", {"t": [1]})
    assert driver.describe("g", version=5).response.groups[0].group_state == ("Dead" if switch else "Empty")
    assert driver.noted(GroupDeleted) == ([GroupDeleted(group="g", why="nothing left in it")] if switch else [])
    assert ("g" in driver.coordinator.tables.groups) is not switch


def test_a_group_with_members_or_without_any_deletion_stays():
    driver = older(last_offset_takes_group=True)
    m1 = stable1(driver).leader
    driver.commit("g", {("u", 0): 5}, m1, 1)
    assert driver.offset_delete("g", {"u": [0]}).error == 0
    assert (driver.state("g"), driver.offset("g", "u")) == ("Stable", -1)
    driver.join("h", "m1")
    driver.offset_delete("h", {"u": [0]})
    assert driver.state("h") == "Empty"


@pytest.mark.parametrize("switch", [False, True])
def test_when_topics_are_deleted_groups_go_that_have_nothing_left(switch):
    driver = older(last_offset_takes_group=switch)
    driver.commit("all", {("t", 0): 5})
    driver.commit("some", {("t", 0): 5, ("u", 0): 5})
    driver.join("bare", "m1")
    stable1(driver, "members")
    driver.delete_topics("t")
    left = ["some", "members"] if switch else ["all", "some", "bare", "members"]
    assert sorted(driver.coordinator.tables.groups) == sorted(left)
    assert {note.group for note in driver.noted(GroupDeleted)} == ({"all", "bare"} if switch else set())


# --- what is stored, and told ---


@pytest.mark.parametrize(("switch", "records"), [(False, 1), (True, 0)])
def test_nothing_is_written_of_a_group_before_its_first_assignment(switch, records):
    driver = older(stores_from_first_generation=switch)
    driver.join("g", "m1")
    assert len(driver.last.records) == records
    assert driver.noted(GroupCreated) == [GroupCreated(group="g")]
    assert driver.inside("g").state_timestamp == EPOCH_MS
    assert driver.inside("g").behaviour is driver.settings.behaviour
    assert driver.state("g") == "Empty"
    assert [one.group_id for one in driver.list().response.groups] == ["g"]
    driver.reload()
    assert ("g" in driver.coordinator.tables.groups) is not switch


def test_a_group_is_brought_into_being_at_the_time_of_the_request():
    driver = older(stores_from_first_generation=True)
    driver.advance(7)
    driver.join("g", "m1")
    assert driver.inside("g").state_timestamp == EPOCH_MS + 7_000


@pytest.mark.parametrize(("switch", "listed"), [(False, []), (True, ["g"])])
def test_a_group_whose_commit_keeps_nothing_is_seen_at_once_or_not(switch, listed):
    driver = older(stores_from_first_generation=switch)
    driver.advance(7)
    driver.commit("g", {("t", 0): 5}, metadata="x" * 5_000)
    assert driver.last.records == []
    assert [one.group_id for one in driver.list().response.groups] == listed
    assert driver.inside("g").state_timestamp == EPOCH_MS + 7_000


@pytest.mark.parametrize(("switch", "records"), [(False, 1), (True, 0)])
def test_a_group_that_was_never_stored_is_deleted_without_a_record(switch, records):
    driver = older(stores_from_first_generation=switch)
    driver.join("g", "m1")
    assert driver.delete_groups("g").error == 0
    assert len(driver.last.records) == records
    assert driver.last.notes == [GroupDeleted(group="g", why="asked for")]
    assert "g" not in driver.coordinator.tables.groups
    assert (
        driver.coordinator.next_deadline() is None or ("session", "g", "m1-1") not in driver.coordinator.tables.timers
    )


def test_a_group_that_had_a_generation_is_deleted_with_a_record():
    driver = older(stores_from_first_generation=True)
    driver.leave("g", stable1(driver).leader)
    assert driver.delete_groups("g").error == 0
    (record,) = driver.last.records
    assert (record.key.group, record.value) == ("g", None)


@pytest.mark.parametrize("switch", [False, True])
def test_assignments_are_described_always_or_in_stable_only(switch):
    driver = older(assignments_in_stable_only=switch)
    stable2(driver)
    told = [one.member_assignment for one in driver.describe("g").response.groups[0].members]
    assert told == [A1, A2]
    driver.enter("g", "m3")
    told = [one.member_assignment for one in driver.describe("g").response.groups[0].members]
    assert told == ([b"", b"", b""] if switch else [A1, A2, b""])


@pytest.mark.parametrize(("given", "told"), [({}, 3_400), ({"group_operations": 328}, 328)])
def test_what_may_be_done_with_a_group(given, told):
    driver = older(**given)
    stable1(driver)
    assert GROUP_OPERATIONS == 3_400
    assert driver.describe("g", operations=True).response.groups[0].authorized_operations == told
    assert driver.describe("g").response.groups[0].authorized_operations == -(2**31)


@pytest.mark.parametrize(
    ("how", "matching"),
    [
        (StateNames.EXACTLY, ["Empty"]),
        (StateNames.ANY_CASE, ["Empty", "eMPTY"]),
        (StateNames.ANY_CASE_TRIMMED, ["Empty", "eMPTY", " Empty\t"]),
    ],
)
def test_how_a_filter_names_states(how, matching):
    driver = older(state_names=how)
    driver.commit("g", {("t", 0): 5})
    stable1(driver, "h")
    found = {
        name: [one.group_id for one in driver.list(states=[name]).response.groups]
        for name in ("Empty", "eMPTY", " Empty\t", "Emp")
    }
    assert found == {name: ["g"] if name in matching else [] for name in found}
    both = driver.list(states=["Empty", "Stable", "nothing"]).response.groups
    assert sorted(one.group_id for one in both) == ["g", "h"]


def test_the_state_before_the_assignments_are_there_had_another_name():
    driver = older(completing_rebalance="AwaitingSync")
    m1 = completing1(driver).leader
    assert driver.state("g") == "AwaitingSync"
    assert [one.group_state for one in driver.list().response.groups] == ["AwaitingSync"]
    driver.sync("g", m1, 1, {m1: A1})
    assert driver.state("g") == "Stable"
    assert [one.group_state for one in driver.list().response.groups] == ["Stable"]


def test_the_defaults_are_those_of_kafka_4():
    assert known_states([" empty"], Behaviour()) == known_states([" empty"]) == {"Empty"}
    assert Behaviour() == Behaviour(
        tie_order=TieOrder.JAVA,
        each_join_may_complete=False,
        only_first_generation_extends=False,
        expiry_spares_initial_delay=False,
        replaced_member_stays_new=False,
        restarts_never_rebalance=False,
        rejoining_keeps_timeouts=False,
        checks_unknown_instances=True,
        keeps_who_does_not_sync=False,
        error_generation=-1,
        empty_group_id_refused_by_join_only=False,
        heartbeats_wait_for_sync=False,
        sync_restarts_session=False,
        leaves_one_by_one=False,
        pending_leave_rebalances=True,
        names_unknown_group=True,
        too_large_commit=ErrorCode.UNKNOWN_SERVER_ERROR,
        offset_values=OffsetValues.WITH_TOPIC_ID,
        deletes_as_a_whole=True,
        last_offset_takes_group=False,
        entries_once=False,
        skips_empty_topics=False,
        fetches_groups_once=False,
        stores_from_first_generation=False,
        group_records_unnumbered=False,
        assignments_in_stable_only=False,
        group_operations=3_400,
        state_names=StateNames.ANY_CASE_TRIMMED,
        completing_rebalance="CompletingRebalance",
        describes_once=False,
        sync_while_loading=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        session_bounds_first=True,
        lists_while_loading=False,
    )


def test_a_restored_group_keeps_to_the_release_too():
    driver = older(checks_unknown_instances=False)
    m1 = stable1(driver).leader
    driver.reload()
    assert driver.heartbeat("g", m1, 1, instance="nobody").error == 0
