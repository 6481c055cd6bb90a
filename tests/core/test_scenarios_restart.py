"""Scenarios around a restart: all records so far are replayed into a new coordinator."""

from dataclasses import replace

from kcoord.core.coordinator import Coordinator
from kcoord.core.notes import GroupLoaded
from wire.payloads import decode_key, encode_key

from .driver import Driver, durable, protocols_of, settled, through_bytes
from .situations import A1, A2, completing1, completing2, preparing, stable1, stable2, static2


def test_a_stable_group_is_as_it_was(driver):
    made = stable2(driver)
    before = driver.describe("g").response
    driver.reload()
    assert driver.describe("g").response == before
    assert [driver.heartbeat("g", member_id, 2).error for member_id in made.members] == [0, 0]
    assert driver.state("g") == "Stable"
    assert driver.noted(GroupLoaded)[-1] == GroupLoaded(group="g", state="Stable", generation=2, members=2)


def test_and_gives_everybody_its_assignment(driver):
    made = stable2(driver)
    driver.reload()
    assert [driver.sync("g", member_id, 2).response.assignment for member_id in made.members] == [A1, A2]


def test_offsets_survive_with_all_that_belongs_to_them(driver):
    driver.commit("g", {("t", 0): 5, ("t", 1): 2**63 - 1, ("ü", 7): -1}, metadata="größe 😀", epoch=7)
    driver.reload()
    found = {
        (topic.name, one.partition_index): (one.committed_offset, one.committed_leader_epoch, one.metadata)
        for topic in driver.fetch("g").response.groups[0].topics
        for one in topic.partitions
    }
    assert found == {
        ("t", 0): (5, 7, "größe 😀"),
        ("t", 1): (2**63 - 1, 7, "größe 😀"),
        ("ü", 7): (-1, 7, "größe 😀"),
    }


def test_a_generation_that_was_not_synced_is_lost(driver):
    made = stable1(driver)
    second = driver.enter("g", "m2")
    driver.join("g", "m1", member_id=made.leader)
    assert second.response.generation_id == 2
    driver.reload()
    assert driver.state("g") == "Stable"
    assert driver.heartbeat("g", made.leader, 2).error == 22
    assert driver.heartbeat("g", second.response.member_id, 2).error == 25
    assert driver.heartbeat("g", made.leader, 1).error == 0


def test_a_first_generation_that_was_not_synced_leaves_an_empty_group(driver):
    made = completing1(driver)
    driver.reload()
    assert driver.state("g") == "Empty"
    assert driver.heartbeat("g", made.leader, 1).error == 25
    assert driver.inside("g").generation == 0


def test_an_empty_group_keeps_its_type_and_generation(driver):
    made = stable1(driver)
    driver.leave("g", made.leader)
    driver.reload()
    (listed,) = driver.list().response.groups
    assert (listed.group_state, listed.protocol_type) == ("Empty", "consumer")
    call = driver.enter("g", "m")
    driver.advance(3)
    assert call.response.generation_id == 3


def test_a_simple_group_survives(driver):
    driver.commit("g", {("t", 0): 5})
    driver.reload()
    assert (driver.state("g"), driver.offset("g")) == ("Empty", 5)
    (listed,) = driver.list().response.groups
    assert listed.protocol_type == ""


def test_what_was_deleted_stays_deleted(driver):
    driver.commit("gone", {("t", 0): 5})
    driver.commit("kept", {("t", 0): 5, ("u", 0): 6})
    driver.delete_groups("gone")
    driver.offset_delete("kept", {"t": [0]})
    driver.reload()
    assert driver.state("gone") == "Dead"
    assert (driver.offset("gone"), driver.offset("kept"), driver.offset("kept", "u")) == (-1, -1, 6)


def test_a_group_that_only_handed_out_an_id_is_still_listed(driver):
    driver.join("g", "a")
    driver.reload()
    (listed,) = driver.list().response.groups
    assert (listed.group_id, listed.group_state, listed.protocol_type) == ("g", "Empty", "")


def test_handed_out_ids_are_lost(driver):
    pending = driver.join("g", "a").response.member_id
    driver.reload()
    assert driver.join("g", "a", member_id=pending).error == 25


def test_sessions_begin_anew_in_full(driver):
    made = stable2(driver)
    driver.advance(8)
    driver.reload()
    driver.advance(9)
    assert set(driver.member_ids("g")) == set(made.members)
    driver.advance(1)
    assert driver.state("g") == "Empty"


