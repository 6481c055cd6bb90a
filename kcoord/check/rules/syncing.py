"""SyncGroup, which hands out what the leader has decided."""

from typing import Any

from kcoord.check.probe import Call
from kcoord.check.rule import rule
from kcoord.check.steps import assert_sync_refused, start_in_order
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import SyncGroupRequest

SERVICE = "Apache Kafka GroupCoordinatorService.syncGroup"
FOUND = "Apache Kafka GroupMetadataManager.classicGroupSync"
HANDLED = "Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup"
CHECKED = "Apache Kafka GroupMetadataManager.validateSyncGroup"
NAMED = "KIP-559; Apache Kafka SyncGroupRequest.areMandatoryProtocolTypeAndNamePresent"
MEMBER = "KIP-345; Apache Kafka ClassicGroup.validateMember"


async def refused(call: Call, error: ErrorCode) -> None:
    """Wait for the answer, which must be this error."""
    assert_sync_refused(await call.answer(), error)


async def given(call: Call, assignment: bytes) -> Any:
    """Wait for the answer, which must be good and bring this assignment; return it."""
    answer = await call.answer()
    assert answer.error_code == ErrorCode.NONE
    assert answer.assignment == assignment
    return answer


# --- who may sync ---


@rule(
    id="G1",
    api="SyncGroup",
    says="In a group that does not exist nobody is a member.",
    source=FOUND,
    versions="0-5",
)
async def g1(world: World) -> None:
    client = await world.client()
    for version in world.offered(SyncGroupRequest):
        await refused(await client.sync(world.group(), -1, "m", version=version), ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="G2",
    api="SyncGroup",
    says="The empty group id is refused as such.",
    source=SERVICE,
    versions="0-5",
)
async def g2(world: World) -> None:
    client = await world.client()
    for version in world.offered(SyncGroupRequest):
        await refused(await client.sync("", 1, "m", version=version), ErrorCode.INVALID_GROUP_ID)


