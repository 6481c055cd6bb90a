"""Requests about records in full, in every version, as those about groups in `full_groups`."""

from typing import Any, Final

from kcoord.check.fetches import holds
from kcoord.check.frames import ask_in_full
from kcoord.check.logs import NOBODY, appended, batch, new_topic, stored
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.rules.full_groups import TAGS
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderPartitionResult,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

IDS_SINCE: Final = 13
"""The version of Produce and Fetch from which on topics have their ids instead of names."""
EARLIEST, LATEST = -2, -1


async def called(client: Client, *names: str, version: int, key: str = "name") -> list[dict[str, Any]]:
    """Return what topics are called in a version of Produce or Fetch."""
    if version >= IDS_SINCE:
        return [{"topic_id": each} for each in await client.topic_ids(*names)]
    return [{key: name} for name in names]


@rule(
    id="produce-full",
    api="Produce",
    says="Records are appended to each partition that exists, and refused for what does not.",
    source=f"KIP-516; Apache Kafka KafkaApis.handleProduceRequest; {TAGS}",
    versions="3-13",
    topics=(),
    each={"version": range(3, 14)},
)
async def produce_full(world: World, version: int) -> None:
    client = await world.client()
    log, missing = await new_topic(client, 2), world.topic()
    known = (await called(client, log, version=version))[0]
    unknown = {"topic_id": NOBODY} if version >= IDS_SINCE else {"name": missing}
    records = batch(b"one", b"two")
    request = ProduceRequest(
        transactional_id="of no transaction",
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(**topic, partition_data=[PartitionProduceData(index=i, records=records) for i in (0, 1)])
            for topic in (known, unknown)
        ],
    )
    answer = await ask_in_full(client, request, version)
    error = ErrorCode.UNKNOWN_TOPIC_ID if version >= IDS_SINCE else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for each in answer.responses:
        each.partition_responses.sort(key=lambda one: one.index)
    found = {(each.name, each.topic_id): each for each in answer.responses}
    assert found == {
        (each.name, each.topic_id): each
        for each in (
            TopicProduceResponse(**known, partition_responses=[appended(i, 0, version) for i in (0, 1)]),
            TopicProduceResponse(
                **unknown,
                partition_responses=[
                    PartitionProduceResponse(index=i, error_code=error, base_offset=-1) for i in (0, 1)
                ],
            ),
        )
    }
    assert answer == ProduceResponse(responses=answer.responses)
    assert [record.value for record in await stored(client, log, 1)] == [b"one", b"two"]


@rule(
    id="fetch-full",
    api="Fetch",
    says="Partitions are told of with all that the version has, in the order of the request.",
    source=f"KIP-227, KIP-392, KIP-516; Apache Kafka KafkaApis.handleFetchRequest; {TAGS}",
    versions="4-18",
    each={"version": range(4, 19)},
)
async def fetch_full(world: World, version: int) -> None:
    client = await world.client()
    topics = await called(client, world.u, world.t, version=version, key="topic")
    request = FetchRequest(
        cluster_id=None,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1000,
        isolation_level=1,
        topics=[
            FetchTopic(
                **topic,
                partitions=[
                    FetchPartition(
                        partition=index,
                        current_leader_epoch=0 if version >= 9 else -1,
                        fetch_offset=0,
                        log_start_offset=-1,
                        partition_max_bytes=500,
                    )
                    for index in (2, 0)
                ],
            )
            for topic in topics
        ],
        rack_id="rack" if version >= 11 else "",
    )
    if version >= 7:
        request.session_id, request.session_epoch = 0, -1
        request.forgotten_topics_data = [ForgottenTopic(**topic, partitions=[0, 1]) for topic in topics]
    assert await ask_in_full(client, request, version) == FetchResponse(
        responses=[
            FetchableTopicResponse(
                **topic, partitions=[holds(index, version=version, committed=True) for index in (2, 0)]
            )
            for topic in topics
        ]
    )


