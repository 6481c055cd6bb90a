"""What one API is: a request class, the versions served, and who answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from kcoord.broker import Broker, Endpoint
from kcoord.core.outcome import Context
from wire.schema import Message, Versions


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler may know beside its request. `endpoint` is this broker as the caller's listener shows it."""

    broker: Broker
    context: Context
    endpoint: Endpoint


Handler = Callable[[Call, Any], Awaitable[Any]]
"""Answers a request with a response message of the same API. Waits as long as the answer takes."""


class Api:
    """One API key as it is served."""

    __slots__ = ("handle", "key", "name", "request", "versions", "weight")

    def __init__(
        self,
        *,
        request: type[Message],
        versions: str,
        handle: Handler,
        weight: Callable[[Any], int] | None = None,
    ) -> None:
        """`versions` is in Kafka's notation, "0-9"; each of them must be one that the message class can read.

        `weight` counts the entries of a response, for an API of which a small request may have a large answer.
        """
        self.request = request
        self.key = request.API_KEY
        self.name = request.__name__.removesuffix("Request")
        self.versions = Versions.parse(versions)
        self.handle = handle
        self.weight = weight
        assert self.versions.lowest in request.VERSIONS
        assert self.versions.highest in request.VERSIONS
