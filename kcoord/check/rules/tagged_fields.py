"""Tagged fields that nobody knows are read over, at every level of a request (KIP-482)."""

import struct
from typing import Any

from kcoord.check.probe import sub
from kcoord.check.rule import rule
from kcoord.check.tags import UNKNOWN_TAGS, ask_with_tags, compact, many
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

IGNORED = "KIP-482: tags that are not known are skipped"
NOBODY = compact(None)


@rule(
    id="connections-12",
    api="JoinGroup",
    says="Tags that nobody knows change nothing of a member's life, from JoinGroup to LeaveGroup.",
    source=IGNORED,
    versions="6-9",
    cost=3.1,
    each={"join_version": range(6, 10), "sync_version": (4, 5)},
)
async def connections_12(world: World, join_version: int, sync_version: int) -> None:
    client, group = await world.client(), world.group()
    metadata, assignment = sub(world.t), b"\x00\x00 assignment"

    async def join(member_id: str) -> Any:
        return await ask_with_tags(
            client,
            JoinGroupRequest,
            join_version,
            compact(group) + struct.pack(">ii", 10_000, 30_000) + compact(member_id) + NOBODY,
            compact("consumer"),
            many(compact("range") + compact(metadata) + UNKNOWN_TAGS),
            compact("because") if join_version >= 8 else b"",
        )

    first = await join("")
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    member_id = first.member_id
    assert member_id.startswith("tags-")
    joined = await join(member_id)
    assert (joined.error_code, joined.generation_id, joined.leader) == (ErrorCode.NONE, 1, member_id)
    assert [(one.member_id, one.group_instance_id, one.metadata) for one in joined.members] == [
        (member_id, None, metadata)
    ]
    assert joined.protocol_name == "range"
    assert joined.protocol_type == ("consumer" if join_version >= 7 else None)
    identity = struct.pack(">i", joined.generation_id) + compact(member_id) + NOBODY
    synced = await ask_with_tags(
        client,
        SyncGroupRequest,
        sync_version,
        compact(group) + identity,
        compact("consumer") + compact("range") if sync_version >= 5 else b"",
        many(compact(member_id) + compact(assignment) + UNKNOWN_TAGS),
    )
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, assignment)
    beat = await ask_with_tags(client, HeartbeatRequest, 4, compact(group) + identity)
    assert beat.error_code == ErrorCode.NONE
    assert await client.heartbeat(group, 1, member_id, version=3) is ErrorCode.NONE
    leave_version = sync_version
    left = await ask_with_tags(
        client,
        LeaveGroupRequest,
        leave_version,
        compact(group),
        many(
            compact(member_id) + NOBODY + (compact("done") if leave_version >= 5 else b"") + UNKNOWN_TAGS,
            compact("other") + NOBODY + (compact(None) if leave_version >= 5 else b"") + UNKNOWN_TAGS,
        ),
    )
    assert left.error_code == ErrorCode.NONE
    assert [(one.member_id, one.error_code) for one in left.members] == [
        (member_id, ErrorCode.NONE),
        ("other", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


@rule(
    id="connections-13",
    api="OffsetCommit",
    says="An offset that is committed with tags which nobody knows is stored as it is without them.",
    source=IGNORED,
    versions="8-9",
    each={"version": (8, 9)},
)
async def connections_13(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    partition = struct.pack(">iqi", 0, version, 3) + compact("note") + UNKNOWN_TAGS
    identity = struct.pack(">i", -1) + compact("") + NOBODY
    topics = many(compact(world.t) + many(partition) + UNKNOWN_TAGS)
    answer = await ask_with_tags(client, OffsetCommitRequest, version, compact(group) + identity + topics)
    assert [(one.partition_index, one.error_code) for one in answer.topics[0].partitions] == [(0, ErrorCode.NONE)]
    assert await client.fetch(group, version=5) == {(world.t, 0): (version, 3, "note")}


@rule(
    id="connections-13b",
    api="OffsetFetch",
    says="Offsets that are asked for with tags which nobody knows are told as they are without them.",
    source=IGNORED,
    versions="6-9",
    each={"version": range(6, 10)},
)
async def connections_13b(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): (9, "note")}, epoch=3)
    asked = many(compact(world.t) + many(struct.pack(">i", 0), struct.pack(">i", 1)) + UNKNOWN_TAGS)
    stable = b"\x00" if version >= 7 else b""
    if version < 8:
        answer = await ask_with_tags(client, OffsetFetchRequest, version, compact(group) + asked + stable)
    else:
        member = NOBODY + struct.pack(">i", -1) if version >= 9 else b""
        one_group = compact(group) + member + asked + UNKNOWN_TAGS
        response = await ask_with_tags(client, OffsetFetchRequest, version, many(one_group) + stable)
        (answer,) = response.groups
    (topic,) = answer.topics
    assert topic.name == world.t
    assert [
        (one.partition_index, one.committed_offset, one.committed_leader_epoch, one.metadata)
        for one in topic.partitions
    ] == [(0, 9, 3, "note"), (1, -1, -1, "")]
