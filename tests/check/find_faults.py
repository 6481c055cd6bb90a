"""Finds what breaks each rule, and writes it into faults_that_break.json.

    python -m tests.check.find_faults              what is not known yet
    python -m tests.check.find_faults --again      looks whether what is known is still so, too
    python -m tests.check.find_faults --all        everything anew (some minutes)
    python -m tests.check.find_faults --servers    looks for the rules that notice each wrong server, too (ten minutes)
    python -m tests.check.find_faults --noticed    counts what rules notice, and tells which notice least

A rule is told with a wrong server if it is one of the few that were looked for to notice that, else with what has to be
changed in an answer.
"""

import argparse
import sys
from collections import Counter

from kcoord.check import rule as rules
from kcoord.check.result import Verdict
from tests.check.can_fail import By, Table, cases, name_of, noticed, run, search, table
from tests.check.faults import Fault
from tests.check.mutants import MUTANTS
from tests.check.servers import FAULTS
from tests.scenarios.conftest import run_in_virtual_time
from tests.scenarios.harness import no_jumps_while_threads_work

TIMES = 3
"""How often a fault must be noticed to be told: tasks take turns by chance."""
MOST_CHANGES = 40
WITNESSES = 3
"""Rules that are told for each wrong server."""
FAR = 99
MOST_ASKED = 60
"""Rules that are asked about one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("again", "all", "servers", "noticed"):
        parser.add_argument(f"--{flag}", action="store_true")
    wanted = parser.parse_args()
    known = Table({}, {}, {}) if wanted.all else table()
    try:
        with no_jumps_while_threads_work():
            if wanted.servers:
                find_witnesses(known)
            find_faults(known, wanted.again)
            if wanted.noticed:
                count_noticed(known)
    finally:
        known.write()


def find_faults(known: Table, again: bool) -> None:
    """Find what breaks the cases of which that is not known, or with `again` not so any more."""
    for rule, case in cases():
        name = name_of(rule, case)
        fault = known.faults.pop(name, None)
        if fault is None or (again and not always(rule, case, Fault.parse(fault))):
            fault = find(rule, case)
            print(f"{name}: {fault or 'NOTHING'}", flush=True)
        if fault:
            known.faults[name] = fault
    there = {name_of(rule, case) for rule, case in cases()}
    known.faults = {name: fault for name, fault in known.faults.items() if name in there}
    print(Counter(fault.split(" ")[0] for fault in known.faults.values()))


def find(rule: rules.Rule, case: rules.Case) -> str | None:
    """What breaks a case, again and again; None if nothing does."""
    unharmed = run_in_virtual_time(run, rule, case)
    if unharmed.verdict is not Verdict.KEPT:
        sys.exit(f"{name_of(rule, case)} is broken without a fault: {unharmed.text}")
    fault, found = run_in_virtual_time(search, rule, case, unharmed)
    if fault is None or found.by > By.A_CHECK or not always(rule, case, fault):
        return None
    return str(fault)


def always(rule: rules.Rule, case: rules.Case, fault: Fault) -> bool:
    """Whether a fault is noticed each time."""
    return all(run_in_virtual_time(run, rule, case, fault).by <= By.A_CHECK for _ in range(TIMES))


def find_witnesses(known: Table) -> None:
    """Find rules that notice each wrong server, those known first, and let it be what breaks them."""
    by_name = {name_of(rule, rule.cases[0]): rule for rule, _ in cases()}
    for fault in FAULTS:
        told = [by_name[name] for name in known.servers.get(str(fault), ()) if name in by_name]
        near = sorted((rule for rule in by_name.values() if rule not in told), key=lambda rule: distance(rule, fault))
        names: dict[str, By] = {}
        for rule in (*told, *(rule for rule in near[:MOST_ASKED] if distance(rule, fault) < FAR)):
            if list(names.values()).count(By.ITS_OWN) == WITNESSES:
                break
            by = max(run_in_virtual_time(run, rule, rule.cases[0], fault).by for _ in range(TIMES))
            if by <= By.SET_UP:
                names[name_of(rule, rule.cases[0])] = by
            if by is By.ITS_OWN:
                known.faults |= {name_of(rule, case): str(fault) for case in rule.cases if always(rule, case, fault)}
        known.servers[str(fault)] = sorted(names, key=lambda name: names[name])[:WITNESSES]
        print(f"{fault}: {', '.join(known.servers[str(fault)]) or 'NOBODY'}", flush=True)


def distance(rule: rules.Rule, fault: Fault) -> int:
    """How far a rule is from being about what a server as a whole does wrong."""
    if fault.kind == "setting":
        name, _, _ = fault.what.partition("=")
        return 0 if name in rule.settings else 1 if name == SETTING_OF.get(rule.subject) else FAR
    if fault.kind == "mutant":
        place = MUTANTS[fault.what].function
        subjects = next(ABOUT[begin] for begin in sorted(ABOUT, key=len, reverse=True) if place.startswith(begin))
        order = subjects.split()
        return order.index(rule.subject) if rule.subject in order else FAR
    return (
        0 if rule.api == fault.what or (fault.kind == "clock" and rule.subject in ("heartbeat", "deadlines")) else FAR
    )


ABOUT = {
    "core.step": "heartbeat deadlines hold_ups",
    "core.membership:check_heartbeat": "heartbeat",
    "core.membership:le": "leaving removing operators",
    "core.joining": "joining refused_joins rebalancing choices deadlines",
    "core.joining:add_member": "heartbeat deadlines joining hold_ups",
    "core.joining:has_room": "size",
    "core.joining:turn_away": "size",
    "core.joining:join_without_id": "joining refused_joins static_members static_restarts",
    "core.joining:replace_static_member": "static_restarts static_members static_upkeep choices",
    "core.joining:rejoin": "rebalancing joining choices",
    "core.rebalance": "rebalancing deadlines initial_delay late_syncing syncing static_upkeep hold_ups joining",
    "core.rebalance:on_session_timeout": "heartbeat late_syncing deadlines hold_ups static_upkeep joining",
    "core.rebalance:expel": "heartbeat deadlines hold_ups",
    "core.rebalance:on_join_timeout": "initial_delay",
    "core.group": "choices assignors rebalancing refused_joins joining deadlines",
    "core.group:Group.check_member": "static_members static_restarts heartbeat syncing leaving committing",
    "core.answers": "joining rebalancing choices refused_joins assignors",
    "core.syncing": "syncing late_syncing heartbeat",
    "core.offsets": "committing committed simple_commits commit_answers fetching_offsets offsets",
    "core.offsets:check_delete": "deleting_offsets",
    "core.offsets:delete_topic": "deleting_offsets",
    "core.offsets:topics_deleted": "deleting_topics offsets_topic fetching_offsets offsets fetching_versions",
    "core.retention": "retention retention_asked",
    "core.listing": "describing listing deleting_groups operators",
    "log.producers": "producer_ids producing refused_records",
    "log.partition": "deleting_records topic_settings retention offsets_topic producing",
    "apis.api_versions": "misrouted odd_requests connections",
    "apis.sync_group": "syncing",
    "apis.offset": "commit_answers committing committed fetching_offsets fetching_versions",
    "apis.delete_records": "deleting_records",
    "apis.list_offsets": "listing_offsets looking_up",
    "apis.init_producer_id": "producer_ids",
    "apis.delete_topics": "deleting_topics",
    "apis.metadata": "metadata",
    "apis.fetch": "fetching held_fetches fetching_records",
    "apis.create_topics": "creating_topics creating_many",
    "apis.altering": "altering_configs altering_one_by_one",
}
"""The subjects of rules that are about what functions do whose place begins so."""
SETTING_OF = {
    "initial_delay": "group.initial.rebalance.delay.ms",
    "joining": "group.min.session.timeout.ms",
    "refused_joins": "group.max.session.timeout.ms",
    "size": "group.max.size",
    "committed": "offset.metadata.max.bytes",
    "retention": "offsets.retention.check.interval.ms",
    "refused_records": "message.max.bytes",
    "creating_topics": "num.partitions",
    "metadata": "auto.create.topics.enable",
    "connections": "connections.max.idle.ms",
    "producing": "log.message.timestamp.type",
}
"""A setting that rules of a subject count on without saying so, as it is at its default."""


def count_noticed(known: Table) -> None:
    """Count the changes that the first case of each rule notices, of those of one answer for each kind of change."""
    known.noticed = {}
    for rule, case in cases():
        if case is rule.cases[0]:
            known.noticed[rule.id] = list(run_in_virtual_time(noticed, rule, case, MOST_CHANGES))
    for name, (count, tried) in sorted(known.noticed.items(), key=lambda one: one[1][0] / (one[1][1] or 1))[:40]:
        print(f"{name} notices {count} of {tried} changes")


if __name__ == "__main__":
    main()
