"""Offsets in the field: commits around a rebalance, metadata that others write, and what comes back of both."""

import struct
from uuid import UUID

import trio

from kcoord.check.commits import NAMED, part
from kcoord.check.member import Member
from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.rules.deleting_offsets import delete
from kcoord.check.steps import Stopwatch
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

GONE = (-1, -1, "")
FETCHED = range(1, 10)
"""The versions of OffsetFetch that name topics."""
CHECKED = "Apache Kafka ClassicGroup.validateOffsetCommit"
FILTERED = "Apache Kafka KafkaApis.handleOffsetCommitRequest"
STORED = "Apache Kafka OffsetAndMetadata.fromRequest"
READ = "Apache Kafka ClassicGroup.computeSubscribedTopics"
ASKED = "Apache Kafka OffsetMetadataManager.fetchOffsets"
ALL_ASKED = "Apache Kafka OffsetMetadataManager.fetchAllOffsets"


async def rejoined(*members: Member) -> None:
    """Let everybody join again who does not wait already, and sync."""
    for member in members:
        if member.call is None or member.call.response is not None:
            await member.start_join()
    for member in members:
        await member.finish_join()
    listed = {one: b"for " + one.encode() for member in members for one in member.listed}
    calls = [await member.sync(listed if member.leads else None) for member in members]
    for call in calls:
        assert (await call.answer()).error_code == ErrorCode.NONE


# --- commits around a rebalance ---


@rule(
    id="offsets-1",
    api="OffsetCommit",
    says="What members commit when they are told of a rebalance, before they join again, is what the next fetch gives.",
    source=f"{CHECKED}: PreparingRebalance",
    versions="2-9",
    cost=3.7,
)
async def offsets_1(world: World) -> None:
    members = [await world.stable1(world.group())]
    group = members[0].group
    # Three come one after another, and whoever is there commits once more before it joins again.
    for offset in (10, 20):
        newcomer = await world.member(group)
        call = await newcomer.start_join()
        assert await call.parked()
        for number, member in enumerate(members):
            assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
            assert await member.commit({(world.t, number): offset}) == {(world.t, number): ErrorCode.NONE}
        members.append(newcomer)
        await rejoined(*members)
    assert {member.generation for member in members} == {3}
    fetched = await members[-1].client.fetch(group)
    assert fetched == {(world.t, 0): (20, -1, ""), (world.t, 1): (20, -1, "")}


@rule(
    id="offsets-2",
    api="OffsetCommit",
    says="While a JoinGroup is held, commits of members, of strangers and for other groups are answered at once.",
    source="Apache Kafka GroupMetadataManager.maybeCompleteJoinPhase: nobody waits but who joins",
    versions="2-9",
    cost=11.5,
    varies="how many commits fit into the time",
)
async def offsets_2(world: World) -> None:
    member = await world.stable1(world.group())
    newcomer = await world.member(member.group)
    held = await newcomer.start_join()
    outsider, other = await world.client(), world.group()
    end = trio.current_time() + 8
    offset = 0
    while trio.current_time() < end or offset <= 20:
        offset += 1
        watch = Stopwatch(world)
        assert await member.commit({(world.t, 0): offset}) == {(world.t, 0): ErrorCode.NONE}
        assert watch.shows(0)
        watch = Stopwatch(world)
        refused = await outsider.commit(member.group, {(world.t, 0): 999})
        assert refused == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
        assert watch.shows(0)
        watch = Stopwatch(world)
        assert await outsider.commit(other, {(world.t, 0): offset}) == {(world.t, 0): ErrorCode.NONE}
        assert watch.shows(0)
        await trio.sleep(0.1)
    assert await held.parked()
    await rejoined(member, newcomer)
    assert {member.generation, newcomer.generation} == {2}
    for group in (member.group, other):
        assert await outsider.fetch(group) == {(world.t, 0): (offset, -1, "")}


