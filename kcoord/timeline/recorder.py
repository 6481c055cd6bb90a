"""Keeps what happens to groups, as it is told, within bounds."""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kcoord.core.notes import Note
from kcoord.core.outcome import Now
from kcoord.notices import (
    BrokerStarted,
    BrokerStopped,
    ClockFrozen,
    ClockMoved,
    ClockResumed,
    ConnectionClosed,
    CoordinatorLoads,
    CoordinatorMoved,
    RequestAnswered,
    RequestNotice,
    RequestReceived,
)
from kcoord.timeline.events import Answered, Asked, Beats, Event, LeftOut, Noted
from kcoord.timeline.reading import NameOf, asked, assigned, errors_of, groups_of, refused_of
from kcoord.timeline.timeline import Timeline

MOST_EVENTS: Final = 20_000
"""Events that are kept of one group: its first `FIRST_EVENTS`, and the last ones."""
FIRST_EVENTS: Final = 1_000
MOST_GROUPS: Final = 1_000
"""Groups whose events are kept: those to which something happened last."""


class Recorder:
    """Listens to a server: `note` is told what it notes, `request` of requests (`kcoord.broker.Broker`).

    `now` tells the server's time, `name_of` the names of topics by their ids. Neither method waits or raises.
    """

    def __init__(self, now: Callable[[], Now], name_of: NameOf = lambda _topic_id: None) -> None:
        self._now = now
        self._name_of = name_of
        self._start = now().mono
        self._is_frozen = False
        """Whether the time stands still, which a group that comes into being meanwhile has not heard."""
        self._groups: OrderedDict[str, _Group] = OrderedDict()
        self._open: dict[int, list[tuple[str, Asked]]] = {}
        self._peers: dict[tuple[str, int], dict[str, None]] = {}
        """The groups that each connection asked about, by its client's address."""

    def note(self, note: object) -> None:
        """Take a note of the coordinator, or a notice of the server."""
        if isinstance(note, Note):
            self._add(note.group, self._noted(note))
        elif isinstance(note, ConnectionClosed):
            for group in self._peers.pop((note.host, note.port), ()):
                if group in self._groups:
                    self._add(group, self._noted(note))
        elif isinstance(note, (CoordinatorMoved, CoordinatorLoads)):
            for group in note.groups:
                self._add(group, self._noted(note))
        elif isinstance(note, (ClockMoved, ClockFrozen, ClockResumed, BrokerStopped, BrokerStarted)):
            self._is_frozen = isinstance(note, ClockFrozen) or (self._is_frozen and not isinstance(note, ClockResumed))
            for kept in self._groups.values():
                kept.add(self._noted(note))

    def request(self, notice: RequestNotice) -> None:
        """Take a request, or what became of it."""
        if isinstance(notice, RequestReceived):
            self._received(notice)
        else:
            self._answered(notice)

    def groups(self) -> list[str]:
        """Return the groups of which something is known, the one that was met first first."""
        return sorted(self._groups, key=lambda group: self._groups[group].first)

    def of(self, group: str) -> Timeline | None:
        """Return what happened to a group until now, or None if nothing did."""
        kept = self._groups.get(group)
        return None if kept is None else Timeline(group, kept.events(), self._now().mono - self._start)

    def forget(self) -> None:
        """Forget everything but whether the time stands still; what is being served is recorded from its answer on."""
        self._groups.clear()
        self._open.clear()
        self._peers.clear()

    def _noted(self, note: object) -> Noted:
        now = self._now()
        return Noted(at=now.mono - self._start, wall_ms=now.wall_ms, note=note)

    def _received(self, notice: RequestReceived) -> None:
        now = self._now()
        groups = groups_of(notice.api, notice.request)
        for group in groups:
            event = asked(notice, group, now.mono - self._start, now, self._name_of)
            self._open.setdefault(notice.number, []).append((group, event))
            self._peers.setdefault((notice.host, notice.port), {})[group] = None
            if notice.api != "Heartbeat":
                self._add(group, event)

    def _answered(self, notice: RequestAnswered) -> None:
        now = self._now()
        for group, event in self._open.pop(notice.number, ()):
            silent = notice.response is None
            answer = Answered(
                at=now.mono - self._start,
                wall_ms=now.wall_ms,
                asked=event,
                errors=() if silent else errors_of(event.api, notice.response, group),
                silent=silent,
                fault=notice.fault,
                refused=() if silent else refused_of(event.api, notice.response, self._name_of),
                member=getattr(notice.response, "member_id", "") if event.api == "JoinGroup" else "",
                generation=getattr(notice.response, "generation_id", None),
                leader=getattr(notice.response, "leader", ""),
                protocol=getattr(notice.response, "protocol_name", None),
                assigned=assigned(notice.response) if event.api == "SyncGroup" and not silent else None,
            )
            if event.api == "Heartbeat" and not silent and not notice.fault:
                self._beat(group, answer)
            elif event.api == "Heartbeat":
                self._add(group, event)
                self._add(group, answer)
            else:
                self._add(group, answer)

    def _group(self, name: str) -> "_Group":
        kept = self._groups.get(name)
        if kept is None:
            kept = self._groups[name] = _Group(self._now().mono)
            if self._is_frozen:
                kept.add(self._noted(ClockFrozen()))
            if len(self._groups) > MOST_GROUPS:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end(name)
        return kept

    def _add(self, group: str, event: Event) -> None:
        self._group(group).add(event)

    def _beat(self, group: str, answer: Answered) -> None:
        self._group(group).beat(answer)


class _Group:
    """The events of one group."""

    def __init__(self, first: float) -> None:
        self.first = first
        self._first: list[Event] = []
        self._last: deque[Event] = deque()
        self._left_out = 0
        self._beats: dict[str, Beats] = {}
        """Heartbeats since anything else happened, by member."""

    def add(self, event: Event) -> None:
        for each in self._beats.values():
            self._keep(each)
        self._beats.clear()
        self._keep(event)

    def beat(self, answer: Answered) -> None:
        """Take a heartbeat together with the ones before, if it was answered like them."""
        error = answer.errors[0] if answer.errors else "NONE"
        member = answer.asked.member
        before = self._beats.get(member)
        if before is not None and before.error == error:
            self._beats[member] = replace(before, count=before.count + 1, last=answer.at)
            return
        if before is not None:
            self._keep(self._beats.pop(member))
        self._beats[member] = Beats(
            at=answer.at,
            wall_ms=answer.wall_ms,
            member=member,
            instance=answer.asked.instance,
            client_id=answer.asked.client_id,
            error=error,
            count=1,
            last=answer.at,
        )

    def events(self) -> tuple[Event, ...]:
        """Return what is kept, in order."""
        if not self._left_out:
            return (*self._first, *self._last, *self._beats.values())
        after = self._first[-1]
        gap = LeftOut(at=after.at, wall_ms=after.wall_ms, count=self._left_out)
        return (*self._first, gap, *self._last, *self._beats.values())

    def _keep(self, event: Event) -> None:
        if len(self._first) < FIRST_EVENTS:
            self._first.append(event)
            return
        self._last.append(event)
        if len(self._last) > MOST_EVENTS - FIRST_EVENTS:
            self._last.popleft()
            self._left_out += 1
