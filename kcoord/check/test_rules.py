"""The rules as tests of pytest: `pytest --pyargs kcoord.check --bootstrap HOST:PORT`.

The first test runs all rules that were selected, side by side, and each test tells what came of its own. Where
pytest-xdist spreads the tests over several processes, one of them runs the rules, and all tell.
"""

import fcntl
import json
import signal
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NoReturn

import pytest
import trio

from kcoord.check.connecting import Endpoint, address_of
from kcoord.check.failure import first_of
from kcoord.check.outcome import CannotRun
from kcoord.check.result import Progress, Report, RuleResult, Run, Verdict
from kcoord.check.rule import Case, Rule
from kcoord.check.rules import all_rules
from kcoord.check.runner import Plan, check
from kcoord.check.running import stopped, unless_a_signal

Told = Mapping[str, tuple[str, str]]
"""What came of cases, by the names of their tests: the verdict, and what there is to say."""


def _name(rule: Rule, case: Case) -> str:
    return f"{rule.id}-{case.label}" if case.label else rule.id


CASES = {_name(rule, case): rule.id for rule in all_rules().values() for case in rule.cases}


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What came of all that was selected."""
    address = request.config.getoption("--bootstrap")
    is_one_of_several = hasattr(request.config, "workerinput")
    if address is None:
        _stop("rules need a broker: --bootstrap HOST:PORT", pytest.ExitCode.USAGE_ERROR, is_one_of_several)
    names = {item.callspec.params["name"] for item in request.session.items if item.path.samefile(__file__)}  # type: ignore[attr-defined]
    if not is_one_of_several:
        found = _run(address, names)
    else:
        shared = tmp_path_factory.getbasetemp().parent / "kcoord-check.json"
        with shared.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not shared.exists():
                shared.write_text(json.dumps(_run(address, names)))
            found = json.loads(shared.read_text())
    if isinstance(found, str):
        _stop(f"no rule could be run: {found}", 2, is_one_of_several)
    return found


def _run(address: str, names: set[str]) -> Told | str:
    """Run the rules; return what came of them, or why none could be run.

    A signal ends the run in order: what was made at the broker is removed. Raises KeyboardInterrupt if it was SIGINT,
    and not in a group, as pytest knows it.
    """
    ids = {CASES[name] for name in names}
    progress = Progress()
    why = ""
    done: list[Report] = []
    got: list[int] = []
    try:
        plan = Plan([rule for rule in all_rules().values() if rule.id in ids])
        opener = Endpoint(*address_of(address)).open
        done, got = trio.run(unless_a_signal, partial(check, opener, address, plan, progress))
    except* CannotRun as group:
        why = str(first_of(group))
    if why:
        return why
    if done:
        return dict(told(done[0]))
    if got[0] == signal.SIGINT:
        raise KeyboardInterrupt
    return f"{signal.Signals(got[0]).name}: {stopped({'': progress})}"


def told(report: Report) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what came of each case, by the name of its test."""
    for result in report.results:
        runs = {each.case.label: each.run for each in result.cases}
        for case in result.rule.cases:
            run = runs.get(case.label)
            verdict = Verdict.NOT_APPLICABLE if run is None else run.verdict
            yield _name(result.rule, case), (verdict, result.why if run is None else _text(result, run, report))


def _text(result: RuleResult, run: Run, report: Report) -> str:
    if run.failure is None:
        return report.stopped if run.verdict is Verdict.NOT_RUN else run.why
    shown = [line for each in run.transcript for line in each.lines()]
    rule = result.rule
    return "\n".join([f"{rule.id}: {rule.says}", f"by {rule.source}", *run.failure.lines(), *shown])


def _stop(why: str, status: int, is_one_of_several: bool) -> NoReturn:
    """End the run; what ends one of several processes, the others take for a crash, so that there each test fails."""
    if is_one_of_several:
        pytest.fail(why, pytrace=False)
    pytest.exit(why, returncode=status)


@pytest.mark.parametrize("name", CASES, ids=CASES)
def test_rule(results: Told, name: str) -> None:
    """Tell what came of one case of a rule."""
    verdict, text = results[name]
    if verdict == Verdict.NOT_APPLICABLE:
        pytest.skip(text)
    if verdict in (Verdict.BROKEN, Verdict.NOT_RUN):
        pytest.fail(text, pytrace=False)
