"""Topics deleted, grown, configured and described, where this server is alone in what it does.

The rules that it shares with others stand among the scenarios.
"""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.apis.turns import A_TURN
from kcoord.core.coordinator import Coordinator
from kcoord.core.notes import OffsetsDeleted
from kcoord.core.states import IllegalMove
from kcoord.log.topic_config import NOT_HONOURED, TOPIC_SETTINGS
from kcoord.notices import BugFound, PartitionsAdded, TopicConfigured, TopicDeleted
from kcoord.shard import Status
from kcoord.store.base import StoreError
from tests.server.conftest import start, without_sockets
from tests.server.shards import V5, ScriptedStore, bench_with, commit, offset_of
from wire.errors import ErrorCode
from wire.messages import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    Cursor,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    TopicRequest,
)
from wire.records import Record, build

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
OFFSETS = "__consumer_offsets"


def delete(*names):
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=1_000)


def grow(*wishes, timeout_ms=1_000):
    topics = [CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in wishes]
    return CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms)


async def described(server, kind, name, **what):
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    (found,) = (await server.connect().call(DescribeConfigsRequest(resources=[resource], **what), 4)).results
    assert (found.error_code, found.error_message) == (0, "")
    return {each.name: each for each in found.configs}


async def changed(server, kind, name, *changes):
    """Change a resource one by one; return error and message."""
    configs = [IncrementalAlterableConfig(name=key, config_operation=how, value=value) for key, how, value in changes]
    resource = IncrementalAlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = await server.connect().call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    (one,) = answer.responses
    return one.error_code, one.error_message


def appended(server, topic, count=1):
    """Put records into partition 0 of a topic; return how many bytes those are."""
    partition = server.broker.catalog.by_name(topic).partitions[0]
    before = partition.size_bytes
    for _ in range(count):
        partition.append(build([Record(0, 1_000, None, b"value", ())]), 1_000, version=11)
    return partition.size_bytes - before


async def test_a_topic_goes_with_its_records_and_its_offsets(autojump_clock, server):
    client = server.connect()
    appended(server, "t", 3)
    partitions = server.broker.catalog.by_name("t").partitions
    used = server.broker.catalog.memory.used
    assert used > 0
    (gone,) = (await client.call(delete("t"), 5)).responses
    assert (gone.name, gone.error_code, gone.error_message) == ("t", 0, None)
    assert server.broker.catalog.by_name("t") is None
    assert all(partition.deleted for partition in partitions)
    assert server.broker.catalog.memory.used == 0
    assert [(note.topic, note.why) for note in server.seen(TopicDeleted)] == [("t", "a client deleted it")]


async def test_the_offsets_of_all_shards_go(autojump_clock, server):
    client = server.connect()
    groups = [f"group {number}" for number in range(120)]
    for group in groups:
        await client.call(commit(group, 5), 9)
    (gone,) = (await client.call(delete("t"), 5)).responses
    assert gone.error_code == 0
    await wait_all_tasks_blocked()
    assert {note.group for note in server.seen(OffsetsDeleted)} == set(groups)


async def test_a_fetch_that_waits_for_records_is_answered_when_the_topic_goes(autojump_clock, server):
    client = server.connect()
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    request = FetchRequest(
        max_wait_ms=30_000, min_bytes=1, max_bytes=1_000, topics=[FetchTopic(topic="t", partitions=[asked])]
    )
    begun = trio.current_time()
    await client.send(request, 12)
    await wait_all_tasks_blocked()
    await server.connect().call(delete("t"), 5)
    answer = await client.receive()
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert trio.current_time() - begun < 1


async def test_the_topic_that_holds_the_groups_stays(autojump_clock, server):
    client = server.connect()
    (refused,) = (await client.call(delete(OFFSETS), 5)).responses
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "__consumer_offsets holds the groups and cannot be deleted",
    )
    (refused,) = (await client.call(grow((OFFSETS, 51)), 3)).results
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "groups are found by its number of partitions",
    )
    topic = server.broker.catalog.by_name(OFFSETS)
    assert len(topic.partitions) == 50
    assert topic.config.cleanup_policy == {"compact"}
    told = await described(server, TOPIC, OFFSETS)
    assert {key for key, each in told.items() if each.config_source == 1} == {"cleanup.policy", "compression.type"}
    assert (await changed(server, TOPIC, OFFSETS, ("retention.ms", 0, "5")))[0] == 0


