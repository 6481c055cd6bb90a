"""The requests of operations, in terms of symbols."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from integration.fuzz.actors import GROUP, SECOND_GROUP, UNKNOWN_GROUP, Actors, Client, Stage
from integration.fuzz.operations import Kind, Operation, Timing, Twist
from wire import messages as m
from wire.payloads import Subscription, encode_subscription
from wire.schema import Message

TOPICS: dict[str, int] = {"fuzz-t": 3, "fuzz-u": 2}
TOPIC_IDS = {name: uuid.UUID(int=number) for number, name in enumerate(TOPICS, 1)}
UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID = "fuzz-none", uuid.UUID(int=99)

LONG_MS = 600_000
SHORT_MS = {Timing.SESSION: 3_000, Timing.REBALANCE: 2_500}
"""The timeouts that run out in a sequence (ms)."""
LOWEST_MS = 100
"""`group.min.session.timeout.ms` of both brokers."""
WHO = {Twist.NO_ID, Twist.UNKNOWN_ID, Twist.OTHERS_ID, Twist.FORMER_ID, Twist.HANDED_OUT_ID}
NOT_OWN = WHO | {
    Twist.OLDER,
    Twist.NEWER,
    Twist.NO_GENERATION,
    Twist.OTHERS_INSTANCE,
    Twist.UNKNOWN_INSTANCE,
    Twist.NO_INSTANCE,
    Twist.INSTANCE,
    Twist.NO_GROUP,
    Twist.UNKNOWN_GROUP,
    Twist.SECOND_GROUP,
    Twist.OTHER_TYPE,
    Twist.NO_TYPE,
    Twist.OTHER_PROTOCOL,
    Twist.NO_PROTOCOL,
    Twist.BATCH,
    Twist.TWICE,
    Twist.NOTHING,
}
"""Twists after which the answer says nothing about the client itself."""
NOT_OWN_SYNC = NOT_OWN - {Twist.NOTHING}


@dataclass(frozen=True)
class Asked:
    """A request, its version, and whether it is asked as who the client is."""

    request: Any
    version: int
    own: bool


@dataclass(frozen=True)
class Wish:
    """An operation together with who does it, and what is needed to make a request of it."""

    operation: Operation
    client: Client
    actors: Actors
    timing: Timing
    stretch: int = 1
    """By how much short timeouts are longer."""

    def has(self, *twists: Twist) -> bool:
        return any(twist in self.operation.twists for twist in twists)

    @property
    def number(self) -> int:
        return self.operation.number

    def version(self, cls: type[Message]) -> int:
        age = self.operation.age if self.operation.by_twos else max(self.operation.age, self.client.actor.age)
        return max(cls.VERSIONS.highest - age, cls.VERSIONS.lowest)

    @property
    def group(self) -> str:
        if self.has(Twist.NO_GROUP):
            return ""
        if self.has(Twist.UNKNOWN_GROUP):
            return UNKNOWN_GROUP
        return SECOND_GROUP if self.has(Twist.SECOND_GROUP) else GROUP

    @property
    def groups(self) -> list[str]:
        groups = [self.group]
        if self.has(Twist.SEVERAL):
            groups += [SECOND_GROUP, UNKNOWN_GROUP]
        return groups * 2 if self.has(Twist.TWICE) else groups

    @property
    def member_id(self) -> str:
        if self.has(Twist.NO_ID):
            return ""
        if self.has(Twist.UNKNOWN_ID):
            return "unknown"
        other = self.actors.after(self.client)
        if self.has(Twist.OTHERS_ID):
            return other.id
        if self.has(Twist.FORMER_ID):
            return self.client.former or other.former
        if self.has(Twist.HANDED_OUT_ID):
            return self.actors.handed_out(self.client)
        return self.client.id

    @property
    def generation(self) -> int:
        if self.has(Twist.NO_GENERATION):
            return -1
        if self.has(Twist.OLDER):
            return self.client.generation - 1
        return self.client.generation + 1 if self.has(Twist.NEWER) else self.client.generation

    def instance(self, version: int, since: int) -> str | None:
        """The instance id, which there is from a version on."""
        if version < since or self.has(Twist.NO_INSTANCE):
            return None
        if self.has(Twist.OTHERS_INSTANCE):
            return f"i{self.actors.holder_after(self.client).number}"
        if self.has(Twist.UNKNOWN_INSTANCE):
            return "nobody's"
        return f"i{self.client.number}" if self.has(Twist.INSTANCE) else self.client.instance

    def type(self) -> str:
        if self.has(Twist.OTHER_TYPE):
            return "other"
        return "" if self.has(Twist.NO_TYPE) else self.client.protocol_type


def subscription(*topics: str, data: bytes | None = None) -> bytes:
    return encode_subscription(Subscription(topics=topics, user_data=data), 0)


def protocols(client: Client, *, other: bool, more: bool) -> list[tuple[str, bytes]]:
    """What a client lists, most wanted first."""
    data = b"%d" % client.changes if client.changes else None
    t, both = subscription("fuzz-t", data=data), subscription("fuzz-t", "fuzz-u", data=data)
    lists = [
        [("range", t)],
        [("range", t), ("roundrobin", t)],
        [("roundrobin", both), ("range", both)],
        [("sticky", both), ("roundrobin", t), ("range", t)],
        [("range", b"no subscription%d" % client.changes)],
    ]
    found = [("copartition", t)] if other else lists[client.actor.protocols]
    return [*found, ("more", t)] if more else found


def join(wish: Wish) -> Asked:
    version = wish.version(m.JoinGroupRequest)
    client, short = wish.client, wish.client.actor.short
    if wish.has(Twist.CHANGED):
        client.changes += 1
    listed = [] if wish.has(Twist.NO_PROTOCOL) else protocols(
        client, other=wish.has(Twist.OTHER_PROTOCOL), more=wish.has(Twist.MORE_PROTOCOLS)
    )  # fmt: skip
    short_ms = SHORT_MS.get(wish.timing, 0) * wish.stretch
    session = short_ms if short and wish.timing is Timing.SESSION else LONG_MS
    if wish.has(Twist.SHORT_SESSION):
        session = LOWEST_MS - 1
    elif wish.has(Twist.LONG_SESSION):
        session = 1_800_001
    rebalance = short_ms if short and wish.timing is Timing.REBALANCE else LONG_MS
    request = m.JoinGroupRequest(
        group_id=wish.group,
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance if version >= 1 else -1,
        member_id=wish.member_id,
        group_instance_id=wish.instance(version, 5),
        protocol_type=wish.type(),
        protocols=[m.JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in listed],
        reason="because" if wish.has(Twist.REASON) else None,
    )
    return Asked(request, version, own=not wish.has(*NOT_OWN))


def sync(wish: Wish) -> Asked:
    version = wish.version(m.SyncGroupRequest)
    client = wish.client
    name = "other" if wish.has(Twist.OTHER_PROTOCOL) else client.protocol_name
    request = m.SyncGroupRequest(
        group_id=wish.group,
        generation_id=wish.generation,
        member_id=wish.member_id,
        group_instance_id=wish.instance(version, 3),
        protocol_type=None if wish.has(Twist.NO_TYPE) or version < 5 else wish.type(),
        protocol_name=None if wish.has(Twist.NO_PROTOCOL) or version < 5 else name,
        assignments=[m.SyncGroupRequestAssignment(member_id=who, assignment=what) for who, what in shares(wish)],
    )
    return Asked(request, version, own=not wish.has(*NOT_OWN_SYNC))


def shares(wish: Wish) -> list[tuple[str, bytes]]:
    """Who is assigned what."""
    client = wish.client
    # What a client is assigned must not depend on the order in which it was told of the others.
    everybody = sorted(client.listed)
    if wish.has(Twist.FOR_ALL):
        everybody = sorted(one.id for one in wish.actors.clients if one.id)
    elif client.leader != client.id or wish.has(Twist.NOTHING):
        return []
    if wish.has(Twist.PARTIAL):
        everybody = everybody[1:]
    given = [(who, b"for " + who.encode()) for who in everybody]
    if wish.has(Twist.EXTRA):
        given.append(("unknown", b"nobody's"))
    if wish.has(Twist.DUPLICATE) and everybody:
        given += [(everybody[0], b"first"), (everybody[0], b"last")]
    return given


def heartbeat(wish: Wish) -> Asked:
    version = wish.version(m.HeartbeatRequest)
    request = m.HeartbeatRequest(
        group_id=wish.group,
        generation_id=wish.generation,
        member_id=wish.member_id,
        group_instance_id=wish.instance(version, 3),
    )
    return Asked(request, version, own=not wish.has(*NOT_OWN))


def leave(wish: Wish) -> Asked:
    version = wish.version(m.LeaveGroupRequest)
    if version < 3:
        request = m.LeaveGroupRequest(group_id=wish.group, member_id=wish.member_id)
        return Asked(request, version, own=not wish.has(*NOT_OWN))
    one = (wish.member_id, wish.instance(version, 3))
    if wish.has(Twist.BY_INSTANCE):
        one = ("", one[1] or "i0")
    leaving = [] if wish.has(Twist.NOTHING) else [one]
    if wish.has(Twist.BATCH):
        other = wish.actors.after(wish.client)
        leaving += [(other.id, other.instance), ("unknown", None)]
    if wish.has(Twist.TWICE):
        leaving += leaving
    members = [m.MemberIdentity(member_id=who, group_instance_id=instance) for who, instance in leaving]
    request = m.LeaveGroupRequest(group_id=wish.group, members=members)
    return Asked(request, version, own=not wish.has(*NOT_OWN, Twist.BY_INSTANCE))


def places(wish: Wish) -> list[tuple[str, list[int]]]:
    """Topics and partitions that a request about offsets names."""
    if wish.has(Twist.NO_TOPICS):
        return []
    found = [("fuzz-t", [wish.number % 3])]
    if wish.has(Twist.SEVERAL):
        found = [("fuzz-u", [1, 0]), ("fuzz-t", [0, 1, 2])]
    if wish.has(Twist.UNKNOWN_TOPIC):
        found.insert(wish.number % 2, (UNKNOWN_TOPIC, [0, 1]))
    if wish.has(Twist.UNKNOWN_PARTITION):
        found[-1][1].insert(wish.number % 2, 7)
    return found * 2 if wish.has(Twist.TWICE) else found


def commit(wish: Wish) -> Asked:
    version = wish.version(m.OffsetCommitRequest)
    simple = wish.has(Twist.SIMPLE)
    metadata: str | None = f"at {wish.number}" if wish.number % 2 else ""
    if wish.has(Twist.LONG_METADATA):
        metadata = "x" * 4097
    elif wish.has(Twist.NULL_METADATA):
        metadata = None
    elif wish.has(Twist.UNICODE):
        metadata = "é" * 4096 if wish.number % 2 else "😀" * 2049
    retention = (-2, 0, 60_000)[wish.number % 3] if wish.has(Twist.RETENTION) else -1
    request = m.OffsetCommitRequest(
        group_id=wish.group,
        generation_id_or_member_epoch=-1 if simple else wish.generation,
        member_id="" if simple else wish.member_id,
        group_instance_id=None if simple else wish.instance(version, 7),
        retention_time_ms=retention if version <= 4 else -1,
        topics=[
            m.OffsetCommitRequestTopic(
                name=name,
                topic_id=TOPIC_IDS.get(name, UNKNOWN_TOPIC_ID),
                partitions=[
                    m.OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=-5 if wish.has(Twist.NEGATIVE) else 10 * wish.number + partition,
                        committed_leader_epoch=wish.number - 1,
                        committed_metadata=metadata,
                    )
                    for partition in partitions
                ],
            )
            for name, partitions in places(wish)
        ],
    )
    return Asked(request, version, own=False)


def fetch(wish: Wish) -> Asked:
    version = wish.version(m.OffsetFetchRequest)
    stable = wish.has(Twist.STABLE) and version >= 7
    everything = wish.has(Twist.ALL)
    if version >= 8:
        topics = None if everything else [
            m.OffsetFetchRequestTopics(
                name=name, topic_id=TOPIC_IDS.get(name, UNKNOWN_TOPIC_ID), partition_indexes=partitions
            )
            for name, partitions in places(wish)
        ]  # fmt: skip
        as_member = wish.has(Twist.AS_MEMBER)
        groups = [
            m.OffsetFetchRequestGroup(
                group_id=group,
                topics=topics,
                member_id=wish.client.id if as_member else None,
                member_epoch=wish.client.generation if as_member else -1,
            )
            for group in wish.groups
        ]
        return Asked(m.OffsetFetchRequest(groups=groups, require_stable=stable), version, own=False)
    older = None if everything and version >= 2 else [
        m.OffsetFetchRequestTopic(name=name, partition_indexes=partitions) for name, partitions in places(wish)
    ]  # fmt: skip
    return Asked(m.OffsetFetchRequest(group_id=wish.group, topics=older, require_stable=stable), version, own=False)


def describe(wish: Wish) -> Asked:
    version = wish.version(m.DescribeGroupsRequest)
    operations = wish.has(Twist.OPERATIONS) and version >= 3
    request = m.DescribeGroupsRequest(groups=wish.groups, include_authorized_operations=operations)
    return Asked(request, version, own=False)


STATES = ("Stable", "Empty", "preparingrebalance", "CompletingRebalance", "STABLE", "Dead")


def list_groups(wish: Wish) -> Asked:
    version = wish.version(m.ListGroupsRequest)
    states = [STATES[wish.number]] if wish.has(Twist.STATES) else []
    states += ["nothing"] if wish.has(Twist.UNKNOWN_STATE) else []
    types = [("classic", "Classic", "consumer")[wish.number % 3]] if wish.has(Twist.TYPES) else []
    types += ["nothing"] if wish.has(Twist.UNKNOWN_TYPE) else []
    request = m.ListGroupsRequest(
        states_filter=states if version >= 4 else [], types_filter=types if version >= 5 else []
    )
    return Asked(request, version, own=False)


def offset_delete(wish: Wish) -> Asked:
    request = m.OffsetDeleteRequest(
        group_id=wish.group,
        topics=[
            m.OffsetDeleteRequestTopic(
                name=name, partitions=[m.OffsetDeleteRequestPartition(partition_index=one) for one in partitions]
            )
            for name, partitions in places(wish)
        ],
    )
    return Asked(request, 0, own=False)


def delete_groups(wish: Wish) -> Asked:
    return Asked(m.DeleteGroupsRequest(groups_names=wish.groups), wish.version(m.DeleteGroupsRequest), own=False)


def find(wish: Wish) -> Asked:
    version = wish.version(m.FindCoordinatorRequest)
    key_type = (2, 5)[wish.number % 2] if wish.has(Twist.KEY_TYPE) and version >= 1 else 0
    if version < 4:
        return Asked(m.FindCoordinatorRequest(key=wish.group, key_type=key_type), version, own=False)
    return Asked(m.FindCoordinatorRequest(coordinator_keys=wish.groups, key_type=key_type), version, own=False)


MAKERS: dict[Kind, Callable[[Wish], Asked]] = {
    Kind.HEARTBEAT: heartbeat,
    Kind.JOIN: join,
    Kind.SYNC: sync,
    Kind.LEAVE: leave,
    Kind.COMMIT: commit,
    Kind.FETCH: fetch,
    Kind.DESCRIBE: describe,
    Kind.LIST: list_groups,
    Kind.OFFSET_DELETE: offset_delete,
    Kind.DELETE_GROUPS: delete_groups,
    Kind.FIND: find,
}
NEXT = {Stage.OUTSIDE: Kind.JOIN, Stage.JOINED: Kind.SYNC, Stage.SYNCED: Kind.HEARTBEAT}
"""What a client does next that behaves."""
