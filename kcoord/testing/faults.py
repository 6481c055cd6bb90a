"""Faults on purpose, for as long as a `with` statement lasts."""

import warnings
from types import TracebackType
from typing import Any, ClassVar, Self

from kcoord.config import printable
from kcoord.control.errors import Impossible, NotFound
from kcoord.control.faults import FaultView
from kcoord.faults import FaultRule
from kcoord.shown import shown
from kcoord.testing.refusals import is_refusal
from kcoord.testing.runs import AwaitsRun, Runs

__tracebackhide__ = is_refusal


class FaultNeverMet(UserWarning):
    """A fault was for no request: the test did not test what it meant to.

    The text says what came instead, or that the fault was never in force.
    """


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
        """Return a fault that is in force within `with`.

        A fault that was for no request warns, and so does one that no `with` was for: FaultNeverMet.
        """
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


class _Scope:
    """One fault within a statement: what is known of it, whoever waits for the server."""

    _statement: ClassVar[str]

    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts
        self._number: int | None = None
        self._last: FaultView | None = None
        self._is_used = False

    def __del__(self) -> None:
        # As of a coroutine that is never awaited, nobody would notice: nothing happens, and the test goes on.
        if not self._is_used:
            parts = ", ".join(f"{name}={shown(value)}" for name, value in self._parts.items())
            sentence = f"a fault ({parts}) was never in force: it is within `{self._statement} kcoord.faults(...):`"
            warnings.warn(FaultNeverMet(printable(sentence)), stacklevel=2)

    def _entering(self) -> dict[str, Any]:
        """Return what the fault is, which is to be put in force now. Raises RuntimeError if it is in force."""
        self._is_used = True
        if self._number is not None:
            raise RuntimeError(f"this fault is in force already: each {self._statement} statement needs one of its own")
        self._last = None
        return self._parts

    def _entered(self) -> int:
        """Return the fault's number. Raises RuntimeError if it is not in force."""
        self._is_used = True
        if self._number is None:
            article = "an" if self._statement.startswith("a") else "a"
            raise RuntimeError(f"a fault is in force within {article} {self._statement} statement")
        return self._number

    def _leaving(self) -> int:
        """Return the number of the fault, which is to be taken away now."""
        number, self._number = self._entered(), None
        return number

    def _left(self, last: FaultView, error: BaseException | None) -> None:
        """Note how the fault stood; to be called by what the statement calls."""
        self._last = last
        if error is None and not last.applied:
            warnings.warn(FaultNeverMet(last.why_never), stacklevel=3)


class FaultScope(_Scope):
    """One fault within `with`. Afterwards it tells how it stood at the end."""

    _statement = "with"

    def __init__(self, kcoord: Runs, parts: dict[str, Any]) -> None:
        super().__init__(parts)
        self._kcoord = kcoord

    def __enter__(self) -> Self:
        parts = self._entering()
        self._number = self._kcoord.run(lambda control: control.faults.add(parts)).number
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        number = self._leaving()
        try:
            last = self._kcoord.run(lambda control: control.faults.remove(number))
        except NotFound:
            # Somebody took all faults away meanwhile, as a reset does; how it stood then, nobody knows.
            return
        self._left(last, error)

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


class AsyncFaults:
    """The faults of a server, for tests on asyncio or trio: as `Faults`, with `async with` and to be awaited."""

    def __init__(self, kcoord: AwaitsRun) -> None:
        self._kcoord = kcoord

    def __call__(self, **parts: Any) -> "AsyncFaultScope":
        """Return a fault that is in force within `async with`.

        A fault that was for no request warns, and so does one that no `async with` was for: FaultNeverMet.
        """
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


class AsyncFaultScope(_Scope):
    """One fault within `async with`. Afterwards it tells how it stood at the end."""

    _statement = "async with"

    def __init__(self, kcoord: AwaitsRun, parts: dict[str, Any]) -> None:
        super().__init__(parts)
        self._kcoord = kcoord

    async def __aenter__(self) -> Self:
        parts = self._entering()
        self._number = (await self._kcoord.run(lambda control: control.faults.add(parts))).number
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        number = self._leaving()
        try:
            last = await self._kcoord.run(lambda control: control.faults.remove(number))
        except NotFound:
            # Somebody took all faults away meanwhile, as a reset does; how it stood then, nobody knows.
            return
        self._left(last, error)

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


def _rule(rule: FaultRule | None, parts: dict[str, Any]) -> FaultRule | dict[str, Any]:
    if rule is None:
        return parts
    if parts:
        raise Impossible(f"a fault is given as a rule or by its parts, not as both: {', '.join(parts)}")
    return rule
