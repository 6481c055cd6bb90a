"""The generations of a group: why each formed, whom it waited for, what moved, and who stood still meanwhile."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kcoord.timeline.events import Event, TopicPartition
from kcoord.timeline.phases import Phase, Waited, phases_of


class Kind(StrEnum):
    """How members went through a rebalance."""

    FIRST = "first"
    """Nobody had partitions."""
    EAGER = "eager"
    """Everybody gave up everything first (KIP-429 calls it so)."""
    COOPERATIVE = "cooperative"
    """Members kept what they had, and say so when they join (KIP-429)."""
    UNKNOWN = "unknown"
    """The assignment is not over yet, or is of a kind that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A partition that has another owner now. Owners are member ids; None: nobody had it, or nobody has it yet."""

    topic: str
    partition: int
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A partition that nobody read for so many seconds.

    That is from the moment when its owner gave it up, or was heard of for the last time before it was put out, until
    whoever has it now was given it.
    """

    topic: str
    partition: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One rebalance and what came of it. Moments are in seconds from the timeline's start; None: not yet."""

    number: int | None
    cause: str
    kind: Kind
    initial: bool
    """Whether the group had no members, and waited for whoever else would come."""
    began: float
    formed: float | None
    """When the join phase was over."""
    stable: float | None
    """When the leader's assignment was there."""
    broken_off: float | None
    """When it ended without being over: the next one began, or another coordinator knew nothing of it."""
    lost: bool
    """Whether it was another coordinator: the group is then again what it was before."""
    protocol: str
    leader: str
    members: tuple[str, ...]
    joined: tuple[str, ...]
    """Those that came new."""
    gone: tuple[str, ...]
    """Those that went."""
    waited_for: tuple[Waited, ...]
    """In the order in which they came, or did not."""
    assignment: Mapping[str, frozenset[TopicPartition]] | None
    """None where there is none yet, or none that can be read."""
    claims: Mapping[str, frozenset[TopicPartition]]
    """What members said they owned when they joined, as far as they can say it."""
    moves: tuple[Move, ...]
    pauses: tuple[Pause, ...]
    """The longest first."""
    follows_up: bool
    """Whether the rebalance before took partitions away that are handed out in this one (KIP-429)."""
    stood_still: Mapping[str, float]
    """Seconds in which members that had partitions had none: from their JoinGroup until their assignment."""
    kept: Mapping[str, int]
    """How many partitions each member kept all the time."""

    @property
    def seconds(self) -> float | None:
        """How long the rebalance took."""
        end = self.stable if self.members else self.formed
        return None if end is None else end - self.began


class _Owners:
    """Who has which partition, and since when nobody has."""

    def __init__(self) -> None:
        self.of: dict[TopicPartition, str] = {}
        self.given_up: dict[TopicPartition, float] = {}
        self.still_since: dict[str, float] = {}
        """Who gave up all that it had for a rebalance that was broken off, and when."""

    def had(self) -> set[str]:
        return self._have() | self.still_since.keys()

    def _have(self) -> set[str]:
        return {member for partition, member in self.of.items() if partition not in self.given_up}

    def go_through(self, phase: Phase) -> None:
        """Let go what members let go in the join phase."""
        for old, new in phase.replaced.items():
            for partition, member in self.of.items():
                if member == old:
                    self.of[partition] = new
            if old in self.still_since:
                self.still_since[new] = self.still_since.pop(old)
        for partition, member in self.of.items():
            if member in phase.gone:
                self.given_up.setdefault(partition, phase.gone[member][0])
            elif member in phase.asked_at and not _keeps(phase, member, partition):
                self.given_up.setdefault(partition, phase.asked_at[member])

    def stay_still(self, phase: Phase, had: set[str]) -> None:
        """Keep in mind who waits for the next rebalance without anything, if this one came to nothing."""
        if phase.broken_off is None:
            self.still_since.clear()
        for member in had - self._have() if phase.broken_off is not None else ():
            if member in phase.asked_at:
                self.still_since.setdefault(member, phase.asked_at[member])


def _keeps(phase: Phase, member: str, partition: TopicPartition) -> bool:
    claim = phase.claims.get(member)
    return claim is not None and claim.owned is not None and partition in claim.owned


