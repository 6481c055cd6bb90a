"""Where the program begins: what has to be in place before the rest of it is loaded.

Loading takes a good part of a second, in which somebody may press Ctrl-C; and the descriptors that a shell has
closed (`2>&-`) would be given to the first files and sockets that are opened, which log lines would then go to.
"""

import errno
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""The exit status by which shells know that a program was interrupted."""
CANNOT_START = 2
STANDARD_DESCRIPTORS = range(3)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default that of the process; what `kcoord` and `python -m kcoord` call.

    Ends in SystemExit with status 2 for what is wrong with the arguments, the settings or the addresses, and where the
    process may not open as many files as it has to. An interrupt before the server runs ends the process at once, with
    status 130. Has to be called in the main thread.
    """
    before = signal.signal(signal.SIGINT, _end_at_once)
    try:
        _open_standard_streams()
        # Only now, as this is what takes its time.
        from kcoord.commands import run

        run(arguments)
    except (OSError, ImportError, BaseExceptionGroup) as error:
        if not _lacks_descriptors(error):
            raise
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError):
            print(f"kcoord: {os.strerror(errno.EMFILE)}: ulimit -n says {most}", file=sys.stderr, flush=True)
        sys.exit(CANNOT_START)
    finally:
        # A server that is stopping ignores further signals, until the very end of the process.
        if signal.getsignal(signal.SIGINT) is _end_at_once:
            signal.signal(signal.SIGINT, before)


def _end_at_once(_signal: int, _frame: FrameType | None) -> None:
    """End without a word: nothing has been done yet that would have to be undone."""
    os._exit(INTERRUPTED)


def _lacks_descriptors(error: BaseException) -> bool:
    """Whether it is for want of descriptors, and for nothing else, that something could not be done."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_lacks_descriptors, error.exceptions))
    if isinstance(error, ImportError):
        # Of a library that was to be loaded there is only what the system's loader says.
        return os.strerror(errno.EMFILE) in str(error)
    return isinstance(error, OSError) and error.errno == errno.EMFILE


def _open_standard_streams() -> None:
    """Let the standard streams that are closed lead nowhere, and nothing else get their descriptors."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) in STANDARD_DESCRIPTORS:
        pass
    os.close(descriptor)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
