"""How many small changes of kcoord/core the tests notice, and which they do not.

python scripts/mutate.py                     all of it: half an hour and more on two processors
python scripts/mutate.py --only timers       one module
python scripts/mutate.py --by-suite          how many each suite catches alone: tests/core, the rules, tests/server

Each mutant is one change of one place. It is shown to the tests that run its line until one fails; a mutant that none
catches is a gap in the tests, or has an entry in tests/core/mutants.toml that says why not. Nothing is written to the
checkout. The status is 1 if fewer than 90 % are caught, if a survivor is not listed, or if an entry of the list is not
true any more: its mutant is caught, or there is no such line.
"""

import argparse
import importlib
import inspect
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402 - the checkout comes first

from scripts.ending import in_order  # noqa: E402
from scripts.mutation import listed  # noqa: E402
from scripts.mutation.applying import module_name  # noqa: E402
from scripts.mutation.judging import Judge, Verdict  # noqa: E402
from scripts.mutation.making import MayOmit, Mutant, mutants_of  # noqa: E402
from scripts.mutation.selecting import OPTIONS, TESTS, select, steady, suite_of  # noqa: E402

MUTATED = Path("kcoord/core")
LIST = ROOT / "tests/core/mutants.toml"


class Run:
    """A plugin of pytest: once the tests are collected, mutants are judged instead of running them."""

    def __init__(self, wanted: argparse.Namespace) -> None:
        self._wanted = wanted
        self.every: list[Mutant] = []
        self.verdicts: list[Verdict] = []
        self._told = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge the mutants."""
        paths = sorted((ROOT / MUTATED).glob("*.py"))
        sources = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
        self.every = [mutant for file, data in sources.items() for mutant in mutants_of(file, data, omission(file))]
        mutants = chosen(self._wanted, self.every)
        steady(session.items)
        with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
            selection = select(session.items, list(sources), Path(scratch))
            if selection.failed:
                raise SystemExit(f"These fail without any mutant: {', '.join(selection.failed)}")
            print(f"{len(session.items)} tests, {len(mutants)} mutants", flush=True)
            judge = Judge(
                session.items,
                selection,
                sources,
                Path(scratch),
                processes=self._wanted.processes,
                by_suite=self._wanted.by_suite,
                seconds=self._wanted.seconds or math.inf,
            )
            self.verdicts = judge.all(mutants, self._tell)
        return True

    def _tell(self, verdict: Verdict) -> None:
        if self._wanted.results is not None:
            with self._wanted.results.open("a") as file:
                file.write(json.dumps({"mutant": verdict.mutant.key, "caught": verdict.caught}) + "\n")
        self._told += 1
        if self._told % 100 == 0:
            print(f"{self._told} judged", flush=True)
        if verdict.survived:
            print(f"survived {verdict.tests} tests: {listed.shown(verdict.mutant.key)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = parsed(arguments)
    begun = time.monotonic()
    reasons = listed.read(LIST)
    os.chdir(ROOT)
    run = Run(wanted)
    places = wanted.tests or [place for name in wanted.suites for place in TESTS[name]]
    status = pytest.main([*OPTIONS, *places], plugins=[run])
    if not run.verdicts:
        return int(status) or 1
    print(table(run.verdicts, by_suite=wanted.by_suite))
    print(f"{time.monotonic() - begun:.0f} s")
    return judged(run.verdicts, run.every, reasons, wanted.at_least)


def chosen(wanted: argparse.Namespace, every: Iterable[Mutant]) -> list[Mutant]:
    """The mutants that are asked for."""
    mutants = [mutant for mutant in every if not wanted.only or Path(mutant.file).stem in wanted.only]
    if wanted.recheck is not None:
        judged_then = [json.loads(line) for line in wanted.recheck.read_text().splitlines()]
        survivors = {tuple(one["mutant"]) for one in judged_then if not any(one["caught"].values())}
        mutants = [mutant for mutant in mutants if mutant.key in survivors]
    if not mutants:
        raise SystemExit("There is no such module, or no mutant in it.")
    return mutants


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="MODULE", help="mutate this module of kcoord/core only")
    parser.add_argument("--suites", nargs="+", choices=TESTS, default=list(TESTS), help="show mutants to these tests")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="show mutants to these of the tests only")
    parser.add_argument("--by-suite", action="store_true", help="show each mutant to each suite")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="mutants judged at once (2)")
    parser.add_argument(
        "--seconds", type=float, default=6, metavar="N", help="run tests of a suite for so long on a mutant (6; 0: all)"
    )
    parser.add_argument("--at-least", type=float, default=90, metavar="PERCENT", help="fail below this (90)")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="add what became of each mutant there, a line of JSON each"
    )
    parser.add_argument("--recheck", type=Path, metavar="FILE", help="judge only those that survived in such a file")
    wanted = parser.parse_args(arguments)
    modules = {path.stem for path in (ROOT / MUTATED).glob("*.py")}
    for name in wanted.only or ():
        if name not in modules:
            parser.error(f"kcoord/core has no module {name}")
    return wanted


def omission(file: str) -> MayOmit:
    """Whether leaving a keyword argument of a class of that module out would make a difference."""
    module = importlib.import_module(module_name(file))

    def may_omit(name: str, keyword: str, value: str) -> bool | None:
        """None where the argument has to be given; False where it gives what is the default anyway."""
        default = inspect.signature(getattr(module, name)).parameters[keyword].default
        if default is inspect.Parameter.empty:
            return None
        first, _, rest = value.partition(".")
        given = vars(module).get(first)
        return bool((getattr(given, rest, None) if rest else given) != default)

    return may_omit


def table(verdicts: Sequence[Verdict], *, by_suite: bool) -> str:
    """The score of each module and of all; with the suites, how many each of them catches alone."""
    suites = list(TESTS) if by_suite else []
    rows = [["module", "mutants", "caught", "survived", "caught %", *(f"by {suite}" for suite in suites)]]
    files = dict.fromkeys(verdict.mutant.file for verdict in verdicts)
    for title, some in [*((Path(file).stem, [file]) for file in files), ("all", list(files))]:
        ours = [verdict for verdict in verdicts if verdict.mutant.file in some]
        caught = sum(not verdict.survived for verdict in ours)
        alone = [str(sum(bool(verdict.caught.get(suite)) for verdict in ours)) for suite in suites]
        rows.append([title, str(len(ours)), str(caught), str(len(ours) - caught), f"{percent(ours):.1f}", *alone])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    if not by_suite:
        first = Counter(suite_of(test) if "::" in test else test for each in verdicts for test in each.caught.values())
        lines.append("caught first by: " + ", ".join(f"{name} {count}" for name, count in first.items() if name))
    return "\n".join(lines)


def percent(verdicts: Sequence[Verdict]) -> float:
    return 100 * sum(not verdict.survived for verdict in verdicts) / len(verdicts)


def judged(verdicts: Sequence[Verdict], every: Iterable[Mutant], reasons: dict[listed.Key, str], least: float) -> int:
    """Compare with the list, and say whether all is well (0) or not (1)."""
    existing = {mutant.key for mutant in every}
    caught = {verdict.mutant.key for verdict in verdicts if not verdict.survived}
    gone = [key for key in reasons if key not in existing]
    untrue = [key for key in reasons if key in caught]
    unlisted = [verdict for verdict in verdicts if verdict.survived and verdict.mutant.key not in reasons]
    for sentence, keys in (("There is no such line any more:", gone), ("This is caught by now:", untrue)):
        for key in keys:
            print(f"{sentence} {listed.shown(key)}")
    if unlisted:
        print("\nThese survived and are not listed; a test is missing, or an entry with the reason:\n")
        print("\n".join(listed.entry(verdict.mutant) for verdict in unlisted))
    score = percent(verdicts)
    if score < least:
        print(f"{score:.1f} % are caught, which is less than {least:g} %.")
    return int(bool(gone or untrue or unlisted or score < least))


if __name__ == "__main__":
    with in_order():
        sys.exit(main())
