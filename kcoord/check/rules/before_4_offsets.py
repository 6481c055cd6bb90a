"""What Kafka did otherwise with committed offsets before 4.0, when the group coordinator was another one.

Each rule has the id of the one that replaced it, with the last release in which it held behind that. What that
coordinator answered had the order of hash tables of Scala.
"""

import struct
from typing import Final

import trio

from kcoord.check.commits import commit_listed, part
from kcoord.check.outcome import NotApplicable
from kcoord.check.rule import rule
from kcoord.check.rules.commit_answers import NONE, UNKNOWN
from kcoord.check.rules.deleting_groups import delete as delete_groups
from kcoord.check.rules.deleting_offsets import request, topic
from kcoord.check.rules.deleting_topics import delete as delete_topic
from kcoord.check.rules.deleting_topics import offsets_gone
from kcoord.check.rules.fetching_offsets import NAMED, Wanted, fetch_listed
from kcoord.check.rules.offsets_topic import assert_deleted, at, offset, reader
from kcoord.check.topics import created
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersionsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
)

COORDINATOR: Final = "Apache Kafka 3.9 GroupCoordinator"
STORED: Final = "Apache Kafka 3.9 GroupMetadataManager"
ADAPTED: Final = "Apache Kafka 3.9 GroupCoordinatorAdapter"


# --- commits ---


@rule(
    id="J2b-3.9",
    api="OffsetCommit",
    says="In version 9, too, a commit that names a generation is told that it is illegal where there is no such group.",
    source=f"{COORDINATOR}.validateOffsetCommit",
    versions="9",
    until="3.9",
)
async def j2b(world: World) -> None:
    client, group = await world.client(), world.group()
    for generation in (0, 3):
        answer = await client.commit(group, {(world.t, 0): 1}, generation=generation, version=9)
        assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}
    assert group not in await client.list()


@rule(
    id="J6b-3.9",
    api="OffsetCommit",
    says="In version 9, too, a commit to the empty group id that names a generation is told that it is illegal.",
    source=f"{COORDINATOR}.validateOffsetCommit",
    versions="9",
    until="3.9",
    alone=True,
)
async def j6b(world: World) -> None:
    group = await world.take_group("")
    client = await world.client()
    answer = await client.commit(group, {(world.t, 0): 1}, generation=1, version=9)
    assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}


@rule(
    id="O3b-3.9",
    api="OffsetCommit",
    says="In a group that was deleted a member's generation is illegal.",
    source=f"{COORDINATOR}.validateOffsetCommit",
    versions="2-9",
    cost=3.1,
    until="3.9",
)
async def o3b(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert await delete_groups(member.client, member.group) == {member.group: ErrorCode.NONE}
    for version in world.offered(OffsetCommitRequest, range(2, 10)):
        answer = await member.commit({(world.t, 0): 3}, version=version)
        assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}


@rule(
    id="J26-3.9",
    api="OffsetCommit",
    says="A partition that is listed twice is answered once, and the last one is what is committed.",
    source=f"{ADAPTED}.commitOffsets",
    versions="2-9",
    until="3.9",
)
async def j26(world: World) -> None:
    client, group = await world.client(), world.group()
    ((name, answered),) = await commit_listed(client, group, [(world.t, [part(0, 1), part(1, 5), part(0, 2)])])
    assert (name, sorted(answered)) == (world.t, [(0, NONE), (1, NONE)])
    assert await client.fetch(group) == {(world.t, 0): (2, -1, ""), (world.t, 1): (5, -1, "")}


