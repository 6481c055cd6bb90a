"""SyncGroup, Heartbeat, LeaveGroup, offsets and the operators' requests: what the table of answers does not say."""

import pytest

from kcoord.core.coordinator import Coordinator
from kcoord.core.notes import GroupDeleted, MemberLeft, OffsetsCommitted, OffsetsDeleted
from wire.messages import OffsetFetchRequest, OffsetFetchRequestGroup

from .situations import A1, A2, completing1, completing2, preparing, stable1, stable2, static2

NO_OFFSET = (-1, -1, "", 0)


# --- a group without a name ---


def test_c8_g2_h2_i1_l1_these_want_a_name(driver):
    assert driver.sync("", "m", 1).error == 24
    assert driver.heartbeat("", "m", 1).error == 24
    left = driver.leave("", "m")
    assert (left.response.error_code, left.response.members) == (24, [])
    assert driver.leave("", "m", version=1).error == 24
    deleted = driver.offset_delete("", {"t": [0]})
    assert (deleted.response.error_code, deleted.response.topics) == (24, [])


def test_j5_k16_m11_o9_and_these_do_not(driver):
    assert driver.commit("", {("t", 0): 5}, generation=1).error == 69
    assert driver.commit("", {("t", 0): 5}, generation=1, version=7).error == 22
    assert driver.state("") == "Dead"
    assert driver.commit("", {("t", 0): 5}).error == 0
    assert driver.offset("") == 5
    assert driver.state("") == "Empty"
    assert driver.delete_groups("").error == 0
    assert driver.state("") == "Dead"


# --- SyncGroup ---


def test_g9_g12_g13_g14_the_leaders_assignment_is_what_counts(driver):
    m1, m2 = completing2(driver).members
    follower = driver.sync("g", m2, 2, {m2: b"mine"})
    leader = driver.sync("g", m1, 2, [(m1, b"first"), ("nobody", b"x"), (m1, A1)])
    assert (leader.response.assignment, follower.response.assignment) == (A1, b"")
    assert driver.state("g") == "Stable"


def test_g16_g17_in_stable_everybody_gets_what_was_handed_in(driver):
    m1, m2 = stable2(driver).members
    assert driver.sync("g", m1, 2, {m1: b"new", m2: b"new"}).response.assignment == A1
    assert driver.sync("g", m2, 2, {m1: b"new", m2: b"new"}).response.assignment == A2


@pytest.mark.parametrize("version", range(6))
def test_g6_g8_type_and_protocol_are_compared_where_they_are_named(driver, version):
    made = stable1(driver)
    other = driver.sync("g", made.leader, 1, version=version, protocol_name="sticky", protocol_type="consumer")
    kind = driver.sync("g", made.leader, 1, version=version, protocol_name="range", protocol_type="connect")
    fine = driver.sync("g", made.leader, 1, version=version, protocol_name="range", protocol_type="consumer")
    if version >= 5:
        assert [call.error for call in (other, kind, fine)] == [23, 23, 0]
        assert (other.response.protocol_type, other.response.protocol_name, other.response.assignment) == (
            None,
            None,
            b"",
        )
        assert (fine.response.protocol_type, fine.response.protocol_name) == ("consumer", "range")
    else:
        assert [call.error for call in (other, kind, fine)] == [0, 0, 0]


@pytest.mark.parametrize("assignment", [b"\0", b"x" * 102_400, bytes(range(256))])
def test_g31_assignments_are_opaque(driver, assignment):
    made = completing1(driver)
    assert driver.sync("g", made.leader, 1, {made.leader: assignment}).response.assignment == assignment
    driver.reload()
    assert driver.sync("g", made.leader, 1).response.assignment == assignment


def test_the_assignment_of_an_earlier_generation_is_not_handed_out_in_the_next(driver):
    """4.1: going back from CompletingRebalance empties what was assigned."""
    m1, m2 = stable2(driver).members
    driver.join("g", "m1", member_id=m1)
    driver.join("g", "m2", member_id=m2)
    driver.join("g", "m3", 3)
    assert {one.member_assignment for one in driver.describe("g").response.groups[0].members} == {b""}


# --- LeaveGroup ---


