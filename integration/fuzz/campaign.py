"""Many sequences: drawn from a seed, played side by side, and what differs played again until it is sure.

A sequence that could not be played to its end, because the next leader was chosen otherwise, which Kafka leaves to
chance, is played again. So is one that differs when an answer took so long that a timer may have fired before a request
came that was to come first; the last of these plays counts. A difference counts if it shows again in two of three plays
that have more time and few others beside them, and in which nothing stalls, and if the broker that is right does not
differ from itself as soon: where it does, something is left to chance.
"""

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import trio
from hypothesis import HealthCheck, Phase, given, seed, settings

from integration.fuzz.brokers import Profile, met
from integration.fuzz.operations import Sequence
from integration.fuzz.playing import CHOICE, Difference, Pace, Played, play
from integration.fuzz.side import Broker
from integration.fuzz.strategies import sequences
from integration.fuzz.tally import Tally

SIDE_BY_SIDE = 80
TRIES = 4
"""How often a sequence is played that cannot be played to its end, or differs on a machine that stalls."""
CAREFUL = Pace(settle=0.12, patience=2.0, margin=0.5, written=0.15, stretch=2)
UNHURRIED = Pace(patience=2.0)
CONFIRMATIONS, ATTEMPTS = 2, 3
A_FEW = 4
"""How many differences of a sort are played again, and how many plays are beside each other then."""

PACES = (CAREFUL, UNHURRIED)

