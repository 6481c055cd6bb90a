"""Builds what a reference needs, once for each state of its source."""

import fcntl
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from .overseer import Failed, Overseer, Unusable

BUILT = Path(__file__).parent.parent.parent / ".clients"


def built(
    name: str, source: Path, make: Callable[[Overseer, Path], None], overseer: Overseer, release: str = ""
) -> Path:
    """The folder with what `make` made there of the files in `source`; each release has one of its own.

    A stamp, written last, keeps what it was made of, so an interrupted run is made good by the next; two runs at once
    make it once. Raises what `make` raises; of what could not be made, no folder is left.
    """
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    state = digest.hexdigest()
    folder = BUILT / (f"reference-{name}-{release}" if release else f"reference-{name}")
    stamp = folder / ".stamp"
    if is_made(stamp, state):
        return folder
    BUILT.mkdir(exist_ok=True)
    with (BUILT / f"reference-{name}.lock").open("w") as lock:
        while not is_locked(lock.fileno()):
            overseer.wait(0.2)
        if not is_made(stamp, state):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                make(overseer, folder)
            except (Failed, Unusable):
                shutil.rmtree(folder)
                raise
            stamp.write_text(state)
    return folder


def is_made(stamp: Path, state: str) -> bool:
    return stamp.is_file() and stamp.read_text() == state


def is_locked(descriptor: int) -> bool:
    """Take the lock, or say that another has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
