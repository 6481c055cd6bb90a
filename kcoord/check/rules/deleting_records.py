"""Operators let logs begin later."""

import struct

from kcoord.check.logs import batch, ends, look_up, new_topic, put, stored
from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import partitions
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
)

HANDLED = "Apache Kafka KafkaApis.handleDeleteRecordsRequest"
DELETED = "Apache Kafka ReplicaManager.deleteRecordsOnLocalLog"
LOCAL = "Apache Kafka Partition.deleteRecordsOnLeader"
OFFSETS = "__consumer_offsets"
EARLIEST = -2
END = -1
TEN = batch(*(b"%d" % number for number in range(10)))
UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
OUT_OF_RANGE = (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
POLICY = (ErrorCode.POLICY_VIOLATION, -1)
Wish = tuple[str, list[tuple[int, int]]]


async def delete(
    client: Client, version: int, *wishes: Wish, timeout_ms: int = 10_000
) -> dict[str, dict[int, tuple[int, int]]]:
    """Ask, of each topic, for (partition, offset); return (error, where the log starts). No entry comes twice."""
    request = DeleteRecordsRequest(
        timeout_ms=timeout_ms,
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in offsets],
            )
            for name, offsets in wishes
        ],
    )
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for topic in answer.topics:
        assert topic.name not in found
        found[topic.name] = {one.partition_index: (one.error_code, one.low_watermark) for one in topic.partitions}
        assert len(found[topic.name]) == len(topic.partitions)
    return found


async def filled(client: Client, cleanup_policy: str = "delete") -> str:
    """Return a topic with ten records in each of its three partitions."""
    name = await new_topic(client, cleanup_policy=cleanup_policy)
    for index in range(3):
        await put(client, name, index, TEN)
    return name


async def start_of(client: Client, name: str, index: int = 0) -> int:
    """Return where a log starts, as ListOffsets tells it."""
    return (await look_up(client, name, index, EARLIEST))[2]


@rule(
    id="delete-records-1",
    api="DeleteRecords",
    says="A log begins where it is told to, also in the middle of a batch, and never begins earlier again.",
    source=f"KIP-107; {LOCAL}",
    versions="0-2",
    topics=(),
)
async def delete_records_1(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteRecordsRequest):
        name = await filled(client)
        for offset, start in ((0, 0), (3, 3), (1, 3), (3, 3), (7, 7), (10, 10), (4, 10)):
            assert await delete(client, version, (name, [(0, offset)])) == {name: {0: (ErrorCode.NONE, start)}}
            assert await start_of(client, name) == start
            assert [one.offset for one in await stored(client, name, 0, start)] == list(range(start, 10))
        assert await ends(client, name, 0) == [10]
        assert await put(client, name, 0, TEN) == [10]
        assert [one.offset for one in await stored(client, name, 0, 10)] == list(range(10, 20))


@rule(
    id="delete-records-2",
    api="DeleteRecords",
    says="An offset that was deleted is out of range for who fetches, and the next is not.",
    source=f"KIP-107; {LOCAL}",
    versions="0-2",
    topics=(),
)
async def delete_records_2(world: World) -> None:
    client = await world.client()
    newest = client.newest(FetchRequest, 12)
    for version in world.offered(DeleteRecordsRequest):
        name = await filled(client)
        await delete(client, version, (name, [(0, 4)]))
        for offset, error in ((3, ErrorCode.OFFSET_OUT_OF_RANGE), (4, ErrorCode.NONE)):
            partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
            request = FetchRequest(topics=[FetchTopic(topic=name, partitions=[partition])])
            ((found,),) = [one.partitions for one in (await client.call(request, newest)).responses]
            assert found.error_code == error


