"""Waiting for what other threads and processes do: on conditions, with a limit that only a hang reaches."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LIMIT = 60.0
"""Seconds. A machine that is busy needs a few; nothing here is expected to take this long."""
CHANGED = threading.Condition()
"""Notified by everybody whose state a test may be waiting for."""


def changed() -> None:
    """Say that a condition may have become true."""
    with CHANGED:
        CHANGED.notify_all()


def eventually(condition: Callable[[], T], what: str | Callable[[], object]) -> T:
    """Return the first true value of `condition`; AssertionError, saying `what` was awaited, after a minute."""
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {LIMIT} s: {what() if callable(what) else what}")
        with CHANGED:
            CHANGED.wait(0.05)
    return value
