"""What a test is told in a sentence, and how little of kcoord it is shown with it.

A test that waits in vain, or asks for what cannot be, fails with a text that says why. Where in kcoord that text was
written says nothing more, and would stand between the test's own line and the text.
"""

from concurrent.futures import Future
from typing import Protocol, TypeVar

from kcoord.config import ConfigError
from kcoord.control import ControlError

T = TypeVar("T")


class _Raised(Protocol):
    """As much of pytest's `ExceptionInfo` as is looked at."""

    @property
    def value(self) -> BaseException: ...


def is_refusal(raised: _Raised) -> bool:
    """Whether what was raised is meant for who wrote the test: a module's `__tracebackhide__`, which pytest asks."""
    return isinstance(raised.value, ControlError | ConfigError)


def outcome(future: Future[T]) -> T:
    """Return or raise what came of a call; a refusal without the way that it took through the server's thread."""
    try:
        return future.result()
    except (ControlError, ConfigError) as refusal:
        raise refusal.with_traceback(None) from refusal.__cause__


__tracebackhide__ = is_refusal
"""Under this name pytest finds it in each module through which tests call, and leaves that module's lines out."""
