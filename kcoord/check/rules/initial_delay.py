"""The initial delay: how long a new group waits for members before its first generation."""

from dataclasses import replace

import trio

from kcoord.check.member import Member, settle
from kcoord.check.rule import rule
from kcoord.check.steps import Stopwatch, generation_of_next, leave, start_in_order, state_of
from kcoord.check.world import World
from wire.errors import ErrorCode

DELAY = {"group.initial.rebalance.delay.ms": 3000}
SHORT = {"group.initial.rebalance.delay.ms": 500}
NONE = {"group.initial.rebalance.delay.ms": 0}

EXTENDED = "KIP-134; Apache Kafka GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule"
PREPARED = "Apache Kafka GroupMetadataManager.prepareRebalance"
COMPLETED = "Apache Kafka GroupMetadataManager.completeClassicGroupJoin"
EXISTING = "Apache Kafka GroupMetadataManager.classicGroupJoinExistingMember"
ADDED = "Apache Kafka GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin"


@rule(
    id="D1",
    api="JoinGroup",
    says="A new group waits for the initial delay, 3 s, until its first generation begins.",
    source=f"KIP-134; {PREPARED}",
    versions="0-9",
    cost=3.2,
    settings=DELAY,
)
async def d1(world: World) -> None:
    member = await world.member(world.group())
    watch = Stopwatch(world)
    await member.start_join()
    await member.finish_join()
    assert watch.shows(3)


@rule(
    id="D2",
    api="JoinGroup",
    says="A newcomer within the initial delay buys another one, and is in the same first generation.",
    source=EXTENDED,
    versions="0-9",
    cost=6.2,
    settings=DELAY,
    each={"moment": (0.3, 2.5)},
    also="connections-20",
)
async def d2(world: World, moment: float) -> None:
    group = world.group()
    first, second = await world.member(group), await world.member(group)
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(moment)
    await second.start_join()
    await first.finish_join()
    assert watch.shows(6)
    await second.finish_join()
    assert watch.shows(6)
    assert first.generation == second.generation == 1
    assert set(first.listed) == {first.id, second.id}


@rule(
    id="D3",
    api="JoinGroup",
    says="Newcomers extend the initial delay up to the rebalance timeout of the first member, and no further.",
    source=f"KIP-134; {PREPARED}: the delay that remains",
    versions="1-9",
    cost=7.2,
    settings=DELAY,
)
async def d3(world: World) -> None:
    group = world.group()
    first = await world.member(group, rebalance=7_000)
    others = [await world.member(group, rebalance=60_000) for _ in range(3)]
    watch = Stopwatch(world)
    await first.start_join()
    for member, moment in zip(others, (1.5, 4.5, 6.5), strict=True):
        await watch.until(moment)
        await member.start_join()
    for member in (first, *others):
        assert (await member.finish_join()).generation_id == 1
        assert watch.shows(7)
    assert len(first.listed) == 4


@rule(
    id="D3b",
    api="JoinGroup",
    says="The initial delay is waited for in full, even if the first member's rebalance timeout is shorter.",
    source=f"{PREPARED}: the first delay is not bounded",
    versions="1-9",
    cost=3.2,
    settings=DELAY,
)
async def d3b(world: World) -> None:
    group = world.group()
    first, second = await world.member(group, rebalance=1_000), await world.member(group, rebalance=60_000)
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2)
    await second.start_join()
    await first.finish_join()
    assert watch.shows(3)
    await second.finish_join()


@rule(
    id="D3c",
    api="JoinGroup",
    says="A newcomer that could not extend the first rebalance any more extends the next that begins without members.",
    source=f"{EXTENDED}: newMemberAdded is taken back only where it extends a delay",
    versions="4-9",
    cost=9.3,
    settings=DELAY,
)
async def d3c(world: World) -> None:
    group = world.group()
    first, second = [await world.member(group, rebalance=3_000) for _ in range(2)]
    watch = Stopwatch(world)
    await start_in_order(first, second)
    for member in (first, second):
        await member.finish_join()
    assert watch.shows(3)
    await settle([first, second])
    await first.client.leave(group, first.id, second.id)
    assert await state_of(world, group) == "Empty"
    third = await world.member(group)
    watch = Stopwatch(world)
    await third.start_join()
    await third.finish_join()
    assert watch.shows(6)


@rule(
    id="D4",
    api="JoinGroup",
    says="Who joins in the initial delay, with an id that was handed out before it, is a newcomer that extends it.",
    source=f"KIP-394; {ADDED}: newMemberAdded",
    versions="4-9",
    cost=6.1,
    settings=DELAY,
)
async def d4(world: World) -> None:
    group = world.group()
    client = await world.client()
    pending = (await (await client.join(group)).answer()).member_id
    first = await world.member(group)
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2)
    call = await client.join(group, pending)
    assert await call.parked()
    await first.finish_join()
    assert watch.shows(6)
    assert (await call.answer()).error_code == ErrorCode.NONE


@rule(
    id="D4b",
    api="JoinGroup",
    says="To be handed out a member id extends no initial delay.",
    source="KIP-394; Apache Kafka GroupMetadataManager.classicGroupJoinNewDynamicMember",
    versions="4-9",
    cost=3.2,
    settings=DELAY,
)
async def d4b(world: World) -> None:
    first = await world.member(world.group())
    watch = Stopwatch(world)
    await first.start_join()
    await watch.until(2)
    answer = await (await (await world.client()).join(first.group)).answer()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    await first.finish_join()
    assert watch.shows(3)


