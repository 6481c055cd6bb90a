"""The faults of a server: which of them a request meets, and what becomes of it then."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import trio

from kcoord.broker import Broker, Dropped
from kcoord.core.states import GroupState
from kcoord.faults.matching import Asked, why_not
from kcoord.faults.place import Name
from kcoord.faults.places import PLACES
from kcoord.faults.rule import FaultRule

TAKEN = "another fault"
"""Stands for a condition that failed: a fault before this one was for the request."""
Handle = Callable[[Any], Awaitable[Any]]
"""Handles a request, and returns the answer."""


@dataclass(eq=False)
class Fault:
    """A rule that is in force, and what it has done. `number` tells it from others."""

    number: int
    rule: FaultRule
    ends: float = inf
    """The moment, on the server's clock, from which on it is for nothing."""
    matched: int = 0
    """Requests for which all else held than `nth`, `times` and `probability`."""
    applied: int = 0
    """Requests that met it."""
    missed: Counter[str] = field(default_factory=Counter)
    """How many requests it was not for, by the first condition that failed."""
    held: dict[int, trio.Event] = field(default_factory=dict)
    """What it holds, by the number of its request among those that met it."""
    removed: bool = False
    """Whether nobody can release what it would hold from now on."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.rule.seed)  # noqa: S311 - chance that can be had again

    def __str__(self) -> str:
        return str(self.rule)

    def draws(self) -> bool:
        """Whether it is for a request for which all conditions hold; one more was met."""
        self.matched += 1
        if self.rule.probability < 1 and self._random.random() >= self.rule.probability:
            return False
        if self.matched < self.rule.first or self.applied >= self.rule.most:
            return False
        self.applied += 1
        return True

    def release(self) -> int:
        """Let go what it holds; return how many that were."""
        count = len(self.held)
        for event in self.held.values():
            event.set()
        self.held.clear()
        return count

    async def hold(self, number: int) -> None:
        """Wait until it is released; not if it was taken away since the request met it."""
        if self.removed:
            return
        event = self.held[number] = trio.Event()
        try:
            await event.wait()
        finally:
            self.held.pop(number, None)

    def why_never(self) -> str:
        """Say, of a fault that was for no request, what was missing."""
        if self.matched:
            return f"this fault was for none of {self.matched} requests that matched: {self.rule}"
        if not self.missed:
            return f"this fault was for no request, as none came: {self.rule}"
        taken = self.missed[TAKEN]
        differed = [(name, count) for name, count in self.missed.most_common() if name != TAKEN and count]
        parts = [f"{count} differed by {name.replace('_id', ' id')}" for name, count in differed]
        parts += [f"{taken} met another fault first"] if taken else []
        return f"this fault was for no request: {self.rule}; of {self.missed.total()} that came, {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Applied:
    """A fault that a request meets. `chosen` are the entries that it is for; None are all."""

    faults: "Faults"
    fault: Fault
    number: int
    asked: Asked
    chosen: frozenset[int] | None

    @property
    def sentence(self) -> str:
        """What the fault does."""
        return str(self.fault.rule)

    @property
    def truncate(self) -> int | None:
        """How many bytes of the answer are sent; None are all."""
        return self.fault.rule.truncate

    async def answer(self, handle: Handle, request: Any) -> Any:
        """Return what is answered. Raises Dropped, and what `handle` raises."""
        rule, clock = self.fault.rule, self.faults.broker.clock
        place = clock.place()
        if rule.hold == "request":
            await self.fault.hold(self.number)
        if rule.delay is not None:
            await clock.sleep(rule.delay, place)
        if rule.drop == "before":
            raise Dropped(self.sentence)
        response = await (handle(request) if rule.code is None else self._refuse(handle, request))
        if rule.hold == "answer":
            await self.fault.hold(self.number)
        if rule.late is not None:
            await clock.sleep(rule.late, place)
        if rule.drop == "after":
            raise Dropped(self.sentence)
        return response

    async def _refuse(self, handle: Handle, request: Any) -> Any:
        code = self.fault.rule.code
        assert code is not None
        if self.asked.api == "Produce" and request.acks == 0:
            # Nobody waits for an answer: Kafka tells by the end of the connection (`KafkaApis.handleProduceRequest`).
            raise Dropped(self.sentence)
        if self.asked.api == "Metadata" and self.chosen is None and not request.topics:
            # All topics are asked for, or none: each that there is has the error.
            answer = await handle(request)
            for topic in answer.topics:
                topic.error_code, topic.partitions = code, []
            return answer
        place = PLACES[self.asked.api]
        refused = place.refused(request, self.asked.version, code, self.chosen)
        if self.chosen is None:
            return refused
        return place.joined(refused, await handle(place.without(request, self.chosen)))


class Faults:
    """All faults of a server. A request meets the first one, in the order of their making, that is for it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._faults: dict[int, Fault] = {}
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self._faults)

    def add(self, rule: FaultRule) -> Fault:
        """Put a rule in force."""
        self._last += 1
        ends = inf if rule.seconds is None else self.broker.clock.now().mono + rule.seconds
        fault = self._faults[self._last] = Fault(self._last, rule, ends)
        return fault

    def remove(self, number: int) -> Fault | None:
        """Take a rule out of force, and let go what it holds; return it, or None if there is none of that number."""
        fault = self._faults.pop(number, None)
        if fault is not None:
            fault.removed = True
            fault.release()
        return fault

    def get(self, number: int) -> Fault | None:
        """Return the rule of that number."""
        return self._faults.get(number)

    def list(self) -> list[Fault]:
        """Return those in force, in the order of their making."""
        return list(self._faults.values())

    def clear(self) -> None:
        """Take all of them out of force."""
        for number in tuple(self._faults):
            self.remove(number)

    def met(self, *, api: str, version: int, request: Any, client_id: str, node_id: int) -> Applied | None:
        """Return the fault that a request meets, or None; what it is for is counted."""
        asked = Asked(
            api=api,
            version=version,
            request=request,
            client_id=client_id,
            broker=node_id,
            state_of=self._state_of,
            name_of=self._name_of(),
        )
        now = self.broker.clock.now().mono
        met: Applied | None = None
        for fault in self._faults.values():
            if met is not None:
                fault.missed[TAKEN] += 1
            elif now >= fault.ends:
                fault.missed["time"] += 1
            elif isinstance(found := why_not(fault.rule, asked), str):
                fault.missed[found] += 1
            elif fault.draws():
                met = Applied(self, fault, fault.applied, asked, found)
        return met

    def _state_of(self, group_id: str) -> str:
        tables = self.broker.shard_for(group_id).tables
        group = None if tables is None else tables.groups.get(group_id)
        return GroupState.DEAD.value if group is None else group.state.value

    def _name_of(self) -> Name:
        def name(topic_id: Any) -> str | None:
            topic = self.broker.catalog.by_id(topic_id)
            return None if topic is None else topic.name

        return name
