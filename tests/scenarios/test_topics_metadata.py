"""What clients ask about topics with Metadata, in every version."""

import dataclasses
import struct
from typing import Any
from uuid import UUID, uuid4

import pytest
import trio

from tests.scenarios import both_worlds
from tests.scenarios.both_worlds import IDS, NOBODY, TOPICS, UNKNOWN, UNKNOWN_ID, ZERO, Both
from wire.errors import ErrorCode
from wire.messages import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

both = both_worlds.both
NOT_ASKED = -(2**31)
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
