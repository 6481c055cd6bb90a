"""The states of a classic group and the moves between them (Apache Kafka `ClassicGroupState`).

What a client is answered depends on the state first of all. For a request from a *known* member of the right
generation, or a newcomer:

`Empty` - no members. Either nothing but committed offsets, or a group between two lives.
    JoinGroup of a newcomer starts the *initial* rebalance: the group gathers members for
    `group.initial.rebalance.delay.ms`, and once more each time somebody arrives meanwhile. SyncGroup, Heartbeat and
    LeaveGroup know nobody: UNKNOWN_MEMBER_ID. OffsetCommit is taken from anybody who claims no generation.
    Leads to PreparingRebalance.

`PreparingRebalance` - the join phase. The old generation still counts, so its members may commit.
    JoinGroup is held until everybody has joined or the longest rebalance timeout is over (initial: until the delay is).
    SyncGroup: REBALANCE_IN_PROGRESS. Heartbeat: the same, and the session goes on. LeaveGroup may complete the phase.
    Leads to CompletingRebalance; to Empty when nobody is left.

`CompletingRebalance` - the new generation is formed, its leader computes the assignment.
    JoinGroup unchanged: answered at once, as the answer may have been lost; changed or new: back to
    PreparingRebalance. SyncGroup is held until the leader's arrives. Heartbeat is fine. OffsetCommit:
    REBALANCE_IN_PROGRESS, for the member does not own its partitions yet.
    Leads to Stable; to PreparingRebalance when somebody comes, goes, or does not sync in time.

`Stable` - everybody has, or can fetch, its assignment.
    JoinGroup of the leader or with changed protocols: PreparingRebalance; unchanged: answered at once. SyncGroup is
    answered at once. Heartbeat and OffsetCommit are fine.
    Leads to PreparingRebalance.

`Dead` - no longer looked up by anybody: deleted, or unloaded with its partition. In the coordinator a dead group is
    out of the table in the same turn, so that requests meet "no such group"; the name is what DescribeGroups says of
    groups that do not exist.
"""

from enum import Enum


class GroupState(Enum):
    """A group's state; the value is the text that DescribeGroups and ListGroups show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


ALLOWED_FROM: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
"""For each state, the states from which a group may enter it."""


class IllegalMove(Exception):
    """The coordinator broke its own rules. This is a bug in it, never a client's doing: the shard must stop."""