async def test_two_who_delete_the_same_topics_at_once(autojump_clock, server):
    """Each topic is deleted once; whoever comes too late learns that it is gone."""
    names = [f"topic-{number}" for number in range(2 * A_TURN)]
    for name in names:
        server.broker.create_topic(name, 1, "a test")
    one, other = server.connect(), server.connect()
    await one.send(delete(*names), 5)
    await other.send(delete(*names), 5)
    answers = [await one.receive(), await other.receive()]
    codes = {name: [] for name in names}
    for answer in answers:
        for each in answer.responses:
            codes[each.name].append(each.error_code)
    gone = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
    for first, second in codes.values():
        assert {first, second} & gone
        assert ErrorCode.NONE in (first, second)
    assert any(ErrorCode.UNKNOWN_TOPIC_ID in pair for pair in codes.values())
    assert len(server.seen(TopicDeleted)) == len(names)


async def test_who_deletes_many_topics_gives_others_their_turn(autojump_clock, server):
    names = [f"topic-{number}" for number in range(20 * A_TURN)]
    for name in names:
        server.broker.create_topic(name, 1, "a test")
    busy, other = server.connect(), server.connect()
    await busy.send(delete(*names), 5)
    answer = await other.call(DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")]), 0)
    assert answer.topics[0].error_code == 0
    assert len(server.seen(TopicDeleted)) < len(names)
    assert len((await busy.receive()).responses) == len(names)


async def test_partitions_that_were_added_are_there_for_everybody(autojump_clock, server):
    (grown,) = (await server.connect().call(grow(("t", 5)), 3)).results
    assert (grown.error_code, grown.error_message) == (0, None)
    topic = server.broker.catalog.by_name("t")
    assert [partition.index for partition in topic.partitions] == [0, 1, 2, 3, 4]
    assert all(partition.config is topic.config for partition in topic.partitions)
    assert [(note.topic, note.partitions, note.why) for note in server.seen(PartitionsAdded)] == [
        ("t", 5, "a client added them")
    ]


@pytest.mark.parametrize("comes_again", [False, True])
async def test_a_topic_that_goes_while_its_partitions_are_checked(autojump_clock, server, comes_again):
    """Checking takes turns, and so somebody else may come between. A topic that comes again is another one."""
    new = 4 * A_TURN
    assignments = [CreatePartitionsAssignment(broker_ids=[1]) for _ in range(new)]
    topics = [CreatePartitionsTopic(name="t", count=3 + new, assignments=assignments)]
    client = server.connect()
    await client.send(CreatePartitionsRequest(topics=topics, timeout_ms=1_000), 3)
    topic = server.broker.catalog.by_name("t")
    checking = server.broker.catalog.by_name
    looked_up = []

    def by_name(name):
        found = checking(name)
        if found is topic and len(looked_up) == 1:
            trio.lowlevel.current_trio_token().run_sync_soon(go)
        looked_up.append(name)
        return found

    def go():
        server.broker.delete_topic(topic, "a test")
        if comes_again:
            server.broker.create_topic("t", 3, "a test")

    server.broker.catalog.by_name = by_name
    (refused,) = (await client.receive()).results
    assert (refused.error_code, refused.error_message) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    found = checking("t")
    assert found is None or len(found.partitions) == 3
    assert server.seen(PartitionsAdded) == []


async def test_messages_are_short_whatever_they_are_about(autojump_clock, server):
    longest = "\x01" * 32_767
    client = server.connect()
    answers = [
        *(await client.call(delete(longest, longest), 5)).responses,
        *(await client.call(grow((longest, 1), (longest, 1)), 3)).results,
    ]
    assert [(each.name, each.error_code) for each in answers] == [(longest, 42)] * 2
    for kind in (TOPIC, BROKER, BROKER_LOGGER, GROUP, CLIENT_METRICS, 99):
        for name in ("t", "1", longest):
            for key, how in ((longest, 0), (longest, 2), ("retention.ms", 0)):
                _, message = await changed(server, kind, name, (key, how, longest))
                assert message is None or 0 < len(message) < 500
    for kind in (TOPIC, BROKER, BROKER_LOGGER, 99):
        resource = DescribeConfigsResource(resource_type=kind, resource_name=longest, configuration_keys=[longest])
        (found,) = (await client.call(DescribeConfigsRequest(resources=[resource]), 4)).results
        assert found.error_code in (17, 42)
        assert len(found.error_message) < 500


async def test_only_what_is_honoured_is_told(autojump_clock, server):
    assert list(await described(server, TOPIC, "t")) == list(TOPIC_SETTINGS)
    for kind in (GROUP, CLIENT_METRICS):
        assert await described(server, kind, "anything") == {}
    assert await described(server, BROKER_LOGGER, "1") == {}
    assert await described(server, BROKER, "") == {}


async def test_all_settings_of_the_broker_are_told_and_read_only(autojump_clock, nursery):
    server = await start(nursery, without_sockets(group_max_size=7, num_partitions=1))
    told = await described(server, BROKER, "1", include_documentation=True)
    assert all(each.read_only and each.documentation for each in told.values())
    assert {key for key in told if key.startswith("group.")} == {
        "group.initial.rebalance.delay.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
        "group.min.session.timeout.ms",
    }
    assert (told["group.max.size"].value, told["group.max.size"].config_source) == ("7", 4)
    assert told["num.partitions"].config_source == 5
    assert told["memory.limit.bytes"].value == str(2**30)
    assert told["listeners"].value == ""


async def test_the_url_of_the_store_is_withheld(autojump_clock, server):
    """It may have a password in it."""
    told = await described(server, BROKER, "1", include_synonyms=True)
    assert (told["store"].value, [each.value for each in told["store"].synonyms]) == (None, [None])
    assert {key for key, each in told.items() if each.is_sensitive} == {"store"}


@pytest.mark.parametrize("key", [*sorted(NOT_HONOURED)[:3], "segment.ms"])
async def test_what_is_not_honoured_is_refused_by_name(autojump_clock, server, key):
    sentence = f"{key} is a setting of Kafka's topics that kcoord does not honour"
    assert await changed(server, TOPIC, "t", (key, 0, "1")) == (ErrorCode.INVALID_CONFIG, sentence)
    resource = AlterConfigsResource(
        resource_type=TOPIC, resource_name="t", configs=[AlterableConfig(name=key, value="1")]
    )
    (one,) = (await server.connect().call(AlterConfigsRequest(resources=[resource]), 2)).responses
    assert (one.error_code, one.error_message) == (ErrorCode.INVALID_CONFIG, sentence)


async def test_settings_that_were_changed_rule_every_partition_from_then_on(autojump_clock, server):
    assert await changed(server, TOPIC, "t", ("retention.ms", 0, " 5 "), ("cleanup.policy", 2, "compact")) == (0, None)
    topic = server.broker.catalog.by_name("t")
    assert topic.settings == {"retention.ms": " 5 ", "cleanup.policy": "delete,compact"}
    assert (topic.config.retention_ms, topic.config.cleanup_policy) == (5, {"delete", "compact"})
    assert all(partition.config is topic.config for partition in topic.partitions)
    assert await changed(server, TOPIC, "t", ("retention.ms", 0, " 5 ")) == (0, None)
    assert await changed(server, TOPIC, "t", ("retention.ms", 1, None)) == (0, None)
    assert [(note.topic, note.settings, note.why) for note in server.seen(TopicConfigured)] == [
        ("t", ("retention.ms= 5 ", "cleanup.policy=delete,compact"), "a client changed it"),
        ("t", ("cleanup.policy=delete,compact",), "a client changed it"),
    ]
    assert topic.config.retention_ms == 604_800_000


async def test_a_resource_that_comes_twice_is_answered_in_both_forms(autojump_clock, server):
    """Asked in the older one, Kafka never answers."""
    resource = AlterConfigsResource(
        resource_type=TOPIC, resource_name="t", configs=[AlterableConfig(name="retention.ms", value="1")]
    )
    answer = await server.connect().call(AlterConfigsRequest(resources=[resource, resource]), 2)
    assert [one.error_code for one in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert server.broker.catalog.by_name("t").settings == {}


@pytest.mark.parametrize("key", ["log.retention.ms", "listeners", "no.such.key"])
@pytest.mark.parametrize("name", ["1", ""])
async def test_nothing_of_the_broker_can_be_changed(autojump_clock, server, key, name):
    """Kafka can change some, and takes what it does not know."""
    assert await changed(server, BROKER, name, (key, 0, "1")) == (
        ErrorCode.INVALID_REQUEST,
        f"'{key}' cannot be changed while the server runs",
    )


async def test_the_bytes_of_logs_and_what_there_may_be(autojump_clock, nursery):
    server = await start(nursery, without_sockets(memory_limit_bytes=100_000))
    size = appended(server, "t", 5)
    (directory,) = (await server.connect().call(DescribeLogDirsRequest(topics=None), 4)).results
    sizes = {
        (topic.name, one.partition_index): one.partition_size for topic in directory.topics for one in topic.partitions
    }
    assert len(sizes) == 3 + 1 + 50
    assert {place: found for place, found in sizes.items() if found} == {("t", 0): size}
    assert (directory.log_dir, directory.total_bytes) == ("memory:", 100_000)
    assert directory.usable_bytes == 100_000 - server.broker.catalog.memory.used < 100_000 - size


async def test_memory_without_a_limit_has_no_size(autojump_clock, nursery):
    server = await start(nursery, without_sockets(memory_limit_bytes=-1))
    (directory,) = (await server.connect().call(DescribeLogDirsRequest(topics=[]), 4)).results
    assert (directory.topics, directory.total_bytes, directory.usable_bytes) == ([], -1, -1)


async def test_a_page_of_topics_has_2000_partitions_at_most(server):
    """No virtual time here: it would run on while a thread works."""
    server.broker.create_topic("large.a", 1_500, "a test")
    server.broker.create_topic("large.b", 600, "a test")
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="large.b"), TopicRequest(name="large.a")], response_partition_limit=1_000_000
    )
    answer = await server.connect().call(request, 0)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("large.a", 1_500), ("large.b", 500)]
    assert (answer.next_cursor.topic_name, answer.next_cursor.partition_index) == ("large.b", 500)


