"""Section C: who may join, and what a JoinGroup is checked for."""

import re

import pytest
import trio

from tests.scenarios.harness import World, sub
from tests.scenarios.steps import (
    Stopwatch,
    assert_refused,
    assert_sync_refused,
    beating,
    generation_of_next,
    start_in_order,
    state_of,
)
from wire.errors import ErrorCode

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

WRITTEN = 0.3
"""How long (s) to wait until a new group can be seen.

Apache Kafka answers a handshake before the group's record is written, and tells of no group before that."""


async def test_c1_a_newcomer_is_given_an_id_first(world: World):
    client = await world.client("my client")
    for version in range(4, 10):
        answer = await (await client.join(world.group(), version=version)).answer()
        assert re.fullmatch(f"my client-{UUID}", answer.member_id)
        assert_refused(answer, ErrorCode.MEMBER_ID_REQUIRED, answer.member_id, version)


async def test_c2_with_that_id_it_joins_after_the_initial_delay(world: World):
    member = await world.member(world.group())
    call = await member.start_join()
    assert await call.parked()
    answer = await member.finish_join()
    assert answer.generation_id == 1
    assert answer.leader == answer.member_id == member.id
    assert [(one.member_id, one.metadata) for one in answer.members] == [(member.id, sub())]
    assert answer.protocol_name == "range"
    assert answer.protocol_type == "consumer"
    assert not answer.skip_assignment


async def test_c3_versions_before_4_join_in_one_step(world: World):
    members = {version: await world.member(world.group()) for version in range(4)}
    calls = {version: await member.start_join(version=version) for version, member in members.items()}
    for call in calls.values():
        assert await call.parked()
    for version, member in members.items():
        answer = await member.finish_join()
        assert answer.generation_id == 1, version
        assert answer.leader == answer.member_id
        assert re.fullmatch(f"client-{UUID}", answer.member_id)
        assert [one.member_id for one in answer.members] == [answer.member_id]


async def test_c4_a_static_newcomer_joins_in_one_step(world: World):
    members = {version: await world.member(world.group(), instance="i1") for version in range(5, 10)}
    for version, member in members.items():
        await member.start_join(version=version)
    for version, member in members.items():
        answer = await member.finish_join()
        assert answer.generation_id == 1, version
        assert re.fullmatch(f"i1-{UUID}", answer.member_id)
        assert answer.leader == answer.member_id
        assert [(one.member_id, one.group_instance_id) for one in answer.members] == [(answer.member_id, "i1")]


@pytest.mark.parametrize("leaders_version", [4, 5, 9])
async def test_c5_the_leader_sees_instance_ids_from_version_5_on(world: World, leaders_version: int):
    group = world.group()
    leader = await world.member(group)
    await start_in_order(leader, version=leaders_version)
    static = await world.member(group, instance="i1")
    await static.start_join()
    answer = await leader.finish_join()
    await static.finish_join()
    assert leader.leads
    assert {one.member_id: one.group_instance_id for one in answer.members} == {
        leader.id: None,
        static.id: "i1" if leaders_version >= 5 else None,
    }


async def test_c6_the_protocol_type_is_told_from_version_7_on(world: World):
    members = {version: await world.member(world.group()) for version in (4, 5, 6, 7, 8, 9)}
    for version, member in members.items():
        call = await member.client.join(member.group, version=version)
        assert (await call.answer()).protocol_type is None
        await member.start_join(version=version)
    for version, member in members.items():
        assert (await member.finish_join()).protocol_type == ("consumer" if version >= 7 else None)


async def test_c7_every_handshake_gives_another_id(world: World):
    client, group = await world.client(), world.group()
    first = await (await client.join(group)).answer()
    second = await (await client.join(group)).answer()
    assert first.error_code == second.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id != second.member_id


@pytest.mark.parametrize("version", [0, 3, 5, 6, 7, 9])
async def test_c8_the_empty_group_id_is_refused(world: World, version: int):
    client = await world.client()
    for member_id in ("", "x-1"):
        answer = await (await client.join("", member_id, version=version)).answer()
        assert_refused(answer, ErrorCode.INVALID_GROUP_ID, member_id, version)


@pytest.mark.parametrize("version", [0, 5, 9])
async def test_c9_c10_the_session_timeout_has_bounds(world: World, version: int):
    client, group = await world.client(), world.group()
    for session in (5_999, 1_800_001, 0, -1):
        for member_id in ("", "x-1"):
            call = await client.join(group, member_id, session=session, version=version)
            assert_refused(await call.answer(), ErrorCode.INVALID_SESSION_TIMEOUT, member_id, version)
    assert group not in await client.list()


