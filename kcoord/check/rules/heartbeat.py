"""Heartbeats, and the session that they keep alive."""

import trio

from kcoord.check.member import settle
from kcoord.check.rule import rule
from kcoord.check.steps import repeat
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import HeartbeatRequest

HANDLED = "Apache Kafka GroupMetadataManager.classicGroupHeartbeatToClassicGroup"
CHECKED = "Apache Kafka GroupMetadataManager.validateClassicGroupHeartbeat"
MEMBER = "Apache Kafka ClassicGroup.validateMember"
EXPIRED = "Apache Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat"

# --- what a heartbeat is told ---


@rule(
    id="H1",
    api="Heartbeat",
    says="In a group that does not exist nobody is a member, whatever generation is named.",
    source="Apache Kafka GroupMetadataManager.classicGroupHeartbeat",
    versions="0-4",
)
async def h1(world: World) -> None:
    client = await world.client()
    for version in world.offered(HeartbeatRequest):
        for generation in (-1, 0, 1):
            error = await client.heartbeat(world.group(), generation, "m", version=version)
            assert error is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="H2",
    api="Heartbeat",
    says="The empty group id is refused as such.",
    source="Apache Kafka GroupCoordinatorService.heartbeat",
    versions="0-4",
)
async def h2(world: World) -> None:
    client = await world.client()
    for version in world.offered(HeartbeatRequest):
        assert await client.heartbeat("", -1, "m", version=version) is ErrorCode.INVALID_GROUP_ID


@rule(
    id="H3",
    api="Heartbeat",
    says="Who is no member is told so before the generation is looked at.",
    source=f"{CHECKED}: the member is validated before the generation",
    versions="0-4",
    cost=3.1,
    also="H10",
)
async def h3(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(HeartbeatRequest):
        for generation in (member.generation, member.generation + 1, -1):
            error = await member.client.heartbeat(member.group, generation, "nobody", version=version)
            assert error is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="H4",
    api="Heartbeat",
    says="A member that names another generation than the group's is refused, and the group does not mind.",
    source=CHECKED,
    versions="0-4",
    cost=3.1,
)
async def h4(world: World) -> None:
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    for version in world.offered(HeartbeatRequest):
        for generation in (member.generation + 1, member.generation - 1, -1):
            error = await client.heartbeat(group, generation, member.id, version=version)
            assert error is ErrorCode.ILLEGAL_GENERATION
    assert (await client.describe(group)).group_state == "Stable"


@rule(
    id="H5",
    api="Heartbeat",
    says="Members may heartbeat before the leader has sent the assignments.",
    source=f"{HANDLED}: CompletingRebalance is answered as Stable is",
    versions="0-4",
    cost=3.1,
)
async def h5(world: World) -> None:
    (member,) = await world.completing(world.group(), None)
    assert await member.heartbeat() is ErrorCode.NONE
    assert await member.client.heartbeat(member.group, member.generation - 1, member.id) is ErrorCode.ILLEGAL_GENERATION
    assert (await member.client.describe(member.group)).group_state == "CompletingRebalance"


@rule(
    id="H6",
    api="Heartbeat",
    says="A member of the current generation of a stable group is told nothing.",
    source=HANDLED,
    versions="0-4",
    cost=3.1,
)
async def h6(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(HeartbeatRequest):
        assert await member.heartbeat(version=version) is ErrorCode.NONE


@rule(
    id="H7",
    api="Heartbeat",
    says="During a rebalance members are told of it, also those whose JoinGroup waits already.",
    source=f"{HANDLED}: PreparingRebalance",
    versions="0-4",
    cost=6.8,
    also="H8 A25",
)
async def h7(world: World) -> None:
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


@rule(
    id="H9",
    api="Heartbeat",
    says="Who has left is no member, though the group is still there.",
    source=MEMBER,
    versions="0-4",
    cost=3.1,
)
async def h9(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert (await member.client.describe(member.group)).group_state == "Empty"
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    member.generation += 1
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="H11",
    api="Heartbeat",
    says="Who was only handed out a member id is no member.",
    source=f"KIP-394; {MEMBER}",
    versions="0-4",
)
async def h11(world: World) -> None:
    client = await world.client()
    group = world.group()
    pending = (await (await client.join(group)).answer()).member_id
    for generation in (-1, 0, 1):
        assert await client.heartbeat(group, generation, pending) is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="H11b",
    api="Heartbeat",
    says="Who was only handed out a member id is no member, also where others are.",
    source=f"KIP-394; {MEMBER}",
    versions="0-4",
    cost=3.1,
)
async def h11b(world: World) -> None:
    member = await world.stable1(world.group())
    pending = (await (await member.client.join(member.group)).answer()).member_id
    error = await member.client.heartbeat(member.group, member.generation, pending)
    assert error is ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="H12",
    api="Heartbeat",
    says="An instance id is checked before member and generation: it must be known, and belong to the member.",
    source=f"KIP-345; {MEMBER}",
    versions="3-4",
    cost=6.1,
)
async def h12(world: World) -> None:
    leader, follower = await world.static2(world.group())
    client, group, generation = leader.client, leader.group, leader.generation
    for version in world.offered(HeartbeatRequest, (3, 4)):
        assert await leader.heartbeat(version=version) is ErrorCode.NONE
        assert await leader.heartbeat(version=version, instance=None) is ErrorCode.NONE
        assert await leader.heartbeat(version=version, instance="i9") is ErrorCode.UNKNOWN_MEMBER_ID
        assert await leader.heartbeat(version=version, instance=follower.instance) is ErrorCode.FENCED_INSTANCE_ID
        error = await client.heartbeat(group, generation + 1, "nobody", version=version, instance="i1")
        assert error is ErrorCode.FENCED_INSTANCE_ID


