"""What clients ask about topics: Metadata, ListOffsets and Fetch, in every version.

Each request goes to the server in this process and, with `--bootstrap`, to the broker there as well: both must say
the same, field by field, but for their ids and addresses.
"""

import dataclasses
import itertools
import struct
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID, uuid4

import pytest
import trio

from tests.scenarios.conftest import external_address
from tests.scenarios.harness import Client, open_world
from wire.errors import ErrorCode
from wire.header import read_response
from wire.messages import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
    PartitionData,
)

TOPICS = {"t": 3, "u": 3, "wide": 1000, "__consumer_offsets": 50}
"""Every topic of the server in this process, and its partitions. The other broker may have more."""
IDS = {name: UUID(int=number) for number, name in enumerate(TOPICS, 1)}
"""The ids by which these tests know the topics, whatever they really are."""
ZERO = UUID(int=0)
NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
NOT_ASKED = -(2**31)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID


class Both:
    """The server in this process and, if there is one, the broker to compare it with."""

    def __init__(self, clients: list[Client], ids: list[dict[UUID, UUID]]) -> None:
        self._clients = clients
        self._ids = ids
        self.elapsed: list[float] = []
        """How long (s) each took for the last answer."""

    async def ask(self, request: Any, version: int, *, but: Callable[[Any], None] | None = None) -> Any:
        """Return the answer, which must be the same from both, under the ids in `IDS`.

        `but` evens out what may differ beside that.
        """
        answers = []
        sizes = []
        self.elapsed = []
        for client, ids in zip(self._clients, self._ids, strict=True):
            really = replaced(request, {known: real for real, known in ids.items()})
            start = trio.current_time()
            await client.send(really, version)
            frame = await client.read_frame()
            self.elapsed.append(trio.current_time() - start)
            call = client.waiting.pop(0)
            _, response = read_response(frame, type(request).RESPONSE, version)
            sizes.append(len(frame) - address_bytes(response))
            answer = replaced(response, ids)
            even_out(answer)
            if but is not None:
                but(answer)
            answers.append(answer)
            assert call.version == version
        first, *others = answers
        for other in others:
            assert other == first
        if but is None:
            # Tags, and anything else that reading skips, would show in the size.
            assert len(set(sizes)) == 1, sizes
        return first

    async def close_it(self, payload: bytes) -> bool:
        """Send a payload; return whether the connection is closed for it."""
        for client in self._clients:
            await client.send_frame(payload)
            if not await client.is_closed():
                return False
        return True


def replaced(value: Any, ids: dict[UUID, UUID]) -> Any:
    """A copy of a message with other topic ids."""
    if dataclasses.is_dataclass(value):
        names = [each.name for each in dataclasses.fields(value)]
        return type(value)(**{name: replaced(getattr(value, name), ids) for name in names})
    if isinstance(value, list):
        return [replaced(each, ids) for each in value]
    return ids.get(value, value) if isinstance(value, UUID) else value


def address_bytes(response: Any) -> int:
    """How many bytes tell where the broker is."""
    if not isinstance(response, MetadataResponse):
        return 0
    return sum(len(broker.host) for broker in response.brokers) + len(response.cluster_id or "")


def even_out(answer: Any) -> None:
    """Take out what no two brokers share, and order in which Kafka's hash tables happen to be."""
    if isinstance(answer, MetadataResponse):
        for broker in answer.brokers:
            assert broker.host
            assert broker.port > 0
            broker.host, broker.port = "host", 1
        if answer.cluster_id is not None:
            assert answer.cluster_id
            answer.cluster_id = "cluster"
        answer.topics.sort(key=lambda topic: (topic.error_code, topic.name or "", topic.topic_id))
        for topic in answer.topics:
            topic.partitions.sort(key=lambda partition: partition.partition_index)
    elif isinstance(answer, ListOffsetsResponse):
        answer.topics.sort(key=lambda topic: topic.name)
        for topic in answer.topics:
            topic.partitions.sort(key=lambda one: one.partition_index)


