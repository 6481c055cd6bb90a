"""ListOffsets on logs with records: which record is found by a time, what deletion and the broker's time change."""

from typing import Final

from kcoord.check.logs import TIME, batch, delete_before, look_up, new_topic, put, stored
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.rules.listing_offsets import (
    EARLIEST,
    EPOCH_SINCE,
    LATEST,
    MEANINGS,
    NOT_FOUND,
    TOO_OLD,
    Place,
    look_up_all,
)
from kcoord.check.world import World
from wire.messages import ListOffsetsRequest
from wire.records import Compression

BATCHES: Final = ([0, 10, 5], [2, 30, 30], [20])
"""When the records of three batches were made, in ms after `TIME`."""
NEWEST: Final = -3
BY_TIME: Final = "KIP-79; Apache Kafka UnifiedLog.fetchOffsetByTimestamp, FileRecords.searchForTimestamp"
BY_NEWEST: Final = "KIP-734; Apache Kafka UnifiedLog.fetchOffsetByTimestamp"


def found(offset: int, after: int | None = None, version: int = EPOCH_SINCE) -> Place:
    """Return what is said of a place; of a record its time, too, in ms after `TIME`."""
    return (0, -1 if after is None else TIME + after, offset, 0 if version >= EPOCH_SINCE else -1)


async def filled(client: Client, compression: Compression = Compression.NONE, **settings: str) -> str:
    """Return a topic whose partition 0 holds `BATCHES`."""
    name = await new_topic(client, 3, **settings)
    batches = [batch(times=[TIME + after for after in times], compression=compression) for times in BATCHES]
    await put(client, name, 0, *batches)
    return name


@rule(
    id="list-offsets-13",
    api="ListOffsets",
    says="A log begins at its first record, ends behind its last, and has one that is the newest; a time finds the "
    "first record that is not older.",
    source=BY_TIME,
    versions="1-11",
    cost=2.0,
    topics=(),
)
async def list_offsets_13(world: World) -> None:
    client = await world.client()
    name = await filled(client)
    places = {NEWEST: found(4, 30), -4: found(0), -5: NOT_FOUND, -6: NOT_FOUND}
    for version in world.offered(ListOffsetsRequest):
        expected = {
            LATEST: found(7, version=version),
            EARLIEST: found(0, version=version),
            **{at: place if version >= MEANINGS[at] else TOO_OLD for at, place in places.items()},
            -7: TOO_OLD,
            0: found(0, 0, version),
            TIME + 6: found(1, 10, version),
            2**62: NOT_FOUND,
        }
        for timestamp, place in expected.items():
            assert await look_up(client, name, 0, timestamp, version) == place


@rule(
    id="list-offsets-14",
    api="ListOffsets",
    says="A time finds the first record, by its offset, that is not older, also inside of a batch, packed or not.",
    source=BY_TIME,
    versions="7-11",
    cost=2.0,
    topics=(),
    each={"compression": Compression},
)
async def list_offsets_14(world: World, compression: Compression) -> None:
    client = await world.client()
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
    for after, place in expected.items():
        assert await look_up(client, name, 0, TIME + after) == place
    assert await look_up(client, name, 0, NEWEST) == found(4, 30)
    assert await look_up(client, name, 1, TIME) == NOT_FOUND


@rule(
    id="list-offsets-15",
    api="ListOffsets",
    says="Records that were deleted are not found; a batch of which only the first are is looked into for the others.",
    source=f"KIP-107; {BY_TIME}",
    versions="9-11",
    cost=2.0,
    topics=(),
    each={"compression": Compression},
)
async def list_offsets_15(world: World, compression: Compression) -> None:
    client = await world.client()
    name = await filled(client, compression)
    tiered = [timestamp for timestamp in (-5, -6) if client.newest(ListOffsetsRequest) >= MEANINGS[timestamp]]
    starts: dict[int, dict[int, Place]] = {
        2: {0: found(2, 5), 5: found(2, 5), 6: found(4, 30), 31: NOT_FOUND},
        5: {0: found(5, 30), 30: found(5, 30), 31: NOT_FOUND},
        6: {0: found(6, 20), 20: found(6, 20), 21: NOT_FOUND},
        7: {0: NOT_FOUND},
    }
    for start, expected in starts.items():
        await delete_before(client, name, 0, start)
        for after, place in expected.items():
            assert await look_up(client, name, 0, TIME + after) == place
        assert await look_up(client, name, 0, EARLIEST) == found(start)
        assert await look_up(client, name, 0, -4) == found(start)
        assert await look_up(client, name, 0, LATEST) == found(7)
        for timestamp in tiered:
            assert await look_up(client, name, 0, timestamp) == NOT_FOUND


