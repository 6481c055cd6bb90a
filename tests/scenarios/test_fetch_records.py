"""Records are fetched: which batches, how many of them, and when. Both brokers must give the same bytes.

One difference is evened out: a batch that a limit cuts off is left out here, where Kafka sends the piece that fits.
"""

import dataclasses
import uuid
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

from tests.scenarios.both_worlds import NOBODY, UNKNOWN, UNKNOWN_ID, ZERO, Both, replaced
from tests.scenarios.conftest import external_address
from tests.scenarios.harness import Client, open_world
from wire.errors import CorruptRecords, ErrorCode
from wire.messages import (
    CreatableTopic,
    CreateTopicsRequest,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    MetadataRequest,
    MetadataRequestTopic,
    PartitionData,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from wire.records import Compression, Record, at_offset, build, read_header

FETCH = range(4, 19)
NAMES_UNTIL = 12
LONG = 60_000
"""Milliseconds: a wait that would not go unnoticed, in any time."""
TOPIC_ID = uuid.UUID(int=99)
"""The id by which these tests know the topic of their own, whatever it really is."""
NOW = 1_700_000_000_000
MOST = 10**6


def batch(*values: bytes, compression: Compression = Compression.NONE) -> bytes:
    records = [Record(offset, NOW + offset, b"key", value) for offset, value in enumerate(values)]
    return build(records, compression=compression)


SMALL, MIDDLE, LARGE = batch(b"x" * 100), batch(b"y" * 200, b"z" * 100), batch(b"w" * 5000)
LOG = (at_offset(SMALL, 0, 0), at_offset(MIDDLE, 1, 0), at_offset(LARGE, 3, 0))
"""What the partitions of `filled` hold: offsets 0, 1-2 and 3."""
S, M, L = map(len, LOG)
ONE = len(SMALL)


class Fetching(Both):
    """Both brokers with a topic of this test's own on each, and a second connection to each."""

    def __init__(self, clients: list[Client], others: list[Client], ids: list, topic: str) -> None:
        super().__init__(clients, ids)
        self.topic = topic
        self.others = others

    async def each(self, request: Any, version: int | None = None) -> None:
        """Send a request to each broker, over the second connection; what is answered must not be an error."""
        for client in self.others:
            assert_good(await client.call(request, version))

    async def produce(self, index: int, *batches: bytes) -> None:
        for records in batches:
            partition = PartitionProduceData(index=index, records=records)
            topic = TopicProduceData(name=self.topic, partition_data=[partition])
            await self.each(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), 9)

    async def delete_records(self, index: int, offset: int) -> None:
        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        topic = DeleteRecordsTopic(name=self.topic, partitions=[partition])
        await self.each(DeleteRecordsRequest(topics=[topic], timeout_ms=10_000))

    async def delete_topic(self) -> None:
        await self.each(DeleteTopicsRequest(topic_names=[self.topic], timeout_ms=10_000), 5)

    def want(
        self,
        version: int,
        *partitions: tuple[int, int, int],
        wait: int = LONG,
        least: int = 1,
        most: int = MOST,
        isolation: int = 0,
        **each: int,
    ) -> FetchRequest:
        """A fetch of (partition, offset, limit)."""
        return asking(
            version,
            [
                self.part(version, FetchPartition(partition=index, fetch_offset=at, partition_max_bytes=limit, **each))
                for index, at, limit in partitions
            ],
            max_wait_ms=wait,
            min_bytes=least,
            max_bytes=most,
            isolation_level=isolation,
        )

    def part(self, version: int, partition: FetchPartition) -> FetchTopic:
        by_id = version > NAMES_UNTIL
        topic, topic_id = ("", TOPIC_ID) if by_id else (self.topic, ZERO)
        return FetchTopic(topic=topic, topic_id=topic_id, partitions=[partition])

    async def fetch(self, request: FetchRequest, version: int) -> dict[int, PartitionData]:
        """Ask both; return what they say of each partition of the one topic, in its order."""
        answer = await self.ask(request, version, but=only_whole_batches)
        assert answer.error_code == 0
        (topic,) = answer.responses
        assert (topic.topic, topic.topic_id) == (("", TOPIC_ID) if version > NAMES_UNTIL else (self.topic, ZERO))
        return {each.partition_index: each for each in topic.partitions}

    async def held(
        self, request: FetchRequest, version: int, act: Callable[[], Any], *, woken: bool = True
    ) -> FetchResponse:
        """Hold a fetch at both, do something, and return the answer, which must come by that, or else must not."""
        calls = []
        for client, ids in zip(self._clients, self._ids, strict=True):
            really = replaced(request, {known: real for real, known in ids.items()})
            calls.append(await client.send(really, version))
        start = trio.current_time()
        for call in calls:
            assert await call.parked()
        await act()
        if not woken:
            assert await calls[0].parked()
        answers = []
        for call, ids in zip(calls, self._ids, strict=True):
            answer = replaced(await call.answer(), ids)
            only_whole_batches(answer)
            answers.append(answer)
        took = trio.current_time() - start
        assert took < request.max_wait_ms / 2000 if woken else took >= request.max_wait_ms / 1000 - 0.01
        assert all(answer == answers[0] for answer in answers)
        return answers[0]


