"""The shard and time: deadlines, pauses of the process, a clock that is moved or stands still, and rest."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kcoord.clock import Clock
from kcoord.core.notes import MemberExpired
from kcoord.core.outcome import Context
from kcoord.notices import (
    PartitionLost,
)
from tests.server.client import heartbeat, join, sync
from tests.server.shards import V5, bench_with, commit
from wire.messages import (
    DescribeGroupsRequest,
)


async def test_a_session_ends_on_time_though_heartbeats_move_it(autojump_clock, nursery):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    for _ in range(5):
        await trio.sleep(9.5)
        assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0
    for pause, members in ((9.99, 1), (0.02, 0)):
        await trio.sleep(pause)
        described = await bench.shard.submit(V5, DescribeGroupsRequest(groups=["g"]))
        assert len(described.groups[0].members) == members


async def test_moving_the_clock_ends_what_is_due_then(autojump_clock, nursery):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    began = trio.current_time()
    bench.clock.advance(9.9)
    await wait_all_tasks_blocked()
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0
    bench.clock.advance(10.1)
    await wait_all_tasks_blocked()
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 25
    assert trio.current_time() == began


async def test_after_a_standstill_the_heartbeats_that_lie_there_count_first(nursery, mock_clock):
    bench = await bench_with(nursery)
    mock_clock.autojump_threshold = 0
    member = await bench.stable("g")
    mock_clock.autojump_threshold = float("inf")
    await wait_all_tasks_blocked()
    # The process stands still for a minute; then its tasks run on, the shard's first.
    mock_clock.jump(60)
    await wait_all_tasks_blocked()
    assert bench.shard.begin(V5, heartbeat("g", 1, member)).response.error_code == 0
    mock_clock.jump(0.1)
    await wait_all_tasks_blocked()
    assert bench.shard.begin(V5, heartbeat("g", 1, member)).response.error_code == 0
    mock_clock.jump(60)
    await wait_all_tasks_blocked()
    mock_clock.jump(0.1)
    await wait_all_tasks_blocked()
    assert bench.shard.begin(V5, heartbeat("g", 1, member)).response.error_code == 25


async def test_the_wall_clock_moves_with_the_other_one(nursery):
    assert Clock().now().wall_ms > 1_600_000_000_000


async def test_the_clock_moves_forward_only(mock_clock):
    clock = Clock(start_wall_ms=500)
    before = clock.now()
    mock_clock.jump(2.5)
    clock.advance(10)
    after = clock.now()
    assert after.mono - before.mono == pytest.approx(12.5)
    assert after.wall_ms == 13_000
    assert clock.deadline(after.mono) == pytest.approx(trio.current_time())
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="only moves forward"):
            clock.advance(wrong)


async def test_who_waits_on_the_clock_can_stop_doing_so(mock_clock):
    clock, calls = Clock(), []
    forget = clock.on_advance(lambda: calls.append(1))
    clock.advance(1)
    forget()
    forget()
    clock.advance(1)
    assert calls == [1]
    assert isinstance(mock_clock, MockClock)


async def test_a_member_that_was_just_answered_is_not_put_out_for_a_pause_before(autojump_clock, nursery, monkeypatch):
    """A process that stood still for longer than a session answers the join that was due; a session begins there."""
    bench = await bench_with(nursery)
    parked = bench.shard.begin(Context(3, "c", "/127.0.0.1"), join("g"))
    await trio.sleep(1)
    autojump_clock.jump(20)
    joined = await parked.wait()
    assert joined.error_code == 0
    synced = await bench.shard.submit(V5, sync("g", joined.generation_id, joined.member_id))
    assert synced.error_code == 0
    await trio.sleep(9)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, joined.member_id))).error_code == 0


async def test_a_clock_that_is_moved_is_lived_through(autojump_clock, nursery):
    """The join phase ends at 3 s and the session, of 10 s, ten seconds after it: both lie in one move of 20 s."""
    bench = await bench_with(nursery)
    parked = bench.shard.begin(Context(3, "c", "/127.0.0.1"), join("g"))
    bench.clock.advance(20)
    joined = await parked.wait()
    assert joined.error_code == 0
    await wait_all_tasks_blocked()
    synced = await bench.shard.submit(V5, sync("g", joined.generation_id, joined.member_id))
    assert synced.error_code == 25


@pytest.mark.parametrize("late", [0.2, 0.9, 30.0])
async def test_heartbeats_that_wait_unread_count_however_short_the_pause(autojump_clock, nursery, late):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    await trio.sleep(9.9)
    autojump_clock.jump(0.1 + late)
    await trio.sleep(0.05)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0
    await trio.sleep(9)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


async def test_time_that_stands_still_ends_no_session_until_it_is_moved_or_goes_on(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.stable("g")
    bench.clock.freeze()
    frozen = bench.clock.now()
    await trio.sleep(3600)
    assert bench.clock.now() == frozen
    assert bench.clock.is_frozen
    bench.clock.advance(9.5)
    await bench.shard.rest()
    assert not bench.kinds(MemberExpired)
    bench.clock.advance(0.5)
    await bench.shard.rest()
    assert len(bench.kinds(MemberExpired)) == 1


async def test_time_goes_on_from_where_it_stood(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.stable("g")
    bench.clock.resume()
    bench.clock.freeze()
    bench.clock.freeze()
    await trio.sleep(3600)
    before = bench.clock.now()
    bench.clock.resume()
    assert bench.clock.now() == before
    await trio.sleep(9.9)
    assert not bench.kinds(MemberExpired)
    await trio.sleep(0.2)
    assert len(bench.kinds(MemberExpired)) == 1
    assert bench.clock.now().wall_ms - before.wall_ms == pytest.approx(10_100, abs=2)


async def test_what_is_due_when_time_stops_still_happens(autojump_clock, nursery):
    bench = await bench_with(nursery, group_initial_rebalance_delay_ms=0)
    bench.clock.freeze()
    member = await bench.stable("g")
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


async def test_rest_comes_when_everything_due_is_done_and_written(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.stable("g")
    await bench.shard.rest()
    rested = []

    async def wait():
        await bench.shard.rest()
        rested.append(len(bench.kinds(MemberExpired)))

    with bench.store.hold():
        bench.clock.advance(10)
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert not rested
    await wait_all_tasks_blocked()
    assert rested == [1, 1]


async def test_rest_does_not_wait_for_a_shard_that_is_lost(autojump_clock, nursery):
    bench = await bench_with(nursery)
    with bench.store.hold():
        bench.shard.begin(V5, commit("h", 4))
        await wait_all_tasks_blocked()
        nursery.start_soon(bench.shard.rest)
        await bench.store.acquire(0)
    await wait_all_tasks_blocked()
    assert bench.kinds(PartitionLost)
    await bench.shard.rest()
