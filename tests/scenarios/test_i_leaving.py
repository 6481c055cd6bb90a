"""Section I: LeaveGroup, by members and by operators."""

from typing import Any

import pytest
import trio

from tests.scenarios.harness import Member, World
from wire.errors import ErrorCode
from wire.messages import LeaveGroupRequest, MemberIdentity

BATCHED = range(3, 6)
SINGLE = range(3)


def errors(answer: Any) -> list[ErrorCode]:
    """The error of each entry; the request as such was good."""
    assert answer.error_code == ErrorCode.NONE
    assert answer.throttle_time_ms == 0
    return [ErrorCode(one.error_code) for one in answer.members]


def echoed(answer: Any) -> list[tuple[str, str | None]]:
    """Which member each entry speaks of."""
    return [(one.member_id, one.group_instance_id) for one in answer.members]


async def state_of(member: Member) -> str:
    return (await member.client.describe(member.group)).group_state


# --- requests that name nobody ---


async def test_i1_i2_the_empty_group_id(world: World):
    client = await world.client()
    for version in range(6):
        answer = await client.leave("", "nobody", version=version)
        assert answer.error_code == ErrorCode.INVALID_GROUP_ID
        assert answer.members == []
    answer = await client.call(LeaveGroupRequest(group_id="", members=[]))
    assert (answer.error_code, answer.members) == (ErrorCode.INVALID_GROUP_ID, [])