def generations_of(events: Iterable[Event], until: float) -> tuple[Generation, ...]:
    """Return the rebalances that events tell of; `until` is the moment (s) up to which they tell."""
    owners = _Owners()
    found: list[Generation] = []
    for phase in phases_of(events):
        found.append(_generation(phase, owners, until, found[-1] if found else None))
    return tuple(found)


def _generation(phase: Phase, owners: _Owners, until: float, before: Generation | None) -> Generation:
    had = owners.had()
    owners.go_through(phase)
    kind = _kind(phase, had)
    assignment = phase.assignment
    moves: tuple[Move, ...] = ()
    pauses: tuple[Pause, ...] = ()
    kept: dict[str, int] = {}
    if assignment is not None:
        assignment = {member: assignment.get(member, frozenset()) for member in phase.members}
        moves, pauses, kept = _hand_out(phase, assignment, owners)
    stood_still = _stood_still(phase, had, kept, owners.still_since)
    owners.stay_still(phase, had)
    awaited = [
        Waited(member=member, seconds=until - since, outcome="still awaited") for member, since in phase.waiting.items()
    ]
    return Generation(
        number=phase.number,
        cause=phase.cause,
        kind=kind,
        initial=phase.initial,
        began=phase.began,
        formed=phase.formed,
        stable=phase.stable,
        broken_off=phase.broken_off,
        lost=phase.lost,
        protocol=phase.protocol,
        leader=phase.leader,
        members=phase.members,
        joined=tuple(phase.joined),
        gone=tuple(phase.gone),
        waited_for=(*phase.waited, *awaited),
        assignment=assignment,
        claims={member: claim.owned for member, claim in phase.claims.items() if claim.owned is not None},
        moves=moves,
        pauses=pauses,
        follows_up=kind is not Kind.EAGER
        and before is not None
        and before.kind is Kind.COOPERATIVE
        and any(move.target is None for move in before.moves),
        stood_still=stood_still,
        kept=kept,
    )


def _kind(phase: Phase, had: set[str]) -> Kind:
    if phase.assignment is None:
        return Kind.UNKNOWN
    again = [phase.claims[member] for member in phase.members if member in had and member in phase.claims]
    if any(claim.owned for claim in again):
        return Kind.COOPERATIVE
    return Kind.EAGER if again else Kind.FIRST


def _hand_out(
    phase: Phase, assignment: Mapping[str, frozenset[TopicPartition]], owners: _Owners
) -> tuple[tuple[Move, ...], tuple[Pause, ...], dict[str, int]]:
    """Let members have what they were assigned."""
    moves: list[Move] = []
    pauses: list[Pause] = []
    kept: dict[str, int] = {}
    assigned = {partition: member for member, mine in assignment.items() for partition in sorted(mine)}
    for partition in sorted({*assigned, *owners.of}):
        source, target = owners.of.get(partition), assigned.get(partition)
        if target is None:
            if source is not None and partition not in owners.given_up:
                # It is revoked: its owner learns of that with its own assignment.
                owners.given_up[partition] = phase.synced_at.get(source, phase.stable or phase.began)
                moves.append(Move(topic=partition[0], partition=partition[1], source=source, target=None))
            continue
        given_up = owners.given_up.pop(partition, None)
        if source != target:
            moves.append(Move(topic=partition[0], partition=partition[1], source=source, target=target))
        elif given_up is None:
            kept[target] = kept.get(target, 0) + 1
        since = phase.synced_at.get(target)
        if given_up is not None and since is not None:
            pauses.append(Pause(topic=partition[0], partition=partition[1], seconds=since - given_up))
        owners.of[partition] = target
    pauses.sort(key=lambda pause: -pause.seconds)
    return tuple(moves), tuple(pauses), kept


def _stood_still(phase: Phase, had: set[str], kept: Mapping[str, int], since: Mapping[str, float]) -> dict[str, float]:
    """Return how long those members had nothing that had something, and kept nothing; some did `since` before."""
    before = {phase.replaced.get(member, member) for member in had}
    return {
        member: phase.synced_at[member] - since.get(member, phase.asked_at[member])
        for member in phase.members
        if member in before and member not in kept and member in phase.synced_at and member in phase.asked_at
    }


def longest_pause(generations: Sequence[Generation]) -> Pause | None:
    """Return the longest time in which one partition was nobody's."""
    return max((each for one in generations for each in one.pauses), key=lambda pause: pause.seconds, default=None)
