"""Cases from the field that need real sockets, or a server in a process of its own: K5, T7, X5, Y1, Y3."""

import os
import signal
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from integration.server import Server
from kcoord.check.member import Member, settle
from kcoord.check.probe import Client
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DescribeGroupsRequest, FindCoordinatorRequest, MetadataRequest, MetadataRequestTopic

StartServer = Callable[..., Server]


def address(server: Server) -> tuple[str, int]:
    host, _, port = server.bootstrap.rpartition(":")
    return host.strip("[]"), int(port)


@asynccontextmanager
async def open_world(where: tuple[str, int]) -> AsyncIterator[World]:
    """Yield a world whose connections are to a broker there."""

    async def connect() -> trio.abc.Stream:
        return await trio.open_tcp_stream(*where)

    world = World(connect)
    try:
        yield world
    finally:
        await world.aclose()


def pid(server: Server) -> int:
    assert server._process is not None
    return server._process.pid


def open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{pid(server)}/fd").iterdir()))


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.fixture
def frozen() -> Iterator[Callable[[Server], None]]:
    """Stop a server as a suspended machine stops; it goes on at the end of the test, if not before."""
    stopped: list[int] = []

    def freeze(server: Server) -> None:
        stopped.append(pid(server))
        os.kill(pid(server), signal.SIGSTOP)

    yield freeze
    for each in stopped:
        os.kill(each, signal.SIGCONT)


# --- K: many groups ---


async def test_k5_tools_that_list_and_describe_thousands_of_groups(start_server: StartServer):
    """Meanwhile 200 members heartbeat every second; none of them waits until a tool is through, and none is lost."""
    server = start_server(settings={"group.initial.rebalance.delay.ms": 0})
    groups, busy = 3_000, 200
    async with open_world(address(server)) as world:
        tool = await world.client("tool")
        names = [f"many-{number}" for number in range(groups)]
        for name in names:
            assert await tool.commit(name, {("t", 0): 1}) == {("t", 0): ErrorCode.NONE}
        # The first one has its first heartbeat when the last one has joined: that takes what the machine takes.
        members = [await world.stable1(name, session=120_000) for name in names[:busy]]
        told, overtaken = 0, []
        done = trio.Event()

        async def heartbeats(some: list[Member]) -> None:
            while not done.is_set():
                for member in some:
                    before = told
                    assert await member.heartbeat() is ErrorCode.NONE
                    overtaken.append(told - before)
                with trio.move_on_after(1):
                    await done.wait()

        async with trio.open_nursery() as nursery:
            for first in range(0, busy, 20):
                nursery.start_soon(heartbeats, members[first : first + 20])
            for _ in range(10):
                listed = await tool.list()
                told += 1
                assert set(names) <= listed.keys()
                states = [listed[name].group_state for name in names]
                assert states == ["Stable"] * busy + ["Empty"] * (groups - busy)
                for first in range(0, groups, 500):
                    asked = names[first : first + 500]
                    answer = await tool.call(DescribeGroupsRequest(groups=asked), 5)
                    told += 1
                    described = {one.group_id: one for one in answer.groups}
                    assert len(answer.groups) == 500
                    assert described.keys() == set(asked)
                    assert all(one.error_code == ErrorCode.NONE for one in answer.groups)
            done.set()
        assert len(overtaken) >= busy
        assert told == 70
        assert max(overtaken) < 7, "a heartbeat is answered before the tool has been through the groups once more"
        for member in members:
            assert await member.heartbeat() is ErrorCode.NONE


# --- T: connections that come to nothing ---


async def test_connections_that_say_nothing_leave_nothing(start_server: StartServer):
    """As load balancers and health checks make them, all day."""
    server = start_server()
    where = address(server)
    async with open_world(where) as world:
        good = await world.client()
        assert await good.topic_ids("t")
        before = open_files(server)
        for _ in range(5_000):
            socket.create_connection(where).close()
        for _ in range(500):
            with socket.create_connection(where) as half:
                half.sendall(b"\x00\x00")
        for _ in range(500):
            with socket.create_connection(where) as reset:
                reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                reset.sendall(b"\x00\x00\x00")
        assert await good.topic_ids("t"), "whoever is there is served"
        with trio.fail_after(60):
            while open_files(server) > before:  # noqa: ASYNC110 - another process changes it
                await trio.sleep(0.05)
    assert "Traceback" not in server.log.read_text()