async def test_i3_a_group_that_does_not_exist(world: World):
    client = await world.client()
    for version in SINGLE:
        assert (await client.leave(world.group(), "m", version=version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    for version in BATCHED:
        answer = await client.leave(world.group(), "m", ("", "i1"), ("n", "i2"), version=version)
        assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID] * 3
        assert echoed(answer) == [("m", None), ("", "i1"), ("n", "i2")]


async def test_i4_i5_i21_an_unknown_member(world: World):
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    for version in SINGLE:
        assert (await client.leave(group, "nobody", version=version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert (await client.leave(group, "", version=version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    for version in BATCHED:
        answer = await client.leave(group, "nobody", "", ("", "i9"), version=version)
        assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID] * 3
        assert echoed(answer) == [("nobody", None), ("", None), ("", "i9")]
    assert await member.heartbeat() is ErrorCode.NONE


async def test_i20_an_empty_batch(world: World):
    member = await world.stable1(world.group())
    for version in BATCHED:
        for group in (member.group, world.group()):
            answer = await member.client.call(LeaveGroupRequest(group_id=group, members=[]), version)
            assert errors(answer) == []
    assert await member.heartbeat() is ErrorCode.NONE


async def test_i23_an_empty_group(world: World):
    member = await world.stable1(world.group())
    assert errors(await member.client.leave(member.group, member.id)) == [ErrorCode.NONE]
    for version in BATCHED:
        answer = await member.client.leave(member.group, member.id, version=version)
        assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID]
    for version in SINGLE:
        answer = await member.client.leave(member.group, member.id, version=version)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


# --- dynamic members ---


@pytest.mark.parametrize("version", [0, 2, 3, 5])
async def test_i6_the_only_member(world: World, version: int):
    member = await world.stable1(world.group())
    answer = await member.client.leave(member.group, member.id, version=version)
    assert answer.error_code == ErrorCode.NONE
    if version >= 3:
        assert echoed(answer) == [(member.id, None)]
        assert errors(answer) == [ErrorCode.NONE]
    described = await member.client.describe(member.group)
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Empty", "consumer", "")
    assert described.members == []
    assert (await world.stable1(member.group)).generation == 3


async def test_i7_the_follower(world: World):
    leader, follower = await world.stable2(world.group())
    assert errors(await follower.client.leave(follower.group, follower.id)) == [ErrorCode.NONE]
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    await leader.start_join()
    answer = await leader.finish_join()
    assert answer.generation_id == 2
    assert leader.leads
    assert [one.member_id for one in answer.members] == [leader.id]


async def test_i8_the_leader(world: World):
    leader, follower = await world.stable2(world.group())
    assert errors(await leader.client.leave(leader.group, leader.id)) == [ErrorCode.NONE]
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    answer = await follower.finish_join()
    assert answer.generation_id == 2
    assert follower.leads
    assert [one.member_id for one in answer.members] == [follower.id]


async def test_i9_an_id_that_is_only_handed_out(world: World):
    client = await world.client()
    group = world.group()
    pending = (await (await client.join(group)).answer()).member_id
    assert errors(await client.leave(group, pending)) == [ErrorCode.NONE]
    answer = await (await client.join(group, pending)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, pending)
    assert errors(await client.leave(group, pending)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert (await client.describe(group)).group_state == "Empty"


async def test_i9_an_id_that_is_only_handed_out_leaves_a_stable_group(world: World):
    # Apache Kafka up to 3.9 did not rebalance.
    member = await world.stable1(world.group())
    pending = (await (await member.client.join(member.group)).answer()).member_id
    assert await member.heartbeat() is ErrorCode.NONE
    # Of an id that is only handed out nobody knows an instance id, so none can be wrong.
    assert errors(await member.client.leave(member.group, (pending, "i9"))) == [ErrorCode.NONE]
    assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    answer = await (await (await world.client()).join(member.group, pending)).answer()
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_i10_a_member_whose_join_waits(world: World):
    leader, _, third = await world.preparing(world.group())
    assert errors(await leader.client.leave(third.group, third.id)) == [ErrorCode.NONE]
    assert third.call is not None
    answer = await third.call.answer(1)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.member_id == ""
    assert (answer.generation_id, answer.leader, answer.members) == (-1, "", [])
    assert (answer.protocol_type, answer.protocol_name) == (None, None)
    assert await state_of(leader) == "PreparingRebalance"


async def test_i10_a_member_whose_sync_waits(world: World):
    leader, gone, follower = await world.completing(world.group(), None, None, None)
    gone_waits, follower_waits = await gone.sync(), await follower.sync()
    assert await gone_waits.parked()
    assert errors(await leader.client.leave(gone.group, gone.id)) == [ErrorCode.NONE]
    assert (await follower_waits.answer(1)).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    # Apache Kafka forgets to answer this one for good; saying what is true of it by now harms nobody.
    if not await gone_waits.parked():
        assert gone_waits.response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert gone_waits.response.assignment == b""


async def test_i11_the_last_one_missing(world: World):
    leader, follower, third = await world.preparing(world.group())
    call = await leader.start_join()
    assert await call.parked()
    assert errors(await follower.client.leave(follower.group, follower.id)) == [ErrorCode.NONE]
    for member in (leader, third):
        assert member.call is not None
        assert (await member.call.answer(1)).error_code == ErrorCode.NONE
        assert (await member.finish_join()).generation_id == 2
    assert set(leader.listed) == {leader.id, third.id}
    assert third.leader == leader.id


async def test_i24_during_the_initial_delay(world: World):
    group = world.group()
    first, second = await world.member(group), await world.member(group)
    began = trio.current_time()
    await first.start_join()
    await second.start_join()
    client = await world.client()
    assert errors(await client.leave(group, second.id)) == [ErrorCode.NONE]
    assert second.call is not None
    answer = await second.call.answer(1)
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert first.call is not None
    assert await first.call.parked()
    assert (await client.describe(group)).group_state == "PreparingRebalance"
    answer = await first.finish_join()
    assert trio.current_time() - began >= 3
    assert answer.generation_id == 1
    assert first.listed == (first.id,)


async def test_i24_everybody_leaves_during_the_initial_delay(world: World):
    group = world.group()
    member = await world.member(group)
    await member.start_join()
    client = await world.client()
    assert errors(await client.leave(group, member.id)) == [ErrorCode.NONE]
    described = await client.describe(group)
    assert (described.group_state, described.members) == ("PreparingRebalance", [])
    await trio.sleep(4)
    assert (await client.describe(group)).group_state == "Empty"
    assert (await world.stable1(group)).generation == 2


async def test_i26_what_was_committed_stays(world: World):
    member = await world.stable1(world.group())
    await member.commit({("t", 0): (7, "note")})
    await member.client.leave(member.group, member.id)
    assert await member.client.fetch(member.group, {"t": [0]}) == {("t", 0): (7, -1, "note")}


# --- static members ---


async def test_i12_by_instance_id(world: World):
    leader, follower = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, ("", "i2"))
    assert errors(answer) == [ErrorCode.NONE]
    assert echoed(answer) == [("", "i2")]
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    members = (await leader.client.describe(leader.group)).members
    assert [one.group_instance_id for one in members] == ["i1"]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_i12_by_member_id_alone(world: World, version: int):
    leader, follower = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, follower.id, version=version)
    assert answer.error_code == ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await follower.heartbeat(instance=None) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_i13_i14_i15_i21_i25_ids_that_do_not_fit(world: World):
    leader, follower = await world.static2(world.group())
    wanted = [
        (("nobody", "i2"), ErrorCode.FENCED_INSTANCE_ID),
        (("", "i9"), ErrorCode.UNKNOWN_MEMBER_ID),
        ((leader.id, "i2"), ErrorCode.FENCED_INSTANCE_ID),
        ((leader.id, "i9"), ErrorCode.UNKNOWN_MEMBER_ID),
        (("nobody", None), ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    for version in BATCHED:
        answer = await leader.client.leave(leader.group, *(pair for pair, _ in wanted), version=version)
        assert echoed(answer) == [pair for pair, _ in wanted]
        assert errors(answer) == [error for _, error in wanted]
    for member in (leader, follower):
        assert await member.heartbeat() is ErrorCode.NONE
    assert await state_of(leader) == "Stable"


async def test_i16_both_by_instance_id(world: World):
    leader, follower = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, ("", "i1"), ("", "i2"))
    assert errors(answer) == [ErrorCode.NONE] * 2
    assert echoed(answer) == [("", "i1"), ("", "i2")]
    assert await state_of(leader) == "Empty"
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    # One step for the batch, however many left.
    assert (await world.stable1(leader.group)).generation == leader.generation + 2


async def test_i17_i25_one_of_two(world: World):
    leader, _ = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, ("", "i9"), ("", "i2"))
    assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert echoed(answer) == [("", "i9"), ("", "i2")]
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


async def test_i18_i25_members_of_every_kind(world: World):
    leader, follower = await world.stable2(world.group())
    client = await world.client()
    pending = (await (await client.join(leader.group)).answer()).member_id
    ids = [leader.id, follower.id, pending, "unknown"]
    answer = await client.leave(leader.group, *ids)
    assert errors(answer) == [ErrorCode.NONE] * 3 + [ErrorCode.UNKNOWN_MEMBER_ID]
    assert echoed(answer) == [(each, None) for each in ids]
    assert await state_of(leader) == "Empty"


@pytest.mark.parametrize("version", BATCHED)
async def test_i19_twice_in_one_batch(world: World, version: int):
    leader, follower = await world.stable2(world.group())
    answer = await leader.client.leave(leader.group, follower.id, follower.id, version=version)
    assert errors(answer) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert echoed(answer) == [(follower.id, None)] * 2


async def test_i22_a_reason(world: World):
    leader, follower = await world.static2(world.group())
    gone = [
        MemberIdentity(member_id=follower.id, group_instance_id="i2", reason=None),
        MemberIdentity(member_id="", group_instance_id="i1", reason="because " * 100),
    ]
    answer = await leader.client.call(LeaveGroupRequest(group_id=leader.group, members=gone), 5)
    assert errors(answer) == [ErrorCode.NONE] * 2
