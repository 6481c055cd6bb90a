"""How a generation ends and the next one forms (Apache Kafka `GroupMetadataManager`, classic group part).

prepare_rebalance   the current generation ends, everybody is to join again
try_complete        somebody joined or went: is the join phase over?
complete_join       it is: drop who did not come, choose protocol and leader, answer everybody
on_join_timeout     it is over by time
on_sync_timeout     the sync phase is: put out who did not sync
expel               a member is put out
"""

from typing import Literal

from kcoord.core.answers import join_error, join_success, sync_error
from kcoord.core.group import Group, Member
from kcoord.core.notes import (
    GenerationFormed,
    GroupEmptied,
    JoinPhaseHeldOpen,
    MemberExpired,
    PendingMemberExpired,
    RebalanceStarted,
)
from kcoord.core.settings import HOLD_OPEN_FLOOR_MS
from kcoord.core.states import GroupState
from kcoord.core.step import Step
from kcoord.core.tables import group_record
from wire.errors import ErrorCode

CAN_PREPARE = frozenset({GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE})


def prepare_rebalance(step: Step, group: Group, reason: str) -> None:
    """End the generation and open the join phase. The generation's number goes up only when the phase is over.

    An Empty group waits for `group.initial.rebalance.delay.ms`, so that members started together come together
    (KIP-134). Any other completes as soon as everybody has joined, at the latest after the longest rebalance timeout.
    """
    if group.state is GroupState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
            answer_sync_with_error(step, group, member, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    step.tables.timers.cancel(("sync", group.group_id))
    initial = group.state is GroupState.EMPTY
    waiting = tuple(m.member_id for m in group.members.values() if m.parked_join is None)
    step.note(RebalanceStarted(group=group.group_id, generation=group.generation, reason=reason, waiting_for=waiting))
    group.enter(GroupState.PREPARING_REBALANCE, step.now.wall_ms)
    if initial:
        delay = step.tables.settings.group_initial_rebalance_delay_ms
        group.delay_left_ms = max(group.rebalance_timeout_ms - delay, 0)
        set_phase_timer(step, group, "join", delay)
    elif group.has_all_joined:
        complete_join(step, group)
    else:
        set_phase_timer(step, group, "join", group.rebalance_timeout_ms)


def set_phase_timer(step: Step, group: Group, phase: Literal["join", "sync"], timeout_ms: int) -> None:
    """Let the join or sync phase end `timeout_ms` from now."""
    step.tables.timers.set((phase, group.group_id), step.now.mono + timeout_ms / 1000)


def maybe_rebalance(step: Step, group: Group, reason: str) -> None:
    """Open the join phase, or see whether the one that runs is over now."""
    if group.state in CAN_PREPARE:
        prepare_rebalance(step, group, reason)
    else:
        try_complete(step, group)


def try_complete(step: Step, group: Group) -> None:
    """End the join phase if everybody is there. The initial delay is never cut short by that."""
    if group.state is GroupState.PREPARING_REBALANCE and not group.in_initial_rebalance and group.has_all_joined:
        complete_join(step, group)


def complete_join(step: Step, group: Group) -> None:
    """End the join phase: form the next generation of those that joined, or become Empty.

    Dynamic members that did not join are dropped. Static ones stay as they are, for they may be restarting; if
    nobody else is there, the phase goes on until one joins or its session ends (KAFKA-8220).
    """
    step.tables.timers.cancel(("join", group.group_id))
    missing = [m for m in group.members.values() if m.parked_join is None and not m.is_static]
    for member in missing:
        step.cancel_session(group, member.member_id)
        group.remove(member.member_id)
        note_expired(step, group, member, "did not rejoin within the rebalance timeout")
    if not group.elect_leader() and group.members:
        step.note(
            JoinPhaseHeldOpen(group=group.group_id, generation=group.generation, waiting_for=tuple(group.members))
        )
        set_phase_timer(step, group, "join", max(group.rebalance_timeout_ms, HOLD_OPEN_FLOOR_MS))
        return
    group.generation += 1
    if not group.members:
        become_empty(step, group)
        return
    group.protocol_name = group.select_protocol()
    group.compute_subscribed_topics()
    group.enter(GroupState.COMPLETING_REBALANCE, step.now.wall_ms)
    step.note(
        GenerationFormed(
            group=group.group_id,
            generation=group.generation,
            protocol=group.protocol_name,
            leader=group.leader_id or "",
            members=tuple(group.members),
        )
    )
    for member in group.members.values():
        parked = group.take_join(member)
        if parked is not None:
            join_success(step, parked, group, member)
        step.restart_session(group, member)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    if step.behaviour.keeps_who_does_not_sync:
        group.pending_syncs.clear()
    else:
        set_phase_timer(step, group, "sync", group.rebalance_timeout_ms)


def become_empty(step: Step, group: Group) -> None:
    """Nobody is left. The group keeps its protocol type, its generation and its offsets."""
    group.protocol_name = None
    group.compute_subscribed_topics()
    step.write(group_record(group, step.now.wall_ms))
    step.note(GroupEmptied(group=group.group_id, generation=group.generation))


def on_join_timeout(step: Step, group: Group) -> None:
    """The join phase's time is up.

    In the initial rebalance, a member that came during the delay buys another delay, as long as the first member's
    rebalance timeout has something left (KIP-134, `tryCompleteInitialRebalanceElseSchedule`).
    """
    if group.in_initial_rebalance and group.new_member_added and group.delay_left_ms:
        group.new_member_added = False
        delay = step.tables.settings.group_initial_rebalance_delay_ms
        next_delay = min(delay, group.delay_left_ms)
        group.delay_left_ms = max(group.delay_left_ms - delay, 0)
        set_phase_timer(step, group, "join", next_delay)
    else:
        complete_join(step, group)


def on_sync_timeout(step: Step, group: Group) -> None:
    """Put out the members that never sent SyncGroup in this generation, whatever they sent else (KAFKA-9752).

    The group may be Stable by now: a follower that does not sync is put out although the leader did.
    """
    late = [group.members[member_id] for member_id in group.members if member_id in group.pending_syncs]
    for member in late:
        step.cancel_session(group, member.member_id)
        group.remove(member.member_id)
        note_expired(step, group, member, "did not send SyncGroup within the rebalance timeout")
    names = ", ".join(member.member_id for member in late)
    prepare_rebalance(step, group, f"removing {names} on pending sync expiration")


def synced(step: Step, group: Group, member: Member) -> None:
    """A member sent its SyncGroup; when nobody is left to, the sync deadline falls away."""
    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        step.tables.timers.cancel(("sync", group.group_id))


def on_session_timeout(step: Step, group: Group, member_id: str) -> None:
    """A member's session ended, or a handed-out id was not used in time."""
    if member_id in group.pending_joins:
        group.remove(member_id)
        step.note(PendingMemberExpired(group=group.group_id, member=member_id))
        complete_if_all_joined(step, group)
        return
    member = group.members[member_id]
    if not member.satisfies_heartbeat:
        why = "no heartbeat within the session timeout"
        expel(step, group, member, "the first JoinGroup was not answered in time" if member.is_new else why)


def expel(step: Step, group: Group, member: Member, why: str, cause: str = "on heartbeat expiration") -> None:
    """Put a member out that shows no sign of life; the others have to share its partitions."""
    parked = group.take_join(member)
    if parked is not None:
        join_error(step, parked, ErrorCode.UNKNOWN_MEMBER_ID, "")
    group.remove(member.member_id)
    note_expired(step, group, member, why)
    if group.state is GroupState.PREPARING_REBALANCE:
        complete_if_all_joined(step, group)
    else:
        prepare_rebalance(step, group, f"removing member {member.member_id} {cause}")


def complete_if_all_joined(step: Step, group: Group) -> None:
    """End a join phase, an initial one too, that only waited for somebody who expired.

    Unlike `try_complete` this does not spare the initial delay: Apache Kafka 4 does not look at it on expiry.
    """
    if step.behaviour.expiry_spares_initial_delay:
        try_complete(step, group)
    elif group.state is GroupState.PREPARING_REBALANCE and group.has_all_joined:
        complete_join(step, group)


def answer_sync_with_error(step: Step, group: Group, member: Member, error: ErrorCode) -> None:
    """Answer a held SyncGroup with an error, if there is one; the member's session starts anew."""
    if member.parked_sync is not None:
        sync_error(step, member.parked_sync, error)
        member.parked_sync = None
        step.restart_session(group, member)


def note_expired(step: Step, group: Group, member: Member, why: str) -> None:
    """Note that a member was put out."""
    step.note(
        MemberExpired(
            group=group.group_id,
            member=member.member_id,
            instance=member.group_instance_id,
            client_id=member.client_id,
            host=member.client_host,
            why=why,
        )
    )
