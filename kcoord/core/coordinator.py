"""The coordinator of one partition of the offsets topic: a request and the time go in, an `Outcome` comes out."""

from collections.abc import Callable
from typing import Any

from kcoord.core.answers import answer_held
from kcoord.core.joining import join_group
from kcoord.core.listing import delete_groups, describe_groups, list_groups
from kcoord.core.membership import heartbeat, leave_group
from kcoord.core.notes import GroupLoaded
from kcoord.core.offsets import offset_commit, offset_delete, offset_fetch, topics_deleted
from kcoord.core.operators import Operation, operate
from kcoord.core.outcome import Context, Now, Outcome, Record
from kcoord.core.rebalance import on_join_timeout, on_session_timeout, on_sync_timeout, prepare_rebalance
from kcoord.core.retention import schedule_sweep, sweep
from kcoord.core.settings import GroupSettings
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.syncing import sync_group
from kcoord.core.tables import Tables, TimerName
from wire.errors import ErrorCode
from wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

RULES: dict[type, Callable[[Step, object, Context, Any], None]] = {
    HeartbeatRequest: heartbeat,
    JoinGroupRequest: join_group,
    SyncGroupRequest: sync_group,
    LeaveGroupRequest: leave_group,
    OffsetCommitRequest: offset_commit,
    OffsetFetchRequest: offset_fetch,
    OffsetDeleteRequest: offset_delete,
    DescribeGroupsRequest: describe_groups,
    ListGroupsRequest: list_groups,
    DeleteGroupsRequest: delete_groups,
}


class Coordinator:
    """All groups of one partition.

    It knows no clock and no randomness: `new_id` gives the unique part of a member id (a lower-case dashed uuid in
    Kafka), and every call brings the time. Before `loaded` it takes nothing but records.

    Every token given to `handle` comes back in exactly one reply: of this outcome, or of a later one. What a client
    does wrong is an error code in its reply. `IllegalMove` out of any method is a bug in here, and whoever runs the
    coordinator must drop it and load it anew.
    """

    __slots__ = ("tables",)

    def __init__(self, settings: GroupSettings, new_id: Callable[[], str]) -> None:
        self.tables = Tables(settings, new_id)

    def handle(self, token: object, context: Context, request: Any, now: Now) -> Outcome:
        """Take one request; its answer is in the outcome, unless it has to wait."""
        outcome = Outcome()
        RULES[type(request)](Step(self.tables, now, outcome), token, context, request)
        return outcome

    def advance(self, now: Now, *, late: bool = False) -> Outcome:
        """Let everything happen that is due by `now`, in order.

        Each deadline has its effect at its own moment, so that a jump of a clock over many of them comes out as if
        time had passed through them one by one. With `late` they have it at `now`: the clock did not jump, whoever
        calls was held up, and a session that starts with an answer must not be over before the answer is read.
        """
        outcome = Outcome()
        while (due := self.tables.timers.pop_due(now.mono)) is not None:
            name, deadline = due
            if name[0] == "sweep" and not self.tables.groups:
                # Nothing can be swept before somebody comes: a jump over many sweeps needs but the last of them.
                interval = self.tables.settings.offsets_retention_check_interval_ms / 1000
                deadline += (now.mono - deadline) // interval * interval
            self._fire(name, Step(self.tables, now if late else now.back_at(deadline), outcome))
        return outcome

    def operate(self, token: object, operation: Operation, now: Now) -> Outcome:
        """Do to a group what an operator or a test wishes; its answer is a `kcoord.core.operators.Answer`."""
        outcome = Outcome()
        operate(Step(self.tables, now, outcome), token, operation)
        return outcome

    def topics_deleted(self, names: set[str], now: Now) -> Outcome:
        """Let go of what was committed for topics that are no more. It answers nobody."""
        outcome = Outcome()
        topics_deleted(Step(self.tables, now, outcome), names)
        return outcome

    def next_deadline(self) -> float | None:
        """Return the moment (seconds, as `Now.mono`) at which `advance` wants to be called, or None."""
        return self.tables.timers.next_deadline()

    def apply(self, record: Record) -> None:
        """Replay one record from the store, in its order."""
        self.tables.apply(record)

    def loaded(self, now: Now) -> Outcome:
        """All records are replayed: sessions start, in full, and so does the sweep.

        Nobody rebalances for a reload, but a group that is larger than `group.max.size` by now does.
        """
        outcome = Outcome()
        step = Step(self.tables, now, outcome)
        self.tables.live = True
        schedule_sweep(step)
        for group in self.tables.groups.values():
            for member in group.members.values():
                step.restart_session(group, member)
            step.note(
                GroupLoaded(
                    group=group.group_id,
                    state=group.state.value,
                    generation=group.generation,
                    members=len(group.members),
                )
            )
            if len(group.members) > self.tables.settings.group_max_size:
                prepare_rebalance(step, group, "the group is larger than group.max.size")
        return outcome

    def unload(self, now: Now) -> Outcome:
        """The partition goes elsewhere: everybody who waits is told so, and nothing is kept."""
        outcome = Outcome()
        step = Step(self.tables, now, outcome)
        for group in self.tables.groups.values():
            for member in group.members.values():
                answer_held(step, group, member, ErrorCode.NOT_COORDINATOR, member.member_id)
            group.enter(GroupState.DEAD, now.wall_ms)
        self.tables = Tables(self.tables.settings, self.tables.new_id)
        return outcome

    def check(self) -> None:
        """Raise AssertionError where the tables contradict themselves. For tests."""
        timers = self.tables.timers
        for group in self.tables.groups.values():
            group.check()
            preparing = group.state is GroupState.PREPARING_REBALANCE
            assert (("join", group.group_id) in timers) == preparing
            assert (("sync", group.group_id) in timers) == bool(group.pending_syncs)
            assert all(("session", group.group_id, pending) in timers for pending in group.pending_joins)
        assert self.tables.offsets.keys() <= self.tables.groups.keys()
        assert all(self.tables.offsets.values())

    def _fire(self, name: TimerName, step: Step) -> None:
        if name[0] == "sweep":
            sweep(step)
            return
        group = self.tables.groups[name[1]]
        if name[0] == "session":
            on_session_timeout(step, group, name[2])
        elif name[0] == "join":
            on_join_timeout(step, group)
        else:
            on_sync_timeout(step, group)
