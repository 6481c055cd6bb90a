"""Section E: a group has its limit (KIP-389). The limit is 2 here."""

from dataclasses import replace

import pytest

from tests.scenarios.harness import settle, sub
from tests.scenarios.steps import assert_refused, start_in_order, state_of
from wire.errors import ErrorCode

FULL = ErrorCode.GROUP_MAX_SIZE_REACHED


@pytest.fixture
def open_small(make_world):
    """Open a world in which a group has two members at most."""
    return lambda: make_world(group_max_size=2)


async def test_e1_the_third_to_join_a_new_group_is_refused_at_once(open_small):
    async with open_small() as world:
        group = world.group()
        members = [await world.member(group) for _ in range(2)]
        await start_in_order(*members, version=3)
        client = await world.client()
        for version in range(4):
            assert_refused(await (await client.join(group, version=version)).answer(), FULL, "", version)
        for member in members:
            await member.finish_join()
        assert set(members[0].listed) == {member.id for member in members}


async def test_e2_handshakes_do_not_count(open_small):
    async with open_small() as world:
        group = world.group()
        clients = [await world.client() for _ in range(3)]
        answers = [await (await client.join(group)).answer() for client in clients]
        assert {answer.error_code for answer in answers} == {ErrorCode.MEMBER_ID_REQUIRED}
        ids = [answer.member_id for answer in answers]
        calls = []
        for client, member_id in zip(clients[:2], ids[:2], strict=True):
            calls.append(await client.join(group, member_id))
            assert await calls[-1].parked()
        assert_refused(await (await clients[2].join(group, ids[2])).answer(), FULL, "")
        first, second = await calls[0].answer(), await calls[1].answer()
        assert first.generation_id == second.generation_id == 1
        assert {one.member_id for one in first.members} == set(ids[:2])
        # The refused id is no longer reserved. The group is full, so that is known only once somebody has left.
        await clients[0].leave(group, ids[0])
        assert_refused(await (await clients[2].join(group, ids[2])).answer(), ErrorCode.UNKNOWN_MEMBER_ID, ids[2])


@pytest.mark.parametrize("version", [0, 3, 4, 6, 7, 9])
async def test_e3_a_full_group_gives_no_ids(open_small, version: int):
    async with open_small() as world:
        leader, follower = await world.stable2(world.group())
        client = await world.client()
        assert_refused(await (await client.join(leader.group, version=version)).answer(), FULL, "", version)
        # The limit comes before the protocols.
        answer = await (await client.join(leader.group, version=version, protocol_type="connect")).answer()
        assert_refused(answer, FULL, "", version)
        # And before the membership, and the id is not echoed.
        assert_refused(await (await client.join(leader.group, "x-1", version=version)).answer(), FULL, "", version)
        assert await leader.heartbeat() == ErrorCode.NONE
        assert await follower.heartbeat() == ErrorCode.NONE


async def test_e3_there_is_room_again_after_a_leave(open_small):
    async with open_small() as world:
        leader, follower = await world.stable2(world.group())
        await follower.client.leave(follower.group, follower.id)
        newcomer = await world.member(leader.group)
        await newcomer.start_join()
        await leader.start_join()
        await leader.finish_join()
        await newcomer.finish_join()
        assert set(leader.listed) == {leader.id, newcomer.id}


async def test_e4_members_may_always_rejoin_a_full_group(open_small):
    async with open_small() as world:
        leader, follower = await world.completing(world.group(), None, None)
        await follower.start_join()
        assert (await follower.finish_join()).generation_id == 1
        await settle([leader, follower])
        await follower.start_join()
        assert (await follower.finish_join()).generation_id == 1
        await leader.start_join()
        assert await leader.call.parked()
        await follower.start_join()
        for member in (leader, follower):
            assert (await member.finish_join()).generation_id == 2


async def test_e5_in_an_overfull_rebalance_the_last_to_rejoin_is_out(open_small):
    async with open_small() as world:
        leader, follower = await world.stable2(world.group(), rebalance=4_000)
        # A rebalance with room in it: nobody has rejoined, so the newcomer comes in as the first of two.
        await leader.start_join()
        assert await leader.call.parked()
        newcomer = await world.member(leader.group, rebalance=4_000)
        await newcomer.start_join()
        assert await newcomer.call.parked()
        # Who is parked may send its request again.
        again = replace(leader, client=await world.client())
        await again.start_join()
        assert await again.call.parked()
        # The third is refused, although it is a member, and is none any more.
        assert_refused(await (await follower.client.join(follower.group, follower.id)).answer(), FULL, "")
        assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
        # Those that are parked are not looked at again then; they wait for the deadline.
        assert await again.call.parked()
        assert await state_of(world, leader.group) == "PreparingRebalance"
        await again.finish_join()
        await newcomer.finish_join()
        assert again.generation == newcomer.generation == 2
        assert set(again.listed) == {leader.id, newcomer.id}


async def test_e5_a_stranger_is_refused_when_two_are_parked(open_small):
    async with open_small() as world:
        leader, follower = await world.stable2(world.group())
        await leader.start_join()
        assert await leader.call.parked()
        newcomer = await world.member(leader.group)
        await newcomer.start_join()
        assert await newcomer.call.parked()
        client = await world.client()
        assert_refused(await (await client.join(leader.group)).answer(), FULL, "")
        assert await follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


async def test_e6_static_members_are_limited_too(open_small):
    async with open_small() as world:
        leader, follower = await world.static2(world.group())
        client = await world.client()
        assert_refused(await (await client.join(leader.group, instance="i3")).answer(), FULL, "")
        # A restart does not say whose place it takes until the limit is passed.
        assert_refused(await (await client.join(leader.group, instance="i2")).answer(), FULL, "")
        assert await leader.heartbeat() == ErrorCode.NONE
        assert await follower.heartbeat() == ErrorCode.NONE
        # With its id it may rejoin.
        answer = await (await client.join(leader.group, follower.id, instance="i2")).answer()
        assert (answer.error_code, answer.generation_id) == (0, 1)


async def test_e6_the_place_is_free_once_the_old_one_is_removed(open_small):
    async with open_small() as world:
        leader, follower = await world.static2(world.group())
        client = await world.client()
        await client.leave(leader.group, ("", "i2"))
        call = await client.join(leader.group, instance="i2", protocols=[("range", sub("u"))])
        await leader.start_join()
        answer = await leader.finish_join()
        other = await call.answer()
        assert other.error_code == 0
        assert other.member_id != follower.id
        assert {one.member_id for one in answer.members} == {leader.id, other.member_id}
