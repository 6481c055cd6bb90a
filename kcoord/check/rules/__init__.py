"""The rules, by subject. A module that is not listed here is not known."""

from importlib import import_module
from typing import Final

from kcoord.check.rule import Rule, registered

SUBJECTS: Final = (
    "connections",
    "misrouted",
    "finding_coordinators",
    "tagged_fields",
    "joining",
    "refused_joins",
    "refusals",
    "initial_delay",
    "rebalancing",
    "choices",
    "assignors",
    "deadlines",
    "hold_ups",
    "size",
    "static_members",
    "static_restarts",
    "static_upkeep",
    "syncing",
    "late_syncing",
    "heartbeat",
    "leaving",
    "removing",
    "committing",
    "simple_commits",
    "committed",
    "commit_answers",
    "fetching_offsets",
    "fetching_versions",
    "deleting_offsets",
    "offsets",
    "describing",
    "listing",
    "deleting_groups",
    "operators",
    "metadata",
    "creating_topics",
    "creating_many",
    "topic_settings",
    "deleting_topics",
    "growing_topics",
    "configs",
    "altering_configs",
    "altering_one_by_one",
    "cluster",
    "paging_topics",
    "retention",
    "retention_asked",
    "offsets_topic",
    "batches",
    "listing_offsets",
    "looking_up",
    "fetching",
    "fetching_records",
    "held_fetches",
    "producing",
    "refused_records",
    "producer_ids",
    "deleting_records",
    "leader_epochs",
    "handing_over",
    "every_state",
    "minimal_requests",
    "full_groups",
    "full_topics",
    "full_records",
    "malformed",
    "odd_requests",
    "before_4_groups",
    "before_4_offsets",
    "before_4_topics",
)
"""The modules, in the order in which reports have them."""


def all_rules() -> dict[str, Rule]:
    """Load the rules, and return them by id, in the order in which reports have them."""
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
    return registered()
