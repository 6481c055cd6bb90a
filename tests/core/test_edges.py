"""What a small change of a rule would change, and no story of the other tests would tell."""

import pytest

from kcoord.core.batches import most_bytes, utf16_length
from kcoord.core.notes import (
    GroupCreated,
    GroupDeleted,
    GroupEmptied,
    JoinRefused,
    MemberExpired,
    MemberIdHandedOut,
    MemberJoined,
    OffsetsCommitted,
    OffsetsDeleted,
    PendingMemberExpired,
    RebalanceStarted,
    StaticMemberReplaced,
)
from kcoord.core.operators import DONE, Expire, Fence, NewOffset, Problem, Remove, SetOffsets
from kcoord.core.outcome import Now
from kcoord.core.timers import Timers
from wire.messages import (
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

from .driver import EPOCH_MS, Driver, sub
from .situations import A1, A2, completing2, stable1, stable2, static2


def test_a_leader_that_others_stand_before_leads_on_when_a_follower_leaves(driver):
    s1, s2 = static2(driver).members
    back = driver.join("g", "c1", instance="i1").response
    assert back.leader == back.member_id != s1
    assert driver.member_ids("g") == [s2, back.member_id]
    third = driver.enter("g", "m3")
    driver.join("g", "c2", member_id=s2, instance="i2")
    driver.join("g", "c1", member_id=back.member_id, instance="i1")
    assert third.response.leader == back.member_id
    driver.leave("g", third.response.member_id)
    assert driver.member_ids("g") == [s2, back.member_id]
    assert driver.inside("g").leader_id == back.member_id


def test_what_is_consumed_is_not_known_any_more_once_a_member_says_it_illegibly(driver):
    m1 = stable1(driver).leader
    driver.commit("g", {("u", 0): 5}, m1, 1)
    assert driver.offset_delete("g", {"u": [1]}).error == 0
    again = driver.join("g", "m1", member_id=m1, protocols=[("range", b"\0")])
    assert again.response.generation_id == 2
    assert driver.inside("g").subscribed_topics is None
    assert driver.offset_delete("g", {"u": [0]}).error == 86


def test_a_new_member_has_no_assignment(driver):
    driver.enter("g", "m1")
    (one,) = driver.describe("g").response.groups[0].members
    assert one.member_assignment == b""


def test_notes_tell_who_asked_and_from_where(driver):
    whence = {"host": "/10.0.0.7"}
    first = driver.join("g", "m1", **whence)
    assert driver.last.notes == [
        GroupCreated(group="g"),
        MemberIdHandedOut(group="g", member="m1-1", client_id="m1", host="/10.0.0.7"),
    ]
    driver.join("g", "m1", member_id=first.response.member_id, reason="up", **whence)
    assert driver.last.notes == [
        MemberJoined(group="g", member="m1-1", instance=None, client_id="m1", host="/10.0.0.7", reason="up"),
        RebalanceStarted(
            group="g", generation=0, reason="new member m1-1 joined; client reason: up", waiting_for=()
        ),
    ]  # fmt: skip
    driver.join("g", "m2", instance="i", **whence)
    driver.join("g", "m3", instance="i", **whence)
    assert driver.last.notes == [
        StaticMemberReplaced(
            group="g", member="i-3", instance="i", replaced="i-2", client_id="m3", host="/10.0.0.7"
        )
    ]  # fmt: skip
    driver.join("g", "m4", member_id="m4", **whence)
    assert driver.last.notes == [
        JoinRefused(group="g", member="m4", client_id="m4", host="/10.0.0.7", error="UNKNOWN_MEMBER_ID")
    ]


def test_a_rebalance_says_what_a_member_that_joined_again_wants(driver):
    m1, m2 = stable2(driver).members
    driver.join("g", "m1", member_id=m1, reason="topics")
    assert driver.noted(RebalanceStarted)[-1].reason == (
        f"member {m1} joined again and leads and asks for a rebalance; client reason: topics"
    )
    driver.join("g", "m2", member_id=m2)
    driver.join("g", "m2", member_id=m2, protocols=[("range", sub("u"))])
    assert driver.noted(RebalanceStarted)[-1].reason == (
        f"member {m2} joined again and changed its protocols; client reason: not provided"
    )


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (("tired", "tired"), "; client reason: tired"),
        (("tired", "hungry"), "; client reason: tired, hungry"),
        (("", "hungry"), "; client reason: hungry"),
        ((None, "hungry"), "; client reason: hungry"),
        ((None, ""), ""),
    ],
)
def test_a_rebalance_says_why_members_left_each_reason_once(driver, reasons, told):
    m1, m2 = stable2(driver).members
    identities = [
        MemberIdentity(member_id=member, reason=reason) for member, reason in zip((m1, m2), reasons, strict=True)
    ]
    nobody = MemberIdentity(member_id="nobody", reason="not asked for")
    answer = driver.send(LeaveGroupRequest(group_id="g", members=[nobody, *identities]), 5).response
    assert [(one.member_id, one.error_code) for one in answer.members] == [("nobody", 25), (m1, 0), (m2, 0)]
    assert driver.noted(RebalanceStarted)[-1].reason == f"explicit removal of {m1}, {m2}{told}"


