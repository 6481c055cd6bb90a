"""What does not fit into one batch of the offsets topic is not written at all, and nothing comes of it."""

from dataclasses import replace

import pytest

from kcoord.core.batches import too_large
from kcoord.core.behaviour import Behaviour
from kcoord.core.notes import GroupDeleted, GroupStabilized, JoinRefused, OffsetsDeleted, RebalanceStarted
from kcoord.core.settings import GroupSettings
from kcoord.core.tables import group_tombstone, offset_tombstone
from wire.payloads import GroupMetadataKey, OffsetCommitKey, encode_key, encode_value
from wire.records import Record, build

from .driver import EPOCH_MS, Driver
from .situations import A1, A2, completing1, completing2, static2


def bytes_of(*records):
    """How many bytes records have as a batch."""
    return len(
        build(
            [
                Record(place, 0, encode_key(one.key), None if one.value is None else encode_value(one.value))
                for place, one in enumerate(records)
            ]
        )
    )


def test_what_is_as_large_as_a_batch_fits_and_one_byte_more_does_not():
    tombstones = [offset_tombstone("g", "t", partition) for partition in range(200)]
    size = bytes_of(*tombstones)
    assert not too_large(GroupSettings(message_max_bytes=size), tombstones)
    assert too_large(GroupSettings(message_max_bytes=size - 1), tombstones)
    assert not too_large(GroupSettings(message_max_bytes=0), [])


# --- assignments ---


def limited(size, made=completing1, **settings):
    """A situation in which records may have so many bytes from now on."""
    driver = Driver.of(**settings)
    situation = made(driver)
    driver.coordinator.tables.settings = replace(driver.settings, message_max_bytes=size)
    return driver, situation


def size_with(assignment):
    """How many bytes the record of a group of one member has that was assigned this."""
    driver = Driver()
    made = completing1(driver)
    driver.sync("g", made.leader, 1, {made.leader: assignment})
    return bytes_of(driver.records[-1])


def test_assignments_may_be_as_large_as_a_batch():
    size = size_with(b"x" * 1000)
    driver, made = limited(size)
    assert driver.sync("g", made.leader, 1, {made.leader: b"x" * 1000}).error == 0
    driver, made = limited(size - 1)
    assert driver.sync("g", made.leader, 1, {made.leader: b"x" * 1000}).error == -1


def test_all_that_wait_are_told_that_the_assignments_are_too_large_and_have_to_join_again():
    driver, made = limited(1000, completing2)
    m1, m2 = made.members
    held = driver.sync("g", m2, 2)
    before = len(driver.records)
    asked = driver.sync("g", m1, 2, {m1: b"x" * 1000, m2: A2})
    for call in (held, asked):
        assert (call.error, call.response.assignment, call.response.protocol_type) == (-1, b"", None)
    assert len(driver.records) == before
    assert not [note for note in driver.noted(GroupStabilized) if note.generation == 2]
    assert driver.noted(RebalanceStarted)[-1].reason == "what the leader assigned is too large to be stored"
    assert driver.state("g") == "PreparingRebalance"
    assert {one.member_assignment for one in driver.describe("g").response.groups[0].members} == {b""}
    assert [driver.heartbeat("g", member, 2).error for member in (m1, m2)] == [27, 27]
    joins = [driver.join("g", name, member_id=member) for name, member in (("m1", m1), ("m2", m2))]
    assert [(call.error, call.response.generation_id) for call in joins] == [(0, 3), (0, 3)]
    held = driver.sync("g", m2, 3)
    assert driver.sync("g", m1, 3, {m1: A1, m2: A2}).error == held.error == 0


def test_who_is_refused_its_assignment_has_a_session_from_then_on():
    driver, made = limited(1000, completing2)
    m1, m2 = made.members
    driver.advance(5)
    driver.sync("g", m2, 2)
    driver.sync("g", m1, 2, {m1: b"x" * 1000})
    driver.advance(9.9)
    assert set(driver.member_ids("g")) == {m1, m2}
    driver.advance(0.2)
    assert driver.state("g") == "Empty"


def test_a_record_tells_since_when_its_group_had_waited_for_the_leader():
    driver = Driver()
    made = completing1(driver)
    since = driver.now.wall_ms
    driver.advance(2)
    driver.sync("g", made.leader, 1, {made.leader: A1})
    assert driver.records[-1].value.current_state_timestamp == since > EPOCH_MS
    assert driver.inside("g").state_timestamp == since + 2000


# --- static members that come back ---


@pytest.mark.parametrize("version", [5, 9])
def test_a_static_member_that_cannot_be_stored_anew_stays_who_it_was(version):
    driver, made = limited(1500, static2)
    leader, follower = made.members
    inside = driver.inside("g")
    before = len(driver.records)
    much = [("range", b"x" * 1500)]
    driver.advance(4)
    back = driver.join("g", "c2", version, instance="i2", protocols=much, session_ms=20_000, rebalance_ms=99_000)
    answer = back.response
    assert (back.error, answer.member_id, answer.members, answer.skip_assignment) == (-1, "", [], False)
    assert (answer.generation_id, answer.protocol_name, answer.leader) == (made.generation, "range", leader)
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert driver.noted(JoinRefused)[-1].error == "UNKNOWN_SERVER_ERROR"
    assert len(driver.records) == before
    assert driver.state("g") == "Stable"
    assert driver.heartbeat("g", leader, made.generation, instance="i1").error == 0
    member = inside.members[follower]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 30_000)
    assert member.metadata("range") != b"x" * 1500
    # Its session, no longer than it was, began anew.
    for _ in range(2):
        driver.advance(4.9)
        assert driver.heartbeat("g", leader, made.generation, instance="i1").error == 0
    driver.advance(0.3)
    assert driver.member_ids("g") == [leader]


