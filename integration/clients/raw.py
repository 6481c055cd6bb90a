"""A connection on which the tests say exactly what they mean, in the version they mean."""

import contextlib
import itertools
import socket
from typing import Any

from wire.frame import FrameBuffer
from wire.header import read_response, request_frame
from wire.messages import FetchRequest, JoinGroupRequest, JoinGroupRequestProtocol, SyncGroupRequest
from wire.messages.fetch import FetchPartition, FetchTopic
from wire.messages.sync_group import SyncGroupRequestAssignment
from wire.records import Compression, read_header, split

PATIENCE = 60.0
"""Seconds."""
FETCH = 12
"""The newest Fetch that names topics."""
MEMBER_ID_REQUIRED = 79


class Raw(contextlib.closing):
    """Blocking; answers come in the order of the requests."""

    def __init__(self, bootstrap: str, client_id: str = "harness") -> None:
        super().__init__(self)
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE)
        self._frames = FrameBuffer(100_000_000)
        self._ids = itertools.count(1)
        self._client_id = client_id

    def close(self) -> None:
        self._socket.close()

    def call(self, request: Any, version: int | None = None) -> Any:
        """Send a request, in the newest version unless told otherwise, and return the answer."""
        cls = type(request)
        version = cls.VERSIONS.highest if version is None else version
        number = next(self._ids)
        self._socket.sendall(request_frame(number, self._client_id, request, version))
        while (frame := self._frames.next()) is None:
            data = self._socket.recv(1 << 16)
            assert data, f"closed instead of an answer to {request}"
            self._frames.feed(data)
        got, answer = read_response(frame, cls.RESPONSE, version)
        assert got == number
        return answer

    def join(self, group: str, protocol_type: str, protocol: str, metadata: bytes, assignment: bytes) -> str:
        """Form a group of one, of any type, with these bytes; return the member's id. It stays for its session."""
        asked = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=protocol, metadata=metadata)],
        )
        answer = self.call(asked)
        assert answer.error_code == MEMBER_ID_REQUIRED
        asked.member_id = answer.member_id
        answer = self.call(asked)
        assert answer.error_code == 0
        mine = SyncGroupRequestAssignment(member_id=answer.member_id, assignment=assignment)
        synced = self.call(
            SyncGroupRequest(
                group_id=group,
                generation_id=answer.generation_id,
                member_id=answer.member_id,
                protocol_type=protocol_type,
                protocol_name=protocol,
                assignments=[mine],
            )
        )
        assert (synced.error_code, synced.assignment) == (0, assignment)
        return answer.member_id

    def compressions(self, topic: str, partition: int) -> set[Compression]:
        """How the batches of a partition are compressed."""
        wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 24)
        asked = FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, topics=[FetchTopic(topic=topic, partitions=[wanted])]
        )
        ((found,),) = (each.partitions for each in self.call(asked, FETCH).responses)
        assert found.error_code == 0
        return {read_header(batch).compression for batch in split(bytes(found.records))}
