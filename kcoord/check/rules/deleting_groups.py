"""DeleteGroups."""

from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.states import group_in_each_state
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import DeleteGroupsRequest, OffsetCommitRequest

GONE = (-1, -1, "")
WITH_MEMBERS = ("Stable", "CompletingRebalance", "PreparingRebalance", "initial")
WITHOUT_MEMBERS = ("Empty", "simple", "pending")

DELETED = "KIP-229; Apache Kafka GroupCoordinatorShard.deleteGroups"
VALIDATED = "KIP-229; Apache Kafka ClassicGroup.validateDeleteGroup"
SERVED = "Apache Kafka GroupCoordinatorService.deleteGroups"
OFFSETS = f"{DELETED}, OffsetMetadataManager.deleteAllOffsets"


async def delete(client: Client, *groups: str, version: int | None = None) -> dict[str, ErrorCode]:
    """Send DeleteGroups; return the error of each group. Each is answered once, however often it is named."""
    answer = await client.call(DeleteGroupsRequest(groups_names=list(groups)), version)
    assert answer.throttle_time_ms == 0
    errors = {one.group_id: ErrorCode(one.error_code) for one in answer.results}
    assert len(errors) == len(answer.results)
    return errors


@rule(
    id="O1",
    api="DeleteGroups",
    says="A group that does not exist cannot be deleted.",
    source="KIP-229; Apache Kafka GroupMetadataManager.validateDeleteGroup",
    versions="0-3",
)
async def o1(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteGroupsRequest):
        group = world.group()
        assert await delete(client, group, version=version) == {group: ErrorCode.GROUP_ID_NOT_FOUND}


@rule(
    id="O1b",
    api="DeleteGroups",
    says="A request without groups is answered without groups.",
    source=SERVED,
    versions="0-3",
)
async def o1b(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteGroupsRequest):
        assert await delete(client, version=version) == {}


@rule(
    id="O2",
    api="DeleteGroups",
    says="Groups with members stay, in every state; those without are deleted, also if a member id was handed out.",
    source=VALIDATED,
    versions="0-3",
    cost=7.0,
    also="O6",
    connections=10,
)
async def o2(world: World) -> None:
    groups = await group_in_each_state(world)
    client = await world.client()
    unknown = world.group()
    # Each is named twice: that changes nothing, see O7.
    errors = await delete(client, *groups.values(), unknown, *groups.values(), unknown)
    names = {group: name for name, group in groups.items()} | {unknown: "unknown"}
    assert {names[group]: error for group, error in errors.items()} == {
        **dict.fromkeys(WITH_MEMBERS, ErrorCode.NON_EMPTY_GROUP),
        **dict.fromkeys(WITHOUT_MEMBERS, ErrorCode.NONE),
        "unknown": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    listed = await client.list()
    assert {name for name, group in groups.items() if group in listed} == set(WITH_MEMBERS)


@rule(
    id="O7",
    api="DeleteGroups",
    says="A group that is named twice is deleted and answered once.",
    source=f"{SERVED}: the ids are made a set",
    versions="0-3",
)
async def o7(world: World) -> None:
    client, one, other, unknown = await world.client(), world.group(), world.group(), world.group()
    for version in world.offered(DeleteGroupsRequest):
        for group in (one, other):
            await client.commit(group, {(world.t, 0): 3})
        errors = await delete(client, one, unknown, other, one, unknown, other, version=version)
        assert errors == {one: ErrorCode.NONE, other: ErrorCode.NONE, unknown: ErrorCode.GROUP_ID_NOT_FOUND}


@rule(
    id="O3",
    api="DeleteGroups",
    says="Nothing is left of a group that was deleted: no entry in lists, no offsets, no member.",
    source=OFFSETS,
    versions="0-3",
    cost=3.1,
)
async def o3(world: World) -> None:
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    await member.commit({(world.t, 0): 3, (world.u, 1): 4})
    await client.leave(group, member.id)
    assert group in await client.list()
    assert await delete(client, group) == {group: ErrorCode.NONE}
    assert (await client.describe(group)).group_state == "Dead"
    wanted = {world.t: [0], world.u: [1]}
    assert await client.fetch(group, wanted) == {(world.t, 0): GONE, (world.u, 1): GONE}
    assert await client.fetch(group) == {}
    assert group not in await client.list()
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="O3b",
    api="OffsetCommit",
    says="In a group that was deleted a member's generation is illegal; from version 9 on the group is unknown.",
    source="KIP-848; Apache Kafka OffsetMetadataManager.validateOffsetCommit",
    versions="2-9",
    since="4.0",
    cost=3.1,
)
async def o3b(world: World) -> None:
    member = await world.stable1(world.group())
    await member.client.leave(member.group, member.id)
    assert await delete(member.client, member.group) == {member.group: ErrorCode.NONE}
    for version in world.offered(OffsetCommitRequest, range(2, 10)):
        error = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
        assert await member.commit({(world.t, 0): 3}, version=version) == {(world.t, 0): error}


