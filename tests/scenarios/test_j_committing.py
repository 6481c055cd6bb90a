"""Section J: OffsetCommit."""

import struct
from uuid import UUID

import pytest
import trio

from tests.scenarios.harness import Client, Member, World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

NAMED = range(2, 10)
"""The versions that name topics; version 10 has their ids."""
NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
ZERO = UUID(int=0)
INT64_MAX = 2**63 - 1


def part(index: int, offset: int = 0, metadata: str | None = "") -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)


async def commit_listed(
    client: Client, group: str, *topics: tuple[str | UUID, list[OffsetCommitRequestPartition]], version: int = 9
) -> list[tuple[str | UUID, list[tuple[int, int]]]]:
    """A simple commit whose topics and partitions are listed as they are given; so is the answer."""
    response = await client.call(
        OffsetCommitRequest(
            group_id=group,
            topics=[
                OffsetCommitRequestTopic(topic_id=topic, partitions=parts)
                if isinstance(topic, UUID)
                else OffsetCommitRequestTopic(name=topic, partitions=parts)
                for topic, parts in topics
            ],
        ),
        version,
    )
    return [
        (
            topic.topic_id if version >= 10 else topic.name,
            [(one.partition_index, one.error_code) for one in topic.partitions],
        )
        for topic in response.topics
    ]


async def test_j1_a_member_commits(world: World):
    member = await world.stable1(world.group())
    for version in NAMED:
        offset = 5 + version
        assert await member.commit({("t", 0): offset}, version=version) == {("t", 0): ErrorCode.NONE}
        assert await member.client.fetch(member.group, {"t": [0]}) == {("t", 0): (offset, -1, "")}


async def test_j1_a_member_commits_by_topic_id(world: World):
    member = await world.stable1(world.group())
    (topic_id,) = await member.client.topic_ids("t")
    request = OffsetCommitRequest(
        group_id=member.group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.id,
        topics=[OffsetCommitRequestTopic(topic_id=topic_id, partitions=[part(0, 5)])],
    )
    (topic,) = (await member.client.call(request, 10)).topics
    assert topic.topic_id == topic_id
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [(0, ErrorCode.NONE)]
    assert await member.client.fetch(member.group) == {("t", 0): (5, -1, "")}


@pytest.mark.parametrize("version", NAMED)
@pytest.mark.parametrize("generation", [0, 3])
async def test_j2_an_unknown_group_has_no_generation(world: World, version: int, generation: int):
    client, group = await world.client(), world.group()
    error = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert await client.commit(group, {("t", 0): 1}, generation=generation, version=version) == {("t", 0): error}
    assert group not in await client.list()


async def test_j2_nor_has_it_one_by_topic_id(world: World):
    client, group = await world.client(), world.group()
    (topic_id,) = await client.topic_ids("t")
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=3,
        topics=[OffsetCommitRequestTopic(topic_id=topic_id, partitions=[part(0, 1)])],
    )
    (topic,) = (await client.call(request, 10)).topics
    assert topic.partitions[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", NAMED)
async def test_j3_a_simple_commit_makes_a_group(world: World, version: int):
    client, group = await world.client(), world.group()
    assert await client.commit(group, {("t", 0): 7}, version=version) == {("t", 0): ErrorCode.NONE}
    assert await client.fetch(group) == {("t", 0): (7, -1, "")}
    listed = (await client.list())[group]
    assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")
    described = await client.describe(group)
    assert described.error_code == ErrorCode.NONE
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Empty", "", "")
    assert described.members == []


async def test_j4_a_simple_commit_may_claim_any_identity(world: World):
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {("t", 0): 7}, member_id="m", instance="i")
    assert answer == {("t", 0): ErrorCode.NONE}
    assert await client.commit(group, {("t", 0): 8}, member_id="n", instance="") == {("t", 0): ErrorCode.NONE}
    assert await client.fetch(group) == {("t", 0): (8, -1, "")}


async def test_j5_the_empty_group_id_is_a_group_id(world: World):
    client = await world.client()
    assert await client.commit("", {("t", 0): 11}) == {("t", 0): ErrorCode.NONE}
    assert await client.fetch("", {"t": [0]}) == {("t", 0): (11, -1, "")}


async def test_j6_the_empty_group_has_no_generation(world: World):
    client = await world.client()
    # The group "" may be there already, with offsets: then it has no member to speak of.
    await client.delete("")
    for version in NAMED:
        error = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
        assert await client.commit("", {("t", 0): 1}, generation=1, version=version) == {("t", 0): error}