@pytest.mark.parametrize(("version", "rebalance_ms"), [(0, 10_000), (1, 30_000), (9, 30_000)])
def test_from_version_1_on_a_member_says_how_long_a_rebalance_may_wait_for_it(driver, version, rebalance_ms):
    driver.enter("g", "m1", version, session_ms=10_000, rebalance_ms=30_000)
    (member,) = driver.inside("g").members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, rebalance_ms)


@pytest.mark.parametrize("version", [5, 6])
def test_a_group_that_there_is_not_is_described_under_its_name(driver, version):
    (one,) = driver.describe("nobody", version=version).response.groups
    assert (one.group_id, one.group_state) == ("nobody", "Dead")
    assert one.error_message == (None if version < 6 else "Group nobody not found.")


def test_why_a_group_is_deleted_is_noted(driver):
    driver.commit("g", {("t", 0): 5})
    driver.delete_groups("g")
    assert driver.last.notes == [GroupDeleted(group="g", why="asked for")]


@pytest.mark.parametrize(("version", "error"), [(2, 25), (3, 0)])
def test_from_version_3_on_each_member_that_leaves_has_its_own_error(driver, version, error):
    answer = driver.leave("nobody", "m", version=version).response
    assert (answer.error_code, [one.error_code for one in answer.members]) == (error, [25] if version == 3 else [])


def test_who_may_not_commit_is_told_so_whatever_the_size():
    driver = Driver.of(message_max_bytes=300)
    stable1(driver)
    much = {("t", partition): 5 for partition in range(10)}
    assert driver.commit("g", much, "nobody", 1).error == 25
    assert driver.commit("g", much, "m1-1", 1).error == -1


def test_a_commit_that_names_nothing_or_keeps_nothing_commits_nothing(driver):
    driver.commit("g", {})
    assert driver.last.notes == []
    assert "g" not in driver.coordinator.tables.groups
    driver.commit("g", {("t", 0): 5}, metadata="x" * 5_000)
    assert driver.last.notes == [GroupCreated(group="g")]


def test_one_that_did_not_rejoin_has_no_session_that_could_end_later(driver):
    made = stable1(driver, session_ms=60_000, rebalance_ms=5_000)
    second = driver.enter("g", "m2", session_ms=100_000, rebalance_ms=5_000)
    driver.advance(5)
    assert (second.error, driver.member_ids("g")) == (0, [second.response.member_id])
    assert driver.noted(MemberExpired)[-1].why == "did not rejoin within the rebalance timeout"
    driver.sync("g", second.response.member_id, 2)
    assert ("session", "g", made.leader) not in driver.coordinator.tables.timers
    driver.advance(60)
    assert driver.state("g") == "Stable"


def test_all_who_did_not_sync_in_time_are_named(driver):
    m1, m2 = completing2(driver, session_ms=60_000, rebalance_ms=10_000).members
    driver.advance(10)
    assert driver.noted(RebalanceStarted)[-1].reason == f"removing {m1}, {m2} on pending sync expiration"
    assert {note.why for note in driver.noted(MemberExpired)} == {"did not send SyncGroup within the rebalance timeout"}
    assert all(("session", "g", one) not in driver.coordinator.tables.timers for one in (m1, m2))
    driver.advance(60)


