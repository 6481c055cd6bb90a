"""The results, read back from each of their forms."""

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from kcoord.check.failure import Failure, Place
from kcoord.check.report.html import as_html
from kcoord.check.report.json import as_json
from kcoord.check.report.junit import as_junit
from kcoord.check.report.table import LINES_OF_TRANSCRIPT, print_table
from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict
from kcoord.check.rule import make
from kcoord.check.transcript import Shown, What

ODD = "<b> & \"quoted\" 'é' \x00\x1b ]]> \ud800"


async def script(world):
    """Nothing."""


def rule(name, **parts):
    usual = {"api": "Heartbeat", "says": f"{name} is so.", "source": "KIP-0", "versions": "0-4"}
    return make(script, id=name, **(usual | parts))


FAILURE = Failure(f"x is {ODD}", (Place("rules/x.py", 7, "assert x == (\n    1)"),), (("x", ODD), ("(1)", "1")))
TRANSCRIPT = (
    Shown(0.25, 1, What.SENT, f"Heartbeat 4 request 1, client {ODD}", ((0, "group_id", ODD), (1, "[0]", ""))),
    Shown(0.5, 1, What.CLOSED, "closed"),
)
KEPT = Run(Verdict.KEPT, 1.5)
BROKEN = Run(Verdict.BROKEN, 2.25, failure=FAILURE, transcript=TRANSCRIPT, beside=3)
NOT_APPLICABLE = Run(Verdict.NOT_APPLICABLE, 0.0, why=f"too {ODD}")
MANY = rule("C", api="JoinGroup", says=f"C is {ODD}.", each={"n": (1, 2, 3)}, settings={"a.b": 1}, also="C1")
REPORT = Report(
    address=f"host:9092 {ODD}",
    run_id="0badcafe",
    began=1_700_000_000.0,
    seconds=12.5,
    version="1.2.3",
    judged_by=(4, 2),
    notes=(f"a note {ODD}",),
    results=(
        RuleResult(one := rule("A"), (CaseResult(one.cases[0], KEPT),)),
        RuleResult(two := rule("B"), (CaseResult(two.cases[0], BROKEN, BROKEN),)),
        RuleResult(
            MANY,
            (
                CaseResult(MANY.cases[0], KEPT, BROKEN),
                CaseResult(MANY.cases[1], NOT_APPLICABLE),
                CaseResult(MANY.cases[2], KEPT),
            ),
        ),
        RuleResult(rule("D"), (), f"not here {ODD}"),
        RuleResult(five := rule("E"), (CaseResult(five.cases[0], NOT_APPLICABLE),)),
    ),
)


def test_json():
    read = json.loads(as_json(REPORT).encode("utf-8", "backslashreplace"))
    assert {name: read[name] for name in ("format", "kcoord", "kafka", "run", "began", "seconds", "summary")} == {
        "format": 1,
        "kcoord": "1.2.3",
        "kafka": "4.2",
        "run": "0badcafe",
        "began": "2023-11-14T22:13:20+00:00",
        "seconds": 12.5,
        "summary": {"kept": 2, "broken": 1, "not applicable": 2, "not run": 0},
    }
    kept, broken, many, absent, sunday = read["rules"]
    assert (kept["id"], kept["verdict"], kept["why"], kept["unsteady"]) == ("A", "kept", "", False)
    assert kept["cases"][0]["failure"] is kept["cases"][0]["before"] is None
    (case,) = broken["cases"]
    assert case["failure"]["places"] == [{"file": "rules/x.py", "line": 7, "text": "assert x == (\n    1)"}]
    assert [each["of"] for each in case["failure"]["values"]] == ["x", "(1)"]
    assert [(each["what"], each["seconds"]) for each in case["transcript"]] == [("sent", 0.25), ("closed", 0.5)]
    assert case["transcript"][0]["fields"][1] == {"depth": 1, "name": "[0]", "value": ""}
    assert (case["before"]["beside"], case["before"]["verdict"]) == (3, "broken")
    assert [each["verdict"] for each in many["cases"]] == ["kept", "not applicable", "kept"]
    assert (many["unsteady"], many["seconds"], many["settings"], many["also"]) == (True, 3.0, {"a.b": "1"}, ["C1"])
    assert absent["cases"] == []
    assert absent["why"].startswith("not here <b>")
    assert sunday["why"].startswith("too <b>")