async def test_j7_j8_j9_j10_a_stable_group_takes_only_what_fits(world: World):
    member = await world.stable1(world.group())
    now, later = member.generation, member.generation + 1
    expected = {
        (-1, ""): ErrorCode.UNKNOWN_MEMBER_ID,
        (now, ""): ErrorCode.UNKNOWN_MEMBER_ID,
        (later, member.id): ErrorCode.ILLEGAL_GENERATION,
        (now - 1, member.id): ErrorCode.ILLEGAL_GENERATION,
        (-1, member.id): ErrorCode.ILLEGAL_GENERATION,
        (now, "stranger"): ErrorCode.UNKNOWN_MEMBER_ID,
        (later, "stranger"): ErrorCode.UNKNOWN_MEMBER_ID,
        (-1, "stranger"): ErrorCode.UNKNOWN_MEMBER_ID,
    }
    for version in (2, 5, 7, 9):
        for (generation, member_id), error in expected.items():
            answer = await member.commit(
                {("t", 0): 1, ("t", 1): 1}, generation=generation, member_id=member_id, version=version
            )
            assert answer == {("t", 0): error, ("t", 1): error}, (version, generation, member_id)
    assert await member.client.fetch(member.group) == {}


async def test_j11_j12_nothing_is_committed_before_the_assignment(world: World):
    (member,) = await world.completing(world.group(), None)
    expected = {
        (member.generation, member.id): ErrorCode.REBALANCE_IN_PROGRESS,
        (member.generation + 1, member.id): ErrorCode.ILLEGAL_GENERATION,
        (member.generation - 1, member.id): ErrorCode.ILLEGAL_GENERATION,
        (member.generation, "stranger"): ErrorCode.UNKNOWN_MEMBER_ID,
        (-1, ""): ErrorCode.UNKNOWN_MEMBER_ID,
    }
    for version in (2, 9):
        for (generation, member_id), error in expected.items():
            answer = await member.commit({("t", 0): 1}, generation=generation, member_id=member_id, version=version)
            assert answer == {("t", 0): error}, (version, generation, member_id)


async def test_j13_the_old_generation_may_commit_while_the_next_gathers(world: World):
    leader, follower, _third = await world.preparing(world.group())
    assert await leader.commit({("t", 0): 21}) == {("t", 0): ErrorCode.NONE}
    assert await follower.commit({("t", 1): 22}) == {("t", 1): ErrorCode.NONE}
    later = leader.generation + 1
    assert await leader.commit({("t", 0): 23}, generation=later) == {("t", 0): ErrorCode.ILLEGAL_GENERATION}
    assert await leader.client.fetch(leader.group) == {("t", 0): (21, -1, ""), ("t", 1): (22, -1, "")}


async def test_j14_a_group_that_was_left_takes_simple_commits_only(world: World):
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert await member.commit({("t", 0): 1}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await member.commit({("t", 0): 2}, generation=-1) == {("t", 0): ErrorCode.NONE}
    assert await member.client.commit(member.group, {("t", 0): 3}) == {("t", 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group) == {("t", 0): (3, -1, "")}


async def test_j15_static_members_are_told_apart_by_instance(world: World):
    leader, follower = await world.static2(world.group())
    assert await leader.commit({("t", 0): 1}) == {("t", 0): ErrorCode.NONE}
    fenced = await leader.commit({("t", 0): 2}, member_id=follower.id)
    assert fenced == {("t", 0): ErrorCode.FENCED_INSTANCE_ID}
    fenced = await leader.commit({("t", 0): 2}, member_id="stranger", generation=leader.generation + 1)
    assert fenced == {("t", 0): ErrorCode.FENCED_INSTANCE_ID}
    unknown = await leader.commit({("t", 0): 2}, instance="i3")
    assert unknown == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await leader.client.fetch(leader.group) == {("t", 0): (1, -1, "")}


@pytest.mark.parametrize("version", NAMED)
async def test_j16_unknown_topics_are_refused_one_by_one(world: World, version: int):
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {("nope", 0): 1, ("nope", 7): 1, ("t", 0): 2}, version=version)
    assert answer == {
        ("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nope", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 0): ErrorCode.NONE,
    }
    assert await client.fetch(group) == {("t", 0): (2, -1, "")}


async def test_j17_so_are_unknown_partitions(world: World):
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {("t", 99): 1, ("t", 0): 2, ("t", -1): 3, ("t", 3): 4})
    assert answer == {
        ("t", 99): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 0): ErrorCode.NONE,
        ("t", -1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 3): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert await client.fetch(group) == {("t", 0): (2, -1, "")}


