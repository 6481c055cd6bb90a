"""Topics deleted by request: every version, every refusal, and what becomes of the groups that committed for them."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.topics import NO_ID, created, fresh, has_partitions, partitions, soon
from wire.errors import ErrorCode
from wire.messages import DeleteTopicsRequest, DeleteTopicState

VERSIONS = range(1, 7)
METADATA_TOPIC = "__cluster_metadata"
Entry = tuple[str | None, UUID, ErrorCode]


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


def request(*topics: str | UUID | tuple[str | None, UUID], version: int = 6, timeout_ms: int = 5_000) -> Any:
    """Name topics by their name, their id, or both; ids from version 6 on."""
    if version < 6:
        return DeleteTopicsRequest(topic_names=[str(each) for each in topics], timeout_ms=timeout_ms)
    pairs = [
        each if isinstance(each, tuple) else (None, each) if isinstance(each, UUID) else (each, NO_ID)
        for each in topics
    ]
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in pairs], timeout_ms=timeout_ms
    )


async def delete(client: Client, *topics: Any, version: int = 6, timeout_ms: int = 5_000) -> list[Entry]:
    """Delete topics; return names, ids and errors, in the order of the names, as Kafka shuffles them.

    Who is refused is told why from version 5 on.
    """
    answer = await client.call(request(*topics, version=version, timeout_ms=timeout_ms), version)
    assert answer.throttle_time_ms == 0
    for one in answer.responses:
        if version < 5 or one.error_code in (0, ErrorCode.REQUEST_TIMED_OUT):
            assert one.error_message is None
        else:
            assert one.error_message
    entries = [(one.name, one.topic_id, ErrorCode(one.error_code)) for one in answer.responses]
    return sorted(entries, key=lambda entry: (entry[0] or "", str(entry[1]), entry[2]))


@pytest.mark.parametrize("version", VERSIONS)
async def test_topics_are_gone(client: Client, version: int):
    names = sorted([await created(client, count=3), await created(client)])
    ids = await client.topic_ids(*names)
    assert await delete(client, *names, version=version) == [
        (name, topic_id if version >= 6 else NO_ID, ErrorCode.NONE) for name, topic_id in zip(names, ids, strict=True)
    ]
    for name in names:
        assert await has_partitions(client, name, None)


async def test_topics_by_their_id(client: Client):
    name, other = sorted([await created(client), await created(client)])
    ids = await client.topic_ids(name, other)
    assert await delete(client, ids[0], other) == [(name, ids[0], ErrorCode.NONE), (other, ids[1], ErrorCode.NONE)]
    assert await has_partitions(client, name, None)


@pytest.mark.parametrize("version", VERSIONS)
async def test_topics_that_do_not_exist(client: Client, version: int):
    """Whether they could makes no difference."""
    names = sorted(["", "a b", fresh(), METADATA_TOPIC, "x" * 300])
    assert await delete(client, *names, version=version) == [
        (name, NO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name in names
    ]


async def test_an_id_that_nobody_has(client: Client):
    nobody = uuid4()
    assert await delete(client, nobody) == [(None, nobody, ErrorCode.UNKNOWN_TOPIC_ID)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_names_that_come_twice(client: Client, version: int):
    """They are answered once, whether they exist or not."""
    name = await created(client)
    missing = fresh("zzz")
    assert await delete(client, name, missing, name, missing, name, version=version) == [
        (name, NO_ID, ErrorCode.INVALID_REQUEST),
        (missing, NO_ID, ErrorCode.INVALID_REQUEST),
    ]
    assert await partitions(client, name) == 1


async def test_an_id_that_comes_twice(client: Client):
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    nobody = uuid4()
    assert set(await delete(client, topic_id, nobody, topic_id, nobody)) == {
        (None, topic_id, ErrorCode.INVALID_REQUEST),
        (None, nobody, ErrorCode.INVALID_REQUEST),
    }
    assert await partitions(client, name) == 1


@pytest.mark.parametrize("times", [1, 2])
async def test_a_name_and_an_id_of_one_topic(client: Client, times: int):
    """The name is refused, with the id; it is told of the id that it came twice."""
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    twice = [(None, topic_id, ErrorCode.INVALID_REQUEST)] if times == 2 else []
    assert await delete(client, *[topic_id] * times, name) == [*twice, (name, topic_id, ErrorCode.INVALID_REQUEST)]
    assert await partitions(client, name) == 1


async def test_a_name_that_comes_twice_does_not_stand_in_the_way_of_the_id(client: Client):
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    assert set(await delete(client, name, name, topic_id)) == {
        (name, NO_ID, ErrorCode.INVALID_REQUEST),
        (name, topic_id, ErrorCode.NONE),
    }
    assert await has_partitions(client, name, None)


async def test_entries_that_are_neither_or_both(client: Client):
    """Each is answered, however often it comes, and what they name is not looked into."""
    name = await created(client)
    (topic_id,) = await client.topic_ids(name)
    nobody = uuid4()
    both, mixed, neither = (name, topic_id), ("x", nobody), (None, NO_ID)
    answer = await delete(client, both, mixed, mixed, neither, neither, ("", nobody))
    assert sorted(answer, key=str) == sorted(
        [(*each, ErrorCode.INVALID_REQUEST) for each in (both, mixed, mixed, neither, neither, ("", nobody))], key=str
    )
    assert await partitions(client, name) == 1


@pytest.mark.parametrize("timeout_ms", [0, -1])
@pytest.mark.parametrize("version", VERSIONS)
async def test_no_time(client: Client, version: int, timeout_ms: int):
    """Nothing is deleted, and everything is answered, in its order, twice what comes twice."""
    name = await created(client)
    names = [name, "no such topic", name, "z"]
    answer = await client.call(request(*names, version=version, timeout_ms=timeout_ms), version)
    assert [(one.name, one.error_code, one.error_message) for one in answer.responses] == [
        (each, ErrorCode.REQUEST_TIMED_OUT, None) for each in names
    ]
    assert await partitions(client, name) == 1


async def test_no_time_for_what_is_named_both_ways(client: Client):
    nobody = uuid4()
    entries = [("x", nobody), (None, nobody), (None, NO_ID)]
    answer = await client.call(request(*entries, timeout_ms=0), 6)
    assert [(one.name, one.topic_id, one.error_code) for one in answer.responses] == [
        (*each, ErrorCode.REQUEST_TIMED_OUT) for each in entries
    ]


async def test_no_time_is_enough_for_what_is_refused_anyway(client: Client):
    name = fresh()
    assert await delete(client, name, name, (None, NO_ID), timeout_ms=0) == [
        (None, NO_ID, ErrorCode.INVALID_REQUEST),
        (name, NO_ID, ErrorCode.INVALID_REQUEST),
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_topics(client: Client, version: int):
    assert await delete(client, version=version) == []
    assert await delete(client, version=version, timeout_ms=0) == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_deletion_can_be_forbidden(make_world, version: int):
    """What is asked for is not even looked into, nor is there any need for time."""
    async with make_world(delete_topic_enable=False) as world:
        client = await world.client()
        code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
        names = ["t", "no such topic", "t", ""]
        answer = await client.call(request(*names, version=version, timeout_ms=0), version)
        assert [(one.name, one.error_code, one.error_message) for one in answer.responses] == [
            (each, code, None) for each in names
        ]
        assert await partitions(client, "t") == 3
        assert (await client.call(request(version=version), version)).responses == []


async def offsets_gone(client: Client, group: str, topic: str) -> bool:
    """Whether nothing is soon committed for a topic, although it exists again or never ceased to."""

    async def holds() -> bool:
        return all(name != topic for name, _ in await client.fetch(group))

    return await soon(holds)


async def test_what_was_committed_goes_with_the_topic(world: World, client: Client):
    name, other = await created(client, count=3), await created(client)
    simple, mixed = fresh("simple"), fresh("mixed")
    await client.commit(simple, {(name, 0): 1, (name, 2): 2})
    await client.commit(mixed, {(name, 1): 3, (other, 0): 4})
    await delete(client, name)
    assert await offsets_gone(client, simple, name)
    assert await offsets_gone(client, mixed, name)
    assert await client.fetch(mixed) == {(other, 0): (4, -1, "")}
    groups = await client.list()
    assert [groups[group].group_state for group in (simple, mixed)] == ["Empty", "Empty"]


async def test_who_consumes_a_topic_is_not_told_by_the_coordinator(world: World, client: Client):
    """Members learn it from the topic's metadata. What they commit then is refused."""
    name, group = await created(client), fresh("group")
    member = await world.stable1(group)
    mine = {"generation": member.generation, "member_id": member.id}
    assert await client.commit(group, {(name, 0): 7}, **mine) == {(name, 0): ErrorCode.NONE}
    await delete(client, name)
    assert await offsets_gone(client, group, name)
    assert (await client.describe(group)).group_state == "Stable"
    assert await member.client.heartbeat(group, member.generation, member.id) is ErrorCode.NONE
    assert await has_partitions(client, name, None)
    assert await client.commit(group, {(name, 0): 8}, **mine) == {(name, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_topic_that_comes_again_is_another_one(client: Client):
    name, group = await created(client, count=2), fresh("group")
    before = await client.topic_ids(name)
    await client.commit(group, {(name, 0): 7})
    await delete(client, name)
    assert await has_partitions(client, name, None)
    assert await offsets_gone(client, group, name)
    assert await created(client, count=3, name=name) == name
    assert await client.topic_ids(name) != before
    assert await client.fetch(group) == {}