@rule(
    id="delete-records-3",
    api="DeleteRecords",
    says="Offset -1 deletes everything that is there.",
    source=f"KIP-107; {LOCAL}: the high watermark",
    versions="0-2",
    topics=(),
)
async def delete_records_3(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteRecordsRequest):
        name = await filled(client)
        for _ in range(2):
            assert await delete(client, version, (name, [(0, END)])) == {name: {0: (ErrorCode.NONE, 10)}}
        await put(client, name, 0, TEN)
        found = await delete(client, version, (name, [(0, END), (1, END)]))
        assert found == {name: {0: (ErrorCode.NONE, 20), 1: (ErrorCode.NONE, 10)}}
        assert [await start_of(client, name, index) for index in range(3)] == [20, 10, 0]


@rule(
    id="delete-records-4",
    api="DeleteRecords",
    says="A log without records may begin where it ends.",
    source=f"KIP-107; {LOCAL}",
    versions="0-2",
    topics=(),
)
async def delete_records_4(world: World) -> None:
    client = await world.client()
    empty = await new_topic(client)
    for version in world.offered(DeleteRecordsRequest):
        found = await delete(client, version, (empty, [(0, END), (1, 0)]))
        assert found == {empty: {0: (ErrorCode.NONE, 0), 1: (ErrorCode.NONE, 0)}}


@rule(
    id="delete-records-5",
    api="DeleteRecords",
    says="An offset below -1 or beyond the end is out of range, and other partitions are served.",
    source=LOCAL,
    versions="0-2",
    topics=(),
)
async def delete_records_5(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteRecordsRequest):
        name = await filled(client)
        for start, offset in enumerate((-2, -99, -(2**63), 11, 2**63 - 1), 5):
            found = await delete(client, version, (name, [(0, offset), (1, start)]))
            assert found == {name: {0: OUT_OF_RANGE, 1: (ErrorCode.NONE, start)}}
        assert await start_of(client, name) == 0


@rule(
    id="delete-records-6",
    api="DeleteRecords",
    says="Where records go by compaction only none are deleted otherwise, whatever the offset.",
    source=DELETED,
    versions="0-2",
    topics=(),
)
async def delete_records_6(world: World) -> None:
    client = await world.client()
    name = await filled(client, cleanup_policy="compact")
    for version in world.offered(DeleteRecordsRequest):
        for offset in (0, 1, 100, END, -5):
            assert await delete(client, version, (name, [(0, offset)])) == {name: {0: POLICY}}
    assert await start_of(client, name) == 0


@rule(
    id="delete-records-7",
    api="DeleteRecords",
    says="Records are deleted where the cleanup policy has delete in it.",
    source=DELETED,
    versions="0-2",
    topics=(),
    each={"policy": ("compact,delete", "delete")},
)
async def delete_records_7(world: World, policy: str) -> None:
    client = await world.client()
    name = await filled(client, cleanup_policy=policy)
    for offset, version in enumerate(world.offered(DeleteRecordsRequest), 4):
        assert await delete(client, version, (name, [(0, offset)])) == {name: {0: (ErrorCode.NONE, offset)}}


@rule(
    id="delete-records-8",
    api="DeleteRecords",
    says="Records are deleted where the cleanup policy is empty.",
    source="seen on Apache Kafka 4.4.0",
    versions="0-2",
    topics=(),
    since="4.2",
)
async def delete_records_8(world: World) -> None:
    client = await world.client()
    name = await filled(client, cleanup_policy="")
    for offset, version in enumerate(world.offered(DeleteRecordsRequest), 4):
        assert await delete(client, version, (name, [(0, offset)])) == {name: {0: (ErrorCode.NONE, offset)}}


@rule(
    id="delete-records-9",
    api="DeleteRecords",
    says="Records of internal topics are not deleted, whoever asks.",
    source=f"{DELETED}: InvalidTopicException",
    versions="0-2",
    topics=(),
    each={"client_id": ("client", "__admin_client")},
)
async def delete_records_9(world: World, client_id: str) -> None:
    client = await world.client(client_id)
    count = await partitions(client, OFFSETS)
    if count is None:
        raise NotApplicable(f"there is no topic {OFFSETS}")
    # No log begins before 0: with this offset nothing is lost at a broker that does not keep the rule.
    for version in world.offered(DeleteRecordsRequest):
        assert await delete(client, version, (OFFSETS, [(0, 0), (1, 0), (count, 0)])) == {
            OFFSETS: {
                0: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
                1: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
                count: UNKNOWN,
            }
        }


