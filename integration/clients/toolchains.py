"""Builds what the clients need built, and says which of them this machine can run.

python -m integration.clients.toolchains

With CI=true in the environment a missing toolchain is a failure, without it that client is left out, by name. A build
that fails though its toolchain is there is a failure always.
"""

import concurrent.futures
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from integration.clients.clients import BUILT, CLIENTS, Client

AT_ONCE = 2
STAMP = ".stamp"
IGNORED = {"__pycache__", "node_modules", "target", "build"}


def missing(client: Client) -> list[str]:
    """The programs it needs that are not on the PATH; `a|b` stands for one of them."""
    return [each for each in client.needs if not any(map(shutil.which, each.split("|")))]


def left_out() -> dict[str, str]:
    """Why, by name, of the clients that cannot run here."""
    return {
        name: f"needs {', '.join(lacking).replace('|', ' or ')}"
        for name, client in CLIENTS.items()
        if (lacking := missing(client))
    }


def state(client: Client) -> str:
    """A hash over its folder's files."""
    digest = hashlib.sha256()
    for path in sorted(files(client.here)):
        digest.update(f"{path.relative_to(client.here)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and path.name not in IGNORED:
            yield from files(path)
        elif path.is_file():
            yield path


def is_built(client: Client) -> bool:
    stamp = client.out / STAMP
    return not client.build or (stamp.is_file() and stamp.read_text() == state(client))


def build(client: Client) -> str | None:
    """Build it unless that was done; return what went wrong, or None. Two runs at once build it once."""
    if is_built(client):
        return None
    BUILT.mkdir(exist_ok=True)
    with (BUILT / f"{client.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_built(client):
            return None
        print(f"building {client.name}", flush=True)
        shutil.rmtree(client.out, ignore_errors=True)
        client.out.mkdir()
        for command in client.build:
            done = subprocess.run(
                client.command(command),
                cwd=client.here,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.returncode != 0:
                return f"{client.name} does not build: {' '.join(command)} ended with {done.returncode}\n{done.stdout}"
        (client.out / STAMP).write_text(state(client))
    return None


def main() -> int:
    lacking = left_out()
    demanded = os.environ.get("CI") == "true"
    for name, why in lacking.items():
        print(f"{'MISSING' if demanded else 'left out'}: {name} {why}", flush=True)
    here = [client for name, client in CLIENTS.items() if name not in lacking]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        failures = [text for text in pool.map(build, here) if text is not None]
    for text in failures:
        print(text, file=sys.stderr)
    if not failures:
        print(f"clients: {', '.join(client.name for client in here)}", flush=True)
    return int(bool(failures or (demanded and lacking)))


if __name__ == "__main__":
    sys.exit(main())
