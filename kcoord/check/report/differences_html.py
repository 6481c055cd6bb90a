"""Where brokers differ, as one HTML page that needs nothing else: what was said at each of them, side by side."""

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from string import Template
from typing import Final

from kcoord.check.differences import ComparedCase, Comparison
from kcoord.check.legible import Line, lines
from kcoord.check.report.differences_table import offers, summary
from kcoord.check.report.html import STYLE


def differences_as_html(found: Comparison) -> str:
    """Return the comparison as a page. It has no links to anything outside of it."""
    began = datetime.fromtimestamp(min(each.began for each in found.reports), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    same = [each for each in found.cases if each.said and not each.is_different]
    return _PAGE.substitute(
        style=STYLE,
        title=escape(" and ".join(found.addresses)),
        brokers="".join(_brokers(found)),
        summary=escape(summary(found)),
        began=began,
        version=escape(found.reports[0].version),
        notes="".join(_notes(found)),
        cards="".join(_card(each, found) for each in [*found.different, *same]),
    )


def _brokers(found: Comparison) -> Iterator[str]:
    for letter, address in zip(found.letters, found.addresses, strict=True):
        yield f"<li><b>{letter}</b> {escape(address)}</li>\n"


def _notes(found: Comparison) -> Iterator[str]:
    for letter, report in zip(found.letters, found.reports, strict=True):
        for note in report.notes:
            yield f'<p class="note">{letter}: {escape(note)}</p>\n'
    if found.unsteady:
        names = ", ".join(f"{rule} [{label}]" if label else rule for rule, label in found.unsteady)
        yield f'<p class="note">Said otherwise at first, but not when it was run once more: {escape(names)}</p>\n'
    for text in offers(found.offers, found.letters):
        yield f"<p>{escape(text)}</p>\n"


def _card(case: ComparedCase, found: Comparison) -> str:
    kind = "broken" if case.verdict_differs else "na" if case.is_different else "kept"
    text = "".join(_outcomes(case, found))
    if case.differs:
        values = "\n".join(escape(line) for each in case.differs for line in each.lines(found.letters))
        text += f'<pre class="failure">{values}</pre>\n'
    if case.said:
        heads = "".join(f"<th>{letter} {escape(address)}</th>" for letter, address in _named(found))
        rows = "".join(map(_row, lines(case.said)))
        text += f'<table class="said"><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table>\n'
    what = case.gist[0] if case.is_different else "the same"
    return (
        f'<details class="card {kind}"{" open" if case.is_different else ""}>\n'
        f"<summary><b>{escape(case.name)}</b> {escape(case.rule.says)} <i>{escape(what)}</i></summary>\n"
        f"<p>{escape(case.rule.api)} {escape(case.rule.versions)} &middot; {escape(case.rule.source)}</p>\n"
        f"{text}</details>\n"
    )


def _named(found: Comparison) -> Iterator[tuple[str, str]]:
    yield from zip(found.letters, found.addresses, strict=True)


def _outcomes(case: ComparedCase, found: Comparison) -> Iterator[str]:
    if not case.verdict_differs:
        return
    for letter, verdict, why, run in zip(found.letters, case.verdicts, case.why, case.runs, strict=True):
        yield f"<p><b>{letter}</b> {verdict.value}{': ' if why else ''}{escape(why)}</p>\n"
        if run is not None and run.failure is not None:
            lines_of_failure = "\n".join(escape(line) for line in run.failure.lines())
            yield f'<pre class="failure">{lines_of_failure}</pre>\n'


def _row(line: Line) -> str:
    cells = "".join(f"<td>{escape(text or '')}</td>" for text in line.texts)
    return f'<tr class="differs">{cells}</tr>\n' if line.differs else f"<tr>{cells}</tr>\n"


_PAGE: Final = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title, compared by kcoord</title>
<style>
${style}body { max-width: 110rem; }
table.said { width: 100%; table-layout: fixed; border-collapse: collapse; font: 13px/1.35 monospace; }
.said th { text-align: left; } .said td { white-space: pre-wrap; overflow-wrap: anywhere; vertical-align: top;
  border-left: 1px solid var(--line); padding: 0 .4rem; }
tr.differs td { color: var(--broken); font-weight: 600; }
</style>
</head>
<body>
<h1>Where $title differ</h1>
<ul>
$brokers</ul>
<p>$summary. Compared by kcoord $version on $began.</p>
$notes<form>
<input type="search" name="text" placeholder="id or words" aria-label="id or words">
<output></output>
</form>
$cards<script>
const form = document.querySelector("form");
const cards = [...document.querySelectorAll(".card")];
const words = new Map(cards.map(card => [card, card.textContent.toLowerCase()]));
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("input", () => {
  const text = form.elements.text.value.trim().toLowerCase();
  let shown = 0;
  for (const card of cards) {
    card.hidden = !words.get(card).includes(text);
    shown += !card.hidden;
  }
  form.querySelector("output").textContent = shown + " shown";
});
</script>
</body>
</html>
"""
)
