"""One turn of the coordinator: the tables it works on, the time, and the outcome that it fills."""

from typing import Any

from kcoord.core.behaviour import Behaviour
from kcoord.core.group import Group, Member
from kcoord.core.notes import MemberFenced, Note
from kcoord.core.outcome import Now, Outcome, Record, Reply
from kcoord.core.tables import Tables
from wire.errors import ErrorCode


class Step:
    """What a rule needs to do its work: each request and each expiry gets one of its own, with its own time."""

    __slots__ = ("now", "outcome", "tables")

    def __init__(self, tables: Tables, now: Now, outcome: Outcome) -> None:
        self.tables = tables
        self.now = now
        self.outcome = outcome

    @property
    def behaviour(self) -> Behaviour:
        """What the release did that is taken as a model."""
        return self.tables.settings.behaviour

    @property
    def no_group_id(self) -> ErrorCode:
        """The error of a request, other than JoinGroup, that names the empty group."""
        unknown = self.behaviour.empty_group_id_refused_by_join_only
        return ErrorCode.UNKNOWN_MEMBER_ID if unknown else ErrorCode.INVALID_GROUP_ID

    def write(self, record: Record) -> None:
        """Owe a record, and let it take effect."""
        self.tables.apply(record)
        self.outcome.records.append(record)

    def reply(self, token: object, response: Any) -> None:
        """Owe an answer."""
        self.outcome.replies.append(Reply(token, response))

    def note(self, note: Note) -> None:
        """Say what happened."""
        self.outcome.notes.append(note)
        self.outcome.moments.append(self.now)

    def set_session(self, group: Group, member_id: str, timeout_ms: int) -> None:
        """Start the session of a member or pending id anew: it ends `timeout_ms` from now."""
        self.tables.timers.set(("session", group.group_id, member_id), self.now.mono + timeout_ms / 1000)

    def restart_session(self, group: Group, member: Member) -> None:
        """Start a member's session anew, with its own timeout."""
        self.set_session(group, member.member_id, member.session_timeout_ms)

    def cancel_session(self, group: Group, member_id: str) -> None:
        """Forget the session of a member or pending id."""
        self.tables.timers.cancel(("session", group.group_id, member_id))

    def fenced(self, group: Group, member_id: str, instance_id: str | None, request: str, error: ErrorCode) -> None:
        """Note a FENCED_INSTANCE_ID; other errors pass."""
        if error is ErrorCode.FENCED_INSTANCE_ID and instance_id is not None:
            self.note(MemberFenced(group=group.group_id, member=member_id, instance=instance_id, request=request))