@rule(
    id="G3",
    api="SyncGroup",
    says="Who is no member is told so.",
    source=f"{CHECKED}; ClassicGroup.validateMember",
    versions="0-5",
    cost=3.1,
)
async def g3(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(SyncGroupRequest):
        for generation in (member.generation, member.generation + 1, -1):
            call = await member.client.sync(member.group, generation, "nobody", version=version)
            await refused(call, ErrorCode.UNKNOWN_MEMBER_ID)
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="G4",
    api="SyncGroup",
    says="A member that names another generation than the group's is refused.",
    source=CHECKED,
    versions="0-5",
    cost=3.1,
    also="G5",
)
async def g4(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(SyncGroupRequest):
        for generation in (member.generation + 1, member.generation - 1, -1):
            call = await member.client.sync(member.group, generation, member.id, version=version)
            await refused(call, ErrorCode.ILLEGAL_GENERATION)
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="G6",
    api="SyncGroup",
    says="A member that names another protocol, or another type of it, than the group's is refused.",
    source=f"KIP-559; {CHECKED}",
    versions="5",
    cost=3.1,
)
async def g6(world: World) -> None:
    member = await world.stable1(world.group())
    await refused(await member.sync(protocol_name="other"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    await refused(await member.sync(protocol_type="other"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule(
    id="G6b",
    api="SyncGroup",
    says="Member and generation are looked at before the protocol.",
    source=f"KIP-559; {CHECKED}",
    versions="5",
    cost=3.1,
)
async def g6b(world: World) -> None:
    member = await world.stable1(world.group())
    call = await member.client.sync(member.group, member.generation + 1, member.id, protocol_name="other")
    await refused(call, ErrorCode.ILLEGAL_GENERATION)
    call = await member.client.sync(member.group, member.generation, "nobody", protocol_name="other")
    await refused(call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="G7",
    api="SyncGroup",
    says="From version 5 on the protocol and its type must be named; that is looked at before the group.",
    source=NAMED,
    versions="5",
    cost=3.1,
)
async def g7(world: World) -> None:
    member = await world.stable1(world.group())
    for lacking in ("protocol_type", "protocol_name"):
        await refused(await member.sync(**{lacking: None}), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        for group in (world.group(), ""):
            options: dict[str, Any] = {lacking: None}
            call = await member.client.sync(group, -1, "m", **options)
            await refused(call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule(
    id="G8",
    api="SyncGroup",
    says="Before version 5 neither requests nor answers name the protocol.",
    source=NAMED,
    versions="0-4",
    cost=3.1,
)
async def g8(world: World) -> None:
    member = await world.stable1(world.group(), protocols=[("an odd name", b"")], protocol_type="an odd type")
    for version in world.offered(SyncGroupRequest, range(5)):
        answer = await given(await member.sync(version=version), member.assignment)
        assert answer.protocol_type is None
        assert answer.protocol_name is None


# --- who gets what ---


@rule(
    id="G9",
    api="SyncGroup",
    says="The leader's assignments make the group stable, and it gets its own of them.",
    source=HANDLED,
    versions="0-5",
    cost=3.1,
)
async def g9(world: World) -> None:
    (leader,) = await world.completing(world.group(), None)
    assert (await leader.client.describe(leader.group)).group_state == "CompletingRebalance"
    await given(await leader.sync({leader.id: b"A"}), b"A")
    assert (await leader.client.describe(leader.group)).group_state == "Stable"


@rule(
    id="G9b",
    api="SyncGroup",
    says="From version 5 on the answer tells the group's protocol and its type.",
    source=f"KIP-559; {HANDLED}",
    versions="5",
    cost=6.1,
)
async def g9b(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    for call in (await leader.sync({leader.id: b"A", follower.id: b"A"}), waiting, await leader.sync()):
        answer = await given(call, b"A")
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
        assert answer.throttle_time_ms == 0


@rule(
    id="G10",
    api="SyncGroup",
    says="A follower waits until the leader has sent the assignments, and then gets its own.",
    source=f"{HANDLED}; propagateAssignment",
    versions="0-5",
    cost=6.4,
)
async def g10(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    assert await waiting.parked()
    await given(await leader.sync({leader.id: b"mine", follower.id: b"yours"}), b"mine")
    answer = await waiting.answer(1)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")


@rule(
    id="G11",
    api="SyncGroup",
    says="The leader does not wait for a follower, which gets its assignment when it comes.",
    source=HANDLED,
    versions="0-5",
    cost=6.1,
)
async def g11(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    answer = await (await leader.sync({leader.id: b"mine", follower.id: b"yours"})).answer(1)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"mine")
    assert (await leader.client.describe(leader.group)).group_state == "Stable"
    answer = await (await follower.sync()).answer(1)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"yours")


@rule(
    id="G12",
    api="SyncGroup",
    says="A member that the leader leaves out gets an empty assignment, though it had one in the generation before.",
    source=f"{HANDLED}: membersWithMissingAssignment",
    versions="0-5",
    cost=6.1,
)
async def g12(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    await given(await leader.sync({leader.id: b"everything"}), b"everything")
    await given(waiting, b"")
    # Who rejoins before the leader does is told of the generation that there is.
    await start_in_order(leader)
    await follower.start_join()
    for member in (leader, follower):
        await member.finish_join()
    waiting = await follower.sync()
    await given(await leader.sync({follower.id: b"everything"}), b"")
    await given(waiting, b"everything")


@rule(
    id="G13",
    api="SyncGroup",
    says="A leader that sends no assignments at all makes the group stable, too.",
    source=f"{HANDLED}: membersWithMissingAssignment",
    versions="0-5",
    cost=6.1,
)
async def g13(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    for call in (await leader.sync({}), waiting):
        await given(call, b"")
    assert (await leader.client.describe(leader.group)).group_state == "Stable"


@rule(
    id="G14",
    api="SyncGroup",
    says="An assignment for somebody who is no member changes nothing.",
    source=f"{HANDLED}; setAndPropagateAssignment",
    versions="0-5",
    cost=6.1,
)
async def g14(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    await given(await leader.sync({"nobody": b"x", leader.id: b"mine", follower.id: b"yours"}), b"mine")
    await given(waiting, b"yours")
    members = (await leader.client.describe(leader.group)).members
    assert {one.member_id: one.member_assignment for one in members} == {leader.id: b"mine", follower.id: b"yours"}


@rule(
    id="G14b",
    api="SyncGroup",
    says="A member that the leader names twice gets the last assignment.",
    source=HANDLED,
    versions="0-5",
    cost=3.1,
)
async def g14b(world: World) -> None:
    (leader,) = await world.completing(world.group(), None)
    pairs = [(leader.id, b"first"), (leader.id, b"last")]
    await given(await leader.client.sync(leader.group, leader.generation, leader.id, pairs), b"last")


@rule(
    id="G15",
    api="SyncGroup",
    says="Assignments that a follower sends decide nothing: it waits for the leader's.",
    source=HANDLED,
    versions="0-5",
    cost=6.4,
)
async def g15(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync({leader.id: b"usurped", follower.id: b"usurped"})
    assert await waiting.parked()
    await given(await leader.sync({leader.id: b"mine", follower.id: b"yours"}), b"mine")
    await given(waiting, b"yours")


@rule(
    id="G16",
    api="SyncGroup",
    says="In a stable group each member is told its assignment, as often as it asks.",
    source=f"{HANDLED}: Stable",
    versions="0-5",
    cost=6.1,
)
async def g16(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    for member in (leader, follower):
        for version in [*world.offered(SyncGroupRequest), None]:
            await given(await member.sync(version=version), member.assignment)


@rule(
    id="G17",
    api="SyncGroup",
    says="Assignments that the leader sends to a stable group decide nothing any more.",
    source=f"{HANDLED}: Stable",
    versions="0-5",
    cost=6.1,
)
async def g17(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    await given(await leader.sync({leader.id: b"new", follower.id: b"new"}), leader.assignment)
    await given(await follower.sync(), follower.assignment)


@rule(
    id="G18",
    api="SyncGroup",
    says="During a rebalance a member that syncs is told to rejoin.",
    source=f"{HANDLED}: PreparingRebalance",
    versions="0-5",
    cost=6.4,
)
async def g18(world: World) -> None:
    leader, follower, _ = await world.preparing(world.group())
    for version in world.offered(SyncGroupRequest):
        await refused(await leader.sync(version=version), ErrorCode.REBALANCE_IN_PROGRESS)
        await refused(await follower.sync(version=version), ErrorCode.REBALANCE_IN_PROGRESS)


@rule(
    id="G19",
    api="SyncGroup",
    says="During a rebalance, too, the generation is looked at first.",
    source=f"{HANDLED}: validateSyncGroup comes before the state",
    versions="0-5",
    cost=6.4,
)
async def g19(world: World) -> None:
    leader, _, _ = await world.preparing(world.group())
    for generation in (leader.generation + 1, leader.generation - 1, -1):
        call = await leader.client.sync(leader.group, generation, leader.id)
        await refused(call, ErrorCode.ILLEGAL_GENERATION)


@rule(
    id="G19b",
    api="SyncGroup",
    says="During a rebalance, too, the protocol is looked at first.",
    source=f"KIP-559; {HANDLED}: validateSyncGroup comes before the state",
    versions="5",
    cost=6.4,
)
async def g19b(world: World) -> None:
    leader, _, _ = await world.preparing(world.group())
    await refused(await leader.sync(protocol_name="other"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule(
    id="G20",
    api="SyncGroup",
    says="In an empty group nobody is a member, also who was one.",
    source=FOUND,
    versions="0-5",
    cost=3.1,
)
async def g20(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert (await member.client.describe(member.group)).group_state == "Empty"
    await refused(await member.sync(), ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="G21",
    api="SyncGroup",
    says="An instance id must be known, and belong to the member that names it; a static member need not name it.",
    source=MEMBER,
    versions="3-5",
    cost=6.1,
    also="G22",
)
async def g21(world: World) -> None:
    leader, follower = await world.static2(world.group())
    for version in world.offered(SyncGroupRequest, (3, 4, 5)):
        for stranger in (follower.id, "nobody"):
            call = await leader.client.sync(
                leader.group, leader.generation, stranger, version=version, instance=leader.instance
            )
            await refused(call, ErrorCode.FENCED_INSTANCE_ID)
        await refused(await leader.sync(version=version, instance="i9"), ErrorCode.UNKNOWN_MEMBER_ID)
        await given(await leader.sync(version=version, instance=None), leader.assignment)


# --- what travels ---


@rule(
    id="G31",
    api="SyncGroup",
    says="Assignments are bytes that the broker does not look into, 100 KiB of them just as well.",
    source=HANDLED,
    versions="0-5",
    cost=3.1,
    each={"version": range(6)},
)
async def g31(world: World, version: int) -> None:
    (leader,) = await world.completing(world.group(), None)
    large = bytes(range(256)) * 400
    await given(await leader.sync({leader.id: large}, version=version), large)
    await given(await leader.sync(), large)


@rule(
    id="G31b",
    api="SyncGroup",
    says="An assignment of one byte is one.",
    source=HANDLED,
    versions="0-5",
    cost=3.1,
)
async def g31b(world: World) -> None:
    (leader,) = await world.completing(world.group(), None)
    await given(await leader.sync({leader.id: b"\xff"}), b"\xff")


@rule(
    id="G32",
    api="SyncGroup",
    says="A SyncGroup that is sent again from elsewhere takes the place of the one that waits.",
    source=f"{HANDLED}; ClassicGroupMember.setAwaitingSyncFuture",
    versions="0-5",
    cost=7.0,
)
async def g32(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    first = await follower.sync()
    assert await first.parked()
    elsewhere = await world.client()
    second = await elsewhere.sync(follower.group, follower.generation, follower.id)
    assert await second.parked()
    await leader.sync({follower.id: b"yours"})
    await given(second, b"yours")
    # Apache Kafka never answers the first; an error that says "join again" harms nobody, and frees the connection.
    if not await first.parked():
        assert_sync_refused(first.response, ErrorCode.REBALANCE_IN_PROGRESS)
