"""Several logical brokers: who is asked for what, and what happens when one stops or what it leads moves."""

import socket
from contextlib import closing
from dataclasses import replace

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.control import Impossible, NotFound, TimedOut, Unavailable
from kcoord.net.connections import COMES_AGAIN_WITHIN
from kcoord.nodes import NOBODY
from tests.records import NOW, good
from tests.server.client import find, heartbeat, join, sync
from tests.server.conftest import on_loopback, start
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersionsRequest,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeTopicPartitionsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    FindCoordinatorRequest,
    LeaveGroupRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
    TopicRequest,
)

GROUPS = [f"g{number}" for number in range(12)]


async def member(cluster, group):
    """Let one member form a group at its coordinator; return its connection and its heartbeat."""
    client = cluster.connect(cluster.coordinator_of(group))
    first = await client.call(join(group), 4)
    answer = await client.call(join(group, first.member_id), 4)
    assert answer.error_code == 0
    assert (await client.call(sync(group, answer.generation_id, answer.member_id), 3)).error_code == 0
    return client, heartbeat(group, answer.generation_id, answer.member_id)


async def metadata(cluster, node_id, *topics):
    wanted = [MetadataRequestTopic(name=name) for name in topics]
    return await cluster.connect(node_id).call(MetadataRequest(topics=wanted), 12)


async def create(client, topic):
    (answer,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7)).topics
    return answer


async def test_all_brokers_are_told_of_and_each_leads_a_part(autojump_clock, cluster):
    for node_id in (1, 2, 3):
        answer = await metadata(cluster, node_id, "t")
        assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [
            (1, "broker-1", 9091),
            (2, "broker-2", 9092),
            (3, "broker-3", 9093),
        ]
        assert answer.controller_id == 1
        (topic,) = answer.topics
        assert sorted(each.leader_id for each in topic.partitions) == [1, 2, 3]
        assert all(sorted(each.replica_nodes) == sorted(each.isr_nodes) == [1, 2, 3] for each in topic.partitions)
        assert all(each.offline_replicas == [] and each.replica_nodes[0] == each.leader_id for each in topic.partitions)
    described = await cluster.connect(2).call(DescribeClusterRequest(), 1)
    assert [each.broker_id for each in described.brokers] == [1, 2, 3]
    listed = await cluster.connect(2).call(ListConfigResourcesRequest(resource_types=[4]), 1)
    assert [each.resource_name for each in listed.config_resources] == ["1", "2", "3"]


async def produce(cluster, records):
    """Let so many records be written to the first partition of t."""
    data = PartitionProduceData(index=0, records=good(records))
    produced = await cluster.connect(cluster.leader_of("t", 0)).call(
        ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[TopicProduceData(name="t", partition_data=[data])]), 9
    )
    assert produced.responses[0].partition_responses[0].error_code == 0


async def test_what_was_written_stays_known_to_the_next_leader(autojump_clock, cluster):
    """A client that read it asks how far its epoch goes, and would read it again if that were less (KIP-320)."""
    await produce(cluster, 3)
    for epoch in (1, 2):
        await cluster.brokers.stop(cluster.leader_of("t", 0))
        client = cluster.connect(cluster.leader_of("t", 0))
        asked = [
            OffsetForLeaderPartition(partition=0, current_leader_epoch=epoch, leader_epoch=each) for each in (0, 1)
        ]
        answer = await client.call(
            OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=asked)]), 4
        )
        ends = [(each.error_code, each.leader_epoch, each.end_offset) for each in answer.topics[0].partitions]
        assert ends == [(0, 0, 3), (0, 1 if epoch == 1 else 0, 3)]
        assert [await epoch_told(client, each) for each in (EARLIEST, NOW, LATEST)] == [0, 0, epoch]


EARLIEST, LATEST = -2, -1


async def epoch_told(client, timestamp):
    """In which epoch what ListOffsets finds was written."""
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    answer = await client.call(request, 5)
    (found,) = answer.topics[0].partitions
    assert found.error_code == 0
    return found.leader_epoch


