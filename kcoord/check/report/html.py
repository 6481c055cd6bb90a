"""The results as one HTML page that needs nothing else: a card for each rule, which can be searched and sorted out."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from string import Template
from typing import Final

from kcoord.check.failure import Failure
from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict, counted
from kcoord.check.rule import release_text

_CLASSES: Final = {
    Verdict.KEPT: "kept",
    Verdict.BROKEN: "broken",
    Verdict.NOT_APPLICABLE: "na",
    Verdict.NOT_RUN: "not-run",
}


def as_html(report: Report) -> str:
    """Return the report as a page. It has no links to anything outside of it."""
    began = datetime.fromtimestamp(report.began, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _PAGE.substitute(
        style=STYLE,
        address=escape(report.address),
        began=began,
        seconds=f"{report.seconds:.1f}",
        version=escape(report.version),
        rules=f"{counted(len(report.results), 'rules')} of Kafka {release_text(report.judged_by)}",
        boxes="".join(_boxes(report)),
        apis="".join(_apis(report)),
        notes="".join(f'<p class="note">{escape(note)}</p>\n' for note in report.notes),
        overview=_overview(report),
        cards="".join(_card(each) for each in report.results),
    )


def _verdicts(report: Report) -> list[Verdict]:
    """Return the verdicts that are counted: that rules were not run is nothing to tell of where all were."""
    return [each for each in _CLASSES if each is not Verdict.NOT_RUN or report.count(each)]


def _overview(report: Report) -> str:
    """Return a table of how many rules of each API have each verdict."""
    verdicts = _verdicts(report)
    found: dict[str, Counter[Verdict]] = {}
    for result in report.results:
        found.setdefault(result.rule.api, Counter())[result.verdict] += 1
    head = "".join(f'<th scope="col">{verdict.value}</th>' for verdict in verdicts)
    rows = "".join(
        f'<tr><th scope="row">{escape(api)}</th>{"".join(f"<td>{counts[each]}</td>" for each in verdicts)}</tr>\n'
        for api, counts in found.items()
    )
    return (
        "<details><summary>Rules by API</summary>\n<table><caption>How many rules of each API are what</caption>\n"
        f'<thead><tr><th scope="col">API</th>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></details>\n'
    )


def _boxes(report: Report) -> Iterator[str]:
    for verdict in _verdicts(report):
        name = _CLASSES[verdict]
        yield (
            f'<label class="{name}"><input type="checkbox" name="verdict" value="{name}" checked> '
            f"<b>{report.count(verdict)}</b> {verdict.value}</label>\n"
        )


def _apis(report: Report) -> Iterator[str]:
    for api in dict.fromkeys(result.rule.api for result in report.results):
        yield f"<option>{escape(api)}</option>"


def _card(result: RuleResult) -> str:
    rule = result.rule
    name = _CLASSES[result.verdict]
    settings = "".join(f", {key} = {value}" for key, value in rule.settings.items())
    extra = ""
    if result.reason:
        extra += f'<p class="why">{result.verdict.value.capitalize()}: {escape(result.reason)}</p>\n'
    if result.unsteady:
        extra += '<p class="why">Kept only when it was run once more.</p>\n'
    return (
        f'<details class="card {name}" data-verdict="{name}" data-api="{escape(rule.api)}"'
        f"{' open' if result.verdict is Verdict.BROKEN else ''}>\n"
        f'<summary><span class="verdict">{result.verdict.value}</span> <b>{escape(rule.id)}</b> {escape(rule.says)}'
        f"</summary>\n<p>{escape(rule.api)} {escape(rule.versions)}{escape(settings)} &middot; {escape(rule.source)}"
        f" &middot; {result.seconds:.1f} s</p>\n{extra}{''.join(_case(each) for each in result.cases)}</details>\n"
    )


def _case(result: CaseResult) -> str:
    text = _run(result.run)
    if result.before is not None:
        heading = f"Before, when {result.before.beside} others ran, it was broken:"
        text += f"<p>{heading}</p>\n{_run(result.before)}"
    if not result.case.label:
        return text
    about = f": {escape(result.run.why)}" if result.run.why else ""
    label = f"<b>{escape(result.case.label)}</b> {result.verdict.value}{about}"
    return f'<div class="case"><p>{label}, {result.run.seconds:.1f} s</p>\n{text}</div>\n'


def _run(run: Run) -> str:
    text = "" if run.failure is None else _failure(run.failure)
    if run.transcript:
        lines = "\n".join(line for each in run.transcript for line in each.lines())
        text += f'<details><summary>Transcript</summary><pre class="transcript">{escape(lines)}</pre></details>\n'
    return text


def _failure(failure: Failure) -> str:
    lines = "\n".join(escape(line) for line in failure.lines())
    return f'<pre class="failure">{lines}</pre>\n'


STYLE: Final = """\
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #f3f4f6; --line: #d0d4da;
  --kept: #1a7f37; --broken: #c6282c; --na: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171b; --text: #dfe3e8; --soft: #1f242a; --line: #3a414a;
    --kept: #57c06f; --broken: #ff7b72; --na: #d9a93f; }
}
body { margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 16px/1.45 system-ui, sans-serif; }
form { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; padding: .6rem 0;
  background: var(--back); border-bottom: 1px solid var(--line); }
