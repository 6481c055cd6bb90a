"""A small verb language over the pure coordinator, under a clock that only moves when it is told to.

Each verb hands one request in and returns a `Call`, whose `response` is None for as long as the coordinator holds it.
Member ids are predictable: the unique part counts "1", "2", ...

After every step the driver checks what must hold whatever the story is:

* the coordinator does not contradict itself (`Coordinator.check`);
* a reply belongs to a request that was made, and to one that has not been answered before;
* every request and every response can be carried by the version it was made in, and comes back the same;
* the records, written as bytes and replayed into a fresh coordinator, give the durable state that the live one has;
* nothing that is due is left undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from kcoord.core.coordinator import Coordinator
from kcoord.core.group import Group
from kcoord.core.notes import GroupCreated, GroupDeleted
from kcoord.core.operators import Answer, Operation
from kcoord.core.outcome import Context, Now, Outcome, Record
from kcoord.core.settings import GroupSettings
from kcoord.core.states import GroupState
from wire.codec import decode, encode
from wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from wire.payloads import Subscription, decode_key, decode_value, encode_key, encode_subscription, encode_value
from wire.schema import Struct

EPOCH_MS = 1_700_000_000_000
"""Unix time (ms) at which every driver's clock starts."""


def sub(*topics: str, user_data: bytes | None = None) -> bytes:
    """The metadata of a consumer that subscribes to `topics`."""
    return encode_subscription(Subscription(topics=topics, user_data=user_data))


RANGE_T = (("range", sub("t")),)


def protocols_of(names: Iterable[str], *topics: str) -> tuple[tuple[str, bytes], ...]:
    """What a consumer lists that supports `names`, all with the same subscription."""
    return tuple((name, sub(*(topics or ("t",)))) for name in names)


@dataclass(slots=True, eq=False)
class Call:
    """One request on its way."""

    number: int
    request: Any
    version: int
    response: Any = None
    lost: bool = False
    """The coordinator it was given to is gone, and the answer with it."""

    @property
    def parked(self) -> bool:
        return self.response is None and not self.lost

    @property
    def error(self) -> int:
        """The error of an answered request, wherever its API keeps it (the one of all entries where there are many)."""
        assert self.response is not None, f"request {self.number} is not answered"
        return the_error(self.response)


def the_error(response: Any) -> int:
    """The top-level error, or the one that all entries agree on."""
    if getattr(response, "error_code", 0):
        return int(response.error_code)
    codes: set[int] = set()
    for name in ("members", "groups", "results", "topics"):
        for entry in getattr(response, name, None) or ():
            inner = getattr(entry, "partitions", None)
            for one in [entry] if inner is None else inner:
                if hasattr(one, "error_code"):
                    codes.add(int(one.error_code))
    assert len(codes) <= 1, f"entries disagree: {codes}"
    return codes.pop() if codes else 0


def carried(value: Any, version: int) -> Any:
    """The part of a message that `version` has room for, as plain data."""
    if isinstance(value, Struct):
        return {row.name: carried(getattr(value, row.name), version) for row in value.FIELDS if version in row.versions}
    if isinstance(value, list):
        return [carried(one, version) for one in value]
    return int(value) if isinstance(value, int) else value


def through_bytes(record: Record) -> Record:
    """A record as it comes back from a store."""
    key = decode_key(encode_key(record.key))
    assert key is not None
    value = None if record.value is None else decode_value(key, encode_value(record.value))
    return Record(key, value)


def settled(coordinator: Coordinator) -> set[str]:
    """The groups that are not in the middle of a rebalance."""
    at_rest = (GroupState.STABLE, GroupState.EMPTY)
    return {group.group_id for group in coordinator.tables.groups.values() if group.state in at_rest}


def durable(coordinator: Coordinator, group_ids: Iterable[str]) -> dict[str, Any]:
    """What has to survive a restart: every offset, and these groups."""
    tables = coordinator.tables
    groups = {}
    for group in map(tables.groups.__getitem__, group_ids):
        groups[group.group_id] = {
            "state": group.state.value,
            # A living group knows since when it is Stable, its record since when the leader had to assign.
            "since": group.state_timestamp if group.state is GroupState.EMPTY else None,
            "generation": group.generation,
            "type": group.protocol_type,
            "protocol": group.protocol_name,
            "leader": group.leader_id,
            "members": {
                member.member_id: (
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(group.protocol_name),
                    member.assignment,
                )
                for member in group.members.values()
            },
        }
    return {"groups": groups, "offsets": {name: dict(kept) for name, kept in tables.offsets.items()}}


