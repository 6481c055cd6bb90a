"""Topics, and a server that is as new after a reset."""

import pytest
from trio.testing import wait_all_tasks_blocked

from kcoord.control import Impossible, NotFound
from kcoord.log.catalog import OFFSETS_TOPIC


async def test_topics_are_created_listed_and_deleted(autojump_clock, bench):
    view = bench.topics.create("new", 4, {"retention.ms": "1000"})
    assert (view.partitions, view.settings, view.records) == (4, {"retention.ms": "1000"}, ((0, 0),) * 4)
    assert [each.name for each in bench.topics.list()] == ["t", "u", "new"]
    assert bench.topics.get("new") == view
    assert bench.topics.get(OFFSETS_TOPIC).internal
    await bench.topics.delete("new")
    with pytest.raises(NotFound, match="there is no topic new"):
        bench.topics.get("new")
    with pytest.raises(NotFound):
        await bench.topics.delete("new")


async def test_with_a_topic_goes_what_was_committed_for_it(autojump_clock, bench):
    await bench.groups.set_offsets("g", {("t", 0): 1, ("u", 0): 2})
    await bench.topics.delete("t")
    assert [each.topic for each in bench.groups.get("g").offsets] == ["u"]


@pytest.mark.parametrize(
    ("name", "partitions", "settings"),
    [
        ("t", 1, {}),
        ("", 1, {}),
        (None, 1, {}),
        ("a b", 1, {}),
        (OFFSETS_TOPIC, 1, {}),
        ("__cluster_metadata", 1, {}),
        ("n", 0, {}),
        ("n", True, {}),
        ("n", "2", {}),
        ("n", 10**9, {}),
        ("n", 1, {"retention.ms": "x"}),
        ("n", 1, {"colour": "red"}),
    ],
)
async def test_topics_that_cannot_be(autojump_clock, bench, name, partitions, settings):
    with pytest.raises(Impossible):
        bench.topics.create(name, partitions, settings)
    assert [each.name for each in bench.topics.list()] == ["t", "u"]


async def test_the_internal_topic_stays(autojump_clock, bench):
    with pytest.raises(Impossible, match="is internal and stays"):
        await bench.topics.delete(OFFSETS_TOPIC)


async def test_after_a_reset_nothing_is_left(autojump_clock, bench):
    consumers = await bench.stable(bench.consumer("a"), bench.consumer("b", instance="i1"))
    await bench.groups.set_offsets("g", {("t", 0): 1})
    await bench.groups.set_offsets("h", {("t", 0): 1})
    bench.topics.create("new", 2)
    bench.topics.create("t2", 2)
    old = bench.server.broker.catalog.by_name("t")
    bench.clock.freeze()
    partition = bench.server.broker.shard_for("g").partition
    assert bench.topics.get(OFFSETS_TOPIC).records[partition][1] > 0
    await bench.control.reset()
    assert bench.groups.list() == ()
    assert [(each.name, each.partitions) for each in bench.topics.list()] == [("t", 3), ("u", 1)]
    assert bench.server.broker.catalog.by_name("t").topic_id != old.topic_id
    assert all(start == end for start, end in bench.topics.get(OFFSETS_TOPIC).records)
    assert not bench.clock.is_frozen
    assert bench.server.running.connections == 0
    for each in consumers:
        assert await each.client.is_closed()
    assert bench.control._happenings.of("g") == ()
    assert bench.control._presence.present() == {}


async def test_a_reset_ends_connections_on_which_a_request_waits(autojump_clock, bench):
    first, _ = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await bench.groups.rebalance("g", "")

    async def join_in_vain():
        with pytest.raises(EOFError):
            await first.rejoin()

    bench.nursery.start_soon(join_in_vain)
    await wait_all_tasks_blocked()
    await bench.control.reset()
    assert bench.groups.list() == ()
    assert bench.server.running.connections == 0


async def test_after_a_reset_the_server_serves_as_before(autojump_clock, bench):
    await bench.control.reset()
    await bench.control.reset()
    await bench.stable(bench.consumer("a"))
    assert bench.groups.get("g").generation == 1
    await bench.clock.advance(20)
    assert bench.groups.get("g").state == "Stable"
