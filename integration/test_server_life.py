"""The server stops, crashes and comes back, on either address family; its clients manage."""

import contextlib
import re
import socket
import threading

import pytest
from kafka import KafkaAdminClient
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata, TopicPartition

from integration.members import all_of
from integration.server import QUICK
from integration.waiting import LIMIT, eventually

T, T0 = all_of(t=4), TopicPartition("t", 0)


@pytest.mark.parametrize("crash", [False, True], ids=["in order", "by a crash"])
def test_consumers_come_back_after_restarts(start_server, new_group, crash):
    server = start_server()
    eager, cooperative, static = (new_group(server) for _ in range(3))
    for _ in range(2):
        eager.join("t", partition_assignment_strategy=[RoundRobinPartitionAssignor])
        cooperative.join("t", partition_assignment_strategy=[CooperativeStickyAssignor])
        static.join("t", group_instance_id=f"static-{len(static.members)}")
    groups = [eager, cooperative, static]
    for group in groups:
        group.settled(T)
    for _ in range(2):
        known = {member: member.member_id for group in groups for member in group.members}
        server.restart(crash=crash)
        # The store is the memory, so the groups are new ones, and everybody has a new id.
        eventually(
            lambda known=known: all(member.member_id not in ("", old_id) for member, old_id in known.items()),
            lambda known=known: list(known),
        )
        for group in groups:
            group.settled(T)


def test_s2_the_memory_store_forgets_offsets(start_server, new_group):
    server = start_server()
    group = new_group(server)
    member = group.join("t")
    group.settled(T)
    member.do(lambda consumer: consumer.commit({T0: OffsetAndMetadata(5, "", -1)}))
    old_id = member.member_id
    server.restart()
    eventually(lambda: member.member_id not in ("", old_id), lambda: member)
    group.settled(T)
    assert member.do(lambda consumer: consumer.committed(T0)) is None
    member.do(lambda consumer: consumer.commit({T0: OffsetAndMetadata(6, "", -1)}))
    assert member.do(lambda consumer: consumer.committed(T0)) == 6


def test_ipv6(start_server, new_group):
    server = start_server(host="[::1]")
    group = new_group(server)
    first, second = group.join("t"), group.join("t")
    group.settled(T)
    first.do(lambda consumer: consumer.commit({T0: OffsetAndMetadata(1, "", -1)}))
    assert second.do(lambda consumer: consumer.committed(T0)) == 1
    admin = KafkaAdminClient(bootstrap_servers=server.bootstrap)
    (broker,) = admin.describe_cluster()["brokers"]
    assert broker["host"] == "::1"
    hosts = {member["client_host"] for member in admin.describe_groups([group.id])[group.id]["members"]}
    assert hosts == {"/0:0:0:0:0:0:0:1"}  # as Java writes it
    admin.close()


def joined(server, after=0) -> set[str]:
    """The client ids of who joined, by the server's log behind its first `after` characters."""
    return set(re.findall(r" member_joined .* client_id=(\S+)", server.log.read_text()[after:]))


def test_it_stops_while_joins_are_held(start_server, new_group):
    server = start_server(settings={**QUICK, "group.initial.rebalance.delay.ms": 600_000})
    group = new_group(server)
    gate = threading.Event()
    held = [group.join("t", gate=gate, name=f"held-{number}") for number in range(5)]
    names = {member.name for member in held}
    host, _, port = server.bootstrap.rpartition(":")
    with contextlib.ExitStack() as sockets:
        idle = [sockets.enter_context(socket.create_connection((host, int(port)))) for _ in range(50)]
        for member in held:
            assert member.ready.wait(LIMIT)
        gate.set()
        eventually(lambda: joined(server) == names, lambda: f"all joins to be held, not only of {joined(server)}")
        assert server.terminate() == 0
        for each in idle:
            each.settimeout(LIMIT)
            assert each.recv(1) == b""
    # The port is free at once, and whoever was held joins again.
    before = len(server.log.read_text())
    server.start()
    eventually(lambda: joined(server, before) == names, lambda: f"all to join again, not {joined(server, before)}")
    for member in held:
        member.close(timeout_ms=100)  # its LeaveGroup would wait behind its JoinGroup
