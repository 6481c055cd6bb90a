"""What clients ask about partitions with ListOffsets, in every version."""

import struct

import pytest

from tests.scenarios import both_worlds
from tests.scenarios.both_worlds import UNKNOWN, Both
from tests.scenarios.harness import Client, World
from tests.scenarios.logs import TIME, batch, delete_before, look_up, new_topic, put, stored
from wire.errors import ErrorCode
from wire.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from wire.records import Compression

both = both_worlds.both
LIST_OFFSETS = range(1, 12)
LATEST, EARLIEST = -1, -2
FOUND, NOT_FOUND = (0, -1, 0, 0), (0, -1, -1, -1)
TOO_OLD = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


def look_up_all(*topics: tuple[str, list[tuple[int, int]]], epoch: int = -1, isolation: int = 0) -> ListOffsetsRequest:
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
        answer = await both.ask(look_up_all(("t", [(0, timestamp)])), version)
        assert answer == looked_up(("t", [(0, what)])), timestamp


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_several_partitions(both: Both, version: int):
    request = look_up_all(("u", [(2, LATEST), (0, EARLIEST)]), ("t", [(1, 5), (0, LATEST), (2, -99)]))
    assert await both.ask(request, version) == looked_up(
        ("u", [(2, ends(version)), (0, ends(version))]),
        ("t", [(1, NOT_FOUND), (0, ends(version)), (2, TOO_OLD)]),
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_what_does_not_exist(both: Both, version: int):
    unknown = failed(UNKNOWN)
    request = look_up_all(
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
    request = look_up_all(("nope", [(0, -99)]), ("t", [(9, -99), (0, -99), (0, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("nope", [(0, TOO_OLD)]), ("t", [(9, TOO_OLD), (0, failed(ErrorCode.INVALID_REQUEST))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_partition_that_is_asked_for_twice(both: Both, version: int):
    """The partition has one answer, and that is an error; the others are served."""
    invalid = failed(ErrorCode.INVALID_REQUEST)
    request = look_up_all(("t", [(0, LATEST), (0, EARLIEST), (1, LATEST)]), ("u", [(0, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, invalid), (1, ends(version))]), ("u", [(0, ends(version))])
    )
    request = look_up_all(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(0, LATEST), (2, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, invalid), (2, ends(version))]), ("u", [(0, ends(version))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_topic_that_is_named_twice(both: Both, version: int):
    request = look_up_all(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(2, EARLIEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, ends(version)), (2, ends(version))]), ("u", [(0, ends(version))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_nothing(both: Both, version: int):
    assert await both.ask(look_up_all(), version) == looked_up()
    assert await both.ask(look_up_all(("t", []), ("nope", [])), version) == looked_up()


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
            answer = await both.ask(look_up_all(("t", [(0, timestamp)]), epoch=epoch), version)
            assert answer == looked_up(("t", [(0, what)])), (epoch, timestamp)


@pytest.mark.parametrize("timestamp", [-3, -4, -5, -6, -7, 0])
async def test_offsets_from_the_right_leader_by_other_timestamps(both: Both, timestamp: int):
    """Whether a timestamp has a meaning is seen before the epoch is looked at, and of the tiered ones it is not."""
    answer = await both.ask(look_up_all(("t", [(0, timestamp)]), epoch=5), 11)
    if timestamp == -7:
        assert answer == looked_up(("t", [(0, TOO_OLD)]))
    else:
        assert answer == looked_up(("t", [(0, failed(ErrorCode.UNKNOWN_LEADER_EPOCH))]))


@pytest.mark.parametrize("version", LIST_OFFSETS[1:])
async def test_offsets_that_are_committed(both: Both, version: int):
    for timestamp in (LATEST, EARLIEST):
        answer = await both.ask(look_up_all(("t", [(0, timestamp)]), isolation=1), version)
        assert answer == looked_up(("t", [(0, ends(version))]))


@pytest.mark.parametrize("version", [0, 12])
async def test_offsets_in_other_versions(both: Both, version: int):
    assert await both.close_it(struct.pack(">hhih", 2, version, 1, -1) + b"\x00" * 8)


# --- logs with records ---


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


BATCHES = ([0, 10, 5], [2, 30, 30], [20])
"""When the records of three batches were made, in ms after `TIME`."""


def found(offset: int, after: int | None = None, version: int = 11) -> tuple[int, int, int, int]:
    """What is said of a place; of a record its time, too."""
    return (0, -1 if after is None else TIME + after, offset, 0 if version >= 4 else -1)


async def filled(client: Client, compression: Compression = Compression.NONE, **settings: str) -> str:
    name = await new_topic(client, **settings)
    batches = [batch(times=[TIME + after for after in times], compression=compression) for times in BATCHES]
    await put(client, name, 0, *batches)
    return name


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_log(client: Client, version: int):
    name = await filled(client)
    expected = {
        LATEST: found(7, version=version),
        EARLIEST: found(0, version=version),
        -3: found(4, 30) if version >= 7 else TOO_OLD,
        -4: found(0) if version >= 8 else TOO_OLD,
        -5: NOT_FOUND if version >= 9 else TOO_OLD,
        -6: NOT_FOUND if version >= 11 else TOO_OLD,
        -7: TOO_OLD,
        0: found(0, 0, version),
        TIME + 6: found(1, 10, version),
        2**62: NOT_FOUND,
    }
    for timestamp, what in expected.items():
        assert await look_up(client, name, 0, timestamp, version) == what, timestamp


@pytest.mark.parametrize("compression", Compression)
async def test_offsets_by_exact_times(client: Client, compression: Compression):
    """The first record, by its offset, that is not older: also inside of a batch, packed or not."""
    name = await filled(client, compression)
    expected = {
        -5: found(0, 0),
        0: found(0, 0),
        1: found(1, 10),
        5: found(1, 10),
        10: found(1, 10),
        11: found(4, 30),
        20: found(4, 30),
        30: found(4, 30),
        31: NOT_FOUND,
    }
    for after, what in expected.items():
        assert await look_up(client, name, 0, TIME + after) == what, after
    assert await look_up(client, name, 0, -3) == found(4, 30)
    assert await look_up(client, name, 1, TIME) == NOT_FOUND


@pytest.mark.parametrize("compression", Compression)
async def test_offsets_behind_deleted_records(client: Client, compression: Compression):
    """A batch of which only the first records are deleted is looked into for the others."""
    name = await filled(client, compression)
    for start, expected in {
        2: {0: found(2, 5), 5: found(2, 5), 6: found(4, 30), 31: NOT_FOUND},
        5: {0: found(5, 30), 30: found(5, 30), 31: NOT_FOUND},
        6: {0: found(6, 20), 20: found(6, 20), 21: NOT_FOUND},
        7: {0: NOT_FOUND},
    }.items():
        await delete_before(client, name, 0, start)
        for after, what in expected.items():
            assert await look_up(client, name, 0, TIME + after) == what, (start, after)
        assert await look_up(client, name, 0, EARLIEST) == found(start)
        assert await look_up(client, name, 0, -4) == found(start)
        assert await look_up(client, name, 0, LATEST) == found(7)
        for timestamp in (-5, -6):
            assert await look_up(client, name, 0, timestamp) == NOT_FOUND


@pytest.mark.parametrize("compression", Compression)
async def test_offsets_where_the_broker_gives_the_time(client: Client, compression: Compression):
    """All records of a batch have one time, and the first of them stands for it."""
    name = await filled(client, compression, message_timestamp_type="LogAppendTime")
    error, first, offset, epoch = await look_up(client, name, 0, 0)
    assert (error, offset, epoch) == (0, 0, 0)
    assert first > TIME + 100
    assert await look_up(client, name, 0, first) == (0, first, 0, 0)
    error, last, offset, epoch = await look_up(client, name, 0, -3)
    assert (error, epoch) == (0, 0)
    assert last >= first
    assert offset in (0, 3, 6)  # the first batch of that millisecond
    assert await look_up(client, name, 0, last) == (0, last, offset, 0)
    assert await look_up(client, name, 0, last + 1) == NOT_FOUND
    _, times = zip(*[(one.offset, one.timestamp) for one in await stored(client, name, 0)], strict=True)
    assert times[0] == times[1] == times[2] == first
    assert times[6] == last


async def test_offsets_of_the_newest_record_when_several_are(client: Client):
    """The first of them, wherever it is."""
    name = await new_topic(client)
    await put(client, name, 0, batch(times=[TIME, TIME + 5, TIME + 5]), batch(times=[TIME + 5, TIME]))
    assert await look_up(client, name, 0, -3) == found(1, 5)


async def test_offsets_of_records_without_a_time(client: Client):
    """They have none that is looked for; but if none has any, the first is as new as the others."""
    name = await new_topic(client)
    await put(client, name, 0, batch(times=[-1, -1]))
    assert await look_up(client, name, 0, 0) == NOT_FOUND
    assert await look_up(client, name, 0, -3) == (0, -1, 0, 0)
    await put(client, name, 0, batch(times=[-1, 5]))
    assert await look_up(client, name, 0, 0) == (0, 5, 3, 0)
    assert await look_up(client, name, 0, -3) == (0, 5, 3, 0)


@pytest.mark.parametrize("version", LIST_OFFSETS[1:])
async def test_offsets_of_committed_records(client: Client, version: int):
    """Without transactions these are all."""
    name = await filled(client)
    for timestamp, what in {LATEST: found(7), EARLIEST: found(0), TIME + 6: found(1, 10)}.items():
        answer = await client.call(look_up_all((name, [(0, timestamp)]), isolation=1), version)
        ((one,),) = [topic.partitions for topic in answer.topics]
        assert (one.error_code, one.timestamp, one.offset) == what[:3]


@pytest.mark.parametrize("isolation", [2, -1, 127])
@pytest.mark.parametrize("version", LIST_OFFSETS[1:])
async def test_offsets_of_records_in_no_known_isolation(both: Both, version: int, isolation: int):
    """That spoils the request: what is asked for twice fails twice, and topics keep their places."""
    unknown = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    for request in (
        look_up_all(("t", [(0, LATEST)]), isolation=isolation),
        look_up_all(("t", [(0, -99), (0, 5)]), ("nope", [(0, LATEST)]), ("u", []), isolation=isolation),
    ):
        expected = [
            ListOffsetsTopicResponse(name=topic.name, partitions=[unknown] * len(topic.partitions))
            for topic in sorted(request.topics, key=lambda topic: topic.name)
        ]
        assert (await both.ask(request, version)).topics == expected