@pytest.fixture
async def both(request: pytest.FixtureRequest):
    """See `Both`."""
    external = external_address(request.config)
    async with AsyncExitStack() as stack:
        clients, ids = [], []
        for where in (None, external) if external else (None,):
            world = await stack.enter_async_context(open_world(where))
            client = await world.client()
            real = await client.topic_ids(*TOPICS)
            clients.append(client)
            ids.append(dict(zip(real, IDS.values(), strict=True)))
        yield Both(clients, ids)


# --- Metadata ---

METADATA = range(14)
BY_ID = (12, 13)


def named(version: int, *names: str, create: bool = False, **what: Any) -> MetadataRequest:
    """A request for topics by name. Up to version 3 it always allows to create them."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create or version < 4, **what)


def with_ids(*topics: UUID | tuple[str | None, UUID], **what: Any) -> MetadataRequest:
    pairs = [(None, topic) if isinstance(topic, UUID) else topic for topic in topics]
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in pairs],
        allow_auto_topic_creation=False,
        **what,
    )


def cluster(version: int, *topics: MetadataResponseTopic, operations: int = NOT_ASKED) -> MetadataResponse:
    """What is said of the one broker, and of these topics."""
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="host", port=1)],
        cluster_id="cluster" if version >= 2 else None,
        controller_id=1 if version >= 1 else -1,
        topics=sorted(topics, key=lambda topic: (topic.error_code, topic.name or "", topic.topic_id)),
        cluster_authorized_operations=operations,
    )


def known(
    version: int, name: str, *, operations: int = NOT_ASKED, partitions: int | None = None
) -> MetadataResponseTopic:
    """What is said of a topic that exists."""
    return MetadataResponseTopic(
        name=name,
        topic_id=IDS[name] if version >= 10 else ZERO,
        is_internal=version >= 1 and name.startswith("__"),
        partitions=[
            MetadataResponsePartition(
                partition_index=index,
                leader_id=1,
                leader_epoch=0 if version >= 7 else -1,
                replica_nodes=[1],
                isr_nodes=[1],
            )
            for index in range(partitions or TOPICS[name])
        ],
        topic_authorized_operations=operations,
    )


def missing(name: str | None, error: ErrorCode = UNKNOWN, **what: Any) -> MetadataResponseTopic:
    """What is said of a topic that does not exist."""
    return MetadataResponseTopic(name=name, error_code=error, **what)


@pytest.mark.parametrize("version", METADATA[1:])
async def test_metadata_of_no_topics(both: Both, version: int):
    assert await both.ask(named(version), version) == cluster(version)


@pytest.mark.parametrize("version", METADATA)
async def test_metadata_of_all_topics(both: Both, version: int):
    def only_ours(answer: MetadataResponse) -> None:
        answer.topics = [topic for topic in answer.topics if topic.name in TOPICS]

    request = MetadataRequest(topics=[] if version == 0 else None)
    answer = await both.ask(request, version, but=only_ours)
    assert answer == cluster(version, *(known(version, name) for name in TOPICS))


@pytest.mark.parametrize("version", METADATA)
async def test_metadata_of_named_topics(both: Both, version: int):
    assert await both.ask(named(version, "u", "t"), version) == cluster(
        version, known(version, "u"), known(version, "t")
    )


@pytest.mark.parametrize("version", METADATA)
async def test_metadata_of_a_topic_that_is_named_twice(both: Both, version: int):
    assert await both.ask(named(version, "t", "u", "t"), version) == cluster(
        version, known(version, "t"), known(version, "u")
    )


@pytest.mark.parametrize("version", METADATA[4:])
async def test_metadata_of_unknown_topics(both: Both, version: int):
    for _ in range(2):
        answer = await both.ask(named(version, "nope", "t"), version)
        assert answer == cluster(version, missing("nope"), known(version, "t"))


@pytest.mark.parametrize("version", METADATA)
async def test_metadata_creates_topics_where_that_is_allowed(both: Both, version: int):
    """The first answer is the old one; the topic is there soon after. Up to version 3 it is always allowed."""
    name = f"made-{uuid4()}"

    def no_id(answer: MetadataResponse) -> None:
        for topic in answer.topics:
            assert (topic.topic_id != ZERO) == (version >= 10 and topic.error_code == ErrorCode.NONE)
            topic.topic_id = ZERO

    request = named(version, name, create=True)
    assert await both.ask(request, version, but=no_id) == cluster(version, missing(name))
    await trio.sleep(1)
    expected = dataclasses.replace(known(version, "t", partitions=1), name=name, topic_id=ZERO)
    assert await both.ask(request, version, but=no_id) == cluster(version, expected)


@pytest.mark.parametrize("version", METADATA)
async def test_metadata_of_illegal_names(both: Both, version: int):
    illegal = ["", ".", "..", " ", "a b", "a/b", "ü", "x" * 250, "t\n"]
    answer = await both.ask(named(version, *illegal, "t", create=True), version)
    refused = (missing(name, ErrorCode.INVALID_TOPIC_EXCEPTION) for name in illegal)
    assert answer == cluster(version, *refused, known(version, "t"))


async def test_metadata_of_the_longest_name(both: Both):
    assert await both.ask(named(13, "x" * 249), 13) == cluster(13, missing("x" * 249))


async def test_metadata_never_creates_names_that_collide(both: Both):
    """A dot and an underscore are the same in the names of metrics; the client is not told."""
    unique = uuid4()
    dot, underscore = f"a.b-{unique}", f"a_b-{unique}"

    def no_id(answer: MetadataResponse) -> None:
        for topic in answer.topics:
            topic.topic_id = ZERO

    await both.ask(named(13, dot, create=True), 13)
    await trio.sleep(1)
    for _ in range(3):
        answer = await both.ask(named(13, dot, underscore, create=True), 13, but=no_id)
        made, refused = answer.topics
        assert (made.name, made.error_code, len(made.partitions)) == (dot, ErrorCode.NONE, 1)
        assert refused == missing(underscore)
        await trio.sleep(0.2)


@pytest.mark.parametrize("version", METADATA)
async def test_metadata_of_the_internal_topic(both: Both, version: int):
    answer = await both.ask(named(version, "__consumer_offsets"), version)
    assert answer == cluster(version, known(version, "__consumer_offsets"))


@pytest.mark.parametrize("version", METADATA[8:])
async def test_metadata_with_authorized_operations(both: Both, version: int):
    """Without an authorizer all that there is to topics and clusters; versions from 11 on leave the cluster out."""
    of_the_cluster = version <= 10
    answer = await both.ask(
        named(
            version,
            "t",
            "nope",
            ".",
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=of_the_cluster,
        ),
        version,
    )
    assert answer == cluster(
        version,
        known(version, "t", operations=3576),
        missing("nope", topic_authorized_operations=3576),
        missing(".", ErrorCode.INVALID_TOPIC_EXCEPTION, topic_authorized_operations=3576),
        operations=8096 if of_the_cluster else NOT_ASKED,
    )


@pytest.mark.parametrize("version", BY_ID)
async def test_metadata_by_id(both: Both, version: int):
    answer = await both.ask(with_ids(IDS["u"], NOBODY, IDS["t"], IDS["u"]), version)
    unknown = missing(None, UNKNOWN_ID, topic_id=NOBODY)
    assert answer == cluster(version, known(version, "u"), known(version, "t"), unknown)


@pytest.mark.parametrize("version", BY_ID)
async def test_metadata_by_id_with_authorized_operations(both: Both, version: int):
    request = with_ids(IDS["t"], NOBODY, include_topic_authorized_operations=True)
    unknown = missing(None, UNKNOWN_ID, topic_id=NOBODY)
    answer = await both.ask(request, version)
    assert answer == cluster(version, known(version, "t", operations=3576), unknown)


@pytest.mark.parametrize("version", BY_ID)
async def test_metadata_by_id_does_not_look_at_names(both: Both, version: int):
    answer = await both.ask(with_ids(("u", ZERO), ("nope", IDS["t"])), version)
    assert answer == cluster(version, known(version, "t"))
    answer = await both.ask(with_ids(("t", NOBODY)), version)
    assert answer == cluster(version, missing(None, UNKNOWN_ID, topic_id=NOBODY))


@pytest.mark.parametrize("version", BY_ID)
async def test_metadata_of_a_topic_without_name_and_id(both: Both, version: int):
    """Kafka stumbles over it and says so, instead of anything about itself."""
    answer = await both.ask(with_ids((None, ZERO)), version)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    assert answer == MetadataResponse(topics=[missing("", error)], error_code=error if version >= 13 else 0)


@pytest.mark.parametrize("version", [10, 11])
async def test_metadata_by_id_before_its_time(both: Both, version: int):
    """The field is there, but filling it in makes the whole request invalid."""
    refused = ErrorCode.INVALID_REQUEST
    answer = await both.ask(with_ids(("t", ZERO), (None, IDS["u"])), version)
    assert answer == MetadataResponse(topics=[missing("", refused, topic_id=IDS["u"]), missing("t", refused)])
    answer = await both.ask(with_ids(("t", IDS["t"])), version)
    assert answer == MetadataResponse(topics=[missing("t", refused, topic_id=IDS["t"])])
    answer = await both.ask(with_ids((None, ZERO)), version)
    assert answer == MetadataResponse(topics=[missing("", refused)])


@pytest.mark.parametrize("version", [-1, 14])
async def test_metadata_in_other_versions(both: Both, version: int):
    assert await both.close_it(struct.pack(">hhih", 3, version, 1, -1) + b"\x00" * 8)


# --- ListOffsets ---

LIST_OFFSETS = range(1, 12)
LATEST, EARLIEST = -1, -2
FOUND, NOT_FOUND = (0, -1, 0, 0), (0, -1, -1, -1)
TOO_OLD = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


def look_up(*topics: tuple[str, list[tuple[int, int]]], epoch: int = -1, isolation: int = 0) -> ListOffsetsRequest:
    """A request for timestamps: of each topic, (partition, timestamp)."""
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
                    for index, timestamp in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


def looked_up(*topics: tuple[str, list[tuple[int, tuple[int, int, int, int]]]]) -> ListOffsetsResponse:
    """The answer: of each topic, (partition, (error, timestamp, offset, epoch))."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=index, error_code=error, timestamp=timestamp, offset=offset, leader_epoch=epoch
                    )
                    for index, (error, timestamp, offset, epoch) in sorted(partitions)
                ],
            )
            for name, partitions in sorted(topics)
        ]
    )


