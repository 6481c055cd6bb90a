"""What users of Kafka ran into: rebalances that do not end, static members, handed-out ids, assignors that differ.

Each case is known by a kind (a letter) and a number.
"""

from dataclasses import replace

import pytest
import trio

from tests.scenarios.harness import Member, World, settle
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
from wire.messages import ApiVersionsRequest, DeleteGroupsRequest

RANGE = ("range", b"r")
COOPERATIVE = ("cooperative-sticky", b"c")


async def all_rejoin(*members: Member) -> None:
    """Everybody joins, one after the other, and gets the same generation."""
    *early, last = members
    await start_in_order(*early)
    await last.start_join()
    for member in members:
        await member.finish_join()
    assert len({member.generation for member in members}) == 1


# --- A: a rebalance that never completes ---


async def test_case_a1_a_leave_completes_the_rebalance(world: World):
    leader, follower, third = await world.preparing(world.group())
    call = await leader.start_join()
    assert await call.parked()
    watch = Stopwatch(world)
    assert (await follower.client.leave(leader.group, follower.id)).members[0].error_code == 0
    await leader.finish_join()
    await third.finish_join()
    assert watch.shows(0)
    assert leader.generation == third.generation == 2
    assert set(leader.listed) == {leader.id, third.id}


async def test_case_a1_so_does_the_end_of_a_session(world: World):
    leader, follower = await world.stable2(world.group(), session=6_000)
    third = await world.member(leader.group)
    assert await follower.heartbeat() == ErrorCode.NONE
    watch = Stopwatch(world)
    await third.start_join()
    call = await leader.start_join()
    assert await call.parked()
    await leader.finish_join()
    assert watch.shows(6)
    await third.finish_join()
    assert leader.generation == third.generation == 2
    assert set(leader.listed) == {leader.id, third.id}


async def test_case_a3_a_join_sent_again_and_again_is_one_member_and_one_rebalance(world: World):
    leader, follower = await world.stable2(world.group(), rebalance=9_000)
    impatient = await world.member(leader.group, rebalance=9_000)
    watch = Stopwatch(world)
    await impatient.start_join()
    async with beating(world, leader, follower):
        for _ in range(3):
            await trio.sleep(2)
            await impatient.client.aclose()
            impatient.client = await world.client()
            await impatient.start_join()
        await leader.start_join()
        await leader.finish_join()
        assert watch.shows(9), "the deadline is that of the first request"
        await impatient.finish_join()
    assert sorted(leader.listed) == sorted([leader.id, impatient.id])
    assert leader.generation == impatient.generation == 2
    await settle([leader, impatient])


