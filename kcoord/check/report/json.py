"""The results as JSON: all there is to know, for machines, and what the HTML page is made of."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from kcoord.check.failure import Failure
from kcoord.check.result import CaseResult, Report, RuleResult, Run, Verdict
from kcoord.check.rule import release_text
from kcoord.check.transcript import Shown

FORMAT: Final = 1
"""Counts changes by which a reader of an older one would be misled."""


def as_json(report: Report) -> str:
    """Return the report as JSON. Times are in seconds, but `began`, which is a date in UTC."""
    return json.dumps(as_dict(report), indent=1, ensure_ascii=False) + "\n"


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report as dictionaries, lists, strings and numbers."""
    return {
        "format": FORMAT,
        "kcoord": report.version,
        "broker": report.address,
        "kafka": release_text(report.judged_by),
        "run": report.run_id,
        "began": datetime.fromtimestamp(report.began, UTC).isoformat(timespec="seconds"),
        "seconds": round(report.seconds, 3),
        "summary": {verdict.value: report.count(verdict) for verdict in Verdict},
        "stopped": report.stopped,
        "notes": list(report.notes),
        "rules": [_rule(each) for each in report.results],
    }


def _rule(result: RuleResult) -> dict[str, Any]:
    rule = result.rule
    return {
        "id": rule.id,
        "also": list(rule.also),
        "api": rule.api,
        "subject": rule.subject,
        "says": rule.says,
        "source": rule.source,
        "versions": rule.versions,
        "settings": dict(rule.settings),
        "verdict": result.verdict.value,
        "why": result.reason,
        "unsteady": result.unsteady,
        "seconds": round(result.seconds, 3),
        "cases": [_case(each) for each in result.cases],
    }


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "case": result.case.label,
        **_run(result.run),
        "before": None if result.before is None else _run(result.before),
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "verdict": run.verdict.value,
        "why": run.why,
        "seconds": round(run.seconds, 3),
        "beside": run.beside,
        "failure": None if run.failure is None else _failure(run.failure),
        "transcript": [_shown(each) for each in run.transcript],
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "message": failure.message,
        "places": [{"file": each.file, "line": each.line, "text": each.text} for each in failure.places],
        "values": [{"of": source, "value": value} for source, value in failure.values],
    }


def _shown(shown: Shown) -> dict[str, Any]:
    return {
        "seconds": round(shown.seconds, 3),
        "connection": shown.connection,
        "what": shown.what.value,
        "title": shown.title,
        "fields": [{"depth": depth, "name": name, "value": value} for depth, name, value in shown.fields],
    }
