"""A timeline as text: first why the group rebalanced last and whom it waited for, then findings, then everything."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from kcoord.core import notes
from kcoord.timeline.events import Answered, Asked, Event, Noted
from kcoord.timeline.findings import Finding, listed
from kcoord.timeline.generations import Generation, Kind
from kcoord.timeline.names import Names, counted
from kcoord.timeline.phases import Waited
from kcoord.timeline.sentences import cause, exchange, sentence

_MOVES: Final = 6
"""Moves of a generation that are written out."""


def story(
    title: str,
    events: Sequence[Event],
    generations: Sequence[Generation],
    findings: Sequence[Finding],
    names: Names,
    until: float,
    most_events: int | None = None,
) -> Iterator[str]:
    """Return the lines; `title` says which group it is and how it stands, `most_events` how many events are told."""
    yield title
    if generations:
        yield from _last(generations[-1], names, until)
    yield from _findings(findings)
    if generations:
        yield ""
        yield "Rebalances"
        for one in generations:
            yield from _generation(one, names)
    yield ""
    yield "Events"
    left_out = 0 if most_events is None else max(len(events) - most_events, 0)
    if left_out:
        yield f"  ... {left_out} earlier ones are left out ..."
    for at, text in _told(events[left_out:], names):
        yield f"  {at:10.3f} s  {text}"


def _last(one: Generation, names: Names, until: float) -> Iterator[str]:
    why = cause(one.cause, names)
    if one.follows_up:
        why += ", the second step of a cooperative rebalance"
    if one.number is None and one.formed is not None:
        yield f"The group was deleted amid a rebalance, {one.formed - one.began:.3f} s after it began: {why}."
        return
    if one.lost and one.broken_off is not None:
        took = one.broken_off - one.began
        yield f"The last rebalance was lost with its coordinator, {took:.3f} s after it began: {why}."
    elif one.seconds is None:
        yield f"Rebalancing since {until - one.began:.3f} s, because: {why}."
    else:
        yield f"Last rebalance: {why}. It took {one.seconds:.3f} s{_cost(one, names)}."
    yield f"{_waited(one, names)}."


def _waited(one: Generation, names: Names) -> str:
    awaited = [each for each in one.waited_for if each.outcome == "still awaited"]
    if one.formed is None and awaited:
        shown = ", ".join(f"{names.label(each.member)} ({each.seconds:.3f} s)" for each in awaited)
        return f"It waits for {shown} to join"
    if one.initial and one.formed is not None and one.members:
        return (
            f"An empty group waits for more members: {one.formed - one.began:.3f} s"
            f" (group.initial.rebalance.delay.ms); {len(one.members)} came"
        )
    if one.formed is not None and one.stable is None and one.members and one.broken_off is None:
        return f"It waits for {names.label(one.leader)}, the leader, to hand in the assignment"
    if one.waited_for:
        longest = max(one.waited_for, key=lambda each: each.seconds)
        others = sorted((each for each in one.waited_for if each is not longest), key=lambda each: -each.seconds)
        more = f"; before that {', '.join(_outcome(each, names) for each in others[:4])}" if others else ""
        return f"It waited longest for {_outcome(longest, names)}{more}"
    return "It waited for nobody"


def _outcome(waited: Waited, names: Names) -> str:
    return f"{names.label(waited.member)}, which {waited.outcome} after {waited.seconds:.3f} s"


def _cost(one: Generation, names: Names) -> str:
    parts = []
    if one.stood_still:
        member, seconds = max(one.stood_still.items(), key=lambda pair: pair[1])
        parts.append(
            f"{counted(len(one.stood_still), 'members')} stood still, {names.label(member)} for {seconds:.3f} s"
        )
    if one.kept:
        parts.append(
            f"{counted(len(one.kept), 'members')} kept {counted(sum(one.kept.values()), 'partitions')} all the time"
        )
    if one.pauses and one.pauses[0].seconds > 0:
        pause = one.pauses[0]
        parts.append(f"nobody read {pause.topic}-{pause.partition} for {pause.seconds:.3f} s")
    return "".join(f"; {part}" for part in parts)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        yield "Findings: none."
        return
    yield f"Findings: {len(findings)}"
    for each in findings:
        yield f"  ! {each.at:8.3f} s  {each.kind}: {each.sentence}"


def _generation(one: Generation, names: Names) -> Iterator[str]:
    number = "?" if one.number is None else str(one.number)
    kind = "" if one.kind is Kind.UNKNOWN else f", {one.kind}"
    protocol = f" ({one.protocol}{kind})" if one.protocol else ""
    if one.seconds is not None:
        took = f"{one.seconds:.3f} s"
    elif one.broken_off is not None:
        took = f"{'lost with its coordinator' if one.lost else 'broken off'} after {one.broken_off - one.began:.3f} s"
    else:
        took = "not over"
    why = cause(one.cause, names)
    if one.follows_up:
        why += " (the second step of a cooperative rebalance: what was revoked is handed out)"
    yield f"  {number:>4}  at {one.began:.3f} s, {took}{protocol}: {why}"
    if one.waited_for or one.initial:
        yield f"        {_waited(one, names)}."
    if one.assignment:
        held = "; ".join(
            f"{names.label(member)} {listed(mine) if mine else 'nothing'}" for member, mine in one.assignment.items()
        )
        yield f"        assigned: {held}"
    if one.moves and one.kind is not Kind.FIRST:
        shown = ", ".join(
            f"{each.topic}-{each.partition} {_owner(each.source, names)} -> {_owner(each.target, names)}"
            for each in one.moves[:_MOVES]
        )
        more = f" and {len(one.moves) - _MOVES} more" if len(one.moves) > _MOVES else ""
        yield f"        moved: {shown}{more}"
    if cost := _cost(one, names):
        yield f"        {cost.removeprefix('; ')}"


def _owner(member: str | None, names: Names) -> str:
    return "nobody" if member is None else names.label(member)


def _without_what_requests_tell(events: Sequence[Event]) -> Iterator[Event]:
    """Leave notes out that come of a request which says the same. What an operator did has no request."""
    committing: set[int] = set()
    for each in events:
        if isinstance(each, Asked) and each.api == "OffsetCommit":
            committing.add(each.number)
        elif isinstance(each, Answered):
            committing.discard(each.asked.number)
        if isinstance(each, Noted) and (
            isinstance(each.note, notes.MemberIdHandedOut)
            or (isinstance(each.note, notes.OffsetsCommitted) and committing)
        ):
            continue
        yield each


def _told(events: Sequence[Event], names: Names) -> Iterator[tuple[float, str]]:
    """Return the events as sentences; a request that was answered before anything else happened is one of them."""
    shown = list(_without_what_requests_tell(events))
    at_once = {
        after.asked.number
        for before, after in itertools.pairwise(shown)
        if isinstance(before, Asked) and isinstance(after, Answered) and before.number == after.asked.number
    }
    for each in shown:
        if isinstance(each, Asked) and each.number in at_once:
            continue
        if isinstance(each, Answered) and each.asked.number in at_once:
            yield each.asked.at, exchange(each, names)
        else:
            yield each.at, sentence(each, names)
