"""What a request is about, piece by piece: its groups, members, topics and partitions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One piece of a request that has an answer of its own. What it does not have is None."""

    group: str | None = None
    member: str | None = None
    instance_id: str | None = None
    topic: str | None = None
    partition: int | None = None
