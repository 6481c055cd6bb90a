"""Produce (key 0): records from producers, one batch for each partition.

v3 transactional id, batches of magic 2 (KIP-98); v5 log start offset in the answer (KIP-107); v7 zstd
(KIP-110); v8 the records at fault (KIP-467); v9 flexible (KIP-482); v10 current leader (KIP-951), which is always this
broker and so never told; v13 topic ids (KIP-516).

As in Kafka 4 this is offered from version 0 and served from version 3: librdkafka takes a broker that does not offer
the oldest versions for one without compression (KAFKA-18659). It does not send them. Who does is no client that could
be answered, and the connection is closed.

Transactions are not served, so nobody has a producer id for one: a batch that claims to be of a transaction is
answered as one whose transactional id is unknown. Kafka appends it if it has no producer id at all.
"""

from uuid import UUID

from kcoord.apis.api import Api, Call, CloseConnection, weighed
from kcoord.apis.threads import in_thread
from kcoord.apis.turns import Turns, a_turn
from kcoord.log.catalog import Topic
from kcoord.log.partition import Appended, Partition, Refused
from kcoord.log.validation import BRIEF_UNPACKED, TakesLong, is_transactional, only_batch
from kcoord.notices import MemoryFull, RecordsRefused
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
NO_OFFSET = -1

BYTES_A_TURN = 64 * 1024
"""Bytes of records, unpacked, after which other tasks run."""

TopicKey = str | UUID
Sent = dict[TopicKey, dict[int, bytes | None]]


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
    turns = Turns()
    for topic in answer.responses:
        for each in topic.partition_responses:
            await turns.step()
            if each.error_code:
                why = f"{ErrorCode(each.error_code).name} for records that want no answer"
                raise CloseConnection(f"{why} ({topic.name or topic.topic_id}-{each.index})")
    return None


async def collected(version: int, request: ProduceRequest) -> Sent:
    """Return what is sent to each partition of each topic, by the topic's name or id."""
    turns = Turns()
    sent: Sent = {}
    for topic in request.topic_data:
        await turns.step()
        key: TopicKey = topic.topic_id if version >= TOPIC_IDS_SINCE else topic.name
        for each in topic.partition_data:
            await turns.step()
            sent.setdefault(key, {})[each.index] = each.records
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
    except Refused as refusal:
        return refusal
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
            entry.partition_responses.append(refused(index, refusal))
    return answer


async def append_all(call: Call, request: ProduceRequest, sent: Sent) -> ProduceResponse:
    """Append to partition after partition, and let other tasks run in between.

    So a topic may go while its records wait for their turn, or are being checked.
    """
    share = Share()
    refusals = Refusals(call)
    answer = ProduceResponse()
    for key, partitions in sent.items():
        entry = topic_entry(key)
        answer.responses.append(entry)
        for index, records in partitions.items():
            try:
                found = await append(call, request, share, key, index, records)
            except Refused as refusal:
                refusals.add(key, index, refusal)
                found = refused(index, refusal)
            entry.partition_responses.append(found)
            await share.step()
    refusals.tell()
    return answer


class Refusals:
    """What was refused of one request. One line of it goes to the log, however much it is."""

    __slots__ = ("_call", "_count", "_first")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._count = 0
        self._first: tuple[TopicKey, int, Refused] | None = None

    def add(self, key: TopicKey, index: int, refusal: Refused) -> None:
        """Note that nothing was appended to a partition."""
        self._count += 1
        if self._first is None:
            self._first = (key, index, refusal)

    def tell(self) -> None:
        """Tell who listens, if there is anything to tell; where memory is full, somebody may make room."""
        if self._first is None:
            return
        broker = self._call.broker
        key, index, refusal = self._first
        topic = broker.catalog.by_id(key) if isinstance(key, UUID) else None
        broker.tell(
            RecordsRefused(
                client_id=self._call.context.client_id,
                partitions=self._count,
                topic=str(key) if topic is None else topic.name,
                partition=index,
                error=refusal.code.name,
                why=refusal.reason,
            )
        )
        memory = broker.catalog.memory
        if refusal.code is ErrorCode.POLICY_VIOLATION and memory.limit is not None:
            broker.tell(MemoryFull(used=memory.used, limit=memory.limit))


