"""What differs between brokers, put together and read back from each of its forms."""

import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from kcoord.check.differences import Comparison, Differs, Offer, compared, letter, of_several, offer_of, steady
from kcoord.check.differing import Difference, Place
from kcoord.check.exchanges import Conversation, Exchange, Said
from kcoord.check.legible import Line, lines
from kcoord.check.report.differences_html import differences_as_html
from kcoord.check.report.differences_json import differences_as_json
from kcoord.check.report.differences_junit import differences_as_junit
from kcoord.check.report.differences_table import MOST_CASES, marked, print_differences
from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict
from kcoord.check.transcript import MOST_FIELDS
from tests.check.talk import Talk
from tests.check.test_reports import BROKEN, KEPT, ODD, Page, Terminal, rule
from wire.messages import HeartbeatRequest, HeartbeatResponse


def heard(*errors, verdict=Verdict.KEPT):
    """A run in which a group is told these errors."""
    talk = Talk()
    for number, error in enumerate(errors):
        talk.ask(HeartbeatRequest(group_id=f"{number}{ODD[:20]}"), 4, HeartbeatResponse(error_code=error))
    return replace(KEPT if verdict is Verdict.KEPT else BROKEN, said=talk.transcript)


MANY = rule("C", api="JoinGroup", each={"n": (1, 2)})
RULES = (rule("A", says=f"A is {ODD}."), rule("B"), MANY, rule("D"))
ABSENT = "not here"


def report(address, *runs):
    """A report of `RULES`; None for a rule that does not apply."""
    left = list(runs)
    results = []
    for one in RULES:
        of_it = [left.pop(0) for _ in one.cases]
        cases = tuple(CaseResult(case, run) for case, run in zip(one.cases, of_it, strict=True) if run is not None)
        results.append(RuleResult(one, cases, "" if cases else ABSENT))
    return Report(address, "0badcafe", 1_700_000_000.0, 2.5, tuple(results), ("a note",), "1.2.3")


def comparison(**more):
    reports = (
        report(f"a:1 {ODD}", heard(0, 0), heard(5), heard(1), heard(1), None),
        report("b:2", heard(0, 27), heard(5), heard(1), heard(1, verdict=Verdict.BROKEN), None),
    )
    cases, offers = compared(reports)
    usual = {"offers": tuple(offers), "unsteady": (("B", ""), ("C", "n=1")), "seconds": 3.0}
    return Comparison(reports, tuple(cases), **(usual | more))


def test_what_differs():
    found = comparison()
    of_verdict, of_words = found.different
    assert (of_verdict.name, of_verdict.gist) == ("C [n=2]", ("verdict", ("kept", "broken")))
    assert (of_words.name, of_words.gist) == (
        "A",
        ("#1 Heartbeat 4 response, error_code", ("0 NONE", "27 REBALANCE_IN_PROGRESS")),
    )
    assert len(of_words.said) == 2
    assert all(case.said == () for case in found.cases if not case.is_different)
    last = found.cases[-1]
    assert (last.why, last.verdicts) == ((ABSENT,) * 2, (Verdict.NOT_APPLICABLE,) * 2)


def test_what_is_not_judged_everywhere_is_not_compared():
    not_run = replace(heard(1), verdict=Verdict.NOT_RUN)
    cases, _ = compared(
        (
            report("a:1", heard(0), heard(0), heard(0), heard(0), heard(0)),
            report("b:2", not_run, None, heard(0), heard(0), replace(heard(0), said=None)),
        )
    )
    assert [each.verdict_differs for each in cases] == [False, True, False, False, False]
    assert [bool(each.differs) for each in cases] == [False, False, False, False, True]


def test_letters():
    assert [letter(at) for at in (0, 25, 26, 53)] == ["A", "Z", "A1", "B2"]


def place(*path):
    return Place(1, "X", path)


def test_several_are_held_against_the_first():
    one, other = (Difference(place(name), "first", f"other {name}") for name in "xy")
    assert of_several([[], [one], [one, other]]) == [
        Differs(place("x"), ("first", "first", "other x", "other x")),
        Differs(place("y"), ("first", "first", "first", "other y")),
    ]


