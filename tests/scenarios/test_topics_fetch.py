"""What clients are told when they fetch, in every version: that there is nothing yet, or why there is nothing."""

import itertools
import struct
from typing import Any
from uuid import UUID

import pytest
import trio

from tests.scenarios import both_worlds
from tests.scenarios.both_worlds import IDS, NOBODY, UNKNOWN, UNKNOWN_ID, ZERO, Both, replaced
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

both = both_worlds.both
LONG = 60_000
"""Milliseconds: a wait that would not go unnoticed, in any time."""
FETCH = range(4, 19)
SESSIONS = range(7, 19)
NAMES_UNTIL = 12


def want(
    version: int, *topics: tuple[str, list[tuple[int, int]]], wait: int = 300, least: int = 1, **what: Any
) -> FetchRequest:
    """A fetch: of each topic, (partition, offset). Names stand for ids where these are asked for."""
    of_each = {name: what.pop(name) for name in ("current_leader_epoch", "last_fetched_epoch") if name in what}
    by_id = version > NAMES_UNTIL
    return FetchRequest(
        max_wait_ms=wait,
        min_bytes=least,
        max_bytes=10_000,
        topics=[
            FetchTopic(
                topic="" if by_id else name,
                topic_id=id_of(name) if by_id else ZERO,
                partitions=[
                    FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000, **of_each)
                    for index, offset in partitions
                ],
            )
            for name, partitions in topics
        ],
        **what,
    )


def id_of(name: str) -> UUID:
    return IDS.get(name, NOBODY)


def fetched(version: int, *topics: tuple[str, list[PartitionData]], error: int = 0) -> FetchResponse:
    by_id = version > NAMES_UNTIL
    return FetchResponse(
        error_code=error,
        responses=[
            FetchableTopicResponse(
                topic="" if by_id else name, topic_id=id_of(name) if by_id else ZERO, partitions=partitions
            )
            for name, partitions in topics
        ],
    )


