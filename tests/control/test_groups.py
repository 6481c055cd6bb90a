"""Groups as they are shown, waited for and interfered with."""

import json
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.control import Impossible, NotFound, TimedOut, Unavailable, plain
from kcoord.core.notes import GroupStabilized, MemberLeft
from kcoord.notices import RequestReceived
from tests.server.client import join, sync
from wire.messages import SyncGroupRequestAssignment


async def three(bench):
    """Two static members and a dynamic one, Stable in one generation."""
    consumers = [bench.consumer("a", instance="i1"), bench.consumer("b"), bench.consumer("c", instance="i2")]
    await bench.stable(consumers[0])
    for each in consumers[1:]:
        await each.ask()
    async with trio.open_nursery() as nursery:
        for each in consumers[1:]:
            nursery.start_soon(each.rejoin)
        await wait_all_tasks_blocked()
        await consumers[0].rejoin()
    plan = {each.member_id: {"t": (number,)} for number, each in enumerate(consumers)}
    async with trio.open_nursery() as nursery:
        for each in consumers:
            nursery.start_soon(each.sync, plan if each.leads else {})
    return consumers


async def test_a_group_is_shown_with_its_members_what_they_have_and_their_deadlines(autojump_clock, bench):
    consumers = await three(bench)
    await trio.sleep(5)
    assert await consumers[0].heartbeat() == 0
    await trio.sleep(2)
    view = bench.groups.get("g")
    assert (view.state, view.generation, view.protocol_type, view.protocol) == ("Stable", 2, "consumer", "range")
    assert view.leader == consumers[0].member_id
    assert (view.waiting_for, view.phase_ends_in, view.handed_out) == ((), None, ())
    assert sorted(each.client_id for each in view.members) == ["a", "b", "c"]
    first, second = view.member("a"), view.member("b")
    assert (first.instance_id, second.instance_id) == ("i1", None)
    assert (first.leads, second.leads) == (True, False)
    assert (first.host, first.waits_in, first.has_synced) == ("/127.0.0.1", None, True)
    assert first.subscription.topics == ("t",)
    assert first.assignment == {"t": (0,)}
    assert second.assignment == {"t": (1,)}
    assert first.heartbeat_age == pytest.approx(2)
    assert second.heartbeat_age == pytest.approx(7)
    assert second.session_ends_in == pytest.approx(38)
    assert (first.session_timeout_ms, first.rebalance_timeout_ms) == (45_000, 300_000)
    assert view.member("i1") is first
    assert view.member("b") is second
    assert view.member(second.member_id) is second
    assert view.member("nobody") is None


async def test_a_join_phase_is_shown_with_whom_it_waits_for(autojump_clock, bench):
    consumers = await three(bench)
    await bench.groups.rebalance("g", "to see it")
    bench.nursery.start_soon(consumers[1].rejoin)
    newcomer = bench.consumer("d")
    await newcomer.ask()
    await trio.sleep(20)
    view = bench.groups.get("g")
    assert view.state == "PreparingRebalance"
    assert set(view.waiting_for) == {consumers[0].member_id, consumers[2].member_id}
    assert view.phase_ends_in == pytest.approx(280)
    assert view.member("b").waits_in == "JoinGroup"
    assert view.member("b").session_ends_in is None
    assert not view.member("b").has_synced
    assert view.handed_out == (newcomer.member_id,)


async def test_a_sync_phase_is_shown_with_who_has_not_synced(autojump_clock, bench):
    consumers = await three(bench)
    await bench.groups.rebalance("g", "")
    async with trio.open_nursery() as nursery:
        for each in consumers:
            nursery.start_soon(each.rejoin)
    bench.nursery.start_soon(consumers[1].sync)
    await wait_all_tasks_blocked()
    view = bench.groups.get("g")
    assert view.state == "CompletingRebalance"
    assert set(view.waiting_for) == {consumers[0].member_id, consumers[2].member_id}
    assert view.member("b").waits_in == "SyncGroup"
    assert [view.member(name).has_synced for name in ("a", "b", "c")] == [False, True, False]


async def test_ids_that_were_handed_out_are_shown(autojump_clock, bench):
    newcomer = bench.consumer("d")
    await newcomer.ask()
    view = bench.groups.get("g")
    assert (view.state, view.members, view.handed_out) == ("Empty", (), (newcomer.member_id,))


