"""Signals: the first one stops the server, and nothing that follows changes how it ends."""

import signal
import subprocess
import sys
import textwrap
from contextlib import suppress

import pytest

from kcoord.cli import main
from tests.server.client import GIVE_UP
from tests.server.test_outputs import environment

SERVE = ("serve", "--listen", "127.0.0.1:0", "--log-level", "error")
BOTH = [signal.SIGTERM, signal.SIGINT]


def python(before, *arguments):
    """The program, after some Python of the test's own."""
    code = textwrap.dedent(before) + "\nfrom kcoord.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(), capture_output=True, text=True, timeout=GIVE_UP, check=False,
    )  # fmt: skip


def at_import(module, number):
    """Python that gets the process a signal when the module is about to be loaded."""
    return f"""
        import os, sys
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == {module!r}:
                    os.kill(os.getpid(), {int(number)})
        sys.meta_path.insert(0, Finder())
    """


@pytest.mark.parametrize("module", ["kcoord.commands", "trio", "cyclopts", "structlog"])
def test_an_interrupt_while_the_program_is_loaded_ends_it_without_a_word(module):
    done = python(at_import(module, signal.SIGINT), *SERVE)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_the_server_starts_ends_it_without_a_word(number, status):
    done = python(
        f"""
        import os
        import kcoord.net.site
        bind_all = kcoord.net.site.bind_all
        async def signalled(config, number):
            os.kill(os.getpid(), {int(number)})
            return await bind_all(config, number)
        kcoord.net.site.bind_all = signalled
        """,
        *SERVE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.parametrize("second", BOTH)
@pytest.mark.parametrize("first", BOTH)
def test_further_signals_change_nothing(first, second):
    # They come during the stop, and then when trio has ended, and when the interpreter ends.
    done = python(
        f"""
        import atexit, os, signal
        import kcoord.commands, kcoord.serve
        stop = kcoord.serve.Running.stop
        async def stop_with_more(self):
            for _ in range(3):
                os.kill(os.getpid(), {int(second)})
            await stop(self)
            os.kill(os.getpid(), {int(second)})
        kcoord.serve.Running.stop = stop_with_more
        atexit.register(os.kill, os.getpid(), {int(second)})
        say = kcoord.commands._print
        def say_and_signal(what):
            say(what)
            for number in ({int(first)}, {int(second)}):
                os.kill(os.getpid(), number)
        kcoord.commands._print = say_and_signal
        """,
        *SERVE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kcoord is listening on 127.0.0.1:")


@pytest.mark.parametrize("number", BOTH)
def test_many_signals_from_outside(number):
    process = subprocess.Popen(
        [sys.executable, "-m", "kcoord", *SERVE],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline()
        while process.poll() is None:
            process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.001)
        assert (process.returncode, process.stderr.read()) == (0, "")


@pytest.mark.parametrize("listen", ["nowhere", "host.invalid:0"])
def test_a_mistake_leaves_the_handlers_as_they_were(listen, capsys):
    before = [signal.getsignal(each) for each in BOTH]
    with pytest.raises(SystemExit):
        main(["serve", "--listen", listen])
    assert [signal.getsignal(each) for each in BOTH] == before
    assert capsys.readouterr().err.count("\n") == 1
