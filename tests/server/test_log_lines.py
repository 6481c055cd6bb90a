"""Log lines: every note has one, at the level it is worth."""

import inspect
import io
import json

import pytest

from kcoord import notices
from kcoord.core import notes
from kcoord.watch.log_lines import LEVELS, log_lines

KINDS = [
    kind
    for module in (notes, notices)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__ == module.__name__ and kind is not notes.Note
]


def example(kind):
    """A note of that kind with something in each field."""
    values = {int: 3, float: 0.5, str: "text ü", str | None: None, tuple[str, ...]: ("a", "b")}
    return kind(**{name: values[each.type] for name, each in kind.__dataclass_fields__.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_every_note_is_one_line_with_all_its_fields(kind):
    written = io.StringIO()
    write = log_lines("json", "debug", written)
    write(example(kind))
    write(example(kind))
    first, second = written.getvalue().splitlines()
    line = json.loads(first)
    assert set(line) == {"event", "level", "timestamp", *kind.__dataclass_fields__}
    assert line["event"].replace("_", "") == kind.__name__.lower()
    assert line["level"] in LEVELS
    assert json.loads(second)["event"] == line["event"]


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_less_than_the_level_is_left_out(level):
    written = io.StringIO()
    write = log_lines("json", level, written)
    for kind in KINDS:
        write(example(kind))
    levels = {json.loads(line)["level"] for line in written.getvalue().splitlines()}
    assert levels == {name for name, number in LEVELS.items() if number >= LEVELS[level]}


def test_the_console_has_no_colours_where_nobody_sees_them():
    written = io.StringIO()
    log_lines("console", "info", written)(notes.GroupCreated(group="g\nh"))
    (line,) = written.getvalue().splitlines()
    assert "group_created" in line
    assert "group='g\\nh'" in line
    assert "\x1b" not in line


def test_a_large_group_does_not_fill_the_log():
    written = io.StringIO()
    write = log_lines("json", "info", written)
    for size in (20, 3000):
        members = tuple(f"m{number}" for number in range(size))
        write(notes.GenerationFormed(group="g", generation=1, protocol="range", leader="m0", members=members))
    whole, short = (json.loads(line)["members"] for line in written.getvalue().splitlines())
    assert whole == [f"m{number}" for number in range(20)]
    assert short == [*whole, "and 2980 more"]


def test_a_reader_that_goes_away_ends_the_log_and_nothing_else():
    class Pipe(io.StringIO):
        def write(self, text):
            if self.tell() > 0:
                raise BrokenPipeError
            return super().write(text)

    written = Pipe()
    write = log_lines("json", "info", written)
    for _ in range(3):
        write(notes.GroupCreated(group="g"))
    assert len(written.getvalue().splitlines()) <= 1


def test_an_unknown_level_is_a_mistake():
    with pytest.raises(KeyError):
        log_lines("json", "loud", io.StringIO())