def test_a_static_leader_that_cannot_be_stored_anew_leads_on():
    driver, made = limited(1500, static2)
    leader = made.leader
    back = driver.join("g", "c1", instance="i1", protocols=[("range", b"x" * 1500)])
    assert (back.error, back.response.leader) == (-1, leader)
    assert driver.heartbeat("g", leader, made.generation, instance="i1").error == 0
    assert driver.join("g", "c1", instance="i1").response.leader != leader


def test_a_static_member_that_changes_the_protocol_is_not_stored_yet_and_so_not_refused():
    # In a tie "sticky" wins, by its place in a hash table.
    both = [("range", b"m"), ("sticky", b"m")]
    driver = Driver()
    made = static2(driver, protocols=both)
    driver.coordinator.tables.settings = replace(driver.settings, message_max_bytes=1500)
    back = driver.join("g", "c2", instance="i2", protocols=[("sticky", b"m"), ("range", b"x" * 1500)])
    assert (back.parked, driver.state("g")) == (True, "PreparingRebalance")
    answer = driver.join("g", "c1", member_id=made.leader, instance="i1", protocols=both).response
    assert (answer.error_code, answer.protocol_name, len(answer.members)) == (0, "sticky", 2)


# --- what is deleted ---


def with_offsets(count, *groups, **behaviour):
    """Groups with so many offsets each, of which a batch can have the tombstones of eleven."""
    driver = Driver(GroupSettings(behaviour=Behaviour(**behaviour)))
    for group in groups:
        driver.commit(group, {("t", partition): 5 for partition in range(count)})
    limit = bytes_of(*(offset_tombstone("g", "t", partition) for partition in range(11)))
    driver.coordinator.tables.settings = replace(driver.settings, message_max_bytes=limit)
    return driver


def test_all_offsets_are_deleted_that_a_request_names_or_none():
    driver = with_offsets(12, "g")
    before = len(driver.records)
    refused = driver.offset_delete("g", {"t": range(12)})
    assert (refused.error, refused.response.topics) == (-1, [])
    assert (len(driver.records), driver.noted(OffsetsDeleted)) == (before, [])
    assert driver.offset("g", partition=11) == 5
    assert driver.offset_delete("g", {"t": range(11)}).error == 0
    assert [driver.offset("g", partition=number) for number in (0, 10, 11)] == [-1, -1, 5]


def test_offsets_that_are_not_there_take_no_room():
    driver = with_offsets(3, "g")
    assert driver.offset_delete("g", {"t": range(1000)}).error == 0


def test_an_offset_that_is_named_twice_has_two_tombstones():
    driver = with_offsets(2, "g")
    before = len(driver.records)
    assert driver.offset_delete("g", {"t": [0, 7, 0]}).error == 0
    assert driver.records[before:] == [offset_tombstone("g", "t", 0)] * 2
    assert driver.noted(OffsetsDeleted) == [OffsetsDeleted(group="g", partitions=1)]


def test_all_groups_are_deleted_that_a_request_names_or_none():
    driver = with_offsets(6, "g", "h")
    before = len(driver.records)
    refused = driver.delete_groups("g", "h", "nobody").response.results
    assert [(one.group_id, one.error_code) for one in refused] == [("g", -1), ("h", -1), ("nobody", -1)]
    assert (len(driver.records), driver.noted(GroupDeleted)) == (before, [])
    assert driver.state("g") == driver.state("h") == "Empty"
    deleted = driver.delete_groups("nobody", "g").response.results
    assert [(one.group_id, one.error_code) for one in deleted] == [("nobody", 69), ("g", 0)]
    assert [type(record.key) for record in driver.records[before:]] == [OffsetCommitKey] * 6 + [GroupMetadataKey]
    assert driver.records[-1] == group_tombstone("g")


def test_the_tombstone_of_a_group_counts():
    driver = with_offsets(11, "g")
    assert driver.delete_groups("g").response.results[0].error_code == -1
    assert driver.offset_delete("g", {"t": [0, 1]}).error == 0
    assert driver.delete_groups("g").response.results[0].error_code == 0


def test_before_4_0_everything_could_be_deleted():
    driver = with_offsets(12, "g", "h", deletes_as_a_whole=False)
    assert driver.offset_delete("g", {"t": range(12)}).error == 0
    assert driver.offset("g", partition=11) == -1
    assert driver.delete_groups("h").response.results[0].error_code == 0


def test_retention_deletes_as_much_as_there_is():
    driver = with_offsets(12, "g")
    driver.advance(8 * 24 * 3600)
    assert "g" not in driver.coordinator.tables.groups
