"""Faults in force: whom they are for, and what clients meet."""

from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.control import Impossible, NotFound
from kcoord.notices import RequestAnswered
from tests.server.client import GIVE_UP, find, heartbeat, join
from wire.errors import ErrorCode
from wire.messages import (
    DescribeGroupsRequest,
    LeaveGroupRequest,
    MemberIdentity,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    ProduceRequest,
)


def commit(*places, group="g", **who):
    topics = {}
    for topic, partition in places:
        part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=7, committed_metadata="")
        topics.setdefault(topic, []).append(part)
    return OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
        **who,
    )


def errors(response):
    return {(topic.name, one.partition_index): one.error_code for topic in response.topics for one in topic.partitions}


async def beats(client, request, count):
    return [(await client.call(request, 3)).error_code for _ in range(count)]


async def test_the_nth_and_only_that(autojump_clock, bench):
    client, beat = await bench.member()
    number = bench.add(api="Heartbeat", error="REBALANCE_IN_PROGRESS", nth=3)
    assert await beats(client, beat, 5) == [0, 0, 27, 0, 0]
    view = bench.faults.get(number)
    assert (view.matched, view.applied, view.why_never) == (5, 1, "")


async def test_from_the_nth_on_as_often_as_wanted(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(api="Heartbeat", error=27, nth=2, times=2)
    assert await beats(client, beat, 5) == [0, 27, 27, 0, 0]
    bench.faults.clear()
    bench.add(api="Heartbeat", error=16, times=1)
    assert await beats(client, beat, 2) == [16, 0]


async def test_chance_that_can_be_had_again(autojump_clock, bench):
    client, beat = await bench.member()
    runs = []
    for _ in range(2):
        number = bench.add(api="Heartbeat", error=27, probability=0.5, seed=5)
        runs.append(await beats(client, beat, 40))
        bench.faults.remove(number)
    assert runs[0] == runs[1]
    assert 5 < runs[0].count(27) < 35


async def test_for_some_time_on_the_servers_clock(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(api="Heartbeat", error=27, seconds=5)
    assert await beats(client, beat, 1) == [27]
    await bench.control.clock.advance(5)
    assert await beats(client, beat, 1) == [0]


@pytest.mark.parametrize(
    "parts",
    [
        {"group": "other"},
        {"member": "somebody"},
        {"instance_id": "i"},
        {"client_id": "other"},
        {"generation": 2},
        {"state": "Empty"},
        {"api": "SyncGroup"},
    ],
)
async def test_whom_it_is_not_for(autojump_clock, bench, parts):
    client, beat = await bench.member()
    number = bench.add(**{"api": "Heartbeat", "error": 27, **parts})
    assert await beats(client, beat, 1) == [0]
    view = bench.faults.get(number)
    (name,) = parts
    assert view.why_never.endswith(f"; of 1 that came, 1 differed by {name.replace('_id', ' id')}")


async def test_whom_it_is_for(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(
        api="Heartbeat",
        group="g",
        member=beat.member_id,
        client_id="c",
        generation=1,
        state="Stable",
        broker=1,
        error=27,
    )
    assert await beats(client, beat, 1) == [27]


async def test_the_first_that_is_for_a_request_is_the_one_it_meets(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(api="Heartbeat", error=27, times=1)
    bench.add(error=16, group="g")
    assert await beats(client, beat, 2) == [27, 16]


async def test_an_error_for_one_partition_and_the_rest_is_committed(autojump_clock, bench):
    client = bench.connect()
    bench.add(api="OffsetCommit", topic="t", partition=1, error="OFFSET_METADATA_TOO_LARGE")
    answer = await client.call(commit(("t", 0), ("t", 1), ("u", 0)), 8)
    assert errors(answer) == {("t", 1): 12, ("t", 0): 0, ("u", 0): 0}
    assert [len(topic.partitions) for topic in answer.topics] == [2, 1]
    offsets = bench.control.groups.get("g").offsets
    assert [(each.topic, each.partition) for each in offsets] == [("t", 0), ("u", 0)]


async def test_an_error_for_all_partitions_leaves_nothing_to_handle(autojump_clock, bench):
    client = bench.connect()
    bench.add(api="OffsetCommit", group="g", error=22)
    assert errors(await client.call(commit(("t", 0), ("u", 0)), 8)) == {("t", 0): 22, ("u", 0): 22}
    with pytest.raises(NotFound):
        bench.control.groups.get("g")


async def test_topics_by_id(autojump_clock, bench):
    client = bench.connect()
    topic_id = bench.server.broker.catalog.by_name("t").topic_id
    bench.add(api="OffsetCommit", topic="t", error=29)
    parts = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")]
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(topic_id=topic_id, partitions=parts)])
    answer = await client.call(request, 10)
    assert [(topic.topic_id, topic.partitions[0].error_code) for topic in answer.topics] == [(topic_id, 29)]


async def test_one_group_of_several(autojump_clock, bench):
    client = bench.connect()
    await client.call(commit(("t", 0)), 8)
    bench.add(api="OffsetFetch", group="h", error="NOT_COORDINATOR")
    asked = [
        OffsetFetchRequestGroup(group_id=group, topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])])
        for group in ("g", "h")
    ]
    answer = await client.call(OffsetFetchRequest(groups=asked), 8)
    assert {group.group_id: group.error_code for group in answer.groups} == {"g": 0, "h": 16}
    bench.add(api="DescribeGroups", group="h", error=30)
    answer = await client.call(DescribeGroupsRequest(groups=["g", "h"]), 5)
    assert {group.group_id: group.error_code for group in answer.groups} == {"g": 0, "h": 30}


