"""Section K: OffsetFetch."""

import struct
from uuid import UUID

import pytest
import trio

from tests.scenarios.harness import Client, World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

NAMED = range(1, 10)
"""The versions that name topics; version 10 has their ids."""
ALL_AT_ONCE = range(2, 10)
"""The versions that can ask for all topics at once."""
SEVERAL_GROUPS = (8, 9)
NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
ZERO = UUID(int=0)
NONE = (-1, -1, "")
"""What is answered where nothing is committed: offset, epoch, metadata."""

Wanted = list[tuple[str | UUID, list[int]]] | None


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


def listed(answer: OffsetFetchResponseGroup | OffsetFetchResponse) -> list[tuple[str, list[tuple[int, int, int]]]]:
    """The topics of an answer, in its order: partition, offset and error of each."""
    return [
        (
            getattr(topic, "topic_id", ZERO) if topic.name == "" else topic.name,
            [(one.partition_index, one.committed_offset, one.error_code) for one in topic.partitions],
        )
        for topic in answer.topics
    ]


async def fetch_listed(client: Client, group: str, wanted: Wanted, version: int = 9) -> list:
    """OffsetFetch with its topics in a given order; the answer in its own. The group must have no error."""
    if version >= 8:
        request = OffsetFetchRequest(groups=[asked(group, wanted)])
        (answer,) = (await client.call(request, version)).groups
        assert answer.group_id == group
    else:
        topics = None
        if wanted is not None:
            topics = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in wanted]
        answer = await client.call(OffsetFetchRequest(group_id=group, topics=topics), version)
    assert answer.error_code == ErrorCode.NONE
    return listed(answer)


@pytest.mark.parametrize("version", NAMED)
async def test_k1_an_unknown_group_has_no_offsets(world: World, version: int):
    client, group = await world.client(), world.group()
    wanted = {"t": [0, 2], "u": [1], "nope": [0]}
    expected = {(topic, index): NONE for topic, indexes in wanted.items() for index in indexes}
    assert await client.fetch(group, wanted, version=version) == expected


@pytest.mark.parametrize("version", ALL_AT_ONCE)
async def test_k2_nor_topics(world: World, version: int):
    client, group = await world.client(), world.group()
    assert await client.fetch(group, None, version=version) == {}


@pytest.mark.parametrize("version", NAMED)
async def test_k3_what_is_not_committed_is_no_error(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): (42, "note")}, epoch=3)
    epoch = 3 if version >= 5 else -1
    assert await client.fetch(group, {"t": [0, 1, 5, -1], "nope": [0]}, version=version) == {
        ("t", 0): (42, epoch, "note"),
        ("t", 1): NONE,
        ("t", 5): NONE,
        ("t", -1): NONE,
        ("nope", 0): NONE,
    }


@pytest.mark.parametrize("version", ALL_AT_ONCE)
async def test_k4_null_topics_are_all_that_is_committed(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 2): 1, ("t", 0): (2, "m"), ("u", 1): 3}, epoch=4)
    epoch = 4 if version >= 5 else -1
    assert await client.fetch(group, None, version=version) == {
        ("t", 2): (1, epoch, ""),
        ("t", 0): (2, epoch, "m"),
        ("u", 1): (3, epoch, ""),
    }


@pytest.mark.parametrize("version", NAMED)
async def test_k5_no_topics_are_none(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    assert await client.fetch(group, {}, version=version) == {}
    assert await client.fetch(world.group(), {}, version=version) == {}


@pytest.mark.parametrize("version", SEVERAL_GROUPS)
async def test_k6_each_group_is_answered_by_itself(world: World, version: int):
    client = await world.client()
    one, all_of_it, unknown = world.group(), world.group(), world.group()
    await client.commit(one, {("t", 0): 1, ("t", 1): 2})
    await client.commit(all_of_it, {("u", 2): 3})
    request = OffsetFetchRequest(
        groups=[asked(one, [("t", [0])]), asked(all_of_it, None), asked(unknown, [("t", [0])])]
    )
    answer = await client.call(request, version)
    assert [group.group_id for group in answer.groups] == [one, all_of_it, unknown]
    assert [group.error_code for group in answer.groups] == [ErrorCode.NONE] * 3
    assert [listed(group) for group in answer.groups] == [
        [("t", [(0, 1, 0)])],
        [("u", [(2, 3, 0)])],
        [("t", [(0, -1, 0)])],
    ]


@pytest.mark.parametrize("version", SEVERAL_GROUPS)
async def test_k7_a_group_that_is_named_twice_is_answered_twice(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1, ("t", 1): 2})
    request = OffsetFetchRequest(groups=[asked(group, [("t", [1])]), asked(group, [("t", [0])])])
    answer = await client.call(request, version)
    assert [group.group_id for group in answer.groups] == [group, group]
    assert [listed(group) for group in answer.groups] == [[("t", [(1, 2, 0)])], [("t", [(0, 1, 0)])]]


