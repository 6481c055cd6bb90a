"""Several members that leave in one request, and static ones that operators put out."""

from kcoord.check.rule import rule
from kcoord.check.rules.leaving import BATCHED, HANDLED, echoed, errors, state_of
from kcoord.check.steps import leave
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import LeaveGroupRequest, MemberIdentity


@rule(
    id="I12",
    api="LeaveGroup",
    says="A static member is put out by its instance id alone; the entry repeats the request and tells no member id.",
    source=f"KIP-345; {HANDLED}",
    versions="3-5",
    cost=6.1,
)
async def i12(world: World) -> None:
    leader, follower = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, ("", "i2"))
    assert errors(answer) == [ErrorCode.NONE]
    assert echoed(answer) == [("", "i2")]
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    members = (await leader.client.describe(leader.group)).members
    assert [one.group_instance_id for one in members] == ["i1"]


@rule(
    id="I12b",
    api="LeaveGroup",
    says="A static member is put out by its member id alone, too.",
    source=f"KIP-345; {HANDLED}",
    versions="0-5",
    cost=6.1,
    each={"version": range(4)},
)
async def i12b(world: World, version: int) -> None:
    leader, follower = await world.static2(world.group())
    assert await leave(leader.client, leader.group, follower.id, version) is ErrorCode.NONE
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await follower.heartbeat(instance=None) is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="I13",
    api="LeaveGroup",
    says="An instance id that is another member's fences, one that is nobody's is unknown, and nobody is disturbed.",
    source=f"KIP-345; {HANDLED}; ClassicGroup.validateMember",
    versions="3-5",
    cost=6.1,
    also="I14 I15 I21 I25",
)
async def i13(world: World) -> None:
    leader, follower = await world.static2(world.group())
    wanted = [
        (("nobody", "i2"), ErrorCode.FENCED_INSTANCE_ID),
        (("", "i9"), ErrorCode.UNKNOWN_MEMBER_ID),
        ((leader.id, "i2"), ErrorCode.FENCED_INSTANCE_ID),
        ((leader.id, "i9"), ErrorCode.UNKNOWN_MEMBER_ID),
        (("nobody", None), ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    for version in world.offered(LeaveGroupRequest, BATCHED):
        answer = await leader.client.leave(leader.group, *(pair for pair, _ in wanted), version=version)
        assert echoed(answer) == [pair for pair, _ in wanted]
        assert errors(answer) == [error for _, error in wanted]
    for member in (leader, follower):
        assert await member.heartbeat() is ErrorCode.NONE
    assert await state_of(leader) == "Stable"


@rule(
    id="I16",
    api="LeaveGroup",
    says="When all static members are put out in one request the group is empty, and one generation on.",
    source=f"KIP-345; {HANDLED}: one rebalance for the request",
    versions="3-5",
    cost=9.1,
)
async def i16(world: World) -> None:
    leader, follower = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, ("", "i1"), ("", "i2"))
    assert errors(answer) == [ErrorCode.NONE] * 2
    assert echoed(answer) == [("", "i1"), ("", "i2")]
    assert await state_of(leader) == "Empty"
    assert await follower.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await world.stable1(leader.group)).generation == leader.generation + 2


@rule(
    id="I17",
    api="LeaveGroup",
    says="Each member of a request is treated by itself, and one that is known suffices for a rebalance.",
    source=f"KIP-345; {HANDLED}",
    versions="3-5",
    cost=6.1,
    also="I25",
)
async def i17(world: World) -> None:
    leader, _ = await world.static2(world.group())
    answer = await leader.client.leave(leader.group, ("", "i9"), ("", "i2"))
    assert errors(answer) == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert echoed(answer) == [("", "i9"), ("", "i2")]
    assert await leader.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


@rule(
    id="I18",
    api="LeaveGroup",
    says="Leader, follower and an id that was only handed out go in one request, which has their entries in its order.",
    source=f"KIP-345; {HANDLED}",
    versions="3-5",
    cost=6.1,
    also="I25",
)
async def i18(world: World) -> None:
    leader, follower = await world.stable2(world.group())
    client = await world.client()
    pending = (await (await client.join(leader.group)).answer()).member_id
    ids = [leader.id, follower.id, pending, "unknown"]
    answer = await client.leave(leader.group, *ids)
    assert errors(answer) == [ErrorCode.NONE] * 3 + [ErrorCode.UNKNOWN_MEMBER_ID]
    assert echoed(answer) == [(each, None) for each in ids]
    assert await state_of(leader) == "Empty"


@rule(
    id="I19",
    api="LeaveGroup",
    says="Who is named twice in one request leaves, and is unknown the second time.",
    source=f"KIP-345; {HANDLED}",
    versions="3-5",
    cost=6.1,
    each={"version": BATCHED},
)
async def i19(world: World, version: int) -> None:
    leader, follower = await world.stable2(world.group())
    answer = await leader.client.leave(leader.group, follower.id, follower.id, version=version)
    assert errors(answer) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert echoed(answer) == [(follower.id, None)] * 2


@rule(
    id="I22",
    api="LeaveGroup",
    says="A reason may be given for each member, also a long one, or none.",
    source="KIP-800",
    versions="5",
    cost=6.1,
)
async def i22(world: World) -> None:
    leader, follower = await world.static2(world.group())
    gone = [
        MemberIdentity(member_id=follower.id, group_instance_id="i2", reason=None),
        MemberIdentity(member_id="", group_instance_id="i1", reason="because " * 100),
    ]
    answer = await leader.client.call(LeaveGroupRequest(group_id=leader.group, members=gone), 5)
    assert errors(answer) == [ErrorCode.NONE] * 2
