"""What a request has written is one batch of the offsets topic: what does not fit is refused, and nothing comes of it.

How many bytes a batch may have is max.message.bytes of that topic, which is the broker's message.max.bytes at first.
"""

from typing import Any, Final

from kcoord.check.commits import commit_listed, part
from kcoord.check.member import Member, settle
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.steps import assert_sync_refused, start_in_order, state_of
from kcoord.check.topics import soon
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from wire.payloads import GroupMetadataKey, GroupMetadataValue, MemberMetadata, encode_key, encode_value
from wire.records import size_of, size_of_lengths

LIMIT: Final = 1_048_588
LIMITED: Final = {"message.max.bytes": LIMIT}
FAILED: Final = ErrorCode.UNKNOWN_SERVER_ERROR
APPENDED: Final = "Apache Kafka CoordinatorRuntime.append, CoordinatorOperationExceptionHelper"
BEFORE: Final = "Apache Kafka 3.9 GroupMetadataManager.cleanupGroupMetadata: that the append fails is only logged"
SYNCED: Final = "Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup"
LONG: Final = "a-group-whose-name-is-long-" + "x" * 1_100
"""Of offsets of a group with such a name, a batch has no room for the tombstones of 1000."""
MANY: Final = 1000


async def largest(member: Member) -> int:
    """Return how many bytes may be assigned to the only member of a group that waits for that."""
    (described,) = (await member.client.describe(member.group)).members
    protocols = member.protocols or []
    known = MemberMetadata(
        member_id=member.id,
        client_id=described.client_id,
        client_host=described.client_host,
        rebalance_timeout=member.rebalance,
        session_timeout=member.session,
        subscription=protocols[0][1],
        assignment=b"x" * (LIMIT - 1000),
    )
    value = GroupMetadataValue(
        protocol_type=member.protocol_type,
        generation=member.generation,
        protocol=protocols[0][0],
        leader=member.id,
        current_state_timestamp=0,
        members=(known,),
    )
    row = (encode_key(GroupMetadataKey(group=member.group)), encode_value(value))
    return len(known.assignment) + LIMIT - size_of([row])


@rule(
    id="batches-1",
    api="SyncGroup",
    says="Assignments may be so large that the record of their group just fits into a batch, and no larger.",
    source=f"{SYNCED}; {APPENDED}",
    versions="0-5",
    since="3.9",
    cost=3.2,
    settings=LIMITED,
    topics=(),
)
async def batches_1(world: World) -> None:
    (member,) = await world.completing(world.group(), None, protocols=[("range", b"m")])
    most = await largest(member)
    call = await member.sync({member.id: b"x" * (most + 1)})
    assert_sync_refused(await call.answer(), FAILED)
    await member.start_join()
    await member.finish_join()
    call = await member.sync({member.id: b"x" * most})
    assert (await call.answer()).error_code == ErrorCode.NONE
    (described,) = (await member.client.describe(member.group)).members
    assert len(described.member_assignment) == most


@rule(
    id="batches-2",
    api="SyncGroup",
    says="Who waits for assignments that are too large is told so, and all have to join again.",
    source=f"{SYNCED}; {APPENDED}",
    versions="0-5",
    since="3.9",
    cost=3.3,
    settings=LIMITED,
    topics=("t",),
)
async def batches_2(world: World) -> None:
    leader, follower = await world.completing(world.group(), None, None)
    held = await follower.sync()
    assert await held.parked()
    call = await leader.sync({leader.id: b"x" * LIMIT, follower.id: b"f"})
    for refused in (call, held):
        assert_sync_refused(await refused.answer(), FAILED)
    assert await state_of(world, leader.group) == "PreparingRebalance"
    for member in (leader, follower):
        assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await start_in_order(leader)
    await follower.start_join()
    for member in (leader, follower):
        await member.finish_join()
    assert (leader.generation, follower.generation, len(leader.listed)) == (2, 2, 2)
    await settle([leader, follower])


@rule(
    id="batches-3",
    api="JoinGroup",
    says="A static member that comes back with more metadata than fits into its group's record is refused, and stays.",
    source="KIP-345; Apache Kafka GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
    versions="5-9",
    since="4.0",
    cost=3.3,
    settings=LIMITED,
    topics=(),
    each={"version": (5, 7, 9)},
)
async def batches_3(world: World, version: int) -> None:
    (member,) = await world.completing(world.group(), "i1", protocols=[("range", b"m")])
    call = await member.sync({member.id: b"x" * 500_000})
    assert (await call.answer()).error_code == ErrorCode.NONE
    client = await world.client()
    much = [("range", b"m" * 600_000)]
    call = await client.join(member.group, instance="i1", protocols=much, version=version)
    answer = await call.answer()
    assert (answer.error_code, answer.generation_id, answer.leader) == (FAILED, 1, member.id)
    assert answer.protocol_type == (None if version < 7 else "consumer")
    assert (answer.protocol_name, answer.member_id, answer.members) == ("range", "", [])
    assert answer.skip_assignment is False
    assert await member.heartbeat() is ErrorCode.NONE
    described = await client.describe(member.group)
    assert described.group_state == "Stable"
    assert [(one.member_id, one.member_metadata) for one in described.members] == [(member.id, b"m")]