@rule(
    id="list-offsets-16",
    api="ListOffsets",
    says="Where the broker gives the time all records of a batch have one, and the first of them stands for it.",
    source=f"KIP-32; {BY_NEWEST}",
    versions="7-11",
    cost=2.0,
    topics=(),
    each={"compression": Compression},
    varies="which of the batches were written in the same millisecond",
)
async def list_offsets_16(world: World, compression: Compression) -> None:
    client = await world.client()
    name = await filled(client, compression, message_timestamp_type="LogAppendTime")
    error, first, offset, epoch = await look_up(client, name, 0, 0)
    assert (error, offset, epoch) == (0, 0, 0)
    assert first > TIME + 100
    assert await look_up(client, name, 0, first) == (0, first, 0, 0)
    error, last, offset, epoch = await look_up(client, name, 0, NEWEST)
    assert (error, epoch) == (0, 0)
    assert last >= first
    assert offset in (0, 3, 6)  # the first batch of that millisecond
    assert await look_up(client, name, 0, last) == (0, last, offset, 0)
    assert await look_up(client, name, 0, last + 1) == NOT_FOUND
    times = [one.timestamp for one in await stored(client, name, 0)]
    assert times[:3] == [first] * 3
    assert times[6] == last


@rule(
    id="list-offsets-17",
    api="ListOffsets",
    says="Of several records that are the newest the first is told, wherever it is.",
    source=BY_NEWEST,
    versions="7-11",
    cost=2.0,
    topics=(),
)
async def list_offsets_17(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    await put(client, name, 0, batch(times=[TIME, TIME + 5, TIME + 5]), batch(times=[TIME + 5, TIME]))
    assert await look_up(client, name, 0, NEWEST) == found(1, 5)


@rule(
    id="list-offsets-18",
    api="ListOffsets",
    says="Records without a time are found by none; but if no record has any, the first is the newest.",
    source=BY_NEWEST,
    versions="7-11",
    cost=2.0,
    topics=(),
)
async def list_offsets_18(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    await put(client, name, 0, batch(times=[-1, -1]))
    assert await look_up(client, name, 0, 0) == NOT_FOUND
    assert await look_up(client, name, 0, NEWEST) == (0, -1, 0, 0)
    await put(client, name, 0, batch(times=[-1, 5]))
    assert await look_up(client, name, 0, 0) == (0, 5, 3, 0)
    assert await look_up(client, name, 0, NEWEST) == (0, 5, 3, 0)


@rule(
    id="list-offsets-19",
    api="ListOffsets",
    says="Without transactions all records are committed.",
    source="KIP-98; Apache Kafka Partition.fetchOffsetForTimestamp",
    versions="2-11",
    cost=2.0,
    topics=(),
)
async def list_offsets_19(world: World) -> None:
    client = await world.client()
    name = await filled(client)
    for version in world.offered(ListOffsetsRequest, range(2, 12)):
        expected = {LATEST: found(7), EARLIEST: found(0), TIME + 6: found(1, 10)}
        for timestamp, place in expected.items():
            answer = await client.call(look_up_all((name, [(0, timestamp)]), isolation=1), version)
            ((one,),) = [topic.partitions for topic in answer.topics]
            assert (one.error_code, one.timestamp, one.offset) == place[:3]
            assert one.leader_epoch == (0 if version >= EPOCH_SINCE else -1)
