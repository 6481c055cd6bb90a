"""Section D, first part: the initial delay, and what begins and completes a rebalance."""

from dataclasses import replace

import trio

from tests.scenarios.harness import Member, World, settle, sub
from tests.scenarios.steps import Stopwatch, assert_sync_refused, beating, generation_of_next, start_in_order, state_of
from wire.errors import ErrorCode

CHANGED = [("range", sub("u"))]


async def rejoined(member: Member, **options) -> Member:
    """Join again and wait for the answer, which must come at once."""
    await member.start_join(**options)
    assert member.call is not None
    assert not await member.call.parked()
    await member.finish_join()
    return member


async def test_d1_a_new_group_waits_for_the_initial_delay(world: World):
    member = await world.member(world.group())
    await member.start_join()
    watch = Stopwatch(world)
    await member.finish_join()
    # Measured from after the request was sent, which a real clock may put a little late.
    assert watch.shows(3) or (world.external and watch.seconds > 2.9)


async def test_d2_a_newcomer_within_the_delay_buys_another_one(world: World):
    group = world.group()
    first, second = await world.member(group), await world.member(group)
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2.5)
    await second.start_join()
    await first.finish_join()
    assert watch.shows(6)
    await second.finish_join()
    assert watch.shows(6)
    assert first.generation == second.generation == 1
    assert set(first.listed) == {first.id, second.id}


async def test_d3_the_delay_is_bounded_by_the_first_members_rebalance_timeout(world: World):
    group = world.group()
    first = await world.member(group, rebalance=7_000)
    others = [await world.member(group, rebalance=60_000) for _ in range(3)]
    watch = Stopwatch(world)
    await first.start_join()
    for member, moment in zip(others, (1.5, 4.5, 6.5), strict=True):
        await watch.until(moment)
        await member.start_join()
    for member in (first, *others):
        assert (await member.finish_join()).generation_id == 1
        assert watch.shows(7)
    assert len(first.listed) == 4


async def test_d3_the_first_window_runs_in_full_even_if_that_timeout_is_shorter(world: World):
    group = world.group()
    first, second = await world.member(group, rebalance=1_000), await world.member(group, rebalance=60_000)
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2)
    await second.start_join()
    await first.finish_join()
    assert watch.shows(3)
    await second.finish_join()


async def test_d4_the_second_step_of_a_handshake_counts_as_a_newcomer(world: World):
    group = world.group()
    client = await world.client()
    pending = (await (await client.join(group)).answer()).member_id
    first = await world.member(group)
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2)
    call = await client.join(group, pending)
    await first.finish_join()
    assert watch.shows(6)
    assert (await call.answer()).error_code == 0


