"""Servers of which one rule was taken out: what a function of `kcoord` says is replaced by something else.

Each is written as the function, a piece of its text, and what stands there instead. A piece that is not there once (the
function was rewritten, say) is an error, so that no mutant is quietly the server as it should be.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """`function` is where it stands, as "core.membership:heartbeat" or "core.group:Group.add"."""

    function: str
    old: str
    new: str

    @property
    def place(self) -> tuple[Any, str]:
        """The module or class, and the name in it."""
        module, _, name = self.function.partition(":")
        owner: Any = import_module(f"kcoord.{module}")
        *outer, last = name.split(".")
        for part in outer:
            owner = getattr(owner, part)
        return owner, last

    @cached_property
    def changed(self) -> Any:
        """The other function (or property)."""
        owner, name = self.place
        original = owner.__dict__[name]
        function = original.fget if isinstance(original, property) else inspect.unwrap(original)
        text = textwrap.dedent(inspect.getsource(function))
        assert text.count(self.old) == 1, f"{self.function} has {self.old!r} {text.count(self.old)} times, not once"
        names: dict[str, Any] = {}
        code = compile(f"from __future__ import annotations\n{text.replace(self.old, self.new)}", self.function, "exec")
        exec(code, function.__globals__, names)
        return names[name]


GROUPS = {
    # heartbeats and sessions
    "heartbeats do not extend the session": Mutant(
        "core.membership:check_heartbeat", "step.restart_session(group, group.members[request.member_id])", "pass"
    ),
    "heartbeats of another generation are fine": Mutant(
        "core.membership:check_heartbeat", "request.generation_id != group.generation", "False"
    ),
    "heartbeats do not tell of a rebalance": Mutant(
        "core.membership:check_heartbeat", "group.state is GroupState.PREPARING_REBALANCE", "False"
    ),
    "heartbeats look at the generation first": Mutant(
        "core.membership:check_heartbeat",
        "error = group.check_member(request.member_id, request.group_instance_id)",
        "error = group.check_member(request.member_id, request.group_instance_id)"
        " if request.generation_id == group.generation else ErrorCode.ILLEGAL_GENERATION",
    ),
    "heartbeats do not count during a rebalance": Mutant(
        "core.membership:check_heartbeat",
        "step.restart_session(group, group.members[request.member_id])",
        "group.state is GroupState.PREPARING_REBALANCE or"
        " step.restart_session(group, group.members[request.member_id])",
    ),
    "heartbeats are told of a rebalance while assignments are awaited": Mutant(
        "core.membership:check_heartbeat",
        "group.state is GroupState.PREPARING_REBALANCE",
        "group.state in (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE)",
    ),
    "members whose session is over stay": Mutant(
        "core.rebalance:on_session_timeout", "if not member.satisfies_heartbeat:", "if member.is_new:"
    ),
    "sessions end while a request is held": Mutant(
        "core.rebalance:on_session_timeout", "if not member.satisfies_heartbeat:", "if True:"
    ),
    "handed-out ids stay for ever": Mutant(
        "core.rebalance:on_session_timeout",
        "if member_id in group.pending_joins:\n",
        "if member_id in group.pending_joins:\n        return\n",
    ),
    "handed-out ids that expire end no join phase": Mutant(
        "core.rebalance:on_session_timeout", "complete_if_all_joined(step, group)", "pass"
    ),
    "who expires starts no rebalance": Mutant(
        "core.rebalance:expel",
        'prepare_rebalance(step, group, f"removing member {member.member_id} {cause}")',
        "group.members or prepare_rebalance(step, group, '')",
    ),
    "who expires ends no join phase": Mutant("core.rebalance:expel", "complete_if_all_joined(step, group)", "pass"),
    "new members are given their session at once": Mutant(
        "core.joining:add_member", "NEW_MEMBER_JOIN_TIMEOUT_MS", "request.session_timeout_ms"
    ),
    "sessions do not start with the answer to JoinGroup": Mutant(
        "core.rebalance:complete_join", "step.restart_session(group, member)", "pass"
    ),
    "sessions do not start with the answer to SyncGroup": Mutant(
        "core.syncing:complete_sync", "step.restart_session(group, member)", "pass"
    ),
    "sessions last half as long": Mutant("core.step:Step.set_session", "timeout_ms / 1000", "timeout_ms / 2000"),
    "sessions last twice as long": Mutant("core.step:Step.set_session", "timeout_ms / 1000", "timeout_ms / 500"),
    "commits do not extend the session": Mutant(
        "core.offsets:check_commit", "step.restart_session(group, group.members[member_id])", "pass"
    ),
    # who is a member
    "static members are not fenced": Mutant("core.group:Group.check_member", "if holder != member_id:", "if False:"),
    "fenced members are called unknown": Mutant(
        "core.group:Group.check_member", "return ErrorCode.FENCED_INSTANCE_ID", "return ErrorCode.UNKNOWN_MEMBER_ID"
    ),
    "instance ids are not looked at": Mutant("core.group:Group.check_member", "instance_id is not None", "False"),
    "instance ids that nobody has are fine": Mutant(
        "core.group:Group.check_member", "if holder is None:\n", "if holder is None and False:\n"
    ),
    # joining
    "the empty group id is a name": Mutant("core.joining:join_group", "not request.group_id", "False"),
    "any session timeout will do": Mutant(
        "core.joining:join_group", "not shortest <= request.session_timeout_ms <= longest", "False"
    ),
    "the limits of the session timeout are not allowed": Mutant(
        "core.joining:join_group",
        "not shortest <= request.session_timeout_ms <= longest",
        "not shortest < request.session_timeout_ms < longest",
    ),
    "member ids are handed out in no version": Mutant(
        "core.joining:join_without_id", "context.version >= MEMBER_ID_REQUIRED_SINCE", "False"
    ),
    "member ids are handed out in every version": Mutant(
        "core.joining:join_without_id", "context.version >= MEMBER_ID_REQUIRED_SINCE", "True"
    ),
    "member ids are handed out to static members, too": Mutant(
        "core.joining:join_without_id", "instance_id is None and context.version", "context.version"
    ),
    "member ids do not begin with the client id": Mutant(
        "core.joining:join_without_id",
        "context.client_id if instance_id is None else instance_id",
        '"member" if instance_id is None else instance_id',
    ),
    "member ids do not begin with the instance id": Mutant(
        "core.joining:join_without_id",
        "context.client_id if instance_id is None else instance_id",
        "context.client_id",
    ),
    "a static member that comes back is refused": Mutant(
        "core.joining:join_without_id",
        "replace_static_member(step, group, join, instance_id, member_id)",
        "refuse(step, join, ErrorCode.UNRELEASED_INSTANCE_ID, '')",
    ),
    "any protocols fit in": Mutant("core.joining:Join.supported_by", "return group.supports(", "return True or ("),
    "a member id that nobody gave is taken": Mutant(
        "core.joining:join_group",
        "if request.member_id:\n            refuse(step, join, ErrorCode.UNKNOWN_MEMBER_ID",
        "if False:\n            refuse(step, join, ErrorCode.UNKNOWN_MEMBER_ID",
    ),
    "group.max.size is not looked at": Mutant(
        "core.joining:has_room", "if group.state is GroupState.EMPTY:", "if True:"
    ),
    "group.max.size is one too many": Mutant(
        "core.joining:has_room", "len(group.members) < limit", "len(group.members) <= limit"
    ),
    "group.max.size counts all members during a rebalance": Mutant(
        "core.joining:has_room", "group.awaiting_joins < limit", "member is not None or len(group.members) < limit"
    ),
    "who is turned away stays a member": Mutant(
        "core.joining:turn_away", "member = group.remove(member_id)", "member = None"
    ),
    "a leader that joins again is answered at once": Mutant(
        "core.joining:rejoin",
        "(group.state is GroupState.COMPLETING_REBALANCE or group.leader_id != member.member_id)",
        "True",
    ),
    "a follower that joins again starts a rebalance": Mutant(
        "core.joining:rejoin",
        "(group.state is GroupState.COMPLETING_REBALANCE or group.leader_id != member.member_id)",
        "False",
    ),
    "changed protocols are not noticed": Mutant(
        "core.joining:rejoin", "unchanged = join.protocols == member.protocols", "unchanged = True"
    ),
    "timeouts stay as they were": Mutant(
        "core.joining:wait_again", "not step.behaviour.rejoining_keeps_timeouts", "False"
    ),
    "protocols stay as they were": Mutant(
        "core.joining:wait_again", "group.change_protocols(member, join.protocols)", "pass"
    ),
    "a second JoinGroup is refused while the first waits": Mutant(
        "core.joining:wait_again",
        "join_error(step, superseded, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)",
        "join_error(step, superseded, ErrorCode.UNKNOWN_MEMBER_ID, '')",
    ),
    "version 0 waits for ever": Mutant(
        "core.joining:Join.rebalance_timeout_ms", "return self.request.session_timeout_ms", "return 10**8"
    ),
    # static members that come back
    "a static member that comes back is not fenced where it waits": Mutant(
        "core.joining:replace_static_member",
        "answer_held(step, group, member, ErrorCode.FENCED_INSTANCE_ID, replaced)",
        "answer_held(step, group, member, ErrorCode.UNKNOWN_MEMBER_ID, '')",
    ),
    "a static member that comes back starts a rebalance": Mutant(
        "core.joining:replace_static_member",
        "group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name",
        "False",
    ),
    "a static member that comes back never starts a rebalance": Mutant(
        "core.joining:replace_static_member",
        "group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name",
        "group.state is GroupState.STABLE",
    ),
    "a static leader that comes back has to assign": Mutant(
        "core.joining:replace_static_member", "skip = group.leader_id == member_id", "skip = False"
    ),
    "a static leader that comes back leads in old versions, too": Mutant(
        "core.joining:replace_static_member", "leader=leader_before", "leader=group.leader_id"
    ),
    "a static member that comes back keeps its old timeouts": Mutant(
        "core.joining:replace_static_member", "not step.behaviour.rejoining_keeps_timeouts", "False"
    ),
    "a static member that comes back has its old session": Mutant(
        "core.joining:replace_static_member", "step.restart_session(group, member)", "pass"
    ),
    "a static member that comes back may have metadata of any size": Mutant(
        "core.joining:replace_static_member",
        "record is not None and too_large(step.tables.settings, [record])",
        "False",
    ),
    # join phases
    "a new group does not wait": Mutant(
        "core.rebalance:prepare_rebalance",
        'set_phase_timer(step, group, "join", delay)',
        'set_phase_timer(step, group, "join", 0)',
    ),
    "a new group waits for ever": Mutant(
        "core.rebalance:prepare_rebalance",
        'set_phase_timer(step, group, "join", delay)',
        'set_phase_timer(step, group, "join", 10**7)',
    ),
    "who arrives does not prolong the initial delay": Mutant(
        "core.rebalance:on_join_timeout",
        "group.in_initial_rebalance and group.new_member_added and group.delay_left_ms",
        "False",
    ),
    "the initial delay goes on beyond the rebalance timeout": Mutant(
        "core.rebalance:on_join_timeout", "min(delay, group.delay_left_ms)", "delay"
    ),
    "the initial delay ends as soon as all have joined": Mutant(
        "core.rebalance:try_complete", "not group.in_initial_rebalance and ", ""
    ),
    "a join phase does not end before its time": Mutant("core.rebalance:try_complete", "group.has_all_joined", "False"),
    "a join phase takes a second too long": Mutant(
        "core.rebalance:prepare_rebalance",
        'set_phase_timer(step, group, "join", group.rebalance_timeout_ms)',
        'set_phase_timer(step, group, "join", group.rebalance_timeout_ms + 1000)',
    ),
    "a join phase takes the shortest rebalance timeout": Mutant(
        "core.group:Group.rebalance_timeout_ms",
        "max([0, *(member.rebalance_timeout_ms for member in self.members.values())])",
        "min([10**7, *(m.rebalance_timeout_ms for m in self.members.values())])",
    ),
    "handed-out ids are not waited for": Mutant("core.group:Group.has_all_joined", " and not self.pending_joins", ""),
    "who does not join again stays a member": Mutant(
        "core.rebalance:complete_join", "group.remove(member.member_id)", "group.park_join(member, None) or 0"
    ),
    "static members that do not join again are dropped": Mutant(
        "core.rebalance:complete_join", " and not m.is_static", ""
    ),
    "generations do not go up": Mutant("core.rebalance:complete_join", "group.generation += 1", "group.generation = 1"),
    "the leader changes with each generation": Mutant(
        "core.rebalance:complete_join",
        "group.compute_subscribed_topics()",
        "group.compute_subscribed_topics()\n    group.leader_id = list(group.members)[-1]",
    ),
    "the leader stays though it did not come": Mutant(
        "core.group:Group.elect_leader", "leader is not None and leader.parked_join is not None", "leader is not None"
    ),
    "the first protocol of the leader is chosen": Mutant(
        "core.group:Group.select_protocol",
        "return min(votes, key=lambda name: (-votes[name], place(name, len(votes)), name))",
        "return self.members[self.leader_id or next(iter(self.members))].vote(candidates)",
    ),
    "ties between protocols go by the alphabet": Mutant(
        "core.group:Group.select_protocol", "place(name, len(votes)), ", ""
    ),
    "ties between very many protocols go by a small table": Mutant(
        "core.group:Group.select_protocol", "place(name, len(votes))", "place(name, 1)"
    ),
    "protocols are chosen that not all members have": Mutant(
        "core.group:Group.select_protocol", "if count == size", "if count"
    ),
    "an empty group takes no new kind of member": Mutant(
        "core.group:Group.supports",
        "if self.state is GroupState.EMPTY:",
        "if self.state is GroupState.EMPTY and self.protocol_type in (None, protocol_type):",
    ),
    "another protocol type fits in": Mutant(
        "core.group:Group.supports", "protocol_type == self.protocol_type and ", ""
    ),
    "an empty list of protocols fits in": Mutant(
        "core.group:Group.supports",
        "return bool(protocol_type) and any(True for _ in names)",
        "return bool(protocol_type)",
    ),
    "an empty protocol type fits in": Mutant("core.group:Group.supports", "bool(protocol_type) and ", ""),
    # answers to JoinGroup
    "followers are told of the members": Mutant("core.answers:join_success", "told == member.member_id", "True"),
    "the leader is told of no members": Mutant("core.answers:join_success", "told == member.member_id", "False"),
    "the leader is told of other metadata": Mutant(
        "core.answers:join_success", "other.metadata(group.protocol_name)", "other.protocols[0][1]"
    ),
    "refused joins carry the generation": Mutant(
        "core.answers:join_error", "generation_id=step.behaviour.error_generation", "generation_id=0"
    ),
    # syncing
    "a SyncGroup of another generation is fine": Mutant(
        "core.syncing:check_sync", "request.generation_id != group.generation", "False"
    ),
    "a SyncGroup may name other protocols": Mutant(
        "core.syncing:check_sync",
        "differs(request.protocol_type, group.protocol_type) or differs(request.protocol_name, group.protocol_name)",
        "False",
    ),
    "a SyncGroup is not told of a rebalance": Mutant(
        "core.syncing:check_sync", "return ErrorCode.REBALANCE_IN_PROGRESS", "return ErrorCode.UNKNOWN_MEMBER_ID"
    ),
    "a SyncGroup need not name the protocol": Mutant(
        "apis.sync_group:sync_group", "call.context.version >= PROTOCOL_MANDATORY_SINCE", "False"
    ),
    "followers may assign": Mutant(
        "core.syncing:sync_group", "if group.leader_id == member.member_id:", "if request.assignments:"
    ),
    "the leader may not leave the assignment out": Mutant(
        "core.syncing:sync_group",
        "if group.leader_id == member.member_id:",
        "if group.leader_id == member.member_id and request.assignments:",
    ),
    "of two assignments the first counts": Mutant(
        "core.syncing:sync_group", "in request.assignments}", "in reversed(request.assignments)}"
    ),
    "who does not sync stays": Mutant(
        "core.rebalance:complete_join", 'set_phase_timer(step, group, "sync", group.rebalance_timeout_ms)', "pass"
    ),
    "the sync phase takes a session": Mutant(
        "core.rebalance:complete_join",
        'set_phase_timer(step, group, "sync", group.rebalance_timeout_ms)',
        'set_phase_timer(step, group, "sync", 5000)',
    ),
    "held SyncGroups are told of something else than a rebalance": Mutant(
        "core.rebalance:answer_sync_with_error",
        "sync_error(step, member.parked_sync, error)",
        "sync_error(step, member.parked_sync, ErrorCode.UNKNOWN_MEMBER_ID)",
    ),
    "old assignments stay": Mutant(
        "core.syncing:complete_sync",
        "group_record(group, group.state_timestamp, assignments)",
        "group_record(group, group.state_timestamp, {m: x.assignment or assignments.get(m, b'')"
        " for m, x in group.members.items()})",
    ),
    "assignments may be of any size": Mutant(
        "core.syncing:complete_sync", "too_large(step.tables.settings, [record])", "False"
    ),
    "records tell when the leader assigned": Mutant(
        "core.syncing:complete_sync",
        "group_record(group, group.state_timestamp,",
        "group_record(group, step.now.wall_ms,",
    ),
    "who waits for assignments that are too large is told of a rebalance only": Mutant(
        "core.syncing:refuse_assignments", "ErrorCode.UNKNOWN_SERVER_ERROR", "ErrorCode.REBALANCE_IN_PROGRESS"
    ),
    # leaving
    "who leaves is answered, and stays": Mutant(
        "core.membership:leave", 'let_go(step, group, member_id, identity.reason or "not provided")', "pass"
    ),
    "who leaves starts no rebalance": Mutant(
        "core.membership:leave_together",
        "elif group.state is not GroupState.EMPTY and disturbs:",
        "elif not group.members:",
    ),
    "who leaves ends no join phase": Mutant("core.membership:leave_together", "try_complete(step, group)", "pass"),
    "static members cannot be put out by their instance id": Mutant(
        "core.membership:leave", "not member_id and instance_id is not None", "False"
    ),
    "handed-out ids cannot leave": Mutant("core.membership:leave", "member_id in group.pending_joins", "False"),
    "who leaves gets no answer to what is held": Mutant(
        "core.membership:let_go",
        'answer_held(step, group, member, ErrorCode.UNKNOWN_MEMBER_ID, "")',
        'answer_held(step, group, member, ErrorCode.NOT_COORDINATOR, "")',
    ),
    # commits
    "anybody may commit": Mutant(
        "core.offsets:check_commit", "if generation < 0 and group.state is GroupState.EMPTY:", "if True:"
    ),
    "commits of another generation are taken": Mutant(
        "core.offsets:check_commit", "if generation != group.generation:", "if False:"
    ),
    "commits are taken while assignments are awaited": Mutant(
        "core.offsets:check_commit", "group.state is GroupState.COMPLETING_REBALANCE", "False"
    ),
    "commits are refused during the join phase": Mutant(
        "core.offsets:check_commit",
        "group.state is GroupState.COMPLETING_REBALANCE",
        "group.state in (GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE)",
    ),
    "unknown groups have one error in all versions": Mutant(
        "core.offsets:check_commit", "context.version >= GROUP_ID_NOT_FOUND_SINCE", "False"
    ),
    "commits without a group are refused": Mutant(
        "core.offsets:check_commit",
        "return ErrorCode.NONE if fits(request.group_id) else ErrorCode.UNKNOWN_SERVER_ERROR",
        "return ErrorCode.UNKNOWN_MEMBER_ID",
    ),
    "metadata may be of any length": Mutant(
        "core.batches:can_keep", "utf16_length(metadata) <= settings.offset_metadata_max_bytes", "True"
    ),
    "metadata is counted in bytes": Mutant(
        "core.batches:utf16_length",
        'len(text.encode("utf-16-be", "surrogatepass")) // 2',
        'len(text.encode("utf-8", "surrogatepass"))',
    ),
    "commits are forgotten": Mutant("core.offsets:fetch_one", "stored.get((topic, partition))", "None"),
    "metadata is forgotten": Mutant("core.offsets:fetch_one", "metadata=value.metadata", 'metadata=""'),
    "leader epochs are forgotten": Mutant(
        "core.offsets:fetch_one", "committed_leader_epoch=value.leader_epoch", "committed_leader_epoch=NO_EPOCH"
    ),
    "commits may be of any size": Mutant(
        "core.offsets:offset_commit", "commit_too_large(step.tables.settings, request)", "False"
    ),
    "commits are weighed without the topics' ids": Mutant(
        "core.batches:around", "18 if values is OffsetValues.WITH_TOPIC_ID else 0", "0"
    ),
    "metadata that is too long counts towards the size of a commit": Mutant(
        "core.batches:commit_lengths", "not can_keep(settings, metadata)", "False"
    ),
    "commits to what does not exist are taken": Mutant(
        "apis.offset_commit:offset_commit", "if topic.partition(each.partition_index) is not None:", "if True:"
    ),
    "all offsets are those of one topic": Mutant(
        "core.offsets:fetch_group", "asked = list(pairs.items())", "asked = list(pairs.items())[:1]"
    ),
    "version 1 of OffsetFetch has all offsets too": Mutant(
        "apis.offset_fetch:offset_fetch", "version < TOPIC_IDS_SINCE", "False"
    ),
    # offsets that go
    "subscribed offsets can be deleted": Mutant(
        "core.offsets:delete_topic", "subscribed = group.is_subscribed(topic.name)", "subscribed = False"
    ),
    "no offsets can be deleted while there are members": Mutant(
        "core.offsets:check_delete",
        "group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE",
        "group.state is not GroupState.EMPTY",
    ),
    "offsets of any kind of group can be deleted": Mutant(
        "core.offsets:check_delete",
        "group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE",
        "False",
    ),
    "deleted offsets stay": Mutant(
        "core.offsets:offset_delete",
        "step.write(tombstone)",
        "pass",
    ),
    "offsets that are named twice are deleted once": Mutant(
        "core.offsets:offset_delete", "for tombstone in tombstones:", "for tombstone in dict.fromkeys(tombstones):"
    ),
    "as many offsets can be deleted as there are": Mutant(
        "core.offsets:offset_delete", "step.behaviour.deletes_as_a_whole", "False"
    ),
    "offsets outlive their topic": Mutant("core.offsets:topics_deleted", "if place[0] in topics", "if False"),
    "offsets never expire": Mutant("core.retention:sweep", "if has_expired(step, group, place[0], value)", "if False"),
    "subscribed offsets expire": Mutant(
        "core.retention:has_expired", "base is None or group.is_subscribed(topic)", "base is None"
    ),
    "offsets expire though they were asked to be kept": Mutant(
        "core.retention:has_expired", "if value.expire_timestamp != NO_EXPIRY:", "if False:"
    ),
    "offsets count from the commit, though there were members": Mutant(
        "core.retention:expiry_base",
        "value.commit_timestamp if since == UNKNOWN_TIMESTAMP else since",
        "value.commit_timestamp",
    ),
    "a simple group's offsets count from its beginning": Mutant(
        "core.retention:expiry_base",
        "return value.commit_timestamp\n    if group.state is GroupState.EMPTY",
        "return group.state_timestamp\n    if group.state is GroupState.EMPTY",
    ),
    "offsets of a living group never expire": Mutant(
        "core.retention:expiry_base", "group.state is GroupState.STABLE", "False"
    ),
    "offsets expire during a rebalance": Mutant(
        "core.retention:expiry_base", "group.state is GroupState.STABLE", "True"
    ),
    "offsets are kept half as long": Mutant(
        "core.retention:has_expired",
        "step.tables.settings.offsets_retention_ms",
        "step.tables.settings.offsets_retention_ms // 2",
    ),
    "offsets are kept half as long again": Mutant(
        "core.retention:has_expired",
        "step.tables.settings.offsets_retention_ms",
        "step.tables.settings.offsets_retention_ms * 3 // 2",
    ),
    "empty groups stay": Mutant(
        "core.retention:sweep", "group.state is GroupState.EMPTY and group.group_id not in step.tables.offsets", "False"
    ),
    "groups go though they have offsets": Mutant(
        "core.retention:sweep",
        "group.state is GroupState.EMPTY and group.group_id not in step.tables.offsets",
        "group.state is GroupState.EMPTY",
    ),
    # operators
    "unknown groups are dead in all versions": Mutant(
        "core.listing:describe", "context.version < NOT_FOUND_SINCE", "True"
    ),
    "unknown groups are an error in all versions": Mutant(
        "core.listing:describe", "context.version < NOT_FOUND_SINCE", "False"
    ),
    "metadata is shown in every state": Mutant(
        "core.listing:describe",
        "group.protocol_name if stable else None",
        "group.protocol_name",
    ),
    "assignments are not shown": Mutant(
        "core.listing:describe", "member_assignment=member.assignment", 'member_assignment=b""'
    ),
    "what may be done is told unasked": Mutant(
        "core.listing:describe_groups", "request.include_authorized_operations", "True"
    ),
    "what may be done is not told": Mutant(
        "core.listing:describe_groups", "request.include_authorized_operations", "False"
    ),
    "groups are not filtered by state": Mutant("core.listing:list_groups", "not request.states_filter or", "True or"),
    "groups are not filtered by type": Mutant("core.listing:list_groups", "not request.types_filter or", "True or"),
    "states are told apart by case": Mutant(
        "core.listing:known_states",
        "{(name.strip(JAVA_BLANKS) if trimmed else name).lower() for name in names}",
        "{n.strip(JAVA_BLANKS).lower() for n in names if n == n.strip(JAVA_BLANKS).capitalize()}",
    ),
    "blanks around states count": Mutant("core.listing:known_states", "name.strip(JAVA_BLANKS)", "name"),
    "types are told apart by case": Mutant("core.listing:known_types", "name.lower()", "name"),
    "living groups can be deleted": Mutant(
        "core.listing:check_group", "group.state is not GroupState.EMPTY", "group.state is GroupState.DEAD"
    ),
    "groups can be deleted with as many offsets as there are": Mutant(
        "core.listing:delete_groups", "step.behaviour.deletes_as_a_whole", "False"
    ),
    "offsets outlive their group": Mutant("core.listing:delete_group", "step.write(tombstone)", "pass"),
}

LOGS = {
    "duplicates are appended": Mutant("log.producers:Producers.check", "return sent", "return None"),
    "gaps in sequences are taken": Mutant(
        "log.producers:Producers.check", "known.epoch != NO_EPOCH and sequence != expected", "False"
    ),
    "old epochs of producers are taken": Mutant("log.producers:Producers.check", "epoch < known.epoch", "False"),
    "producers are remembered by one batch": Mutant(
        "log.producers:Producers.remember", "producer.batches[1 - BATCHES_KEPT :] if", "() if"
    ),
    "records can be deleted beyond the end": Mutant(
        "log.partition:Partition.delete_before", "not 0 <= target <= self.high_watermark", "False"
    ),
    "records of compacted topics can be deleted": Mutant(
        "log.partition:Partition.delete_before", "self.config.cleanup_policy == {COMPACT}", "False"
    ),
    "the start of a log moves back": Mutant(
        "log.partition:Partition.delete_before", "target > self.log_start_offset", "target != self.log_start_offset"
    ),
    "internal topics lose records": Mutant("apis.delete_records:delete_before", "topic.is_internal", "False"),
    "the latest offset is the earliest": Mutant(
        "apis.list_offsets:_look_up",
        "answer.offset = partition.high_watermark",
        "answer.offset = partition.log_start_offset",
    ),
    "the earliest offset is 0": Mutant(
        "apis.list_offsets:_look_up", "answer.offset = partition.log_start_offset", "answer.offset = 0"
    ),
    "special timestamps mean something in every version": Mutant(
        "apis.list_offsets:has_no_meaning", "return timestamp < 0 and", "return False and"
    ),
    "producers need not name their epoch": Mutant("apis.init_producer_id:invalid", "has_id != has_epoch or ", ""),
    "producer ids come twice": Mutant(
        "apis.init_producer_id:init_producer_id", "producer_id=next(call.broker.producer_ids)", "producer_id=7"
    ),
    "deleted topics stay": Mutant(
        "apis.delete_topics:deleted", 'call.broker.delete_topic(topic, "a client deleted it")', "pass"
    ),
    "topics come into being unasked": Mutant(
        "apis.metadata:topics",
        "call.broker.config.auto_create_topics_enable and request.allow_auto_topic_creation",
        "True",
    ),
    "topics do not come into being": Mutant(
        "apis.metadata:topics",
        "call.broker.config.auto_create_topics_enable and request.allow_auto_topic_creation",
        "False",
    ),
    "fetch sessions are granted silently": Mutant(
        "apis.fetch:fetch", "request.session_epoch not in FULL_FETCH_EPOCHS", "False"
    ),
    "any isolation level will do": Mutant(
        "apis.fetch:fetch", "request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED)", "False"
    ),
    "fetches do not wait": Mutant("apis.fetch:fetch", "await _wait(plan, least, request.max_wait_ms / 1000)", "pass"),
    "fetches wait twice as long": Mutant("apis.fetch:fetch", "request.max_wait_ms / 1000", "request.max_wait_ms / 500"),
    "validate_only creates topics": Mutant("apis.create_topics:create", "request.validate_only", "False"),
    "no time is time enough": Mutant("apis.create_topics:create", "request.timeout_ms <= 0", "False"),
    "any number of replicas will do": Mutant("apis.create_topics:check_numbers", "replicas > brokers", "False"),
    "whom a client means does not matter": Mutant(
        "apis.api_versions:is_misrouted", "request.cluster_id is not None and", "False and"
    ),
    "a cluster without a broker will do": Mutant(
        "apis.api_versions:is_fine", "(request.cluster_id is None) != (request.node_id == NOBODY)", "False"
    ),
    "altering keeps nothing": Mutant("apis.altering:apply", "settings[change.key] = change.value", "pass"),
}

MUTANTS = GROUPS | LOGS


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Let servers be so, those that run already too."""
    mutant = MUTANTS[name]
    owner, attribute = mutant.place
    original = owner.__dict__[attribute]
    changed = mutant.changed
    if isinstance(original, property):
        changed = property(changed)
    places = _users(mutant.function) if inspect.ismodule(owner) else [(owner, attribute)]
    undo: list[Callable[[], None]] = [_put(user, key, changed) for user, key in places]
    if inspect.ismodule(owner):
        undo += _put_into_tables(original, changed)
    try:
        yield
    finally:
        for each in undo:
            each()


