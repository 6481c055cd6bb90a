"""Fetch where there are no records: that there is nothing yet, or why there is nothing, in every version.

Answers are compared as a whole, but for what no two brokers share (`kcoord.check.masked`).
"""

import itertools
import struct
from collections.abc import Callable
from typing import Any, Final

from kcoord.check.fetches import (
    FETCH,
    HANDLED,
    LONG,
    NAMES_UNTIL,
    READ,
    SERVED,
    error_of,
    holds,
    named,
    no_partition,
    no_topic,
    out_of_range,
)
from kcoord.check.logs import NOBODY
from kcoord.check.masked import IDS, Masked, masked
from kcoord.check.rule import rule
from kcoord.check.steps import Stopwatch
from kcoord.check.topics import NO_ID
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    MetadataRequest,
    PartitionData,
)

SESSIONS: Final = range(7, 19)
EPOCHS: Final = range(9, 19)
FETCHED_EPOCHS: Final = range(12, 19)
WAIT: Final = 200
"""Milliseconds that a fetch waits if it must."""
SESSION: Final = "KIP-227; Apache Kafka FetchManager.newContext"


def want(
    version: int, *topics: tuple[str, list[tuple[int, int]]], wait: int = WAIT, least: int = 1, **what: Any
) -> FetchRequest:
    """Return a fetch: of each topic, (partition, offset). Names stand for ids where these are asked for."""
    of_each = {name: what.pop(name) for name in ("current_leader_epoch", "last_fetched_epoch") if name in what}
    listed = []
    for name, partitions in topics:
        topic, topic_id = called(version, name)
        parts = [
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000, **of_each)
            for index, offset in partitions
        ]
        listed.append(FetchTopic(topic=topic, topic_id=topic_id, partitions=parts))
    return FetchRequest(max_wait_ms=wait, min_bytes=least, max_bytes=10_000, topics=listed, **what)


def fetched(version: int, *topics: tuple[str, list[PartitionData]], error: int = 0) -> FetchResponse:
    """Return the answer: of each topic, what is said of its partitions."""
    listed = []
    for name, partitions in topics:
        topic, topic_id = called(version, name)
        listed.append(FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=partitions))
    return FetchResponse(error_code=error, responses=listed)


def called(version: int, name: str) -> tuple[str, Any]:
    """Return what a version of Fetch calls a topic; one that is not shared has an id that nobody knows."""
    return named(version, name, IDS.get(name, NOBODY))


async def ask(
    world: World,
    asked: Masked,
    request: FetchRequest,
    version: int,
    *,
    after: float = 0.0,
    but: Callable[[Any], None] | None = None,
) -> Any:
    """Return the answer, which must come after so many seconds, and hardly later."""
    watch = Stopwatch(world)
    answer = await asked.ask(request, version, but=but)
    assert watch.shows(after)
    return answer


