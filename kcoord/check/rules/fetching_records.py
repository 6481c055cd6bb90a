"""Fetch where there are records: which batches come, how many of them, in which order, and what cannot be read."""

from typing import Any, Final
from uuid import UUID

from kcoord.check.fetches import (
    BATCHES,
    FETCH,
    HANDLED,
    LONG,
    MOST,
    NAMES_UNTIL,
    READ,
    SMALL,
    asking,
    counts,
    error_of,
    filled,
    holds,
    named,
    no_partition,
    no_topic,
    only_whole_batches,
    out_of_range,
    own_log,
)
from kcoord.check.logs import NOBODY, batch, delete_before
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import EpochEndOffset, FetchPartition, FetchRequest
from wire.records import Compression, at_offset

END: Final = 4
S, M, _ = map(len, BATCHES)
ALL: Final = b"".join(BATCHES)
LIMITED: Final = f"KIP-74; {READ}"
NOBODY_ELSE: Final = UUID("0badcafe-0000-4000-8000-ba9876543210")

Limits = dict[str, tuple[list[tuple[int, int, int]], int, list[tuple[int, int]]]]
"""By what a case is about: (partition, offset, limit), the limit of the whole, (partition, batches that come)."""
OF_A_PARTITION: Final[Limits] = {
    "a batch that does not fit any more": ([(0, 0, S + M - 1)], MOST, [(0, 1)]),
    "a batch that just fits": ([(0, 0, S + M)], MOST, [(0, 2)]),
}
THE_FIRST: Final[Limits] = {
    "may be larger": ([(0, 3, 10)], MOST, [(0, 1)]),
    "may be larger than any limit": ([(0, 3, 0)], 0, [(0, 1)]),
    "and no other": ([(0, 3, 10), (1, 0, S - 1), (2, 0, S)], MOST, [(0, 1), (1, 0), (2, 1)]),
    "of the first partition that has any": ([(3, 0, 10), (0, 3, 10), (1, 3, 10)], MOST, [(3, 0), (0, 1), (1, 0)]),
    "the order is the request's": ([(2, 0, MOST), (0, 0, MOST)], 10, [(2, 1), (0, 0)]),
}
OF_THE_WHOLE: Final[Limits] = {
    "what the first takes is not left for others": ([(0, 0, MOST), (1, 0, MOST)], 10, [(0, 1), (1, 0)]),
    "nor is what it takes of its own limit": ([(0, 0, S), (1, 1, MOST)], S + M - 1, [(0, 1), (1, 0)]),
    "what is left just fits": ([(0, 0, S), (1, 1, MOST)], S + M, [(0, 1), (1, 1)]),
    "one that got nothing leaves everything": (
        [(0, 0, S), (1, 3, 9), (2, 0, MOST)],
        2 * S,
        [(0, 1), (1, 0), (2, 1)],
    ),
}
PIECES: Final[Limits] = {
    "a piece counts, too": ([(0, 0, MOST), (1, 0, MOST)], S + M - 1, [(0, 1), (1, 0)]),
    "a piece under its own limit": ([(0, 0, S + 10), (1, 0, MOST)], S + 10 + S - 1, [(0, 1), (1, 0)]),
    "which leaves the rest": ([(0, 0, S + 10), (1, 0, MOST)], S + 10 + S, [(0, 1), (1, 1)]),
}


async def keeps_limits(world: World, limits: Limits) -> None:
    """Fetch within limits, and see how many batches come, and in which order."""
    log = await filled(world)
    for version in world.offered(FetchRequest, FETCH):
        for case, (partitions, most, expected) in limits.items():
            found = await log.fetch(log.want(version, *partitions, most=most), version)
            assert (case, counts(found)) == (case, expected)


