"""Time in the hands of a test: who is put out, in which order, and who is not."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.control import Impossible
from kcoord.core.notes import GroupDeleted, MemberExpired, OffsetsExpired, PendingMemberExpired
from tests.control.test_groups import three
from wire.messages import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic


async def test_who_crashed_is_put_out_and_who_is_connected_is_not(autojump_clock, bench):
    first, second = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await first.crash()
    before = trio.current_time()
    await bench.clock.advance(45)
    view = bench.groups.get("g")
    assert trio.current_time() == before
    assert (view.state, [each.client_id for each in view.members]) == ("PreparingRebalance", ["b"])
    assert await second.heartbeat() == 27
    assert (await second.rejoin()).error_code == 0


async def test_who_crashed_in_a_join_phase_is_put_out_while_others_wait(autojump_clock, bench):
    consumers = await three(bench)
    await bench.groups.rebalance("g", "")
    bench.nursery.start_soon(consumers[1].rejoin)
    await wait_all_tasks_blocked()
    await consumers[0].crash()
    await bench.clock.advance(45)
    assert sorted(each.client_id for each in bench.groups.get("g").members) == ["b", "c"]


async def test_without_heartbeats_nobody_is_heard_of(autojump_clock, bench):
    await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await bench.clock.advance(44)
    await bench.clock.advance(44.5, heartbeats=False)
    assert bench.groups.get("g").state == "Stable"
    await bench.clock.advance(0.5, heartbeats=False)
    assert bench.groups.get("g").state == "Empty"


async def test_things_happen_in_the_order_in_which_they_would_have(autojump_clock, bench):
    consumers = [bench.consumer("long", session=60_000), bench.consumer("short", session=10_000)]
    await bench.stable(*consumers)
    pending = bench.consumer("pending", session=30_000)
    await pending.ask()
    began = bench.clock.now()
    told = []
    bench.server.broker.on_note(lambda note: told.append(type(note)) if isinstance(note, OF_INTEREST) else None)
    await bench.clock.advance(60, heartbeats=False)
    assert told == [MemberExpired, PendingMemberExpired, MemberExpired]
    expired = [note.client_id for note in bench.server.seen(MemberExpired)]
    assert expired == ["short", "long"]
    assert bench.clock.now().wall_ms - began.wall_ms == 60_000


OF_INTEREST = (MemberExpired, PendingMemberExpired)


async def test_a_rebalance_timeout_ends_the_join_phase_without_who_did_not_come(autojump_clock, bench):
    first, second = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    await bench.groups.rebalance("g", "")
    bench.nursery.start_soon(first.rejoin)
    await wait_all_tasks_blocked()
    await bench.clock.advance(300)
    (expired,) = bench.server.seen(MemberExpired)
    assert (expired.client_id, expired.why) == ("b", "did not rejoin within the rebalance timeout")
    assert await second.heartbeat() == 25


async def test_retention_runs_on_the_same_clock(autojump_clock, bench):
    await bench.groups.set_offsets("g", {("t", 0): 1})
    await bench.clock.advance(8 * 24 * 3600)
    assert bench.groups.list() == ()
    assert len(bench.server.seen(OffsetsExpired)) == len(bench.server.seen(GroupDeleted)) == 1


async def test_time_stands_still(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    stood = bench.clock.freeze()
    assert bench.clock.is_frozen
    await trio.sleep(3600)
    assert bench.clock.now() == stood
    assert bench.groups.get("g").state == "Stable"
    await bench.clock.advance(44, heartbeats=False)
    assert bench.groups.get("g").member("a").session_ends_in == pytest.approx(1)
    bench.clock.resume()
    await trio.sleep(1.5)
    assert bench.groups.get("g").state == "Empty"


async def test_an_impostor_has_no_connection_and_ends_with_its_session(autojump_clock, bench):
    first, second = bench.consumer("a", instance="i1"), bench.consumer("b", instance="i2")
    await bench.stable(first, second)
    await bench.groups.fence("g", "i1")
    await bench.clock.advance(45)
    assert [each.instance_id for each in bench.groups.get("g").members] == ["i2"]


async def test_several_members_over_one_connection_are_there_together(autojump_clock, bench):
    first, second = bench.consumer("a"), bench.consumer("b")
    await bench.stable(first, second)
    second.client = first.client
    assert await second.heartbeat() == 0
    await bench.clock.advance(45)
    assert len(bench.groups.get("g").members) == 2
    await first.crash()
    await bench.clock.advance(45)
    assert bench.groups.get("g").state == "Empty"


async def test_who_left_or_was_put_out_is_forgotten(autojump_clock, bench):
    first, second = await bench.stable(bench.consumer("a"), bench.consumer("b"))
    assert bench.control._presence.present() == {"g": frozenset({first.member_id, second.member_id})}
    await bench.groups.evict("g", "a")
    assert bench.control._presence.present() == {"g": frozenset({second.member_id})}
    await bench.groups.delete("g")
    assert bench.control._presence.present() == {}


def commits(offset):
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
    return OffsetCommitRequest(
        group_id="g",
        topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)],
        generation_id_or_member_epoch=-1,
    )


async def delayed(bench, *delays, **more):
    """Let one client commit for each delay its number; return the clients, whose answers are on their way."""
    clients = []
    for number, delay in enumerate(delays):
        client = bench.server.connect()
        bench.control.faults.add({"api": "OffsetCommit", "client_id": f"c{number}", "delay": delay, **more})
        await client.send(commits(number), 8, client_id=f"c{number}")
        await wait_all_tasks_blocked()
        clients.append(client)
    return clients


def committed(bench):
    """The offsets that were committed, in order, and when, in seconds from the first commit's arrival."""
    events = bench.control.timeline.of("g").plain()["events"]
    asked = {each["number"]: each for each in events if each["kind"] == "request"}
    began = min(each["at"] for each in asked.values())
    answered = [each for each in events if each["kind"] == "answer"]
    return [(asked[each["number"]]["offsets"]["t-0"], round(each["at"] - began)) for each in answered]


