"""Which members are there, by their connections: they are the ones that would go on sending heartbeats."""

from collections.abc import Callable

from kcoord.broker import Broker
from kcoord.core.notes import GroupDeleted, MemberExpired, MemberLeft
from kcoord.notices import RequestNotice, RequestReceived
from wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)

_OF_A_MEMBER = (HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest)
Key = tuple[str, str]
"""A group's id and a member's."""


class Presence:
    """Follows the requests of members, from the moment on at which it is made.

    `present_connections` gives the numbers of the connections whose clients are there.
    """

    def __init__(self, broker: Broker, present_connections: Callable[[], frozenset[int]]) -> None:
        self._connections = present_connections
        self._last: dict[Key, int] = {}
        self._joins: dict[int, tuple[str, int]] = {}
        broker.on_request(self._hear_request)
        broker.on_note(self._hear)

    def present(self) -> dict[str, frozenset[str]]:
        """Return the ids of the members whose last request came over such a connection, by group."""
        there = self._connections()
        found: dict[str, set[str]] = {}
        for (group_id, member_id), connection in self._last.items():
            if connection in there:
                found.setdefault(group_id, set()).add(member_id)
        return {group_id: frozenset(members) for group_id, members in found.items()}

    def forget(self) -> None:
        """Forget everybody."""
        self._last.clear()

    def _hear_request(self, notice: RequestNotice) -> None:
        if not isinstance(notice, RequestReceived):
            joining = self._joins.pop(notice.number, None)
            # A newcomer learns its id by the answer.
            if joining is not None and isinstance(notice.response, JoinGroupResponse):
                group_id, connection = joining
                self._last[group_id, notice.response.member_id] = connection
        elif isinstance(notice.request, _OF_A_MEMBER):
            request = notice.request
            if request.member_id:
                self._last[request.group_id, request.member_id] = notice.connection
            if isinstance(request, JoinGroupRequest):
                self._joins[notice.number] = (request.group_id, notice.connection)

    def _hear(self, note: object) -> None:
        if isinstance(note, MemberExpired | MemberLeft):
            self._last.pop((note.group, note.member), None)
        elif isinstance(note, GroupDeleted):
            for key in [key for key in self._last if key[0] == note.group]:
                del self._last[key]
