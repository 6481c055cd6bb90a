"""`kcoord demo`: the command line."""

import shutil
import signal
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Annotated, Final, NoReturn

from cyclopts import Parameter

from kcoord.config import printable
from kcoord.console import OutputConsole
from kcoord.demo.members import has_client
from kcoord.demo.show import Lines, Screen
from kcoord.demo.stage import Interrupted, Stage, StoryStopped
from kcoord.demo.stories import STORIES

STOPPED: Final = 1
"""The exit status of a story that could not be told to its end."""
USAGE_ERROR: Final = 2
FASTEST: Final = 10.0
SLOWEST: Final = 0.1


def demo_command(
    story: str | None = None,
    /,
    *,
    speed: Annotated[float, Parameter(name="--speed")] = 1.0,
    live: Annotated[bool, Parameter(name="--live", negative="--no-live")] = True,
    timeline: Annotated[bool, Parameter(name="--timeline", negative=())] = False,
) -> None:
    """Watch a group rebalance: a server and three kafka-python consumers act out one STORY in the terminal.

    The stories are eager, cooperative, static, crash and slow; without one they are listed. Each takes 10 to 20
    seconds. The server listens on a free port of 127.0.0.1, the consumers are unmodified and each a process of its
    own, and nothing is left of them in the end, or after Ctrl-C.

    Members are rows, time goes to the right, and the cells show the partitions that each member reads. Where standard
    output is no terminal, what happens is printed line by line, and the picture once.

    Parameters
    ----------
    story
        Which one.
    speed
        How much faster the story goes than usual, 0.1 to 10. What the clients wait for takes its time.
    live
        Draw the picture while it grows.
    timeline
        Print the whole timeline of the group in the end, and not only its first lines.

    """
    if story is None:
        _list()
        return
    if story not in STORIES:
        _fail(f"there is no story {story!r}: it must be one of {', '.join(STORIES)}")
    if not SLOWEST <= speed <= FASTEST:
        _fail(f"--speed is {speed:g}: it must be from {SLOWEST:g} to {FASTEST:g}")
    if not has_client():
        _fail("the consumers of the demo are those of kafka-python, which is not installed: pip install 'kcoord[demo]'")
    with suppress(AttributeError):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    _run(story, speed, live=live, whole=timeline)


def _list() -> None:
    width = max(map(len, STORIES))
    print("kcoord demo STORY, which is one of:\n")
    for story in STORIES.values():
        print(
            textwrap.fill(
                story.says,
                shutil.get_terminal_size().columns,
                initial_indent=f"  {story.name:{width}}  ",
                subsequent_indent=" " * (width + 4),
            )
        )


def _run(name: str, speed: float, *, live: bool, whole: bool) -> None:
    story = STORIES[name]
    console = OutputConsole(highlight=False, markup=False, emoji=False)
    shows = Screen(console) if live and console.is_terminal and not console.is_dumb_terminal else Lines(console)
    with _signals() as got, _suspendable(shows):
        try:
            with Stage(story, shows, lambda: bool(got), speed) as stage:
                scene, timeline = stage.run()
            shows.end(story, scene, timeline, whole=whole)
        except StoryStopped as stopped:
            _close(shows)
            if stopped.timeline is not None:
                console.print(stopped.timeline.text(), soft_wrap=True)
            _complain(str(stopped))
            sys.exit(STOPPED)
        except Interrupted:
            _close(shows)
            _complain("stopped; nothing is left of the server and its consumers")
            sys.exit(128 + got[0])
        finally:
            _close(shows)


def _close(shows: Lines) -> None:
    if isinstance(shows, Screen):
        shows.close()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Note signals instead of ending by them: the consumers, the server and the picture are ended in good order.

    SIGHUP and SIGQUIT are left alone where they are ignored, as under nohup.
    """
    got: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        got.append(number)

    heard = [each for each in (signal.SIGHUP, signal.SIGQUIT) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM, *heard)}
    try:
        yield got
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _suspendable(shows: Lines) -> Iterator[None]:
    """Give the terminal's cursor back for as long as the process is suspended (Ctrl-Z) amid a picture."""
    if not isinstance(shows, Screen) or signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        yield
        return

    def suspend(_number: int, _frame: FrameType | None) -> None:
        with shows.cursor_given_back():
            signal.raise_signal(signal.SIGSTOP)

    before = signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


def _fail(sentence: str) -> NoReturn:
    _complain(sentence)
    sys.exit(USAGE_ERROR)


def _complain(sentence: str) -> None:
    with suppress(OSError, ValueError):
        print(printable(f"kcoord: {sentence}"), file=sys.stderr, flush=True)
