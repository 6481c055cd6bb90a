"""The results for a terminal: a table of the APIs, and what there is to say about rules that are not kept."""

from collections import Counter
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcoord.check.report.console import ReportConsole
from kcoord.check.result import Report, RuleResult, Verdict, counted
from kcoord.check.rule import release_text

LINES_OF_TRANSCRIPT = 40
"""Lines of the end of a transcript that are shown of each broken rule; all of them are in the other reports."""
_COLOURS = {Verdict.KEPT: "green", Verdict.BROKEN: "red", Verdict.NOT_APPLICABLE: "yellow", Verdict.NOT_RUN: "yellow"}


def print_table(report: Report, file: IO[str]) -> None:
    """Print the report. Lines are as long as they are where the output is no terminal. Raises OSError."""
    console = ReportConsole(file)
    for result in report.results:
        if result.verdict is Verdict.BROKEN:
            _print_broken(console, result)
    unsteady = [result for result in report.results if result.unsteady]
    if unsteady:
        console.print("Kept only when they were run once more, with less beside them:")
        for result in unsteady:
            console.print(_text(f"  {result.rule.id}  {result.rule.says}"))
        console.print()
    for verdict in (Verdict.NOT_APPLICABLE, Verdict.NOT_RUN):
        _print_reasons(console, report, verdict)
    console.print(_table(report))
    for note in report.notes:
        console.print(_text(f"Note: {note}"))
    console.print(_text(_sum(report), style="red" if report.count(Verdict.BROKEN) else "green"))


def _table(report: Report) -> Table:
    title = f"How {report.address} keeps the protocol of Kafka {release_text(report.judged_by)}"
    table = Table(title=_text(title), title_justify="left")
    table.add_column("API")
    verdicts = _verdicts(report)
    for verdict in verdicts:
        table.add_column(verdict.value, justify="right", style=_COLOURS[verdict])
    for api in dict.fromkeys(result.rule.api for result in report.results):
        counts = Counter(result.verdict for result in report.results if result.rule.api == api)
        table.add_row(api, *(str(counts[verdict] or "") for verdict in verdicts))
    return table


def _verdicts(report: Report) -> list[Verdict]:
    """Return the verdicts that are counted: that rules were not run is nothing to tell of where all were."""
    return [each for each in Verdict if each is not Verdict.NOT_RUN or report.count(each)]


def _print_broken(console: Console, result: RuleResult) -> None:
    rule = result.rule
    console.print(_text(f"{rule.id} is broken ({rule.api}): {rule.says}", style="bold red"))
    console.print(_text(f"  by {rule.source}"))
    for case in result.cases:
        if case.run.failure is None:
            continue
        if case.case.label:
            console.print(_text(f"  in the case {case.case.label}", style="bold"))
        for line in case.run.failure.lines():
            console.print(_text(f"  {line}"))
        lines = [line for each in case.run.transcript for line in each.lines()]
        if len(lines) > LINES_OF_TRANSCRIPT:
            console.print(_text(f"  ... {len(lines) - LINES_OF_TRANSCRIPT} lines", style="dim"))
        for line in lines[-LINES_OF_TRANSCRIPT:]:
            console.print(_text(f"  {line}", style="dim"))
    console.print()


def _print_reasons(console: Console, report: Report, verdict: Verdict) -> None:
    reasons: dict[str, list[str]] = {}
    for result in report.results:
        if result.verdict is verdict:
            reasons.setdefault(result.reason, []).append(result.rule.id)
    if reasons:
        console.print(f"{verdict.value.capitalize()}:")
        for reason, ids in reasons.items():
            console.print(_text(f"  {', '.join(ids)}: {reason}"))
        console.print()


def _sum(report: Report) -> str:
    parts = [f"{report.count(verdict)} {verdict.value}" for verdict in _verdicts(report)]
    return f"{counted(len(report.results), 'rules')} in {report.seconds:.1f} s: {', '.join(parts)}"


def _text(text: str, style: str = "") -> Text:
    """Return text of which no part, whatever a broker says, tells the terminal to do something."""
    return Text("".join(each if each.isprintable() else "?" for each in text), style=style)
