"""Puts kcat where its driver looks for it: the one on the PATH or, without being root, Debian's packages unpacked.

python fetch.py DIRECTORY
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RELATIONS = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"]


def main() -> None:
    out = Path(sys.argv[1])
    if (found := shutil.which("kcat")) is not None:
        program = out / "usr" / "bin" / "kcat"
        program.parent.mkdir(parents=True)
        program.symlink_to(found)
        return
    with tempfile.TemporaryDirectory() as place:
        options: list[str] = []
        if not knows_kcat(options):
            options = private_lists(Path(place))
            run("apt-get", *options, "-qq", "update")
        run("apt-get", *options, "-qq", "download", *missing(options), cwd=place)
        for package in Path(place).glob("*.deb"):
            run("dpkg-deb", "-x", str(package), str(out))


def knows_kcat(options: list[str]) -> bool:
    """Whether the machine's lists of packages have it; a new machine has none."""
    return "Version:" in run("apt-cache", *options, "show", "kcat", check=False)


def private_lists(place: Path) -> list[str]:
    """Options with which apt keeps its lists there."""
    for name in ("lists/partial", "cache/archives/partial"):
        (place / name).mkdir(parents=True)
    return ["-o", f"Dir::State::lists={place}/lists", "-o", f"Dir::Cache={place}/cache", "-o", "Debug::NoLocking=1"]


def missing(options: list[str]) -> list[str]:
    """kcat and the packages it needs that are not installed."""
    depends = run("apt-cache", *options, "depends", "--recurse", *(f"--no-{each}" for each in RELATIONS), "kcat")
    wanted = {line for line in depends.splitlines() if line and not line.startswith((" ", "<"))}
    status = run("dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n")
    installed = {line.split()[0] for line in status.splitlines() if line.endswith(" installed")}
    return sorted(wanted - installed)


def run(*command: str, cwd: str | None = None, check: bool = True) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=cwd, check=check)
    return done.stdout


if __name__ == "__main__":
    main()
