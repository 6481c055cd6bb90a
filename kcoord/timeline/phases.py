"""The rebalances of a group, one by one, as events tell of them: when each phase ended, and who kept it waiting."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kcoord import notices
from kcoord.core import notes
from kcoord.timeline.events import Answered, Asked, Beats, Claim, Event, Noted, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """Somebody for whom a join phase waited. `seconds` are from when it was to join until the outcome."""

    member: str
    seconds: float
    outcome: str
    """rejoined, joined, left, expired, never came (an id that was handed out), stayed away (a static member, whose
    session goes on), had not come (when the rebalance was broken off), or still awaited."""


@dataclass(slots=True)
class Phase:
    """One rebalance, from the moment when the generation before it ended. Times are as in events; None: not yet."""

    began: float
    cause: str
    initial: bool
    """Whether the group had no members, so that it waited for whoever else would come."""
    ends: int
    """The generation that ended."""
    waiting: dict[str, float] = field(default_factory=dict)
    waited: list[Waited] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    """The members that came new, in order."""
    number: int | None = None
    formed: float | None = None
    stable: float | None = None
    protocol: str = ""
    leader: str = ""
    members: tuple[str, ...] = ()
    deleted: bool = False
    """Whether the group was deleted before it was over."""
    broken_off: float | None = None
    """When it ended before it was over: the next one began, or another coordinator knew nothing of it."""
    lost: bool = False
    """Whether it was another coordinator: the group is then again what it was before."""
    asked_at: dict[str, float] = field(default_factory=dict)
    """When each member's last JoinGroup came."""
    claims: dict[str, Claim] = field(default_factory=dict)
    synced_at: dict[str, float] = field(default_factory=dict)
    """When each member was given its assignment."""
    assignment: Mapping[str, frozenset[TopicPartition]] | None = None
    gone: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Who went since the rebalance began or just before: when it can last have had its partitions, and how it went."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Static members that came back: the new member id of each old one."""

    def resolve(self, member: str, at: float, outcome: str) -> None:
        """Say what became of somebody who was waited for."""
        since = self.waiting.pop(member, None)
        if since is not None:
            self.waited.append(Waited(member=member, seconds=at - since, outcome=outcome))

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.stable is not None or self.broken_off is not None or (self.formed is not None and not self.members)

    def break_off(self, at: float, *, lost: bool) -> None:
        """Say that it has ended, if it is not over."""
        if not self.is_over:
            for member in tuple(self.waiting):
                self.resolve(member, at, "had not come")
            self.broken_off, self.lost = at, lost


