"""Where brokers differ, as JUnit XML: a suite for each API, a test for each case, failed where it differs."""

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET

from kcoord.check.differences import ComparedCase, Comparison
from kcoord.check.legible import lines
from kcoord.check.report.differences_table import marked, offers
from kcoord.check.report.junit import clean, count_tests, seconds_text
from kcoord.check.result import Verdict

_WITHOUT_A_VERDICT = (Verdict.NOT_APPLICABLE, Verdict.NOT_RUN)


def differences_as_junit(found: Comparison) -> str:
    """Return the comparison as XML."""
    root = ET.Element("testsuites", name="kcoord check", time=seconds_text(found.seconds))
    ordered = sorted(found.cases, key=lambda each: each.rule.api)
    suites = [(api, [_test(each, found.letters) for each in cases]) for api, cases in groupby(ordered, _api)]
    suites.append(("Offers", [_offers(found)]))
    for name, tests in suites:
        suite = ET.SubElement(root, "testsuite", name=clean(name), hostname=clean(" ".join(found.addresses)))
        suite.set("time", seconds_text(sum(float(each.get("time", "0")) for each in tests)))
        count_tests(suite, tests)
        suite.extend(tests)
    count_tests(root, [test for _, tests in suites for test in tests])
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _api(case: ComparedCase) -> str:
    return case.rule.api


def _test(case: ComparedCase, letters: Sequence[str]) -> ET.Element:
    test = ET.Element(
        "testcase", classname=f"kcoord.check.{case.rule.api}", name=clean(f"{case.name} {case.rule.says}")
    )
    test.set("time", seconds_text(max((run.seconds for run in case.runs if run is not None), default=0.0)))
    if case.is_different:
        what, values = case.gist
        told = ", ".join(f"{letter} {value}" for letter, value in zip(letters, values, strict=True))
        failure = ET.SubElement(test, "failure", type="differs", message=clean(f"{what}: {told}"))
        failure.text = clean("\n".join(_text(case, letters)))
    elif all(each in _WITHOUT_A_VERDICT for each in case.verdicts):
        ET.SubElement(test, "skipped", message=clean("; ".join(dict.fromkeys(filter(None, case.why)))))
    return test


def _text(case: ComparedCase, letters: Sequence[str]) -> list[str]:
    text = [f"{letter}  {why}" for letter, why in zip(letters, case.why, strict=True) if why]
    for letter, run in zip(letters, case.runs, strict=True):
        if run is not None and run.failure is not None:
            text += [f"{letter}  {line}" for line in run.failure.lines()]
    for each in case.differs:
        text += each.lines(letters)
    said = lines(case.said) if case.said else []
    return [*text, "", *(line for each in said for line in marked(each, letters))]


def _offers(found: Comparison) -> ET.Element:
    test = ET.Element("testcase", classname="kcoord.check", name="Brokers list the same of themselves.", time="0.000")
    if found.offers:
        text = "\n".join(offers(found.offers, found.letters))
        failure = ET.SubElement(test, "failure", type="differs", message=clean(text.partition("\n")[0]))
        failure.text = clean(text)
    return test
