"""Letting others have their turn: a loop over what a client sent may be as long as the client likes."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import trio

T = TypeVar("T")

A_TURN = 250
"""Entries that are worked on before other tasks run; some milliseconds' work."""


class Turns:
    """Counts the steps of a long loop, and lets other tasks run after every so many."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = A_TURN

    async def step(self) -> None:
        """Count one step; mostly that is all."""
        self._left -= 1
        if not self._left:
            self._left = A_TURN
            await trio.lowlevel.checkpoint()


def portions(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut what is asked for into pieces that are one turn's work each."""
    for start in range(0, len(entries), A_TURN):
        yield entries[start : start + A_TURN]


async def after(portion: Sequence[object]) -> None:
    """Let other tasks run after a portion, if it was a full one."""
    if len(portion) == A_TURN:
        await trio.lowlevel.checkpoint()