def test_i3_an_unknown_group_answers_for_each_member(driver):
    left = driver.leave("nope", "a", ("", "i")).response
    assert left.error_code == 0
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in left.members] == [
        ("a", None, 25),
        ("", "i", 25),
    ]
    assert driver.leave("nope", "a", version=2).error == 25


def test_i6_the_last_one_to_leave_empties_the_group(driver):
    made = stable1(driver)
    driver.leave("g", made.leader, reason="closing")
    group = driver.inside("g")
    assert (group.state.value, group.protocol_type, group.protocol_name, group.generation) == (
        "Empty",
        "consumer",
        None,
        2,
    )
    assert driver.noted(MemberLeft)[0].reason == "closing"
    assert driver.last.records, "stored before it is answered"


def test_i8_a_leader_that_leaves_is_followed_by_another(driver):
    m1, m2 = stable2(driver).members
    driver.leave("g", m1)
    again = driver.join("g", "m2", member_id=m2)
    assert (again.response.leader, len(again.response.members)) == (m2, 1)


def test_i9_a_handed_out_id_may_leave(driver):
    made = stable1(driver)
    pending = driver.join("g", "p").response.member_id
    assert driver.leave("g", pending).error == 0
    assert driver.join("g", "p", member_id=pending).error == 25
    assert driver.heartbeat("g", made.leader, 1).error == 27


def test_i10_who_leaves_while_it_waits_is_answered(driver):
    made = preparing(driver)
    (waiting,) = made.joins
    driver.leave("g", made.members[2])
    assert (waiting.error, waiting.response.member_id) == (25, "")


def test_i11_the_last_one_missing_leaves(driver):
    made = preparing(driver)
    m1, m2, m3 = made.members
    first = driver.join("g", "m1", member_id=m1)
    driver.leave("g", m2)
    assert first.response.generation_id == 3
    assert {one.member_id for one in first.response.members} == {m1, m3}


def test_i12_to_i17_static_members_leave_by_instance(driver):
    s1, s2 = static2(driver).members
    left = driver.leave("g", ("", "nobody"), ("wrong", "i2"), (s1, "i2"), ("", "i2"), ("", None)).response
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in left.members] == [
        ("", "nobody", 25),
        ("wrong", "i2", 82),
        (s1, "i2", 82),
        ("", "i2", 0),
        ("", None, 25),
    ]
    assert driver.member_ids("g") == [s1]
    assert driver.noted(MemberLeft)[0].member == s2


def test_i18_i19_one_batch_may_empty_a_group_and_count_nobody_twice(driver):
    m1, m2 = stable2(driver).members
    pending = driver.join("g", "p").response.member_id
    left = driver.leave("g", m1, m2, pending, "unknown", m1).response
    assert [one.error_code for one in left.members] == [0, 0, 0, 25, 25]
    assert driver.state("g") == "Empty"


def test_i18_a_handed_out_id_that_stays_is_no_member(driver):
    """The group has no member left, and its rebalance timeout is 0: it is Empty with the next look at the clock."""
    made = stable1(driver)
    pending = driver.join("g", "p").response.member_id
    driver.leave("g", made.leader)
    assert driver.state("g") == "PreparingRebalance"
    driver.advance(0)
    assert driver.state("g") == "Empty"
    assert driver.join("g", "p", member_id=pending).parked


def test_i24_leaving_does_not_cut_the_initial_delay_short(driver):
    first = driver.enter("g", "a")
    second = driver.enter("g", "b")
    driver.leave("g", second.request.member_id)
    assert driver.state("g") == "PreparingRebalance"
    driver.advance(6)
    assert [one.member_id for one in first.response.members] == [first.request.member_id]


# --- OffsetCommit, OffsetFetch ---


def committed(driver, group, topic="t", partition=0):
    found = driver.fetch(group, {topic: [partition]}).response.groups[0].topics[0].partitions[0]
    return found.committed_offset, found.committed_leader_epoch, found.metadata, found.error_code


def test_j3_j4_whoever_claims_no_generation_may_commit_into_an_empty_group(driver):
    assert driver.commit("g", {("t", 0): 5}, "m", -1, instance="i").error == 0
    (listed,) = driver.list().response.groups
    assert (listed.group_id, listed.group_state, listed.protocol_type) == ("g", "Empty", "")
    assert driver.noted(OffsetsCommitted)[0].partitions == 1


