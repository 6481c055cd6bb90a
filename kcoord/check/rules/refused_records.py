"""Producers send records that are refused, and what becomes of the other partitions."""

import time

import trio

from kcoord.check.logs import (
    NAMED,
    NOBODY,
    TIME,
    Sent,
    appended,
    attributes,
    batch,
    by_version,
    changed,
    delete_before,
    ends,
    new_topic,
    produce,
    put,
    refused,
    request_of,
    stored,
)
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import FindCoordinatorRequest, ProduceRequest
from wire.records import Compression

FORM = "Apache Kafka ProduceRequest.validateRecords"
WHOLE = "Apache Kafka RequestUtils.hasTransactionalRecords, ByteBufferLogInputStream.nextBatchSize"
ANALYZED = "Apache Kafka UnifiedLog.analyzeAndValidateRecords, LogValidator.validateMessagesAndAssignOffsets"
NAMED_RECORDS = "KIP-467; Apache Kafka LogValidator.processRecordErrors"
START_SINCE, ERRORS_SINCE = 5, 8
LENGTH, MAGIC, CRC, ATTRIBUTES, LAST_DELTA, COUNT = 8, 16, 17, 21, 23, 57
CONTROL, TRANSACTIONAL = 0x20, 0x10
ONE = batch(b"one")
TWO = batch(b"two", b"three")
FORMS = {
    "nothing": (b"", ErrorCode.INVALID_RECORD),
    "a few bytes": (b"abc", ErrorCode.INVALID_RECORD),
    "no magic": (ONE[:16], ErrorCode.INVALID_RECORD),
    "a header without records": (ONE[:60], ErrorCode.INVALID_RECORD),
    "cut short": (ONE[:-1], ErrorCode.INVALID_RECORD),
    "a length too large": (changed(ONE, LENGTH, ">i", len(ONE)), ErrorCode.INVALID_RECORD),
    "magic 0": (changed(ONE, MAGIC, ">b", 0), ErrorCode.INVALID_RECORD),
    "magic 1": (changed(ONE, MAGIC, ">b", 1), ErrorCode.INVALID_RECORD),
    "magic 1 that would be a transaction's": (
        changed(attributes(ONE, TRANSACTIONAL), MAGIC, ">b", 1),
        ErrorCode.INVALID_RECORD,
    ),
    "two batches": (ONE + ONE, ErrorCode.INVALID_RECORD),
    "an old batch behind": (ONE + changed(ONE, MAGIC, ">b", 0), ErrorCode.INVALID_RECORD),
    "an unknown batch behind": (ONE + changed(ONE, MAGIC, ">b", 5), ErrorCode.CORRUPT_MESSAGE),
    "zeros behind": (ONE + bytes(17), ErrorCode.CORRUPT_MESSAGE),
}
"""What is seen before anything else of records, before acks too, but not before the topic."""


@rule(
    id="produce-20",
    api="Produce",
    says="What is not one batch of magic 2 is refused before acks are looked at, and without the start of the log.",
    source=FORM,
    versions="3-13",
    topics=(),
    each={"what": FORMS},
)
async def produce_20(world: World, what: str) -> None:
    client = await world.client()
    name, nope = await new_topic(client), world.topic("nope")
    await put(client, name, 0, TWO)
    await delete_before(client, name, 0, 1)
    records, error = FORMS[what]
    versions = world.offered(ProduceRequest, (3, 7, 8, 12))
    for offset, version in enumerate(versions):
        answer = await produce(client, version, (name, [(0, records), (1, ONE)]))
        assert answer == {name: {0: refused(0, error), 1: appended(1, offset, version)}}
        answer = await produce(client, version, (name, [(0, records), (1, ONE)]), acks=2)
        assert answer == {name: {0: refused(0, error), 1: refused(1, ErrorCode.INVALID_REQUIRED_ACKS)}}
        answer = await produce(client, version, (nope, [(0, records)]))
        assert answer == {nope: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}}
    assert await ends(client, name, 0, 1) == [2, len(versions)]


UNKNOWN = {
    "magic 3": (changed(ONE, MAGIC, ">b", 3), "Invalid magic found in record: 3"),
    "magic -1": (changed(ONE, MAGIC, ">b", -1), "Invalid magic found in record: -1"),
    "length 13": (changed(ONE, LENGTH, ">i", 13), "Record size 13 is less than the minimum record overhead (14)"),
    "length -5": (changed(ONE, LENGTH, ">i", -5), "Record size -5 is less than the minimum record overhead (14)"),
    "zeros": (bytes(30), "Record size 0 is less than the minimum record overhead (14)"),
}
"""Records of no known format, and what is said of them."""


