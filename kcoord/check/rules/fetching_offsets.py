"""OffsetFetch: what a group has committed."""

from typing import Any
from uuid import UUID

import trio

from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics

NAMED = range(1, 10)
"""The versions that name topics; version 10 has their ids."""
ALL_AT_ONCE = range(2, 10)
"""Those of them that can ask for all topics at once."""
ZERO = UUID(int=0)
NONE = (-1, -1, "")
"""What is answered where nothing is committed: offset, epoch, metadata."""

FETCHED = "Apache Kafka OffsetMetadataManager.fetchOffsets"
ALL = "Apache Kafka OffsetMetadataManager.fetchAllOffsets"
VALIDATED = "Apache Kafka ClassicGroup.validateOffsetFetch"

Topic = str | UUID
Wanted = list[tuple[Topic, list[int]]] | None


def asked(group: str, wanted: Wanted) -> OffsetFetchRequestGroup:
    """A group's part of a request, from version 8 on."""
    return OffsetFetchRequestGroup(
        group_id=group,
        topics=None
        if wanted is None
        else [
            OffsetFetchRequestTopics(topic_id=topic, partition_indexes=indexes)
            if isinstance(topic, UUID)
            else OffsetFetchRequestTopics(name=topic, partition_indexes=indexes)
            for topic, indexes in wanted
        ],
    )


def listed(answer: Any) -> list[tuple[Topic, list[tuple[int, int, int]]]]:
    """The topics of an answer, in its order: partition, offset and error of each."""
    return [
        (
            getattr(topic, "topic_id", ZERO) if topic.name == "" else topic.name,
            [(one.partition_index, one.committed_offset, one.error_code) for one in topic.partitions],
        )
        for topic in answer.topics
    ]


async def fetch_listed(
    client: Client, group: str, wanted: Wanted, version: int, *, stable: bool = False
) -> list[tuple[Topic, list[tuple[int, int, int]]]]:
    """OffsetFetch with its topics in a given order; the answer in its own. The group must have no error."""
    if version >= 8:
        request = OffsetFetchRequest(groups=[asked(group, wanted)], require_stable=stable)
        (answer,) = (await client.call(request, version)).groups
        assert answer.group_id == group
    else:
        topics = None
        if wanted is not None:
            topics = [OffsetFetchRequestTopic(name=str(name), partition_indexes=indexes) for name, indexes in wanted]
        request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=stable)
        answer = await client.call(request, version)
    assert answer.error_code == ErrorCode.NONE
    return listed(answer)


# --- what is answered ---


@rule(
    id="K1",
    api="OffsetFetch",
    says="A group that does not exist has committed nothing, which is no error, whether the topics exist or not.",
    source=FETCHED,
    versions="1-9",
)
async def k1(world: World) -> None:
    client, nope = await world.client(), world.topic("nope")
    wanted = {world.t: [0, 2], world.u: [1], nope: [0]}
    expected = {(topic, index): NONE for topic, indexes in wanted.items() for index in indexes}
    for version in world.offered(OffsetFetchRequest, NAMED):
        assert await client.fetch(world.group(), wanted, version=version) == expected


@rule(
    id="K2",
    api="OffsetFetch",
    says="All that a group has committed which does not exist is an empty list of topics, which is no error.",
    source=ALL,
    versions="2-10",
)
async def k2(world: World) -> None:
    client = await world.client()
    for version in world.offered(OffsetFetchRequest, ALL_AT_ONCE):
        assert await client.fetch(world.group(), None, version=version) == {}


@rule(
    id="K3",
    api="OffsetFetch",
    says="Where nothing is committed offset and epoch are -1, metadata is empty, even if there is no such partition.",
    source=f"KIP-320 for the epoch; {FETCHED}",
    versions="1-9",
)
async def k3(world: World) -> None:
    client, group, nope = await world.client(), world.group(), world.topic("nope")
    await client.commit(group, {(world.t, 0): (42, "note")}, epoch=3)
    for version in world.offered(OffsetFetchRequest, NAMED):
        assert await client.fetch(group, {world.t: [0, 1, 5, -1], nope: [0]}, version=version) == {
            (world.t, 0): (42, 3 if version >= 5 else -1, "note"),
            (world.t, 1): NONE,
            (world.t, 5): NONE,
            (world.t, -1): NONE,
            (nope, 0): NONE,
        }


@rule(
    id="K4",
    api="OffsetFetch",
    says="Null instead of topics asks for all that the group has committed.",
    source=ALL,
    versions="2-10",
)
async def k4(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 2): 1, (world.t, 0): (2, "m"), (world.u, 1): 3}, epoch=4)
    for version in world.offered(OffsetFetchRequest, ALL_AT_ONCE):
        epoch = 4 if version >= 5 else -1
        assert await client.fetch(group, None, version=version) == {
            (world.t, 2): (1, epoch, ""),
            (world.t, 0): (2, epoch, "m"),
            (world.u, 1): (3, epoch, ""),
        }


