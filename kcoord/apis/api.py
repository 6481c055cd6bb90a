"""What one API is: a request class, the versions served, and who answers."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kcoord.broker import Broker
from kcoord.core.outcome import Context
from kcoord.log.catalog import Topic
from kcoord.nodes import Endpoint, Node
from kcoord.shard import Elsewhere, Shard
from wire.schema import Message, Versions


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler may know beside its request.

    `endpoint` is the broker that is asked, as the caller's listener shows it; `listener` is that listener's name, and
    `asked` the broker, if it is not the only one.
    """

    broker: Broker
    context: Context
    endpoint: Endpoint
    listener: str = ""
    asked: Node | None = None

    @property
    def node(self) -> Node:
        """The broker that is asked."""
        return self.broker.nodes.first if self.asked is None else self.asked

    def endpoint_of(self, node: Node) -> Endpoint:
        """Return where the caller can reach a broker."""
        if node is self.node:
            return self.endpoint
        known = node.endpoints.get(self.listener, self.endpoint)
        return known if known.host else Endpoint(self.endpoint.host, known.port)

    def leads(self, topic: Topic, index: int) -> bool:
        """Whether the broker that is asked leads a partition."""
        return self.broker.nodes.leader(topic, index) == self.node.id

    def shard_for(self, group_id: str) -> Shard | Elsewhere:
        """Return what answers for a group: its shard, if the broker that is asked leads that, or who refuses."""
        broker = self.broker
        shard = broker.shard_for(group_id)
        if broker.nodes.leader(broker.offsets_topic, shard.partition) == self.node.id:
            return shard
        return broker.elsewhere


Handler = Callable[[Call, Any], Awaitable[Any]]
"""Answers a request with a response message of the same API. Waits as long as the answer takes.

None instead of a message sends nothing: the client said that it waits for no answer (Produce with acks 0). What goes
wrong with such a request is to be told by `CloseConnection`.
"""


HEAVIEST = 10_000
"""No answer is heavier."""


def weighed(parts: Iterable[int]) -> int:
    """Return the sum, or something that is no less than `HEAVIEST`: how much more it is, nobody needs to know."""
    total = 0
    for part in parts:
        total += part
        if total >= HEAVIEST:
            break
    return total


class CloseConnection(Exception):
    """The client is to learn that something went wrong by the end of its connection, as no answer can tell it.

    `why` is for the log. A handler raises it itself, not out of a nursery, which would wrap it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Api:
    """One API key as it is served."""

    __slots__ = ("handle", "key", "name", "offered", "request", "versions", "weight")

    def __init__(
        self,
        *,
        request: type[Message],
        versions: str,
        handle: Handler,
        weight: Callable[[Any], int] | None = None,
        offered: str | None = None,
    ) -> None:
        """`versions` is in Kafka's notation, "0-9"; each of them must be one that the message class can read.

        `weight` counts the entries of a response, for an API of which a small request may have a large answer, or a
        large request a small one. `weighed` does it in little time.

        `offered` is the range that ApiVersions tells, for an API that is offered in versions that are not served:
        librdkafka wants to see such ones (KAFKA-18659).
        """
        self.request = request
        self.key = request.API_KEY
        self.name = request.__name__.removesuffix("Request")
        self.versions = Versions.parse(versions)
        self.offered = Versions.parse(versions if offered is None else offered)
        self.handle = handle
        self.weight = weight
        assert self.versions.lowest in request.VERSIONS
        assert self.versions.highest in request.VERSIONS
