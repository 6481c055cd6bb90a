"""What an exception tells about a script: where it failed, and on which values."""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from kcoord.check.asserts import values_in
from kcoord.check.transcript import shown_value

_HERE = Path(__file__).parent


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
        values = tuple((_source(file, place), shown_value(value)) for place, value in values_in(local, start, end))
    if values and not str(first):
        message = f"{values[0][0]} is {values[0][1]}"
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
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


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
    tree = ast.parse("".join(linecache.getlines(file)))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = node.end_lineno or node.lineno
            head = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else end
            found.append((node.lineno, head, end))
    return tuple(found)


def _source(file: str, place: tuple[int, int, int, int]) -> str:
    first, column, last, end = place
    lines = [linecache.getline(file, number).rstrip("\n").encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    return " ".join(each.decode().strip() for each in lines)