@rule(
    id="K5",
    api="OffsetFetch",
    says="An empty list of topics asks for nothing.",
    source=FETCHED,
    versions="1-10",
)
async def k5(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(OffsetFetchRequest, NAMED):
        assert await client.fetch(group, {}, version=version) == {}
        assert await client.fetch(world.group(), {}, version=version) == {}


@rule(
    id="K5b",
    api="OffsetFetch",
    says="The answer has the order of the request, twice what is asked for twice, and topics without partitions.",
    source=FETCHED,
    versions="1-9",
    since="4.0",
)
async def k5b(world: World) -> None:
    client, group, nope = await world.client(), world.group(), world.topic("nope")
    t, u = world.t, world.u
    await client.commit(group, {(t, 0): 1, (t, 1): 2, (u, 0): 3})
    wanted: Wanted = [(u, [2, 0]), (t, [1, 0, 1]), (nope, []), (u, [0]), (t, [])]
    for version in world.offered(OffsetFetchRequest, NAMED):
        assert await fetch_listed(client, group, wanted, version) == [
            (u, [(2, -1, 0), (0, 3, 0)]),
            (t, [(1, 2, 0), (0, 1, 0), (1, 2, 0)]),
            (nope, []),
            (u, [(0, 3, 0)]),
            (t, []),
        ]


# --- who may ask, and when ---


@rule(
    id="K10",
    api="OffsetFetch",
    says="Whether stable offsets are required makes no difference where there are no transactions.",
    source=f"KIP-447; {FETCHED}",
    versions="7-10",
)
async def k10(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): (1, "m")})
    for version in world.offered(OffsetFetchRequest, (7, 8, 9)):
        for stable in (True, False):
            found = await fetch_listed(client, group, [(world.t, [0, 1])], version, stable=stable)
            assert found == [(world.t, [(0, 1, 0), (1, -1, 0)])]


@rule(
    id="K11",
    api="OffsetFetch",
    says="While a group gathers in a rebalance its members and others can read its offsets.",
    source=VALIDATED,
    versions="1-10",
    cost=6.8,
)
async def k11(world: World) -> None:
    leader, _follower, third = await world.preparing(world.group())
    await leader.commit({(world.t, 0): 1})
    for client in (leader.client, await world.client()):
        assert await client.fetch(leader.group) == {(world.t, 0): (1, -1, "")}
    assert third.call is not None
    assert await third.call.parked()


@rule(
    id="K11b",
    api="OffsetFetch",
    says="Members and others can read a group's offsets before it has its assignment.",
    source=VALIDATED,
    versions="1-10",
    cost=3.1,
)
async def k11b(world: World) -> None:
    group = world.group()
    outsider = await world.client()
    await outsider.commit(group, {(world.t, 0): 1})
    (member,) = await world.completing(group, None)
    assert (await outsider.describe(group)).group_state == "CompletingRebalance"
    for client in (member.client, outsider):
        assert await client.fetch(group, {world.t: [0, 1]}) == {(world.t, 0): (1, -1, ""), (world.t, 1): NONE}
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="K12",
    api="OffsetFetch",
    says="What members committed is there after they have left.",
    source=ALL,
    versions="1-10",
    cost=3.1,
)
async def k12(world: World) -> None:
    member = await world.stable1(world.group())
    await member.commit({(world.t, 0): (1, "m")})
    await member.client.leave(member.group, member.id)
    assert (await member.client.describe(member.group)).group_state == "Empty"
    assert await member.client.fetch(member.group) == {(world.t, 0): (1, -1, "m")}


@rule(
    id="K12b",
    api="OffsetFetch",
    says="Reading offsets is no sign of life of a member.",
    source=f"{FETCHED}: no session is renewed there",
    versions="1-10",
    cost=10.3,
)
async def k12b(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    for _ in range(7):
        await trio.sleep(1)
        await member.client.fetch(member.group, {world.t: [0]})
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="K12c",
    api="OffsetFetch",
    says="A commit is seen, on any connection, by whoever asks after it has been answered.",
    source="Apache Kafka CoordinatorRuntime: a write is answered when it is committed, and reads see what is committed",
    versions="1-10",
    cost=0.6,
)
async def k12c(world: World) -> None:
    writer, reader, group = await world.client(), await world.client(), world.group()
    for offset in range(30):
        await writer.commit(group, {(world.t, 0): offset})
        assert await reader.fetch(group, {world.t: [0]}) == {(world.t, 0): (offset, -1, "")}


@rule(
    id="K16",
    api="OffsetFetch",
    says="The empty group id is one like others to read offsets, and to commit them.",
    source=f"{FETCHED}: the id is not looked at",
    versions="1-9",
    alone=True,
)
async def k16(world: World) -> None:
    client, group = await world.client(), await world.take_group("")
    assert await client.commit(group, {(world.u, 2): 77}) == {(world.u, 2): ErrorCode.NONE}
    for version in world.offered(OffsetFetchRequest, NAMED):
        assert await client.fetch(group, {world.u: [2]}, version=version) == {(world.u, 2): (77, -1, "")}


@rule(
    id="K18",
    api="OffsetFetch",
    says="Asking for the offsets of a group that does not exist does not make it.",
    source=FETCHED,
    versions="1-10",
)
async def k18(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.fetch(group, {world.t: [0]})
    await client.fetch(group, None)
    assert group not in await client.list()
    assert (await client.describe(group)).group_state == "Dead"