class Share:
    """What one request may do in one turn: so many partitions, and so many bytes of records.

    What counts of a packed batch is what there is to be looked at when it is unpacked.
    """

    __slots__ = ("_bytes", "_turns")

    def __init__(self) -> None:
        self._turns = Turns()
        self._bytes = 0

    def count(self, size: int) -> None:
        """Count so many bytes as done in this turn."""
        self._bytes += size

    def begin_again(self) -> None:
        """Note that others have just had their turn."""
        self._bytes = 0

    async def step(self) -> None:
        """Let other tasks run if there was enough of this one."""
        if self._bytes >= BYTES_A_TURN:
            self._bytes = 0
            await a_turn()
        else:
            await self._turns.step()


async def append(
    call: Call, request: ProduceRequest, share: Share, key: TopicKey, index: int, records: bytes | None
) -> PartitionProduceResponse:
    """Append to one partition, and return its entry. Raises Refused."""
    try:
        partition = partition_to_write(call, request, key, index, records)
        appended = await checked_and_added(call, share, partition, records)
    except Refused as refusal:
        if refusal.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            # The log takes nothing of a transaction; here it comes with the id of one, which nobody knows.
            refusal.code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        raise
    return PartitionProduceResponse(
        index=index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def partition_to_write(
    call: Call, request: ProduceRequest, key: TopicKey, index: int, records: bytes | None
) -> Partition:
    """Return the partition. Raises Refused if there is none, or if nothing of this request may go there.

    In the latter case what is wrong with the form of the records comes first.
    """
    catalog = call.broker.catalog
    topic = catalog.by_id(key) if isinstance(key, UUID) else catalog.by_name(key)
    partition = None if topic is None else topic.partition(index)
    if topic is None and isinstance(key, UUID):
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    if topic is None or partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not call.leads(topic, index):
        raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    error = error_beside_records(call, request, topic)
    if error is not ErrorCode.NONE:
        only_batch(records, call.context.version)
        raise Refused(error)
    return partition


def error_beside_records(call: Call, request: ProduceRequest, topic: Topic) -> ErrorCode:
    """Return why no records of this request go to this topic, or NONE."""
    if request.acks not in ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if topic.is_internal and call.context.client_id != INTERNAL_WRITER:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.NONE


async def checked_and_added(call: Call, share: Share, partition: Partition, records: bytes | None) -> Appended:
    """Append one batch, and keep others waiting for some milliseconds at most. Raises Refused.

    What takes longer is checked in a thread. That thread is not left alone when the connection ends; it does not take
    long enough.
    """
    version, now_ms = call.context.version, call.broker.clock.now().wall_ms
    try:
        checked = partition.check(records, now_ms, version=version, briefly=True)
    except Refused:
        # How much was looked at until something was found wrong, nobody knows: of what is packed, that at most.
        share.count(max(len(records), BRIEF_UNPACKED) if records else 0)
        raise
    except TakesLong:
        checked = await in_thread(lambda: partition.check(records, now_ms, version=version))
        share.begin_again()
    else:
        share.count(max(len(checked.batch), checked.looked_at))
    return partition.add(checked, now_ms)


def topic_entry(key: TopicKey) -> TopicProduceResponse:
    """Return a topic's entry, named in the way of the request, without partitions yet."""
    return TopicProduceResponse(topic_id=key) if isinstance(key, UUID) else TopicProduceResponse(name=key)


def refused(index: int, refusal: Refused) -> PartitionProduceResponse:
    """Return the entry of a partition to which nothing was appended."""
    return PartitionProduceResponse(
        index=index,
        error_code=refusal.code,
        base_offset=NO_OFFSET,
        log_start_offset=refusal.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
            for at, why in refusal.record_errors
        ],
        error_message=refusal.message,
    )


def weight(response: ProduceResponse) -> int:
    """Return how many entries there are to be written."""
    return weighed(
        1 + len(partition.record_errors) for topic in response.responses for partition in topic.partition_responses
    )


API = Api(request=ProduceRequest, versions="3-13", offered="0-13", handle=produce, weight=weight)
