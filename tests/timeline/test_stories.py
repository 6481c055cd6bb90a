"""Stories that groups live through, and what their timelines say of them."""

import json
from uuid import UUID

import pytest
import trio
import trio.testing

from kcoord.control import Control
from kcoord.timeline import Kind, Recorder
from wire.messages import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic


def lines(stage):
    return stage.timeline().text().splitlines()


async def test_an_eager_rebalance_says_why_whom_it_waited_for_and_who_stood_still(autojump_clock, stage):
    a, b, c = (stage.actor(name) for name in "abc")
    await a.join()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.join)
        await trio.sleep(0.1)
        nursery.start_soon(a.join)
    await stage.act((a.sync, {a.member_id: {"t": (0, 1)}, b.member_id: {"t": (2,)}}), (b.sync,))
    await trio.sleep(5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(c.join)
        await trio.sleep(1)
        assert await a.heartbeat() == 27
        nursery.start_soon(a.join)
        await trio.sleep(2)
        nursery.start_soon(b.join)
    plan = {each.member_id: {"t": (number,)} for number, each in enumerate((a, b, c))}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.sync)
        nursery.start_soon(c.sync)
        await trio.sleep(0.5)
        await a.sync(plan)

    told = lines(stage)
    assert told[0] == "Group g: Stable, generation 3 (range), 3 members: a, b, c"
    assert told[1].startswith("Last rebalance: new member c joined. It took 3.")
    assert told[2] == (
        "It waited longest for b, which rejoined after 3.000 s; before that a, which rejoined after 1.000 s."
    )
    assert told[3] == "Findings: none."
    empty, first, second = stage.timeline().generations
    assert (empty.kind, empty.initial, empty.stable) == (Kind.UNKNOWN, True, None)
    assert (first.kind, first.initial, first.stood_still, first.kept) == (Kind.FIRST, False, {}, {})
    assert (second.kind, second.initial, second.number, second.joined) == (Kind.EAGER, False, 3, (c.member_id,))
    assert [(each.member, each.outcome, each.seconds) for each in second.waited_for] == [
        (a.member_id, "rejoined", pytest.approx(1)),
        (b.member_id, "rejoined", pytest.approx(3)),
    ]
    assert second.stood_still[a.member_id] == pytest.approx(2.5)
    assert [(each.partition, each.source, each.target) for each in second.moves] == [
        (1, a.member_id, b.member_id),
        (2, b.member_id, c.member_id),
    ]
    assert next((each.partition, each.seconds) for each in second.pauses) == (0, pytest.approx(2.5))
    assert any("a learns by its heartbeat that the group rebalances" in line for line in told)


async def test_a_rebalance_that_is_going_on_says_whom_it_waits_for(autojump_clock, stage):
    a, b = stage.actor("a"), stage.actor("b")
    await stage.generation({"a": (0, 1, 2)}, a)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.join)
        await trio.sleep(4)
        told = lines(stage)
        assert told[0].startswith("Group g: PreparingRebalance, generation 1")
        assert told[1] == "Rebalancing since 4.000 s, because: new member b joined."
        assert told[2] == "It waits for a (4.000 s) to join."
        nursery.start_soon(a.join)
        await trio.sleep(1)
        leader = next(each for each in (a, b) if each.leads)
        told = lines(stage)
        assert told[0].startswith("Group g: CompletingRebalance, generation 2")
        assert told[2] == f"It waits for {leader.name}, the leader, to hand in the assignment."


async def test_an_id_that_never_comes_back_is_named_as_what_a_join_phase_waits_for(autojump_clock, stage):
    a, b, ghost = stage.actor("a"), stage.actor("b"), stage.actor("ghost", session=6_000)
    await stage.generation({"a": (0, 1, 2)}, a)
    await ghost.first_step()
    await trio.sleep(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.join)
        await trio.sleep(0.5)
        nursery.start_soon(a.join)
        await trio.sleep(1)
        assert lines(stage)[2] == "It waits for ghost (1.500 s) to join."
        await trio.sleep(10)
    last = stage.timeline().generations[-1]
    assert [(each.member, each.outcome) for each in last.waited_for] == [
        (a.member_id, "rejoined"),
        (ghost.member_id, "never came"),
    ]