async def test_c9_c10_the_bounds_themselves_are_allowed(world: World):
    client = await world.client()
    for session in (6_000, 1_800_000):
        answer = await (await client.join(world.group(), session=session)).answer()
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED


async def test_c11_the_group_id_is_checked_before_the_session_timeout(world: World):
    client = await world.client()
    assert_refused(await (await client.join("", session=5_999)).answer(), ErrorCode.INVALID_GROUP_ID, "")


async def test_c12_the_session_timeout_is_checked_before_the_group_is_looked_up(world: World):
    client, group = await world.client(), world.group()
    answer = await (await client.join(group, "x-1", session=5_999)).answer()
    assert_refused(answer, ErrorCode.INVALID_SESSION_TIMEOUT, "x-1")
    assert group not in await client.list()


@pytest.mark.parametrize("version", [0, 4, 6, 7, 9])
async def test_c13_an_id_nobody_gave_is_unknown_in_an_unknown_group(world: World, version: int):
    client, group = await world.client(), world.group()
    answer = await (await client.join(group, "x-1", version=version)).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, "x-1", version)
    assert group not in await client.list()


async def test_c14_so_it_is_with_an_instance_id(world: World):
    client, group = await world.client(), world.group()
    answer = await (await client.join(group, "x-1", instance="i1")).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, "x-1")
    assert group not in await client.list()


async def test_c15_an_id_nobody_gave_is_unknown_in_a_stable_group(world: World):
    member = await world.stable1(world.group())
    answer = await (await member.client.join(member.group, "x-1")).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, "x-1")
    assert await member.heartbeat() == ErrorCode.NONE


@pytest.mark.parametrize("instance", [None, "i1"])
async def test_c16_a_new_group_needs_a_protocol_type(world: World, instance: str | None):
    client = await world.client()
    answer = await (await client.join(world.group(), instance=instance, protocol_type="")).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


@pytest.mark.parametrize("instance", [None, "i1"])
async def test_c17_a_new_group_needs_a_protocol(world: World, instance: str | None):
    client = await world.client()
    answer = await (await client.join(world.group(), instance=instance, protocols=[])).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


@pytest.mark.parametrize("instance", [None, "i1"])
async def test_c18_another_protocol_type_is_refused(world: World, instance: str | None):
    member = await world.stable1(world.group())
    answer = await (await member.client.join(member.group, instance=instance, protocol_type="connect")).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await member.heartbeat() == ErrorCode.NONE


@pytest.mark.parametrize("version", [3, 4, 9])
async def test_c19_no_protocol_in_common_is_refused(world: World, version: int):
    member = await world.stable1(world.group())
    answer = await (await member.client.join(member.group, protocols=[("sticky", sub())], version=version)).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", version)
    assert await member.heartbeat() == ErrorCode.NONE


async def test_c20_the_protocol_is_checked_before_the_member_id(world: World):
    member = await world.stable1(world.group())
    answer = await (await member.client.join(member.group, "x-1", protocol_type="connect")).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "x-1")


async def test_c21_the_session_timeout_is_checked_before_both(world: World):
    member = await world.stable1(world.group())
    answer = await (await member.client.join(member.group, "x-1", protocol_type="connect", session=1_800_001)).answer()
    assert_refused(answer, ErrorCode.INVALID_SESSION_TIMEOUT, "x-1")


async def test_c22_a_refused_pending_id_stays_reserved(world: World):
    member = await world.stable1(world.group())
    client = await world.client()
    pending = (await (await client.join(member.group)).answer()).member_id
    answer = await (await client.join(member.group, pending, protocol_type="connect")).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, pending)
    call = await client.join(member.group, pending)
    assert await call.parked()
    await member.start_join()
    await member.finish_join()
    answer = await call.answer()
    assert (answer.error_code, answer.member_id, answer.generation_id) == (0, pending, 2)


async def test_c23_a_pending_id_cannot_become_static(world: World):
    client, group = await world.client(), world.group()
    pending = (await (await client.join(group)).answer()).member_id
    answer = await (await client.join(group, pending, instance="i1")).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_SERVER_ERROR, "")
    # It is still reserved, and still good for what it was given for.
    answer = await (await client.join(group, pending)).answer()
    assert (answer.error_code, answer.member_id) == (0, pending)


async def test_c24_an_empty_group_takes_another_protocol_type(world: World):
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert (await member.client.list())[member.group].protocol_type == "consumer"
    newcomer = await world.client()
    call = await newcomer.join(member.group, protocol_type="connect", protocols=[("default", b"")], version=3)
    answer = await call.answer()
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 3, "default")
    assert (await newcomer.list())[member.group].protocol_type == "connect"