class _Reader:
    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self._heard: dict[str, float] = {}
        self._handed_out: dict[str, float] = {}
        self._gone: dict[str, tuple[float, str]] = {}
        self._replaced: dict[str, str] = {}
        self._newcomers: list[str] = []
        self._joins: dict[str, tuple[float, Mapping[str, Claim]]] = {}
        self._handed_in: dict[tuple[str, int | None], Mapping[str, frozenset[TopicPartition]]] = {}
        self._loaded: notes.GroupLoaded | None = None
        """That the group was loaded, until the next rebalance."""

    @property
    def _last(self) -> Phase | None:
        return self.phases[-1] if self.phases else None

    @property
    def _joining(self) -> Phase | None:
        """The phase in which members join now."""
        last = self._last
        return last if last is not None and last.formed is None and not last.is_over else None

    def read(self, event: Event) -> None:
        if isinstance(event, Noted):
            self._note(event.at, event.note)
        elif isinstance(event, Asked):
            self._asked(event)
        elif isinstance(event, Answered):
            self._answered(event)
        elif isinstance(event, Beats):
            self._heard[event.member] = event.last

    def _asked(self, event: Asked) -> None:
        if event.member:
            self._heard[event.member] = event.at
        if event.api == "JoinGroup" and event.member:
            self._joins[event.member] = (event.at, event.claims)
        elif event.api == "SyncGroup" and event.handed_in is not None:
            self._handed_in[event.member, event.generation] = event.handed_in

    def _answered(self, event: Answered) -> None:
        asked = event.asked
        if event.silent or event.errors:
            return
        if asked.api == "JoinGroup" and not asked.member:
            self._joins[event.member] = (asked.at, asked.claims)
        last = self._last
        if last is None or last.number is None:
            return
        if asked.api == "JoinGroup" and event.generation == last.number:
            at, claims = self._joins.get(event.member, (asked.at, asked.claims))
            last.asked_at[event.member] = at
            if last.protocol in claims:
                last.claims[event.member] = claims[last.protocol]
        elif asked.api == "SyncGroup" and asked.generation == last.number:
            last.synced_at.setdefault(asked.member, event.at)

    def _note(self, at: float, note: object) -> None:
        if isinstance(note, notes.RebalanceStarted):
            self._begin(at, note)
        elif isinstance(note, notes.GenerationFormed):
            self._form(at, note)
        elif isinstance(note, notes.GroupStabilized):
            last = self._last
            if last is not None and last.number == note.generation:
                last.stable = at
                # It was being written when another coordinator took over, which therefore knows of it.
                last.broken_off, last.lost = None, False
                last.assignment = self._handed_in.get((note.leader, note.generation))
        elif isinstance(note, notes.GroupEmptied):
            last = self._joining
            if last is not None:
                last.formed, last.number, last.members = at, note.generation, ()
                self._settle(last)
        elif isinstance(note, notes.GroupDeleted):
            last = self._joining
            if last is not None:
                last.formed, last.deleted, last.members = at, True, ()
                self._settle(last)
            self._handed_out.clear()
        elif isinstance(note, (notes.GroupLoaded, notices.CoordinatorMoved, notices.CoordinatorLoads)):
            # Neither join phases nor ids that were handed out are in the log.
            if self._last is not None:
                self._last.break_off(at, lost=True)
            self._handed_out.clear()
            self._newcomers.clear()
            if isinstance(note, notes.GroupLoaded):
                self._loaded = note
        else:
            self._member(at, note)

    def _begin(self, at: float, note: notes.RebalanceStarted) -> None:
        before = self._last
        if before is not None:
            before.break_off(at, lost=False)
        if self._loaded is not None:
            empty = self._loaded.members == 0
        else:
            empty = before is None or (before.formed is not None and not before.members)
        self._loaded = None
        phase = Phase(
            began=at,
            cause=note.reason,
            initial=empty,
            ends=note.generation,
            waiting=dict.fromkeys(note.waiting_for, at),
        )
        phase.waiting.update(dict.fromkeys(self._handed_out, at))
        phase.joined, self._newcomers = self._newcomers, []
        self.phases.append(phase)

    def _form(self, at: float, note: notes.GenerationFormed) -> None:
        phase = self._joining
        if phase is None:
            return
        phase.formed, phase.number = at, note.generation
        phase.protocol, phase.leader, phase.members = note.protocol, note.leader, note.members
        self._settle(phase)

    def _settle(self, phase: Phase) -> None:
        assert phase.formed is not None
        for member in tuple(phase.waiting):
            outcome = "never came" if member in self._handed_out else "stayed away"
            phase.resolve(member, phase.formed, "gone with the group" if phase.deleted else outcome)
        phase.gone, self._gone = self._gone, {}
        phase.replaced, self._replaced = self._replaced, {}

    def _member(self, at: float, note: object) -> None:
        phase = self._joining
        if isinstance(note, notes.MemberIdHandedOut):
            self._handed_out[note.member] = at
            if phase is not None:
                phase.waiting[note.member] = at
        elif isinstance(note, notes.MemberJoined):
            self._handed_out.pop(note.member, None)
            if phase is not None:
                phase.resolve(note.member, at, "joined")
                phase.joined.append(note.member)
            else:
                self._newcomers.append(note.member)
        elif isinstance(note, notes.MemberRejoined):
            if phase is not None:
                phase.resolve(note.member, at, "rejoined")
        elif isinstance(note, (notes.MemberLeft, notes.MemberExpired, notes.PendingMemberExpired)):
            self._went(at, note)
        elif isinstance(note, notes.StaticMemberReplaced):
            self._replaced[note.replaced] = note.member
            if phase is not None:
                phase.resolve(note.replaced, at, "rejoined")

    def _went(self, at: float, note: notes.MemberLeft | notes.MemberExpired | notes.PendingMemberExpired) -> None:
        pending = self._handed_out.pop(note.member, None) is not None
        outcome = "left" if isinstance(note, notes.MemberLeft) else "never came" if pending else "expired"
        if not pending:
            since = self._heard.get(note.member, at) if outcome == "expired" else at
            self._gone[note.member] = since, outcome
        phase = self._joining
        if phase is not None:
            phase.resolve(note.member, at, outcome)


def phases_of(events: Iterable[Event]) -> list[Phase]:
    """Return the rebalances that events tell of, in order."""
    reader = _Reader()
    for event in events:
        reader.read(event)
    return reader.phases
