"""Conversations without what no two brokers share, and no two runs."""

import random
import uuid

from kcoord.check.differing import differences
from kcoord.check.exchanges import Conversation, Exchange, Said
from kcoord.check.masking import OFFSETS, Mask, alike, folded, masked
from kcoord.check.names import Names
from tests.check.talk import Talk
from wire.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from wire.payloads import Subscription, encode_subscription
from wire.records import Record, build


def names_of_a_run():
    return Names(f"kcoord-check-{random.getrandbits(32):08x}-", {"t": f"kcoord-check-{'0' * 8}-t"})


def values(said):
    return [(each.asked.value, each.answer and each.answer.value) for each in said.exchanges]


def joining(order, *, node=1, subscribed="t", stem="g"):
    """Two members join in a group; the leader is told of both in this order."""
    names = names_of_a_run()
    group = names.group(stem)
    ids = [f"client-{uuid.uuid4()}" for _ in range(2)]
    talk = Talk()
    metadata = encode_subscription(Subscription(topics=(names.t, subscribed)), 0)
    protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
    members = [JoinGroupResponseMember(member_id=ids[at], metadata=metadata) for at in order]
    for at, member_id in enumerate(ids):
        answer = JoinGroupResponse(generation_id=1, protocol_name="range", leader=ids[0], member_id=member_id)
        answer.members = members if at == 0 else []
        talk.ask(JoinGroupRequest(group_id=group, protocols=protocols), 3, answer, connection=at + 1)
    brokers = [MetadataResponseBroker(node_id=node, host=f"host{node}", port=9000 + node, rack="r" * node or None)]
    metadata = MetadataResponse(brokers=brokers, cluster_id=str(uuid.uuid4()), controller_id=node)
    talk.ask(MetadataRequest(topics=[]), 12, metadata)
    described = [DescribedGroupMember(member_id=ids[at], member_assignment=b"for " + ids[at].encode()) for at in order]
    answer = DescribeGroupsResponse(groups=[DescribedGroup(group_id=group, members=described)])
    talk.ask(DescribeGroupsRequest(groups=[group]), 5, answer)
    return talk.said()


def test_ids_names_and_places_are_the_same_everywhere():
    first = masked(joining([0, 1]))
    for other in (joining([1, 0], node=7), joining([0, 1], node=0)):
        assert differences(first, masked(other)) == []
    (join, answer), _, (_, metadata), (_, described) = values(first)
    assert join["group_id"] == "g-1"
    assert join["protocols"][0]["metadata"]["topics"] == ["t", "t"]
    assert (answer["member_id"], answer["leader"], answer["generation_id"]) == ("member-1", "member-1", 1)
    assert metadata["brokers"] == [{"node_id": "node-1", "host": "<host>", "port": "<port>", "rack": "<rack>"}]
    assert (metadata["controller_id"], metadata["cluster_id"]) == ("node-1", "cluster-1")
    assert "throttle_time_ms" not in metadata
    assert described["groups"][0]["members"][0]["member_assignment"] == b"for member-1"


def test_names_of_all_kinds():
    stem = ": ? \n é 日本"
    assert differences(masked(joining([0, 1], stem=stem)), masked(joining([0, 1], stem=stem))) == []
    (join, _), *_ = values(masked(joining([0, 1], stem=stem)))
    assert join["group_id"] == f"{stem}-1"


def test_a_mask_is_shown_without_quotes():
    assert repr(Mask("member-1")) == "member-1"


def test_what_really_differs_stays():
    (only,) = differences(masked(joining([0, 1])), masked(joining([0, 1], subscribed="u")))[:1]
    assert only.place.path[-1] == 1
    assert (only.first, only.second) == ("'t'", "'u'")


def test_ids_that_the_script_made_up_stay():
    talk = Talk()
    talk.ask(
        JoinGroupRequest(group_id="g", member_id="m"),
        5,
        JoinGroupResponse(member_id="m", leader="other", error_code=25),
    )
    ((question, answer),) = values(masked(talk.said()))
    assert (question["member_id"], answer["member_id"], answer["leader"]) == ("m", "m", "member-1")


