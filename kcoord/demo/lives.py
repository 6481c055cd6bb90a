"""How each member fared: from when until when it read what, stood still, or was away; and the moments between."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from kcoord.core import notes
from kcoord.demo.scene import Deed, Scene
from kcoord.demo.stories import Kind
from kcoord.timeline.events import Answered, Asked, Event, Noted


class State(Enum):
    """What a member does over a time."""

    ABSENT = auto()
    JOINING = auto()
    """It has asked to join and has nothing yet."""
    READING = auto()
    IDLE = auto()
    """It is in the group and was assigned nothing."""
    STILL = auto()
    """It gave up what it had, and waits for its next assignment."""
    STALLED = auto()
    """It has partitions and does not poll."""
    AWAY = auto()
    """Its process is gone, and its partitions are still its own: nobody reads them."""


class Moment(Enum):
    """What happens to a member at once."""

    LEFT = auto()
    EXPIRED = auto()
    CRASHED = auto()


@dataclass(frozen=True, slots=True)
class Span:
    """A time (s, as in the timeline) in which nothing changed for a member; `holds` are numbers of partitions."""

    start: float
    end: float
    state: State
    holds: tuple[int, ...] = ()


@dataclass(slots=True)
class Life:
    """One member's spans, without gaps, and its moments, in order."""

    spans: list[Span] = field(default_factory=list)
    moments: list[tuple[float, Moment]] = field(default_factory=list)


@dataclass(slots=True)
class _Now:
    since: float = 0.0
    state: State = State.ABSENT
    holds: tuple[int, ...] = ()
    static: bool = False
    stalled: bool = False
    away: bool = False

    @property
    def shown(self) -> State:
        if self.state is State.ABSENT:
            return State.ABSENT
        if self.away:
            return State.AWAY
        return State.STALLED if self.stalled else self.state


class _Writer:
    def __init__(self, scene: Scene) -> None:
        self.lives = {row: Life() for row in scene.rows}
        self._now = {row: _Now() for row in scene.rows}
        self._names = scene.names

    def write(self, what: Event | Deed) -> None:
        if isinstance(what, Deed):
            self._deed(what)
        elif isinstance(what, Asked) and what.api == "JoinGroup":
            self._change(what.instance or what.client_id, what.at, lambda now: _join(now, what))
        elif isinstance(what, Answered) and what.asked.api == "SyncGroup" and what.assigned is not None:
            holds = tuple(sorted(partition for _, partition in what.assigned))
            if not what.errors:
                self._change(self._names.label(what.asked.member), what.at, lambda now: _be_given(now, holds))
        elif isinstance(what, Noted) and isinstance(what.note, notes.MemberLeft | notes.MemberExpired):
            moment = Moment.LEFT if isinstance(what.note, notes.MemberLeft) else Moment.EXPIRED
            self._go(self._names.label(what.note.member), what.at, moment)

    def end(self, until: float) -> None:
        for row in self.lives:
            self._change(row, until, lambda _: None)

    def _deed(self, deed: Deed) -> None:
        if deed.kind in _DEEDS:
            self._change(deed.who, deed.at, _DEEDS[deed.kind])
        if deed.kind is Kind.KILL:
            self.lives[deed.who].moments.append((deed.at, Moment.CRASHED))

    def _go(self, row: str, at: float, moment: Moment) -> None:
        if row in self.lives:
            self._change(row, at, _leave)
            self.lives[row].moments.append((at, moment))

    def _change(self, row: str, at: float, change: Callable[[_Now], None]) -> None:
        """End the span that goes on, and begin another one. Whoever has no row is not shown."""
        now = self._now.get(row)
        if now is None:
            return
        spans = self.lives[row].spans
        if at > now.since:
            span = Span(now.since, at, now.shown, now.holds)
            if spans and (spans[-1].state, spans[-1].holds) == (span.state, span.holds):
                spans[-1] = Span(spans[-1].start, at, span.state, span.holds)
            else:
                spans.append(span)
            now.since = at
        change(now)


def _join(now: _Now, asked: Asked) -> None:
    owned = {partition for claim in asked.claims.values() for _, partition in claim.owned or ()}
    was_away, now.away, now.static = now.away, False, asked.instance is not None
    if was_away:
        now.state, now.holds = State.JOINING, ()
    elif owned:
        now.holds = tuple(sorted(owned))
    elif now.state in (State.READING, State.STILL):
        now.state, now.holds = State.STILL, ()
    else:
        now.state = State.JOINING


def _be_given(now: _Now, holds: tuple[int, ...]) -> None:
    now.state, now.holds = (State.READING if holds else State.IDLE), holds


def _leave(now: _Now) -> None:
    now.state, now.holds, now.away = State.ABSENT, (), False


def _set_away(now: _Now) -> None:
    now.away = True


def _set_away_if_static(now: _Now) -> None:
    # Another one leaves the group in the next moment.
    now.away = now.static


def _set_stalled(now: _Now) -> None:
    now.stalled = True


def _set_going(now: _Now) -> None:
    now.stalled = False


_DEEDS: Mapping[Kind, Callable[[_Now], None]] = {
    Kind.STOP: _set_away_if_static,
    Kind.KILL: _set_away,
    Kind.STALL: _set_stalled,
    Kind.GO_ON: _set_going,
}


def lives_of(scene: Scene) -> dict[str, Life]:
    """Return how each member that has a row fared until now."""
    writer = _Writer(scene)
    for each in scene.happened:
        writer.write(each)
    writer.end(scene.until)
    return writer.lives
