"""A group in each of the states that a group can be in, all built at the same time."""

import trio

from kcoord.check.world import World
from wire.errors import ErrorCode


async def group_in_each_state(world: World) -> dict[str, str]:
    """Make groups, and return their ids by what they are.

    They are Stable, CompletingRebalance, PreparingRebalance, Empty, initial, simple, pending.

    `initial` is a group in its first rebalance, built last, so that its delay has not passed. `simple` has one offset
    (world.t, 0) and `Empty` another, committed by its member. `pending` has only handed out a member id.
    """
    with_members = ("Stable", "CompletingRebalance", "PreparingRebalance", "initial")
    groups = {name: world.group() for name in (*with_members, "Empty", "simple", "pending")}

    async def empty() -> None:
        member = await world.stable1(groups["Empty"])
        assert await member.commit({(world.t, 0): 5}) == {(world.t, 0): ErrorCode.NONE}
        await member.client.leave(member.group, member.id)

    async def completing() -> None:
        await world.completing(groups["CompletingRebalance"], None, session=60_000)

    async def stable() -> None:
        await world.stable1(groups["Stable"], session=60_000)

    async def preparing() -> None:
        await world.preparing(groups["PreparingRebalance"], session=60_000)

    async with trio.open_nursery() as nursery:
        for build in (empty, completing, stable, preparing):
            nursery.start_soon(build)
    client = await world.client()
    assert await client.commit(groups["simple"], {(world.t, 0): 5}) == {(world.t, 0): ErrorCode.NONE}
    await (await client.join(groups["pending"], session=60_000)).answer()
    # A broker with several threads may read two connections in any order.
    assert await (await (await world.member(groups["initial"])).start_join()).parked()
    return groups
