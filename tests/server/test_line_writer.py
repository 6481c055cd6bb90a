"""The log's writer: nobody waits for it, what is lost is counted, and the order is kept."""

import errno
import io
import os
import threading
from contextlib import suppress

import pytest

from kcoord.watch.writer import ROOM, LineWriter, bytes_to
from tests.server.client import GIVE_UP


def lost(count):
    return f"{count} lost"


class Gate:
    """An output that takes nothing until it is opened; `entered` is set once somebody waits at it."""

    def __init__(self):
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.data = bytearray()

    def __call__(self, data):
        self.entered.set()
        assert self.opened.wait(GIVE_UP)
        self.data += data
        return len(data)


class Script:
    """An output that does with each call what comes next: an error, or at most so many bytes, or all of them."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.data = bytearray()

    def __call__(self, data):
        step = self.steps.pop(0) if self.steps else len(data)
        if isinstance(step, Exception):
            raise step
        self.data += data[:step]
        return min(step, len(data))


def until(condition):
    patience = threading.Event()
    for _ in range(int(GIVE_UP * 1000)):
        if condition():
            return
        patience.wait(0.001)
    pytest.fail("that does not come")


FULL = OSError(errno.ENOSPC, "No space left on device")


def one_by_one(out, *lines):
    """Write lines, each one when the one before is written or refused."""
    log = LineWriter(out, lost)
    for line in lines:
        before = len(out.steps)
        log.write(line)
        until(lambda: not out.steps or len(out.steps) != before)  # noqa: B023 - called here
    assert log.close(GIVE_UP)
    return out.data.decode()


def test_everything_is_written_in_order(tmp_path):
    path = tmp_path / "log"
    lines = [f"line {number} ü" for number in range(50_000)]
    with path.open("w", encoding="utf-8") as file:
        log = LineWriter(bytes_to(file), lost)
        for line in lines:
            log.write(line)
        assert log.close(GIVE_UP)
    assert path.read_text(encoding="utf-8").splitlines() == lines


def test_a_stuck_output_holds_up_nobody_and_costs_bounded_memory():
    gate = Gate()
    log = LineWriter(gate, lost)
    log.write("first")
    assert gate.entered.wait(GIVE_UP)
    line = "x" * 1023
    fitting = ROOM // 1024
    for _ in range(fitting + 5):
        log.write(line)
    log.write("short")
    gate.opened.set()
    assert log.close(GIVE_UP)
    assert gate.data.decode() == "first\n" + f"{line}\n" * fitting + "6 lost\n"


def test_after_a_gap_lines_are_written_again():
    gate = Gate()
    log = LineWriter(gate, lost)
    log.write("first")
    assert gate.entered.wait(GIVE_UP)
    log.write("x" * ROOM)
    for _ in range(3):
        log.write("no room")
    gate.opened.set()
    until(lambda: gate.data.endswith(b"lost\n"))
    log.write("last")
    assert log.close(GIVE_UP)
    assert gate.data.decode() == f"first\n{'x' * ROOM}\n3 lost\nlast\n"


def test_a_line_larger_than_all_the_room_is_written_if_nothing_waits():
    out = Script()
    assert one_by_one(out, "x" * (2 * ROOM)) == "x" * (2 * ROOM) + "\n"


def test_an_output_that_stays_stuck_is_given_up():
    gate = Gate()
    log = LineWriter(gate, lost)
    log.write("first")
    assert gate.entered.wait(GIVE_UP)
    assert not log.close(0.01)
    log.write("too late")
    gate.opened.set()
    assert log.close(GIVE_UP)
    assert gate.data == b"first\n"


@pytest.mark.parametrize("error", [FULL, BrokenPipeError(), ValueError("I/O operation on closed file")])
def test_lines_that_are_refused_are_counted_until_one_is_taken(error):
    # The first two; then the line that tells of it, and the third.
    assert one_by_one(Script(error, error, error), "a", "b", "c") == "2 lost\nc\n"


def test_a_line_that_was_cut_off_is_lost_and_the_next_one_has_its_own_line():
    assert one_by_one(Script(3, FULL), "abcdef", "g") == "abc\n1 lost\ng\n"


def test_an_output_that_takes_a_little_at_a_time():
    assert one_by_one(Script(*[1] * 8), "abcdef", "g") == "abcdef\ng\n"


def test_what_was_refused_is_told_in_the_end():
    assert one_by_one(Script(FULL), "a") == "1 lost\n"


def test_an_output_that_refuses_everything():
    def broken(_):
        raise BrokenPipeError

    log = LineWriter(broken, lost)
    for _ in range(100):
        log.write("a")
    assert log.close(GIVE_UP)


def test_what_the_encoding_does_not_have_is_escaped():
    out = Script()
    log = LineWriter(out, lost, encoding="ascii")
    log.write("ü\udcff")
    assert log.close(GIVE_UP)
    assert out.data == b"\\xfc\\udcff\n"


def test_a_non_blocking_pipe_is_waited_for():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"\n" * 4096)
    with open(writing, "w") as file, open(reading) as reader:
        log = LineWriter(bytes_to(file), lost)
        log.write("a line")
        while reader.readline() != "a line\n":
            pass
        assert log.close(GIVE_UP)


def test_a_stream_without_a_descriptor_is_written_to_as_it_is():
    stream = io.StringIO()
    log = LineWriter(bytes_to(stream), lost)
    log.write("ü")
    assert log.close(GIVE_UP)
    assert stream.getvalue() == "ü\n"


def test_a_stream_that_is_closed_takes_nothing(tmp_path):
    file = (tmp_path / "log").open("w")
    file.close()
    log = LineWriter(bytes_to(file), lost)
    log.write("a")
    assert log.close(GIVE_UP)
