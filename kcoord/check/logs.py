"""What scenarios about records share: topics of their own, batches, producing, and a look at what is stored."""

import struct
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import trio
from crc32c import crc32c

from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Client
from wire.errors import ErrorCode
from wire.messages import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from wire.records import LENGTH_END, LENGTH_OFFSET, Compression, Record, build, records_of, split

NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
TIME = 1_700_000_000_000
"""When the records of these scenarios were made, in Unix ms."""
Sent = tuple[str | UUID, list[tuple[int, bytes | None]]]
NAMED: Final = range(3, 13)
"""The versions of Produce that name topics."""
_START_SINCE, _ZSTD_SINCE, _IDS_SINCE = 5, 7, 13


async def new_topic(client: Client, partitions: int = 3, **settings: str) -> str:
    """Create a topic that nobody else uses, and wait until there is somebody who leads its partitions.

    Records there are kept however old they are, unless `settings` say otherwise.
    """
    name = client.names.topic("log")
    wish = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    settings = {"retention_ms": "-1"} | settings
    wish.configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    answer = await client.call(CreateTopicsRequest(topics=[wish], timeout_ms=30_000))
    assert answer.topics[0].error_code == 0, answer.topics[0].error_message
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    while True:
        (found,) = (await client.call(request)).topics
        ready = found.error_code == 0 and all(one.error_code == 0 for one in found.partitions)
        if ready and await ends(client, name, *range(partitions)) == [0] * partitions:
            return name
        await trio.sleep(0.05)


def batch(
    *values: bytes,
    times: Sequence[int] = (),
    key: bytes | None = b"key",
    compression: Compression = Compression.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """A batch of these values (or of one for each time). `producer` is id, epoch and first sequence number."""
    values = values or (b"value",) * (len(times) or 1)
    times = times or [TIME] * len(values)
    producer_id, epoch, sequence = producer
    return build(
        [Record(at, time, key, value) for at, (time, value) in enumerate(zip(times, values, strict=True))],
        compression=compression,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def changed(records: bytes, at: int, form: str, value: int, *, checksum: bool = True) -> bytes:
    """The same batch with other bytes somewhere, and a checksum that agrees, unless that is unwished for."""
    data = bytearray(records)
    struct.pack_into(form, data, at, value)
    if checksum:
        struct.pack_into(">I", data, 17, crc32c(data[21:]))
    return bytes(data)


def attributes(records: bytes, value: int) -> bytes:
    """The same batch with other attributes."""
    return changed(records, 21, ">h", value)


def request_of(
    version: int, *sent: Sent, acks: int = -1, timeout: int = 10_000, transactional_id: str | None = None
) -> ProduceRequest:
    """A request with records: of each topic, by name or from version 13 on by id, (partition, records)."""
    topics = []
    for topic, partitions in sent:
        entry = TopicProduceData(
            partition_data=[PartitionProduceData(index=index, records=records) for index, records in partitions]
        )
        if isinstance(topic, UUID):
            entry.topic_id = topic
        else:
            entry.name = topic
        assert isinstance(topic, UUID) == (version >= 13)
        topics.append(entry)
    return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=timeout, topic_data=topics)


def by_version(version: int, name: str, topic_id: UUID) -> str | UUID:
    """Return what a version of Produce calls a topic."""
    return topic_id if version >= _IDS_SINCE else name


def appended(
    index: int, offset: int, version: int = 12, *, start: int = 0, time_ms: int = -1
) -> PartitionProduceResponse:
    """Return what is said of records that were appended."""
    return PartitionProduceResponse(
        index=index,
        base_offset=offset,
        log_append_time_ms=time_ms,
        log_start_offset=start if version >= _START_SINCE else -1,
    )


def refused(index: int, error: ErrorCode, *, start: int = -1, message: str | None = None) -> PartitionProduceResponse:
    """Return what is said of records that were not."""
    return PartitionProduceResponse(
        index=index, error_code=error, base_offset=-1, log_start_offset=start, error_message=message
    )


async def produce(
    client: Client, version: int, *sent: Sent, **what: Any
) -> dict[str | UUID, dict[int, PartitionProduceResponse]]:
    """Send records; return the entries of the answer by topic and partition. No entry comes twice."""
    answer = await client.call(request_of(version, *sent, **what), version)
    assert answer.throttle_time_ms == 0
    assert answer.node_endpoints == []
    found: dict[str | UUID, dict[int, PartitionProduceResponse]] = {}
    for topic in answer.responses:
        name = topic.topic_id if version >= 13 else topic.name
        assert name not in found
        found[name] = {each.index: each for each in topic.partition_responses}
        assert len(found[name]) == len(topic.partition_responses)
        assert found[name]
    return found


async def put(client: Client, topic: str, index: int, *batches: bytes) -> list[int]:
    """Append batches one by one, none of which may be refused; return their base offsets.

    Raises NotApplicable for one that is packed by zstd, if the broker does not offer Produce 7 (KIP-110).
    """
    offsets = []
    version = client.newest(ProduceRequest, 12)
    for records in batches:
        one = (await produce(client, version, (topic, [(index, records)])))[topic][index]
        if version < _ZSTD_SINCE and one.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
            raise NotApplicable(f"records packed by zstd need Produce {_ZSTD_SINCE}, and only {version} is advertised")
        assert one.error_code == 0, (ErrorCode(one.error_code).name, one.error_message)
        offsets.append(one.base_offset)
    return offsets


async def look_up(
    client: Client, topic: str, index: int, timestamp: int, version: int | None = None
) -> tuple[int, ...]:
    """Return (error, timestamp, offset, leader epoch) that ListOffsets finds."""
    partition = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    ((found,),) = [one.partitions for one in (await client.call(request, version)).topics]
    return (found.error_code, found.timestamp, found.offset, found.leader_epoch)


async def ends(client: Client, topic: str, *indexes: int) -> list[int]:
    """Return where partitions end; -1 for one that cannot tell."""
    return [(await look_up(client, topic, index, -1))[2] for index in indexes]


def whole(records: bytes) -> list[bytes]:
    """Cut the batches that a Fetch brought, of which the last may be there in part: as far as there was room (KIP-74).

    Raises CorruptRecords for what is no batch.
    """
    end = 0
    while len(records) - end >= LENGTH_END:
        size = LENGTH_END + int.from_bytes(records[end + LENGTH_OFFSET : end + LENGTH_END], "big")
        if size > len(records) - end:
            break
        end += size
    return split(records[:end])


async def stored(client: Client, topic: str, index: int, offset: int = 0) -> list[Record]:
    """Return the records from there on, all at once. What else is in the first batch, consumers skip as well."""
    partition = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=10**7)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=10**7, topics=[FetchTopic(topic=topic, partitions=[partition])]
    )
    ((found,),) = [one.partitions for one in (await client.call(request, client.newest(FetchRequest, 12))).responses]
    assert found.error_code == 0
    return [record for one in split(found.records) for record in records_of(one) if record.offset >= offset]


async def delete_before(client: Client, topic: str, index: int, offset: int) -> None:
    """Let a log begin there."""
    partition = DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=10_000)
    ((found,),) = [one.partitions for one in (await client.call(request)).topics]
    assert (found.error_code, found.low_watermark) == (0, offset)