async def test_offsets_are_shown_and_set(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    view = await bench.groups.set_offsets("g", {("t", 1): 42, ("t", 0): (7, "here")})
    assert [(each.topic, each.partition, each.offset, each.metadata) for each in view.offsets] == [
        ("t", 0, 7, "here"),
        ("t", 1, 42, ""),
    ]
    assert view.committed("t", 1) == 42
    assert view.committed("t", 2) is None
    assert view.offsets[0].leader_epoch is None
    assert (await bench.groups.set_offsets("g", {("t", 1): None})).committed("t", 1) is None


@pytest.mark.parametrize(
    "offsets",
    [{"t": 1}, {("t",): 1}, {("t", "0"): 1}, {("t", True): 1}, {("t", 0): "1"}, {("t", 0): (1,)}, {("t", 0): True},
     {("t", 0): (True, "")}, {("t", 0): -1}, {("t", -1): 1}],
)  # fmt: skip
async def test_offsets_that_cannot_be(autojump_clock, bench, offsets):
    with pytest.raises(Impossible):
        await bench.groups.set_offsets("g", offsets)
    assert bench.groups.list() == ()


async def test_offsets_of_what_there_is_not(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    for offsets, sentence in (
        ({("t", 0): 1, ("typo", 0): 1}, "there is no topic typo, whose offset could be set"),
        ({("t", 0): 1, ("t", 9): 1}, "there is no partition 9 of topic t: it has 3, from 0 on"),
    ):
        with pytest.raises(NotFound) as refused:
            await bench.groups.set_offsets("g", offsets)
        assert str(refused.value) == sentence
        assert bench.groups.get("g").offsets == ()
    assert (await bench.groups.set_offsets("g", {("typo", 0): None})).offsets == ()


async def test_groups_are_listed_by_their_ids(autojump_clock, bench):
    for name in ("z", "a", "m"):
        await bench.groups.set_offsets(name, {("t", 0): 1})
    assert [each.group_id for each in bench.groups.list()] == ["a", "m", "z"]


async def test_views_are_plain_data(autojump_clock, bench):
    await three(bench)
    shown = json.loads(json.dumps(plain(bench.groups.get("g"))))
    assert shown["members"][0]["assignment"] == {"t": [0]}
    assert shown["state"] == "Stable"
    with pytest.raises(TypeError, match="object has no form in JSON"):
        plain(object())


async def test_what_is_no_consumers_is_shown_as_unknown(autojump_clock, bench):
    client = bench.server.connect()
    request = join("g")
    request.protocols[0].metadata = b"?"
    handed_out = await client.call(request, 5)
    request.member_id = handed_out.member_id
    joined = await client.call(request, 5)
    synced = sync("g", joined.generation_id, joined.member_id)
    synced.assignments = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"?")]
    await client.call(synced, 5)
    (member,) = bench.groups.get("g").members
    assert (member.subscription, member.assignment) == (None, None)


# --- waiting ---


async def test_wait_returns_at_the_moment(autojump_clock, bench):
    moments = []

    async def wait():
        view = await bench.groups.wait("g", state="Stable", members=1, timeout=3600)
        moments.append((trio.current_time(), view.generation))

    bench.nursery.start_soon(wait)
    await trio.sleep(1000)
    assert not moments
    began = trio.current_time()
    await bench.stable(bench.consumer("a"))
    await wait_all_tasks_blocked()
    assert moments == [(began, 1)]


