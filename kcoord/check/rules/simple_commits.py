"""Commits from outside any membership, and what they make of a group."""

from kcoord.check.commits import NAMED, commit_listed, part
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

FOUND = "Apache Kafka OffsetMetadataManager.validateOffsetCommit"
CHECKED = "Apache Kafka ClassicGroup.validateOffsetCommit"


@rule(
    id="J2",
    api="OffsetCommit",
    says="A group that does not exist has no generation, and is not made by a commit that names one.",
    source=f"{FOUND}: before version 9",
    versions="2-8",
)
async def j2(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(OffsetCommitRequest, range(2, 9)):
        for generation in (0, 3):
            answer = await client.commit(group, {(world.t, 0): 1}, generation=generation, version=version)
            assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}
    assert group not in await client.list()


@rule(
    id="J2b",
    api="OffsetCommit",
    says="From version 9 on a commit that names a generation is told that the group does not exist.",
    source=f"KIP-848; {FOUND}",
    versions="9",
    since="4.0",
)
async def j2b(world: World) -> None:
    client, group = await world.client(), world.group()
    for generation in (0, 3):
        answer = await client.commit(group, {(world.t, 0): 1}, generation=generation, version=9)
        assert answer == {(world.t, 0): ErrorCode.GROUP_ID_NOT_FOUND}
    assert group not in await client.list()


@rule(
    id="J2c",
    api="OffsetCommit",
    says="With topic ids, too, a commit that names a generation is told that the group does not exist.",
    source=f"KIP-848; KIP-516; {FOUND}",
    versions="10",
)
async def j2c(world: World) -> None:
    client, group = await world.client(), world.group()
    (topic_id,) = await client.topic_ids(world.t)
    answer = await commit_listed(client, group, [(topic_id, [part(0, 1)])], 10, generation=3)
    assert answer == [(topic_id, [(0, ErrorCode.GROUP_ID_NOT_FOUND)])]
    assert group not in await client.list()


@rule(
    id="J3",
    api="OffsetCommit",
    says="A commit without a generation makes the group: empty, and of no protocol type.",
    source=f"{FOUND}: a simple group",
    versions="2-9",
)
async def j3(world: World) -> None:
    client = await world.client()
    for version in world.offered(OffsetCommitRequest, NAMED):
        group = world.group()
        assert await client.commit(group, {(world.t, 0): 7}, version=version) == {(world.t, 0): ErrorCode.NONE}
        assert await client.fetch(group) == {(world.t, 0): (7, -1, "")}
        listed = (await client.list(version=5))[group]
        assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")
        described = await client.describe(group)
        assert described.error_code == ErrorCode.NONE
        assert (described.group_state, described.protocol_type, described.protocol_data) == ("Empty", "", "")
        assert described.members == []


@rule(
    id="J4",
    api="OffsetCommit",
    says="A commit without a generation may claim any member id and any instance id while nobody is in the group.",
    source=f"{CHECKED}: Empty and no generation",
    versions="7-9",
)
async def j4(world: World) -> None:
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {(world.t, 0): 7}, member_id="m", instance="i")
    assert answer == {(world.t, 0): ErrorCode.NONE}
    answer = await client.commit(group, {(world.t, 0): 8}, member_id="n", instance="")
    assert answer == {(world.t, 0): ErrorCode.NONE}
    assert await client.fetch(group) == {(world.t, 0): (8, -1, "")}


@rule(
    id="J5",
    api="OffsetCommit",
    says="The empty group id is that of a group as any other.",
    source="Apache Kafka GroupCoordinatorService.commitOffsets: supported for backwards compatibility",
    versions="2-9",
    alone=True,
)
async def j5(world: World) -> None:
    group = await world.take_group("")
    client = await world.client()
    assert await client.commit(group, {(world.t, 0): 11}) == {(world.t, 0): ErrorCode.NONE}
    assert await client.fetch(group, {world.t: [0]}) == {(world.t, 0): (11, -1, "")}


