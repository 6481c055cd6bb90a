"""Fetch (key 1): record batches from where each partition is asked for, at once or as soon as there are enough.

v5 log start offset; v7 sessions (KIP-227); v9 leader epoch (KIP-320); v11 racks (KIP-392); v12 flexible, last
fetched epoch (KIP-595); v13 topic ids (KIP-516); v15 replica state (KIP-903); v16 node endpoints (KIP-951);
v17 directory id (KIP-853); v18 high watermark (KIP-1166).

There are no transactions: what is committed is all there is, and every offset below the high watermark is stable.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import trio

from kcoord.apis.api import Api, Call, weighed
from kcoord.apis.epochs import check_leader_epoch
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Partition, Topic
from kcoord.log.epochs import NO_EPOCH
from wire.errors import ErrorCode
from wire.messages import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

TOPIC_IDS_SINCE = 13
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
FULL_FETCH_EPOCHS = frozenset({0, -1})
"""Session epochs that ask for everything: with a new session, or with none."""
MOST_BYTES = 57_671_680
"""Bytes of records in one answer, whatever the client allows (Apache Kafka, default of `fetch.max.bytes`)."""
BYTES_AS_AN_ENTRY = 4_096
"""How many bytes of records are as much work to send as one partition's entry."""

Aborted = list[AbortedTransaction] | None
Unknown = tuple[str, UUID, int, ErrorCode]
"""A partition that does not exist, under the topic's name and id in the request, and its error."""


@dataclass(slots=True)
class Wanted:
    """What is asked of one partition that exists. All that a fetch that is held keeps of its request."""

    topic: str
    topic_id: UUID
    partition: Partition
    offset: int
    limit: int
    current_leader_epoch: int
    last_fetched_epoch: int

    @property
    def count(self) -> int:
        """The bytes that are there for it, as far as its own limit goes.

        The whole batch is counted that holds the offset, and a batch that the limit cuts off is counted up to there
        (Apache Kafka `DelayedFetch.tryComplete`).
        """
        return min(self.partition.bytes_from(self.offset), self.limit)


@dataclass(slots=True)
class Plan:
    """A request, read: each partition once, with what was asked for last, in the place of the first time.

    Those that exist come before those that do not, and among these, ids that no topic has come first (Apache Kafka
    `KafkaApis.handleFetchRequest`).
    """

    wanted: list[Wanted]
    unknown: list[Unknown]
    most: int
    """Bytes of all records together, but for the first batch."""
    misdirected: bool
    """Whether another broker leads one of the partitions: a reason not to wait."""
    aborted: Aborted
    """What stands for aborted transactions, of which there are none; those who read uncommitted are told nothing."""


async def fetch(call: Call, request: FetchRequest) -> FetchResponse:
    """Answer at once if there is enough, or no reason to wait; else as soon as that is so, or the time is over.

    There is no reason to wait if a partition that exists has an error, none is asked for, or nothing is wanted
    (Apache Kafka `ReplicaManager.fetchMessages`).

    Sessions are declined with session id 0, which clients take as "ask in full each time"; one that claims a
    session is told that there is none, and asks in full then.
    """
    if request.session_epoch not in FULL_FETCH_EPOCHS:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        return await _all_failed(call.context.version, request)
    plan = await _read_request(call, request)
    least = min(request.min_bytes, plan.most)
    # The connection holds the request until it is answered, and that may take minutes.
    request.topics.clear()
    if plan.wanted and not plan.misdirected and least > 0 and request.max_wait_ms > 0:
        if not await _all_at_their_ends(plan):
            found = await _read(plan)
            if found.failed or found.size >= least:
                return await _finished(plan, found)
            del found
        await _wait(plan, least, request.max_wait_ms / 1000)
    return await _finished(plan, await _read(plan))