@pytest.mark.parametrize(
    ("path", "values", "offer"),
    [
        (("api_keys", "[api_key 24]"), ("api_key: 24", "nothing"), ("API", "AddPartitionsToTxn", True)),
        (("api_keys", "[api_key 12]", "max_version"), ("4", "3"), ("API", "Heartbeat max_version", False)),
        (("finalized_features_epoch",), ("<x>", "-1"), ("feature", "finalized_features_epoch", False)),
        (("supported_features", "[name a.b]"), ("x", "nothing"), ("feature", "supported_features a.b", True)),
        (("topics", "[name t]", "configs", "[name c.d]"), ("nothing", "x"), ("setting", "c.d", True)),
        (("configs", "[name c.d]", "read_only"), ("False", "True"), ("setting", "c.d read_only", False)),
        (("configs", "[name c.d]", "value"), ("1", "2"), None),
        (("configs", 0), ("1", "2"), None),
        (("error_code",), ("1", "2"), None),
        ((), ("an answer", "no answer"), None),
    ],
    ids=repr,
)
def test_what_brokers_say_of_themselves(path, values, offer):
    found = offer_of(Differs(place(*path), values))
    if offer is None:
        assert found is None
        return
    what, name, missing = offer
    there = tuple("not offered" if each == "nothing" else "offered" for each in values)
    assert found == Offer(what, name, there if missing else values)


def test_what_counts_is_what_comes_again():
    found = comparison()
    assert steady(found.cases, found.cases) == (list(found.cases), [])
    kept, gone = steady(found.cases, [])
    assert [each.name for each in kept if each.is_different] == ["C [n=2]"]
    assert gone == [("A", "")]


def test_what_comes_again_on_another_connection_counts():
    found = comparison()
    elsewhere = [
        replace(each, differs=tuple(replace(one, place=replace(one.place, connection=9)) for one in each.differs))
        for each in found.cases
    ]
    assert steady(found.cases, elsewhere) == (list(found.cases), [])


def test_that_a_run_was_stopped():
    found = comparison()
    assert found.stopped == ""
    reports = (found.reports[0], replace(found.reports[1], stopped="it is gone"))
    assert replace(found, reports=reports).stopped == "b:2: it is gone"


# --- lines beside each other ---


def said(*exchanges):
    return Conversation(
        tuple(
            Exchange(connection, Said(title, {"x": value}), Said("R", answer), closed)
            for connection, title, value, answer, closed in exchanges
        )
    )


def texts(*conversations):
    return [each.texts for each in lines(conversations)]


def test_what_is_the_same_stands_once():
    one = said((1, "Q", "a", {"l": [], "d": {"e": 1}, "m": [{"y": 1}, {"y": 2}]}, True))
    assert texts(one, one) == [
        (text, text)
        for text in (
            "#1 -> Q",
            "      x: 'a'",
            "#1 <- R",
            "      l: []",
            "      d",
            "        e: 1",
            "      m: 2 of them",
            "        [0]",
            "          y: 1",
            "        [1]",
            "          y: 2",
            "#1 -- the broker closes the connection",
        )
    ]


def test_what_differs_stands_beside_each_other():
    found = texts(said((1, "Q", "a", {"y": 1}, False)), said((1, "Q", "a", {"y": 2, "z": 3}, False)))
    assert found[2:] == [("#1 <- R", "#1 <- R"), ("      y: 1", "      y: 2"), (None, "      z: 3")]
    assert not Line(("a", "a")).differs
    assert Line(("a", None)).differs


def test_three_brokers():
    found = texts(*(said((1, "Q", "a", {"y": number}, False)) for number in (1, 2, 1)))
    assert found[-1] == ("      y: 1", "      y: 2", "      y: 1")
    found = texts(said(), said(), said((1, "Q", "a", {"y": 1}, False)))
    assert found[0] == (None, None, "#1 -> Q")


def test_elements_that_have_names_stand_in_their_order():
    one = said((1, "Q", "a", {"l": [{"name": "b"}, {"name": "a"}]}, False))
    other = said((1, "Q", "a", {"l": [{"name": "a"}, {"name": "b"}]}, False))
    assert not [each for each in lines([one, other]) if each.differs]


