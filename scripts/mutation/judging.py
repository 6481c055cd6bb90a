"""Each mutant before the tests that run its line, the likeliest to catch it first, until one fails."""

import ast
import gc
import math
import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from .applying import replace_functions
from .cold import BROKEN, Job
from .making import Mutant, functions_that_name, given_values_from
from .selecting import TESTS, Failures, Selection, suite_of

NO_END = "takes too long"
"""What stands for the name of a test where a mutant was ended because its tests took too long."""
NO_IMPORT = "cannot be imported"
"""What stands there where the module could not even be imported, or a test not be collected."""
SURVIVED = 0
CAUGHT = 1
AGAIN = 5
"""How many times as long the tests of a mutant that took too long may take when they are run once more.

What takes long on a busy machine is no reason to take a mutant for caught; one that never ends still never ends.
"""
SLOW_S = 0.3
"""Seconds from which on a test comes after all others."""
PATIENCE_S = 30
"""Seconds beyond twenty times what its tests take, after which a mutant that does nothing any more is ended."""
MEMORY = 2 << 30
"""How many bytes more than before a mutant may take."""


@dataclass
class Verdict:
    """What became of a mutant: which test caught it in each suite it was shown to ("" for none), of how many in all."""

    mutant: Mutant
    tests: int = 0
    caught: dict[str, str] = field(default_factory=dict)

    @property
    def survived(self) -> bool:
        return not any(self.caught.values())


@dataclass
class _Running:
    verdict: Verdict
    suite: str
    process: int
    until: float
    again: bool


