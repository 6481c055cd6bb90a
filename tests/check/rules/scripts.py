"""Scripts as rules have them, some of which no broker keeps."""

import trio

from kcoord.check.outcome import NotApplicable, fail
from wire.errors import ErrorCode
from wire.messages import ApiVersionsRequest, CreatableTopic, CreateTopicsRequest, HeartbeatRequest


async def kept(world):
    client = await world.client()
    assert await client.heartbeat(world.group(), 1, "m") is ErrorCode.UNKNOWN_MEMBER_ID


async def connects_again_and_again(world, times):
    for _ in range(times):
        async with await world.client() as client:
            assert await client.heartbeat(world.group(), 1, "m") is ErrorCode.UNKNOWN_MEMBER_ID


async def broken(world):
    client = await world.client()
    expected = [ErrorCode.NONE]
    for version in world.offered(HeartbeatRequest, (0, 4)):
        assert [
            await client.heartbeat(world.group(), 1, "m", version=version),
        ] == expected


async def broken_in_a_helper(world):
    await told(await world.client(), world.group())


async def told(client, group):
    error = await client.heartbeat(group, 1, "m")
    assert error is ErrorCode.NONE or error is ErrorCode.ILLEGAL_GENERATION


async def broken_beside(world):
    client = await world.client()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(told, client, world.group())
        await trio.sleep(1000)


async def fails(world):
    fail("the broker is not as it says")


async def stumbles(world):
    (_one,) = []


async def waits(world):
    await trio.sleep(3)


async def waits_for_ever(world):
    await trio.sleep_forever()


async def does_not_apply(world):
    raise NotApplicable("it is Sunday")


async def does_not_apply_beside(world):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(does_not_apply, world)
        await trio.sleep(1000)


async def by_case(world, number, more=0):
    if number == 2:
        raise NotApplicable("two is not for everyone")
    assert number + more < 3


async def lists_groups(world):
    await (await world.client()).list(version=5)


async def leaves_things(world):
    """A group with members, static ones and one that waits; one with offsets; a topic."""
    leader, _ = await world.static2(world.group("static"))
    newcomer = await world.member(leader.group)
    await newcomer.start_join()
    first = await world.member(world.group("first"))
    await first.start_join()
    client = await world.client()
    assert await client.commit(world.group("simple"), {(world.t, 0): 5}) == {(world.t, 0): ErrorCode.NONE}
    topic = CreatableTopic(name=world.topic("mine"), num_partitions=1, replication_factor=1)
    assert (await client.call(CreateTopicsRequest(topics=[topic]), 7)).topics[0].error_code == 0
    world.topic("never-made")
    world.group("never-made")


async def takes_the_empty_group(world):
    group = await world.take_group("")
    client = await world.client()
    assert await client.commit(group, {(world.t, 0): 5}) == {(world.t, 0): ErrorCode.NONE}


async def two_members(world):
    leader, follower = await world.stable2(world.group())
    assert await leader.heartbeat() is await follower.heartbeat() is ErrorCode.NONE


async def told_anything(world):
    await (await world.client()).heartbeat(world.group(), 1, "m")


async def asks_for_versions(world):
    await (await world.client()).call(ApiVersionsRequest(), 0)


async def commits_text(world):
    client = await world.client()
    committed = await client.commit(world.group(), {(world.t, 0): (5, "metadata")})
    assert committed == {(world.t, 0): ErrorCode.NONE}