QUIET = settings(
    database=None,
    deadline=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Drawn:
    """Where sequences come from.

    Each is drawn by itself. Of one run of Hypothesis five in six would be variants of another one of them, in which
    little is new: it likes to try what is like what it has just tried.
    """

    seed: int
    count: int
    waits: bool

    def each(self, number: int, test: Callable[[Sequence], None], *phases: Phase) -> None:
        """Run `test` with the simplest sequence that there is, and then with the one of that number.

        With Phase.shrink also with smaller ones, once it has raised an exception.
        """
        drawn = settings(QUIET, max_examples=2, phases=[Phase.generate, *phases])

        @seed(f"{self.seed}, {number}")
        @drawn
        @given(sequences(waits=self.waits))
        def run(sequence: Sequence) -> None:
            test(sequence)

        run()

    def one(self, number: int) -> Sequence:
        """Draw the one of that number."""
        found: list[Sequence] = []
        self.each(number, found.append)
        return found[-1]

    def number(self, sequence: Sequence) -> int:
        """Return the number under which a sequence is drawn. Raises LookupError."""
        for number in range(self.count):
            if self.one(number) == sequence:
                return number
        raise LookupError("this sequence is not one of those that are drawn")

    def all(self) -> list[Sequence]:
        """Draw them."""
        return [self.one(number) for number in range(self.count)]


@dataclass
class Campaign:
    """Sequences, two brokers (by address), and what was found. The first broker is the one that is right."""

    drawn: Drawn
    profile: Profile
    addresses: tuple[tuple[str, str], tuple[str, str]]
    """Name and address of each."""
    sequences: list[Sequence] = field(init=False)
    tally: Tally = field(default_factory=Tally)
    first: dict[int, Played] = field(default_factory=dict)
    """What came of each sequence the first time."""
    later: dict[int, list[Played]] = field(default_factory=dict)
    """What came of each that was played again, in order."""
    confirmed: dict[int, Played] = field(default_factory=dict)
    chance: dict[int, Played] = field(default_factory=dict)
    """How the broker that is right differed from itself, where it was sure to differ from the other one."""
    candidates: int = 0
    """How many sequences differed the first time."""
    tried: int = 0
    """How many of them were played again."""
    _brokers: tuple[Broker, Broker] | None = None
    _plays: Iterator[int] = field(default_factory=itertools.count)
    _empty: trio.Lock = field(default_factory=trio.Lock)
    """Held by who uses the group of the empty id."""

    def __post_init__(self) -> None:
        self.sequences = self.drawn.all()

    async def brokers(self) -> tuple[Broker, Broker]:
        """Get to know both, once."""
        if self._brokers is None:
            (one, here), (two, there) = self.addresses
            self._brokers = await met(one, here), await met(two, there)
        return self._brokers

    async def play(self, brokers: tuple[Broker, Broker], sequence: Sequence, pace: Pace, tally: Tally) -> Played:
        """Play a sequence in groups of its own, several times if it must be."""
        for _ in range(TRIES):
            prefix = f"fuzz-{os.getpid()}-{next(self._plays)}"
            delay = self.profile.delay_ms / 1000
            async with self._empty if sequence.empty else contextlib.nullcontext():
                played = await play(sequence, brokers, prefix, tally=tally, pace=pace, delay=delay)
            if played.cut != CHOICE and not (played.difference is not None and played.stalled):
                break
        return played

    async def run(self) -> None:
        """Play all."""
        brokers = await self.brokers()
        limit = trio.CapacityLimiter(SIDE_BY_SIDE)

        async def one(number: int, sequence: Sequence) -> None:
            async with limit:
                self.first[number] = await self.play(brokers, sequence, Pace(), self.tally)

        async with trio.open_nursery() as nursery:
            for number, sequence in enumerate(self.sequences):
                nursery.start_soon(one, number, sequence)

    async def confirm(self) -> None:
        """Play again those that differ, a few of each sort."""
        brokers = await self.brokers()
        limit = trio.CapacityLimiter(A_FEW)
        sorts: dict[str, int] = {}

        async def one(number: int, played: Played, seen: Difference) -> None:
            async with limit:
                self.later[number] = again = await self.again(brokers, played.sequence, seen)
                if shown := sure(again, seen):
                    pace = PACES[(len(again) - 1) // ATTEMPTS]
                    if by_chance := await self.against_itself(brokers[0], shown, pace):
                        self.chance[number] = by_chance
                    else:
                        self.confirmed[number] = shown

        async with trio.open_nursery() as nursery:
            for number, played in sorted(self.first.items()):
                if (seen := played.difference) is None:
                    continue
                self.candidates += 1
                sorts[seen.sort] = sorts.get(seen.sort, 0) + 1
                if sorts[seen.sort] <= A_FEW:
                    self.tried += 1
                    nursery.start_soon(one, number, played, seen)

    async def again(self, brokers: tuple[Broker, Broker], sequence: Sequence, seen: Difference) -> list[Played]:
        """Play a sequence again until it is sure that it shows such a difference; return the plays.

        At first everything takes twice as long, timeouts as well, so that what comes before a timer fires, and what
        after, is the same. Then it is played as it was the first time, with more patience: a delay that is a setting of
        the brokers is not twice as long.
        """
        plays: list[Played] = []
        for pace in PACES:
            for _ in range(ATTEMPTS):
                plays.append(await self.play(brokers, sequence, pace, Tally()))
                if sure(plays, seen):
                    return plays
        return plays

    async def against_itself(self, right: Broker, played: Played, pace: Pace) -> Played | None:
        """Play what led to a difference with the same broker on both sides; return a play in which that differs.

        The group of the empty id would be the same one on both sides, so that says nothing.
        """
        if played.sequence.empty:
            return None
        sequence = replace(played.sequence, operations=played.sequence.operations[: played.begun])
        for _ in range(ATTEMPTS):
            again = await self.play((right, right), sequence, pace, Tally())
            if again.difference is not None:
                return again
        return None

    @property
    def unconfirmed(self) -> int:
        """How many differences did not show again."""
        return self.tried - len(self.confirmed)

    def kept(self) -> Iterator[tuple[str, Played]]:
        """Give the plays of sequences that differed the first time, each with a name."""
        for number, played in sorted(self.first.items()):
            if played.difference is not None:
                yield f"{number:04}-first", played
                for count, again in enumerate(self.later.get(number, ()), 1):
                    yield f"{number:04}-again-{count}", again
                if number in self.chance:
                    yield f"{number:04}-with-itself", self.chance[number]

    def alike(self) -> dict[str, list[Played]]:
        """Return the confirmed ones, those together that seem to be the same."""
        together: dict[str, list[Played]] = {}
        for played in self.confirmed.values():
            assert played.difference is not None
            together.setdefault(played.difference.sort, []).append(played)
        return together

    def vanished(self) -> Counter[str]:
        """Count the sorts of differences that were seen and never were sure."""
        seen = Counter(played.difference.sort for played in self.first.values() if played.difference is not None)
        return Counter({sort: count for sort, count in seen.items() if sort not in self.alike()})

    @property
    def unfinished(self) -> int:
        """How many sequences were not played to their end, however often they were begun."""
        return sum(bool(one.cut) for one in self.first.values())


def sure(plays: list[Played], seen: Difference) -> Played | None:
    """Return the last of the plays that show such a difference, if they are enough. Those that stalled do not count."""
    steady = [one for one in plays if not one.stalled]
    shown = [one for one in steady if one.difference is not None and one.difference.sort == seen.sort]
    return shown[-1] if len(shown) >= CONFIRMATIONS else None
