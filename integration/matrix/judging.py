"""What became of a client, read from its group's timeline: pure, of events that happened until some moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from kcoord.core import notes
from kcoord.timeline.events import Answered, Asked, Beats, Event, Noted, TopicPartition

QUIET_S = 3.0
"""Nothing but commits and heartbeats for that long, on the server's clock: it has recovered."""
MEMBERSHIP = frozenset({"JoinGroup", "SyncGroup", "LeaveGroup"})


@dataclass(frozen=True)
class Seen:
    """What a timeline tells. Moments are in seconds on the server's clock.

    `recovered_at` is None as long as nothing was committed since the last thing that was amiss.
    """

    met_at: float
    member_before: str
    recovered_at: float | None
    member_after: str
    beats_at: float | None
    """When the last heartbeat was answered without an error, since the trouble."""
    requests: tuple[str, ...]

    def commits(self, until: float) -> bool:
        """Whether it consumes and commits as before, and that for a while."""
        return self.recovered_at is not None and until - self.recovered_at >= QUIET_S

    def settled(self, until: float) -> bool:
        """Whether it also sends heartbeats."""
        return self.commits(until) and self.beats_at is not None and self.beats_at > (self.recovered_at or 0)


def seen(events: Sequence[Event], client_id: str) -> Seen | None:
    """Return what events in their order tell of a client; None before it met a fault.

    It is the only one of its group from then on.
    """
    found = next(((at, one) for at, one in enumerate(events) if isinstance(one, Answered) and one.fault), None)
    if found is None:
        return None
    met, fault = found
    before = [event for event in events[:met] if _commits(event) and event.asked.client_id == client_id]
    floor: dict[TopicPartition, int] = {}
    for commit in before:
        floor.update(commit.asked.offsets)
    recovered: Answered | None = None
    beats_at = None
    requests: list[str] = []
    for event in events[met + 1 :]:
        if _disturbs(event):
            recovered = None
        elif recovered is None and _commits(event) and event.asked.at >= fault.at and _beyond(event, floor):
            recovered = event
        if isinstance(event, Beats) and event.error == "NONE":
            beats_at = event.last
        if isinstance(event, Asked) and event.api != "Heartbeat":
            requests.append(event.api)
    return Seen(
        met_at=fault.at,
        member_before=before[-1].asked.member if before else "",
        recovered_at=recovered.at if recovered else None,
        member_after=recovered.asked.member if recovered else "",
        beats_at=beats_at,
        requests=_once_in_a_row(requests),
    )


def _commits(event: Event) -> TypeGuard[Answered]:
    return isinstance(event, Answered) and event.asked.api == "OffsetCommit" and not event.errors and not event.silent


def _beyond(event: Answered, floor: Mapping[TopicPartition, int]) -> bool:
    return any(offset > floor.get(partition, 0) for partition, offset in event.asked.offsets.items())


def _disturbs(event: Event) -> bool:
    """Whether something other than consuming goes on."""
    if isinstance(event, Noted):
        return not isinstance(event.note, notes.OffsetsCommitted)
    if isinstance(event, Asked):
        return event.api in MEMBERSHIP
    if isinstance(event, Answered):
        return bool(event.errors or event.silent or event.asked.api in MEMBERSHIP)
    return isinstance(event, Beats) and event.error != "NONE"


def _once_in_a_row(names: list[str]) -> tuple[str, ...]:
    return tuple(name for at, name in enumerate(names) if at == 0 or names[at - 1] != name)