def asking(version: int, topics: list[FetchTopic], **what: Any) -> FetchRequest:
    """A request in which neighbours of one topic are one entry, as clients write them."""
    joined: list[FetchTopic] = []
    for each in topics:
        if joined and (joined[-1].topic, joined[-1].topic_id) == (each.topic, each.topic_id):
            joined[-1].partitions += each.partitions
        else:
            joined.append(each)
    return FetchRequest(topics=joined, **what)


def assert_good(answer: Any) -> None:
    """No error code in a message or anything inside it."""
    assert getattr(answer, "error_code", 0) == 0, answer
    for each in dataclasses.fields(answer):
        value = getattr(answer, each.name)
        for inner in value if isinstance(value, list) else [value]:
            if dataclasses.is_dataclass(inner):
                assert_good(inner)


def only_whole_batches(answer: FetchResponse) -> None:
    for topic in answer.responses:
        for each in topic.partitions:
            assert each.records is not None
            end = 0
            try:
                while end < len(each.records):
                    end += read_header(each.records, end).size
            except CorruptRecords:
                each.records = each.records[:end]


async def id_once_there(client: Client, name: str) -> uuid.UUID:
    """The id of a topic. Kafka's broker leads its partitions only a moment after the controller has answered."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    each = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1) for index in range(4)]
    reading = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=name, partitions=each)])
    while True:
        (topic,) = (await client.call(request, 12)).topics
        (readable,) = (await client.call(reading, 12)).responses
        if topic.error_code == 0 and not any(one.error_code for one in readable.partitions):
            return topic.topic_id
        await trio.sleep(0.05)


@pytest.fixture
async def both(request: pytest.FixtureRequest):
    """See `Fetching`."""
    external = external_address(request.config)
    name = f"fetched-{uuid.uuid4().hex[:12]}"
    async with AsyncExitStack() as stack:
        clients, others, ids = [], [], []
        for where in (None, external) if external else (None,):
            world = await stack.enter_async_context(open_world(where))
            clients.append(await world.client())
            others.append(await world.client())
            creatable = CreatableTopic(name=name, num_partitions=4, replication_factor=1)
            assert_good(await clients[-1].call(CreateTopicsRequest(topics=[creatable], timeout_ms=10_000)))
            ids.append({await id_once_there(clients[-1], name): TOPIC_ID})
        fetching = Fetching(clients, others, ids, name)
        yield fetching
        if external is not None:
            await others[-1].call(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)


@pytest.fixture
async def filled(both: Fetching) -> Fetching:
    """Partitions 0, 1 and 2 hold `LOG`, partition 3 holds nothing."""
    for index in range(3):
        await both.produce(index, SMALL, MIDDLE, LARGE)
    return both


def holds(index: int, records: bytes, *, version: int = 18, committed: bool = False, end: int = 4) -> PartitionData:
    return PartitionData(
        partition_index=index,
        high_watermark=end,
        last_stable_offset=end,
        log_start_offset=0 if version >= 5 else -1,
        aborted_transactions=[] if committed else None,
        records=records,
    )


def error_of(index: int, error: ErrorCode, *, aborted: list | None = None) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=aborted,
        records=b"",
    )


def counts(found: dict[int, PartitionData]) -> dict[int, int]:
    """How many batches each partition gave."""
    sizes = {}
    for index, each in found.items():
        records, sizes[index] = each.records or b"", 0
        while records:
            records = records[read_header(records).size :]
            sizes[index] += 1
    return sizes


def waited(both: Both, seconds: float) -> bool:
    """Whether the answers came after so many seconds; see `test_topics_fetch.waited`."""
    if both.in_virtual_time:
        return both.elapsed == [pytest.approx(seconds)]
    return all(seconds - 0.01 <= elapsed < LONG / 2000 for elapsed in both.elapsed)


# What is read.


@pytest.mark.parametrize("version", FETCH)
async def test_records_are_fetched_as_they_lie_in_the_log(filled: Fetching, version: int):
    found = await filled.fetch(filled.want(version, (0, 0, MOST), (3, 0, MOST), (1, 1, MOST), (2, 3, MOST)), version)
    assert list(found.values()) == [
        holds(0, b"".join(LOG), version=version),
        holds(3, b"", version=version, end=0),
        holds(1, LOG[1] + LOG[2], version=version),
        holds(2, LOG[2], version=version),
    ]
    assert waited(filled, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_committed_records_are_all_records(filled: Fetching, version: int):
    found = await filled.fetch(filled.want(version, (0, 3, MOST), isolation=1), version)
    assert found[0] == holds(0, LOG[2], version=version, committed=True)


async def test_a_batch_is_given_whole_to_those_who_are_in_the_middle_of_it(filled: Fetching):
    found = await filled.fetch(filled.want(18, (0, 2, MOST)), 18)
    assert found[0] == holds(0, LOG[1] + LOG[2])


@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
async def test_compressed_batches_are_carried_untouched(both: Fetching, compression: Compression):
    packed = batch(b"a" * 300, b"b" * 300, compression=compression)
    await both.produce(0, packed, SMALL)
    found = await both.fetch(both.want(18, (0, 0, MOST)), 18)
    assert found[0] == holds(0, at_offset(packed, 0, 0) + at_offset(SMALL, 2, 0), end=3)


# How much.

LIMITS: dict[str, tuple[Sequence[tuple[int, int, int]], int, dict[int, int]]] = {
    "a batch that does not fit any more": ([(0, 0, S + M - 1)], MOST, {0: 1}),
    "a batch that just fits": ([(0, 0, S + M)], MOST, {0: 2}),
    "the first batch may be larger": ([(0, 3, 10)], MOST, {0: 1}),
    "the first batch may be larger than any limit": ([(0, 3, 0)], 0, {0: 1}),
    "and no other": ([(0, 3, 10), (1, 0, S - 1), (2, 0, S)], MOST, {0: 1, 1: 0, 2: 1}),
    "the first that has records may": ([(3, 0, 10), (0, 3, 10), (1, 3, 10)], MOST, {3: 0, 0: 1, 1: 0}),
    "what the first takes is not left for others": ([(0, 0, MOST), (1, 0, MOST)], 10, {0: 1, 1: 0}),
    "nor is what it takes of its own limit": ([(0, 0, S), (1, 1, MOST)], S + M - 1, {0: 1, 1: 0}),
    "what is left just fits": ([(0, 0, S), (1, 1, MOST)], S + M, {0: 1, 1: 1}),
    "a piece counts, too": ([(0, 0, MOST), (1, 0, MOST)], S + M - 1, {0: 1, 1: 0}),
    "a piece under its own limit counts": ([(0, 0, S + 10), (1, 0, MOST)], S + 10 + S - 1, {0: 1, 1: 0}),
    "a piece under its own limit leaves the rest": ([(0, 0, S + 10), (1, 0, MOST)], S + 10 + S, {0: 1, 1: 1}),
    "one that got nothing leaves everything": ([(0, 0, S), (1, 3, 9), (2, 0, MOST)], 2 * S, {0: 1, 1: 0, 2: 1}),
    "the order is the request's": ([(2, 0, MOST), (0, 0, MOST)], 10, {2: 1, 0: 0}),
}


@pytest.mark.parametrize("version", [4, 12, 18])
@pytest.mark.parametrize("case", LIMITS)
async def test_limits(filled: Fetching, case: str, version: int):
    partitions, most, expected = LIMITS[case]
    found = await filled.fetch(filled.want(version, *partitions, most=most), version)
    assert counts(found) == expected
    assert list(found) == list(expected)
    assert waited(filled, 0)


@pytest.mark.parametrize("limit", [-1, -(2**31)])
async def test_negative_limits(filled: Fetching, limit: int):
    """They are an error where there is something to read, and none where there is not."""
    failed = error_of(0, ErrorCode.UNKNOWN_SERVER_ERROR)
    found = await filled.fetch(filled.want(18, (0, 0, limit), (1, 3, MOST)), 18)
    assert list(found.values()) == [failed, holds(1, LOG[2])]
    found = await filled.fetch(filled.want(18, (0, 0, MOST), most=limit), 18)
    assert list(found.values()) == [failed]
    found = await filled.fetch(filled.want(18, (0, 4, limit), wait=200), 18)
    assert list(found.values()) == [holds(0, b"")]
    assert waited(filled, 0.2)
    found = await filled.fetch(filled.want(18, (0, 4, MOST), most=limit), 18)
    assert list(found.values()) == [holds(0, b"")]
    assert waited(filled, 0)


# How long.


@pytest.mark.parametrize(
    ("partitions", "most", "least", "at_once"),
    [
        ([(0, 0, S)], MOST, S, True),
        ([(0, 0, S)], MOST, S + 1, False),
        ([(0, 0, S + 10)], MOST, S + 10, True),
        ([(0, 0, S), (1, 0, S)], MOST, 2 * S, True),
        ([(0, 0, S), (1, 0, S)], MOST, 2 * S + 1, False),
        ([(0, 0, MOST)], 300, MOST, True),
        ([(0, 0, MOST)], MOST, 2**31 - 1, False),
        ([(0, 0, MOST), (1, 0, MOST)], S + M + 10, S + M + 10, True),
        ([(3, 0, MOST), (0, 4, MOST)], MOST, 1, False),
    ],
)
async def test_a_fetch_waits_for_enough(filled: Fetching, partitions: list, most: int, least: int, at_once: bool):
    """More than the answer may have is never waited for. A piece of a batch counts."""
    await filled.fetch(filled.want(18, *partitions, most=most, least=least, wait=LONG if at_once else 400), 18)
    assert waited(filled, 0 if at_once else 0.4)


@pytest.mark.parametrize("version", FETCH)
async def test_produce_wakes_a_fetch(both: Fetching, version: int):
    request = both.want(version, (0, 0, MOST), (1, 0, MOST))
    answer = await both.held(request, version, lambda: both.produce(1, SMALL))
    (topic,) = answer.responses
    assert topic.partitions == [
        holds(0, b"", version=version, end=0),
        holds(1, LOG[0], version=version, end=1),
    ]


async def test_produce_elsewhere_does_not_wake_a_fetch(both: Fetching):
    request = both.want(18, (0, 0, MOST), wait=1200)
    answer = await both.held(request, 18, lambda: both.produce(1, SMALL), woken=False)
    assert answer.responses[0].partitions == [holds(0, b"", end=0)]


async def test_too_little_does_not_wake_a_fetch(both: Fetching):
    """It gets it in the end."""
    request = both.want(18, (0, 0, MOST), (1, 0, MOST), least=3 * ONE, wait=1200)

    async def produce():
        await both.produce(0, SMALL)
        await both.produce(1, SMALL)

    answer = await both.held(request, 18, produce, woken=False)
    assert answer.responses[0].partitions == [holds(0, LOG[0], end=1), holds(1, LOG[0], end=1)]


async def test_little_by_little_is_enough(both: Fetching):
    await both.produce(1, SMALL)
    request = both.want(18, (0, 0, MOST), (1, 0, MOST), least=3 * ONE)

    async def produce():
        await both.produce(0, SMALL)
        await both.produce(0, SMALL)

    answer = await both.held(request, 18, produce)
    assert [len(each.records) for each in answer.responses[0].partitions] == [2 * ONE, ONE]


async def test_a_partition_counts_up_to_its_limit(both: Fetching):
    request = both.want(18, (0, 0, ONE), (1, 0, ONE), least=2 * ONE, wait=1200)
    answer = await both.held(request, 18, lambda: both.produce(0, SMALL, SMALL, SMALL), woken=False)
    assert [len(each.records) for each in answer.responses[0].partitions] == [ONE, 0]


async def test_the_limit_of_the_whole_does_not_count_while_waiting(both: Fetching):
    """Both partitions have enough together; but only one of them has room in the answer."""
    request = both.want(18, (0, 0, MOST), (1, 0, MOST), least=2 * ONE, most=2 * ONE - 1)

    async def produce():
        await both.produce(0, SMALL)
        await both.produce(1, SMALL)

    answer = await both.held(request, 18, produce)
    assert [len(each.records) for each in answer.responses[0].partitions] == [ONE, 0]


@pytest.mark.parametrize("limit", [0, -1])
async def test_nothing_is_enough_for_a_limit_of_nothing(both: Fetching, limit: int):
    request = both.want(18, (0, 0, limit), wait=1200)
    answer = await both.held(request, 18, lambda: both.produce(0, SMALL), woken=False)
    expected = holds(0, LOG[0], end=1) if limit == 0 else error_of(0, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert answer.responses[0].partitions == [expected]


@pytest.mark.parametrize("version", [4, 12, 13, 18])
async def test_deletion_of_the_topic_wakes_a_fetch(both: Fetching, version: int):
    request = both.want(version, (0, 0, MOST))
    answer = await both.held(request, version, both.delete_topic)
    assert answer.responses[0].partitions == [error_of(0, UNKNOWN)]


async def test_deletion_of_records_does_not_wake_a_fetch(both: Fetching):
    """Even if that is where it waits; in the end it learns of it."""
    await both.produce(0, SMALL, SMALL)
    request = both.want(18, (0, 0, MOST), least=MOST, wait=1200)
    answer = await both.held(request, 18, lambda: both.delete_records(0, 2), woken=False)
    assert answer.responses[0].partitions == [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)]


async def test_deletion_of_records_that_were_read_does_not_wake_a_fetch(both: Fetching):
    await both.produce(0, SMALL, SMALL)
    request = both.want(18, (0, 2, MOST), wait=1200)
    answer = await both.held(request, 18, lambda: both.delete_records(0, 2), woken=False)
    assert answer.responses[0].partitions == [dataclasses.replace(holds(0, b"", end=2), log_start_offset=2)]


# What cannot be read.


@pytest.mark.parametrize("version", FETCH)
async def test_offsets_before_the_start_and_behind_the_end(filled: Fetching, version: int):
    await filled.delete_records(0, 2)
    for offset in (-1, 0, 1, 5):
        found = await filled.fetch(filled.want(version, (0, offset, MOST), (1, 4, MOST)), version)
        assert list(found.values()) == [
            error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE),
            holds(1, b"", version=version),
        ]
        assert waited(filled, 0)
    found = await filled.fetch(filled.want(version, (0, 2, MOST)), version)
    expected = holds(0, LOG[1] + LOG[2], version=version)
    expected.log_start_offset = 2 if version >= 5 else -1
    assert found[0] == expected


async def test_an_error_takes_nothing_from_the_others(filled: Fetching):
    found = await filled.fetch(filled.want(18, (0, 5, MOST), (1, 0, MOST), (2, 0, MOST), most=10), 18)
    assert list(found.values()) == [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE), holds(1, LOG[0]), holds(2, b"")]


@pytest.mark.parametrize("version", FETCH[8:])
async def test_an_epoch_that_ended_earlier(filled: Fetching, version: int):
    """Who has read beyond the end is told where that is, if they name their epoch (KIP-595)."""
    for offset in (5, 99):
        request = filled.want(version, (0, offset, MOST), (3, 0, MOST), current_leader_epoch=0, last_fetched_epoch=0)
        found = await filled.fetch(request, version)
        beyond = holds(0, b"")
        beyond.diverging_epoch = EpochEndOffset(epoch=0, end_offset=4)
        assert list(found.values()) == [beyond, holds(3, b"", end=0)]
        assert waited(filled, 0)
    for offset, epoch in ((-1, 0), (5, -1), (0, 3), (5, 3)):
        request = filled.want(version, (0, offset, MOST), current_leader_epoch=0, last_fetched_epoch=epoch)
        found = await filled.fetch(request, version)
        assert found[0] == error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)
    request = filled.want(version, (0, 3, MOST), current_leader_epoch=0, last_fetched_epoch=0)
    assert (await filled.fetch(request, version))[0] == holds(0, LOG[2])


# What is named in which order, and how often.


@pytest.mark.parametrize("version", FETCH)
async def test_the_last_of_several_wishes_counts(filled: Fetching, version: int):
    """In the place of the first."""
    request = filled.want(version, (0, 0, 300), (1, 0, MOST), (0, 3, MOST))
    assert list((await filled.fetch(request, version)).values()) == [
        holds(0, LOG[2], version=version),
        holds(1, b"".join(LOG), version=version),
    ]
    request = filled.want(version, (0, 0, 300), (0, 99, MOST))
    assert list((await filled.fetch(request, version)).values()) == [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)]


@pytest.mark.parametrize("version", FETCH)
async def test_what_does_not_exist_comes_last(filled: Fetching, version: int):
    """Those that exist are in the order of the request, then the others; ids that nobody knows before partitions."""
    by_id = version > NAMES_UNTIL
    nope = [("", NOBODY), ("", uuid.UUID(int=98))] if by_id else [("nope", ZERO), ("nope2", ZERO)]

    def wish(index: int) -> FetchPartition:
        return FetchPartition(partition=index, fetch_offset=3, partition_max_bytes=MOST)

    def unknown(*, topic: bool) -> list[PartitionData]:
        return [error_of(9, UNKNOWN_ID if topic and by_id else UNKNOWN, aborted=[])]

    request = asking(
        version,
        [
            FetchTopic(topic=nope[0][0], topic_id=nope[0][1], partitions=[wish(9), wish(9)]),
            filled.part(version, wish(9)),
            filled.part(version, wish(1)),
            FetchTopic(topic=nope[1][0], topic_id=nope[1][1], partitions=[wish(9)]),
            filled.part(version, wish(0)),
            FetchTopic(topic=nope[0][0], topic_id=nope[0][1], partitions=[wish(9)]),
        ],
        max_wait_ms=LONG,
        min_bytes=1,
        max_bytes=MOST,
    )
    answer = await filled.ask(request, version, but=only_whole_batches)
    ours = ("", TOPIC_ID) if by_id else (filled.topic, ZERO)
    missing = [(nope[0], unknown(topic=True)), (ours, unknown(topic=False)), (nope[1], unknown(topic=True))]
    if by_id:
        missing = [missing[0], missing[2], missing[1]]
    assert [((topic.topic, topic.topic_id), topic.partitions) for topic in answer.responses] == [
        (ours, [holds(1, LOG[2], version=version), holds(0, LOG[2], version=version)]),
        *missing,
    ]