@pytest.mark.parametrize(
    ("epoch", "offset", "told"),
    [
        (-1, 3, None),
        (0, 3, None),
        (0, 4, (0, 3)),
        (0, 2, None),
        (1, 3, (0, 3)),
        (1, 2, (0, 3)),
        (2, 4, None),
        (2, 9, (2, 4)),
    ],
)
async def test_who_fetched_more_of_an_epoch_than_there_is_of_it_is_told_where_it_ended(
    autojump_clock, cluster, epoch, offset, told
):
    """Three records of epoch 0, none of 1, one of 2."""
    await produce(cluster, 3)
    await cluster.brokers.stop(cluster.leader_of("t", 0))
    await cluster.brokers.stop(cluster.leader_of("t", 0))
    await produce(cluster, 1)
    client = cluster.connect(cluster.leader_of("t", 0))
    asked = FetchPartition(
        partition=0,
        current_leader_epoch=2,
        fetch_offset=offset,
        last_fetched_epoch=epoch,
        partition_max_bytes=10_000,
    )
    request = FetchRequest(max_wait_ms=0, max_bytes=10_000, topics=[FetchTopic(topic="t", partitions=[asked])])
    (found,) = (await client.call(request, 12)).responses[0].partitions
    diverging = found.diverging_epoch
    assert found.error_code == 0
    assert (diverging.epoch, diverging.end_offset) == (told or (-1, -1))
    assert bool(found.records) == (told is None and offset < 4)


async def test_who_means_another_broker_than_it_reached_has_to_bootstrap_anew(autojump_clock, cluster):
    cluster_id = (await metadata(cluster, 1)).cluster_id
    for reached in (1, 2, 3):
        client = cluster.connect(reached)
        for meant in (1, 2, 3, 4):
            answer = await client.call(
                ApiVersionsRequest(
                    client_software_name="x", client_software_version="1", cluster_id=cluster_id, node_id=meant
                ),
                5,
            )
            wanted = ErrorCode.NONE if meant == reached else ErrorCode.REBOOTSTRAP_REQUIRED
            assert answer.error_code == wanted
            assert bool(answer.api_keys) is (meant == reached)


async def test_groups_are_coordinated_by_the_leader_of_their_partition(autojump_clock, cluster):
    client = cluster.connect(1)
    answer = await client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=GROUPS), 4)
    found = {each.key: each.node_id for each in answer.coordinators}
    assert found == {group: cluster.coordinator_of(group) for group in GROUPS}
    assert set(found.values()) == {1, 2, 3}
    assert all(each.host == f"broker-{each.node_id}" for each in answer.coordinators)


async def test_others_refuse_a_group_and_list_only_their_own(autojump_clock, cluster):
    for group in GROUPS[:6]:
        client, beat = await member(cluster, group)
        assert (await client.call(beat, 3)).error_code == 0
        for other in cluster.not_coordinators_of(group):
            assert (await cluster.connect(other).call(beat, 3)).error_code == ErrorCode.NOT_COORDINATOR
    for view in cluster.brokers.list():
        answer = await cluster.connect(view.node_id).call(ListGroupsRequest(), 4)
        mine = [group for group in GROUPS[:6] if cluster.coordinator_of(group) == view.node_id]
        assert sorted(each.group_id for each in answer.groups) == list(view.groups) == mine
        assert view.coordinates in (16, 17)
    assert {view.coordinator for view in cluster.control.groups.list()} == {1, 2, 3}


async def test_records_are_asked_of_the_leader_alone(autojump_clock, cluster):
    leader = cluster.leader_of("t", 0)
    asked = {
        FetchRequest: FetchRequest(
            max_wait_ms=10_000,
            min_bytes=1,
            topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=0)])],
        ),
        ListOffsetsRequest: ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])],
        ),
        OffsetForLeaderEpochRequest: OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(topic="t", partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=0)])]
        ),
        DeleteRecordsRequest: DeleteRecordsRequest(
            timeout_ms=1_000,
            topics=[DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=0)])],
        ),
        ProduceRequest: ProduceRequest(
            acks=1,
            timeout_ms=1_000,
            topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=b"x")])],
        ),
    }
    versions = {FetchRequest: 11, ListOffsetsRequest: 7, ProduceRequest: 9, DeleteRecordsRequest: 2}
    for cls, request in asked.items():
        for node_id in (1, 2, 3):
            start = trio.current_time()
            answer = await cluster.connect(node_id).call(request, versions.get(cls, 4))
            topics = answer.responses if cls in (FetchRequest, ProduceRequest) else answer.topics
            parts = topics[0].partition_responses if cls is ProduceRequest else topics[0].partitions
            code = parts[0].error_code
            assert (code == ErrorCode.NOT_LEADER_OR_FOLLOWER) == (node_id != leader), (cls, node_id)
            if node_id != leader:
                assert trio.current_time() == start


