"""Partitions added by request: every version, every refusal."""

from typing import Any

import pytest

from tests.scenarios.harness import Client, World
from tests.scenarios.topics import created, fresh, has_partitions, partitions
from wire.errors import ErrorCode
from wire.messages import CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic

VERSIONS = range(4)


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


def more(name: str, count: int, *assignments: list[int]) -> CreatePartitionsTopic:
    """So many partitions in all; new ones go where `assignments` say, if there are any."""
    assigned = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=assigned or None)


async def ask(
    client: Client,
    *topics: CreatePartitionsTopic,
    version: int = 3,
    timeout_ms: int = 5_000,
    validate_only: bool = False,
) -> list[tuple[str, ErrorCode]]:
    """Ask for partitions; return names and errors, sorted, as Kafka answers in the order of a hash table."""
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    silent = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.REQUEST_TIMED_OUT}
    for one in answer.results:
        assert (one.error_message is None) == (one.error_code in silent)
    return sorted((one.name, ErrorCode(one.error_code)) for one in answer.results)


@pytest.mark.parametrize("version", VERSIONS)
async def test_partitions_are_added(client: Client, version: int):
    first, other = sorted([await created(client, 2), await created(client)])
    assert await ask(client, more(first, 5), more(other, 3), version=version) == [
        (first, ErrorCode.NONE),
        (other, ErrorCode.NONE),
    ]
    assert await has_partitions(client, first, 5)
    assert await has_partitions(client, other, 3)


async def test_they_can_be_assigned(client: Client):
    name = await created(client, 2)
    assert await ask(client, more(name, 4, [1], [1])) == [(name, ErrorCode.NONE)]
    assert await has_partitions(client, name, 4)


async def test_what_is_only_checked_is_not_done(client: Client):
    name = await created(client, 2)
    for _ in range(2):
        assert await ask(client, more(name, 4), validate_only=True) == [(name, ErrorCode.NONE)]
    assert await partitions(client, name) == 2


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("count", [2, 1, 0, -1, -(2**31)])
async def test_a_number_that_is_not_more(client: Client, count: int, validate_only: bool):
    """It comes before what is wrong with the assignments."""
    name = await created(client, 2)
    for wish in (more(name, count), more(name, count, [7])):
        assert await ask(client, wish, validate_only=validate_only) == [(name, ErrorCode.INVALID_PARTITIONS)]
    assert await partitions(client, name) == 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_topics_that_do_not_exist(client: Client, version: int):
    """Whether they could makes no difference."""
    names = sorted(["", "a b", fresh(), "__cluster_metadata"])
    assert await ask(client, *(more(name, 3, [7]) for name in names), version=version) == [
        (name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name in names
    ]


@pytest.mark.parametrize(
    "assignments",
    [[[1]], [[1], [1], [1]], [[1], []], [[], [1]], [[1], [2]], [[1], [-1]], [[1], [1, 1]], [[1], [1, 2]]],
    ids=str,
)
async def test_assignments_that_cannot_be(client: Client, assignments: list[list[int]]):
    name = await created(client, 2)
    assert await ask(client, more(name, 4, *assignments)) == [(name, ErrorCode.INVALID_REPLICA_ASSIGNMENT)]
    assert await partitions(client, name) == 2


async def test_no_assignments_are_too_few(client: Client):
    name = await created(client, 2)
    wish = CreatePartitionsTopic(name=name, count=3, assignments=[])
    assert await ask(client, wish) == [(name, ErrorCode.INVALID_REPLICA_ASSIGNMENT)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_names_that_come_twice(client: Client, version: int):
    """They are answered once, and not looked into."""
    name, missing = await created(client, 2), fresh("zzz")
    wishes = [more(name, 3), more(missing, 1), more(name, 20_000), more(missing, 1), more(name, 4)]
    assert await ask(client, *wishes, version=version) == [
        (name, ErrorCode.INVALID_REQUEST),
        (missing, ErrorCode.INVALID_REQUEST),
    ]
    assert await partitions(client, name) == 2


async def test_each_topic_is_answered_for_itself(client: Client):
    good, same, wrong = await created(client, 2), await created(client, 3), await created(client)
    missing, twice = fresh(), fresh()
    wishes = [more(twice, 1), more(same, 3), more(missing, 9), more(good, 3), more(wrong, 2, [5]), more(twice, 2)]
    assert dict(await ask(client, *wishes)) == {
        good: ErrorCode.NONE,
        same: ErrorCode.INVALID_PARTITIONS,
        wrong: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        twice: ErrorCode.INVALID_REQUEST,
    }
    assert await has_partitions(client, good, 3)


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_topics(client: Client, version: int):
    assert await ask(client, version=version) == []
    assert await ask(client, version=version, timeout_ms=0) == []


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_no_time(client: Client, timeout_ms: int):
    """Nothing is done, and everything is answered, twice what comes twice."""
    name = await created(client)
    wishes = [more(name, 2), more("zz", 2), more("zz", 3)]
    assert await ask(client, *wishes, timeout_ms=timeout_ms) == [
        (name, ErrorCode.REQUEST_TIMED_OUT),
        ("zz", ErrorCode.REQUEST_TIMED_OUT),
        ("zz", ErrorCode.REQUEST_TIMED_OUT),
    ]
    assert await partitions(client, name) == 1


async def test_no_time_is_enough_for_what_is_not_looked_into(client: Client):
    assert await ask(client, more("zz", 2), more("zz", 3), timeout_ms=0) == [("zz", ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("counts", [[10_002], [2**31 - 1], [5_001, 5_002], [10_002, 1], [10_002, -5]], ids=str)
async def test_too_many_for_one_request(client: Client, counts: list[int], validate_only: bool):
    """More than 10000 new ones in all: nothing is done, also of what would be refused or comes twice."""
    names = [await created(client) for _ in counts]
    wishes = [more(name, count, [1]) for name, count in zip(names, counts, strict=True)]
    wishes += [more("zz", 1), more("zz", 1), more("zzz", 99_999)]
    expected = sorted((wish.name, ErrorCode.POLICY_VIOLATION) for wish in wishes)
    assert await ask(client, *wishes, validate_only=validate_only) == expected
    for name in names:
        assert await partitions(client, name) == 1


@pytest.mark.parametrize("counts", [[10_001], [5_001, 5_001]], ids=str)
async def test_as_many_as_there_may_be(client: Client, counts: list[int]):
    names = sorted([await created(client) for _ in counts])
    wishes = [more(name, count) for name, count in zip(names, counts, strict=True)]
    wishes.append(more("zzz", 99_999))
    assert await ask(client, *wishes, validate_only=True) == [
        *((name, ErrorCode.NONE) for name in names),
        ("zzz", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


async def test_members_learn_of_new_partitions_from_the_metadata(world: World, client: Client):
    """The coordinator does not disturb the group."""
    name, group = await created(client), fresh("group")
    member = await world.stable1(group)
    await ask(client, more(name, 3))
    assert await has_partitions(client, name, 3)
    assert await member.client.heartbeat(group, member.generation, member.id) is ErrorCode.NONE
    committed: Any = await client.commit(group, {(name, 2): 1}, generation=member.generation, member_id=member.id)
    assert committed == {(name, 2): ErrorCode.NONE}
