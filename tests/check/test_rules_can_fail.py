"""Every rule of `kcoord check` can fail: each is broken by some fault of the broker, and by a check that fails.

What breaks which rule is written in faults_that_break.json, so that it is tried at once. It is only a memory: a rule
that is not in it, or is not broken by what is told there (it was changed), has all its answers tried one by one.
`python -m tests.check.find_faults` writes it anew.

A rule that nothing breaks says nothing. Where that is found, it is the rule that has to be mended.
"""

import pytest

from kcoord.check.result import Verdict
from kcoord.check.rules import all_rules
from tests.check.can_fail import By, cases, name_of, run, search, table
from tests.check.faults import Fault
from tests.check.servers import FAULTS
from tests.scenarios.harness import no_jumps_while_threads_work

TABLE = table()
CASES = [
    pytest.param(rule, case, id=f"{name_of(rule, case)} - {TABLE.faults.get(name_of(rule, case), 'to be found')}")
    for rule, case in cases()
]

RULES = [pytest.param(rule, id=rule.id) for rule, case in cases() if case is rule.cases[0]]


@pytest.fixture(autouse=True)
def time_stands_still_while_threads_work():
    with no_jumps_while_threads_work():
        yield


@pytest.mark.parametrize("rule", RULES)
async def test_it_is_the_fault_that_breaks_a_rule(rule):
    await kept(rule, rule.cases[0])


async def kept(rule, case):
    unharmed = await run(rule, case)
    assert unharmed.verdict is Verdict.KEPT, unharmed.text
    return unharmed


@pytest.mark.parametrize(("rule", "case"), CASES)
async def test_a_rule_can_fail(rule, case):
    told = TABLE.faults.get(name_of(rule, case))
    found = None if told is None else await run(rule, case, Fault.parse(told))
    if found is None or found.by > By.A_CHECK:
        _, found = await search(rule, case, await kept(rule, case))
    assert found.by <= By.A_CHECK, f"no fault breaks it by a check of its own; the nearest: {found.text}"


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_wrong_server_is_noticed(fault):
    assert TABLE.servers.get(str(fault)), "no rule is known that notices it: tests.check.find_faults --servers"
    by_name = {name_of(rule, case): (rule, case) for rule, case in cases()}
    names = [name for name in TABLE.servers[str(fault)] if name in by_name]
    found = [await run(*by_name[name], fault) for name in names]
    assert min(each.by for each in found) <= By.SET_UP, f"no check of {names} notices it"


def test_the_table_is_about_rules_that_there_are():
    assert {name.split(" ")[0] for name in TABLE.faults} <= set(all_rules())
