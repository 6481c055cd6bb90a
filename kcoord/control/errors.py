"""What can go wrong with a wish: each error is one sentence, and has the HTTP status that says the same."""

from collections.abc import Mapping
from typing import Any, ClassVar

from kcoord.config import printable
from kcoord.core.operators import Answer, Problem


class ControlError(Exception):
    """A wish was not carried out. The text is a sentence, on one line whatever names are in it.

    `TimedOut` has more lines behind it.
    """

    status: ClassVar[int] = 500

    def __init__(self, text: str) -> None:
        super().__init__(text if isinstance(self, TimedOut) else printable(text))


class Impossible(ControlError):
    """What is asked for cannot be: an argument is wrong, or the state of things does not allow it."""

    status = 400


class NotFound(ControlError):
    """There is no such group, member, topic, broker, or whatever else was named."""

    status = 404


class TimedOut(ControlError):
    """What was waited for did not come. Behind the sentence is how things stand, and what happened last.

    `timeline` is what happened as plain data (`kcoord.timeline.Timeline.plain`), None if nothing did.
    """

    status = 408

    def __init__(self, text: str, timeline: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.timeline = timeline


class Unavailable(ControlError):
    """The group's coordinator does not serve: it loads, or has failed."""

    status = 503


_ERRORS = {Problem.UNKNOWN: NotFound, Problem.IMPOSSIBLE: Impossible, Problem.UNAVAILABLE: Unavailable}


def raise_for(answer: Answer) -> None:
    """Raise the error that an operation was answered with, if it was one."""
    if answer.problem is not None:
        raise _ERRORS[answer.problem](answer.sentence)
