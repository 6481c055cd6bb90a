"""What an exception tells about a script: where it failed, and on which values."""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

from kcoord.check.asserts import values_in
from kcoord.check.outcome import CannotRun
from kcoord.check.probe import Client, Closed
from kcoord.check.transcript import shown_value
from kcoord.check.world import World
from wire.errors import WireError

_HERE = Path(__file__).parent
_SHOWN: Final = 160
"""Characters of a value that are in the sentence."""
_BEFORE: Final = 30
"""Characters before the place where two values differ that are shown, if they are longer than that."""
_TELLS_NOTHING: Final = (ModuleType, Client, World)
"""What an assertion looks at in passing, on its way to a value."""
_WORDS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "",
    ast.Is: "",
    ast.NotEq: "another than ",
    ast.IsNot: "another than ",
    ast.In: "in ",
    ast.NotIn: "none of ",
    ast.Lt: "less than ",
    ast.LtE: "at most ",
    ast.Gt: "more than ",
    ast.GtE: "at least ",
}


@dataclass(frozen=True)
class Place:
    """A statement of a script, or of what it called."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Failure:
    """Why a rule is broken: a sentence, the statements that led there, and what was compared in the last one."""

    message: str
    places: tuple[Place, ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    def lines(self) -> Iterator[str]:
        """Write it as lines of text."""
        yield self.message
        for place in self.places:
            first, *more = place.text.splitlines() or [""]
            yield f"  {place.file}:{place.line}  {first}"
            for line in more:
                yield f"  {'':{len(place.file) + len(str(place.line)) + 1}}  {line}"
        for source, value in self.values:
            yield f"    {source} = {value}"


def failure_of(error: BaseException, message: str | None = None) -> Failure:
    """Tell why a script failed. Of several exceptions at the same time the first one counts."""
    first = first_of(error)
    frames = list(_frames(error, first))
    places = tuple(_place(*frame[:2]) for frame in frames)
    values: tuple[tuple[str, str], ...] = ()
    if frames and isinstance(first, AssertionError):
        file, line, local = frames[-1]
        start, end = _span(file, line)
        found = {place: value for place, value in values_in(local, start, end) if not isinstance(value, _TELLS_NOTHING)}
        values = tuple((_source(file, place), shown_value(value)) for place, value in found.items())
        if not str(first):
            message = message or _sentence(file, start, end, found)
    return Failure(message or _message(first), places, values)


def first_of(error: BaseException) -> BaseException:
    """Return the first exception in a group, or the exception itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _message(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, AssertionError):
        return text or "what must be so is not"
    if isinstance(error, (Closed, CannotRun, WireError, TimeoutError)):
        return text or type(error).__name__
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, OSError):
        return f"there is no connection: {named}"
    return f"the script cannot go on with what was answered: {named}"


_Place = tuple[int, int, int, int]


def _sentence(file: str, start: int, end: int, values: dict[_Place, Any]) -> str:
    """Return what an assertion in these lines found, and what it had to find; empty if there is none."""
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Assert) and (node.lineno, node.end_lineno) == (start, end):
            return _compared(file, node.test, values) or _false(file, node.test, values)
    return ""


def _compared(file: str, test: ast.expr, values: dict[_Place, Any]) -> str:
    """Say what was compared with what, if an assertion does that once; a constant is what had to be."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return ""
    left, right = test.left, test.comparators[0]
    if _at(left) not in values and type(test.ops[0]) in (ast.Eq, ast.Is):
        left, right = right, left
    if _at(left) not in values:
        return ""
    is_, must_be = shown_value(values[_at(left)], 1 << 20), _source(file, _at(right))
    if _at(right) in values:
        must_be = shown_value(values[_at(right)], 1 << 20)
    is_, must_be = _where_they_differ(is_, must_be)
    return f"{_source(file, _at(left))} is {is_}, and must be {_WORDS[type(test.ops[0])]}{must_be}"


def _false(file: str, test: ast.expr, values: dict[_Place, Any]) -> str:
    """Say that something is not so, or is, and name the first thing that was looked at."""
    wanted = not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))
    about = test if wanted or not isinstance(test, ast.UnaryOp) else test.operand
    source = _source(file, _at(about))
    told = [
        f"{_source(file, place)} is {_cut(shown_value(value))}"
        for place, value in values.items()
        if not callable(value)
    ]
    if told and told[0].startswith(f"{source} is "):
        return told[0]
    return f"{source} is {'false' if wanted else 'true'}" + "".join(f"; {each}" for each in told[:2])


def _where_they_differ(one: str, other: str) -> tuple[str, str]:
    """Shorten two long texts so that what is not the same in them can be seen."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    start = max(0, same - _BEFORE) if max(len(one), len(other)) > _SHOWN else 0
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int = 0) -> str:
    part = text[start : start + _SHOWN]
    return ("..." if start else "") + part + ("..." if start + _SHOWN < len(text) else "")


def _at(node: ast.expr) -> _Place:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _frames(error: BaseException, first: BaseException) -> Iterator[tuple[str, int, dict[str, object]]]:
    """Yield file, line and local variables of the frames in scripts, from the outermost on."""
    chain = [error]
    while chain[-1] is not first and isinstance(chain[-1], BaseExceptionGroup):
        chain.append(chain[-1].exceptions[0])
    for each in chain:
        traceback: TracebackType | None = each.__traceback__
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            if _is_of_a_script(file):
                yield file, traceback.tb_lineno, traceback.tb_frame.f_locals
            traceback = traceback.tb_next


def _is_of_a_script(file: str) -> bool:
    path = Path(file)
    if path.parent == _HERE:
        return path.name not in {"runner.py", "probe.py", "outcome.py"}
    return path.parent.name == "rules"


def _place(file: str, line: int) -> Place:
    start, end = _span(file, line)
    text = [linecache.getline(file, number).rstrip("\n") for number in range(start, end + 1)]
    indent = min((len(each) - len(each.lstrip()) for each in text if each.strip()), default=0)
    path = Path(file)
    return Place(f"{path.parent.name}/{path.name}", line, "\n".join(each[indent:] for each in text))


def _span(file: str, line: int) -> tuple[int, int]:
    """Return the first and the last line of the statement that a line is in; of a block, of its first line only."""
    found = (line, line)
    smallest = None
    for first, last, end in _statements(file):
        if first <= line <= end and (smallest is None or end - first < smallest):
            smallest, found = end - first, (first, last)
    return found if found[0] <= line <= found[1] else (line, line)


@lru_cache(maxsize=64)
def _statements(file: str) -> tuple[tuple[int, int, int], ...]:
    """Return (first line, last line of the head, last line) of the statements in a file."""
    found = []
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = node.end_lineno or node.lineno
            head = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else end
            found.append((node.lineno, head, end))
    return tuple(found)


@lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


def _source(file: str, place: _Place) -> str:
    first, column, last, end = place
    lines = [linecache.getline(file, number).rstrip("\n").encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    return " ".join(each.decode().strip() for each in lines)