@rule(
    id="fetch-1",
    api="Fetch",
    says="A fetch waits for records as long as it allows, and is told then that there are none.",
    source=f"{SERVED}, DelayedFetch.onComplete",
    versions="4-18",
    cost=3.1,
)
async def fetch_1(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        answer = await ask(world, asked, want(version, ("t", [(0, 0)])), version, after=WAIT / 1000)
        assert answer == fetched(version, ("t", [holds(0, version=version)]))


@rule(
    id="fetch-2",
    api="Fetch",
    says="Partitions of several topics are told of in the order of the request.",
    source=HANDLED,
    versions="4-18",
    cost=3.1,
)
async def fetch_2(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        request = want(version, ("u", [(2, 0), (0, 0)]), ("t", [(1, 0)]))
        assert await ask(world, asked, request, version, after=WAIT / 1000) == fetched(
            version,
            ("u", [holds(2, version=version), holds(0, version=version)]),
            ("t", [holds(1, version=version)]),
        )


@rule(
    id="fetch-3",
    api="Fetch",
    says="A fetch with no time to wait, or that wants no bytes, is answered at once.",
    source=SERVED,
    versions="4-18",
    cost=0.7,
)
async def fetch_3(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        for wait, least in ((0, 1), (-1, 1), (LONG, 0), (LONG, -1)):
            answer = await ask(world, asked, want(version, ("t", [(0, 0)]), wait=wait, least=least), version)
            assert answer == fetched(version, ("t", [holds(0, version=version)]))


@rule(
    id="fetch-4",
    api="Fetch",
    says="A fetch of no topics is answered at once.",
    source=SERVED,
    versions="4-18",
)
async def fetch_4(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        assert await ask(world, asked, want(version, wait=LONG), version) == fetched(version)


@rule(
    id="fetch-5",
    api="Fetch",
    says="Of a topic that does not exist every partition is told at once that its name, or its id, is unknown.",
    source=f"KIP-516; {HANDLED}",
    versions="4-18",
)
async def fetch_5(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    for version in world.offered(FetchRequest, FETCH):
        answer = await ask(world, asked, want(version, (nope, [(0, 0), (7, 0)]), wait=LONG), version)
        assert answer == fetched(version, (nope, [no_topic(0, version), no_topic(7, version)]))


@rule(
    id="fetch-6",
    api="Fetch",
    says="Partitions that a topic does not have are unknown, and that is told at once.",
    source=HANDLED,
    versions="4-18",
)
async def fetch_6(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        answer = await ask(world, asked, want(version, ("t", [(9, 0), (-1, 0)]), wait=LONG), version)
        assert answer == fetched(version, ("t", [no_partition(9), no_partition(-1)]))


@rule(
    id="fetch-7",
    api="Fetch",
    says="No topic has the id that is all zeros.",
    source=f"KIP-516; {HANDLED}",
    versions="13-18",
)
async def fetch_7(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, range(13, 19)):
        request = want(version, ("t", [(0, 0)]), wait=LONG)
        request.topics[0].topic_id = NO_ID
        expected = fetched(version, ("t", [no_topic(0, version)]))
        expected.responses[0].topic_id = NO_ID
        assert await ask(world, asked, request, version) == expected


@rule(
    id="fetch-8",
    api="Fetch",
    says="What does not exist does not cut the wait for other partitions short, and comes last.",
    source=f"{HANDLED}, ReplicaManager.fetchMessages",
    versions="4-18",
    cost=3.1,
)
async def fetch_8(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    for version in world.offered(FetchRequest, FETCH):
        request = want(version, (nope, [(1, 0)]), ("t", [(0, 0)]))
        answer = await ask(world, asked, request, version, after=WAIT / 1000)
        assert answer == fetched(version, ("t", [holds(0, version=version)]), (nope, [no_topic(1, version)]))


@rule(
    id="fetch-9",
    api="Fetch",
    says="An offset that is not there fails at once, whatever else there is to wait for.",
    source=f"{READ}, ReplicaManager.fetchMessages: errorReadingData",
    versions="4-18",
    cost=0.7,
)
async def fetch_9(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        for offset in (5, -1, 2**63 - 1):
            answer = await ask(world, asked, want(version, ("t", [(0, offset)]), wait=LONG), version)
            assert answer == fetched(version, ("t", [out_of_range(0)]))
            answer = await ask(world, asked, want(version, ("t", [(1, 0), (0, offset)]), wait=LONG), version)
            assert answer == fetched(version, ("t", [holds(1, version=version), out_of_range(0)]))


@rule(
    id="fetch-10",
    api="Fetch",
    says="Who reads only committed records is told of aborted transactions, too, of which there are none.",
    source=f"KIP-98; {READ}",
    versions="4-18",
    cost=3.1,
)
async def fetch_10(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        request = want(version, ("t", [(9, 0), (0, 0)]), isolation_level=1)
        answer = await ask(world, asked, request, version, after=WAIT / 1000)
        assert answer == fetched(version, ("t", [holds(0, committed=True, version=version), no_partition(9)]))
        answer = await ask(world, asked, want(version, ("t", [(0, 5)]), wait=LONG, isolation_level=1), version)
        assert answer == fetched(version, ("t", [out_of_range(0)]))


@rule(
    id="fetch-11",
    api="Fetch",
    says="An isolation level that does not exist fails as a whole where there is room to say so, and for each "
    "partition as long as topics have names.",
    source=f"{HANDLED}, FetchRequest.getErrorResponse, IsolationLevel.forId",
    versions="4-18",
    since="4.0",
)
async def fetch_11(world: World) -> None:
    asked = await masked(world)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    for version in world.offered(FetchRequest, FETCH):
        request = want(version, ("t", [(0, 0), (9, 0)]), isolation_level=7, wait=LONG)
        partitions = [("t", [error_of(index, error, aborted=[]) for index in (0, 9)])]
        expected = fetched(
            version,
            *(partitions if version <= NAMES_UNTIL else []),
            error=error if version >= SESSIONS[0] else ErrorCode.NONE,
        )
        assert await ask(world, asked, request, version) == expected


@rule(
    id="fetch-12",
    api="Fetch",
    says="A leader's epoch that is newer than the broker's is unknown, and any below 0 claims none.",
    source="KIP-320; Apache Kafka Partition.checkCurrentLeaderEpoch, FetchRequest.optionalEpoch",
    versions="9-18",
)
async def fetch_12(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, EPOCHS):
        for epoch in (-1, 0, -2):
            request = want(version, ("t", [(0, 0)]), wait=0, current_leader_epoch=epoch)
            answer = await ask(world, asked, request, version)
            assert answer == fetched(version, ("t", [holds(0, version=version)]))
        for epoch in (1, 5):
            request = want(version, ("t", [(0, 0)]), wait=LONG, current_leader_epoch=epoch)
            answer = await ask(world, asked, request, version)
            assert answer == fetched(version, ("t", [error_of(0, ErrorCode.UNKNOWN_LEADER_EPOCH)]))


@rule(
    id="fetch-13",
    api="Fetch",
    says="Who has last read a record of an epoch that never was is out of range.",
    source="KIP-595; Apache Kafka Partition.readRecords",
    versions="12-18",
)
async def fetch_13(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCHED_EPOCHS):
        for epoch in (0, -2):
            request = want(version, ("t", [(0, 0)]), wait=0, current_leader_epoch=0, last_fetched_epoch=epoch)
            answer = await ask(world, asked, request, version)
            assert answer == fetched(version, ("t", [holds(0, version=version)]))
        request = want(version, ("t", [(0, 0)]), wait=LONG, current_leader_epoch=0, last_fetched_epoch=3)
        assert await ask(world, asked, request, version) == fetched(version, ("t", [out_of_range(0)]))


@rule(
    id="fetch-14",
    api="Fetch",
    says="A partition that is named twice has one answer; a topic has an entry for each time, unless they are "
    "neighbours.",
    source=f"{HANDLED}, FetchResponse.toMessage",
    versions="4-18",
)
async def fetch_14(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, FETCH):
        first, second = [holds(0, version=version)], [holds(1, version=version)]
        answer = await ask(world, asked, want(version, ("t", [(0, 0), (0, 0)]), wait=0), version)
        assert answer == fetched(version, ("t", first))
        answer = await ask(world, asked, want(version, ("t", [(0, 0)]), ("t", [(1, 0)]), wait=0), version)
        assert answer == fetched(version, ("t", first + second))
        request = want(version, ("t", [(0, 0)]), ("u", [(0, 0)]), ("t", [(1, 0)]), wait=0)
        answer = await ask(world, asked, request, version)
        assert answer == fetched(version, ("t", first), ("u", first), ("t", second))


@rule(
    id="fetch-15",
    api="Fetch",
    says="Topics without partitions are not in the answer, which comes at once, whether they exist or not.",
    source=SERVED,
    versions="4-18",
)
async def fetch_15(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    for version in world.offered(FetchRequest, FETCH):
        request = want(version, ("t", []), (nope, []), wait=LONG)
        assert await ask(world, asked, request, version) == fetched(version)


@rule(
    id="fetch-16",
    api="Fetch",
    says="Who asks for a new session has a full answer, whether the broker gives one or not.",
    source=SESSION,
    versions="7-18",
    cost=5.0,
)
async def fetch_16(world: World) -> None:
    asked = await masked(world)
    given: list[int] = []

    def without_session(answer: FetchResponse) -> None:
        given.append(answer.session_id)
        answer.session_id = 0

    for version in world.offered(FetchRequest, SESSIONS):
        for session_id in (0, 77):
            request = want(version, ("t", [(0, 0)]), session_id=session_id, session_epoch=0)
            answer = await ask(world, asked, request, version, after=WAIT / 1000, but=without_session)
            assert answer == fetched(version, ("t", [holds(0, version=version)]))
            # A broker has room for so many sessions only, and keeps each for some time.
            ended = want(version, wait=LONG, session_id=given[-1], session_epoch=-1)
            assert await ask(world, asked, ended, version) == fetched(version)


@rule(
    id="fetch-17",
    api="Fetch",
    says="Who ends a session, or never had one, has a full answer and no session.",
    source=SESSION,
    versions="7-18",
    cost=5.0,
)
async def fetch_17(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, SESSIONS):
        for session_id in (0, 77):
            request = want(version, ("t", [(0, 0)]), session_id=session_id, session_epoch=-1)
            answer = await ask(world, asked, request, version, after=WAIT / 1000)
            assert answer == fetched(version, ("t", [holds(0, version=version)]))


@rule(
    id="fetch-18",
    api="Fetch",
    says="Who goes on with a session that the broker does not know is told that at once, and nothing else.",
    source=SESSION,
    versions="7-18",
    cost=0.5,
)
async def fetch_18(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(FetchRequest, SESSIONS):
        name, topic_id = called(version, "u")
        for session_id, epoch in itertools.product((0, 77, -1), (1, 5, 2**31 - 1, -5)):
            request = want(version, ("t", [(0, 0)]), wait=LONG, session_id=session_id, session_epoch=epoch)
            request.forgotten_topics_data = [ForgottenTopic(topic=name, topic_id=topic_id, partitions=[0])]
            answer = await ask(world, asked, request, version)
            assert answer == fetched(version, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)


@rule(
    id="fetch-19",
    api="Fetch",
    says="What is sent behind a fetch that waits is answered after it.",
    source="Apache Kafka SocketServer: a connection is muted while it has a request",
    versions="4-12",
    cost=0.5,
)
async def fetch_19(world: World) -> None:
    client = await world.client()
    version = client.newest(FetchRequest, NAMES_UNTIL)
    watch = Stopwatch(world)
    fetching = await client.send(want(version, (world.t, [(0, 0)]), wait=500), version)
    behind = await client.send(MetadataRequest(topics=[]))
    await behind.answer()
    assert watch.shows(0.5)
    assert fetching.response == fetched(version, (world.t, [holds(0, version=version)]))


@rule(
    id="fetch-20",
    api="Fetch",
    says="A version that is not offered closes the connection.",
    source="Apache Kafka RequestContext.parseRequest, SocketServer.processCompletedReceives",
    versions="0+",
    topics=(),
)
async def fetch_20(world: World) -> None:
    for version in world.unserved(FetchRequest):
        async with await world.client() as client:
            await client.send_frame(struct.pack(">hhih", FetchRequest.API_KEY, version, 1, -1) + bytes(8))
            assert await client.is_closed()