async def _read_request(call: Call, request: FetchRequest) -> Plan:
    wanted: dict[tuple[str | UUID, int], Wanted] = {}
    no_topic: dict[tuple[str | UUID, int], Unknown] = {}
    no_partition: dict[tuple[str | UUID, int], Unknown] = {}
    by_id = call.context.version >= TOPIC_IDS_SINCE
    turns = Turns()
    for asked in request.topics:
        await turns.step()
        topic = _find(call, asked)
        for each in asked.partitions:
            await turns.step()
            place = (asked.topic or asked.topic_id, each.partition)
            partition = None if topic is None else topic.partition(each.partition)
            if topic is None and by_id:
                no_topic[place] = (asked.topic, asked.topic_id, each.partition, ErrorCode.UNKNOWN_TOPIC_ID)
            elif topic is None or partition is None or not call.leads(topic, each.partition):
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else ErrorCode.NOT_LEADER_OR_FOLLOWER
                no_partition[place] = (asked.topic, asked.topic_id, each.partition, code)
            else:
                # Epochs below 0 stand for none (`FetchRequest.optionalEpoch`).
                wanted[place] = Wanted(
                    asked.topic,
                    asked.topic_id,
                    partition,
                    each.fetch_offset,
                    each.partition_max_bytes,
                    max(each.current_leader_epoch, NO_EPOCH),
                    max(each.last_fetched_epoch, NO_EPOCH),
                )
    return Plan(
        list(wanted.values()),
        [*no_topic.values(), *no_partition.values()],
        min(request.max_bytes, MOST_BYTES),
        any(code is ErrorCode.NOT_LEADER_OR_FOLLOWER for *_, code in no_partition.values()),
        [] if request.isolation_level == READ_COMMITTED else None,
    )


def _find(call: Call, asked: FetchTopic) -> Topic | None:
    catalog = call.broker.catalog
    if call.context.version >= TOPIC_IDS_SINCE:
        return catalog.by_id(asked.topic_id)
    return catalog.by_name(asked.topic)


async def _all_at_their_ends(plan: Plan) -> bool:
    """Whether everybody has read everything, as mostly, so that there is nothing yet to answer with."""
    turns = Turns()
    for each in plan.wanted:
        await turns.step()
        if each.offset != each.partition.high_watermark or _check(each) is not ErrorCode.NONE:
            return False
    return True


# Reading.


@dataclass(slots=True)
class Found:
    """What reading all partitions has given: `size` bytes, and whether something about one of them is wrong."""

    responses: list[FetchableTopicResponse]
    size: int = 0
    failed: bool = False


async def _read(plan: Plan) -> Found:
    """Read all partitions that exist, in their order, each of them as far as those before it leave room."""
    found = Found([])
    left = plan.most
    turns = Turns()
    for each in plan.wanted:
        room = min(each.limit, left)
        # Many may be woken by the same records, and all of them will copy and send them.
        await turns.step(1 + max(0, min(each.partition.bytes_from(each.offset), room)) // BYTES_AS_AN_ENTRY)
        # Only the first batch of all may be larger than what is allowed (KIP-74).
        data, size = _read_one(each, room, plan.aborted, at_least_one=not found.size)
        left = max(left - size, 0)
        found.size += size
        found.failed = found.failed or data.error_code != ErrorCode.NONE or data.diverging_epoch.epoch != NO_EPOCH
        _entry(found.responses, each.topic, each.topic_id).append(data)
    return found


async def _finished(plan: Plan, found: Found) -> FetchResponse:
    """Put what does not exist behind what does."""
    turns = Turns()
    for name, topic_id, index, code in plan.unknown:
        await turns.step()
        _entry(found.responses, name, topic_id).append(_error(index, code, []))
    return FetchResponse(responses=found.responses)


def _entry(responses: list[FetchableTopicResponse], name: str, topic_id: UUID) -> list[PartitionData]:
    """Return where the next partition of that topic goes: with the last one, if that is the same topic's."""
    if not responses or (responses[-1].topic, responses[-1].topic_id) != (name, topic_id):
        responses.append(FetchableTopicResponse(topic=name, topic_id=topic_id))
    return responses[-1].partitions


def _read_one(wanted: Wanted, most: int, aborted: Aborted, *, at_least_one: bool) -> tuple[PartitionData, int]:
    """Read one partition; return what is said of it, and how many bytes count as read.

    A batch that `most` cuts off is left out, which clients would throw away. Kafka sends the piece unless it is the
    first; so it is counted here, too, that the other partitions get what they would get there.
    """
    partition = wanted.partition
    error = _check(wanted)
    at_end = wanted.offset == partition.high_watermark
    diverging = _diverging(wanted)
    if error is ErrorCode.NONE and most < 0 and not at_end and diverging is None:
        # There is something, and it cannot be read: `LogSegment.read` throws.
        error = ErrorCode.UNKNOWN_SERVER_ERROR
    if error is not ErrorCode.NONE:
        return _error(partition.index, error, None), 0
    data = PartitionData(
        partition_index=partition.index,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.high_watermark,
        log_start_offset=partition.log_start_offset,
        aborted_transactions=aborted,
        records=b"",
    )
    if diverging is not None:
        data.diverging_epoch = diverging
        return data, 0
    if at_end:
        return data, 0
    data.records = partition.read(wanted.offset, most, at_least_one=at_least_one)
    size = len(data.records)
    return data, max(size, min(most, partition.bytes_from(wanted.offset))) if size else 0


def _check(wanted: Wanted) -> ErrorCode:
    """Return the error that reading would meet: no log, the wrong leader, or a place where the log is not.

    A last fetched epoch that this log never had leaves no common offset to go on from (KIP-595).
    """
    partition = wanted.partition
    if partition.deleted:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = check_leader_epoch(partition, wanted.current_leader_epoch)
    if error is not ErrorCode.NONE:
        return error
    if wanted.last_fetched_epoch > partition.leader_epoch:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    is_here = partition.log_start_offset <= wanted.offset <= partition.high_watermark
    return ErrorCode.NONE if is_here or _diverging(wanted) is not None else ErrorCode.OFFSET_OUT_OF_RANGE


def _diverging(wanted: Wanted) -> EpochEndOffset | None:
    """Return where an epoch of this log's ended in which more was read than there is of it; None if all is well.

    That is told before anything is read (KIP-595, Apache Kafka `Partition.readRecords`).
    """
    if wanted.last_fetched_epoch == NO_EPOCH:
        return None
    epoch, end = wanted.partition.end_of_epoch(wanted.last_fetched_epoch)
    diverges = epoch < wanted.last_fetched_epoch or end < wanted.offset
    return EpochEndOffset(epoch=epoch, end_offset=end) if diverges else None


def _error(index: int, code: ErrorCode, aborted: Aborted) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=aborted,
        records=b"",
    )