async def test_j18_with_unknown_topics_only_the_group_is_not_asked(world: World):
    member = await world.stable1(world.group())
    answer = await member.commit({("nope", 0): 1, ("nope", 1): 1}, member_id="stranger", generation=99)
    assert set(answer.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(answer) == 2


async def test_j19_no_topics_no_answer(world: World):
    client, group = await world.client(), world.group()
    for version in NAMED:
        assert await client.commit(group, {}, generation=5, version=version) == {}
        assert await client.commit(group, {}, version=version) == {}
    assert group not in await client.list()


async def test_j20_errors_of_the_group_do_not_hide_unknown_topics(world: World):
    member = await world.stable1(world.group())
    answer = await member.commit({("t", 0): 1, ("nope", 0): 1}, generation=member.generation + 1)
    assert answer == {
        ("t", 0): ErrorCode.ILLEGAL_GENERATION,
        ("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


async def test_j21_metadata_may_have_4096_characters(world: World):
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {("t", 0): (1, "x" * 4096), ("t", 1): (2, "x" * 4097), ("t", 2): (3, "")})
    assert answer == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ("t", 2): ErrorCode.NONE,
    }
    assert await client.fetch(group) == {("t", 0): (1, -1, "x" * 4096), ("t", 2): (3, -1, "")}


async def test_j22_characters_are_counted_as_in_java(world: World):
    client, group = await world.client(), world.group()
    answer = await client.commit(
        group,
        {("t", 0): (1, "ü" * 4096), ("t", 1): (2, "😀" * 2048), ("t", 2): (3, "😀" * 2049)},
    )
    assert answer == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.NONE,
        ("t", 2): ErrorCode.OFFSET_METADATA_TOO_LARGE,
    }
    assert await client.fetch(group) == {("t", 0): (1, -1, "ü" * 4096), ("t", 1): (2, -1, "😀" * 2048)}


async def test_j21_what_is_too_long_leaves_the_old_offset(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): (1, "old")})
    answer = await client.commit(group, {("t", 0): (2, "x" * 5000)})
    assert answer == {("t", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert await client.fetch(group) == {("t", 0): (1, -1, "old")}


@pytest.mark.parametrize("version", NAMED)
async def test_j23_null_metadata_is_none(world: World, version: int):
    client, group = await world.client(), world.group()
    assert await client.commit(group, {("t", 0): (1, None)}, version=version) == {("t", 0): ErrorCode.NONE}
    for fetched_with in range(1, 10):
        assert await client.fetch(group, {"t": [0]}, version=fetched_with) == {("t", 0): (1, -1, "")}


async def test_j24_the_leader_epoch_comes_back(world: World):
    client, group = await world.client(), world.group()
    for version in range(6, 10):
        await client.commit(group, {("t", 0): version}, epoch=7, version=version)
        for fetched_with in range(1, 10):
            epoch = 7 if fetched_with >= 5 else -1
            fetched = await client.fetch(group, {"t": [0]}, version=fetched_with)
            assert fetched == {("t", 0): (version, epoch, "")}
    for version in range(2, 6):
        await client.commit(group, {("t", 1): version}, version=version)
        assert await client.fetch(group, {"t": [1]}) == {("t", 1): (version, -1, "")}


@pytest.mark.parametrize("offset", [-1, 0, INT64_MAX, -2, -(2**63)])
async def test_j25_any_offset_is_taken(world: World, offset: int):
    client, group = await world.client(), world.group()
    assert await client.commit(group, {("t", 0): offset}) == {("t", 0): ErrorCode.NONE}
    assert await client.fetch(group) == {("t", 0): (offset, -1, "")}


async def test_j26_the_last_of_two_wins(world: World):
    client, group = await world.client(), world.group()
    answer = await commit_listed(client, group, ("t", [part(0, 1), part(1, 5), part(0, 2)]))
    assert answer == [("t", [(0, 0), (1, 0), (0, 0)])]
    assert await client.fetch(group) == {("t", 0): (2, -1, ""), ("t", 1): (5, -1, "")}


async def test_j27_a_later_commit_replaces_all_of_the_earlier(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): (1, "first")}, epoch=3)
    await client.commit(group, {("t", 0): (2, "second")}, epoch=4)
    assert await client.fetch(group) == {("t", 0): (2, 4, "second")}
    await client.commit(group, {("t", 0): (3, "")})
    assert await client.fetch(group) == {("t", 0): (3, -1, "")}


