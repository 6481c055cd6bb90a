"""One request to two brokers: the server in this process and, with `--bootstrap`, the one there.

Both must say the same, field by field and byte by byte, but for their ids and addresses. A module of such tests
takes the fixture as its own: `both = both_worlds.both`.
"""

import dataclasses
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import pytest
import trio

from tests.scenarios.conftest import external_address
from tests.scenarios.harness import Client, open_world
from wire.errors import ErrorCode
from wire.header import read_response
from wire.messages import ListOffsetsResponse, MetadataResponse

TOPICS = {"t": 3, "u": 3, "wide": 1000, "__consumer_offsets": 50}
"""Every topic of the server in this process, and its partitions. The other broker may have more."""
IDS = {name: UUID(int=number) for number, name in enumerate(TOPICS, 1)}
"""The ids by which these tests know the topics, whatever they really are."""
ZERO = UUID(int=0)
NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID


class Both:
    """The server in this process and, if there is one, the broker to compare it with."""

    def __init__(self, clients: list[Client], ids: list[dict[UUID, UUID]]) -> None:
        self._clients = clients
        self._ids = ids
        self.elapsed: list[float] = []
        """How long (s) each took for the last answer."""
        self.in_virtual_time = len(clients) == 1
        """Then nothing but waiting takes any time."""

    async def ask(self, request: Any, version: int, *, but: Callable[[Any], None] | None = None) -> Any:
        """Return the answer, which must be the same from both, under the ids in `IDS`.

        `but` evens out what may differ beside that.
        """
        answers = []
        sizes = []
        self.elapsed = []
        for client, ids in zip(self._clients, self._ids, strict=True):
            really = replaced(request, {known: real for real, known in ids.items()})
            start = trio.current_time()
            await client.send(really, version)
            frame = await client.read_frame()
            self.elapsed.append(trio.current_time() - start)
            call = client.waiting.pop(0)
            _, response = read_response(frame, type(request).RESPONSE, version)
            sizes.append(len(frame) - address_bytes(response))
            answer = replaced(response, ids)
            even_out(answer)
            if but is not None:
                but(answer)
            answers.append(answer)
            assert call.version == version
        first, *others = answers
        for other in others:
            assert other == first
        if but is None:
            # Tags, and anything else that reading skips, would show in the size.
            assert len(set(sizes)) == 1, sizes
        return first

    async def close_it(self, payload: bytes) -> bool:
        """Send a payload; return whether the connection is closed for it."""
        for client in self._clients:
            await client.send_frame(payload)
            if not await client.is_closed():
                return False
        return True


def replaced(value: Any, ids: dict[UUID, UUID]) -> Any:
    """A copy of a message with other topic ids."""
    if dataclasses.is_dataclass(value):
        names = [each.name for each in dataclasses.fields(value)]
        return type(value)(**{name: replaced(getattr(value, name), ids) for name in names})
    if isinstance(value, list):
        return [replaced(each, ids) for each in value]
    return ids.get(value, value) if isinstance(value, UUID) else value


def address_bytes(response: Any) -> int:
    """How many bytes tell where the broker is."""
    if not isinstance(response, MetadataResponse):
        return 0
    return sum(len(broker.host) for broker in response.brokers) + len(response.cluster_id or "")


def even_out(answer: Any) -> None:
    """Take out what no two brokers share, and order in which Kafka's hash tables happen to be."""
    if isinstance(answer, MetadataResponse):
        for broker in answer.brokers:
            assert broker.host
            assert broker.port > 0
            broker.host, broker.port = "host", 1
        if answer.cluster_id is not None:
            assert answer.cluster_id
            answer.cluster_id = "cluster"
        answer.topics.sort(key=lambda topic: (topic.error_code, topic.name or "", topic.topic_id))
        for topic in answer.topics:
            topic.partitions.sort(key=lambda partition: partition.partition_index)
    elif isinstance(answer, ListOffsetsResponse):
        answer.topics.sort(key=lambda topic: topic.name)
        for topic in answer.topics:
            topic.partitions.sort(key=lambda one: one.partition_index)


@pytest.fixture
async def both(request: pytest.FixtureRequest):
    """See `Both`."""
    external = external_address(request.config)
    async with AsyncExitStack() as stack:
        clients, ids = [], []
        for where in (None, external) if external else (None,):
            world = await stack.enter_async_context(open_world(where))
            client = await world.client()
            real = await client.topic_ids(*TOPICS)
            clients.append(client)
            ids.append(dict(zip(real, IDS.values(), strict=True)))
        yield Both(clients, ids)
