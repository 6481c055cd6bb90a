"""Rules that need several members in the first rebalance of a group say nothing about a broker that does not wait."""

import pytest

from kcoord.check.names import Names
from kcoord.check.outcome import NotApplicable
from kcoord.check.result import Verdict
from kcoord.check.runner import Plan, check
from kcoord.check.steps import start_in_order
from kcoord.check.target import Target
from kcoord.check.world import World
from tests.check.conftest import server

DELAY = "group.initial.rebalance.delay.ms"


@pytest.fixture
async def hasty():
    """What connects to a server that has no initial delay, and names that know of it."""
    async with server({DELAY: "0"}) as opener:
        yield opener, Names(initial_delay=0)


SITUATIONS = {
    "completing": lambda world: world.completing(world.group(), None, None),
    "stable": lambda world: world.stable(world.group(), "i1", "i2"),
    "stable2": lambda world: world.stable2(world.group()),
    "static2": lambda world: world.static2(world.group()),
    "preparing": lambda world: world.preparing(world.group()),
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("delay", [0, 2.999])
async def test_situations_that_need_several_members(situation, delay):
    async def nobody():
        raise AssertionError("no connection is needed to see that")

    with pytest.raises(NotApplicable, match=f"a new group waits for members for {delay:g} s at this broker"):
        await SITUATIONS[situation](World(nobody, Names(initial_delay=delay)))


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_they_can_be_had_where_a_group_waits(situation):
    async with server() as opener:
        world = World(opener, Names(initial_delay=3))
        assert await SITUATIONS[situation](world)
        await world.aclose()


async def test_one_member_needs_no_delay(hasty):
    opener, names = hasty
    world = World(opener, names, exact=True)
    member = await world.stable1(world.group())
    assert member.generation == 1
    await world.aclose()


async def test_members_that_start_in_order_in_a_new_group(hasty):
    opener, names = hasty
    world = World(opener, names, exact=True)
    member = await world.member(world.group())
    with pytest.raises(NotApplicable):
        await start_in_order(member)
    assert member.call is None
    await world.aclose()


async def test_members_that_start_in_order_in_a_group_that_has_begun(hasty):
    opener, names = hasty
    world = World(opener, names, exact=True)
    leader = await world.stable1(world.group())
    newcomer = await world.member(leader.group)
    await start_in_order(newcomer)
    await leader.start_join()
    for member in (leader, newcomer):
        await member.finish_join()
    assert leader.generation == newcomer.generation == 2
    await world.aclose()


def test_a_group_that_waits():
    assert World(None, Names()).waiting_group()
    with pytest.raises(NotApplicable, match="for 1 s at this broker, and would have to for 3 s"):
        World(None, Names(initial_delay=1)).waiting_group()


@pytest.mark.parametrize(
    ("settings", "delay"),
    [({DELAY: "0"}, 0), ({DELAY: "500"}, 0.5), ({DELAY: "6000"}, 6), ({DELAY: None}, 3), ({}, 3), (None, 3)],
)
def test_the_delay_is_what_the_broker_tells(settings, delay):
    target = Target(None, "run", {}, settings=settings)
    assert target.initial_delay == target.names().initial_delay == delay


@pytest.mark.parametrize("delay", ["0", "2999", "3000"])
async def test_the_delay_of_a_broker_that_is_checked(rule_of, delay):
    async with server({DELAY: delay}) as opener:
        report = await check(opener, "here:9092", Plan([rule_of("two_members")]))
    (found,) = report.results
    assert found.verdict is (Verdict.KEPT if delay == "3000" else Verdict.NOT_APPLICABLE)
    (case,) = found.cases
    assert ("so that several can join" in case.run.why) is (delay != "3000")
