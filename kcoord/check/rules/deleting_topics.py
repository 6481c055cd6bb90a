"""DeleteTopics: what is deleted, what is refused, and what becomes of the groups that committed for it."""

from typing import Any, Final
from uuid import UUID, uuid4

from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import NO_ID, created, has_partitions, partitions, soon
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DeleteTopicsRequest, DeleteTopicState

METADATA_TOPIC: Final = "__cluster_metadata"
BY_ID: Final = 6
"""The version from which on topics have ids."""
ENOUGH: Final = 30_000
"""Milliseconds that a broker has which is busy with the wishes of other rules."""
Entry = tuple[str | None, UUID, ErrorCode]

HANDLED: Final = "Apache Kafka ControllerApis.deleteTopics"
DELETED: Final = f"{HANDLED}, ReplicationControlManager.deleteTopics"
TIMED: Final = f"{HANDLED}, QuorumController.deleteTopics"
KIP_516: Final = f"KIP-516; {HANDLED}"
OFFSETS: Final = "Apache Kafka OffsetMetadataManager.onPartitionsDeleted"


def request(*topics: str | UUID | tuple[str | None, UUID], version: int = BY_ID, timeout_ms: int = ENOUGH) -> Any:
    """Name topics by their name, their id, or both; ids from version 6 on."""
    if version < BY_ID:
        return DeleteTopicsRequest(topic_names=[str(each) for each in topics], timeout_ms=timeout_ms)
    pairs = [
        each if isinstance(each, tuple) else (None, each) if isinstance(each, UUID) else (each, NO_ID)
        for each in topics
    ]
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in pairs], timeout_ms=timeout_ms
    )


async def delete(client: Client, *topics: Any, version: int = BY_ID, timeout_ms: int = ENOUGH) -> list[Entry]:
    """Delete topics; return names, ids and errors, in the order of the names, as Kafka shuffles them.

    That who is refused is told why is a rule of its own (refusals-4).
    """
    answer = await client.call(request(*topics, version=version, timeout_ms=timeout_ms), version)
    assert answer.throttle_time_ms == 0
    for one in answer.responses:
        if version < 5 or one.error_code in (0, ErrorCode.REQUEST_TIMED_OUT):
            assert one.error_message is None
    entries = [(one.name, one.topic_id, ErrorCode(one.error_code)) for one in answer.responses]
    return sorted(entries, key=_order)


def _order(entry: Entry) -> tuple[str, str, int]:
    return entry[0] or "", str(entry[1]), entry[2]


async def offsets_gone(client: Client, group: str, topic: str) -> bool:
    """Whether nothing is soon committed for a topic, although it exists again or never ceased to."""

    async def holds() -> bool:
        return all(name != topic for name, _ in await client.fetch(group))

    return await soon(holds)


@rule(
    id="delete-topics-1",
    api="DeleteTopics",
    says="Topics that are named are deleted, and from version 6 on answered with their ids.",
    source=f"KIP-4, KIP-516; {DELETED}",
    versions="1-6",
    each={"version": range(1, 7)},
)
async def delete_topics_1(world: World, version: int) -> None:
    client = await world.client()
    names = sorted([await created(client, count=3), await created(client)])
    ids = await client.topic_ids(*names)
    assert await delete(client, *names, version=version) == [
        (name, topic_id if version >= BY_ID else NO_ID, ErrorCode.NONE)
        for name, topic_id in zip(names, ids, strict=True)
    ]
    for name in names:
        assert await has_partitions(client, name, None)


@rule(
    id="delete-topics-2",
    api="DeleteTopics",
    says="Topics may be deleted by their ids, and are answered with their names; other entries may have names.",
    source=KIP_516,
    versions="6",
)
async def delete_topics_2(world: World) -> None:
    client = await world.client()
    name, other = sorted([await created(client), await created(client)])
    ids = await client.topic_ids(name, other)
    assert await delete(client, ids[0], other) == [(name, ids[0], ErrorCode.NONE), (other, ids[1], ErrorCode.NONE)]
    assert await has_partitions(client, name, None)
    assert await has_partitions(client, other, None)


