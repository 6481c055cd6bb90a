"""Lines for a descriptor that may be slow, stuck or broken, written so that nobody waits for them.

A pipe that nobody reads takes 64 KiB and then holds its writer for ever; a terminal may be stopped with Ctrl-S; a
disk may be full. The server is one task after the other on one thread, so it must not be the one that writes.
"""

import os
import select
import threading
from collections.abc import Callable
from typing import TextIO

ROOM = 4 * 1024 * 1024
"""Bytes of lines that may wait to be written; as many again may be in the hands of the thread that writes."""


class LineWriter:
    """Writes lines in their order, from a thread of its own.

    `out` writes some of the bytes it is given and returns how many; it may block, and raise OSError or ValueError.
    Lines that find no room, or that `out` refuses, are dropped and counted. As soon as lines can be written again,
    `lost_line` is called with the number (in the writing thread) and what it returns is written in their place.
    """

    def __init__(
        self, out: Callable[[memoryview], int], lost_line: Callable[[int], str], *, encoding: str = "utf-8"
    ) -> None:
        self._out = out
        self._lost_line = lost_line
        self._encoding = encoding
        self._changed = threading.Condition()
        self._waiting: list[bytes] = []
        self._size = 0
        self._dropped = 0
        self._closed = False
        self._unreported = 0
        """Lines lost of which no line tells yet. Only the thread looks at this and the next one."""
        self._torn = False
        """Whether the last line written is without its end."""
        # A daemon: an interpreter that ends does not wait for it, and it holds no lock of Python's while it writes.
        self._thread = threading.Thread(target=self._run, name="kcoord log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Have a line written, given without its end; never waits and never raises. Nothing after `close`."""
        data = (line + "\n").encode(self._encoding, "backslashreplace")
        with self._changed:
            if self._closed:
                return
            # Once a line was dropped, later ones are too until the thread comes back: a single gap has a single
            # place and a single number.
            if self._dropped or (self._waiting and self._size + len(data) > ROOM):
                self._dropped += 1
                return
            self._waiting.append(data)
            self._size += len(data)
            self._changed.notify()

    def close(self, patience: float) -> bool:
        """Take no more lines, and wait at most `patience` seconds until the last one is written or refused.

        Returns whether that was enough.
        """
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                lines, self._waiting, self._size = self._waiting, [], 0
                dropped, self._dropped = self._dropped, 0
                if not lines:
                    break
            self._report()
            self._unreported += self._put(b"".join(lines)) + dropped
            if dropped:
                self._report()
        self._report()

    def _report(self) -> None:
        """Say how many lines are lost, if any are."""
        if self._unreported:
            line = self._lost_line(self._unreported) + "\n"
            if self._put(line.encode(self._encoding, "backslashreplace")) == 0:
                self._unreported = 0

    def _put(self, lines: bytes) -> int:
        """Write lines, and return how many of them are not there as a whole."""
        mended = b"\n" if self._torn else b""
        data = memoryview(mended + lines)
        done = 0
        try:
            while done < len(data):
                done += self._out(data[done:])
        except (OSError, ValueError):
            # The reader is gone, the disk is full, the stream was closed. There is nobody who could be told, and it
            # may pass: a disk is cleared, another reader opens the pipe.
            pass
        if done:
            self._torn = data[done - 1] != ord("\n")
        return lines.count(b"\n", max(0, done - len(mended)))


def bytes_to(stream: TextIO) -> Callable[[memoryview], int]:
    """Return a function that writes bytes where `stream` leads, for a `LineWriter`.

    Past Python's own buffers if the stream has a descriptor: their lock would be held by a write that is stuck, and
    wanted by the interpreter that ends. A stream without one is written to as a stream.
    """
    try:
        descriptor = stream.fileno()
    except ValueError:
        # There is none (io.UnsupportedOperation is a ValueError), or the stream is closed.
        return lambda data: _to_stream(stream, data)
    return lambda data: _to_descriptor(descriptor, data)


def _to_descriptor(descriptor: int, data: memoryview) -> int:
    while True:
        try:
            return os.write(descriptor, data)
        except BlockingIOError:
            # Whoever shares the terminal or the pipe has made it non-blocking.
            ready = select.poll()
            ready.register(descriptor, select.POLLOUT)
            ready.poll()


def _to_stream(stream: TextIO, data: memoryview) -> int:
    stream.write(bytes(data).decode(stream.encoding or "utf-8", "replace"))
    stream.flush()
    return len(data)