def test_a_follower_with_two_protocols_is_known_by_one_only(driver):
    two = protocols_of(["range", "roundrobin"])
    made = stable2(driver, protocols=two)
    assert driver.join("g", "m2", member_id=made.members[1], protocols=two).error == 0
    driver.reload()
    assert driver.join("g", "m2", member_id=made.members[1], protocols=two).parked
    assert driver.state("g") == "PreparingRebalance"


def test_only_the_chosen_protocol_counts_until_members_rejoin(driver):
    made = stable2(driver, protocols=protocols_of(["range", "roundrobin"]))
    driver.reload()
    assert driver.join("g", "m3", protocols=protocols_of(["roundrobin"])).error == 23
    assert driver.join("g", "m3", protocols=protocols_of(["range"])).error == 79
    assert len(made.members) == 2


def test_a_follower_with_one_protocol_is_answered_at_once(driver):
    made = stable2(driver)
    driver.reload()
    again = driver.join("g", "m2", member_id=made.members[1])
    assert (again.error, again.response.generation_id) == (0, 2)
    assert driver.state("g") == "Stable"


def test_whoever_waits_when_the_partition_goes_is_told_so(driver):
    joining = preparing(driver, "j").joins[0]
    syncing = driver.sync("s", completing2(driver, "s").members[1], 2)
    driver.unload()
    assert (joining.error, joining.response.member_id) == (16, joining.request.member_id)
    assert (syncing.error, syncing.response.assignment) == (16, b"")
    assert driver.coordinator.next_deadline() is None
    driver.coordinator.check()


def test_a_record_of_another_kind_is_passed_over():
    """Key version 3 belongs to a group of the newer protocol (KIP-848)."""
    assert decode_key(b"\x00\x03\x00\x01g") is None
    assert decode_key(encode_key(stable_records()[0].key)) == stable_records()[0].key


def stable_records():
    driver = Driver()
    stable1(driver)
    return driver.records


def test_the_last_record_of_each_key_is_enough(driver):
    """Compaction keeps no more, and a store that is a map gives them in any order."""
    made = stable2(driver)
    for offset in range(5):
        driver.commit("g", {("t", 0): offset, ("u", 0): offset}, made.leader, 2)
    driver.offset_delete("g", {"u": [0]})
    static2(driver, "h")
    driver.commit("simple", {("t", 0): 1})
    driver.commit("gone", {("t", 0): 1})
    driver.delete_groups("gone")
    kept = {encode_key(record.key): record for record in driver.records}
    records = [through_bytes(record) for record in kept.values() if record.value is not None]
    assert len(records) < len(driver.records)
    for order in (records, records[::-1]):
        fresh = Coordinator(driver.settings, driver._ids)
        for record in order:
            fresh.apply(record)
        fresh.loaded(driver.now)
        fresh.check()
        assert durable(fresh, sorted(settled(fresh))) == durable(
            driver.coordinator, sorted(settled(driver.coordinator))
        )


def test_f23_static_members_survive(driver):
    static2(driver)
    driver.reload()
    back = driver.join("g", "c2", instance="i2")
    assert (back.error, back.response.generation_id) == (0, 1)
    assert driver.sync("g", back.response.member_id, 1, instance="i2").response.assignment == A2


def test_f23_a_restarted_static_member_survives_under_its_new_id(driver):
    made = static2(driver)
    back = driver.join("g", "c2", instance="i2").response.member_id
    driver.reload()
    assert set(driver.member_ids("g")) == {made.leader, back}
    assert driver.heartbeat("g", made.members[1], 1, instance="i2").error == 82


def test_an_assignment_that_was_not_stored_never_was(driver):
    """A write that fails is not undone: the shard loads anew, and the members are where the last record left them."""
    made = completing2(driver)
    m1, m2 = made.members
    before = len(driver.records)
    driver.sync("g", m1, 2, {m1: A1, m2: A2})
    assert len(driver.records) == before + 1
    del driver.records[before:]
    driver.reload()
    assert driver.heartbeat("g", m1, 2).error == 22
    assert driver.heartbeat("g", m2, 2).error == 25
    again = driver.join("g", "m1", member_id=m1)
    assert (again.error, again.response.generation_id) == (0, 2)


def test_an_old_record_without_a_rebalance_timeout_takes_the_session_timeout(driver):
    """20.3: version 0 of the record did not have one."""
    stable1(driver)
    record = driver.records[-1]
    (member,) = record.value.members
    old = replace(record.value, members=(replace(member, rebalance_timeout=-1),))
    driver.records[-1] = replace(record, value=old)
    driver.reload()
    (member,) = driver.inside("g").members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 10_000)
