"""Fields of answers that no two brokers share, and those by which the elements of a list are told apart."""

from dataclasses import dataclass
from typing import Any, Final

from kcoord.dump.learning import KINDS

MASKED: Final = frozenset(
    {
        "base_timestamp",
        "client_host",
        "commit_timestamp",
        "crc",
        "finalized_features_epoch",
        "host",
        "log_append_time_ms",
        "log_dir",
        "max_timestamp",
        "port",
        "throttle_time_ms",
        "timestamp",
        "total_bytes",
        "usable_bytes",
    }
)
"""Fields that are not compared, only whether they are there: -1, "" and null mean that they are not."""
NEVER: Final = frozenset({"throttle_time_ms", "crc"})
"""Fields that are not compared at all: there is no meaning in their being 0."""
ABSENT: Final = (None, "", -1)
NAMES: Final = (
    "member_id", "api_key", "topic_name", "topic", "name", "topic_id", "group_id", "key", "partition_index",
    "partition", "index", "node_id", "broker_id", "resource_name", "log_dir",
)  # fmt: skip
"""Fields by which the elements of a list are told apart, the first that all of them have, each its own."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """What stands for an element that one of the two answers lacks."""

    def __repr__(self) -> str:
        return "nothing"


def key_of(recorded: list[Any], now: list[Any]) -> str | None:
    """Return the field by which all elements of both lists are told apart, if there is one."""
    both = [*recorded, *now]
    if not all(isinstance(each, dict) for each in both):
        return None
    for name in NAMES:
        if all(isinstance(each.get(name), (str, int)) or (name in KINDS and each.get(name)) for each in both) and (
            len({each[name] for each in recorded}) == len(recorded) and len({each[name] for each in now}) == len(now)
        ):
            return name
    return None
