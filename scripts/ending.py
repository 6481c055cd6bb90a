"""How a script ends that has started processes: whatever signal ends it, none of them is left."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the script as Ctrl-C does, by way of all `finally` clauses.

    Without it they end the process on the spot, and what it has started goes on. The exit status is that which shells
    give to a process that the signal ended. Has to be called in the main thread.
    """
    got: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        got.append(number)
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        # While trio runs, it has a handler of its own there, which knows when its loop may be interrupted.
        handler = signal.getsignal(signal.SIGINT)
        assert callable(handler)
        handler(signal.SIGINT, frame)

    before = {each: signal.signal(each, interrupt) for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN}
    # Where it is ignored, as in the background of a shell, trio would not have that handler.
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        # What is called here may make a status of its own out of an interrupt, as pytest does.
        if isinstance(end, SystemExit) and not got:
            raise
        sys.exit(128 + (got or [signal.SIGINT])[0])
    except BaseExceptionGroup as group:
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        sys.exit(128 + (got or [signal.SIGINT])[0])
    finally:
        if not got:
            for each, handler in before.items():
                signal.signal(each, handler)
