"""What should not be is found: partitions with two owners, and what makes consumers read twice."""

import trio


def found(stage):
    """What is found; members by their names, which begin their ids."""
    return [
        (each.kind, each.generation, sorted(member[0] for member in each.members), each.partitions)
        for each in stage.timeline().findings
    ]


async def two(stage, **how):
    a, b = stage.actor("a", **how), stage.actor("b", **how)
    await a.first_step()
    await b.first_step()
    return a, b


async def test_a_partition_that_the_leader_assigns_twice(autojump_clock, stage):
    a, b = await two(stage)
    await stage.generation({"a": (0, 1), "b": (1, 2)}, a, b)
    assert found(stage) == [("assigned twice", 1, ["a", "b"], (("t", 1),))]
    leader = a if a.leads else b
    assert f"{leader.name}, the leader, assigned t-1 to " in stage.timeline().text()


async def test_a_partition_that_two_members_claim_to_own(autojump_clock, stage):
    a, b = await two(stage, protocol="cooperative-sticky", cooperative=True)
    await stage.generation({"a": (0, 1), "b": (2,)}, a, b)
    b.owns = (1, 2)
    await stage.generation({"a": (0, 1), "b": (2,)}, a, b)
    assert found(stage) == [("owned twice", 2, ["a", "b"], (("t", 1),))]
    assert "each joined with the claim to own t-1" in stage.timeline().text()


async def test_a_partition_that_a_cooperative_assignor_hands_over_without_revoking_it_first(autojump_clock, stage):
    a, b = await two(stage, protocol="cooperative-sticky", cooperative=True)
    await stage.generation({"a": (0, 1, 2)}, a, b)
    await stage.generation({"a": (0,), "b": (1, 2)}, a, b)
    expected = ("handed over without being revoked", 2, ["a", "b"], (("t", 1), ("t", 2)))
    assert found(stage) == [expected]
    assert "while a still owned it: for a moment both read it" in stage.timeline().text()


async def test_what_an_eager_leader_hands_over_was_given_up_before(autojump_clock, stage):
    a, b = await two(stage)
    await stage.generation({"a": (0, 1, 2)}, a, b)
    await stage.generation({"a": (0,), "b": (1, 2)}, a, b)
    assert found(stage) == []


async def test_a_member_that_was_put_out_and_commits_without_knowing_it(autojump_clock, stage):
    a, b = await two(stage)
    await stage.generation({"a": (0, 1), "b": (2,)}, a, b)
    for _ in range(6):
        await trio.sleep(2)
        await a.heartbeat()
    assert await b.commit() == 25
    assert await b.commit() == 25
    assert found(stage) == [("commit by a member that was put out", 1, ["b"], (("t", 2),))]
    assert "! " in stage.timeline().text()