async def test_wait_returns_at_once_if_it_is_so_already(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    before = trio.current_time()
    assert (await bench.groups.wait("g", state="Stable", timeout=0)).generation == 1
    assert (await bench.groups.wait("nobody", state="Dead")).members == ()
    assert trio.current_time() == before


async def test_what_was_waited_for_has_been_told_when_wait_returns(autojump_clock, bench):
    """A group is Stable in memory before the record of it is durable and the note of it is told."""
    told = []

    async def wait():
        await bench.groups.wait("g", state="Stable")
        told.extend(bench.server.seen(GroupStabilized))

    consumer = bench.consumer("a")
    await consumer.ask()
    await consumer.rejoin()
    bench.server.broker.on_request(
        lambda notice: bench.nursery.start_soon(wait) if isinstance(notice, RequestReceived) else None
    )
    await consumer.sync({consumer.member_id: {"t": (0,)}})
    await wait_all_tasks_blocked()
    assert len(told) == 1


async def test_a_later_generation_will_do(autojump_clock, bench):
    (only,) = await bench.stable(bench.consumer("a"))
    await bench.groups.rebalance("g", "")
    await only.rejoin()
    assert (await bench.groups.wait("g", generation=1)).generation == 2


async def test_who_is_synced_has_been_given_its_assignment(autojump_clock, bench):
    """A follower asks for its assignment when it likes, in a group that is Stable since its leader handed it in."""
    joined = await bench.joined(bench.consumer("a"), bench.consumer("b"))
    leader, follower = sorted(joined, key=lambda each: not each.leads)
    await leader.sync({leader.member_id: {"t": (0,)}, follower.member_id: {"t": (1,)}})
    synced = []

    async def wait():
        synced.append(await bench.groups.wait("g", synced=True, members=2))

    bench.nursery.start_soon(wait)
    await wait_all_tasks_blocked()
    assert bench.groups.get("g").state == "Stable"
    assert synced == []
    with pytest.raises(TimedOut) as caught:
        await bench.groups.wait("g", state="Stable", synced=True, timeout=1)
    assert str(caught.value).splitlines()[0] == (
        "group g did not become Stable and synced within 1 s: it is in generation 1 with 2 members; "
        f"no SyncGroup has come of {follower.name} ({follower.member_id}); the phase ends in 299 s."
    )
    await follower.sync({})
    await wait_all_tasks_blocked()
    assert [each.has_synced for each in synced[0].members] == [True, True]


async def test_several_may_wait_for_one_group(autojump_clock, bench):
    done = []

    async def wait(**what):
        await bench.groups.wait("g", **what)
        done.append(what)

    bench.nursery.start_soon(partial(wait, state="Stable"))
    bench.nursery.start_soon(partial(wait, members=1))
    bench.nursery.start_soon(partial(wait, generation=1))
    await bench.stable(bench.consumer("a"))
    await wait_all_tasks_blocked()
    assert len(done) == 3


async def test_a_wait_that_fails_names_what_is_missing_and_what_happened(autojump_clock, bench):
    first, second = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await bench.groups.rebalance("g", "to see it")
    bench.nursery.start_soon(second.rejoin)
    with pytest.raises(TimedOut) as caught:
        await bench.groups.wait("g", state="Stable", members=2, timeout=5)
    text = str(caught.value)
    sentence, *rest = text.splitlines()
    assert sentence.startswith(
        "group g did not become Stable of 2 members within 5 s: it waits for the JoinGroup of a ("
    )
    assert "ends: asked for by an operator: to see it" in text
    assert "to see it" in text
    assert any(line.strip().startswith(first.member_id) for line in rest)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ({"members": 1}, "group g did not become of 1 member within 1 s: there is no such group."),
        ({"generation": 3}, "group g did not become of generation 3 or later within 1 s: there is no such group."),
    ],
)
async def test_a_wait_for_a_group_that_never_comes(autojump_clock, bench, what, sentence):
    with pytest.raises(TimedOut) as caught:
        await bench.groups.wait("g", timeout=1, **what)
    assert str(caught.value).splitlines()[0] == sentence


async def test_what_a_group_waits_for_in_other_states(autojump_clock, bench):
    (only,) = await bench.stable(bench.consumer("a"))

    async def why(**what):
        with pytest.raises(TimedOut) as caught:
            await bench.groups.wait("g", timeout=0, **what)
        return str(caught.value).splitlines()[0]

    assert (await why(members=2)).endswith("it is in generation 1 with 1 members.")
    await bench.groups.rebalance("g", "")
    await only.rejoin()
    assert "it waits for the SyncGroup of its leader" in await why(state="Stable")
    await bench.groups.expire("g", "a")
    assert (await why(state="Stable")).endswith("it has no members.")
    newcomer = bench.consumer("b")
    await newcomer.ask()
    assert "but 1 ids were handed out" in await why(state="Stable")


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ({}, "nothing to wait for"),
        ({"state": "stable"}, "no group is ever in the state 'stable': the states are Empty, PreparingRebalance,"),
        ({"members": -1}, "members is -1"),
        ({"members": 1.5}, "members is 1.5"),
        ({"generation": True}, "generation is True"),
        ({"synced": "yes"}, "synced is 'yes': it must be true or false"),
        ({"synced": True, "state": "CompletingRebalance"}, "no member has synced in the state CompletingRebalance"),
        ({"synced": True, "members": 0}, "a group without members never syncs"),
        ({"members": 1, "timeout": -1}, "timeout is -1"),
        ({"members": 1, "timeout": "1"}, "timeout is '1'"),
    ],
)
async def test_waits_that_make_no_sense(autojump_clock, bench, what, sentence):
    with pytest.raises(Impossible, match="^" + sentence.replace("(", r"\(")):
        await bench.groups.wait("g", **what)


# --- interfering ---


async def test_rebalance_is_told_to_every_member_at_its_next_heartbeat(autojump_clock, bench):
    consumers = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    view = await bench.groups.rebalance("g", "more topics")
    assert view.state == "PreparingRebalance"
    assert [await each.heartbeat() for each in consumers] == [27, 27]
    async with trio.open_nursery() as nursery:
        for each in consumers:
            nursery.start_soon(each.rejoin)
    view = await bench.groups.wait("g", state="CompletingRebalance")
    assert (view.generation, len(view.members)) == (2, 2)


