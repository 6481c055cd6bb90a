"""Members that commit offsets: in which state of the group they may, and what it does to their sessions."""

from collections.abc import Iterable

import trio

from kcoord.check.commits import NAMED, commit_listed, part
from kcoord.check.member import Member
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetCommitRequest

CHECKED = "Apache Kafka ClassicGroup.validateOffsetCommit"
HANDLED = "Apache Kafka OffsetMetadataManager.commitOffset"
FILTERED = "Apache Kafka KafkaApis.handleOffsetCommitRequest"


async def assert_all_refused(
    world: World, member: Member, identities: Iterable[tuple[int, str]], error: ErrorCode
) -> None:
    """Commit as each of these (generation, member id), in every version; each partition must have the error."""
    for version in world.offered(OffsetCommitRequest, NAMED):
        for generation, member_id in identities:
            answer = await member.commit(
                {(world.t, 0): 1, (world.t, 1): 1}, generation=generation, member_id=member_id, version=version
            )
            assert answer == {(world.t, 0): error, (world.t, 1): error}
    assert await member.client.fetch(member.group) == {}


@rule(
    id="J1",
    api="OffsetCommit",
    says="A member of a stable group commits, and what it committed is what is fetched.",
    source=HANDLED,
    versions="2-9",
    cost=3.1,
)
async def j1(world: World) -> None:
    member = await world.stable1(world.group())
    for version in world.offered(OffsetCommitRequest, NAMED):
        answer = await member.commit({(world.t, 0): 5 + version}, version=version)
        assert answer == {(world.t, 0): ErrorCode.NONE}
        assert await member.client.fetch(member.group, {world.t: [0]}) == {(world.t, 0): (5 + version, -1, "")}


@rule(
    id="J1b",
    api="OffsetCommit",
    says="A member may commit by the topic's id, and what it committed is fetched by the name.",
    source=f"KIP-516; {HANDLED}",
    versions="10",
    cost=3.1,
)
async def j1b(world: World) -> None:
    member = await world.stable1(world.group())
    (topic_id,) = await member.client.topic_ids(world.t)
    answer = await commit_listed(
        member.client,
        member.group,
        [(topic_id, [part(0, 5)])],
        10,
        generation=member.generation,
        member_id=member.id,
    )
    assert answer == [(topic_id, [(0, ErrorCode.NONE)])]
    assert await member.client.fetch(member.group) == {(world.t, 0): (5, -1, "")}


@rule(
    id="J7",
    api="OffsetCommit",
    says="A group with members takes no commit that comes from outside it.",
    source=CHECKED,
    versions="2-9",
    cost=3.1,
    also="S5",
)
async def j7(world: World) -> None:
    member = await world.stable1(world.group())
    await assert_all_refused(world, member, [(-1, "")], ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="J8",
    api="OffsetCommit",
    says="To know the group's generation is not enough: it takes a member's id, too.",
    source=CHECKED,
    versions="2-9",
    cost=3.1,
)
async def j8(world: World) -> None:
    member = await world.stable1(world.group())
    await assert_all_refused(world, member, [(member.generation, "")], ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="J9",
    api="OffsetCommit",
    says="A member that names another generation than the group's, or none, is refused.",
    source=CHECKED,
    versions="2-9",
    cost=3.1,
)
async def j9(world: World) -> None:
    member = await world.stable1(world.group())
    others = [(generation, member.id) for generation in (member.generation + 1, member.generation - 1, -1)]
    await assert_all_refused(world, member, others, ErrorCode.ILLEGAL_GENERATION)


@rule(
    id="J10",
    api="OffsetCommit",
    says="Who is no member is told so, whatever generation it names.",
    source=f"{CHECKED}: the member is validated before the generation",
    versions="2-9",
    cost=3.1,
)
async def j10(world: World) -> None:
    member = await world.stable1(world.group())
    strangers = [(generation, "stranger") for generation in (member.generation, member.generation + 1, -1)]
    await assert_all_refused(world, member, strangers, ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="J11",
    api="OffsetCommit",
    says="Members commit nothing before the leader has sent the assignments.",
    source=f"{CHECKED}: CompletingRebalance",
    versions="2-9",
    cost=3.1,
)
async def j11(world: World) -> None:
    (member,) = await world.completing(world.group(), None)
    itself = [(member.generation, member.id)]
    await assert_all_refused(world, member, itself, ErrorCode.REBALANCE_IN_PROGRESS)


@rule(
    id="J12",
    api="OffsetCommit",
    says="Before the leader has sent the assignments generation and member are checked all the same, and first.",
    source=f"{CHECKED}: the state is looked at last",
    versions="2-9",
    cost=3.1,
)
async def j12(world: World) -> None:
    (member,) = await world.completing(world.group(), None)
    others = [(member.generation + 1, member.id), (member.generation - 1, member.id)]
    await assert_all_refused(world, member, others, ErrorCode.ILLEGAL_GENERATION)
    strangers = [(member.generation, "stranger"), (-1, "")]
    await assert_all_refused(world, member, strangers, ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="J13",
    api="OffsetCommit",
    says="While the next generation gathers, members may commit with the old one, and not yet with the next.",
    source=f"{CHECKED}: PreparingRebalance",
    versions="2-9",
    cost=6.5,
)
async def j13(world: World) -> None:
    leader, follower, _ = await world.preparing(world.group())
    assert await leader.commit({(world.t, 0): 21}) == {(world.t, 0): ErrorCode.NONE}
    assert await follower.commit({(world.t, 1): 22}) == {(world.t, 1): ErrorCode.NONE}
    answer = await leader.commit({(world.t, 0): 23}, generation=leader.generation + 1)
    assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}
    assert await leader.client.fetch(leader.group) == {(world.t, 0): (21, -1, ""), (world.t, 1): (22, -1, "")}