@rule(
    id="produce-21",
    api="Produce",
    says="A batch of no known format spoils its whole request: all partitions are refused, and nothing is stored.",
    source=WHOLE,
    versions="3-13",
    topics=(),
    each={"what": UNKNOWN},
)
async def produce_21(world: World, what: str) -> None:
    client = await world.client()
    name, nope = await new_topic(client), world.topic("nope")
    records, _ = UNKNOWN[what]
    for version in world.offered(ProduceRequest, (3, 8, 12)):
        sent: tuple[Sent, ...] = (name, [(1, ONE), (0, records)]), (nope, [(0, ONE)])
        answer = await produce(client, version, *sent, acks=2)
        told = answer[name][1].error_message
        assert (told is not None) == (version >= ERRORS_SINCE)
        wrong = {at: refused(at, ErrorCode.CORRUPT_MESSAGE, message=told) for at in (0, 1)}
        assert answer == {name: wrong, nope: {0: wrong[0]}}
        async with await world.client() as unlucky:
            await unlucky.send(request_of(version, (name, [(1, ONE), (0, records)]), acks=0), version)
            assert await unlucky.is_closed()
    assert await ends(client, name, 0, 1) == [0, 0]


@rule(
    id="produce-22",
    api="Produce",
    says="From version 8 on, of a batch of no known format the message tells its magic or its length.",
    source=f"KIP-467; {WHOLE}",
    versions="8-13",
    topics=(),
    each={"what": UNKNOWN},
)
async def produce_22(world: World, what: str) -> None:
    client = await world.client()
    name = await new_topic(client)
    records, message = UNKNOWN[what]
    for version in world.offered(ProduceRequest, range(ERRORS_SINCE, 13)):
        answer = await produce(client, version, (name, [(0, records)]))
        assert answer == {name: {0: refused(0, ErrorCode.CORRUPT_MESSAGE, message=message)}}


