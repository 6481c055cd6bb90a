"""Section N: ListGroups and its filters."""

import pytest

from tests.scenarios.harness import World
from tests.scenarios.states import group_in_each_state
from wire.messages import DeleteGroupsRequest, ListGroupsRequest


async def test_n1_no_groups(world: World):
    if world.external is not None:
        pytest.skip("needs a server that nobody else uses")
    client = await world.client()
    for version in range(6):
        answer = await client.call(ListGroupsRequest(), version)
        assert (answer.error_code, answer.throttle_time_ms, answer.groups) == (0, 0, [])


async def test_n2_n10_n11_every_group(world: World):
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
    for version in range(6):
        listed = await client.list(version=version)
        for group, (protocol_type, state) in wanted.items():
            assert listed[group].protocol_type == protocol_type
            assert listed[group].group_state == (state if version >= 4 else "")
            assert listed[group].group_type == ("classic" if version >= 5 else "")


async def test_n3_n4_n5_n6_by_state(world: World):
    groups = await group_in_each_state(world)
    names = {group: name for name, group in groups.items()}
    client = await world.client()
    without_members = {"Empty", "simple", "pending"}
    for states, wanted in {
        ("Stable",): {"Stable"},
        ("stable",): {"Stable"},
        ("STABLE",): {"Stable"},
        (" Stable ",): {"Stable"},
        ("preparingrebalance",): {"PreparingRebalance", "initial"},
        ("CompletingRebalance",): {"CompletingRebalance"},
        ("Empty",): without_members,
        ("Empty", "Stable"): without_members | {"Stable"},
        ("Stable", "Stable"): {"Stable"},
        ("Invalid",): set(),
        ("",): set(),
        ("Preparing_Rebalance",): set(),
        ("Dead",): set(),
        ("Invalid", "Stable"): {"Stable"},
        (): set(groups),
    }.items():
        for version in (4, 5):
            listed = await client.list(states=states, version=version)
            assert {names[group] for group in listed if group in names} == wanted, states


async def test_n7_by_type(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
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
        assert (group in await client.list(types=types)) is there, types


async def test_n8_by_state_and_type(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    assert group in await client.list(states=("Empty",), types=("classic",))
    assert group not in await client.list(states=("Stable",), types=("classic",))
    assert group not in await client.list(states=("Empty",), types=("consumer",))


async def test_n9_a_deleted_group(world: World):
    client, group = await world.client(), world.group()
    await client.commit(group, {("t", 0): 1})
    assert group in await client.list()
    await client.call(DeleteGroupsRequest(groups_names=[group]))
    assert group not in await client.list()
