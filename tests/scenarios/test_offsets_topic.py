"""What a group does can be read in __consumer_offsets: keys, values, their order, and which of them share a batch.

Values of offsets have a version of their own choice: Kafka writes 4 since 4.3, with the topic's id, and wrote 3 before.
"""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from kcoord.core.hashing import partition_for
from tests.scenarios.harness import Client, World, settle
from tests.scenarios.topics import created, soon
from wire.messages import (
    DeleteTopicsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
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
from wire.records import check_crc, read_header, records_of, split

OFFSETS_TOPIC = "__consumer_offsets"
PARTITIONS = 50
HOUR_MS = 3_600_000


class Reader:
    """Reads what there is of one group."""

    def __init__(self, client: Client, group: str) -> None:
        self.client = client
        self.group = group
        self.partition = partition_for(group, PARTITIONS)
        self.position = 0

    async def to_the_end(self) -> "Reader":
        """Pass over what others left there."""
        partition = ListOffsetsPartition(partition_index=self.partition, timestamp=-1)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=OFFSETS_TOPIC, partitions=[partition])])
        answer = await self.client.call(request, 6)
        self.position = answer.topics[0].partitions[0].offset
        return self

    async def read(self) -> list[list[tuple[Any, Any]]]:
        """What came since, in batches, as (key, value); times are taken out once they are checked."""
        batches = []
        while True:
            partition = FetchPartition(
                partition=self.partition, fetch_offset=self.position, partition_max_bytes=1_000_000
            )
            request = FetchRequest(topics=[FetchTopic(topic=OFFSETS_TOPIC, partitions=[partition])], max_wait_ms=0)
            answer = (await self.client.call(request, 12)).responses[0].partitions[0]
            assert answer.error_code == 0
            if self.position == answer.high_watermark:
                return batches
            for batch in split(answer.records):
                self.position = read_header(batch).last_offset + 1
                rows = self.rows(batch)
                if rows:
                    batches.append(rows)

    def rows(self, batch: bytes) -> list[tuple[Any, Any]]:
        header = read_header(batch)
        assert check_crc(batch)
        assert (header.attributes, header.producer_id, header.producer_epoch, header.base_sequence) == (0, -1, -1, 0)
        rows = []
        for record in records_of(batch):
            assert record.key is not None
            assert record.headers == ()
            key = decode_key(record.key)
            if key is None or key.group != self.group:
                continue
            value = None
            if record.value is not None:
                value = decode_value(key, record.value)
                version = int.from_bytes(record.value[:2], "big")
                if isinstance(value, OffsetCommitValue):
                    explicit = value.expire_timestamp != -1
                    assert version in ((1,) if explicit else (3, 4))
                    assert 0 <= record.timestamp - value.commit_timestamp < 10_000
                    assert value.expire_timestamp in (-1, value.commit_timestamp + HOUR_MS)
                    value = replace(value, commit_timestamp=0, expire_timestamp=HOUR_MS if explicit else -1)
                else:
                    assert version == 3
                    assert 0 <= record.timestamp - value.current_state_timestamp < 10_000
                    value = replace(value, current_state_timestamp=0)
            rows.append((key, value))
        return rows


async def reader(world: World, group: str) -> Reader:
    return await Reader(await world.client(), group).to_the_end()


def offset(group: str, topic: str, partition: int) -> OffsetCommitKey:
    return OffsetCommitKey(group=group, topic=topic, partition=partition)


def at(number: int, metadata: str = "", *, epoch: int = -1, expires: int = -1) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=number, leader_epoch=epoch, metadata=metadata, commit_timestamp=0, expire_timestamp=expires
    )


def members(generation: int, leader: str | None, *listed: MemberMetadata, **what: Any) -> GroupMetadataValue:
    protocol = {"protocol_type": "consumer", "protocol": "range" if listed else None} | what
    return GroupMetadataValue(
        generation=generation, leader=leader, current_state_timestamp=0, members=listed, **protocol
    )


BORN = members(0, None, protocol_type="")
"""What is written of a group in the moment in which it comes into being, before anybody is in it."""