def test_nothing_is_noted_of_offsets_that_were_not_there(driver):
    driver.commit("g", {("t", 0): 5})
    driver.offset_delete("g", {"t": [1]})
    assert (driver.last.notes, driver.last.records) == ([], [])
    driver.offset_delete("g", {"t": [0, 1]})
    assert driver.last.notes == [OffsetsDeleted(group="g", partitions=1)]


def test_earlier_is_earlier_by_both_clocks():
    assert Now(10.0, 100_000).back_at(7.5) == Now(7.5, 97_500)


def test_who_takes_a_static_members_place_has_an_id_like_any_other(driver):
    static2(driver)
    impostor = driver.impostor("g")

    def inside():
        members = sorted(driver.inside("g").members.values(), key=lambda one: one.group_instance_id)
        return [(one.protocols, one.session_timeout_ms, one.rebalance_timeout_ms) for one in members]

    before = inside()
    driver.operate(Fence("g", "i1", impostor))
    assert impostor.response.member_id == "i1-3"
    (note,) = driver.last.notes
    assert (note.client_id, note.host) == ("impostor", "/127.0.0.1")
    assert inside() == before


def test_offsets_that_an_operator_sets_are_noted_like_a_commit_without_membership(driver):
    answer = driver.operate(SetOffsets("g", (NewOffset("t", 0, 5),)))
    assert (answer.problem, answer.sentence) == (None, "")
    assert driver.last.notes == [
        GroupCreated(group="g"),
        OffsetsCommitted(group="g", member="", generation=-1, partitions=1),
    ]
    (record,) = driver.last.records
    assert (record.value.metadata, record.value.commit_timestamp) == ("", EPOCH_MS)
    driver.operate(SetOffsets("g", (NewOffset("t", 0, 6),)))
    assert driver.last.notes == [OffsetsCommitted(group="g", member="", generation=-1, partitions=1)]
    driver.operate(SetOffsets("g", (NewOffset("t", 0, None),)))
    assert driver.last.notes == [OffsetsDeleted(group="g", partitions=1)]


@pytest.mark.parametrize("moves", range(60, 140))
def test_what_was_moved_is_due_after_the_heap_is_made_anew(moves):
    timers = Timers()
    timers.set("a", 1.0)
    timers.set("a", 500.0)
    for step in range(moves):
        timers.set("b", 400.0 - step)
    assert timers.pop_due(400.0) == ("b", 401.0 - moves)
    assert timers.pop_due(499.0) is None
    assert timers.pop_due(500.0) == ("a", 500.0)


def test_half_a_pair_counts_like_any_other_unit():
    """UTF-8 cannot say it, and Python's strings can hold it."""
    assert most_bytes(OffsetCommitRequest(group_id="g")) == 61
    half = "\ud83d"
    assert utf16_length(half) == 1
    topic = OffsetCommitRequestTopic(name=half, partitions=[OffsetCommitRequestPartition(committed_metadata=half)])
    plain = OffsetCommitRequestTopic(name="日", partitions=[OffsetCommitRequestPartition(committed_metadata="日")])
    assert most_bytes(OffsetCommitRequest(group_id=half, topics=[topic])) == most_bytes(
        OffsetCommitRequest(group_id="日", topics=[plain])
    )


@pytest.mark.parametrize("operation", [Remove("g", "why"), Expire("g", "m1")])
def test_who_waits_and_is_put_out_by_an_operator_has_no_id_any_more(driver, operation):
    held = driver.enter("g", "m1")
    driver.operate(operation)
    assert (held.error, held.response.member_id) == (25, "")


def test_a_group_without_a_type_has_none(driver):
    driver.join("g", "m1")
    assert driver.inside("g").protocol_type is None
    driver.reload()
    assert driver.inside("g").protocol_type is None


