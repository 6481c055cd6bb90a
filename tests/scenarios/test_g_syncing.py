"""Section G: SyncGroup, which hands out what the leader has decided."""

import pytest
import trio

from tests.scenarios.harness import Call, Member, World, settle
from tests.scenarios.steps import assert_sync_refused
from wire.errors import ErrorCode

VERSIONS = range(6)


async def refused(call: Call, error: ErrorCode) -> None:
    """Wait for the answer, which must be this error."""
    assert_sync_refused(await call.answer(), error)


async def heartbeat_for(members: list[Member], seconds: float, error: ErrorCode = ErrorCode.NONE) -> None:
    """Let these members heartbeat, each second, and be told `error` each time."""
    end = trio.current_time() + seconds
    while trio.current_time() < end:
        await trio.sleep(min(1, end - trio.current_time()))
        for member in members:
            assert await member.heartbeat() is error


# --- who may sync ---


async def test_g1_a_group_that_does_not_exist(world: World):
    client = await world.client()
    for version in VERSIONS:
        await refused(await client.sync(world.group(), -1, "m", version=version), ErrorCode.UNKNOWN_MEMBER_ID)


async def test_g2_the_empty_group_id(world: World):
    client = await world.client()
    for version in VERSIONS:
        await refused(await client.sync("", 1, "m", version=version), ErrorCode.INVALID_GROUP_ID)


async def test_g3_g4_g5_unknown_member_and_wrong_generations(world: World):
    member = await world.stable1(world.group())
    for version in VERSIONS:
        stranger = await member.client.sync(member.group, member.generation, "nobody", version=version)
        await refused(stranger, ErrorCode.UNKNOWN_MEMBER_ID)
        for generation in (member.generation + 1, member.generation - 1, -1):
            call = await member.client.sync(member.group, generation, member.id, version=version)
            await refused(call, ErrorCode.ILLEGAL_GENERATION)
    assert await member.heartbeat() is ErrorCode.NONE


