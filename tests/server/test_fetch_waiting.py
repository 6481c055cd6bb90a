"""Fetches that are held: what they keep, what they cost while nothing happens, and who is woken by what."""

import gc
import struct

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kcoord.apis import fetch as module
from kcoord.apis.api import Call
from kcoord.apis.fetch import fetch
from kcoord.core.outcome import Context
from kcoord.log.partition import Partition
from tests.server.conftest import start, without_sockets
from wire.messages import FetchPartition, FetchRequest, FetchTopic
from wire.records import Record, build

V12 = Context(12, "c", "/127.0.0.1")
HOUR_MS = 3_600_000


def wish(*partitions, topic="t", wait=HOUR_MS, least=1, most=10**6, limit=10**6):
    wishes = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=limit) for index in partitions]
    return FetchRequest(
        max_wait_ms=wait, min_bytes=least, max_bytes=most, topics=[FetchTopic(topic=topic, partitions=wishes)]
    )


def put(partition, size=10):
    partition.append(build([Record(0, 0, b"k", b"v" * size)]), 0, version=9)


class Held:
    """A fetch that a handler holds."""

    def __init__(self, server, nursery, request):
        self.request = request
        self.response = None
        self.scope = trio.CancelScope()
        nursery.start_soon(self._run, Call(server.broker, V12, None))

    async def _run(self, call):
        with self.scope:
            self.response = await fetch(call, self.request)


@pytest.fixture
async def wide(autojump_clock, nursery):
    server = await start(nursery, without_sockets())
    server.wide = server.broker.create_topic("wide", 1000, "for fun").partitions
    return server


def watchers(partitions):
    return sum(len(each._watchers) for each in partitions)


async def test_one_of_a_thousand_is_woken_and_nobody_else_is_looked_at(autojump_clock, wide, nursery, monkeypatch):
    held = [Held(wide, nursery, wish(index, topic="wide")) for index in range(1000)]
    await wait_all_tasks_blocked()
    looks = []
    real = Partition.bytes_from
    monkeypatch.setattr(Partition, "bytes_from", lambda self, offset: looks.append(self.index) or real(self, offset))
    put(wide.wide[7])
    await wait_all_tasks_blocked()
    assert [number for number, each in enumerate(held) if each.response] == [7]
    assert set(looks) == {7}
    assert watchers(wide.wide) == 999
    nursery.cancel_scope.cancel()


async def test_a_thousand_of_one_partition_are_woken_together(autojump_clock, wide, nursery):
    held = [Held(wide, nursery, wish(7, topic="wide")) for _ in range(1000)]
    await wait_all_tasks_blocked()
    before = trio.current_time()
    put(wide.wide[7])
    await wait_all_tasks_blocked()
    assert all(each.response for each in held)
    assert trio.current_time() == before
    assert watchers(wide.wide) == 0


async def test_nothing_runs_while_nothing_happens(autojump_clock, wide, nursery):
    class Steps(trio.abc.Instrument):
        count = 0

        def before_task_step(self, task):
            self.count += "fetch" in task.name or "Held" in task.name

    held = Held(wide, nursery, wish(*range(1000), topic="wide"))
    await wait_all_tasks_blocked()
    steps = Steps()
    trio.lowlevel.add_instrument(steps)
    await trio.sleep(HOUR_MS / 1000 - 1)
    trio.lowlevel.remove_instrument(steps)
    assert steps.count == 0
    assert held.response is None
    await trio.sleep(2)
    assert held.response is not None


async def test_what_happened_once_is_counted_once(autojump_clock, wide, nursery, monkeypatch):
    """A fetch of many partitions looks at those that something happens to."""
    held = Held(wide, nursery, wish(*range(1000), topic="wide", least=1000))
    await wait_all_tasks_blocked()
    looks = []
    real = module.Waiting._look
    monkeypatch.setattr(module.Waiting, "_look", lambda self, index: looks.append(index) or real(self, index))
    for index in (5, 5, 8):
        put(wide.wide[index])
    await wait_all_tasks_blocked()
    assert held.response is None
    put(wide.wide[9], size=1000)
    await wait_all_tasks_blocked()
    assert {each.partition_index for each in held.response.responses[0].partitions if each.records} == {5, 8, 9}