@rule(
    id="H12b",
    api="Heartbeat",
    says="A dynamic member that names an instance id is not known under it.",
    source=f"KIP-345; {MEMBER}",
    versions="3-4",
    cost=3.1,
)
async def h12b(world: World) -> None:
    member = await world.stable1(world.group())
    assert await member.heartbeat(instance="i9") is ErrorCode.UNKNOWN_MEMBER_ID


# --- how long a session lasts ---


@rule(
    id="H13",
    api="Heartbeat",
    says="Who is silent for the session timeout is no member any more; the group is empty, one generation later.",
    source=EXPIRED,
    versions="0-4",
    cost=13.2,
)
async def h13(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(5.2)
    assert (await member.client.describe(member.group)).group_state == "Stable"
    await trio.sleep(1.8)
    described = await member.client.describe(member.group)
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "consumer", [])
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await world.stable1(member.group)).generation == 3


@rule(
    id="H14",
    api="Heartbeat",
    says="Heartbeats keep a member for longer than its session timeout.",
    source=HANDLED,
    versions="0-4",
    cost=21.1,
)
async def h14(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    assert set(await repeat(member.heartbeat, 18, 3)) == {ErrorCode.NONE}
    assert (await member.client.describe(member.group)).group_state == "Stable"


@rule(
    id="H15",
    api="Heartbeat",
    says="Heartbeats that are told of a rebalance keep the session alive, too.",
    source=f"{HANDLED}: PreparingRebalance",
    versions="0-4",
    cost=18.5,
)
async def h15(world: World) -> None:
    leader, follower, third = await world.preparing(world.group(), session=6_000)

    async def both() -> list[ErrorCode]:
        return [await leader.heartbeat(), await follower.heartbeat()]

    answers = await repeat(both, 12, 3)
    assert answers == [[ErrorCode.REBALANCE_IN_PROGRESS] * 2] * 4
    assert (await leader.client.describe(leader.group)).group_state == "PreparingRebalance"
    await leader.start_join()
    await follower.start_join()
    for member in (leader, follower, third):
        assert (await member.finish_join()).generation_id == 2


@rule(
    id="H16",
    api="OffsetCommit",
    says="Commits of a member keep its session alive without heartbeats.",
    source="Apache Kafka OffsetMetadataManager.commitOffset",
    versions="2-10",
    cost=19.2,
)
async def h16(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)

    async def commit() -> dict[tuple[str, int], ErrorCode]:
        return await member.commit({(world.t, 0): 1})

    assert await repeat(commit, 12, 3) == [{(world.t, 0): ErrorCode.NONE}] * 4
    await trio.sleep(4)
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="H16b",
    api="OffsetCommit",
    says="A commit that is refused because its metadata is too long keeps the session alive, too.",
    source="Apache Kafka OffsetMetadataManager.commitOffset: the session is renewed before partitions are looked at",
    versions="2-10",
    settings={"offset.metadata.max.bytes": 4_096},
    cost=12.2,
)
async def h16b(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)

    async def commit() -> dict[tuple[str, int], ErrorCode]:
        return await member.commit({(world.t, 0): (1, "x" * 4097)})

    assert await repeat(commit, 9, 3) == [{(world.t, 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}] * 3
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="H17",
    api="Heartbeat",
    says="Neither requests that only ask nor those that are refused keep a session alive.",
    source=f"{CHECKED}; Apache Kafka KafkaApis.handleOffsetCommitRequest for unknown topics",
    versions="3-4",
    cost=10.4,
)
async def h17(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    client, group = member.client, member.group
    nope = world.topic("nope")

    async def be_busy() -> ErrorCode:
        await client.fetch(group, {world.t: [0]})
        await client.describe(group)
        # A commit of unknown topics only never reaches the group.
        assert await member.commit({(nope, 0): 1}) == {(nope, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert await member.heartbeat(instance="i9") is ErrorCode.UNKNOWN_MEMBER_ID
        return await client.heartbeat(group, member.generation + 1, member.id)

    assert await repeat(be_busy, 5, 1) == [ErrorCode.ILLEGAL_GENERATION] * 5
    await trio.sleep(2)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await client.describe(group)).group_state == "Empty"


@rule(
    id="H18",
    api="Heartbeat",
    says="When a session ends the other members are told of a rebalance, and go on without the one that is gone.",
    source=EXPIRED,
    versions="0-4",
    cost=13.2,
    also="S6",
)
async def h18(world: World) -> None:
    leader, follower = await world.stable2(world.group(), session=6_000)
    assert set(await repeat(leader.heartbeat, 5, 1)) == {ErrorCode.NONE}
    await trio.sleep(2)
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    await leader.start_join()
    answer = await leader.finish_join()
    assert answer.generation_id == 2
    assert [one.member_id for one in answer.members] == [leader.id]


@rule(
    id="H19",
    api="JoinGroup",
    says="While its JoinGroup waits a member need not be heard of: its session begins anew with the answer.",
    source="Apache Kafka GroupMetadataManager.completeClassicGroupJoin; ClassicGroupMember.hasSatisfiedHeartbeat",
    versions="0-9",
    cost=19.2,
)
async def h19(world: World) -> None:
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


@rule(
    id="H19b",
    api="Heartbeat",
    says="A newcomer whose JoinGroup waits has five minutes, until a heartbeat in its name starts its session.",
    source="Apache Kafka GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat; GroupCoordinatorConfig: 5 minutes",
    versions="0-4",
    cost=12.5,
)
async def h19b(world: World) -> None:
    leader, follower, newcomer = await world.preparing(world.group(), session=6_000)
    call = newcomer.call
    assert call is not None
    elsewhere = await world.client()
    error = await elsewhere.heartbeat(newcomer.group, leader.generation, newcomer.id)
    assert error is ErrorCode.REBALANCE_IN_PROGRESS
    began = trio.current_time()

    async def others() -> list[ErrorCode]:
        return [await leader.heartbeat(), await follower.heartbeat()]

    assert await repeat(others, 5, 1) == [[ErrorCode.REBALANCE_IN_PROGRESS] * 2] * 5
    answer = await call.answer(3)
    assert 5.5 < trio.current_time() - began < 7.5
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


@rule(
    id="H20",
    api="Heartbeat",
    says="Each member has the session timeout that it asked for.",
    source=f"{EXPIRED}; ClassicGroupMember.sessionTimeoutMs",
    versions="0-4",
    cost=13.7,
)
async def h20(world: World) -> None:
    group = world.waiting_group()
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


@rule(
    id="H21",
    api="SyncGroup",
    says="A session begins anew when a SyncGroup that waited is answered.",
    source="Apache Kafka GroupMetadataManager.propagateAssignment",
    versions="0-5",
    cost=16.3,
)
async def h21(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None, session=6_000)
    waiting = await follower.sync()
    assert set(await repeat(leader.heartbeat, 5, 1)) == {ErrorCode.NONE}
    await leader.sync({follower.id: b"yours"})
    assert (await waiting.answer()).assignment == b"yours"
    await trio.sleep(5)
    assert await follower.heartbeat() is ErrorCode.NONE


@rule(
    id="H22",
    api="SyncGroup",
    says="A SyncGroup that is answered at once does not keep the session alive.",
    source="Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup; GroupCoordinator up to 3.9 counted it",
    versions="0-5",
    cost=10.2,
    since="4.0",
)
async def h22(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(4)
    assert (await (await member.sync()).answer()).error_code == ErrorCode.NONE
    await trio.sleep(3)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="H23",
    api="Heartbeat",
    says="When the session of the only one ends that has not rejoined, those that wait are answered.",
    source=f"{EXPIRED}: the join phase is completed if everybody else is there",
    versions="0-4",
    cost=12.2,
)
async def h23(world: World) -> None:
    leader, follower, third = await world.preparing(world.group(), session=6_000)
    began = trio.current_time()
    await leader.start_join()
    for member in (leader, third):
        assert (await member.finish_join()).generation_id == 2
    assert trio.current_time() - began < 7.5
    assert set(leader.listed) == {leader.id, third.id}
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
