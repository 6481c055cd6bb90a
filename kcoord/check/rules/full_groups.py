"""Requests about groups in full, in every version: each field is set, lists have several entries, and all structs tags.

The tags are of fields that nobody knows, wherever the version may have some, and change nothing (KIP-482).
"""

from typing import Any, Final

from kcoord.check.frames import ask_in_full
from kcoord.check.member import Member
from kcoord.check.nodes import node_id
from kcoord.check.probe import Client, sub
from kcoord.check.rule import rule
from kcoord.check.topics import NO_ID
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    Coordinator,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedGroup,
    ListGroupsRequest,
    MemberIdentity,
    MemberResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

TAGS: Final = "KIP-482: tags that are not known are skipped"
OPERATIONS: Final = 3400
"""What may be done with a group where nothing is forbidden, bit by bit: read, delete, describe, and its settings."""
STATIC_SINCE: Final = 5
"""The first version of JoinGroup that has instance ids."""
NOT_ASKED: Final = -(2**31)


async def joined(world: World, *, static: bool) -> Member:
    """Return the only member of a stable group, with an instance id or not; its generation is 1."""
    protocols = [("range", sub(world.t)), ("sticky", sub(world.t))]
    (member,) = await world.stable(world.group(), "i" if static else None, protocols=protocols)
    return member


@rule(
    id="find-coordinator-full",
    api="FindCoordinator",
    says="Each key has its answer, in their order.",
    source=f"KIP-699; {TAGS}",
    versions="0-6",
    topics=(),
    each={"version": range(7)},
    also="B2 B5",
)
async def find_coordinator_full(world: World, version: int) -> None:
    client = await world.client()
    node = await node_id(client)
    keys = [world.group(), world.group()]
    if version <= 3:
        answer = await ask_in_full(client, FindCoordinatorRequest(key=keys[0], key_type=0), version)
        assert answer == FindCoordinatorResponse(
            error_message=answer.error_message, node_id=node, host=answer.host, port=answer.port
        )
        assert answer.error_message in (None, "", "NONE")
    else:
        answer = await ask_in_full(client, FindCoordinatorRequest(key_type=0, coordinator_keys=keys), version)
        assert answer == FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, node_id=node, host=each.host, port=each.port, error_message=each.error_message)
                for key, each in zip(keys, answer.coordinators, strict=True)
            ]
        )
        assert {each.error_message for each in answer.coordinators} <= {None, "", "NONE"}


@rule(
    id="join-group-full",
    api="JoinGroup",
    says="The only member is answered at once when it joins again, with all that the version has to tell.",
    source=f"Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember; {TAGS}",
    versions="0-9",
    cost=3.2,
    each={"version": range(10)},
)
async def join_group_full(world: World, version: int) -> None:
    member = await joined(world, static=version >= STATIC_SINCE)
    request = JoinGroupRequest(
        group_id=member.group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=30_000 if version else -1,
        member_id=member.id,
        group_instance_id=member.instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name=name, metadata=b"\x00\x01new") for name in ("sticky", "range")],
        reason="because" if version >= 8 else None,
    )
    assert await ask_in_full(member.client, request, version) == JoinGroupResponse(
        generation_id=2,
        protocol_type="consumer" if version >= 7 else None,
        protocol_name="sticky",
        leader=member.id,
        member_id=member.id,
        members=[
            JoinGroupResponseMember(member_id=member.id, group_instance_id=member.instance, metadata=b"\x00\x01new")
        ],
    )


@rule(
    id="sync-group-full",
    api="SyncGroup",
    says="The leader gets its own assignment, and from version 5 on the protocol and its type.",
    source=f"Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup; {TAGS}",
    versions="0-5",
    cost=3.2,
    each={"version": range(6)},
)
async def sync_group_full(world: World, version: int) -> None:
    (member,) = await world.completing(world.group(), "i" if version >= 3 else None)
    request = SyncGroupRequest(
        group_id=member.group,
        generation_id=1,
        member_id=member.id,
        group_instance_id=member.instance,
        protocol_type="consumer" if version >= 5 else None,
        protocol_name="range" if version >= 5 else None,
        assignments=[
            SyncGroupRequestAssignment(member_id=member.id, assignment=b"\x00\x01own"),
            SyncGroupRequestAssignment(member_id="nobody", assignment=b"\x00\x01other"),
        ],
    )
    assert await ask_in_full(member.client, request, version) == SyncGroupResponse(
        protocol_type="consumer" if version >= 5 else None,
        protocol_name="range" if version >= 5 else None,
        assignment=b"\x00\x01own",
    )


