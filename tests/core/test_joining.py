"""What JoinGroup answers say, and what joining keeps."""

import pytest

from kcoord.core.notes import GroupCreated, JoinRefused, MemberFenced, MemberJoined, StaticMemberReplaced
from wire.messages import JoinGroupResponse

from .driver import Driver, protocols_of, sub
from .situations import A1, A2, completing1, completing2, preparing, stable1, stable2, static2

VERSIONS = range(10)
FIXED = protocols_of(["range"])


def error_answer(version, error, member_id):
    """An error says nothing else; before version 7 it cannot say that there is no protocol."""
    return JoinGroupResponse(
        error_code=error,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None if version >= 7 else "",
        leader="",
        member_id=member_id,
    )


# --- admission ---


@pytest.mark.parametrize("version", range(4, 10))
def test_c1_from_version_4_on_a_newcomer_is_given_an_id(driver, version):
    call = driver.join("g", "client", version)
    assert call.response == error_answer(version, 79, "client-1")
    assert driver.state("g") == "Empty"


@pytest.mark.parametrize("version", range(4))
def test_c3_before_it_is_let_in_at_once(driver, version):
    call = driver.join("g", "client", version)
    assert call.parked
    driver.advance(3)
    assert (call.error, call.response.generation_id, call.response.member_id) == (0, 1, "client-1")


@pytest.mark.parametrize("version", range(5, 10))
def test_c4_a_static_member_is_let_in_at_once_and_named_for_its_instance(driver, version):
    call = driver.join("g", "client", version, instance="i1")
    driver.advance(3)
    assert (call.error, call.response.member_id) == (0, "i1-1")
    (only,) = call.response.members
    assert only.group_instance_id == "i1"


@pytest.mark.parametrize("version", VERSIONS)
def test_c2_c5_c6_the_whole_answer_of_a_first_member(driver, version):
    call = driver.enter("g", "m", version, protocols=FIXED)
    driver.advance(3)
    told = call.response
    assert (told.error_code, told.generation_id, told.leader, told.member_id) == (0, 1, "m-1", "m-1")
    assert told.protocol_name == "range"
    assert told.protocol_type == ("consumer" if version >= 7 else None)
    assert told.skip_assignment is False
    assert [(one.member_id, one.group_instance_id, one.metadata) for one in told.members] == [("m-1", None, sub("t"))]


def test_c7_each_newcomer_is_given_another_id(driver):
    assert driver.join("g", "m").response.member_id != driver.join("g", "m").response.member_id


@pytest.mark.parametrize("version", VERSIONS)
def test_c8_a_group_must_have_a_name(driver, version):
    assert driver.join("", "m", version, member_id="x").response == error_answer(version, 24, "x")
    assert driver.list().response.groups == []


@pytest.mark.parametrize(("session_ms", "fine"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)])
def test_c9_c10_the_bounds_of_the_session_timeout_are_included(driver, session_ms, fine):
    call = driver.join("g", "m", 3, session_ms=session_ms, rebalance_ms=10_000)
    if fine:
        assert call.parked
    else:
        assert call.response == error_answer(3, 26, "")


def test_c11_the_name_is_looked_at_before_the_session_timeout(driver):
    assert driver.join("", "m", session_ms=1).error == 24


def test_c12_c13_what_is_refused_before_the_group_is_looked_at_does_not_create_it(driver):
    assert driver.join("g", "m", member_id="x-1", session_ms=1).response == error_answer(9, 26, "x-1")
    assert driver.join("g", "m", member_id="x-1").response == error_answer(9, 25, "x-1")
    assert driver.join("g", "m", member_id="x-1", instance="i").error == 25
    assert driver.list().response.groups == []
    assert driver.records == []
    assert [note.error for note in driver.noted(JoinRefused)] == [
        "INVALID_SESSION_TIMEOUT",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_MEMBER_ID",
    ]


@pytest.mark.parametrize("how", [{"protocol_type": ""}, {"protocols": ()}, {"protocols": (), "instance": "i"}])
def test_c16_c17_a_type_and_a_protocol_must_be_named(driver, how):
    assert driver.join("g", "m", **how).response == error_answer(9, 23, "")
    assert driver.noted(GroupCreated) == [GroupCreated(group="g")], "the group is there all the same"
    assert driver.state("g") == "Empty"