async def _all_failed(version: int, request: FetchRequest) -> FetchResponse:
    """Return the answer where the request itself cannot be: the error on top, and by name on each partition."""
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    if version >= TOPIC_IDS_SINCE:
        return FetchResponse(error_code=error)
    turns = Turns()
    answer = FetchResponse(error_code=error)
    async for asked in turns.over(request.topics):
        partitions = [_error(each.partition, error, []) async for each in turns.over(asked.partitions)]
        answer.responses.append(
            FetchableTopicResponse(topic=asked.topic, topic_id=asked.topic_id, partitions=partitions)
        )
    return answer


# Waiting.


class Waiting:
    """Counts what is there for a fetch that is held, and wakes it once that is enough or a partition is gone.

    Each partition reports by itself, so that what happens to one costs no look at the others.
    """

    __slots__ = ("_counts", "_least", "_total", "_wanted", "_watched", "over")

    def __init__(self, wanted: list[Wanted], least: int) -> None:
        self.over = trio.Event()
        self._wanted = wanted
        self._least = least
        self._counts = [0] * len(wanted)
        self._total = 0
        self._watched: list[Callable[[], None]] = []

    async def watch(self) -> None:
        """Begin to count."""
        turns = Turns()
        for index, each in enumerate(self._wanted):
            await turns.step()
            self._watched.append(each.partition.watch(partial(self._look, index)))
            self._look(index)

    def forget(self) -> None:
        """End it."""
        for forget in self._watched:
            forget()

    def _look(self, index: int) -> None:
        wanted = self._wanted[index]
        if wanted.partition.deleted:
            self.over.set()
        elif wanted.offset >= wanted.partition.log_start_offset:
            # Where records were deleted that are waited for, what was counted stays counted: Kafka does not wake
            # a fetch for that either, and tells it in the end.
            count = wanted.count
            self._total += count - self._counts[index]
            self._counts[index] = count
            if self._total >= self._least:
                self.over.set()


async def _wait(plan: Plan, least: int, seconds: float) -> None:
    """Wait until the partitions have so many bytes together, one of them is deleted, or the time is over.

    How many bytes an answer may have as a whole does not count here (Apache Kafka `DelayedFetch.tryComplete`).
    """
    waiting = Waiting(plan.wanted, least)
    try:
        with trio.move_on_after(seconds):
            await waiting.watch()
            await waiting.over.wait()
    finally:
        waiting.forget()


def _weight(response: FetchResponse) -> int:
    """Count partitions, and bytes as some of them."""
    partitions: Iterable[PartitionData] = (each for topic in response.responses for each in topic.partitions)
    return weighed(1 + len(each.records or b"") // BYTES_AS_AN_ENTRY for each in partitions)


API = Api(request=FetchRequest, versions="4-18", handle=fetch, weight=_weight)
