"""Where brokers differ, for a terminal: each case with what was said, a table of all, and what else brokers list."""

from collections.abc import Iterator, Sequence
from typing import IO, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcoord.check.differences import ComparedCase, Comparison, Offer
from kcoord.check.legible import Line, lines
from kcoord.check.report.console import ReportConsole
from kcoord.check.report.table import LINES_OF_TRANSCRIPT
from kcoord.check.result import Verdict, counted
from kcoord.check.rule import release_text

MOST_CASES: Final = 20
"""Cases of which it is shown what was said; all of them are in the table and in the other reports."""
MOST_NAMES: Final = 12
"""Names of what brokers offer that are shown together; all of them are in the other reports."""
_WIDE: Final = 200
"""How wide (characters) the table may be where the output is no terminal."""
_BEFORE: Final = LINES_OF_TRANSCRIPT // 2


def print_differences(found: Comparison, file: IO[str]) -> None:
    """Print a comparison. Lines are as long as they are where the output is no terminal. Raises OSError."""
    width = None if file.isatty() else _WIDE
    console = ReportConsole(file, width=width)
    for case in found.different[:MOST_CASES]:
        _print_case(console, found, case)
    if found.unsteady:
        names = ", ".join(f"{rule} [{label}]" if label else rule for rule, label in found.unsteady)
        console.print(_text(f"Said otherwise at first, but not when it was run once more: {names}"))
        console.print()
    for text in offers(found.offers, found.letters, MOST_NAMES):
        console.print(_text(text))
    if found.offers:
        console.print()
    if found.different:
        console.print(_table(found))
    for letter, report in zip(found.letters, found.reports, strict=True):
        counts = ", ".join(f"{count} {each.value}" for each in Verdict if (count := report.count(each)))
        console.print(_text(f"{letter}  {report.address}: {counts}"))
        for note in report.notes:
            console.print(_text(f"   Note: {note}"))
    console.print(_text(summary(found), style="red" if found.is_different else "green"))


def summary(found: Comparison) -> str:
    """Return one line about all of it."""
    verdicts = counted(sum(each.verdict_differs for each in found.different), "verdicts")
    said = counted(sum(not each.verdict_differs for each in found.different), "cases")
    offered = f"{len(found.offers)} of what they offer"
    rules = f"{counted(len(found.reports[0].results), 'rules')} of Kafka {release_text(found.reports[0].judged_by)}"
    where = f"{rules} at {counted(len(found.reports), 'brokers')}"
    return f"{where} in {found.seconds:.1f} s, differences: {verdicts}, {said} in what was said, {offered}"


def offers(found: Sequence[Offer], letters: Sequence[str], most: int | None = None) -> Iterator[str]:
    """Write what brokers list of themselves in different ways; what differs alike, together, up to `most` names."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in found:
        alike.setdefault((each.what, each.values), []).append(each.name)
    for (what, values), names in alike.items():
        told = ", ".join(f"{letter} {value}" for letter, value in zip(letters, values, strict=True))
        more = "" if most is None or len(names) <= most else f" and {len(names) - most} more"
        yield f"{what}: {', '.join(names[:most])}{more}: {told}"


def _print_case(console: Console, found: Comparison, case: ComparedCase) -> None:
    what = "is judged otherwise" if case.verdict_differs else f"is {case.verdicts[0].value}, but other things are said"
    console.print(_text(f"{case.name} {what} ({case.rule.api}): {case.rule.says}", style="bold red"))
    for letter, run, verdict, why in zip(found.letters, case.runs, case.verdicts, case.why, strict=True):
        if case.verdict_differs:
            failure = "" if run is None or run.failure is None else run.failure.message
            console.print(_text(f"  {letter}  {verdict.value}{': ' if why or failure else ''}{why or failure}"))
    if case.differs:
        for text in case.differs[0].lines(found.letters):
            console.print(_text(f"  {text}"))
    if len(case.differs) > 1:
        console.print(_text(f"  and {counted(len(case.differs) - 1, 'more fields')}"))
    for text, differs in _some(lines(case.said) if case.said else [], found.letters):
        console.print(_text(f"  {text}", style="" if differs else "dim"))
    console.print()


def _some(all_of_them: Sequence[Line], letters: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield lines around the first that differs, and whether they do."""
    first = next((at for at, each in enumerate(all_of_them) if each.differs), 0)
    start = max(0, first - _BEFORE)
    if start:
        yield f"... {counted(start, 'lines')}", False
    for line in all_of_them[start : start + LINES_OF_TRANSCRIPT]:
        for text in marked(line, letters):
            yield text, line.differs
    if (more := len(all_of_them) - start - LINES_OF_TRANSCRIPT) > 0:
        yield f"... {counted(more, 'lines')}", False


def marked(line: Line, letters: Sequence[str]) -> Iterator[str]:
    """Write a line, once if it is the same everywhere, else for each broker that has it, with the letter in front."""
    width = max(map(len, letters))
    if not line.differs:
        yield f"{'':{width}} {line.texts[0]}"
        return
    for letter, text in zip(letters, line.texts, strict=True):
        if text is not None:
            yield f"{letter:{width}} {text}"


def _table(found: Comparison) -> Table:
    table = Table(title="Where they differ", title_justify="left")
    table.add_column("rule")
    table.add_column("what differs first")
    for letter, address in zip(found.letters, found.addresses, strict=True):
        table.add_column(_text(f"{letter} {address}"))
    for case in found.different:
        what, values = case.gist
        table.add_row(*map(_text, (case.name, what, *values)))
    return table


def _text(text: str, style: str = "") -> Text:
    """Return text of which no part, whatever a broker says, tells the terminal to do something."""
    return Text("".join(each if each.isprintable() else "?" for each in text), style=style)