def produced(producer_id, time):
    talk = Talk()
    batch = build([Record(0, time, b"k", b"v")], producer_id=producer_id, producer_epoch=0, base_sequence=0)
    topic_id = uuid.uuid4()
    data = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(index=0, records=batch)])
    talk.ask(ProduceRequest(acks=1, topic_data=[data]), 13)
    ((question, _),) = values(masked(talk.said()))
    (topic,) = question["topic_data"]
    return topic["topic_id"], topic["partition_data"][0]["records"][0]


def test_ids_and_times_that_the_script_made_of_chance_and_of_the_time():
    topic, batch = produced(1_800_000_000_001, 1_800_000_000_002)
    assert (topic, batch["producer_id"], batch["base_timestamp"]) == ("topic-1", "producer-1", "<time>")
    assert batch["records"][0]["timestamp"] == "<time>"
    assert "crc" not in batch
    assert produced(1_900_000_000_001, 1_900_000_000_002) == (topic, batch)
    _, other = produced(5, 1000)
    assert (other["producer_id"], other["base_timestamp"]) == (5, 1000)


def test_groups_and_topics_of_others_are_left_out():
    talk = Talk()
    talk.ask(HeartbeatRequest(group_id="mine", member_id="m"), 4, HeartbeatResponse())
    groups = [ListedGroup(group_id=each) for each in ("theirs", "mine")]
    talk.ask(ListGroupsRequest(), 5, ListGroupsResponse(groups=groups))
    topics = [MetadataResponseTopic(name=each) for each in ("theirs", "mine", None)]
    talk.ask(MetadataRequest(topics=None), 12, MetadataResponse(topics=topics))
    logs = [DescribeLogDirsTopic(name=each) for each in ("theirs", "mine")]
    talk.ask(DescribeLogDirsRequest(), 4, DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=logs)]))
    _, (_, listed), (_, metadata), (_, described) = values(masked(talk.said()))
    assert [each["name"] for each in described["results"][0]["topics"]] == ["mine"]
    assert [each["group_id"] for each in listed["groups"]] == ["mine"]
    assert [each["name"] for each in metadata["topics"]] == ["mine", None]


def test_pages_of_all_topics_are_not_compared():
    talk = Talk()
    topics = [DescribeTopicPartitionsResponseTopic(name="a", topic_id=uuid.uuid4())]
    answer = DescribeTopicPartitionsResponse(topics=topics)
    talk.ask(DescribeTopicPartitionsRequest(topics=[]), 0, answer)
    ((question, told),) = values(masked(talk.said()))
    assert question["cursor"] == "<cursor>"
    assert told == {"topics": "<a page of all>"}


def offsets_topic(partition, offset):
    topic_id = uuid.uuid4()
    talk = Talk()
    talk.ask(
        MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS)]),
        12,
        MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    name=OFFSETS,
                    topic_id=topic_id,
                    partitions=[MetadataResponsePartition(partition_index=number) for number in (0, partition)],
                )
            ]
        ),
    )
    topic = ListOffsetsTopic(name=OFFSETS, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=-1)])
    found = [ListOffsetsPartitionResponse(partition_index=partition, offset=offset)]
    answer = ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=OFFSETS, partitions=found)])
    talk.ask(ListOffsetsRequest(topics=[topic]), 11, answer)
    return masked(talk.said())


def test_where_a_group_is_stored_is_not_compared():
    assert differences(offsets_topic(3, 70), offsets_topic(4, 80)) == []


