"""Waiting for what another thread does: in a plain function, on asyncio, and on trio."""

import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

import trio

from kcoord.testing.refusals import is_refusal, outcome

__tracebackhide__ = is_refusal
T = TypeVar("T")


def running_loop() -> str | None:
    """Return which event loop runs in this thread, `trio` or `asyncio`, or None."""
    if trio.lowlevel.in_trio_run():
        return "trio"
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            return "asyncio"
    return None


def blocked(future: Future[T], cancel: Callable[[], None]) -> T:
    """Wait in this thread. `cancel` is called if the wait is interrupted."""
    try:
        done, _ = wait((future,))
    except BaseException:
        cancel()
        raise
    return outcome(done.pop())


async def awaited(future: Future[T], cancel: Callable[[], None]) -> T:
    """Wait in a task, of asyncio or of trio. `cancel` is called if the wait is cancelled.

    Raises RuntimeError in neither.
    """
    loop = running_loop()
    if loop is None:
        raise RuntimeError("AsyncKcoord runs on asyncio and on trio, and neither runs here")
    try:
        if loop == "trio":
            await _done_on_trio(future)
        else:
            await _done_on_asyncio(future)
    except BaseException:
        # Also if it is done by now: who waited for it never learns that.
        cancel()
        raise
    return outcome(future)


async def _done_on_trio(future: Future[T]) -> None:
    token, event = trio.lowlevel.current_trio_token(), trio.Event()

    def done(_: Future[T]) -> None:
        # The loop may be over by now, if the wait was cancelled.
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(event.set)

    future.add_done_callback(done)
    await event.wait()


async def _done_on_asyncio(future: Future[T]) -> None:
    import asyncio

    loop, event = asyncio.get_running_loop(), asyncio.Event()

    def done(_: Future[T]) -> None:
        # As above; asyncio says so with a RuntimeError.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(event.set)

    future.add_done_callback(done)
    await event.wait()