@pytest.mark.parametrize(("version", "error"), [(2, 22), (8, 22), (9, 69)])
def test_j2_whoever_claims_a_generation_may_not_even_the_0th(driver, version, error):
    assert driver.commit("g", {("t", 0): 5}, "m", 0, version).error == error
    assert driver.commit("g", {("t", 0): 5}, "m", 3, version).error == error
    assert driver.state("g") == "Dead"


def test_j21_j22_metadata_is_measured_in_java_characters(driver):
    metadata = {"fits": "x" * 4096, "ü fits": "ü" * 4096, "long": "x" * 4097, "emoji": "😀" * 2049, "2048": "😀" * 2048}
    errors = {name: driver.commit(name, {("t", 0): 1}, metadata=text).error for name, text in metadata.items()}
    assert errors == {"fits": 0, "ü fits": 0, "long": 12, "emoji": 12, "2048": 0}
    assert committed(driver, "long") == NO_OFFSET


def test_j21_the_other_partitions_are_committed(driver):
    driver.commit("g", {("t", 1): 1})
    request = driver.commit("g", {("t", 0): 7, ("t", 1): 8}, metadata="x").request
    request.topics[0].partitions[1].committed_metadata = "x" * 4097
    call = driver.send(request, 9)
    assert [one.error_code for one in call.response.topics[0].partitions] == [0, 12]
    assert (driver.offset("g"), driver.offset("g", "t", 1)) == (7, 8)


def test_j23_to_j28_what_is_committed_is_what_is_fetched(driver):
    driver.commit("g", {("t", 0): 5}, metadata=None, epoch=7)
    assert committed(driver, "g") == (5, 7, "", 0)
    for offset in (-1, 0, 2**63 - 1, 3):
        driver.commit("g", {("t", 0): offset}, metadata="note")
        assert committed(driver, "g") == (offset, -1, "note", 0)
    driver.commit("g", {("t", 0): 4})
    assert committed(driver, "g") == (4, -1, "", 0)


def test_j26_of_a_partition_named_twice_the_last_counts(driver):
    request = driver.commit("g", {("t", 0): 1, ("t", 1): 2}).request
    request.topics[0].partitions[1].partition_index = 0
    call = driver.send(request, 9)
    assert [one.error_code for one in call.response.topics[0].partitions] == [0, 0]
    assert driver.offset("g") == 2


def test_j37_a_thousand_partitions_are_one_batch(driver):
    call = driver.commit("g", {("t", number): number for number in range(1000)})
    assert len(driver.last.records) == 1000
    assert len(driver.last.replies) == 1
    assert call.error == 0


def test_a_commit_of_nothing_creates_nothing(driver):
    assert driver.commit("g", {}).response.topics == []
    assert driver.state("g") == "Dead"


def test_a_commit_of_which_nothing_is_stored_begins_a_group_that_nobody_sees(driver):
    assert driver.commit("g", {("t", 0): 5}, metadata="x" * 4097).error == 12
    assert driver.commit("g", {("t", 0): 5}, generation=1, member_id="m").error == 25
    assert driver.state("g") == "Dead"
    assert driver.list().response.groups == []
    driver.commit("other", {("t", 0): 5})
    assert driver.state("g") == "Empty"
    assert [one.group_id for one in driver.list().response.groups] == ["g", "other"]
    assert driver.commit("h", {("t", 0): 5}, metadata="x" * 4097).error == 12
    assert driver.delete_groups("h").error == 0
    assert driver.delete_groups("h").error == 69


def test_k1_k3_what_is_not_there_is_no_error(driver):
    assert committed(driver, "nope") == NO_OFFSET
    driver.commit("g", {("t", 0): 5})
    assert committed(driver, "g", "t", 5) == NO_OFFSET
    assert committed(driver, "g", "nope", -1) == NO_OFFSET
    assert driver.list().response.groups[0].group_id == "g"
    assert driver.state("nope") == "Dead"


def test_k2_k4_k5_all_is_not_none(driver):
    driver.commit("g", {("t", 0): 5, ("t", 2): 6, ("u", 1): 7})
    everything = driver.fetch("g").response.groups[0].topics
    assert {(topic.name, one.partition_index) for topic in everything for one in topic.partitions} == {
        ("t", 0),
        ("t", 2),
        ("u", 1),
    }
    assert driver.fetch("g", {}).response.groups[0].topics == []
    assert driver.fetch("nope").response.groups[0].topics == []