async def test_a_cursor_at_the_end_of_all_numbers(autojump_clock, server):
    """In Kafka the sum of it and of the limit is a negative number."""
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="t"), TopicRequest(name="u")],
        cursor=Cursor(topic_name="t", partition_index=2**31 - 1),
    )
    answer = await server.connect().call(request, 0)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("t", 0), ("u", 1)]
    assert answer.next_cursor is None


async def test_a_shard_is_told_of_a_deleted_topic(autojump_clock, nursery):
    bench = await bench_with(nursery)
    for group in ("g", "h"):
        await bench.shard.submit(V5, commit(group, 5))
    bench.shard.topic_deleted("t")
    await wait_all_tasks_blocked()
    assert [await offset_of(bench, group) for group in ("g", "h")] == [-1, -1]
    assert [note.group for note in bench.kinds(OffsetsDeleted)] == ["g", "h"]


async def test_what_comes_after_a_deletion_is_of_another_topic(autojump_clock, nursery):
    """Whether the shard had its turn or not."""
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 5))
    bench.shard.topic_deleted("t")
    written = bench.shard.begin(V5, commit("g", 6))
    assert (await written.wait()).topics[0].partitions[0].error_code == 0
    await wait_all_tasks_blocked()
    assert await offset_of(bench, "g") == 6
    assert [note.partitions for note in bench.kinds(OffsetsDeleted)] == [1]


