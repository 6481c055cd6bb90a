"""Section F: static membership (KIP-345)."""

import re
from dataclasses import replace

import pytest

from tests.scenarios.harness import TOPIC, Member, World, settle, sub
from tests.scenarios.steps import (
    Stopwatch,
    assert_refused,
    assert_sync_refused,
    beating,
    start_in_order,
    state_of,
)
from wire.errors import ErrorCode


async def restarted(world: World, member: Member, *, client_id: str = "client", **what) -> Member:
    """The member after its client was started anew: another connection, no member id. It has not joined yet."""
    return replace(member, client=await world.client(client_id), id="", generation=-1, call=None, **what)


async def join_at_once(member: Member, **options):
    """Join; the answer must come without a rebalance."""
    call = await member.start_join(**options)
    assert not await call.parked()
    return await member.finish_join()


async def test_f1_f2_a_follower_restarts_without_a_rebalance(world: World):
    leader, follower = await world.static2(world.group())
    new = await restarted(world, follower)
    answer = await join_at_once(new)
    assert new.id != follower.id
    assert re.match(r"i2-", new.id)
    assert (answer.generation_id, answer.leader, answer.members) == (follower.generation, leader.id, [])
    assert (answer.protocol_name, answer.protocol_type) == ("range", "consumer")
    assert await state_of(world, leader.group) == "Stable"
    assert await leader.heartbeat() == ErrorCode.NONE
    sync = await (await new.sync()).answer()
    assert (sync.error_code, sync.assignment) == (0, follower.assignment)
    assert await new.heartbeat() == ErrorCode.NONE


