"""Runs tests with one module of which another source is imported, in a fresh interpreter.

python -m scripts.mutation.cold JOB, where JOB is a pickled `Job`. Its status is that of pytest.
"""

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from .applying import Replacing
from .selecting import OPTIONS, steady

BROKEN = 70
"""The status of a process that could not put its mutant in place: a fault in here."""


@dataclass(frozen=True)
class Job:
    """The file and its source, the tests in the order to run them, and where to write which of them failed."""

    file: str
    source: bytes
    tests: tuple[str, ...]
    failed: Path


class Chosen:
    """Has pytest run the tests of a job and no others."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.replacing = Replacing(job.file, job.source)

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Come before pytest's own import hook, which has to be there already, and before any test is imported."""
        assert self.replacing.name not in sys.modules
        sys.meta_path.insert(0, self.replacing)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {name: number for number, name in enumerate(self._job.tests)}
        items[:] = sorted((each for each in items if each.nodeid in place), key=lambda each: place[each.nodeid])
        steady(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._job.failed.write_text(report.nodeid)


def main() -> int:
    job: Job = pickle.loads(Path(sys.argv[1]).read_bytes())
    sys.dont_write_bytecode = True
    run = Chosen(job)
    files = list(dict.fromkeys(each.partition("::")[0] for each in job.tests))
    status = pytest.main([*OPTIONS, "--exitfirst", *files], plugins=[run])
    return int(status) if run.replacing.used else BROKEN


if __name__ == "__main__":
    sys.exit(main())
