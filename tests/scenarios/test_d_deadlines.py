"""Section D, second part: what happens when somebody does not rejoin in time."""

import pytest
import trio

from tests.scenarios.harness import Member, World, settle, sub
from tests.scenarios.steps import (
    Stopwatch,
    assert_refused,
    beating,
    generation_of_next,
    skip_if_long,
    start_in_order,
    state_of,
)
from wire.errors import ErrorCode


async def test_d21_who_does_not_rejoin_in_time_is_out(world: World):
    leader, follower = await world.stable2(world.group(), rebalance=4_000)
    third = await world.member(leader.group, rebalance=4_000)
    watch = Stopwatch(world)
    await third.start_join()
    await leader.start_join()
    async with beating(world, follower, every=0.9) as told:
        await leader.finish_join()
        assert watch.shows(4)
        await third.finish_join()
    assert told[follower.id] == {ErrorCode.REBALANCE_IN_PROGRESS}
    assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert set(leader.listed) == {leader.id, third.id}
    assert leader.generation == third.generation == 2


async def test_d22_a_leader_that_does_not_rejoin_is_replaced(world: World):
    leader, follower = await world.stable2(world.group(), rebalance=4_000)
    third = await world.member(leader.group, rebalance=4_000)
    await start_in_order(third)
    await follower.start_join()
    async with beating(world, leader):
        await follower.finish_join()
        await third.finish_join()
    assert await leader.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert follower.leader == third.leader
    new_leader, other = (follower, third) if follower.leads else (third, follower)
    assert set(new_leader.listed) == {follower.id, third.id}
    assert other.listed == ()


async def test_d23_the_longest_rebalance_timeout_counts(world: World):
    group = world.group()
    first, second = await world.member(group, rebalance=4_000), await world.member(group, rebalance=7_000)
    for member in (first, second):
        await member.start_join()
    for member in (first, second):
        await member.finish_join()
    await settle([first, second])
    third = await world.member(group, rebalance=1_000)
    watch = Stopwatch(world)
    await start_in_order(third)
    await first.start_join()
    async with beating(world, second):
        await third.finish_join()
        assert watch.shows(7)
        await first.finish_join()


async def test_d24_a_static_member_keeps_the_rebalance_open_while_it_heartbeats(world: World):
    leader, _ = await world.static2(world.group(), rebalance=4_000)
    assert (await leader.client.leave(leader.group, ("", "i2"))).members[0].error_code == 0
    async with beating(world, leader) as told:
        await trio.sleep(11)
        assert await state_of(world, leader.group) == "PreparingRebalance"
        assert told[leader.id] == {ErrorCode.REBALANCE_IN_PROGRESS}
    watch = Stopwatch(world)
    await leader.start_join()
    await leader.finish_join()
    assert watch.shows(0)
    assert (leader.generation, leader.listed) == (2, (leader.id,))


async def test_d24_or_until_its_session_ends(world: World):
    leader, follower = await world.static2(world.group(), rebalance=2_000, session=8_000)
    assert await leader.heartbeat() == ErrorCode.NONE
    watch = Stopwatch(world)
    assert (await follower.client.leave(leader.group, ("", "i2"))).members[0].error_code == 0
    await watch.until(7.5)
    assert await state_of(world, leader.group) == "PreparingRebalance"
    await watch.until(9)
    assert await state_of(world, leader.group) == "Empty"
    assert await leader.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert await generation_of_next(world, leader.group) == 3


async def static_straggler(world: World) -> tuple[Member, Member, Member]:
    """A group completing generation 2, for which the static i2 (the third of the three) did not rejoin."""
    leader, straggler = await world.static2(world.group(), rebalance=4_000, protocols=[("range", sub("t", "u"))])
    newcomer = await world.member(leader.group, rebalance=4_000)
    watch = Stopwatch(world)
    await newcomer.start_join()
    await leader.start_join()
    async with beating(world, straggler) as told:
        answer = await leader.finish_join()
        assert watch.shows(4)
        await newcomer.finish_join()
    assert ErrorCode.REBALANCE_IN_PROGRESS in told[straggler.id]
    assert leader.generation == newcomer.generation == 2
    assert leader.leads
    assert {one.member_id: (one.group_instance_id, one.metadata) for one in answer.members} == {
        leader.id: ("i1", sub("t", "u")),
        newcomer.id: (None, sub()),
        straggler.id: ("i2", sub("t", "u")),
    }
    return leader, newcomer, straggler


async def test_d25_a_static_member_that_does_not_rejoin_stays(world: World):
    _, _, straggler = await static_straggler(world)
    assert straggler.generation == 1
    assert await straggler.heartbeat() == ErrorCode.ILLEGAL_GENERATION


async def test_d26_and_can_rejoin_before_the_sync(world: World):
    leader, newcomer, straggler = await static_straggler(world)
    call = await straggler.start_join()
    assert not await call.parked()
    await straggler.finish_join()
    assert (straggler.generation, straggler.leader, straggler.listed) == (2, leader.id, ())
    await settle([leader, newcomer, straggler])


async def test_d27_who_never_syncs_is_out_at_the_sync_deadline(world: World):
    leader, newcomer, straggler = await static_straggler(world)
    watch = Stopwatch(world)
    straggler.generation = 2
    async with beating(world, straggler, leader, every=0.5) as told:
        await settle([leader, newcomer])
        await watch.until(3.4)
        assert told[straggler.id] == {ErrorCode.NONE}
        assert told[leader.id] == {ErrorCode.NONE}
        await watch.until(5.5)
        assert told[straggler.id] == {ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID}
        assert told[leader.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}


async def test_d27_a_silent_one_is_out_when_its_session_ends_earlier(world: World):
    leader, straggler = await world.static2(world.group(), rebalance=8_000, session=6_000)
    newcomer = await world.member(leader.group, rebalance=8_000)
    await newcomer.start_join()
    await leader.start_join()
    async with beating(world, straggler):
        await leader.finish_join()
        await newcomer.finish_join()
    assert straggler.id in leader.listed
    watch = Stopwatch(world)
    async with beating(world, leader, every=0.25) as told:
        await settle([leader, newcomer])
        await watch.until(5.4)
        assert told[leader.id] == {ErrorCode.NONE}
        await watch.until(7)
        assert told[leader.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    assert await straggler.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", [3, 9])
async def test_d33_a_newcomer_waits_five_minutes_at_most(world: World, version: int):
    skip_if_long(world, 305)
    member = await world.stable1(world.group(), rebalance=600_000)
    newcomer = await world.member(member.group)
    await newcomer.start_join(version=version)
    assert newcomer.call is not None
    watch = Stopwatch(world)
    async with beating(world, member, every=4):
        answer = await newcomer.call.answer(within=310)
        assert watch.shows(300)
        assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, "", version)
        # It was the only newcomer; but the member that was there has not rejoined.
        assert await state_of(world, member.group) == "PreparingRebalance"
        await member.start_join()
        await member.finish_join()
    assert (member.generation, member.listed) == (2, (member.id,))
