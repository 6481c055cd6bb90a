"""What clients ask about partitions with ListOffsets, in every version."""

import struct

import pytest

from tests.scenarios import both_worlds
from tests.scenarios.both_worlds import UNKNOWN, Both
from wire.errors import ErrorCode
from wire.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

both = both_worlds.both
LIST_OFFSETS = range(1, 12)
LATEST, EARLIEST = -1, -2
FOUND, NOT_FOUND = (0, -1, 0, 0), (0, -1, -1, -1)
TOO_OLD = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


def look_up(*topics: tuple[str, list[tuple[int, int]]], epoch: int = -1, isolation: int = 0) -> ListOffsetsRequest:
    """A request for timestamps: of each topic, (partition, timestamp)."""
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
                    for index, timestamp in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


def looked_up(*topics: tuple[str, list[tuple[int, tuple[int, int, int, int]]]]) -> ListOffsetsResponse:
    """The answer: of each topic, (partition, (error, timestamp, offset, epoch))."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=index, error_code=error, timestamp=timestamp, offset=offset, leader_epoch=epoch
                    )
                    for index, (error, timestamp, offset, epoch) in sorted(partitions)
                ],
            )
            for name, partitions in sorted(topics)
        ]
    )


def failed(error: ErrorCode) -> tuple[int, int, int, int]:
    return error, -1, -1, -1


def ends(version: int) -> tuple[int, int, int, int]:
    """Where an empty partition begins and ends."""
    return (0, -1, 0, 0 if version >= 4 else -1)


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_an_empty_partition(both: Both, version: int):
    expected = {
        LATEST: ends(version),
        EARLIEST: ends(version),
        -3: NOT_FOUND if version >= 7 else TOO_OLD,
        -4: ends(version) if version >= 8 else TOO_OLD,
        -5: NOT_FOUND if version >= 9 else TOO_OLD,
        -6: NOT_FOUND if version >= 11 else TOO_OLD,
        -7: TOO_OLD,
        -(2**63): TOO_OLD,
        0: NOT_FOUND,
        2**62: NOT_FOUND,
    }
    for timestamp, what in expected.items():
        answer = await both.ask(look_up(("t", [(0, timestamp)])), version)
        assert answer == looked_up(("t", [(0, what)])), timestamp


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_several_partitions(both: Both, version: int):
    request = look_up(("u", [(2, LATEST), (0, EARLIEST)]), ("t", [(1, 5), (0, LATEST), (2, -99)]))
    assert await both.ask(request, version) == looked_up(
        ("u", [(2, ends(version)), (0, ends(version))]),
        ("t", [(1, NOT_FOUND), (0, ends(version)), (2, TOO_OLD)]),
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_what_does_not_exist(both: Both, version: int):
    unknown = failed(UNKNOWN)
    request = look_up(
        ("nope", [(0, LATEST)]),
        ("t", [(9, LATEST), (0, LATEST), (-1, EARLIEST)]),
        ("a b", [(0, 0)]),
        ("", [(1, LATEST)]),
    )
    assert await both.ask(request, version) == looked_up(
        ("nope", [(0, unknown)]),
        ("t", [(-1, unknown), (0, ends(version)), (9, unknown)]),
        ("a b", [(0, unknown)]),
        ("", [(1, unknown)]),
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_by_a_timestamp_without_a_meaning(both: Both, version: int):
    """That is seen before the topic is looked for, but after it was seen what is asked for twice."""
    request = look_up(("nope", [(0, -99)]), ("t", [(9, -99), (0, -99), (0, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("nope", [(0, TOO_OLD)]), ("t", [(9, TOO_OLD), (0, failed(ErrorCode.INVALID_REQUEST))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_partition_that_is_asked_for_twice(both: Both, version: int):
    """The partition has one answer, and that is an error; the others are served."""
    invalid = failed(ErrorCode.INVALID_REQUEST)
    request = look_up(("t", [(0, LATEST), (0, EARLIEST), (1, LATEST)]), ("u", [(0, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, invalid), (1, ends(version))]), ("u", [(0, ends(version))])
    )
    request = look_up(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(0, LATEST), (2, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, invalid), (2, ends(version))]), ("u", [(0, ends(version))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_topic_that_is_named_twice(both: Both, version: int):
    request = look_up(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(2, EARLIEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, ends(version)), (2, ends(version))]), ("u", [(0, ends(version))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_nothing(both: Both, version: int):
    assert await both.ask(look_up(), version) == looked_up()
    assert await both.ask(look_up(("t", []), ("nope", [])), version) == looked_up()


@pytest.mark.parametrize("version", LIST_OFFSETS[3:])
async def test_offsets_from_the_right_leader(both: Both, version: int):
    expected = {
        -1: ends(version),
        0: ends(version),
        1: failed(ErrorCode.UNKNOWN_LEADER_EPOCH),
        5: failed(ErrorCode.UNKNOWN_LEADER_EPOCH),
        -2: failed(ErrorCode.FENCED_LEADER_EPOCH),
    }
    for epoch, what in expected.items():
        for timestamp in (LATEST, EARLIEST):
            answer = await both.ask(look_up(("t", [(0, timestamp)]), epoch=epoch), version)
            assert answer == looked_up(("t", [(0, what)])), (epoch, timestamp)


@pytest.mark.parametrize("timestamp", [-3, -4, -5, -6, -7, 0])
async def test_offsets_from_the_right_leader_by_other_timestamps(both: Both, timestamp: int):
    """Whether a timestamp has a meaning is seen before the epoch is looked at, and of the tiered ones it is not."""
    answer = await both.ask(look_up(("t", [(0, timestamp)]), epoch=5), 11)
    if timestamp == -7:
        assert answer == looked_up(("t", [(0, TOO_OLD)]))
    else:
        assert answer == looked_up(("t", [(0, failed(ErrorCode.UNKNOWN_LEADER_EPOCH))]))


@pytest.mark.parametrize("version", LIST_OFFSETS[1:])
async def test_offsets_that_are_committed(both: Both, version: int):
    for timestamp in (LATEST, EARLIEST):
        answer = await both.ask(look_up(("t", [(0, timestamp)]), isolation=1), version)
        assert answer == looked_up(("t", [(0, ends(version))]))


@pytest.mark.parametrize("version", [0, 12])
async def test_offsets_in_other_versions(both: Both, version: int):
    assert await both.close_it(struct.pack(">hhih", 2, version, 1, -1) + b"\x00" * 8)
