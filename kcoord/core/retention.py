"""How long committed offsets, and groups without members, are kept (KIP-211, `OffsetExpirationConditionImpl`)."""

from kcoord.core.group import Group
from kcoord.core.listing import remove_group
from kcoord.core.notes import OffsetsExpired
from kcoord.core.offsets import NO_EXPIRY
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.tables import SWEEP, offset_tombstone
from wire.payloads import OffsetCommitValue

UNKNOWN_TIMESTAMP = -1


def schedule_sweep(step: Step) -> None:
    """Let the next sweep come one `offsets.retention.check.interval.ms` from now."""
    interval_ms = step.tables.settings.offsets_retention_check_interval_ms
    step.tables.timers.set(SWEEP, step.now.mono + interval_ms / 1000)


def sweep(step: Step) -> None:
    """Expire what is too old in each group, and remove each Empty group in which nothing is left."""
    for group in list(step.tables.groups.values()):
        stored = step.tables.offsets.get(group.group_id, {})
        expired = [place for place, value in stored.items() if has_expired(step, group, place[0], value)]
        for topic, partition in expired:
            step.write(offset_tombstone(group.group_id, topic, partition))
        if expired:
            step.note(OffsetsExpired(group=group.group_id, partitions=len(expired)))
        if group.state is GroupState.EMPTY and group.group_id not in step.tables.offsets:
            remove_group(step, group, "nothing left in it")
    schedule_sweep(step)


def has_expired(step: Step, group: Group, topic: str, value: OffsetCommitValue) -> bool:
    """Whether one committed offset is past its time.

    What a member consumes is kept, and everything is kept while that cannot be known. An expiry that the commit
    itself asked for (versions 2 to 4) counts before the broker's retention.
    """
    base = expiry_base(group, value)
    if base is None or group.is_subscribed(topic):
        return False
    if value.expire_timestamp != NO_EXPIRY:
        return step.now.wall_ms >= value.expire_timestamp
    return step.now.wall_ms - base >= step.tables.settings.offsets_retention_ms


def expiry_base(group: Group, value: OffsetCommitValue) -> int | None:
    """Return the Unix time in ms from which the retention counts, or None where nothing may expire.

    A simple group counts from the commit, a group that had members from when it lost the last one - a commit made
    since then does not postpone that -, a living consumer group from the commit again.
    """
    if group.is_simple:
        return value.commit_timestamp
    if group.state is GroupState.EMPTY:
        since = group.state_timestamp
        return value.commit_timestamp if since == UNKNOWN_TIMESTAMP else since
    if group.state is GroupState.STABLE and group.subscribed_topics is not None:
        return value.commit_timestamp
    return None