async def filled(client: Client, group: str, topic: str) -> None:
    """Commit so many offsets to a group that their tombstones are more than a batch."""
    for start in range(0, MANY, MANY // 2):
        told = await client.commit(group, {(topic, number): 1 for number in range(start, start + MANY // 2)})
        assert set(told.values()) == {ErrorCode.NONE}


async def stored(client: Client, group: str, topic: str) -> int:
    """Return how many of the offsets are stored, asked by name: all there are come in an order of the broker's own."""
    found = await client.fetch(group, {topic: list(range(MANY))})
    return sum(offset >= 0 for offset, _, _ in found.values())


async def delete_offsets(client: Client, group: str, topic: str, count: int) -> Any:
    """Send OffsetDelete for the first partitions of a topic; return the answer."""
    wish = [OffsetDeleteRequestPartition(partition_index=number) for number in range(count)]
    asked = OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=wish)])
    return await client.call(asked)


@rule(
    id="batches-4",
    api="OffsetDelete",
    says="Of more offsets than a batch has room to delete, none is deleted.",
    source=f"KIP-496; {APPENDED}",
    versions="0",
    since="4.0",
    settings=LIMITED,
    topics=("wide",),
)
async def batches_4(world: World) -> None:
    client, group = await world.client(), world.group(LONG)
    await filled(client, group, world.wide)
    answer = await delete_offsets(client, group, world.wide, MANY)
    assert (answer.error_code, answer.topics) == (FAILED, [])
    assert await stored(client, group, world.wide) == MANY
    answer = await delete_offsets(client, group, world.wide, MANY // 2)
    assert (answer.error_code, len(answer.topics[0].partitions)) == (ErrorCode.NONE, MANY // 2)
    assert await stored(client, group, world.wide) == MANY // 2


@rule(
    id="batches-5",
    api="DeleteGroups",
    says="A group with more offsets than a batch has room to delete is not deleted before there are fewer.",
    source=f"KIP-229; {APPENDED}",
    versions="0-3",
    since="4.0",
    settings=LIMITED,
    topics=("wide",),
)
async def batches_5(world: World) -> None:
    client, group = await world.client(), world.group(LONG)
    await filled(client, group, world.wide)
    assert await client.delete(group) == {group: FAILED}
    assert group in await client.list()
    assert await stored(client, group, world.wide) == MANY
    assert (await delete_offsets(client, group, world.wide, MANY // 2)).error_code == ErrorCode.NONE
    assert await client.delete(group) == {group: ErrorCode.NONE}

    async def gone() -> bool:
        return group not in await client.list()

    assert await soon(gone)


# --- commits ---


AROUND: Final = 25
"""Bytes of a committed offset's value, of version 4, beside metadata of more than 126 letters."""
AROUND_WITH_TOPIC_ID: Final = 43
STORED: Final = "Apache Kafka GroupCoordinatorRecordHelpers.newOffsetCommitRecord, CoordinatorRuntime.append"


async def just_fits(world: World, around: int) -> None:
    """See to it that the largest commit that fits into a batch, whose values have so much around them, is stored."""
    client, group, t = await world.client(), world.group(), world.t
    key, each = 10 + len(group) + len(t), 3_000

    def size(count: int, last: int) -> int:
        return size_of_lengths((key, around + length) for length in [*[each] * (count - 1), last])

    count = next(count for count in range(330, 400) if size(count, 4_000) >= LIMIT)
    most = next(last for last in range(4_000, 128, -1) if size(count, last) <= LIMIT)

    async def told(last: int) -> set[ErrorCode]:
        parts = [part(0, 1, "m" * each) for _ in range(count - 1)]
        ((_, answered),) = await commit_listed(client, group, [(t, [*parts, part(0, 2, "m" * last)])])
        return {error for _, error in answered}

    assert await told(most + 1) == {FAILED}
    assert await told(most) == {ErrorCode.NONE}
    assert await client.fetch(group, {t: [0]}) == {(t, 0): (2, -1, "m" * most)}


@rule(
    id="batches-6",
    api="OffsetCommit",
    says="A commit may be so large that it just fits into a batch with the topics' ids, and no larger.",
    source=STORED,
    versions="5-9",
    since="4.3",
    settings=LIMITED,
)
async def batches_6(world: World) -> None:
    await just_fits(world, AROUND_WITH_TOPIC_ID)


@rule(
    id="batches-6-4.2",
    api="OffsetCommit",
    says="A commit may be so large that it just fits into a batch without the topics' ids, and no larger.",
    source=STORED,
    versions="5-9",
    since="4.1",
    until="4.2",
    settings=LIMITED,
)
async def batches_6_before(world: World) -> None:
    await just_fits(world, AROUND)


@rule(
    id="batches-7",
    api="OffsetCommit",
    says="Metadata that is too long takes no room in a batch, as it is not stored.",
    source="Apache Kafka OffsetMetadataManager.commitOffset",
    versions="2-9",
    since="4.0",
    settings=LIMITED,
)
async def batches_7(world: World) -> None:
    client, group, t = await world.client(), world.group(), world.t
    parts = [*(part(0, 1, "m" * 5_000) for _ in range(300)), part(1, 1)]
    ((_, answered),) = await commit_listed(client, group, [(t, parts)])
    assert answered == [(0, ErrorCode.OFFSET_METADATA_TOO_LARGE)] * 300 + [(1, ErrorCode.NONE)]


# --- until 3.9 ---


@rule(
    id="batches-5-3.9",
    api="DeleteGroups",
    says="Offsets can be deleted however many there are, by themselves and with their group.",
    source=f"KIP-229; KIP-496; {BEFORE}",
    versions="0-2",
    until="3.9",
    settings=LIMITED,
    topics=("wide",),
)
async def batches_5_before(world: World) -> None:
    client, group = await world.client(), world.group(LONG)
    await filled(client, group, world.wide)
    answer = await delete_offsets(client, group, world.wide, MANY)
    assert (answer.error_code, len(answer.topics[0].partitions)) == (ErrorCode.NONE, MANY)
    assert await stored(client, group, world.wide) == 0
    await filled(client, group, world.wide)
    assert await client.delete(group) == {group: ErrorCode.NONE}
    assert await stored(client, group, world.wide) == 0
