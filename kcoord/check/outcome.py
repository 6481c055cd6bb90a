"""How a script ends before its end: the rule is broken, or it has nothing to say about this broker."""

from typing import NoReturn


class Broken(AssertionError):
    """The broker does not keep the rule; the text is one sentence."""


class NotApplicable(Exception):
    """The rule says nothing about this broker; the text is the reason."""


class CannotRun(Exception):
    """No rule can be run: the broker cannot be reached, or not be used; the text is one sentence."""


def fail(sentence: str) -> NoReturn:
    """Say that the rule is broken, and how. Raises Broken."""
    raise Broken(sentence)
