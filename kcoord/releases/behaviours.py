"""What the coordinator of each release does otherwise than that of the newest one.

The rules of `kcoord check` that end with a release (kcoord/check/rules/before_4_groups.py and before_4_offsets.py) say
it in scripts. Kafka 3.9.2 keeps them all, and each step back from there is what brokers of the releases before and
after it showed when rules about it were asked: 0.11.0.3, 1.0.2, 2.0.1, 2.1.1, 2.2.2, 2.3.1, 2.4.1, 2.5.1, 2.6.3, 2.7.2,
2.8.2, and 3.0.2 to 3.8.1.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from kcoord.core.behaviour import LATEST, Behaviour, OffsetValues, StateNames, TieOrder
from kcoord.releases.ranges import NAMES
from wire.errors import ErrorCode

READ_DELETE_DESCRIBE: Final = 1 << 3 | 1 << 6 | 1 << 8

KAFKA_3_9: Final = Behaviour(
    tie_order=TieOrder.SCALA_2_13,
    each_join_may_complete=True,
    only_first_generation_extends=True,
    expiry_spares_initial_delay=True,
    replaced_member_stays_new=True,
    sync_restarts_session=True,
    leaves_one_by_one=True,
    pending_leave_rebalances=False,
    names_unknown_group=False,
    too_large_commit=ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    offset_values=OffsetValues.VERSION_3,
    deletes_as_a_whole=False,
    last_offset_takes_group=True,
    entries_once=True,
    stores_from_first_generation=True,
    group_records_unnumbered=True,
    assignments_in_stable_only=True,
    group_operations=READ_DELETE_DESCRIBE,
    state_names=StateNames.ANY_CASE,
    sync_while_loading=ErrorCode.REBALANCE_IN_PROGRESS,
    session_bounds_first=False,
    lists_while_loading=True,
)
"""The last release with the old coordinator."""

STEPS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "4.2": {"offset_values": OffsetValues.VERSION_4},
        "3.7": {"state_names": StateNames.EXACTLY},
        "3.4": {"skips_empty_topics": True, "fetches_groups_once": True},
        "3.2": {"rejoining_keeps_timeouts": True},
        "2.8": {"checks_unknown_instances": False},
        "2.7": {"keeps_who_does_not_sync": True},
        "2.5": {
            "heartbeats_wait_for_sync": True,
            "restarts_never_rebalance": True,
            "tie_order": TieOrder.SCALA_2_12,  # not the release's doing: what brokers of it are mostly built with
        },
        "2.2": {"describes_once": True},
        "2.1": {"error_generation": 0},
        "1.0": {"completing_rebalance": "AwaitingSync"},
        "0.11": {"empty_group_id_refused_by_join_only": True},
    }
)
"""What is different in a release, and in all before it, from those after it."""


def _behaviours() -> Mapping[str, Behaviour]:
    found: dict[str, Behaviour] = {}
    current = LATEST
    for name in reversed(NAMES):
        current = KAFKA_3_9 if name == "3.9" else replace(current, **STEPS.get(name, {}))
        found[name] = current
    return MappingProxyType(found)


BEHAVIOURS: Final = _behaviours()
"""What each release does, by its name."""