@rule(
    id="J6",
    api="OffsetCommit",
    says="The group of the empty id has no generation if it does not exist.",
    source=f"{FOUND}: before version 9",
    versions="2-8",
    alone=True,
)
async def j6(world: World) -> None:
    group = await world.take_group("")
    client = await world.client()
    for version in world.offered(OffsetCommitRequest, range(2, 9)):
        answer = await client.commit(group, {(world.t, 0): 1}, generation=1, version=version)
        assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}


@rule(
    id="J6b",
    api="OffsetCommit",
    says="From version 9 on a commit that names a generation is told that the group of the empty id does not exist.",
    source=f"KIP-848; {FOUND}",
    versions="9",
    since="4.0",
    alone=True,
)
async def j6b(world: World) -> None:
    group = await world.take_group("")
    client = await world.client()
    answer = await client.commit(group, {(world.t, 0): 1}, generation=1, version=9)
    assert answer == {(world.t, 0): ErrorCode.GROUP_ID_NOT_FOUND}


@rule(
    id="J14",
    api="OffsetCommit",
    says="A group whose members have left takes commits without a generation, and no others.",
    source=CHECKED,
    versions="2-9",
    cost=3.1,
)
async def j14(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert await member.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await member.commit({(world.t, 0): 2}, generation=-1) == {(world.t, 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group) == {(world.t, 0): (2, -1, "")}
    assert await member.client.commit(member.group, {(world.t, 0): 3}) == {(world.t, 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group) == {(world.t, 0): (3, -1, "")}


@rule(
    id="J35b",
    api="OffsetCommit",
    says="Who was only handed out a member id commits to a group without members as anybody does.",
    source=f"KIP-394; {CHECKED}",
    versions="2-9",
)
async def j35b(world: World) -> None:
    client, group = await world.client(), world.group()
    pending = (await (await client.join(group)).answer()).member_id
    answer = await client.commit(group, {(world.t, 0): 1}, generation=0, member_id=pending)
    assert answer == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    answer = await client.commit(group, {(world.t, 0): 1}, member_id=pending)
    assert answer == {(world.t, 0): ErrorCode.NONE}


@rule(
    id="simple-commits-1",
    api="OffsetCommit",
    says="The offsets of a group are its own, also where one fetch asks for those of two.",
    source="KIP-709; Apache Kafka OffsetMetadataManager: offsets by group",
    versions="2-9",
)
async def simple_commits_1(world: World) -> None:
    client, one, other = await world.client(), world.group(), world.group()
    assert await client.commit(one, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    both = {(world.t, 0): 2, (world.t, 1): 3}
    assert await client.commit(other, both) == dict.fromkeys(both, ErrorCode.NONE)
    topics = [OffsetFetchRequestTopics(name=world.t, partition_indexes=[0, 1])]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=topics) for group in (one, other)]
    )
    answer = await client.call(request, world.offered(OffsetFetchRequest, (8, 9))[-1])
    assert [group.group_id for group in answer.groups] == [one, other]
    offsets = [[each.committed_offset for each in group.topics[0].partitions] for group in answer.groups]
    assert offsets == [[1, -1], [2, 3]]


# --- while members come and go ---


@rule(
    id="simple-commits-2",
    api="OffsetCommit",
    says="Commits from outside are taken before anybody has joined and after all have left, but not in between.",
    source=f"{FOUND}; {CHECKED}",
    versions="2-9",
    cost=3.2,
    each={"version": (2, 5, 7, 9)},
    also="S4",
)
async def simple_commits_2(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    assert await client.commit(group, {(world.t, 0): 1}, version=version) == {(world.t, 0): ErrorCode.NONE}
    listed = (await client.list(version=4))[group]
    assert (listed.group_state, listed.protocol_type) == ("Empty", "")
    member = await world.stable1(group)
    answer = await client.commit(group, {(world.t, 0): 2}, version=version)
    assert answer == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await client.fetch(group) == {(world.t, 0): (1, -1, "")}
    await client.leave(group, member.id)
    assert await client.commit(group, {(world.t, 0): 3}, version=version) == {(world.t, 0): ErrorCode.NONE}
    assert await client.fetch(group) == {(world.t, 0): (3, -1, "")}
    listed = (await client.list(version=4))[group]
    assert (listed.group_state, listed.protocol_type) == ("Empty", "consumer")


@rule(
    id="simple-commits-3",
    api="OffsetCommit",
    says="While members gather, or wait for their assignments, nobody commits from outside.",
    source=f"{CHECKED}: PreparingRebalance, CompletingRebalance",
    versions="2-9",
    cost=3.1,
)
async def simple_commits_3(world: World) -> None:
    client, group = await world.client(), world.waiting_group()
    member = await world.member(group)
    call = await member.start_join()
    assert await call.parked()
    assert await client.commit(group, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    await member.finish_join()
    assert await client.commit(group, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await client.fetch(group) == {}


@rule(
    id="simple-commits-4",
    api="OffsetCommit",
    says="A tool cannot reset the offsets of a group in use, and its members do not notice that it tried.",
    source=CHECKED,
    versions="2-9",
    cost=6.1,
    also="S8",
)
async def simple_commits_4(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    assert await leader.commit({(world.t, 0): 5}) == {(world.t, 0): ErrorCode.NONE}
    tool = await world.client("tool")
    places = [(world.t, 0), (world.t, 1), (world.u, 0)]
    answer = await tool.commit(leader.group, dict.fromkeys(places, 0))
    assert answer == dict.fromkeys(places, ErrorCode.UNKNOWN_MEMBER_ID)
    assert await tool.fetch(leader.group) == {(world.t, 0): (5, -1, "")}
    for member in (leader, follower):
        assert await member.heartbeat() is ErrorCode.NONE
    assert (await tool.describe(leader.group)).group_state == "Stable"


@rule(
    id="simple-commits-5",
    api="OffsetCommit",
    says="A group is there from its first commit on: to ask for its offsets does not make it.",
    source=f"{FOUND}; OffsetMetadataManager.fetchOffsets",
    versions="2-9",
    settings={"offset.metadata.max.bytes": 4_096},
)
async def simple_commits_5(world: World) -> None:
    client, group = await world.client(), world.group()
    fetched = await client.fetch(group, {world.t: [0, 1, 2]})
    assert fetched == {(world.t, index): (-1, -1, "") for index in range(3)}
    assert group not in await client.list()
    assert await client.commit(group, {(world.t, 1): 9}) == {(world.t, 1): ErrorCode.NONE}
    listed = (await client.list(states=("Empty",), version=5))[group]
    assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")
    described = await client.describe(group)
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "", [])
    assert await client.fetch(group) == {(world.t, 1): (9, -1, "")}


# --- commits of which nothing is stored ---


async def begun(world: World) -> str:
    """Return a new group after a commit to it that is refused for its metadata alone."""
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {(world.t, 0): (1, "x" * 4097)})
    assert answer == {(world.t, 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    return group


@rule(
    id="J40",
    api="OffsetCommit",
    says="A commit without a generation makes the group, also if its metadata is too long: there are no members then.",
    source=f"{FOUND}: the group is made before metadata is looked at",
    versions="2-9",
    since="4.0",
)
async def j40(world: World) -> None:
    client = await world.client()
    for version in world.offered(OffsetCommitRequest, (5, 8, 9)):
        group = await begun(world)
        answer = await client.commit(group, {(world.t, 0): 1}, generation=1, member_id="m", version=version)
        assert answer == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}


@rule(
    id="J41",
    api="OffsetCommit",
    says="A group to which nothing was committed, as all metadata was too long, has no offsets, and can be deleted.",
    source=f"{FOUND}; Apache Kafka GroupMetadataManager.createGroupTombstoneRecords",
    versions="2-9",
    since="4.0",
)
async def j41(world: World) -> None:
    client, group = await world.client(), await begun(world)
    assert await client.fetch(group) == {}
    assert (await client.call(OffsetDeleteRequest(group_id=group))).error_code == ErrorCode.NONE
    assert await client.delete(group) == {group: ErrorCode.NONE}
    assert await client.delete(group) == {group: ErrorCode.GROUP_ID_NOT_FOUND}
