"""`kcoord demo` as it is called, as far as no story is acted out."""

import errno
import io
from collections import deque
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from rich.console import Console
from rich.text import Text

from kcoord.cli import main
from kcoord.demo import commands
from kcoord.demo.members import Member
from kcoord.demo.picture import ASCII, UNICODE
from kcoord.demo.show import Lines, marks_for, wrapped
from kcoord.demo.stage import Interrupted, Stage, StoryStopped, is_back, settled
from kcoord.demo.stories import BUSY_S, STORIES, Act, Kind, MoveClock, Pause, Settled
from kcoord.testing import CannotListen, ServerGone
from tests.server.test_outputs import UNREAD, unread


@pytest.fixture
def ends(capsys):
    """Run `kcoord demo`; gives its exit status, standard output and standard error."""

    def run(*arguments):
        status = 0
        try:
            main(["demo", *arguments])
        except SystemExit as error:
            status = error.code or 0
        return status, *capsys.readouterr()

    return run


def test_without_a_name_the_stories_are_listed(ends, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = ends()
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[2:] if not line.startswith("   ")] == list(STORIES)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fast"], "there is no story 'fast': it must be one of eager, cooperative, static, crash, slow"),
        (["eager", "--speed", "0"], "--speed is 0: it must be from 0.1 to 10"),
        (["eager", "--speed", "nan"], "--speed is nan: it must be from 0.1 to 10"),
        (["eager", "slow"], "kcoord demo does not know what to do with 'slow'; kcoord demo --help tells what it takes"),
        (["eager", "--speed", "x"], "Invalid value"),
    ],
)
def test_bad_input_is_one_sentence(ends, arguments, says):
    status, out, err = ends(*arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_without_kafka_python_it_says_how_to_get_it(ends, monkeypatch):
    monkeypatch.setattr(commands, "has_client", lambda: False)
    assert ends("eager") == (
        2,
        "",
        (
            "kcoord: the consumers of the demo are those of kafka-python, which is not installed:"
            " pip install 'kcoord[demo]'\n"
        ),
    )


def test_a_story_that_nobody_reads_any_more_stops(monkeypatch, capsys):
    monkeypatch.setattr(commands, "has_client", lambda: True)
    with unread(monkeypatch), pytest.raises(SystemExit) as ended:
        main(["demo", "eager"])
    assert (ended.value.code, capsys.readouterr().err) == (2, UNREAD)


def test_there_are_five_stories_of_at_most_20_seconds():
    assert list(STORIES) == ["eager", "cooperative", "static", "crash", "slow"]
    for story in STORIES.values():
        assert story.members == ("a", "b", "c")
        assert set(story.members) <= set(BUSY_S)
        assert sum(step.seconds for step in story.steps if isinstance(step, Pause)) < story.seconds <= 20
        acts = [step for step in story.steps if isinstance(step, Act)]
        assert {act.who for act in acts} == set(story.members)


def test_only_where_a_session_has_to_end_the_clock_is_moved():
    moving = [story.name for story in STORIES.values() if any(isinstance(step, MoveClock) for step in story.steps)]
    assert moving == ["static", "crash"]


class Nobody:
    """An audience that looks away."""

    def begin(self, story):
        pass

    def look(self, scene):
        pass


def test_an_interrupt_before_the_consumers_are_ready_leaves_no_process(monkeypatch):
    started = []
    monkeypatch.setattr("kcoord.demo.stage.Member", lambda name: started.append(Member(name)) or started[-1])
    with Stage(STORIES["static"], Nobody(), lambda: True) as stage, pytest.raises(Interrupted):
        stage.run()
    assert [each.name for each in started] == ["a", "b", "c", "b", "b"]
    assert all(each._process.returncode is not None for each in started)


def test_a_consumer_that_cannot_run_is_told_of_in_its_own_words(monkeypatch):
    monkeypatch.setattr("kcoord.demo.members._PROGRAM", "kcoord.demo.no_such_program")
    with (
        Stage(STORIES["crash"], Nobody(), lambda: False) as stage,
        pytest.raises(StoryStopped, match=r"could not be started: .*No module named kcoord\.demo\.no_such_program"),
    ):
        stage.run()


def test_where_no_process_can_be_started_the_story_stops(monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("kcoord.demo.members.subprocess.Popen", refuse)
    with (
        Stage(STORIES["eager"], Nobody(), lambda: False) as stage,
        pytest.raises(StoryStopped, match=r"^a consumer could not be started: Resource temporarily unavailable$"),
    ):
        stage.run()


@pytest.mark.parametrize("error", [CannotListen("cannot listen on x"), ServerGone("the server has crashed")])
def test_where_no_server_can_be_started_the_story_stops_and_no_process_is_left(monkeypatch, error):
    def refuse(_):
        raise error

    started = []
    monkeypatch.setattr("kcoord.demo.stage.Member", lambda name: started.append(Member(name)) or started[-1])
    monkeypatch.setattr("kcoord.demo.stage.Kcoord.start", refuse)
    with (
        Stage(STORIES["eager"], Nobody(), lambda: False) as stage,
        pytest.raises(StoryStopped, match=f"^the server could not be started: {error}$"),
    ):
        stage.run()
    assert [each._process.returncode is None for each in started] == [False] * 3


def test_a_group_is_settled_when_all_partitions_are_shared(eager, cooperative, monkeypatch):
    monkeypatch.setattr("kcoord.demo.stage.PARTITIONS", 3)
    assert settled(eager.scene(3.5), "ab")
    assert not settled(eager.scene(3.5), "abc")
    assert not settled(eager.scene(3.5), "ac")  # as many, but of the one that is to go
    assert settled(cooperative.scene(3.5), "ab")
    cooperative.events = [each for each in cooperative.events if each.at < 2.0]
    assert not settled(cooperative.scene(1.9), "ab")  # what is revoked is still nobody's


def test_a_static_member_is_back_when_its_new_process_has_its_partitions(telling):
    telling.do(0.0, Kind.START, "a").join(0.0, "a", instance="a").rebalance(0.0, 0, "new member a-1 joined")
    telling.generation(0.25, 1, a=(0, 1))
    assert is_back(telling.scene(0.5, "a"), "a")
    telling.do(1.0, Kind.STOP, "a").do(2.0, Kind.START, "a")
    telling.incarnation["a"] = 2
    assert not is_back(telling.scene(2.0, "a"), "a")
    telling.join(2.25, "a", instance="a", new=False)
    sync = telling.asked(2.5, "a", "SyncGroup", member="a-2", instance="a", generation=1)
    assert not is_back(telling.scene(2.5, "a"), "a")
    telling.events.append(telling.given(sync, 0, 1))
    assert is_back(telling.scene(2.5, "a"), "a")


def test_who_starts_again_does_so_when_its_former_process_has_ended(monkeypatch, eager):
    """A poll of it may last longer than a pause of the story."""
    looks = []
    left = SimpleNamespace(name="b", leaving=True, failure=None, is_gone=False)
    again = SimpleNamespace(leaving=False, failure=None, join=lambda *_: looks.append("joins"))

    def look(_):
        looks.append("looks")
        left.is_gone = len(looks) == 3
        return eager.scene(3.5), eager.timeline(3.5)

    monkeypatch.setattr("kcoord.demo.stage.FRAME", 0.0)
    stage = Stage(STORIES["static"], Nobody(), lambda: False)
    stage._members["b"] = left
    stage._waiting["b"] = deque([again])
    monkeypatch.setattr(stage, "_look", look)
    stage._play(Act(Kind.START, "b"), Mock())
    assert looks == ["looks", "looks", "looks", "joins"]


def test_what_a_story_waits_for_in_vain_stops_it(monkeypatch, eager):
    monkeypatch.setattr("kcoord.demo.stage.PATIENCE", 0.0)
    stage = Stage(STORIES["static"], Nobody(), lambda: False)
    stage._members["b"] = SimpleNamespace(name="b", leaving=True, failure=None, is_gone=False)
    monkeypatch.setattr(stage, "_look", lambda _: (eager.scene(3.5), eager.timeline(3.5)))
    for step, says in (
        (Settled(("a", "c")), "the group did not settle with a, c within 0 s"),
        (MoveClock(1), "consumer b did not end within 0 s"),
    ):
        with pytest.raises(StoryStopped, match=f"^{says}$") as stopped:
            stage._play(step, Mock())
        assert "b" in stopped.value.timeline.text()


def console(width=80, **how):
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, **how)


@pytest.mark.parametrize("width", [40, 80])
def test_where_no_line_can_be_changed_each_thing_is_printed_once(eager, width):
    terminal = console(width)
    lines = Lines(terminal)
    lines.begin(STORIES["eager"])
    lines.look(eager.scene(1.0))
    lines.look(eager.scene(3.5))
    lines.end(STORIES["eager"], eager.scene(3.5), eager.timeline(3.5), whole=False)
    text = terminal.file.getvalue()
    words = " ".join(text.split())
    assert text.startswith("kcoord demo eager\n")
    assert words.count("new member b joined; it waits for a") == 1
    assert text.count("\ngeneration    1       2\n") == 1
    assert words.endswith("Findings: none. (kcoord demo eager --timeline prints all of it.)")
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width


def test_the_whole_timeline_is_printed_if_asked_for(eager):
    terminal = console()
    Lines(terminal).end(STORIES["eager"], eager.scene(3.5), eager.timeline(3.5), whole=True)
    assert terminal.file.getvalue().endswith(f"{eager.timeline(3.5).text()}\n")


@pytest.mark.parametrize(("plain", "coloured"), [(True, False), (False, True)])
def test_colours(eager, plain, coloured):
    terminal = console(force_terminal=True, color_system="standard", no_color=plain)
    Lines(terminal).end(STORIES["eager"], eager.scene(3.5), eager.timeline(3.5), whole=False)
    assert ("\x1b[91m░" in terminal.file.getvalue()) is coloured


def test_marks_are_those_that_the_terminal_has():
    def of(encoding):
        return Console(file=io.TextIOWrapper(io.BytesIO(), encoding=encoding))

    assert marks_for(of("utf-8")) is UNICODE
    assert marks_for(of("ascii")) is ASCII


def test_long_lines_break_between_words():
    assert wrapped(Text("one two three four"), 9, 2).plain == "one two\n  three\n  four"
    assert wrapped(Text("  1  a-word-that-is-too-long"), 9, 2).plain == "  1\n  a-word-that-is-too-long"