async def test_a_rebalance_that_the_next_one_overtakes_is_broken_off(autojump_clock, stage):
    a, b = stage.actor("a"), stage.actor("b")
    await stage.generation({"a": (0, 1, 2)}, a)
    await b.first_step()
    await stage.act((a.join,), (b.join,))
    await trio.sleep(3)
    stage.nursery.start_soon(a.join)
    await trio.sleep(1)
    timeline = stage.timeline()
    _, overtaken, last = timeline.generations
    assert overtaken.broken_off - overtaken.formed == pytest.approx(3)
    assert (overtaken.number, overtaken.lost, overtaken.seconds) == (2, False, None)
    assert (last.broken_off, last.formed) == (None, None)
    told = lines(stage)
    assert any("broken off after 3.0" in line for line in told)
    assert sum("It waits for" in line for line in told) == 2  # above all, and where it is listed
    await b.join()
    await trio.testing.wait_all_tasks_blocked()  # a has its answer as well then
    await stage.act(*((each.sync, {each.member_id: {"t": (0, 1, 2)}}) for each in (a, b) if each.leads))
    last = stage.timeline().generations[-1]
    assert (last.kind, last.broken_off) == (Kind.EAGER, None)


async def test_who_gave_up_everything_for_a_rebalance_that_came_to_nothing_stands_still_until_the_next(
    autojump_clock, stage
):
    a, b = stage.actor("a"), stage.actor("b")
    await stage.generation({"a": (0, 1, 2)}, a)
    await trio.sleep(1)
    await b.first_step()
    await stage.act((a.join,), (b.join,))
    await trio.sleep(3)
    await stage.generation({"a": (0, 1), "b": (2,)}, a, b)
    _, overtaken, last = stage.timeline().generations
    assert overtaken.stood_still == {}
    assert (last.kind, last.stood_still) == (Kind.EAGER, {a.member_id: pytest.approx(3)})
    assert [(each.partition, each.source, each.target) for each in last.moves] == [(2, a.member_id, b.member_id)]
    told = "\n".join(lines(stage))
    assert "1 member stood still, a for 3.000 s; nobody read t-0 for 3.000 s" in told
    assert "moved: t-2 a -> b" in told
    await trio.sleep(1)
    await stage.generation({"a": (0, 1), "b": (2,)}, a, b)
    assert stage.timeline().generations[-1].stood_still == {
        each.member_id: pytest.approx(0, abs=0.01) for each in (a, b)
    }


async def test_a_crash_shows_how_long_nobody_read_the_partitions(autojump_clock, stage):
    a, b = stage.actor("a"), stage.actor("b")
    await a.first_step()
    await b.first_step()
    await stage.generation({"a": (0, 1), "b": (2,)}, a, b)
    await trio.sleep(2)
    assert await b.heartbeat() == 0
    await b.client.aclose()
    for _ in range(5):
        await trio.sleep(2)
        code = await a.heartbeat()
    assert code == 27
    await stage.generation({"a": (0, 1, 2)}, a)
    last = stage.timeline().generations[-1]
    assert last.cause.startswith("removing member")
    assert last.gone == (b.member_id,)
    pause = last.pauses[0]
    assert (pause.topic, pause.partition) == ("t", 2)
    assert pause.seconds == pytest.approx(10, abs=0.1)
    told = "\n".join(lines(stage))
    assert "Last rebalance: removing member b on heartbeat expiration" in told
    assert "nobody read t-2 for 10.0" in told
    assert "b is put out: no heartbeat within the session timeout" in told
    assert "ended: the client closed it" in told


