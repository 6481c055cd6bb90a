"""Members of a group: unmodified kafka-python consumers, each in a thread of its own, and who owned what, when."""

import contextlib
import datetime as dt
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.base import MemberState
from kafka.errors import KafkaConnectionError, KafkaError

from integration.waiting import LIMIT, changed, eventually

Partitions = frozenset[TopicPartition]

POLL_MS = 50
"""How long a poll takes of a member that has nothing else to do."""
JOINING_POLL_MS = 250
"""How long it takes while the member is not in the group.

kafka-python 3.0.12 forgets what it did in a poll that ended too early. A join that is complete before the next poll
begins is made once more: one generation more than needed. A rebalance that the member began by itself, because topics
or its subscription changed, leaves it outside for ever. Longer polls make the one rare, and tests do not count
generations where it may happen; a join that must not bring about a generation, and what changes a subscription, is
always made in one very long poll.
"""
LONG_POLL_MS = 3_000
CALM_MS = 200
"""A group is settled when nothing has moved for that long, in terms of what its members polled."""

DEFAULTS: dict[str, Any] = {
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    "heartbeat_interval_ms": 300,  # how soon a member learns of a rebalance
    "session_timeout_ms": 30_000,  # nobody is to expire because this machine is busy
    "max_poll_interval_ms": 60_000,
    "metadata_max_age_ms": 2_000,
    "reconnect_backoff_max_ms": 500,
}

_names = itertools.count(1)


def partitions(topic: str, *numbers: int) -> Partitions:
    """Some partitions of a topic."""
    return frozenset(TopicPartition(topic, number) for number in numbers)


def all_of(**topics: int) -> Partitions:
    """All partitions of topics: `all_of(t=4)`."""
    return frozenset(itertools.chain.from_iterable(partitions(name, *range(count)) for name, count in topics.items()))


@dataclass(frozen=True)
class Event:
    """A call of the rebalance listener. `kind` is assigned, revoked or lost; `at` is monotonic seconds."""

    at: float
    kind: str
    partitions: Partitions
    generation: int


@dataclass
class Ledger:
    """Who owns each partition right now, by what the listeners of all members are told."""

    owners: dict[TopicPartition, "Member"] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def gained(self, member: "Member", gained: Partitions) -> None:
        with self.lock:
            for each in gained:
                owner = self.owners.get(each)
                if owner not in (None, member):
                    self.conflicts.append(f"{member.name} got {each}, which {owner.name} has")
                self.owners[each] = member

    def gave_up(self, member: "Member", gone: Iterable[TopicPartition]) -> None:
        with self.lock:
            for each in gone:
                if self.owners.get(each) is member:
                    del self.owners[each]


@dataclass(frozen=True)
class Request:
    """Something to be done in a member's thread; the next poll there takes `poll_ms`, if that is given."""

    action: Callable[[KafkaConsumer], Any]
    poll_ms: int | None = None
    future: "Future[Any]" = field(default_factory=Future)


