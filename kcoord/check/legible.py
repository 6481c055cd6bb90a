"""Masked conversations side by side, line by line, as people read them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from kcoord.check.differing import question_of, shown
from kcoord.check.exchanges import Conversation, Exchange, Said
from kcoord.check.transcript import MOST_FIELDS
from kcoord.dump.fields import key_of

AGAIN: Final = ", more than once"


@dataclass(frozen=True, slots=True)
class Line:
    """One line, as it is at each broker; None where it is not there."""

    texts: tuple[str | None, ...]

    @property
    def differs(self) -> bool:
        """Whether it is not the same everywhere."""
        return len(set(self.texts)) > 1


@dataclass(frozen=True, slots=True)
class _Met:
    """An exchange, the question by which it is found again, and all of it as text."""

    exchange: Exchange
    question: tuple[int, str, str]
    text: str


@dataclass(slots=True)
class _Row:
    """What is beside each other, one for each broker, and whether it was said more than once."""

    met: list[_Met | None]
    again: bool = False

    @property
    def first(self) -> _Met:
        """What is there at the first broker that has it; each row was begun by one."""
        return next(each for each in self.met if each is not None)


def lines(conversations: Sequence[Conversation]) -> list[Line]:
    """Write conversations that came of the same script, in the order in which the first broker was asked."""
    found: list[Line] = []
    for row in _rows(conversations):
        texts = [[] if each is None else list(_exchange(each.exchange, again=row.again)) for each in row.met]
        found += _merged(texts)
    return found


def _rows(conversations: Sequence[Conversation]) -> list[_Row]:
    """Put the same questions of the same connection beside each other.

    What is the same as it was before, with its answer, is left out. A question that only others than the first broker
    were asked stands behind the one that came before it there.
    """
    rows: list[_Row] = []
    for number, conversation in enumerate(conversations):
        at = 0
        seen: dict[str, _Row] = {}
        for each in conversation.exchanges:
            met = _Met(each, question_of(each), repr(each))
            if met.text in seen:
                seen[met.text].again = True
                continue
            row = _row_for(rows, number, met)
            if row is None:
                row = _Row([None] * len(conversations))
                rows.insert(at, row)
            row.met[number] = met
            seen[met.text] = row
            at = next(place for place, other in enumerate(rows) if other is row) + 1
    return rows


def _row_for(rows: Sequence[_Row], number: int, met: _Met) -> _Row | None:
    """Return the row that has room for a broker where the same was asked, with the same answer if there is one."""
    free = [row for row in rows if row.met[number] is None and row.first.question == met.question]
    return next((row for row in free if row.first.text == met.text), free[0] if free else None)


def _exchange(each: Exchange, *, again: bool) -> Iterator[str]:
    if each.asked is not None:
        yield f"#{each.connection} -> {each.asked.title}{AGAIN if again else ''}"
        yield from _said(each.asked)
    if each.answer is not None:
        yield f"#{each.connection} <- {each.answer.title}"
        yield from _said(each.answer)
    if each.closed:
        yield f"#{each.connection} -- the broker closes the connection"


def _said(said: Said) -> Iterator[str]:
    fields = _fields(said.value, 1)
    for _ in range(MOST_FIELDS):
        try:
            yield next(fields)
        except StopIteration:
            break
    else:
        if next(fields, None) is not None:
            yield "      and so on"
            return
    if said.part:
        yield "      and so on"


def _fields(value: Any, depth: int) -> Iterator[str]:
    indent = "  " * (depth + 2)
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _field(f"{indent}{name}", name, one, depth)
    elif isinstance(value, list):
        key = key_of(value, value) if len(value) > 1 else None
        ordered = value if key is None else sorted(value, key=lambda one: str(one[key]))
        for at, one in enumerate(ordered):
            yield from _field(f"{indent}[{at}]", "", one, depth)
    else:
        yield f"{indent}bytes: {shown((), value)}"


def _field(label: str, name: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        yield f"{label}: {f'{len(value)} of them' if value else '[]'}"
        yield from _fields(value, depth + 1)
    elif isinstance(value, dict):
        yield label
        yield from _fields(value, depth + 1)
    else:
        yield f"{label}: {shown((name,), value)}"


def _merged(texts: Sequence[Sequence[str]]) -> list[Line]:
    """Put lines that are the same beside each other."""
    merged: list[list[str | None]] = [[text] for text in texts[0]]
    for number, others in enumerate(texts[1:], 1):
        known = [next(text for text in each if text is not None) for each in merged]
        matcher = SequenceMatcher(None, known, others, autojunk=False)
        result: list[list[str | None]] = []
        for _, start, end, their_start, their_end in matcher.get_opcodes():
            mine, theirs = merged[start:end], others[their_start:their_end]
            for at in range(max(len(mine), len(theirs))):
                before = mine[at] if at < len(mine) else [None] * number
                result.append([*before, theirs[at] if at < len(theirs) else None])
        merged = result
    return [Line(tuple(each)) for each in merged]
