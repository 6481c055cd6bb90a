"""APIs whose requests are topics of partitions, with an answer for each partition."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kcoord.faults.entries import Entry
from kcoord.faults.place import Name
from wire.errors import ErrorCode


class Nested:
    """Such an API.

    Args:
        request: The fields of the request: topics, the partitions of a topic, the number of a partition.
        response: The fields of the answer: topics, the partitions of a topic.
        topic: Makes the answer's topic, without partitions, of the request's.
        partition: Makes the answer's partition, which is an error, of the number.
        make: Makes the answer, without topics.
        whole: Makes the answer to a request that is refused as a whole, if that is another one.

    """

    def __init__(
        self,
        *,
        request: tuple[str, str, str],
        response: tuple[str, str],
        topic: Callable[[Any], Any],
        partition: Callable[[int, ErrorCode], Any],
        make: Callable[[], Any],
        whole: Callable[[int, ErrorCode], Any] | None = None,
    ) -> None:
        self._topics, self._partitions, self._index = request
        self._answered_topics, self._answered_partitions = response
        self._topic = topic
        self._partition = partition
        self._make = make
        self._whole = whole

    def entries(self, request: Any, name: Name) -> list[Entry]:
        """Return one entry for each partition."""
        return [
            Entry(topic=topic_name(topic, name), partition=getattr(each, self._index))
            for topic in getattr(request, self._topics)
            for each in getattr(topic, self._partitions)
        ]

    def refused(self, request: Any, version: int, code: ErrorCode, chosen: frozenset[int] | None) -> Any:
        """Return the answer in which each chosen partition has the error."""
        if chosen is None and self._whole is not None:
            return self._whole(version, code)
        response = self._make()
        topics = getattr(response, self._answered_topics)
        at = 0
        for topic in getattr(request, self._topics):
            answers = []
            for each in getattr(topic, self._partitions):
                if chosen is None or at in chosen:
                    answers.append(self._partition(getattr(each, self._index), code))
                at += 1
            if answers or chosen is None:
                answered = self._topic(topic)
                setattr(answered, self._answered_partitions, answers)
                topics.append(answered)
        return response

    def without(self, request: Any, chosen: frozenset[int]) -> Any:
        """Return the request without the chosen partitions, and without topics of which none is left."""
        left = []
        at = 0
        for topic in getattr(request, self._topics):
            kept = []
            for each in getattr(topic, self._partitions):
                if at not in chosen:
                    kept.append(each)
                at += 1
            if kept:
                left.append(replace(topic, **{self._partitions: kept}))
        return replace(request, **{self._topics: left})

    def joined(self, refused: Any, rest: Any) -> Any:
        """Return each topic once, those with errors first."""
        topics = list(getattr(refused, self._answered_topics))
        known = {self._key(topic): topic for topic in topics}
        for topic in getattr(rest, self._answered_topics):
            same = known.get(self._key(topic))
            if same is None:
                topics.append(topic)
            else:
                getattr(same, self._answered_partitions).extend(getattr(topic, self._answered_partitions))
        setattr(rest, self._answered_topics, topics)
        return rest

    def _key(self, topic: Any) -> tuple[Any, Any]:
        """Return what tells a topic from another: its id where it has one that is told, else its name."""
        identity = getattr(topic, "topic_id", None)
        return (identity, None) if identity is not None and identity.int else (None, spelled(topic))


def spelled(topic: Any) -> str | None:
    """Return the name that a topic of a message has, whatever the field is called."""
    name: str | None = topic.name if hasattr(topic, "name") else topic.topic
    return name


def topic_name(topic: Any, name: Name) -> str | None:
    """Return the name of a topic of a request; of one that is named by its id, what `name` tells."""
    identity = getattr(topic, "topic_id", None)
    return spelled(topic) or (None if identity is None else name(identity))
