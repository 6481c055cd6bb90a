"""What came of the same rules at several brokers, and where that differs. The others are held against the first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kcoord.check.differing import NOTHING, Difference, Place, differences
from kcoord.check.exchanges import Conversation, conversation
from kcoord.check.masking import alike, folded, masked
from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict
from kcoord.check.rule import Case, Rule
from kcoord.dump.api_names import api_name

_JUDGED: Final = (Verdict.KEPT, Verdict.BROKEN)
_FEATURES: Final = ("supported_features", "finalized_features", "finalized_features_epoch")
_SETTINGS: Final = "configs"
_READ_ONLY: Final = "read_only"

Key = tuple[str, str]
"""Of a case: the rule's id and the case's label."""


@dataclass(frozen=True, slots=True)
class Differs:
    """A place, and what is there at each broker, as people read it."""

    place: Place
    values: tuple[str, ...]

    def lines(self, letters: Sequence[str]) -> Iterator[str]:
        """Write it as lines of text, one for each broker, which has a letter."""
        yield self.place.text
        for letter, value in zip(letters, self.values, strict=True):
            yield f"  {letter}  {value}"


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that brokers list of themselves, as `what`, and what each says of it."""

    what: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class ComparedCase:
    """A case, and what came of it at each broker.

    `runs` are None where the case was not run because its rule does not apply; `why` are the reasons, "" where it
    applies. The conversations are masked; without them, nothing is told of what was said.
    """

    rule: Rule
    case: Case
    runs: tuple[Run | None, ...]
    why: tuple[str, ...]
    said: tuple[Conversation, ...] = ()
    differs: tuple[Differs, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What came of it at each broker."""
        return tuple(Verdict.NOT_APPLICABLE if run is None else run.verdict for run in self.runs)

    @property
    def verdict_differs(self) -> bool:
        """Whether the verdicts differ, where there are any. If not, only what was said may."""
        return len({*self.verdicts} - {Verdict.NOT_RUN}) > 1

    @property
    def is_different(self) -> bool:
        """Whether anything differs."""
        return self.verdict_differs or bool(self.differs)

    @property
    def key(self) -> Key:
        """By which cases are told apart."""
        return self.rule.id, self.case.label

    @property
    def gist(self) -> tuple[str, tuple[str, ...]]:
        """What differs first, and what it is at each broker."""
        if self.verdict_differs:
            return "verdict", tuple(each.value for each in self.verdicts)
        return self.differs[0].place.text, self.differs[0].values

    @property
    def name(self) -> str:
        """What it is called by people: `H6`, or `H6 [version=4]`."""
        return f"{self.rule.id} [{self.case.label}]" if self.case.label else self.rule.id


@dataclass(frozen=True)
class Comparison:
    """What came of a run at several brokers."""

    reports: tuple[Report, ...]
    cases: tuple[ComparedCase, ...]
    offers: tuple[Offer, ...] = ()
    """What brokers list of themselves in different ways, whatever they are asked: told once, and in no case."""
    unsteady: tuple[Key, ...] = ()
    """Cases in which something else was said at first, but not when they were run once more."""
    seconds: float = 0.0
    """How long it took, all brokers together."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The brokers, as they were named."""
        return tuple(each.address for each in self.reports)

    @property
    def different(self) -> list[ComparedCase]:
        """The cases that differ: first those whose verdicts do."""
        return sorted((each for each in self.cases if each.is_different), key=lambda each: not each.verdict_differs)

    @property
    def letters(self) -> tuple[str, ...]:
        """What the brokers are called in short: A, B, and so on."""
        return tuple(letter(at) for at in range(len(self.reports)))

    @property
    def is_different(self) -> bool:
        """Whether anything differs."""
        return bool(self.offers) or any(each.is_different for each in self.cases)

    @property
    def stopped(self) -> str:
        """Why a run ended before its end, with the broker's address; empty if none did."""
        return "; ".join(f"{each.address}: {each.stopped}" for each in self.reports if each.stopped)


def letter(at: int) -> str:
    """Return the letter of a broker: A to Z, then A1 and so on."""
    return chr(ord("A") + at % 26) + (str(at // 26) if at >= 26 else "")


def compared(reports: Sequence[Report], *, transcripts: bool = False) -> tuple[list[ComparedCase], list[Offer]]:
    """Compare reports of the same rules, case by case, in their order.

    Of a case that was not judged everywhere only the verdicts are compared. What was said is kept of cases that differ,
    and of all with `transcripts`.
    """
    found: list[ComparedCase] = []
    offers: dict[tuple[str, str], Offer] = {}
    for results in zip(*(report.results for report in reports), strict=True):
        for each in _cases(results):
            differs = []
            for one in each.differs:
                offer = offer_of(one)
                if offer is None:
                    differs.append(one)
                else:
                    offers.setdefault((offer.what, offer.name), offer)
            case = replace(each, differs=tuple(differs))
            found.append(case if case.is_different or transcripts else replace(case, said=()))
    return found, [offers[key] for key in sorted(offers)]


def offer_of(differs: Differs) -> Offer | None:
    """Return what a difference says of a broker as a whole; None if it says something of a case."""
    path = differs.place.path
    words = [str(each) for each in path]
    there = tuple("not offered" if each == repr(NOTHING) else "offered" for each in differs.values)
    is_there = len(set(there)) == 1
    if path[:1] == ("api_keys",):
        name = " ".join([api_name(int(_in_brackets(words[1]))), *words[2:]])
        return Offer("API", name, differs.values if is_there else there)
    if path and words[0] in _FEATURES:
        return Offer(
            "feature", " ".join([words[0], *map(_in_brackets, words[1:])]), differs.values if is_there else there
        )
    if _SETTINGS in path:
        at = path.index(_SETTINGS)
        if len(path) == at + 2 and not is_there:
            return Offer("setting", _in_brackets(words[at + 1]), there)
        if path[-1] == _READ_ONLY:
            return Offer("setting", f"{_in_brackets(words[at + 1])} {_READ_ONLY}", differs.values)
    return None


def _in_brackets(step: str) -> str:
    """Return the name of an element, as in `[name retention.ms]`; what is none stays as it is."""
    return step[1:-1].partition(" ")[2] if step.startswith("[") else step


def _cases(results: Sequence[RuleResult]) -> Iterator[ComparedCase]:
    rule = results[0].rule
    for case in rule.cases:
        runs = tuple(_run(each.cases, case) for each in results)
        why = tuple(each.why if run is None else run.why for run, each in zip(runs, results, strict=True))
        said = _said(runs)
        differs: list[Differs] = []
        if not rule.varies and all(run is not None and run.verdict in _JUDGED for run in runs):
            differs = of_several([differences(said[0], each) for each in said[1:]])
        yield ComparedCase(rule, case, runs, why, said, tuple(differs))


def _run(cases: Sequence[CaseResult], case: Case) -> Run | None:
    return next((each.run for each in cases if each.case.label == case.label), None)


def _said(runs: Sequence[Run | None]) -> tuple[Conversation, ...]:
    """Return what was said at each broker, masked so that it can be compared with the first."""
    read = [folded(Conversation() if run is None or run.said is None else conversation(run.said)) for run in runs]
    return tuple(masked(each if at == 0 else alike(read[0], each)) for at, each in enumerate(read))


def of_several(found: Sequence[Sequence[Difference]]) -> list[Differs]:
    """Bring together what each of the other brokers differs in from the first one."""
    at: dict[Place, tuple[str, dict[int, str]]] = {}
    for number, those in enumerate(found):
        for each in those:
            at.setdefault(each.place, (each.first, {}))[1].setdefault(number, each.second)
    return [
        Differs(place, (first, *(others.get(number, first) for number in range(len(found)))))
        for place, (first, others) in at.items()
    ]


def steady(first: Sequence[ComparedCase], again: Sequence[ComparedCase]) -> tuple[list[ComparedCase], list[Key]]:
    """Return the cases as they are once some that differed were run once more, and those that differ no longer.

    Verdicts need no second time: a rule that is broken was run twice already. What else was said counts where it
    differs both times in the same place, on whichever connection: of several members that join at the same time, who
    comes first may be another one each time.
    """
    places = {each.key: {_anywhere(one.place) for one in each.differs} for each in again}
    kept: list[ComparedCase] = []
    gone: list[Key] = []
    for each in first:
        differs = tuple(one for one in each.differs if _anywhere(one.place) in places.get(each.key, ()))
        kept.append(each if each.verdict_differs else replace(each, differs=differs))
        if each.is_different and not kept[-1].is_different:
            gone.append(each.key)
    return kept, gone


def _anywhere(place: Place) -> Place:
    """Return a place without the connection."""
    return replace(place, connection=0)