@rule(
    id="heartbeat-full",
    api="Heartbeat",
    says="A member of the current generation is told nothing, static or not.",
    source=f"Apache Kafka GroupMetadataManager.classicGroupHeartbeat; {TAGS}",
    versions="0-4",
    cost=3.2,
    each={"version": range(5)},
)
async def heartbeat_full(world: World, version: int) -> None:
    member = await joined(world, static=version >= 3)
    request = HeartbeatRequest(
        group_id=member.group, generation_id=1, member_id=member.id, group_instance_id=member.instance
    )
    assert await ask_in_full(member.client, request, version) == HeartbeatResponse()


@rule(
    id="leave-group-full",
    api="LeaveGroup",
    says="Who leaves is told so, from version 3 on each by an entry that repeats the request.",
    source=f"KIP-345, KIP-800; {TAGS}",
    versions="0-5",
    cost=3.2,
    each={"version": range(6)},
)
async def leave_group_full(world: World, version: int) -> None:
    member = await joined(world, static=version >= 3)
    if version < 3:
        request = LeaveGroupRequest(group_id=member.group, member_id=member.id)
        assert await ask_in_full(member.client, request, version) == LeaveGroupResponse()
        return
    reason = "done" if version >= 5 else None
    request = LeaveGroupRequest(
        group_id=member.group,
        members=[
            MemberIdentity(member_id="nobody", group_instance_id="j", reason=reason),
            MemberIdentity(member_id=member.id, group_instance_id="i", reason=reason),
        ],
    )
    assert await ask_in_full(member.client, request, version) == LeaveGroupResponse(
        members=[
            MemberResponse(member_id="nobody", group_instance_id="j", error_code=ErrorCode.UNKNOWN_MEMBER_ID),
            MemberResponse(member_id=member.id, group_instance_id="i"),
        ]
    )


# --- offsets ---


async def topics_of(client: Client, world: World, *, by_id: bool) -> list[dict[str, Any]]:
    """Return what the two shared topics are called."""
    if by_id:
        return [{"topic_id": each} for each in await client.topic_ids(world.t, world.u)]
    return [{"name": world.t, "topic_id": NO_ID}, {"name": world.u, "topic_id": NO_ID}]


@rule(
    id="offset-commit-full",
    api="OffsetCommit",
    says="Everybody commits to a group without members, and what he did is what is fetched.",
    source=f"Apache Kafka GroupMetadataManager, OffsetMetadataManager.commitOffset; {TAGS}",
    versions="2-10",
    each={"version": range(2, 11)},
)
async def offset_commit_full(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    topics = await topics_of(client, world, by_id=version >= 10)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="m",
        group_instance_id="i" if version >= 7 else None,
        retention_time_ms=60_000 if version <= 4 else -1,
        topics=[
            OffsetCommitRequestTopic(
                **topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=10 * at + index,
                        committed_leader_epoch=3 if version >= 6 else -1,
                        committed_metadata=f"note {index}",
                    )
                    for index in (2, 0)
                ],
            )
            for at, topic in enumerate(topics)
        ],
    )
    answer = await ask_in_full(client, request, version)
    assert answer == OffsetCommitResponse(topics=answer.topics)
    for topic in answer.topics:
        topic.partitions.sort(key=lambda each: each.partition_index)
    expected = [
        OffsetCommitResponseTopic(
            **topic, partitions=[OffsetCommitResponsePartition(partition_index=index) for index in (0, 2)]
        )
        for topic in topics
    ]
    assert sorted(answer.topics, key=expected.index) == expected
    epoch = 3 if version >= 6 else -1
    assert await client.fetch(group) == {
        (name, index): (10 * at + index, epoch, f"note {index}")
        for at, name in enumerate((world.t, world.u))
        for index in (2, 0)
    }


@rule(
    id="offset-fetch-full",
    api="OffsetFetch",
    says="Each partition has its answer in the order of the request, whether there is an offset or not.",
    source=f"KIP-709; {TAGS}",
    versions="1-10",
    each={"version": range(1, 11)},
)
async def offset_fetch_full(world: World, version: int) -> None:
    client, groups = await world.client(), [world.group(), world.group()]
    offsets = {(world.u, 1): (7, "note"), (world.t, 2): (8, "more")}
    assert set((await client.commit(groups[0], offsets, epoch=3)).values()) == {ErrorCode.NONE}
    names = [world.u, world.t]

    def told(group: str, at: int, index: int) -> dict[str, Any]:
        offset, note = offsets.get((names[at], index), (-1, "")) if group == groups[0] else (-1, "")
        epoch = 3 if offset >= 0 and version >= 5 else -1
        return {
            "partition_index": index, "committed_offset": offset, "committed_leader_epoch": epoch, "metadata": note
        }  # fmt: skip

    if version <= 7:
        old = OffsetFetchRequest(
            group_id=groups[0],
            topics=[OffsetFetchRequestTopic(name=name, partition_indexes=[2, 1]) for name in names],
            require_stable=version >= 7,
        )
        assert await ask_in_full(client, old, version) == OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    name=name,
                    partitions=[OffsetFetchResponsePartition(**told(groups[0], at, index)) for index in (2, 1)],
                )
                for at, name in enumerate(names)
            ]
        )
        return
    topics = (await topics_of(client, world, by_id=version >= 10))[::-1]
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group,
                member_id="m" if version >= 9 else None,
                member_epoch=5 if version >= 9 else -1,
                topics=[OffsetFetchRequestTopics(**topic, partition_indexes=[2, 1]) for topic in topics],
            )
            for group in groups
        ],
        require_stable=True,
    )
    assert await ask_in_full(client, request, version) == OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group_id=group,
                topics=[
                    OffsetFetchResponseTopics(
                        **topic, partitions=[OffsetFetchResponsePartitions(**told(group, at, i)) for i in (2, 1)]
                    )
                    for at, topic in enumerate(topics)
                ],
            )
            for group in groups
        ]
    )


