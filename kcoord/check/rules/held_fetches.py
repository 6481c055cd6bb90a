"""Fetches that are held until there is enough: how much that is, what wakes them, and what does not."""

from typing import Final

from kcoord.check.fetches import (
    BATCHES,
    DELAYED,
    FETCH,
    MOST,
    SERVED,
    SMALL,
    error_of,
    filled,
    holds,
    out_of_range,
    own_log,
)
from kcoord.check.logs import delete_before
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DeleteTopicsRequest, FetchRequest
from wire.records import at_offset

S, M, _ = map(len, BATCHES)
FIRST: Final = BATCHES[0]
HELD: Final = 1200
"""Milliseconds that a fetch waits which nothing wakes."""

Wants = dict[str, tuple[list[tuple[int, int, int]], int, int]]
"""By what a case is about: (partition, offset, limit), the limit of the whole, the least."""
ENOUGH: Final[Wants] = {
    "as much as its limit": ([(0, 0, S)], MOST, S),
    "of it a piece of a batch": ([(0, 0, S + 10)], MOST, S + 10),
    "of two together": ([(0, 0, S), (1, 0, S)], MOST, 2 * S),
    "as much as the answer may have": ([(0, 0, MOST)], 300, MOST),
    "of it a piece of the second": ([(0, 0, MOST), (1, 0, MOST)], S + M + 10, S + M + 10),
}
TOO_LITTLE: Final[Wants] = {
    "less than its limit": ([(0, 0, S)], MOST, S + 1),
    "of two together": ([(0, 0, S), (1, 0, S)], MOST, 2 * S + 1),
    "all there is": ([(0, 0, MOST)], MOST, 2**31 - 1),
    "nothing": ([(3, 0, MOST), (0, 4, MOST)], MOST, 1),
}


@rule(
    id="fetch-records-15",
    api="Fetch",
    says="A fetch is answered at once if there are as many bytes as it wants, or as the answer may have; a piece of a "
    "batch counts.",
    source=SERVED,
    versions="4-18",
    topics=(),
    cost=1.0,
)
async def fetch_records_15(world: World) -> None:
    log = await filled(world)
    for partitions, most, least in ENOUGH.values():
        await log.fetch(log.want(log.newest, *partitions, most=most, least=least), log.newest)


@rule(
    id="fetch-records-16",
    api="Fetch",
    says="A fetch waits if there are fewer bytes than it wants within the limits.",
    source=SERVED,
    versions="4-18",
    topics=(),
    cost=1.9,
)
async def fetch_records_16(world: World) -> None:
    log = await filled(world)
    for partitions, most, least in TOO_LITTLE.values():
        request = log.want(log.newest, *partitions, most=most, least=least, wait=400)
        await log.fetch(request, log.newest, after=0.4)


@rule(
    id="fetch-records-17",
    api="Fetch",
    says="Records that are produced wake a fetch that waits for them, and are in its answer.",
    source=f"{DELAYED}, ReplicaManager.appendRecords",
    versions="4-18",
    topics=(),
    cost=5.0,
)
async def fetch_records_17(world: World) -> None:
    log = await own_log(world)
    for end, version in enumerate(world.offered(FetchRequest, FETCH)):
        request = log.want(version, (0, 0, MOST), (1, end, MOST))
        assert await log.held(request, version, lambda: log.put(1, SMALL)) == [
            holds(0, version=version),
            holds(1, at_offset(SMALL, end, 0), version=version, end=end + 1),
        ]


@rule(
    id="fetch-records-18",
    api="Fetch",
    says="Records of another partition do not wake a fetch.",
    source=DELAYED,
    versions="4-18",
    topics=(),
    cost=1.5,
)
async def fetch_records_18(world: World) -> None:
    log = await own_log(world)
    request = log.want(log.newest, (0, 0, MOST), wait=HELD)
    found = await log.held(request, log.newest, lambda: log.put(1, SMALL), woken=False)
    assert found == [holds(0, version=log.newest)]


@rule(
    id="fetch-records-19",
    api="Fetch",
    says="Fewer bytes than are wanted do not wake a fetch, which gets them in the end.",
    source=f"{DELAYED}, DelayedFetch.onComplete",
    versions="4-18",
    topics=(),
    cost=1.5,
)
async def fetch_records_19(world: World) -> None:
    log = await own_log(world)
    request = log.want(log.newest, (0, 0, MOST), (1, 0, MOST), least=3 * S, wait=HELD)

    async def produce() -> None:
        await log.put(0, SMALL)
        await log.put(1, SMALL)

    found = await log.held(request, log.newest, produce, woken=False)
    assert found == [holds(index, FIRST, version=log.newest, end=1) for index in (0, 1)]


