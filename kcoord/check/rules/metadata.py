"""Metadata: what is told of topics, by name and by id, in every version.

Answers are compared as a whole, but for what no two brokers share (`kcoord.check.masked`).
"""

import dataclasses
import struct
from typing import Any, Final
from uuid import UUID, uuid4

import trio

from kcoord.check.masked import IDS, NODE, OFFSETS, Masked, masked
from kcoord.check.probe import offered
from kcoord.check.rule import rule
from kcoord.check.topics import NO_ID, SOON
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NOT_ASKED = -(2**31)
TOPIC_OPERATIONS: Final = 3576
CLUSTER_OPERATIONS: Final = 8096
"""Bits of what there is to do with a topic, and with a cluster; without an authorizer all of it is allowed."""
BY_ID = (12, 13)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
PARTITIONS: Final = {"t": 3, "u": 3, OFFSETS: 50}
MADE_BY_ASKING: Final = {"auto.create.topics.enable": True, "num.partitions": 1}

HANDLED: Final = "Apache Kafka KafkaApis.handleTopicMetadataRequest"
TOLD: Final = f"{HANDLED}, KRaftMetadataCache.getTopicMetadata"
CREATED: Final = f"{HANDLED}, DefaultAutoTopicCreationManager.createTopics"
KIP_516: Final = f"KIP-516; {HANDLED}"
KIP_430: Final = f"KIP-430; {HANDLED}"