class Member(ConsumerRebalanceListener):
    """A consumer that polls all the time, unless told not to, and notes what its listener is told.

    Only its own thread touches the consumer: `do` runs something there. `error` is what ended it.
    """

    def __init__(
        self,
        bootstrap: str,
        group_id: str,
        *topics: str,
        name: str = "",
        pattern: str | None = None,
        ledger: Ledger | None = None,
        gate: threading.Event | None = None,
        polling: bool = True,
        poll_ms: int = POLL_MS,
        joining_ms: int = JOINING_POLL_MS,
        **config: Any,
    ) -> None:
        self.name = name or f"member-{next(_names)}"
        self.events: list[Event] = []
        self.assignment: Partitions = frozenset()
        self.generation = -1
        self.member_id = ""
        self.state: object = MemberState.UNJOINED
        self.polls = 0
        self.error: Exception | None = None
        self.ready = threading.Event()
        self.polling = polling
        self.poll_ms = poll_ms
        self.joining_ms = joining_ms
        self._config = {
            **DEFAULTS, "bootstrap_servers": bootstrap, "group_id": group_id, "client_id": self.name, **config,
        }  # fmt: skip
        self._topics, self._pattern = topics, pattern
        self._ledger = ledger or Ledger()
        self._gate = gate
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._closing: dict[str, Any] | None = None
        self._consumer: KafkaConsumer | None = None
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        error = f" error={self.error!r}" if self.error else ""
        owned = _shown(self.assignment)
        return f"<{self.name} {self.state} generation={self.generation} polls={self.polls} {owned}{error}>"

    def do(self, action: Callable[[KafkaConsumer], Any], poll_ms: int | None = None) -> Any:
        """Run `action(consumer)` in the member's thread, and return or raise what it does."""
        request = Request(action, poll_ms)
        self._requests.put(request)
        return request.future.result(LIMIT)

    def close(self, **arguments: Any) -> None:
        """Close the consumer in order, as `KafkaConsumer.close(**arguments)`, and wait for the thread."""
        if self._thread.is_alive():
            self._closing = arguments
            self._requests.put(None)
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), f"{self!r} does not end"

    def heard(self, *kinds: str) -> list[Event]:
        """The events of these kinds that were about any partition."""
        return [event for event in self.events if event.kind in kinds and event.partitions]

    # What the listener is told, on the consumer's own event loop.

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._ledger.gained(self, frozenset(assigned))
        self._note("assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._ledger.gave_up(self, revoked)
        self._note("revoked", revoked)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._ledger.gave_up(self, lost)
        self._note("lost", lost)

    def _note(self, kind: str, about: Iterable[TopicPartition]) -> None:
        assert self._consumer is not None
        generation = self._consumer.group_metadata().generation_id
        self.events.append(Event(time.monotonic(), kind, frozenset(about), generation))
        changed()

    # The thread.

    def _run(self) -> None:
        try:
            with contextlib.closing(KafkaConsumer(**self._config)) as self._consumer:
                if self._pattern is not None:
                    self._consumer.subscribe(pattern=self._pattern, listener=self)
                elif self._topics:
                    self._consumer.subscribe(self._topics, listener=self)
                # Else the first to join does not know its topics, and joins once more as soon as it does. Twice,
                # as the first call may be told what an earlier request has found.
                for _ in range(2):
                    self._consumer.topics()
                self.ready.set()
                if self._gate is not None:
                    self._gate.wait(LIMIT)
                while self._closing is None:
                    self._step(self._consumer)
                self._consumer.close(**self._closing)
        except (KafkaError, ValueError, AssertionError) as error:
            self.error = error
        finally:
            self.state = "closed"
            self.assignment = frozenset()
            self.ready.set()
            self._refuse_the_rest()
            changed()

    def _step(self, consumer: KafkaConsumer) -> None:
        poll_ms = self.poll_ms if self.state is MemberState.STABLE else max(self.poll_ms, self.joining_ms)
        with contextlib.suppress(queue.Empty):
            request = self._requests.get(block=not self.polling, timeout=LIMIT)
            if request is not None:
                poll_ms = request.poll_ms or poll_ms
                try:
                    request.future.set_result(request.action(consumer))
                except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                    request.future.set_exception(error)
        if self.polling and self._closing is None:
            self._poll(consumer, poll_ms)
        self._look(consumer)

    def _poll(self, consumer: KafkaConsumer, poll_ms: int) -> None:
        """Poll as an application does that outlives its server: kafka-python sometimes raises when none is there."""
        try:
            records = consumer.poll(timeout_ms=poll_ms)
        except KafkaConnectionError:
            time.sleep(POLL_MS / 1000)
        else:
            assert not records, "nobody produces"
            self.polls += 1

    def _look(self, consumer: KafkaConsumer) -> None:
        about = consumer.group_metadata()
        self.generation, self.member_id = about.generation_id, about.member_id
        self.state = about.state
        self.assignment = frozenset(consumer.assignment())
        changed()

    def _refuse_the_rest(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                request = self._requests.get_nowait()
                if request is not None:
                    request.future.set_exception(RuntimeError(f"{self!r} has ended"))

    def pause(self) -> None:
        """Stop polling, as an application that is busy with what it got; heartbeats go on."""
        self.polling = False
        self.do(lambda _: None)

    def resume(self, poll_ms: int | None = None) -> None:
        """Poll again; the first time for that long."""
        self.polling = True
        self._requests.put(Request(lambda _: None, poll_ms))


def _text(event: Event) -> str:
    return f"{event.kind} {_shown(event.partitions)} in generation {event.generation}"


def _shown(owned: Partitions) -> str:
    return f"[{', '.join(f'{each.topic}-{each.partition}' for each in sorted(owned))}]"


class Group:
    """A group with a name of its own, and its members."""

    def __init__(self, bootstrap: str, group_id: str) -> None:
        self.bootstrap = bootstrap
        self.id = group_id
        self.ledger = Ledger()
        self.members: list[Member] = []

    def join(self, *topics: str, **config: Any) -> Member:
        """Start one more member that subscribes to the topics."""
        member = Member(self.bootstrap, self.id, *topics, ledger=self.ledger, **config)
        self.members.append(member)
        return member

    def close(self) -> None:
        """Close all of them, at the same time."""
        for member in self.members:
            member.polling = True
        closers = [threading.Thread(target=member.close) for member in self.members]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()

    def story(self) -> str:
        """Everything that the listeners of all members were told, at the time of day of logs, and how they look now."""
        to_clock = time.time() - time.monotonic()
        told = sorted((event.at, member.name, _text(event)) for member in self.members for event in list(member.events))
        lines = [f"{dt.datetime.fromtimestamp(at + to_clock, dt.UTC):%T.%f} {name} {text}" for at, name, text in told]
        return "\n".join(lines + [f"{member!r}" for member in self.members])

    def settled(self, wanted: Partitions, *members: Member) -> int:
        """Wait until these members (all, if none are named) share the partitions in one generation; return that.

        Each partition has one owner, and nothing has moved while everybody polled a few more times.
        """
        among = list(members or self.members)

        def shares() -> tuple[Any, ...] | None:
            for member in among:
                if member.error is not None:
                    raise member.error
            owned = [each for member in among for each in member.assignment]
            generations = {member.generation for member in among}
            stable = all(member.state is MemberState.STABLE for member in among)
            if not stable or len(generations) != 1 or len(owned) != len(wanted) or set(owned) != wanted:
                return None
            return generations.pop(), [member.assignment for member in among], [len(each.events) for each in among]

        def described() -> str:
            return f"{among} to share {sorted(wanted)}"

        def calm() -> int | None:
            before, polls = eventually(shares, described), [member.polls for member in among]
            eventually(
                lambda: (
                    shares() != before
                    or all(now.polls > then + CALM_MS // now.poll_ms for now, then in zip(among, polls, strict=True))
                ),
                described,
            )
            return before[0] if shares() == before else None

        return eventually(calm, described)
