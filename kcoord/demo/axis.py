"""Time to the right: which column stands for which time of the server's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_TICKS: Final = (0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Seconds that a column may stand for."""
_FIRST: Final = 0.25


@dataclass(frozen=True, slots=True)
class Column:
    """From `start` until `end`, in seconds on the server's clock. A jump is a move of the clock."""

    start: float
    end: float
    jump: bool = False


def columns_of(until: float, jumps: Sequence[tuple[float, float]], width: int, expected: float = 0.0) -> list[Column]:
    """Return the columns for the time from 0 until then, at most `width`, each for as little time as fits.

    Columns are for as much real time as each other; `jumps`, moves of the server's clock at a moment by so many
    seconds, have a column of their own. If `expected` is more real time than there was, there is to be room for it.
    """
    for tick in _TICKS:
        columns = _columns(until, jumps, tick)
        if len(columns) + max(expected - _real(until, jumps), 0) / tick <= width:
            return columns
    return columns[-width:]


def _real(until: float, jumps: Sequence[tuple[float, float]]) -> float:
    return until - sum(seconds for _, seconds in jumps)


def _columns(until: float, jumps: Sequence[tuple[float, float]], tick: float) -> list[Column]:
    columns: list[Column] = []
    start = 0.0
    for at, seconds in [*jumps, (until, 0.0)]:
        count = 0
        while start + count * tick < at - _FIRST / 100:
            columns.append(Column(start + count * tick, min(start + (count + 1) * tick, at)))
            count += 1
        if seconds:
            columns.append(Column(at, at + seconds, jump=True))
        start = at + seconds
    return columns