@rule(
    id="fetch-records-20",
    api="Fetch",
    says="Bytes that were there, of whatever partition, and those that come make up what is wanted together.",
    source=DELAYED,
    versions="4-18",
    topics=(),
    cost=0.9,
)
async def fetch_records_20(world: World) -> None:
    log = await own_log(world)
    await log.put(1, SMALL)
    request = log.want(log.newest, (0, 0, MOST), (1, 0, MOST), least=3 * S)
    found = await log.held(request, log.newest, lambda: log.put(0, SMALL, SMALL))
    assert [len(each.records or b"") for each in found] == [2 * S, S]


@rule(
    id="fetch-records-21",
    api="Fetch",
    says="Bytes of a partition count up to its limit.",
    source=DELAYED,
    versions="4-18",
    topics=(),
    cost=1.5,
)
async def fetch_records_21(world: World) -> None:
    log = await own_log(world)
    request = log.want(log.newest, (0, 0, S), (1, 0, S), least=2 * S, wait=HELD)
    found = await log.held(request, log.newest, lambda: log.put(0, SMALL, SMALL, SMALL), woken=False)
    assert [len(each.records or b"") for each in found] == [S, 0]


@rule(
    id="fetch-records-22",
    api="Fetch",
    says="While a fetch waits only the limits of partitions count, so it may get less than it waited for.",
    source=DELAYED,
    versions="4-18",
    topics=(),
    cost=0.9,
)
async def fetch_records_22(world: World) -> None:
    log = await own_log(world)
    request = log.want(log.newest, (0, 0, MOST), (1, 0, MOST), least=2 * S, most=2 * S - 1)

    async def produce() -> None:
        await log.put(0, SMALL)
        await log.put(1, SMALL)

    found = await log.held(request, log.newest, produce)
    assert [len(each.records or b"") for each in found] == [S, 0]


@rule(
    id="fetch-records-23",
    api="Fetch",
    says="Nothing wakes a fetch whose limit is 0 or less; in the end 0 gives the first batch, and less an error.",
    source=f"KIP-74; {DELAYED}",
    versions="4-18",
    topics=(),
    cost=1.5,
    each={"limit": (0, -1)},
)
async def fetch_records_23(world: World, limit: int) -> None:
    log = await own_log(world)
    request = log.want(log.newest, (0, 0, limit), wait=HELD)
    found = await log.held(request, log.newest, lambda: log.put(0, SMALL), woken=False)
    failed = error_of(0, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert found == [failed if limit < 0 else holds(0, FIRST, version=log.newest, end=1)]


@rule(
    id="fetch-records-24",
    api="Fetch",
    says="When its topic is deleted a fetch that waits is told that the partition is unknown, also by id.",
    source=f"{DELAYED}, ReplicaManager.stopPartitions",
    versions="4-18",
    topics=(),
    cost=1.7,
    each={"version": (4, 12, 13, 18)},
)
async def fetch_records_24(world: World, version: int) -> None:
    log = await own_log(world)

    async def delete() -> None:
        by_name = log.other.newest(DeleteTopicsRequest, 5)
        request = DeleteTopicsRequest(topic_names=[log.name], timeout_ms=10_000)
        (deleted,) = (await log.other.call(request, by_name)).responses
        assert deleted.error_code == ErrorCode.NONE

    found = await log.held(log.want(version, (0, 0, MOST)), version, delete)
    assert found == [error_of(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


@rule(
    id="fetch-records-25",
    api="Fetch",
    says="When the records that a fetch waits at are deleted it is not woken, and learns of it in the end.",
    source=f"KIP-107; {DELAYED}",
    versions="4-18",
    topics=(),
    cost=1.5,
)
async def fetch_records_25(world: World) -> None:
    log = await own_log(world)
    await log.put(0, SMALL, SMALL)
    request = log.want(log.newest, (0, 0, MOST), least=MOST, wait=HELD)
    found = await log.held(request, log.newest, lambda: delete_before(log.other, log.name, 0, 2), woken=False)
    assert found == [out_of_range(0)]


@rule(
    id="fetch-records-26",
    api="Fetch",
    says="When records are deleted that were read before, a fetch is not woken, and learns in the end where the log "
    "starts.",
    source=f"KIP-107; {DELAYED}",
    versions="5-18",
    topics=(),
    cost=1.5,
)
async def fetch_records_26(world: World) -> None:
    log = await own_log(world)
    await log.put(0, SMALL, SMALL)
    request = log.want(log.newest, (0, 2, MOST), wait=HELD)
    found = await log.held(request, log.newest, lambda: delete_before(log.other, log.name, 0, 2), woken=False)
    assert found == [holds(0, version=log.newest, end=2, start=2)]