async def test_g6_another_protocol(world: World):
    member = await world.stable1(world.group())
    await refused(await member.sync(protocol_name="other"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    await refused(await member.sync(protocol_type="other"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    # The member and its generation are looked at first.
    call = await member.client.sync(member.group, member.generation + 1, member.id, protocol_name="other")
    await refused(call, ErrorCode.ILLEGAL_GENERATION)
    call = await member.client.sync(member.group, member.generation, "nobody", protocol_name="other")
    await refused(call, ErrorCode.UNKNOWN_MEMBER_ID)


async def test_g7_version_5_must_name_the_protocol(world: World):
    member = await world.stable1(world.group())
    for lacking in ({"protocol_type": None}, {"protocol_name": None}):
        await refused(await member.sync(**lacking), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        for group in (world.group(), ""):
            call = await member.client.sync(group, -1, "m", **lacking)
            await refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


async def test_g8_older_versions_do_not_check_the_protocol(world: World):
    member = await world.stable1(world.group(), protocols=[("an odd name", b"")], protocol_type="an odd type")
    for version in range(5):
        answer = await (await member.sync(version=version)).answer()
        assert answer.error_code == ErrorCode.NONE
        assert answer.assignment == member.assignment
        assert answer.protocol_type is None
        assert answer.protocol_name is None


# --- who gets what ---


async def test_g9_the_leader_makes_the_group_stable(world: World):
    (leader,) = await world.completing(world.group(), None)
    assert (await leader.client.describe(leader.group)).group_state == "CompletingRebalance"
    answer = await (await leader.sync({leader.id: b"A"})).answer()
    assert answer.error_code == ErrorCode.NONE
    assert answer.assignment == b"A"
    assert answer.protocol_type == "consumer"
    assert answer.protocol_name == "range"
    assert answer.throttle_time_ms == 0
    assert (await leader.client.describe(leader.group)).group_state == "Stable"


async def test_g10_a_follower_waits_for_the_leader(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    assert await waiting.parked()
    answer = await (await leader.sync({leader.id: b"mine", follower.id: b"yours"})).answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"mine")
    answer = await waiting.answer(1)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


async def test_g11_the_leader_does_not_wait_for_a_follower(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    answer = await (await leader.sync({leader.id: b"mine", follower.id: b"yours"})).answer(1)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"mine")
    assert (await leader.client.describe(leader.group)).group_state == "Stable"
    answer = await (await follower.sync()).answer(1)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")


async def test_g12_a_member_that_the_leader_leaves_out(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    answer = await (await leader.sync({leader.id: b"everything"})).answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"everything")
    answer = await waiting.answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")


async def test_g13_no_assignments_at_all(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    for call in (await leader.sync({}), waiting):
        answer = await call.answer()
        assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")
    assert (await leader.client.describe(leader.group)).group_state == "Stable"


async def test_g14_an_assignment_for_nobody(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    answer = await (await leader.sync({"nobody": b"x", leader.id: b"mine", follower.id: b"yours"})).answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"mine")
    assert (await waiting.answer()).assignment == b"yours"
    members = (await leader.client.describe(leader.group)).members
    assert {one.member_id: one.member_assignment for one in members} == {leader.id: b"mine", follower.id: b"yours"}


async def test_g14_a_member_named_twice_gets_the_last(world: World):
    (leader,) = await world.completing(world.group(), None)
    pairs = [(leader.id, b"first"), (leader.id, b"last")]
    answer = await (await leader.client.sync(leader.group, leader.generation, leader.id, pairs)).answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"last")


async def test_g15_a_follower_decides_nothing(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync({leader.id: b"usurped", follower.id: b"usurped"})
    assert await waiting.parked()
    answer = await (await leader.sync({leader.id: b"mine", follower.id: b"yours"})).answer()
    assert answer.assignment == b"mine"
    assert (await waiting.answer()).assignment == b"yours"


async def test_g16_g17_in_stable_everybody_gets_what_was_decided(world: World):
    leader, follower = await world.stable2(world.group())
    for member in (leader, follower):
        for _ in range(2):
            answer = await (await member.sync()).answer()
            assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, member.assignment)
    answer = await (await leader.sync({leader.id: b"new", follower.id: b"new"})).answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, leader.assignment)
    assert (await (await follower.sync()).answer()).assignment == follower.assignment


async def test_g18_g19_during_a_rebalance(world: World):
    leader, _, _ = await world.preparing(world.group())
    await refused(await leader.sync(), ErrorCode.REBALANCE_IN_PROGRESS)
    for generation in (leader.generation + 1, leader.generation - 1, -1):
        call = await leader.client.sync(leader.group, generation, leader.id)
        await refused(call, ErrorCode.ILLEGAL_GENERATION)
    await refused(await leader.sync(protocol_name="other"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


async def test_g20_an_empty_group(world: World):
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert (await member.client.describe(member.group)).group_state == "Empty"
    await refused(await member.sync(), ErrorCode.UNKNOWN_MEMBER_ID)


async def test_g21_g22_static_members(world: World):
    leader, follower = await world.static2(world.group())
    for version in (3, 4, 5):
        for stranger in (follower.id, "nobody"):
            call = await leader.client.sync(
                leader.group, leader.generation, stranger, version=version, instance=leader.instance
            )
            await refused(call, ErrorCode.FENCED_INSTANCE_ID)
        await refused(await leader.sync(version=version, instance="i9"), ErrorCode.UNKNOWN_MEMBER_ID)
        answer = await (await leader.sync(version=version, instance=None)).answer()
        assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, leader.assignment)


# --- who comes too late ---


async def test_g23_the_leader_falls_silent(world: World):
    leader, follower = await world.completing(world.group(), None, None, session=6_000)
    joined = trio.current_time()
    waiting = await follower.sync()
    await refused(waiting, ErrorCode.REBALANCE_IN_PROGRESS)
    assert 5.5 < trio.current_time() - joined < 7.5
    assert await leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_g24_the_leader_never_syncs(world: World):
    leader, follower = await world.completing(world.group(), None, None, rebalance=7_000)
    joined = trio.current_time()
    waiting = await follower.sync()
    await heartbeat_for([leader], 6)
    await refused(waiting, ErrorCode.REBALANCE_IN_PROGRESS)
    assert 6.5 < trio.current_time() - joined < 8.5
    assert await leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    answer = await follower.finish_join()
    assert answer.generation_id == 2
    assert [one.member_id for one in answer.members] == [follower.id]


async def test_g25_a_follower_never_syncs(world: World):
    leader, follower = await world.completing(world.group(), None, None, rebalance=7_000)
    assert (await (await leader.sync({})).answer()).error_code == ErrorCode.NONE
    await heartbeat_for([leader, follower], 6)
    assert (await leader.client.describe(leader.group)).group_state == "Stable"
    await trio.sleep(2)
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    members = (await leader.client.describe(leader.group)).members
    assert [one.member_id for one in members] == [leader.id]


async def test_g26_nobody_syncs(world: World):
    members = await world.completing(world.group(), None, None, rebalance=7_000)
    await heartbeat_for(members, 6)
    await trio.sleep(2)
    for member in members:
        assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    described = await members[0].client.describe(members[0].group)
    assert (described.group_state, described.members) == ("Empty", [])
    assert (await world.stable1(members[0].group)).generation == 3


async def test_g27_everybody_syncs(world: World):
    members = await world.stable(world.group(), None, None, rebalance=7_000)
    await heartbeat_for(members, 9)
    assert (await members[0].client.describe(members[0].group)).group_state == "Stable"


async def test_g28_whoever_waits_does_not_expire(world: World):
    leader, follower = await world.completing(world.group(), None, None, session=6_000)
    waiting = await follower.sync()
    await heartbeat_for([leader], 9)
    assert await waiting.parked()
    await leader.sync({follower.id: b"yours"})
    answer = await waiting.answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")
    assert await follower.heartbeat() is ErrorCode.NONE


async def test_g29_g30_the_leader_leaves(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    assert await waiting.parked()
    left = await leader.client.leave(leader.group, leader.id)
    assert (left.error_code, left.members[0].error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert_sync_refused(await waiting.answer(1), ErrorCode.REBALANCE_IN_PROGRESS)
    await follower.start_join()
    answer = await follower.finish_join()
    assert answer.generation_id == 2
    assert follower.leads
    assert [one.member_id for one in answer.members] == [follower.id]
    await settle([follower])


# --- what travels ---


@pytest.mark.parametrize("version", VERSIONS)
async def test_g31_assignments_are_only_bytes(world: World, version: int):
    (leader,) = await world.completing(world.group(), None)
    large = bytes(range(256)) * 400
    answer = await (await leader.sync({leader.id: large}, version=version)).answer()
    assert answer.error_code == ErrorCode.NONE
    assert answer.assignment == large
    assert (await (await leader.sync()).answer()).assignment == large


async def test_g31_an_assignment_of_one_byte(world: World):
    (leader,) = await world.completing(world.group(), None)
    assert (await (await leader.sync({leader.id: b"\xff"})).answer()).assignment == b"\xff"


async def test_g32_a_sync_sent_again_from_elsewhere(world: World):
    leader, follower = await world.completing(world.group(), None, None)
    first = await follower.sync()
    assert await first.parked()
    elsewhere = await world.client()
    second = await elsewhere.sync(follower.group, follower.generation, follower.id)
    assert await second.parked()
    await leader.sync({follower.id: b"yours"})
    answer = await second.answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")
    # Apache Kafka never answers the first; an error that says "join again" harms nobody, and frees the connection.
    if not await first.parked():
        assert_sync_refused(first.response, ErrorCode.REBALANCE_IN_PROGRESS)
