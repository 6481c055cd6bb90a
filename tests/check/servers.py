"""Servers in this process that are wrong as a whole: by a mutant, another clock, another setting, or a bad memory."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from kcoord.clock import Clock
from kcoord.core.coordinator import Coordinator
from kcoord.core.outcome import Now
from kcoord.core.tables import Tables
from tests.check.faults import Fault
from tests.check.mutants import MUTANTS, mutated

SETTINGS = {
    "group.initial.rebalance.delay.ms": "1500",
    "group.min.session.timeout.ms": "1",
    "group.max.session.timeout.ms": "2147483647",
    "group.max.size": "1",
    "offset.metadata.max.bytes": "1",
    "offsets.retention.check.interval.ms": "86400000",
    "message.max.bytes": "100000000",
    "num.partitions": "4",
    "auto.create.topics.enable": "false",
    "connections.max.idle.ms": "20000",
    "log.message.timestamp.type": "LogAppendTime",
}
"""Settings that a server has instead of what it is told."""
FORGOTTEN = ("Heartbeat", "SyncGroup", "LeaveGroup", "OffsetCommit", "OffsetFetch", "OffsetDelete", "DescribeGroups")
FAULTS = (
    *(Fault("mutant", name) for name in MUTANTS),
    *(Fault("clock", speed) for speed in ("2", "0.5")),
    *(Fault("setting", f"{name}={value}") for name, value in SETTINGS.items()),
    *(Fault("forgets", api) for api in FORGOTTEN),
)
"""All of them."""


@contextmanager
def wrong(fault: Fault | None) -> Iterator[None]:
    """Let servers that start now have a fault, if it is one of a server as a whole; a setting is given at the start."""
    kind, what = ("", "") if fault is None else (fault.kind, fault.what)
    if kind == "mutant":
        with mutated(what):
            yield
    elif kind == "clock":
        with _at_speed(float(what)):
            yield
    elif kind == "forgets":
        with _forgetting(f"{what}Request"):
            yield
    else:
        yield


@contextmanager
def _at_speed(speed: float) -> Iterator[None]:
    """Let clocks run so many times as fast."""
    now, deadline = Clock.now, Clock.deadline

    def fast_now(self):
        mono = self._start + (trio.current_time() - self._start) * speed + self._offset
        return Now(mono, self._start_wall_ms + int((mono - self._start) * 1000))

    def fast_deadline(self, mono):
        return self._start + (mono - self._offset - self._start) / speed

    Clock.now, Clock.deadline = fast_now, fast_deadline
    try:
        yield
    finally:
        Clock.now, Clock.deadline = now, deadline


@contextmanager
def _forgetting(request_name: str) -> Iterator[None]:
    """Let coordinators forget all they know before each request of a kind."""
    handle = Coordinator.handle

    def handle_anew(self, token, context, request, now):
        if type(request).__name__ == request_name:
            self.tables = Tables(self.tables.settings, self.tables.new_id)
            self.tables.live = True
        return handle(self, token, context, request, now)

    Coordinator.handle = handle_anew
    try:
        yield
    finally:
        Coordinator.handle = handle
