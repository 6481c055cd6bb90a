"""What connects to a server in this process, and how virtual time gets on with threads."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair

from kcoord.check.result import Run, Verdict
from kcoord.check.rule import Rule
from kcoord.check.world import Opener


def opener_to(running: Any, nursery: trio.Nursery) -> Opener:
    """What opens a connection to a running server, over memory."""

    async def attach() -> trio.abc.Stream:
        near, far = memory_stream_pair()
        nursery.start_soon(running.attach, far)
        return near

    return attach


@contextmanager
def no_jumps_while_threads_work() -> Iterator[None]:
    """Let a clock that jumps over every wait stand still while `trio.to_thread.run_sync` is at work."""
    run_sync = trio.to_thread.run_sync
    working = 0

    async def in_thread(*args: Any, **options: Any) -> Any:
        nonlocal working
        clock: Any = trio.lowlevel.current_clock()
        working += 1
        clock.autojump_threshold = math.inf
        try:
            return await run_sync(*args, **options)
        finally:
            working -= 1
            if not working:
                clock.autojump_threshold = 0

    trio.to_thread.run_sync = in_thread  # type: ignore[assignment]
    try:
        yield
    finally:
        trio.to_thread.run_sync = run_sync


def must_be_kept(rule: Rule, run: Run) -> None:
    """Fail, with all that was said, if one case of a rule was not kept."""
    if run.failure is not None:
        shown = [line for each in run.transcript for line in each.lines()]
        pytest.fail("\n".join([rule.says, *run.failure.lines(), *shown]), pytrace=False)
    assert run.verdict is Verdict.KEPT, run.why
