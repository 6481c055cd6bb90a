"""Which tests run which line of the mutated modules, and how long each takes: found once, before any mutant."""

import os
import pickle
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest

from .applying import replace_functions

OPTIONS = (
    "-q", "--no-header", "--disable-plugin-autoload", "-p", "pytest_trio.plugin", "-p", "pytest_timeout",
    "-p", "no:cacheprovider", "--capture=no", "--tb=native", "-o", "faulthandler_timeout=0",
)  # fmt: skip
TESTS = {
    "core": ("tests/core",),
    "rules": ("tests/scenarios/test_rules.py",),
    "server": (
        "tests/server/test_errors_of_shards.py",
        "tests/server/test_find_coordinator.py",
        "tests/server/test_group_apis.py",
        "tests/server/test_log_lines.py",
        "tests/server/test_offset_apis.py",
        "tests/server/test_offsets_log.py",
        "tests/server/test_retention.py",
        "tests/server/test_shard.py",
        "tests/server/test_shard_loading.py",
        "tests/server/test_shard_time.py",
    ),
}
"""Tests that run in this process and ask no real clock, so that a mutant alone makes them fail."""
GIVEN = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a function that has @given."""


@dataclass
class Selection:
    """What each test takes (seconds of processor time), and which tests run a line of a file."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)
    """How many lines of these files each test runs."""
    turns: dict[str, int] = field(default_factory=dict)
    """How many tests before this one run the very same lines."""

    def running(self, file: str, first: int, last: int) -> frozenset[str]:
        """The tests that run one of these lines."""
        lines = self.lines[file]
        return frozenset().union(*(lines.get(line, frozenset()) for line in range(first, last + 1)))


def suite_of(test: str) -> str:
    """Which of TESTS a test belongs to."""
    return next(name for name, places in TESTS.items() if test.startswith(places))


def steady(items: Sequence[pytest.Item]) -> None:
    """Let tests that draw at random draw the same each time, keep nothing, and not look for the smallest failure."""
    from hypothesis import Phase, settings  # pytest wants to import it first

    def the_same(known: settings) -> settings:
        return settings(known, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate])

    for cls in {parent.obj for item in items if (parent := item.getparent(pytest.Class)) is not None}:
        if isinstance(known := getattr(cls, "settings", None), settings):
            cls.settings = the_same(known)
    for function in {item.obj for item in items if isinstance(item, pytest.Function)}:
        if (known := getattr(function, GIVEN, None)) is not None:
            setattr(function, GIVEN, the_same(known))


def select(items: Sequence[pytest.Item], files: Sequence[str], scratch: Path) -> Selection:
    """Run every test once, in a process of its own, for what is said above; its threads and caches end with it."""
    kept = scratch / "selection"
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            kept.write_bytes(pickle.dumps(_observe(items, files)))
            status = 0
        finally:
            os._exit(status)
    status = None
    try:
        _, status = os.waitpid(child, 0)
    finally:
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if status:
        raise SystemExit("The run that looks which tests run which line ended with an error.")
    selection: Selection = pickle.loads(kept.read_bytes())
    return selection


def _observe(items: Sequence[pytest.Item], files: Sequence[str]) -> Selection:
    selection = Selection()
    failures = Failures()
    items[0].config.pluginmanager.register(failures)
    paths = {file: str(Path(file).resolve()) for file in files}
    for file in files:
        replace_functions(file, Path(file).read_bytes())  # with what they are: to be sure that this disturbs nothing
    observer = coverage.Coverage(data_file=None, config_file=False, include=list(paths.values()))
    observer.start()
    for item, following in zip(items, [*items[1:], None], strict=True):
        observer.switch_context(item.nodeid)
        begun = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        selection.seconds[item.nodeid] = time.process_time() - begun
    observer.stop()
    data = observer.get_data()
    for file, path in paths.items():
        contexts = data.contexts_by_lineno(path)
        selection.lines[file] = {line: frozenset(names) - {""} for line, names in contexts.items()}
    selection.failed = failures.names
    _compare(selection)
    return selection


def _compare(selection: Selection) -> None:
    """Say of each test how many lines it runs, and how many quicker ones run the same: the first is as good as any."""
    places: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for file, lines in selection.lines.items():
        for line, names in lines.items():
            for name in names:
                places[name].append((file, line))
    seen: Counter[tuple[str, frozenset[tuple[str, int]]]] = Counter()
    for name in sorted(selection.seconds, key=lambda each: selection.seconds[each]):
        same = suite_of(name), frozenset(places[name])
        selection.lengths[name] = len(places[name])
        selection.turns[name] = seen[same]
        seen[same] += 1


class Failures:
    """A plugin of pytest that remembers which tests failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)
