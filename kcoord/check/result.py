"""What came of the rules."""

from dataclasses import dataclass, field
from enum import StrEnum

from kcoord.check.failure import Failure
from kcoord.check.rule import NEWEST, Case, Rule
from kcoord.check.transcript import Shown, Transcript


class Verdict(StrEnum):
    """What came of a rule, or of one of its cases."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_APPLICABLE = "not applicable"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Run:
    """What came of one case, run once. `beside` is how many others ran at the same time, at most."""

    verdict: Verdict
    seconds: float
    why: str = ""
    """Why it does not apply, or was not run."""
    failure: Failure | None = None
    transcript: tuple[Shown, ...] = ()
    beside: int = 0
    unanswered: bool = False
    """Whether it failed because a connection did, or an answer did not come in time."""
    said: Transcript | None = field(default=None, repr=False, compare=False)
    """What was said, also where it was not read for `transcript`."""


@dataclass(frozen=True)
class CaseResult:
    """What came of one case. `before` is what came of it first, if it was broken then and was run once more."""

    case: Case
    run: Run
    before: Run | None = None

    @property
    def verdict(self) -> Verdict:
        """What came of it in the end."""
        return self.run.verdict


@dataclass(frozen=True)
class RuleResult:
    """What came of a rule: broken if one of its cases is, and not applicable only if none of them is anything else.

    If a case was not run, and none is broken, nobody knows: the rule was not run, either.
    """

    rule: Rule
    cases: tuple[CaseResult, ...]
    why: str = ""
    """Why it does not apply, if none of its cases was run."""

    @property
    def verdict(self) -> Verdict:
        """What came of it."""
        verdicts = {case.verdict for case in self.cases}
        for verdict in (Verdict.BROKEN, Verdict.NOT_RUN, Verdict.KEPT):
            if verdict in verdicts:
                return verdict
        return Verdict.NOT_APPLICABLE

    @property
    def reason(self) -> str:
        """Why it does not apply, or was not run; empty if it has another verdict."""
        if self.verdict not in (Verdict.NOT_APPLICABLE, Verdict.NOT_RUN):
            return ""
        return self.why or "; ".join(dict.fromkeys(case.run.why for case in self.cases if case.verdict is self.verdict))

    @property
    def unsteady(self) -> bool:
        """Whether one of its cases was broken at first, and kept when it was run once more."""
        return any(case.before is not None and case.verdict is Verdict.KEPT for case in self.cases)

    @property
    def seconds(self) -> float:
        """How long its cases took, one after the other."""
        return sum(case.run.seconds for case in self.cases)


@dataclass(frozen=True)
class Report:
    """What came of a run. Times are in seconds, `began` is since the epoch."""

    address: str
    run_id: str
    began: float
    seconds: float
    results: tuple[RuleResult, ...]
    notes: tuple[str, ...] = ()
    """What else is worth knowing about the broker, and what could not be cleaned up."""
    version: str = ""
    """Of kcoord."""
    judged_by: tuple[int, int] = NEWEST
    """The release of Apache Kafka whose rules were run."""
    stopped: str = ""
    """Why the run ended before its end, which is the first of the notes, too; empty if it did not."""
    ran: tuple[str, ...] = ()
    """The ids of the rules that ran when the broker went, in that case."""

    def count(self, verdict: Verdict) -> int:
        """Return how many rules have a verdict."""
        return sum(result.verdict is verdict for result in self.results)


def counted(count: int, things: str) -> str:
    """Return "1 rule", "2 rules": a number and a noun, which is given as for several."""
    return f"{count} {things.removesuffix('s') if count == 1 else things}"


@dataclass
class Progress:
    """How far a run is, for whoever shows it."""

    total: int = 0
    done: int = 0
    broken: int = 0
    running: dict[str, float] = field(default_factory=dict)
    """What is running, and since when."""
    phase: str = ""
    begun: bool = False
    """Whether something may have been made at the broker."""
    left: list[str] = field(default_factory=list)
    """Sentences about what could not be removed there in the end."""
