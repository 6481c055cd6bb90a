"""CreatePartitions: more partitions for topics that exist."""

from collections.abc import Sequence
from typing import Any, Final

from kcoord.check.nodes import node_id
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.topics import created, has_partitions, partitions
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic

DRY_FIRST: Final = (True, False)
"""Values of validate_only, the one that does no harm first."""
ENOUGH: Final = 30_000
"""Milliseconds that a broker has which is busy with the wishes of other rules."""
NOBODY: Final = 0x7FFF_FFF7
"""The id of a broker that does not exist."""
ILLEGAL: Final = ErrorCode.INVALID_REPLICA_ASSIGNMENT

HANDLED: Final = "Apache Kafka ControllerApis.createPartitions"
ADDED: Final = "KIP-195; Apache Kafka ReplicationControlManager.createPartitions"
TIMED: Final = f"{HANDLED}, QuorumController.createPartitions"
BATCH: Final = "Apache Kafka ReplicationControlManager.createPartitions, MAX_PARTITIONS_PER_BATCH"


def more(name: str, count: int, *assignments: Sequence[int]) -> CreatePartitionsTopic:
    """Wish for so many partitions in all; new ones go where `assignments` say, if there are any."""
    wanted = [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=wanted or None)


async def ask(
    client: Client,
    *topics: CreatePartitionsTopic,
    version: int | None = None,
    timeout_ms: int = ENOUGH,
    validate_only: bool = False,
) -> list[tuple[str, ErrorCode]]:
    """Ask for partitions; return names and errors, sorted, as Kafka answers in the order of a hash table."""
    version = client.newest(CreatePartitionsRequest, 3) if version is None else version
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    silent = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.REQUEST_TIMED_OUT}
    for one in answer.results:
        assert one.error_message is None or one.error_code not in silent
    return sorted((one.name, ErrorCode(one.error_code)) for one in answer.results)


@rule(
    id="create-partitions-1",
    api="CreatePartitions",
    says="A topic gets as many partitions as are asked for.",
    source=ADDED,
    versions="0-3",
    each={"version": range(4)},
)
async def create_partitions_1(world: World, version: int) -> None:
    client = await world.client()
    first, other = sorted([await created(client, 2), await created(client, 2)])
    assert await ask(client, more(first, 5), more(other, 3), version=version) == [
        (first, ErrorCode.NONE),
        (other, ErrorCode.NONE),
    ]
    assert await has_partitions(client, first, 5)
    assert await has_partitions(client, other, 3)


