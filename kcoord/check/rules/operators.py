"""What operators and tools do to groups and see of them, while members do nothing but heartbeat."""

from typing import Final

import trio

from kcoord.check.member import Member, settle
from kcoord.check.probe import Client, sub
from kcoord.check.rule import rule
from kcoord.check.states import group_in_each_state
from kcoord.check.steps import start_in_order
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

HEARTBEAT = "Apache Kafka GroupMetadataManager.classicGroupHeartbeatToClassicGroup"
EXTENDED = "Apache Kafka GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat"
COMMITTED = "Apache Kafka ClassicGroup.validateOffsetCommit"
DELETED = "Apache Kafka ClassicGroup.validateDeleteGroup"
SUBSCRIBED = "KIP-496; Apache Kafka ClassicGroup.isSubscribedToTopic"
DESCRIBED = "Apache Kafka GroupMetadataManager.describeGroups"
OPERATIONS = "KIP-430; Apache Kafka KafkaApis.handleDescribeGroupsRequest"

ODD: Final = ": ? , \" % \\ ' / * = \n \r \t \x00 é 日本 😀"
NAMES: Final = {"odd": (ODD, ODD), "blank": (" ", " "), "long": ("x" * 5_000, "y" * 5_000)}
"""Odd stems of group ids, and client ids."""
GONE: Final = (-1, -1, "")
"""What is told of an offset that there is none of."""
NOT_ASKED: Final = -(2**31)
ALL_OPERATIONS: Final = 3400
"""Bits of READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS."""


async def delete_offset(client: Client, group: str, *topics: str) -> dict[str, ErrorCode] | ErrorCode:
    """Send OffsetDelete for partition 0 of these topics; return the error of each, or of the whole."""
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
            for topic in topics
        ],
    )
    answer = await client.call(request)
    if answer.error_code:
        assert answer.topics == []
        return ErrorCode(answer.error_code)
    return {topic.name: ErrorCode(topic.partitions[0].error_code) for topic in answer.topics}


async def keep_alive(*members: Member, seconds: int) -> None:
    """Heartbeat each second for so long; each one must be good."""
    for _ in range(seconds):
        await trio.sleep(1)
        for member in members:
            assert await member.heartbeat() is ErrorCode.NONE


# --- heartbeats and nothing else ---


@rule(
    id="admin-1",
    api="Heartbeat",
    says="Heartbeats between JoinGroup and SyncGroup are good, and keep the sessions of members alive.",
    source=f"{HEARTBEAT}; {EXTENDED}",
    versions="0-4",
    cost=15.2,
)
async def admin_1(world: World) -> None:
    members = await world.completing(world.group(), None, None, session=6_000)
    await keep_alive(*members, seconds=9)
    await settle(members)
    assert [await member.heartbeat() for member in members] == [ErrorCode.NONE] * 2
    assert {member.generation for member in members} == {1}


@rule(
    id="admin-2",
    api="Heartbeat",
    says="A member that only heartbeats stays for as long as it does so.",
    source=EXTENDED,
    versions="0-4",
    cost=43.3,
)
async def admin_2(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000, rebalance=6_000)
    await keep_alive(member, seconds=40)
    described = await member.client.describe(member.group)
    assert described.group_state == "Stable"
    assert [one.member_id for one in described.members] == [member.id]
    assert (await (await member.sync()).answer()).assignment == member.assignment


