"""`kcoord demo`: each story once, as it is printed where there is no terminal; and how it ends when it is interrupted.

How long things take is not asserted, only what happened, in which order, and why.
"""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from integration.waiting import LIMIT, eventually
from kcoord.demo.stories import STORIES

PATIENCE = 180
"""Seconds in which a story is over on any machine."""
pytestmark = pytest.mark.timeout(2 * PATIENCE)
WIDTH = "400"
"""Columns: so many that each is for a quarter of a second, however slow this machine is, and no line is broken."""
ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "kcoord", "demo"]


def environment(**more):
    """This process's environment without what belongs to the test run around it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COVERAGE_", "KCOORD_"))}
    return kept | {"COLUMNS": WIDTH, "PYTHONIOENCODING": "utf-8"} | more


def acted_out(*arguments):
    """What a story prints."""
    done = subprocess.run(
        [*COMMAND, *arguments], env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    return done.stdout


def log_of(text):
    """What happened, line by line, without the times."""
    log = text.split("\n\n")[1]
    assert all(re.match(r" +\d+\.\d\d s  ", line) for line in log.splitlines()), text
    return [line.split(" s  ", 1)[1] for line in log.splitlines()]


def rows_of(text):
    """The picture: what stands to the right of each name."""
    found = re.search(r"^generation .*\n(?:[a-z].*\n){4}", text, re.MULTILINE)
    assert found, text
    return {line[:12].strip(): line[12:] for line in found[0].splitlines()}


def ending_of(text):
    """The plain words behind the picture."""
    found = re.search(r"^In \d+\.\d s.*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert found, text
    return found[0]


def shape(row):
    """A row with each run of the same mark as one of it; digits stay."""
    return re.sub(r"([^\d])\1+", r"\1", row).strip()


def in_order(log, *parts):
    """Whether these occur in the log, one behind the other."""
    rest = iter(log)
    for part in parts:
        assert any(part in line for line in rest), (part, log)


def test_eager():
    text = acted_out("eager")
    in_order(
        log_of(text),
        "a starts",
        "rebalance: new member a joined",
        "a has 0 1 2 3 4 5",
        "b starts",
        "rebalance: new member b joined; it waits for a",
        "a has 0 1 2, b has 3 4 5",
        "c starts",
        "rebalance: new member c joined; it waits for ",
        "a has 0 1, b has 2 3, c has 4 5",
        "b is closed",
        "b leaves the group",
        "rebalance: explicit removal of b; it waits for ",
        "a has 0 1 2, c has 3 4 5",
    )
    rows = rows_of(text)
    assert len(rows["generation"].split()) >= 4
    assert rows["a"].count("░") >= 3
    assert shape(rows["b"]).endswith("<")
    ending = ending_of(text)
    assert "Eager: all gave up everything before they joined again, in generations " in ending
    assert re.search(r"Stood still: a \d+\.\d\d s", ending)
    assert "without a pause" not in ending
    assert "Findings: none." in ending
    assert re.search(r"\n\nGroup readers: Stable, generation \d+ \(range\), 2 members: ", text)
    assert text.endswith("(kcoord demo eager --timeline prints all of it.)\n")


def test_the_readmes_picture_is_what_a_run_shows():
    """Its rows are those of the demo, but for how long things took; its words are, but for the figures."""
    (shown,) = re.findall(
        r"^```text\n(generation .*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    # kafka-python sometimes joins once more than it has to, and then there is a generation more.
    for _ in range(3):
        text = acted_out("eager")
        if rows_of(text)["generation"].split() == ["1", "2", "3", "4"]:
            break
    assert {name: shape(row) for name, row in rows_of(text).items() if name in "abc"} == {
        name: shape(row) for name, row in rows_of(shown).items() if name in "abc"
    }
    assert without_figures(ending_of(text)) == without_figures(ending_of(f"{shown}\n"))


def without_figures(ending):
    """The words that are the same in each run: which partition was unread for longest is not.

    Nor is for whom a rebalance waited, nor whether that was for so long that it is told of.
    """
    lines = [re.sub(r"\d+\.\d+", "0.0", re.sub("; waited [^;]*", "", line)) for line in ending.splitlines()]
    return [line for line in lines if not line.startswith("Longest")]


def test_cooperative():
    # kafka-python forgets, once in a while, a join that was complete between two polls, and what it owned with it.
    for _ in range(3):
        text = acted_out("cooperative", "--timeline")
        if "░" not in "".join(rows_of(text).values()):
            break
    in_order(
        log_of(text),
        "rebalance: new member b joined; it waits for a",
        "a has 0 1 2, b has nothing",
        "rebalance: member a joined again",
        "a has 0 1 2, b has 3 4 5",
        "rebalance: new member c joined",
        "c has nothing",
        "rebalance: member ",
        "rebalance: explicit removal of b",
    )
    rows = rows_of(text)
    assert "░" not in "".join(rows.values())
    assert "∅" in rows["b"]
    ending = ending_of(text)
    assert "Cooperative: members kept what they did not have to hand over, in generations " in ending
    assert "Stood still: nobody." in ending
    assert "Partitions that were read without a pause: 3 in generation " in ending
    assert "(its second step: what was given up is handed out)" in ending
    assert "\nEvents\n" in text


def test_static():
    text = acted_out("static")
    log = log_of(text)
    in_order(
        log,
        "b is closed",
        "b starts",
        "b is back, in its own place, under a new member id",
        "b is closed",
        "the server's clock is moved forward by 45 s",
        "b is put out: no heartbeat within the session timeout",
        "rebalance: removing member b on heartbeat expiration",
        "b starts",
        "rebalance: new member b joined",
        "b has 2 3",
    )
    away = log[log.index("b is closed") : log.index("b is back, in its own place, under a new member id")]
    assert not [line for line in away if line.startswith(("rebalance", "generation"))]
    rows = rows_of(text)
    assert re.search(r"23─·\+?(23|2)─.*·»!.*\+23─$", shape(rows["b"]))
    assert re.search(r"b came back after \d+\.\d s, without a rebalance\.", ending_of(text))


def test_crash():
    text = acted_out("crash")
    in_order(
        log_of(text),
        "c has ",
        "c is killed (SIGKILL), without a word to the server",
        "the server's clock is moved forward by 45 s, so that nobody has to wait",
        "c is put out: no heartbeat within the session timeout",
        "rebalance: removing member c on heartbeat expiration; it waits for ",
        "a has 0 1 2, b has 3 4 5",
    )
    rows = rows_of(text)
    assert re.search(r"─x·»!$", shape(rows["c"]))
    assert "»" in rows["a"]
    assert "(45 s of them the clock was moved by)" in ending_of(text)
    unread = re.search(r"nobody read orders-\d for (\d+)\.\d s", ending_of(text))
    assert unread
    assert int(unread[1]) >= 45


def test_slow():
    text = acted_out("slow")
    in_order(
        log_of(text),
        "b does not poll any more",
        "c starts",
        "rebalance: new member c joined; it waits for ",
        "b leaves the group: its client does so by itself, when max.poll.interval.ms is over without a poll",
        "a has 0 1 2, c has 3 4 5",
        "b polls again",
        "rebalance: new member b joined",
        "b has ",
    )
    rows = rows_of(text)
    assert "~<" in shape(rows["b"])
    assert "░" in rows["a"]
    assert re.search(r"new member c joined; waited \d+\.\d s for b \(left\)", ending_of(text))


def test_in_a_terminal_the_picture_grows_in_its_place():
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "crash", "--speed", "3"],
        env=environment(TERM="xterm-256color", LINES="24"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    text = all_of(controller)
    assert process.wait(PATIENCE) == 0, text
    hidden, shown = text.index("\x1b[?25l"), text.rindex("\x1b[?25h")
    assert hidden < shown  # the cursor is hidden, and shown again
    # It is drawn once at least in each step of the story; how often is up to the machine.
    drawn = text[hidden:shown].split("generation  ")[1:]
    at = [
        next((number for number, one in enumerate(drawn) if mark in one), None)
        for mark in (" joins", "is killed", "the clock is moved")
    ]
    assert None not in at, text
    assert at == sorted(set(at)), text
    assert text[shown:].count("generation  ") == 1
    assert "Findings: none." in text[shown:]


def all_of(descriptor):
    """What is written to a terminal, until nobody has it open any more."""
    parts = []
    # Linux says that the other end is closed by an error.
    with contextlib.suppress(OSError):
        while part := os.read(descriptor, 65_536):
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def said_before(process, text):
    """Read what it prints, up to a line with this text. AssertionError, with all of it, if there is none."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return
    raise AssertionError(f"it ended with {process.wait(LIMIT)} without {text!r}: {''.join(lines)}")


def children_of(process):
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    return [pid for pid, parent in pairs if parent == process.pid]


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["", "a starts", "c is killed"])
def test_a_signal_ends_it_and_nothing_is_left(number, moment):
    process = subprocess.Popen(
        [*COMMAND, "crash"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    said_before(process, moment)
    wanted = 2 if moment == "c is killed" else 3
    children = eventually(
        lambda: found if len(found := children_of(process)) >= wanted else None, "consumers to be started"
    )
    process.send_signal(number)
    _, errors = process.communicate(timeout=LIMIT)
    told = "kcoord: stopped; nothing is left of the server and its consumers\n"
    assert (process.returncode, errors) == (128 + number, told)
    assert all(map(is_gone, children))


def test_if_it_is_killed_its_consumers_end_by_themselves():
    process = subprocess.Popen([*COMMAND, "eager"], env=environment(), stdout=subprocess.PIPE, text=True, bufsize=1)
    said_before(process, "generation 1")
    children = children_of(process)
    assert len(children) == len(STORIES["eager"].members)
    process.kill()
    process.communicate(timeout=LIMIT)
    eventually(lambda: all(map(is_gone, children)), lambda: f"{children} to end")
