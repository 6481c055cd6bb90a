"""Anything may happen in any order: a Hypothesis state machine over several groups and their members.

The driver checks each step by itself (every token once, no contradiction, replay equals live, the versions can carry
what is said). Here are the promises that only show over time.
"""

import copy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcoord.core.notes import GroupDeleted, MemberExpired, StaticMemberReplaced
from kcoord.core.operators import DONE, Expire, Fence, KeepAlive, NewOffset, Rebalance, Remove, SetOffsets
from kcoord.core.outcome import Now
from kcoord.core.states import GroupState
from wire.messages import JoinGroupRequest, JoinGroupResponse

from .driver import EPOCH_MS, Driver, protocols_of

GROUPS = st.sampled_from(["g1", "g2"])
INSTANCES = st.sampled_from(["i1", "i2"])
PROTOCOLS = st.sampled_from(
    [
        protocols_of(["range"]),
        protocols_of(["range", "sticky"]),
        protocols_of(["sticky", "range"]),
        protocols_of(["range", "sticky"], "t", "u"),
        protocols_of(["range"], "u"),
        (("range", b"not a subscription"),),
    ]
)
# Eighths of a second are exact in binary, and so are their sums.
SHORT = st.integers(0, 12 * 8).map(lambda eighths: eighths / 8)
LONG = st.sampled_from([30.0, 61.0, 301.0, 4000.0])
SESSIONS = st.sampled_from([6_000, 10_000, 60_000])
REBALANCES = st.sampled_from([0, 1_000, 30_000, 60_000, 600_000])
LONGEST_WAIT = 7200.0


