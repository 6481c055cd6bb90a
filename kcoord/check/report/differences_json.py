"""Where brokers differ, as JSON for machines, with the whole report of each broker."""

import json
from typing import Any, Final

from kcoord.check.differences import ComparedCase, Comparison
from kcoord.check.differing import Place
from kcoord.check.legible import lines
from kcoord.check.report.json import as_dict

FORMAT: Final = 1
"""Counts changes by which a reader of an older one would be misled."""


def differences_as_json(found: Comparison) -> str:
    """Return the comparison as JSON. Times are in seconds."""
    return json.dumps(differences_as_dict(found), indent=1, ensure_ascii=False) + "\n"


def differences_as_dict(found: Comparison) -> dict[str, Any]:
    """Return the comparison as dictionaries, lists, strings and numbers. Lists of values are in the brokers' order."""
    return {
        "format": FORMAT,
        "kcoord": found.reports[0].version,
        "brokers": list(found.addresses),
        "seconds": round(found.seconds, 3),
        "stopped": found.stopped,
        "summary": {
            "verdicts": sum(each.verdict_differs for each in found.different),
            "said": sum(not each.verdict_differs for each in found.different),
            "offers": len(found.offers),
        },
        "differences": [_case(each) for each in found.different],
        "offers": [{"what": each.what, "name": each.name, "values": list(each.values)} for each in found.offers],
        "unsteady": [{"id": rule, "case": label} for rule, label in found.unsteady],
        "same": [_case(each) for each in found.cases if each.said and not each.is_different],
        "reports": [as_dict(each) for each in found.reports],
    }


def _case(case: ComparedCase) -> dict[str, Any]:
    return {
        "id": case.rule.id,
        "case": case.case.label,
        "api": case.rule.api,
        "says": case.rule.says,
        "verdicts": [each.value for each in case.verdicts],
        "why": list(case.why),
        "differs": [{**_place(each.place), "values": list(each.values)} for each in case.differs],
        "said": [{"texts": list(each.texts), "differs": each.differs} for each in lines(case.said)]
        if case.said
        else [],
    }


def _place(place: Place) -> dict[str, Any]:
    return {"connection": place.connection, "in": place.title, "path": [str(each) for each in place.path]}
