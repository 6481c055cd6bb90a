"""ListOffsets: where partitions begin and end, and what is said instead, in every version.

Answers are compared as a whole, but for what no two brokers share (`kcoord.check.masked`).
"""

import struct
from typing import Final

from kcoord.check.masked import masked
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST = -1, -2
NO_MEANING = -99
Place = tuple[int, int, int, int]
"""An error, a timestamp, an offset and the epoch of a leader."""
NOT_FOUND: Final[Place] = (0, -1, -1, -1)
TOO_OLD: Final[Place] = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)
EPOCH_SINCE: Final = 4
MEANINGS: Final = {-3: 7, -4: 8, -5: 9, -6: 11}
"""Since which version a timestamp stands for a place in the log."""

HANDLED: Final = "Apache Kafka KafkaApis.handleListOffsetRequest"
FETCHED: Final = "Apache Kafka ReplicaManager.fetchOffset"
LEADER: Final = "Apache Kafka Partition.fetchOffsetForTimestamp"


def look_up_all(*topics: tuple[str, list[tuple[int, int]]], epoch: int = -1, isolation: int = 0) -> ListOffsetsRequest:
    """Ask for timestamps: of each topic, (partition, timestamp)."""
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


def looked_up(*topics: tuple[str, list[tuple[int, Place]]]) -> ListOffsetsResponse:
    """Return the answer: of each topic, (partition, place)."""
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


def failed(error: ErrorCode) -> Place:
    """Return what is said of a partition that cannot be told of."""
    return error, -1, -1, -1


def ends(version: int) -> Place:
    """Return where an empty partition begins and ends."""
    return (0, -1, 0, 0 if version >= EPOCH_SINCE else -1)


UNKNOWN: Final = failed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
TWICE: Final = failed(ErrorCode.INVALID_REQUEST)


@rule(
    id="list-offsets-1",
    api="ListOffsets",
    says="An empty partition begins and ends at offset 0, and has no record of any time.",
    source="KIP-79; Apache Kafka UnifiedLog.fetchOffsetByTimestamp",
    versions="1-11",
    cost=1.0,
)
async def list_offsets_1(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(ListOffsetsRequest):
        expected = {LATEST: ends(version), EARLIEST: ends(version), 0: NOT_FOUND, 2**62: NOT_FOUND}
        for timestamp, place in expected.items():
            answer = await asked.ask(look_up_all(("t", [(0, timestamp)])), version)
            assert answer == looked_up(("t", [(0, place)]))


@rule(
    id="list-offsets-1b",
    api="ListOffsets",
    says="Each timestamp below -2 that stands for a place does so since its version, and before that, as any other, "
    "has no meaning.",
    source=f"KIP-734, KIP-405, KIP-1005, KIP-1023; {FETCHED}",
    versions="1-11",
    cost=1.3,
)
async def list_offsets_1b(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(ListOffsetsRequest):
        for timestamp in (*MEANINGS, -7, -(2**63)):
            place = TOO_OLD
            if version >= MEANINGS.get(timestamp, 2**15):
                place = ends(version) if timestamp == -4 else NOT_FOUND
            answer = await asked.ask(look_up_all(("t", [(0, timestamp)])), version)
            assert answer == looked_up(("t", [(0, place)]))


@rule(
    id="list-offsets-2",
    api="ListOffsets",
    says="Each partition of a request has its own timestamp and its own answer.",
    source=FETCHED,
    versions="1-11",
)
async def list_offsets_2(world: World) -> None:
    asked = await masked(world)
    request = look_up_all(("u", [(2, LATEST), (0, EARLIEST)]), ("t", [(1, 5), (0, LATEST), (2, NO_MEANING)]))
    for version in world.offered(ListOffsetsRequest):
        assert await asked.ask(request, version) == looked_up(
            ("u", [(2, ends(version)), (0, ends(version))]),
            ("t", [(1, NOT_FOUND), (0, ends(version)), (2, TOO_OLD)]),
        )


@rule(
    id="list-offsets-3",
    api="ListOffsets",
    says="Topics and partitions that do not exist are unknown, and those that exist are served beside them.",
    source=f"{HANDLED}, {FETCHED}",
    versions="1-11",
)
async def list_offsets_3(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    request = look_up_all(
        (nope, [(0, LATEST)]),
        ("t", [(9, LATEST), (0, LATEST), (-1, EARLIEST)]),
        ("a b", [(0, 0)]),
        ("", [(1, LATEST)]),
    )
    for version in world.offered(ListOffsetsRequest):
        assert await asked.ask(request, version) == looked_up(
            (nope, [(0, UNKNOWN)]),
            ("t", [(-1, UNKNOWN), (0, ends(version)), (9, UNKNOWN)]),
            ("a b", [(0, UNKNOWN)]),
            ("", [(1, UNKNOWN)]),
        )


@rule(
    id="list-offsets-4",
    api="ListOffsets",
    says="That a timestamp has no meaning is seen before the topic is looked for, but after it was seen what is asked "
    "for twice.",
    source=FETCHED,
    versions="1-11",
    since="4.0",
)
async def list_offsets_4(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    request = look_up_all((nope, [(0, NO_MEANING)]), ("t", [(9, NO_MEANING), (0, NO_MEANING), (0, LATEST)]))
    for version in world.offered(ListOffsetsRequest):
        answer = await asked.ask(request, version)
        assert answer == looked_up((nope, [(0, TOO_OLD)]), ("t", [(9, TOO_OLD), (0, TWICE)]))


@rule(
    id="list-offsets-5",
    api="ListOffsets",
    says="A partition that is asked for twice has one answer, an error; the others are served.",
    source=f"{FETCHED}; ListOffsetsRequest.duplicatePartitions",
    versions="1-11",
    since="4.0",
    cost=0.6,
)
async def list_offsets_5(world: World) -> None:
    asked = await masked(world)
    within = look_up_all(("t", [(0, LATEST), (0, EARLIEST), (1, LATEST)]), ("u", [(0, LATEST)]))
    apart = look_up_all(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(0, LATEST), (2, LATEST)]))
    for version in world.offered(ListOffsetsRequest):
        for request, other in ((within, 1), (apart, 2)):
            assert await asked.ask(request, version) == looked_up(
                ("t", [(0, TWICE), (other, ends(version))]), ("u", [(0, ends(version))])
            )


@rule(
    id="list-offsets-6",
    api="ListOffsets",
    says="A topic that is named twice with different partitions has one entry in the answer.",
    source=FETCHED,
    versions="1-11",
    since="4.0",
)
async def list_offsets_6(world: World) -> None:
    asked = await masked(world)
    request = look_up_all(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(2, EARLIEST)]))
    for version in world.offered(ListOffsetsRequest):
        assert await asked.ask(request, version) == looked_up(
            ("t", [(0, ends(version)), (2, ends(version))]), ("u", [(0, ends(version))])
        )


