"""The load: many raw connections in one process, driven by readiness. Started by bench_server.py.

    python scripts/bench_load.py HOST PORT KIND NUMBER ...

Prints one JSON object. KIND is one of

    beats CONNECTIONS GROUPS SECONDS    heartbeats in a closed loop: each connection sends, waits, sends again
    fixed CONNECTIONS SECONDS           the same frames without a group behind them, for the floor
    commits CONNECTIONS PARTITIONS SECONDS
    form MEMBERS SERVER_PID             a group forms; one member leaves, the others rebalance
"""

import json
import os
import selectors
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from wire.codec import decode
from wire.errors import ErrorCode
from wire.header import request_frame
from wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from wire.payloads import Subscription, encode_subscription

SUBSCRIPTION = encode_subscription(Subscription(topics=["bench"]), 1)
ASSIGNMENT = bytes(30)


class Connection:
    """A socket and what is left of the answer that it waits for."""

    __slots__ = ("buffer", "frame", "on_answer", "sent_at", "sock")

    def __init__(self, address: tuple[str, int]) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.frame = b""
        self.sent_at = 0.0
        self.on_answer: Callable[[bytes], None] = lambda _: None

    def send(self, frame: bytes) -> None:
        self.sock.sendall(frame)

    def answer(self) -> bytes | None:
        """Read what is there; the payload when it is whole."""
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer = self.buffer + data if self.buffer else data
        if len(self.buffer) < 4 or len(self.buffer) < 4 + struct.unpack_from(">i", self.buffer)[0]:
            return None
        payload, self.buffer = self.buffer[4:], b""
        return payload

    def call(self, frame: bytes) -> bytes:
        """Send, and wait for the answer."""
        self.send(frame)
        while (payload := self.answer()) is None:
            pass
        return payload


def closed_loop(connections: Sequence[Connection], seconds: float) -> dict[str, float]:
    """Let each connection send its frame, wait, and send again; return requests/s and latencies in ms."""
    poll = selectors.DefaultSelector()
    for one in connections:
        poll.register(one.sock, selectors.EVENT_READ, one)
    latencies: list[float] = []
    clock = time.perf_counter
    for one in connections:
        one.sent_at = clock()
        one.send(one.frame)
    start = clock()
    warm, end = start + seconds * 0.2, start + seconds
    counted_from = 0
    now = start
    warm_at = start
    while now < end:
        for key, _ in poll.select():
            one = key.data
            if one.answer() is not None:
                now = clock()
                latencies.append(now - one.sent_at)
                one.sent_at = now
                one.send(one.frame)
        if not counted_from and now >= warm:
            counted_from, warm_at = len(latencies), now
    counted = sorted(latencies[counted_from:])
    poll.close()
    return {
        "rate": len(counted) / (now - warm_at),
        "p50_ms": counted[len(counted) // 2] * 1000,
        "p99_ms": counted[len(counted) * 99 // 100] * 1000,
    }


class Member:
    """A member that joins, syncs and then rests; `send_*` start an exchange, answers move it on."""

    def __init__(self, group: str, connection: Connection, swarm: "Swarm") -> None:
        self.group = group
        self.connection = connection
        self.swarm = swarm
        self.id = ""
        self.generation = -1
        self.stable = False

    def send(self, request: Any, version: int, then: Callable[[bytes], None]) -> None:
        self.connection.on_answer = then
        self.connection.send(request_frame(1, "bench", request, version))

    def send_join(self) -> None:
        self.stable = False
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=1_800_000,
            rebalance_timeout_ms=1_800_000,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )
        self.send(request, 9, self.joined)

    def joined(self, payload: bytes) -> None:
        answer = decode(JoinGroupResponse, 9, payload, 5)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
            self.swarm.has_id()
            if self.swarm.in_two_steps:
                return
            self.send_join()
            return
        if answer.error_code:
            raise RuntimeError(ErrorCode(answer.error_code).name)
        self.id, self.generation = answer.member_id, answer.generation_id
        assignments = [
            SyncGroupRequestAssignment(member_id=one.member_id, assignment=ASSIGNMENT) for one in answer.members
        ]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )
        self.send(request, 5, self.synced)

    def synced(self, payload: bytes) -> None:
        answer = decode(SyncGroupResponse, 5, payload, 5)
        if answer.error_code or answer.assignment != ASSIGNMENT:
            raise RuntimeError(f"sync: {ErrorCode(answer.error_code).name}")
        self.stable = True
        self.swarm.has_synced()

    def send_heartbeat_then_join(self) -> None:
        self.stable = False
        self.send(self.heartbeat(), 4, lambda _: self.send_join())

    def heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.id)


