"""The members of the load: raw members that join, sync and then rest, on a connection each."""

import os
import selectors
import time
from collections.abc import Callable
from typing import Any

from bench_connections import Connection, Dialect

from wire.errors import ErrorCode
from wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from wire.payloads import Subscription, encode_subscription

SUBSCRIPTION = encode_subscription(Subscription(topics=["bench"]), 1)
ASSIGNMENT = bytes(30)
MANY_LEAVE_SINCE = 3
"""LeaveGroup 3 carries several members (KIP-345)."""
FOR_ALL_TO_ARRIVE = 0.5
"""Seconds after which every JoinGroup is taken to have arrived, at a broker that admits members without a handshake."""


class Member:
    """A member that joins, syncs and then rests; `send_*` start an exchange, answers move it on."""

    def __init__(self, group: str, connection: Connection, swarm: "Swarm") -> None:
        self.group = group
        self.connection = connection
        self.swarm = swarm
        self.id = ""
        self.generation = -1
        self.stable = False

    def send(self, request: Any, then: Callable[[Any], None]) -> None:
        dialect = self.swarm.dialect
        self.connection.on_answer = lambda payload: then(dialect.answer(payload, request))
        self.connection.send(dialect.frame(request))

    def send_join(self) -> None:
        self.stable = False
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.swarm.session_timeout_ms,
            rebalance_timeout_ms=self.swarm.session_timeout_ms,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )
        self.send(request, self.joined)

    def joined(self, answer: Any) -> None:
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
            self.swarm.ids += 1
            if not self.swarm.in_two_steps:
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
        self.send(request, self.was_synced)

    def was_synced(self, answer: Any) -> None:
        if answer.error_code or answer.assignment != ASSIGNMENT:
            raise RuntimeError(f"sync: {ErrorCode(answer.error_code).name}")
        self.stable = True
        self.swarm.synced += 1

    def send_heartbeat_then_join(self) -> None:
        self.stable = False
        self.send(self.heartbeat(), lambda _: self.send_join())

    def heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.id)


class Swarm:
    """Members of one group, each on a connection of its own."""

    def __init__(
        self, address: tuple[str, int], dialect: Dialect, group: str, size: int, session_timeout_ms: int = 300_000
    ) -> None:
        self.dialect = dialect
        self.session_timeout_ms = session_timeout_ms
        self.poll = selectors.DefaultSelector()
        self.members = [Member(group, Connection(address), self) for _ in range(size)]
        for member in self.members:
            self.poll.register(member.connection.sock, selectors.EVENT_READ, member.connection)
        self.ids = 0
        self.synced = 0
        self.in_two_steps = False

    def run_until(self, done: Callable[[], bool]) -> None:
        while not done():
            for key, _ in self.poll.select(30):
                payload = key.data.answer()
                if payload is not None:
                    key.data.on_answer(payload)

    def form(self) -> float:
        """Bring all to Stable without waiting for a delay; return the seconds it took.

        The first member is Stable alone. Then all others ask for ids, then all join, and the first member rejoins
        last: the join phase ends with it, on no timer. A broker without that handshake does not say when it has all
        of them, and is given a while that does not count.
        """
        first, others = self.members[0], self.members[1:]
        first.send_join()
        self.run_until(lambda: first.stable)
        with_handshake = self.ids > 0
        self.ids = self.synced = 0
        start = time.perf_counter()
        waited = 0.0
        if others and with_handshake:
            self.in_two_steps = True
            for member in others:
                member.send_join()
            self.run_until(lambda: self.ids == len(others))
            self.in_two_steps = False
        for member in others:
            member.send_join()
        if others and not with_handshake:
            waited = FOR_ALL_TO_ARRIVE
            time.sleep(waited)
        first.send_heartbeat_then_join()
        self.run_until(lambda: self.synced == len(self.members))
        return time.perf_counter() - start - waited

    def rebalance_after_leave(self) -> float:
        """Let the last member leave and everybody else find out; return the seconds until all are Stable again."""
        gone = self.members.pop()
        self.synced = 0
        start = time.perf_counter()
        request = LeaveGroupRequest(group_id=gone.group)
        if self.dialect.version(request) >= MANY_LEAVE_SINCE:
            request.members = [MemberIdentity(member_id=gone.id)]
        else:
            request.member_id = gone.id
        self.poll.unregister(gone.connection.sock)
        gone.connection.call(self.dialect.frame(request))
        for member in self.members:
            member.send_heartbeat_then_join()
        self.run_until(lambda: self.synced == len(self.members))
        return time.perf_counter() - start

    def close(self) -> None:
        self.poll.close()


def stable_members(address: tuple[str, int], dialect: Dialect, connections: int, groups: int) -> list[Member]:
    """So many members, spread evenly over so many groups, all Stable."""
    name = f"bench-{os.getpid()}"
    if groups == connections:
        return alone(address, dialect, name, groups)
    members: list[Member] = []
    for number in range(groups):
        swarm = Swarm(address, dialect, f"{name}-{number}", connections // groups)
        swarm.form()
        swarm.close()
        members += swarm.members
    return members


def alone(address: tuple[str, int], dialect: Dialect, name: str, size: int) -> list[Member]:
    """So many members, each Stable in a group of its own; they wait together where a broker makes them wait."""
    swarm = Swarm(address, dialect, name, size)
    for number, member in enumerate(swarm.members):
        member.group = f"{name}-{number}"
        member.send_join()
    swarm.run_until(lambda: swarm.synced == size)
    swarm.close()
    return swarm.members
