"""APIs whose requests are lists, with an answer for each element."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kcoord.faults.entries import Entry
from kcoord.faults.place import Name
from wire.errors import ErrorCode


class Listed:
    """Such an API.

    Args:
        request: The fields of the request that are lists; one of them is in use in each version.
        response: The field of the answer.
        answer: Makes the answer to an element that is an error.
        make: Makes the answer, of nothing.
        group: The field of an element that names a group; "" if the element does.
        topic: The field of an element that names a topic; elements that are texts do themselves.

    """

    def __init__(
        self,
        *,
        request: tuple[str, ...],
        response: str,
        answer: Callable[[Any, ErrorCode], Any],
        make: Callable[[], Any],
        group: str | None = None,
        topic: str | None = None,
    ) -> None:
        self._request = request
        self._response = response
        self._answer = answer
        self._make = make
        self._group = group
        self._topic = topic

    def _elements(self, request: Any) -> list[Any]:
        return [each for name in self._request for each in getattr(request, name)]

    def entries(self, request: Any, name: Name) -> list[Entry]:
        """Return one entry for each element."""
        return [
            Entry(group=_named(each, self._group), topic=_named(each, self._topic) or self._by_id(each, name))
            for each in self._elements(request)
        ]

    def _by_id(self, element: Any, name: Name) -> str | None:
        return name(element.topic_id) if self._topic is not None and hasattr(element, "topic_id") else None

    def refused(self, request: Any, _version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the answer in which each chosen element has the error."""
        response = self._make()
        answers = [
            self._answer(each, code)
            for at, each in enumerate(self._elements(request))
            if chosen is None or at in chosen
        ]
        setattr(response, self._response, answers)
        return response

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen elements."""
        start = 0
        changes: dict[str, Any] = {}
        for name in self._request:
            elements = getattr(request, name)
            changes[name] = [each for at, each in enumerate(elements, start) if at not in chosen]
            start += len(elements)
        return replace(request, **changes)

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return the errors, and then the rest."""
        setattr(rest, self._response, [*getattr(refused, self._response), *getattr(rest, self._response)])
        return rest


def _named(element: Any, field: str | None) -> str | None:
    if field is None:
        return None
    if isinstance(element, str):
        return element
    value: str | None = getattr(element, field)
    return value
