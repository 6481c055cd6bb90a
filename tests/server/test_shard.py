"""The shard: what leaves when, what happens when writing fails, when loading takes long, and when time jumps."""

from contextlib import aclosing, contextmanager
from functools import partial

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kcoord.clock import Clock
from kcoord.core.coordinator import Coordinator
from kcoord.core.notes import MemberExpired
from kcoord.core.operators import DONE, NewOffset, Problem, Rebalance, SetOffsets
from kcoord.core.outcome import Context
from kcoord.core.settings import GroupSettings
from kcoord.core.states import IllegalMove
from kcoord.errors_in_place import error_response
from kcoord.log.catalog import OFFSETS_TOPIC
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Partition
from kcoord.log.topic_config import TopicConfig
from kcoord.notices import (
    BugFound,
    LoadFailed,
    PartitionLost,
    RecordsSkipped,
    ShardLoaded,
    WriteFailed,
)
from kcoord.shard import Shard
from kcoord.store.base import StoreError
from kcoord.store.memory import MemoryStore
from tests.server.client import heartbeat, join, sync
from wire.errors import ErrorCode
from wire.messages import (
    REQUESTS,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from wire.payloads import GroupMetadataKey, GroupMetadataValue, MemberMetadata, encode_key, encode_value

V5 = Context(5, "c", "/127.0.0.1")


class ScriptedStore(MemoryStore):
    """A store that can be held, fails on demand, and remembers each append."""

    def __init__(self):
        super().__init__()
        self.appends = []
        self.failures = []
        self.load_failures = []
        self.held = None

    @contextmanager
    def hold(self):
        self.held = trio.Event()
        try:
            yield
        finally:
            self.held.set()
            self.held = None

    async def append(self, partition, epoch, rows):
        if self.held is not None:
            await self.held.wait()
        if self.failures:
            raise self.failures.pop(0)
        await super().append(partition, epoch, rows)
        self.appends.append(len(rows))

    async def load(self, partition):
        if self.held is not None:
            await self.held.wait()
        if self.load_failures:
            raise self.load_failures.pop(0)
        async with aclosing(super().load(partition)) as rows:
            async for row in rows:
                yield row


class Bench:
    """A shard in a nursery."""

    def __init__(self, nursery, store, **settings):
        self.nursery = nursery
        self.store = store
        self.notes = []
        self.clock = Clock(start_wall_ms=1_000_000)
        self.ids = iter(range(1000))
        self.log = Partition(OFFSETS_TOPIC, 0, TopicConfig(cleanup_policy=frozenset({"compact"})), LogMemory())
        self.shard = Shard(
            0,
            GroupSettings(**settings),
            store,
            self.clock,
            lambda: f"id{next(self.ids)}",
            lambda told, _moments=None: self.notes.extend(told),
            self.log,
            commit_timeout_ms=5_000,
        )

    def kinds(self, kind):
        return [note for note in self.notes if type(note) is kind]

    async def stable(self, group):
        member = (await self.shard.submit(V5, join(group))).member_id
        joined = await self.shard.submit(V5, join(group, member))
        assert (await self.shard.submit(V5, sync(group, joined.generation_id, member))).error_code == 0
        return member


async def bench_with(nursery, store=None, **settings):
    bench = Bench(nursery, store or ScriptedStore(), **settings)
    await nursery.start(bench.shard.run)
    return bench


def commit(group, offset, generation=-1, member=""):
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[
            OffsetCommitRequestTopic(
                name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
            )
        ],
    )


def fetch(group, **more):
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], **more)


def commit_error(response):
    return response.topics[0].partitions[0].error_code


async def offset_of(bench, group):
    return (await bench.shard.submit(V5, fetch(group))).groups[0].topics[0].partitions[0].committed_offset


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


async def test_a_partition_that_another_server_took_is_served_no_more(autojump_clock, nursery):
    bench = await bench_with(nursery)
    await bench.store.acquire(0)
    assert commit_error(await bench.shard.submit(V5, commit("g", 1))) == 16
    assert len(bench.kinds(PartitionLost)) == 1
    await trio.sleep(60)
    for version in range(2):
        context = Context(version, "c", "/h")
        assert (await bench.shard.submit(context, heartbeat("g", 1, "m"))).error_code == 16
    assert [note.epoch for note in bench.kinds(ShardLoaded)] == [1]


