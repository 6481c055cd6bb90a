"""Letting others have their turn: a loop over what a client sent may be as long as the client likes.

Trio runs every task that can run before it looks at the sockets again. So it is not enough that a long loop gives
way: a hundred of them would each do a portion first. Those that have had a portion stand in one line, and one of them
goes on between two looks at the sockets.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import trio

T = TypeVar("T")

A_TURN = 250
"""Entries that are worked on in one turn; some milliseconds' work."""
AT_ONCE = 50
"""Entries that a loop works on before it stands in line for the first time: most loops are over by then."""


class Line:
    """Where tasks with much to do stand, each for its next turn."""

    __slots__ = ("_behind", "_taken")

    def __init__(self) -> None:
        self._behind = trio.lowlevel.ParkingLot()
        self._taken = False

    async def turn(self) -> None:
        """Wait for this task's turn, with others' turns and a look at the sockets before it."""
        if self._taken:
            await self._behind.park()
        else:
            self._taken = True
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled:
                self._next()
                raise
        self._next()

    def _next(self) -> None:
        """Let the next one go on after the next look at the sockets; the first place is that one's then."""
        if self._behind:
            self._behind.unpark()
        else:
            self._taken = False


_THE_LINE = trio.lowlevel.RunVar[Line]("the line of those with much to do")


async def a_turn() -> None:
    """Wait for a turn in the one line that this event loop has."""
    try:
        line = _THE_LINE.get()
    except LookupError:
        line = Line()
        _THE_LINE.set(line)
    await line.turn()


class Turns:
    """Counts the steps of a long loop, and lets other tasks run after every so many."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = AT_ONCE

    async def step(self, entries: int = 1) -> None:
        """Count what is to be done next, as so many entries; mostly that is all."""
        self._left -= entries
        if self._left <= 0:
            self._left = A_TURN
            await a_turn()

    def over(self, entries: Iterable[T]) -> "Over[T]":
        """Go through entries, for `async for`: each is a step."""
        return Over(self, entries)


class Over(Generic[T]):
    """Entries as `Turns.over` gives them. It holds nothing that would have to be given back if it is left early."""

    __slots__ = ("_entries", "_turns")

    def __init__(self, turns: Turns, entries: Iterable[T]) -> None:
        self._turns = turns
        self._entries = iter(entries)

    def __aiter__(self) -> "Over[T]":
        return self

    async def __anext__(self) -> T:
        for entry in self._entries:
            await self._turns.step()
            return entry
        raise StopAsyncIteration


def portions(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut what is asked for into pieces that are one turn's work each."""
    for start in range(0, len(entries), A_TURN):
        yield entries[start : start + A_TURN]


async def after(portion: Sequence[object]) -> None:
    """Let other tasks run after a portion, if it was a full one."""
    if len(portion) == A_TURN:
        await a_turn()
