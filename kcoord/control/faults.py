"""Faults on purpose: put in force, looked at, taken away."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcoord.broker import Broker
from kcoord.control import given
from kcoord.control.errors import Impossible, NotFound
from kcoord.faults import BadFault, Fault, FaultRule, Faults


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultView:
    """A fault as it stands."""

    number: int
    rule: FaultRule
    sentence: str
    """What it does, and to which requests."""
    matched: int
    """Requests for which all else held than nth, times and probability."""
    applied: int
    """Requests that met it."""
    held: int
    """Requests, or answers, that it holds."""
    why_never: str
    """Why it was for no request until now; "" if it was for one."""


class FaultsControl:
    """The faults of a server."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._faults = Faults(broker)
        broker.faults = self._faults

    def add(self, rule: FaultRule | Mapping[str, Any]) -> FaultView:
        """Put a fault in force, given as a rule or by the names of its parts. Raises Impossible."""
        try:
            made = rule if isinstance(rule, FaultRule) else FaultRule.of(rule)
        except BadFault as error:
            raise Impossible(str(error)) from None
        if made.broker is not None and made.broker not in self._broker.nodes.ids:
            known = ", ".join(map(str, self._broker.nodes.ids))
            raise Impossible(f"there is no broker {made.broker}: there are {known}")
        return _view(self._faults.add(made))

    def get(self, number: int) -> FaultView:
        """Return the fault of that number. Raises NotFound."""
        return _view(self._known(number))

    def list(self) -> tuple[FaultView, ...]:
        """Return all that are in force, in the order of their making."""
        return tuple(map(_view, self._faults.list()))

    def remove(self, number: int) -> FaultView:
        """Take a fault away; what it holds goes on. Return how it stood. Raises NotFound."""
        view = _view(self._known(number))
        self._faults.remove(number)
        return view

    def release(self, number: int) -> int:
        """Let go what a fault holds, and return how many that were. Raises NotFound."""
        return self._known(number).release()

    def clear(self) -> None:
        """Take all faults away."""
        self._faults.clear()

    def _known(self, number: int) -> Fault:
        fault = self._faults.get(given.number("a fault's number", number))
        if fault is None:
            raise NotFound(f"there is no fault {number}")
        return fault


def _view(fault: Fault) -> FaultView:
    return FaultView(
        number=fault.number,
        rule=fault.rule,
        sentence=str(fault),
        matched=fault.matched,
        applied=fault.applied,
        held=len(fault.held),
        why_never="" if fault.applied else fault.why_never(),
    )
