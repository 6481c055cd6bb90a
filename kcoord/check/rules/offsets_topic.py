"""What a group does can be read in __consumer_offsets: keys, values, their order, and which of them share a batch.

Values of offsets have a version of their own choice: Kafka writes 4 since 4.3, with the topic's id, and wrote 3 before.
What others left in the same partition is passed over.
"""

import itertools
from dataclasses import replace
from typing import Any, Final

from kcoord.check.logs import look_up, whole
from kcoord.check.masked import OFFSETS
from kcoord.check.member import settle
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.steps import Stopwatch, state_of
from kcoord.check.topics import created, partitions, soon
from kcoord.check.world import World
from kcoord.core.hashing import partition_for
from wire.errors import ErrorCode
from wire.messages import (
    DeleteTopicsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from wire.payloads import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    decode_key,
    decode_value,
)
from wire.records import BatchHeader, check_crc, read_header, records_of

HOUR_MS: Final = 3_600_000
WRITTEN_WITHIN: Final = 10_000
"""Milliseconds from what a value says of its time to the time of its record."""
COMPRESSION: Final = 0b111
"""The bits of a batch's attributes that tell how it is packed, which a broker may choose."""
NAMED_UNTIL: Final = 5
OFFSET: Final = "Apache Kafka GroupCoordinatorRecordHelpers.newOffsetCommitRecord"
OFFSET_GONE: Final = "Apache Kafka GroupCoordinatorRecordHelpers.newOffsetCommitTombstoneRecord"
METADATA: Final = "Apache Kafka GroupCoordinatorRecordHelpers.newGroupMetadataRecord"
EMPTY: Final = "Apache Kafka GroupCoordinatorRecordHelpers.newEmptyGroupMetadataRecord"
Row = tuple[Any, Any]
"""Key and value of a record."""


class Reader:
    """Reads what comes of one group."""

    def __init__(self, client: Client, group: str, partition: int, position: int) -> None:
        self.client = client
        self.group = group
        self.partition = partition
        self.position = position
        self.sequences: set[int] = set()
        """The numbers that the first records of batches have where a producer would count them."""
        self.ages: list[int] = []
        """How long before its record (ms) each state of the group began that was written, where there is one."""

    async def read(self, least: int = 0) -> list[list[Row]]:
        """Return what came since, in batches, and soon so many; times are taken out once they are checked."""
        batches: list[list[Row]] = []

        async def enough() -> bool:
            batches.extend(await self._to_the_end())
            return len(batches) >= least

        assert await soon(enough)
        return batches

    async def _to_the_end(self) -> list[list[Row]]:
        batches: list[list[Row]] = []
        while True:
            wish = FetchPartition(partition=self.partition, fetch_offset=self.position, partition_max_bytes=1_000_000)
            request = FetchRequest(topics=[FetchTopic(topic=OFFSETS, partitions=[wish])], max_wait_ms=0)
            version = self.client.newest(FetchRequest, 12)
            found = (await self.client.call(request, version)).responses[0].partitions[0]
            assert found.error_code == ErrorCode.NONE
            if self.position == found.high_watermark:
                return batches
            there = whole(found.records)
            assert there
            for batch in there:
                header = read_header(batch)
                self.position = header.last_offset + 1
                # Who commits in transactions leaves their ends there, too.
                rows = [] if header.is_control else self._rows(batch, header)
                if rows:
                    batches.append(rows)

    def _rows(self, batch: bytes, header: BatchHeader) -> list[Row]:
        rows: list[Row] = []
        for record in records_of(batch):
            key = None if record.key is None else decode_key(record.key)
            if key is None or key.group != self.group:
                continue
            assert record.headers == ()
            value = None if record.value is None else decode_value(key, record.value)
            if isinstance(value, GroupMetadataValue):
                self.ages.append(record.timestamp - value.current_state_timestamp)
            rows.append((key, None if record.value is None else _timeless(key, record.value, record.timestamp)))
        if rows:
            assert check_crc(batch)
            assert header.attributes & ~COMPRESSION == 0
            assert (header.producer_id, header.producer_epoch) == (-1, -1)
            self.sequences.add(header.base_sequence)
        return rows


def _timeless(key: Any, data: bytes, timestamp: int) -> Any:
    """Read a value, check its version and its times, and leave these out."""
    value = decode_value(key, data)
    version = int.from_bytes(data[:2], "big")
    if isinstance(value, OffsetCommitValue):
        explicit = value.expire_timestamp != -1
        assert version in ((1,) if explicit else (3, 4))
        assert 0 <= timestamp - value.commit_timestamp < WRITTEN_WITHIN
        assert value.expire_timestamp in (-1, value.commit_timestamp + HOUR_MS)
        return replace(value, commit_timestamp=0, expire_timestamp=HOUR_MS if explicit else -1)
    assert version == 3
    assert 0 <= timestamp - value.current_state_timestamp < WRITTEN_WITHIN
    return replace(value, current_state_timestamp=0)


