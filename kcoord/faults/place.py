"""How an error gets into an answer, whatever the API."""

from collections.abc import Callable
from typing import Any, Protocol

from kcoord.faults.entries import Entry
from wire.errors import ErrorCode

Name = Callable[[Any], str | None]
"""Tells the name of a topic that a request names by its id; None if nobody knows it."""


class Place(Protocol):
    """The place that one API has for errors."""

    def entries(self, request: Any, name: Name) -> list[Entry]:
        """Return the pieces of a request that have an answer of their own, in a fixed order; [] if it has but one."""
        ...

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return an answer that gives this error to the chosen pieces and has no others; None are all."""
        ...

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen pieces."""
        ...

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return one answer out of two."""
        ...


class Whole:
    """An API that has one error for a whole request."""

    def __init__(self, answer: Callable[[Any, int, ErrorCode], Any]) -> None:
        self._answer = answer

    def entries(self, _request: Any, _name: Name) -> list[Entry]:
        """Return nothing: there are no pieces."""
        return []

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the answer that is the error."""
        assert chosen is None
        return self._answer(request, version, code)

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request as it is."""
        assert not chosen
        return request

    def joined(self, refused: Any, rest: Any) -> Any:
        """There is never a rest."""
        raise AssertionError(f"{refused} and {rest} answer one request")