def test_c18_c19_c20_the_protocols_are_looked_at_before_the_membership(driver):
    stable1(driver)
    assert driver.join("g", "x", protocol_type="connect").response == error_answer(9, 23, "")
    assert driver.join("g", "x", protocols=protocols_of(["sticky"])).response == error_answer(9, 23, "")
    unknown = driver.join("g", "x", member_id="x-9", protocol_type="connect")
    assert unknown.response == error_answer(9, 23, "x-9")
    assert driver.join("g", "x", member_id="x-9").response == error_answer(9, 25, "x-9")


def test_c22_a_refused_id_is_still_reserved(driver):
    stable1(driver)
    pending = driver.join("g", "p").response.member_id
    assert driver.join("g", "p", member_id=pending, protocol_type="connect").response == error_answer(9, 23, pending)
    assert driver.join("g", "p", member_id=pending).parked


def test_c23_a_handed_out_id_is_not_for_static_members(driver):
    pending = driver.join("g", "p").response.member_id
    assert driver.join("g", "p", member_id=pending, instance="i").response == error_answer(9, -1, "")


def test_c24_an_empty_group_may_change_its_type(driver):
    made = stable1(driver)
    driver.leave("g", made.leader)
    call = driver.enter("g", "w", protocol_type="connect", protocols=(("default", b"x"),))
    driver.advance(3)
    assert (call.response.protocol_type, call.response.generation_id) == ("connect", 3)
    assert driver.offset_delete("g", {"t": [0]}).error == 68


def test_c27_a_handed_out_id_disturbs_nobody(driver):
    made = stable1(driver)
    driver.join("g", "p")
    assert driver.state("g") == "Stable"
    assert driver.heartbeat("g", made.leader, 1).error == 0


def test_c28_empty_metadata_reaches_the_leader(driver):
    made = completing1(driver, protocols=(("range", b""),))
    again = driver.join("g", "m", member_id=made.leader, protocols=(("range", b""),))
    assert [one.metadata for one in again.response.members] == [b""]


@pytest.mark.parametrize("reason", [None, "", "x" * 300])
def test_c29_a_reason_is_kept_for_the_record(driver, reason):
    driver.enter("g", "m", reason=reason)
    assert driver.noted(MemberJoined)[0].reason == (reason or "not provided")


@pytest.mark.parametrize("group", ["ü" * 300, "a b", "x" * 300, "😀"])
def test_c32_any_name_will_do(driver, group):
    assert stable1(driver, group).driver.state(group) == "Stable"