def nothing(index: int, *, committed: bool = False, version: int = 18) -> PartitionData:
    """What is said of an empty partition. Aborted transactions are listed for those who ask for committed records."""
    return PartitionData(
        partition_index=index,
        high_watermark=0,
        last_stable_offset=0,
        log_start_offset=0 if version >= 5 else -1,
        aborted_transactions=[] if committed else None,
        records=b"",
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


def unknown(version: int, index: int, *, whole_topic: bool = True) -> PartitionData:
    """What is said of a partition that does not exist; from version 13 on, of a topic that does not."""
    error = UNKNOWN_ID if whole_topic and version > NAMES_UNTIL else UNKNOWN
    return error_of(index, error, aborted=[])


def waited(both: Both, seconds: float) -> bool:
    """Whether the answers came after so many seconds, exactly, if time is virtual.

    In real time a busy machine makes them late; but they come no sooner, and not as late as after `LONG`.
    """
    if both.in_virtual_time:
        return both.elapsed == [pytest.approx(seconds)]
    return all(seconds - 0.01 <= elapsed < LONG / 2000 for elapsed in both.elapsed)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_waits_for_records(both: Both, version: int):
    answer = await both.ask(want(version, ("t", [(0, 0)]), wait=400), version)
    assert answer == fetched(version, ("t", [nothing(0, version=version)]))
    assert waited(both, 0.4)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_several_partitions(both: Both, version: int):
    request = want(version, ("u", [(2, 0), (0, 0)]), ("t", [(1, 0)]))
    answer = await both.ask(request, version)
    assert answer == fetched(
        version,
        ("u", [nothing(2, version=version), nothing(0, version=version)]),
        ("t", [nothing(1, version=version)]),
    )
    assert waited(both, 0.3)


@pytest.mark.parametrize(("wait", "least"), [(0, 1), (-1, 1), (LONG, 0), (LONG, -1)])
async def test_fetch_waits_for_nothing(both: Both, wait: int, least: int):
    answer = await both.ask(want(18, ("t", [(0, 0)]), wait=wait, least=least), 18)
    assert answer == fetched(18, ("t", [nothing(0)]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_no_topics(both: Both, version: int):
    assert await both.ask(want(version, wait=LONG), version) == fetched(version)
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_unknown_topics(both: Both, version: int):
    answer = await both.ask(want(version, ("nope", [(0, 0), (7, 0)]), wait=LONG), version)
    assert answer == fetched(version, ("nope", [unknown(version, 0), unknown(version, 7)]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_unknown_partitions(both: Both, version: int):
    answer = await both.ask(want(version, ("t", [(9, 0), (-1, 0)]), wait=LONG), version)
    partitions = [unknown(version, index, whole_topic=False) for index in (9, -1)]
    assert answer == fetched(version, ("t", partitions))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH[9:])
async def test_fetch_without_a_topic_id(both: Both, version: int):
    request = want(version, ("t", [(0, 0)]), wait=LONG)
    request.topics[0].topic_id = ZERO
    answer = await both.ask(request, version)
    expected = fetched(version, ("t", [unknown(version, 0)]))
    expected.responses[0].topic_id = ZERO
    assert answer == expected
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_unknown_topics_beside_others(both: Both, version: int):
    """What is unknown does not cut the wait short, and comes last."""
    request = want(version, ("nope", [(1, 0)]), ("t", [(0, 0)]))
    answer = await both.ask(request, version)
    expected = fetched(version, ("t", [nothing(0, version=version)]), ("nope", [unknown(version, 1)]))
    assert answer == expected
    assert waited(both, 0.3)


@pytest.mark.parametrize("offset", [5, -1, 2**63 - 1])
@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_an_offset_that_is_not_there(both: Both, version: int, offset: int):
    """It fails at once, whatever else there is to wait for."""
    out = error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert await both.ask(want(version, ("t", [(0, offset)]), wait=LONG), version) == fetched(version, ("t", [out]))
    assert waited(both, 0)
    answer = await both.ask(want(version, ("t", [(1, 0), (0, offset)]), wait=LONG), version)
    assert answer == fetched(version, ("t", [nothing(1, version=version), out]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_committed_records(both: Both, version: int):
    request = want(version, ("t", [(9, 0), (0, 0)]), isolation_level=1)
    answer = await both.ask(request, version)
    expected = [nothing(0, committed=True, version=version), unknown(version, 9, whole_topic=False)]
    assert answer == fetched(version, ("t", expected))
    assert waited(both, 0.3)
    answer = await both.ask(want(version, ("t", [(0, 5)]), isolation_level=1), version)
    assert answer == fetched(version, ("t", [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)]))


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_at_an_isolation_level_that_does_not_exist(both: Both, version: int):
    """Kafka stumbles over it, as a whole and, as long as topics have names, for each partition."""
    answer = await both.ask(want(version, ("t", [(0, 0), (9, 0)]), isolation_level=7, wait=LONG), version)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    named = [("t", [error_of(0, error, aborted=[]), error_of(9, error, aborted=[])])] if version <= NAMES_UNTIL else []
    assert answer == fetched(version, *named, error=error if version >= 7 else 0)
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH[5:])
async def test_fetch_from_the_right_leader(both: Both, version: int):
    """Any negative number claims no epoch, other than in ListOffsets."""
    for epoch in (-1, 0, -2):
        request = want(version, ("t", [(0, 0)]), wait=0, current_leader_epoch=epoch)
        assert await both.ask(request, version) == fetched(version, ("t", [nothing(0)]))
    for epoch in (1, 5):
        request = want(version, ("t", [(0, 0)]), wait=LONG, current_leader_epoch=epoch)
        answer = await both.ask(request, version)
        assert answer == fetched(version, ("t", [error_of(0, ErrorCode.UNKNOWN_LEADER_EPOCH)])), epoch
        assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH[8:])
async def test_fetch_after_an_epoch_that_never_was(both: Both, version: int):
    for epoch in (0, -2):
        request = want(version, ("t", [(0, 0)]), wait=0, current_leader_epoch=0, last_fetched_epoch=epoch)
        assert await both.ask(request, version) == fetched(version, ("t", [nothing(0)]))
    request = want(version, ("t", [(0, 0)]), wait=LONG, current_leader_epoch=0, last_fetched_epoch=3)
    answer = await both.ask(request, version)
    assert answer == fetched(version, ("t", [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_what_is_named_twice(both: Both, version: int):
    """A partition has one answer; a topic has an entry for each time, unless they are neighbours."""
    answer = await both.ask(want(version, ("t", [(0, 0), (0, 0)]), wait=0), version)
    assert answer == fetched(version, ("t", [nothing(0, version=version)]))
    answer = await both.ask(want(version, ("t", [(0, 0)]), ("t", [(1, 0)]), wait=0), version)
    assert answer == fetched(version, ("t", [nothing(0, version=version), nothing(1, version=version)]))
    answer = await both.ask(want(version, ("t", [(0, 0)]), ("u", [(0, 0)]), ("t", [(1, 0)]), wait=0), version)
    assert answer == fetched(
        version,
        ("t", [nothing(0, version=version)]),
        ("u", [nothing(0, version=version)]),
        ("t", [nothing(1, version=version)]),
    )


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_a_topic_without_partitions(both: Both, version: int):
    assert await both.ask(want(version, ("t", []), ("nope", []), wait=LONG), version) == fetched(version)
    assert waited(both, 0)


@pytest.mark.parametrize("version", SESSIONS)
async def test_fetch_with_a_session_is_declined(both: Both, version: int):
    """Here each fetch is a full one. Kafka hands out a session, and clients take either."""

    def no_session(answer: FetchResponse) -> None:
        answer.session_id = 0

    for session_id in (0, 77):
        request = want(version, ("t", [(0, 0)]), session_id=session_id, session_epoch=0)
        answer = await both.ask(request, version, but=no_session)
        assert answer == fetched(version, ("t", [nothing(0)]))
        assert waited(both, 0.3)


@pytest.mark.parametrize("version", SESSIONS)
async def test_fetch_ends_a_session_with_a_full_fetch(both: Both, version: int):
    for session_id in (0, 77):
        request = want(version, ("t", [(0, 0)]), session_id=session_id, session_epoch=-1)
        assert await both.ask(request, version) == fetched(version, ("t", [nothing(0)]))
        assert waited(both, 0.3)


@pytest.mark.parametrize("version", SESSIONS)
async def test_fetch_with_an_unknown_session(both: Both, version: int):
    for session_id, epoch in itertools.product((0, 77, -1), (1, 5, 2**31 - 1, -5)):
        request = want(version, ("t", [(0, 0)]), wait=LONG, session_id=session_id, session_epoch=epoch)
        request.forgotten_topics_data = [
            ForgottenTopic(topic="u", partitions=[0])
            if version <= NAMES_UNTIL
            else ForgottenTopic(topic_id=IDS["u"], partitions=[0])
        ]
        answer = await both.ask(request, version)
        assert answer == fetched(version, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        assert waited(both, 0)


async def test_fetch_keeps_its_connection_waiting_and_no_other(both: Both):
    """What is sent behind a fetch is answered after it."""
    (client, *_) = both._clients
    (ids, *_) = both._ids
    request = want(12, ("t", [(0, 0)]), wait=500)
    start = trio.current_time()
    fetching = await client.send(replaced(request, ids), 12)
    behind = await client.send(MetadataRequest(topics=[]), 5)
    await behind.answer()
    assert trio.current_time() - start >= 0.5
    assert fetching.response == fetched(12, ("t", [nothing(0)]))


@pytest.mark.parametrize("version", [3, 19])
async def test_fetch_in_other_versions(both: Both, version: int):
    assert await both.close_it(struct.pack(">hhih", 1, version, 1, -1) + b"\x00" * 8)
