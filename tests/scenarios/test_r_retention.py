"""Section R: how long offsets, and groups without members, are kept.

Everything here runs with a retention of one minute, Kafka's smallest, and a look every second.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

import pytest
import trio

from tests.scenarios.harness import Client, Member, World
from wire.errors import ErrorCode
from wire.messages import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

MINUTE = 60
JUST_BEFORE, JUST_AFTER = MINUTE - 3, MINUTE + 3
SHORT = {"offsets_retention_minutes": 1, "offsets_retention_check_interval_ms": 1_000}


class MakeWorld(Protocol):
    def __call__(self, **settings: object) -> AbstractAsyncContextManager[World]: ...


async def stay(seconds: float, *members: Member) -> None:
    """Let the time pass, with heartbeats; nobody may be lost meanwhile."""
    end = trio.current_time() + seconds
    while (left := end - trio.current_time()) > 0:
        await trio.sleep(min(2, left))
        for member in members:
            assert await member.heartbeat() in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}


async def is_gone(client: Client, group: str) -> bool:
    described = await client.describe(group)
    assert (described.error_code == ErrorCode.GROUP_ID_NOT_FOUND) == (group not in await client.list())
    return described.error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def connect_worker(world: World, group: str) -> Member:
    """A Stable member of a group of another type."""
    client = await world.client()
    what = {"protocol_type": "connect", "protocols": [("range", b"\x00")]}
    member_id = (await (await client.join(group, **what)).answer()).member_id
    joined = await (await client.join(group, member_id, **what)).answer()
    member = Member(client, group, member_id, joined.generation_id)
    call = await member.sync({member_id: b"work"}, protocol_type="connect")
    assert (await call.answer()).error_code == ErrorCode.NONE
    return member


async def test_r1_offsets_of_a_simple_group_count_from_their_commit(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        client, group = await world.client(), world.group()
        await client.commit(group, {("t", 0): 1})
        await trio.sleep(30)
        await client.commit(group, {("t", 1): 2})
        await trio.sleep(JUST_BEFORE - 30)
        assert set(await client.fetch(group)) == {("t", 0), ("t", 1)}
        await trio.sleep(JUST_AFTER - JUST_BEFORE)
        assert set(await client.fetch(group)) == {("t", 1)}
        assert await client.fetch(group, {"t": [0]}) == {("t", 0): (-1, -1, "")}
        assert not await is_gone(client, group)
        await trio.sleep(30)
        assert await client.fetch(group) == {}
        assert await is_gone(client, group)


async def test_r2_offsets_that_members_left_behind_count_from_when_they_left(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.commit({("t", 0): 1})
        await stay(70, member)
        await member.client.leave(member.group, member.id)
        await trio.sleep(JUST_BEFORE)
        assert set(await member.client.fetch(member.group)) == {("t", 0)}
        assert (await member.client.describe(member.group)).group_state == "Empty"
        await trio.sleep(JUST_AFTER - JUST_BEFORE)
        assert await member.client.fetch(member.group) == {}
        assert await is_gone(member.client, member.group)


async def test_r2_also_when_the_last_member_was_lost(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group(), session=20_000)
        await member.commit({("t", 0): 1})
        await trio.sleep(20 + JUST_BEFORE)
        assert set(await member.client.fetch(member.group)) == {("t", 0)}
        await trio.sleep(JUST_AFTER - JUST_BEFORE)
        assert await is_gone(member.client, member.group)


async def test_r3_what_a_member_consumes_is_kept(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.commit({("t", 0): 1, ("u", 0): 2})
        await stay(JUST_BEFORE, member)
        assert set(await member.client.fetch(member.group)) == {("t", 0), ("u", 0)}
        await stay(JUST_AFTER - JUST_BEFORE, member)
        assert set(await member.client.fetch(member.group)) == {("t", 0)}
        await stay(2 * MINUTE, member)
        assert set(await member.client.fetch(member.group)) == {("t", 0)}
        assert (await member.client.describe(member.group)).group_state == "Stable"


async def test_r3_nothing_is_known_of_an_unreadable_subscription(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group(), protocols=[("range", b"\x00")])
        await member.commit({("t", 0): 1, ("u", 0): 2})
        await stay(JUST_AFTER, member)
        assert set(await member.client.fetch(member.group)) == {("t", 0), ("u", 0)}


async def test_r4_nothing_expires_under_members_of_another_type(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        worker = await connect_worker(world, world.group())
        await worker.commit({("t", 0): 1, ("u", 0): 2})
        await stay(JUST_AFTER + MINUTE, worker)
        assert set(await worker.client.fetch(worker.group)) == {("t", 0), ("u", 0)}


async def test_r5_nothing_expires_while_members_gather(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        first = await world.stable1(world.group(), rebalance=200_000)
        await first.commit({("u", 0): 2})
        second = await world.member(first.group, rebalance=200_000)
        await second.start_join()
        await stay(JUST_AFTER + 20, first)
        assert (await first.client.describe(first.group)).group_state == "PreparingRebalance"
        assert set(await first.client.fetch(first.group)) == {("u", 0)}


async def test_r5_nor_while_they_wait_for_their_assignment(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        outsider, group = await world.client(), world.group()
        await outsider.commit(group, {("u", 0): 2})
        (member,) = await world.completing(group, None, rebalance=200_000)
        await stay(JUST_AFTER + 20, member)
        assert (await outsider.describe(group)).group_state == "CompletingRebalance"
        assert set(await outsider.fetch(group)) == {("u", 0)}


async def test_r6_an_empty_group_without_offsets_goes_at_once(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.client.leave(member.group, member.id)
        assert not await is_gone(member.client, member.group)
        await trio.sleep(3)
        assert await is_gone(member.client, member.group)


async def test_r6_so_does_one_that_only_handed_out_an_id(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        client, group = await world.client(), world.group()
        pending = (await (await client.join(group)).answer()).member_id
        assert not await is_gone(client, group)
        await trio.sleep(3)
        assert await is_gone(client, group)
        answer = await (await client.join(group, pending)).answer()
        assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, pending)


async def test_r6_and_its_generations_begin_anew(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        group = world.group()
        member = await world.stable1(group)
        await member.client.leave(group, member.id)
        await trio.sleep(3)
        assert (await world.stable1(group)).generation == 1


async def test_r6_so_does_one_whose_last_offset_was_deleted(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        client, group = await world.client(), world.group()
        await client.commit(group, {("t", 0): 1})
        partitions = [OffsetDeleteRequestPartition(partition_index=0)]
        request = OffsetDeleteRequest(
            group_id=group, topics=[OffsetDeleteRequestTopic(name="t", partitions=partitions)]
        )
        assert (await client.call(request)).topics[0].partitions[0].error_code == ErrorCode.NONE
        assert not await is_gone(client, group)
        await trio.sleep(3)
        assert await is_gone(client, group)


async def test_r7_a_new_commit_of_a_simple_group_keeps_its_partition(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        client, group = await world.client(), world.group()
        await client.commit(group, {("t", 0): 1, ("t", 1): 2})
        await trio.sleep(30)
        await client.commit(group, {("t", 1): 3})
        await trio.sleep(JUST_AFTER - 30)
        assert await client.fetch(group) == {("t", 1): (3, -1, "")}


async def test_r7_so_it_is_with_topics_that_nobody_consumes(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.commit({("u", 0): 1, ("u", 1): 2})
        await stay(30, member)
        await member.commit({("u", 1): 3})
        await stay(JUST_AFTER - 30, member)
        assert await member.client.fetch(member.group) == {("u", 1): (3, -1, "")}


async def test_r7_a_group_that_members_left_gains_nothing_by_it(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.commit({("t", 0): 1})
        await member.client.leave(member.group, member.id)
        await trio.sleep(30)
        assert await member.client.commit(member.group, {("t", 0): 2}) == {("t", 0): ErrorCode.NONE}
        await trio.sleep(JUST_BEFORE - 30)
        assert await member.client.fetch(member.group) == {("t", 0): (2, -1, "")}
        await trio.sleep(JUST_AFTER - JUST_BEFORE)
        assert await is_gone(member.client, member.group)


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_r8_j30_a_commit_may_say_how_long_it_is_kept(make_world: MakeWorld, version: int):
    async with make_world(**SHORT) as world:
        client, group = await world.client(), world.group()
        places = {0: 1, 1: 2 * MINUTE * 1000, 2: -1}
        for partition, retention in places.items():
            answer = await client.commit(group, {("t", partition): 1}, version=version, retention=retention)
            assert answer == {("t", partition): ErrorCode.NONE}
        assert await client.commit(group, {("u", 0): 1}, version=version + 3) == {("u", 0): ErrorCode.NONE}
        await trio.sleep(3)
        assert set(await client.fetch(group)) == {("t", 1), ("t", 2), ("u", 0)}
        assert await client.fetch(group, {"t": [0]}) == {("t", 0): (-1, -1, "")}
        await trio.sleep(JUST_AFTER)
        assert set(await client.fetch(group)) == {("t", 1)}
        await trio.sleep(JUST_AFTER)
        assert await is_gone(client, group)


async def test_r8_no_time_at_all_and_less(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        client, group = await world.client(), world.group()
        for partition, retention in enumerate((0, -5)):
            await client.commit(group, {("t", partition): 1}, version=2, retention=retention)
        await trio.sleep(3)
        assert await is_gone(client, group)


async def test_r8_it_counts_also_after_members_left(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.commit({("t", 0): 1}, version=2, retention=20_000)
        await member.commit({("t", 1): 1}, version=2, retention=2 * MINUTE * 1000)
        await stay(30, member)
        assert set(await member.client.fetch(member.group)) == {("t", 0), ("t", 1)}, "it is consumed"
        await member.client.leave(member.group, member.id)
        await trio.sleep(3)
        assert set(await member.client.fetch(member.group)) == {("t", 1)}
        await trio.sleep(JUST_AFTER)
        assert set(await member.client.fetch(member.group)) == {("t", 1)}, "longer than the broker's minute"
        await trio.sleep(30)
        assert await is_gone(member.client, member.group)


async def test_r8_for_topics_that_nobody_consumes_but_not_for_others(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        member = await world.stable1(world.group())
        await member.commit({("t", 0): 1, ("u", 0): 2}, version=2, retention=1_000)
        await stay(5, member)
        assert set(await member.client.fetch(member.group)) == {("t", 0)}


async def test_r8_not_where_nothing_expires(make_world: MakeWorld):
    async with make_world(**SHORT) as world:
        worker = await connect_worker(world, world.group())
        await worker.commit({("t", 0): 1}, version=2, retention=1_000)
        first = await world.stable1(world.group(), rebalance=60_000)
        second = await world.member(first.group)
        await second.start_join()
        await first.commit({("u", 0): 1}, version=2, retention=1_000)
        await stay(5, worker, first)
        assert set(await worker.client.fetch(worker.group)) == {("t", 0)}
        assert set(await first.client.fetch(first.group)) == {("u", 0)}


@pytest.mark.parametrize("retention", [35_791_395, 2**31 - 1])
async def test_r9_a_very_long_retention_is_one(make_world: MakeWorld, retention: int):
    async with make_world(
        offsets_retention_minutes=retention,
        offsets_retention_check_interval_ms=3_600_000,
        offsets_topic_num_partitions=1,
    ) as world:
        client, group = await world.client(), world.group()
        await client.commit(group, {("t", 0): 1})
        await trio.sleep(3 * 86_400)
        assert await (await world.client()).fetch(group) == {("t", 0): (1, -1, "")}


async def test_the_first_look_comes_one_interval_after_the_start(make_world: MakeWorld):
    async with make_world(offsets_retention_check_interval_ms=10_000) as world:
        client, group = await world.client(), world.group()
        await client.commit(group, {("t", 0): 1}, version=2, retention=1)
        await trio.sleep(9)
        assert set(await client.fetch(group)) == {("t", 0)}
        await trio.sleep(2)
        assert await is_gone(client, group)


async def test_by_default_offsets_are_kept_for_a_week(make_world: MakeWorld):
    async with make_world(connections_max_idle_ms=-1, offsets_topic_num_partitions=1) as world:
        client, group = await world.client(), world.group()
        await client.commit(group, {("t", 0): 1})
        await trio.sleep(7 * 86_400 - 1)
        assert set(await client.fetch(group)) == {("t", 0)}
        await trio.sleep(601)
        assert await is_gone(client, group)
