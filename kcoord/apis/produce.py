"""Produce (key 0): records from producers, one batch for each partition.

v3 transactional id, batches of magic 2 (KIP-98); v5 log start offset in the answer (KIP-107); v7 zstd
(KIP-110); v8 the records at fault (KIP-467); v9 flexible (KIP-482); v10 current leader (KIP-951), which is always this
broker and so never told; v13 topic ids (KIP-516).

As in Kafka 4 this is offered from version 0 and served from version 3: librdkafka takes a broker that does not offer
the oldest versions for one without compression (KAFKA-18659). It does not send them. Who does is no client that could
be answered, and the connection is closed.

Transactions are not served, so nobody has a producer id for one: a batch that claims to be of a transaction is
answered as one whose transactional id is unknown.
"""

from uuid import UUID

import trio

from kcoord.apis.api import Api, Call, CloseConnection
from kcoord.apis.produce_form import Malformed, fault_of, is_transactional
from kcoord.apis.turns import Turns
from kcoord.log.catalog import Topic
from kcoord.log.partition import Refused
from wire.errors import ErrorCode
from wire.messages import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

TOPIC_IDS_SINCE = 13
NO_ANSWER = 0
"""The `acks` of a producer that does not want to hear what became of its records."""
ACKS = frozenset({-1, NO_ANSWER, 1})
"""All replicas, nobody, the leader. With one replica they mean the same here, whatever `min.insync.replicas` says: it
never asks for more replicas than there are (Apache Kafka `Partition.effectiveMinIsr`)."""
INTERNAL_WRITER = "__admin_client"
"""The client id that may write to internal topics (Apache Kafka `AdminUtils.ADMIN_CLIENT_ID`)."""

BYTES_A_TURN = 64 * 1024
"""Bytes of records after which other tasks run, some milliseconds' work."""

NO_OFFSET = -1
LOG_NOT_LOOKED_AT = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
"""Errors with which Kafka does not tell where the log starts (Apache Kafka `ReplicaManager.appendToLocalLog`)."""

TopicKey = str | UUID
Sent = dict[TopicKey, dict[int, bytes]]


async def produce(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    """Append to each partition by itself, and answer for each, or not at all if no answer is wanted.

    A topic has one entry, or none if nothing is sent to it. Of a partition that is named twice the last entry counts
    alone (Apache Kafka `KafkaApis.handleProduceRequest`). `timeout_ms` is for followers, and there are none.
    Raises CloseConnection if something failed and no answer is wanted.
    """
    sent = await collected(call.context.version, request)
    refusal = await refusal_of_all(request, sent)
    if refusal is None:
        answer = await append_all(call, request, sent)
    else:
        answer = await refuse_all(sent, refusal)
    if request.acks != NO_ANSWER:
        return answer
    for topic in answer.responses:
        for each in topic.partition_responses:
            if each.error_code:
                where = f"{topic.name or topic.topic_id}-{each.index}"
                raise CloseConnection(f"records without acks for {where}: {ErrorCode(each.error_code).name}")
    return None


async def collected(version: int, request: ProduceRequest) -> Sent:
    """Return what is sent to each partition of each topic, by the topic's name or id. No records are empty ones."""
    turns = Turns()
    sent: Sent = {}
    for topic in request.topic_data:
        await turns.step()
        key: TopicKey = topic.topic_id if version >= TOPIC_IDS_SINCE else topic.name
        for each in topic.partition_data:
            await turns.step()
            sent.setdefault(key, {})[each.index] = each.records or b""
    return sent


async def refusal_of_all(request: ProduceRequest, sent: Sent) -> Refused | None:
    """Return why nothing of a request is looked at more closely, or None.

    Looking for transactions, Kafka comes across records that are none before it looks at partitions one by one
    (Apache Kafka `RequestUtils.hasTransactionalRecords`).
    """
    turns = Turns()
    try:
        for partitions in sent.values():
            for records in partitions.values():
                await turns.step()
                if is_transactional(records):
                    if request.transactional_id is not None:
                        return None
                    return Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    except Malformed as fault:
        return Refused(ErrorCode.CORRUPT_MESSAGE, str(fault))
    return None


async def refuse_all(sent: Sent, refusal: Refused) -> ProduceResponse:
    """Return one error for everything."""
    turns = Turns()
    answer = ProduceResponse()
    for key, partitions in sent.items():
        entry = topic_entry(key)
        answer.responses.append(entry)
        for index in partitions:
            await turns.step()
            entry.partition_responses.append(refused(index, refusal, NO_OFFSET))
    return answer


async def append_all(call: Call, request: ProduceRequest, sent: Sent) -> ProduceResponse:
    """Append to partition after partition, and let other tasks run in between."""
    turns = Turns()
    answer = ProduceResponse()
    appended = 0
    for key, partitions in sent.items():
        entry = topic_entry(key)
        answer.responses.append(entry)
        for index, records in partitions.items():
            entry.partition_responses.append(append(call, request, key, index, records))
            appended += len(records)
            if appended >= BYTES_A_TURN:
                appended = 0
                await trio.lowlevel.checkpoint()
            else:
                await turns.step()
    return answer


def append(call: Call, request: ProduceRequest, key: TopicKey, index: int, records: bytes) -> PartitionProduceResponse:
    """Append to one partition, whose topic may be gone since others had their turn."""
    topic = find(call, key)
    partition = None if topic is None else topic.partition(index)
    if topic is None or partition is None:
        by_id = topic is None and isinstance(key, UUID)
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return refused(index, Refused(unknown), NO_OFFSET)
    error = error_before_appending(call, request, topic, records)
    if error is not ErrorCode.NONE:
        return refused(index, Refused(error), NO_OFFSET)
    try:
        appended = partition.append(records, call.broker.clock.now().wall_ms, version=call.context.version)
    except Refused as refusal:
        start = NO_OFFSET if refusal.code in LOG_NOT_LOOKED_AT else partition.log_start_offset
        return refused(index, refusal, start)
    return PartitionProduceResponse(
        index=index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def find(call: Call, key: TopicKey) -> Topic | None:
    """Return the topic of that name or id."""
    catalog = call.broker.catalog
    return catalog.by_id(key) if isinstance(key, UUID) else catalog.by_name(key)


def error_before_appending(call: Call, request: ProduceRequest, topic: Topic, records: bytes) -> ErrorCode:
    """Return what Kafka finds before it comes to the log, in its order, or NONE."""
    fault = fault_of(records, call.context.version)
    if fault is not ErrorCode.NONE:
        return fault
    if request.transactional_id is not None and is_transactional(records):
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if request.acks not in ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if topic.is_internal and call.context.client_id != INTERNAL_WRITER:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.NONE


def topic_entry(key: TopicKey) -> TopicProduceResponse:
    """Return a topic's entry, named in the way of the request, without partitions yet."""
    return TopicProduceResponse(topic_id=key) if isinstance(key, UUID) else TopicProduceResponse(name=key)


def refused(index: int, refusal: Refused, log_start_offset: int) -> PartitionProduceResponse:
    """Return the entry of a partition to which nothing was appended."""
    return PartitionProduceResponse(
        index=index,
        error_code=refusal.code,
        base_offset=NO_OFFSET,
        log_start_offset=log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
            for at, why in refusal.record_errors
        ],
        error_message=refusal.message,
    )


API = Api(request=ProduceRequest, versions="3-13", offered="0-13", handle=produce)