input[type=search] { flex: 1; min-width: 12rem; }
.card { margin: .6rem 0; padding: .5rem .8rem; background: var(--soft); border: 1px solid var(--line);
  border-left: .35rem solid; border-radius: .3rem; }
.card.kept { border-left-color: var(--kept); } .kept .verdict, label.kept b { color: var(--kept); }
.card.broken { border-left-color: var(--broken); } .broken .verdict, label.broken b { color: var(--broken); }
.card.na, .card.not-run { border-left-color: var(--na); }
.na .verdict, .not-run .verdict, label.na b, label.not-run b { color: var(--na); }
.card > summary { cursor: pointer; }
.verdict { display: inline-block; min-width: 8.5rem; font-weight: 600; }
.case { margin-left: 1rem; }
table { border-collapse: collapse; margin: .6rem 0; }
caption { text-align: left; }
th, td { padding: .1rem .8rem; border: 1px solid var(--line); text-align: right; }
th[scope=row], th:first-child { text-align: left; }
.note { border-left: .35rem solid var(--na); padding-left: .6rem; }
pre { overflow-x: auto; font-size: 13px; line-height: 1.35; }
pre.failure { color: var(--broken); }
[hidden] { display: none; }
"""
"""What pages look like, in light and in dark."""

_PAGE: Final = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$address, checked by kcoord</title>
<style>
$style</style>
</head>
<body>
<h1>How $address keeps the protocol</h1>
<p>$rules, checked by kcoord $version on $began in $seconds s.</p>
$notes$overview<form>
$boxes<select name="api" aria-label="API"><option value="">every API</option>$apis</select>
<input type="search" name="text" placeholder="id or words" aria-label="id or words">
<output></output>
</form>
$cards<script>
const form = document.querySelector("form");
const cards = [...document.querySelectorAll(".card")];
const words = new Map(cards.map(card => [card, card.textContent.toLowerCase()]));
form.addEventListener("submit", event => event.preventDefault());
function sift() {
  const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map(box => box.value));
  const api = form.elements.api.value, text = form.elements.text.value.trim().toLowerCase();
  let shown = 0;
  for (const card of cards) {
    card.hidden = !verdicts.has(card.dataset.verdict) || (api && card.dataset.api !== api)
      || !words.get(card).includes(text);
    shown += !card.hidden;
  }
  form.querySelector("output").textContent = shown + " shown";
}
form.addEventListener("input", sift);
/* A browser that loads the page again, or goes back to it, may have kept what was chosen. */
window.addEventListener("pageshow", sift);
</script>
</body>
</html>
"""
)
