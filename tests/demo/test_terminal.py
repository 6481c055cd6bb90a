"""The terminal that a picture grows in, and signals: whatever ends or suspends the demo, the cursor is given back."""

import os
import pty
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest

from tests.server.client import GIVE_UP
from tests.server.test_outputs import environment

HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"
# In the background of a shell SIGINT is ignored, and under nohup SIGHUP: these tests may be started so.
USUAL = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
for usual in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
    signal.signal(usual, signal.SIG_DFL)
"""
# Consumers that are never ready, so that the story stays where it begins.
WAITING = """
from kcoord.cli import main
from kcoord.demo import commands, stage

class Member:
    is_ready, failure = False, None

    def __init__(self, name):
        pass

    def close(self):
        pass

commands.has_client = lambda: True
stage.Member = Member
stage.PATIENCE = 1e9
main(["demo", "eager"])
"""


@contextmanager
def demo(before=""):
    """The demo in a terminal of its own, once its cursor is hidden; gives the process and what it writes later."""
    controller, terminal = pty.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-c", USUAL + before + WAITING],
            env=environment() | {"TERM": "xterm-256color"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        ) as process:
            os.close(terminal)
            screen = SimpleNamespace(text=b"")

            def until(part):
                while part not in screen.text:
                    screen.text += os.read(controller, 65_536)
                screen.text = screen.text.partition(part)[2]

            def rest():
                # Linux says by an error that nobody has the other end open.
                with suppress(OSError):
                    while part := os.read(controller, 65_536):
                        screen.text += part
                return screen.text

            try:
                until(b"starting the consumers")
                yield process, until, rest
            finally:
                process.kill()
    finally:
        os.close(controller)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP])
def test_a_signal_ends_the_picture_and_leaves_the_cursor_shown(number):
    with demo() as (process, _, rest):
        process.send_signal(number)
        text = rest()
        assert process.wait(GIVE_UP) == 128 + number
    assert text.rindex(SHOWN) > text.rfind(HIDDEN)
    assert text.endswith(b"kcoord: stopped; nothing is left of the server and its consumers\r\n")


@pytest.mark.parametrize("name", ["SIGQUIT", "SIGHUP", "SIGTSTP"])
def test_a_signal_that_is_ignored_stays_so(name):
    with demo(f"signal.signal(signal.{name}, signal.SIG_IGN)") as (process, _, rest):
        process.send_signal(getattr(signal, name))
        process.send_signal(signal.SIGTERM)
        rest()
        assert process.wait(GIVE_UP) == 128 + signal.SIGTERM


def test_while_it_is_suspended_the_cursor_is_shown():
    with demo() as (process, until, rest):
        process.send_signal(signal.SIGTSTP)
        until(SHOWN)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        until(HIDDEN)
        process.send_signal(signal.SIGINT)
        assert SHOWN in rest()
        assert process.wait(GIVE_UP) == 128 + signal.SIGINT
