"""The shard: what leaves when, what happens when writing fails, bugs, and what operators do."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.core.coordinator import Coordinator
from kcoord.core.operators import DONE, NewOffset, Problem, Rebalance, SetOffsets
from kcoord.core.states import IllegalMove
from kcoord.notices import (
    BugFound,
    ShardLoaded,
    WriteFailed,
)
from kcoord.store.base import StoreError
from tests.server.client import heartbeat, join, sync
from tests.server.shards import V5, bench_with, commit, commit_error, fetch, offset_of
from wire.errors import ErrorCode


async def test_a_heartbeat_is_answered_without_a_task_switch(autojump_clock, nursery):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    slot = bench.shard.begin(V5, heartbeat("g", 1, member))
    assert slot.response.error_code == 0


async def test_an_answer_waits_for_its_records_and_later_ones_wait_behind_it(autojump_clock, nursery):
    bench = await bench_with(nursery)
    with bench.store.hold():
        first = bench.shard.begin(V5, commit("g", 1))
        await wait_all_tasks_blocked()
        reader = bench.shard.begin(V5, fetch("g"))
        await wait_all_tasks_blocked()
        assert first.response is None
        assert reader.response is None
    assert commit_error(await first.wait()) == 0
    assert (await reader.wait()).groups[0].topics[0].partitions[0].committed_offset == 1


async def test_what_gathers_during_a_write_goes_in_one_append(autojump_clock, nursery):
    bench = await bench_with(nursery)
    with bench.store.hold():
        bench.shard.begin(V5, commit("g", 0))
        await wait_all_tasks_blocked()
        slots = [bench.shard.begin(V5, commit("g", number)) for number in range(1, 51)]
    order = []

    async def watch(number, slot):
        assert commit_error(await slot.wait()) == 0
        order.append(number)

    async with trio.open_nursery() as watching:
        for number, slot in enumerate(slots):
            watching.start_soon(watch, number, slot)
    assert bench.store.appends == [1, 50]
    assert sorted(order) == list(range(50))
    assert await offset_of(bench, "g") == 50


async def test_who_gives_up_waiting_leaves_the_slot_in_order(autojump_clock, nursery):
    bench = await bench_with(nursery)
    member = (await bench.shard.submit(V5, join("g"))).member_id
    with trio.move_on_after(1):
        await bench.shard.submit(V5, join("g", member))
    await trio.sleep(3)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, 16),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 16),
        (ErrorCode.REQUEST_TIMED_OUT, 15),
        (ErrorCode.NOT_ENOUGH_REPLICAS, 15),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 15),
        (ErrorCode.MESSAGE_TOO_LARGE, -1),
        (ErrorCode.RECORD_LIST_TOO_LARGE, -1),
        (ErrorCode.INVALID_FETCH_SIZE, -1),
        (ErrorCode.POLICY_VIOLATION, 44),
    ],
)
async def test_a_failed_write_is_told_in_the_groups_words_and_undone(autojump_clock, nursery, cause, told):
    bench = await bench_with(nursery)
    assert commit_error(await bench.shard.submit(V5, commit("g", 1))) == 0
    bench.store.failures.append(StoreError("disk full", cause))
    assert commit_error(await bench.shard.submit(V5, commit("g", 2))) == told
    await wait_all_tasks_blocked()
    assert await offset_of(bench, "g") == 1
    (failed,) = bench.kinds(WriteFailed)
    assert (failed.why, failed.error, failed.requests) == ("disk full", ErrorCode(told).name, 1)
    assert [note.epoch for note in bench.kinds(ShardLoaded)] == [1, 2]


async def test_after_a_failed_write_everybody_who_waits_is_told_to_come_again(autojump_clock, nursery):
    bench = await bench_with(nursery)
    member = (await bench.shard.submit(V5, join("parked"))).member_id
    parked = bench.shard.begin(V5, join("parked", member))
    await wait_all_tasks_blocked()
    bench.store.failures.append(StoreError("disk full"))
    with bench.store.hold():
        failing = bench.shard.begin(V5, commit("g", 2))
        await wait_all_tasks_blocked()
        behind = [bench.shard.begin(V5, commit("g", 3)), bench.shard.begin(V5, fetch("g"))]
    assert commit_error(await failing.wait()) == 16
    assert commit_error(await behind[0].wait()) == 16
    assert (await behind[1].wait()).groups[0].error_code == 16
    answer = await parked.wait()
    assert (answer.error_code, answer.member_id) == (16, member)
    await wait_all_tasks_blocked()
    assert await offset_of(bench, "g") == -1
    # The group itself was stored by the handshake; the id that was handed out was not.
    assert (await bench.shard.submit(V5, join("parked", member))).error_code == 25


async def test_a_leaders_sync_that_cannot_be_stored_fails_for_all(autojump_clock, nursery):
    bench = await bench_with(nursery)
    members = [(await bench.shard.submit(V5, join("g"))).member_id for _ in range(2)]
    joins = [bench.shard.begin(V5, join("g", member)) for member in members]
    joined = [await slot.wait() for slot in joins]
    follower = next(each.member_id for each in joined if each.member_id != each.leader)
    waiting = bench.shard.begin(V5, sync("g", 1, follower))
    bench.store.failures.append(StoreError("disk full"))
    answer = await bench.shard.submit(V5, sync("g", 1, joined[0].leader))
    assert (answer.error_code, answer.assignment) == (16, b"")
    assert (await waiting.wait()).error_code == 16


async def test_a_write_that_takes_too_long_has_failed(autojump_clock, nursery):
    bench = await bench_with(nursery)
    with bench.store.hold():
        began = trio.current_time()
        assert commit_error(await bench.shard.submit(V5, commit("g", 1))) == 15
        assert trio.current_time() - began == pytest.approx(5)
        # What comes before the partition is loaded again meets a loading coordinator.
        assert commit_error(await bench.shard.submit(V5, commit("g", 1))) == 14
    await wait_all_tasks_blocked()
    assert await offset_of(bench, "g") == -1


@pytest.mark.parametrize("bug", [IllegalMove("Empty -> Stable"), KeyError("m")])
async def test_a_bug_in_the_coordinator_costs_its_memory_and_nothing_else(autojump_clock, nursery, monkeypatch, bug):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    other = (await bench.shard.submit(V5, join("parked"))).member_id
    parked = bench.shard.begin(V5, join("parked", other))
    await wait_all_tasks_blocked()

    def broken(self, *_):
        raise bug

    with bench.store.hold():
        written = bench.shard.begin(V5, commit("h", 4))
        await wait_all_tasks_blocked()
        wished = bench.shard.begin_operation(SetOffsets("h", (NewOffset("t", 0, 5),)))
        with monkeypatch.context() as patched:
            patched.setattr(Coordinator, "handle", broken)
            answer = await bench.shard.submit(V5, heartbeat("g", 1, member))
        assert answer.error_code == -1
        assert (await parked.wait()).error_code == 16
        assert commit_error(await written.wait()) == 16
        assert (await wished.wait()).problem is Problem.UNAVAILABLE
    await wait_all_tasks_blocked()
    (found,) = bench.kinds(BugFound)
    assert found.request == "HeartbeatRequest"
    assert type(bug).__name__ in found.traceback
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


async def test_a_bug_in_a_timer_is_one_as_well(autojump_clock, nursery, monkeypatch):
    bench = await bench_with(nursery)
    member = await bench.stable("g")

    def broken(self, now):
        raise IllegalMove("sweep")

    with monkeypatch.context() as patched:
        patched.setattr(Coordinator, "advance", broken)
        await trio.sleep(10.05)
    await wait_all_tasks_blocked()
    assert bench.kinds(BugFound)[0].request == "a timer"
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


async def test_a_record_without_bytes_is_a_bug_of_its_own_request(autojump_clock, nursery, monkeypatch):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    with monkeypatch.context() as patched:
        patched.setattr("kcoord.core.offsets.can_keep", lambda *_: True)
        request = commit("h", 4)
        request.topics[0].partitions[0].committed_metadata = "x" * 40_000
        assert commit_error(await bench.shard.submit(V5, request)) == -1
    await wait_all_tasks_blocked()
    assert len(bench.kinds(BugFound)) == 1
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


# What operators wish, time that stands still, and rest.


async def test_an_operation_is_answered_once_its_records_are_durable(autojump_clock, nursery):
    bench = await bench_with(nursery)
    with bench.store.hold():
        slot = bench.shard.begin_operation(SetOffsets("g", (NewOffset("t", 0, 5),)))
        await wait_all_tasks_blocked()
        assert slot.response is None
    assert await slot.wait() == DONE
    assert bench.shard.tables.offsets["g"]["t", 0].offset == 5
    assert (await bench.shard.operate(Rebalance("h", ""))).problem is Problem.UNKNOWN


async def test_an_operation_that_cannot_be_written_says_so(autojump_clock, nursery):
    bench = await bench_with(nursery)
    bench.store.failures.append(StoreError("full", ErrorCode.KAFKA_STORAGE_ERROR))
    answer = await bench.shard.operate(SetOffsets("g", (NewOffset("t", 0, 5),)))
    assert answer.problem is Problem.UNAVAILABLE
    assert answer.sentence == "nothing was done: the coordinator failed with NOT_COORDINATOR"


async def test_an_operation_that_is_a_bug_drops_the_memory(autojump_clock, nursery, monkeypatch):
    bench = await bench_with(nursery)

    def broken(*_):
        raise IllegalMove("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(Coordinator, "operate", broken)
        answer = await bench.shard.operate(Rebalance("g", ""))
    assert answer.problem is Problem.UNAVAILABLE
    assert bench.kinds(BugFound)[0].request == "Rebalance"


async def test_an_operation_on_a_shard_that_does_not_serve(autojump_clock, nursery):
    bench = await bench_with(nursery)
    bench.shard.stop()
    answer = await bench.shard.operate(Rebalance("g", ""))
    assert answer.problem is Problem.UNAVAILABLE
    assert answer.sentence == "the coordinator of partition 0 does not serve: the server stops"
    assert bench.shard.tables is None
    await bench.shard.rest()