@rule(
    id="J31-3.9",
    api="OffsetCommit",
    says="Version 1 is served: a commit is for the group's members, or for nobody, as in later versions.",
    source="Apache Kafka 3.9 OffsetCommitRequest.json",
    versions="0+",
    until="3.9",
)
async def j31(world: World) -> None:
    if world.offers is not None and 1 not in world.offers[OffsetCommitRequest.API_KEY]:
        raise NotApplicable("OffsetCommit 1 is not advertised")
    client, group = await world.client(), world.group()
    for generation, error in ((-1, ErrorCode.NONE), (3, ErrorCode.UNKNOWN_MEMBER_ID)):
        name, topic_name = group.encode(), world.t.encode()
        body = struct.pack(f">h{len(name)}sihi", len(name), name, generation, 0, 1)
        body += struct.pack(f">h{len(topic_name)}siiqqh", len(topic_name), topic_name, 1, 0, 5, -1, 0)
        await client.send_frame(struct.pack(">hhih", OffsetCommitRequest.API_KEY, 1, 7, -1) + body)
        answered = struct.pack(f">iih{len(topic_name)}siih", 7, 1, len(topic_name), topic_name, 1, 0, error)
        assert await client.read_frame() == answered
        assert await client.fetch(group) == {(world.t, 0): (5, -1, "")}