def test_k6_k7_k8_k9_each_group_of_a_batch_is_answered_by_itself(driver):
    driver.commit("a", {("t", 0): 5})
    wanted = [
        OffsetFetchRequestGroup(group_id=name, topics=None, member_id="bogus", member_epoch=99)
        for name in ("a", "nope", "a")
    ]
    call = driver.send(OffsetFetchRequest(groups=wanted), 9)
    assert [(one.group_id, len(one.topics), one.error_code) for one in call.response.groups] == [
        ("a", 1, 0),
        ("nope", 0, 0),
        ("a", 1, 0),
    ]
    assert driver.send(OffsetFetchRequest(groups=[]), 9).response.groups == []


# --- OffsetDelete ---


def test_l3_l4_only_what_nobody_consumes_is_deleted(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1, ("u", 0): 2, ("u", 1): 3}, made.leader, 1)
    call = driver.offset_delete("g", {"t": [0], "u": [0, 9]})
    found = {
        (topic.name, one.partition_index): one.error_code for topic in call.response.topics for one in topic.partitions
    }
    assert found == {("t", 0): 86, ("u", 0): 0, ("u", 9): 0}
    assert (driver.offset("g", "t"), driver.offset("g", "u"), driver.offset("g", "u", 1)) == (1, -1, 3)
    assert driver.noted(OffsetsDeleted)[0].partitions == 1


def test_l6_of_another_type_nothing_can_be_known(driver):
    made = stable1(driver, protocol_type="connect", protocols=(("default", b""),))
    call = driver.offset_delete("g", {"t": [0]})
    assert (call.response.error_code, call.response.topics) == (68, [])
    driver.leave("g", made.leader)
    assert driver.offset_delete("g", {"t": [0]}).error == 0


def test_l7_l9_l10_an_empty_group_consumes_nothing(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1}, made.leader, 1)
    driver.leave("g", made.leader)
    assert driver.offset_delete("g", {"t": [0, 1, 0]}).error == 0
    assert driver.offset("g") == -1
    driver.commit("simple", {("t", 0): 1})
    assert driver.offset_delete("simple", {"t": [0]}).error == 0
    assert driver.offset_delete("simple", {"t": [0]}).error == 0


# --- DescribeGroups, ListGroups, DeleteGroups ---


@pytest.mark.parametrize("version", range(7))
def test_m1_m2_a_group_that_is_not_there(driver, version):
    (told,) = driver.describe("nope", version=version).response.groups
    assert (told.group_state, told.protocol_type, told.protocol_data, told.members) == ("Dead", "", "", [])
    assert told.error_code == (69 if version == 6 else 0)
    assert (told.error_message is not None) == (version == 6)


