"""What a timeline shows that should not be: partitions with two owners, and what makes consumers read twice."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kcoord.core import notes
from kcoord.timeline.events import Answered, Event, Noted, TopicPartition
from kcoord.timeline.generations import Generation, Kind
from kcoord.timeline.names import Names

ASSIGNED_TWICE: Final = "assigned twice"
OWNED_TWICE: Final = "owned twice"
NOT_REVOKED: Final = "handed over without being revoked"
COMMIT_BY_STRANGER: Final = "commit by a member that was put out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that should not be. `at` is in seconds from the timeline's start; members are member ids."""

    kind: str
    at: float
    generation: int | None
    sentence: str
    members: tuple[str, ...]
    partitions: tuple[TopicPartition, ...] = ()


def findings_of(events: Sequence[Event], generations: Sequence[Generation], names: Names) -> tuple[Finding, ...]:
    """Return what is found, in the order of time."""
    found = [
        each
        for one in generations
        for look in (_assigned_twice, _owned_twice, _not_revoked)
        for each in look(one, names)
    ]
    found += _commits_of_strangers(events, names)
    return tuple(sorted(found, key=lambda finding: finding.at))


def _owners(claims: Iterable[tuple[str, frozenset[TopicPartition]]]) -> dict[tuple[str, ...], list[TopicPartition]]:
    """Return the partitions that several have, by those who have them."""
    by_partition: dict[TopicPartition, list[str]] = {}
    for member, mine in claims:
        for partition in mine:
            by_partition.setdefault(partition, []).append(member)
    together: dict[tuple[str, ...], list[TopicPartition]] = {}
    for partition, members in sorted(by_partition.items()):
        if len(members) > 1:
            together.setdefault(tuple(members), []).append(partition)
    return together


def _assigned_twice(one: Generation, names: Names) -> Iterator[Finding]:
    if one.assignment is None or one.stable is None:
        return
    for members, partitions in _owners(one.assignment.items()).items():
        yield Finding(
            kind=ASSIGNED_TWICE,
            at=one.stable,
            generation=one.number,
            sentence=f"{names.label(one.leader)}, the leader, assigned {listed(partitions)} to {names.all_of(members)}",
            members=members,
            partitions=tuple(partitions),
        )


def _owned_twice(one: Generation, names: Names) -> Iterator[Finding]:
    for members, partitions in _owners(one.claims.items()).items():
        yield Finding(
            kind=OWNED_TWICE,
            at=one.began if one.formed is None else one.formed,
            generation=one.number,
            sentence=f"{names.all_of(members)} each joined with the claim to own {listed(partitions)}",
            members=members,
            partitions=tuple(partitions),
        )


def _not_revoked(one: Generation, names: Names) -> Iterator[Finding]:
    """A cooperative assignor takes a partition away in one generation and hands it out in the next (KIP-429)."""
    if one.kind is not Kind.COOPERATIVE or one.assignment is None or one.stable is None:
        return
    owner = {partition: member for member, mine in one.claims.items() for partition in mine}
    handed: dict[tuple[str, str], list[TopicPartition]] = {}
    for target, mine in one.assignment.items():
        for partition in sorted(mine):
            source = owner.get(partition)
            if source is not None and source != target and partition not in one.claims.get(target, ()):
                handed.setdefault((source, target), []).append(partition)
    for (source, target), partitions in handed.items():
        yield Finding(
            kind=NOT_REVOKED,
            at=one.stable,
            generation=one.number,
            sentence=(
                f"{listed(partitions)} went from {names.label(source)} to {names.label(target)} in one rebalance,"
                f" while {names.label(source)} still owned it: for a moment both read it"
            ),
            members=(source, target),
            partitions=tuple(partitions),
        )


def _commits_of_strangers(events: Iterable[Event], names: Names) -> Iterator[Finding]:
    """A consumer that was put out without knowing it goes on reading what others have by now."""
    out: dict[str, float] = {}
    told: set[str] = set()
    for event in events:
        if isinstance(event, Noted) and isinstance(event.note, notes.MemberExpired):
            out[event.note.member] = event.at
        elif isinstance(event, Noted) and isinstance(event.note, notes.StaticMemberReplaced):
            out[event.note.replaced] = event.at
        elif isinstance(event, Answered) and event.asked.api == "OffsetCommit" and event.errors and not event.fault:
            member = event.asked.member
            if member not in out or member in told:
                continue
            told.add(member)
            yield Finding(
                kind=COMMIT_BY_STRANGER,
                at=event.at,
                generation=event.asked.generation,
                sentence=(
                    f"{names.label(member)} had been put out for {event.at - out[member]:.3f} s when it committed"
                    f" {listed(event.asked.offsets)}: what it read since then, others read, too"
                ),
                members=(member,),
                partitions=tuple(event.asked.offsets),
            )


def listed(partitions: Iterable[TopicPartition], most: int = 6) -> str:
    """Write partitions as people do: topic-0, topic-1 and so many more."""
    ordered = sorted(partitions)
    shown = ", ".join(f"{topic}-{partition}" for topic, partition in ordered[:most])
    return shown if len(ordered) <= most else f"{shown} and {len(ordered) - most} more"
