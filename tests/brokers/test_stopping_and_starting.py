"""Brokers that are stopped and started by several at once, or by somebody who goes away meanwhile."""

import socket
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.config import Address
from kcoord.control import Control, Impossible
from kcoord.listeners import Listener
from kcoord.net.listening import bind
from kcoord.notices import BrokerStarted, ConnectionClosed, CoordinatorMoved
from tests.server.conftest import on_loopback, start
from wire.messages import MetadataRequest

GIVE_UP = 30


@pytest.fixture
async def server(nursery):
    """Two brokers with sockets, in real time."""
    server = await start(nursery, replace(on_loopback(), brokers=2))
    server.control = Control(server.running)
    server.brokers = server.control.brokers
    with trio.fail_after(GIVE_UP):
        yield server


async def serves(server, index):
    client = await server.dial(index)
    return len((await client.call(MetadataRequest(topics=[]), 9)).brokers)


async def test_one_that_is_about_to_stop_is_started_when_it_has_stopped(nursery, server):
    nursery.start_soon(server.brokers.stop, 2)
    await wait_all_tasks_blocked()
    assert not server.brokers.get(2).running
    assert (await server.brokers.start(2)).running
    assert await serves(server, 1) == 2


async def test_a_reset_starts_one_that_is_about_to_stop(nursery, server):
    nursery.start_soon(server.brokers.stop, 2)
    await wait_all_tasks_blocked()
    await server.control.reset()
    assert await serves(server, 1) == 2


async def test_one_that_is_stopped_and_started_at_random_runs_in_the_end(server):
    async def stop():
        try:
            await server.brokers.stop(2)
        except Impossible as error:
            assert str(error) == "broker 2 does not run"  # noqa: PT017 - it may come or not

    async def begin():
        try:
            await server.brokers.start(2)
        except Impossible as error:
            assert str(error) == "broker 2 runs already"  # noqa: PT017

    for _ in range(3):
        async with trio.open_nursery() as several:
            for each in (stop, begin, begin, stop, begin):
                several.start_soon(each)
    await server.brokers.reset()
    assert await serves(server, 1) == 2


async def test_a_stop_comes_to_its_end_also_if_who_asked_for_it_goes_away(server):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.brokers.stop, 2)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert not server.brokers.get(2).running
    with pytest.raises(OSError, match="connect"):
        await server.dial(1)
    assert (await server.brokers.start(2)).running
    assert await serves(server, 1) == 2


async def test_a_start_happens_or_does_not(server, monkeypatch):
    await server.brokers.stop(2)
    site = server.running.sites[1]
    with trio.CancelScope() as scope:
        scope.cancel()
        await server.brokers.start(2)
    assert not server.brokers.get(2).running
    bind_again = site.bind_again

    async def bind_and_cancel():
        await bind_again()
        scope.cancel()

    monkeypatch.setattr(site, "bind_again", bind_and_cancel)
    with trio.CancelScope() as scope:
        await server.brokers.start(2)
    assert server.brokers.get(2).running
    assert await serves(server, 1) == 2


async def test_who_was_connected_is_told_of_with_the_reason(server):
    client = await server.dial(1)
    await client.call(MetadataRequest(topics=[]), 9)
    await server.brokers.stop(2)
    assert [each.why for each in server.seen(ConnectionClosed)] == ["the broker was stopped"]


async def test_of_several_that_start_it_one_does_and_leads(autojump_clock, nursery, cluster):
    for node_id in (1, 2, 3):
        await cluster.brokers.stop(node_id)
    told = []
    cluster.broker.on_note(told.append)
    refused = []

    async def begin(node_id):
        try:
            await cluster.brokers.start(node_id)
        except Impossible as error:
            refused.append(str(error))

    async with trio.open_nursery() as several:
        for node_id in (1, 2, 1):
            several.start_soon(begin, node_id)
    assert refused == ["broker 1 runs already"]
    assert sorted(each.node_id for each in told if type(each) is BrokerStarted) == [1, 2]
    moved = [each for each in told if type(each) is CoordinatorMoved]
    assert sorted(each.partition for each in moved) == list(range(50))
    assert {each.source for each in moved} == {-1}


async def test_after_a_reset_all_run_also_if_one_is_stopped_meanwhile(autojump_clock, nursery, cluster):
    nursery.start_soon(cluster.brokers.stop, 3)
    await wait_all_tasks_blocked()
    async with trio.open_nursery() as several:
        several.start_soon(cluster.brokers.reset)
        await wait_all_tasks_blocked()
        several.start_soon(partial(cluster.brokers.stop, 2, elect=False))
    await wait_all_tasks_blocked()
    assert all(each.running for each in cluster.brokers.list())
    assert [each.partition for each in cluster.broker.shards if each.tables is None] == []


async def test_several_may_wait_for_the_end_of_all_connections(autojump_clock, nursery, cluster):
    clients = [cluster.connect(1) for _ in range(3)]
    await wait_all_tasks_blocked()
    connections, ended = cluster.server.running.sites[0].connections, []

    async def end_all():
        await connections.close_all("a test")
        ended.append(len(connections))

    for _ in range(3):
        nursery.start_soon(end_all)
    await wait_all_tasks_blocked()
    assert ended == [0, 0, 0]
    for client in clients:
        with pytest.raises(EOFError):
            await client.receive_frame()


async def test_who_comes_while_all_connections_end_is_welcome(autojump_clock, cluster):
    older = cluster.connect(1)
    await wait_all_tasks_blocked()
    newer = cluster.connect(1)
    # Its task has not had its turn yet when this one begins.
    await cluster.server.running.drop_connections("a test")
    assert len((await newer.call(MetadataRequest(topics=[]), 9)).brokers) == 3
    with pytest.raises(EOFError):
        await older.receive_frame()


async def test_an_attempt_to_listen_that_is_cancelled_leaves_nothing(monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        free = found.getsockname()[1]
    resolved = trio.socket.getaddrinfo

    async def of_one(host, *given, **how):
        if host == "nobody.answers":
            await trio.sleep_forever()
        return await resolved(host, *given, **how)

    monkeypatch.setattr(trio.socket, "getaddrinfo", of_one)
    listeners = [Listener("A", Address("127.0.0.1", free)), Listener("B", Address("nobody.answers", 1))]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bind, listeners, {})
        await wait_all_tasks_blocked()
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", free))
        nursery.cancel_scope.cancel()
    socket.create_server(("127.0.0.1", free)).close()
