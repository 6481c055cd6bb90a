"""One broker asked in the names of the shared topics, and its answers without what no two brokers share.

For rules about answers as a whole: they are the same, field by field, whatever the broker's topics and ids are.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import trio

from kcoord.check.probe import Client
from kcoord.check.world import World
from wire.messages import ListOffsetsResponse, MetadataResponse

OFFSETS: Final = "__consumer_offsets"
IDS: Final = {name: UUID(int=number) for number, name in enumerate(("t", "u", "wide", OFFSETS), 1)}
"""The ids by which rules know the topics, whatever they really are."""

NODE: Final = 1
"""The id by which rules know the broker, whatever it really is."""


class Masked:
    """A connection on which topics are called t, u, wide and __consumer_offsets, and have the ids of `IDS`."""

    def __init__(self, client: Client, real: dict[Any, Any]) -> None:
        self.client = client
        self.elapsed = 0.0
        """How long (s) the last answer took."""
        self._real = real
        self._known = {theirs: ours for ours, theirs in real.items()}

    async def ask(
        self,
        request: Any,
        version: int,
        *,
        but: Callable[[Any], None] | None = None,
        before: Callable[[Any], None] | None = None,
    ) -> Any:
        """Return the answer, evened out; `but` evens out more.

        `before` is given the answer with the real names: who asks for all topics has to take out those of others, one
        of which may be called t.
        """
        start = trio.current_time()
        answer = await self.client.call(replaced(request, self._real), version)
        self.elapsed = trio.current_time() - start
        if before is not None:
            before(answer)
        answer = replaced(answer, self._known)
        even_out(answer)
        if but is not None:
            but(answer)
        return answer


async def masked(world: World, *names: str) -> Masked:
    """Connect, and learn the ids of these topics: of t, u, wide, __consumer_offsets; by default of t and u.

    The rule has to ask for those that are shared, and applies only where there are ids.
    """
    client = await world.client()
    real = {name: name if name == OFFSETS else getattr(world, name) for name in names or ("t", "u")}
    ids = await client.topic_ids(*real.values())
    return Masked(client, {**real, **dict(zip((IDS[name] for name in real), ids, strict=True))})


def replaced(value: Any, others: dict[Any, Any]) -> Any:
    """Return a copy of a message with other names and ids."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{each.name: replaced(getattr(value, each.name), others) for each in dataclasses.fields(value)}
        )
    if isinstance(value, list):
        return [replaced(each, others) for each in value]
    return others.get(value, value) if isinstance(value, (str, UUID)) else value


def even_out(answer: Any) -> None:
    """Take out what no two brokers share, and order in which Kafka's hash tables happen to be."""
    if isinstance(answer, MetadataResponse):
        for broker in answer.brokers:
            assert broker.host
            assert broker.port > 0
            _name_node(answer, broker.node_id)
            broker.host, broker.port = "host", 1
        if answer.cluster_id is not None:
            assert answer.cluster_id
            answer.cluster_id = "cluster"
        answer.topics.sort(key=lambda topic: (topic.error_code, topic.name or "", topic.topic_id))
        for topic in answer.topics:
            topic.partitions.sort(key=lambda partition: partition.partition_index)
    elif isinstance(answer, ListOffsetsResponse):
        answer.topics.sort(key=lambda topic: topic.name)
        for found in answer.topics:
            found.partitions.sort(key=lambda one: one.partition_index)


def _name_node(answer: MetadataResponse, real: int) -> None:
    """Call the broker `NODE`, whatever its id."""
    (broker,) = answer.brokers
    known = {real: NODE}
    broker.node_id = NODE
    answer.controller_id = known.get(answer.controller_id, answer.controller_id)
    for topic in answer.topics:
        for partition in topic.partitions:
            partition.leader_id = known.get(partition.leader_id, partition.leader_id)
            partition.replica_nodes = [known.get(each, each) for each in partition.replica_nodes]
            partition.isr_nodes = [known.get(each, each) for each in partition.isr_nodes]