@rule(
    id="admin-3",
    api="Heartbeat",
    says="Heartbeats of wrong generations, members and groups do not disturb the member that is there.",
    source="Apache Kafka GroupMetadataManager.validateClassicGroupHeartbeat",
    versions="0-4",
    cost=3.1,
)
async def admin_3(world: World) -> None:
    member = await world.stable1(world.group())
    await member.start_join()
    await member.finish_join()
    await settle([member])
    assert member.generation == 2
    client, group = member.client, member.group
    assert await client.heartbeat(group, 1, member.id) is ErrorCode.ILLEGAL_GENERATION
    assert await client.heartbeat(group, 3, member.id) is ErrorCode.ILLEGAL_GENERATION
    assert await client.heartbeat(group, 2, "nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert await client.heartbeat(world.group(), 2, member.id) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.heartbeat() is ErrorCode.NONE
    assert await member.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    await client.leave(group, member.id)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# --- odd names ---


@rule(
    id="admin-4",
    api="OffsetCommit",
    says="The group of the empty id has offsets and can be described, listed and deleted, but nobody can join it.",
    source="Apache Kafka GroupCoordinatorService: commitOffsets takes the empty id, joinGroup does not",
    versions="2-9",
    cost=0.1,
    alone=True,
)
async def admin_4(world: World) -> None:
    client, group = await world.client(), await world.take_group("")
    assert await client.commit(group, {(world.t, 2): 11}) == {(world.t, 2): ErrorCode.NONE}
    assert await client.fetch(group, {world.t: [2]}) == {(world.t, 2): (11, -1, "")}
    assert (await client.fetch(group))[world.t, 2] == (11, -1, "")
    assert (await client.describe(group)).group_state == "Empty"
    assert (await client.list())[group].group_state == "Empty"
    assert (await (await client.join(group)).answer()).error_code == ErrorCode.INVALID_GROUP_ID
    assert (await (await client.sync(group, 1, "m")).answer()).error_code == ErrorCode.INVALID_GROUP_ID
    assert await client.heartbeat(group, 1, "m") is ErrorCode.INVALID_GROUP_ID
    assert (await client.leave(group, "m")).error_code == ErrorCode.INVALID_GROUP_ID
    assert await client.delete(group) == {group: ErrorCode.NONE}
    assert await client.fetch(group, {world.t: [2]}) == {(world.t, 2): GONE}


@rule(
    id="admin-5",
    api="JoinGroup",
    says="Ids of groups and clients, and metadata of offsets, may have any characters in them, and be long.",
    source="Apache Kafka GroupCoordinatorService.joinGroup: only the empty group id is refused",
    versions="0-9",
    cost=3.1,
    each={"names": NAMES},
)
async def admin_5(world: World, names: str) -> None:
    stem, client_id = NAMES[names]
    member = await world.stable1(world.group(stem), client_id=client_id)
    assert member.id.startswith(f"{client_id}-")
    assert await member.heartbeat() is ErrorCode.NONE
    assert await member.commit({(world.t, 0): (1, ODD)}) == {(world.t, 0): ErrorCode.NONE}
    assert await member.client.fetch(member.group, {world.t: [0]}) == {(world.t, 0): (1, -1, ODD)}
    described = await member.client.describe(member.group)
    assert (described.group_id, described.group_state) == (member.group, "Stable")
    assert [(one.member_id, one.client_id) for one in described.members] == [(member.id, client_id)]
    assert member.group in await member.client.list()


# --- operators ---


@rule(
    id="admin-6",
    api="OffsetCommit",
    says="An operator resets and deletes only what nobody uses: not while there is a member, but when it has left.",
    source=f"{COMMITTED}; {DELETED}",
    versions="2-9",
    cost=3.2,
    also="S7",
)
async def admin_6(world: World) -> None:
    member = await world.stable1(world.group(), client_id="consumer")
    group, offset = member.group, (world.t, 0)
    await member.commit({offset: 3})
    operator = await world.client("operator")
    assert await operator.delete(group) == {group: ErrorCode.NON_EMPTY_GROUP}
    assert await operator.commit(group, {offset: 1}) == {offset: ErrorCode.UNKNOWN_MEMBER_ID}
    assert await operator.fetch(group) == {offset: (3, -1, "")}
    assert await member.heartbeat() is ErrorCode.NONE
    await member.client.leave(group, member.id)
    described = await operator.describe(group)
    assert (described.group_state, described.members) == ("Empty", [])
    assert await operator.commit(group, {offset: 1}) == {offset: ErrorCode.NONE}
    assert await operator.fetch(group) == {offset: (1, -1, "")}
    assert group in await operator.list()
    assert await operator.delete(group) == {group: ErrorCode.NONE}
    assert await operator.delete(group) == {group: ErrorCode.GROUP_ID_NOT_FOUND}
    assert group not in await operator.list()
    assert await operator.fetch(group, {world.t: [0]}) == {offset: GONE}


@rule(
    id="admin-7",
    api="OffsetDelete",
    says="Offsets of a topic can be deleted if no member reads it, and all of them when the members have left.",
    source=SUBSCRIBED,
    versions="0",
    cost=3.1,
)
async def admin_7(world: World) -> None:
    member = await world.stable1(world.group(), protocols=[("range", sub(world.t))])
    client, group = member.client, member.group
    await member.commit({(world.t, 0): 3, (world.u, 0): 4})
    assert await delete_offset(client, group, world.t, world.u) == {
        world.t: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        world.u: ErrorCode.NONE,
    }
    assert await client.fetch(group) == {(world.t, 0): (3, -1, "")}
    assert await member.heartbeat() is ErrorCode.NONE
    await member.commit({(world.u, 0): 4})
    await client.leave(group, member.id)
    assert await delete_offset(client, group, world.t, world.u) == {world.t: ErrorCode.NONE, world.u: ErrorCode.NONE}
    assert await client.fetch(group) == {}
    assert await delete_offset(client, world.group(), world.t, world.u) is ErrorCode.GROUP_ID_NOT_FOUND


@rule(
    id="admin-8",
    api="OffsetDelete",
    says="When a member changes what it reads, the offsets of what it read before can be deleted.",
    source=f"{SUBSCRIBED}; computeSubscribedTopics",
    versions="0",
    cost=3.1,
)
async def admin_8(world: World) -> None:
    member = await world.stable1(world.group(), protocols=[("range", sub(world.t))])
    await member.commit({(world.t, 0): 3, (world.u, 0): 4})
    member.protocols = [("range", sub(world.u))]
    await member.start_join()
    await member.finish_join()
    await settle([member])
    assert await delete_offset(member.client, member.group, world.t, world.u) == {
        world.t: ErrorCode.NONE,
        world.u: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }


@rule(
    id="admin-9",
    api="DeleteGroups",
    says="Nothing of a deleted group comes back with its id: no member, no generation, no offset.",
    source="Apache Kafka GroupMetadataManager.createGroupTombstoneRecords; OffsetMetadataManager.deleteAllOffsets",
    versions="0-3",
    cost=6.2,
)
async def admin_9(world: World) -> None:
    member = await world.stable1(world.group())
    client, group = member.client, member.group
    first, second = (world.t, 0), (world.u, 1)
    await member.commit({first: (3, "old"), second: 4})
    await client.leave(group, member.id)
    assert await client.delete(group) == {group: ErrorCode.NONE}
    answer = await (await client.join(group, member.id)).answer()
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    again = await world.stable1(group)
    assert again.generation == 1
    assert again.listed == (again.id,)
    assert await client.fetch(group) == {}
    assert await client.fetch(group, {world.t: [0], world.u: [1]}) == {first: GONE, second: GONE}


# --- tools that look ---


@rule(
    id="admin-10",
    api="DescribeGroups",
    says="A member that the leader gave nothing is described with an assignment of no bytes.",
    source=f"{DESCRIBED}; ClassicGroupMember.describe",
    versions="0-6",
    cost=6.1,
)
async def admin_10(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    waiting = await follower.sync()
    assert (await (await leader.sync({leader.id: b"everything"})).answer()).assignment == b"everything"
    answer = await waiting.answer()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")
    for version in world.offered(DescribeGroupsRequest):
        described = await leader.client.describe(leader.group, version=version)
        assert {one.member_id: one.member_assignment for one in described.members} == {
            leader.id: b"everything",
            follower.id: b"",
        }


SPELLING: Final = {
    "Stable": "Stable",
    "CompletingRebalance": "CompletingRebalance",
    "PreparingRebalance": "PreparingRebalance",
    "initial": "PreparingRebalance",
    "Empty": "Empty",
    "simple": "Empty",
    "pending": "Empty",
}
"""How the states are spelt of what `group_in_each_state` makes."""


@rule(
    id="admin-11",
    api="ListGroups",
    says="States are spelt as DescribeGroups spells them, also in a filter; a state that does not exist finds nothing.",
    source="KIP-518; Apache Kafka ClassicGroupState",
    versions="4-5",
    cost=7.2,
    connections=16,
)
async def admin_11(world: World) -> None:
    groups = await group_in_each_state(world)
    client = await world.client()
    request = DescribeGroupsRequest(groups=list(groups.values()))
    described = (await client.call(request, client.newest(DescribeGroupsRequest, 6))).groups
    states = {one.group_id: one.group_state for one in described}
    assert states == {group: SPELLING[name] for name, group in groups.items()}
    for version in world.offered(ListGroupsRequest, (4, 5)):
        for state in sorted(set(SPELLING.values())):
            listed = await client.list(states=(state,), version=version)
            assert {one.group_state for one in listed.values()} == {state}
            ours = {name: listed[group] for name, group in groups.items() if group in listed}
            assert ours.keys() == {name for name, spelt in SPELLING.items() if spelt == state}
            assert {one.group_type for one in ours.values()} == {"classic" if version == 5 else ""}
        answer = await client.call(ListGroupsRequest(states_filter=["AwaitingSync"]), version)
        assert (answer.error_code, answer.groups) == (ErrorCode.NONE, [])


@rule(
    id="admin-11b",
    api="ListGroups",
    says="A type of groups that does not exist finds nothing.",
    source="KIP-848; Apache Kafka GroupMetadataManager.listGroups",
    versions="5",
)
async def admin_11b(world: World) -> None:
    client = await world.client()
    await client.commit(world.group(), {(world.t, 0): 1})
    answer = await client.call(ListGroupsRequest(types_filter=["unknown"]), 5)
    assert (answer.error_code, answer.groups) == (ErrorCode.NONE, [])


@rule(
    id="admin-11c",
    api="DescribeGroups",
    says="A group that does not exist is spelt Dead.",
    source=f"{DESCRIBED}; ClassicGroupState",
    versions="0-6",
)
async def admin_11c(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeGroupsRequest):
        assert (await client.describe(world.group(), version=version)).group_state == "Dead"


@rule(
    id="admin-12",
    api="DescribeGroups",
    says="Each member is described with its instance id, if it has one, its own client id, and its host.",
    source=f"KIP-345; {DESCRIBED}; ClassicGroupMember.describe",
    versions="4-6",
    cost=6.4,
)
async def admin_12(world: World) -> None:
    group = world.group()
    static = await world.member(group, client_id="one", instance="i1")
    dynamic = await world.member(group, client_id="two")
    await start_in_order(static)
    await dynamic.start_join()
    for member in (static, dynamic):
        await member.finish_join()
    for version in world.offered(DescribeGroupsRequest, (4, 5, 6)):
        described = await static.client.describe(group, version=version)
        shown = {one.member_id: (one.group_instance_id, one.client_id) for one in described.members}
        assert shown == {static.id: ("i1", "one"), dynamic.id: (None, "two")}
        # Whatever stands between here and a foreign broker may have given us another address.
        (host,) = {one.client_host for one in described.members}
        assert host.startswith("/")
        assert host == "/127.0.0.1" or not world.exact


@rule(
    id="admin-12b",
    api="DescribeGroups",
    says="What may be done with a group that has members is told if it is asked for, and not otherwise.",
    source=OPERATIONS,
    versions="3-6",
    cost=3.1,
    since="4.0",
)
async def admin_12b(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(DescribeGroupsRequest, range(3, 7)):
        described = await member.client.describe(member.group, version=version)
        assert described.authorized_operations == NOT_ASKED
        described = await member.client.describe(member.group, version=version, operations=True)
        assert described.authorized_operations == ALL_OPERATIONS