@rule(
    id="D5",
    api="JoinGroup",
    says="A JoinGroup that a member sends again in the initial delay neither shortens nor extends it.",
    source=f"{EXISTING}: PreparingRebalance; maybeCompleteJoinPhase leaves an initial rebalance alone",
    versions="4-9",
    cost=3.2,
    settings=DELAY,
)
async def d5(world: World) -> None:
    member = await world.member(world.group())
    watch = Stopwatch(world)
    await member.start_join()
    await watch.until(1)
    again = replace(member, client=await world.client())
    call = await again.start_join()
    assert await call.parked()
    await again.finish_join()
    assert watch.shows(3)
    assert again.generation == 1
    assert again.listed == (member.id,)


@rule(
    id="D6",
    api="JoinGroup",
    says="The first to join leads a new group, and is told of all members; the others are told who leads.",
    source=f"Apache Kafka ClassicGroup.add; {COMPLETED}",
    versions="0-9",
    cost=6.1,
)
async def d6(world: World) -> None:
    group = world.group()
    members = [await world.member(group) for _ in range(3)]
    await start_in_order(*members)
    answers = {member.id: await member.finish_join() for member in members}
    leader, *followers = members
    assert leader.leads
    assert sorted(leader.listed) == sorted(member.id for member in members)
    for follower in followers:
        answer = answers[follower.id]
        assert answer.members == []
        assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, leader.id, "range")


@rule(
    id="D44",
    api="LeaveGroup",
    says="If all leave during the initial delay, the group stays in its rebalance until the delay is over.",
    source=f"{COMPLETED}; maybeCompleteJoinPhase leaves an initial rebalance alone",
    versions="3-5",
    cost=10.1,
    settings=DELAY,
)
async def d44(world: World) -> None:
    group = world.group()
    members = [await world.member(group) for _ in range(2)]
    watch = Stopwatch(world)
    await start_in_order(*members)
    client = await world.client()
    for member in members:
        assert await leave(client, group, member.id) is ErrorCode.NONE
        assert member.call is not None
        answer = await member.call.answer()
        assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert await state_of(world, group) == "PreparingRebalance"
    # The second one bought a second window.
    await watch.until(5.5)
    assert await state_of(world, group) == "PreparingRebalance"
    await watch.until(6 + watch.tolerance)
    described = await client.describe(group)
    assert (described.group_state, described.members) == ("Empty", [])
    assert await generation_of_next(world, group) == 2


# --- other delays than the usual ---


async def first_joins(world: World, group: str, *arrivals: float, rebalance: int = 30_000) -> list[Member]:
    """Let members arrive after so many seconds; return them when the first of them was answered."""
    members = [await world.member(group, rebalance=rebalance) for _ in arrivals]

    async def join_at(member: Member, seconds: float) -> None:
        await trio.sleep(seconds)
        await member.start_join()

    async with trio.open_nursery() as nursery:
        for member, arrival in zip(members, arrivals, strict=True):
            nursery.start_soon(join_at, member, arrival)
    await members[0].finish_join()
    return members


@rule(
    id="connections-17",
    api="JoinGroup",
    says="The initial delay is as long as the broker's setting, half a second here.",
    source=f"KIP-134; {PREPARED}; group.initial.rebalance.delay.ms",
    versions="0-9",
    cost=0.6,
    settings=SHORT,
)
async def connections_17(world: World) -> None:
    watch = Stopwatch(world)
    await first_joins(world, world.group(), 0)
    assert watch.shows(0.5)


@rule(
    id="connections-18",
    api="JoinGroup",
    says="Without an initial delay the first member's generation begins at once.",
    source=f"KIP-134; {PREPARED}; group.initial.rebalance.delay.ms",
    versions="0-9",
    cost=0.1,
    settings=NONE,
)
async def connections_18(world: World) -> None:
    watch = Stopwatch(world)
    await first_joins(world, world.group(), 0)
    assert watch.shows(0)


@rule(
    id="connections-19",
    api="JoinGroup",
    says="However many come in one initial delay, one more is waited for, within the first one's rebalance timeout.",
    source=EXTENDED,
    versions="1-9",
    cost=1.6,
    settings=SHORT,
    each=(
        {"arrivals": (0, 0.3), "rebalance": 30_000, "seconds": 1.0},
        {"arrivals": (0, 0.3, 0.8), "rebalance": 30_000, "seconds": 1.5},
        {"arrivals": (0, 0.3, 0.8), "rebalance": 1_200, "seconds": 1.2},
        {"arrivals": (0, 0.2, 0.4), "rebalance": 30_000, "seconds": 1.0},
        # The first delay is waited for in full.
        {"arrivals": (0, 0.3), "rebalance": 100, "seconds": 0.5},
    ),
)
async def connections_19(world: World, arrivals: tuple[float, ...], rebalance: int, seconds: float) -> None:
    watch = Stopwatch(world)
    first, *others = await first_joins(world, world.group(), *arrivals, rebalance=rebalance)
    assert watch.shows(seconds)
    for member in others:
        await member.finish_join()
    assert {member.generation for member in (first, *others)} == {1}


@rule(
    id="connections-21",
    api="JoinGroup",
    says="A group that has become empty waits for the initial delay again, and one with members never does.",
    source=f"KIP-134; {PREPARED}: only out of Empty",
    versions="4-9",
    cost=1.2,
    settings=SHORT,
)
async def connections_21(world: World) -> None:
    group = world.group()
    (first,) = await first_joins(world, group, 0)
    await settle([first])
    second = await world.member(group)
    watch = Stopwatch(world)
    await second.start_join()
    await first.start_join()
    for member in (first, second):
        await member.finish_join()
    assert watch.shows(0)
    await settle([first, second])
    await first.client.leave(group, first.id, second.id)
    assert (await first.client.describe(group)).group_state == "Empty"
    watch = Stopwatch(world)
    (third,) = await first_joins(world, group, 0)
    assert watch.shows(0.5)
    assert third.generation == 4