@rule(
    id="J15",
    api="OffsetCommit",
    says="An instance id is checked before member and generation: it must be known, and belong to the member.",
    source=f"KIP-345; {CHECKED}; ClassicGroup.validateMember",
    versions="7-9",
    cost=6.1,
)
async def j15(world: World) -> None:
    leader, follower = await world.static2(world.group())
    assert await leader.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    fenced = await leader.commit({(world.t, 0): 2}, member_id=follower.id)
    assert fenced == {(world.t, 0): ErrorCode.FENCED_INSTANCE_ID}
    fenced = await leader.commit({(world.t, 0): 2}, member_id="stranger", generation=leader.generation + 1)
    assert fenced == {(world.t, 0): ErrorCode.FENCED_INSTANCE_ID}
    unknown = await leader.commit({(world.t, 0): 2}, instance="i3")
    assert unknown == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await leader.client.fetch(leader.group) == {(world.t, 0): (1, -1, "")}


@rule(
    id="J36",
    api="OffsetCommit",
    says="A static member may leave its instance id out.",
    source=f"KIP-345; {CHECKED}; ClassicGroup.validateMember",
    versions="2-9",
    cost=6.1,
)
async def j36(world: World) -> None:
    leader, _ = await world.static2(world.group())
    for version in world.offered(OffsetCommitRequest, NAMED):
        answer = await leader.commit({(world.t, 0): version}, instance=None, version=version)
        assert answer == {(world.t, 0): ErrorCode.NONE}
        assert await leader.client.fetch(leader.group) == {(world.t, 0): (version, -1, "")}


@rule(
    id="J34",
    api="OffsetCommit",
    says="Members of a group that is not of consumers commit by the same rules.",
    source=f"{CHECKED}: the protocol type plays no part",
    versions="2-9",
    cost=3.1,
)
async def j34(world: World) -> None:
    group = world.group()
    member = await world.member(group, protocol_type="connect", protocols=[("eager", b"\x01\x02")])
    await member.start_join()
    await member.finish_join()
    assert await member.commit({(world.t, 0): 1}) == {(world.t, 0): ErrorCode.REBALANCE_IN_PROGRESS}
    call = await member.sync({member.id: b"x"})
    assert (await call.answer()).error_code == ErrorCode.NONE
    assert await member.commit({(world.t, 0): 2}) == {(world.t, 0): ErrorCode.NONE}
    assert await member.client.commit(group, {(world.t, 0): 3}) == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}
    assert await member.client.fetch(group) == {(world.t, 0): (2, -1, "")}


@rule(
    id="J35",
    api="OffsetCommit",
    says="Who was only handed out a member id commits nothing to a group that has members.",
    source=f"KIP-394; {CHECKED}",
    versions="2-9",
    cost=3.1,
)
async def j35(world: World) -> None:
    member = await world.stable1(world.group())
    client = await world.client()
    pending = (await (await client.join(member.group)).answer()).member_id
    for generation in (member.generation, -1, 0):
        answer = await client.commit(member.group, {(world.t, 0): 1}, generation=generation, member_id=pending)
        assert answer == {(world.t, 0): ErrorCode.UNKNOWN_MEMBER_ID}


# --- sessions ---


@rule(
    id="committing-1",
    api="OffsetCommit",
    says="A commit that the group takes renews the session, though every partition's metadata is too long.",
    source=f"{HANDLED}: the session is renewed before partitions are looked at",
    versions="2-9",
    cost=10.1,
)
async def committing_1(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(5)
    answer = await member.commit({(world.t, 0): (1, "x" * 5000)})
    assert answer == {(world.t, 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    await trio.sleep(2)
    assert await member.heartbeat() is ErrorCode.NONE


@rule(
    id="committing-2",
    api="OffsetCommit",
    says="A commit that the group refuses does not renew the session.",
    source=f"{HANDLED}: the session is renewed after the group's checks",
    versions="2-9",
    cost=10.1,
)
async def committing_2(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    await trio.sleep(5)
    answer = await member.commit({(world.t, 0): (1, "x" * 5000)}, generation=99)
    assert answer == {(world.t, 0): ErrorCode.ILLEGAL_GENERATION}
    await trio.sleep(2)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@rule(
    id="committing-3",
    api="OffsetCommit",
    says="A commit whose topics are all unknown does not renew the session.",
    source=f"{FILTERED}: the group is not asked",
    versions="2-9",
    cost=10.1,
)
async def committing_3(world: World) -> None:
    member = await world.stable1(world.group(), session=6_000)
    nope = world.topic("nope")
    await trio.sleep(5)
    assert await member.commit({(nope, 0): 1}) == {(nope, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    await trio.sleep(2)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