def test_junit():
    root = ET.fromstring(as_junit(REPORT).encode("utf-8", "backslashreplace"))
    counts = {"tests": "7", "failures": "1", "skipped": "3", "errors": "0"}
    assert {name: root.get(name) for name in counts} == counts
    heartbeat, join = root
    assert [each.get("name") for each in root] == ["Heartbeat", "JoinGroup"]
    assert (heartbeat.get("tests"), heartbeat.get("failures"), heartbeat.get("skipped")) == ("4", "1", "2")
    assert heartbeat.get("timestamp") == "2023-11-14T22:13:20"
    a, b, d, e = heartbeat
    assert (a.get("classname"), a.get("name"), a.get("time")) == ("kcoord.check.Heartbeat", "A A is so.", "1.500")
    assert list(a) == []
    failure = b.find("failure")
    assert failure.get("message").startswith("B is so. But: x is <b> & \"quoted\" 'é' \ufffd\ufffd ]]>")
    assert "rules/x.py:7  assert x == (" in failure.text
    assert "#1 -> Heartbeat 4 request 1" in failure.text
    assert b.find("system-out").text.startswith("Broken when 3 others ran, broken when it was run once more.")
    assert d.find("skipped").get("message").startswith("not here")
    assert e.find("skipped").get("message").startswith("too")
    assert [each.get("name").split("]")[0] for each in join] == ["C [n=1", "C [n=2", "C [n=3"]
    assert join[0].find("failure") is None
    assert join[0].find("system-out").text.startswith("Broken when 3 others ran, kept when it was run once more.")


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.cards = []
        self.tags = []
        self.open = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in {"meta", "input"}:
            self.open.append(tag)
        if "card" in attributes.get("class", "").split():
            self.cards.append(attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html():
    text = as_html(REPORT)
    page = Page(text)
    assert page.open == []
    assert [(each["data-verdict"], each["data-api"], "open" in each) for each in page.cards] == [
        ("kept", "Heartbeat", False),
        ("broken", "Heartbeat", True),
        ("kept", "JoinGroup", False),
        ("na", "Heartbeat", False),
        ("na", "Heartbeat", False),
    ]
    # Nothing comes from elsewhere, and what a broker says is never more than text.
    assert not [attributes for _, attributes in page.tags if attributes.keys() & {"src", "href", "onclick", "action"}]
    assert {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object"} == set()
    assert "url(" not in text
    assert "@import" not in text
    assert "//" not in text.replace("http://", "")
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    for part in ("B is so.", "KIP-0", f"x = {ODD}", "client <b> &", "a note <b>", "C1"[:1], "Not applicable: not here"):
        assert part in page.text
    assert [each["value"] for tag, each in page.tags if tag == "input" and each["type"] == "checkbox"] == [
        "kept",
        "broken",
        "na",
    ]
    text.encode("utf-8", "backslashreplace")


def test_html_begins_with_a_table_of_the_apis():
    table = ET.fromstring(re.search("<table>.*</table>", as_html(REPORT), re.DOTALL)[0])
    head, *rows = ([(cell.tag, cell.get("scope"), cell.text) for cell in row] for row in table.iter("tr"))
    assert head == [("th", "col", text) for text in ("API", "kept", "broken", "not applicable")]
    assert rows == [
        [("th", "row", "Heartbeat"), ("td", None, "1"), ("td", None, "1"), ("td", None, "2")],
        [("th", "row", "JoinGroup"), ("td", None, "1"), ("td", None, "0"), ("td", None, "0")],
    ]


def test_html_can_be_read_over_although_much_was_said():
    """What was said is at hand below each sentence that says what is wrong, and closed."""
    page = Page(as_html(REPORT))
    assert [("card" in each.get("class", "")) for tag, each in page.tags if tag == "details" and "open" in each] == [
        True
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_table(kind):
    file = kind()
    print_table(REPORT, file)
    text = file.getvalue()
    for part in (
        "B is broken (Heartbeat): B is so.",
        "rules/x.py:7  assert x == (",
        "#1 -- closed",
        "Kept only when they were run once more",
        "D: not here",
        "Note: a note",
        "5 rules in 12.5 s: 2 kept, 1 broken, 2 not applicable",
    ):
        assert part in text
    assert "\x00" not in text
    assert "\x1b ]]>" not in text
    text = re.sub("\x1b\\[[0-9;]*m", "", text)
    assert "\x1b" not in text
    rows = [[cell.strip() for cell in line.split("│")] for line in text.splitlines() if "│" in line]
    assert ["", "Heartbeat", "1", "1", "2", ""] in rows
    assert ["", "JoinGroup", "1", "", "", ""] in rows


def test_of_a_long_transcript_the_table_has_the_end():
    lines = tuple(Shown(number, 1, What.CLOSED, f"event {number}") for number in range(LINES_OF_TRANSCRIPT + 5))
    run = Run(Verdict.BROKEN, 1.0, failure=FAILURE, transcript=lines)
    file = io.StringIO()
    print_table(Report("here", "", 0.0, 1.0, (RuleResult(one := rule("A"), (CaseResult(one.cases[0], run),)),)), file)
    text = file.getvalue()
    assert "event 4\n" not in text
    assert "event 5\n" in text
    assert "... 5 lines" in text


def test_one_rule_is_no_rules():
    alone = replace(REPORT, results=REPORT.results[:1])
    file = io.StringIO()
    print_table(alone, file)
    assert "\n1 rule in 12.5 s: " in file.getvalue()
    assert "keeps the protocol of Kafka 4.2" in " ".join(file.getvalue().split())
    assert "<p>1 rule of Kafka 4.2, checked by" in as_html(alone)
    assert "<p>5 rules of Kafka 4.2, checked by" in as_html(REPORT)