@pytest.mark.parametrize("frozen", [False, True])
async def test_requests_that_are_delayed_are_handled_on_the_way_each_at_its_moment(autojump_clock, bench, frozen):
    if frozen:
        bench.clock.freeze()
    await delayed(bench, 10, 4, 8, 4, 6, 30)
    await bench.clock.advance(20)
    assert committed(bench) == [(1, 4), (3, 4), (4, 6), (2, 8), (0, 10)]
    assert bench.groups.get("g").offsets[0].offset == 0
    await bench.clock.advance(10)
    assert committed(bench)[-1] == (5, 30)


async def test_what_is_delayed_and_late_passes_both_within_one_move(autojump_clock, bench):
    await delayed(bench, 2, 3, late=2)
    await bench.clock.advance(20)
    assert committed(bench) == [(0, 4), (1, 5)]


async def test_a_session_ends_before_a_request_that_is_delayed_for_longer(autojump_clock, bench):
    short, _ = await bench.stable(bench.consumer("short", session=10_000), bench.consumer("b"))
    bench.control.faults.add({"api": "Heartbeat", "client_id": "short", "delay": 5, "times": 1})
    bench.control.faults.add({"api": "Heartbeat", "client_id": "short", "delay": 16})
    answers = []

    async def beat():
        answers.append(await short.heartbeat())

    bench.nursery.start_soon(beat)
    await wait_all_tasks_blocked()
    await bench.clock.advance(14, heartbeats=False)
    assert answers == [0]
    assert {each.client_id for each in bench.groups.get("g").members} == {"short", "b"}
    bench.nursery.start_soon(beat)
    await wait_all_tasks_blocked()
    await bench.clock.advance(16, heartbeats=False)
    assert answers == [0, 25]


