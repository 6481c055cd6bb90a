"""The fixture on asyncio and on trio: the loop of the test goes on while it waits."""

import asyncio
import threading

import pytest
import trio

from kcoord.testing import AsyncKcoord, CannotListen, Impossible, Kcoord, NotFound, ServerGone, TimedOut
from tests.testing.clients import Consumer, alone


@pytest.fixture(params=["asyncio", "trio"])
def run(request):
    """Run an async function on one of the loops."""
    return asyncio.run if request.param == "asyncio" else lambda coroutine: trio.run(lambda: coroutine)


def threads():
    return [each for each in threading.enumerate() if each.name == "kcoord"]


async def beside(*functions):
    """Run async functions side by side, on either loop."""
    if trio.lowlevel.in_trio_run():
        async with trio.open_nursery() as nursery:
            for each in functions:
                nursery.start_soon(each)
    else:
        await asyncio.gather(*(each() for each in functions))


async def in_thread(function, *given):
    if trio.lowlevel.in_trio_run():
        return await trio.to_thread.run_sync(function, *given)
    return await asyncio.to_thread(function, *given)


def test_all_of_it(run):
    async def main():
        async with AsyncKcoord({"t": 3}) as k:
            await k.create_topic("new", 2)
            assert [each.name for each in await k.topics()] == ["t", "new"]
            await k.delete_topic("new")
            consumer = Consumer(k.bootstrap, "a", instance="i1")
            await in_thread(alone, consumer)
            group = k.group("g")
            assert repr(group) == "AsyncGroup('g')"
            assert (await group.view()).state == "Stable"
            assert [each.group_id for each in await k.groups()] == ["g"]
            assert (await group.set_offsets({("t", 0): 5})).committed("t", 0) == 5
            assert (await group.rebalance("now")).state == "PreparingRebalance"
            await in_thread(alone, consumer)
            await group.fence("i1")
            assert await in_thread(consumer.heartbeat) == 82
            await group.evict("i1")
            await in_thread(consumer.close)
            consumer = Consumer(k.bootstrap, "b")
            await in_thread(alone, consumer)
            await group.expire("b")
            consumer.member_id = ""
            await in_thread(alone, consumer)
            before = await k.clock.now()
            await k.clock.freeze()
            await k.clock.advance(45, heartbeats=False)
            await k.clock.resume()
            assert (await k.clock.now()).mono >= before.mono + 45
            assert (await group.view()).state == "Empty"
            await group.delete()
            with pytest.raises(NotFound):
                await group.view()
            await k.reset()
            assert await k.groups() == ()
            consumer.close()

    run(main())


def test_brokers(run):
    async def main():
        async with AsyncKcoord(brokers=2) as k:
            before = await k.brokers.list()
            await k.brokers.stop(2)
            assert not (await k.brokers.get(2)).running
            await k.brokers.reset()
            assert await k.brokers.list() == before

    run(main())


def test_the_loop_goes_on_while_a_group_is_waited_for(run):
    async def main():
        async with AsyncKcoord({"t": 3}) as k:
            order = []

            async def wait():
                await k.group("g").wait(state="Stable", members=1)
                order.append("stable")

            async def join():
                order.append("joining")
                await in_thread(alone, consumer)

            consumer = Consumer(k.bootstrap, "a")
            await beside(wait, join)
            assert order == ["joining", "stable"]
            consumer.close()

    run(main())


def test_errors_come_to_who_awaits(run):
    async def main():
        async with AsyncKcoord() as k:
            with pytest.raises(TimedOut, match="there is no such group"):
                await k.group("g").wait(state="Stable", timeout=0)
            with pytest.raises(Impossible):
                await k.clock.advance(-1)
            port = k.bootstrap.split(":")[1]
            with pytest.raises(CannotListen, match="Address already in use"):
                async with AsyncKcoord(settings={"listeners": f"PLAINTEXT://127.0.0.1:{port}"}):
                    pass
        with pytest.raises(ServerGone, match="the server has stopped"):
            await k.topics()
        never = AsyncKcoord()
        with pytest.raises(ServerGone, match="use it in an async with statement"):
            never.bootstrap  # noqa: B018
        await never.close()

    before = threads()
    run(main())
    assert threads() == before


def test_a_wait_that_is_cancelled_ends_in_the_server_as_well(run):
    async def main():
        async with AsyncKcoord() as k:
            server = k._server

            async def wait():
                await k.group("g").wait(state="Stable", timeout=3600)

            if trio.lowlevel.in_trio_run():
                with trio.move_on_after(0.05):
                    await wait()
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(wait(), 0.05)
            for _ in range(1000):
                await k.topics()
                if not server._calls:
                    break
            else:
                pytest.fail(f"these calls do not end: {server._calls}")

    run(main())


def test_a_start_that_is_cancelled_leaves_no_server(run):
    async def main():
        k = AsyncKcoord()
        if trio.lowlevel.in_trio_run():
            with trio.CancelScope() as scope:
                scope.cancel()
                await k.start()
        else:
            task = asyncio.ensure_future(k.start())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert threads() == before

    before = threads()
    run(main())


def test_a_server_is_gone_also_when_its_end_is_cancelled(run):
    async def main():
        if trio.lowlevel.in_trio_run():
            with trio.CancelScope() as scope:
                async with AsyncKcoord():
                    scope.cancel()
                    await trio.sleep_forever()
        else:
            async with AsyncKcoord() as k:
                asyncio.current_task().cancel()
                with pytest.raises(asyncio.CancelledError):
                    await k.close()
        assert threads() == before

    before = threads()
    run(main())


def test_without_a_loop_there_is_nothing_to_await():
    with Kcoord() as k:
        coroutine = k.aio.topics()
        with pytest.raises(RuntimeError, match="neither runs here"):
            coroutine.send(None)


def test_a_plain_server_may_be_controlled_from_a_loop(run):
    with Kcoord({"t": 1}) as k:

        async def main():
            assert k.aio.bootstrap == k.bootstrap
            await k.aio.group("g").set_offsets({("t", 0): 1})
            assert k.group("g").offsets == {("t", 0): 1}

        run(main())