class GroupsAndMembers(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.seen = {"g1": ["nobody-0"], "g2": ["nobody-0"]}
        """Every member id that a group ever handed out, newest last."""
        self.home = {}
        self.floor = {}
        self.led = {}
        self.replaced = {}
        self.read_notes = 0
        self.read_calls = set()

    @initialize(limit=st.sampled_from([2, 3, 2_147_483_647]), delay=st.sampled_from([0, 3_000, 20_000]))
    def begin(self, limit, delay):
        self.limits = {
            "group_max_size": limit,
            "group_initial_rebalance_delay_ms": delay,
            "offsets_retention_minutes": 2,
            "offsets_retention_check_interval_ms": 45_000,
        }
        self.driver = Driver.of(**self.limits)
        self.gathers("g1", ["i1", None])

    # --- what clients do ---

    @rule(
        group=GROUPS,
        version=st.integers(0, 9),
        protocols=PROTOCOLS,
        instance=st.none() | INSTANCES,
        session_ms=SESSIONS,
        rebalance_ms=REBALANCES,
        kind=st.sampled_from(["consumer", "consumer", "consumer", "connect"]),
        two_rounds=st.booleans(),
    )
    def newcomer(self, group, version, protocols, instance, session_ms, rebalance_ms, kind, two_rounds):
        how = {
            "protocols": protocols,
            "instance": instance if version >= 5 else None,
            "session_ms": session_ms,
            "rebalance_ms": rebalance_ms,
            "protocol_type": kind,
        }
        (self.driver.enter if two_rounds else self.driver.join)(group, "c", version, **how)

    @rule(group=GROUPS, data=st.data(), version=st.integers(0, 9), protocols=PROTOCOLS, instance=st.none() | INSTANCES)
    def joins_again(self, group, data, version, protocols, instance):
        member_id = self.some_id(group, data)
        if data.draw(st.booleans(), "its own instance id"):
            instance = self.instance_of(group, member_id)
        self.driver.join(
            group,
            "again",
            version,
            member_id=member_id,
            protocols=protocols,
            instance=instance if version >= 5 else None,
            rebalance_ms=data.draw(REBALANCES),
        )

    @rule(group=GROUPS)
    def everybody_joins_again_unchanged(self, group):
        inside = self.driver.coordinator.tables.groups.get(group)
        for member in list(inside.members.values()) if inside else []:
            self.driver.join(
                group,
                "again",
                member_id=member.member_id,
                instance=member.group_instance_id,
                protocols=member.protocols,
                protocol_type=inside.protocol_type,
                rebalance_ms=member.rebalance_timeout_ms,
                session_ms=member.session_timeout_ms,
            )

    @rule(group=GROUPS, data=st.data(), off=st.sampled_from([0, 0, 0, 0, -1, 1]), version=st.integers(0, 5))
    def syncs(self, group, data, off, version):
        member_id = self.some_id(group, data)
        assignments = {member_id: data.draw(st.binary(max_size=3)) for member_id in self.seen[group][-4:]}
        self.driver.sync(group, member_id, max(self.generation(group) + off, -1), assignments, version)

    @rule(group=GROUPS)
    def everybody_syncs(self, group):
        inside = self.driver.coordinator.tables.groups.get(group)
        ids = list(inside.members) if inside else []
        for member_id in ids:
            self.driver.sync(group, member_id, inside.generation, {one: one.encode() for one in ids})

    @rule(group=GROUPS, data=st.data(), off=st.sampled_from([0, 0, 0, -1, 1]), instance=st.none() | INSTANCES)
    def heartbeats(self, group, data, off, instance):
        self.driver.heartbeat(group, self.some_id(group, data), self.generation(group) + off, instance=instance)

    @rule(group=GROUPS)
    def everybody_heartbeats(self, group):
        inside = self.driver.coordinator.tables.groups.get(group)
        for member_id in list(inside.members) if inside else []:
            assert self.driver.heartbeat(group, member_id, inside.generation).error in (0, 27)

    @rule(group=GROUPS, data=st.data(), instance=st.none() | INSTANCES, version=st.integers(0, 5))
    def leaves(self, group, data, instance, version):
        member_id = self.some_id(group, data)
        if version < 3:
            self.driver.leave(group, member_id, version=version)
        else:
            self.driver.leave(group, ("" if instance else member_id, instance), version=version)

    @rule(
        group=GROUPS,
        data=st.data(),
        offset=st.integers(0, 99),
        topic=st.sampled_from("tu"),
        simple=st.booleans(),
        retention_ms=st.sampled_from([-1, -1, 1, 400_000]),
    )
    def commits(self, group, data, offset, topic, simple, retention_ms):
        who = ("", -1) if simple else (self.some_id(group, data), self.generation(group))
        version = 4 if retention_ms != -1 else 9
        call = self.driver.commit(group, {(topic, 0): offset}, *who, version, retention_ms=retention_ms)
        if call.error == 0:
            assert self.driver.offset(group, topic) == offset

    @rule(group=GROUPS)
    def is_looked_at(self, group):
        stored = {
            (topic.name, one.partition_index): one.committed_offset
            for topic in self.driver.fetch(group).response.groups[0].topics
            for one in topic.partitions
        }
        kept = self.driver.coordinator.tables.offsets.get(group, {})
        assert stored == {place: value.offset for place, value in kept.items()}
        listed = [one.group_id for one in self.driver.list().response.groups]
        assert len(set(listed)) == len(listed)
        assert (self.driver.state(group) != "Dead") == (group in listed)

    @rule(group=GROUPS, topic=st.sampled_from("tu"))
    def offsets_are_deleted(self, group, topic):
        if self.driver.offset_delete(group, {topic: [0]}).error == 0:
            assert self.driver.offset(group, topic) == -1

    @rule(topic=st.sampled_from("tu"))
    def a_topic_is_deleted(self, topic):
        groups = set(self.driver.coordinator.tables.groups)
        self.driver.delete_topics(topic)
        assert groups == set(self.driver.coordinator.tables.groups)
        assert all(self.driver.offset(group, topic) == -1 for group in groups)

    @precondition(lambda self: len(self.driver.calls) % 4 == 1)
    @rule(group=GROUPS)
    def is_deleted(self, group):
        if self.driver.delete_groups(group).error == 0:
            assert self.driver.state(group) == "Dead"

    @rule(group=GROUPS, instances=st.lists(st.none() | INSTANCES, min_size=1, max_size=3))
    def gathers(self, group, instances):
        """Well-behaved members come, and all do what they should until the group is stable."""
        for instance in instances:
            self.driver.enter(group, "c", instance=instance, protocols=protocols_of(["range", "sticky"]))
        self.everybody_joins_again_unchanged(group)
        for _ in range(8):
            self.driver.advance(2.5)
            self.everybody_heartbeats(group)
        self.everybody_syncs(group)

    # --- what operators do ---

    @rule(group=GROUPS, data=st.data())
    def an_operator_interferes(self, group, data):
        member_id = self.some_id(group, data)
        instance = data.draw(INSTANCES, "instance")
        deleted = NewOffset("t", 0, None)
        wishes = [
            Rebalance(group, "wished"),
            Expire(group, member_id),
            SetOffsets(group, (NewOffset("t", 0, 5), NewOffset("u", 1, 7))),
            SetOffsets(group, (deleted,)),
            KeepAlive({group: frozenset({member_id})}),
        ]
        if instance in self.statics(group):
            wishes.append(Fence(group, instance, self.driver.impostor(group)))
        answer = self.driver.operate(data.draw(st.sampled_from(wishes), "wish"))
        assert answer == DONE or answer.sentence
        for call in self.driver.calls:
            # Nobody sent the impostor's request if another wish was drawn.
            call.lost = call.lost or (call.request == JoinGroupRequest(group_id=group) and not self.is_held(call))

    @rule(group=GROUPS)
    def an_operator_removes_a_group(self, group):
        known = group in self.driver.coordinator.tables.groups
        assert (self.driver.operate(Remove(group, "wished")) == DONE) == known
        assert group not in self.driver.coordinator.tables.groups
        assert group not in self.driver.coordinator.tables.offsets

    # --- time, and restarts ---

    @rule(parts=st.lists(SHORT, min_size=1, max_size=4))
    def time_passes(self, parts):
        self.pass_time(parts)

    @precondition(lambda self: len(self.driver.calls) % 4 == 0)
    @rule(start=SHORT, jump=LONG)
    def much_time_passes(self, start, jump):
        self.pass_time([start, jump])

    @precondition(lambda self: self.driver.records)
    @rule(limit=st.none() | st.integers(1, 3))
    def broker_restarts(self, limit):
        if limit is not None:
            self.limits["group_max_size"] = limit
        self.driver.reload(**self.limits)
        self.floor.clear()
        self.led.clear()

    def pass_time(self, parts):
        """Whether time passes at once or bit by bit, the same happens."""
        known = {id(call): call for call in self.driver.calls}
        twin = copy.deepcopy(self.driver.coordinator, known)
        before = len(self.driver.notes), len(self.driver.records)
        answered = [call.number for call in self.driver.calls if call.response is not None]
        for part in parts:
            self.driver.advance(part)
        end = self.driver.now
        assert end == Now(self.driver.ms / 1000, EPOCH_MS + self.driver.ms)
        at_once = twin.advance(end)
        assert at_once.notes == self.driver.notes[before[0] :]
        assert at_once.records == self.driver.records[before[1] :]
        now_answered = {call.number for call in self.driver.calls if call.response is not None} - set(answered)
        assert {reply.token.number for reply in at_once.replies} == now_answered
        twin.check()

    # --- who is there ---

    def some_id(self, group, data):
        """An id, mostly of this group, at times of the other one."""
        inside = self.driver.coordinator.tables.groups.get(group)
        pool = (list(inside.members) if inside else []) + self.seen[group][-3:] + self.seen["g1"][-1:]
        return data.draw(st.sampled_from(pool), "member id")

    def statics(self, group):
        inside = self.driver.coordinator.tables.groups.get(group)
        return inside.static_members if inside else {}

    def is_held(self, call):
        """Whether the coordinator still owes this call an answer."""
        inside = self.driver.coordinator.tables.groups.get(call.request.group_id)
        members = inside.members.values() if inside else ()
        return any(member.parked_join is not None and member.parked_join.token is call for member in members)

    def instance_of(self, group, member_id):
        inside = self.driver.coordinator.tables.groups.get(group)
        member = inside.members.get(member_id) if inside else None
        return member.group_instance_id if member else None

    def generation(self, group):
        inside = self.driver.coordinator.tables.groups.get(group)
        return inside.generation if inside else 0

    # --- what must hold ---

    @invariant()
    def promises_are_kept(self):
        if not hasattr(self, "driver"):
            return
        deleted = self.read_what_happened()
        for call in self.driver.calls:
            if isinstance(call.response, JoinGroupResponse) and call.number not in self.read_calls:
                self.read_calls.add(call.number)
                if call.response.error_code == 0 and call.request.group_id not in deleted:
                    self.read_join(call)
        for group in self.driver.coordinator.tables.groups.values():
            name = group.group_id
            assert group.generation >= self.floor.get(name, 0), "a generation fell"
            self.floor[name] = group.generation
            for member_id in group.members.keys() | group.pending_joins:
                assert self.home.setdefault(member_id, name) == name, "one id in two groups"
                if member_id not in self.seen[name]:
                    self.seen[name].append(member_id)
            if group.state is not GroupState.EMPTY and len(group.members) > 1:
                assert group.leader_id in group.members

    def read_what_happened(self):
        """Follow the notes; return the groups that were deleted since the last look."""
        deleted = set()
        for note in self.driver.notes[self.read_notes :]:
            if isinstance(note, GroupDeleted):
                self.floor.pop(note.group, None)
                deleted.add(note.group)
                self.led = {(group, number): ids for (group, number), ids in self.led.items() if group != note.group}
            elif isinstance(note, StaticMemberReplaced):
                self.replaced[note.replaced] = note.member
            elif isinstance(note, MemberExpired):
                inside = self.driver.coordinator.tables.groups.get(note.group)
                assert inside is None or note.member not in inside.members
        self.read_notes = len(self.driver.notes)
        return deleted

    def read_join(self, call):
        """One leader, told of everybody once; the same one for all of a generation, but for a change of its id."""
        told = call.response
        ids = [member.member_id for member in told.members]
        assert len(set(ids)) == len(ids)
        assert told.generation_id > 0
        assert told.protocol_name in ("range", "sticky")
        if ids:
            assert told.leader == told.member_id
            assert told.leader in ids
        else:
            assert told.leader != told.member_id
        first = self.led.setdefault((call.request.group_id, told.generation_id), told.leader)
        assert self.newest_id(first) == self.newest_id(told.leader), "two leaders in one generation"

    def newest_id(self, member_id):
        """What a static member that was known as `member_id` is called now."""
        while member_id in self.replaced:
            member_id = self.replaced[member_id]
        return member_id

    def teardown(self):
        if not hasattr(self, "driver"):
            return
        self.driver.advance(LONGEST_WAIT)
        for call in self.driver.calls:
            assert call.lost or call.response is not None, f"request {call.number} never got an answer"
        for group in self.driver.coordinator.tables.groups.values():
            assert group.state is GroupState.EMPTY, "somebody who is silent for hours is still a member"
        assert not self.driver.coordinator.tables.groups or self.driver.coordinator.tables.offsets


TestGroupsAndMembers = GroupsAndMembers.TestCase
TestGroupsAndMembers.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