@pytest.mark.parametrize("version", [8, 9, 10])
async def test_k8_no_groups_no_answers(world: World, version: int):
    client = await world.client()
    answer = await client.call(OffsetFetchRequest(groups=[]), version)
    assert answer.groups == []
    assert answer.throttle_time_ms == 0


@pytest.mark.parametrize("version", [9, 10])
async def test_k9_a_classic_group_does_not_look_at_the_members_epoch(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    (topic_id,) = await client.topic_ids("t")
    for member_id, epoch in (("bogus", 99), ("bogus", -1), (None, 7), ("", 0)):
        question = asked(group, [(topic_id if version >= 10 else "t", [0])])
        question.member_id, question.member_epoch = member_id, epoch
        (answer,) = (await client.call(OffsetFetchRequest(groups=[question]), version)).groups
        assert answer.error_code == ErrorCode.NONE
        assert listed(answer) == [(topic_id if version >= 10 else "t", [(0, 1, 0)])]


@pytest.mark.parametrize("version", [7, 8, 9])
async def test_k10_without_transactions_everything_is_stable(world: World, version: int):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): (1, "m")})
    for stable in (True, False):
        if version >= 8:
            request = OffsetFetchRequest(groups=[asked(group, [("t", [0, 1])])], require_stable=stable)
            (answer,) = (await client.call(request, version)).groups
        else:
            topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
            request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=stable)
            answer = await client.call(request, version)
        assert answer.error_code == ErrorCode.NONE
        assert listed(answer) == [("t", [(0, 1, 0), (1, -1, 0)])]


async def test_k11_offsets_can_be_read_while_a_group_gathers(world: World):
    leader, _follower, third = await world.preparing(world.group())
    await leader.commit({("t", 0): 1})
    for client in (leader.client, await world.client()):
        assert await client.fetch(leader.group) == {("t", 0): (1, -1, "")}
    assert third.call is not None
    assert await third.call.parked()


async def test_k11_and_before_it_has_its_assignment(world: World):
    group = world.group()
    outsider = await world.client()
    await outsider.commit(group, {("t", 0): 1})
    (member,) = await world.completing(group, None)
    assert (await outsider.describe(group)).group_state == "CompletingRebalance"
    for client in (member.client, outsider):
        assert await client.fetch(group, {"t": [0, 1]}) == {("t", 0): (1, -1, ""), ("t", 1): NONE}
    assert await member.heartbeat() is ErrorCode.NONE


async def test_k12_offsets_outlive_the_members(world: World):
    member = await world.stable1(world.group())
    await member.commit({("t", 0): (1, "m")})
    await member.client.leave(member.group, member.id)
    assert (await member.client.describe(member.group)).group_state == "Empty"
    assert await member.client.fetch(member.group) == {("t", 0): (1, -1, "m")}


ANSWERS = {
    1: "00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0000",
    2: "00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0000  0000",
    3: "00000000  00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0000  0000",
    4: "00000000  00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0000  0000",
    5: "00000000  00000001 0001 74 00000001 00000000 ffffffffffffffff ffffffff 0000 0000  0000",
    6: "00 00000000  02 02 74 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00",
    7: "00 00000000  02 02 74 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00",
    8: "00 00000000  02 02 67  02 02 74 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00 00",
    9: "00 00000000  02 02 67  02 02 74 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00 00",
}
"""What follows the correlation id when group g, which does not exist, is asked for partition 0 of t.

A top-level error since version 2, throttle time since 3, leader epoch since 5, compact lengths and tags since 6,
and groups, with their errors, since 8.
"""


@pytest.mark.parametrize("version", NAMED)
async def test_k13_k14_the_layout_of_each_version(world: World, version: int):
    client = await world.client()
    if version >= 8:
        request = OffsetFetchRequest(groups=[asked("g", [("t", [0])])])
    else:
        topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        request = OffsetFetchRequest(group_id="g", topics=topics)
    await client.send(request, version, correlation_id=5)
    assert await client.read_frame() == struct.pack(">i", 5) + bytes.fromhex(ANSWERS[version])