class Judge:
    """Has mutants judged, several at once. `by_suite` shows each of them to every suite, not only until one catches."""

    def __init__(
        self,
        items: Sequence[pytest.Item],
        selection: Selection,
        sources: dict[str, bytes],
        scratch: Path,
        *,
        processes: int,
        by_suite: bool,
        seconds: float,
    ) -> None:
        self._items = {item.nodeid: item for item in items}
        self._selection = selection
        self._sources = sources
        self._trees = {file: ast.parse(data) for file, data in sources.items()}
        self._scratch = scratch
        self._processes = processes
        self._by_suite = by_suite
        self._seconds = seconds
        self._caught_before: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def all(self, mutants: Iterable[Mutant], tell: Callable[[Verdict], None]) -> list[Verdict]:
        """Judge them all; `tell` is called with each as soon as it is judged."""
        gc.collect()
        gc.freeze()  # what is here already is not looked through, and so not copied, by each process anew
        verdicts = []
        waiting: deque[tuple[Verdict, str]] = deque()
        for mutant in mutants:
            tests = self._tests(mutant)
            verdict = Verdict(mutant)
            verdicts.append(verdict)
            suites = dict.fromkeys(suite_of(each) for each in tests) if self._by_suite else ["all"]
            if not tests:
                tell(verdict)
                continue
            verdict.caught = dict.fromkeys(suites, "")
            waiting.extend((verdict, suite) for suite in suites)
        left = Counter(id(verdict) for verdict, _ in waiting)
        running: list[_Running] = []
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            while waiting or running:
                while waiting and len(running) < self._processes:
                    running.append(self._start(*waiting.popleft()))
                ended = self._wait(running)
                if ended.verdict.caught[ended.suite] == NO_END and not ended.again:
                    running.append(self._start(ended.verdict, ended.suite, again=True))
                    continue
                left[id(ended.verdict)] -= 1
                if not left[id(ended.verdict)]:
                    tell(ended.verdict)
        finally:
            for one in running:
                os.kill(one.process, signal.SIGKILL)
                os.waitpid(one.process, 0)
        return verdicts

    def _tests(self, mutant: Mutant) -> frozenset[str]:
        """The tests that may notice a mutant."""
        tests = self._selection.running(mutant.file, mutant.first, mutant.last)
        if mutant.body_of is None:
            made = (name for tree in self._trees.values() for name in given_values_from(tree, mutant.names))
            names = (*mutant.names, *made)
            for file, tree in self._trees.items():
                for first, last in functions_that_name(tree, names):
                    tests |= self._selection.running(file, first, last)
        return tests

    def _ordered(self, tests: Iterable[str], mutant: Mutant) -> list[str]:
        """The tests in the order to run them, of each suite as many as there is time for.

        First what caught another mutant of the function, then tests/core, the quickest of all, where those that run
        little else know best; of the others, those that run the same lines one after another; at last what is slow. A
        mutant that survives these would seldom be caught by the rest.
        """
        before = self._caught_before[mutant.file, mutant.function]
        selection = self._selection

        def place(test: str) -> tuple[float, ...]:
            suite = suite_of(test)
            turn = 0 if suite == "core" else selection.turns[test]
            slow = selection.seconds[test] > SLOW_S
            return slow, -before[test], list(TESTS).index(suite), turn, selection.lengths[test], selection.seconds[test]

        spent = dict.fromkeys(TESTS, 0.0)
        chosen = []
        for test in sorted(tests, key=lambda each: (*place(each), each)):
            if spent[suite_of(test)] < self._seconds:
                spent[suite_of(test)] += selection.seconds[test]
                chosen.append(test)
        return chosen

    def _start(self, verdict: Verdict, suite: str, *, again: bool = False) -> _Running:
        mutant = verdict.mutant
        verdict.caught[suite] = ""
        times = AGAIN if again else 1
        tests = self._ordered((each for each in self._tests(mutant) if suite in ("all", suite_of(each))), mutant)
        verdict.tests += 0 if again else len(tests)
        seconds = sum(self._selection.seconds[each] for each in tests)
        source = mutant.source(self._sources[mutant.file])
        start = self._start_warm if mutant.body_of is not None else self._start_cold
        process = start(mutant, source, tests, times)
        return _Running(verdict, suite, process, time.monotonic() + times * (20 * seconds + PATIENCE_S), again)

    # --- processes ---

    def _start_warm(self, mutant: Mutant, source: bytes, tests: Sequence[str], times: int) -> int:
        """Judge in a copy of this process, in which everything is imported and collected already."""
        child = os.fork()
        if child:
            return child
        status = BROKEN
        try:
            assert mutant.body_of is not None
            replace_functions(mutant.file, source, mutant.body_of)
            _silence()
            status = CAUGHT
            status = self._run([self._items[each] for each in tests], times)
        finally:
            _leave(status)

    def _run(self, items: Sequence[pytest.Item], times: int) -> int:
        """Run tests until one fails, and return the status of the process."""
        failures = Failures()
        items[0].config.pluginmanager.register(failures)
        limit_memory()
        for item, following in zip(items, [*items[1:], None], strict=True):
            used = time.process_time()
            limit_processor(used + times * (1 + 10 * self._selection.seconds[item.nodeid]))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if failures.names:
                self._note(os.getpid()).write_text(failures.names[0])
                return CAUGHT
        return SURVIVED

    def _start_cold(self, mutant: Mutant, source: bytes, tests: Sequence[str], times: int) -> int:
        """Judge in a fresh interpreter, for the mutant is what happens when its module is imported."""
        child = os.fork()
        if child:
            return child
        try:
            job = self._scratch / f"{os.getpid()}.job"
            job.write_bytes(pickle.dumps(Job(mutant.file, source, tuple(tests), self._note(os.getpid()))))
            _silence()
            limit_memory()
            limit_processor(times * (30 + 5 * sum(self._selection.seconds[each] for each in tests)))
            os.execv(sys.executable, [sys.executable, "-m", "scripts.mutation.cold", str(job)])
        finally:
            _leave(BROKEN)

    def _note(self, process: int) -> Path:
        return self._scratch / f"{process}.failed"

    def _wait(self, running: list[_Running]) -> _Running:
        """Wait until one has ended, which is no more among those that run, and write down how."""
        while True:
            for one in running:
                if time.monotonic() > one.until:
                    os.kill(one.process, signal.SIGKILL)
                ended, status = os.waitpid(one.process, os.WNOHANG)
                if ended:
                    running.remove(one)
                    self._ended(one, os.waitstatus_to_exitcode(status))
                    return one
            signal.sigtimedwait({signal.SIGCHLD}, 1)

    def _ended(self, one: _Running, code: int) -> None:
        if code == BROKEN:
            raise SystemExit(f"The mutant could not be put in place: {one.verdict.mutant}")
        note = self._note(one.process)
        if code:
            test = note.read_text() if note.exists() else NO_END if code < 0 else NO_IMPORT
            one.verdict.caught[one.suite] = test
            self._caught_before[one.verdict.mutant.file, one.verdict.mutant.function][test] += 1
        note.unlink(missing_ok=True)
        (self._scratch / f"{one.process}.job").unlink(missing_ok=True)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def _leave(status: int) -> NoReturn:
    """End this process at once, without what pytest would do at its end; say what went wrong if it is no test."""
    if status == BROKEN:
        traceback.print_exc()
    os._exit(status)


def limit_processor(seconds: float) -> None:
    """End this process when it has used so much processor time in all."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), hard))


def limit_memory() -> None:
    """Refuse this process more than MEMORY beyond what it has, and a core dump."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