@rule(
    id="O4",
    api="DeleteGroups",
    says="The offsets of a group that never had members go with it.",
    source=OFFSETS,
    versions="0-3",
)
async def o4(world: World) -> None:
    client = await world.client()
    for version in world.offered(DeleteGroupsRequest):
        group = world.group()
        await client.commit(group, {(world.t, 0): 3})
        assert await delete(client, group, version=version) == {group: ErrorCode.NONE}
        assert await client.fetch(group, {world.t: [0]}) == {(world.t, 0): GONE}
        assert await client.fetch(group) == {}


@rule(
    id="O5",
    api="DeleteGroups",
    says="With a group the member ids go that it has only handed out.",
    source=f"KIP-394; {VALIDATED}",
    versions="0-3",
)
async def o5(world: World) -> None:
    client, group = await world.client(), world.group()
    answer = await (await client.join(group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    pending = answer.member_id
    assert await delete(client, group) == {group: ErrorCode.NONE}
    answer = await (await client.join(group, pending)).answer()
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, pending)
    assert group not in await client.list()


@rule(
    id="O8",
    api="DeleteGroups",
    says="A group that was deleted cannot be deleted again.",
    source=VALIDATED,
    versions="0-3",
)
async def o8(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(DeleteGroupsRequest):
        await client.commit(group, {(world.t, 0): 3})
        assert await delete(client, group, version=version) == {group: ErrorCode.NONE}
        assert await delete(client, group, version=version) == {group: ErrorCode.GROUP_ID_NOT_FOUND}


@rule(
    id="O9",
    api="DeleteGroups",
    says="The empty group id is one like others to delete a group, and its offsets.",
    source=f"{SERVED}: the id is not looked at",
    versions="0-3",
    alone=True,
)
async def o9(world: World) -> None:
    client, group = await world.client(), await world.take_group("")
    for version in world.offered(DeleteGroupsRequest):
        await client.commit(group, {(world.t, 0): 3})
        assert await delete(client, group, version=version) == {group: ErrorCode.NONE}
        assert await delete(client, group, version=version) == {group: ErrorCode.GROUP_ID_NOT_FOUND}
        assert await client.fetch(group, {world.t: [0]}) == {(world.t, 0): GONE}


@rule(
    id="O10",
    api="DeleteGroups",
    says="A group that is made again after it was deleted begins anew: first generation, own type, no offsets.",
    source=DELETED,
    versions="0-3",
    cost=6.2,
)
async def o10(world: World) -> None:
    member = await world.stable1(world.group(), protocol_type="connect")
    await member.commit({(world.t, 0): 3})
    await member.client.leave(member.group, member.id)
    assert await delete(member.client, member.group) == {member.group: ErrorCode.NONE}
    again = await world.stable1(member.group)
    assert again.generation == 1
    assert (await again.client.describe(again.group)).protocol_type == "consumer"
    assert await again.client.fetch(again.group) == {}


@rule(
    id="O11",
    api="DeleteGroups",
    says="Version 3 has room for a message about each group, and says nothing, whatever becomes of the group.",
    source="KIP-1331; Apache Kafka GroupCoordinatorShard.deleteGroups",
    versions="3",
    cost=7.0,
    connections=10,
)
async def o11(world: World) -> None:
    client = await world.client()
    world.offered(DeleteGroupsRequest, [3])
    groups = await group_in_each_state(world)
    answer = await client.call(DeleteGroupsRequest(groups_names=[*groups.values(), world.group()]), 3)
    messages = {each.error_code: each.error_message for each in answer.results}
    assert messages == dict.fromkeys((ErrorCode.NONE, ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND))
    assert [each.error_message for each in answer.results] == [None] * (len(groups) + 1)
