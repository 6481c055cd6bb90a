"""ListGroups and its filters. Other groups than the rule's own may be there, and are not looked at."""

from kcoord.check.rule import rule
from kcoord.check.states import group_in_each_state
from kcoord.check.world import World
from wire.messages import DeleteGroupsRequest, ListGroupsRequest

WITH_STATES = (4, 5)
WITHOUT_MEMBERS = {"Empty", "simple", "pending"}

LISTED = "Apache Kafka GroupMetadataManager.listGroups"
FILTERED = f"KIP-518; {LISTED}"
TYPES = f"KIP-848; {LISTED}, Group.GroupType.parse"


async def assert_filtered(world: World, *wanted: tuple[tuple[str, ...], set[str]]) -> None:
    """Check which groups filters of states let through, of one in each state."""
    groups = await group_in_each_state(world)
    names = {group: name for name, group in groups.items()}
    client = await world.client()
    for states, through in wanted:
        for version in world.offered(ListGroupsRequest, WITH_STATES):
            found = await client.list(states=states, version=version)
            assert {names[group] for group in found if group in names} == through


@rule(
    id="N2",
    api="ListGroups",
    says="Groups in all states are listed with their type, from version 4 on their state, from 5 on what they are.",
    source=f"KIP-518, KIP-848; {LISTED}, ClassicGroup.asListedGroup",
    versions="0-5",
    cost=7.0,
    also="N10",
    connections=10,
)
async def n2(world: World) -> None:
    groups = await group_in_each_state(world)
    client = await world.client()
    wanted = {
        groups["Stable"]: ("consumer", "Stable"),
        groups["CompletingRebalance"]: ("consumer", "CompletingRebalance"),
        groups["PreparingRebalance"]: ("consumer", "PreparingRebalance"),
        groups["initial"]: ("consumer", "PreparingRebalance"),
        groups["Empty"]: ("consumer", "Empty"),
        groups["simple"]: ("", "Empty"),
        groups["pending"]: ("", "Empty"),
    }
    for version in world.offered(ListGroupsRequest):
        listed = await client.list(version=version)
        for group, (protocol_type, state) in wanted.items():
            assert listed[group].protocol_type == protocol_type
            assert listed[group].group_state == (state if version >= 4 else "")
            assert listed[group].group_type == ("classic" if version >= 5 else "")


@rule(
    id="N3",
    api="ListGroups",
    says="A filter of states lets through the groups that are in one of them.",
    source=FILTERED,
    versions="4-5",
    cost=7.0,
    also="N4 N6",
    connections=10,
)
async def n3(world: World) -> None:
    await assert_filtered(
        world,
        (("Stable",), {"Stable"}),
        (("PreparingRebalance",), {"PreparingRebalance", "initial"}),
        (("CompletingRebalance",), {"CompletingRebalance"}),
        (("Empty",), WITHOUT_MEMBERS),
        (("Empty", "Stable"), {*WITHOUT_MEMBERS, "Stable"}),
        (("Stable", "Stable"), {"Stable"}),
        (("Invalid", "Stable"), {"Stable"}),
    )


@rule(
    id="N3b",
    api="ListGroups",
    says="Names of states are the same in capitals and in small letters.",
    source=FILTERED,
    versions="4-5",
    cost=7.0,
    since="3.8",
    connections=10,
)
async def n3b(world: World) -> None:
    await assert_filtered(
        world,
        (("stable",), {"Stable"}),
        (("STABLE",), {"Stable"}),
        (("preparingrebalance",), {"PreparingRebalance", "initial"}),
    )


@rule(
    id="N3c",
    api="ListGroups",
    says="Blanks around the names of states do not count.",
    source=FILTERED,
    versions="4-5",
    cost=7.0,
    since="4.0",
    connections=10,
)
async def n3c(world: World) -> None:
    await assert_filtered(world, ((" Stable ",), {"Stable"}))


@rule(
    id="N5",
    api="ListGroups",
    says="A name that no group's state has lets nothing through, and is no error.",
    source=FILTERED,
    versions="4-5",
    cost=7.0,
    connections=10,
)
async def n5(world: World) -> None:
    names = ("Invalid", "", "Preparing_Rebalance", "Dead")
    await assert_filtered(world, *(((name,), set()) for name in names))


@rule(
    id="N11",
    api="ListGroups",
    says="An empty filter lets all groups through.",
    source=FILTERED,
    versions="4-5",
    cost=7.0,
    connections=10,
)
async def n11(world: World) -> None:
    with_members = {"Stable", "CompletingRebalance", "PreparingRebalance", "initial"}
    await assert_filtered(world, ((), WITHOUT_MEMBERS | with_members))


@rule(
    id="N7",
    api="ListGroups",
    says="A filter of types lets through groups of one of them, in capitals or not; unknown types are no error.",
    source=TYPES,
    versions="5",
)
async def n7(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    (version,) = world.offered(ListGroupsRequest, (5,))
    for types, there in {
        ("classic",): True,
        ("Classic",): True,
        ("CLASSIC", "bogus"): True,
        ("consumer",): False,
        ("bogus",): False,
        ("",): False,
        # Unlike the states' names these are not trimmed.
        (" classic ",): False,
    }.items():
        assert (group in await client.list(types=types, version=version)) is there


@rule(
    id="N8",
    api="ListGroups",
    says="With filters of states and of types a group must pass both.",
    source=TYPES,
    versions="5",
)
async def n8(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    (version,) = world.offered(ListGroupsRequest, (5,))
    assert group in await client.list(states=("Empty",), types=("classic",), version=version)
    assert group not in await client.list(states=("Stable",), types=("classic",), version=version)
    assert group not in await client.list(states=("Empty",), types=("consumer",), version=version)


@rule(
    id="N9",
    api="ListGroups",
    says="A group that was deleted is not listed.",
    source=LISTED,
    versions="0-5",
)
async def n9(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(ListGroupsRequest):
        assert group in await client.list(version=version)
    await client.call(DeleteGroupsRequest(groups_names=[group]))
    for version in world.offered(ListGroupsRequest):
        assert group not in await client.list(version=version)
