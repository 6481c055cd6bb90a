"""What goes into the coordinator beside a request, and what one turn of it gives back."""

from dataclasses import dataclass, field
from typing import Any

from kcoord.core.notes import Note
from wire.payloads import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue


@dataclass(frozen=True, slots=True)
class Now:
    """The time of one turn.

    `mono` is in seconds on a clock that never goes back: deadlines are measured on it. `wall_ms` is Unix time in
    ms: timestamps that are stored and shown come from it.
    """

    mono: float
    wall_ms: int

    def back_at(self, mono: float) -> "Now":
        """Return the earlier moment that was at `mono`, with the wall clock of then."""
        return Now(mono, self.wall_ms - round((self.mono - mono) * 1000))


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks, and in which version of the API.

    `client_id` is the request header's ("" for null); `client_host` is the peer's address as Java prints it, with a
    leading slash.
    """

    version: int
    client_id: str
    client_host: str


@dataclass(frozen=True, slots=True)
class Record:
    """One record for the offsets topic; `value` None is a tombstone."""

    key: OffsetCommitKey | GroupMetadataKey
    value: OffsetCommitValue | GroupMetadataValue | None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to whoever handed in `token`; `response` is a response message of the request's API."""

    token: object
    response: Any


@dataclass(slots=True)
class Outcome:
    """What one turn owes: make `records` durable, only then send `replies`; `notes` say what happened.

    Outcomes leave in the order in which they were produced.
    """

    records: list[Record] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    moments: list[Now] = field(default_factory=list)
    """When each of the notes happened: where a clock was moved past several deadlines, each has its own."""
