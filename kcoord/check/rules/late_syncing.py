"""Leaders and followers that sync late, or never: how long they have, and what becomes of the others."""

import trio

from kcoord.check.member import Member, settle
from kcoord.check.rule import rule
from kcoord.check.steps import assert_sync_refused, leave, repeat
from kcoord.check.world import World
from wire.errors import ErrorCode

EXPIRED = "Apache Kafka GroupMetadataManager.expirePendingSync"
PREPARED = "Apache Kafka GroupMetadataManager.prepareRebalance"
SYNCED = "Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup"


async def told(*members: Member) -> set[ErrorCode]:
    """Heartbeat for each of these members, and return what they are told."""
    return {await member.heartbeat() for member in members}


@rule(
    id="G23",
    api="SyncGroup",
    says="A follower that waits is told to rejoin when the session of the leader ends.",
    source=f"Apache Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat; {PREPARED}",
    versions="0-5",
    cost=12.1,
)
async def g23(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None, session=6_000)
    joined = trio.current_time()
    waiting = await follower.sync()
    assert_sync_refused(await waiting.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert 5.5 < trio.current_time() - joined < 7.5
    assert await leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="G24",
    api="SyncGroup",
    says="A leader that heartbeats but does not sync within the rebalance timeout is removed; who waits must rejoin.",
    source=f"{EXPIRED}; prepareRebalance",
    versions="0-5",
    cost=13.1,
)
async def g24(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None, rebalance=7_000)
    joined = trio.current_time()
    waiting = await follower.sync()
    assert set(await repeat(leader.heartbeat, 6, 1)) == {ErrorCode.NONE}
    assert_sync_refused(await waiting.answer(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert 6.5 < trio.current_time() - joined < 8.5
    assert await leader.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await follower.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await follower.start_join()
    answer = await follower.finish_join()
    assert answer.generation_id == 2
    assert [one.member_id for one in answer.members] == [follower.id]


@rule(
    id="G25",
    api="SyncGroup",
    says="A follower that heartbeats but does not sync within the rebalance timeout is removed from a stable group.",
    source=f"{EXPIRED}: Stable",
    versions="0-5",
    cost=14.1,
)
async def g25(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None, rebalance=7_000)
    assert (await (await leader.sync({})).answer()).error_code == ErrorCode.NONE
    assert await repeat(lambda: told(leader, follower), 6, 1) == [{ErrorCode.NONE}] * 6
    assert (await leader.client.describe(leader.group)).group_state == "Stable"
    await trio.sleep(2)
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    members = (await leader.client.describe(leader.group)).members
    assert [one.member_id for one in members] == [leader.id]


@rule(
    id="G26",
    api="SyncGroup",
    says="If nobody syncs within the rebalance timeout all are removed; the group is empty, one generation later.",
    source=f"{EXPIRED}; prepareRebalance",
    versions="0-5",
    cost=17.1,
)
async def g26(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None, rebalance=7_000)
    assert await repeat(lambda: told(leader, follower), 6, 1) == [{ErrorCode.NONE}] * 6
    await trio.sleep(2)
    assert await told(leader, follower) == {ErrorCode.UNKNOWN_MEMBER_ID}
    described = await leader.client.describe(leader.group)
    assert (described.group_state, described.members) == ("Empty", [])
    assert (await world.stable1(leader.group)).generation == 3


@rule(
    id="G27",
    api="SyncGroup",
    says="If everybody has synced, nothing happens when the rebalance timeout is over.",
    source="Apache Kafka GroupMetadataManager.removePendingSyncMember",
    versions="0-5",
    cost=15.1,
)
async def g27(world: World) -> None:
    leader, follower = await world.stable(world.group(), None, None, rebalance=7_000)
    assert await repeat(lambda: told(leader, follower), 9, 1) == [{ErrorCode.NONE}] * 9
    assert (await leader.client.describe(leader.group)).group_state == "Stable"


@rule(
    id="G28",
    api="SyncGroup",
    says="A follower whose SyncGroup waits need not heartbeat, even for longer than its session timeout.",
    source="Apache Kafka ClassicGroupMember.hasSatisfiedHeartbeat",
    versions="0-5",
    cost=15.4,
)
async def g28(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None, session=6_000)
    waiting = await follower.sync()
    assert set(await repeat(leader.heartbeat, 9, 1)) == {ErrorCode.NONE}
    assert await waiting.parked()
    await leader.sync({follower.id: b"yours"})
    answer = await waiting.answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="G29",
    api="LeaveGroup",
    says="If the leader leaves, a follower that waits for the assignments is told to rejoin, and leads the next time.",
    source=f"{PREPARED}; ClassicGroup.maybeElectNewJoinedLeader",
    versions="3-5",
    cost=6.4,
    also="G30",
)
async def g29(world: World) -> None:
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


# --- followers that wait, and one that waits no more ---


@rule(
    id="joining-16",
    api="SyncGroup",
    says="Followers wait for the leader however long it takes; who is left out gets nothing, and no error.",
    source=SYNCED,
    versions="0-5",
    cost=11.9,
)
async def joining_16(world: World) -> None:
    leader, first, second = await world.completing(world.group(), None, None, None)
    calls = [await first.sync(), await second.sync()]
    await trio.sleep(5)
    for call in calls:
        assert await call.parked()
    mine = await leader.sync({leader.id: b"\x00\x01mine", first.id: b"\x00\x01yours"})
    assert (await mine.answer()).assignment == b"\x00\x01mine"
    answers = [await call.answer() for call in calls]
    assert [(answer.error_code, answer.assignment) for answer in answers] == [
        (ErrorCode.NONE, b"\x00\x01yours"),
        (ErrorCode.NONE, b""),
    ]
    assert (await (await first.sync()).answer()).assignment == b"\x00\x01yours"
    assert (await (await second.sync()).answer()).assignment == b""


@rule(
    id="joining-17",
    api="SyncGroup",
    says="A follower that sends assignments for everybody waits all the same, and the leader's hold.",
    source=f"{SYNCED}: only the leader's are taken",
    versions="0-5",
    cost=6.6,
)
async def joining_17(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    members = (leader, follower)
    call = await follower.sync({member.id: b"usurped" for member in members})
    assert await call.parked()
    mine = await leader.sync({member.id: b"legitimate" for member in members})
    assert (await mine.answer()).assignment == b"legitimate"
    assert (await call.answer()).assignment == b"legitimate"


@rule(
    id="joining-21",
    api="SyncGroup",
    says="A member that leaves while its SyncGroup waits never gets an assignment.",
    source=f"{SYNCED}; ClassicGroup.validateMember",
    versions="0-5",
    cost=7.3,
)
async def joining_21(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    call = await follower.sync()
    assert await call.parked()
    client = await world.client()
    assert await leave(client, follower.group, follower.id) is ErrorCode.NONE
    # Apache Kafka never answers this one. An error is allowed, an assignment is not.
    if not await call.parked():
        assert_sync_refused(call.response, ErrorCode.UNKNOWN_MEMBER_ID)
    await leader.start_join()
    await leader.finish_join()
    assert (leader.generation, leader.listed) == (2, (leader.id,))
    await settle([leader])
    again = await client.sync(follower.group, leader.generation, follower.id)
    assert_sync_refused(await again.answer(), ErrorCode.UNKNOWN_MEMBER_ID)