@pytest.mark.parametrize("version", range(7))
def test_m3_a_stable_group(driver, version):
    made = stable1(driver, client_id="jürgen")
    (told,) = driver.describe("g", version=version).response.groups
    assert (told.error_code, told.group_state, told.protocol_type, told.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    (one,) = told.members
    assert (one.member_id, one.client_id, one.client_host) == (made.leader, "jürgen", "/127.0.0.1")
    assert (one.member_metadata != b"", one.member_assignment) == (True, A1)


def test_m4_m5_m6_m7_m13_otherwise_neither_protocol_nor_metadata(driver):
    completing1(driver, "completing")
    preparing(driver, "preparing")
    driver.leave("empty", stable1(driver, "empty").leader)
    driver.enter("initial", "a")
    driver.commit("simple", {("t", 0): 1})
    names = ("completing", "preparing", "initial", "empty", "simple")
    told = driver.describe(*names).response.groups
    assert [one.group_id for one in told] == list(names)
    assert [one.group_state for one in told] == [
        "CompletingRebalance",
        "PreparingRebalance",
        "PreparingRebalance",
        "Empty",
        "Empty",
    ]
    assert [one.protocol_type for one in told] == ["consumer"] * 4 + [""]
    assert {one.protocol_data for one in told} == {""}
    assert [len(one.members) for one in told] == [1, 3, 1, 0, 0]
    assert {one.member_metadata for group in told for one in group.members} == {b""}


def test_m8_m10_m12_instances_duplicates_and_handed_out_ids(driver):
    static2(driver)
    driver.join("g", "p")
    told = driver.describe("g", "nope", "g").response.groups
    assert [one.group_id for one in told] == ["g", "nope", "g"]
    assert [one.group_instance_id for one in told[0].members] == ["i1", "i2"]


@pytest.mark.parametrize(("version", "operations", "unknown"), [(3, 3400, 3400), (5, 3400, 3400), (6, 3400, -(2**31))])
def test_m9_operations_are_told_where_they_are_asked_for(driver, version, operations, unknown):
    stable1(driver)
    told = driver.describe("g", "nope", version=version, operations=True).response.groups
    assert [one.authorized_operations for one in told] == [operations, unknown]
    assert driver.describe("g", version=version).response.groups[0].authorized_operations == -(2**31)


def names_of(call):
    return sorted(one.group_id for one in call.response.groups)


def test_to_n11_listing(driver):
    assert driver.list().response.groups == []
    stable1(driver, "stable")
    completing1(driver, "completing")
    preparing(driver, "preparing")
    driver.commit("simple", {("t", 0): 1})
    driver.leave("empty", stable1(driver, "empty").leader)
    everything = ["completing", "empty", "preparing", "simple", "stable"]
    assert names_of(driver.list()) == everything
    for name in ("Stable", "stable", "STABLE", " Stable "):
        assert names_of(driver.list([name])) == ["stable"]
    assert names_of(driver.list(["Empty", "Stable"])) == ["empty", "simple", "stable"]
    assert names_of(driver.list(["Invalid"])) == []
    assert names_of(driver.list(["Invalid", "Stable"])) == ["stable"]
    assert names_of(driver.list(types=["Classic"])) == everything
    assert names_of(driver.list(types=["consumer"])) == []
    assert names_of(driver.list(types=["bogus", "classic"])) == everything
    assert names_of(driver.list(["Empty"], ["classic"])) == ["empty", "simple"]
    assert names_of(driver.list(["Empty"], ["share"])) == []
    for version in range(6):
        listed = {one.group_id: one for one in driver.list(version=version).response.groups}
        assert listed["stable"].protocol_type == "consumer"
        assert listed["stable"].group_state == ("Stable" if version >= 4 else "")
        assert listed["stable"].group_type == ("classic" if version >= 5 else "")


def test_o2_to_o10_deleting(driver):
    for make in (stable1, completing1, preparing):
        make(driver, make.__name__)
    driver.enter("initial", "a")
    driver.commit("simple", {("t", 0): 1, ("t", 1): 2})
    names = ["stable1", "completing1", "preparing", "initial", "simple", "nope", "simple"]
    results = driver.delete_groups(*names).response.results
    assert {one.group_id: one.error_code for one in results} == {
        "stable1": 68,
        "completing1": 68,
        "preparing": 68,
        "initial": 68,
        "simple": 0,
        "nope": 69,
    }
    assert len(results) == 6
    assert len(driver.last.records) == 3, "two offsets, then the group"
    assert driver.delete_groups("simple").error == 69
    assert driver.offset("simple") == -1
    assert [note.group for note in driver.noted(GroupDeleted)] == ["simple"]


def test_o5_a_handed_out_id_does_not_keep_a_group(driver):
    pending = driver.join("g", "p").response.member_id
    assert driver.delete_groups("g").error == 0
    assert driver.join("g", "p", member_id=pending).error == 25
    driver.advance(60)


def test_o10_a_group_that_comes_again_begins_anew(driver):
    made = stable1(driver)
    driver.commit("g", {("t", 0): 1}, made.leader, 1)
    driver.leave("g", made.leader)
    driver.delete_groups("g")
    assert completing1(driver).generation == 1
    assert driver.offset("g") == -1


# --- the coordinator itself ---


def test_it_has_nothing_to_do_before_it_is_loaded_and_looks_after_retention_then(driver):
    fresh = Coordinator(driver.settings, lambda: "x")
    assert fresh.next_deadline() is None
    fresh.loaded(driver.now)
    assert fresh.next_deadline() == driver.now.mono + 600