async def test_who_is_connected_stays_though_its_heartbeat_was_delayed(autojump_clock, bench):
    (consumer,) = await bench.stable(bench.consumer("a", session=10_000))
    bench.control.faults.add({"api": "Heartbeat", "delay": 5})
    bench.nursery.start_soon(consumer.heartbeat)
    await wait_all_tasks_blocked()
    await bench.clock.advance(40)
    assert bench.groups.get("g").state == "Stable"


async def test_a_move_is_made_in_whole_if_nobody_waits_for_its_end(autojump_clock, bench):
    await delayed(bench, 4, 6)
    before = bench.clock.now().mono
    with trio.CancelScope() as scope:
        scope.cancel()
        await bench.clock.advance(20)
    assert bench.clock.now().mono == before
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.clock.advance, 20)
        while bench.clock.now().mono == before:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert bench.clock.now().mono == pytest.approx(before + 20)
    await wait_all_tasks_blocked()
    assert {offset for offset, _ in committed(bench)} == {0, 1}


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "1", None, True])
async def test_moves_that_cannot_be(autojump_clock, bench, wrong):
    before = bench.clock.now()
    with pytest.raises(Impossible, match="the clock only moves forward"):
        await bench.clock.advance(wrong)
    assert bench.clock.now() == before


async def test_a_year_is_over_soon(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    await bench.clock.advance(365 * 24 * 3600, heartbeats=False)
    assert bench.groups.list() == ()


def told(bench, group="g"):
    """What a group's timeline tells of the clock: kinds of events, and the lines of the story."""
    timeline = bench.control.timeline.of(group)
    kinds = [each["kind"] for each in timeline.plain()["events"] if each["kind"].startswith("Clock")]
    sentences = [each["sentence"] for each in timeline.plain()["events"] if each["kind"].startswith("Clock")]
    lines = [line.split(" s  ", 1)[1] for line in timeline.text().splitlines() if " s  the clock " in line]
    assert lines == sentences
    return list(zip(kinds, lines, strict=True))


async def test_stories_tell_that_the_clock_stood_still_was_moved_and_went_on(autojump_clock, bench):
    await bench.stable(bench.consumer("a"))
    bench.clock.freeze()
    await bench.clock.advance(5)
    bench.clock.resume()
    await bench.clock.advance(2.5, heartbeats=False)
    assert told(bench) == [
        ("ClockFrozen", "the clock stands still"),
        ("ClockMoved", "the clock is moved forward by 5 s"),
        ("ClockResumed", "the clock goes on"),
        ("ClockMoved", "the clock is moved forward by 2.5 s, without heartbeats"),
    ]


async def test_what_changes_nothing_is_not_told(autojump_clock, bench):
    await bench.groups.set_offsets("g", {("t", 0): 1})
    bench.clock.resume()
    assert told(bench) == []
    bench.clock.freeze()
    bench.clock.freeze()
    bench.clock.resume()
    bench.clock.resume()
    assert [kind for kind, _ in told(bench)] == ["ClockFrozen", "ClockResumed"]


async def test_a_group_that_comes_into_being_while_time_stands_still_has_that_first(autojump_clock, bench):
    bench.clock.freeze()
    await bench.groups.set_offsets("g", {("t", 0): 1})
    events = [each["kind"] for each in bench.control.timeline.of("g").plain()["events"]]
    assert events == ["ClockFrozen", "GroupCreated", "OffsetsCommitted"]
    bench.clock.resume()
    await bench.groups.set_offsets("later", {("t", 0): 1})
    assert told(bench, "later") == []
    assert [kind for kind, _ in told(bench)] == ["ClockFrozen", "ClockResumed"]


async def test_after_a_reset_the_time_goes_on_for_stories_too(autojump_clock, bench):
    bench.clock.freeze()
    await bench.control.reset()
    await bench.groups.set_offsets("g", {("t", 0): 1})
    assert told(bench) == []
