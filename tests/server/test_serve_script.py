"""scripts/serve: one environment is made, however often and from wherever it is called.

Python stands in for itself here: what is installed is written down, not fetched.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.client import GIVE_UP

ROOT = Path(__file__).parent.parent.parent

PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    echo made >>"$LOG"
    mkdir -p "$3/bin"
    cp "$INSTALLED" "$3/bin/python"
    if [ -n "$GATE" ]; then echo >"$GATE"; read -r _ <"$GATE"; fi
    exit 0
fi
exec "$REAL" "$@"
"""

INSTALLED = """#!/bin/sh
if [ "$1 $2" = "-m pip" ]; then
    [ -z "$OFFLINE" ] || exit 1
    for last; do :; done
    if [ "${last%%[[]*}" = . ]; then
        printf '#!/bin/sh\\necho "$0" "$@"\\n' >.venv/bin/kcoord
        chmod +x .venv/bin/kcoord
    fi
    exit 0
fi
[ -z "$BROKEN" ] || exit 1
exec "$REAL" "$@"
"""


class Checkout:
    def __init__(self, directory):
        self.root = directory / "a checkout"
        self.log = directory / "log"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("scripts/serve", "scripts/env.sh", "pyproject.toml"):
            shutil.copy(ROOT / name, self.root / name)
        for name, text in (("python", PYTHON), ("installed", INSTALLED)):
            (directory / name).write_text(text)
            (directory / name).chmod(0o755)
        self.environment = os.environ | {
            "PYTHON": str(directory / "python"), "INSTALLED": str(directory / "installed"), "LOG": str(self.log),
            "REAL": sys.executable, "GATE": "", "BROKEN": "", "OFFLINE": "", "CDPATH": str(directory),
        }  # fmt: skip

    def start(self, script=None, **environment):
        return subprocess.Popen(
            [script or self.root / "scripts/serve", "--topic", "t:1"],
            cwd="/", env=self.environment | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def serves(self, *started, **environment):
        for process in started or [self.start(**environment)]:
            output, errors = process.communicate(timeout=GIVE_UP)
            assert output == f"{self.root}/.venv/bin/kcoord serve --topic t:1\n", errors

    @property
    def made(self):
        return self.log.read_text().count("made\n")


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_the_environment_is_made_once(checkout):
    checkout.serves()
    checkout.serves()
    assert checkout.made == 1


def test_two_runs_at_once_make_it_once(checkout, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    first = checkout.start(GATE=str(gate))
    gate.read_text()  # Until it is in the middle of it.
    second = checkout.start()
    assert second.stderr.readline() == "waiting for another run that makes .venv\n"
    gate.write_text("\n")
    checkout.serves(first, second)
    assert checkout.made == 1


def test_a_run_that_was_killed_is_made_good_by_the_next(checkout, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    first = checkout.start(GATE=str(gate))
    gate.read_text()
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    checkout.serves()
    assert checkout.made == 2


def test_what_it_was_made_from_has_changed(checkout):
    checkout.serves()
    with (checkout.root / "pyproject.toml").open("a") as file:
        file.write("\n")
    checkout.serves()
    assert checkout.made == 2


def test_its_python_runs_no_more(checkout):
    checkout.serves()
    checkout.serves(BROKEN="yes")
    assert checkout.made == 2


def test_without_a_network_it_says_that_it_needs_one_and_the_next_run_makes_it_good(checkout):
    offline = checkout.start(OFFLINE="yes")
    output, errors = offline.communicate(timeout=GIVE_UP)
    assert (offline.returncode, output) == (1, "")
    assert errors.splitlines()[-1] == (
        "pip could not bring what belongs in .venv, for which it needs a network once; run this again then"
    )
    checkout.serves()
    assert checkout.made == 2


def test_through_links(checkout, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/relative").symlink_to("../a checkout/scripts/serve")
    (tmp_path / "absolute").symlink_to(tmp_path / "bin/relative")
    checkout.serves(checkout.start(tmp_path / "absolute"))
    (tmp_path / "moved").symlink_to(checkout.root)
    checkout.serves(checkout.start(tmp_path / "moved/scripts/serve"))
    assert checkout.made == 1