async def test_j28_offsets_may_go_back(world: World):
    member = await world.stable1(world.group())
    await member.commit({("t", 0): 100})
    assert await member.commit({("t", 0): 1}) == {("t", 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group) == {("t", 0): (1, -1, "")}


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("retention", [-1, 3_600_000])
async def test_j29_old_versions_may_say_how_long(world: World, version: int, retention: int):
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {("t", 0): 1}, version=version, retention=retention)
    assert answer == {("t", 0): ErrorCode.NONE}
    assert await client.fetch(group) == {("t", 0): (1, -1, "")}


@pytest.mark.parametrize("version", [0, 1])
async def test_j31_j32_the_oldest_versions_are_gone(world: World, version: int):
    client = await world.client()
    membership = struct.pack(">ih", -1, 0) if version == 1 else b""
    await client.send_frame(struct.pack(">hhih", 8, version, 1, -1) + b"\x00\x01g" + membership + struct.pack(">i", 0))
    assert await client.is_closed()


async def test_j33_topics_by_id(world: World):
    client, group = await world.client(), world.group()
    known, other = await client.topic_ids("t", "u")
    answer = await commit_listed(
        client,
        group,
        (known, [part(0, 5)]),
        (NOBODY, [part(0), part(1)]),
        (ZERO, [part(0)]),
        (other, [part(9), part(1, 6)]),
        version=10,
    )
    unknown_id, unknown = ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # Entries with something refused come first.
    assert answer == [
        (NOBODY, [(0, unknown_id), (1, unknown_id)]),
        (ZERO, [(0, unknown_id)]),
        (other, [(9, unknown), (1, 0)]),
        (known, [(0, 0)]),
    ]
    assert await client.fetch(group) == {("t", 0): (5, -1, ""), ("u", 1): (6, -1, "")}


async def test_j33_with_unknown_ids_only_the_group_is_not_asked(world: World):
    client, group = await world.client(), world.group()
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=9,
        member_id="stranger",
        topics=[OffsetCommitRequestTopic(topic_id=NOBODY, partitions=[part(0)])],
    )
    (topic,) = (await client.call(request, 10)).topics
    assert topic.topic_id == NOBODY
    assert [one.error_code for one in topic.partitions] == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert group not in await client.list()


async def test_j34_the_type_of_the_group_plays_no_part(world: World):
    client, group = await world.client(), world.group()

    async def join(member_id: str):
        call = await client.join(group, member_id, protocol_type="connect", protocols=[("eager", b"\x01\x02")])
        return await call.answer()

    member_id = (await join("")).member_id
    joined = await join(member_id)
    assert joined.error_code == ErrorCode.NONE
    identity = {"generation": joined.generation_id, "member_id": member_id}
    assert await client.commit(group, {("t", 0): 1}, **identity) == {("t", 0): ErrorCode.REBALANCE_IN_PROGRESS}
    call = await client.sync(
        group, joined.generation_id, member_id, {member_id: b"x"}, protocol_type="connect", protocol_name="eager"
    )
    assert (await call.answer()).error_code == ErrorCode.NONE
    assert await client.commit(group, {("t", 0): 2}, **identity) == {("t", 0): ErrorCode.NONE}
    assert await client.commit(group, {("t", 0): 3}) == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await client.fetch(group) == {("t", 0): (2, -1, "")}


async def test_j35_an_id_that_was_only_handed_out_commits_nothing(world: World):
    member = await world.stable1(world.group())
    client = await world.client()
    pending = (await (await client.join(member.group)).answer()).member_id
    for generation in (member.generation, -1, 0):
        answer = await client.commit(member.group, {("t", 0): 1}, generation=generation, member_id=pending)
        assert answer == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}


async def test_j35_in_an_empty_group_it_does_as_anybody(world: World):
    client, group = await world.client(), world.group()
    pending = (await (await client.join(group)).answer()).member_id
    answer = await client.commit(group, {("t", 0): 1}, generation=0, member_id=pending)
    assert answer == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await client.commit(group, {("t", 0): 1}, member_id=pending) == {("t", 0): ErrorCode.NONE}


