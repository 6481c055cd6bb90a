"""Static members (KIP-345): restarts that nobody notices, two with one name, and who removes them."""

from kafka.admin import MemberToRemove
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import FencedInstanceIdError, InconsistentGroupProtocolError, NoError
from kafka.structs import OffsetAndMetadata, TopicPartition

from integration.members import LONG_POLL_MS, all_of
from integration.waiting import eventually

T = all_of(t=4)
T0 = TopicPartition("t", 0)
UNNOTICED = {"joining_ms": LONG_POLL_MS}
"""For who takes a place: a leader that joins twice is noticed."""


def instances(admin, group) -> dict[str, str]:
    """Member ids by instance id, as the coordinator has them."""
    members = admin.describe_groups([group.id])[group.id]["members"]
    return {member["group_instance_id"]: member["member_id"] for member in members}


def test_a_restart_within_the_session_disturbs_nobody(group, admin):
    for position in (0, 1):  # the leader first, then a follower
        names = [f"{position}-left", f"{position}-right"]
        group.members[:] = [group.join("t", name=name, group_instance_id=name) for name in names]
        generation = group.settled(T)
        assert set(instances(admin, group)) == set(names)
        restarted, other = group.members[position], group.members[1 - position]
        owned, old_id, heard = restarted.assignment, restarted.member_id, len(other.events)

        restarted.close()
        assert instances(admin, group)[restarted.name] == old_id, "closing does not leave"
        again = group.join("t", name=restarted.name, group_instance_id=restarted.name, **UNNOTICED)
        assert group.settled(T, again, other) == generation
        assert again.assignment == owned
        assert again.member_id != old_id
        assert again.member_id.startswith(f"{restarted.name}-")
        assert other.events[heard:] == []

        other.close()
        again.close()
        gone = [MemberToRemove(group_instance_id=name) for name in names]
        assert set(admin.remove_group_members(group.id, gone).values()) == {NoError}


def test_one_that_does_not_return_in_time_is_out(group, admin):
    stays = group.join("t", group_instance_id="stays")
    goes = group.join("t", group_instance_id="goes", session_timeout_ms=2_000)
    generation = group.settled(T)
    goes.close()
    assert group.settled(T, stays) > generation
    assert set(instances(admin, group)) == {"stays"}


def test_the_older_of_two_with_one_name_is_fenced(group, admin):
    # The older one is to hear of it by its commit, so it sends no heartbeat before, and nobody joins behind it: the
    # other one is there already, and joins again within one long poll.
    other = group.join("t", group_instance_id="y", poll_ms=1_000, **UNNOTICED)
    group.settled(T)
    seldom = {"session_timeout_ms": 600_000, "heartbeat_interval_ms": 500_000}
    older = group.join("t", group_instance_id="x", **seldom, **UNNOTICED)
    generation = group.settled(T)
    owned, older_id = older.assignment, older.member_id
    older.pause()
    newer = group.join("t", group_instance_id="x", **UNNOTICED)
    assert group.settled(T, newer, other) == generation
    assert newer.assignment == owned
    assert instances(admin, group)["x"] == newer.member_id != older_id

    refused = eventually(lambda: commit_error(older), "the older one's commit to be refused")
    assert isinstance(refused, FencedInstanceIdError)
    assert newer.do(lambda consumer: consumer.committed(T0)) is None
    assert group.settled(T, newer, other) == generation


def commit_error(member) -> Exception | None:
    """What becomes of a commit of offset 7."""
    try:
        member.do(lambda consumer: consumer.commit({T0: OffsetAndMetadata(7, "", -1)}))
    except FencedInstanceIdError as error:
        return error
    return None


def test_an_operator_removes_one_by_its_name(group, admin):
    stays, goes = group.join("t", group_instance_id="stays"), group.join("t", group_instance_id="goes")
    generation = group.settled(T)
    goes.close()
    removed = admin.remove_group_members(
        group.id, [MemberToRemove(group_instance_id="goes"), MemberToRemove(group_instance_id="unheard-of")]
    )
    assert [error.__name__ for error in removed.values()] == ["NoError", "UnknownMemberIdError"]
    assert group.settled(T, stays) > generation


def test_static_and_dynamic_members_in_one_group(group, admin):
    static, dynamic = group.join("t", group_instance_id="x"), group.join("t")
    generation = group.settled(T)
    assert instances(admin, group) == {"x": static.member_id, None: dynamic.member_id}
    static.close()
    back = group.join("t", group_instance_id="x", **UNNOTICED)
    assert group.settled(T, dynamic, back) == generation
    dynamic.close()
    assert group.settled(T, back) > generation


def test_a_restart_that_changes_the_assignor_is_noticed(group, admin):
    both = [RangePartitionAssignor, RoundRobinPartitionAssignor]
    x, y = (group.join("t", group_instance_id=name, partition_assignment_strategy=both) for name in "xy")
    generation = group.settled(T)
    assert admin.describe_groups([group.id])[group.id]["protocol_data"] == "range"
    x.close()
    x = group.join("t", group_instance_id="x", partition_assignment_strategy=[RoundRobinPartitionAssignor])
    assert group.settled(T, x, y) > generation
    assert y.heard("revoked")
    assert admin.describe_groups([group.id])[group.id]["protocol_data"] == "roundrobin"


def test_a_restart_without_an_assignor_that_its_predecessor_had_is_refused(group):
    # The predecessor counts as one who must support it, as in Apache Kafka 4.x.
    x = group.join("t", group_instance_id="x", partition_assignment_strategy=[RangePartitionAssignor])
    both = [RangePartitionAssignor, RoundRobinPartitionAssignor]
    y = group.join("t", group_instance_id="y", partition_assignment_strategy=both)
    generation, kept = group.settled(T), y.assignment
    x.close()
    refused = group.join("t", group_instance_id="x", partition_assignment_strategy=[RoundRobinPartitionAssignor])
    eventually(lambda: refused.error, lambda: refused)
    assert isinstance(refused.error, InconsistentGroupProtocolError)
    assert group.settled(kept, y) == generation
