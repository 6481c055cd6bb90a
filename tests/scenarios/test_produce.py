"""Producers send records: every version, every refusal, and what becomes of the other partitions."""

import struct
import time
from uuid import UUID

import pytest
import trio

from tests.scenarios.harness import Client, World
from tests.scenarios.logs import (
    NOBODY,
    TIME,
    attributes,
    batch,
    changed,
    delete_before,
    ends,
    new_topic,
    produce,
    put,
    request_of,
    stored,
)
from wire.errors import ErrorCode
from wire.header import request_frame
from wire.messages import ApiVersionsRequest, FindCoordinatorRequest, PartitionProduceResponse
from wire.records import Compression, Record, build

VERSIONS = range(3, 14)
START_SINCE, ERRORS_SINCE, IDS_SINCE = 5, 8, 13
LENGTH, MAGIC, CRC, ATTRIBUTES, LAST_DELTA, COUNT = 8, 16, 17, 21, 23, 57
CONTROL, TRANSACTIONAL = 0x20, 0x10
ONE = batch(b"one")
TWO = batch(b"two", b"three")
OFFSETS = "__consumer_offsets"


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


def by_version(version: int, name: str, topic_id: UUID) -> str | UUID:
    return topic_id if version >= IDS_SINCE else name


def appended(index: int, offset: int, version: int = 12, *, start: int = 0, time_ms: int = -1):
    """What is said of records that were appended."""
    return PartitionProduceResponse(
        index=index,
        base_offset=offset,
        log_append_time_ms=time_ms,
        log_start_offset=start if version >= START_SINCE else -1,
    )


