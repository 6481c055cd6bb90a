"""Faults on purpose, for as long as a `with` statement lasts."""

import warnings
from types import TracebackType
from typing import Any, Self

from kcoord.control.errors import Impossible, NotFound
from kcoord.control.faults import FaultView
from kcoord.faults import FaultRule
from kcoord.testing.refusals import is_refusal
from kcoord.testing.runs import AwaitsRun, Runs

__tracebackhide__ = is_refusal


class FaultNeverMet(UserWarning):
    """A fault was for no request: the test did not test what it meant to. The text says what came instead."""


class Faults:
    """The faults of a server: called with what one is, it is in force for as long as a `with` statement lasts.

        with kcoord.faults(api="Heartbeat", error="REBALANCE_IN_PROGRESS", nth=3) as fault:
            ...
        assert fault.applied == 1

    What a fault can be is said by `kcoord.faults.FaultRule`. Raises Impossible for what none can be.
    """

    def __init__(self, kcoord: Runs) -> None:
        self._kcoord = kcoord

    def __call__(self, **parts: Any) -> "FaultScope":
        """Return a fault that is in force within `with`. A fault that was for no request warns: FaultNeverMet."""
        return FaultScope(self._kcoord, parts)

    def add(self, rule: FaultRule | None = None, **parts: Any) -> FaultView:
        """Put a fault in force, given as a rule or by its parts, until it is removed, or the server is reset.

        Raises Impossible.
        """
        wanted = _rule(rule, parts)
        return self._kcoord.run(lambda control: control.faults.add(wanted))

    def list(self) -> tuple[FaultView, ...]:
        """Return those that are in force."""
        return self._kcoord.run(lambda control: control.faults.list())

    def release(self, number: int) -> int:
        """Let go what a fault holds; return how many that were. Raises NotFound."""
        return self._kcoord.run(lambda control: control.faults.release(number))

    def remove(self, number: int) -> FaultView:
        """Take a fault away; what it holds goes on. Raises NotFound."""
        return self._kcoord.run(lambda control: control.faults.remove(number))

    def clear(self) -> None:
        """Take all of them away."""
        self._kcoord.run(lambda control: control.faults.clear())


class FaultScope:
    """One fault within `with`. Afterwards it tells how it stood at the end."""

    def __init__(self, kcoord: Runs, parts: dict[str, Any]) -> None:
        self._kcoord = kcoord
        self._parts = parts
        self._number: int | None = None
        self._last: FaultView | None = None

    def __enter__(self) -> Self:
        self._check_not_entered()
        self._last = None
        self._number = self._kcoord.run(lambda control: control.faults.add(self._parts)).number
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        number, self._number = self._entered(), None
        try:
            self._last = self._kcoord.run(lambda control: control.faults.remove(number))
        except NotFound:
            # Somebody took all faults away meanwhile, as a reset does; how it stood then, nobody knows.
            return
        if error is None and not self._last.applied:
            warnings.warn(FaultNeverMet(self._last.why_never), stacklevel=2)

    def view(self) -> FaultView:
        """Return the fault as it stands."""
        if self._last is not None:
            return self._last
        number = self._entered()
        return self._kcoord.run(lambda control: control.faults.get(number))

    @property
    def applied(self) -> int:
        """How many requests met it."""
        return self.view().applied

    @property
    def held(self) -> int:
        """How many requests, or answers, it holds."""
        return self.view().held

    def release(self) -> int:
        """Let go what it holds; return how many that were."""
        number = self._entered()
        return self._kcoord.run(lambda control: control.faults.release(number))

    def _check_not_entered(self) -> None:
        if self._number is not None:
            raise RuntimeError("this fault is in force already: each with statement needs one of its own")

    def _entered(self) -> int:
        if self._number is None:
            raise RuntimeError("a fault is in force within a with statement")
        return self._number


class AsyncFaults:
    """The faults of a server, for tests on asyncio or trio: as `Faults`, with `async with` and to be awaited."""

    def __init__(self, kcoord: AwaitsRun) -> None:
        self._kcoord = kcoord

    def __call__(self, **parts: Any) -> "AsyncFaultScope":
        """Return a fault that is in force within `async with`. One that was for no request warns: FaultNeverMet."""
        return AsyncFaultScope(self._kcoord, parts)

    async def add(self, rule: FaultRule | None = None, **parts: Any) -> FaultView:
        """Put a fault in force, given as a rule or by its parts, until it is removed, or the server is reset.

        Raises Impossible.
        """
        wanted = _rule(rule, parts)
        return await self._kcoord.run(lambda control: control.faults.add(wanted))

    async def list(self) -> tuple[FaultView, ...]:
        """Return those that are in force."""
        return await self._kcoord.run(lambda control: control.faults.list())

    async def release(self, number: int) -> int:
        """Let go what a fault holds; return how many that were. Raises NotFound."""
        return await self._kcoord.run(lambda control: control.faults.release(number))

    async def remove(self, number: int) -> FaultView:
        """Take a fault away; what it holds goes on. Raises NotFound."""
        return await self._kcoord.run(lambda control: control.faults.remove(number))

    async def clear(self) -> None:
        """Take all of them away."""
        await self._kcoord.run(lambda control: control.faults.clear())


class AsyncFaultScope:
    """One fault within `async with`. Afterwards it tells how it stood at the end."""

    def __init__(self, kcoord: AwaitsRun, parts: dict[str, Any]) -> None:
        self._kcoord = kcoord
        self._parts = parts
        self._number: int | None = None
        self._last: FaultView | None = None

    async def __aenter__(self) -> Self:
        self._check_not_entered()
        self._last = None
        self._number = (await self._kcoord.run(lambda control: control.faults.add(self._parts))).number
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        number, self._number = self._entered(), None
        try:
            self._last = await self._kcoord.run(lambda control: control.faults.remove(number))
        except NotFound:
            # Somebody took all faults away meanwhile, as a reset does; how it stood then, nobody knows.
            return
        if error is None and not self._last.applied:
            warnings.warn(FaultNeverMet(self._last.why_never), stacklevel=2)

    async def view(self) -> FaultView:
        """Return the fault as it stands."""
        if self._last is not None:
            return self._last
        number = self._entered()
        return await self._kcoord.run(lambda control: control.faults.get(number))

    async def release(self) -> int:
        """Let go what it holds; return how many that were."""
        number = self._entered()
        return await self._kcoord.run(lambda control: control.faults.release(number))

    def _check_not_entered(self) -> None:
        if self._number is not None:
            raise RuntimeError("this fault is in force already: each async with statement needs one of its own")

    def _entered(self) -> int:
        if self._number is None:
            raise RuntimeError("a fault is in force within an async with statement")
        return self._number


def _rule(rule: FaultRule | None, parts: dict[str, Any]) -> FaultRule | dict[str, Any]:
    if rule is None:
        return parts
    if parts:
        raise Impossible(f"a fault is given as a rule or by its parts, not as both: {', '.join(parts)}")
    return rule
