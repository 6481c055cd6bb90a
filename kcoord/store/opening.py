"""Which URL opens which store."""

from urllib.parse import urlsplit

from kcoord.store.base import Store
from kcoord.store.memory import MemoryStore


class UnknownStore(ValueError):
    """A URL whose scheme is that of no store. The text is one sentence."""


def open_store(url: str) -> Store:
    """Open the store that `url` names: its scheme says which kind it is.

    `memory:` keeps everything until the process ends. Raises UnknownStore.
    """
    kinds = {"memory": MemoryStore}
    scheme = urlsplit(url).scheme
    if scheme not in kinds:
        known = ", ".join(f"{name}:" for name in sorted(kinds))
        raise UnknownStore(f"no store is called {url!r}; known are {known}")
    return kinds[scheme]()
