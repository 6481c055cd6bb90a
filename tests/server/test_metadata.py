"""Metadata in every version: brokers, topics, ids, and topics that come into being by being asked for."""

from uuid import UUID

import pytest

from kcoord.notices import TopicCreated
from tests.server.conftest import start, without_sockets
from wire.messages import MetadataRequest, MetadataRequestTopic

VERSIONS = range(14)
NO_ID = UUID(int=0)


def named(*names, **more):
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **more)


def quiet(version, *names):
    """Ask without creating, where the version can say so."""
    return named(*names, allow_auto_topic_creation=version < 4)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_broker_and_the_cluster(autojump_clock, server, version):
    answer = await server.connect().call(named("t"), version)
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [(1, "localhost", 9092)]
    if version >= 1:
        assert answer.controller_id == 1
        assert answer.brokers[0].rack is None
    if version >= 2:
        assert answer.cluster_id == server.broker.cluster_id
        assert len(answer.cluster_id) == 22
    assert answer.error_code == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_is_led_here_in_all_its_partitions(autojump_clock, server, version):
    (topic,) = (await server.connect().call(named("t"), version)).topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, "t", False)
    assert [
        (each.error_code, each.partition_index, each.leader_id, each.replica_nodes, each.isr_nodes)
        for each in topic.partitions
    ] == [(0, index, 1, [1], [1]) for index in range(3)]
    assert [each.leader_epoch for each in topic.partitions] == [0 if version >= 7 else -1] * 3
    assert topic.topic_id == (server.broker.catalog.by_name("t").topic_id if version >= 10 else NO_ID)
    assert topic.topic_authorized_operations == -(2**31)


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_list_of_topics_means_all(autojump_clock, server, version):
    everything = MetadataRequest(topics=[] if version == 0 else None)
    answer = await server.connect().call(everything, version)
    assert {topic.name: len(topic.partitions) for topic in answer.topics} == {
        "t": 3,
        "u": 1,
        "__consumer_offsets": 50,
    }
    if version >= 1:
        assert [topic.name for topic in answer.topics if topic.is_internal] == ["__consumer_offsets"]


@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_an_empty_list_of_topics_means_none(autojump_clock, server, version):
    answer = await server.connect().call(MetadataRequest(topics=[]), version)
    assert answer.topics == []
    assert len(answer.brokers) == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_asking_creates_and_says_unknown_the_first_time(autojump_clock, server, version):
    client = server.connect()
    (first,) = (await client.call(named("fresh"), version)).topics
    assert (first.error_code, first.name, first.partitions) == (3, "fresh", [])
    (second,) = (await client.call(named("fresh"), version)).topics
    assert (second.error_code, len(second.partitions)) == (0, 1)
    assert [(note.topic, note.partitions) for note in server.seen(TopicCreated)] == [("fresh", 1)]


@pytest.mark.parametrize("version", VERSIONS[4:])
async def test_a_client_may_ask_without_creating(autojump_clock, server, version):
    client = server.connect()
    for _ in range(2):
        (topic,) = (await client.call(quiet(version, "nope"), version)).topics
        assert topic.error_code == 3


async def test_creation_can_be_switched_off(autojump_clock, nursery):
    server = await start(nursery, without_sockets(auto_create_topics_enable=False))
    client = server.connect()
    for version in (0, 4, 13):
        (topic,) = (await client.call(named("nope"), version)).topics
        assert topic.error_code == 3


async def test_new_topics_have_the_configured_number_of_partitions(autojump_clock, nursery):
    server = await start(nursery, without_sockets(num_partitions=7))
    client = server.connect()
    await client.call(named("fresh"), 4)
    (topic,) = (await client.call(named("fresh"), 4)).topics
    assert len(topic.partitions) == 7


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ü", "x" * 250, "a\n"])
async def test_illegal_names_are_told_apart(autojump_clock, server, version, name):
    (topic,) = (await server.connect().call(named(name), version)).topics
    assert (topic.error_code, topic.name) == (17, name)


async def test_the_longest_legal_name_is_legal(autojump_clock, server):
    client = server.connect()
    await client.call(named("x" * 249), 1)
    (topic,) = (await client.call(named("x" * 249), 1)).topics
    assert topic.error_code == 0


async def test_the_controllers_log_is_never_created(autojump_clock, server):
    client = server.connect()
    for _ in range(2):
        (topic,) = (await client.call(named("__cluster_metadata"), 4)).topics
        assert (topic.error_code, topic.is_internal) == (3, False)


async def test_a_name_that_collides_is_not_created(autojump_clock, server):
    client = server.connect()
    await client.call(named("a.b"), 4)
    for _ in range(2):
        (topic,) = (await client.call(named("a_b"), 4)).topics
        assert topic.error_code == 3
    (topic,) = (await client.call(named("a.b"), 4)).topics
    assert topic.error_code == 0


async def test_internal_topics_are_not_created_by_asking(autojump_clock, server):
    client = server.connect()
    for _ in range(2):
        (topic,) = (await client.call(named("__transaction_state"), 4)).topics
        assert (topic.error_code, topic.is_internal) == (3, True)


async def test_a_name_that_comes_twice_is_answered_once(autojump_clock, server):
    answer = await server.connect().call(named("t", "u", "t"), 9)
    assert [topic.name for topic in answer.topics] == ["t", "u"]


@pytest.mark.parametrize("version", [12, 13])
async def test_topics_by_id(autojump_clock, server, version):
    known = server.broker.catalog.by_name("u").topic_id
    unknown = UUID(int=77)
    request = MetadataRequest(
        topics=[
            MetadataRequestTopic(name=None, topic_id=unknown),
            MetadataRequestTopic(name=None, topic_id=known),
            MetadataRequestTopic(name="t"),
        ],
        include_topic_authorized_operations=True,
    )
    answer = await server.connect().call(request, version)
    assert [(topic.error_code, topic.name, topic.topic_id) for topic in answer.topics] == [
        (100, None, unknown),
        (0, "u", known),
    ]
    assert [topic.topic_authorized_operations for topic in answer.topics] == [-(2**31), 3576]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic", [{"name": None}, {"name": "t", "topic_id": UUID(int=5)}])
async def test_ids_are_refused_before_they_mean_anything(autojump_clock, server, version, topic):
    request = MetadataRequest(topics=[MetadataRequestTopic(**topic)])
    answer = await server.connect().call(request, version)
    assert [each.error_code for each in answer.topics] == [42]


@pytest.mark.parametrize("version", VERSIONS[8:])
async def test_authorized_operations_are_all_there_are(autojump_clock, server, version):
    request = named("t", "nope", include_topic_authorized_operations=True)
    request.include_cluster_authorized_operations = version <= 10
    answer = await server.connect().call(request, version)
    assert [topic.topic_authorized_operations for topic in answer.topics] == [3576, 3576]
    assert answer.cluster_authorized_operations == (8096 if version <= 10 else -(2**31))


async def test_what_is_configured_is_told(autojump_clock, nursery):
    settings = {"node_id": 42, "broker_rack": "r1", "cluster_id": "my-cluster"}
    server = await start(nursery, without_sockets(**settings))
    answer = await server.connect().call(named("t"), 9)
    assert (answer.brokers[0].node_id, answer.brokers[0].rack) == (42, "r1")
    assert (answer.cluster_id, answer.controller_id) == ("my-cluster", 42)
    assert answer.topics[0].partitions[0].leader_id == 42
