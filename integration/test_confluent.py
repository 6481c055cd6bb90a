"""librdkafka, through confluent-kafka: another client's idea of the same protocol.

It needs no Produce: a consumer checks for FindCoordinator, OffsetCommit, OffsetFetch, JoinGroup, SyncGroup, Heartbeat,
LeaveGroup, and for Fetch and ListOffsets once it owns something.
"""

import contextlib
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from integration.members import Partitions, all_of
from integration.waiting import LIMIT, changed, eventually

T = all_of(t=4)
POLL_S = 0.05
DEFAULTS = {
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "heartbeat.interval.ms": 300,
    "session.timeout.ms": 30_000,
    "max.poll.interval.ms": 60_000,
    "reconnect.backoff.max.ms": 500,
}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}

_numbers = itertools.count(1)


def keys(found: Any) -> Partitions:
    """The partitions of a list in confluent-kafka's form."""
    return frozenset(T_BY_KEY[each.topic, each.partition] for each in found)


T_BY_KEY = {(each.topic, each.partition): each for each in T}


class Member:
    """A consumer in a thread, that polls and notes what it is given and what is taken from it.

    Only that thread uses the consumer: while one thread polls again and again, another one's call may wait for minutes.
    """

    def __init__(self, bootstrap: str, group_id: str, owners: dict[Any, "Member"], **config: Any) -> None:
        self.name = f"confluent-{next(_numbers)}"
        self.assignment: Partitions = frozenset()
        self.events: list[tuple[float, str, Partitions]] = []
        self.conflicts: list[str] = []
        self.errors: list[KafkaError] = []
        self.consumer = Consumer(
            {
                **DEFAULTS, "bootstrap.servers": bootstrap, "group.id": group_id, "client.id": self.name,
                **{key.replace("_", "."): value for key, value in config.items()},
            }
        )  # fmt: skip
        self._owners = owners
        self._ending = threading.Event()
        self._requests: queue.SimpleQueue[tuple[Callable[[Consumer], Any], Future[Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<{self.name} {sorted(self.assignment)} {self.errors}>"

    def close(self) -> None:
        self._ending.set()
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), self

    def heard(self, kind: str) -> list[Partitions]:
        return [what for _, heard, what in self.events if heard == kind and what]

    def do(self, action: Callable[[Consumer], Any]) -> Any:
        future: Future[Any] = Future()
        self._requests.put((action, future))
        return future.result(LIMIT)

    def commit(self, *offsets: TopicPartition) -> None:
        for each in self.do(lambda consumer: consumer.commit(offsets=list(offsets), asynchronous=False)):
            if each.error is not None:
                raise KafkaException(each.error)

    def committed(self, *partitions: TopicPartition) -> list[tuple[int, str | None]]:
        found = self.do(lambda consumer: consumer.committed(list(partitions), timeout=LIMIT))
        return [(each.offset, each.metadata or "") for each in found]

    def _run(self) -> None:
        self.consumer.subscribe(["t"], on_assign=self._gained, on_revoke=self._gave_up, on_lost=self._gave_up)
        while not self._ending.is_set():
            with contextlib.suppress(queue.Empty):
                action, future = self._requests.get_nowait()
                try:
                    future.set_result(action(self.consumer))
                except KafkaException as error:
                    future.set_exception(error)
            message = self.consumer.poll(POLL_S)
            if message is not None:
                self.errors.append(message.error())
            self.assignment = keys(self.consumer.assignment())
            changed()
        self.consumer.close()
        self.assignment = frozenset()
        changed()

    def _gained(self, _consumer: Consumer, found: list[TopicPartition]) -> None:
        for each in keys(found):
            owner = self._owners.setdefault(each, self)
            if owner is not self:
                self.conflicts.append(f"{each} is still {owner}'s")
        self.events.append((time.monotonic(), "assigned", keys(found)))

    def _gave_up(self, _consumer: Consumer, found: list[TopicPartition]) -> None:
        for each in keys(found):
            self._owners.pop(each, None)
        self.events.append((time.monotonic(), "revoked", keys(found)))


@pytest.fixture
def join(server, group) -> Iterator[Callable[..., Member]]:
    """Add members to the test's group; they close when it is over."""
    members: list[Member] = []
    owners: dict[Any, Member] = {}

    def make(**config: Any) -> Member:
        members.append(Member(server.bootstrap, group.id, owners, **config))
        return members[-1]

    yield make
    for each in members:
        each.close()
        assert each.conflicts == []
        assert each.errors == []


@pytest.fixture
def operator(server) -> AdminClient:
    return AdminClient({"bootstrap.servers": server.bootstrap})


def share(operator, group, *members: Member) -> None:
    """Wait until the members share all partitions and the group is stable."""

    def shared() -> bool:
        owned = [each for member in members for each in member.assignment]
        return len(owned) == len(T) == len(set(owned)) and all(member.assignment for member in members)

    eventually(
        lambda: shared() and is_stable(operator, group) and shared(),
        lambda: members,
    )


def is_stable(operator, group):
    """Whether the group is Stable. A call that its client lets time out, as amid a restart, says no."""
    try:
        future = operator.describe_consumer_groups([group.id], request_timeout=10)[group.id]
        return future.result(LIMIT).state == ConsumerGroupState.STABLE
    except KafkaException as error:
        if error.args[0].code() in {KafkaError._TIMED_OUT, KafkaError._TRANSPORT}:
            return False
        raise


def describe(operator, group) -> Any:
    return operator.describe_consumer_groups([group.id])[group.id].result(LIMIT)


def error_of(future: Any) -> int:
    """The code of the error that a call must end with."""
    with pytest.raises(KafkaException) as refused:
        future.result(LIMIT)
    return refused.value.args[0].code()


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_two_members_share_and_one_inherits(join, group, operator, assignor):
    config = {"partition_assignment_strategy": assignor}
    first = join(**config)
    share(operator, group, first)
    second = join(**config)
    share(operator, group, first, second)
    assert describe(operator, group).partition_assignor == assignor
    assert len(first.assignment) == 2
    first.close()
    share(operator, group, second)


def test_cooperative_members_keep_what_stays_theirs(join, group, operator):
    first = join(**COOPERATIVE)
    share(operator, group, first)
    second = join(**COOPERATIVE)
    share(operator, group, first, second)
    assert first.heard("revoked") == [second.assignment]
    third = join(**COOPERATIVE)
    share(operator, group, first, second, third)
    assert first.heard("revoked")[1:] + second.heard("revoked") == [third.assignment]


def test_a_static_member_restarts_unnoticed(join, group, operator):
    x, y = join(group_instance_id="x"), join(group_instance_id="y")
    share(operator, group, x, y)
    owned, heard = x.assignment, list(y.events)
    x.close()
    again = join(group_instance_id="x")
    share(operator, group, again, y)
    assert again.assignment == owned
    assert y.events == heard
    assert {member.group_instance_id for member in describe(operator, group).members} == {"x", "y"}


def test_the_two_clients_in_one_group(join, group, operator):
    theirs = join(partition_assignment_strategy="range")
    ours = group.join("t")
    eventually(lambda: theirs.assignment | ours.assignment == T and len(ours.assignment) == 2, lambda: (theirs, ours))
    described = describe(operator, group)
    assert {member.client_id for member in described.members} == {theirs.name, ours.name}
    theirs.close()
    group.settled(T)


def test_offsets_with_metadata(join, group, operator):
    member = join()
    share(operator, group, member)
    assert member.committed(TopicPartition("t", 0)) == [(-1001, "")]  # librdkafka's word for none
    member.commit(TopicPartition("t", 0, 5, "five"), TopicPartition("t", 1, 6))
    assert member.committed(*(TopicPartition("t", number) for number in range(3))) == [
        (5, "five"), (6, ""), (-1001, ""),
    ]  # fmt: skip
    ends = member.do(lambda consumer: consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=LIMIT))
    assert ends == (0, 0)


def test_d2_commits_in_the_revoked_callback_are_accepted(join, group, operator):
    outcome: list[KafkaException | None] = []
    first = join()
    share(operator, group, first)
    plain = first._gave_up

    def commits_first(consumer: Consumer, found: list[TopicPartition]) -> None:
        try:
            consumer.commit(offsets=[TopicPartition("t", each.partition, 9) for each in found], asynchronous=False)
            outcome.append(None)
        except KafkaException as error:
            outcome.append(error)
        plain(consumer, found)

    first.do(
        lambda consumer: consumer.subscribe(["t"], on_assign=first._gained, on_revoke=commits_first, on_lost=plain)
    )
    share(operator, group, first)
    second = join()
    share(operator, group, first, second)
    assert outcome
    assert set(outcome) == {None}
    assert {offset for offset, _ in second.committed(*(TopicPartition("t", n) for n in range(4)))} == {9}


def test_m5_a_consumer_that_only_assigns(server, group, join, operator):
    alone = Consumer({**DEFAULTS, "bootstrap.servers": server.bootstrap, "group.id": group.id})
    with contextlib.closing(alone):
        alone.assign([TopicPartition("t", 0)])
        assert group.id not in listed(operator)
        alone.commit(offsets=[TopicPartition("t", 0, 3)], asynchronous=False)
        assert listed(operator)[group.id] == (ConsumerGroupState.EMPTY, True)
        member = join()
        share(operator, group, member)
        with pytest.raises(KafkaException) as refused:
            alone.commit(offsets=[TopicPartition("t", 0, 4)], asynchronous=False)
        assert refused.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
        assert member.committed(TopicPartition("t", 0)) == [(3, "")]


def listed(operator, **filters: Any) -> dict[str, tuple[ConsumerGroupState, bool]]:
    """State and "is simple" by group."""
    found = operator.list_consumer_groups(**filters).result(LIMIT)
    assert found.errors == []
    return {each.group_id: (each.state, each.is_simple_consumer_group) for each in found.valid}


def test_an_operators_round(join, group, operator):
    member = join()
    share(operator, group, member)
    member.commit(TopicPartition("t", 0, 3))
    assert listed(operator)[group.id] == (ConsumerGroupState.STABLE, False)
    assert group.id in listed(operator, states={ConsumerGroupState.STABLE}, types={ConsumerGroupType.CLASSIC})
    assert group.id not in listed(operator, states={ConsumerGroupState.EMPTY})

    described = describe(operator, group)
    assert (described.state, described.type) == (ConsumerGroupState.STABLE, ConsumerGroupType.CLASSIC)
    (only,) = described.members
    assert keys(only.assignment.topic_partitions) == T
    assert only.host == "/127.0.0.1"
    assert error_of(operator.delete_consumer_groups([group.id])[group.id]) == KafkaError.NON_EMPTY_GROUP
    assert alter(operator, group, 1).code() == KafkaError.UNKNOWN_MEMBER_ID

    member.close()
    assert describe(operator, group).state == ConsumerGroupState.EMPTY
    assert alter(operator, group, 1) is None
    (offsets,) = operator.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.id)]).values()
    assert [(each.topic, each.partition, each.offset) for each in offsets.result(LIMIT).topic_partitions] == [
        ("t", 0, 1)
    ]
    assert operator.delete_consumer_groups([group.id])[group.id].result(LIMIT) is None
    assert error_of(operator.delete_consumer_groups([group.id])[group.id]) == KafkaError.GROUP_ID_NOT_FOUND
    assert group.id not in listed(operator)


def alter(operator, group, offset: int) -> KafkaError | None:
    """Set the offset of t-0, and return the error of that partition."""
    wanted = ConsumerGroupTopicPartitions(group.id, [TopicPartition("t", 0, offset)])
    (future,) = operator.alter_consumer_group_offsets([wanted]).values()
    try:
        return future.result(LIMIT).topic_partitions[0].error
    except KafkaException as error:
        return error.args[0]


def test_confluent_consumers_come_back_after_a_restart(start_server, new_group):
    server = start_server()
    group, owners = new_group(server), {}
    operator = AdminClient({"bootstrap.servers": server.bootstrap})
    members = [Member(server.bootstrap, group.id, owners) for _ in range(2)]
    share(operator, group, *members)
    for crash in (False, True):
        # How often each was assigned something before is up to who joined first.
        before = {each: len(each.heard("assigned")) for each in members}
        server.restart(crash=crash)
        eventually(lambda had=before: all(len(each.heard("assigned")) > had[each] for each in members), lambda: members)
        share(AdminClient({"bootstrap.servers": server.bootstrap}), group, *members)
    for each in members:
        each.close()
