"""What happened to one group until now: for people as a story, for machines as plain data."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kcoord.core import notes
from kcoord.core.states import GroupState
from kcoord.timeline.events import Event, Noted
from kcoord.timeline.findings import Finding, findings_of
from kcoord.timeline.generations import Generation, generations_of
from kcoord.timeline.names import Names, counted, printable
from kcoord.timeline.plain import plain_of
from kcoord.timeline.story import story

_STATES = {
    notes.GroupCreated: GroupState.EMPTY,
    notes.RebalanceStarted: GroupState.PREPARING_REBALANCE,
    notes.GenerationFormed: GroupState.COMPLETING_REBALANCE,
    notes.GroupStabilized: GroupState.STABLE,
    notes.GroupEmptied: GroupState.EMPTY,
    notes.GroupDeleted: GroupState.DEAD,
}


class Timeline:
    """The events of a group, and what they mean. Moments are in seconds from when the recording began.

    `until` is the moment at which it was asked for. `print` tells it as a story.
    """

    def __init__(self, group: str, events: Sequence[Event], until: float) -> None:
        self.group = group
        self.events = tuple(sorted(events, key=lambda event: event.at))
        self.until = until

    @cached_property
    def generations(self) -> tuple[Generation, ...]:
        """The rebalances, in order; the last one may not be over."""
        return generations_of(self.events, self.until)

    @cached_property
    def names(self) -> Names:
        """What members are called."""
        return Names(self.events)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What should not be, in the order of time."""
        return findings_of(self.events, self.generations, self.names)

    @property
    def state(self) -> str:
        """The group's state after the last event, by Kafka's name; Dead if nothing tells of it."""
        for event in reversed(self.events):
            if isinstance(event, Noted):
                if isinstance(event.note, notes.GroupLoaded):
                    return event.note.state
                if type(event.note) in _STATES:
                    return _STATES[type(event.note)].value
        return GroupState.DEAD.value

    @property
    def title(self) -> str:
        """Which group it is, and how it stands."""
        last = next((one for one in reversed(self.generations) if one.number is not None and not one.lost), None)
        if last is None or self.state == GroupState.DEAD.value:
            return f"Group {self.group}: {self.state}"
        shown = ", ".join(self.names.label(member) for member in last.members[:_SHOWN])
        more = f" and {len(last.members) - _SHOWN} more" if len(last.members) > _SHOWN else ""
        who = f", {counted(len(last.members), 'members')}: {shown}{more}" if last.members else ", no members"
        protocol = f" ({last.protocol})" if last.protocol else ""
        return f"Group {self.group}: {self.state}, generation {last.number}{protocol}{who}"

    def text(self, *, most_events: int | None = None) -> str:
        """Tell it as a story: what matters first, then the events, of which only the last `most_events` are told.

        That is a number from 0; without it all of them are told.
        """
        lines = story(self.title, self.events, self.generations, self.findings, self.names, self.until, most_events)
        return "\n".join(printable(line, LONGEST_LINE) for line in lines)

    def plain(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {
            "group": self.group,
            "state": self.state,
            "until": round(self.until, 6),
            "names": dict(self.names.labels),
            **plain_of(self.events, self.generations, self.findings, self.names),
        }

    def __str__(self) -> str:
        return self.text()


LONGEST_LINE = 1_000
"""Characters of a line of a story."""
_SHOWN = 10
"""Members that the first line names."""