async def test_case_a5_static_members_that_only_heartbeat_keep_the_rebalance_open(world: World):
    leader, follower = await world.static2(world.group(), session=7_000, rebalance=2_000)
    async with beating(world, leader) as told_leader:
        async with beating(world, follower) as told_follower:
            passer_by = await world.member(leader.group, rebalance=1_000)
            await start_in_order(passer_by)
            assert (await (await world.client()).leave(leader.group, passer_by.id)).members[0].error_code == 0
            assert (await passer_by.call.answer()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
            await trio.sleep(10)
            assert await state_of(world, leader.group) == "PreparingRebalance"
        # Now the follower stops.
        await trio.sleep(8)
        described = await leader.client.describe(leader.group)
        assert described.group_state == "PreparingRebalance"
        assert [one.member_id for one in described.members] == [leader.id]
    assert told_leader[leader.id] <= {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    assert told_follower[follower.id] <= {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    await trio.sleep(8)
    assert await state_of(world, leader.group) == "Empty"
    assert await generation_of_next(world, leader.group) == 3, "one empty generation, at the end"


async def test_case_a5_whoever_rejoins_completes_it(world: World):
    leader, follower = await world.static2(world.group(), session=7_000, rebalance=2_000)
    passer_by = await world.member(leader.group, rebalance=1_000)
    async with beating(world, leader, follower) as told:
        await start_in_order(passer_by)
        await (await world.client()).leave(leader.group, passer_by.id)
        await trio.sleep(5)
        assert told[follower.id] >= {ErrorCode.REBALANCE_IN_PROGRESS}
        await follower.start_join()
        await follower.finish_join()
        # The next deadline completes it: the one that did not rejoin stays, and leads no longer.
        assert follower.generation == 2
        assert follower.leads
        assert set(follower.listed) == {leader.id, follower.id}


# --- C: loops of UNKNOWN_MEMBER_ID ---


async def test_case_c1_who_missed_its_session_is_back_in_one_round(world: World):
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(8)
    watch = Stopwatch(world)
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert_sync_refused(await (await member.sync()).answer(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert set((await member.commit({("t", 0): 1})).values()) == {ErrorCode.UNKNOWN_MEMBER_ID}
    answer = await (await member.client.join(member.group, member.id)).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, member.id)
    assert watch.shows(0)
    member.id = ""
    await all_rejoin(member)
    assert member.generation == 3
    await settle([member])
    assert await member.heartbeat() == ErrorCode.NONE


# --- E: static members ---


async def test_case_e2_an_operator_removes_static_members_by_instance(world: World):
    leader, follower = await world.static2(world.group())
    operator = await world.client("operator")
    left = await operator.leave(leader.group, ("", "i2"), ("", "nobody"))
    assert left.error_code == 0
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in left.members] == [
        ("", "i2", ErrorCode.NONE),
        ("", "nobody", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await all_rejoin(leader)
    assert (leader.generation, leader.listed) == (2, (leader.id,))


async def test_case_e4_new_timeouts_of_a_restarted_static_member_hold_from_its_first_heartbeat(world: World):
    (member,) = await world.stable(world.group(), "i1", session=20_000)
    again = replace(member, client=await world.client("another"), id="", session=6_000)
    await all_rejoin(again)
    await (await again.sync()).answer()
    assert await again.heartbeat() == ErrorCode.NONE
    watch = Stopwatch(world)
    (described,) = (await again.client.describe(member.group)).members
    # Apache Kafka keeps telling of the first client, although another one restarted.
    assert (described.member_id, described.client_id) == (again.id, "client")
    await watch.until(5.5)
    assert await state_of(world, member.group) == "Stable"
    await watch.until(7)
    assert await state_of(world, member.group) == "Empty"


@pytest.mark.parametrize(("old", "new"), [(10_000, 6_000), (6_000, 10_000)])
async def test_case_e4_before_that_the_old_session_timeout_holds(world: World, old: int, new: int):
    (member,) = await world.stable(world.group(), "i1", session=old)
    again = replace(member, client=await world.client(), id="", session=new)
    watch = Stopwatch(world)
    await all_rejoin(again)
    await trio.sleep(1)
    await (await again.sync()).answer()
    await watch.until(old / 1000 - 0.5)
    assert await state_of(world, member.group) == "Stable"
    await watch.until(old / 1000 + 1)
    assert await state_of(world, member.group) == "Empty"


async def test_case_e6_all_that_static_membership_needs_is_offered_together(world: World):
    answer = await (await world.client()).call(ApiVersionsRequest(), 0)
    offered = {one.api_key: one.max_version for one in answer.api_keys}
    needed = {11: 5, 14: 3, 12: 3, 13: 3, 8: 7}
    assert {key for key, version in needed.items() if offered[key] < version} == set()


async def test_case_e8_a_restart_with_another_assignor(world: World):
    group = world.group()
    leader = await world.member(group, instance="x", protocols=[("range", b"x"), ("roundrobin", b"x")])
    follower = await world.member(group, instance="y", protocols=[("range", b"y"), ("roundrobin", b"y")])
    await all_rejoin(leader, follower)
    await settle([leader, follower])
    assert leader.protocol_name == "range"
    again = replace(leader, client=await world.client(), id="", protocols=[("roundrobin", b"x")])
    call = await again.start_join()
    assert await call.parked()
    assert await follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    await follower.finish_join()
    await again.finish_join()
    assert (follower.generation, follower.protocol_name, again.protocol_name) == (2, "roundrobin", "roundrobin")


async def test_case_e8_with_an_assignor_that_its_old_incarnation_lacks_it_is_refused(world: World):
    group = world.group()
    leader = await world.member(group, instance="x", protocols=[("range", b"x")])
    follower = await world.member(group, instance="y", protocols=[("range", b"y"), ("roundrobin", b"y")])
    await all_rejoin(leader, follower)
    await settle([leader, follower])
    # "roundrobin" would be common to all once x is replaced, but the old x is counted.
    answer = await (await (await world.client()).join(group, instance="x", protocols=[("roundrobin", b"x")])).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await leader.heartbeat() == ErrorCode.NONE
    assert await follower.heartbeat() == ErrorCode.NONE


# --- F: ids that were handed out and never used ---


async def test_case_f1_a_ghost_holds_the_rebalance_up_for_its_session_timeout_at_most(world: World):
    member = await world.stable1(world.group())
    client = await world.client()
    watch = Stopwatch(world)
    ghost = (await (await client.join(member.group, session=6_000)).answer()).member_id
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    await member.start_join()
    assert [one.member_id for one in (await client.describe(member.group)).members].count(ghost) == 0
    await member.finish_join()
    await newcomer.finish_join()
    assert watch.seconds < 7
    assert set(member.listed) == {member.id, newcomer.id}
    answer = await (await client.join(member.group, ghost)).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, ghost)
    await settle([member, newcomer])


async def test_case_f3_a_ghost_that_leaves_holds_nothing_up(world: World):
    member = await world.stable1(world.group())
    client = await world.client()
    ghost = (await (await client.join(member.group)).answer()).member_id
    newcomer = await world.member(member.group)
    await newcomer.start_join()
    await member.start_join()
    assert await member.call.parked()
    watch = Stopwatch(world)
    assert (await client.leave(member.group, ghost)).members[0].error_code == 0
    await member.finish_join()
    await newcomer.finish_join()
    assert watch.shows(0)
    # The older form names one member, and says the same.
    ghost = (await (await client.join(member.group)).answer()).member_id
    assert (await client.leave(member.group, ghost, version=2)).error_code == 0


async def test_case_f5_a_group_of_ghosts_is_empty_and_can_be_deleted(world: World):
    client, group = await world.client(), world.group()
    ghost = (await (await client.join(group)).answer()).member_id
    await trio.sleep(0.3)
    assert (await client.list())[group].group_state == "Empty"
    described = await client.describe(group)
    assert (described.group_state, described.members) == ("Empty", [])
    (result,) = (await client.call(DeleteGroupsRequest(groups_names=[group]))).results
    assert result.error_code == 0
    assert group not in await client.list()
    answer = await (await client.join(group, ghost)).answer()
    assert_refused(answer, ErrorCode.UNKNOWN_MEMBER_ID, ghost)


# --- G: between JoinGroup and SyncGroup ---


async def test_case_g2_followers_wait_for_the_leader_however_long_it_takes(world: World):
    leader, first, second = await world.completing(world.group(), None, None, None)
    calls = [await first.sync(), await second.sync()]
    await trio.sleep(5)
    for call in calls:
        assert await call.parked()
    mine = await leader.sync({leader.id: b"\x00\x01mine", first.id: b"\x00\x01yours"})
    assert (await mine.answer()).assignment == b"\x00\x01mine"
    answers = [await call.answer() for call in calls]
    assert [(answer.error_code, answer.assignment) for answer in answers] == [(0, b"\x00\x01yours"), (0, b"")]
    assert (await (await first.sync()).answer()).assignment == b"\x00\x01yours"
    assert (await (await second.sync()).answer()).assignment == b""


async def test_case_g4_only_the_leader_assigns(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    members = (leader, follower)
    call = await follower.sync({member.id: b"usurped" for member in members})
    assert await call.parked()
    mine = await leader.sync({member.id: b"legitimate" for member in members})
    assert (await mine.answer()).assignment == b"legitimate"
    assert (await call.answer()).assignment == b"legitimate"


# --- H: lists of assignors that differ ---


async def test_case_h1_a_rolling_upgrade_to_another_assignor(world: World):
    old = await world.stable1(world.group(), protocols=[RANGE])
    stranger = await world.client()
    for wrong in (
        {"protocols": [COOPERATIVE]},
        {"protocols": [RANGE], "protocol_type": "connect"},
        {"protocols": []},
        {"protocols": [RANGE], "protocol_type": ""},
    ):
        answer = await (await stranger.join(old.group, **wrong)).answer()
        assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await old.heartbeat() == ErrorCode.NONE
    # First bounce: both are offered, the new one first. While one member lacks it, the old one is chosen.
    both = await world.member(old.group, protocols=[COOPERATIVE, RANGE])
    await start_in_order(both)
    assert await old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await old.start_join()
    answer = await old.finish_join()
    await both.finish_join()
    assert old.protocol_name == both.protocol_name == "range"
    assert {one.member_id: one.metadata for one in answer.members} == {old.id: b"r", both.id: b"r"}
    await settle([old, both])
    old.protocols = [COOPERATIVE, RANGE]
    await all_rejoin(old, both)
    assert old.protocol_name == both.protocol_name == "cooperative-sticky"
    await settle([old, both])
    # Second bounce: the old one is dropped, which is a change, too.
    old.protocols = [COOPERATIVE]
    await start_in_order(old)
    assert await both.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await both.start_join()
    for member in (old, both):
        await member.finish_join()
    await settle([old, both])
    answer = await (await stranger.join(old.group, protocols=[RANGE])).answer()
    assert_refused(answer, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert await old.heartbeat() == await both.heartbeat() == ErrorCode.NONE


@pytest.mark.parametrize(
    ("lists", "winners"),
    [
        (("ab", "ba", "b"), {"b"}),
        # One vote each. Apache Kafka then takes the first in the order of a HashMap: a.
        (("abc", "cab", "bca"), {"a"}),
    ],
)
async def test_case_h3_every_member_has_a_vote(world: World, lists: tuple[str, ...], winners: set[str]):
    group = world.group()
    members = [await world.member(group, protocols=[(name, b"") for name in names]) for names in lists]
    await all_rejoin(*members)
    assert {member.protocol_name for member in members} == winners


# --- J: protocol types other than "consumer" ---


async def test_case_j2_a_former_id_never_gets_an_assignment(world: World):
    client, group = await world.client(), world.group()
    what = {"protocol_type": "sr", "protocols": [("v0", b"")]}
    by = {"protocol_type": "sr", "protocol_name": "v0"}
    first = await (await client.join(group, version=3, **what)).answer()
    await client.leave(group, first.member_id)
    second = await (await client.join(group, version=3, **what)).answer()
    assert second.generation_id == 3
    for generation in (first.generation_id, second.generation_id):
        refused = await (await client.sync(group, generation, first.member_id, {first.member_id: b"x"}, **by)).answer()
        assert_sync_refused(refused, ErrorCode.UNKNOWN_MEMBER_ID)
    synced = await (await client.sync(group, 3, second.member_id, {second.member_id: b"mine"}, **by)).answer()
    assert (synced.error_code, synced.assignment, synced.protocol_type) == (0, b"mine", "sr")


async def test_case_j2_not_even_one_that_left_with_its_sync_held(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    call = await follower.sync()
    assert await call.parked()
    client = await world.client()
    assert (await client.leave(follower.group, follower.id)).members[0].error_code == 0
    # Apache Kafka never answers this one. An error is allowed, an assignment is not.
    if not await call.parked():
        assert world.external is None
        assert_sync_refused(call.response, ErrorCode.UNKNOWN_MEMBER_ID)
    await all_rejoin(leader)
    assert (leader.generation, leader.listed) == (2, (leader.id,))
    await settle([leader])
    again = await client.sync(follower.group, leader.generation, follower.id)
    assert_sync_refused(await again.answer(), ErrorCode.UNKNOWN_MEMBER_ID)


async def test_case_j4_names_and_metadata_of_ones_own(world: World):
    client, group = await world.client(), world.group()
    names = ["protoköll 日本", "p" * 200]
    call = await client.join(
        group, protocol_type="my.own-type/1", protocols=[(name, b"\xff\x00") for name in names], version=3
    )
    answer = await call.answer()
    assert (answer.error_code, answer.protocol_name) == (0, names[0])
    assert [one.metadata for one in answer.members] == [b"\xff\x00"]
    by = {"protocol_type": "my.own-type/1", "protocol_name": names[0]}
    synced = await (await client.sync(group, 1, answer.member_id, {answer.member_id: b"\x01"}, **by)).answer()
    assert (synced.error_code, synced.assignment, synced.protocol_type) == (0, b"\x01", "my.own-type/1")
    described = await client.describe(group)
    assert (described.protocol_type, described.protocol_data) == ("my.own-type/1", names[0])
    assert described.members[0].member_metadata == b"\xff\x00"


async def test_case_j4_the_same_name_twice_counts_once(world: World):
    group = world.group()
    twice = await world.member(group, protocols=[("range", b"1"), ("range", b"2"), ("sticky", b"3")])
    once = await world.member(group, protocols=[("range", b"4"), ("sticky", b"5")])
    if world.external is None:
        await all_rejoin(twice, once)
        assert twice.protocol_name == once.protocol_name == "range"
        sole = await world.member(world.group(), protocols=[("range", b"1"), ("range", b"2")])
        await all_rejoin(sole)
        assert sole.protocol_name == "range"
    else:
        # Apache Kafka counts it twice, so that it is common to nobody; with no other name the group would hang.
        await all_rejoin(twice, once)
        assert twice.protocol_name == once.protocol_name == "sticky"