def failed(error: ErrorCode) -> tuple[int, int, int, int]:
    return error, -1, -1, -1


def ends(version: int) -> tuple[int, int, int, int]:
    """Where an empty partition begins and ends."""
    return (0, -1, 0, 0 if version >= 4 else -1)


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_an_empty_partition(both: Both, version: int):
    expected = {
        LATEST: ends(version),
        EARLIEST: ends(version),
        -3: NOT_FOUND if version >= 7 else TOO_OLD,
        -4: ends(version) if version >= 8 else TOO_OLD,
        -5: NOT_FOUND if version >= 9 else TOO_OLD,
        -6: NOT_FOUND if version >= 11 else TOO_OLD,
        -7: TOO_OLD,
        -(2**63): TOO_OLD,
        0: NOT_FOUND,
        2**62: NOT_FOUND,
    }
    for timestamp, what in expected.items():
        answer = await both.ask(look_up(("t", [(0, timestamp)])), version)
        assert answer == looked_up(("t", [(0, what)])), timestamp


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_several_partitions(both: Both, version: int):
    request = look_up(("u", [(2, LATEST), (0, EARLIEST)]), ("t", [(1, 5), (0, LATEST), (2, -99)]))
    assert await both.ask(request, version) == looked_up(
        ("u", [(2, ends(version)), (0, ends(version))]),
        ("t", [(1, NOT_FOUND), (0, ends(version)), (2, TOO_OLD)]),
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_what_does_not_exist(both: Both, version: int):
    unknown = failed(UNKNOWN)
    request = look_up(
        ("nope", [(0, LATEST)]),
        ("t", [(9, LATEST), (0, LATEST), (-1, EARLIEST)]),
        ("a b", [(0, 0)]),
        ("", [(1, LATEST)]),
    )
    assert await both.ask(request, version) == looked_up(
        ("nope", [(0, unknown)]),
        ("t", [(-1, unknown), (0, ends(version)), (9, unknown)]),
        ("a b", [(0, unknown)]),
        ("", [(1, unknown)]),
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_by_a_timestamp_without_a_meaning(both: Both, version: int):
    """That is seen before the topic is looked for, but after it was seen what is asked for twice."""
    request = look_up(("nope", [(0, -99)]), ("t", [(9, -99), (0, -99), (0, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("nope", [(0, TOO_OLD)]), ("t", [(9, TOO_OLD), (0, failed(ErrorCode.INVALID_REQUEST))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_partition_that_is_asked_for_twice(both: Both, version: int):
    """The partition has one answer, and that is an error; the others are served."""
    invalid = failed(ErrorCode.INVALID_REQUEST)
    request = look_up(("t", [(0, LATEST), (0, EARLIEST), (1, LATEST)]), ("u", [(0, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, invalid), (1, ends(version))]), ("u", [(0, ends(version))])
    )
    request = look_up(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(0, LATEST), (2, LATEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, invalid), (2, ends(version))]), ("u", [(0, ends(version))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_a_topic_that_is_named_twice(both: Both, version: int):
    request = look_up(("t", [(0, LATEST)]), ("u", [(0, LATEST)]), ("t", [(2, EARLIEST)]))
    assert await both.ask(request, version) == looked_up(
        ("t", [(0, ends(version)), (2, ends(version))]), ("u", [(0, ends(version))])
    )


@pytest.mark.parametrize("version", LIST_OFFSETS)
async def test_offsets_of_nothing(both: Both, version: int):
    assert await both.ask(look_up(), version) == looked_up()
    assert await both.ask(look_up(("t", []), ("nope", [])), version) == looked_up()


@pytest.mark.parametrize("version", LIST_OFFSETS[3:])
async def test_offsets_from_the_right_leader(both: Both, version: int):
    expected = {
        -1: ends(version),
        0: ends(version),
        1: failed(ErrorCode.UNKNOWN_LEADER_EPOCH),
        5: failed(ErrorCode.UNKNOWN_LEADER_EPOCH),
        -2: failed(ErrorCode.FENCED_LEADER_EPOCH),
    }
    for epoch, what in expected.items():
        for timestamp in (LATEST, EARLIEST):
            answer = await both.ask(look_up(("t", [(0, timestamp)]), epoch=epoch), version)
            assert answer == looked_up(("t", [(0, what)])), (epoch, timestamp)


@pytest.mark.parametrize("timestamp", [-3, -4, -5, -6, -7, 0])
async def test_offsets_from_the_right_leader_by_other_timestamps(both: Both, timestamp: int):
    """Whether a timestamp has a meaning is seen before the epoch is looked at, and of the tiered ones it is not."""
    answer = await both.ask(look_up(("t", [(0, timestamp)]), epoch=5), 11)
    if timestamp == -7:
        assert answer == looked_up(("t", [(0, TOO_OLD)]))
    else:
        assert answer == looked_up(("t", [(0, failed(ErrorCode.UNKNOWN_LEADER_EPOCH))]))


@pytest.mark.parametrize("version", LIST_OFFSETS[1:])
async def test_offsets_that_are_committed(both: Both, version: int):
    for timestamp in (LATEST, EARLIEST):
        answer = await both.ask(look_up(("t", [(0, timestamp)]), isolation=1), version)
        assert answer == looked_up(("t", [(0, ends(version))]))


@pytest.mark.parametrize("version", [0, 12])
async def test_offsets_in_other_versions(both: Both, version: int):
    assert await both.close_it(struct.pack(">hhih", 2, version, 1, -1) + b"\x00" * 8)


# --- Fetch ---

FETCH = range(4, 19)
SESSIONS = range(7, 19)
NAMES_UNTIL = 12


def want(
    version: int, *topics: tuple[str, list[tuple[int, int]]], wait: int = 300, least: int = 1, **what: Any
) -> FetchRequest:
    """A fetch: of each topic, (partition, offset). Names stand for ids where these are asked for."""
    of_each = {name: what.pop(name) for name in ("current_leader_epoch", "last_fetched_epoch") if name in what}
    by_id = version > NAMES_UNTIL
    return FetchRequest(
        max_wait_ms=wait,
        min_bytes=least,
        max_bytes=10_000,
        topics=[
            FetchTopic(
                topic="" if by_id else name,
                topic_id=id_of(name) if by_id else ZERO,
                partitions=[
                    FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000, **of_each)
                    for index, offset in partitions
                ],
            )
            for name, partitions in topics
        ],
        **what,
    )


def id_of(name: str) -> UUID:
    return IDS.get(name, NOBODY)


def fetched(version: int, *topics: tuple[str, list[PartitionData]], error: int = 0) -> FetchResponse:
    by_id = version > NAMES_UNTIL
    return FetchResponse(
        error_code=error,
        responses=[
            FetchableTopicResponse(
                topic="" if by_id else name, topic_id=id_of(name) if by_id else ZERO, partitions=partitions
            )
            for name, partitions in topics
        ],
    )


def nothing(index: int, *, committed: bool = False, version: int = 18) -> PartitionData:
    """What is said of an empty partition. Aborted transactions are listed for those who ask for committed records."""
    return PartitionData(
        partition_index=index,
        high_watermark=0,
        last_stable_offset=0,
        log_start_offset=0 if version >= 5 else -1,
        aborted_transactions=[] if committed else None,
        records=b"",
    )


def error_of(index: int, error: ErrorCode, *, aborted: list | None = None) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=aborted,
        records=b"",
    )


def unknown(version: int, index: int, *, whole_topic: bool = True) -> PartitionData:
    """What is said of a partition that does not exist; from version 13 on, of a topic that does not."""
    error = UNKNOWN_ID if whole_topic and version > NAMES_UNTIL else UNKNOWN
    return error_of(index, error, aborted=[])


def waited(both: Both, seconds: float) -> bool:
    """Whether the answers came after so many seconds, or a little later."""
    return all(seconds - 0.01 <= elapsed < seconds + 0.25 for elapsed in both.elapsed)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_waits_for_records(both: Both, version: int):
    answer = await both.ask(want(version, ("t", [(0, 0)]), wait=400), version)
    assert answer == fetched(version, ("t", [nothing(0, version=version)]))
    assert waited(both, 0.4)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_several_partitions(both: Both, version: int):
    request = want(version, ("u", [(2, 0), (0, 0)]), ("t", [(1, 0)]))
    answer = await both.ask(request, version)
    assert answer == fetched(
        version,
        ("u", [nothing(2, version=version), nothing(0, version=version)]),
        ("t", [nothing(1, version=version)]),
    )
    assert waited(both, 0.3)


@pytest.mark.parametrize(("wait", "least"), [(0, 1), (-1, 1), (5_000, 0), (5_000, -1)])
async def test_fetch_waits_for_nothing(both: Both, wait: int, least: int):
    answer = await both.ask(want(18, ("t", [(0, 0)]), wait=wait, least=least), 18)
    assert answer == fetched(18, ("t", [nothing(0)]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_no_topics(both: Both, version: int):
    assert await both.ask(want(version, wait=5_000), version) == fetched(version)
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_unknown_topics(both: Both, version: int):
    answer = await both.ask(want(version, ("nope", [(0, 0), (7, 0)]), wait=5_000), version)
    assert answer == fetched(version, ("nope", [unknown(version, 0), unknown(version, 7)]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_unknown_partitions(both: Both, version: int):
    answer = await both.ask(want(version, ("t", [(9, 0), (-1, 0)]), wait=5_000), version)
    partitions = [unknown(version, index, whole_topic=False) for index in (9, -1)]
    assert answer == fetched(version, ("t", partitions))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH[9:])
async def test_fetch_without_a_topic_id(both: Both, version: int):
    request = want(version, ("t", [(0, 0)]), wait=5_000)
    request.topics[0].topic_id = ZERO
    answer = await both.ask(request, version)
    expected = fetched(version, ("t", [unknown(version, 0)]))
    expected.responses[0].topic_id = ZERO
    assert answer == expected
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_unknown_topics_beside_others(both: Both, version: int):
    """What is unknown does not cut the wait short."""

    def any_order(answer: FetchResponse) -> None:
        answer.responses.sort(key=lambda topic: (topic.topic, topic.topic_id.int))

    request = want(version, ("t", [(0, 0)]), ("nope", [(1, 0)]))
    answer = await both.ask(request, version, but=any_order)
    expected = fetched(version, ("t", [nothing(0, version=version)]), ("nope", [unknown(version, 1)]))
    any_order(expected)
    assert answer == expected
    assert waited(both, 0.3)


@pytest.mark.parametrize("offset", [5, -1, 2**63 - 1])
@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_an_offset_that_is_not_there(both: Both, version: int, offset: int):
    """It fails at once, whatever else there is to wait for."""
    out = error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert await both.ask(want(version, ("t", [(0, offset)]), wait=5_000), version) == fetched(version, ("t", [out]))
    assert waited(both, 0)
    answer = await both.ask(want(version, ("t", [(1, 0), (0, offset)]), wait=5_000), version)
    assert answer == fetched(version, ("t", [nothing(1, version=version), out]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_committed_records(both: Both, version: int):
    request = want(version, ("t", [(0, 0), (9, 0)]), isolation_level=1)
    answer = await both.ask(request, version, but=by_partition)
    expected = [nothing(0, committed=True, version=version), unknown(version, 9, whole_topic=False)]
    assert answer == fetched(version, ("t", expected))
    assert waited(both, 0.3)
    answer = await both.ask(want(version, ("t", [(0, 5)]), isolation_level=1), version)
    assert answer == fetched(version, ("t", [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)]))


def by_partition(answer: FetchResponse) -> None:
    for topic in answer.responses:
        topic.partitions.sort(key=lambda one: one.partition_index)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_at_an_isolation_level_that_does_not_exist(both: Both, version: int):
    """Kafka stumbles over it, as a whole and, as long as topics have names, for each partition."""
    answer = await both.ask(want(version, ("t", [(0, 0), (9, 0)]), isolation_level=7, wait=5_000), version)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    named = [("t", [error_of(0, error, aborted=[]), error_of(9, error, aborted=[])])] if version <= NAMES_UNTIL else []
    assert answer == fetched(version, *named, error=error if version >= 7 else 0)
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH[5:])
async def test_fetch_from_the_right_leader(both: Both, version: int):
    """Any negative number claims no epoch, other than in ListOffsets."""
    for epoch in (-1, 0, -2):
        request = want(version, ("t", [(0, 0)]), wait=0, current_leader_epoch=epoch)
        assert await both.ask(request, version) == fetched(version, ("t", [nothing(0)]))
    for epoch in (1, 5):
        request = want(version, ("t", [(0, 0)]), wait=5_000, current_leader_epoch=epoch)
        answer = await both.ask(request, version)
        assert answer == fetched(version, ("t", [error_of(0, ErrorCode.UNKNOWN_LEADER_EPOCH)])), epoch
        assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH[8:])
async def test_fetch_after_an_epoch_that_never_was(both: Both, version: int):
    for epoch in (0, -2):
        request = want(version, ("t", [(0, 0)]), wait=0, current_leader_epoch=0, last_fetched_epoch=epoch)
        assert await both.ask(request, version) == fetched(version, ("t", [nothing(0)]))
    request = want(version, ("t", [(0, 0)]), wait=5_000, current_leader_epoch=0, last_fetched_epoch=3)
    answer = await both.ask(request, version)
    assert answer == fetched(version, ("t", [error_of(0, ErrorCode.OFFSET_OUT_OF_RANGE)]))
    assert waited(both, 0)


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_what_is_named_twice(both: Both, version: int):
    """A partition has one answer; a topic has an entry for each time, unless they are neighbours."""
    answer = await both.ask(want(version, ("t", [(0, 0), (0, 0)]), wait=0), version)
    assert answer == fetched(version, ("t", [nothing(0, version=version)]))
    answer = await both.ask(want(version, ("t", [(0, 0)]), ("t", [(1, 0)]), wait=0), version)
    assert answer == fetched(version, ("t", [nothing(0, version=version), nothing(1, version=version)]))
    answer = await both.ask(want(version, ("t", [(0, 0)]), ("u", [(0, 0)]), ("t", [(1, 0)]), wait=0), version)
    assert answer == fetched(
        version,
        ("t", [nothing(0, version=version)]),
        ("u", [nothing(0, version=version)]),
        ("t", [nothing(1, version=version)]),
    )


@pytest.mark.parametrize("version", FETCH)
async def test_fetch_of_a_topic_without_partitions(both: Both, version: int):
    assert await both.ask(want(version, ("t", []), ("nope", []), wait=5_000), version) == fetched(version)
    assert waited(both, 0)


@pytest.mark.parametrize("version", SESSIONS)
async def test_fetch_with_a_session_is_declined(both: Both, version: int):
    """Here each fetch is a full one. Kafka hands out a session, and clients take either."""

    def no_session(answer: FetchResponse) -> None:
        answer.session_id = 0

    for session_id in (0, 77):
        request = want(version, ("t", [(0, 0)]), session_id=session_id, session_epoch=0)
        answer = await both.ask(request, version, but=no_session)
        assert answer == fetched(version, ("t", [nothing(0)]))
        assert waited(both, 0.3)


@pytest.mark.parametrize("version", SESSIONS)
async def test_fetch_ends_a_session_with_a_full_fetch(both: Both, version: int):
    for session_id in (0, 77):
        request = want(version, ("t", [(0, 0)]), session_id=session_id, session_epoch=-1)
        assert await both.ask(request, version) == fetched(version, ("t", [nothing(0)]))
        assert waited(both, 0.3)


@pytest.mark.parametrize("version", SESSIONS)
async def test_fetch_with_an_unknown_session(both: Both, version: int):
    for session_id, epoch in itertools.product((0, 77, -1), (1, 5, 2**31 - 1, -5)):
        request = want(version, ("t", [(0, 0)]), wait=5_000, session_id=session_id, session_epoch=epoch)
        request.forgotten_topics_data = [
            ForgottenTopic(topic="u", partitions=[0])
            if version <= NAMES_UNTIL
            else ForgottenTopic(topic_id=IDS["u"], partitions=[0])
        ]
        answer = await both.ask(request, version)
        assert answer == fetched(version, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        assert waited(both, 0)


async def test_fetch_keeps_its_connection_waiting_and_no_other(both: Both):
    """What is sent behind a fetch is answered after it."""
    (client, *_) = both._clients
    (ids, *_) = both._ids
    request = want(12, ("t", [(0, 0)]), wait=500)
    start = trio.current_time()
    fetching = await client.send(replaced(request, ids), 12)
    behind = await client.send(named(5), 5)
    await behind.answer()
    assert trio.current_time() - start >= 0.5
    assert fetching.response == fetched(12, ("t", [nothing(0)]))


@pytest.mark.parametrize("version", [3, 19])
async def test_fetch_in_other_versions(both: Both, version: int):
    assert await both.close_it(struct.pack(">hhih", 1, version, 1, -1) + b"\x00" * 8)
