"""When offsets go, counted from the start of the server, or over days: what no rule about a broker can wait for."""

import pytest
import trio

from kcoord.check.probe import Client
from tests.server.conftest import start, without_sockets

WEEK = 7 * 86_400


def connect(server):
    """The rules' client, which knows how to commit and to fetch."""
    return Client(server.connect().stream)


async def is_gone(client, group):
    dead = (await client.describe(group)).group_state == "Dead"
    assert dead == (group not in await client.list())
    return dead


async def test_the_first_look_comes_one_interval_after_the_start(autojump_clock, nursery):
    server = await start(nursery, without_sockets(offsets_retention_check_interval_ms=10_000))
    client = connect(server)
    await client.commit("g", {("t", 0): 1}, version=2, retention=1)
    await trio.sleep(9)
    assert set(await client.fetch("g")) == {("t", 0)}
    await trio.sleep(2)
    assert await is_gone(client, "g")


@pytest.mark.parametrize("retention", [35_791_395, 2**31 - 1])
async def test_a_very_long_retention_is_one(autojump_clock, nursery, retention):
    config = without_sockets(
        offsets_retention_minutes=retention,
        offsets_retention_check_interval_ms=3_600_000,
        offsets_topic_num_partitions=1,
    )
    server = await start(nursery, config)
    await connect(server).commit("g", {("t", 0): 1})
    await trio.sleep(3 * 86_400)
    assert await connect(server).fetch("g") == {("t", 0): (1, -1, "")}


async def test_by_default_offsets_are_kept_for_a_week(autojump_clock, nursery):
    server = await start(nursery, without_sockets(connections_max_idle_ms=-1, offsets_topic_num_partitions=1))
    client = connect(server)
    await client.commit("g", {("t", 0): 1})
    await trio.sleep(WEEK - 1)
    assert set(await client.fetch("g")) == {("t", 0)}
    await trio.sleep(601)
    assert await is_gone(client, "g")