async def test_c25_a_former_id_is_unknown_in_an_empty_group(world: World):
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    answer = await (await member.client.join(member.group, member.id)).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, member.id)
    assert await state_of(world, member.group) == "Empty"


async def test_c26_a_handshake_makes_the_group_visible(world: World):
    client, group = await world.client(), world.group()
    await (await client.join(group)).answer()
    await trio.sleep(WRITTEN)
    listed = (await client.list())[group]
    assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")
    described = await client.describe(group)
    assert (described.error_code, described.group_state, described.members) == (0, "Empty", [])


async def test_c27_a_handshake_disturbs_nobody(world: World):
    member = await world.stable1(world.group())
    answer = await (await (await world.client()).join(member.group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert await state_of(world, member.group) == "Stable"
    assert await member.heartbeat() == ErrorCode.NONE


async def test_c28_metadata_may_be_empty(world: World):
    member = await world.member(world.group(), protocols=[("range", b"")])
    await member.start_join()
    answer = await member.finish_join()
    assert [(one.member_id, one.metadata) for one in answer.members] == [(member.id, b"")]


@pytest.mark.parametrize("reason", [None, "", "x" * 300])
async def test_c29_the_reason_is_not_judged(world: World, reason: str | None):
    client = await world.client()
    for version in (8, 9):
        answer = await (await client.join(world.group(), reason=reason, version=version)).answer()
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("rebalance", [0, -1, -(2**31)])
async def test_c30_without_time_to_rebalance_the_member_is_out_at_once(world: World, rebalance: int):
    watch = Stopwatch(world)
    member = await world.member(world.group(), rebalance=rebalance)
    await member.start_join()
    answer = await member.finish_join()
    assert watch.shows(3)
    assert answer.generation_id == 1
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert_sync_refused(await (await member.sync({member.id: b"x"})).answer(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert await state_of(world, member.group) == "Empty"
    assert await generation_of_next(world, member.group) == 3


async def test_c31_in_version_0_the_rebalance_timeout_is_the_session_timeout(world: World):
    member = (await world.stable(world.group(), None, version=0, session=7_000))[0]
    newcomer = await world.member(member.group, session=6_000)
    watch = Stopwatch(world)
    await newcomer.start_join(version=0)
    async with beating(world, member) as told:
        answer = await newcomer.finish_join()
        assert watch.shows(7)
    assert [one.member_id for one in answer.members] == [newcomer.id]
    assert told[member.id] == {ErrorCode.REBALANCE_IN_PROGRESS}
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_c32_group_ids_are_free(world: World):
    client = await world.client()
    for name in ("grüppe 日本 😀", "x" * 300, "  ", 'a:b?c,"d"%\n', "../..", "."):
        group = world.group(name)
        answer = await (await client.join(group)).answer()
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        await trio.sleep(WRITTEN)
        assert (await client.describe(group)).group_state == "Empty"


async def test_c33_an_instance_id_nobody_has_makes_the_member_unknown(world: World):
    leader, follower = await world.static2(world.group())
    for member in (leader, follower):
        answer = await (await member.client.join(member.group, member.id, instance="i9")).answer()
        assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, member.id)
    assert await leader.heartbeat() == ErrorCode.NONE


@pytest.mark.parametrize("version", [5, 6, 7, 9])
async def test_c34_c35_an_instance_id_of_somebody_else_fences(world: World, version: int):
    leader, follower = await world.static2(world.group())
    for member_id in (follower.id, "bogus"):
        answer = await (await leader.client.join(leader.group, member_id, instance="i1", version=version)).answer()
        assert_refused(answer, ErrorCode.FENCED_INSTANCE_ID, member_id, version)
    assert await leader.heartbeat() == ErrorCode.NONE
    assert await follower.heartbeat() == ErrorCode.NONE


async def test_c36_a_dynamic_member_cannot_become_static(world: World):
    member = await world.stable1(world.group())
    answer = await (await member.client.join(member.group, member.id, instance="i1")).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, member.id)


async def test_c37_a_static_member_may_leave_its_instance_id_out(world: World):
    leader, follower = await world.static2(world.group())
    answer = await (await follower.client.join(follower.group, follower.id)).answer()
    assert (answer.error_code, answer.member_id, answer.generation_id) == (0, follower.id, leader.generation)
    assert (answer.leader, answer.members) == (leader.id, [])
    described = await leader.client.describe(leader.group)
    assert {one.member_id: one.group_instance_id for one in described.members} == {leader.id: "i1", follower.id: "i2"}
