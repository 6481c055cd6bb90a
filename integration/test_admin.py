"""The admin client's group calls, as an operator makes them: in use, empty, and gone."""

import pytest
from kafka.admin import GroupState, MemberToRemove, OffsetSpec, OffsetTimestamp
from kafka.errors import (
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    NoError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata, TopicPartition

from integration.members import all_of
from integration.waiting import eventually

T = all_of(t=4)
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def offset(number: int, metadata: str = "") -> OffsetAndMetadata:
    return OffsetAndMetadata(number, metadata, -1)


def listed(admin, group, **filters) -> list[tuple[str, str, str]]:
    """What the list says of the group: protocol type, state, type."""
    return [
        (each["protocol_type"], each["group_state"], each["group_type"])
        for each in admin.list_groups(**filters)
        if each["group_id"] == group.id
    ]


def test_the_list_and_its_filters(group, admin):
    assert listed(admin, group) == []
    member = group.join("t")
    group.settled(T)
    stable = [("consumer", "Stable", "classic")]
    assert listed(admin, group) == stable
    assert listed(admin, group, states_filter=["Stable"]) == stable
    assert listed(admin, group, states_filter=["Empty", "Stable"], types_filter=["classic"]) == stable
    assert listed(admin, group, states_filter=["Empty"]) == []
    assert listed(admin, group, types_filter=["consumer"]) == []
    member.close()
    assert listed(admin, group) == [("consumer", "Empty", "classic")]
    assert listed(admin, group, states_filter=["Empty"]) == [("consumer", "Empty", "classic")]
    assert listed(admin, group, states_filter=["Stable"]) == []


def test_r4_the_list_while_a_group_waits_for_its_members(group, admin):
    first = group.join("t")
    group.settled(T)
    first.pause()
    group.join("t")
    wanted = [("consumer", "PreparingRebalance", "classic")]
    eventually(lambda: listed(admin, group) == wanted, "the rebalance to begin")
    assert listed(admin, group, states_filter=[GroupState.PREPARING_REBALANCE]) == wanted
    first.resume()
    group.settled(T)


def test_a_group_in_use_described(group, admin):
    first, second = group.join("t", name="näme"), group.join("t", group_instance_id="static-1")
    group.settled(T)
    described = admin.describe_groups([group.id])[group.id]
    assert described["error"] is None
    assert (described["group_state"], described["protocol_type"]) == ("Stable", "consumer")
    assert described["protocol_data"] == "range"
    by_id = {member["member_id"]: member for member in described["members"]}
    assert set(by_id) == {first.member_id, second.member_id}
    for member in (first, second):
        said = by_id[member.member_id]
        assert said["client_id"] == member.name
        assert said["client_host"] == "/127.0.0.1"
        assert said["member_metadata"]["topics"] == ["t"]
        owned = {
            TopicPartition(each["topic"], number)
            for each in said["member_assignment"]["assigned_partitions"]
            for number in each["partitions"]
        }
        assert owned == member.assignment
    assert by_id[first.member_id]["group_instance_id"] is None
    assert by_id[second.member_id]["group_instance_id"] == "static-1"
    configs = {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}
    assert set(described["authorized_operations"]) == {"READ", "DESCRIBE", "DELETE"} | configs


def test_an_empty_group_and_an_unknown_one_described(group, admin):
    group.join("t")
    group.settled(T)
    group.close()
    unknown = f"{group.id}-unknown"
    described = admin.describe_groups([group.id, unknown])
    empty, gone = described[group.id], described[unknown]
    assert (empty["error"], empty["group_state"], empty["members"]) == (None, "Empty", [])
    assert gone["group_state"] == "Dead"
    assert gone["members"] == []
    assert "[Error 69] GroupIdNotFoundError" in gone["error"]  # since version 6 (KIP-1043)


def test_offsets_listed_altered_and_deleted(server, new_group, admin):
    one, other = new_group(server), new_group(server)
    assert admin.alter_group_offsets(one.id, {T0: offset(3, "note"), U0: offset(4)}) == {T0: NoError, U0: NoError}
    assert admin.alter_group_offsets(other.id, {T0: offset(5)}) == {T0: NoError}
    assert admin.list_group_offsets([one.id, other.id]) == {
        one.id: {T0: offset(3, "note"), U0: offset(4)},
        other.id: {T0: offset(5)},
    }
    assert admin.list_group_offsets({one.id: [T0, T1]}) == {one.id: {T0: offset(3, "note"), T1: offset(-1)}}
    assert admin.list_group_offsets(f"{one.id}-unknown") == {f"{one.id}-unknown": {}}

    unknown = TopicPartition("t", 99)
    refused = admin.alter_group_offsets(one.id, {T0: offset(7), unknown: offset(7)})
    assert refused == {T0: NoError, unknown: UnknownTopicOrPartitionError}
    assert admin.delete_group_offsets(one.id, [T0, unknown]) == {
        T0: NoError,
        unknown: UnknownTopicOrPartitionError,
    }
    assert admin.list_group_offsets(one.id) == {one.id: {U0: offset(4)}}


def test_offsets_reset(group, admin):
    admin.alter_group_offsets(group.id, {T0: offset(30, "kept"), T1: offset(31)})
    reset = admin.reset_group_offsets(group.id, {T0: OffsetSpec.LATEST, T1: 17, U0: OffsetTimestamp(1_700_000_000_000)})
    # There are no records, so every place there is is 0.
    assert reset == {each: {"error": NoError, "offset": 0} for each in (T0, T1, U0)}
    assert admin.list_group_offsets(group.id)[group.id] == {T0: offset(0, "kept"), T1: offset(0), U0: offset(0)}


def test_offsets_of_a_group_in_use_cannot_be_altered(group, admin):
    member = group.join("t")
    generation = group.settled(T)
    member.do(lambda consumer: consumer.commit({T0: offset(2)}))
    assert admin.alter_group_offsets(group.id, {T0: offset(1)}) == {T0: UnknownMemberIdError}
    assert admin.list_group_offsets(group.id)[group.id] == {T0: offset(2)}
    assert group.settled(T) == generation


def test_offsets_of_a_topic_in_use_cannot_be_deleted(group, admin):
    admin.alter_group_offsets(group.id, {U0: offset(1)})
    member = group.join("t")
    group.settled(T)
    member.do(lambda consumer: consumer.commit({T0: offset(2)}))
    assert admin.delete_group_offsets(group.id, [T0, U0]) == {T0: GroupSubscribedToTopicError, U0: NoError}
    assert admin.list_group_offsets(group.id)[group.id] == {T0: offset(2)}
    member.close()
    assert admin.delete_group_offsets(group.id, [T0]) == {T0: NoError}
    assert admin.list_group_offsets(group.id)[group.id] == {}
    with pytest.raises(GroupIdNotFoundError):
        admin.delete_group_offsets(f"{group.id}-unknown", [T0])


def test_members_removed(group, admin):
    stays, goes = group.join("t"), group.join("t")
    generation, old_id = group.settled(T), goes.member_id
    unknown = f"{old_id}-unknown"
    removed = admin.remove_group_members(
        group.id, [MemberToRemove(member_id=old_id), MemberToRemove(member_id=unknown)]
    )
    assert removed == {old_id: NoError, unknown: UnknownMemberIdError}
    # It learns of it, loses what it had, and comes back as somebody else.
    eventually(lambda: goes.heard("lost"), lambda: goes)
    assert group.settled(T, stays, goes) > generation
    assert goes.member_id != old_id


def test_groups_deleted(group, admin):
    member, other = group.join("t"), group.join("t")
    two = group.settled(T)
    other.close()
    generation = group.settled(T, member)
    assert generation > two > 0
    member.do(lambda consumer: consumer.commit({T0: offset(2)}))
    unknown = f"{group.id}-unknown"
    assert admin.delete_groups([group.id, unknown]) == {
        group.id: "NonEmptyGroupError",
        unknown: "GroupIdNotFoundError",
    }
    member.close()
    assert admin.delete_groups([group.id]) == {group.id: "OK"}
    assert admin.delete_groups([group.id]) == {group.id: "GroupIdNotFoundError"}
    assert listed(admin, group) == []
    assert admin.list_group_offsets(group.id) == {group.id: {}}

    # Q5: under the same name there is a new group, with nothing of the old one.
    # The old one would have emptied, and gone on from there. The new one begins with 1, but for what its client joins
    # once more.
    again = group.join("t")
    assert group.settled(T, again) < generation + 2
    assert again.do(lambda consumer: consumer.committed(T0)) is None


def test_o5_a_group_that_never_committed_can_be_deleted(group, admin):
    group.join("t").close()
    member = group.join("t")
    group.settled(T, member)
    member.close()
    assert admin.delete_groups([group.id]) == {group.id: "OK"}
    assert admin.describe_groups([group.id])[group.id]["group_state"] == "Dead"
