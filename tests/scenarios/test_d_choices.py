"""Section D, third part: the choice of the protocol, lost connections, mixed versions, and what a rejoin changes."""

from dataclasses import replace

import pytest

from tests.scenarios.harness import Member, World, settle
from tests.scenarios.steps import Stopwatch, assert_refused, assert_sync_refused, beating, start_in_order, state_of
from wire.errors import ErrorCode


async def vote(world: World, *lists: tuple[str, ...]) -> list[Member]:
    """Members that offer these protocols, in one generation; the metadata of each tells who and for what."""
    group = world.group()
    members = [
        await world.member(group, protocols=[(name, f"{number} {name}".encode()) for name in names])
        for number, names in enumerate(lists)
    ]
    await start_in_order(*members)
    answers = [await member.finish_join() for member in members]
    chosen = members[0].protocol_name
    assert {member.protocol_name for member in members} == {chosen}
    assert {one.member_id: one.metadata for one in answers[0].members} == {
        member.id: f"{number} {chosen}".encode() for number, member in enumerate(members)
    }
    return members


async def test_d34_d37_each_votes_for_what_it_likes_best(world: World):
    members = await vote(world, ("range", "roundrobin"), ("roundrobin", "range"), ("roundrobin", "range"))
    assert members[0].protocol_name == "roundrobin"


async def test_d35_only_what_all_support_can_be_chosen(world: World):
    members = await vote(world, ("range", "roundrobin"), ("roundrobin", "foo"))
    assert members[0].protocol_name == "roundrobin"


@pytest.mark.parametrize(
    ("one", "other", "winner"),
    [
        # Apache Kafka takes the first in the order of a Java HashMap; it depends on the names alone.
        ("range", "roundrobin", "range"),
        ("range", "sticky", "sticky"),
        ("range", "cooperative-sticky", "range"),
        ("roundrobin", "sticky", "sticky"),
        ("roundrobin", "cooperative-sticky", "roundrobin"),
    ],
)
async def test_d36_a_tie_has_a_winner_that_does_not_depend_on_who_comes_first(
    world: World, one: str, other: str, winner: str
):
    for lists in (((one, other), (other, one)), ((other, one), (one, other))):
        members = await vote(world, *lists)
        assert members[0].protocol_name == winner
        loser = other if winner == one else one
        refused = await (await members[0].sync(protocol_name=loser)).answer()
        assert_sync_refused(refused, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        calls = [await member.sync({}) for member in members]
        for call in calls:
            assert (await call.answer()).protocol_name == winner


async def test_d38_a_join_sent_again_from_elsewhere_is_the_same_member(world: World):
    leader, follower, third = await world.preparing(world.group())
    again = replace(third, client=await world.client())
    call = await again.start_join()
    assert await call.parked()
    for member in (leader, follower):
        await member.start_join()
    for member in (leader, follower, again):
        await member.finish_join()
    assert sorted(leader.listed) == sorted([leader.id, follower.id, third.id])
    assert third.call is not None
    if not await third.call.parked():
        # Apache Kafka leaves the request whose place was taken without an answer; an error is allowed, too.
        assert world.external is None
        assert_refused(third.call.response, ErrorCode.REBALANCE_IN_PROGRESS, third.id)
    await settle([leader, follower, again])


async def test_d39_a_lost_connection_is_no_leave(world: World):
    leader, follower, third = await world.preparing(world.group())
    await third.client.aclose()
    for member in (leader, follower):
        await member.start_join()
    for member in (leader, follower):
        await member.finish_join()
    assert leader.generation == 2
    assert set(leader.listed) == {leader.id, follower.id, third.id}


async def test_d40_who_was_lost_goes_one_session_after_the_completion(world: World):
    member = await world.stable1(world.group())
    lost = await world.member(member.group, session=6_000)
    await start_in_order(lost)
    await lost.client.aclose()
    watch = Stopwatch(world)
    await watch.until(2)
    await member.start_join()
    await member.finish_join()
    assert set(member.listed) == {member.id, lost.id}
    await settle([member])
    async with beating(world, member, every=0.25) as told:
        await watch.until(7.9)
        assert told[member.id] == {ErrorCode.NONE}
        await watch.until(9.3)
        assert told[member.id] == {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    await member.start_join()
    await member.finish_join()
    assert (member.generation, member.listed) == (3, (member.id,))


async def test_d41_old_and_new_versions_mix(world: World):
    group = world.group()
    old, new = await world.member(group), await world.member(group)
    await start_in_order(old, version=3)
    await new.start_join(version=9)
    answer = await old.finish_join()
    assert (answer.protocol_type, answer.protocol_name, len(answer.members)) == (None, "range", 2)
    answer = await new.finish_join()
    assert (answer.protocol_type, answer.protocol_name, answer.members) == ("consumer", "range", [])
    assert old.leads
    assert new.leader == old.id
    assignments = {old.id: b"o", new.id: b"n"}
    first, second = await old.sync(assignments, version=1), await new.sync()
    assert (await first.answer()).assignment == b"o"
    answer = await second.answer()
    assert (answer.assignment, answer.protocol_type, answer.protocol_name) == (b"n", "consumer", "range")
    await new.start_join(version=0)
    answer = await new.finish_join()
    assert (answer.generation_id, answer.leader, answer.members) == (1, old.id, [])


async def test_d42_a_rejoin_does_not_change_the_client_id(world: World):
    member = await world.stable1(world.group(), client_id="first")
    again = replace(member, client=await world.client("second"))
    await again.start_join()
    await again.finish_join()
    await settle([again])
    (described,) = (await again.client.describe(member.group)).members
    assert (described.member_id, described.client_id) == (member.id, "first")
    assert described.client_host == "/127.0.0.1"


async def test_d43_a_rejoin_changes_the_session_timeout(world: World):
    member = await world.stable1(world.group(), session=20_000)
    member.session = 6_000
    await member.start_join()
    watch = Stopwatch(world)
    await member.finish_join()
    await watch.until(5.5)
    assert await state_of(world, member.group) == "CompletingRebalance"
    await watch.until(7)
    assert await state_of(world, member.group) == "Empty"
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