@rule(
    id="fetch-records-1",
    api="Fetch",
    says="Batches are fetched as they lie in the log, from the one that has the offset, and partitions come in the "
    "order of the request.",
    source=READ,
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_1(world: World) -> None:
    log = await filled(world)
    for version in world.offered(FetchRequest, FETCH):
        request = log.want(version, (0, 0, MOST), (3, 0, MOST), (1, 1, MOST), (2, 3, MOST))
        assert await log.fetch(request, version) == [
            holds(0, ALL, version=version, end=END),
            holds(3, version=version),
            holds(1, BATCHES[1] + BATCHES[2], version=version, end=END),
            holds(2, BATCHES[2], version=version, end=END),
        ]


@rule(
    id="fetch-records-2",
    api="Fetch",
    says="Without transactions all records are committed.",
    source=f"KIP-98; {READ}",
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_2(world: World) -> None:
    log = await filled(world)
    for version in world.offered(FetchRequest, FETCH):
        found = await log.fetch(log.want(version, (0, 3, MOST), isolation=1), version)
        assert found == [holds(0, BATCHES[2], version=version, end=END, committed=True)]


@rule(
    id="fetch-records-3",
    api="Fetch",
    says="A batch is given whole to those who are in the middle of it.",
    source="Apache Kafka UnifiedLog.read, LogSegment.read",
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_3(world: World) -> None:
    log = await filled(world)
    for version in world.offered(FetchRequest, FETCH):
        found = await log.fetch(log.want(version, (0, 2, MOST)), version)
        assert found == [holds(0, BATCHES[1] + BATCHES[2], version=version, end=END)]


@rule(
    id="fetch-records-4",
    api="Fetch",
    says="Compressed batches are handed on as they came.",
    source="Apache Kafka LogValidator.validateMessagesAndAssignOffsets: in place",
    versions="10-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_4(world: World) -> None:
    log = await own_log(world)
    kinds = (Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD)
    for index, compression in enumerate(kinds):
        packed = batch(b"a" * 300, b"b" * 300, compression=compression)
        await log.put(index, packed, SMALL)
        for version in world.offered(FetchRequest, range(10, 19)):
            found = await log.fetch(log.want(version, (index, 0, MOST)), version)
            both = at_offset(packed, 0, 0) + at_offset(SMALL, 2, 0)
            assert found == [holds(index, both, version=version, end=3)]


@rule(
    id="fetch-records-5",
    api="Fetch",
    says="Of a partition come as many whole batches as its limit holds.",
    source=READ,
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_5(world: World) -> None:
    await keeps_limits(world, OF_A_PARTITION)


@rule(
    id="fetch-records-6",
    api="Fetch",
    says="The first batch of an answer comes whole whatever the limits, and no other does.",
    source=LIMITED,
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_6(world: World) -> None:
    await keeps_limits(world, THE_FIRST)


@rule(
    id="fetch-records-7",
    api="Fetch",
    says="What a partition takes of the limit of the whole is not left for those behind it.",
    source=LIMITED,
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_7(world: World) -> None:
    await keeps_limits(world, OF_THE_WHOLE)


@rule(
    id="fetch-records-8",
    api="Fetch",
    says="A batch that a limit cuts off takes as much of the limit of the whole as there was room for it.",
    source=LIMITED,
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_8(world: World) -> None:
    await keeps_limits(world, PIECES)


@rule(
    id="fetch-records-9",
    api="Fetch",
    says="A negative limit is an error where there is something to read, and none where there is not.",
    source=f"{READ}, FileRecords.slice",
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_9(world: World) -> None:
    log = await filled(world)
    version = log.newest
    failed = error_of(0, ErrorCode.UNKNOWN_SERVER_ERROR)
    nothing = holds(0, version=version, end=END)
    for limit in (-1, -(2**31)):
        found = await log.fetch(log.want(version, (0, 0, limit), (1, 3, MOST)), version)
        assert found == [failed, holds(1, BATCHES[2], version=version, end=END)]
        assert await log.fetch(log.want(version, (0, 0, MOST), most=limit), version) == [failed]
        assert await log.fetch(log.want(version, (0, 4, limit), wait=200), version, after=0.2) == [nothing]
        assert await log.fetch(log.want(version, (0, 4, MOST), most=limit), version) == [nothing]


@rule(
    id="fetch-records-10",
    api="Fetch",
    says="Offsets before the start of a log and behind its end are out of range, and its end is not.",
    source="Apache Kafka UnifiedLog.read",
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_10(world: World) -> None:
    log = await filled(world)
    await delete_before(log.other, log.name, 0, 2)
    for version in world.offered(FetchRequest, FETCH):
        for offset in (-1, 0, 1, 5):
            found = await log.fetch(log.want(version, (0, offset, MOST), (1, 4, MOST)), version)
            assert found == [out_of_range(0), holds(1, version=version, end=END)]
        found = await log.fetch(log.want(version, (0, 2, MOST)), version)
        assert found == [holds(0, BATCHES[1] + BATCHES[2], version=version, end=END, start=2)]


@rule(
    id="fetch-records-11",
    api="Fetch",
    says="A partition with an error takes nothing from the others: the first batch still comes whole.",
    source=LIMITED,
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_11(world: World) -> None:
    log = await filled(world)
    for version in world.offered(FetchRequest, FETCH):
        request = log.want(version, (0, 5, MOST), (1, 0, MOST), (2, 0, MOST), most=10)
        assert await log.fetch(request, version) == [
            out_of_range(0),
            holds(1, BATCHES[0], version=version, end=END),
            holds(2, version=version, end=END),
        ]


@rule(
    id="fetch-records-12",
    api="Fetch",
    says="Who has read beyond the end is told at once where that is, if they name the epoch of what they read.",
    source="KIP-595; Apache Kafka Partition.readRecords",
    versions="12-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_12(world: World) -> None:
    log = await filled(world)
    for version in world.offered(FetchRequest, range(12, 19)):
        for offset in (5, 99):
            request = log.want(version, (0, offset, MOST), (3, 0, MOST), current_leader_epoch=0, last_fetched_epoch=0)
            beyond = holds(0, version=version, end=END)
            beyond.diverging_epoch = EpochEndOffset(epoch=0, end_offset=END)
            assert await log.fetch(request, version) == [beyond, holds(3, version=version)]
        for offset, epoch in ((-1, 0), (5, -1), (0, 3), (5, 3)):
            request = log.want(version, (0, offset, MOST), current_leader_epoch=0, last_fetched_epoch=epoch)
            assert await log.fetch(request, version) == [out_of_range(0)]
        request = log.want(version, (0, 3, MOST), current_leader_epoch=0, last_fetched_epoch=0)
        assert await log.fetch(request, version) == [holds(0, BATCHES[2], version=version, end=END)]


@rule(
    id="fetch-records-13",
    api="Fetch",
    says="Of several wishes for one partition the last counts, in the place of the first.",
    source=f"{HANDLED}, FetchRequest.fetchData: a map by partition",
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_13(world: World) -> None:
    log = await filled(world)
    for version in world.offered(FetchRequest, FETCH):
        request = log.want(version, (0, 0, 300), (1, 0, MOST), (0, 3, MOST))
        assert await log.fetch(request, version) == [
            holds(0, BATCHES[2], version=version, end=END),
            holds(1, ALL, version=version, end=END),
        ]
        request = log.want(version, (0, 0, 300), (0, 99, MOST))
        assert await log.fetch(request, version) == [out_of_range(0)]


@rule(
    id="fetch-records-14",
    api="Fetch",
    says="What does not exist comes last: ids that no topic has before partitions, and names in the order of the "
    "request.",
    source=f"KIP-516; {HANDLED}, FetchResponse.toMessage",
    versions="4-18",
    topics=(),
    cost=1.3,
)
async def fetch_records_14(world: World) -> None:
    log = await filled(world)
    names = world.topic("nope"), world.topic("nope")

    def wish(index: int) -> FetchPartition:
        return FetchPartition(partition=index, fetch_offset=3, partition_max_bytes=MOST)

    for version in world.offered(FetchRequest, FETCH):
        ours = log.called(version)
        first, second = named(version, names[0], NOBODY), named(version, names[1], NOBODY_ELSE)
        request = asking(
            [
                (first, wish(9)),
                (first, wish(9)),
                (ours, wish(9)),
                (ours, wish(1)),
                (second, wish(9)),
                (ours, wish(0)),
                (first, wish(9)),
            ],
            max_wait_ms=LONG,
            min_bytes=1,
            max_bytes=MOST,
        )
        answer = await log.client.call(request, version)
        only_whole_batches(answer)
        missing: list[tuple[tuple[str, UUID], list[Any]]] = [
            (first, [no_topic(9, version)]),
            (ours, [no_partition(9)]),
            (second, [no_topic(9, version)]),
        ]
        if version > NAMES_UNTIL:
            missing = [missing[0], missing[2], missing[1]]
        assert [((topic.topic, topic.topic_id), topic.partitions) for topic in answer.responses] == [
            (ours, [holds(index, BATCHES[2], version=version, end=END) for index in (1, 0)]),
            *missing,
        ]