async def test_a_broker_has_settings_of_its_own_name(autojump_clock, cluster):
    resource = DescribeConfigsResource(resource_type=4, resource_name="2", configuration_keys=None)
    for node_id, code in ((2, 0), (1, ErrorCode.INVALID_REQUEST)):
        answer = await cluster.connect(node_id).call(DescribeConfigsRequest(resources=[resource]), 4)
        assert answer.results[0].error_code == code


async def test_topics_have_the_replicas_that_are_asked_for(autojump_clock, cluster):
    client = cluster.connect(1)
    answer = await create(client, CreatableTopic(name="two", num_partitions=4, replication_factor=2))
    assert (answer.error_code, answer.replication_factor) == (0, 2)
    refused = await create(client, CreatableTopic(name="four", num_partitions=1, replication_factor=4))
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert refused.error_message == "there cannot be 4 replicas: there are 3 brokers"
    given = [CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in enumerate([[3, 1], [3, 2]])]
    assigned = CreatableTopic(name="own", num_partitions=-1, replication_factor=-1, assignments=given)
    assert (await create(client, assigned)).error_code == 0
    more = CreatePartitionsTopic(name="own", count=3, assignments=[CreatePartitionsAssignment(broker_ids=[2, 3])])
    grown = await client.call(CreatePartitionsRequest(topics=[more], timeout_ms=1_000), 2)
    assert grown.results[0].error_code == 0
    (topic,) = (await metadata(cluster, 1, "own")).topics
    assert [each.replica_nodes for each in topic.partitions] == [[3, 1], [3, 2], [2, 3]]
    assert [each.leader_id for each in topic.partitions] == [3, 3, 2]
    asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="own")], response_partition_limit=10)
    (entry,) = (await client.call(asked, 0)).topics
    assert [each.leader_id for each in entry.partitions] == [3, 3, 2]


@pytest.mark.parametrize(
    ("brokers", "sentence"),
    [
        ([[1, 4]], "partition 0 is assigned to broker 4, which does not exist"),
        ([[1, 1]], "partition 0 is assigned to broker 1 more than once"),
        ([[1, 2], [3]], "partition 1 has 1 replicas, while others have 2"),
        ([[1, 2, 3, 1]], "partition 0 is assigned to broker 1 more than once"),
    ],
)
async def test_replicas_that_cannot_be(autojump_clock, cluster, brokers, sentence):
    given = [CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in enumerate(brokers)]
    wanted = CreatableTopic(name="own", num_partitions=-1, replication_factor=-1, assignments=given)
    refused = await create(cluster.connect(1), wanted)
    assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, sentence)