async def test_d4_the_first_step_alone_does_not(world: World):
    first = await world.member(world.group())
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2)
    answer = await (await (await world.client()).join(first.group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    await first.finish_join()
    assert watch.shows(3)


async def test_d5_a_join_sent_again_does_not_shorten_or_lengthen_the_delay(world: World):
    member = await world.member(world.group())
    watch = Stopwatch(world)
    await member.start_join()
    await watch.until(1)
    again = replace(member, client=await world.client())
    call = await again.start_join()
    assert await call.parked()
    await again.finish_join()
    assert watch.shows(3)
    assert again.generation == 1
    assert again.listed == (member.id,)


async def test_d6_the_leader_gets_the_list_and_everybody_the_rest(world: World):
    group = world.group()
    members = [await world.member(group) for _ in range(3)]
    await start_in_order(*members)
    answers = {member.id: await member.finish_join() for member in members}
    assert members[0].leads, "the first to join leads a new group"
    leader, *followers = members
    assert sorted(leader.listed) == sorted(member.id for member in members)
    for follower in followers:
        answer = answers[follower.id]
        assert answer.members == []
        assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, leader.id, "range")


async def test_d7_d8_a_newcomer_makes_the_others_rejoin(world: World):
    member = await world.stable1(world.group())
    newcomer = await world.member(member.group)
    call = await newcomer.start_join()
    assert await call.parked()
    assert await state_of(world, member.group) == "PreparingRebalance"
    assert await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    watch = Stopwatch(world)
    await rejoined(member)
    await newcomer.finish_join()
    assert watch.shows(0), "no initial delay"
    assert member.generation == newcomer.generation == 2
    assert member.leads
    assert newcomer.leader == member.id
    assert set(member.listed) == {member.id, newcomer.id}
    assert newcomer.listed == ()
    assert await state_of(world, member.group) == "CompletingRebalance"


async def test_d9_a_leader_that_rejoins_begins_a_rebalance(world: World):
    leader, follower = await world.stable2(world.group())
    call = await leader.start_join()
    assert await call.parked()
    assert await follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await rejoined(follower)
    await leader.finish_join()
    assert leader.generation == follower.generation == 2
    assert leader.leads


async def test_d10_d20_a_sole_member_that_rejoins_is_answered_at_once(world: World):
    member = await world.stable1(world.group())
    for generation in (2, 3, 4):
        await rejoined(member)
        assert member.generation == generation
        assert member.listed == (member.id,)
        await settle([member])


async def test_d11_an_unchanged_follower_is_answered_at_once(world: World):
    leader, follower = await world.stable2(world.group())
    # New timeouts alone are no change.
    follower.session, follower.rebalance = 20_000, 40_000
    await rejoined(follower)
    assert (follower.generation, follower.leader, follower.listed) == (1, leader.id, ())
    assert await state_of(world, leader.group) == "Stable"
    assert await leader.heartbeat() == ErrorCode.NONE
    assert await follower.heartbeat() == ErrorCode.NONE


async def check_that_change_rebalances(world: World, before, after) -> None:
    leader, follower = await world.stable2(world.group(), protocols=before)
    follower.protocols = after
    call = await follower.start_join()
    assert await call.parked()
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await rejoined(leader)
    await follower.finish_join()
    assert leader.generation == follower.generation == 2


async def test_d12_changed_metadata_begin_a_rebalance(world: World):
    await check_that_change_rebalances(world, [("range", sub("t"))], CHANGED)


async def test_d13_a_changed_order_begins_a_rebalance(world: World):
    both = [("range", sub()), ("roundrobin", sub())]
    await check_that_change_rebalances(world, both, both[::-1])


async def test_d14_a_protocol_more_begins_a_rebalance(world: World):
    await check_that_change_rebalances(world, [("range", sub())], [("range", sub()), ("roundrobin", sub())])


async def test_d15_an_unchanged_join_before_the_sync_is_answered_again(world: World):
    (member,) = await world.completing(world.group(), None)
    await rejoined(member)
    assert (member.generation, member.leader, member.listed) == (1, member.id, (member.id,))
    assert await state_of(world, member.group) == "CompletingRebalance"


async def test_d16_so_is_a_followers(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    await rejoined(follower)
    assert (follower.generation, follower.leader, follower.listed) == (1, leader.id, ())
    await rejoined(leader)
    assert set(leader.listed) == {leader.id, follower.id}
    assert leader.generation == 1
    await settle([leader, follower])


async def test_d17_a_changed_join_before_the_sync_begins_a_rebalance(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    sync = await follower.sync()
    assert await sync.parked()
    leader.protocols = CHANGED
    call = await leader.start_join()
    assert await call.parked()
    assert_sync_refused(await sync.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    await rejoined(follower)
    answer = await leader.finish_join()
    assert leader.generation == follower.generation == 2
    assert {one.member_id: one.metadata for one in answer.members} == {leader.id: sub("u"), follower.id: sub()}


async def test_d17_of_a_follower_with_its_own_sync_elsewhere(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    sync = await follower.sync()
    assert await sync.parked()
    again = replace(follower, client=await world.client(), protocols=CHANGED)
    call = await again.start_join()
    assert await call.parked()
    assert_sync_refused(await sync.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    await rejoined(leader)
    await again.finish_join()
    assert again.generation == 2


async def test_d18_a_newcomer_before_the_sync_begins_a_rebalance(world: World):
    leader, *followers = await world.completing(world.group(), None, None, None)
    syncs = [await follower.sync() for follower in followers]
    for sync in syncs:
        assert await sync.parked()
    newcomer = await world.member(leader.group)
    call = await newcomer.start_join()
    for sync in syncs:
        assert_sync_refused(await sync.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert await call.parked()
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    everybody = [leader, *followers, newcomer]
    for member in everybody[:-1]:
        await member.start_join()
    for member in everybody:
        await member.finish_join()
    assert {member.generation for member in everybody} == {2}
    await settle(everybody)


async def test_d19_a_rebalance_waits_for_everybody(world: World):
    leader, follower, third = await world.preparing(world.group())
    call = await leader.start_join()
    assert await call.parked()
    await rejoined(follower)
    await leader.finish_join()
    await third.finish_join()
    assert leader.generation == follower.generation == third.generation == 2
    assert set(leader.listed) == {leader.id, follower.id, third.id}


async def test_d20_becoming_empty_is_a_generation_too(world: World):
    member = await world.stable1(world.group())
    assert (await member.client.leave(member.group, member.id)).error_code == 0
    assert await state_of(world, member.group) == "Empty"
    assert await generation_of_next(world, member.group) == 3


async def test_d28_d29_a_pending_id_holds_the_rebalance_up(world: World):
    member = await world.stable1(world.group())
    client = await world.client()
    pending = (await (await client.join(member.group)).answer()).member_id
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    call = await member.start_join()
    assert await call.parked()
    late = await client.join(member.group, pending)
    assert (await late.answer()).error_code == 0
    await member.finish_join()
    await newcomer.finish_join()
    assert member.generation == newcomer.generation == 2
    assert set(member.listed) == {member.id, newcomer.id, pending}


async def test_d30_until_it_leaves(world: World):
    member = await world.stable1(world.group())
    client = await world.client()
    pending = (await (await client.join(member.group)).answer()).member_id
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    call = await member.start_join()
    assert await call.parked()
    left = await client.leave(member.group, pending)
    assert (left.error_code, left.members[0].error_code) == (0, 0)
    await member.finish_join()
    await newcomer.finish_join()
    assert set(member.listed) == {member.id, newcomer.id}


async def test_d31_or_until_its_session_timeout(world: World):
    member = await world.stable1(world.group())
    watch = Stopwatch(world)
    answer = await (await (await world.client()).join(member.group, session=6_000)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    call = await member.start_join()
    assert await call.parked()
    await member.finish_join()
    assert watch.shows(6)
    await newcomer.finish_join()
    assert set(member.listed) == {member.id, newcomer.id}


async def test_d32_a_pending_id_lasts_for_the_session_timeout_it_was_asked_with(world: World):
    client, group = await world.client(), world.group()
    member = await world.stable1(group)
    async with beating(world, member):
        short = (await (await client.join(group, session=6_000)).answer()).member_id
        long = (await (await client.join(group, session=9_000)).answer()).member_id
        await trio.sleep(7)
        answer = await (await client.join(group, short)).answer()
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert answer.member_id == short
        assert await (await client.join(group, long)).parked()


async def test_d44_all_leave_during_the_initial_delay(world: World):
    group = world.group()
    members = [await world.member(group) for _ in range(2)]
    watch = Stopwatch(world)
    await start_in_order(*members)
    client = await world.client()
    for member in members:
        assert (await client.leave(group, member.id)).members[0].error_code == 0
        answer = await member.call.answer()
        assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert await state_of(world, group) == "PreparingRebalance"
    # The second one bought a second window.
    await watch.until(5.5)
    assert await state_of(world, group) == "PreparingRebalance"
    await watch.until(6.5)
    described = await client.describe(group)
    assert (described.group_state, described.members) == ("Empty", [])
    assert await generation_of_next(world, group) == 2
