"""The results as JUnit XML, as build servers read it: a suite for each API, a test for each case of a rule."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold at all, not even escaped."""


def as_junit(report: Report) -> str:
    """Return the report as XML."""
    root = ET.Element("testsuites", name="kcoord check", time=_seconds(report.seconds))
    ordered = sorted(report.results, key=lambda each: each.rule.api)
    totals = [0, 0, 0]
    for api, of_api in groupby(ordered, key=lambda each: each.rule.api):
        tests = [test for result in of_api for test in _tests(result)]
        counts = [len(tests), *(sum(each.find(tag) is not None for each in tests) for tag in ("failure", "skipped"))]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        suite = ET.SubElement(root, "testsuite", name=_clean(api), hostname=_clean(report.address))
        suite.set("timestamp", datetime.fromtimestamp(report.began, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
        suite.set("time", _seconds(sum(float(each.get("time", "0")) for each in tests)))
        _count(suite, counts)
        suite.extend(tests)
    _count(root, totals)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _count(element: ET.Element, counts: list[int]) -> None:
    for name, count in zip(("tests", "failures", "skipped"), counts, strict=True):
        element.set(name, str(count))
    element.set("errors", "0")


def _tests(result: RuleResult) -> Iterator[ET.Element]:
    if not result.cases:
        test = _test(result, "", 0.0)
        ET.SubElement(test, "skipped", message=_clean(result.reason))
        yield test
    for case in result.cases:
        test = _test(result, case.case.label, case.run.seconds)
        if case.verdict is Verdict.NOT_APPLICABLE:
            ET.SubElement(test, "skipped", message=_clean(case.run.why))
        elif case.run.failure is not None:
            message = f"{result.rule.says} But: {case.run.failure.message}"
            failure = ET.SubElement(test, "failure", type="broken", message=_clean(message))
            failure.text = _clean(_text(case.run))
        if case.before is not None:
            ET.SubElement(test, "system-out").text = _clean(_before(case))
        yield test


def _test(result: RuleResult, label: str, seconds: float) -> ET.Element:
    rule = result.rule
    name = f"{rule.id} [{label}] {rule.says}" if label else f"{rule.id} {rule.says}"
    return ET.Element("testcase", classname=f"kcoord.check.{rule.api}", name=_clean(name), time=_seconds(seconds))


def _before(case: CaseResult) -> str:
    assert case.before is not None
    return f"Broken when {case.before.beside} others ran, {case.verdict.value} when it was run once more.\n" + _text(
        case.before
    )


def _text(run: Run) -> str:
    lines = [] if run.failure is None else list(run.failure.lines())
    return "\n".join([*lines, "", *(line for each in run.transcript for line in each.lines())])


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
