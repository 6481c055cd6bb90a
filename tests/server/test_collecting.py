"""Python's collector: while the program serves it looks through everything seldom, and there is nothing to find."""

import gc

import pytest
import trio

from kcoord import commands
from kcoord.config import Config
from tests.server.client import Client, heartbeat
from tests.server.conftest import on_loopback, start
from wire.messages import (
    ApiVersionsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    MetadataRequest,
    MetadataRequestTopic,
)


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_all_objects_are_looked_through_seldom_while_the_program_serves(monkeypatch, error):
    seen = []
    before = gc.get_threshold()

    def run(*_):
        seen.append(gc.get_threshold())
        if error is not None:
            raise error

    monkeypatch.setattr(commands.trio, "run", run)
    if error is None:
        commands._serve(Config(), "json", "info", None)
    else:
        with pytest.raises(error):
            commands._serve(Config(), "json", "info", None)
    assert seen == [(*before[:2], commands.FULL_COLLECTION)]
    assert gc.get_threshold() == before


async def one_client(address):
    client = Client(await trio.open_tcp_stream(address.host, address.port))
    await client.call(ApiVersionsRequest(), 0)
    await client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9)
    await client.call(heartbeat("g", 1, "m"), 4)
    held = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
    await client.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[held]), 12)
    await client.aclose()


async def test_serving_leaves_nothing_that_only_the_collector_finds(nursery):
    """So that it does no harm if it comes seldom."""
    server = await start(nursery, on_loopback())
    address = server.running.addresses[0]
    await one_client(address)
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):
            await one_client(address)
        assert gc.collect() < 50
    finally:
        gc.enable()