@rule(
    id="commit-answers-1-3.9",
    api="OffsetCommit",
    says="What is refused is named before what is committed: topics with something refused, and within them what was.",
    source="Apache Kafka OffsetCommitResponse.Builder",
    versions="2-9",
    since="3.5",
    until="3.9",
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
    assert [name for name, _ in answer[:3]] == [nope, world.t, other]
    found = dict(answer)
    assert found[world.t][:2] == [(9, UNKNOWN), (-1, UNKNOWN)]
    assert {name: sorted(partitions) for name, partitions in answer} == {
        nope: [(0, UNKNOWN)],
        world.t: [(-1, UNKNOWN), (0, NONE), (2, NONE), (9, UNKNOWN)],
        other: [(1, UNKNOWN)],
        world.u: [(0, NONE), (1, NONE)],
        third: [(0, NONE)],
    }


@rule(
    id="commit-answers-4-3.9",
    api="OffsetCommit",
    says="A topic that is listed twice has one entry in the answer, also if something of it is refused.",
    source=f"{ADAPTED}.commitOffsets; Apache Kafka OffsetCommitResponse.Builder",
    versions="2-9",
    since="3.5",
    until="3.9",
    also="commit-answers-5-3.9",
)
async def commit_answers_4(world: World) -> None:
    client, group, t = await world.client(), world.group(), world.t
    topics = [(t, [part(0, 1)]), (world.u, [part(0)]), (t, [part(1, 2), part(0, 3)])]
    answer = await commit_listed(client, group, topics)
    assert sorted((name, sorted(found)) for name, found in answer) == [
        (t, [(0, NONE), (1, NONE)]),
        (world.u, [(0, NONE)]),
    ]
    assert await client.fetch(group, {t: [0, 1]}) == {(t, 0): (3, -1, ""), (t, 1): (2, -1, "")}
    ((name, found),) = await commit_listed(client, group, [(t, [part(0, 1)]), (t, [part(9), part(1, 2)])])
    assert (name, found[0], sorted(found[1:])) == (t, (9, UNKNOWN), [(0, NONE), (1, NONE)])


@rule(
    id="commit-answers-6-3.9",
    api="OffsetCommit",
    says="A commit of more than fits into one batch of the offsets topic is refused as a whole, as too large.",
    source=f"{STORED}.storeOffsets; max.message.bytes of __consumer_offsets",
    versions="2-9",
    settings={"message.max.bytes": 1_048_588},
    topics=("wide",),
    until="3.9",
)
async def commit_answers_6(world: World) -> None:
    client, group = await world.client(), world.group()
    many = {(world.wide, index): (1, "x" * 2_000) for index in range(1_000)}
    assert await client.commit(group, many) == dict.fromkeys(many, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    assert await client.fetch(group) == {}
    few = dict(list(many.items())[:100])
    assert await client.commit(group, few) == dict.fromkeys(few, NONE)


# --- what was committed ---


@rule(
    id="K5b-3.9",
    api="OffsetFetch",
    says="Each partition is answered once, those of a topic together, and topics without partitions not at all.",
    source=f"{STORED}.getOffsets",
    versions="1-9",
    until="3.9",
    also="offsets-13-3.9",
)
async def k5b(world: World) -> None:
    client, group, nope = await world.client(), world.group(), world.topic("nope")
    t, u = world.t, world.u
    await client.commit(group, {(t, 0): 1, (t, 1): 2, (u, 0): 3})
    wanted: Wanted = [(u, [2, 0]), (t, [1, 0, 1]), (nope, []), (u, [0]), (t, [])]
    for version in world.offered(OffsetFetchRequest, NAMED):
        found = await fetch_listed(client, group, wanted, version)
        assert sorted((str(name), sorted(partitions)) for name, partitions in found) == [
            (t, [(0, 1, 0), (1, 2, 0)]),
            (u, [(0, 3, 0), (2, -1, 0)]),
        ]


@rule(
    id="K8-4.0",
    api="OffsetFetch",
    says="A request without groups is never answered, nor is what comes after it on its connection.",
    source="KIP-709; Apache Kafka 3.9 KafkaApis.handleOffsetFetchRequest",
    versions="8-9",
    until="4.0",
)
async def k8(world: World) -> None:
    for version in world.offered(OffsetFetchRequest, (8, 9)):
        client = await world.client()
        unlucky = await client.send(OffsetFetchRequest(groups=[]), version)
        after = await client.send(ApiVersionsRequest(), 0)
        await trio.sleep(1)
        assert await unlucky.parked()
        assert await after.parked()


# --- offsets that are deleted ---


@rule(
    id="L10-3.9",
    api="OffsetDelete",
    says="A group without members goes with the last of its offsets.",
    source=f"{COORDINATOR}.handleDeleteOffsets, {STORED}.cleanupGroupMetadata",
    versions="0",
    until="3.9",
)
async def l10(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 3, (world.t, 1): 4})
    for index, error in ((0, ErrorCode.NONE), (1, ErrorCode.NONE), (1, ErrorCode.GROUP_ID_NOT_FOUND)):
        assert (await client.describe(group)).group_state == ("Empty" if error is ErrorCode.NONE else "Dead")
        assert (await client.call(request(group, {world.t: [index]}))).error_code == error
    assert group not in await client.list()


@rule(
    id="L11c-3.9",
    api="OffsetDelete",
    says="A topic that is named twice is answered once, and so is a partition; what is unknown comes first.",
    source=f"{ADAPTED}.deleteOffsets",
    versions="0",
    since="3.5",
    until="3.9",
    also="L11b-3.9",
)
async def l11c(world: World) -> None:
    client, group = await world.client(), world.group()
    t, u, nope, other = world.t, world.u, world.topic("nope"), await created(await world.client())

    async def answered(*topics: OffsetDeleteRequestTopic) -> list[tuple[str, list[int]]]:
        """The topics of the answer; what is unknown of each, and the rest in the order of the numbers."""
        await client.commit(group, {(t, 0): 3, (t, 1): 4, (t, 2): 5})
        answer = await client.call(OffsetDeleteRequest(group_id=group, topics=list(topics)))
        assert answer.error_code == ErrorCode.NONE
        codes = {one.partition_index: one.error_code for each in answer.topics for one in each.partitions}
        assert set(codes.values()) <= {NONE, UNKNOWN}
        return [
            (each.name, sorted((one.partition_index for one in each.partitions), key=lambda at: (not codes[at], at)))
            for each in answer.topics
        ]

    assert await answered(topic(t, 0, 0)) == [(t, [0])]
    assert sorted(await answered(topic(t, 0), topic(u, 0), topic(t, 1))) == [(t, [0, 1]), (u, [0])]
    assert await answered(topic(t, 0, 9), topic(u, 0), topic(t, 1)) == [(t, [9, 0, 1]), (u, [0])]
    assert await answered(topic(u, 0), topic(other), topic(nope), topic(t, 0, 3, 1)) == [
        (nope, []),
        (t, [3, 0, 1]),
        (u, [0]),
    ]


@rule(
    id="delete-topics-15-3.9",
    api="DeleteTopics",
    says="What groups without members committed for a topic is deleted with it, and so are those that have no more.",
    source=f"{COORDINATOR}.handleDeletedPartitions, {STORED}.cleanupGroupMetadata",
    versions="1-6",
    until="3.9",
)
async def delete_topics_15(world: World) -> None:
    client = await world.client()
    name, other = await created(client, count=3), await created(client)
    simple, mixed = world.group("simple"), world.group("mixed")
    await client.commit(simple, {(name, 0): 1, (name, 2): 2})
    await client.commit(mixed, {(name, 1): 3, (other, 0): 4})
    await delete_topic(client, name)
    assert await offsets_gone(client, simple, name)
    assert await offsets_gone(client, mixed, name)
    assert await client.fetch(mixed) == {(other, 0): (4, -1, "")}
    groups = await client.list()
    assert groups[mixed].group_state == "Empty"
    assert simple not in groups


# --- the topic of offsets ---


@rule(
    id="offsets-topic-1-3.9",
    api="OffsetCommit",
    says="The offsets of one commit are written as one batch of records, in an order that the request does not tell.",
    source=f"{STORED}.storeOffsets",
    versions="6-9",
    topics=(),
    until="3.9",
)
async def offsets_topic_1(world: World) -> None:
    group, client = world.group(), await world.client()
    read = await reader(world, group)
    name = await created(client, 3)
    await client.commit(group, {(name, 0): 5, (name, 2): (7, "meta"), (name, 1): (9, None)}, epoch=3)
    await client.commit(group, {(name, 0): 6})
    first, second = await read.read()
    assert sorted(first, key=lambda row: row[0].partition) == [
        (offset(group, name, 0), at(5, epoch=3)),
        (offset(group, name, 1), at(9, epoch=3)),
        (offset(group, name, 2), at(7, "meta", epoch=3)),
    ]
    assert second == [(offset(group, name, 0), at(6))]


@rule(
    id="offsets-topic-1b-3.9",
    api="OffsetCommit",
    says="No producer is named in what is written of groups; the number of its first record is 0 for offsets, else -1.",
    source=f"{STORED}.storeOffsets, storeGroup",
    versions="2-9",
    topics=("t",),
    cost=3.2,
    until="3.9",
)
async def offsets_topic_1b(world: World) -> None:
    read = await reader(world, world.group())
    member = await world.stable1(read.group)
    assert len(await read.read()) == 1
    assert read.sequences == {-1}
    assert await member.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    assert len(await read.read()) == 1
    assert read.sequences == {-1, 0}


@rule(
    id="offsets-topic-4-3.9",
    api="JoinGroup",
    says="Nothing is written of a group until its leader has assigned.",
    source=f"{STORED}.storeGroup",
    versions="4-9",
    topics=("t",),
    cost=3.2,
    until="3.9",
)
async def offsets_topic_4(world: World) -> None:
    read = await reader(world, world.group())
    member = await world.member(read.group)
    await member.start_join()
    await member.finish_join()
    assert await read.read() == []
    answer = await (await member.sync({member.id: b"yours"})).answer()
    assert answer.error_code == ErrorCode.NONE
    ((_, value),) = (await read.read())[0]
    assert (value.generation, value.leader, len(value.members)) == (1, member.id, 1)


@rule(
    id="offsets-topic-11b-3.9",
    api="DeleteGroups",
    says="Of a group that never had members nothing is written but its offsets, also when it is deleted.",
    source=f"KIP-229; {STORED}.cleanupGroupMetadata",
    versions="0-2",
    topics=(),
    until="3.9",
)
async def offsets_topic_11b(world: World) -> None:
    await assert_deleted(world, world.group())
