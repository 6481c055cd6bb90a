"""Shards for tests: with a store that can be held and fails on demand, and without a server around them."""

from contextlib import aclosing, contextmanager

import trio

from kcoord.clock import Clock
from kcoord.core.outcome import Context
from kcoord.core.settings import GroupSettings
from kcoord.log.catalog import OFFSETS_TOPIC
from kcoord.log.memory import LogMemory
from kcoord.log.partition import Partition
from kcoord.log.topic_config import TopicConfig
from kcoord.shard import Shard
from kcoord.store.memory import MemoryStore
from tests.server.client import join, sync
from wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

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