async def test_a_shard_that_is_being_loaded_forgets_as_soon_as_it_serves(autojump_clock, nursery):
    store = ScriptedStore()
    bench = await bench_with(nursery, store)
    await bench.shard.submit(V5, commit("g", 5))
    store.failures = [StoreError("the disk is full", ErrorCode.UNKNOWN_SERVER_ERROR)]
    await bench.shard.submit(V5, commit("h", 5))
    assert bench.shard.status is Status.LOADING
    bench.shard.topic_deleted("t")
    await wait_all_tasks_blocked()
    assert bench.shard.status is Status.SERVING
    assert await offset_of(bench, "g") == -1


async def test_a_shard_that_is_stopped_forgets_no_more(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 5))
    bench.shard.stop()
    bench.shard.topic_deleted("t")
    await wait_all_tasks_blocked()
    assert bench.kinds(OffsetsDeleted) == []


async def test_a_bug_that_a_deleted_topic_brings_to_light(autojump_clock, nursery, monkeypatch):
    bench = await bench_with(nursery)
    await bench.shard.submit(V5, commit("g", 5))

    def broken(self, names, now):
        raise IllegalMove("Empty -> Stable")

    with monkeypatch.context() as patched:
        patched.setattr(Coordinator, "topics_deleted", broken)
        bench.shard.topic_deleted("t")
        await wait_all_tasks_blocked()
    assert [note.request for note in bench.kinds(BugFound)] == ["deleted topics"]
    assert await offset_of(bench, "g") == 5
