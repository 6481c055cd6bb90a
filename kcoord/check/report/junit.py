"""The results as JUnit XML, as build servers read it: a suite for each API, a test for each case of a rule."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold at all, not even escaped."""


def as_junit(report: Report) -> str:
    """Return the report as XML."""
    root = ET.Element("testsuites", name="kcoord check", time=seconds_text(report.seconds))
    ordered = sorted(report.results, key=lambda each: each.rule.api)
    all_tests: list[ET.Element] = []
    for api, of_api in groupby(ordered, key=lambda each: each.rule.api):
        tests = [test for result in of_api for test in _tests(result)]
        all_tests += tests
        suite = ET.SubElement(root, "testsuite", name=clean(api), hostname=clean(report.address))
        suite.set("timestamp", datetime.fromtimestamp(report.began, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
        suite.set("time", seconds_text(sum(float(each.get("time", "0")) for each in tests)))
        count_tests(suite, tests)
        suite.extend(tests)
    count_tests(root, all_tests)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def count_tests(element: ET.Element, tests: Sequence[ET.Element]) -> None:
    """Write into a suite, or all suites, how many tests they have, and how many of them failed or were skipped."""
    element.set("tests", str(len(tests)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(each.find(tag) is not None for each in tests)))


def _tests(result: RuleResult) -> Iterator[ET.Element]:
    if not result.cases:
        test = _test(result, "", 0.0)
        ET.SubElement(test, "skipped", message=clean(result.reason))
        yield test
    for case in result.cases:
        test = _test(result, case.case.label, case.run.seconds)
        if case.verdict is Verdict.NOT_APPLICABLE:
            ET.SubElement(test, "skipped", message=clean(case.run.why))
        elif case.verdict is Verdict.NOT_RUN:
            # Build servers take what is skipped for fine, and this is not.
            ET.SubElement(test, "error", type="not run", message=clean(case.run.why))
        elif case.run.failure is not None:
            message = f"{result.rule.says} But: {case.run.failure.message}"
            failure = ET.SubElement(test, "failure", type="broken", message=clean(message))
            failure.text = clean(_text(case.run))
        if case.before is not None:
            ET.SubElement(test, "system-out").text = clean(_before(case))
        yield test


def _test(result: RuleResult, label: str, seconds: float) -> ET.Element:
    rule = result.rule
    name = f"{rule.id} [{label}] {rule.says}" if label else f"{rule.id} {rule.says}"
    return ET.Element("testcase", classname=f"kcoord.check.{rule.api}", name=clean(name), time=seconds_text(seconds))


def _before(case: CaseResult) -> str:
    assert case.before is not None
    return f"Broken when {case.before.beside} others ran, {case.verdict.value} when it was run once more.\n" + _text(
        case.before
    )


def _text(run: Run) -> str:
    lines = [] if run.failure is None else list(run.failure.lines())
    return "\n".join([*lines, "", *(line for each in run.transcript for line in each.lines())])


def clean(text: str) -> str:
    """Return text that XML can hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def seconds_text(seconds: float) -> str:
    """Write a time in seconds."""
    return f"{seconds:.3f}"