@rule(
    id="delete-records-10",
    api="DeleteRecords",
    says="Each partition is answered for itself, whether it exists or not.",
    source=f"{HANDLED}; {DELETED}",
    versions="0-2",
    topics=(),
)
async def delete_records_10(world: World) -> None:
    client = await world.client()
    name, compacted, nope = await filled(client), await filled(client, cleanup_policy="compact"), world.topic("nope")
    for start, version in enumerate(world.offered(DeleteRecordsRequest), 4):
        found = await delete(
            client,
            version,
            (nope, [(0, 1)]),
            (name, [(7, 1), (0, start), (-1, 0), (2, 11)]),
            ("a b", [(0, 0)]),
            ("", [(0, END)]),
            (compacted, [(0, 2), (9, 1)]),
            ("__cluster_metadata", [(0, 0)]),
        )
        assert found == {
            nope: {0: UNKNOWN},
            name: {7: UNKNOWN, 0: (ErrorCode.NONE, start), -1: UNKNOWN, 2: OUT_OF_RANGE},
            "a b": {0: UNKNOWN},
            "": {0: UNKNOWN},
            compacted: {0: POLICY, 9: UNKNOWN},
            "__cluster_metadata": {0: UNKNOWN},
        }


@rule(
    id="delete-records-11",
    api="DeleteRecords",
    says="Of a partition that comes twice the last entry counts, and a topic has one entry in the answer.",
    source=f"{HANDLED}: a map by partition",
    versions="0-2",
    topics=(),
)
async def delete_records_11(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteRecordsRequest):
        name, other = await filled(client), await filled(client)
        found = await delete(client, version, (name, [(0, 5), (0, 4)]), (other, [(0, 1)]), (name, [(1, 3), (2, 1)]))
        none = ErrorCode.NONE
        assert found == {name: {0: (none, 4), 1: (none, 3), 2: (none, 1)}, other: {0: (none, 1)}}
        assert await delete(client, version, (name, [(0, 6)]), (name, [(0, 400)])) == {name: {0: OUT_OF_RANGE}}
        assert await delete(client, version, (name, [(0, 400), (0, 7)])) == {name: {0: (none, 7)}}


@rule(
    id="delete-records-12",
    api="DeleteRecords",
    says="What names no partition is not in the answer.",
    source=HANDLED,
    versions="0-2",
    topics=(),
)
async def delete_records_12(world: World) -> None:
    client = await world.client()
    name, nope = await new_topic(client), world.topic("nope")
    for version in world.offered(DeleteRecordsRequest):
        assert await delete(client, version) == {}
        assert await delete(client, version, (name, []), (nope, [])) == {}


@rule(
    id="delete-records-13",
    api="DeleteRecords",
    says="Where there is but one replica the timeout does not matter.",
    source="Apache Kafka ReplicaManager.delayedDeleteRecordsRequired",
    versions="0-2",
    topics=(),
)
async def delete_records_13(world: World) -> None:
    client = await world.client()
    name = await filled(client)
    for version in world.offered(DeleteRecordsRequest):
        for timeout_ms in (0, -1, -(2**31), 2**31 - 1):
            found = await delete(client, version, (name, [(0, 4), (1, 40)]), timeout_ms=timeout_ms)
            assert found == {name: {0: (ErrorCode.NONE, 4), 1: OUT_OF_RANGE}}


@rule(
    id="delete-records-14",
    api="DeleteRecords",
    says="A version beside those that are advertised is not served: the connection is closed.",
    source="Apache Kafka RequestContext.parseRequest, SocketServer.processCompletedReceives",
    versions="0+",
    topics=(),
)
async def delete_records_14(world: World) -> None:
    for version in world.unserved(DeleteRecordsRequest):
        async with await world.client() as client:
            await client.send_frame(struct.pack(">hhih", DeleteRecordsRequest.API_KEY, version, 1, -1) + bytes(40))
            assert await client.is_closed()
