"""The fixture on a server elsewhere: what `RemoteKcoord` says and does over HTTP is what `Kcoord` does in process."""

import pytest
import trio

from kcoord.testing import FaultNeverMet, Impossible, Kcoord, NotFound, TimedOut
from kcoord.testing.remote import RemoteKcoord
from tests.testing.clients import Consumer, alone
from tests.testing.test_pytest_plugin import run

__all__ = ["run"]


@pytest.fixture(scope="module")
def server():
    with Kcoord({"t": 3}, brokers=2) as running:
        yield running


@pytest.fixture
def k(server):
    remote = RemoteKcoord(server.control_url, {"u": 2})
    yield remote
    remote.close()
    assert server.groups() == ()


def test_what_there_is_is_told_as_it_is(k, server):
    k.group("g").set_offsets({("t", 0): 5, ("t", 1): (6, "m")})
    k.group("h").set_offsets({("t", 2): 7})
    k.group("h").set_offsets({("t", 2): None})
    server.clock.freeze()
    assert k.bootstrap == server.bootstrap
    assert k.groups() == server.groups()
    assert k.group("g").view() == server.group("g").view()
    assert k.topics() == server.topics()
    assert k.clock.now() == server.clock.now()
    assert k.timeline("g").text() == str(server.timeline("g"))
    assert k.timeline("g").plain() == server.timeline("g").plain()
    assert [each.group for each in k.timelines()] == ["g", "h"]
    assert k.control_url == server.control_url
    server.clock.resume()


def test_topics(k, server):
    assert k.create_topic("new", 4, {"cleanup.policy": "compact"}).settings == {"cleanup.policy": "compact"}
    assert {each.name for each in server.topics()} == {"t", "u", "new"}
    k.delete_topic("new")
    with pytest.raises(NotFound, match="there is no topic new"):
        k.delete_topic("new")
    k.reset()
    assert {each.name: each.partitions for each in k.topics()} == {"t": 3, "u": 2}


def test_members_are_waited_for_looked_at_and_put_out(k):
    coordinator = k.group("g").set_offsets({("t", 0): 5}).coordinator
    with Consumer(k.brokers.get(coordinator).addresses[0], "a") as consumer:
        alone(consumer)
        view = k.group("g").wait(state="Stable", members=1, synced=True)
        assert view.member("a").member_id == consumer.member_id
        assert view.member("a").subscription.topics == ("t",)
        assert k.group("g").expire("a").state == "Empty"
        assert "a" in k.timeline("g").text()


def test_a_wait_in_vain_has_the_story(k):
    k.group("g").set_offsets({("t", 0): 5})
    with pytest.raises(TimedOut, match=r"(?s)did not become of 2 members within 0.1 s.*Group g: Empty"):
        k.group("g").wait(members=2, timeout=0.1)


def in_vain(k):
    with k.faults(api="OffsetCommit", error="UNKNOWN_MEMBER_ID", nth=2) as fault:
        assert (fault.applied, fault.held, fault.release()) == (0, 0, 0)
        assert [each.rule.nth for each in k.faults.list()] == [2]
        with pytest.raises(Impossible, match="Kafka has no error NONSENSE"):
            k.faults.add(error="NONSENSE")


def test_faults(k):
    with pytest.warns(FaultNeverMet):
        in_vain(k)
    assert k.faults.list() == ()
    k.faults.add(api="Heartbeat", delay=1)
    k.faults.clear()
    assert k.faults.list() == ()


def test_brokers(k, server):
    k.group("g").set_offsets({("t", 0): 5})
    coordinator = k.group("g").view().coordinator
    assert k.brokers.list() == server.brokers.list()
    k.brokers.stop(coordinator)
    assert k.group("g").wait(state="Empty").coordinator == 3 - coordinator
    k.brokers.start(coordinator)
    k.brokers.move("g", coordinator)
    assert k.group("g").wait(state="Empty").coordinator == coordinator
    with pytest.raises(NotFound, match="there is no broker 7"):
        k.brokers.stop(7)
    k.brokers.stop(coordinator)
    k.brokers.reset()
    assert [each.running for each in server.brokers.list()] == [True, True]


def test_time_moves_and_stands_still(k):
    before = k.clock.now()
    k.clock.freeze()
    k.clock.advance(100, heartbeats=False)
    assert k.clock.now() == k.clock.now()
    assert k.clock.now().mono - before.mono >= 100
    k.clock.resume()
    with pytest.raises(Impossible, match="the clock only moves forward"):
        k.clock.advance(-1)


async def test_to_be_awaited(k):
    assert (await k.aio.group("g").set_offsets({("t", 0): 5})).committed("t", 0) == 5
    assert await k.aio.control_url() == k.control_url
    with pytest.raises(Impossible, match="would stop the trio loop"):
        k.group("g").wait(members=0)
    with pytest.raises(TimedOut):
        await k.aio.group("g").wait(members=1, timeout=0.1)
    with trio.move_on_after(0.1) as scope:
        await k.aio.group("g").wait(members=1, timeout=3)
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"settings": {"group.max.size": 2}}, "cannot be given settings: group.max.size"),
        ({"as_version": "2.8"}, "is of the release that it is of"),
        ({"mask": {"Heartbeat": None}}, "is of the release that it is of"),
        ({"brokers": 3}, "has 2 brokers, and 3 are wanted"),
        ({"topics": {"t": 4}}, "has a topic t with 3 partitions, not 4"),
    ],
)
def test_what_it_cannot_be_given(server, how, sentence):
    with pytest.raises(Impossible, match=sentence):
        RemoteKcoord(server.control_url, **how)


def test_pytest_uses_it_where_the_environment_names_it(run, server):
    source = """
import os
import pytest

@pytest.fixture(scope="session")
def kcoord_config():
    return {"topics": {"new": 2}}

@pytest.mark.parametrize("number", range(2))
def test_it(kcoord, number):
    assert kcoord.control_url == os.environ["KCOORD_CONTROL"]
    assert kcoord.groups() == ()
    kcoord.group("g").set_offsets({("new", 0): 5})
    assert kcoord.group("g").offsets == {("new", 0): 5}

def test_its_own_are_made_as_ever(make_kcoord):
    assert make_kcoord().bootstrap not in os.environ["KCOORD_CONTROL"]

def test_failing(kcoord):
    kcoord.group("g").set_offsets({("new", 0): 5})
    assert False

def test_waiting_in_vain(kcoord):
    kcoord.group("g").set_offsets({("new", 0): 5})
    kcoord.group("g").wait(members=1, timeout=0)
"""
    printed = run(source, environment={"KCOORD_CONTROL": server.control_url}, expected=1, passed=3, failed=2)
    assert printed.count("kcoord timeline: g") == printed.count("Group g: Empty") - 1 == 1
    assert server.groups() == ()


def test_of_several_that_ask_for_the_control_each_is_told_the_same():
    asked = []
    with Kcoord() as k:

        async def ask(control):
            asked.append(await k._server.control_url(control))

        async def ask_together(control):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, control)
                nursery.start_soon(ask, control)

        k.run_async(ask_together)
    assert len(asked) == 2
    assert len(set(asked)) == 1
