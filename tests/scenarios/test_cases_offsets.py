"""Cases from the field: what becomes of commits around a rebalance, and what fetching them gives.

Kinds: D commits in a rebalance, I foreign metadata, M commits without membership, N what a commit carries, P what a
fetch asks for. The letters and numbers only name the cases.
"""

import struct
from uuid import UUID

import pytest
import trio

from tests.scenarios.harness import Client, Member, World, sub
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

NONE = (-1, -1, "")
COMMIT = range(2, 10)
FETCH_ALL = range(2, 10)
FETCH = range(1, 10)


async def rejoined(*members: Member) -> None:
    """Let everybody join again, and sync, the leader first."""
    for member in members:
        if member.call is None or member.call.response is not None:
            await member.start_join()
    for member in members:
        await member.finish_join()
    listed = {one: b"for " + one.encode() for member in members for one in member.listed}
    calls = [await member.sync(listed if member.leads else None) for member in members]
    for call in calls:
        assert (await call.answer()).error_code == ErrorCode.NONE


async def delete_offsets(client: Client, group: str, *places: tuple[str, int]) -> dict[tuple[str, int], ErrorCode]:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
            for name, index in places
        ],
    )
    response = await client.call(request)
    assert response.error_code == ErrorCode.NONE
    return {
        (topic.name, one.partition_index): ErrorCode(one.error_code)
        for topic in response.topics
        for one in topic.partitions
    }


# --- D: commits around a rebalance ---


async def test_d2_what_is_committed_before_joining_again_counts(world: World):
    """Three members come one after another, and whoever is there commits once more before it joins again."""
    members = [await world.stable1(world.group())]
    group = members[0].group
    for offset in (10, 20):
        newcomer = await world.member(group)
        await newcomer.start_join()
        assert newcomer.call is not None
        assert await newcomer.call.parked()
        for number, member in enumerate(members):
            assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
            assert await member.commit({("t", number): offset}) == {("t", number): ErrorCode.NONE}
        members.append(newcomer)
        await rejoined(*members)
    assert {member.generation for member in members} == {3}
    assert await newcomer.client.fetch(group) == {("t", 0): (20, -1, ""), ("t", 1): (20, -1, "")}


async def test_d4_no_commit_waits_behind_a_join(world: World):
    """While a join is held for 8 s, commits of a member and of another group are answered, each at once."""
    soon = 0.1 if world.external is None else 30
    member = await world.stable1(world.group())
    newcomer = await world.member(member.group)
    held = await newcomer.start_join()
    outsider, other = await world.client(), world.group()
    end = trio.current_time() + 8
    offset = 0
    while trio.current_time() < end:
        offset += 1
        with trio.fail_after(soon):
            assert await member.commit({("t", 0): offset}) == {("t", 0): ErrorCode.NONE}
        with trio.fail_after(soon):
            refused = await outsider.commit(member.group, {("t", 0): 999})
        assert refused == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
        with trio.fail_after(soon):
            assert await outsider.commit(other, {("t", 0): offset}) == {("t", 0): ErrorCode.NONE}
        await trio.sleep(0.1)
    assert offset > 20
    assert held.response is None
    await rejoined(member, newcomer)
    assert {member.generation, newcomer.generation} == {2}
    for group in (member.group, other):
        assert await outsider.fetch(group) == {("t", 0): (offset, -1, "")}


async def test_d6_a_late_commit_of_the_old_owner_is_refused(world: World):
    old = await world.stable1(world.group())
    assert await old.commit({("t", 0): 10}) == {("t", 0): ErrorCode.NONE}
    before = old.generation
    new = await world.member(old.group)
    await new.start_join()
    await rejoined(old, new)
    assert await new.commit({("t", 0): 20}) == {("t", 0): ErrorCode.NONE}
    assert await old.commit({("t", 0): 11}, generation=before) == {("t", 0): ErrorCode.ILLEGAL_GENERATION}
    assert await new.client.fetch(old.group) == {("t", 0): (20, -1, "")}
    await old.client.leave(old.group, old.id)
    assert await old.commit({("t", 0): 12}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await old.commit({("t", 0): 13}, generation=before) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await new.client.fetch(old.group) == {("t", 0): (20, -1, "")}


async def test_d6_commits_are_applied_in_the_order_in_which_they_came(world: World):
    member = await world.stable1(world.group())
    calls = []
    for offset in range(100):
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
        request = OffsetCommitRequest(
            group_id=member.group,
            generation_id_or_member_epoch=member.generation,
            member_id=member.id,
            topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)],
        )
        calls.append(await member.client.send(request, 9))
        if offset % 10 == 9:
            topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
            question = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=member.group, topics=topics)])
            calls.append(await member.client.send(question, 9))
    answers = [await call.answer() for call in calls]
    seen = [answer.groups[0].topics[0].partitions[0].committed_offset for answer in answers[10::11]]
    assert seen == list(range(9, 100, 10))


