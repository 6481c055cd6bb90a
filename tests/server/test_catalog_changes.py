"""Topics that come, grow and go while somebody is told of all topics."""

from dataclasses import replace

import pytest
import trio

from kcoord.notices import HandlerFailed
from tests.server.conftest import start, without_sockets
from wire.messages import (
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    ListConfigResourcesRequest,
    MetadataRequest,
)

MANY = {"first": 600, "then": 600}
ALL = [
    (MetadataRequest, 0, {"topics": []}),
    (MetadataRequest, 9, {"topics": None}),
    (DescribeLogDirsRequest, 4, {"topics": None}),
    (ListConfigResourcesRequest, 1, {}),
    (DescribeTopicPartitionsRequest, 0, {"topics": [], "response_partition_limit": 2000}),
]


@pytest.mark.parametrize(("request_for_all", "version", "given"), ALL)
async def test_everybody_is_told_of_all_topics_while_they_change(
    autojump_clock, nursery, request_for_all, version, given
):
    few = {f"few-{number}": 1 for number in range(600)}
    server = await start(nursery, replace(without_sockets(), topics=MANY | few))
    broker, client = server.broker, server.connect()
    changes = 0

    async def change():
        nonlocal changes
        fresh = []
        while True:
            fresh.append(broker.create_topic(f"new-{changes}", 1, "a test"))
            broker.add_partitions(broker.catalog.by_name("then"), 601 + changes, "a test")
            changes += 1
            await trio.lowlevel.checkpoint()
            if len(fresh) == 3:
                for topic in fresh:
                    broker.delete_topic(topic, "a test")
                fresh.clear()

    async with trio.open_nursery() as changing:
        changing.start_soon(change)
        answer = await client.call(request_for_all(**given), version)
        changing.cancel_scope.cancel()
    assert changes > 1
    assert not server.seen(HandlerFailed)
    if request_for_all is MetadataRequest:
        assert MANY.keys() | few.keys() <= {topic.name for topic in answer.topics}