async def test_a_group_moves_with_all_that_is_in_it(autojump_clock, cluster):
    client, beat = await member(cluster, "g")
    before = cluster.coordinator_of("g")
    view = await cluster.brokers.move("g", loading=5)
    assert view.node_id == cluster.coordinator_of("g") != before
    assert (await client.call(beat, 3)).error_code == ErrorCode.NOT_COORDINATOR
    there = cluster.connect(view.node_id)
    assert (await there.call(join("g", beat.member_id), 4)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await cluster.control.clock.advance(5)
    await wait_all_tasks_blocked()
    assert (await there.call(beat, 3)).error_code == 0
    group = cluster.control.groups.get("g")
    assert (group.state, group.generation, group.coordinator) == ("Stable", 1, view.node_id)


async def test_who_waits_is_told_to_look_for_the_coordinator_again(autojump_clock, cluster):
    _, beat = await member(cluster, "g")
    waiting = cluster.connect(cluster.coordinator_of("g"))
    first = await waiting.call(join("g"), 4)
    await waiting.send(join("g", first.member_id), 4)
    await wait_all_tasks_blocked()
    await cluster.brokers.move("g")
    assert (await waiting.receive()).error_code == ErrorCode.NOT_COORDINATOR
    await wait_all_tasks_blocked()
    assert (await cluster.connect(cluster.coordinator_of("g")).call(beat, 3)).error_code in (0, 27)


@pytest.mark.parametrize("frozen", [False, True])
async def test_a_coordinator_serves_when_the_clock_is_moved_past_its_loading(autojump_clock, cluster, frozen):
    await member(cluster, "g")
    if frozen:
        cluster.control.clock.freeze()
    await cluster.brokers.loading("g", 5)
    await cluster.control.clock.advance(5)
    assert cluster.control.groups.get("g").state == "Stable"
    await cluster.brokers.move("g", loading=5)
    await cluster.control.clock.advance(4)
    with pytest.raises(Unavailable):
        cluster.control.groups.get("g")
    await cluster.control.clock.advance(1)
    assert cluster.control.groups.get("g").state == "Stable"


async def test_sessions_begin_when_a_coordinator_has_loaded_though_the_clock_is_moved_beyond(autojump_clock, cluster):
    """They would have ended by then."""
    await member(cluster, "g")
    await cluster.brokers.loading("g", 5)
    await cluster.control.clock.advance(60, heartbeats=False)
    assert cluster.control.groups.get("g").state == "Empty"
    (told,) = [each for each in cluster.control.timeline.of("g").plain()["events"] if each["kind"] == "MemberExpired"]
    assert told["at"] == pytest.approx(5 + 10, abs=0.1)


async def in_a_join_phase(cluster):
    """Let a newcomer join a group whose other member does not come; return its connection, and the member's id."""
    _, beat = await member(cluster, "g")
    newcomer = cluster.connect(cluster.coordinator_of("g"))
    await newcomer.send(join("g"), 3)
    await trio.sleep(2)
    return newcomer, beat.member_id


@pytest.mark.parametrize(
    "take_over",
    [
        lambda brokers: brokers.move("g"),
        lambda brokers: brokers.move("g", loading=30),
        lambda brokers: brokers.loading("g", 30),
        lambda brokers: brokers.loading("g", 0),
    ],
)
async def test_a_rebalance_that_is_lost_with_its_coordinator_is_told_to_be_over(autojump_clock, cluster, take_over):
    newcomer, absent = await in_a_join_phase(cluster)
    await take_over(cluster.brokers)
    assert (await newcomer.receive()).error_code == ErrorCode.NOT_COORDINATOR
    await trio.sleep(1)
    timeline = cluster.control.timeline.of("g")
    first, lost = timeline.generations
    assert (first.broken_off, first.lost, first.number) == (None, False, 1)
    assert (lost.number, lost.formed, lost.seconds, lost.lost) == (None, None, None, True)
    assert lost.broken_off - lost.began == pytest.approx(2)
    assert [(each.member, each.outcome, round(each.seconds)) for each in lost.waited_for] == [
        (absent, "had not come", 2)
    ]
    title, cause, waited = timeline.text().splitlines()[:3]
    assert title.startswith("Group g:")
    assert "generation 1 " in title
    assert cause.startswith("The last rebalance was lost with its coordinator, 2.000 s after it began: new member ")
    assert waited.endswith("which had not come after 2.000 s.")
    assert "lost with its coordinator after 2.000 s: new member" in timeline.text()


async def test_an_assignment_that_was_lost_with_its_coordinator_is_waited_for_no_more(autojump_clock, cluster):
    newcomer, absent = await in_a_join_phase(cluster)
    again = cluster.connect(cluster.coordinator_of("g"))
    assert (await again.call(join("g", absent), 3)).error_code == 0
    await newcomer.receive()
    await cluster.brokers.move("g")
    await wait_all_tasks_blocked()
    timeline = cluster.control.timeline.of("g")
    assert [(each.number, each.lost) for each in timeline.generations] == [(1, False), (2, True)]
    assert "Group g: Stable, generation 1 " in timeline.title
    assert "It waits for" not in timeline.text()


async def test_a_group_that_is_empty_when_it_is_loaded_waits_for_whoever_comes(autojump_clock, cluster):
    client, beat = await member(cluster, "g")
    await client.call(LeaveGroupRequest(group_id="g", member_id=beat.member_id), 2)
    await cluster.brokers.move("g")
    await wait_all_tasks_blocked()
    await member(cluster, "g")
    assert [each.initial for each in cluster.control.timeline.of("g").generations] == [True, False, True]


@pytest.mark.parametrize(
    "take_over",
    [
        lambda brokers, _: brokers.move("g"),
        lambda brokers, _: brokers.loading("g", 0),
        lambda brokers, here: brokers.stop(here),
        lambda brokers, _: brokers.reset(),
    ],
    ids=["move", "loading", "stop", "reset"],
)
async def test_who_looks_at_a_group_next_finds_it(autojump_clock, cluster, take_over):
    await member(cluster, "g")
    await cluster.brokers.move("g")
    await take_over(cluster.brokers, cluster.coordinator_of("g"))
    assert cluster.control.groups.get("g").state == "Stable"
    assert (await cluster.control.groups.set_offsets("g", {("t", 0): 5})).committed("t", 0) == 5


async def test_who_looks_at_a_group_that_nobody_coordinates_is_told_so_until_a_broker_is_back(autojump_clock, cluster):
    await member(cluster, "g")
    here = cluster.coordinator_of("g")
    await cluster.brokers.stop(here, elect=False)
    groups = cluster.control.groups
    told = r"^nobody coordinates group g: no broker that runs leads partition \d+ of __consumer_offsets$"
    with pytest.raises(Unavailable, match=told):
        groups.get("g")
    for wish in (groups.rebalance("g"), groups.set_offsets("g", {("t", 0): 5}), groups.delete("g")):
        with pytest.raises(Unavailable, match=told):
            await wish
    with pytest.raises(TimedOut, match="group g did not become Stable within 0 s: nobody coordinates group g: no brok"):
        await groups.wait("g", state="Stable", timeout=0)
    await cluster.brokers.start(here)
    assert cluster.control.groups.get("g").state == "Stable"


async def test_loading_in_place(autojump_clock, cluster):
    client, beat = await member(cluster, "g")
    await cluster.brokers.loading("g", 3)
    answer = await client.call(join("g", beat.member_id), 4)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await trio.sleep(3.1)
    assert (await client.call(beat, 3)).error_code == 0


async def test_a_broker_that_stops_closes_its_connections_and_others_lead(autojump_clock, cluster):
    client, beat = await member(cluster, "g")
    gone = cluster.coordinator_of("g")
    view = await cluster.brokers.stop(gone)
    assert (view.running, view.leads, view.coordinates, view.groups) == (False, 0, 0, ())
    with pytest.raises(EOFError):
        await client.receive_frame()
    alive = next(each for each in (1, 2, 3) if each != gone)
    answer = await metadata(cluster, alive, "t")
    assert gone not in [each.node_id for each in answer.brokers]
    assert answer.controller_id == alive
    for partition in answer.topics[0].partitions:
        assert partition.leader_id not in (gone, NOBODY)
        assert (partition.offline_replicas, gone in partition.isr_nodes) == ([gone], False)
    await wait_all_tasks_blocked()
    assert (await cluster.connect(cluster.coordinator_of("g")).call(beat, 3)).error_code == 0
    back = await cluster.brokers.start(gone)
    assert (back.running, back.leads) == (True, 0)


async def test_without_an_election_nobody_leads_until_the_broker_is_back(autojump_clock, cluster):
    _, beat = await member(cluster, "g")
    gone = cluster.coordinator_of("g")
    await cluster.brokers.stop(gone, elect=False)
    alive = next(each for each in (1, 2, 3) if each != gone)
    client = cluster.connect(alive)
    found = await client.call(find("g"), 3)
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOBODY)
    assert (await client.call(beat, 3)).error_code == ErrorCode.NOT_COORDINATOR
    partitions = (await metadata(cluster, alive, "t")).topics[0].partitions
    without = [each for each in partitions if each.leader_id == NOBODY]
    assert [each.error_code for each in without] == [ErrorCode.LEADER_NOT_AVAILABLE]
    await cluster.brokers.start(gone)
    await wait_all_tasks_blocked()
    assert (await cluster.connect(gone).call(beat, 3)).error_code == 0


