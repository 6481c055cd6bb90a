"""Rules at a broker that offers less than kcoord does, or is set up otherwise: none may call that a fault of its."""

import pytest

from kcoord.check.result import Verdict
from kcoord.check.rules import all_rules
from kcoord.check.runner import Plan, check
from tests.check.conftest import server
from tests.scenarios.harness import no_jumps_while_threads_work

GROUPS = (
    "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch DescribeGroups ListGroups DeleteGroups "
    "OffsetDelete Connection"
)
RECORDS = "Fetch ListOffsets DeleteRecords"
ABOUT_ALL_THAT_IS_OFFERED = "odd-requests-2"
"""It asks in every version that there is, also of what takes long."""


@pytest.mark.parametrize(
    ("setting", "value", "apis"),
    [
        ("group.max.size", "1", GROUPS),
        ("group.max.size", "3", GROUPS),
        ("group.min.session.timeout.ms", "20000", GROUPS),
        ("group.max.session.timeout.ms", "9000", GROUPS),
        ("offset.metadata.max.bytes", "3", GROUPS),
        ("group.initial.rebalance.delay.ms", "0", GROUPS),
        ("mask", "JoinGroup=0-4", GROUPS),
        ("mask", "LeaveGroup=0-2", GROUPS),
        ("mask", "OffsetFetch=1-6", GROUPS),
        ("mask", "DeleteGroups=none", GROUPS),
        ("mask", "Metadata=0-3", GROUPS),
        ("mask", "Produce=3-6", RECORDS),
    ],
)
async def test_no_rule_is_broken(setting, value, apis):
    rules = [each for each in all_rules().values() if each.api in apis.split() and each.id != ABOUT_ALL_THAT_IS_OFFERED]
    with no_jumps_while_threads_work():
        async with server({setting: value}) as opener:
            report = await check(opener, "here", Plan(rules))
    broken = {
        each.rule.id: next(case.run.failure.message for case in each.cases if case.run.failure)
        for each in report.results
        if each.verdict is Verdict.BROKEN
    }
    assert broken == {}
    assert report.count(Verdict.KEPT) > len(rules) / 4
