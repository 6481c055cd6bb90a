"""What happened lately to each group, and waking those who wait for something to happen to one."""

from collections import deque
from dataclasses import dataclass, fields

import trio

from kcoord.broker import Broker
from kcoord.core.notes import Note
from kcoord.core.outcome import Now
from kcoord.notices import RequestAnswered, RequestNotice
from wire.messages import SyncGroupResponse

KEPT = 50
"""Notes that are kept of each group."""
MOST_GROUPS = 10_000
"""Groups of which notes are kept; those of whom nothing was heard for longest are forgotten."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A note, and when it was told."""

    now: Now
    note: Note

    def line(self, now: Now) -> str:
        """Return it as one line of text, as seen at the time `now`."""
        told = ", ".join(
            f"{each.name}={getattr(self.note, each.name)!r}" for each in fields(self.note) if each.name != "group"
        )
        return f"{now.mono - self.now.mono:9.3f} s ago  {type(self.note).__name__}({told})"


class Happenings:
    """Listens to the notes of a broker, from the moment on at which it is made."""

    def __init__(self, broker: Broker) -> None:
        self._clock = broker.clock
        self._kept: dict[str, deque[Happened]] = {}
        self._next: dict[str, trio.Event] = {}
        broker.on_note(self._hear)
        broker.on_request(self._hear_request)

    def of(self, group_id: str) -> tuple[Happened, ...]:
        """Return what happened lately to a group, oldest first."""
        return tuple(self._kept.get(group_id, ()))

    def forget(self) -> None:
        """Forget everything."""
        self._kept.clear()

    def next_of(self, group_id: str) -> trio.Event:
        """Return what is set when the next thing happens to a group."""
        return self._next.setdefault(group_id, trio.Event())

    def _hear(self, note: object) -> None:
        if not isinstance(note, Note):
            return
        kept = self._kept.pop(note.group, None)
        if kept is None:
            kept = deque(maxlen=KEPT)
            if len(self._kept) >= MOST_GROUPS:
                del self._kept[next(iter(self._kept))]
        kept.append(Happened(self._clock.now(), note))
        self._kept[note.group] = kept
        event = self._next.pop(note.group, None)
        if event is not None:
            event.set()

    def _hear_request(self, notice: RequestNotice) -> None:
        """Wake everybody when a member is given its assignment: no note is made of that, and no group named here."""
        if isinstance(notice, RequestAnswered) and isinstance(notice.response, SyncGroupResponse):
            waiting, self._next = self._next, {}
            for event in waiting.values():
                event.set()
