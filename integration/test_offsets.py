"""Commits of members, and what is made of them: positions, resets, metadata, and who may not commit."""

import threading

import pytest
from kafka.consumer.group import KafkaConsumer
from kafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    NoOffsetForPartitionError,
    OffsetMetadataTooLargeError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata, TopicPartition

from integration.members import DEFAULTS, all_of
from integration.waiting import LIMIT, eventually

T = all_of(t=4)
T0, T1, T3 = (TopicPartition("t", number) for number in (0, 1, 3))
LATE = {"session_timeout_ms": 600_000, "heartbeat_interval_ms": 500_000}
"""For who is to miss a rebalance, and to hear of it by a commit: no heartbeat comes before."""


def offset(number: int, metadata: str = "") -> OffsetAndMetadata:
    return OffsetAndMetadata(number, metadata, -1)


def committed(member, partition: TopicPartition = T0) -> OffsetAndMetadata | None:
    return member.do(lambda consumer: consumer.committed(partition, metadata=True))


def find_positions(member) -> None:
    """Have a member find out where it is in each of its partitions, which it does some time after it is given them."""
    member.do(lambda consumer: [consumer.position(each) for each in sorted(consumer.assignment())])


def test_a_member_commits_and_waits_for_it(group):
    member = group.join("t")
    group.settled(T)
    assert committed(member) is None
    member.do(lambda consumer: consumer.commit({T0: offset(5, "five"), T1: offset(6)}))
    assert committed(member) == offset(5, "five")
    assert committed(member, T1) == offset(6)
    assert committed(member, T3) is None


def test_a_member_commits_and_does_not_wait(group):
    member = group.join("t")
    group.settled(T)
    told, what = threading.Event(), []

    def callback(offsets, response) -> None:
        what.append((offsets, response))
        told.set()

    member.do(lambda consumer: consumer.commit_async({T0: offset(11, "später ✓")}, callback=callback))
    assert told.wait(LIMIT)
    assert what[0][0] == {T0: offset(11, "später ✓")}
    assert not isinstance(what[0][1], Exception)
    assert committed(member) == offset(11, "später ✓")


def test_a_member_commits_by_itself_from_time_to_time(group):
    member = group.join("t", enable_auto_commit=True, auto_commit_interval_ms=200)
    group.settled(T)
    # There are no records: what is committed is where the log begins.
    eventually(lambda: all(committed(member, each) == offset(0) for each in T), "positions to be committed")


def test_a_member_commits_when_it_closes_and_when_it_must_give_up(group):
    config = {"enable_auto_commit": True, "auto_commit_interval_ms": 3_600_000}
    first = group.join("t", **config)
    group.settled(T)
    find_positions(first)
    second = group.join("t", **config)
    group.settled(T)
    assert all(committed(first, each) == offset(0) for each in T), "what the first had before it shared"
    find_positions(first)
    # As it closes it commits once more, over what somebody else has committed meanwhile.
    second.do(lambda consumer: consumer.commit({each: offset(3) for each in first.assignment}))
    first.close()
    group.settled(T, second)
    assert all(committed(second, each) == offset(0) for each in T)


def test_an_offset_is_where_the_next_owner_goes_on(group):
    first = group.join("t")
    group.settled(T)
    first.do(lambda consumer: consumer.commit({each: offset(0, f"{each.partition}") for each in T}))
    first.close()
    second = group.join("t", auto_offset_reset="none")
    group.settled(T, second)
    assert {each: second.do(lambda consumer, each=each: consumer.position(each)) for each in T} == dict.fromkeys(T, 0)
    assert committed(second, T3) == offset(0, "3")


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_without_an_offset_the_policy_says_where_to_begin(group, policy):
    member = group.join("t", auto_offset_reset=policy)
    group.settled(T)
    assert member.do(lambda consumer: [consumer.position(each) for each in sorted(T)]) == [0, 0, 0, 0]
    assert member.do(lambda consumer: consumer.beginning_offsets(sorted(T))) == dict.fromkeys(T, 0)
    assert member.do(lambda consumer: consumer.end_offsets(sorted(T))) == dict.fromkeys(T, 0)


def test_without_an_offset_and_a_policy_there_is_an_error(group):
    member = group.join("t", auto_offset_reset="none")
    eventually(lambda: member.error, lambda: member)
    assert isinstance(member.error, NoOffsetForPartitionError)


def test_a_member_seeks(group):
    member = group.join("t")
    group.settled(T)
    member.pause()
    find_positions(member)
    member.do(lambda consumer: consumer.seek(T0, 42))
    assert member.do(lambda consumer: consumer.position(T0)) == 42
    member.do(lambda consumer: consumer.commit())
    assert committed(member) == offset(42)
    assert committed(member, T1) == offset(0)
    # Polling finds that the log has no such place, and the policy says where to go instead.
    member.resume()
    eventually(lambda: member.do(lambda consumer: consumer.position(T0)) == 0, "the position to be reset")
    assert committed(member) == offset(42)
    member.do(lambda consumer: consumer.seek_to_end(T0))
    assert member.do(lambda consumer: consumer.position(T0)) == 0