async def test_a_partition_that_cannot_be_read_is_tried_again(autojump_clock, nursery):
    store = ScriptedStore()
    store.load_failures = [StoreError("locked")] * 3
    bench = await bench_with(nursery, store)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 16
    await trio.sleep(0.1 + 0.2 + 0.4 + 0.01)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 25
    assert [note.retry_in for note in bench.kinds(LoadFailed)] == [0.1, 0.2, 0.4]


async def test_the_pause_between_attempts_has_an_end(autojump_clock, nursery):
    store = ScriptedStore()
    store.load_failures = [StoreError("locked")] * 12
    bench = await bench_with(nursery, store)
    await trio.sleep(60)
    assert max(note.retry_in for note in bench.kinds(LoadFailed)) == 5
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 25


async def test_unknown_records_are_left_alone_and_broken_ones_stop_the_load(autojump_clock, nursery):
    store = ScriptedStore()
    epoch = await store.acquire(0)
    await store.append(0, epoch, [(b"\x00\x63unknown", b"x")])
    bench = await bench_with(nursery, store)
    assert bench.kinds(RecordsSkipped)[0].rows == 1
    assert commit_error(await bench.shard.submit(V5, commit("g", 1))) == 0

    broken = ScriptedStore()
    epoch = await broken.acquire(0)
    await broken.append(0, epoch, [(b"\x00\x02\x00\x01g", b"\x00\x63")])
    other = await bench_with(nursery, broken)
    assert len(other.kinds(LoadFailed)) == 1
    assert (await other.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 16


async def test_groups_and_offsets_come_back(autojump_clock, nursery):
    store = ScriptedStore()
    async with trio.open_nursery() as first:
        bench = await bench_with(first, store)
        member = await bench.stable("g")
        await bench.shard.submit(V5, commit("g", 7, 1, member))
        first.cancel_scope.cancel()
    again = await bench_with(nursery, store)
    assert (await again.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0
    assert await offset_of(again, "g") == 7
    # Its session started anew.
    await trio.sleep(10.1)
    assert (await again.shard.submit(V5, heartbeat("g", 1, member))).error_code == 25


EVERY_REQUEST = [
    join("g", "m"),
    sync("g", 1, "m"),
    heartbeat("g", 1, "m"),
    LeaveGroupRequest(group_id="g", member_id="m"),
    commit("g", 1),
    fetch("g"),
    DescribeGroupsRequest(groups=["g", "h"]),
    ListGroupsRequest(),
    DeleteGroupsRequest(groups_names=["g", "h"]),
    OffsetDeleteRequest(group_id="g"),
]


def errors_in(response):
    """Every error code of a response, wherever it is."""
    found = []
    if hasattr(response, "error_code"):
        found.append(response.error_code)
    for name in ("groups", "results", "topics", "partitions", "members"):
        for each in getattr(response, name, None) or []:
            found += errors_in(each)
    return found


@pytest.mark.parametrize("request_", EVERY_REQUEST, ids=lambda each: type(each).__name__)
async def test_requests_during_the_load_are_put_off(autojump_clock, nursery, request_):
    store = ScriptedStore()
    with store.hold():
        bench = Bench(nursery, store)
        nursery.start_soon(bench.shard.run)
        await wait_all_tasks_blocked()
        response = await bench.shard.submit(V5, request_)
        assert type(response) is type(request_).RESPONSE
        expected = 0 if "Heartbeat" in type(request_).__name__ else 14
        places = [code for code in errors_in(response) if code or not hasattr(response, "groups")]
        assert set(places) == {expected}


@pytest.mark.parametrize("request_", EVERY_REQUEST, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_an_error_in_place_can_be_sent_in_every_version(request_, code):
    from wire.codec import encode

    kind = type(request_)
    for version in range(kind.VERSIONS.lowest, kind.VERSIONS.highest + 1):
        if kind is OffsetFetchRequest and version < 8:
            continue
        assert encode(error_response(request_, version, code), version)
    assert REQUESTS[kind.API_KEY] is kind


async def test_during_the_load_what_is_wrong_anyway_is_told_first(autojump_clock, nursery):
    store = ScriptedStore()
    with store.hold():
        bench = Bench(nursery, store)
        nursery.start_soon(bench.shard.run)
        await wait_all_tasks_blocked()
        submit = partial(bench.shard.submit, V5)
        for request_ in (join("", "m"), sync("", 1, "m"), heartbeat("", 1, "m"), LeaveGroupRequest()):
            assert (await submit(request_)).error_code == 24
        assert (await submit(OffsetDeleteRequest())).error_code == 24
        refused = await submit(join("g", "m", session=5999))
        assert (refused.error_code, refused.member_id) == (26, "m")
        assert (await submit(join("", "m", session=5999))).error_code == 24


async def test_a_stable_fetch_is_told_to_look_for_the_coordinator(autojump_clock, nursery):
    bench = await bench_with(nursery)
    bench.store.failures.append(StoreError("slow", ErrorCode.REQUEST_TIMED_OUT))
    with bench.store.hold():
        bench.shard.begin(V5, commit("g", 1))
        slots = [bench.shard.begin(V5, fetch("g", require_stable=stable)) for stable in (True, False)]
    codes = [(await slot.wait()).groups[0].error_code for slot in slots]
    assert codes == [16, 15]


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
        with monkeypatch.context() as patched:
            patched.setattr(Coordinator, "handle", broken)
            answer = await bench.shard.submit(V5, heartbeat("g", 1, member))
        assert answer.error_code == -1
        assert (await parked.wait()).error_code == 16
        assert commit_error(await written.wait()) == 16
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


async def test_a_shard_that_stops_sends_everybody_away(autojump_clock, nursery):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    other = (await bench.shard.submit(V5, join("parked"))).member_id
    parked = bench.shard.begin(V5, join("parked", other))
    with bench.store.hold():
        written = bench.shard.begin(V5, commit("h", 4))
        bench.shard.stop()
        await wait_all_tasks_blocked()
        assert written.response is None
    assert commit_error(await written.wait()) == 0
    answer = await parked.wait()
    assert (answer.error_code, answer.member_id) == (16, other)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 16
    await trio.sleep(3600)
    bench.shard.stop()
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 16


async def test_a_shard_that_stops_stays_so_though_its_last_write_fails(autojump_clock, nursery):
    bench = await bench_with(nursery)
    bench.store.failures.append(StoreError("full", ErrorCode.KAFKA_STORAGE_ERROR))
    written = bench.shard.begin(V5, commit("h", 4))
    bench.shard.stop()
    assert commit_error(await written.wait()) == 16
    await trio.sleep(60)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 16


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


async def test_a_shard_that_stops_while_it_loads_never_serves(autojump_clock, nursery):
    bench = Bench(nursery, ScriptedStore())
    with bench.store.hold():
        nursery.start_soon(bench.shard.run)
        await wait_all_tasks_blocked()
        bench.shard.stop()
    await trio.sleep(60)
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 16


async def test_a_shard_that_stops_between_two_attempts_to_load_makes_no_third(autojump_clock, nursery):
    bench = Bench(nursery, ScriptedStore())
    bench.store.load_failures += [StoreError("away", ErrorCode.KAFKA_STORAGE_ERROR)] * 2
    await nursery.start(bench.shard.run)
    bench.shard.stop()
    await trio.sleep(60)
    assert len(bench.kinds(LoadFailed)) == 2
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "m"))).error_code == 16


