"""What there is to be shown: a group's timeline, and what the story did to its members. Nothing here knows a clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kcoord.demo.stories import Kind
from kcoord.timeline import Event, Generation, Timeline
from kcoord.timeline.names import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that the story did. `at` is in seconds on the server's clock, from the recording's start."""

    at: float
    kind: Kind
    who: str = ""
    """The member; "" where it is the clock."""
    seconds: float = 0
    """How far the clock was moved."""


class CalledByClient(Names):
    """Members by their instance id or client id alone: who comes back under a new member id is the same as before."""

    def __init__(self, events: Iterable[Event]) -> None:
        super().__init__(events)
        self._labels = dict(self._stems)

    @property
    def labels(self) -> Mapping[str, str]:
        """What each member id is called."""
        return self._labels


class Scene:
    """All that is known at the moment `until` (s, as in the timeline). `rows` are the members that are shown, in order.

    Without a timeline nothing has reached the group yet.
    """

    def __init__(self, timeline: Timeline | None, deeds: Sequence[Deed], rows: Sequence[str], until: float) -> None:
        self.deeds = tuple(deeds)
        self.rows = tuple(rows)
        self.until = until
        self.events: tuple[Event, ...] = () if timeline is None else timeline.events
        self.generations: tuple[Generation, ...] = () if timeline is None else timeline.generations
        self.names = CalledByClient(self.events)

    @property
    def happened(self) -> list[Event | Deed]:
        """Events and deeds, in order; of what is of the same moment the deed comes first."""
        both: list[Event | Deed] = [*self.deeds, *self.events]
        return sorted(both, key=lambda each: each.at)

    @property
    def jumps(self) -> list[Deed]:
        """The moves of the clock."""
        return [each for each in self.deeds if each.kind is Kind.CLOCK]