# --- I: metadata that others write ---

V1_WITHOUT_OWNED = struct.pack(">hi", 1, 1) + b"\x00\x01t" + struct.pack(">i", -1)
UNREADABLE = {
    "cut short": sub("t", "u")[:9],
    "version 1, cut short": V1_WITHOUT_OWNED[:-4],
    "random": b"\x9f\x03\xd1",
    "empty": b"",
}


@pytest.mark.parametrize("metadata", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_i2_metadata_that_nobody_can_read(world: World, metadata: bytes):
    """The member is taken all the same, and counts as consuming everything."""
    member = await world.stable1(world.group(), protocols=[("range", metadata)])
    (described,) = (await member.client.describe(member.group)).members
    assert described.member_metadata == metadata
    assert described.member_assignment == member.assignment
    await member.commit({("t", 0): 1, ("u", 0): 2})
    assert await delete_offsets(member.client, member.group, ("t", 0), ("u", 0)) == {
        ("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("u", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
    assert set(await member.client.fetch(member.group)) == {("t", 0), ("u", 0)}


async def test_i2_metadata_that_lacks_what_its_version_has(world: World):
    """The topics can be read, and no more is needed."""
    member = await world.stable1(world.group(), protocols=[("range", V1_WITHOUT_OWNED)])
    await member.commit({("t", 0): 1, ("u", 0): 2})
    assert await delete_offsets(member.client, member.group, ("t", 0), ("u", 0)) == {
        ("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("u", 0): ErrorCode.NONE,
    }
    assert set(await member.client.fetch(member.group)) == {("t", 0)}


@pytest.mark.parametrize("user_data", [-1, 0], ids=["null", "empty"])
async def test_i4_an_assignment_comes_as_it_was_sent(world: World, user_data: int):
    assignment = struct.pack(">hi", 0, 1) + b"\x00\x01t" + struct.pack(">iii", 1, 0, user_data)
    (member,) = await world.completing(world.group(), None)
    answer = await (await member.sync({member.id: assignment})).answer()
    assert answer.assignment == assignment
    (described,) = (await member.client.describe(member.group)).members
    assert described.member_assignment == assignment


# --- M: commits without membership ---


@pytest.mark.parametrize("version", [2, 5, 7, 9])
async def test_m1_simple_commits_before_while_and_after_a_member_is_in(world: World, version: int):
    client, group = await world.client(), world.group()
    assert await client.commit(group, {("t", 0): 1}, version=version) == {("t", 0): ErrorCode.NONE}
    listed = (await client.list())[group]
    assert (listed.group_state, listed.protocol_type) == ("Empty", "")
    member = await world.stable1(group)
    refused = await client.commit(group, {("t", 0): 2}, version=version)
    assert refused == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await client.fetch(group) == {("t", 0): (1, -1, "")}
    await client.leave(group, member.id)
    assert await client.commit(group, {("t", 0): 3}, version=version) == {("t", 0): ErrorCode.NONE}
    assert await client.fetch(group) == {("t", 0): (3, -1, "")}
    listed = (await client.list())[group]
    assert (listed.group_state, listed.protocol_type) == ("Empty", "consumer")


async def test_m1_while_members_gather_and_wait_for_their_assignment(world: World):
    client, group = await world.client(), world.group()
    member = await world.member(group)
    call = await member.start_join()
    assert await call.parked()
    assert await client.commit(group, {("t", 0): 1}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    await member.finish_join()
    assert await client.commit(group, {("t", 0): 1}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await client.fetch(group) == {}


async def test_m3_a_tool_cannot_commit_for_a_group_in_use(world: World):
    leader, follower = await world.stable2(world.group())
    await leader.commit({("t", 0): 5})
    tool = await world.client("tool")
    answer = await tool.commit(leader.group, {("t", 0): 0, ("t", 1): 0, ("u", 0): 0})
    assert set(answer.values()) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert await tool.fetch(leader.group) == {("t", 0): (5, -1, "")}
    for member in (leader, follower):
        assert await member.heartbeat() is ErrorCode.NONE
    assert (await tool.describe(leader.group)).group_state == "Stable"


async def test_m5_a_group_is_there_from_its_first_commit_on(world: World):
    client, group = await world.client(), world.group()
    assert await client.fetch(group, {"t": [0, 1, 2]}) == {("t", index): NONE for index in range(3)}
    assert group not in await client.list()
    await client.commit(group, {("t", 1): 9})
    listed = (await client.list(states=("Empty",)))[group]
    assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")
    described = await client.describe(group)
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "", [])
    assert await client.fetch(group) == {("t", 1): (9, -1, "")}


# --- N: what a commit may carry ---


@pytest.mark.parametrize("version", COMMIT)
async def test_n2_metadata_is_never_null(world: World, version: int):
    client, group = await world.client(), world.group()
    offsets = {("t", 0): (1, None), ("t", 1): (2, ""), ("t", 2): (3, "m")}
    assert set((await client.commit(group, offsets, version=version)).values()) == {ErrorCode.NONE}
    expected = {("t", 0): (1, -1, ""), ("t", 1): (2, -1, ""), ("t", 2): (3, -1, "m")}
    for fetched_with in FETCH:
        assert await client.fetch(group, {"t": [0, 1, 2]}, version=fetched_with) == expected
    (topic_id,) = await client.topic_ids("t")
    topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 1, 2])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
    (topic,) = (await client.call(request, 10)).groups[0].topics
    assert [one.metadata for one in topic.partitions] == ["", "", "m"]


@pytest.mark.parametrize("version", COMMIT)
async def test_n4_a_simple_commit_for_an_unknown_topic(world: World, version: int):
    client, group = await world.client(), world.group()
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await client.commit(group, {("nope", 0): 1}, version=version) == {("nope", 0): unknown}
    assert group not in await client.list()
    answer = await client.commit(group, {("nope", 0): 1, ("t", 0): 2}, version=version)
    assert answer == {("nope", 0): unknown, ("t", 0): ErrorCode.NONE}
    assert await client.fetch(group) == {("t", 0): (2, -1, "")}


async def test_n4_a_members_commit_for_an_unknown_topic(world: World):
    member = await world.stable1(world.group())
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for version in COMMIT:
        assert await member.commit({("nope", 0): 1}, version=version) == {("nope", 0): unknown}
        answer = await member.commit({("nope", 0): 1, ("t", 0): version, ("t", 3): 1}, version=version)
        assert answer == {("nope", 0): unknown, ("t", 0): ErrorCode.NONE, ("t", 3): unknown}
        assert await member.client.fetch(member.group) == {("t", 0): (version, -1, "")}


# --- P: what a fetch may ask for ---


async def test_p2_all_topics_in_every_version(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): (1, "a"), ("t", 2): (2, "b"), ("u", 1): (3, "")})
    expected = {("t", 0): (1, "a"), ("t", 2): (2, "b"), ("u", 1): (3, "")}
    for version in FETCH_ALL:
        fetched = await client.fetch(group, None, version=version)
        assert {place: (offset, metadata) for place, (offset, _, metadata) in fetched.items()} == expected, version
        assert await client.fetch(world.group(), None, version=version) == {}
    names: dict[UUID, str] = dict(zip(await client.topic_ids("t", "u"), ("t", "u"), strict=True))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    (answer,) = (await client.call(request, 10)).groups
    fetched = {
        (names[topic.topic_id], one.partition_index): (one.committed_offset, one.metadata)
        for topic in answer.topics
        for one in topic.partitions
    }
    assert fetched == expected


@pytest.mark.parametrize("version", FETCH)
async def test_p4_nothing_and_everything_are_not_mixed_up(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1, ("u", 0): 2})
    assert await client.fetch(group, {}, version=version) == {}
    assert await client.fetch(group, {"t": []}, version=version) == {}
    assert await client.fetch(group, {"t": [99, -1, 0]}, version=version) == {
        ("t", 99): NONE,
        ("t", -1): NONE,
        ("t", 0): (1, -1, ""),
    }
    if version >= 2:
        assert set(await client.fetch(group, None, version=version)) == {("t", 0), ("u", 0)}


@pytest.mark.parametrize("version", FETCH)
async def test_p4_a_topic_without_partitions_is_in_the_answer(world: World, version: int):
    client, group = await world.client(), world.group()
    if version >= 8:
        topics = [OffsetFetchRequestTopics(name="t")]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
        answer = (await client.call(request, version)).groups[0]
    else:
        request = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(name="t")])
        answer = await client.call(request, version)
    assert [(topic.name, topic.partitions) for topic in answer.topics] == [("t", [])]