async def test_records_that_contradict_themselves_are_not_served(autojump_clock, nursery):
    bench = Bench(nursery, ScriptedStore())
    twins = tuple(
        MemberMetadata(member_id=name, group_instance_id="i", client_id="c", client_host="/h", session_timeout=6000)
        for name in ("a", "b")
    )
    key, value = GroupMetadataKey(group="g"), GroupMetadataValue(protocol_type="consumer", generation=1, members=twins)
    epoch = await bench.store.acquire(0)
    await bench.store.append(0, epoch, [(encode_key(key), encode_value(value))])
    await nursery.start(bench.shard.run)
    assert "is taken" in bench.kinds(LoadFailed)[0].why
    assert (await bench.shard.submit(V5, heartbeat("g", 1, "a"))).error_code == 16


async def test_a_record_without_bytes_is_a_bug_of_its_own_request(autojump_clock, nursery, monkeypatch):
    bench = await bench_with(nursery)
    member = await bench.stable("g")
    with monkeypatch.context() as patched:
        patched.setattr("kcoord.core.offsets.utf16_length", lambda _: 0)
        patched.setattr("kcoord.core.offsets.fits", lambda *_: True)
        request = commit("h", 4)
        request.topics[0].partitions[0].committed_metadata = "x" * 40_000
        assert commit_error(await bench.shard.submit(V5, request)) == -1
    await wait_all_tasks_blocked()
    assert len(bench.kinds(BugFound)) == 1
    assert (await bench.shard.submit(V5, heartbeat("g", 1, member))).error_code == 0


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