@rule(
    id="offsets-3",
    api="OffsetCommit",
    says="A commit that comes late, with the generation before a rebalance, does not replace the new owner's.",
    source=CHECKED,
    versions="2-9",
    cost=3.1,
)
async def offsets_3(world: World) -> None:
    old = await world.stable1(world.group())
    assert await old.commit({(world.t, 0): 10}) == {(world.t, 0): ErrorCode.NONE}
    before = old.generation
    new = await world.member(old.group)
    await new.start_join()
    await rejoined(old, new)
    assert await new.commit({(world.t, 0): 20}) == {(world.t, 0): ErrorCode.NONE}
    assert await old.commit({(world.t, 0): 11}, generation=before) == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}
    assert await new.client.fetch(old.group) == {(world.t, 0): (20, -1, "")}
    await old.client.leave(old.group, old.id)
    assert await old.commit({(world.t, 0): 12}) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await old.commit({(world.t, 0): 13}, generation=before) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await new.client.fetch(old.group) == {(world.t, 0): (20, -1, "")}


@rule(
    id="offsets-4",
    api="OffsetCommit",
    says="What is sent on one connection is applied in that order, though nobody waits for the answers in between.",
    source="Apache Kafka SocketServer: one request of a connection at a time",
    versions="2-9",
    cost=3.2,
)
async def offsets_4(world: World) -> None:
    member = await world.stable1(world.group())
    client = member.client
    commit_version = client.newest(OffsetCommitRequest, 9)
    fetch_version = world.offered(OffsetFetchRequest, (8, 9))[-1]
    topics = [OffsetFetchRequestTopics(name=world.t, partition_indexes=[0])]
    question = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=member.group, topics=topics)])
    calls = []
    for offset in range(100):
        request = OffsetCommitRequest(
            group_id=member.group,
            generation_id_or_member_epoch=member.generation,
            member_id=member.id,
            topics=[OffsetCommitRequestTopic(name=world.t, partitions=[part(0, offset)])],
        )
        calls.append(await client.send(request, commit_version))
        if offset % 10 == 9:
            calls.append(await client.send(question, fetch_version))
    answers = [await call.answer() for call in calls]
    seen = [answer.groups[0].topics[0].partitions[0].committed_offset for answer in answers[10::11]]
    assert seen == list(range(9, 100, 10))


# --- metadata and assignments that others write ---


def without_owned(topic: str) -> bytes:
    """Return a subscription of version 1 to one topic, in which the owned partitions of that version are missing."""
    name = topic.encode()
    return struct.pack(">hih", 1, 1, len(name)) + name + struct.pack(">i", -1)


def unreadable(world: World) -> dict[str, bytes]:
    """Return subscriptions in which no topics can be read."""
    return {
        "cut short": sub(world.t, world.u)[: 8 + len(world.t)],
        "version 1, cut short": without_owned(world.t)[:-4],
        "random": b"\x9f\x03\xd1",
        "empty": b"",
    }


