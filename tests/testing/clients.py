"""A consumer over a plain socket, for tests that are plain functions."""

import socket
import threading

from tests.control.conftest import assignment_of
from wire.frame import FrameBuffer
from wire.header import read_response, request_frame
from wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from wire.payloads import Subscription, encode_subscription

PATIENCE = 30.0
"""Seconds after which an answer will not come."""
VERSIONS = {JoinGroupRequest: 9, SyncGroupRequest: 5, HeartbeatRequest: 4, FindCoordinatorRequest: 3}


class Client:
    """One connection that says what it is told."""

    def __init__(self, bootstrap, name="c"):
        host, port = bootstrap.rsplit(":", 1)
        self.name = name
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.frames = FrameBuffer(1 << 30)
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def call(self, request):
        self.send(request)
        return self.receive(request)

    def send(self, request):
        self.number += 1
        self.socket.sendall(request_frame(self.number, self.name, request, VERSIONS[type(request)]))

    def receive(self, request):
        while (frame := self.frames.next()) is None:
            data = self.socket.recv(65_536)
            if not data:
                raise EOFError
            self.frames.feed(data)
        got, message = read_response(frame, type(request).RESPONSE, VERSIONS[type(request)])
        assert got == self.number
        return message

    def is_closed(self):
        """Whether the server ends the connection without another byte."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


class Consumer(Client):
    """A member of a group, which does nothing by itself."""

    def __init__(self, bootstrap, name, group="g", *, instance=None, session=45_000):
        super().__init__(bootstrap, name)
        self.group, self.instance, self.session = group, instance, session
        self.member_id, self.generation, self.leads = "", -1, False

    def join(self):
        """Join, with an id if there is one; the answer may take until others have joined."""
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session,
            rebalance_timeout_ms=300_000,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(name="range", metadata=encode_subscription(Subscription(topics=("t",))))
            ],
        )
        answer = self.call(request)
        self.member_id = answer.member_id
        if answer.error_code == 79:
            return self.join()
        self.generation, self.leads = answer.generation_id, answer.leader == answer.member_id
        return answer

    def sync(self, plan=()):
        return self.call(
            SyncGroupRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[
                    SyncGroupRequestAssignment(member_id=member, assignment=assignment_of(topics))
                    for member, topics in dict(plan).items()
                ],
            )
        )

    def heartbeat(self):
        return self.call(
            HeartbeatRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance,
            )
        ).error_code


def alone(consumer):
    """Let a consumer form a generation of its own, with partition 0 of t."""
    assert consumer.join().error_code == 0
    assert consumer.sync({consumer.member_id: {"t": (0,)}}).error_code == 0
    return consumer


def together(*functions):
    """Call all of them at the same time, each in a thread; return when all have returned."""
    threads = [threading.Thread(target=each) for each in functions]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