def refused(index: int, error: ErrorCode, *, start: int = -1, message: str | None = None):
    """What is said of records that were not."""
    return PartitionProduceResponse(
        index=index, error_code=error, base_offset=-1, log_start_offset=start, error_message=message
    )


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize("version", VERSIONS)
async def test_records_are_appended(client: Client, version: int, acks: int):
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    for offset in (0, 2, 4):
        answer = await produce(client, version, (topic, [(0, TWO), (2, ONE)]), acks=acks)
        assert answer == {topic: {0: appended(0, offset, version), 2: appended(2, offset // 2, version)}}
    assert await ends(client, name, 0, 1, 2) == [6, 0, 3]
    assert [(one.offset, one.value) for one in await stored(client, name, 0)] == [
        (0, b"two"), (1, b"three"), (2, b"two"), (3, b"three"), (4, b"two"), (5, b"three")
    ]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
async def test_topics_and_partitions_that_do_not_exist(client: Client, version: int):
    """What does is served."""
    one, other = await new_topic(client), await new_topic(client)
    ids = dict(zip((one, other), await client.topic_ids(one, other), strict=True))
    there, there_too, nowhere = (by_version(version, name, ids.get(name, NOBODY)) for name in (one, other, "nope"))
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
        there: {7: refused(7, missing), 0: appended(0, 0, version), -1: refused(-1, missing)},
        there_too: {2: appended(2, 0, version)},
    }
    assert await ends(client, one, 0, 1, 2) == [1, 0, 0]
    assert await ends(client, other, 0, 1, 2) == [0, 0, 2]


@pytest.mark.parametrize("name", ["", "a b", ".", "x" * 300, "__transaction_log", "__cluster_metadata"])
async def test_names_that_no_topic_has(client: Client, name: str):
    answer = await produce(client, 12, (name, [(0, ONE)]))
    assert answer == {name: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}}


async def test_the_zero_id(client: Client):
    zero = UUID(int=0)
    assert await produce(client, 13, (zero, [(0, ONE)])) == {zero: {0: refused(0, ErrorCode.UNKNOWN_TOPIC_ID)}}


@pytest.mark.parametrize("acks", [2, -2, 32_767, -32_768])
@pytest.mark.parametrize("version", VERSIONS)
async def test_acks_that_mean_nothing(client: Client, version: int, acks: int):
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    answer = await produce(client, version, (topic, [(1, ONE), (99, ONE)]), acks=acks)
    assert answer == {
        topic: {
            1: refused(1, ErrorCode.INVALID_REQUIRED_ACKS),
            99: refused(99, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        }
    }
    assert await ends(client, name, 1) == [0]


@pytest.mark.parametrize("version", VERSIONS)
async def test_without_acks_there_is_no_answer(client: Client, version: int):
    """What comes next is the answer to the next request."""
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    for _ in range(3):
        request = request_of(version, (topic, [(0, ONE), (1, TWO)]), acks=0)
        await client.send_bytes(request_frame(999, "client", request, version))
    assert (await client.call(ApiVersionsRequest(), 0)).error_code == 0
    assert await ends(client, name, 0, 1) == [3, 6]


@pytest.mark.parametrize("version", VERSIONS)
async def test_without_acks_a_failure_closes_the_connection(world: World, client: Client, version: int):
    """What can be appended is, all the same."""
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    nowhere = by_version(version, "nope", NOBODY)
    broken = changed(ONE, CRC, ">I", 0, checksum=False)
    for number, what in enumerate(
        [
            [(nowhere, [(0, ONE)]), (topic, [(0, ONE)])],
            [(topic, [(9, ONE), (0, ONE)])],
            [(topic, [(1, broken), (0, ONE)])],
        ]
    ):
        unlucky = await world.client()
        await unlucky.send_bytes(request_frame(1, "client", request_of(version, *what, acks=0), version))
        await unlucky.send_bytes(request_frame(2, "client", ApiVersionsRequest(), 0))
        assert await unlucky.is_closed()
        assert await ends(client, name, 0, 1) == [number + 1, 0]


@pytest.mark.parametrize("version", VERSIONS)
async def test_nothing_is_sent(client: Client, version: int):
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    for acks in (-1, 1, 2):
        assert await produce(client, version, acks=acks) == {}
        assert await produce(client, version, (topic, []), acks=acks) == {}
    assert await produce(client, version, (topic, []), (topic, [(0, ONE)])) == {topic: {0: appended(0, 0, version)}}
    for what in ([], [(topic, [])]):
        await client.send_bytes(request_frame(1, "client", request_of(version, *what, acks=0), version))
    assert (await client.call(ApiVersionsRequest(), 0)).error_code == 0


async def test_a_partition_that_comes_twice_gets_the_last(client: Client):
    """In one entry or in two; a topic has one entry in the answer."""
    name, other = await new_topic(client), await new_topic(client)
    assert await produce(client, 12, (name, [(0, ONE), (0, TWO)])) == {name: {0: appended(0, 0)}}
    assert await ends(client, name, 0) == [2]
    answer = await produce(client, 12, (name, [(0, TWO), (1, ONE)]), (other, [(0, ONE)]), (name, [(2, ONE), (0, ONE)]))
    assert answer == {
        name: {0: appended(0, 2), 1: appended(1, 0), 2: appended(2, 0)},
        other: {0: appended(0, 0)},
    }
    assert await ends(client, name, 0) == [3]
    assert await produce(client, 12, ("nope", [(0, ONE), (0, ONE)])) == {
        "nope": {0: refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
    }
    (topic_id,) = await client.topic_ids(name)
    answer = await produce(client, 13, (topic_id, [(1, ONE)]), (topic_id, [(1, TWO)]))
    assert answer == {topic_id: {1: appended(1, 1, 13)}}
    assert await ends(client, name, 0, 1) == [3, 3]


@pytest.mark.parametrize("wait", [0, -1, -(2**31), 2**31 - 1])
async def test_there_is_nobody_to_wait_for(client: Client, wait: int):
    name = await new_topic(client, min_insync_replicas="2")
    for acks in (-1, 1):
        answer = await produce(client, 12, (name, [(0, ONE)]), acks=acks, timeout=wait)
        assert answer[name][0].error_code == 0


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
"""What is seen before anything else of records, and before acks and the topic are looked at."""


@pytest.mark.parametrize("what", FORMS)
async def test_records_in_no_proper_form(client: Client, what: str):
    name = await new_topic(client)
    await put(client, name, 0, TWO)
    await delete_before(client, name, 0, 1)
    records, error = FORMS[what]
    for version in (3, 7, 8, 12):
        for acks in (-1, 2):
            answer = await produce(client, version, (name, [(0, records), (1, ONE)]), acks=acks)
            assert answer[name][0] == refused(0, error)
    assert await ends(client, name, 0, 1) == [2, 4]
    answer = await produce(client, 12, ("nope", [(0, records)]))
    assert answer["nope"][0] == refused(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("behind", [b"12345", bytes(11), ONE[:40], changed(ONE, LENGTH, ">i", 10**6)], ids=len)
async def test_what_is_no_batch_behind_one_is_left_out(client: Client, behind: bytes):
    name = await new_topic(client)
    for offset in range(2):
        assert await produce(client, 12, (name, [(0, ONE + behind)])) == {name: {0: appended(0, offset)}}
    assert [one.value for one in await stored(client, name, 0)] == [b"one"] * 2


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (changed(ONE, MAGIC, ">b", 3), "Invalid magic found in record: 3"),
        (changed(ONE, MAGIC, ">b", -1), "Invalid magic found in record: -1"),
        (changed(ONE, LENGTH, ">i", 13), "Record size 13 is less than the minimum record overhead (14)"),
        (changed(ONE, LENGTH, ">i", -5), "Record size -5 is less than the minimum record overhead (14)"),
        (bytes(30), "Record size 0 is less than the minimum record overhead (14)"),
    ],
)
async def test_records_of_no_known_format_spoil_the_request(world: World, client: Client, records: bytes, message: str):
    """They are met before partitions are looked at one by one."""
    name = await new_topic(client)
    for version in (3, 8, 12):
        told = message if version >= ERRORS_SINCE else None
        answer = await produce(client, version, (name, [(1, ONE), (0, records)]), ("nope", [(0, ONE)]), acks=2)
        wrong = {at: refused(at, ErrorCode.CORRUPT_MESSAGE, message=told) for at in (0, 1)}
        assert answer == {name: wrong, "nope": {0: wrong[0]}}
    unlucky = await world.client()
    await unlucky.send(request_of(12, (name, [(1, ONE), (0, records)]), acks=0), 12)
    assert await unlucky.is_closed()
    assert await ends(client, name, 0, 1) == [0, 0]


async def test_zstd_needs_version_7(client: Client):
    name = await new_topic(client)
    packed = batch(b"x" * 100, compression=Compression.ZSTD)
    for version in VERSIONS[:10]:
        answer = await produce(client, version, (name, [(0, packed), (1, packed + ONE)]))
        if version < 7:
            too_new = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
            assert answer == {name: {0: refused(0, too_new), 1: refused(1, too_new)}}
        else:
            assert answer[name][0] == appended(0, version - 7, version)
            assert answer[name][1] == refused(1, ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("compression", Compression)
async def test_compressed_records_are_kept_as_they_are(client: Client, compression: Compression):
    name = await new_topic(client)
    values = [b"x" * 100, b"", b"y" * 2000]
    packed = batch(*values, compression=compression)
    await put(client, name, 0, ONE, packed)
    assert [(one.offset, one.value) for one in await stored(client, name, 0, 1)] == list(enumerate(values, 1))


REFUSED_BY_THE_LOG = {
    "a wrong checksum": (changed(ONE, CRC, ">I", 1, checksum=False), ErrorCode.CORRUPT_MESSAGE, -1),
    "too large": (batch(b"x" * 1000), ErrorCode.MESSAGE_TOO_LARGE, -1),
    "a base offset": (changed(ONE, 0, ">q", 1), ErrorCode.INVALID_RECORD, 1),
    "a control batch": (attributes(ONE, CONTROL), ErrorCode.INVALID_RECORD, 1),
    "too many promised": (changed(ONE, COUNT, ">i", 2), ErrorCode.INVALID_RECORD, 1),
    "none promised": (changed(ONE, COUNT, ">i", 0), ErrorCode.INVALID_RECORD, 1),
    "offsets with gaps": (changed(ONE, LAST_DELTA, ">i", 5), ErrorCode.INVALID_RECORD, 1),
    "no sequence": (batch(b"x", producer=(2**40, 0, -1)), ErrorCode.INVALID_RECORD, 1),
    "a compression that is none": (attributes(ONE, 5), ErrorCode.UNKNOWN_SERVER_ERROR, 1),
    "nothing that can be unpacked": (attributes(ONE, Compression.ZSTD), ErrorCode.UNKNOWN_SERVER_ERROR, 1),
}
"""Records, the error, and where the log is said to start."""


@pytest.mark.parametrize("what", REFUSED_BY_THE_LOG)
async def test_records_that_a_log_refuses(client: Client, what: str):
    """No consumer sees them, other partitions are served, and acks that mean nothing are seen before."""
    name = await new_topic(client, max_message_bytes="1000")
    await put(client, name, 0, TWO)
    await delete_before(client, name, 0, 1)
    records, error, start = REFUSED_BY_THE_LOG[what]
    for offset, version in enumerate((7, 8, 12)):
        answer = await produce(client, version, (name, [(0, records), (1, ONE)]))
        assert answer == {name: {0: refused(0, error, start=start), 1: appended(1, offset, version)}}
        answer = await produce(client, version, (name, [(0, records)]), acks=2)
        assert answer == {name: {0: refused(0, ErrorCode.INVALID_REQUIRED_ACKS)}}
    assert [one.value for one in await stored(client, name, 0, 1)] == [b"three"]
    assert await put(client, name, 0, ONE) == [2]


@pytest.mark.parametrize("version", VERSIONS[:10])
async def test_the_records_at_fault_are_named(client: Client, version: int):
    name = await new_topic(client, cleanup_policy="compact")
    records = batch(b"a", b"b", key=None)
    found = (await produce(client, version, (name, [(1, records)])))[name][1]
    assert (found.error_code, found.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert found.log_start_offset == (0 if version >= START_SINCE else -1)
    if version < ERRORS_SINCE:
        assert (found.record_errors, found.error_message) == ([], None)
    else:
        sentence = f"Compacted topic cannot accept message without key in topic partition {name}-1"
        assert [(one.batch_index, one.batch_index_error_message) for one in found.record_errors] == [
            (0, sentence),
            (1, sentence),
        ]
        assert found.error_message is not None
        assert "due to 2 record errors in total" in found.error_message


@pytest.mark.parametrize("version", VERSIONS[:10])
async def test_times_of_the_future_are_refused(client: Client, version: int):
    name = await new_topic(client)
    records = batch(times=[TIME, 2**62])
    found = (await produce(client, version, (name, [(0, records), (1, ONE)])))[name]
    assert found[1] == appended(1, 0, version)
    assert found[0].error_code == ErrorCode.INVALID_TIMESTAMP
    if version >= ERRORS_SINCE:
        assert found[0].error_message == "One or more records have been rejected due to invalid timestamp"
        assert [one.batch_index for one in found[0].record_errors] == [1]
        assert f"Timestamp {2**62} of message with offset 1 is out of range" in (
            found[0].record_errors[0].batch_index_error_message
        )


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_broker_gives_the_time(world: World, client: Client, version: int):
    name = await new_topic(client, message_timestamp_type="LogAppendTime")
    topic = by_version(version, name, *await client.topic_ids(name))
    found = (await produce(client, version, (topic, [(0, batch(times=[TIME, 2**62]))])))[topic][0]
    now = found.log_append_time_ms
    assert found == appended(0, 0, version, time_ms=now)
    assert abs(now - time.time() * 1000) < 300_000
    assert [one.timestamp for one in await stored(client, name, 0)] == [now, now]


async def test_where_the_log_starts_is_told(client: Client):
    name = await new_topic(client)
    await put(client, name, 0, TWO, TWO)
    await delete_before(client, name, 0, 3)
    assert await produce(client, 12, (name, [(0, ONE)])) == {name: {0: appended(0, 4, start=3)}}
    await delete_before(client, name, 0, 5)
    assert await produce(client, 5, (name, [(0, ONE)])) == {name: {0: appended(0, 5, start=5)}}


async def test_records_that_come_twice_are_stored_once(world: World, client: Client):
    """A producer that has lost its connection does not know whether they came through, and sends them again."""
    name = await new_topic(client)
    producer_id = int(time.time() * 1000) << 20
    first, second = batch(b"a", b"b", producer=(producer_id, 0, 0)), batch(b"c", producer=(producer_id, 0, 2))
    await put(client, name, 0, first)
    lost = await world.client()
    await lost.send(request_of(12, (name, [(0, second)])), 12)
    while await ends(client, name, 0) != [3]:  # noqa: ASYNC110 - the broker does it
        await trio.sleep(0.01)
    await lost.aclose()
    again = await world.client()
    for records, offset in ((second, 2), (first, 0), (second, 2)):
        found = (await produce(again, 12, (name, [(0, records)])))[name][0]
        assert found == appended(0, offset, time_ms=TIME)
    assert [one.value for one in await stored(client, name, 0)] == [b"a", b"b", b"c"]


async def test_records_out_of_their_order_are_refused(client: Client):
    name = await new_topic(client)
    producer_id = int(time.time() * 1000) << 20
    await put(client, name, 0, batch(b"a", b"b", producer=(producer_id, 1, 0)))
    await delete_before(client, name, 0, 1)
    for producer, error in (
        ((producer_id, 1, 3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ((producer_id, 1, 1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ((producer_id, 2, 1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ((producer_id, 0, 2), ErrorCode.INVALID_PRODUCER_EPOCH),
    ):
        answer = await produce(client, 12, (name, [(0, batch(b"x", producer=producer)), (1, ONE)]))
        assert answer[name][0] == refused(0, error, start=1)
        assert answer[name][1].error_code == 0
    assert [one.value for one in await stored(client, name, 0, 1)] == [b"b"]
    assert await put(client, name, 0, batch(b"c", producer=(producer_id, 2, 0))) == [2]


# --- topics of the broker's own ---


async def offsets_topic(client: Client) -> str:
    """Wait until the topic exists, which a group that is looked for brings about."""
    await client.call(FindCoordinatorRequest(key="g"), 0)
    while await ends(client, OFFSETS, 0) == [-1]:  # noqa: ASYNC110 - the broker does it
        await trio.sleep(0.05)
    return OFFSETS


@pytest.mark.parametrize("client_id", ["client", "", None, "__Admin_client"])
async def test_internal_topics_are_not_written_to(world: World, client_id: str | None):
    client = await world.client(client_id)
    name = await new_topic(client)
    offsets = await offsets_topic(client)
    answer = await produce(client, 12, (offsets, [(0, ONE), (99, ONE)]), (name, [(0, ONE)]))
    assert answer == {
        offsets: {
            0: refused(0, ErrorCode.INVALID_TOPIC_EXCEPTION),
            99: refused(99, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        },
        name: {0: appended(0, 0)},
    }
    assert await produce(client, 12, (offsets, [(0, b"x")])) == {offsets: {0: refused(0, ErrorCode.INVALID_RECORD)}}
    answer = await produce(client, 12, (offsets, [(0, ONE)]), acks=2)
    assert answer == {offsets: {0: refused(0, ErrorCode.INVALID_REQUIRED_ACKS)}}
    assert all(one.key != b"key" for one in await stored(client, offsets, 0))


async def test_the_admin_client_writes_to_internal_topics(world: World):
    client = await world.client("__admin_client")
    offsets = await offsets_topic(client)
    # An offset that nobody has committed is no more: that does no harm to whoever reads the topic.
    group = world.group().encode()
    key = struct.pack(f">hh{len(group)}sh1si", 1, len(group), group, 1, b"t", 0)
    found = (await produce(client, 12, (offsets, [(0, build([Record(0, TIME, key, None)]))])))[offsets][0]
    assert found == appended(0, found.base_offset)
    assert (await stored(client, offsets, 0, found.base_offset))[0].key == key


# --- transactions ---


async def transactions(world: World, client: Client) -> None:
    """Wait until somebody could know of transactions."""
    if world.external is not None:
        request = FindCoordinatorRequest(coordinator_keys=["tx"], key_type=1)
        while (await client.call(request, 6)).coordinators[0].error_code:  # noqa: ASYNC110 - the broker does it
            await trio.sleep(0.05)


@pytest.mark.parametrize("version", VERSIONS)
async def test_records_of_a_transaction_need_its_id(world: World, client: Client, version: int):
    """Without it nothing is looked at."""
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    nowhere = by_version(version, "nope", NOBODY)
    in_one = attributes(batch(b"x", producer=(2**40, 0, 0)), TRANSACTIONAL)
    wrong = {at: refused(at, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for at in (0, 1)}
    for what in (
        [(topic, [(0, ONE), (1, in_one)])],
        [(topic, [(0, b""), (1, in_one)])],
        [(nowhere, [(0, in_one)]), (topic, [(0, ONE), (1, ONE)])],
    ):
        for acks in (-1, 2):
            answer = await produce(client, version, *what, acks=acks)
            assert answer == {key: {index: wrong[index] for index, _ in parts} for key, parts in what}
    unlucky = await world.client()
    await unlucky.send(request_of(version, (topic, [(0, in_one)]), acks=0), version)
    assert await unlucky.is_closed()
    assert await ends(client, name, 0, 1) == [0, 0]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_transaction_that_nobody_knows(world: World, client: Client, version: int):
    """Other records that come with its id are appended."""
    await transactions(world, client)
    name = await new_topic(client)
    topic = by_version(version, name, *await client.topic_ids(name))
    in_one = attributes(batch(b"x", producer=(2**40, 0, 0)), TRANSACTIONAL)
    sent = (topic, [(0, in_one), (1, ONE), (9, ONE), (2, b"")])
    answer = await produce(client, version, sent, transactional_id=world.group("tx"))
    assert answer == {
        topic: {
            0: refused(0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
            1: appended(1, 0, version),
            9: refused(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            2: refused(2, ErrorCode.INVALID_RECORD),
        }
    }
    assert await ends(client, name, 0, 1) == [0, 1]


@pytest.mark.parametrize("transactional_id", ["", "x"])
async def test_an_id_of_a_transaction_alone_does_no_harm(client: Client, transactional_id: str):
    name = await new_topic(client)
    for offset, records in enumerate((ONE, batch(b"x", producer=(2**40, 0, 0)))):
        answer = await produce(client, 12, (name, [(0, records)]), transactional_id=transactional_id)
        assert answer == {name: {0: appended(0, offset)}}


# --- versions ---


@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("version", [0, 1, 2])
async def test_the_oldest_versions_are_offered_and_not_served(client: Client, version: int, acks: int):
    offered = {one.api_key: one for one in (await client.call(ApiVersionsRequest(), 0)).api_keys}[0]
    assert (offered.min_version, offered.max_version) == (0, 13)
    body = struct.pack(">hiih1siii", acks, 1000, 1, 1, b"t", 1, 0, len(ONE)) + ONE
    await client.send_frame(struct.pack(">hhih", 0, version, 1, -1) + body)
    assert await client.is_closed()


@pytest.mark.parametrize("version", [-1, 14])
async def test_other_versions(client: Client, version: int):
    await client.send_frame(struct.pack(">hhih", 0, version, 1, -1) + bytes(20))
    assert await client.is_closed()