@pytest.mark.parametrize("by", ["member_id", "name", "instance"])
async def test_expire_and_evict_take_any_name_of_a_member(autojump_clock, bench, by):
    first, second = bench.consumer("a", instance="i1"), bench.consumer("b", instance="i2")
    await bench.stable(first, second)
    view = await bench.groups.expire("g", getattr(first, by))
    assert [each.client_id for each in view.members] == ["b"]
    assert await first.heartbeat() == 25
    view = await bench.groups.evict("g", getattr(second, by), reason="no longer needed")
    assert (view.state, view.members) == ("Empty", ())
    with pytest.raises(NotFound, match="group g has no member i2"):
        await bench.groups.evict("g", "i2")


async def test_evict_is_a_leave_group_with_a_reason(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    await bench.groups.evict("g", "a", "no longer needed")
    assert bench.server.seen(MemberLeft)[-1].reason == "no longer needed"
    timeline = bench.control.timeline.of("g")
    assert "Last rebalance: explicit removal of a: no longer needed." in timeline.text()
    assert timeline.plain()["generations"][-1]["cause"].endswith("; client reason: no longer needed")


@pytest.mark.parametrize(
    ("how", "told"), [({}, ": evicted by an operator"), ({"reason": ""}, ""), ({"reason": "a: b; c"}, ": a: b; c")]
)
async def test_the_reason_of_an_eviction_is_that_of_the_rebalance(autojump_clock, bench, how, told):
    await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await bench.groups.evict("g", "b", **how)
    lines = bench.control.timeline.of("g").text().splitlines()
    assert lines[1].startswith("Rebalancing since")
    assert lines[1].endswith(f"because: explicit removal of b{told}.")
    assert any(f"REBALANCE, generation 1 ends: explicit removal of b{told}; waiting for a" in line for line in lines)


async def test_fence_lets_the_member_meet_82(autojump_clock, bench):
    first, second = bench.consumer("a", instance="i1"), bench.consumer("b", instance="i2")
    await bench.stable(first, second)
    view = await bench.groups.fence("g", "i1")
    assert (view.state, view.generation) == ("Stable", bench.groups.get("g").generation)
    assert view.member("i1").member_id != first.member_id
    assert await first.heartbeat() == 82
    assert await second.heartbeat() == 0


async def test_delete_is_for_good(autojump_clock, bench):
    (only,) = await bench.stable(bench.consumer("a"))
    await bench.groups.delete("g")
    assert bench.groups.list() == ()
    assert await only.heartbeat() == 25


async def test_what_is_not_there_is_not_found(autojump_clock, bench):
    for wish in (
        bench.groups.rebalance("g", ""),
        bench.groups.expire("g", "a"),
        bench.groups.evict("g", "a"),
        bench.groups.fence("g", "i"),
        bench.groups.delete("g"),
    ):
        with pytest.raises(NotFound, match=r"^there is no group g$"):
            await wish
    with pytest.raises(NotFound, match=r"^there is no group g$"):
        bench.groups.get("g")
    with pytest.raises(Impossible, match="a group's id is a text"):
        bench.groups.get("")


async def test_a_group_without_members_cannot_rebalance(autojump_clock, bench):
    await bench.groups.set_offsets("g", {("t", 0): 1})
    with pytest.raises(Impossible, match="has no members that could join again"):
        await bench.groups.rebalance("g", "")


async def test_a_coordinator_that_does_not_serve_is_said_to(autojump_clock, bench):
    bench.server.broker.shard_for("g").stop()
    with pytest.raises(Unavailable, match="does not serve: the server stops"):
        await bench.groups.rebalance("g", "")
    with pytest.raises(Unavailable):
        bench.groups.get("g")
    with pytest.raises(TimedOut, match="does not serve: the server stops"):
        await bench.groups.wait("g", state="Stable", timeout=1)
    assert bench.groups.list() == ()


async def test_evict_asks_for_the_id_where_several_have_the_name(autojump_clock, bench):
    await bench.stable(bench.consumer("a"), bench.consumer("a"))
    with pytest.raises(Impossible, match="group g has 2 members of the client id a: name one by its id"):
        await bench.groups.evict("g", "a")


async def test_what_an_operator_ends_is_told_as_that(autojump_clock, bench):
    await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await bench.groups.expire("g", "a")
    assert "ends: removing member a as an operator wished" in bench.control.timeline.of("g").text()