@rule(
    id="list-offsets-7",
    api="ListOffsets",
    says="Topics without partitions are not in the answer, whether they exist or not.",
    source=FETCHED,
    versions="1-11",
    since="4.0",
    cost=0.6,
)
async def list_offsets_7(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    for version in world.offered(ListOffsetsRequest):
        assert await asked.ask(look_up_all(), version) == looked_up()
        assert await asked.ask(look_up_all(("t", []), (nope, [])), version) == looked_up()


@rule(
    id="list-offsets-8",
    api="ListOffsets",
    says="Who names the leader's epoch or none is served, one that is newer is unknown, and any other is fenced.",
    source=f"KIP-320; {LEADER}",
    versions="4-11",
    cost=1.9,
)
async def list_offsets_8(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(ListOffsetsRequest, range(EPOCH_SINCE, 12)):
        expected = {
            -1: ends(version),
            0: ends(version),
            1: failed(ErrorCode.UNKNOWN_LEADER_EPOCH),
            5: failed(ErrorCode.UNKNOWN_LEADER_EPOCH),
            -2: failed(ErrorCode.FENCED_LEADER_EPOCH),
        }
        for epoch, place in expected.items():
            for timestamp in (LATEST, EARLIEST):
                answer = await asked.ask(look_up_all(("t", [(0, timestamp)]), epoch=epoch), version)
                assert answer == looked_up(("t", [(0, place)]))


@rule(
    id="list-offsets-9",
    api="ListOffsets",
    says="The leader's epoch is looked at whatever the timestamp stands for, but after it was seen that it has a "
    "meaning.",
    source=f"KIP-320; {FETCHED}",
    versions="11",
)
async def list_offsets_9(world: World) -> None:
    asked = await masked(world)
    newer = failed(ErrorCode.UNKNOWN_LEADER_EPOCH)
    for timestamp, place in {-3: newer, -4: newer, -5: newer, -6: newer, -7: TOO_OLD, 0: newer}.items():
        answer = await asked.ask(look_up_all(("t", [(0, timestamp)]), epoch=5), 11)
        assert answer == looked_up(("t", [(0, place)]))


@rule(
    id="list-offsets-10",
    api="ListOffsets",
    says="Who reads only committed records is told of the same places in an empty partition.",
    source=f"KIP-98; {LEADER}",
    versions="2-11",
)
async def list_offsets_10(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(ListOffsetsRequest, range(2, 12)):
        for timestamp in (LATEST, EARLIEST):
            answer = await asked.ask(look_up_all(("t", [(0, timestamp)]), isolation=1), version)
            assert answer == looked_up(("t", [(0, ends(version))]))


@rule(
    id="list-offsets-11",
    api="ListOffsets",
    says="A version that is not offered closes the connection.",
    source="Apache Kafka RequestContext.parseRequest",
    versions="0+",
)
async def list_offsets_11(world: World) -> None:
    for version in world.unserved(ListOffsetsRequest):
        async with await world.client() as client:
            await client.send_frame(struct.pack(">hhih", 2, version, 1, -1) + bytes(8))
            assert await client.is_closed()


@rule(
    id="list-offsets-12",
    api="ListOffsets",
    says="An isolation level that does not exist spoils the request: each partition fails, also one that is asked for "
    "twice, as often as that.",
    source=f"{HANDLED}, ListOffsetsRequest.getErrorResponse, IsolationLevel.forId",
    versions="2-11",
    since="4.0",
    cost=1.4,
)
async def list_offsets_12(world: World) -> None:
    asked, nope = await masked(world), world.topic("nope")
    spoilt = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    for version in world.offered(ListOffsetsRequest, range(2, 12)):
        for isolation in (2, -1, 127):
            for request in (
                look_up_all(("t", [(0, LATEST)]), isolation=isolation),
                look_up_all(("t", [(0, NO_MEANING), (0, 5)]), (nope, [(0, LATEST)]), ("u", []), isolation=isolation),
            ):
                expected = [
                    ListOffsetsTopicResponse(name=topic.name, partitions=[spoilt] * len(topic.partitions))
                    for topic in sorted(request.topics, key=lambda topic: topic.name)
                ]
                assert (await asked.ask(request, version)).topics == expected