async def test_a_cooperative_rebalance_has_two_steps_in_which_others_keep_what_they_have(autojump_clock, stage):
    a, b = (stage.actor(name, protocol="cooperative-sticky", cooperative=True) for name in "ab")
    await stage.generation({"a": (0, 1, 2)}, a)
    await trio.sleep(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.join)
        await trio.sleep(0.5)
        nursery.start_soon(a.join)
    plan = {a.member_id: {"t": (0, 1)}, b.member_id: {"t": ()}}
    await stage.act((a.sync, plan), (b.sync,))
    a.owns = (0, 1)
    await trio.sleep(0.25)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(a.join)
        await trio.sleep(0.25)
        nursery.start_soon(b.join)
    await stage.act((a.sync, {a.member_id: {"t": (0, 1)}, b.member_id: {"t": (2,)}}), (b.sync,))
    timeline = stage.timeline()
    _, revoking, handing_over = timeline.generations
    assert (revoking.kind, handing_over.kind) == (Kind.COOPERATIVE, Kind.COOPERATIVE)
    assert (revoking.kept, handing_over.kept) == ({a.member_id: 2}, {a.member_id: 2})
    assert [(each.partition, each.source, each.target) for each in revoking.moves] == [(2, a.member_id, None)]
    assert [(each.partition, each.source, each.target) for each in handing_over.moves] == [
        (2, a.member_id, b.member_id)
    ]
    assert (revoking.stood_still, handing_over.stood_still) == ({}, {})
    assert (revoking.follows_up, handing_over.follows_up) == (False, True)
    assert [(each.partition, each.seconds) for each in handing_over.pauses] == [(2, pytest.approx(0.5))]
    assert timeline.findings == ()
    assert "second step of a cooperative rebalance" in timeline.text()
    assert "a asks to join again, still owning t-0, t-1, t-2" in timeline.text()


async def test_a_static_member_that_comes_back_keeps_its_name_and_its_partitions(autojump_clock, stage):
    a, b = stage.actor("a", instance="one"), stage.actor("b", instance="two")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(a.join)
        await trio.sleep(0.01)
        nursery.start_soon(b.join)
        await trio.sleep(0.01)
        if a.leads:
            nursery.start_soon(a.join)
    plan = {a.member_id: {"t": (0,)}, b.member_id: {"t": (1, 2)}}
    await stage.act((a.sync, plan if a.leads else {}), (b.sync, plan if b.leads else {}))
    again = stage.actor("b2", instance="two")
    await again.join()
    old = b.member_id
    assert await b.heartbeat() == 82
    told = stage.timeline().text()
    assert f"static member two comes back: two…{again.member_id[-4:]} takes the place of {old}" in told
    assert "is fenced at Heartbeat: two is another member by now" in told


async def test_a_group_that_nobody_is_in_says_who_left_last(autojump_clock, stage):
    a = stage.actor("a")
    await stage.generation({"a": (0, 1, 2)}, a)
    await a.leave()
    told = lines(stage)
    assert told[0] == "Group g: Empty, generation 2, no members"
    assert told[1].startswith("Last rebalance: explicit removal of a: done.")
    assert told[2] == "It waited for nobody."
    assert any(line.endswith("a leaves (done)") for line in told)


async def test_heartbeats_that_are_answered_alike_are_one_event(autojump_clock, stage):
    a = stage.actor("a")
    await stage.generation({"a": (0, 1, 2)}, a)
    for _ in range(5):
        await trio.sleep(1)
        await a.heartbeat()
    beats = [line for line in lines(stage) if "a heartbeats" in line]
    assert len(beats) == 1
    assert beats[0].endswith("a heartbeats, 5 times until 5.000 s")


async def test_json_says_the_same(autojump_clock, stage):
    a = stage.actor("a")
    await stage.generation({"a": (0, 2)}, a)
    await a.commit()
    plain = json.loads(json.dumps(stage.timeline().plain()))
    assert (plain["group"], plain["state"]) == ("g", "Stable")
    (generation,) = plain["generations"]
    assert generation["assignment"] == {a.member_id: ["t-0", "t-2"]}
    assert (generation["kind"], generation["number"], generation["seconds"]) == ("first", 1, 0)
    assert plain["names"] == {a.member_id: "a"}
    commits = [each for each in plain["events"] if each.get("api") == "OffsetCommit"]
    assert [each["kind"] for each in commits] == ["request", "answer"]
    assert commits[0]["offsets"] == {"t-0": 7, "t-2": 7}
    assert all(each["sentence"] for each in plain["events"])