@rule(
    id="offsets-5",
    api="OffsetDelete",
    says="A member whose metadata nobody can read is taken, with that metadata, and counts as reading every topic.",
    source=f"KIP-496; {READ}",
    versions="0",
    cost=3.1,
    each={"metadata": ("cut short", "version 1, cut short", "random", "empty")},
)
async def offsets_5(world: World, metadata: str) -> None:
    sent = unreadable(world)[metadata]
    member = await world.stable1(world.group(), protocols=[("range", sent)])
    client, group = member.client, member.group
    (described,) = (await client.describe(group)).members
    assert described.member_metadata == sent
    assert described.member_assignment == member.assignment
    places = [(world.t, 0), (world.u, 0)]
    assert await member.commit({(world.t, 0): 1, (world.u, 0): 2}) == dict.fromkeys(places, ErrorCode.NONE)
    answer = await delete(client, group, {world.t: [0], world.u: [0]})
    assert answer == dict.fromkeys(places, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
    assert set(await client.fetch(group)) == set(places)


@rule(
    id="offsets-6",
    api="OffsetDelete",
    says="Of metadata that lacks what its version has, the topics can be read, and no more is needed.",
    source=f"KIP-496; {READ}; ConsumerProtocol.deserializeConsumerProtocolSubscription",
    versions="0",
    cost=3.1,
)
async def offsets_6(world: World) -> None:
    member = await world.stable1(world.group(), protocols=[("range", without_owned(world.t))])
    answer = await member.commit({(world.t, 0): 1, (world.u, 0): 2})
    assert answer == {(world.t, 0): ErrorCode.NONE, (world.u, 0): ErrorCode.NONE}
    answer = await delete(member.client, member.group, {world.t: [0], world.u: [0]})
    assert answer == {(world.t, 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, (world.u, 0): ErrorCode.NONE}
    assert set(await member.client.fetch(member.group)) == {(world.t, 0)}


@rule(
    id="offsets-7",
    api="SyncGroup",
    says="An assignment comes, and is described, byte by byte as it was sent, whether its user data is null or empty.",
    source="Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup: assignments are not looked at",
    versions="0-5",
    cost=3.1,
    each={"user_data": (-1, 0)},
)
async def offsets_7(world: World, user_data: int) -> None:
    name = world.t.encode()
    assignment = struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(">iii", 1, 0, user_data)
    (member,) = await world.completing(world.group(), None)
    answer = await (await member.sync({member.id: assignment})).answer()
    assert answer.error_code == ErrorCode.NONE
    assert answer.assignment == assignment
    (described,) = (await member.client.describe(member.group)).members
    assert described.member_assignment == assignment


# --- what a commit may carry ---


@rule(
    id="offsets-8",
    api="OffsetFetch",
    says="The metadata of an offset is never null, whether null, nothing or something was committed.",
    source=STORED,
    versions="1-9",
)
async def offsets_8(world: World) -> None:
    client, t = await world.client(), world.t
    for version in world.offered(OffsetCommitRequest, NAMED):
        group = world.group()
        offsets = {(t, 0): (1, None), (t, 1): (2, ""), (t, 2): (3, "m")}
        answer = await client.commit(group, offsets, version=version)
        assert answer == dict.fromkeys(offsets, ErrorCode.NONE)
        for fetched_with in world.offered(OffsetFetchRequest, FETCHED):
            fetched = await client.fetch(group, {t: [0, 1, 2]}, version=fetched_with)
            assert fetched == {(t, 0): (1, -1, ""), (t, 1): (2, -1, ""), (t, 2): (3, -1, "m")}


@rule(
    id="offsets-8b",
    api="OffsetFetch",
    says="The metadata of an offset is never null for who asks by the topic's id, either.",
    source=f"KIP-516; {STORED}",
    versions="10",
)
async def offsets_8b(world: World) -> None:
    client, t = await world.client(), world.t
    (topic_id,) = await client.topic_ids(t)
    for version in world.offered(OffsetCommitRequest, NAMED):
        group = world.group()
        offsets = {(t, 0): (1, None), (t, 1): (2, ""), (t, 2): (3, "m")}
        answer = await client.commit(group, offsets, version=version)
        assert answer == dict.fromkeys(offsets, ErrorCode.NONE)
        topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 1, 2])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
        (topic,) = (await client.call(request, 10)).groups[0].topics
        assert [one.metadata for one in topic.partitions] == ["", "", "m"]


@rule(
    id="offsets-9",
    api="OffsetCommit",
    says="A commit from outside for unknown topics only makes no group; one that has a known topic, too, does.",
    source=FILTERED,
    versions="2-9",
)
async def offsets_9(world: World) -> None:
    client, nope = await world.client(), world.topic("nope")
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for version in world.offered(OffsetCommitRequest, NAMED):
        group = world.group()
        assert await client.commit(group, {(nope, 0): 1}, version=version) == {(nope, 0): unknown}
        assert group not in await client.list()
        answer = await client.commit(group, {(nope, 0): 1, (world.t, 0): 2}, version=version)
        assert answer == {(nope, 0): unknown, (world.t, 0): ErrorCode.NONE}
        assert await client.fetch(group) == {(world.t, 0): (2, -1, "")}
        assert group in await client.list()