def test_what_is_asked_again_and_answered_the_same_stands_once():
    again = (1, "Q", "a", {"y": 0}, False)
    found = texts(said(again, (1, "P", "a", {}, False), again), said(again, (1, "P", "a", {}, False)))
    assert found[0] == ("#1 -> Q, more than once",) * 2
    assert sum(text[0].startswith("#1 -> Q") for text in found) == 1


def test_what_only_one_was_asked_stands_where_it_was_asked():
    first, last = (1, "Q", "a", {}, False), (1, "Q", "z", {}, False)
    found = texts(said(first, last), said(first, (2, "P", "b", {}, False), last))
    assert [each for each in found if each[0] is None] == [(None, "#2 -> P"), (None, "      x: 'b'"), (None, "#2 <- R")]
    assert [each[1] for each in found if each[1] and "->" in each[1]] == ["#1 -> Q", "#2 -> P", "#1 -> Q"]


def test_the_answer_that_is_the_same_is_looked_for_first():
    one, two = ((1, "Q", "a", {"y": number}, False) for number in (1, 2))
    assert [each for each in lines([said(one, two), said(two, one)]) if each.differs] == []


def test_long_and_broken_frames():
    long = Conversation((Exchange(1, Said("Q", {"l": list(range(MOST_FIELDS + 5))})),))
    assert texts(long)[-1] == ("      and so on",)
    assert len(texts(long)) == MOST_FIELDS + 2
    just = Conversation((Exchange(1, Said("Q", {"l": list(range(MOST_FIELDS - 1))})),))
    assert texts(just)[-1] == (f"        [{MOST_FIELDS - 2}]: {MOST_FIELDS - 2}",)
    part = Conversation((Exchange(1, None, Said("R", b"\xff", part=True)),))
    assert texts(part) == [("#1 <- R",), ("      bytes: ff",), ("      and so on",)]


# --- the forms ---


def test_json():
    read = json.loads(differences_as_json(comparison()).encode("utf-8", "backslashreplace"))
    assert read["format"] == 1
    assert read["brokers"][1] == "b:2"
    assert read["summary"] == {"verdicts": 1, "said": 1, "offers": 0}
    verdict, words = read["differences"]
    assert (verdict["id"], verdict["case"], verdict["verdicts"]) == ("C", "n=2", ["kept", "broken"])
    assert words["differs"] == [
        {
            "connection": 1,
            "in": "Heartbeat 4 response",
            "path": ["error_code"],
            "values": ["0 NONE", "27 REBALANCE_IN_PROGRESS"],
        }
    ]
    assert {
        "texts": ["      error_code: 0 NONE", "      error_code: 27 REBALANCE_IN_PROGRESS"],
        "differs": True,
    } in words["said"]
    assert read["unsteady"] == [{"id": "B", "case": ""}, {"id": "C", "case": "n=1"}]
    assert [len(each["rules"]) for each in read["reports"]] == [4, 4]
    assert read["same"] == []


def test_junit():
    offers = (Offer("API", f"Fetch {ODD}", ("offered", "not offered")),)
    root = ET.fromstring(differences_as_junit(comparison(offers=offers)).encode("utf-8", "backslashreplace"))
    counts = {"tests": "6", "failures": "3", "skipped": "1", "errors": "0"}
    assert {name: root.get(name) for name in counts} == counts
    heartbeat, join, offered = root
    a, b, d = heartbeat
    assert a.find("failure").get("message") == (
        "#1 Heartbeat 4 response, error_code: A 0 NONE, B 27 REBALANCE_IN_PROGRESS"
    )
    assert "B       error_code: 27 REBALANCE_IN_PROGRESS" in a.find("failure").text
    assert list(b) == []
    assert d.find("skipped").get("message") == ABSENT
    assert "B  x is <b>" in join[1].find("failure").text
    assert offered[0].find("failure").get("message").startswith("API: Fetch <b>")
    same = ET.fromstring(differences_as_junit(comparison()).encode("utf-8", "backslashreplace"))
    assert list(same[2][0]) == []