async def test_what_clients_chose_cannot_move_the_cursor_nor_flood_the_screen(autojump_clock, stage):
    evil = stage.actor("\x1b[2J\nevil")
    await stage.generation({evil.name: (0, 1, 2)}, evil)
    long = stage.actor("x" * 5_000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(long.join)
        await trio.sleep(0.5)
        nursery.start_soon(evil.join)
    told = stage.timeline().text()
    assert "\x1b" not in told
    assert "\\x1b[2J\\nevil" in told
    assert [line[:60] for line in told.splitlines() if len(line) >= 500] == []


async def test_the_clock_and_other_groups(autojump_clock, stage):
    a = stage.actor("a")
    await stage.generation({"a": (0, 1, 2)}, a)
    assert stage.timeline("other") is None
    assert stage.recorder.groups() == ["g"]
    stage.recorder.forget()
    assert stage.timeline() is None
    assert await a.heartbeat() == 0
    assert [type(each).__name__ for each in stage.timeline().events] == ["Beats"]


async def test_topics_that_are_named_by_id_have_their_names(autojump_clock, stage):
    topic_id = stage.server.broker.catalog.by_name("t").topic_id
    recorder = Recorder(stage.server.running.clock.now, {topic_id: "t"}.get)
    stage.server.broker.on_request(recorder.request)
    parts = [OffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata="")]
    topics = [OffsetCommitRequestTopic(topic_id=each, partitions=parts) for each in (topic_id, UUID(int=5))]
    await stage.actor("a").send(OffsetCommitRequest(group_id="g", topics=topics), 10)
    assert f"a commits t-0 at 7, {UUID(int=5)}-0 at 7" in recorder.of("g").text()


async def test_expiries_that_a_moved_clock_is_past_have_their_own_moments(autojump_clock, stage):
    actors = [stage.actor(name, session=session) for name, session in (("a", 30_000), ("b", 10_000), ("c", 20_000))]
    for each in actors:
        await each.first_step()
    await stage.generation({"a": (0,), "b": (1,), "c": (2,)}, *actors)
    server = stage.server.running
    recorder = Recorder(server.broker.moment)
    server.broker.on_note(recorder.note)
    server.clock.advance(100)
    await trio.testing.wait_all_tasks_blocked()
    out = [(event.note.client_id, event.at) for event in recorder.of("g").events if hasattr(event.note, "why")]
    assert out == [("b", pytest.approx(10)), ("c", pytest.approx(20)), ("a", pytest.approx(30))]
    assert recorder.of("g").generations[0].seconds == pytest.approx(20)


async def test_what_an_operator_did_is_told(autojump_clock, stage):
    control = Control(stage.server.running)
    await control.groups.set_offsets("g", {("t", 0): 5})
    assert "offsets of 1 partition are committed" in control.timeline.of("g").text()
    a, b = stage.actor("a"), stage.actor("b")
    await stage.generation({"a": (0, 1, 2)}, a)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.join)
        await trio.sleep(1)
        await control.groups.delete("g")
    told = control.timeline.of("g").text().splitlines()
    assert told[0] == "Group g: Dead"
    assert told[1].startswith("The group was deleted amid a rebalance, 1.000 s after it began: new member b joined")


async def test_partitions_of_a_commit_that_were_refused_are_named(autojump_clock, stage):
    control = Control(stage.server.running)
    a = stage.actor("a")
    await stage.generation({"a": (0, 1, 2)}, a)
    control.faults.add({"api": "OffsetCommit", "topic": "t", "partition": 1, "error": 3})
    await a.commit()
    told = control.timeline.of("g").text()
    assert "a commits t-0 at 7, t-1 at 7, t-2 at 7: UNKNOWN_TOPIC_OR_PARTITION for t-1 [fault: " in told