async def test_commits(world: World):
    group, client = world.group(), await world.client()
    read = await reader(world, group)
    topic = await created(client, 3)
    await client.commit(group, {(topic, 0): 5, (topic, 2): (7, "meta"), (topic, 1): (9, None)}, epoch=3)
    assert await read.read() == [
        [
            (offset(group, topic, 0), at(5, epoch=3)),
            (offset(group, topic, 2), at(7, "meta", epoch=3)),
            (offset(group, topic, 1), at(9, epoch=3)),
        ]
    ]
    await client.commit(group, {(topic, 0): 6})
    await client.commit(group, {(topic, 0): (6, "ü" * 10)}, version=2, retention=HOUR_MS)
    assert await read.read() == [
        [(offset(group, topic, 0), at(6))],
        [(offset(group, topic, 0), at(6, "ü" * 10, expires=HOUR_MS))],
    ]


async def test_what_is_refused_leaves_nothing(world: World):
    group, client = world.group(), await world.client()
    read = await reader(world, group)
    topic = await created(client, 1)
    await client.commit(group, {(topic, 0): 1}, generation=7, member_id="nobody")
    await client.commit(group, {("nope", 0): 1})
    await client.commit(group, {(topic, 0): (1, "x" * 5000)})
    assert await read.read() == []


async def test_the_life_of_a_member(world: World):
    group = world.group()
    read = await reader(world, group)
    member = await world.member(group)
    await member.start_join()
    assert await read.read() == [[(GroupMetadataKey(group=group), BORN)]]
    await member.finish_join()
    await settle([member])
    subscription = (await member.client.describe(group)).members[0].member_metadata
    known = MemberMetadata(
        member_id=member.id,
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout=30_000,
        session_timeout=10_000,
        subscription=subscription,
        assignment=b"for " + member.id.encode(),
    )
    assert await read.read() == [[(GroupMetadataKey(group=group), members(1, member.id, known))]]
    topic = await created(member.client, 1)
    await member.commit({(topic, 0): 1})
    await member.heartbeat()
    member.protocols = [("range", subscription), ("roundrobin", b"\0\1")]
    await member.start_join()
    await member.finish_join()
    assert await read.read() == [[(offset(group, topic, 0), at(1))]]
    await (await member.sync({member.id: b"second"})).answer()
    assert await read.read() == [
        [(GroupMetadataKey(group=group), members(2, member.id, replace(known, assignment=b"second")))]
    ]
    await member.client.leave(group, member.id)
    assert await read.read() == [[(GroupMetadataKey(group=group), members(3, None))]]


async def test_a_static_member_comes_back(world: World):
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


async def test_a_session_that_ends(world: World):
    group = world.group()
    member = await world.stable1(group, session=6_000)
    read = await reader(world, group)

    async def is_empty() -> bool:
        return (await member.client.describe(group)).group_state == "Empty"

    while not await soon(is_empty):
        pass
    assert await read.read() == [[(GroupMetadataKey(group=group), members(2, None))]]


async def test_offsets_that_are_deleted(world: World):
    group, client = world.group(), await world.client()
    topic = await created(client, 3)
    await client.commit(group, {(topic, 0): 1, (topic, 1): 2, (topic, 2): 3})
    read = await reader(world, group)
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in (2, 0)]
    request = OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=partitions)])
    assert (await client.call(request, 0)).error_code == 0
    assert await read.read() == [[(offset(group, topic, 2), None), (offset(group, topic, 0), None)]]


async def test_a_topic_that_is_deleted(world: World):
    group, client = world.group(), await world.client()
    gone, kept = await created(client, 2), await created(client, 1)
    await client.commit(group, {(gone, 0): 1, (kept, 0): 1, (gone, 1): 1})
    read = await reader(world, group)
    answer = await client.call(DeleteTopicsRequest(topic_names=[gone], timeout_ms=10_000), 5)
    assert answer.responses[0].error_code == 0
    found: list[list[tuple[Any, Any]]] = []

    async def has_tombstones() -> bool:
        found.extend(await read.read())
        return sum(map(len, found)) == 2

    assert await soon(has_tombstones)
    assert sorted(itertools.chain.from_iterable(found), key=lambda row: row[0].partition) == [
        (offset(group, gone, 0), None),
        (offset(group, gone, 1), None),
    ]


@pytest.mark.parametrize("joined", [False, True])
async def test_a_group_that_is_deleted(world: World, joined: bool):
    group, client = world.group(), await world.client()
    topic = await created(client, 1)
    if joined:
        member = await world.stable1(group)
        await member.client.leave(group, member.id)
    await client.commit(group, {(topic, 0): 1})
    read = await reader(world, group)
    assert await client.delete(group) == {group: 0}
    assert await read.read() == [[(offset(group, topic, 0), None), (GroupMetadataKey(group=group), None)]]
