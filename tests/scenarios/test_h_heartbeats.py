"""Section H: heartbeats, and the session that they keep alive."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from tests.scenarios.harness import World, settle
from wire.errors import ErrorCode

VERSIONS = range(5)


async def repeat(what: Callable[[], Awaitable[Any]], seconds: float, every: float) -> list[Any]:
    """Do something every so many seconds, for so long; return what came of it each time."""
    results = []
    end = trio.current_time() + seconds
    while trio.current_time() < end - 0.001:
        await trio.sleep(every)
        results.append(await what())
    return results


# --- what a heartbeat is told ---


async def test_h1_a_group_that_does_not_exist(world: World):
    client = await world.client()
    for version in VERSIONS:
        for generation in (-1, 0, 1):
            error = await client.heartbeat(world.group(), generation, "m", version=version)
            assert error is ErrorCode.UNKNOWN_MEMBER_ID


async def test_h2_the_empty_group_id(world: World):
    client = await world.client()
    for version in VERSIONS:
        assert await client.heartbeat("", -1, "m", version=version) is ErrorCode.INVALID_GROUP_ID


async def test_h3_h4_h6_h10_member_and_generation(world: World):
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    for version in VERSIONS:
        assert await member.heartbeat(version=version) is ErrorCode.NONE
        for generation in (member.generation, member.generation + 1, -1):
            error = await client.heartbeat(group, generation, "nobody", version=version)
            assert error is ErrorCode.UNKNOWN_MEMBER_ID
        for generation in (member.generation + 1, member.generation - 1, -1):
            error = await client.heartbeat(group, generation, member.id, version=version)
            assert error is ErrorCode.ILLEGAL_GENERATION
    assert (await client.describe(group)).group_state == "Stable"


async def test_h5_before_the_assignments_are_known(world: World):
    (member,) = await world.completing(world.group(), None)
    assert await member.heartbeat() is ErrorCode.NONE
    assert await member.client.heartbeat(member.group, member.generation - 1, member.id) is ErrorCode.ILLEGAL_GENERATION
    assert (await member.client.describe(member.group)).group_state == "CompletingRebalance"


async def test_h7_h8_during_a_rebalance(world: World):
    leader, follower, third = await world.preparing(world.group())
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    call = await leader.start_join()
    assert await call.parked()
    elsewhere = await world.client()
    error = await elsewhere.heartbeat(leader.group, leader.generation, leader.id)
    assert error is ErrorCode.REBALANCE_IN_PROGRESS
    # The third has not been told of any generation; the group has one all the same.
    error = await elsewhere.heartbeat(third.group, leader.generation, third.id)
    assert error is ErrorCode.REBALANCE_IN_PROGRESS
    assert await elsewhere.heartbeat(third.group, -1, third.id) is ErrorCode.ILLEGAL_GENERATION


async def test_h9_an_empty_group(world: World):
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert (await member.client.describe(member.group)).group_state == "Empty"
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    member.generation += 1
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_h11_an_id_that_is_only_handed_out(world: World):
    client = await world.client()
    group = world.group()
    pending = (await (await client.join(group)).answer()).member_id
    for generation in (-1, 0, 1):
        assert await client.heartbeat(group, generation, pending) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_h11_an_id_that_is_only_handed_out_next_to_a_member(world: World):
    member = await world.stable1(world.group())
    pending = (await (await member.client.join(member.group)).answer()).member_id
    error = await member.client.heartbeat(member.group, member.generation, pending)
    assert error is ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.heartbeat() is ErrorCode.NONE


async def test_h12_static_members(world: World):
    leader, follower = await world.static2(world.group())
    client, group, generation = leader.client, leader.group, leader.generation
    for version in (3, 4):
        assert await leader.heartbeat(version=version) is ErrorCode.NONE
        assert await leader.heartbeat(version=version, instance=None) is ErrorCode.NONE
        assert await leader.heartbeat(version=version, instance="i9") is ErrorCode.UNKNOWN_MEMBER_ID
        assert await leader.heartbeat(version=version, instance=follower.instance) is ErrorCode.FENCED_INSTANCE_ID
        error = await client.heartbeat(group, generation + 1, "nobody", version=version, instance="i1")
        assert error is ErrorCode.FENCED_INSTANCE_ID


async def test_h12_a_dynamic_member_with_an_instance_id(world: World):
    member = await world.stable1(world.group())
    assert await member.heartbeat(instance="i9") is ErrorCode.UNKNOWN_MEMBER_ID


# --- how long a session lasts ---


async def test_h13_silence_ends_it(world: World):
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(5.2)
    assert (await member.client.describe(member.group)).group_state == "Stable"
    await trio.sleep(1.8)
    described = await member.client.describe(member.group)
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "consumer", [])
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await world.stable1(member.group)).generation == 3


async def test_h14_heartbeats_keep_it_alive(world: World):
    member = await world.stable1(world.group(), session=6_000)
    assert set(await repeat(member.heartbeat, 18, 3)) == {ErrorCode.NONE}
    assert (await member.client.describe(member.group)).group_state == "Stable"


async def test_h15_heartbeats_during_a_rebalance_keep_it_alive(world: World):
    leader, follower, third = await world.preparing(world.group(), session=6_000)

    async def both():
        return [await leader.heartbeat(), await follower.heartbeat()]

    answers = await repeat(both, 12, 3)
    assert answers == [[ErrorCode.REBALANCE_IN_PROGRESS] * 2] * 4
    assert (await leader.client.describe(leader.group)).group_state == "PreparingRebalance"
    await leader.start_join()
    await follower.start_join()
    for member in (leader, follower, third):
        assert (await member.finish_join()).generation_id == 2


async def test_h16_commits_keep_it_alive(world: World):
    member = await world.stable1(world.group(), session=6_000)

    async def commit():
        return await member.commit({("t", 0): 1})

    assert await repeat(commit, 12, 3) == [{("t", 0): ErrorCode.NONE}] * 4
    await trio.sleep(4)
    assert await member.heartbeat() is ErrorCode.NONE


async def test_h16_a_commit_that_is_too_long_keeps_it_alive_too(world: World):
    member = await world.stable1(world.group(), session=6_000)

    async def commit():
        return await member.commit({("t", 0): (1, "x" * 4097)})

    assert await repeat(commit, 9, 3) == [{("t", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}] * 3
    assert await member.heartbeat() is ErrorCode.NONE


async def test_h17_nothing_else_keeps_it_alive(world: World):
    member = await world.stable1(world.group(), session=6_000)
    client, group = member.client, member.group

    async def be_busy():
        await client.fetch(group, {"t": [0]})
        await client.describe(group)
        # A commit of unknown topics only never reaches the group.
        assert await member.commit({("nope", 0): 1}) == {("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert await member.heartbeat(instance="i9") is ErrorCode.UNKNOWN_MEMBER_ID
        return await client.heartbeat(group, member.generation + 1, member.id)

    assert await repeat(be_busy, 5, 1) == [ErrorCode.ILLEGAL_GENERATION] * 5
    await trio.sleep(2)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await client.describe(group)).group_state == "Empty"


async def test_h18_the_others_are_told(world: World):
    leader, follower = await world.stable2(world.group(), session=6_000)
    assert set(await repeat(leader.heartbeat, 5, 1)) == {ErrorCode.NONE}
    await trio.sleep(2)
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    await leader.start_join()
    answer = await leader.finish_join()
    assert answer.generation_id == 2
    assert [one.member_id for one in answer.members] == [leader.id]


async def test_h19_it_begins_anew_when_the_join_is_answered(world: World):
    leader, follower = await world.stable2(world.group(), session=6_000)
    newcomer = await world.member(leader.group, session=6_000)
    await newcomer.start_join()
    await leader.start_join()
    # The two that wait are silent for longer than a session.
    assert set(await repeat(follower.heartbeat, 8, 2)) == {ErrorCode.REBALANCE_IN_PROGRESS}
    await follower.start_join()
    for member in (leader, follower, newcomer):
        assert (await member.finish_join()).generation_id == 2
    await trio.sleep(5)
    for member in (leader, follower, newcomer):
        assert await member.heartbeat() is ErrorCode.NONE


async def test_h19_a_heartbeat_for_a_newcomer_that_waits_starts_its_session(world: World):
    # Nothing but its JoinGroup is heard of a newcomer for five minutes; but one heartbeat, and its session runs.
    leader, follower, newcomer = await world.preparing(world.group(), session=6_000)
    call = newcomer.call
    assert call is not None
    elsewhere = await world.client()
    error = await elsewhere.heartbeat(newcomer.group, leader.generation, newcomer.id)
    assert error is ErrorCode.REBALANCE_IN_PROGRESS
    began = trio.current_time()

    async def others():
        return [await leader.heartbeat(), await follower.heartbeat()]

    assert await repeat(others, 5, 1) == [[ErrorCode.REBALANCE_IN_PROGRESS] * 2] * 5
    answer = await call.answer(3)
    assert 5.5 < trio.current_time() - began < 7.5
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


async def test_h20_each_member_has_its_own(world: World):
    group = world.group()
    short = await world.member(group, session=6_000)
    long = await world.member(group, session=30_000)
    for member in (short, long):
        await member.start_join()
    for member in (short, long):
        await member.finish_join()
    await settle([short, long])
    await trio.sleep(7.5)
    assert await short.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await long.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


async def test_h21_it_begins_anew_when_a_waiting_sync_is_answered(world: World):
    leader, follower = await world.completing(world.group(), None, None, session=6_000)
    waiting = await follower.sync()
    assert set(await repeat(leader.heartbeat, 5, 1)) == {ErrorCode.NONE}
    await leader.sync({follower.id: b"yours"})
    assert (await waiting.answer()).assignment == b"yours"
    await trio.sleep(5)
    assert await follower.heartbeat() is ErrorCode.NONE


async def test_h22_a_sync_that_is_answered_at_once_does_not_count(world: World):
    # Apache Kafka up to 3.9 counted it.
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(4)
    assert (await (await member.sync()).answer()).error_code == ErrorCode.NONE
    await trio.sleep(3)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_h23_the_last_one_missing_expires(world: World):
    leader, follower, third = await world.preparing(world.group(), session=6_000)
    began = trio.current_time()
    await leader.start_join()
    for member in (leader, third):
        assert (await member.finish_join()).generation_id == 2
    assert trio.current_time() - began < 7.5
    assert set(leader.listed) == {leader.id, third.id}
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
