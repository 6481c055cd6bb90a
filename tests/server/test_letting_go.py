"""Messages with very many entries are freed a piece at a time, and beside the others."""

import threading
import weakref

import pytest

from kcoord.net import letting_go
from kcoord.net.letting_go import MANY, PIECE, has_many, let_go
from tests.server.conftest import start, without_sockets
from wire.messages import (
    ApiVersionsRequest,
    DescribeLogDirsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
)


def fetch(*sizes):
    return FetchRequest(
        topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=n) for n in range(size)]) for size in sizes]
    )


@pytest.mark.parametrize(
    ("make", "many"),
    [
        (ApiVersionsRequest, False),
        (lambda: DescribeLogDirsRequest(topics=None), False),
        (lambda: MetadataRequest(topics=[MetadataRequestTopic(name="t")] * MANY), True),
        (lambda: fetch(MANY - 2), False),
        (lambda: fetch(MANY - 1), True),
        (lambda: fetch(*[MANY // 10] * 10), True),
        (fetch, False),
    ],
)
def test_what_is_much(make, many):
    assert has_many(make()) is many


class Witness:
    """An entry's content that tells when it is freed."""


@pytest.mark.parametrize("sizes", [(10 * PIECE,), (1, 10 * PIECE, 1), (PIECE,) * 10, (3,) * 10 * PIECE])
def test_no_piece_is_large(monkeypatch, sizes):
    freed = []
    message = fetch(*sizes)
    for topic in message.topics:
        for each in topic.partitions:
            each.partition = Witness()
            weakref.finalize(each.partition, freed.append, len(freed))

    class Watched(letting_go.deque):
        def popleft(self):
            before.append(len(freed))
            return super().popleft()

    before = []
    monkeypatch.setattr(letting_go, "deque", Watched)
    del topic, each
    held = [message]
    del message
    let_go(held)
    assert held == []
    assert len(freed) == sum(sizes)
    steps = [after - earlier for earlier, after in zip(before, [*before[1:], len(freed)], strict=True)]
    assert max(steps) <= PIECE + 3


def test_what_somebody_else_holds_stays_as_it_is():
    message = fetch(3, 2)
    kept = message.topics
    let_go([message])
    assert [len(topic.partitions) for topic in kept] == [3, 2]


async def test_a_large_request_is_freed_in_a_thread(nursery, monkeypatch):
    """No virtual time here: it would run on while a thread works."""
    server = await start(nursery, without_sockets())
    client = server.connect()
    wished = [ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(30_000)]
    threads = []
    real = letting_go.let_go

    def watched(held):
        threads.append((threading.current_thread() is threading.main_thread(), [type(each).__name__ for each in held]))
        real(held)

    monkeypatch.setattr("kcoord.net.connection.let_go", watched)
    answer = await client.call(ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=wished)]), 2)
    assert len(answer.topics[0].partitions) == 30_000
    await client.call(ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=wished[:9])]), 2)
    assert threads == [(False, ["ListOffsetsRequest", "ListOffsetsResponse"])]