@rule(
    id="list-offsets-full",
    api="ListOffsets",
    says="Each partition has its answer, with all that the version has.",
    source=f"KIP-98, KIP-320; Apache Kafka KafkaApis.handleListOffsetRequest; {TAGS}",
    versions="1-11",
    each={"version": range(1, 12)},
)
async def list_offsets_full(world: World, version: int) -> None:
    epoch = 0 if version >= 4 else -1
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1 if version >= 2 else 0,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=2, current_leader_epoch=epoch, timestamp=LATEST),
                    ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=EARLIEST),
                ],
            )
            for name in (world.u, world.t)
        ],
        timeout_ms=30_000 if version >= 10 else 0,
    )
    answer = await ask_in_full(await world.client(), request, version)
    assert answer == ListOffsetsResponse(topics=answer.topics)
    assert {each.name: sorted(each.partitions, key=lambda one: one.partition_index) for each in answer.topics} == {
        name: [ListOffsetsPartitionResponse(partition_index=index, offset=0, leader_epoch=epoch) for index in (0, 2)]
        for name in (world.t, world.u)
    }


@rule(
    id="delete-records-full",
    api="DeleteRecords",
    says="Each partition has its answer, which tells where its log begins.",
    source=f"KIP-107; Apache Kafka KafkaApis.handleDeleteRecordsRequest; {TAGS}",
    versions="0-2",
    each={"version": range(3)},
)
async def delete_records_full(world: World, version: int) -> None:
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=name, partitions=[DeleteRecordsPartition(partition_index=index, offset=0) for index in (2, 0)]
            )
            for name in (world.u, world.t)
        ],
        timeout_ms=30_000,
    )
    answer = await ask_in_full(await world.client(), request, version)
    assert answer == DeleteRecordsResponse(topics=answer.topics)
    assert {each.name: sorted(each.partitions, key=lambda one: one.partition_index) for each in answer.topics} == {
        name: [DeleteRecordsPartitionResult(partition_index=index) for index in (0, 2)] for name in (world.t, world.u)
    }


@rule(
    id="init-producer-id-full",
    api="InitProducerId",
    says="A transaction that may take too long is refused, also for who has an id.",
    source=f"KIP-360; Apache Kafka TransactionCoordinator.handleInitProducerId; {TAGS}",
    versions="0-5",
    topics=(),
    each={"version": range(6)},
)
async def init_producer_id_full(world: World, version: int) -> None:
    request = InitProducerIdRequest(transactional_id="never begun", transaction_timeout_ms=2**31 - 1)
    if version >= 3:
        request.producer_id, request.producer_epoch = 5, 1
    answer = await ask_in_full(await world.client(), request, version)
    assert answer == InitProducerIdResponse(
        error_code=ErrorCode.INVALID_TRANSACTION_TIMEOUT, producer_id=-1, producer_epoch=-1
    )


@rule(
    id="offset-for-leader-epoch-full",
    api="OffsetForLeaderEpoch",
    says="Each partition has its answer in the order of the request.",
    source=f"KIP-279, KIP-320; Apache Kafka KafkaApis.handleOffsetForLeaderEpochRequest; {TAGS}",
    versions="2-4",
    each={"version": range(2, 5)},
)
async def offset_for_leader_epoch_full(world: World, version: int) -> None:
    request = OffsetForLeaderEpochRequest(
        replica_id=-1 if version >= 3 else -2,
        topics=[
            OffsetForLeaderTopic(
                topic=name,
                partitions=[
                    OffsetForLeaderPartition(partition=index, current_leader_epoch=0, leader_epoch=0)
                    for index in (2, 0)
                ],
            )
            for name in (world.u, world.t)
        ],
    )
    answer = await ask_in_full(await world.client(), request, version)
    assert answer == OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=name,
                partitions=[
                    OffsetForLeaderPartitionResult(partition=index, leader_epoch=0, end_offset=0) for index in (2, 0)
                ],
            )
            for name in (world.u, world.t)
        ]
    )
