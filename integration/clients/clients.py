"""The clients, as each folder's client.toml tells them."""

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BUILT = ROOT / ".clients"
"""What is built goes there, and the report of the last run."""
CODECS = ("gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class Client:
    """A client library and its driver. `can` are the roles and the operator's commands that it really has,
    "static" members, subscription by "pattern", and an "idempotent" producer.

    `commits` is "reported" unless the client commits by itself, so that the driver cannot say when. `codecs` are the
    compressions that it produces and reads.
    """

    name: str
    language: str
    needs: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]
    version: str
    assignors: tuple[str, ...]
    can: frozenset[str]
    commits: str = "reported"
    codecs: tuple[str, ...] = CODECS

    @cached_property
    def here(self) -> Path:
        """Its folder."""
        return HERE / self.name

    @cached_property
    def out(self) -> Path:
        """Where what is built of it lies."""
        return BUILT / self.name

    def command(self, words: tuple[str, ...]) -> list[str]:
        """A command of its `build` or `run` with the places filled in."""
        places = {"{out}": str(self.out), "{here}": str(self.here), "{python}": sys.executable}
        filled = []
        for word in words:
            for mark, place in places.items():
                word = word.replace(mark, place)
            filled.append(word)
        return filled

    def __str__(self) -> str:
        return self.name


def read(path: Path) -> Client:
    """The client that a client.toml describes; TypeError for a key that there is not."""
    told = tomllib.loads(path.read_text())
    for key in ("needs", "run", "assignors", "codecs"):
        if key in told:
            told[key] = tuple(told[key])
    told["build"] = tuple(tuple(command) for command in told["build"])
    told["can"] = frozenset(told["can"])
    client = Client(**told)
    assert client.here == path.parent, f"{path} is of a client named {client.name}"
    return client


CLIENTS: Mapping[str, Client] = {client.name: client for client in map(read, sorted(HERE.glob("*/client.toml")))}
"""All of them by name."""


def having(*abilities: str) -> list[Client]:
    """The clients that can do all of these; an ability is a word of `can` or an assignor."""
    return [client for client in CLIENTS.values() if {*abilities} <= client.can | {*client.assignors}]