async def reader(world: World, group: str) -> Reader:
    """Return who reads what comes of a group from now on."""
    client = await world.client()
    count = await partitions(client, OFFSETS)
    assert count is not None
    partition = partition_for(group, count)
    (error, _, end, _) = await look_up(client, OFFSETS, partition, -1)
    assert error == ErrorCode.NONE
    return Reader(client, group, partition, end)


def offset(group: str, topic: str, partition: int) -> OffsetCommitKey:
    """Return the key of an offset."""
    return OffsetCommitKey(group=group, topic=topic, partition=partition)


def at(number: int, metadata: str = "", *, epoch: int = -1, expires: int = -1) -> OffsetCommitValue:
    """Return the value of an offset."""
    return OffsetCommitValue(
        offset=number, leader_epoch=epoch, metadata=metadata, commit_timestamp=0, expire_timestamp=expires
    )


def members(generation: int, leader: str | None, *listed: MemberMetadata, **what: Any) -> GroupMetadataValue:
    """Return the value of a group."""
    protocol = {"protocol_type": "consumer", "protocol": "range" if listed else None} | what
    return GroupMetadataValue(
        generation=generation, leader=leader, current_state_timestamp=0, members=listed, **protocol
    )


BORN: Final = members(0, None, protocol_type="")
"""What is written of a group in the moment in which it comes into being, before anybody is in it."""


@rule(
    id="offsets-topic-1",
    api="OffsetCommit",
    says="The offsets of one commit are written as one batch of records, in the order of the request.",
    source=OFFSET,
    versions="6-10",
    since="4.0",
    topics=(),
)
async def offsets_topic_1(world: World) -> None:
    group, client = world.group(), await world.client()
    read = await reader(world, group)
    topic = await created(client, 3)
    await client.commit(group, {(topic, 0): 5, (topic, 2): (7, "meta"), (topic, 1): (9, None)}, epoch=3)
    await client.commit(group, {(topic, 0): 6})
    assert await read.read() == [
        [
            (offset(group, topic, 0), at(5, epoch=3)),
            (offset(group, topic, 2), at(7, "meta", epoch=3)),
            (offset(group, topic, 1), at(9, epoch=3)),
        ],
        [(offset(group, topic, 0), at(6))],
    ]


@rule(
    id="offsets-topic-1b",
    api="OffsetCommit",
    says="No producer is named in what is written of groups, and the number of its first record is 0.",
    source=f"{OFFSET}, newGroupMetadataRecord",
    versions="2-9",
    topics=("t",),
    cost=3.2,
    since="4.0",
)
async def offsets_topic_1b(world: World) -> None:
    read = await reader(world, world.group())
    member = await world.stable1(read.group)
    assert await member.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    assert len(await read.read()) >= 2
    assert read.sequences == {0}


@rule(
    id="offsets-topic-2",
    api="OffsetCommit",
    says="A commit that says how long it is to be kept is written with the time at which that ends.",
    source=f"KIP-211; {OFFSET}, GroupCoordinatorRecordSerde",
    versions="2-4",
    topics=(),
)
async def offsets_topic_2(world: World) -> None:
    group, client = world.group(), await world.client()
    read = await reader(world, group)
    topic = await created(client)
    await client.commit(group, {(topic, 0): (6, "ü" * 10)}, version=2, retention=HOUR_MS)
    assert await read.read() == [[(offset(group, topic, 0), at(6, "ü" * 10, expires=HOUR_MS))]]


@rule(
    id="offsets-topic-3",
    api="OffsetCommit",
    says="Of commits that are refused nothing is written.",
    source="Apache Kafka OffsetMetadataManager.commitOffset",
    versions="2-10",
    topics=(),
)
async def offsets_topic_3(world: World) -> None:
    group, client = world.group(), await world.client()
    read = await reader(world, group)
    topic, nope = await created(client), world.topic("nope")
    told = [
        await client.commit(group, {(topic, 0): 1}, generation=7, member_id="nobody"),
        await client.commit(group, {(nope, 0): 1}),
        await client.commit(group, {(topic, 0): (1, "x" * 5000)}),
    ]
    assert ErrorCode.NONE not in itertools.chain.from_iterable(errors.values() for errors in told)
    assert await read.read() == []


