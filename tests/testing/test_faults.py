"""Faults within `with`, over real sockets."""

import warnings

import pytest
import trio

from kcoord.testing import AsyncKcoord, FaultNeverMet, Impossible, Kcoord
from tests.testing.clients import Consumer, alone


@pytest.fixture(scope="module")
def server():
    with Kcoord(topics={"t": 2}) as kcoord:
        yield kcoord


def test_a_fault_is_in_force_within_with(server):
    with Consumer(server.bootstrap, "a", "within") as consumer:
        alone(consumer)
        with server.faults(api="Heartbeat", group="within", error="REBALANCE_IN_PROGRESS", nth=2) as fault:
            assert [consumer.heartbeat(), consumer.heartbeat(), consumer.heartbeat()] == [0, 27, 0]
            assert (fault.applied, fault.held) == (1, 0)
        assert fault.applied == 1
        assert consumer.heartbeat() == 0
    assert server.faults.list() == ()


def test_a_fault_that_was_for_no_request_warns(server):
    with pytest.warns(FaultNeverMet, match="this fault was for no request, as none came"):  # noqa: SIM117
        with server.faults(api="SyncGroup", error=25):
            pass


NEVER = r"^a fault \(api='Heartbeat', error=25\) was never in force: it is within `{} kcoord\.faults\(\.\.\.\):`$"


def test_a_fault_without_with_warns_where_it_stands(server):
    with pytest.warns(FaultNeverMet, match=NEVER.format("with")) as told:
        server.faults(api="Heartbeat", error=25)
    assert [each.filename for each in told] == [__file__]
    with pytest.warns(FaultNeverMet, match=NEVER.format("async with")) as told:
        server.aio.faults(api="Heartbeat", error=25)
    assert [each.filename for each in told] == [__file__]
    assert server.faults.list() == ()


def test_what_a_fault_without_with_is_called_with_is_one_short_line(server):
    with pytest.warns(FaultNeverMet) as told:
        server.faults(group="a\nb" * 1000, member=object(), seed=10**5000)
    assert str(told[0].message).isprintable()
    assert len(str(told[0].message)) < 1000


def test_a_fault_that_told_already_that_it_is_not_in_force_says_no_more(server):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ask in (
            lambda fault: fault.view(),
            lambda fault: fault.release(),
            lambda fault: fault.__exit__(*[None] * 3),
        ):
            with pytest.raises(RuntimeError, match="within a with statement"):
                ask(server.faults(error=27))
        with pytest.raises(Impossible), server.faults(error="NOPE"):
            pass


def test_a_test_that_fails_within_is_not_warned_besides(server):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError), server.faults(api="SyncGroup", error=25):
            raise ZeroDivisionError


@pytest.mark.parametrize("take_away", [lambda k: k.reset(), lambda k: k.faults.clear()])
def test_a_fault_that_somebody_took_away_within_is_no_error(server, take_away):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with server.faults(api="SyncGroup", error=25):
            take_away(server)
    assert server.faults.list() == ()


def test_a_fault_is_in_force_once_at_a_time_and_may_be_again(server):
    fault = server.faults(api="Heartbeat", error=27)
    with Consumer(server.bootstrap, "a", "again") as consumer:
        alone(consumer)
        for _ in range(2):
            with fault:
                with pytest.raises(RuntimeError, match="in force already"):
                    fault.__enter__()
                assert fault.applied == 0
                assert consumer.heartbeat() == 27
            assert fault.applied == 1
    assert server.faults.list() == ()


def test_what_cannot_be_is_refused(server):
    with pytest.raises(Impossible, match="Kafka has no error NOPE"), server.faults(error="NOPE"):
        pass
    with pytest.raises(RuntimeError, match="within a with statement"):
        server.faults(error=27).release()


def test_faults_that_stay_until_they_are_removed(server):
    fault = server.faults.add(api="Heartbeat", hold="request")
    assert [each.number for each in server.faults.list()] == [fault.number]
    assert server.faults.release(fault.number) == 0
    assert server.faults.remove(fault.number).applied == 0
    server.faults.add(drop="before", api="Heartbeat")
    server.faults.clear()
    assert server.faults.list() == ()


def test_one_to_be_awaited_is_in_force_once_at_a_time_and_may_be_taken_away():
    async def main():
        async with AsyncKcoord() as kcoord:
            fault = kcoord.faults(api="Heartbeat", error=27)
            for _ in range(2):
                async with fault:
                    with pytest.raises(RuntimeError, match="in force already"):
                        await fault.__aenter__()
                    await kcoord.reset()
            assert await kcoord.faults.list() == ()

    trio.run(main)


def test_to_be_awaited():
    async def main():
        async with AsyncKcoord() as kcoord:
            with pytest.warns(FaultNeverMet):  # noqa: PT031 - the warning comes at the end of the inner one
                async with kcoord.faults(api="SyncGroup", error=25) as fault:
                    assert (await fault.view()).applied == 0
                    assert await fault.release() == 0
            assert (await fault.view()).sentence == "UNKNOWN_MEMBER_ID is answered: SyncGroup"
            added = await kcoord.faults.add(api="SyncGroup", error=25)
            assert await kcoord.faults.list() == (added,)
            assert await kcoord.faults.release(added.number) == 0
            await kcoord.faults.remove(added.number)
            await kcoord.faults.clear()
            with pytest.raises(RuntimeError, match="within an async with statement"):
                await kcoord.faults(error=27).view()

    trio.run(main)