async def test_all_may_stop_and_start_and_groups_are_there(autojump_clock, cluster):
    _, beat = await member(cluster, "g")
    for node_id in (1, 2, 3):
        await cluster.brokers.stop(node_id)
    assert cluster.broker.nodes.controller == NOBODY
    for node_id in (1, 2, 3):
        await cluster.brokers.start(node_id)
    await wait_all_tasks_blocked()
    assert (await cluster.connect(cluster.coordinator_of("g")).call(beat, 3)).error_code == 0


async def test_reset_brings_everything_back(autojump_clock, cluster):
    leaders = [cluster.leader_of("t", index) for index in range(3)]
    await cluster.brokers.stop(2)
    cluster.control.faults.add({"api": "Heartbeat", "error": 27})
    await cluster.control.reset()
    assert all(view.running for view in cluster.brokers.list())
    assert sorted(leaders) == sorted(cluster.leader_of("t", index) for index in range(3))


async def test_what_cannot_be(autojump_clock, cluster):
    with pytest.raises(NotFound, match="there is no broker 9: there are 1, 2, 3"):
        cluster.brokers.get(9)
    with pytest.raises(Impossible, match="broker 2 runs already"):
        await cluster.brokers.start(2)
    here = cluster.coordinator_of("g")
    with pytest.raises(Impossible, match=f"broker {here} coordinates group g already"):
        await cluster.brokers.move("g", here)
    for seconds in (-1, float("nan"), float("inf"), "1", True):
        with pytest.raises(Impossible, match="it must be a number of seconds from 0"):
            await cluster.brokers.loading("g", seconds)
    first, second = cluster.not_coordinators_of("g")
    await cluster.brokers.stop(first)
    with pytest.raises(Impossible, match=f"broker {first} does not run"):
        await cluster.brokers.stop(first)
    with pytest.raises(Impossible, match=f"broker {first} does not run"):
        await cluster.brokers.move("g", first)
    await cluster.brokers.stop(second)
    with pytest.raises(Impossible, match="no other broker runs that could coordinate group g"):
        await cluster.brokers.move("g")


