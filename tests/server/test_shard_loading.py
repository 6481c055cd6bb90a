"""The shard while it loads its records, when it cannot, and when it is stopped."""

from functools import partial
from math import inf

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.core.outcome import Context
from kcoord.errors_in_place import error_response
from kcoord.notices import (
    LoadFailed,
    PartitionLost,
    RecordsSkipped,
    ShardLoaded,
)
from kcoord.shard import Status
from kcoord.store.base import StoreError
from tests.server.client import heartbeat, join, sync
from tests.server.shards import V5, Bench, ScriptedStore, bench_with, commit, commit_error, fetch, offset_of
from wire.errors import ErrorCode
from wire.messages import (
    REQUESTS,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from wire.payloads import GroupMetadataKey, GroupMetadataValue, MemberMetadata, encode_key, encode_value


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


async def test_to_load_at_once_holds_against_who_wishes_otherwise_meanwhile(autojump_clock, nursery):
    bench = await bench_with(nursery)
    bench.shard.reload(60)
    await wait_all_tasks_blocked()
    over = trio.Event()

    async def load():
        await bench.shard.load_at_once()
        over.set()

    nursery.start_soon(load)
    await trio.lowlevel.checkpoint()
    bench.shard.reload(inf, anew=True)
    for _ in range(100):
        await trio.lowlevel.checkpoint()
    assert over.is_set()
    assert bench.shard.tables is not None


@pytest.mark.parametrize("seconds", [60, inf])
async def test_to_load_for_longer_holds_also_for_a_load_that_is_under_way(autojump_clock, nursery, seconds):
    bench = await bench_with(nursery)
    with bench.store.hold():
        bench.shard.reload()
        await wait_all_tasks_blocked()
        bench.shard.reload(seconds, anew=True)
    await trio.sleep(59)
    assert bench.shard.tables is None
    if seconds == inf:
        bench.shard.reload(1, anew=True)
    await trio.sleep(2)
    assert bench.shard.tables is not None


async def test_nobody_waits_for_a_shard_that_cannot_serve(autojump_clock, nursery):
    """Else who moves the clock or a coordinator would wait as long as the store fails, or for ever."""
    store = ScriptedStore()
    store.load_failures = [StoreError("locked")] * 12
    failing = await bench_with(nursery, store)
    lost = await bench_with(nursery)
    await lost.store.acquire(0)
    assert commit_error(await lost.shard.submit(V5, commit("g", 1))) == 16
    stopped = await bench_with(nursery)
    stopped.shard.stop()
    start = trio.current_time()
    for bench in (failing, lost, stopped):
        with trio.fail_after(1):
            await bench.shard.rest()
    assert trio.current_time() == start


async def test_who_waits_for_a_shard_that_loads_hears_of_its_failure(autojump_clock, nursery):
    bench = await bench_with(nursery)
    bench.store.load_failures = [StoreError("locked")] * 12
    bench.shard.reload()
    with trio.fail_after(1):
        await bench.shard.rest()
    assert bench.shard.status is Status.FAILED