@rule(
    id="create-partitions-2",
    api="CreatePartitions",
    says="New partitions may be assigned to brokers.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_2(world: World) -> None:
    client = await world.client()
    node, name = await node_id(client), await created(client, 2)
    assert await ask(client, more(name, 4, [node], [node])) == [(name, ErrorCode.NONE)]
    assert await has_partitions(client, name, 4)


@rule(
    id="create-partitions-3",
    api="CreatePartitions",
    says="What is only to be validated is answered as if it were done, as often as one likes, and is not done.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_3(world: World) -> None:
    client = await world.client()
    name = await created(client, 2)
    for _ in range(2):
        assert await ask(client, more(name, 4), validate_only=True) == [(name, ErrorCode.NONE)]
    assert await partitions(client, name) == 2


@rule(
    id="create-partitions-4",
    api="CreatePartitions",
    says="A number is refused that is not more than there are, before assignments are looked at.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_4(world: World) -> None:
    client = await world.client()
    name = await created(client, 2)
    for count in (2, 1, 0, -1, -(2**31)):
        for wish in (more(name, count), more(name, count, [NOBODY])):
            for validate_only in DRY_FIRST:
                answer = await ask(client, wish, validate_only=validate_only)
                assert answer == [(name, ErrorCode.INVALID_PARTITIONS)]
    assert await partitions(client, name) == 2


@rule(
    id="create-partitions-5",
    api="CreatePartitions",
    says="Topics that do not exist are unknown, and whether they could makes no difference.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_5(world: World) -> None:
    client = await world.client()
    names = sorted(["", "a b", world.topic(), "__cluster_metadata"])
    for version in world.offered(CreatePartitionsRequest, range(4)):
        assert await ask(client, *(more(name, 3, [NOBODY]) for name in names), version=version) == [
            (name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name in names
        ]


@rule(
    id="create-partitions-6",
    api="CreatePartitions",
    says="Assignments are refused that are not as many as there are new partitions.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_6(world: World) -> None:
    client = await world.client()
    node, name = [await node_id(client)], await created(client, 2)
    for assignments in ([node], [node, node, node]):
        assert await ask(client, more(name, 4, *assignments)) == [(name, ILLEGAL)]
    assert await partitions(client, name) == 2


@rule(
    id="create-partitions-7",
    api="CreatePartitions",
    says="Assignments are refused without brokers, with brokers that do not exist or come twice, "
    "or with different numbers of them.",
    source=f"{ADDED}, validateManualPartitionAssignment",
    versions="0-3",
)
async def create_partitions_7(world: World) -> None:
    client = await world.client()
    node, name = await node_id(client), await created(client, 2)
    one = [node]
    for assignments in ([one, []], [[], one], [one, [NOBODY]], [one, [-1]], [one, [node, node]], [one, [node, NOBODY]]):
        assert await ask(client, more(name, 4, *assignments)) == [(name, ILLEGAL)]
    assert await partitions(client, name) == 2


@rule(
    id="create-partitions-8",
    api="CreatePartitions",
    says="An empty list of assignments has too few of them, where null leaves them to the broker.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_8(world: World) -> None:
    client = await world.client()
    name = await created(client, 2)
    assert await ask(client, CreatePartitionsTopic(name=name, count=3, assignments=[])) == [(name, ILLEGAL)]
    assert await partitions(client, name) == 2


@rule(
    id="create-partitions-9",
    api="CreatePartitions",
    says="Names that come twice are refused, once each, and are not looked into.",
    source=HANDLED,
    versions="0-3",
)
async def create_partitions_9(world: World) -> None:
    client = await world.client()
    name, missing = await created(client, 2), world.topic("zzz")
    wishes = [more(name, 3), more(missing, 1), more(name, 20_000), more(missing, 1), more(name, 4)]
    for version in world.offered(CreatePartitionsRequest, range(4)):
        for validate_only in DRY_FIRST:
            assert await ask(client, *wishes, version=version, validate_only=validate_only) == [
                (name, ErrorCode.INVALID_REQUEST),
                (missing, ErrorCode.INVALID_REQUEST),
            ]
    assert await partitions(client, name) == 2


@rule(
    id="create-partitions-10",
    api="CreatePartitions",
    says="Topics are answered each for itself: a refusal keeps none of the others from growing.",
    source=ADDED,
    versions="0-3",
)
async def create_partitions_10(world: World) -> None:
    client = await world.client()
    good, same, wrong = await created(client, 2), await created(client, 3), await created(client)
    missing, twice = world.topic(), world.topic()
    wishes = [more(twice, 1), more(same, 3), more(missing, 9), more(good, 3), more(wrong, 2, [NOBODY]), more(twice, 2)]
    assert dict(await ask(client, *wishes)) == {
        good: ErrorCode.NONE,
        same: ErrorCode.INVALID_PARTITIONS,
        wrong: ILLEGAL,
        missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        twice: ErrorCode.INVALID_REQUEST,
    }
    assert await has_partitions(client, good, 3)


@rule(
    id="create-partitions-11",
    api="CreatePartitions",
    says="No topics are answered with none, whatever the time.",
    source=HANDLED,
    versions="0-3",
)
async def create_partitions_11(world: World) -> None:
    client = await world.client()
    for version in world.offered(CreatePartitionsRequest, range(4)):
        assert await ask(client, version=version) == []
        assert await ask(client, version=version, timeout_ms=0) == []


@rule(
    id="create-partitions-12",
    api="CreatePartitions",
    says="In no time nothing is done, and everything is answered, twice what comes twice.",
    source=TIMED,
    versions="0-3",
    each={"timeout_ms": (0, -1)},
)
async def create_partitions_12(world: World, timeout_ms: int) -> None:
    client = await world.client()
    name, twice = await created(client), world.topic("zz")
    wishes = [more(name, 2), more(twice, 2), more(twice, 3)]
    assert await ask(client, *wishes, timeout_ms=timeout_ms) == [
        (name, ErrorCode.REQUEST_TIMED_OUT),
        (twice, ErrorCode.REQUEST_TIMED_OUT),
        (twice, ErrorCode.REQUEST_TIMED_OUT),
    ]
    assert await partitions(client, name) == 1


@rule(
    id="create-partitions-13",
    api="CreatePartitions",
    says="No time is enough for topics that are refused without being looked into.",
    source=TIMED,
    versions="0-3",
)
async def create_partitions_13(world: World) -> None:
    client, twice = await world.client(), world.topic("zz")
    assert await ask(client, more(twice, 2), more(twice, 3), timeout_ms=0) == [(twice, ErrorCode.INVALID_REQUEST)]


@rule(
    id="create-partitions-14",
    api="CreatePartitions",
    says="If a request adds more than 10000 partitions in all, all of it is refused, also what would be refused "
    "anyway or comes twice.",
    source=BATCH,
    versions="0-3",
    since="4.4",
    each={"counts": ((10_002,), (2**31 - 1,), (5_001, 5_002), (10_002, 1), (10_002, -5))},
)
async def create_partitions_14(world: World, counts: tuple[int, ...]) -> None:
    client = await world.client()
    node, twice = await node_id(client), world.topic("zz")
    names = [await created(client) for _ in counts]
    wishes = [more(name, count, [node]) for name, count in zip(names, counts, strict=True)]
    wishes += [more(twice, 1), more(twice, 1), more(world.topic("zzz"), 99_999)]
    expected = sorted((wish.name, ErrorCode.POLICY_VIOLATION) for wish in wishes)
    for validate_only in DRY_FIRST:
        assert await ask(client, *wishes, validate_only=validate_only) == expected
    for name in names:
        assert await partitions(client, name) == 1


@rule(
    id="create-partitions-15",
    api="CreatePartitions",
    says="A request may add 10000 partitions; topics that do not exist do not count.",
    source=BATCH,
    versions="0-3",
    each={"counts": ((10_001,), (5_001, 5_001))},
)
async def create_partitions_15(world: World, counts: tuple[int, ...]) -> None:
    client = await world.client()
    names = sorted([await created(client) for _ in counts])
    missing = world.topic("zzz")
    wishes = [more(name, count) for name, count in zip(names, counts, strict=True)]
    assert await ask(client, *wishes, more(missing, 99_999), validate_only=True) == [
        *((name, ErrorCode.NONE) for name in names),
        (missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@rule(
    id="create-partitions-16",
    api="CreatePartitions",
    says="Members of groups are not disturbed by new partitions, and may commit for them.",
    source="seen on Apache Kafka 4.4.0",
    versions="0-3",
    cost=3.4,
)
async def create_partitions_16(world: World) -> None:
    client = await world.client()
    name, group = await created(client), world.group()
    member = await world.stable1(group)
    await ask(client, more(name, 3))
    assert await has_partitions(client, name, 3)
    assert await member.client.heartbeat(group, member.generation, member.id) is ErrorCode.NONE
    committed: Any = await client.commit(group, {(name, 2): 1}, generation=member.generation, member_id=member.id)
    assert committed == {(name, 2): ErrorCode.NONE}
