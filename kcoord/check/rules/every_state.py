"""One request in each state that a group can be in: from its member, of another generation, and from strangers."""

from dataclasses import dataclass
from typing import Final

import trio

from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    SyncGroupRequest,
)

OK, GENERATION = ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION
REBALANCE, MEMBER = ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID
GROUP = ErrorCode.GROUP_ID_NOT_FOUND
STRANGER: Final = "nobody"
VALIDATED: Final = "Apache Kafka ClassicGroup.validateMember, validateOffsetCommit"


@dataclass(frozen=True)
class Situation:
    """A group, somebody who is or was a member of it or was handed out an id, and the group's generation."""

    group: str
    member_id: str
    generation: int


async def situations(world: World) -> dict[str, Situation]:
    """Make a group in each state, and return them by what they are.

    `preparing` is about a member that has not rejoined, `rejoined` about one that has. The first rebalance of `initial`
    is begun last, and is the first to be returned, as it ends soon.
    """
    found = {"none": Situation(world.group(), "was-never-here", 1)}

    async def preparing() -> None:
        leader, _, third = await world.preparing(world.group(), session=60_000)
        found["preparing"] = Situation(leader.group, leader.id, leader.generation)
        found["rejoined"] = Situation(leader.group, third.id, leader.generation)

    async def completing() -> None:
        (member,) = await world.completing(world.group(), None, session=60_000)
        found["completing"] = Situation(member.group, member.id, member.generation)

    async def stable() -> None:
        member = await world.stable1(world.group(), session=60_000)
        found["stable"] = Situation(member.group, member.id, member.generation)

    async def left(name: str) -> None:
        member = await world.stable1(world.group())
        await member.client.leave(member.group, member.id)
        if name == "deleted":
            assert await member.client.delete(member.group) == {member.group: OK}
        found[name] = Situation(member.group, member.id, member.generation + 1)

    async with trio.open_nursery() as nursery:
        for build in (preparing, completing, stable):
            nursery.start_soon(build)
        for name in ("empty", "deleted"):
            nursery.start_soon(left, name)
    client = await world.client()
    pending = await (await client.join(group := world.group(), session=60_000)).answer()
    found["pending"] = Situation(group, pending.member_id, 0)
    member = await world.member(world.group(), session=60_000)
    assert await (await member.start_join()).parked()
    return {"initial": Situation(member.group, member.id, 0), **found}


WITH_MEMBERS: Final = ("initial", "completing", "stable", "preparing", "rejoined")
WITHOUT: Final = ("none", "pending", "empty", "deleted")


@rule(
    id="every-state-1",
    api="Heartbeat",
    says="In each state a heartbeat is told of a rebalance, of a wrong generation, or that nobody knows the member.",
    source="Apache Kafka GroupMetadataManager.classicGroupHeartbeatToClassicGroup; ClassicGroup.validateMember",
    versions="0-4",
    cost=4.5,
    connections=16,
)
async def every_state_1(world: World) -> None:
    found, client = await situations(world), await world.client()
    right = dict.fromkeys(WITHOUT, MEMBER) | dict.fromkeys(WITH_MEMBERS, REBALANCE)
    right |= {"completing": OK, "stable": OK}
    for state, it in found.items():
        assert (state, await client.heartbeat(it.group, it.generation, it.member_id)) == (state, right[state])
        wrong = GENERATION if state in WITH_MEMBERS else MEMBER
        for generation in (it.generation + 1, it.generation - 1, -1):
            assert (state, await client.heartbeat(it.group, generation, it.member_id)) == (state, wrong)
        for nobody in (STRANGER, ""):
            assert (state, await client.heartbeat(it.group, it.generation, nobody)) == (state, MEMBER)