@pytest.mark.parametrize("how", ["woken", "late", "cancelled"])
async def test_nobody_is_watched_afterwards(autojump_clock, wide, nursery, how):
    held = Held(wide, nursery, wish(*range(100), topic="wide", wait=1000))
    await wait_all_tasks_blocked()
    assert watchers(wide.wide) == 100
    if how == "woken":
        put(wide.wide[3])
    elif how == "late":
        await trio.sleep(1.1)
    else:
        held.scope.cancel()
    await wait_all_tasks_blocked()
    assert watchers(wide.wide) == 0


async def test_a_held_fetch_keeps_little_of_its_request(autojump_clock, wide, nursery):
    request = wish(*range(1000), topic="wide")
    # Other tests may have left requests of theirs in memory: these are known by their limit.
    limit = 1_234_567
    for each in request.topics[0].partitions:
        each.partition_max_bytes = limit
    del each
    request.topics += [FetchTopic(topic=f"nope-{number}", partitions=request.topics[0].partitions) for number in (1, 2)]
    held = Held(wide, nursery, request)
    await wait_all_tasks_blocked()
    assert held.request.topics == []
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, FetchPartition)]
    assert not [each for each in kept if each.partition_max_bytes == limit]
    put(wide.wide[3])
    await wait_all_tasks_blocked()
    assert [len(topic.partitions) for topic in held.response.responses] == [1000, 1000, 1000]


async def test_records_that_come_while_the_fetch_begins_to_wait_are_not_missed(
    autojump_clock, wide, nursery, monkeypatch
):
    """It has its turns while it begins; what comes in one of them counts."""
    held = Held(wide, nursery, wish(*range(1000), topic="wide"))
    while not watchers(wide.wide):
        await trio.lowlevel.checkpoint()
    assert watchers(wide.wide) < 1000
    put(wide.wide[0])
    put(wide.wide[999])
    await wait_all_tasks_blocked()
    assert held.response is not None


async def test_a_topic_that_is_deleted_while_it_is_read(autojump_clock, wide, nursery):
    for partition in wide.wide:
        put(partition)
    held = Held(wide, nursery, wish(*range(1000), topic="wide"))
    for _ in range(6):
        await trio.lowlevel.checkpoint()
    wide.broker.delete_topic(wide.broker.catalog.by_name("wide"), "for fun")
    await wait_all_tasks_blocked()
    codes = [each.error_code for each in held.response.responses[0].partitions]
    assert set(codes) <= {0, 3}
    assert codes[-1] == 3


async def test_large_answers_are_heavy(autojump_clock, wide):
    (partition,) = wide.broker.create_topic("one", 1, "for fun", {"max.message.bytes": str(20 * 2**20)}).partitions
    call = Call(wide.broker, V12, None)
    for size, heavy in ((1000, False), (10 * 2**20, True)):
        put(partition, size)
        answer = await fetch(call, wish(0, topic="one", most=100 * 2**20, limit=100 * 2**20))
        assert (module.API.weight(answer) >= 2000) is heavy
    assert module.API.weight(await fetch(call, wish(*range(1000), topic="wide", wait=0))) == 1000


async def test_an_answer_has_no_more_than_the_broker_allows(autojump_clock, wide, nursery):
    """`fetch.max.bytes` of the broker, 55 MiB, which no setting of a client is above."""
    size = 10 * 2**20
    topic = wide.broker.create_topic("ten", 10, "for fun", {"max.message.bytes": str(2 * size)})
    for partition in topic.partitions:
        put(partition, size)
    limit = 2**31 - 1
    answer = await fetch(Call(wide.broker, V12, None), wish(*range(10), topic="ten", most=limit, limit=limit))
    assert [len(each.records) // size for each in answer.responses[0].partitions] == [1] * 5 + [0] * 5


async def test_over_the_wire(autojump_clock, wide):
    client = wide.connect()
    for partition in wide.wide:
        put(partition, 100)
    answer = await client.call(wish(*range(1000), topic="wide"), 12)
    total = sum(len(each.records) for each in answer.responses[0].partitions)
    assert total == sum(each.size_bytes for each in wide.wide)
    assert struct.unpack_from(">q", answer.responses[0].partitions[0].records) == (0,)