def named(version: int, *names: str, create: bool = False, **what: Any) -> MetadataRequest:
    """Ask for topics by name. Up to version 3 it always allows to create them."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create or version < 4, **what)


def with_ids(*topics: UUID | tuple[str | None, UUID], **what: Any) -> MetadataRequest:
    """Ask for topics by id, or by name and id."""
    pairs = [(None, topic) if isinstance(topic, UUID) else topic for topic in topics]
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in pairs],
        allow_auto_topic_creation=False,
        **what,
    )


def cluster(version: int, *topics: MetadataResponseTopic, operations: int = NOT_ASKED) -> MetadataResponse:
    """Return what is said of the one broker, and of these topics."""
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=NODE, host="host", port=1)],
        cluster_id="cluster" if version >= 2 else None,
        controller_id=NODE if version >= 1 else -1,
        topics=sorted(topics, key=lambda topic: (topic.error_code, topic.name or "", topic.topic_id)),
        cluster_authorized_operations=operations,
    )


def known(
    version: int, name: str, *, operations: int = NOT_ASKED, partitions: int | None = None
) -> MetadataResponseTopic:
    """Return what is said of a topic that exists."""
    return MetadataResponseTopic(
        name=name,
        topic_id=IDS[name] if version >= 10 else NO_ID,
        is_internal=version >= 1 and name.startswith("__"),
        partitions=[
            MetadataResponsePartition(
                partition_index=index,
                leader_id=NODE,
                leader_epoch=0 if version >= 7 else -1,
                replica_nodes=[NODE],
                isr_nodes=[NODE],
            )
            for index in range(partitions or PARTITIONS[name])
        ],
        topic_authorized_operations=operations,
    )


def missing(name: str | None, error: ErrorCode = UNKNOWN, **what: Any) -> MetadataResponseTopic:
    """Return what is said of a topic that does not exist."""
    return MetadataResponseTopic(name=name, error_code=error, **what)


def without_racks(answer: MetadataResponse) -> None:
    """Take out where the broker stands, which is its own affair."""
    for broker in answer.brokers:
        broker.rack = None


async def ask(asked: Masked, request: MetadataRequest, version: int) -> Any:
    """Ask, and leave out the rack."""
    return await asked.ask(request, version, but=without_racks)


def of_offsets(answer: MetadataResponse) -> None:
    """Forget how often the leaders of the topic of offsets changed."""
    without_racks(answer)
    for topic in answer.topics:
        for one in topic.partitions if topic.name == OFFSETS else ():
            one.leader_epoch = min(one.leader_epoch, 0)


def without_ids(version: int, answer: MetadataResponse) -> None:
    """See that topics have ids if they exist, and take them out."""
    without_racks(answer)
    for topic in answer.topics:
        assert (topic.topic_id != NO_ID) == (version >= 10 and topic.error_code == ErrorCode.NONE)
        topic.topic_id = NO_ID


async def until_known(asked: Masked, request: MetadataRequest, version: int) -> Any:
    """Ask until the first topic is known, for some seconds, and return the answer. Ids are taken out."""
    end = trio.current_time() + SOON
    while True:
        answer = await asked.ask(request, version, but=lambda answer: without_ids(version, answer))
        if answer.topics[0].error_code == ErrorCode.NONE or trio.current_time() > end:
            return answer
        await trio.sleep(0.1)


@rule(
    id="metadata-1",
    api="Metadata",
    says="Without topics only the cluster is told of.",
    source=HANDLED,
    versions="1-13",
)
async def metadata_1(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(MetadataRequest, range(1, 14)):
        assert await ask(asked, named(version), version) == cluster(version)


@rule(
    id="metadata-2",
    api="Metadata",
    says="All topics are told of if none are named, in version 0 by an empty list, later by null.",
    source=TOLD,
    versions="0-13",
    settings={"offsets.topic.num.partitions": 50},
)
async def metadata_2(world: World) -> None:
    asked = await masked(world, *PARTITIONS)

    def without_others(answer: MetadataResponse) -> None:
        answer.topics = [topic for topic in answer.topics if topic.name in (world.t, world.u, OFFSETS)]

    for version in world.offered(MetadataRequest):
        request = MetadataRequest(topics=[] if version == 0 else None)
        answer = await asked.ask(request, version, but=of_offsets, before=without_others)
        assert answer == cluster(version, *(known(version, name) for name in PARTITIONS))


@rule(
    id="metadata-3",
    api="Metadata",
    says="Topics that are named are told of, with their partitions.",
    source=TOLD,
    versions="0-13",
)
async def metadata_3(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(MetadataRequest):
        answer = await ask(asked, named(version, "u", "t"), version)
        assert answer == cluster(version, known(version, "u"), known(version, "t"))


@rule(
    id="metadata-4",
    api="Metadata",
    says="A topic that is named twice is told of once.",
    source=TOLD,
    versions="0-13",
)
async def metadata_4(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(MetadataRequest):
        answer = await ask(asked, named(version, "t", "u", "t"), version)
        assert answer == cluster(version, known(version, "t"), known(version, "u"))


@rule(
    id="metadata-5",
    api="Metadata",
    says="A topic that does not exist is unknown, and stays so if it must not be created.",
    source=f"KIP-204; {HANDLED}",
    versions="4-13",
)
async def metadata_5(world: World) -> None:
    asked = await masked(world)
    nope = world.topic("nope")
    for version in world.offered(MetadataRequest, range(4, 14)):
        for _ in range(2):
            answer = await ask(asked, named(version, nope, "t"), version)
            assert answer == cluster(version, missing(nope), known(version, "t"))


@rule(
    id="metadata-6",
    api="Metadata",
    says="A topic that does not exist is created where that is allowed: unknown at first, it is there soon after.",
    source=CREATED,
    versions="0-13",
    settings=MADE_BY_ASKING,
    each={"version": range(14)},
)
async def metadata_6(world: World, version: int) -> None:
    asked = await masked(world)
    name = world.topic("made")
    request = named(version, name, create=True)
    assert await ask(asked, request, version) == cluster(version, missing(name))
    expected = dataclasses.replace(known(version, "t", partitions=1), name=name, topic_id=NO_ID)
    assert await until_known(asked, request, version) == cluster(version, expected)


@rule(
    id="metadata-7",
    api="Metadata",
    says="Names that no topic can have are refused, and do not keep the others from being told of.",
    source=f"{CREATED}, Topic.validate",
    versions="0-13",
)
async def metadata_7(world: World) -> None:
    asked = await masked(world)
    illegal = ["", ".", "..", " ", "a b", "a/b", "ü", "x" * 250, "t\n"]
    for version in world.offered(MetadataRequest):
        refused = (missing(name, ErrorCode.INVALID_TOPIC_EXCEPTION) for name in illegal)
        expected = cluster(version, *refused, known(version, "t"))
        assert await ask(asked, named(version, *illegal, "t", create=True), version) == expected


@rule(
    id="metadata-8",
    api="Metadata",
    says="A name of 249 characters is one that a topic can have.",
    source=f"{HANDLED}, Topic.MAX_NAME_LENGTH",
    versions="4-13",
)
async def metadata_8(world: World) -> None:
    asked = await masked(world)
    name = world.topic("long").ljust(249, "x")
    for version in world.offered(MetadataRequest, range(4, 14)):
        assert await ask(asked, named(version, name), version) == cluster(version, missing(name))


@rule(
    id="metadata-9",
    api="Metadata",
    says="A topic is not created whose name is another's but for dots and underscores; it goes on being unknown.",
    source=f"{CREATED}, ReplicationControlManager.validateNewTopicNames",
    versions="0-13",
    settings=MADE_BY_ASKING,
    cost=0.9,
)
async def metadata_9(world: World) -> None:
    asked = await masked(world)
    version = asked.client.newest(MetadataRequest, 13)
    stem = world.topic("a")
    dot, underscore = world.names.derived(stem, ".b"), world.names.derived(stem, "_b")
    await until_known(asked, named(version, dot, create=True), version)
    for _ in range(3):
        request = named(version, dot, underscore, create=True)
        made, refused = (await asked.ask(request, version)).topics
        assert (made.name, made.error_code, len(made.partitions)) == (dot, ErrorCode.NONE, 1)
        assert refused == missing(underscore)
        await trio.sleep(0.2)


@rule(
    id="metadata-10",
    api="Metadata",
    says="The topic of committed offsets is told of as any other, and from version 1 on as an internal one.",
    source=f"{TOLD}, Topic.isInternal",
    versions="0-13",
    settings={"offsets.topic.num.partitions": 50},
)
async def metadata_10(world: World) -> None:
    asked = await masked(world, OFFSETS)
    for version in world.offered(MetadataRequest):
        answer = await asked.ask(named(version, OFFSETS), version, but=of_offsets)
        assert answer == cluster(version, known(version, OFFSETS))


@rule(
    id="metadata-11",
    api="Metadata",
    says="Whoever asks what he may do is told it for every topic, also for one that does not exist: "
    "without an authorizer, everything.",
    source=f"{KIP_430}, AuthHelper.authorizedOperations",
    versions="8-13",
)
async def metadata_11(world: World) -> None:
    asked = await masked(world)
    nope = world.topic("nope")
    for version in world.offered(MetadataRequest, range(8, 14)):
        answer = await ask(asked, named(version, "t", nope, ".", include_topic_authorized_operations=True), version)
        assert answer == cluster(
            version,
            known(version, "t", operations=TOPIC_OPERATIONS),
            missing(nope, topic_authorized_operations=TOPIC_OPERATIONS),
            missing(".", ErrorCode.INVALID_TOPIC_EXCEPTION, topic_authorized_operations=TOPIC_OPERATIONS),
        )


@rule(
    id="metadata-12",
    api="Metadata",
    says="Up to version 10, whoever asks what he may do with the cluster is told it: without an authorizer, "
    "everything.",
    source=f"KIP-430, KIP-700; {HANDLED}, AuthHelper.authorizedOperations",
    versions="8-10",
)
async def metadata_12(world: World) -> None:
    asked = await masked(world)
    for version in world.offered(MetadataRequest, range(8, 11)):
        request = named(version, "t", include_cluster_authorized_operations=True)
        answer = await ask(asked, request, version)
        assert answer == cluster(version, known(version, "t"), operations=CLUSTER_OPERATIONS)
        request.include_topic_authorized_operations = True
        answer = await ask(asked, request, version)
        expected = known(version, "t", operations=TOPIC_OPERATIONS)
        assert answer == cluster(version, expected, operations=CLUSTER_OPERATIONS)


@rule(
    id="metadata-13",
    api="Metadata",
    says="Topics are told of by their ids, once each; an id that no topic has is unknown.",
    source=KIP_516,
    versions="12-13",
)
async def metadata_13(world: World) -> None:
    asked = await masked(world)
    nobody = uuid4()
    for version in world.offered(MetadataRequest, BY_ID):
        answer = await ask(asked, with_ids(IDS["u"], nobody, IDS["t"], IDS["u"]), version)
        unknown = missing(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id=nobody)
        assert answer == cluster(version, known(version, "u"), known(version, "t"), unknown)


@rule(
    id="metadata-14",
    api="Metadata",
    says="What may be done is told for a topic that is asked for by its id, but not for an id that no topic has.",
    source=f"{KIP_430}, AuthHelper.authorizedOperations",
    versions="12-13",
)
async def metadata_14(world: World) -> None:
    asked = await masked(world)
    nobody = uuid4()
    request = with_ids(IDS["t"], nobody, include_topic_authorized_operations=True)
    for version in world.offered(MetadataRequest, BY_ID):
        answer = await ask(asked, request, version)
        unknown = missing(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id=nobody)
        assert answer == cluster(version, known(version, "t", operations=TOPIC_OPERATIONS), unknown)


@rule(
    id="metadata-15",
    api="Metadata",
    says="If one topic has an id, ids count and names do not: neither beside an id nor without one.",
    source=KIP_516,
    versions="12-13",
)
async def metadata_15(world: World) -> None:
    asked = await masked(world)
    nobody = uuid4()
    for version in world.offered(MetadataRequest, BY_ID):
        answer = await ask(asked, with_ids(("u", NO_ID), (world.topic("nope"), IDS["t"])), version)
        assert answer == cluster(version, known(version, "t"))
        answer = await ask(asked, with_ids(("t", nobody)), version)
        assert answer == cluster(version, missing(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id=nobody))


@rule(
    id="metadata-16",
    api="Metadata",
    says="A topic without name and id makes the broker stumble, and it says so instead of anything about itself.",
    source=f"seen on Apache Kafka 4.4.0; {HANDLED}",
    versions="12-13",
)
async def metadata_16(world: World) -> None:
    asked = await masked(world)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    for version in world.offered(MetadataRequest, BY_ID):
        answer = await ask(asked, with_ids((None, NO_ID)), version)
        assert answer == MetadataResponse(topics=[missing("", error)], error_code=error if version >= 13 else 0)


@rule(
    id="metadata-17",
    api="Metadata",
    says="In versions 10 and 11, which have a field for ids, filling it in makes the whole request invalid.",
    source=f"KAFKA-12701; {HANDLED}, MetadataRequest.getErrorResponse",
    versions="10-11",
)
async def metadata_17(world: World) -> None:
    asked = await masked(world)
    refused = ErrorCode.INVALID_REQUEST
    for version in world.offered(MetadataRequest, (10, 11)):
        answer = await ask(asked, with_ids(("t", NO_ID), (None, IDS["u"])), version)
        assert answer == MetadataResponse(topics=[missing("", refused, topic_id=IDS["u"]), missing("t", refused)])
        answer = await ask(asked, with_ids(("t", IDS["t"])), version)
        assert answer == MetadataResponse(topics=[missing("t", refused, topic_id=IDS["t"])])
        answer = await ask(asked, with_ids((None, NO_ID)), version)
        assert answer == MetadataResponse(topics=[missing("", refused)])


@rule(
    id="metadata-18",
    api="Metadata",
    says="A version that is not advertised closes the connection.",
    source="Apache Kafka RequestContext.parseRequest, AbstractRequest.parseRequest",
    versions="0+",
    each={"version": ("-1", "the one behind the last")},
)
async def metadata_18(world: World, version: str) -> None:
    client = await world.client()
    behind = offered(world.offers, MetadataRequest).highest + 1
    if world.offers is not None:
        behind = world.offers[MetadataRequest.API_KEY].highest + 1
    number = -1 if version == "-1" else behind
    await client.send_frame(struct.pack(">hhih", MetadataRequest.API_KEY, number, 1, -1) + b"\x00" * 8)
    assert await client.is_closed()