@rule(
    id="offsets-topic-4",
    api="SyncGroup",
    says="A group is written without members when it comes into being, and with them when its leader has assigned.",
    source=f"{EMPTY}, newGroupMetadataRecord",
    versions="3-5",
    since="4.0",
    topics=("t",),
    cost=3.2,
)
async def offsets_topic_4(world: World) -> None:
    group = world.group()
    read = await reader(world, group)
    member = await world.member(group)
    await member.start_join()
    assert await read.read(1) == [[(GroupMetadataKey(group=group), BORN)]]
    await member.finish_join()
    await settle([member])
    (described,) = (await member.client.describe(group)).members
    known = MemberMetadata(
        member_id=member.id,
        client_id="client",
        client_host=described.client_host,
        rebalance_timeout=30_000,
        session_timeout=10_000,
        subscription=described.member_metadata,
        assignment=b"for " + member.id.encode(),
    )
    assert await read.read() == [[(GroupMetadataKey(group=group), members(1, member.id, known))]]


@rule(
    id="offsets-topic-4b",
    api="SyncGroup",
    says="What is written then tells when the group began to wait for its leader, and not when that assigned.",
    source=METADATA,
    versions="0-5",
    topics=("t",),
    cost=5.2,
    since="3.9",
)
async def offsets_topic_4b(world: World) -> None:
    (member,) = await world.completing(world.group(), None)
    read = await reader(world, member.group)
    await Stopwatch(world).until(2)
    await settle([member])
    assert len(await read.read(1)) == 1
    (age,) = read.ages
    assert 1_900 <= age < WRITTEN_WITHIN


@rule(
    id="offsets-topic-5",
    api="SyncGroup",
    says="Heartbeats and a rebalance leave nothing until the leader has assigned; then the group is written anew.",
    source=f"{METADATA}, GroupMetadataManager.classicGroupSyncToClassicGroup",
    versions="3-5",
    topics=("t",),
    cost=3.2,
)
async def offsets_topic_5(world: World) -> None:
    group = world.group()
    member = await world.stable1(group)
    read = await reader(world, group)
    topic = await created(member.client)
    assert await member.commit({(topic, 0): 1}) == {(topic, 0): ErrorCode.NONE}
    assert await member.heartbeat() is ErrorCode.NONE
    (before,) = (await member.client.describe(group)).members
    member.protocols = [("range", before.member_metadata), ("roundrobin", b"\0\1")]
    await member.start_join()
    await member.finish_join()
    assert await read.read() == [[(offset(group, topic, 0), at(1))]]
    assert (await (await member.sync({member.id: b"second"})).answer()).error_code == ErrorCode.NONE
    known = MemberMetadata(
        member_id=member.id,
        client_id="client",
        client_host=before.client_host,
        rebalance_timeout=30_000,
        session_timeout=10_000,
        subscription=before.member_metadata,
        assignment=b"second",
    )
    assert await read.read() == [[(GroupMetadataKey(group=group), members(2, member.id, known))]]


@rule(
    id="offsets-topic-6",
    api="LeaveGroup",
    says="When the last member leaves its group is written without members, in the next generation.",
    source=f"{EMPTY}, GroupMetadataManager.completeClassicGroupJoin",
    versions="0-5",
    topics=("t",),
    cost=3.2,
)
async def offsets_topic_6(world: World) -> None:
    group = world.group()
    member = await world.stable1(group)
    read = await reader(world, group)
    await member.client.leave(group, member.id)
    assert await read.read() == [[(GroupMetadataKey(group=group), members(2, None))]]


@rule(
    id="offsets-topic-7",
    api="JoinGroup",
    says="A static member that comes back is written under its new id, with the assignment it had, in the same "
    "generation.",
    source=f"KIP-345; {METADATA}, GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
    versions="5-9",
    topics=("t",),
    cost=3.2,
)
async def offsets_topic_7(world: World) -> None:
    group = world.group()
    first = await world.member(group, instance="i")
    await first.start_join()
    await first.finish_join()
    await settle([first])
    read = await reader(world, group)
    second = await world.member(group, instance="i", protocols=first.protocols)
    await second.start_join()
    await second.finish_join()
    (((key, value),),) = await read.read()
    assert key == GroupMetadataKey(group=group)
    assert (value.generation, value.leader) == (1, second.id)
    (known,) = value.members
    assert (known.member_id, known.group_instance_id, known.assignment) == (second.id, "i", first.assignment)
    await second.client.leave(group, ("", "i"))
    assert await read.read() == [[(GroupMetadataKey(group=group), members(2, None))]]


