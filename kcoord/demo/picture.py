"""The picture: members as rows, time to the right, in cells of which each says in what ink it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kcoord.demo.axis import Column, columns_of
from kcoord.demo.lives import Life, Moment, Span, State, lives_of
from kcoord.demo.scene import Scene

MARGIN: Final = 12
"""Characters on the left, for names."""
_SECONDS: Final = 5
"""Every so many seconds the axis has a number."""


class Ink(StrEnum):
    """What a piece of text is about; the terminal has a colour for each."""

    PLAIN = "plain"
    FAINT = "faint"
    NAME = "name"
    GENERATION = "generation"
    PARTITION = "partition"
    """One digit: the colour is that of the partition."""
    READING = "reading"
    MORE = "more"
    """Partitions for which there are no cells."""
    STILL = "still"
    JOINING = "joining"
    IDLE = "idle"
    STALLED = "stalled"
    AWAY = "away"
    LEFT = "left"
    EXPIRED = "expired"
    CRASHED = "crashed"
    JUMP = "jump"


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text in one ink."""

    text: str
    ink: Ink = Ink.PLAIN


Line = list[Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The characters."""

    reading: str = "─"
    more: str = "…"
    still: str = "░"
    joining: str = "+"
    idle: str = "∅"
    stalled: str = "~"
    away: str = "·"
    left: str = "<"
    expired: str = "!"
    crashed: str = "x"
    jump: str = "»"


UNICODE: Final = Marks()
ASCII: Final = Marks(reading="-", more="&", still="#", idle="o", away=".", jump="}")
"""For terminals that have no other characters."""

_STATES: Final = {
    State.ABSENT: Ink.PLAIN,
    State.JOINING: Ink.JOINING,
    State.READING: Ink.READING,
    State.IDLE: Ink.IDLE,
    State.STILL: Ink.STILL,
    State.STALLED: Ink.STALLED,
    State.AWAY: Ink.AWAY,
}
_MOMENTS: Final = {Moment.LEFT: Ink.LEFT, Moment.EXPIRED: Ink.EXPIRED, Moment.CRASHED: Ink.CRASHED}
_LEGEND: Final = (
    (Ink.JOINING, "joins"),
    (Ink.READING, "reads these partitions"),
    (Ink.MORE, "more partitions"),
    (Ink.STILL, "stands still"),
    (Ink.IDLE, "has none"),
    (Ink.STALLED, "does not poll"),
    (Ink.AWAY, "away, nobody reads what it has"),
    (Ink.LEFT, "leaves"),
    (Ink.CRASHED, "is killed"),
    (Ink.EXPIRED, "is put out"),
    (Ink.JUMP, "the clock is moved"),
)


def picture(scene: Scene, width: int, marks: Marks = UNICODE, expected: float = 0.0) -> list[Line]:
    """Return the lines: the generations, the seconds, each member, and what the marks mean.

    `width` is in characters. `expected` is how much real time (s) there will be in the end, as in `columns_of`.
    """
    jumps = [(each.at, each.seconds) for each in scene.jumps]
    columns = columns_of(scene.until, jumps, max(width - MARGIN, 1), expected)
    lives = lives_of(scene)
    rows = {row: _row(lives[row], columns, marks) for row in scene.rows}
    used = {cell.ink for row in rows.values() for cell in row}
    return [
        [Cell("generation".ljust(MARGIN), Ink.FAINT), *_generations(scene, columns)],
        [Cell("seconds".ljust(MARGIN), Ink.FAINT), Cell(_seconds(columns), Ink.FAINT)],
        *([Cell(f"{row[: MARGIN - 2]:{MARGIN}}", Ink.NAME), *cells] for row, cells in rows.items()),
        [],
        *_legend(used, width, marks),
    ]


def _generations(scene: Scene, columns: Sequence[Column]) -> Line:
    """Write each number above the column in which its generation formed, or as soon behind that as there is room."""
    line = ""
    for one in scene.generations:
        if one.formed is None or one.number is None or not columns or one.formed < columns[0].start:
            continue
        at = next((index for index, column in enumerate(columns) if one.formed < column.end), len(columns) - 1)
        line = line.ljust(at) if at >= len(line) + bool(line) else f"{line} "
        line += str(one.number)
    return [Cell(line, Ink.GENERATION)] if line else []


def _seconds(columns: Sequence[Column]) -> str:
    line, told = "", -1
    for at, column in enumerate(columns):
        due = int(column.start // _SECONDS)
        if due > told and not column.jump:
            if not line or at > len(line):
                line = line.ljust(at) + str(due * _SECONDS)
            told = due
    return line


def _row(life: Life, columns: Sequence[Column], marks: Marks) -> Line:
    cells: Line = []
    behind: Span | None = None
    written = last = 0
    since = columns[0].start if columns else 0.0

    def end_of_reading() -> None:
        if behind is not None and written + 1 < len(behind.holds):
            cells[last] = Cell(marks.more, Ink.MORE)

    for column in columns:
        span = _span_in(life, column)
        ink = _ink(life, span, column, since)
        # What happened while the clock was moved shows behind the move.
        since = column.start if column.jump else column.end
        if ink is not Ink.READING or span is None:
            # Who reads on when the clock was moved is not named again.
            if ink is not Ink.JUMP:
                end_of_reading()
                behind = None
            cells.append(Cell(" " if ink is Ink.PLAIN else getattr(marks, ink.value), ink))
            continue
        if behind is not None and behind.holds == span.holds:
            written += 1
        else:
            end_of_reading()
            written = 0
        behind, last = span, len(cells)
        if written < len(span.holds):
            cells.append(Cell(_digit(span.holds[written]), Ink.PARTITION))
        else:
            cells.append(Cell(marks.reading, Ink.READING))
    end_of_reading()
    return cells


def _span_in(life: Life, column: Column) -> Span | None:
    """Return the span that a column shows: that in which the member stood still or joined, else the last one."""
    inside = [span for span in life.spans if span.start < column.end and span.end > column.start]
    telling = [span for span in inside if span.state in (State.STILL, State.JOINING)]
    return telling[-1] if telling else inside[-1] if inside else None


def _ink(life: Life, span: Span | None, column: Column, since: float) -> Ink:
    if column.jump:
        return Ink.JUMP
    moments = [moment for at, moment in life.moments if since <= at < column.end]
    if moments:
        return _MOMENTS[moments[-1]]
    return Ink.PLAIN if span is None else _STATES[span.state]


def _digit(partition: int) -> str:
    """Write a partition as one character."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return digits[partition] if partition < len(digits) else "*"


def _legend(used: set[Ink], width: int, marks: Marks) -> list[Line]:
    """Say what the marks mean that are there, in as many lines as that takes."""
    lines: list[Line] = []
    room = 0
    for ink, meaning in _LEGEND:
        if ink not in used and not (ink is Ink.READING and Ink.PARTITION in used):
            continue
        mark = f"012{marks.reading}" if ink is Ink.READING else getattr(marks, ink.value)
        length = len(mark) + len(meaning) + 4
        if length > room:
            lines.append([Cell(" " * MARGIN)])
            room = width - MARGIN + 3
        lines[-1] += [Cell(mark, ink), Cell(f" {meaning}   ", Ink.FAINT)]
        room -= length
    return lines