@rule(
    id="produce-23",
    api="Produce",
    says="Records compressed by zstd are refused before version 7, whatever stands behind them.",
    source=f"KIP-110; {FORM}",
    versions="3-6",
    topics=(),
)
async def produce_23(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    packed = batch(b"x" * 100, compression=Compression.ZSTD)
    too_new = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    for version in world.offered(ProduceRequest, range(3, 7)):
        answer = await produce(client, version, (name, [(0, packed), (1, packed + ONE)]))
        assert answer == {name: {0: refused(0, too_new), 1: refused(1, too_new)}}
    assert await ends(client, name, 0, 1) == [0, 0]


@rule(
    id="produce-24",
    api="Produce",
    says="From version 7 on one batch compressed by zstd is appended, and two are refused.",
    source=f"KIP-110; {FORM}",
    versions="7-13",
    topics=(),
)
async def produce_24(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    packed = batch(b"x" * 100, compression=Compression.ZSTD)
    for offset, version in enumerate(world.offered(ProduceRequest, range(7, 13))):
        answer = await produce(client, version, (name, [(0, packed), (1, packed + ONE)]))
        assert answer == {name: {0: appended(0, offset, version), 1: refused(1, ErrorCode.INVALID_RECORD)}}


async def are_refused(world: World, records: bytes, error: ErrorCode, start: int) -> None:
    """See to it that a log refuses records, whose start is told as given: of the log it is 1."""
    client = await world.client()
    name = await new_topic(client, max_message_bytes="1000")
    await put(client, name, 0, TWO)
    await delete_before(client, name, 0, 1)
    for offset, version in enumerate(world.offered(ProduceRequest, (7, 8, 12))):
        answer = await produce(client, version, (name, [(0, records), (1, ONE)]))
        assert answer == {name: {0: refused(0, error, start=start), 1: appended(1, offset, version)}}
        answer = await produce(client, version, (name, [(0, records)]), acks=2)
        assert answer == {name: {0: refused(0, ErrorCode.INVALID_REQUIRED_ACKS)}}
    assert [one.value for one in await stored(client, name, 0, 1)] == [b"three"]
    assert await put(client, name, 0, ONE) == [2]


INVALID = {
    "a base offset": changed(ONE, 0, ">q", 1),
    "a control batch": attributes(ONE, CONTROL),
    "too many promised": changed(ONE, COUNT, ">i", 2),
    "none promised": changed(ONE, COUNT, ">i", 0),
    "offsets with gaps": changed(ONE, LAST_DELTA, ">i", 5),
    "no sequence": batch(b"x", producer=(2**40, 0, -1)),
}
"""Batches that contradict themselves, or that producers may not send."""


@rule(
    id="produce-25",
    api="Produce",
    says="A batch that producers may not send, or that contradicts itself, is refused and told where the log starts, "
    "and other partitions are served.",
    source=ANALYZED,
    versions="3-13",
    topics=(),
    each={"what": INVALID},
)
async def produce_25(world: World, what: str) -> None:
    await are_refused(world, INVALID[what], ErrorCode.INVALID_RECORD, 1)


@rule(
    id="produce-26",
    api="Produce",
    says="A batch whose checksum is wrong is refused, and other partitions are served.",
    source="Apache Kafka UnifiedLog.analyzeAndValidateRecords: ensureValid",
    versions="3-13",
    topics=(),
)
async def produce_26(world: World) -> None:
    await are_refused(world, changed(ONE, CRC, ">I", 1, checksum=False), ErrorCode.CORRUPT_MESSAGE, -1)


@rule(
    id="produce-27",
    api="Produce",
    says="A batch larger than the topic's max.message.bytes is refused, and other partitions are served.",
    source="Apache Kafka UnifiedLog.analyzeAndValidateRecords: RecordTooLargeException",
    versions="3-13",
    topics=(),
)
async def produce_27(world: World) -> None:
    await are_refused(world, batch(b"x" * 1000), ErrorCode.MESSAGE_TOO_LARGE, -1)


UNPACKED = {
    "a compression that is none": attributes(ONE, 5),
    "nothing that can be unpacked": attributes(ONE, Compression.ZSTD),
}


@rule(
    id="produce-28",
    api="Produce",
    says="A batch that cannot be unpacked is answered UNKNOWN_SERVER_ERROR, and other partitions are served.",
    source="seen on Apache Kafka 4.4.0",
    versions="7-13",
    topics=(),
    each={"what": UNPACKED},
)
async def produce_28(world: World, what: str) -> None:
    await are_refused(world, UNPACKED[what], ErrorCode.UNKNOWN_SERVER_ERROR, 1)


@rule(
    id="produce-29",
    api="Produce",
    says="A compacted topic takes no records without keys; from version 8 on each of them is named.",
    source=NAMED_RECORDS,
    versions="3-13",
    topics=(),
)
async def produce_29(world: World) -> None:
    client = await world.client()
    name = await new_topic(client, cleanup_policy="compact")
    records = batch(b"a", b"b", key=None)
    for version in world.offered(ProduceRequest, NAMED):
        found = (await produce(client, version, (name, [(1, records)])))[name][1]
        assert (found.error_code, found.base_offset) == (ErrorCode.INVALID_RECORD, -1)
        assert found.log_start_offset == (0 if version >= START_SINCE else -1)
        assert [one.batch_index for one in found.record_errors] == ([0, 1] if version >= ERRORS_SINCE else [])
        assert (found.error_message is not None) == (version >= ERRORS_SINCE)
    assert await ends(client, name, 1) == [0]


@rule(
    id="produce-30",
    api="Produce",
    says="From version 8 on, of records without keys the messages tell the partition, and how many they are.",
    source=NAMED_RECORDS,
    versions="8-13",
    topics=(),
)
async def produce_30(world: World) -> None:
    client = await world.client()
    name = await new_topic(client, cleanup_policy="compact")
    sentence = f"Compacted topic cannot accept message without key in topic partition {name}-1"
    for version in world.offered(ProduceRequest, range(ERRORS_SINCE, 13)):
        found = (await produce(client, version, (name, [(1, batch(b"a", b"b", key=None))])))[name][1]
        assert [one.batch_index_error_message for one in found.record_errors] == [sentence, sentence]
        assert "due to 2 record errors in total" in str(found.error_message)


@rule(
    id="produce-31",
    api="Produce",
    says="A time too far in the future is refused, with its whole batch; from version 8 on its record is named.",
    source=f"{NAMED_RECORDS}; KIP-937",
    versions="3-13",
    since="4.0",
    topics=(),
)
async def produce_31(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    records = batch(times=[TIME, 2**62])
    for offset, version in enumerate(world.offered(ProduceRequest, NAMED)):
        found = (await produce(client, version, (name, [(0, records), (1, ONE)])))[name]
        assert found[1] == appended(1, offset, version)
        assert (found[0].error_code, found[0].base_offset) == (ErrorCode.INVALID_TIMESTAMP, -1)
        assert [one.batch_index for one in found[0].record_errors] == ([1] if version >= ERRORS_SINCE else [])
    assert await ends(client, name, 0) == [0]


@rule(
    id="produce-32",
    api="Produce",
    says="From version 8 on, of a time too far in the future the messages tell which it is, and at which offset.",
    source=f"{NAMED_RECORDS}; KIP-937",
    versions="8-13",
    topics=(),
)
async def produce_32(world: World) -> None:
    client = await world.client()
    name = await new_topic(client, message_timestamp_after_max_ms="3600000")
    for version in world.offered(ProduceRequest, range(ERRORS_SINCE, 13)):
        found = (await produce(client, version, (name, [(0, batch(times=[TIME, 2**62]))])))[name][0]
        assert found.error_message == "One or more records have been rejected due to invalid timestamp"
        (told,) = found.record_errors
        assert f"Timestamp {2**62} of message with offset 1 is out of range" in str(told.batch_index_error_message)


OUT_OF_ORDER = {
    "a gap": ((1, 3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    "an overlap": ((1, 1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    "a new epoch that does not begin at 0": ((2, 1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    "an old epoch": ((0, 2), ErrorCode.INVALID_PRODUCER_EPOCH),
}
"""Epoch and sequence number of who had two records appended in epoch 1."""


@rule(
    id="produce-33",
    api="Produce",
    says="Records that do not follow on what their producer sent last are refused, until those come that do.",
    source="KIP-98; Apache Kafka ProducerAppendInfo.maybeValidateDataBatch",
    versions="3-13",
    topics=(),
    each={"what": OUT_OF_ORDER},
)
async def produce_33(world: World, what: str) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    name = await new_topic(client)
    producer_id = int(time.time() * 1000) << 20
    await put(client, name, 0, batch(b"a", b"b", producer=(producer_id, 1, 0)))
    await delete_before(client, name, 0, 1)
    (epoch, sequence), error = OUT_OF_ORDER[what]
    for offset in range(2):
        records = batch(b"x", producer=(producer_id, epoch, sequence))
        answer = await produce(client, version, (name, [(0, records), (1, ONE)]))
        assert answer == {name: {0: refused(0, error, start=1), 1: appended(1, offset, version)}}
    assert [one.value for one in await stored(client, name, 0, 1)] == [b"b"]
    assert await put(client, name, 0, batch(b"c", producer=(producer_id, 2, 0))) == [2]


# --- transactions ---


@rule(
    id="produce-34",
    api="Produce",
    says="A request with records of a transaction has to have its id: else all partitions are refused, and nothing is "
    "looked at.",
    source=f"Apache Kafka KafkaApis.handleProduceRequest; {WHOLE}",
    versions="3-13",
    topics=(),
)
async def produce_34(world: World) -> None:
    client = await world.client()
    name, nope = await new_topic(client), world.topic("nope")
    (topic_id,) = await client.topic_ids(name)
    in_one = attributes(batch(b"x", producer=(2**40, 0, 0)), TRANSACTIONAL)
    wrong = {at: refused(at, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for at in (0, 1)}
    for version in world.offered(ProduceRequest):
        topic, nowhere = by_version(version, name, topic_id), by_version(version, nope, NOBODY)
        sent: list[list[Sent]] = [
            [(topic, [(0, ONE), (1, in_one)])],
            [(topic, [(0, b""), (1, in_one)])],
            [(nowhere, [(0, in_one)]), (topic, [(0, ONE), (1, ONE)])],
        ]
        for what in sent:
            for acks in (-1, 2):
                answer = await produce(client, version, *what, acks=acks)
                assert answer == {key: {index: wrong[index] for index, _ in parts} for key, parts in what}
        async with await world.client() as unlucky:
            await unlucky.send(request_of(version, (topic, [(0, in_one)]), acks=0), version)
            assert await unlucky.is_closed()
    assert await ends(client, name, 0, 1) == [0, 0]


async def wait_for_transactions(client: Client) -> None:
    """Wait until the broker either knows of transactions, or says that it never will."""
    version = client.newest(FindCoordinatorRequest, 3)
    request = FindCoordinatorRequest(key=client.names.group("tx"), key_type=1)
    not_yet = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    while (await client.call(request, version)).error_code in not_yet:  # noqa: ASYNC110 - the broker does it
        await trio.sleep(0.05)


@rule(
    id="produce-35",
    api="Produce",
    says="Records of a transaction that nobody knows are refused, and others that come with its id are appended.",
    source="KIP-890; Apache Kafka ReplicaManager.maybeSendPartitionsToTransactionCoordinator",
    versions="3-13",
    topics=(),
)
async def produce_35(world: World) -> None:
    client = await world.client()
    await wait_for_transactions(client)
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    in_one = attributes(batch(b"x", producer=(2**40, 0, 0)), TRANSACTIONAL)
    versions = world.offered(ProduceRequest)
    for offset, version in enumerate(versions):
        topic = by_version(version, name, topic_id)
        sent: Sent = (topic, [(0, in_one), (1, ONE), (9, ONE), (2, b"")])
        answer = await produce(client, version, sent, transactional_id=world.group("tx"))
        assert answer == {
            topic: {
                0: refused(0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
                1: appended(1, offset, version),
                9: refused(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                2: refused(2, ErrorCode.INVALID_RECORD),
            }
        }
    assert await ends(client, name, 0, 1) == [0, len(versions)]