def test_points_in_time_are_not_found_where_nothing_is(group):
    member = group.join("t")
    group.settled(T)
    assert member.do(lambda consumer: consumer.offsets_for_times({T0: 1})) == {T0: None}


def test_metadata_that_is_too_long_is_refused(group):
    member = group.join("t")
    group.settled(T)
    member.do(lambda consumer: consumer.commit({T0: offset(1, "x" * 4096)}))
    with pytest.raises(OffsetMetadataTooLargeError):
        member.do(lambda consumer: consumer.commit({T0: offset(2, "x" * 4097)}))
    assert committed(member) == offset(1, "x" * 4096)


def test_a_commit_to_a_partition_that_is_none_is_refused_alone(group):
    member = group.join("t")
    group.settled(T)
    unknown, told, what = TopicPartition("t", 99), threading.Event(), []

    def callback(_offsets, response) -> None:
        what.append(response)
        told.set()

    # `commit` would try again, as the topic might be about to be created.
    member.do(lambda consumer: consumer.commit_async({T0: offset(1), unknown: offset(1)}, callback=callback))
    assert told.wait(LIMIT)
    assert isinstance(what[0], UnknownTopicOrPartitionError)
    assert committed(member) == offset(1)
    assert committed(member, unknown) is None


def test_a_commit_of_an_old_generation_is_refused(make_kcoord, new_group):
    # A static member stays when a rebalance goes on without it, so its commits come with the generation of before. It
    # stays for as long again as it was waited for; the one is over at once, the other takes longer than what is done.
    server = make_kcoord({"t": 4})
    group = new_group(server)
    late = group.join("t", group_instance_id="late", **LATE)
    before = group.settled(T)
    late.pause()
    late.do(lambda consumer: consumer.commit({T0: offset(10)}))
    quick = group.join("t")
    server.group(group.id).wait(state="PreparingRebalance", members=2, timeout=LIMIT)
    server.clock.advance(DEFAULTS["max_poll_interval_ms"] / 1000)
    eventually(lambda: quick.generation > before, lambda: quick)
    with pytest.raises(CommitFailedError) as refused:
        late.do(lambda consumer: consumer.commit({T0: offset(11)}))
    assert isinstance(refused.value.args[0], IllegalGenerationError)
    assert committed(quick) == offset(10)
    # It comes back for one generation at least; of others that may follow no heartbeat tells it.
    late.resume()
    eventually(lambda: late.generation > before, lambda: late)


def test_d6_the_commit_of_one_who_is_no_longer_a_member_is_refused(group):
    rebalance = {"max_poll_interval_ms": 3_000}
    late = group.join("t", **rebalance, **LATE)
    before = group.settled(T)
    late.pause()
    late.do(lambda consumer: consumer.commit({T0: offset(10)}))
    quick = group.join("t", **rebalance)
    assert group.settled(T, quick) > before
    quick.do(lambda consumer: consumer.commit({T0: offset(20)}))
    with pytest.raises(CommitFailedError) as refused:
        late.do(lambda consumer: consumer.commit({T0: offset(11)}))
    assert isinstance(refused.value.args[0], UnknownMemberIdError)
    assert committed(quick) == offset(20)


def test_d2_commits_while_a_rebalance_begins_are_accepted(group, admin):
    first = group.join("t")
    before = group.settled(T)
    first.pause()
    second = group.join("t")
    # It cannot join before the first does, who is not polling; so this commit falls into the rebalance.
    state = "PreparingRebalance"
    eventually(lambda: admin.describe_groups([group.id])[group.id]["group_state"] == state, "the rebalance to begin")
    first.do(lambda consumer: consumer.commit({T0: offset(8)}))
    first.resume()
    assert group.settled(T) > before
    assert committed(second) == offset(8)


def test_manual_assignment_and_then_a_subscription(server, group, admin):
    alone = KafkaConsumer(bootstrap_servers=server.bootstrap, group_id=group.id, **DEFAULTS)
    alone.assign([T0, T1])
    assert not [each for each in admin.list_groups() if each["group_id"] == group.id]
    alone.commit({T0: offset(4, "by hand"), T1: offset(0)})
    (listed,) = [each for each in admin.list_groups() if each["group_id"] == group.id]
    assert listed["protocol_type"] == ""
    assert listed["group_state"] == "Empty"
    assert alone.committed(T0, metadata=True) == offset(4, "by hand")

    member = group.join("t")
    generation = group.settled(T)
    assert committed(member) == offset(4, "by hand")

    # S5: whoever is not a member has no say in a group that has members.
    with pytest.raises(CommitFailedError) as refused:
        alone.commit({T0: offset(5)})
    assert isinstance(refused.value.args[0], UnknownMemberIdError)
    assert committed(member) == offset(4, "by hand")
    assert group.settled(T) == generation

    member.close()
    alone.commit({T0: offset(6)})
    assert alone.committed(T0) == 6
    alone.close()


def test_l_the_empty_group_id_can_store_offsets(server):
    nameless = KafkaConsumer(bootstrap_servers=server.bootstrap, group_id="", **DEFAULTS)
    nameless.assign([T3])
    nameless.commit({T3: offset(9)})
    assert nameless.committed(T3) == 9
    nameless.close()