class Swarm:
    """Members of one group, each on a connection of its own."""

    def __init__(self, address: tuple[str, int], group: str, size: int) -> None:
        self.poll = selectors.DefaultSelector()
        self.members = [Member(group, Connection(address), self) for _ in range(size)]
        for member in self.members:
            self.poll.register(member.connection.sock, selectors.EVENT_READ, member.connection)
        self.ids = 0
        self.synced = 0
        self.in_two_steps = False

    def has_id(self) -> None:
        self.ids += 1

    def has_synced(self) -> None:
        self.synced += 1

    def run_until(self, done: Callable[[], bool]) -> None:
        while not done():
            for key, _ in self.poll.select(30):
                payload = key.data.answer()
                if payload is not None:
                    key.data.on_answer(payload)

    def form(self) -> float:
        """Bring all to Stable without waiting for a delay; return the seconds it took.

        The first member is Stable alone. Then all others ask for ids, then all join, and the first member rejoins
        last: the join phase ends with it, on no timer.
        """
        first, others = self.members[0], self.members[1:]
        first.send_join()
        self.run_until(lambda: first.stable)
        self.ids = self.synced = 0
        start = time.perf_counter()
        if others:
            self.in_two_steps = True
            for member in others:
                member.send_join()
            self.run_until(lambda: self.ids == len(others))
            self.in_two_steps = False
            for member in others:
                member.send_join()
        first.send_heartbeat_then_join()
        self.run_until(lambda: self.synced == len(self.members))
        return time.perf_counter() - start

    def rebalance_after_leave(self) -> float:
        """Let the last member leave and everybody else find out; return the seconds until all are Stable again."""
        gone = self.members.pop()
        self.synced = 0
        start = time.perf_counter()
        request = LeaveGroupRequest(group_id=gone.group, members=[MemberIdentity(member_id=gone.id)])
        self.poll.unregister(gone.connection.sock)
        gone.connection.call(request_frame(1, "bench", request, 5))
        for member in self.members:
            member.send_heartbeat_then_join()
        self.run_until(lambda: self.synced == len(self.members))
        return time.perf_counter() - start

    def close(self) -> None:
        self.poll.close()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, in s."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid: int) -> int:
    """Resident memory of a process, in KiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def stable_members(address: tuple[str, int], connections: int, groups: int) -> list[Member]:
    """So many members, spread evenly over so many groups, all Stable."""
    members: list[Member] = []
    for number in range(groups):
        swarm = Swarm(address, f"bench-{os.getpid()}-{number}", connections // groups)
        swarm.form()
        swarm.close()
        members += swarm.members
    return members


def beats(address: tuple[str, int], connections: int, groups: int, seconds: int) -> dict[str, float]:
    members = stable_members(address, connections, groups)
    for member in members:
        member.connection.frame = request_frame(1, "bench", member.heartbeat(), 4)
        if member.connection.call(member.connection.frame)[-3:-1] != b"\x00\x00":
            raise RuntimeError("a heartbeat was refused")
    return closed_loop([member.connection for member in members], seconds)


def fixed(address: tuple[str, int], connections: int, seconds: int) -> dict[str, float]:
    request = HeartbeatRequest(group_id="bench-12345-0", generation_id=2, member_id="bench-" + "0" * 36)
    loaded = [Connection(address) for _ in range(connections)]
    for one in loaded:
        one.frame = request_frame(1, "bench", request, 4)
    return closed_loop(loaded, seconds)


def commits(address: tuple[str, int], connections: int, partitions: int, seconds: int) -> dict[str, float]:
    members = stable_members(address, connections, connections)
    for member in members:
        request = OffsetCommitRequest(
            group_id=member.group,
            generation_id_or_member_epoch=member.generation,
            member_id=member.id,
            topics=[
                OffsetCommitRequestTopic(
                    name="bench",
                    partitions=[
                        OffsetCommitRequestPartition(partition_index=index, committed_offset=7, committed_metadata="")
                        for index in range(partitions)
                    ],
                )
            ],
        )
        member.connection.frame = request_frame(1, "bench", request, 8)
    return closed_loop([member.connection for member in members], seconds)


def form(address: tuple[str, int], size: int, pid: int) -> dict[str, float]:
    rss = resident_kib(pid)
    cpu = cpu_seconds(pid)
    swarm = Swarm(address, f"form-{os.getpid()}-{size}", size)
    formed = swarm.form()
    after = cpu_seconds(pid)
    grown = resident_kib(pid) - rss
    rebalanced = swarm.rebalance_after_leave()
    return {
        "form_s": formed,
        "form_cpu_s": after - cpu,
        "rebalance_s": rebalanced,
        "rebalance_cpu_s": cpu_seconds(pid) - after,
        "kib_per_member": grown / size,
    }


KINDS: dict[str, Callable[..., dict[str, float]]] = {"beats": beats, "fixed": fixed, "commits": commits, "form": form}


def main(host: str, port: str, kind: str, *numbers: str) -> None:
    print(json.dumps(KINDS[kind]((host, int(port)), *(int(number) for number in numbers))))


if __name__ == "__main__":
    main(*sys.argv[1:])