@dataclass(slots=True)
class Driver:
    """One coordinator, its clock, its store and its clients."""

    settings: GroupSettings = field(default_factory=GroupSettings)
    ms: int = 0
    records: list[Record] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    last: Outcome = field(default_factory=Outcome)
    """What the latest step gave."""

    coordinator: Coordinator = field(init=False)
    _ids: Any = field(init=False)
    _shadow: Coordinator = field(init=False)
    _unwritten: set[str] = field(init=False)
    """Groups that no record tells of: begun by a commit of which nothing was stored."""

    def __post_init__(self) -> None:
        numbers = count(1)
        self._ids = lambda: str(next(numbers))
        self.start()

    @classmethod
    def of(cls, **settings: int) -> Driver:
        return cls(GroupSettings(**settings))

    # --- the clock, and starting anew ---

    @property
    def now(self) -> Now:
        return Now(self.ms / 1000, EPOCH_MS + self.ms)

    def advance(self, seconds: float) -> Outcome:
        """Let time pass, and everything happen that is due then."""
        self.ms += round(seconds * 1000)
        outcome = self._take(self.coordinator.advance(self.now))
        deadline = self.coordinator.next_deadline()
        assert deadline is None or deadline > self.now.mono, "something due was left undone"
        return outcome

    def start(self) -> Outcome:
        """Load all records so far into a new coordinator; whatever was held is lost with the old one."""
        for call in self.calls:
            call.lost = call.response is None
        self._unwritten = set()
        self._shadow = Coordinator(self.settings, self._ids)
        self.coordinator = Coordinator(self.settings, self._ids)
        for record in self.records:
            self._shadow.apply(through_bytes(record))
            self.coordinator.apply(through_bytes(record))
        return self._take(self.coordinator.loaded(self.now))

    def reload(self, **settings: int) -> Outcome:
        """Restart the broker, with other settings if any are given."""
        if settings:
            self.settings = GroupSettings(**settings)
        return self.start()

    def unload(self) -> Outcome:
        """The partition goes to another broker."""
        outcome = self.coordinator.unload(self.now)
        self._answer(outcome)
        return outcome

    # --- the requests ---

    def send(self, request: Any, version: int, client_id: str = "admin", host: str = "/127.0.0.1") -> Call:
        """Hand in any request."""
        call = Call(len(self.calls) + 1, request, version)
        self.calls.append(call)
        received = decode(type(request), version, encode(request, version))
        assert carried(received, version) == carried(request, version)
        self._take(self.coordinator.handle(call, Context(version, client_id, host), received, self.now))
        deadline = self.coordinator.next_deadline()
        assert deadline is None or deadline >= self.now.mono
        return call

    def join(
        self,
        group: str,
        who: str,
        version: int = 9,
        *,
        member_id: str = "",
        instance: str | None = None,
        protocols: Iterable[tuple[str, bytes]] = RANGE_T,
        session_ms: int = 10_000,
        rebalance_ms: int = 30_000,
        protocol_type: str = "consumer",
        client_id: str | None = None,
        reason: str | None = None,
        host: str = "/127.0.0.1",
    ) -> Call:
        """JoinGroup; `who` is the client id unless another one is given."""
        return self.send(
            JoinGroupRequest(
                group_id=group,
                session_timeout_ms=session_ms,
                rebalance_timeout_ms=rebalance_ms,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type=protocol_type,
                protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols],
                reason=reason,
            ),
            version,
            who if client_id is None else client_id,
            host,
        )

    def enter(self, group: str, who: str, version: int = 9, **how: Any) -> Call:
        """JoinGroup in two rounds where the version has two (KIP-394); the call of the second one."""
        call = self.join(group, who, version, **how)
        if call.response is not None and call.response.error_code == 79:
            return self.join(group, who, version, member_id=call.response.member_id, **how)
        return call

    def sync(
        self,
        group: str,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | Iterable[tuple[str, bytes]] = (),
        version: int = 5,
        *,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Call:
        pairs = assignments.items() if isinstance(assignments, Mapping) else assignments
        return self.send(
            SyncGroupRequest(
                group_id=group,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type=protocol_type,
                protocol_name=protocol_name,
                assignments=[SyncGroupRequestAssignment(member_id=name, assignment=data) for name, data in pairs],
            ),
            version,
        )

    def heartbeat(
        self, group: str, member_id: str, generation: int, version: int = 4, *, instance: str | None = None
    ) -> Call:
        return self.send(
            HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance),
            version,
        )

    def leave(
        self, group: str, *members: str | tuple[str, str | None], version: int = 5, reason: str | None = None
    ) -> Call:
        """LeaveGroup of members: by id, or by (id, instance id)."""
        if version < 3:
            (member,) = members
            assert isinstance(member, str)
            return self.send(LeaveGroupRequest(group_id=group, member_id=member), version)
        pairs = [(one, None) if isinstance(one, str) else one for one in members]
        identities = [MemberIdentity(member_id=one, group_instance_id=inst, reason=reason) for one, inst in pairs]
        return self.send(LeaveGroupRequest(group_id=group, members=identities), version)

    def commit(
        self,
        group: str,
        offsets: Mapping[tuple[str, int], int],
        member_id: str = "",
        generation: int = -1,
        version: int = 9,
        *,
        instance: str | None = None,
        metadata: str | None = "",
        epoch: int = -1,
        retention_ms: int = -1,
    ) -> Call:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=metadata,
                )
            )
        return self.send(
            OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=generation,
                member_id=member_id,
                group_instance_id=instance,
                retention_time_ms=retention_ms,
                topics=[OffsetCommitRequestTopic(name=name, partitions=found) for name, found in topics.items()],
            ),
            version,
        )

    def fetch(self, group: str, wanted: Mapping[str, Iterable[int]] | None = None, version: int = 9) -> Call:
        """OffsetFetch of one group, in the form that names groups (version 8 and up)."""
        topics = None
        if wanted is not None:
            topics = [OffsetFetchRequestTopics(name=name, partition_indexes=list(of)) for name, of in wanted.items()]
        return self.send(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)]), version)

    def describe(self, *groups: str, version: int = 6, operations: bool = False) -> Call:
        return self.send(DescribeGroupsRequest(groups=list(groups), include_authorized_operations=operations), version)

    def list(self, states: Iterable[str] = (), types: Iterable[str] = (), version: int = 5) -> Call:
        return self.send(ListGroupsRequest(states_filter=[*states], types_filter=[*types]), version)

    def delete_groups(self, *groups: str, version: int = 2) -> Call:
        return self.send(DeleteGroupsRequest(groups_names=[*groups]), version)

    def offset_delete(self, group: str, wanted: Mapping[str, Iterable[int]], version: int = 0) -> Call:
        topics = [
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in wanted.items()
        ]
        return self.send(OffsetDeleteRequest(group_id=group, topics=topics), version)

    # --- operators ---

    def operate(self, operation: Operation) -> Answer:
        """Carry out an operation; its answer comes at once, exactly once."""
        token = object()
        outcome = self.coordinator.operate(token, operation, self.now)
        answers = [reply.response for reply in outcome.replies if reply.token is token]
        outcome.replies = [reply for reply in outcome.replies if reply.token is not token]
        self._take(outcome)
        (answer,) = answers
        assert isinstance(answer, Answer)
        return answer

    def impostor(self, group: str) -> Call:
        """The JoinGroup of somebody who comes under another's instance id, for `Fence`."""
        call = Call(len(self.calls) + 1, JoinGroupRequest(group_id=group), 9)
        self.calls.append(call)
        return call

    # --- looking at it ---

    def delete_topics(self, *names: str) -> Outcome:
        """Delete topics: nobody asks the coordinator for that, and it answers nobody."""
        outcome = self._take(self.coordinator.topics_deleted(set(names), self.now))
        assert not outcome.replies
        return outcome

    def offset(self, group: str, topic: str = "t", partition: int = 0) -> int:
        """The committed offset, or -1."""
        found = self.fetch(group, {topic: [partition]}).response.groups[0].topics[0].partitions[0]
        return found.committed_offset

    def state(self, group: str) -> str:
        """The group's state as DescribeGroups tells it."""
        return self.describe(group).response.groups[0].group_state

    def member_ids(self, group: str) -> list[str]:
        """The group's members as DescribeGroups tells them."""
        return [one.member_id for one in self.describe(group).response.groups[0].members]

    def inside(self, group: str) -> Group:
        """The group itself, for what no answer shows."""
        return self.coordinator.tables.groups[group]

    def noted(self, kind: type) -> list[Any]:
        """All notes of one kind so far."""
        return [note for note in self.notes if isinstance(note, kind)]

    # --- the checks ---

    def _take(self, outcome: Outcome) -> Outcome:
        self._answer(outcome)
        self.records += outcome.records
        self.coordinator.check()
        if not outcome.records:
            self._unwritten |= {note.group for note in outcome.notes if isinstance(note, GroupCreated)}
        for record in outcome.records:
            self._shadow.apply(through_bytes(record))
            self._unwritten.discard(record.key.group)
        if self.settings.behaviour.stores_from_first_generation:
            # Of a group without a generation nothing is stored but its offsets: with the last of them it is gone.
            for note in outcome.notes:
                if isinstance(note, GroupDeleted) and not self._shadow.tables.offsets.get(note.group):
                    self._shadow.tables.groups.pop(note.group, None)
        assert self._shadow.tables.groups.keys() == self.coordinator.tables.groups.keys() - self._unwritten
        at_rest = settled(self.coordinator) - self._unwritten
        assert durable(self._shadow, at_rest) == durable(self.coordinator, at_rest)
        return outcome

    def _answer(self, outcome: Outcome) -> None:
        self.last = outcome
        self.notes += outcome.notes
        for reply in outcome.replies:
            call = reply.token
            assert isinstance(call, Call)
            assert call in self.calls, "a reply to nobody"
            assert call.response is None, f"request {call.number} is answered twice"
            assert type(reply.response) is type(call.request).RESPONSE
            back = decode(type(reply.response), call.version, encode(reply.response, call.version))
            assert carried(back, call.version) == carried(reply.response, call.version)
            call.response = back
