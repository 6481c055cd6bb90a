"""Partitions that change hands from generation to generation, as consumers do it: all at once, or in two steps.

The consumers' part is played by the script: who leads makes the assignment, out of what the members said of themselves.
"""

from typing import Any, Final

from kcoord.check.member import Member
from kcoord.check.outcome import fail
from kcoord.check.rule import rule
from kcoord.check.steps import join_at_once
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.payloads import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

EAGER: Final = "Apache Kafka ConsumerCoordinator, GroupMetadataManager"
COOPERATIVE: Final = f"KIP-429, KIP-792; {EAGER}"
Owned = tuple[int, ...]


def brings(world: World, owned: Owned, generation: int) -> list[tuple[str, bytes]]:
    """Return what a member of the cooperative assignor joins with: what it owns, and since which generation."""
    partitions = (TopicPartitions(topic=world.t, partitions=owned),) if owned else ()
    subscription = Subscription(topics=(world.t,), owned_partitions=partitions, generation_id=generation)
    return [("cooperative-sticky", encode_subscription(subscription, 2))]


def listed(answer: Any) -> dict[str, tuple[Owned, int]]:
    """Return what the leader is told that each member owns, and since which generation, by the members' ids."""
    found = {}
    for one in answer.members:
        subscription = decode_subscription(one.metadata)
        owned = [each.partitions for each in subscription.owned_partitions]
        found[one.member_id] = (owned[0] if owned else (), subscription.generation_id)
    return found


async def hand_out(world: World, wanted: dict[str, Owned], *members: Member) -> None:
    """Have the leader assign partitions to members by their ids; each gets its own."""
    written = {
        member_id: encode_assignment(
            Assignment(assigned_partitions=(TopicPartitions(topic=world.t, partitions=owned),) if owned else ())
        )
        for member_id, owned in wanted.items()
    }
    calls = [await member.sync(written if member.leads else None) for member in members]
    for member, call in zip(members, calls, strict=True):
        answer = await call.answer()
        if answer.error_code != ErrorCode.NONE:
            fail(f"SyncGroup is refused with {ErrorCode(answer.error_code).name}")
        got = [each.partitions for each in decode_assignment(answer.assignment).assigned_partitions]
        assert (got[0] if got else ()) == wanted[member.id]


@rule(
    id="S1",
    api="SyncGroup",
    says="One consumer has all partitions, shares them when another comes, and the other has all when it closes.",
    source=EAGER,
    versions="0-5",
    cost=3.6,
)
async def s1(world: World) -> None:
    (first,) = await world.completing(world.group(), None)
    await hand_out(world, {first.id: (0, 1, 2)}, first)
    second = await world.member(first.group)
    assert await (await second.start_join()).parked()
    assert await first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await first.start_join()
    for member in (first, second):
        await member.finish_join()
    assert (first.generation, second.generation, set(first.listed)) == (2, 2, {first.id, second.id})
    await hand_out(world, {first.id: (0, 1), second.id: (2,)}, first, second)
    assert (await first.client.leave(first.group, first.id)).error_code == ErrorCode.NONE
    assert await second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await join_at_once(second)
    assert (second.generation, second.leads, second.listed) == (3, True, (second.id,))
    await hand_out(world, {second.id: (0, 1, 2)}, second)
    assert await second.heartbeat() is ErrorCode.NONE


@rule(
    id="S2",
    api="JoinGroup",
    says="Cooperative members hand over in two generations: what is given up in the first is given away in the second.",
    source=COOPERATIVE,
    versions="0-9",
    cost=3.6,
)
async def s2(world: World) -> None:
    (first,) = await world.completing(world.group(), None, protocols=brings(world, (), -1))
    await hand_out(world, {first.id: (0, 1, 2)}, first)
    second = await world.member(first.group, protocols=brings(world, (), -1))
    assert await (await second.start_join()).parked()
    # Who is told of a rebalance goes on with what it has, and says so when it joins.
    assert await first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await first.commit({(world.t, 2): 7}) == {(world.t, 2): ErrorCode.NONE}
    first.protocols = brings(world, (0, 1, 2), 1)
    await first.start_join()
    told = listed(await first.finish_join())
    await second.finish_join()
    assert (first.generation, told) == (2, {first.id: ((0, 1, 2), 1), second.id: ((), -1)})
    await hand_out(world, {first.id: (0, 1), second.id: ()}, first, second)
    # Who had to give something up joins again, now that it has; so must the other.
    first.protocols = brings(world, (0, 1), 2)
    assert await (await first.start_join()).parked()
    assert await second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    second.protocols = brings(world, (), 2)
    await second.start_join()
    told = listed(await first.finish_join())
    await second.finish_join()
    assert (first.generation, told) == (3, {first.id: ((0, 1), 2), second.id: ((), 2)})
    await hand_out(world, {first.id: (0, 1), second.id: (2,)}, first, second)
    assert await second.client.fetch(second.group) == {(world.t, 2): (7, -1, "")}
    for member in (first, second):
        assert await member.heartbeat() is ErrorCode.NONE