def settings(*, source, synonyms, node, listeners):
    talk = Talk()
    configs = [
        DescribeConfigsResourceResult(
            name=name,
            value=value,
            config_source=source if name != "retention.ms" else 1,
            synonyms=[DescribeConfigsSynonym(name=name, value=value, source=each) for each in synonyms],
            documentation=f"text of {node}",
        )
        for name, value in (("listeners", listeners), ("min.insync.replicas", "1"), ("retention.ms", "5"))
    ]
    result = DescribeConfigsResult(resource_type=4, resource_name=str(node), configs=configs)
    brokers = [MetadataResponseBroker(node_id=node, host="h", port=1)]
    talk.ask(MetadataRequest(topics=[]), 12, MetadataResponse(brokers=brokers))
    resource = DescribeConfigsResource(resource_type=4, resource_name=str(node))
    talk.ask(DescribeConfigsRequest(resources=[resource]), 4, DescribeConfigsResponse(results=[result]))
    return masked(talk.said())


def test_what_is_up_to_who_runs_the_broker_is_not_compared():
    first = settings(source=3, synonyms=(1, 3, 5), node=1, listeners="A")
    assert differences(first, settings(source=5, synonyms=(1, 5), node=7, listeners="B")) == []
    _, (question, answer) = values(first)
    assert question["resources"][0]["resource_name"] == "node-1"
    assert [each["config_source"] for each in answer["results"][0]["configs"]][1:] == ["<the broker's>", 1]
    # What a topic has for itself is another matter.
    assert differences(first, settings(source=1, synonyms=(1, 5), node=1, listeners="A"))


def test_bytes_and_answers_to_nobody_stay():
    talk = Talk()
    talk.send(b"\xff\xff\xff\xff")
    talk.transcript.connection()
    said = masked(talk.said())
    assert said.exchanges[0].asked.value == b"\xff\xff\xff\xff"
    nobody = Conversation((Exchange(1, None, Said("a frame that answers nothing", b"x")),))
    assert masked(nobody) == nobody


def ask(connection, text):
    return Exchange(connection, Said("Heartbeat 4 request", {"group_id": text, "member_id": ""}))


def numbers(first, *exchanges):
    return [each.connection for each in alike(Conversation(tuple(first)), Conversation(exchanges)).exchanges]


def test_connections_are_known_by_what_was_asked_on_them():
    first = [ask(1, "a"), ask(2, "b"), ask(2, "c"), ask(3, "d")]
    assert numbers(first, ask(1, "b"), ask(2, "a"), ask(1, "c"), ask(3, "d")) == [2, 1, 2, 3]
    # The same beginning, then the same number, then a new one.
    assert numbers(first, ask(1, "b"), ask(2, "a"), ask(1, "x")) == [2, 1, 2]
    assert numbers(first, ask(3, "x"), ask(4, "y"), ask(5, "z")) == [3, 4, 5]
    assert numbers([], ask(4, "x")) == [1]
    assert numbers([Exchange(1, None)], Exchange(2, None), ask(1, "x")) == [1, 2]


def test_connections_on_which_the_very_same_was_asked_are_one():
    said = Conversation((ask(1, "a"), ask(2, "b"), ask(3, "a"), ask(4, "a"), ask(4, "a")))
    assert [each.connection for each in folded(said).exchanges] == [1, 2, 1, 4, 4]


def test_lists_and_bytes_are_looked_at_without_what_is_made_up_anew():
    def question(connection, number, more=b""):
        value = {"groups": [f"kcoord-check-{number:08x}-g-{uuid.UUID(int=number)}"], "member_id": "x", "data": more}
        return Exchange(connection, Said("Q", value))

    first = [question(1, 1, b"a"), question(2, 2, b"b"), question(2, 3, b"b")]
    assert numbers(first, question(1, 5, b"b"), question(2, 4, b"a")) == [2, 1]


def test_answers_of_other_shapes_stay():
    odd = {"groups": ["g"], "topics": [{"name": OFFSETS, "partitions": [1]}], "configs": [{"config_source": 1}]}
    said = masked(Conversation((Exchange(1, Said("Q", {"name": OFFSETS}), Said("R", odd)),)))
    assert said.exchanges[0].answer.value == odd