@rule(
    id="delete-topics-3",
    api="DeleteTopics",
    says="Topics that do not exist are unknown, and whether they could makes no difference.",
    source=HANDLED,
    versions="1-6",
)
async def delete_topics_3(world: World) -> None:
    client = await world.client()
    names = sorted(["", "a b", world.topic(), METADATA_TOPIC, "x" * 300])
    # Were it there, it would not be this rule's to delete.
    assert await partitions(client, METADATA_TOPIC) is None
    for version in world.offered(DeleteTopicsRequest, range(1, 7)):
        assert await delete(client, *names, version=version) == [
            (name, NO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name in names
        ]


@rule(
    id="delete-topics-4",
    api="DeleteTopics",
    says="An id that no topic has is unknown.",
    source=KIP_516,
    versions="6",
)
async def delete_topics_4(world: World) -> None:
    nobody = uuid4()
    assert await delete(await world.client(), nobody) == [(None, nobody, ErrorCode.UNKNOWN_TOPIC_ID)]


@rule(
    id="delete-topics-5",
    api="DeleteTopics",
    says="Names that come twice are refused, once each, whether they exist or not; nothing is deleted.",
    source=HANDLED,
    versions="1-6",
)
async def delete_topics_5(world: World) -> None:
    client = await world.client()
    name, missing = await created(client), world.topic("zzz")
    for version in world.offered(DeleteTopicsRequest, range(1, 7)):
        assert await delete(client, name, missing, name, missing, name, version=version) == [
            (name, NO_ID, ErrorCode.INVALID_REQUEST),
            (missing, NO_ID, ErrorCode.INVALID_REQUEST),
        ]
    assert await partitions(client, name) == 1


@rule(
    id="delete-topics-6",
    api="DeleteTopics",
    says="Ids that come twice are refused, whether a topic has them or not; nothing is deleted.",
    source=KIP_516,
    versions="6",
)
async def delete_topics_6(world: World) -> None:
    client = await world.client()
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    nobody = uuid4()
    assert set(await delete(client, topic_id, nobody, topic_id, nobody)) == {
        (None, topic_id, ErrorCode.INVALID_REQUEST),
        (None, nobody, ErrorCode.INVALID_REQUEST),
    }
    assert await partitions(client, name) == 1


@rule(
    id="delete-topics-7",
    api="DeleteTopics",
    says="A topic that is named by its name and by its id stays: the name is refused, and the id if it comes twice.",
    source=KIP_516,
    versions="6",
)
async def delete_topics_7(world: World) -> None:
    client = await world.client()
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    refused = (name, topic_id, ErrorCode.INVALID_REQUEST)
    assert await delete(client, topic_id, name) == [refused]
    assert await delete(client, topic_id, topic_id, name) == [(None, topic_id, ErrorCode.INVALID_REQUEST), refused]
    assert await partitions(client, name) == 1


@rule(
    id="delete-topics-8",
    api="DeleteTopics",
    says="A name that comes twice does not keep the topic from being deleted by its id.",
    source=KIP_516,
    versions="6",
)
async def delete_topics_8(world: World) -> None:
    client = await world.client()
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    assert set(await delete(client, name, name, topic_id)) == {
        (name, NO_ID, ErrorCode.INVALID_REQUEST),
        (name, topic_id, ErrorCode.NONE),
    }
    assert await has_partitions(client, name, None)


@rule(
    id="delete-topics-9",
    api="DeleteTopics",
    says="Entries with name and id, or with neither, are refused as often as they come, and are not looked into.",
    source=KIP_516,
    versions="6",
)
async def delete_topics_9(world: World) -> None:
    client = await world.client()
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    nobody = uuid4()
    both, mixed, neither = (name, topic_id), ("x", nobody), (None, NO_ID)
    answer = await delete(client, both, mixed, mixed, neither, neither, ("", nobody))
    entries: list[tuple[str | None, UUID]] = [both, mixed, mixed, neither, neither, ("", nobody)]
    assert answer == sorted(((*each, ErrorCode.INVALID_REQUEST) for each in entries), key=_order)
    assert await partitions(client, name) == 1


@rule(
    id="delete-topics-10",
    api="DeleteTopics",
    says="In no time nothing is deleted, and everything is answered in its order, twice what comes twice.",
    source=TIMED,
    versions="1-6",
    each={"timeout_ms": (0, -1)},
)
async def delete_topics_10(world: World, timeout_ms: int) -> None:
    client = await world.client()
    name = await created(client)
    names = [name, "no such topic", name, world.topic("z")]
    for version in world.offered(DeleteTopicsRequest, range(1, 7)):
        answer = await client.call(request(*names, version=version, timeout_ms=timeout_ms), version)
        assert [(one.name, one.error_code, one.error_message) for one in answer.responses] == [
            (each, ErrorCode.REQUEST_TIMED_OUT, None) for each in names
        ]
    assert await partitions(client, name) == 1


@rule(
    id="delete-topics-11",
    api="DeleteTopics",
    says="No time is not enough for entries with name and id, or with neither, if there are others.",
    source=TIMED,
    versions="6",
)
async def delete_topics_11(world: World) -> None:
    nobody = uuid4()
    entries = [("x", nobody), (None, nobody), (None, NO_ID)]
    answer = await (await world.client()).call(request(*entries, timeout_ms=0), BY_ID)
    assert [(one.name, one.topic_id, one.error_code) for one in answer.responses] == [
        (*each, ErrorCode.REQUEST_TIMED_OUT) for each in entries
    ]


@rule(
    id="delete-topics-12",
    api="DeleteTopics",
    says="No time is enough if there is nothing but what is refused without being looked into.",
    source=TIMED,
    versions="6",
)
async def delete_topics_12(world: World) -> None:
    name = world.topic()
    assert await delete(await world.client(), name, name, (None, NO_ID), timeout_ms=0) == [
        (None, NO_ID, ErrorCode.INVALID_REQUEST),
        (name, NO_ID, ErrorCode.INVALID_REQUEST),
    ]


@rule(
    id="delete-topics-13",
    api="DeleteTopics",
    says="No topics are answered with none, whatever the time.",
    source=HANDLED,
    versions="1-6",
)
async def delete_topics_13(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteTopicsRequest, range(1, 7)):
        assert await delete(client, version=version) == []
        assert await delete(client, version=version, timeout_ms=0) == []


@rule(
    id="delete-topics-14",
    api="DeleteTopics",
    says="Where deletion is disabled, everything is refused without being looked into and without any time; "
    "there is an error for it from version 3 on.",
    source=f"KIP-322; {HANDLED}",
    versions="1-6",
    settings={"delete.topic.enable": False},
)
async def delete_topics_14(world: World) -> None:
    client = await world.client()
    names = [world.t, "no such topic", world.t, ""]
    for version in world.offered(DeleteTopicsRequest, range(1, 7)):
        code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
        answer = await client.call(request(*names, version=version, timeout_ms=0), version)
        assert [(one.name, one.error_code, one.error_message) for one in answer.responses] == [
            (each, code, None) for each in names
        ]
        assert await partitions(client, world.t) == 3
        assert (await client.call(request(version=version), version)).responses == []


@rule(
    id="delete-topics-15",
    api="DeleteTopics",
    says="What groups without members committed for a topic is deleted with it; the groups and the rest stay.",
    source=OFFSETS,
    versions="1-6",
    since="4.0",
    also="K19",
)
async def delete_topics_15(world: World) -> None:
    client = await world.client()
    name, other = await created(client, count=3), await created(client)
    simple, mixed = world.group("simple"), world.group("mixed")
    await client.commit(simple, {(name, 0): 1, (name, 2): 2})
    await client.commit(mixed, {(name, 1): 3, (other, 0): 4})
    await delete(client, name)
    assert await offsets_gone(client, simple, name)
    assert await offsets_gone(client, mixed, name)
    assert await client.fetch(mixed) == {(other, 0): (4, -1, "")}
    groups = await client.list()
    assert [groups[group].group_state for group in (simple, mixed)] == ["Empty", "Empty"]


@rule(
    id="delete-topics-16",
    api="DeleteTopics",
    says="Members of a group that committed for a topic are not disturbed when it is deleted; "
    "what they commit for it then is refused.",
    source=f"{OFFSETS}; KafkaApis.handleOffsetCommitRequest",
    versions="1-6",
    cost=3.4,
)
async def delete_topics_16(world: World) -> None:
    client = await world.client()
    name, group = await created(client), world.group()
    member = await world.stable1(group)
    mine: dict[str, Any] = {"generation": member.generation, "member_id": member.id}
    assert await client.commit(group, {(name, 0): 7}, **mine) == {(name, 0): ErrorCode.NONE}
    await delete(client, name)
    assert await offsets_gone(client, group, name)
    assert (await client.describe(group)).group_state == "Stable"
    assert await member.client.heartbeat(group, member.generation, member.id) is ErrorCode.NONE
    assert await has_partitions(client, name, None)
    assert await client.commit(group, {(name, 0): 8}, **mine) == {(name, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@rule(
    id="delete-topics-17",
    api="DeleteTopics",
    says="A topic that is created again is another one: it has another id, and nothing is committed for it.",
    source=f"KIP-516; {OFFSETS}",
    versions="1-6",
)
async def delete_topics_17(world: World) -> None:
    client = await world.client()
    name, group = await created(client, count=2), world.group()
    before = await client.topic_ids(name)
    await client.commit(group, {(name, 0): 7})
    await delete(client, name)
    assert await has_partitions(client, name, None)
    assert await offsets_gone(client, group, name)
    assert await created(client, count=3, name=name) == name
    assert await client.topic_ids(name) != before
    assert await client.fetch(group) == {}
