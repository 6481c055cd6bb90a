"""A run as a person sees it: how far it is, and that a signal ends it in order."""

import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import IO, Final, TypeVar

import trio

from kcoord.check.failure import first_of
from kcoord.check.outcome import CannotRun
from kcoord.check.result import Progress

_T = TypeVar("_T")

EVERY: Final = 10.0
"""Seconds between two lines about how far the run is, where no line can be changed."""
_WIDTH: Final = 100


async def until_a_signal(run: Callable[[], Awaitable[_T]], progress: Callable[[], Mapping[str, Progress]]) -> _T:
    """Run until a signal comes; then clean up, and end as a process that the signal ended.

    `progress` tells how far each broker is, by what is to stand in front of it. Raises CannotRun as `run` does.
    """
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_show, progress, sys.stderr)
            done, got = await unless_a_signal(run)
            nursery.cancel_scope.cancel()
    except* CannotRun as group:
        raise CannotRun("; ".join([str(first_of(group)), *_left(progress())])) from None
    finally:
        _wipe(sys.stderr)
    if not done:
        complain(stopped(progress()))
        sys.exit(128 + got[0])
    return done[0]


async def unless_a_signal(run: Callable[[], Awaitable[_T]]) -> tuple[list[_T], list[int]]:
    """Run until a signal comes, and then cancel it; return what it returned, if it did, and the signals that came.

    More signals change nothing while it cleans up. Raises what `run` does, in groups. In another thread than the first
    no signals can be waited for, and it runs to its end.
    """
    if threading.current_thread() is not threading.main_thread():
        return [await run()], []
    done: list[_T] = []
    got: list[int] = []
    running = trio.CancelScope()
    with trio.open_signal_receiver(*_signals()) as signals:
        async with trio.open_nursery() as nursery:

            async def stop_at_a_signal() -> None:
                async for number in signals:
                    got.append(number)
                    running.cancel()

            nursery.start_soon(stop_at_a_signal)
            with running:
                done.append(await run())
            nursery.cancel_scope.cancel()
    return done, got


def stopped(progress: Mapping[str, Progress]) -> str:
    """Say of a run that a signal has ended what is left of it at the brokers."""
    if not any(each.begun for each in progress.values()):
        return "stopped before anything was made at the broker"
    return f"stopped; {'; '.join(_left(progress)) or 'what was made at the broker was removed'}"


def _signals() -> list[signal.Signals]:
    """Return the signals that end a run: also that of a terminal which is closed, unless nohup keeps it off."""
    kept_off = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if kept_off else [signal.SIGHUP])]


def _left(progress: Mapping[str, Progress]) -> list[str]:
    """Return what could not be removed at which broker."""
    return [f"{name}: {what}" if name else what for name, each in progress.items() for what in each.left]


async def _show(progress: Callable[[], Mapping[str, Progress]], file: IO[str]) -> None:
    """Show how far the run is: in one line that changes, or where nobody can see that, in a line every 10 s."""
    last = ""
    while True:
        await trio.sleep(0.2 if file.isatty() else EVERY)
        told = progress()
        line = " | ".join(f"{name} {_line(each, alone=len(told) == 1)}".strip() for name, each in told.items())
        if line != last:
            last = line
            width = shutil.get_terminal_size((_WIDTH, 0)).columns - 1
            with suppress(OSError):
                print(
                    f"\r\x1b[K{line[:width]}" if file.isatty() else line, end="" if file.isatty() else "\n", file=file
                )
                file.flush()


def _line(progress: Progress, *, alone: bool) -> str:
    line = f"{progress.phase}: {progress.done} of {progress.total}, {progress.broken} broken"
    if progress.running and alone:
        longest = min(progress.running, key=lambda name: progress.running[name])
        line += f", {len(progress.running)} running (longest {longest})"
    return line


def _wipe(file: IO[str]) -> None:
    if file.isatty():
        with suppress(OSError):
            print("\r\x1b[K", end="", file=file, flush=True)


def complain(sentence: str) -> None:
    """Say on standard error what is wrong."""
    clean = "".join(each if each.isprintable() else "?" for each in sentence)
    with suppress(OSError, ValueError):
        print(f"kcoord: {clean}", file=sys.stderr, flush=True)
