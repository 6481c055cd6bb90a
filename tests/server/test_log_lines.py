"""Log lines: every note has one, at the level it is worth."""

import inspect
import json

import pytest

from kcoord import notices
from kcoord.core import notes
from kcoord.watch.log_lines import LEVELS, LinesLost, log_lines, render_line

KINDS = [
    kind
    for module in (notes, notices)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__ == module.__name__ and kind not in (notes.Note, notices.RequestReceived, notices.RequestAnswered)
] + [LinesLost]
"""All but those of single requests, which are told to nobody who did not ask for them."""


def example(kind):
    """A note of that kind with something in each field."""
    values = {bool: True, int: 3, float: 0.5, str: "text ü", str | None: None, tuple[str, ...]: ("a", "b")}
    return kind(**{name: values[each.type] for name, each in kind.__dataclass_fields__.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_every_note_is_one_line_with_all_its_fields(kind):
    render = render_line("json")
    first, second = render(example(kind)), render(example(kind))
    line = json.loads(first)
    assert set(line) == {"event", "level", "timestamp", *kind.__dataclass_fields__}
    assert line["event"].replace("_", "") == kind.__name__.lower()
    assert line["level"] in LEVELS
    assert json.loads(second)["event"] == line["event"]


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_less_than_the_level_is_left_out(level):
    written = []
    listen = log_lines(level, render_line("json"), written.append)
    for kind in KINDS:
        listen(example(kind))
    levels = {json.loads(line)["level"] for line in written}
    assert levels == {name for name, number in LEVELS.items() if number >= LEVELS[level]}


def test_an_unknown_level_is_a_mistake():
    with pytest.raises(KeyError):
        log_lines("loud", render_line("json"), print)


def test_the_console_has_no_colours_where_nobody_sees_them():
    note = notes.GroupCreated(group="g")
    assert "\x1b" not in render_line("console")(note)
    assert "\x1b" in render_line("console", colours=True)(note)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("readers", "readers"),
        ("", ""),
        ("Läser-читатели-読者-قراء-पाठक", "Läser-читатели-読者-قراء-पाठक"),
        ("two words", "'two words'"),
        ("g\nh", "'g\\nh'"),
        ("\x1b[2J\x1b[31mred", "'\\x1b[2J\\x1b[31mred'"),
        ("\x9b2J", "'\\x9b2J'"),
        ("a\u202eb", "'a\\u202eb'"),
        ("a\u2066b\u2069", "'a\\u2066b\\u2069'"),
        ("a\0b", "'a\\x00b'"),
        ("a\x7f\x08b", "'a\\x7f\\x08b'"),
        ("a\u2028b\u0085", "'a\\u2028b\\x85'"),
        ("a\u200bb\ufeff", "'a\\u200bb\\ufeff'"),
        ("a\U000e0041b", "'a\\U000e0041b'"),
        ("it's \x1b", '"it\'s \\x1b"'),
    ],
)
def test_what_a_client_says_cannot_play_tricks_on_a_console(text, shown):
    line = render_line("console")(notes.MemberJoined(group=text, member=text, instance=text, client_id=text,
                                                     host="/1.2.3.4", reason=text))  # fmt: skip
    assert line.isprintable()
    for name in ("group", "member", "instance", "client_id", "reason"):
        assert f" {name}={shown} " in line + " "


def test_members_in_a_list_cannot_either():
    note = notes.RebalanceStarted(group="g", generation=1, reason="r", waiting_for=("ü", "\x1b[2J", "a\u202e"))
    line = render_line("console")(note)
    assert "waiting_for=('ü', '\\x1b[2J', 'a\\u202e')" in line
    assert line.isprintable()


def test_with_colours_it_is_the_renderer_alone_that_controls_the_console():
    render = render_line("console", colours=True)
    assert render(notes.GroupCreated(group="\x1b[2J")).count("\x1b") == render(notes.GroupCreated(group="g")).count(
        "\x1b"
    )


def test_json_says_what_it_was():
    text = "\x1b[2J\u202e\0 ü"
    line = render_line("json")(notes.GroupCreated(group=text))
    assert line.isprintable()
    assert json.loads(line)["group"] == text


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_long_name_does_not_fill_the_log(log_format):
    render = render_line(log_format)
    for letter in ("x", "\ufffd", "\n"):
        line = render(notes.GroupCreated(group=letter * 30_000))
        assert "... and 29000 more characters" in line
        assert len(line) < 10_000
    members = ("m" * 30_000,) * 30
    line = render(notes.JoinPhaseHeldOpen(group="g", generation=1, waiting_for=members))
    assert len(line) < 25_000
    assert "and 10 more" in line
    whole = "Traceback\n" + "x" * 5_000
    assert "x" * 5_000 in render(notices.BugFound(partition=1, request="a timer", traceback=whole))


def test_a_large_group_does_not_fill_the_log():
    render = render_line("json")
    whole, short = (
        json.loads(render(notes.GenerationFormed(
            group="g", generation=1, protocol="range", leader="m0", members=tuple(f"m{n}" for n in range(size)))))
        for size in (20, 3000)
    )  # fmt: skip
    assert whole["members"] == [f"m{number}" for number in range(20)]
    assert short["members"] == [*whole["members"], "and 2980 more"]