@rule(
    id="offsets-topic-8",
    api="JoinGroup",
    says="When the session of the only member ends its group is written without members, in the next generation.",
    source=f"{EMPTY}, GroupMetadataManager.expireClassicGroupMemberHeartbeat",
    versions="0-9",
    topics=("t",),
    cost=9.5,
)
async def offsets_topic_8(world: World) -> None:
    group = world.group()
    await world.stable1(group, session=6_000)
    read = await reader(world, group)

    async def is_empty() -> bool:
        return await state_of(world, group) == "Empty"

    assert await soon(is_empty)
    assert await read.read() == [[(GroupMetadataKey(group=group), members(2, None))]]


@rule(
    id="offsets-topic-9",
    api="OffsetDelete",
    says="Offsets that are deleted are written without a value, those of one request as one batch in its order.",
    source=f"KIP-496; {OFFSET_GONE}",
    versions="0",
    topics=(),
)
async def offsets_topic_9(world: World) -> None:
    group, client = world.group(), await world.client()
    topic = await created(client, 3)
    await client.commit(group, {(topic, 0): 1, (topic, 1): 2, (topic, 2): 3})
    read = await reader(world, group)
    wishes = [OffsetDeleteRequestPartition(partition_index=index) for index in (2, 0)]
    request = OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=wishes)])
    assert (await client.call(request, 0)).error_code == ErrorCode.NONE
    assert await read.read() == [[(offset(group, topic, 2), None), (offset(group, topic, 0), None)]]


@rule(
    id="offsets-topic-9b",
    api="OffsetDelete",
    says="An offset that a request names twice is written twice without a value; one that is not there is not.",
    source=f"KIP-496; {OFFSET_GONE}",
    versions="0",
    topics=(),
    since="4.0",
)
async def offsets_topic_9b(world: World) -> None:
    group, client = world.group(), await world.client()
    topic = await created(client, 2)
    await client.commit(group, {(topic, 0): 1})
    read = await reader(world, group)
    wishes = [OffsetDeleteRequestPartition(partition_index=index) for index in (0, 1, 0)]
    request = OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=wishes)])
    assert (await client.call(request, 0)).error_code == ErrorCode.NONE
    assert await read.read() == [[(offset(group, topic, 0), None), (offset(group, topic, 0), None)]]


@rule(
    id="offsets-topic-10",
    api="DeleteTopics",
    says="Offsets in a topic that is deleted are soon written without a value, and no others.",
    source=f"{OFFSET_GONE}, OffsetMetadataManager.onPartitionsDeleted",
    versions="1-6",
    topics=(),
)
async def offsets_topic_10(world: World) -> None:
    group, client = world.group(), await world.client()
    gone, kept = await created(client, 2), await created(client)
    await client.commit(group, {(gone, 0): 1, (kept, 0): 1, (gone, 1): 1})
    read = await reader(world, group)
    request = DeleteTopicsRequest(topic_names=[gone], timeout_ms=10_000)
    answer = await client.call(request, client.newest(DeleteTopicsRequest, NAMED_UNTIL))
    assert answer.responses[0].error_code == ErrorCode.NONE
    found: list[Row] = []

    async def has_both() -> bool:
        found.extend(itertools.chain.from_iterable(await read.read()))
        return len(found) >= 2

    assert await soon(has_both)
    assert sorted(found, key=lambda row: row[0].partition) == [
        (offset(group, gone, 0), None),
        (offset(group, gone, 1), None),
    ]


@rule(
    id="offsets-topic-11",
    api="DeleteGroups",
    says="Of a group that is deleted first its offsets are written without a value, then itself, as one batch.",
    source=f"KIP-229; {OFFSET_GONE}, newGroupMetadataTombstoneRecord",
    versions="0-3",
    topics=("t",),
    cost=3.3,
)
async def offsets_topic_11(world: World) -> None:
    group = world.group()
    member = await world.stable1(group)
    await member.client.leave(group, member.id)
    await assert_deleted(world, group, (GroupMetadataKey(group=group), None))


@rule(
    id="offsets-topic-11b",
    api="DeleteGroups",
    says="So it is of a group that never had members, of which nothing was written but its offsets.",
    source=f"KIP-229; {OFFSET_GONE}, newGroupMetadataTombstoneRecord",
    versions="0-3",
    topics=(),
    since="4.0",
)
async def offsets_topic_11b(world: World) -> None:
    group = world.group()
    await assert_deleted(world, group, (GroupMetadataKey(group=group), None))


async def assert_deleted(world: World, group: str, *behind: Row) -> None:
    """Check what is written of a group with one offset that is deleted, and of what behind that offset."""
    client = await world.client()
    topic = await created(client)
    await client.commit(group, {(topic, 0): 1})
    read = await reader(world, group)
    assert await client.delete(group) == {group: ErrorCode.NONE}
    assert await read.read() == [[(offset(group, topic, 0), None), *behind]]