@rule(
    id="every-state-2",
    api="SyncGroup",
    says="In each state a SyncGroup gets an assignment, or is told why not: member first, then generation, then state.",
    source="Apache Kafka GroupMetadataManager.classicGroupSyncToClassicGroup",
    versions="0-5",
    cost=4.5,
    connections=16,
)
async def every_state_2(world: World) -> None:
    found, client = await situations(world), await world.client()

    # From version 5 on the protocol is looked at before the state, and in the first rebalance there is none.
    version = min(world.offered(SyncGroupRequest)[-1], 4)

    async def told(it: Situation, generation: int, member_id: str) -> ErrorCode:
        return ErrorCode(
            (await (await client.sync(it.group, generation, member_id, version=version)).answer()).error_code
        )

    right = dict.fromkeys(WITHOUT, MEMBER) | dict.fromkeys(WITH_MEMBERS, REBALANCE)
    right |= {"completing": OK, "stable": OK}
    for state, it in found.items():
        wrong = GENERATION if state in WITH_MEMBERS else MEMBER
        for generation in (it.generation + 1, -1):
            assert (state, await told(it, generation, it.member_id)) == (state, wrong)
        for nobody in (STRANGER, ""):
            assert (state, await told(it, it.generation, nobody)) == (state, MEMBER)
        assert (state, await told(it, it.generation, it.member_id)) == (state, right[state])


@rule(
    id="every-state-3",
    api="OffsetCommit",
    says="In each state with members these commit, but not while they wait for assignments; without, everybody does.",
    source=VALIDATED,
    versions="2-9",
    cost=4.5,
    connections=16,
    since="4.0",
)
async def every_state_3(world: World) -> None:
    found, client = await situations(world), await world.client()
    versions = world.offered(OffsetCommitRequest, (2, 8, 9))

    async def told(it: Situation, generation: int, member_id: str, version: int) -> ErrorCode:
        answer = await client.commit(
            it.group, {(world.t, 0): 5}, generation=generation, member_id=member_id, version=version
        )
        return answer[world.t, 0]

    for state, it in found.items():
        for version in versions:
            no_group = GROUP if version >= 9 else GENERATION
            right = dict.fromkeys(WITH_MEMBERS, OK) | {"completing": REBALANCE}
            right |= {"none": no_group, "deleted": no_group, "pending": MEMBER, "empty": MEMBER}
            assert (state, await told(it, it.generation, it.member_id, version)) == (state, right[state])
            if state in WITH_MEMBERS:
                wrong, nobody = GENERATION, MEMBER
            else:
                wrong = nobody = right[state]
            assert (state, await told(it, it.generation + 1, it.member_id, version)) == (state, wrong)
            for other in (STRANGER, ""):
                assert (state, await told(it, it.generation, other, version)) == (state, nobody)
    # A commit from outside makes the group where there is none, so that comes last.
    for state, it in found.items():
        outside = MEMBER if state in WITH_MEMBERS else OK
        assert (state, await told(it, -1, "", versions[-1])) == (state, outside)


@rule(
    id="every-state-4",
    api="OffsetFetch",
    says="In each state strangers may ask for offsets, and can neither join under a name of their own nor leave.",
    source="Apache Kafka OffsetMetadataManager.fetchOffsets, GroupMetadataManager",
    versions="8-9",
    cost=4.5,
    connections=16,
)
async def every_state_4(world: World) -> None:
    found, client = await situations(world), await world.client()
    version = world.offered(OffsetFetchRequest, (9, 8))[0]
    for state, it in found.items():
        before = (await client.describe(it.group)).group_state
        topics = [OffsetFetchRequestTopics(name=world.t, partition_indexes=[0])]
        wanted = OffsetFetchRequestGroup(group_id=it.group, topics=topics)
        if version >= 9:
            wanted.member_id, wanted.member_epoch = STRANGER, 7
        (answer,) = (await client.call(OffsetFetchRequest(groups=[wanted]), version)).groups
        (one,) = answer.topics[0].partitions
        assert (state, answer.error_code, one.error_code, one.committed_offset) == (state, OK, OK, -1)
        joined = await (await client.join(it.group, STRANGER)).answer()
        assert (state, joined.error_code, joined.member_id) == (state, MEMBER, STRANGER)
        left = await client.leave(it.group, STRANGER, (STRANGER, "i"), ("", "i"), "")
        assert (state, left.error_code, [one.error_code for one in left.members]) == (state, OK, [MEMBER] * 4)
        assert (state, (await client.describe(it.group)).group_state) == (state, before)