def test_c33_to_c37_static_ids_and_instances(driver):
    s1, s2 = static2(driver).members
    assert driver.join("g", "c", member_id=s1, instance="i9").response == error_answer(9, 25, s1)
    assert driver.join("g", "c", member_id=s2, instance="i1").response == error_answer(9, 82, s2)
    assert driver.join("g", "c", member_id="bogus", instance="i1").response == error_answer(9, 82, "bogus")
    assert driver.join("g", "c", member_id=s2).error == 0
    assert [note.instance for note in driver.noted(MemberFenced)] == ["i1", "i1"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_protocol_without_a_name_is_told_as_none(driver, version):
    """7.15."""
    call = driver.enter("g", "m", version, protocols=(("", b"x"),))
    driver.advance(3)
    assert call.response.protocol_name == (None if version >= 7 else "")
    assert [one.metadata for one in call.response.members] == [b"x"]
    driver.sync("g", call.response.member_id, 1, {call.response.member_id: A1})
    driver.reload()
    assert driver.sync("g", call.response.member_id, 1).response.assignment == A1


# --- rebalancing ---


def test_d6_the_leader_is_told_of_everybody_once_a_follower_of_nobody(driver):
    made = completing2(driver)
    joins = [call for call in driver.calls if getattr(call.response, "generation_id", 0) == 2]
    told = {call.response.member_id: call.response for call in joins}
    leader, follower = (told[name] for name in made.members)
    assert [one.member_id for one in leader.members] == made.members
    assert follower.members == []
    for name in ("generation_id", "leader", "protocol_name", "protocol_type"):
        assert getattr(leader, name) == getattr(follower, name)


def test_d10_a_leader_alone_is_answered_at_once_with_the_next_generation(driver):
    made = stable1(driver)
    assert driver.join("g", "m1", member_id=made.leader).response.generation_id == 2


def test_d9_d11_a_leader_that_joins_again_rebalances_a_follower_does_not(driver):
    m1, m2 = stable2(driver).members
    follower = driver.join("g", "m2", member_id=m2)
    assert (follower.error, follower.response.generation_id, follower.response.leader) == (0, 2, m1)
    assert follower.response.members == []
    leader = driver.join("g", "m1", member_id=m1)
    assert leader.parked
    assert driver.join("g", "m2", member_id=m2).response.generation_id == 3


def test_d15_in_completing_an_unchanged_leader_is_told_again_of_everybody(driver):
    m1, m2 = completing2(driver).members
    again = driver.join("g", "m1", member_id=m1, session_ms=60_000, rebalance_ms=60_000)
    assert {one.member_id for one in again.response.members} == {m1, m2}
    assert driver.inside("g").members[m1].session_timeout_ms == 10_000, "what it says of timeouts is not taken"
    assert driver.inside("g").pending_syncs == {m1, m2}


def test_d15_a_sync_that_waits_goes_on_waiting(driver):
    _, m2 = completing2(driver).members
    waiting = driver.sync("g", m2, 2)
    assert driver.join("g", "m2", member_id=m2).error == 0
    assert waiting.parked


def test_d17_d18_a_change_in_completing_sends_everybody_back(driver):
    m1, m2 = completing2(driver).members
    waiting = driver.sync("g", m2, 2)
    changed = driver.join("g", "m2", member_id=m2, protocols=protocols_of(["range"], "u"))
    assert changed.parked
    assert (waiting.error, waiting.response.assignment, waiting.response.protocol_name) == (27, b"", None)
    assert driver.join("g", "m1", member_id=m1).error == 0
    assert changed.response.generation_id == 3


def test_d19_d20_one_step_however_many_join(driver):
    made = preparing(driver)
    m1, m2, _ = made.members
    first = driver.join("g", "m1", member_id=m1)
    second = driver.join("g", "m2", member_id=m2)
    assert [call.response.generation_id for call in (first, second, *made.joins)] == [3, 3, 3]


def test_the_leader_gets_the_metadata_of_the_chosen_protocol(driver):
    first = driver.join("g", "a", 3, protocols=(("x", b"ax"), ("y", b"ay")))
    driver.join("g", "b", 3, protocols=(("y", b"by"), ("z", b"bz")))
    driver.advance(6)
    assert first.response.protocol_name == "y"
    assert [one.metadata for one in first.response.members] == [b"ay", b"by"]


def test_d41_old_and_new_clients_mix(driver):
    old = driver.join("g", "old", 0)
    new = driver.join("g", "new", 9, instance="i")
    driver.advance(6)
    assert (old.response.protocol_type, new.response.protocol_type) == (None, "consumer")
    assert [one.group_instance_id for one in old.response.members] == [None, None]
    assert old.response.generation_id == new.response.generation_id == 1


def test_d42_f20_the_first_connection_is_the_one_that_is_shown(driver):
    made = stable1(driver, client_id="first", host="/10.0.0.1")
    driver.join("g", "second", member_id=made.leader, host="/10.0.0.2")
    (shown,) = driver.describe("g").response.groups[0].members
    assert (shown.client_id, shown.client_host) == ("first", "/10.0.0.1")
    driver = Driver()
    driver.join("g", "first", instance="i", host="/10.0.0.1")
    driver.join("g", "second", instance="i", host="/10.0.0.2")
    (shown,) = driver.describe("g").response.groups[0].members
    assert (shown.client_id, shown.client_host) == ("first", "/10.0.0.1")


# --- static members ---


def test_f1_f2_f3_f4_a_static_follower_restarts_unnoticed(driver):
    s1, s2 = static2(driver).members
    back = driver.join("g", "c2", instance="i2")
    new = back.response.member_id
    assert new not in (s1, s2)
    assert (back.error, back.response.generation_id, back.response.leader, back.response.members) == (0, 1, s1, [])
    assert back.response.skip_assignment is False
    assert driver.heartbeat("g", s1, 1, instance="i1").error == 0
    assert driver.sync("g", new, 1, instance="i2").response.assignment == A2
    assert driver.heartbeat("g", s2, 1, instance="i2").error == 82
    assert driver.commit("g", {("t", 0): 1}, s2, 1, instance="i2").error == 82
    assert driver.sync("g", s2, 1, instance="i2").error == 82
    assert driver.join("g", "c2", member_id=s2, instance="i2").response == error_answer(9, 82, s2)
    assert driver.leave("g", (s2, "i2")).error == 82
    assert driver.heartbeat("g", s2, 1).error == 25
    assert [(note.member, note.instance, note.request) for note in driver.noted(MemberFenced)] == [
        (s2, "i2", request) for request in ("Heartbeat", "OffsetCommit", "SyncGroup", "JoinGroup", "LeaveGroup")
    ]
    (note,) = driver.noted(StaticMemberReplaced)
    assert (note.replaced, note.member, note.instance) == (s2, new, "i2")


def test_f6_f9_from_version_9_a_static_leader_is_told_to_skip_the_assignment(driver):
    _, s2 = static2(driver).members
    back = driver.join("g", "c1", instance="i1").response
    assert (back.leader, back.skip_assignment, back.generation_id) == (back.member_id, True, 1)
    assert {one.member_id for one in back.members} == {back.member_id, s2}
    assert driver.sync("g", back.member_id, 1, {s2: b"other"}).response.assignment == A1


@pytest.mark.parametrize("version", range(5, 9))
def test_f7_before_it_is_told_that_another_leads(driver, version):
    s1, _ = static2(driver).members
    back = driver.join("g", "c1", version, instance="i1").response
    assert (back.leader, back.members, back.skip_assignment) == (s1, [], False)
    assert driver.inside("g").leader_id == back.member_id


def test_f10_other_metadata_of_a_restarted_member_does_not_rebalance(driver):
    static2(driver)
    back = driver.join("g", "c2", instance="i2", protocols=protocols_of(["range"], "u"))
    assert (back.error, back.response.generation_id) == (0, 1)
    assert driver.state("g") == "Stable"
    (shown,) = [one for one in driver.describe("g").response.groups[0].members if one.group_instance_id == "i2"]
    assert shown.member_metadata == sub("u")


def test_f11_another_vote_does(driver):
    two = protocols_of(["range", "sticky"])
    s1, _ = static2(driver, protocols=two).members
    back = driver.join("g", "c2", instance="i2", protocols=protocols_of(["sticky"]))
    assert back.parked
    assert driver.heartbeat("g", s1, 1).error == 27
    assert driver.join("g", "c1", member_id=s1, instance="i1", protocols=two).response.protocol_name == "sticky"
    assert back.response.generation_id == 2


def test_f12_a_restart_in_completing_always_does(driver):
    s1, s2 = static2(driver).members
    for member_id, instance in ((s1, "i1"), (s2, "i2")):
        driver.join("g", "c", member_id=member_id, instance=instance)
    third = driver.join("g", "c3", instance="i3")
    for member_id, instance in ((s1, "i1"), (s2, "i2")):
        driver.join("g", "c", member_id=member_id, instance=instance)
    assert third.response.generation_id == 3
    waiting = [driver.sync("g", s2, 3, instance="i2"), driver.sync("g", third.response.member_id, 3)]
    assert all(call.parked for call in waiting)
    back = driver.join("g", "c2", instance="i2")
    assert back.parked
    assert [call.error for call in waiting] == [82, 27]


def test_f13_of_two_that_wait_under_one_instance_the_newest_stays(driver):
    s1, s2 = static2(driver).members
    driver.join("g", "c1", member_id=s1, instance="i1")
    driver.leave("g", s1)
    first = driver.join("g", "c1", instance="i1")
    assert first.parked
    second = driver.join("g", "c1", instance="i1")
    assert first.response == error_answer(9, 82, first.response.member_id)
    assert second.parked
    assert len(driver.member_ids("g")) == 2
    assert s2 in driver.member_ids("g")


def test_f15_f16_f17_a_static_member_with_its_id_is_like_any_other(driver):
    s1, s2 = static2(driver).members
    assert driver.join("g", "c2", member_id=s2, instance="i2").error == 0
    assert driver.join("g", "c1", member_id=s1, instance="i1").parked
    assert driver.join("g", "c2", member_id=s2, instance="i2").error == 0
    changed = driver.join("g", "c2", member_id=s2, instance="i2", protocols=protocols_of(["range", "sticky"]))
    assert changed.parked


def test_f21_an_empty_instance_id_is_one_too(driver):
    first = driver.join("g", "c", instance="")
    second = driver.join("g", "c", instance="i")
    driver.advance(6)
    assert [call.response.member_id for call in (first, second)] == ["-1", "i-2"]


def test_a_restarted_member_that_has_not_synced_is_asked_to_like_before(driver):
    """7.10 e: what the old id owed, the new one owes."""
    s1, s2 = static2(driver).members
    for member_id, instance in ((s1, "i1"), (s2, "i2")):
        driver.join("g", "c", member_id=member_id, instance=instance, session_ms=60_000)
    driver.sync("g", s1, 2, {s1: A1, s2: A2})
    new = driver.join("g", "c2", instance="i2", session_ms=60_000).response.member_id
    assert driver.inside("g").pending_syncs == {new}
    assert driver.sync("g", new, 2).response.assignment == A2
    driver.advance(40)
    assert driver.state("g") == "Stable"