@cache
def _users(function: str) -> list[tuple[Any, str]]:
    """The modules that have a function, and under which names. To be called while it is there."""
    owner, attribute = MUTANTS_BY_FUNCTION[function].place
    original = owner.__dict__[attribute]
    found = [
        (module, key)
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("kcoord.") and not module_name.startswith("kcoord.check")
        for key, value in list(vars(module).items())
        if value is original
    ]
    assert (owner, attribute) in found
    return found


MUTANTS_BY_FUNCTION = {mutant.function: mutant for mutant in MUTANTS.values()}


def _put(owner: Any, attribute: str, value: Any) -> Callable[[], None]:
    before = owner.__dict__[attribute]
    setattr(owner, attribute, value)
    return lambda: setattr(owner, attribute, before)


def _put_into_tables(original: Any, changed: Any) -> list[Callable[[], None]]:
    """The tables by which a request finds what answers it."""
    from kcoord.apis import APIS
    from kcoord.core.coordinator import RULES

    undo: list[Callable[[], None]] = []
    for key, value in RULES.items():
        if value is original:
            RULES[key] = changed
            undo.append(lambda key=key: RULES.__setitem__(key, original))
    for api in APIS:
        if api.handle is original:
            object.__setattr__(api, "handle", changed)
            undo.append(lambda api=api: object.__setattr__(api, "handle", original))
    return undo