def test_a_handed_out_id_that_expires_changes_nothing_of_an_empty_group(driver):
    driver.join("g", "m1", session_ms=10_000)
    outcome = driver.advance(10)
    assert outcome.notes == [PendingMemberExpired(group="g", member="m1-1")]
    assert outcome.records == []


def test_who_was_put_out_is_noted_with_all_that_is_known(driver):
    stable1(driver, host="/10.0.0.7", session_ms=10_000)
    driver.advance(10)
    assert driver.last.notes == [
        MemberExpired(
            group="g",
            member="m1-1",
            instance=None,
            client_id="m1",
            host="/10.0.0.7",
            why="no heartbeat within the session timeout",
        ),
        RebalanceStarted(
            group="g", generation=1, reason="removing member m1-1 on heartbeat expiration", waiting_for=()
        ),
        GroupEmptied(group="g", generation=2),
    ]  # fmt: skip


@pytest.mark.parametrize(("partition", "offset"), [(0, 0), (3, 5), (2**31 - 1, 2**63 - 1)])
def test_an_operator_sets_any_offset_that_there_is(partition, offset):
    driver = Driver.of(offset_metadata_max_bytes=4)
    assert driver.operate(SetOffsets("g", (NewOffset("t", partition, offset, "text"),))) == DONE
    assert driver.offset("g", partition=partition) == offset


def test_nor_does_an_operator_set_a_text_that_no_record_holds():
    driver = Driver.of(offset_metadata_max_bytes=100_000)
    assert driver.operate(SetOffsets("g", (NewOffset("t", 0, 5, "x" * 32_767),))) == DONE
    assert driver.operate(SetOffsets("g", (NewOffset("t", 0, 5, "x" * 32_768),))).problem is Problem.IMPOSSIBLE


def test_an_initial_rebalance_that_ended_early_does_not_prolong_the_next_one():
    driver = Driver.of(group_initial_rebalance_delay_ms=20_000)
    driver.enter("g", "a", 3, session_ms=6_000, rebalance_ms=60_000)
    driver.heartbeat("g", "a-1", 0)
    driver.advance(1)
    second = driver.enter("g", "b", 3, session_ms=100_000, rebalance_ms=60_000)
    driver.advance(5)
    driver.sync("g", second.response.member_id, 1)
    third = driver.enter("g", "c", 3, session_ms=100_000, rebalance_ms=60_000)
    driver.advance(59.9)
    assert third.parked
    driver.advance(0.1)
    assert (third.error, third.response.generation_id) == (0, 2)


def test_until_the_next_sync_phase_everybody_keeps_what_was_assigned(driver):
    stable2(driver)
    driver.enter("g", "m3")
    members = driver.describe("g").response.groups[0].members
    assert [one.member_assignment for one in members] == [A1, A2, b""]


def test_offsets_of_a_stable_group_that_is_none_of_consumers_do_not_expire():
    driver = Driver.of(offsets_retention_minutes=1)
    made = stable1(driver, protocol_type="connect", session_ms=1_800_000)
    driver.commit("g", {("t", 0): 5}, made.leader, 1)
    driver.advance(1_200)
    assert (driver.state("g"), driver.offset("g")) == ("Stable", 5)


@pytest.mark.parametrize(
    ("named", "listed"), [(" \t\0Empty\x1f", ["g"]), ("Empty!", []), ("\xa0Empty", []), ("Empty", ["g"])]
)
def test_blanks_are_what_java_trims(driver, named, listed):
    driver.commit("g", {("t", 0): 5})
    assert [one.group_id for one in driver.list(states=[named]).response.groups] == listed


def test_the_defaults_are_kafkas(driver):
    driver.enter("g", "m1")
    driver.commit("h", {("t", 0): 5})
    driver.advance(600)
    settings = driver.coordinator.tables.settings
    assert (settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms) == (6_000, 1_800_000)
    assert (settings.group_max_size, settings.group_initial_rebalance_delay_ms) == (2_147_483_647, 3_000)
    assert (settings.offset_metadata_max_bytes, settings.message_max_bytes) == (4_096, 1_048_588)
    assert (settings.offsets_retention_minutes, settings.offsets_retention_check_interval_ms) == (10_080, 600_000)
