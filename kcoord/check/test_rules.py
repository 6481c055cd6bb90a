"""The rules as tests of pytest: `pytest --pyargs kcoord.check --bootstrap HOST:PORT`.

The first test runs all rules that were selected, side by side, and each test tells what came of its own.
"""

from collections.abc import Mapping

import pytest
import trio

from kcoord.check.connecting import Endpoint, address_of
from kcoord.check.outcome import CannotRun
from kcoord.check.result import RuleResult, Verdict
from kcoord.check.rule import Case, Rule
from kcoord.check.rules import all_rules
from kcoord.check.runner import Plan, check

CASES = [
    pytest.param(rule, case, id=f"{rule.id}-{case.label}" if case.label else rule.id)
    for rule in all_rules().values()
    for case in rule.cases
]


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> Mapping[str, RuleResult]:
    """What came of the rules, by id."""
    address = request.config.getoption("--bootstrap")
    if address is None:
        pytest.exit("rules need a broker: --bootstrap HOST:PORT", returncode=pytest.ExitCode.USAGE_ERROR)
    selected = {item.callspec.params["rule"].id for item in request.session.items if item.path.samefile(__file__)}  # type: ignore[attr-defined]
    rules = [rule for rule in all_rules().values() if rule.id in selected]
    try:
        report = trio.run(check, Endpoint(*address_of(address)).open, address, Plan(rules))
    except CannotRun as error:
        pytest.exit(f"no rule could be run: {error}", returncode=2)
    return {result.rule.id: result for result in report.results}


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_rule(results: Mapping[str, RuleResult], rule: Rule, case: Case) -> None:
    """Tell what came of one case of a rule."""
    result = results[rule.id]
    if not result.cases:
        pytest.skip(result.why)
    (run,) = [each.run for each in result.cases if each.case is case]
    if run.verdict in (Verdict.NOT_APPLICABLE, Verdict.NOT_RUN):
        pytest.skip(run.why)
    if run.failure is not None:
        shown = [line for each in run.transcript for line in each.lines()]
        text = [f"{rule.id}: {rule.says}", f"by {rule.source}", *run.failure.lines(), *shown]
        pytest.fail("\n".join(text), pytrace=False)