def test_html():
    found = comparison(offers=(Offer("API", "Fetch", ("offered", "not offered")),))
    text = differences_as_html(found)
    page = Page(text)
    assert page.open == []
    assert [("open" in each, each["class"]) for each in page.cards] == [(True, "card broken"), (True, "card na")]
    assert not [attributes for _, attributes in page.tags if attributes.keys() & {"src", "href", "onclick", "action"}]
    assert {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object"} == set()
    for part in ("A a:1 <b>", "API: Fetch: A offered, B not offered", "x is <b>", "error_code: 0 NONE", "A: a note"):
        assert part in page.text
    text.encode("utf-8", "backslashreplace")


def test_all_transcripts():
    reports = comparison().reports
    cases, _ = compared(reports, transcripts=True)
    found = Comparison(reports, tuple(cases))
    assert [each["id"] for each in json.loads(differences_as_json(found))["same"]] == ["B", "C", "D"]
    assert [each["class"] for each in Page(differences_as_html(found)).cards[2:]] == ["card kept"] * 3


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_table(kind):
    file = kind()
    offers = tuple(Offer("API", name, ("offered", "not offered")) for name in ("Fetch", "Produce"))
    print_differences(comparison(offers=offers), file)
    text = re.sub("\x1b\\[[0-9;]*m", "", file.getvalue())
    assert "\x1b" not in text
    for part in (
        "C [n=2] is judged otherwise (JoinGroup)",
        "  B  broken: x is <b>",
        "A is kept, but other things are said (Heartbeat)",
        "#1 Heartbeat 4 response, error_code\n    A  0 NONE\n    B  27 REBALANCE_IN_PROGRESS\n",
        "    #1 <- Heartbeat 4 response\n",
        "  A       error_code: 0 NONE\n",
        "Said otherwise at first, but not when it was run once more: B, C [n=1]",
        "API: Fetch, Produce: A offered, B not offered\n",
        "b:2: 2 kept, 1 broken, 1 not applicable\n   Note: a note\n",
    ):
        assert part in text
    one_line = " ".join(text.split())
    assert "4 rules of Kafka 4.4 at 2 brokers in 3.0 s, differences: 1 verdict, 1 case in what was said" in one_line
    assert "Where they differ" in text


def test_table_of_brokers_that_are_the_same():
    found = comparison()
    same = replace(found, cases=found.cases[1:2], unsteady=())
    file = io.StringIO()
    print_differences(same, file)
    assert "differences: 0 verdicts, 0 cases in what was said, 0 of what they offer\n" in file.getvalue()
    assert "Where" not in file.getvalue()


def test_of_many_and_long_differences_the_table_shows_the_beginning():
    found = comparison()
    first, second = (heard(*([0] * 30), error, *([0] * 30)) for error in (0, 7))
    reports = (report("a:1", *[first] * 4, None), report("b:2", *[second] * 4, None))
    cases, _ = compared(reports)
    many = replace(found, reports=reports, cases=tuple(cases) * MOST_CASES)
    file = io.StringIO()
    print_differences(many, file)
    text = file.getvalue()
    assert text.count("but other things are said") == MOST_CASES
    assert text.count("│ A ") == MOST_CASES
    assert re.search(r"^  \.\.\. \d+ lines$", text, re.MULTILINE)


def test_more_fields():
    found = comparison()
    case = found.different[1]
    more = replace(case, differs=case.differs * 3, said=())
    file = io.StringIO()
    print_differences(replace(found, cases=(more,)), file)
    assert "  and 2 more fields\n" in file.getvalue()
    assert '<table class="said">' not in differences_as_html(replace(found, cases=(more,)))
    assert isinstance(case.runs[0], Run)


def test_a_line_that_only_one_has_stands_once():
    assert list(marked(Line((None, "x")), ("A", "B"))) == ["B x"]
    assert list(marked(Line(("x", "x")), ("A", "B"))) == ["  x"]


def test_of_what_brokers_offer_the_table_names_some():
    all_of_them = tuple(Offer("setting", f"s{number:02}", ("offered", "not offered")) for number in range(20))
    file = io.StringIO()
    print_differences(comparison(offers=all_of_them), file)
    assert "setting: s00, s01, " in file.getvalue()
    assert "s11 and 8 more: A offered, B not offered\n" in file.getvalue()
    assert "s19: A offered, B not offered" in differences_as_html(comparison(offers=all_of_them))