async def test_more_brokers_than_replicas_of_the_offsets_topic(autojump_clock, nursery):
    server = await start(nursery, replace(on_loopback(), brokers=5))
    replicas = {len(server.broker.nodes.replicas(server.broker.offsets_topic, index)) for index in range(50)}
    assert replicas == {3}


async def test_each_broker_has_a_port_and_comes_back_at_it(nursery):
    server = await start(nursery, replace(on_loopback(), brokers=3))
    addresses = server.running.addresses
    assert len({each.port for each in addresses}) == 3
    client = await server.dial(1)
    answer = await client.call(MetadataRequest(topics=[]), 9)
    assert [each.port for each in answer.brokers] == [each.port for each in addresses]
    site = server.running.sites[1]
    await server.running.stop_broker(site, "a test")
    with pytest.raises(EOFError):
        await client.receive_frame(30)
    with pytest.raises(OSError, match="connect"):
        await server.dial(1)
    await server.running.start_broker(site)
    assert server.running.addresses == addresses
    again = await server.dial(1)
    assert len((await again.call(MetadataRequest(topics=[]), 9)).brokers) == 3


async def test_who_lost_the_coordinator_with_its_broker_has_time_to_look_for_it(autojump_clock, cluster):
    _, beat = await member(cluster, "g")
    await cluster.brokers.stop(cluster.coordinator_of("g"))
    await cluster.control.clock.advance(45)
    (there,) = cluster.control.groups.get("g").members
    assert there.member_id == beat.member_id
    assert (await cluster.connect(cluster.coordinator_of("g")).call(beat, 3)).error_code == 0
    await cluster.control.clock.advance(45)
    assert cluster.control.groups.get("g").state == "Stable"


async def test_who_does_not_come_again_after_its_broker_stopped_is_put_out(autojump_clock, cluster):
    await member(cluster, "g")
    await cluster.brokers.stop(cluster.coordinator_of("g"))
    await trio.sleep(COMES_AGAIN_WITHIN + 0.1)
    await cluster.control.clock.advance(45)
    assert cluster.control.groups.get("g").state == "Empty"


async def test_who_was_gone_before_its_broker_stopped_is_put_out(autojump_clock, cluster):
    client, _ = await member(cluster, "g")
    await client.aclose()
    await wait_all_tasks_blocked()
    await cluster.brokers.stop(cluster.coordinator_of("g"))
    await cluster.control.clock.advance(45)
    assert cluster.control.groups.get("g").state == "Empty"


