"""Producers send records that are taken: what they are told, with which acks, and what a broker stores."""

import struct
import time
from uuid import UUID

import trio

from kcoord.check.logs import (
    NAMED,
    NOBODY,
    TIME,
    Sent,
    appended,
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
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.header import request_frame
from wire.messages import ApiVersionsRequest, ProduceRequest
from wire.records import Compression

HANDLED = "Apache Kafka KafkaApis.handleProduceRequest"
APPENDED = "Apache Kafka ReplicaManager.appendRecords"
IDS_SINCE = 13
CRC = 17
ONE = batch(b"one")
TWO = batch(b"two", b"three")


@rule(
    id="produce-1",
    api="Produce",
    says="Records are appended to each of their partitions, and the answer has the offset of the first of them.",
    source=f"KIP-98; {APPENDED}",
    versions="3-13",
    topics=(),
    each={"acks": (-1, 1)},
)
async def produce_1(world: World, acks: int) -> None:
    client = await world.client()
    versions = world.offered(ProduceRequest)
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    for number, version in enumerate(versions):
        topic = by_version(version, name, topic_id)
        answer = await produce(client, version, (topic, [(0, TWO), (2, ONE)]), acks=acks)
        assert answer == {topic: {0: appended(0, 2 * number, version), 2: appended(2, number, version)}}
    count = len(versions)
    assert await ends(client, name, 0, 1, 2) == [2 * count, 0, count]
    there = [(one.offset, one.key, one.value) for one in await stored(client, name, 0)]
    assert there == [(at, b"key", b"three" if at % 2 else b"two") for at in range(2 * count)]


@rule(
    id="produce-2",
    api="Produce",
    says="Topics and partitions that do not exist are told so, and what does exist is served beside them.",
    source=f"KIP-516; {HANDLED}",
    versions="3-13",
    topics=(),
)
async def produce_2(world: World) -> None:
    client = await world.client()
    one, other, nope = await new_topic(client), await new_topic(client), world.topic("nope")
    ids = dict(zip((one, other), await client.topic_ids(one, other), strict=True))
    versions = world.offered(ProduceRequest)
    for number, version in enumerate(versions):
        there, there_too, nowhere = (by_version(version, name, ids.get(name, NOBODY)) for name in (one, other, nope))
        answer = await produce(
            client,
            version,
            (nowhere, [(0, ONE), (1, ONE)]),
            (there, [(7, ONE), (0, ONE), (-1, ONE)]),
            (there_too, [(2, TWO)]),
        )
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= IDS_SINCE else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert answer == {
            nowhere: {0: refused(0, unknown), 1: refused(1, unknown)},
            there: {7: refused(7, missing), 0: appended(0, number, version), -1: refused(-1, missing)},
            there_too: {2: appended(2, 2 * number, version)},
        }
    count = len(versions)
    assert await ends(client, one, 0, 1, 2) == [count, 0, 0]
    assert await ends(client, other, 0, 1, 2) == [0, 0, 2 * count]


@rule(
    id="produce-3",
    api="Produce",
    says="A name that no topic can have is that of a topic which does not exist.",
    source=HANDLED,
    versions="3-12",
    topics=(),
)
async def produce_3(world: World) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    for name in ("", "a b", ".", "x" * 300):
        answer = await produce(client, version, (name, [(0, ONE)]))
        assert answer == {name: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}}


@rule(
    id="produce-4",
    api="Produce",
    says="No topic has the id that is all zeros.",
    source=f"KIP-516; {HANDLED}",
    versions="13",
    topics=(),
)
async def produce_4(world: World) -> None:
    client, zero = await world.client(), UUID(int=0)
    assert await produce(client, 13, (zero, [(0, ONE)])) == {zero: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_ID)}}


