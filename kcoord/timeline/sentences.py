"""Each event as a sentence."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from kcoord import notices
from kcoord.core import notes
from kcoord.timeline.events import Answered, Asked, Beats, Event, LeftOut, Noted
from kcoord.timeline.findings import listed
from kcoord.timeline.names import Names, counted, printable

_CLIENT_REASON: Final = "; client reason: "
_REMOVAL: Final = "explicit removal of "
_NOT_TOLD: Final = "not provided"
"""What Kafka puts where a client gives no reason."""


def sentence(event: Event, names: Names) -> str:
    """Say what happened, without the time."""
    if isinstance(event, Noted):
        return _noted(event.note, names)
    if isinstance(event, Asked):
        return _asked(event, names)
    if isinstance(event, Answered):
        return _answered(event, names)
    if isinstance(event, Beats):
        return _beats(event, names)
    assert isinstance(event, LeftOut)
    return f"... {event.count} events are left out ..."


def exchange(event: Answered, names: Names) -> str:
    """Say in one sentence what was asked and what was answered at once."""
    asked = event.asked
    who = _who(asked, names)
    if asked.api == "JoinGroup" and event.errors == ("MEMBER_ID_REQUIRED",):
        return f"{who} asks to join, and is told the id under which to come back (MEMBER_ID_REQUIRED)" + _fault(event)
    if asked.api in ("OffsetCommit", "OffsetFetch", "LeaveGroup") and not event.errors and not event.silent:
        return _asked(asked, names) + _fault(event)
    outcome = _outcome(event)
    return f"{_asked(asked, names)}: {outcome}" + _fault(event)


def _who(asked: Asked, names: Names) -> str:
    return names.label(asked.member) if asked.member else printable(asked.instance or asked.client_id) or "somebody"


def _asked(asked: Asked, names: Names) -> str:
    tell = _REQUESTS.get(asked.api)
    who = _who(asked, names)
    return f"{who} sends {asked.api} {asked.version}" if tell is None else tell(asked, who)


def _join(asked: Asked, who: str) -> str:
    owned = next((claim.owned for claim in asked.claims.values() if claim.owned), None)
    parts = [f"{who} asks to join" + (f" again, still owning {listed(owned)}" if owned else "")]
    parts += [f"with {', '.join(asked.protocols)}"] if asked.protocols else []
    text = ", ".join(parts)
    return f"{text} ({asked.reason})" if asked.reason else text


def _sync(asked: Asked, who: str) -> str:
    if asked.handed_in is None:
        return f"{who} asks for its assignment in generation {asked.generation}"
    return (
        f"{who} hands in the assignment of generation {asked.generation} for {counted(len(asked.handed_in), 'members')}"
    )


def _leave(asked: Asked, who: str) -> str:
    why = f" ({asked.reason})" if asked.reason else ""
    if len(asked.leaving) > 1:
        return f"{asked.client_id} sends LeaveGroup for {counted(len(asked.leaving), 'members')}{why}"
    return f"{asked.instance or who if asked.member else ''.join(asked.leaving)} leaves{why}"


def _commit(asked: Asked, who: str) -> str:
    shown = ", ".join(f"{topic}-{partition} at {offset}" for (topic, partition), offset in asked.offsets.items())
    more = asked.partitions - len(asked.offsets)
    return f"{who} commits {shown or 'nothing'}" + (f" and {more} more" if more > 0 else "")


def _fetch(asked: Asked, who: str) -> str:
    return f"{who} asks for the committed offsets" + (
        "" if asked.partitions < 0 else f" of {counted(asked.partitions, 'partitions')}"
    )


_REQUESTS: Mapping[str, Callable[[Asked, str], str]] = MappingProxyType(
    {
        "JoinGroup": _join,
        "SyncGroup": _sync,
        "LeaveGroup": _leave,
        "OffsetCommit": _commit,
        "OffsetFetch": _fetch,
        "Heartbeat": lambda asked, who: f"{who} heartbeats in generation {asked.generation}",
    }
)


def _answered(event: Answered, names: Names) -> str:
    asked = event.asked
    who = names.label(event.member) if event.member else _who(asked, names)
    took = f" (after {event.at - asked.at:.3f} s)"
    if asked.api == "JoinGroup" and event.errors == ("MEMBER_ID_REQUIRED",):
        return f"{who} is told the id under which to come back (MEMBER_ID_REQUIRED)" + _fault(event)
    if event.silent or event.errors:
        return f"{who} sent {asked.api}: {_outcome(event)}{took}" + _fault(event)
    if asked.api == "JoinGroup":
        leads = ", as its leader" if event.leader == event.member else ""
        return f"{who} is in generation {event.generation}{leads}{took}" + _fault(event)
    if asked.api == "SyncGroup":
        return f"{who} {_given(event)}{took}" + _fault(event)
    return f"{who} is answered {asked.api}{took}" + _fault(event)


def _given(event: Answered) -> str:
    if event.assigned is None:
        return "is given its assignment"
    return f"is given {listed(event.assigned)}" if event.assigned else "is given no partitions"


def _outcome(event: Answered) -> str:
    if event.silent:
        return "no answer"
    if event.errors:
        return ", ".join(event.errors) + (f" for {listed(event.refused)}" if event.refused else "")
    if event.asked.api == "SyncGroup":
        return _given(event)
    if event.asked.api == "JoinGroup":
        leads = ", as its leader" if event.leader == event.member else ""
        return f"is in generation {event.generation}{leads}"
    return "answered"


def _fault(event: Answered) -> str:
    return f" [fault: {event.fault}]" if event.fault else ""


def _beats(event: Beats, names: Names) -> str:
    who = names.label(event.member)
    if event.error == "NONE":
        many = f", {event.count} times until {event.last:.3f} s" if event.count > 1 else ""
        return f"{who} heartbeats{many}"
    many = f" ({counted(event.count, 'times')} until {event.last:.3f} s)" if event.count > 1 else ""
    if event.error == "REBALANCE_IN_PROGRESS":
        return f"{who} learns by its heartbeat that the group rebalances{many}"
    return f"{who} heartbeats and is answered {event.error}{many}"


def _noted(note: object, names: Names) -> str:
    tell = _NOTES.get(type(note))
    return f"{type(note).__name__}: {note}" if tell is None else tell(note, names)


def _handed_out(note: Any, _names: Names) -> str:
    return f"the id {note.member} is handed out"


def _joined(note: Any, names: Names) -> str:
    static = f", static member {printable(note.instance)}" if note.instance is not None else ""
    client = f"client {printable(note.client_id)} at {note.host}"
    return f"{names.label(note.member)} is a new member ({client}{static}){_why(note)}"


def _rejoined(note: Any, names: Names) -> str:
    return f"{names.label(note.member)} rejoins and waits for the others{_why(note)}"


def _why(note: Any) -> str:
    return f": {note.reason}" if note.reason and note.reason != _NOT_TOLD else ""


def _rebalance(note: Any, names: Names) -> str:
    waits = f"; waiting for {names.all_of(note.waiting_for)}" if note.waiting_for else ""
    return f"REBALANCE, generation {note.generation} ends: {cause(note.reason, names)}{waits}"


def cause(reason: str, names: Names) -> str:
    """Write the reason of a rebalance with the names of members; who removes one need not be a client."""
    what, given, why = reason.partition(_CLIENT_REASON)
    if why == _NOT_TOLD:
        return names.within(what)
    return names.within(f"{what}: {why}" if given and what.startswith(_REMOVAL) else reason)


def _formed(note: Any, names: Names) -> str:
    return (
        f"GENERATION {note.generation} forms with {names.all_of(note.members)}"
        f" ({note.protocol}, led by {names.label(note.leader)})"
    )


def _held_open(note: Any, names: Names) -> str:
    return f"nobody rejoined; the join phase goes on for the static members {names.all_of(note.waiting_for)}"


def _stable(note: Any, names: Names) -> str:
    return f"STABLE: {names.label(note.leader)}'s assignment of generation {note.generation} is there"


def _expired(note: Any, names: Names) -> str:
    return f"{names.label(note.member)} is put out: {note.why}"


def _left(note: Any, names: Names) -> str:
    return f"{names.label(note.member)} is gone{_why(note)}"


def _replaced(note: Any, names: Names) -> str:
    who, before = names.label(note.member), printable(note.replaced)
    return f"static member {printable(note.instance)} comes back: {who} takes the place of {before}"


def _fenced(note: Any, names: Names) -> str:
    return f"{names.label(note.member)} is fenced at {note.request}: {note.instance} is another member by now"


def _moved(note: Any, _names: Names) -> str:
    target = "no broker" if note.target < 0 else f"broker {note.target}"
    source = "no broker" if note.source < 0 else f"broker {note.source}"
    return f"the group's coordinator moves from {source} to {target}: {note.why}"


def _clock_moved(note: Any, _names: Names) -> str:
    return f"the clock is moved forward by {note.seconds:g} s{'' if note.heartbeats else ', without heartbeats'}"


_NOTES: Mapping[type, Callable[[Any, Names], str]] = MappingProxyType(
    {
        notes.GroupCreated: lambda _note, _names: "the group comes into being",
        notes.GroupDeleted: lambda note, _names: f"the group is deleted: {note.why}",
        notes.MemberIdHandedOut: _handed_out,
        notes.MemberJoined: _joined,
        notes.MemberRejoined: _rejoined,
        notes.JoinRefused: lambda note, names: (
            f"{names.label(note.member) or note.client_id} may not join: {note.error}"
        ),
        notes.RebalanceStarted: _rebalance,
        notes.GenerationFormed: _formed,
        notes.JoinPhaseHeldOpen: _held_open,
        notes.GroupStabilized: _stable,
        notes.GroupEmptied: lambda note, _names: f"EMPTY: nobody is left in generation {note.generation}",
        notes.MemberExpired: _expired,
        notes.PendingMemberExpired: lambda note, names: f"{names.label(note.member)} never came back under its new id",
        notes.MemberLeft: _left,
        notes.StaticMemberReplaced: _replaced,
        notes.MemberFenced: _fenced,
        notes.OffsetsCommitted: lambda note, _names: (
            f"offsets of {counted(note.partitions, 'partitions')} are committed"
        ),
        notes.OffsetsDeleted: lambda note, _names: f"offsets of {counted(note.partitions, 'partitions')} are deleted",
        notes.OffsetsExpired: lambda note, _names: f"offsets of {counted(note.partitions, 'partitions')} expire",
        notes.GroupLoaded: lambda note, _names: (
            f"the group is loaded: {note.state}, generation {note.generation}, {counted(note.members, 'members')}"
        ),
        notices.CoordinatorMoved: _moved,
        notices.CoordinatorLoads: lambda note, _names: (
            f"the coordinator loads for {note.seconds:g} s, as was asked for"
        ),
        notices.BrokerStopped: lambda note, _names: f"broker {note.node_id} is stopped",
        notices.BrokerStarted: lambda note, _names: f"broker {note.node_id} is started",
        notices.ClockFrozen: lambda _note, _names: "the clock stands still",
        notices.ClockResumed: lambda _note, _names: "the clock goes on",
        notices.ClockMoved: _clock_moved,
        notices.ConnectionClosed: lambda note, _names: f"the connection from {note.host}:{note.port} ended: {note.why}",
    }
)