async def test_a_client_that_is_gone_while_its_request_waits_was_not_broken_off(nursery):
    server = await start(nursery, replace(on_loopback(), brokers=2))
    site = server.running.sites[1]
    groups = [each for each in GROUPS if server.broker.coordinator_of(each).id == site.node.id]
    gone, there = await server.dial(1), await server.dial(1)
    # The first member of a group waits for others that may come.
    await gone.send(join(groups[0]), 3)
    await there.send(join(groups[1]), 3)
    while sum(len(each.tables.groups) for each in server.broker.shards) < 2:
        await trio.lowlevel.checkpoint()
    both = site.connections.present
    await gone.aclose()
    while len(left := site.connections.present) == len(both):
        await trio.lowlevel.checkpoint()
    await server.running.stop_broker(site, "a test")
    assert (len(both), len(left)) == (2, 1)
    assert site.connections.present == left


async def test_a_broker_may_stop_while_somebody_is_at_its_door(nursery):
    server = await start(nursery, replace(on_loopback(), brokers=2))
    site = server.running.sites[1]
    (address,) = site.addresses
    # Whether the door is opened or taken away first is up to the order in which tasks have their turns.
    for _ in range(20):
        with closing(socket.create_connection((address.host, address.port))):
            await trio.lowlevel.checkpoint()
            await site.stop("a test")
        await server.running.start_broker(site)
    client = await server.dial(1)
    assert len((await client.call(MetadataRequest(topics=[]), 9)).brokers) == 2


async def test_a_broker_may_stop_before_it_lets_anybody_in(nursery):
    server = await start(nursery, replace(on_loopback(), brokers=2))
    site = server.running.sites[1]
    await site.stop("a test")
    for _ in range(5):
        await server.running.start_broker(site)
        await site.stop("a test")
    with pytest.raises(OSError, match="connect"):
        await server.dial(1)
    await server.running.start_broker(site)
    client = await server.dial(1)
    assert len((await client.call(MetadataRequest(topics=[]), 9)).brokers) == 2


async def test_one_broker_that_stops_and_starts(autojump_clock, nursery):
    server = await start(nursery, replace(on_loopback(), listeners=(), topics={"t": 1}))
    from kcoord.control import Control

    control = Control(server.running)
    client = server.connect()
    await client.call(MetadataRequest(topics=[]), 9)
    await control.brokers.stop(1)
    with pytest.raises(EOFError):
        await client.receive_frame()
    await control.brokers.start(1)
    (topic,) = (await server.connect().call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9)).topics
    assert topic.partitions[0].leader_id == 1


async def test_timelines_tell_of_brokers_and_coordinators(autojump_clock, cluster):
    await member(cluster, "g")
    first = cluster.coordinator_of("g")
    await cluster.brokers.move("g", loading=2)
    second = cluster.coordinator_of("g")
    await cluster.control.clock.advance(2)
    await wait_all_tasks_blocked()
    await cluster.brokers.loading("g", 1)
    await cluster.control.clock.advance(1)
    await wait_all_tasks_blocked()
    await cluster.brokers.stop(second, elect=False)
    await cluster.brokers.start(second)
    told = cluster.control.timeline.of("g").text()
    for sentence in (
        f"the group's coordinator moves from broker {first} to broker {second}: as was asked for",
        "the coordinator loads for 1 s, as was asked for",
        f"the group's coordinator moves from broker {second} to no broker: broker {second} stops",
        f"broker {second} is stopped",
        f"broker {second} is started",
        f"the group's coordinator moves from no broker to broker {second}: broker {second} is back",
    ):
        assert sentence in told


async def test_topics_of_tests_have_replicas_everywhere_also_after_a_reset(autojump_clock, cluster):
    cluster.control.topics.create("new", 3, {"retention.ms": 5})
    await cluster.control.reset()
    cluster.control.topics.create("new", 3)
    for name in ("t", "new"):
        (topic,) = (await metadata(cluster, 1, name)).topics
        assert all(len(each.replica_nodes) == 3 for each in topic.partitions)


@pytest.mark.parametrize("elect", [True, False])
async def test_while_nobody_coordinates_no_session_ends(autojump_clock, cluster, elect):
    _, beat = await member(cluster, "g")
    gone = [1, 2, 3] if elect else [cluster.coordinator_of("g")]
    for node_id in gone:
        await cluster.brokers.stop(node_id, elect=elect)
    await cluster.control.clock.advance(60, heartbeats=False)
    await wait_all_tasks_blocked()
    for node_id in gone:
        await cluster.brokers.start(node_id)
    await wait_all_tasks_blocked()
    assert (await cluster.connect(cluster.coordinator_of("g")).call(beat, 3)).error_code == 0
