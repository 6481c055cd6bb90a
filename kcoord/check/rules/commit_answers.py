"""The order of a commit's answer, and its entries."""

from uuid import UUID

from kcoord.check.commits import BY_ID, commit_listed, part
from kcoord.check.rule import rule
from kcoord.check.topics import created
from kcoord.check.world import World
from wire.errors import ErrorCode

NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
ZERO = UUID(int=0)
UNKNOWN, NONE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE
HANDLED = "Apache Kafka OffsetMetadataManager.commitOffset"
FILTERED = "Apache Kafka KafkaApis.handleOffsetCommitRequest"
BUILT = "Apache Kafka OffsetCommitResponse.Builder"


@rule(
    id="commit-answers-1",
    api="OffsetCommit",
    says="Topics with something refused come first in the answer, and within them what was refused.",
    source=BUILT,
    versions="2-9",
    since="4.0",
)
async def commit_answers_1(world: World) -> None:
    client, group, other = await world.client(), world.group(), world.topic("nope-either")
    nope, third = world.topic("nope"), await created(client)
    answer = await commit_listed(
        client,
        group,
        [
            (world.u, [part(0), part(1)]),
            (nope, [part(0)]),
            (world.t, [part(2), part(9), part(0), part(-1)]),
            (third, [part(0)]),
            (other, [part(1)]),
        ],
    )
    assert answer == [
        (nope, [(0, UNKNOWN)]),
        (world.t, [(9, UNKNOWN), (-1, UNKNOWN), (2, NONE), (0, NONE)]),
        (other, [(1, UNKNOWN)]),
        (world.u, [(0, NONE), (1, NONE)]),
        (third, [(0, NONE)]),
    ]


@rule(
    id="commit-answers-2",
    api="OffsetCommit",
    says="A topic without partitions is left out of the answer if it exists, and is in it if it does not.",
    source=f"{FILTERED}; {BUILT}",
    versions="2-9",
)
async def commit_answers_2(world: World) -> None:
    client, group, nope = await world.client(), world.group(), world.topic("nope")
    assert await commit_listed(client, group, [(world.t, []), (nope, [])]) == [(nope, [])]
    # The group was not asked.
    assert group not in await client.list()
    answer = await commit_listed(client, group, [(world.t, []), (world.u, [part(0)])])
    assert answer == [(world.u, [(0, NONE)])]


@rule(
    id="commit-answers-3",
    api="OffsetCommit",
    says="A topic id without partitions is left out of the answer if there is such a topic, and is in it if not.",
    source=f"KIP-516; {FILTERED}; {BUILT}",
    versions="10",
)
async def commit_answers_3(world: World) -> None:
    client, group = await world.client(), world.group()
    (topic_id,) = await client.topic_ids(world.t)
    answer = await commit_listed(client, group, [(topic_id, []), (NOBODY, []), (ZERO, [])], BY_ID)
    assert answer == [(NOBODY, []), (ZERO, [])]
    assert group not in await client.list()


@rule(
    id="commit-answers-4",
    api="OffsetCommit",
    says="A topic that is listed twice has two entries in the answer.",
    source=f"{HANDLED}: a topic of the answer for each of the request",
    versions="2-9",
    since="4.0",
)
async def commit_answers_4(world: World) -> None:
    client, group, t = await world.client(), world.group(), world.t
    topics = [(t, [part(0, 1)]), (world.u, [part(0)]), (t, [part(1, 2), part(0, 3)])]
    answer = await commit_listed(client, group, topics)
    assert answer == [(t, [(0, NONE)]), (world.u, [(0, NONE)]), (t, [(1, NONE), (0, NONE)])]
    assert await client.fetch(group, {t: [0, 1]}) == {(t, 0): (3, -1, ""), (t, 1): (2, -1, "")}


@rule(
    id="commit-answers-5",
    api="OffsetCommit",
    says="If anything is refused, a topic that is listed twice has one entry in the answer.",
    source=f"{BUILT}.merge",
    versions="2-9",
    since="4.0",
)
async def commit_answers_5(world: World) -> None:
    client, group, t, nope = await world.client(), world.group(), world.t, world.topic("nope")
    topics = [(t, [part(0, 1)]), (nope, [part(0)]), (t, [part(9), part(1, 2)])]
    answer = await commit_listed(client, group, topics)
    assert answer == [(nope, [(0, UNKNOWN)]), (t, [(9, UNKNOWN), (0, NONE), (1, NONE)])]


@rule(
    id="commit-answers-6",
    api="OffsetCommit",
    says="A commit of more than fits into one batch of the offsets topic is refused as a whole.",
    source="Apache Kafka CoordinatorOperationExceptionHelper; max.message.bytes of __consumer_offsets",
    versions="2-9",
    since="4.0",
    settings={"message.max.bytes": 1_048_588},
)
async def commit_answers_6(world: World) -> None:
    client, group, t = await world.client(), world.group("a-group-with-a-long-name"), world.t
    ((_, answered),) = await commit_listed(client, group, [(t, [part(0, offset) for offset in range(12_000)])])
    assert answered == [(0, ErrorCode.UNKNOWN_SERVER_ERROR)] * 12_000
    assert group not in await client.list()
    ((_, answered),) = await commit_listed(client, group, [(t, [part(0, offset) for offset in range(1_000)])])
    assert answered == [(0, NONE)] * 1_000
    assert await client.fetch(group, {t: [0]}) == {(t, 0): (999, -1, "")}