@rule(
    id="offset-delete-full",
    api="OffsetDelete",
    says="Each partition has its answer.",
    source="KIP-496; Apache Kafka OffsetMetadataManager.deleteOffsets",
    versions="0",
)
async def offset_delete_full(world: World) -> None:
    client, group = await world.client(), world.group()
    assert set((await client.commit(group, {(world.t, 0): 1, (world.u, 1): 2})).values()) == {ErrorCode.NONE}
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in (1, 0)]
            )
            for name in (world.u, world.t)
        ],
    )
    answer = await ask_in_full(client, request, 0)
    assert answer == OffsetDeleteResponse(topics=answer.topics)
    for topic in answer.topics:
        topic.partitions.sort(key=lambda each: each.partition_index)
    assert sorted(answer.topics, key=lambda each: each.name) == [
        OffsetDeleteResponseTopic(
            name=name, partitions=[OffsetDeleteResponsePartition(partition_index=index) for index in (0, 1)]
        )
        for name in (world.t, world.u)
    ]
    assert await client.fetch(group) == {}


# --- groups as operators see them ---


@rule(
    id="describe-groups-full",
    api="DescribeGroups",
    says="Each group has its entry, known or not, with what may be done with it, unless it is an error.",
    source=f"KIP-430, KIP-1043; {TAGS}",
    versions="0-6",
    each={"version": range(7)},
    since="4.0",
)
async def describe_groups_full(world: World, version: int) -> None:
    client, known, unknown = await world.client(), world.group(), world.group()
    assert await client.commit(known, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    request = DescribeGroupsRequest(groups=[known, unknown], include_authorized_operations=version >= 3)
    answer = await ask_in_full(client, request, version)
    found = {each.group_id: each for each in answer.groups}
    operations = OPERATIONS if version >= 3 else NOT_ASKED
    dead = DescribedGroup(group_id=unknown, group_state="Dead", authorized_operations=operations)
    if version >= 6:
        dead.error_code, dead.authorized_operations = ErrorCode.GROUP_ID_NOT_FOUND, NOT_ASKED
        dead.error_message = found[unknown].error_message
        assert dead.error_message
    assert found == {
        known: DescribedGroup(group_id=known, group_state="Empty", authorized_operations=operations),
        unknown: dead,
    }
    assert answer == DescribeGroupsResponse(groups=answer.groups)


@rule(
    id="list-groups-full",
    api="ListGroups",
    says="Groups are listed that are of one of the types and in one of the states, each with what the version tells.",
    source=f"KIP-518, KIP-848; {TAGS}",
    versions="0-5",
    each={"version": range(6)},
)
async def list_groups_full(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    assert await client.commit(group, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    request = ListGroupsRequest(
        states_filter=["Stable", "Empty"] if version >= 4 else [],
        types_filter=["consumer", "classic"] if version >= 5 else [],
    )
    answer = await ask_in_full(client, request, version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    expected = ListedGroup(
        group_id=group, group_state="Empty" if version >= 4 else "", group_type="classic" if version >= 5 else ""
    )
    assert [each for each in answer.groups if each.group_id == group] == [expected]
    if version >= 4:
        assert {each.group_state for each in answer.groups} <= {"Stable", "Empty"}


@rule(
    id="delete-groups-full",
    api="DeleteGroups",
    says="Each group has its answer, known or not.",
    source=f"KIP-229; {TAGS}",
    versions="0-3",
    each={"version": range(4)},
)
async def delete_groups_full(world: World, version: int) -> None:
    client, known, unknown = await world.client(), world.group(), world.group()
    assert await client.commit(known, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    answer = await ask_in_full(client, DeleteGroupsRequest(groups_names=[known, unknown]), version)
    assert answer == DeleteGroupsResponse(results=answer.results)
    assert sorted(answer.results, key=lambda each: each.error_code) == [
        DeletableGroupResult(group_id=known),
        DeletableGroupResult(group_id=unknown, error_code=ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert known not in await client.list()