async def test_one_partition_of_an_offset_fetch(autojump_clock, bench):
    client = bench.connect()
    await client.call(commit(("t", 0), ("t", 1)), 8)
    bench.add(api="OffsetFetch", topic="t", partition=0, error=29)
    asked = OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])])
    (group,) = (await client.call(OffsetFetchRequest(groups=[asked]), 8)).groups
    found = {
        one.partition_index: (one.error_code, one.committed_offset)
        for topic in group.topics
        for one in topic.partitions
    }
    assert found == {0: (29, -1), 1: (0, 7)}


async def test_one_member_of_a_leave(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(api="LeaveGroup", member="ghost", error="FENCED_INSTANCE_ID")
    who = [MemberIdentity(member_id=each) for each in ("ghost", beat.member_id)]
    answer = await client.call(LeaveGroupRequest(group_id="g", members=who), 5)
    assert [(one.member_id, one.error_code) for one in answer.members] == [("ghost", 82), (beat.member_id, 0)]


async def test_one_topic_of_metadata_and_the_key_of_find_coordinator(autojump_clock, bench):
    client = bench.connect()
    bench.add(api="Metadata", topic="u", error="LEADER_NOT_AVAILABLE")
    wanted = [MetadataRequestTopic(name="t"), MetadataRequestTopic(name="u")]
    answer = await client.call(MetadataRequest(topics=wanted), 9)
    assert {topic.name: topic.error_code for topic in answer.topics} == {"t": 0, "u": 5}
    assert len(answer.brokers) == 1
    bench.add(api="FindCoordinator", group="g", error=15)
    answer = await client.call(find("g"), 3)
    assert (answer.error_code, answer.node_id) == (15, -1)


async def test_delay_and_late(autojump_clock, bench):
    client, beat = await bench.member()
    start = trio.current_time()
    bench.add(api="Heartbeat", delay=2, times=1)
    bench.add(api="Heartbeat", late=3, error=27)
    assert await beats(client, beat, 2) == [0, 27]
    assert trio.current_time() - start == pytest.approx(5)


async def test_a_delay_is_over_when_the_clock_is_moved_and_not_while_it_stands_still(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(api="Heartbeat", delay=20)
    bench.control.clock.freeze()
    await client.send(beat, 3)
    with trio.move_on_after(500):
        await client.receive()
        pytest.fail("time stood still")
    client.expected.append((client.correlation_id, type(beat).RESPONSE, 3))
    await bench.control.clock.advance(20)
    assert (await client.receive()).error_code == 0


async def test_a_held_request_is_handled_when_it_is_released(autojump_clock, bench):
    client, beat = await bench.member()
    number = bench.add(api="Heartbeat", hold="request")
    await client.send(beat, 3)
    await wait_all_tasks_blocked()
    assert bench.faults.get(number).held == 1
    await bench.control.groups.expire("g", beat.member_id)
    assert bench.faults.release(number) == 1
    assert (await client.receive()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.faults.release(number) == 0


async def test_answers_out_of_order_across_connections(autojump_clock, bench):
    (one, first), (other, second) = await bench.member("g"), await bench.member("h")
    number = bench.add(api="Heartbeat", group="g", hold="answer")
    await one.send(first, 3)
    await wait_all_tasks_blocked()
    assert await beats(other, second, 1) == [0]
    bench.faults.remove(number)
    assert (await one.receive()).error_code == 0


async def test_what_met_a_fault_that_is_taken_away_before_it_would_be_held_goes_on(autojump_clock, bench):
    client, beat = await bench.member()
    number = bench.add(api="Heartbeat", delay=5, hold="answer")
    await client.send(beat, 3)
    await wait_all_tasks_blocked()
    assert (bench.faults.get(number).applied, bench.faults.get(number).held) == (1, 0)
    bench.faults.remove(number)
    assert (await client.receive(GIVE_UP)).error_code == 0


async def test_a_connection_dropped_before_and_after_the_request_is_handled(autojump_clock, bench):
    for when, known in (("before", False), ("after", True)):
        number = bench.add(api="OffsetCommit", drop=when)
        client = bench.connect()
        await client.send(commit(("t", 0), group=when), 8)
        with pytest.raises(EOFError):
            await client.receive_frame()
        groups = [view.group_id for view in bench.control.groups.list()]
        assert (when in groups) is known
        bench.faults.remove(number)


@pytest.mark.parametrize("size", [0, 3, 4, 9])
async def test_a_truncated_answer(autojump_clock, bench, size):
    client, beat = await bench.member()
    bench.add(api="Heartbeat", truncate=size)
    await client.send(beat, 3)
    data = b""
    while some := await client.stream.receive_some(100):
        data += some
    assert len(data) == size


async def test_a_produce_that_wants_no_answer_loses_its_connection(autojump_clock, bench):
    client = bench.connect()
    bench.add(api="Produce", error=7)
    await client.send(ProduceRequest(acks=0, timeout_ms=1, topic_data=[]), 9)
    with pytest.raises(EOFError):
        await client.receive_frame()


async def test_who_listens_to_requests_is_told_of_the_fault(autojump_clock, bench):
    client, beat = await bench.member()
    told = []
    bench.server.broker.on_request(told.append)
    bench.add(api="Heartbeat", error=27)
    await beats(client, beat, 1)
    (answered,) = [each for each in told if isinstance(each, RequestAnswered)]
    assert answered.fault == "REBALANCE_IN_PROGRESS is answered: Heartbeat"
    assert "[fault: REBALANCE_IN_PROGRESS is answered: Heartbeat]" in bench.control.timeline.of("g").text()


async def test_a_client_that_goes_while_it_is_held_is_no_trouble(autojump_clock, bench):
    client, beat = await bench.member()
    number = bench.add(api="Heartbeat", hold="request", times=1)
    await client.send(beat, 3)
    await wait_all_tasks_blocked()
    await client.aclose()
    await wait_all_tasks_blocked()
    await bench.control.reset()
    assert bench.faults.list() == ()
    with pytest.raises(NotFound):
        bench.faults.get(number)


async def test_why_it_was_for_none(autojump_clock, bench):
    number = bench.add(api="Heartbeat", error=27, nth=9)
    assert bench.faults.get(number).why_never.startswith("this fault was for no request, as none came: REBALANCE")
    client, beat = await bench.member()
    await beats(client, beat, 2)
    assert bench.faults.get(number).why_never.startswith("this fault was for none of 2 requests that matched: REB")
    first = bench.add(api="Heartbeat", delay=0)
    bench.faults.remove(number)
    second = bench.add(api="Heartbeat", error=27)
    await beats(client, beat, 2)
    assert bench.faults.get(first).applied == 2
    assert bench.faults.get(second).why_never.endswith("; of 2 that came, 2 met another fault first")


async def test_an_error_for_all_topics_that_there_are(autojump_clock, bench):
    bench.add(api="Metadata", error="LEADER_NOT_AVAILABLE")
    answer = await bench.connect().call(MetadataRequest(topics=None), 9)
    assert {topic.name: topic.error_code for topic in answer.topics} == {"t": 5, "u": 5, "__consumer_offsets": 5}
    assert len(answer.brokers) == 1


async def test_an_answer_that_is_no_longer_than_allowed_is_sent_as_it_is(autojump_clock, bench):
    client, beat = await bench.member()
    bench.add(api="Heartbeat", truncate=10_000)
    assert await beats(client, beat, 2) == [0, 0]


async def test_what_cannot_be_is_refused(autojump_clock, bench):
    with pytest.raises(Impossible, match="there is no broker 77: there are 1"):
        bench.add(api="Heartbeat", error=27, broker=77)
    with pytest.raises(Impossible, match="a fault is given by the names of its parts, not as 'x'"):
        bench.faults.add("x")
    with pytest.raises(Impossible, match="Kafka has no error NOPE"):
        bench.add(api="Heartbeat", error="NOPE")
    for wish in (bench.faults.get, bench.faults.remove, bench.faults.release):
        with pytest.raises(NotFound, match="there is no fault 99"):
            wish(99)


async def test_a_held_join_meets_no_other_client(autojump_clock, bench):
    client, _ = await bench.member()
    bench.add(api="JoinGroup", member="", error=81)
    newcomer = bench.connect()
    answer = await newcomer.call(join("g"), 4)
    assert answer.error_code == 81
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(client.call, heartbeat("g", 1, "x"), 3))