async def test_k15_version_1_has_no_null_topics(world: World):
    client = await world.client()
    await client.send_frame(struct.pack(">hhih", 9, 1, 1, -1) + b"\x00\x01g" + struct.pack(">i", -1))
    assert await client.is_closed()


@pytest.mark.parametrize("version", [0, 11])
async def test_k15_other_versions_are_not_served(world: World, version: int):
    client = await world.client()
    await client.send_frame(struct.pack(">hhih", 9, version, 1, -1) + b"\x00\x01g" + struct.pack(">i", 0))
    assert await client.is_closed()


@pytest.mark.parametrize("version", NAMED)
async def test_k16_the_empty_group_id_is_a_group_id(world: World, version: int):
    client = await world.client()
    assert await client.commit("", {("u", 2): 77}) == {("u", 2): ErrorCode.NONE}
    assert await client.fetch("", {"u": [2]}, version=version) == {("u", 2): (77, -1, "")}


async def test_k17_topics_by_id(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 5, ("u", 1): 6})
    known, other = await client.topic_ids("t", "u")
    wanted = [(NOBODY, [0, 1]), (known, [1, 0]), (ZERO, [0]), (other, [1])]
    unknown = ErrorCode.UNKNOWN_TOPIC_ID
    # What is known comes first.
    assert await fetch_listed(client, group, wanted, 10) == [
        (known, [(1, -1, 0), (0, 5, 0)]),
        (other, [(1, 6, 0)]),
        (NOBODY, [(0, -1, unknown), (1, -1, unknown)]),
        (ZERO, [(0, -1, unknown)]),
    ]
    assert sorted(await fetch_listed(client, group, None, 10)) == sorted([(known, [(0, 5, 0)]), (other, [(1, 6, 0)])])
    assert await fetch_listed(client, group, [], 10) == []


async def test_k17_the_ids_of_an_unknown_group(world: World):
    client, group = await world.client(), world.group()
    (known,) = await client.topic_ids("t")
    request = OffsetFetchRequest(groups=[asked(group, [(NOBODY, [0]), (known, [1])]), asked(group, None)])
    answer = await client.call(request, 10)
    assert [listed(one) for one in answer.groups] == [
        [(known, [(1, -1, 0)]), (NOBODY, [(0, -1, ErrorCode.UNKNOWN_TOPIC_ID)])],
        [],
    ]
    for topic in answer.groups[0].topics:
        for one in topic.partitions:
            assert (one.committed_leader_epoch, one.metadata) == (-1, "")


async def test_k18_asking_makes_no_group(world: World):
    client, group = await world.client(), world.group()
    await client.fetch(group, {"t": [0]})
    await client.fetch(group, None)
    assert group not in await client.list()
    assert (await client.describe(group)).error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", NAMED)
async def test_the_answer_has_the_order_of_the_request(world: World, version: int):
    """Topics and partitions that are asked for twice are answered twice; a topic without partitions has an entry."""
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1, ("t", 1): 2, ("u", 0): 3})
    wanted: Wanted = [("u", [2, 0]), ("t", [1, 0, 1]), ("nope", []), ("u", [0]), ("t", [])]
    assert await fetch_listed(client, group, wanted, version) == [
        ("u", [(2, -1, 0), (0, 3, 0)]),
        ("t", [(1, 2, 0), (0, 1, 0), (1, 2, 0)]),
        ("nope", []),
        ("u", [(0, 3, 0)]),
        ("t", []),
    ]


async def test_ids_that_are_asked_for_twice(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    (known,) = await client.topic_ids("t")
    wanted: Wanted = [(known, [0]), (NOBODY, []), (known, [0, 1]), (known, [])]
    assert await fetch_listed(client, group, wanted, 10) == [
        (known, [(0, 1, 0)]),
        (known, [(0, 1, 0), (1, -1, 0)]),
        (known, []),
        (NOBODY, []),
    ]


async def test_reading_is_no_sign_of_life(world: World):
    member = await world.stable1(world.group(), session=6_000)
    for _ in range(7):
        await trio.sleep(1)
        await member.client.fetch(member.group, {"t": [0]})
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_commit_is_seen_at_once(world: World):
    """By whoever asks after its answer has come, on any connection."""
    writer, reader, group = await world.client(), await world.client(), world.group()
    for offset in range(30):
        await writer.commit(group, {("t", 0): offset})
        assert await reader.fetch(group, {"t": [0]}) == {("t", 0): (offset, -1, "")}