async def test_f3_f4_the_old_incarnation_is_fenced(world: World):
    leader, old = await world.static2(world.group())
    new = await restarted(world, old)
    await join_at_once(new)
    assert await old.heartbeat() == ErrorCode.FENCED_INSTANCE_ID
    assert await old.commit({(TOPIC, 0): 1}) == {(TOPIC, 0): ErrorCode.FENCED_INSTANCE_ID}
    assert_sync_refused(await (await old.sync()).answer(), ErrorCode.FENCED_INSTANCE_ID)
    assert_refused(
        await (await old.client.join(old.group, old.id, instance="i2")).answer(), ErrorCode.FENCED_INSTANCE_ID, old.id
    )
    left = await old.client.leave(old.group, (old.id, "i2"))
    assert left.error_code == 0
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in left.members] == [
        (old.id, "i2", ErrorCode.FENCED_INSTANCE_ID)
    ]
    # Without the instance id it is just unknown.
    assert await old.heartbeat(instance=None) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await old.heartbeat(instance=None, version=0) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await old.commit({(TOPIC, 0): 1}, instance=None) == {(TOPIC, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await new.heartbeat() == ErrorCode.NONE
    assert await leader.heartbeat() == ErrorCode.NONE


async def test_f5_every_restart_gives_another_id(world: World):
    _, follower = await world.static2(world.group())
    ids = {follower.id}
    for _ in range(3):
        follower = await restarted(world, follower)
        answer = await join_at_once(follower)
        assert answer.generation_id == 1
        ids.add(answer.member_id)
    assert len(ids) == 4


async def test_f6_f9_a_leader_that_restarts_is_told_to_skip_the_assignment(world: World):
    old, follower = await world.static2(world.group())
    new = await restarted(world, old)
    answer = await join_at_once(new, version=9)
    assert new.id != old.id
    assert answer.leader == new.id
    assert {one.member_id: one.group_instance_id for one in answer.members} == {new.id: "i1", follower.id: "i2"}
    assert answer.skip_assignment
    assert answer.generation_id == old.generation
    sync = await (await new.sync({new.id: b"other", follower.id: b"other"})).answer()
    assert (sync.error_code, sync.assignment) == (0, old.assignment)
    sync = await (await follower.sync()).answer()
    assert sync.assignment == follower.assignment


@pytest.mark.parametrize("version", [5, 6, 7, 8])
async def test_f7_before_version_9_it_does_not_learn_that_it_leads(world: World, version: int):
    old, follower = await world.static2(world.group())
    new = await restarted(world, old)
    answer = await join_at_once(new, version=version)
    assert answer.leader == old.id != answer.member_id
    assert answer.members == []
    assert answer.generation_id == old.generation
    assert not answer.skip_assignment
    # It does lead: when it rejoins there is a rebalance.
    call = await new.start_join(version=version)
    assert await call.parked()
    await follower.start_join()
    await follower.finish_join()
    await new.finish_join()
    assert new.leads
    assert set(new.listed) == {new.id, follower.id}


@pytest.mark.parametrize("version", [5, 8, 9])
async def test_f8_a_follower_is_never_told_to_skip(world: World, version: int):
    leader, follower = await world.static2(world.group())
    answer = await join_at_once(await restarted(world, follower), version=version)
    assert (answer.leader, answer.members, answer.skip_assignment) == (leader.id, [], False)


async def test_f10_changed_metadata_alone_begin_no_rebalance(world: World):
    leader, follower = await world.static2(world.group())
    for member in (leader, follower):
        new = await restarted(world, member, protocols=[("range", sub("u"))])
        answer = await join_at_once(new)
        assert answer.generation_id == 1
    assert await state_of(world, leader.group) == "Stable"
    described = await leader.client.describe(leader.group)
    assert {one.member_metadata for one in described.members} == {sub("u")}


async def test_f11_a_restart_that_changes_the_vote_begins_a_rebalance(world: World):
    group = world.group()
    leader = await world.member(group, instance="i1", protocols=[("range", b"1r"), ("roundrobin", b"1o")])
    follower = await world.member(group, instance="i2", protocols=[("range", b"2r")])
    await start_in_order(leader, follower)
    for member in (leader, follower):
        await member.finish_join()
    await settle([leader, follower])
    assert leader.protocol_name == "range"
    # Counted with the old incarnation, "range" is all that both support; so it has to be offered, behind the other.
    new = await restarted(world, follower, protocols=[("roundrobin", b"2o"), ("range", b"2r")])
    refused = await (await new.client.join(group, instance="i2", protocols=[("roundrobin", b"2o")])).answer()
    assert_refused(refused, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    leader_restarted = await restarted(world, leader, protocols=[("roundrobin", b"1o"), ("range", b"1r")])
    # One vote each way: a tie, which "range" wins as before.
    assert (await join_at_once(new)).generation_id == 1
    # Two votes for "roundrobin".
    call = await leader_restarted.start_join()
    assert await call.parked()
    assert await new.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await new.start_join()
    await new.finish_join()
    answer = await leader_restarted.finish_join()
    assert leader_restarted.generation == new.generation == 2
    assert answer.protocol_name == "roundrobin"
    assert leader_restarted.leads
    assert not answer.skip_assignment
    assert {one.member_id: one.metadata for one in answer.members} == {leader_restarted.id: b"1o", new.id: b"2o"}


async def test_f12_a_restart_before_the_sync_begins_a_rebalance(world: World):
    group = world.group()
    members = [await world.member(group, instance=name) for name in ("i1", "i2", "i3")]
    await start_in_order(*members)
    for member in members:
        await member.finish_join()
    leader, follower, third = members
    syncs = [await follower.sync(), await third.sync()]
    for sync in syncs:
        assert await sync.parked()
    new = await restarted(world, follower)
    call = await new.start_join()
    assert_sync_refused(await syncs[0].answer(), ErrorCode.FENCED_INSTANCE_ID)
    assert_sync_refused(await syncs[1].answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert await call.parked()
    for member in (leader, third):
        await member.start_join()
    for member in (leader, third, new):
        assert (await member.finish_join()).generation_id == 2
    assert set(leader.listed) == {leader.id, third.id, new.id}


async def test_f13_a_duplicate_fences_the_one_that_is_parked(world: World):
    leader, follower = await world.static2(world.group())
    newcomer = await world.member(leader.group)
    await start_in_order(newcomer)
    parked = await follower.start_join()
    assert await parked.parked()
    duplicate = await restarted(world, follower)
    call = await duplicate.start_join()
    assert_refused(await parked.answer(), ErrorCode.FENCED_INSTANCE_ID, follower.id)
    assert await call.parked()
    await leader.start_join()
    for member in (leader, newcomer, duplicate):
        assert (await member.finish_join()).generation_id == 2
    assert sorted(leader.listed) == sorted([leader.id, newcomer.id, duplicate.id])


@pytest.mark.parametrize("version", [5, 7, 9])
async def test_f14_so_it_does_in_the_initial_delay(world: World, version: int):
    watch = Stopwatch(world)
    first = await world.member(world.group(), instance="i1")
    call = await first.start_join(version=version)
    assert await call.parked()
    duplicate = await restarted(world, first)
    await duplicate.start_join()
    answer = await call.answer()
    assert answer.member_id.startswith("i1-")
    assert_refused(answer, ErrorCode.FENCED_INSTANCE_ID, answer.member_id, version)
    await duplicate.finish_join()
    assert watch.shows(3), "the duplicate is no newcomer"
    assert duplicate.id != answer.member_id
    assert (duplicate.generation, duplicate.leader, duplicate.listed) == (1, duplicate.id, (duplicate.id,))


async def test_f14_the_duplicate_is_no_newcomer_that_must_not_wait(world: World):
    group = world.group()
    first = await world.member(group, instance="i1", session=6_000, rebalance=60_000)
    await start_in_order(first)
    duplicate = await restarted(world, first)
    await duplicate.start_join()
    # Others come in window after window, past the session timeout of the duplicate, whose request is held.
    others = [await world.member(group) for _ in range(3)]
    watch = Stopwatch(world)
    for number, other in enumerate(others):
        await watch.until(2 + 3 * number)
        await other.start_join()
    for member in (duplicate, *others):
        assert (await member.finish_join()).generation_id == 1
    assert watch.shows(12) or watch.seconds > 11.5
    assert len(duplicate.listed) == 4


async def test_f15_an_unchanged_follower_may_rejoin_with_its_id(world: World):
    leader, follower = await world.static2(world.group())
    answer = await join_at_once(follower)
    assert (answer.generation_id, answer.leader, answer.members) == (1, leader.id, [])
    assert not answer.skip_assignment
    assert await leader.heartbeat() == ErrorCode.NONE


async def test_f16_a_leader_that_rejoins_with_its_id_begins_a_rebalance(world: World):
    leader, follower = await world.static2(world.group())
    call = await leader.start_join()
    assert await call.parked()
    assert await follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    for member in (leader, follower):
        assert (await member.finish_join()).generation_id == 2


async def test_f17_a_follower_that_rejoins_with_its_id_and_changes_begins_a_rebalance(world: World):
    leader, follower = await world.static2(world.group())
    follower.protocols = [("range", sub("u"))]
    call = await follower.start_join()
    assert await call.parked()
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    for member in (leader, follower):
        assert (await member.finish_join()).generation_id == 2


async def test_f18_f19_a_static_member_that_stays_away_is_removed(world: World):
    leader, follower = await world.static2(world.group(), session=6_000)
    watch = Stopwatch(world)
    async with beating(world, leader, every=0.25) as told:
        await watch.until(5.3)
        assert told[leader.id] == {ErrorCode.NONE}
        await watch.until(7)
        assert told[leader.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    await leader.start_join()
    await leader.finish_join()
    assert leader.listed == (leader.id,)
    await settle([leader])
    # The same instance id is a newcomer now.
    new = await restarted(world, follower)
    call = await new.start_join()
    assert await call.parked()
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await leader.start_join()
    for member in (leader, new):
        assert (await member.finish_join()).generation_id == 3
    assert set(leader.listed) == {leader.id, new.id}


async def test_f20_a_restart_keeps_the_first_client_id(world: World):
    leader, follower = await world.static2(world.group(), client_id="first")
    new = await restarted(world, follower, client_id="second")
    await join_at_once(new)
    await (await new.sync()).answer()
    assert await new.heartbeat() == ErrorCode.NONE
    described = await leader.client.describe(leader.group)
    assert {one.member_id: (one.client_id, one.client_host) for one in described.members} == {
        leader.id: ("first", "/127.0.0.1"),
        new.id: ("first", "/127.0.0.1"),
    }


async def test_f21_two_instances_of_one_client_id_coexist(world: World):
    leader, follower = await world.static2(world.group(), client_id="same")
    assert leader.id != follower.id
    described = await leader.client.describe(leader.group)
    assert {one.member_id: (one.group_instance_id, one.client_id) for one in described.members} == {
        leader.id: ("i1", "same"),
        follower.id: ("i2", "same"),
    }
    assert await leader.heartbeat() == ErrorCode.NONE
    assert await follower.heartbeat() == ErrorCode.NONE


async def test_f22_next_to_static_members_a_dynamic_one_still_needs_an_id_first(world: World):
    leader, follower = await world.static2(world.group())
    dynamic = await world.member(leader.group)
    answer = await (await dynamic.client.join(leader.group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert await leader.heartbeat() == ErrorCode.NONE
    dynamic.id = answer.member_id
    await start_in_order(dynamic)
    for member in (leader, follower):
        await member.start_join()
    for member in (leader, follower, dynamic):
        assert (await member.finish_join()).generation_id == 2
    await settle([leader, follower, dynamic])
    described = await leader.client.describe(leader.group)
    assert {one.member_id: one.group_instance_id for one in described.members} == {
        leader.id: "i1",
        follower.id: "i2",
        dynamic.id: None,
    }


async def test_an_empty_instance_id_is_one_like_any_other(world: World):
    first = await world.member(world.group(), instance="")
    await first.start_join()
    answer = await first.finish_join()
    assert answer.member_id.startswith("-")
    assert [one.group_instance_id for one in answer.members] == [""]
    await settle([first])
    again = await restarted(world, first)
    assert (await join_at_once(again)).generation_id == 1