@rule(
    id="offsets-10",
    api="OffsetCommit",
    says="Of a member's commit what exists is committed, and unknown topics and partitions are refused one by one.",
    source=FILTERED,
    versions="2-9",
    cost=3.2,
)
async def offsets_10(world: World) -> None:
    member = await world.stable1(world.group())
    nope, unknown = world.topic("nope"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for version in world.offered(OffsetCommitRequest, NAMED):
        assert await member.commit({(nope, 0): 1}, version=version) == {(nope, 0): unknown}
        answer = await member.commit({(nope, 0): 1, (world.t, 0): version, (world.t, 3): 1}, version=version)
        assert answer == {(nope, 0): unknown, (world.t, 0): ErrorCode.NONE, (world.t, 3): unknown}
        assert await member.client.fetch(member.group) == {(world.t, 0): (version, -1, "")}


# --- what a fetch may ask for ---


@rule(
    id="offsets-11",
    api="OffsetFetch",
    says="Who names no topics is given all offsets of the group, and none of a group that does not exist.",
    source=ALL_ASKED,
    versions="2-9",
)
async def offsets_11(world: World) -> None:
    client, group = await world.client(), world.group()
    committed = {(world.t, 0): (1, "a"), (world.t, 2): (2, "b"), (world.u, 1): (3, "")}
    assert await client.commit(group, committed) == dict.fromkeys(committed, ErrorCode.NONE)
    for version in world.offered(OffsetFetchRequest, range(2, 10)):
        fetched = await client.fetch(group, None, version=version)
        assert {place: (offset, metadata) for place, (offset, _, metadata) in fetched.items()} == committed
        assert await client.fetch(world.group(), None, version=version) == {}


@rule(
    id="offsets-11b",
    api="OffsetFetch",
    says="Who names no topics is given all offsets of the group by the topics' ids.",
    source=f"KIP-516; {ALL_ASKED}",
    versions="10",
)
async def offsets_11b(world: World) -> None:
    client, group = await world.client(), world.group()
    committed = {(world.t, 0): (1, "a"), (world.t, 2): (2, "b"), (world.u, 1): (3, "")}
    assert await client.commit(group, committed) == dict.fromkeys(committed, ErrorCode.NONE)
    ids = await client.topic_ids(world.t, world.u)
    names: dict[UUID, str] = dict(zip(ids, (world.t, world.u), strict=True))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    (answer,) = (await client.call(request, 10)).groups
    fetched = {
        (names[topic.topic_id], one.partition_index): (one.committed_offset, one.metadata)
        for topic in answer.topics
        for one in topic.partitions
    }
    assert fetched == committed


@rule(
    id="offsets-12",
    api="OffsetFetch",
    says="Who asks for nothing is given nothing, and partitions that do not exist have no offset and no error.",
    source=ASKED,
    versions="1-9",
)
async def offsets_12(world: World) -> None:
    client, group = await world.client(), world.group()
    committed = {(world.t, 0): 1, (world.u, 0): 2}
    assert await client.commit(group, committed) == dict.fromkeys(committed, ErrorCode.NONE)
    for version in world.offered(OffsetFetchRequest, FETCHED):
        assert await client.fetch(group, {}, version=version) == {}
        assert await client.fetch(group, {world.t: []}, version=version) == {}
        fetched = await client.fetch(group, {world.t: [99, -1, 0]}, version=version)
        assert fetched == {(world.t, 99): GONE, (world.t, -1): GONE, (world.t, 0): (1, -1, "")}
        if version >= 2:
            assert set(await client.fetch(group, None, version=version)) == set(committed)


@rule(
    id="offsets-13",
    api="OffsetFetch",
    says="A topic of which no partitions are asked for is in the answer, without partitions.",
    source=ASKED,
    versions="1-9",
    since="4.0",
)
async def offsets_13(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(OffsetFetchRequest, FETCHED):
        if version >= 8:
            topics = [OffsetFetchRequestTopics(name=world.t)]
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
            answer = (await client.call(request, version)).groups[0]
        else:
            older = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(name=world.t)])
            answer = await client.call(older, version)
        assert [(topic.name, topic.partitions) for topic in answer.topics] == [(world.t, [])]