@rule(
    id="produce-5",
    api="Produce",
    says="Acks other than -1, 0 and 1 are refused for each partition that exists, and nothing is stored.",
    source=APPENDED,
    versions="3-13",
    topics=(),
)
async def produce_5(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    for version in world.offered(ProduceRequest):
        topic = by_version(version, name, topic_id)
        for acks in (2, -2, 32_767, -32_768):
            answer = await produce(client, version, (topic, [(1, ONE), (99, ONE)]), acks=acks)
            assert answer == {
                topic: {
                    1: refused(1, ErrorCode.INVALID_REQUIRED_ACKS),
                    99: refused(99, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                }
            }
    assert await ends(client, name, 1) == [0]


@rule(
    id="produce-6",
    api="Produce",
    says="With acks 0 there is no answer: what comes next answers the next request.",
    source=f"{HANDLED}: sendNoOpResponseExemptThrottle",
    versions="3-13",
    topics=(),
)
async def produce_6(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    versions = world.offered(ProduceRequest)
    for version in versions:
        topic = by_version(version, name, topic_id)
        for _ in range(3):
            request = request_of(version, (topic, [(0, ONE), (1, TWO)]), acks=0)
            await client.send_bytes(request_frame(999, "client", request, version))
        assert (await client.call(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
    assert await ends(client, name, 0, 1) == [3 * len(versions), 6 * len(versions)]


@rule(
    id="produce-7",
    api="Produce",
    says="With acks 0 any partition that is refused closes the connection, and the others have their records stored.",
    source=f"{HANDLED}: closing connection due to error during produce request",
    versions="3-13",
    topics=(),
)
async def produce_7(world: World) -> None:
    client = await world.client()
    name, nope = await new_topic(client), world.topic("nope")
    (topic_id,) = await client.topic_ids(name)
    broken = changed(ONE, CRC, ">I", 0, checksum=False)
    number = 0
    for version in world.offered(ProduceRequest):
        topic, nowhere = by_version(version, name, topic_id), by_version(version, nope, NOBODY)
        sent: list[list[Sent]] = [
            [(nowhere, [(0, ONE)]), (topic, [(0, ONE)])],
            [(topic, [(9, ONE), (0, ONE)])],
            [(topic, [(1, broken), (0, ONE)])],
        ]
        for what in sent:
            number += 1
            async with await world.client() as unlucky:
                await unlucky.send_bytes(request_frame(1, "client", request_of(version, *what, acks=0), version))
                await unlucky.send_bytes(request_frame(2, "client", ApiVersionsRequest(), 0))
                assert await unlucky.is_closed()
            assert await ends(client, name, 0, 1) == [number, 0]


@rule(
    id="produce-8",
    api="Produce",
    says="What names no partition is not in the answer, whatever the acks.",
    source=HANDLED,
    versions="3-13",
    topics=(),
)
async def produce_8(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    for number, version in enumerate(world.offered(ProduceRequest)):
        topic = by_version(version, name, topic_id)
        for acks in (-1, 1, 2):
            assert await produce(client, version, acks=acks) == {}
            assert await produce(client, version, (topic, []), acks=acks) == {}
        answer = await produce(client, version, (topic, []), (topic, [(0, ONE)]))
        assert answer == {topic: {0: appended(0, number, version)}}


@rule(
    id="produce-9",
    api="Produce",
    says="A request without partitions and with acks 0 is not answered, and closes nothing.",
    source=f"{HANDLED}: sendNoOpResponseExemptThrottle",
    versions="3-13",
    topics=(),
)
async def produce_9(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    for version in world.offered(ProduceRequest):
        topic = by_version(version, name, topic_id)
        nothing = request_of(version, acks=0), request_of(version, (topic, []), acks=0)
        for request in nothing:
            await client.send_bytes(request_frame(1, "client", request, version))
        assert (await client.call(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE


@rule(
    id="produce-10",
    api="Produce",
    says="Of a partition that comes twice with good records the last entry is appended; a topic has one entry in the "
    "answer.",
    source=f"{HANDLED}: a map by partition",
    versions="3-13",
    topics=(),
)
async def produce_10(world: World) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    name, other, nope = await new_topic(client), await new_topic(client), world.topic("nope")
    answer = await produce(client, version, (name, [(0, ONE), (0, TWO)]))
    assert answer == {name: {0: appended(0, 0, version)}}
    assert await ends(client, name, 0) == [2]
    answer = await produce(
        client, version, (name, [(0, TWO), (1, ONE)]), (other, [(0, ONE)]), (name, [(2, ONE), (0, ONE)])
    )
    assert answer == {
        name: {0: appended(0, 2, version), 1: appended(1, 0, version), 2: appended(2, 0, version)},
        other: {0: appended(0, 0, version)},
    }
    assert await ends(client, name, 0) == [3]
    answer = await produce(client, version, (nope, [(0, ONE), (0, ONE)]))
    assert answer == {nope: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}}


@rule(
    id="produce-10b",
    api="Produce",
    says="With topic ids, too, a partition that comes twice with good records is appended to once, by its last entry.",
    source=f"{HANDLED}: a map by partition",
    versions="13",
    topics=(),
)
async def produce_10b(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    (topic_id,) = await client.topic_ids(name)
    answer = await produce(client, 13, (topic_id, [(1, ONE)]), (topic_id, [(1, TWO)]))
    assert answer == {topic_id: {1: appended(1, 0, 13)}}
    assert await ends(client, name, 1) == [2]


@rule(
    id="produce-11",
    api="Produce",
    says="Where there is but one replica the timeout does not matter, nor does min.insync.replicas.",
    source="Apache Kafka Partition.effectiveMinIsr, ReplicaManager.delayedProduceRequestRequired",
    versions="3-13",
    topics=(),
)
async def produce_11(world: World) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    name = await new_topic(client, min_insync_replicas="2")
    offset = 0
    for wait in (0, -1, -(2**31), 2**31 - 1):
        for acks in (-1, 1):
            answer = await produce(client, version, (name, [(0, ONE)]), acks=acks, timeout=wait)
            assert answer == {name: {0: appended(0, offset, version)}}
            offset += 1


@rule(
    id="produce-12",
    api="Produce",
    says="Records are stored compressed in whatever way they came, and consumers get what was sent.",
    source="Apache Kafka LogValidator.validateMessagesAndAssignOffsets",
    versions="7-13",
    topics=(),
)
async def produce_12(world: World) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, range(7, 13))[-1]
    values = [b"x" * 100, b"", b"y" * 2000]
    for compression in Compression:
        name = await new_topic(client, 1)
        for offset, records in ((0, ONE), (1, batch(*values, compression=compression))):
            answer = await produce(client, version, (name, [(0, records)]))
            assert answer == {name: {0: appended(0, offset, version)}}
        assert [(one.offset, one.value) for one in await stored(client, name, 0, 1)] == list(enumerate(values, 1))


BEHIND = {
    "5 bytes": b"12345",
    "11 zeros": bytes(11),
    "the begin of a batch": ONE[:40],
    "a length too large": changed(ONE, 8, ">i", 10**6),
}
"""What is no batch, behind one."""


@rule(
    id="produce-13",
    api="Produce",
    says="What does not make up another batch behind the first is left out, and the first is appended.",
    source="Apache Kafka ProduceRequest.validateRecords, ByteBufferLogInputStream.nextBatch",
    versions="3-13",
    topics=(),
    each={"behind": BEHIND},
)
async def produce_13(world: World, behind: str) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    name = await new_topic(client)
    for offset in range(2):
        answer = await produce(client, version, (name, [(0, ONE + BEHIND[behind])]))
        assert answer == {name: {0: appended(0, offset, version)}}
    assert [one.value for one in await stored(client, name, 0)] == [b"one"] * 2


@rule(
    id="produce-14",
    api="Produce",
    says="With LogAppendTime a topic's records get the broker's time, which is in the answer, whatever theirs was.",
    source="KIP-32; Apache Kafka LogValidator.validateMessagesAndAssignOffsets",
    versions="3-13",
    topics=(),
)
async def produce_14(world: World) -> None:
    client = await world.client()
    name = await new_topic(client, message_timestamp_type="LogAppendTime")
    (topic_id,) = await client.topic_ids(name)
    times: list[int] = []
    for number, version in enumerate(world.offered(ProduceRequest)):
        topic = by_version(version, name, topic_id)
        found = (await produce(client, version, (topic, [(0, batch(times=[TIME, 2**62]))])))[topic][0]
        now = found.log_append_time_ms
        assert found == appended(0, 2 * number, version, time_ms=now)
        assert abs(now - time.time() * 1000) < 300_000
        times += [now, now]
    assert [one.timestamp for one in await stored(client, name, 0)] == times


@rule(
    id="produce-15",
    api="Produce",
    says="The answer tells where the log starts.",
    source="KIP-107; Apache Kafka UnifiedLog.append",
    versions="5-13",
    topics=(),
)
async def produce_15(world: World) -> None:
    client = await world.client()
    name = await new_topic(client)
    for version in world.offered(ProduceRequest, range(5, 13)):
        (offset, _) = await put(client, name, 0, TWO, TWO)
        await delete_before(client, name, 0, offset + 3)
        answer = await produce(client, version, (name, [(0, ONE)]))
        assert answer == {name: {0: appended(0, offset + 4, version, start=offset + 3)}}
        await delete_before(client, name, 0, offset + 5)
        answer = await produce(client, version, (name, [(0, ONE)]))
        assert answer == {name: {0: appended(0, offset + 5, version, start=offset + 5)}}


@rule(
    id="produce-16",
    api="Produce",
    says="Records that a producer sends again, having lost its connection, are stored once.",
    source="KIP-98; Apache Kafka ProducerStateEntry.findDuplicateBatch",
    versions="3-13",
    topics=(),
)
async def produce_16(world: World) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    name = await new_topic(client)
    producer_id = int(time.time() * 1000) << 20
    first, second = batch(b"a", b"b", producer=(producer_id, 0, 0)), batch(b"c", producer=(producer_id, 0, 2))
    await put(client, name, 0, first)
    lost = await world.client()
    await lost.send(request_of(version, (name, [(0, second)])), version)
    while await ends(client, name, 0) != [3]:  # noqa: ASYNC110 - the broker does it
        await trio.sleep(0.01)
    await lost.aclose()
    again = await world.client()
    for records, offset in ((second, 2), (first, 0), (second, 2)):
        found = (await produce(again, version, (name, [(0, records)])))[name][0]
        assert found == appended(0, offset, version, time_ms=TIME)
    assert [one.value for one in await stored(client, name, 0)] == [b"a", b"b", b"c"]


@rule(
    id="produce-17",
    api="Produce",
    says="An id of a transaction does no harm to records that are of none.",
    source=HANDLED,
    versions="3-13",
    topics=(),
)
async def produce_17(world: World) -> None:
    client = await world.client()
    version = world.offered(ProduceRequest, NAMED)[-1]
    for transactional_id in ("", world.group("tx")):
        name = await new_topic(client)
        for offset, records in enumerate((ONE, batch(b"x", producer=(2**40, 0, 0)))):
            answer = await produce(client, version, (name, [(0, records)]), transactional_id=transactional_id)
            assert answer == {name: {0: appended(0, offset, version)}}


# --- versions ---


@rule(
    id="produce-18",
    api="Produce",
    says="Versions 0 to 2 are advertised, but not served: they close the connection.",
    source="KIP-896; KAFKA-18659",
    versions="0+",
    topics=(),
    each={"version": (0, 1, 2)},
    since="4.0",
)
async def produce_18(world: World, version: int) -> None:
    client = await world.client()
    offered = {one.api_key: one for one in (await client.call(ApiVersionsRequest(), 0)).api_keys}
    assert offered[ProduceRequest.API_KEY].min_version == 0
    name = await new_topic(client)
    for acks in (-1, 0, 1):
        body = struct.pack(f">hiih{len(name)}siii", acks, 1000, 1, len(name), name.encode(), 1, 0, len(ONE)) + ONE
        async with await world.client() as unlucky:
            await unlucky.send_frame(struct.pack(">hhih", ProduceRequest.API_KEY, version, 1, -1) + body)
            assert await unlucky.is_closed()
    assert await ends(client, name, 0) == [0]


@rule(
    id="produce-19",
    api="Produce",
    says="A version beside those that are advertised is not served: the connection is closed.",
    source="Apache Kafka RequestContext.parseRequest, SocketServer.processCompletedReceives",
    versions="0+",
    topics=(),
)
async def produce_19(world: World) -> None:
    for version in world.unserved(ProduceRequest):
        async with await world.client() as client:
            await client.send_frame(struct.pack(">hhih", ProduceRequest.API_KEY, version, 1, -1) + bytes(20))
            assert await client.is_closed()
