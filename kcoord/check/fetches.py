"""What rules about Fetch share: what is said of partitions, and a log of a rule's own to fetch from."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kcoord.check.logs import batch, new_topic, put
from kcoord.check.probe import Client
from kcoord.check.steps import Stopwatch
from kcoord.check.topics import NO_ID
from kcoord.check.world import World
from wire.errors import CorruptRecords, ErrorCode
from wire.messages import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from wire.records import at_offset, read_header

FETCH: Final = range(4, 19)
NAMES_UNTIL: Final = 12
"""The last version that names topics; later ones have their ids."""
LOG_START_SINCE: Final = 5
LONG: Final = 30_000
"""Milliseconds: a wait that would not go unnoticed, in any time."""
MOST: Final = 10**6
"""Bytes: a limit that limits nothing."""

HANDLED: Final = "Apache Kafka KafkaApis.handleFetchRequest"
READ: Final = "Apache Kafka ReplicaManager.readFromLog"
SERVED: Final = "Apache Kafka ReplicaManager.fetchMessages"
DELAYED: Final = "Apache Kafka DelayedFetch.tryComplete"

SMALL, MIDDLE, LARGE = batch(b"x" * 100), batch(b"y" * 200, b"z" * 100), batch(b"w" * 5000)
BATCHES: Final = (at_offset(SMALL, 0, 0), at_offset(MIDDLE, 1, 0), at_offset(LARGE, 3, 0))
"""What the partitions of `filled` hold: offsets 0, 1-2 and 3."""


def holds(
    index: int, records: bytes = b"", *, version: int, end: int = 0, start: int = 0, committed: bool = False
) -> PartitionData:
    """Return what is said of a partition that can be read, by default of an empty one.

    Aborted transactions are listed, though there are none, for those who ask for committed records.
    """
    return PartitionData(
        partition_index=index,
        high_watermark=end,
        last_stable_offset=end,
        log_start_offset=start if version >= LOG_START_SINCE else -1,
        aborted_transactions=[] if committed else None,
        records=records,
    )


def error_of(index: int, error: ErrorCode, *, aborted: list[AbortedTransaction] | None = None) -> PartitionData:
    """Return what is said of a partition that cannot be read."""
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=aborted,
        records=b"",
    )


def out_of_range(index: int) -> PartitionData:
    """Return what is said of a partition that does not have the offset."""
    return error_of(index, ErrorCode.OFFSET_OUT_OF_RANGE)


def no_partition(index: int) -> PartitionData:
    """Return what is said of a partition that does not exist."""
    return error_of(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, aborted=[])


def no_topic(index: int, version: int) -> PartitionData:
    """Return what is said of a partition whose topic does not exist."""
    if version > NAMES_UNTIL:
        return error_of(index, ErrorCode.UNKNOWN_TOPIC_ID, aborted=[])
    return no_partition(index)


def named(version: int, name: str, topic_id: UUID) -> tuple[str, UUID]:
    """Return what a version of Fetch calls a topic: the fields for name and id."""
    return ("", topic_id) if version > NAMES_UNTIL else (name, NO_ID)


def asking(topics: list[tuple[tuple[str, UUID], FetchPartition]], **what: Any) -> FetchRequest:
    """Return a request in which neighbours of one topic are one entry, as clients write them."""
    joined: list[FetchTopic] = []
    for (name, topic_id), partition in topics:
        if joined and (joined[-1].topic, joined[-1].topic_id) == (name, topic_id):
            joined[-1].partitions.append(partition)
        else:
            joined.append(FetchTopic(topic=name, topic_id=topic_id, partitions=[partition]))
    return FetchRequest(topics=joined, **what)


def only_whole_batches(answer: FetchResponse) -> None:
    """Take out pieces of batches at the end: a broker may send what fits into a limit, which nobody can use."""
    for topic in answer.responses:
        for each in topic.partitions:
            assert each.records is not None
            end = 0
            try:
                while end < len(each.records):
                    end += read_header(each.records, end).size
            except CorruptRecords:
                each.records = each.records[:end]


def counts(found: list[PartitionData]) -> list[tuple[int, int]]:
    """Return how many batches each partition gave: (partition, batches)."""
    counted = []
    for each in found:
        records, count = each.records or b"", 0
        while records:
            records = records[read_header(records).size :]
            count += 1
        counted.append((each.partition_index, count))
    return counted


@dataclass
class Log:
    """A topic of 4 partitions of a rule's own. It is read over one connection, and all else is done over another."""

    world: World
    client: Client
    other: Client
    name: str
    topic_id: UUID

    @property
    def newest(self) -> int:
        """The newest version of Fetch."""
        return self.client.newest(FetchRequest, FETCH[-1])

    def called(self, version: int) -> tuple[str, UUID]:
        """Return what a version of Fetch calls the topic."""
        return named(version, self.name, self.topic_id)

    def want(
        self,
        version: int,
        *partitions: tuple[int, int, int],
        wait: int = LONG,
        least: int = 1,
        most: int = MOST,
        isolation: int = 0,
        **each: Any,
    ) -> FetchRequest:
        """Return a fetch of (partition, offset, limit)."""
        topic = self.called(version)
        return asking(
            [
                (topic, FetchPartition(partition=index, fetch_offset=at, partition_max_bytes=limit, **each))
                for index, at, limit in partitions
            ],
            max_wait_ms=wait,
            min_bytes=least,
            max_bytes=most,
            isolation_level=isolation,
        )

    async def fetch(self, request: FetchRequest, version: int, *, after: float = 0.0) -> list[PartitionData]:
        """Return what is said of the partitions, in whole batches. It must be said after so many seconds."""
        watch = Stopwatch(self.world)
        answer = await self.client.call(request, version)
        assert watch.shows(after)
        return self._taken(answer, version)

    async def held(
        self, request: FetchRequest, version: int, act: Callable[[], Awaitable[Any]], *, woken: bool = True
    ) -> list[PartitionData]:
        """Send a fetch, do something while it is held, and return what is answered.

        That must come by it, or else must not before the time is over.
        """
        # Before it is sent: while it is, others may have their turn, and the broker counts already.
        watch = Stopwatch(self.world)
        call = await self.client.send(request, version)
        assert await call.parked()
        await act()
        answer = await call.answer()
        if woken:
            assert watch.seconds < request.max_wait_ms / 2000
        else:
            assert watch.shows(request.max_wait_ms / 1000)
        return self._taken(answer, version)

    async def put(self, index: int, *batches: bytes) -> None:
        """Append batches, one by one."""
        await put(self.other, self.name, index, *batches)

    def _taken(self, answer: FetchResponse, version: int) -> list[PartitionData]:
        only_whole_batches(answer)
        (topic,) = answer.responses
        name, topic_id = self.called(version)
        entry = FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=topic.partitions)
        assert answer == FetchResponse(responses=[entry])
        return list(topic.partitions)


async def own_log(world: World) -> Log:
    """Return a log that is empty."""
    client, other = await world.client(), await world.client()
    name = await new_topic(client, 4)
    (topic_id,) = await client.topic_ids(name)
    return Log(world, client, other, name, topic_id)


async def filled(world: World) -> Log:
    """Return a log of which partitions 0, 1 and 2 hold `BATCHES`, and 3 holds nothing."""
    log = await own_log(world)
    for index in range(3):
        await log.put(index, SMALL, MIDDLE, LARGE)
    return log
