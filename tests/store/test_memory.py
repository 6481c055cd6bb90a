"""The contract of a store, on the one that keeps everything in memory."""

import pytest

from kcoord.store.base import Fenced, StoreError
from kcoord.store.memory import MemoryStore
from kcoord.store.opening import UnknownStore, open_store
from wire.errors import ErrorCode


async def rows(store, partition):
    return dict([row async for row in store.load(partition)])


async def test_the_last_value_of_a_key_wins_and_none_deletes():
    store = open_store("memory:")
    epoch = await store.acquire(3)
    await store.append(3, epoch, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")])
    await store.append(3, epoch, [(b"b", None), (b"c", None)])
    assert await rows(store, 3) == {b"a": b"2"}
    await store.aclose()


async def test_partitions_do_not_mix():
    store = MemoryStore()
    first, second = await store.acquire(0), await store.acquire(1)
    await store.append(0, first, [(b"k", b"zero")])
    await store.append(1, second, [(b"k", b"one")])
    assert await rows(store, 0) == {b"k": b"zero"}
    assert await rows(store, 1) == {b"k": b"one"}
    assert await rows(store, 2) == {}


async def test_a_stale_epoch_is_refused_and_nothing_of_the_write_is_there():
    store = MemoryStore()
    old = await store.acquire(0)
    new = await store.acquire(0)
    assert new > old > 0
    with pytest.raises(Fenced, match="epoch 1 was refused") as caught:
        await store.append(0, old, [(b"a", b"1")])
    assert isinstance(caught.value, StoreError)
    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    await store.append(0, new, [(b"b", b"1")])
    assert await rows(store, 0) == {b"b": b"1"}


async def test_a_partition_that_nobody_acquired_takes_no_writes():
    with pytest.raises(Fenced):
        await MemoryStore().append(0, 1, [(b"a", b"1")])


@pytest.mark.parametrize("url", ["redis://host", "memory", "", "memory2:"])
def test_an_unknown_scheme_is_said_in_a_sentence(url):
    with pytest.raises(UnknownStore, match=r"no store is called .*; known are memory:"):
        open_store(url)
