"""From a frame to rows, and which request an answer belongs to. Knows no clock and no file; raises nothing.

An answer does not say what it answers: it has the correlation id of its request and nothing else. So requests are
remembered, for each connection, until their answers come.
"""

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

from kcoord.dump.api_names import api_name
from kcoord.dump.frames import SIZE, Frame
from kcoord.dump.inside import (
    Inside,
    Problem,
    Room,
    Row,
    assignment,
    problems_of,
    record_batches,
    rows_of,
    struct_cached,
    subscription,
)
from wire.errors import ErrorCode
from wire.header import request_header_version, response_header_version
from wire.messages import (
    REQUESTS,
    ApiVersionsRequest,
    DescribeGroupsResponse,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    ProduceRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from wire.schema import Message
from wire.structs import MOST_SPOTS, request_header_struct, response_header_struct, trace

MOST_ASKED: Final = 10_000
"""Requests of one connection that may wait for their answers; beyond that the oldest is forgotten."""
CONSUMER: Final = "consumer"
"""The protocol type of which it is known what is in its metadata and assignments."""

_INSIDE: Final[dict[tuple[type[Message], str], Inside]] = {
    (JoinGroupRequest, "metadata"): subscription,
    (JoinGroupResponse, "metadata"): subscription,
    (SyncGroupRequest, "assignment"): assignment,
    (SyncGroupResponse, "assignment"): assignment,
    (DescribeGroupsResponse, "member_metadata"): subscription,
    (DescribeGroupsResponse, "member_assignment"): assignment,
    (ProduceRequest, "records"): record_batches,
    (FetchResponse, "records"): record_batches,
}
_REQUEST_HEADER: Final = {version: request_header_struct(version) for version in (1, 2)}
_RESPONSE_HEADER: Final = {version: response_header_struct(version) for version in (0, 1)}
_GROUP_FIELDS: Final = frozenset({"group_id", "groups", "groups_names"})
_KEY_FIELDS: Final = frozenset({"key", "coordinator_keys"})
_API_VERSIONS: Final = ApiVersionsRequest.API_KEY


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of an answer from its request."""

    key: int
    version: int
    groups: frozenset[str] = frozenset()


@dataclass(slots=True)
class Explained:
    """A frame, read as far as it makes sense. `key` and `version` are None for an answer to nobody knows what."""

    frame: Frame
    key: int | None = None
    version: int | None = None
    correlation_id: int | None = None
    header: list[Row] = field(default_factory=list)
    body: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    groups: frozenset[str] = frozenset()
    """The groups that the frame is about; those of an answer are also its request's."""

    @property
    def api(self) -> str | None:
        """The name of the API, if it is known which it is."""
        return None if self.key is None else api_name(self.key)


class Explainer:
    """Explains frames in the order in which they passed.

    `answers` is the key and version of all answers, where the requests are not there to say it.
    """

    def __init__(self, answers: tuple[int, int] | None = None, most_rows: int = MOST_SPOTS) -> None:
        self._answers = None if answers is None else Asked(*answers)
        self._asked: dict[int, OrderedDict[int, Asked]] = {}
        self._most = most_rows

    def explain(self, frame: Frame) -> Explained:
        """Read one frame."""
        explained = Explained(frame)
        if frame.from_client:
            self._explain_request(explained)
        else:
            self._explain_response(explained)
        stated = int.from_bytes(frame.data[:SIZE], "big", signed=True)
        there = len(frame.data) - SIZE
        if stated != there:
            explained.problems.append(Problem(len(frame.data), f"the frame has {stated} bytes, of which {there} came"))
        return explained

    def forget(self, connection: int) -> None:
        """Forget what is asked on a connection, because it was closed."""
        self._asked.pop(connection, None)

    def _explain_request(self, explained: Explained) -> None:
        data = explained.frame.data
        if len(data) < SIZE + 8:
            place = min(SIZE, len(data))
            explained.problems.append(Problem(place, "too short for the header of a request", data[place:]))
            return
        key = int.from_bytes(data[4:6], "big", signed=True)
        version = int.from_bytes(data[6:8], "big", signed=True)
        explained.key, explained.version = key, version
        explained.correlation_id = int.from_bytes(data[8:12], "big", signed=True)
        found = trace(_REQUEST_HEADER[request_header_version(key, version)], data, SIZE, most=self._most)
        explained.header = rows_of(found)
        explained.header[0] = replace(explained.header[0], note=api_name(key))
        explained.problems = problems_of(found, data, len(data))
        if not explained.problems:
            self._explain_body(explained, REQUESTS.get(key), version, found.end)
        asked = self._asked.setdefault(explained.frame.connection, OrderedDict())
        asked[explained.correlation_id] = Asked(key, version, explained.groups)
        asked.move_to_end(explained.correlation_id)
        if len(asked) > MOST_ASKED:
            asked.popitem(last=False)

    def _explain_response(self, explained: Explained) -> None:
        data = explained.frame.data
        if len(data) < SIZE + 4:
            place = min(SIZE, len(data))
            explained.problems.append(Problem(place, "too short for the header of a response", data[place:]))
            return
        explained.correlation_id = int.from_bytes(data[4:8], "big", signed=True)
        asked = self._asked.get(explained.frame.connection, OrderedDict()).pop(explained.correlation_id, self._answers)
        if asked is None:
            explained.header = rows_of(trace(_RESPONSE_HEADER[0], data, SIZE))
            why = "the request that this answers was not seen"
            explained.problems.append(Problem(SIZE + 4, why, data[SIZE + 4 :]))
            return
        explained.key, explained.version, explained.groups = asked.key, asked.version, asked.groups
        version = asked.version
        if asked.key == _API_VERSIONS and data[8:10] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big"):
            version = 0  # KIP-511: every client can read that
        request = REQUESTS.get(asked.key)
        found = trace(_RESPONSE_HEADER[response_header_version(asked.key, version)], data, SIZE, most=self._most)
        explained.header = rows_of(found)
        explained.problems = problems_of(found, data, len(data))
        if not explained.problems:
            self._explain_body(explained, None if request is None else request.RESPONSE, version, found.end)

    def _explain_body(self, explained: Explained, cls: type[Message] | None, version: int, start: int) -> None:
        data = explained.frame.data
        if cls is None or version not in cls.VERSIONS:
            known = "" if cls is None else f"; described are {cls.VERSIONS.lowest} to {cls.VERSIONS.highest}"
            why = f"version {version} of {explained.api} is not described here{known}"
            explained.problems.append(Problem(start, why, data[start:]))
            return
        found = trace(struct_cached(cls, version), data, start, most=self._most)
        room = Room(max(self._most - len(found.spots), 0))
        protocol_type: object = None
        for row in rows_of(found):
            if row.path[-1] == "protocol_type":
                protocol_type = row.value
            explained.body.append(_with_note(row))
            look = _INSIDE.get((cls, str(row.path[-1])))
            if look is not None and row.value and row.end is not None:
                self._look_inside(explained, row, row.end, look, protocol_type, room)
        explained.groups |= _groups(cls, explained.body)
        explained.problems += problems_of(found, data, len(data))
        if found.stopped is None and found.end < len(data):
            why = f"{len(data) - found.end} bytes after the end of the message"
            explained.problems.append(Problem(found.end, why, data[found.end :]))

    def _look_inside(
        self, explained: Explained, row: Row, end: int, look: Inside, protocol_type: object, room: Room
    ) -> None:
        """Add what is in the bytes of a row. What nobody calls the consumer's protocol may be anything."""
        is_protocol = look is not record_batches
        if is_protocol and protocol_type not in (None, CONSUMER):
            return
        rows, problems = look(explained.frame.data, end - len(row.value), end, row.path, room)
        if problems and is_protocol and protocol_type is None:
            return
        if rows or problems:
            explained.body[-1] = replace(row, opened=True)
        explained.body += rows
        explained.problems += problems


def is_request(data: bytes) -> bool:
    """Whether a whole frame, its size in front, can be read as a request, to its last byte."""
    cls = REQUESTS.get(int.from_bytes(data[4:6], "big", signed=True))
    version = int.from_bytes(data[6:8], "big", signed=True)
    if cls is None or version not in cls.VERSIONS:
        return False
    header = trace(_REQUEST_HEADER[request_header_version(cls.API_KEY, version)], data, SIZE)
    if header.stopped is not None:
        return False
    body = trace(struct_cached(cls, version), data, header.end)
    return body.stopped is None and body.end == len(data)


def _with_note(row: Row) -> Row:
    """Say what the number of an error means."""
    if isinstance(row.path[-1], str) and row.path[-1].endswith("error_code") and isinstance(row.value, int):
        try:
            return replace(row, note=ErrorCode(row.value).name)
        except ValueError:
            return replace(row, note="no error that is known here")
    return row


def _groups(cls: type[Message], rows: list[Row]) -> frozenset[str]:
    """Return the names of the groups that a message is about."""
    fields = _GROUP_FIELDS
    if issubclass(cls, (FindCoordinatorRequest, FindCoordinatorResponse)):
        fields |= _KEY_FIELDS
    found = set()
    for row in rows:
        named = row.path[-1] if isinstance(row.path[-1], str) else row.path[-2]
        if named in fields and isinstance(row.value, str):
            found.add(row.value)
    return frozenset(found)
