"""What the parts of the fixture need of it: to have something done in the server's loop."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from kcoord.control import Control

T = TypeVar("T")


class Runs(Protocol):
    """What has something done in the server's loop (`kcoord.testing.Kcoord`)."""

    def run(self, work: Callable[[Control], T]) -> T:
        """Do it, and wait for it."""
        ...

    def run_async(self, work: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        """Do it, where it may wait, and wait for it."""
        ...


class AwaitsRun(Protocol):
    """The same, to be awaited (`kcoord.testing.AsyncKcoord`)."""

    def run(self, work: Callable[[Control], T]) -> Coroutine[Any, Any, T]:
        """Do it, and wait for it."""
        ...

    def run_async(self, work: Callable[[Control], Coroutine[Any, Any, T]]) -> Coroutine[Any, Any, T]:
        """Do it, where it may wait, and wait for it."""
        ...