# --- X: a server that was suspended ---


async def test_a_suspended_server_comes_back_to_its_members(start_server: StartServer, frozen):
    """It stands still for longer than a session. Whatever became of the members, one round is enough."""
    server = start_server(settings={"group.initial.rebalance.delay.ms": 200})
    session = 6_000
    async with open_world(address(server)) as world:
        members = list(await world.stable(world.group(), None, None, None, session=session))
        group = members[0].group
        frozen(server)
        answers: list[ErrorCode] = []

        async def heartbeat(member: Member) -> None:
            answers.append(await member.heartbeat())

        async with trio.open_nursery() as nursery:
            for member in members:
                nursery.start_soon(heartbeat, member)
            await trio.sleep(1.2 * session / 1000)
            assert not answers, "it stands still"
            os.kill(pid(server), signal.SIGCONT)
        assert set(answers) <= {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID}
        assert ErrorCode.NONE in answers, "what waited to be read counts before the sessions that ended meanwhile"
        if set(answers) != {ErrorCode.NONE}:
            before = max(member.generation for member in members)
            for member, answer in zip(members, answers, strict=True):
                if answer is ErrorCode.UNKNOWN_MEMBER_ID:
                    member.id = ""
                await member.start_join()
            for member in members:
                await member.finish_join()
            generations = {member.generation for member in members}
            assert len(generations) == 1
            assert before < generations.pop() <= before + 2
            await settle(members)
        described = await members[0].client.describe(group)
        assert described.group_state == "Stable"
        assert {one.member_id for one in described.members} == {member.id for member in members}
        for member in members:
            assert await member.heartbeat() is ErrorCode.NONE


# --- Y: addresses ---


@asynccontextmanager
async def told_of(server: Server):
    """What Metadata and FindCoordinator tell of the broker; both must tell the same."""
    async with open_world(address(server)) as world:
        client = await world.client()
        (broker,) = (await client.call(MetadataRequest(topics=[]), 12)).brokers
        for version in (0, 3):
            found = await client.call(FindCoordinatorRequest(key="g"), version)
            assert found.error_code == ErrorCode.NONE
            assert (found.node_id, found.host, found.port) == (broker.node_id, broker.host, broker.port)
        found = (await client.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4)).coordinators[0]
        assert (found.node_id, found.host, found.port) == (broker.node_id, broker.host, broker.port)
        yield world, broker


async def answers_as_a_group_coordinator(world: World, host: str, port: int) -> bool:
    """Whether a consumer can join a group there."""
    client = Client(await trio.open_tcp_stream(host, port))
    try:
        answer = await (await client.join(world.group())).answer()
    finally:
        await client.aclose()
    return answer.error_code == ErrorCode.MEMBER_ID_REQUIRED


async def test_the_coordinator_can_be_connected_to(start_server: StartServer):
    server = start_server()
    async with told_of(server) as (world, broker):
        assert (broker.host, broker.port) == address(server)
        assert await answers_as_a_group_coordinator(world, broker.host, broker.port)
        topics = [MetadataRequestTopic(name="t")]
        answer = await (await world.client()).call(MetadataRequest(topics=topics), 5)
        assert {partition.leader_id for partition in answer.topics[0].partitions} == {broker.node_id}


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 here")
async def test_ipv6_has_no_brackets_on_the_wire(start_server: StartServer):
    server = start_server(host="[::1]")
    async with told_of(server) as (world, broker):
        assert (broker.host, broker.port) == ("::1", address(server)[1])
        assert await answers_as_a_group_coordinator(world, broker.host, broker.port)
        member = await world.stable1(world.group())
        (described,) = (await member.client.describe(member.group)).members
        assert described.client_host == "/0:0:0:0:0:0:0:1"