@pytest.mark.parametrize("version", [2, 6, 7, 9])
async def test_j36_a_static_member_may_leave_its_instance_out(world: World, version: int):
    leader, _follower = await world.static2(world.group())
    answer = await leader.commit({("t", 0): version}, instance=None, version=version)
    assert answer == {("t", 0): ErrorCode.NONE}
    assert await leader.client.fetch(leader.group) == {("t", 0): (version, -1, "")}


async def test_j37_a_thousand_partitions_at_once(world: World):
    client, group = await world.client(), world.group()
    offsets = {("wide", index): 10_000 + index for index in range(1000)}
    assert await client.commit(group, offsets) == dict.fromkeys(offsets, ErrorCode.NONE)
    assert await client.fetch(group) == {place: (offset, -1, "") for place, offset in offsets.items()}


async def test_the_order_of_the_answer(world: World):
    """Entries with something refused come first, and within them what was refused."""
    client, group = await world.client(), world.group()
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = await commit_listed(
        client,
        group,
        ("u", [part(0), part(1)]),
        ("nope", [part(0)]),
        ("t", [part(2), part(9), part(0), part(-1)]),
        ("wide", [part(0)]),
        ("nope-either", [part(1)]),
    )
    assert answer == [
        ("nope", [(0, unknown)]),
        ("t", [(9, unknown), (-1, unknown), (2, 0), (0, 0)]),
        ("nope-either", [(1, unknown)]),
        ("u", [(0, 0), (1, 0)]),
        ("wide", [(0, 0)]),
    ]


async def test_a_topic_without_partitions(world: World):
    """A known one is left out of the answer, an unknown one is in it; the group is not asked."""
    client, group = await world.client(), world.group()
    assert await commit_listed(client, group, ("t", []), ("nope", [])) == [("nope", [])]
    assert group not in await client.list()
    assert await commit_listed(client, group, ("t", []), ("u", [part(0)])) == [("u", [(0, 0)])]
    (topic_id,) = await client.topic_ids("t")
    answer = await commit_listed(client, group, (topic_id, []), (NOBODY, []), (ZERO, []), version=10)
    assert answer == [(NOBODY, []), (ZERO, [])]


async def test_a_topic_that_is_named_twice(world: World):
    """It has an entry for each time, unless something is refused: entries are merged then."""
    client, group = await world.client(), world.group()
    twice = await commit_listed(client, group, ("t", [part(0, 1)]), ("u", [part(0)]), ("t", [part(1, 2), part(0, 3)]))
    assert twice == [("t", [(0, 0)]), ("u", [(0, 0)]), ("t", [(1, 0), (0, 0)])]
    assert await client.fetch(group, {"t": [0, 1]}) == {("t", 0): (3, -1, ""), ("t", 1): (2, -1, "")}
    merged = await commit_listed(client, group, ("t", [part(0, 1)]), ("nope", [part(0)]), ("t", [part(9), part(1, 2)]))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert merged == [("nope", [(0, unknown)]), ("t", [(9, unknown), (0, 0), (1, 0)])]


async def test_a_good_commit_counts_as_a_sign_of_life(world: World):
    """The session starts anew, even if every partition's metadata is too long, but not where the group refuses."""
    too_long = {("t", 0): (1, "x" * 5000)}

    async def after_7_seconds(member: Member, **identity: object) -> ErrorCode:
        await trio.sleep(5)
        answer = await member.commit(too_long, **identity)
        assert set(answer.values()) != {ErrorCode.NONE}
        await trio.sleep(2)
        return await member.heartbeat()

    kept = await world.stable1(world.group(), session=6_000)
    assert await after_7_seconds(kept) is ErrorCode.NONE
    lost = await world.stable1(world.group(), session=6_000)
    assert await after_7_seconds(lost, generation=99) is ErrorCode.UNKNOWN_MEMBER_ID
    unasked = await world.stable1(world.group(), session=6_000)
    too_long = {("nope", 0): (1, "")}
    assert await after_7_seconds(unasked) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_offsets_of_a_group_are_its_own(world: World):
    client, one, other = await world.client(), world.group(), world.group()
    await client.commit(one, {("t", 0): 1})
    await client.commit(other, {("t", 0): 2, ("t", 1): 3})
    answer = await client.call(
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=group, topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])]
                )
                for group in (one, other)
            ]
        ),
        9,
    )
    assert [[each.committed_offset for each in group.topics[0].partitions] for group in answer.groups] == [
        [1, -1],
        [2, 3],
    ]
