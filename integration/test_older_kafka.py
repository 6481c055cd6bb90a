"""Rules that tell what Kafka did up to 3.9 hold on Kafka 3.9, which tells that it is no newer one."""

import os
import sys

import pytest
import trio

from kcoord.check.connecting import Endpoint, address_of
from kcoord.check.report.table import print_table
from kcoord.check.result import Report, Verdict
from kcoord.check.rule import LONG, Rule
from kcoord.check.rules import all_rules
from kcoord.check.runner import Plan, check
from scripts.reference import started, why_not

RELEASE = "3.9.2"
JUDGED_BY = (3, 9)
LIMIT = "group.max.size"
LOOKS = "this broker looks like Kafka"
NOTE = f"{LOOKS} 3.9: --kafka 3.9 judges it by that release"


@pytest.fixture(autouse=True)
def able():
    """Leave a test out where Kafka cannot run; where everything is to be tested, that is a failure."""
    if why := why_not("kafka"):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


def judge(bootstrap: str, rules: list[Rule], release: tuple[int, int]) -> Report:
    return trio.run(check, Endpoint(*address_of(bootstrap)).open, bootstrap, Plan(rules, release=release))


def of_the_past(*, limited: bool) -> list[Rule]:
    """The rules that held in that release and do no more; those apart that need few members in a group."""
    return [
        rule
        for rule in all_rules().values()
        if rule.until is not None
        and rule.until >= JUDGED_BY
        and (rule.since is None or rule.since <= JUDGED_BY)
        and rule.cost <= LONG
        and (LIMIT in rule.settings) is limited
    ]


@pytest.mark.parametrize(("limited", "overrides"), [(False, {}), (True, {LIMIT: 2})])
def test_what_kafka_did_before(limited, overrides):
    rules = of_the_past(limited=limited)
    assert rules
    with started("kafka", release=RELEASE, overrides=overrides) as running:
        report = judge(running.bootstrap, rules, JUDGED_BY)
        print_table(report, sys.stdout)  # shown with what fails
        assert {each.rule.id: each.verdict for each in report.results} == {rule.id: Verdict.KEPT for rule in rules}
        assert NOTE not in report.notes
        assert NOTE in judge(running.bootstrap, [], (4, 4)).notes


def test_kafka_is_recognized_as_the_release_that_rules_are_of():
    with started("kafka") as running:
        release = tuple(int(part) for part in running.version.split(".")[:2])
        # A broker that has just started may be told of as slow.
        notes = judge(running.bootstrap, [], Plan([]).release).notes
        assert [note for note in notes if note.startswith(LOOKS)] == []
        assert release == Plan([]).release
