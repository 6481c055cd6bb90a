"""How much memory records may take, as the command line says it."""

import pytest

from kcoord import commands
from tests.server.test_command_line import fails  # noqa: F401 - a fixture


@pytest.fixture
def given(monkeypatch):
    """Run a command line up to where it would serve; gives the limit in bytes, None for no limit."""

    def run_here(*arguments):
        configs = []
        monkeypatch.setattr(commands, "_serve", lambda config, *_: configs.append(config))
        monkeypatch.setattr(commands, "_allow_many_files", lambda: None)
        commands.run(["serve", *arguments])
        return configs[0].memory_limit

    return run_here


@pytest.mark.parametrize(
    ("size", "limit"),
    [
        ("5", 5),
        ("0", 0),
        ("3KiB", 3 * 1024),
        ("64MiB", 64 * 1024**2),
        ("2 GiB", 2 * 1024**3),
        (" 7 ", 7),
        ("-1", None),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_a_size(given, size, limit):
    assert given(f"--memory-limit={size}") == limit


def test_without_a_size(given):
    assert given() == 2**30


def test_the_same_twice_is_fine(given):
    assert given("--memory-limit", "1KiB", "--override", "memory.limit.bytes=1024") == 1024


@pytest.mark.parametrize("size", ["", "x", "5TB", "5kib", "5 MB", "1.5GiB", "-2", "--1", "٣", "1KiB2", "1" * 20])
def test_what_is_no_size(fails, size):  # noqa: F811
    expected = f"kcoord: --memory-limit is {size!r}: it must be a number of bytes, or one of KiB, MiB or GiB\n"
    assert fails("serve", f"--memory-limit={size}") == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--memory-limit=9999999999999GiB"],
            f"memory.limit.bytes is '{2**63}': it must be from -1 to {2**63 - 1}",
        ),
        (["--memory-limit=-1KiB"], f"memory.limit.bytes is '-1024': it must be from -1 to {2**63 - 1}"),
        (
            ["--memory-limit=1KiB", "--override=memory.limit.bytes=5"],
            "--memory-limit is '1024', but --override says that memory.limit.bytes is '5'",
        ),
    ],
)
def test_what_cannot_be(fails, arguments, sentence):  # noqa: F811
    assert fails("serve", *arguments) == f"kcoord: {sentence}\n"
