"""The fixture as plain functions use it: over sockets, in real time, without a look at the wall clock."""

import gc
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import warnings

import pytest
import trio

from kcoord.testing import (
    CannotListen,
    ConfigError,
    Impossible,
    Kcoord,
    NotFound,
    ServerGone,
    TimedOut,
)
from tests.testing.clients import Client, Consumer, alone, together
from wire.messages import FindCoordinatorRequest


@pytest.fixture(scope="module")
def server():
    with Kcoord({"t": 3}) as running:
        yield running


@pytest.fixture
def k(server):
    yield server
    server.reset()


def test_a_client_connects_where_it_is_told(k):
    with Client(k.bootstrap) as client:
        found = client.call(FindCoordinatorRequest(key="g"))
    assert (found.error_code, f"{found.host}:{found.port}") == (0, k.bootstrap)


def test_topics(k):
    assert k.create_topic("new", 4, {"cleanup.policy": "compact"}).partitions == 4
    assert [each.name for each in k.topics()] == ["t", "new"]
    k.delete_topic("new")
    with pytest.raises(NotFound, match="there is no topic new"):
        k.delete_topic("new")
    with pytest.raises(Impossible, match="topic t exists already"):
        k.create_topic("t")


def test_a_group_says_what_it_is(k):
    with Consumer(k.bootstrap, "app") as consumer:
        alone(consumer)
        group = k.group("g")
        assert repr(group) == "Group('g')"
        assert (group.state, group.generation, group.protocol, group.leader) == (
            "Stable",
            1,
            "range",
            consumer.member_id,
        )
        (member,) = group.members
        assert (member.client_id, member.assignment) == ("app", {"t": (0,)})
        group.set_offsets({("t", 0): 5, ("t", 1): (6, "here")})
        assert group.offsets == {("t", 0): 5, ("t", 1): 6}
        assert [each.group_id for each in k.groups()] == ["g"]
        group.delete()
        assert k.groups() == ()
        with pytest.raises(NotFound, match="there is no group g"):
            group.state  # noqa: B018


def test_who_crashed_is_put_out_when_time_is_moved(k):
    first, second = alone(Consumer(k.bootstrap, "a")), Consumer(k.bootstrap, "b")
    with second:
        together(second.join, lambda: (k.group("g").wait(members=2), first.join()))
        leader, follower = (first, second) if first.leads else (second, first)
        together(lambda: leader.sync({first.member_id: {"t": (0,)}, second.member_id: {"t": (1,)}}), follower.sync)
        k.group("g").wait(state="Stable", members=2)
        first.close()
        k.clock.advance(45)
        assert [each.client_id for each in k.group("g").members] == ["b"]
        assert second.heartbeat() == 27
        alone(second)
        assert k.group("g").wait(state="Stable").members[0].assignment == {"t": (0,)}


@pytest.mark.parametrize("more", [False, True])
def test_who_crashed_while_a_request_of_its_waited_is_put_out_as_well(k, more):
    """Nobody reads a connection meanwhile, and so not its end either."""
    consumer = Consumer(k.bootstrap, "a")
    alone(consumer)
    fault = k.faults.add(api="FindCoordinator", hold="request")
    consumer.send(FindCoordinatorRequest(key="g"))
    while not k.faults.list()[0].held:
        pass
    k.clock.advance(60)
    assert k.group("g").state == "Stable"
    if more:
        consumer.send(FindCoordinatorRequest(key="h"))
    consumer.close()
    k.clock.advance(60)
    assert k.group("g").state == "Empty"
    assert k.faults.release(fault.number) == 1


def test_nobody_is_put_out_by_a_move_whose_connection_is_open(k):
    with Consumer(k.bootstrap, "a") as consumer:
        alone(consumer)
        k.clock.advance(3600)
        assert consumer.heartbeat() == 0
        k.clock.advance(45, heartbeats=False)
        assert consumer.heartbeat() == 25


def test_time_stands_still(k):
    k.clock.freeze()
    now = k.clock.now()
    k.clock.advance(2)
    assert k.clock.now().mono == now.mono + 2
    k.clock.resume()
    assert k.clock.now().mono >= now.mono + 2


def test_interfering(k):
    with Consumer(k.bootstrap, "a", instance="i1") as consumer:
        alone(consumer)
        group = k.group("g")
        assert group.rebalance("for fun").state == "PreparingRebalance"
        assert consumer.heartbeat() == 27
        alone(consumer)
        group.fence("i1")
        assert consumer.heartbeat() == 82
        assert group.evict("i1", "enough").state == "Empty"
    with Consumer(k.bootstrap, "b") as consumer:
        alone(consumer)
        assert k.group("g").expire("b").members == ()


def test_a_wait_that_fails_says_why(k):
    with pytest.raises(TimedOut, match=r"^group g did not become Stable within 0 s: there is no such group\."):
        k.group("g").wait(state="Stable", timeout=0)
    with pytest.raises(Impossible, match="nothing to wait for"):
        k.group("g").wait()


async def test_a_wait_that_would_stop_a_loop_is_refused(k):
    with pytest.raises(Impossible, match=r"would stop the trio loop.*await kcoord.aio.group\('g'\).wait"):
        k.group("g").wait(state="Stable")
    assert (await k.aio.group("g").wait(state="Dead")).members == ()


def test_after_a_reset_nothing_of_before_is_there(k):
    with Consumer(k.bootstrap, "a") as consumer:
        alone(consumer)
        k.create_topic("new")
        k.reset()
        assert consumer.is_closed()
    assert k.groups() == ()
    assert [each.name for each in k.topics()] == ["t"]
    with Consumer(k.bootstrap, "a") as consumer:
        assert alone(consumer).generation == 1


# --- settings ---

NO_NUMBER_OF_PARTITIONS = ("3", True, False, 1.0, None, b"1", [1], -1, 100_001, 10**9, 10**30, 10**5000)


def settings_of(k):
    return k.run(lambda control: control._running.broker.config)


def test_tests_do_not_wait_by_default_and_kafkas_defaults_are_a_flag_away():
    with Kcoord() as k:
        config = settings_of(k)
        assert (config.group_initial_rebalance_delay_ms, config.group_min_session_timeout_ms) == (0, 0)
        assert config.offsets_topic_num_partitions == 50
    with Kcoord(kafka_defaults=True, settings={"group.max.size": 7}) as k:
        config = settings_of(k)
        assert (config.group_initial_rebalance_delay_ms, config.group_min_session_timeout_ms) == (3000, 6000)
        assert config.group_max_size == 7
        assert k.bootstrap.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"settings": {"group.size": 1}}, "group.size is not a setting that kcoord knows"),
        ({"settings": {"group.max.size": "x"}}, "group.max.size is 'x': it must be a whole number"),
        ({"topics": {"a b": 1}}, "cannot name a topic"),
        ({"topics": {"a": 0}}, "topic a has 0 partitions"),
        *(({"topics": {"a": each}}, "topic a has .* partitions: it must be a") for each in NO_NUMBER_OF_PARTITIONS),
        *(({"topics": {each: 1}}, "cannot name a topic") for each in ("", ".", "..", "a" * 250, "ä", b"a", 5, None)),
        ({"topics": {"a.b": 1, "a_b": 1}}, "topic a_b would collide with topic a.b: they differ only in . and _"),
        ({"topics": {"__consumer.offsets": 1}}, "topic __consumer.offsets would collide with topic __consumer_offsets"),
        ({"topics": {"__consumer_offsets": 1}}, "topic __consumer_offsets is internal"),
        ({"topics": [("a", 1)]}, "topics must be given by name, as in a dict, not as a list"),
        ({"topics": "a"}, "topics must be given by name, as in a dict, not as 'a'"),
        ({"settings": {5: 1}}, "5 is not a setting that kcoord knows"),
        ({"settings": {b"brokers": 1}}, "a bytes is not a setting that kcoord knows"),
        ({"settings": {"group.max.size": b"5"}}, "group.max.size is a bytes: it must be a single value"),
        ({"settings": [5]}, "settings must be given by name, as in a dict, not as a list"),
        *(({"brokers": each}, "brokers is .*: it must be a whole number") for each in ("3", True, 1.5, b"3", [3])),
        *(({"brokers": each}, "brokers is .*: it must be from 1 to 100") for each in (0, -1, 101, 10**30)),
        *(
            ({"as_version": each}, "as_version is .*: it must be a text, as")
            for each in (2.8, 3, True, b"2.8", ["2.8"])
        ),
        *(({"as_version": each}, "as.version is '.*': it must be a release") for each in ("", "5", "2.9", "latest")),
        *(({"kafka_defaults": each}, "kafka_defaults is .*: it must be true or false") for each in (None, 1, "yes")),
        (
            {"mask": {"OffsetCommit": "99"}},
            "mask has OffsetCommit=99: versions 2-10 of OffsetCommit are served",
        ),
        ({"mask": {"OffsetCommit": "6-2"}}, "of OffsetCommit there can be no versions from 6 to 2"),
        ({"mask": {"OffsetCommit": ""}}, "it must be of the form OffsetCommit=0-6,OffsetDelete=none"),
        (
            {"mask": {"OffsetCommit": "0-6,JoinGroup=1"}},
            "mask has '0-6,JoinGroup=1' for 'OffsetCommit': it must be the",
        ),
        *(
            ({"mask": {"OffsetCommit": each}}, "mask has .* for 'OffsetCommit': it must be the")
            for each in (6, (0, 6), True)
        ),
        ({"mask": {"Commit": "1"}}, "Commit is no API that is served: there are"),
        ({"mask": {8: "1"}}, "mask has '1' for 8: it must be the versions that are left"),
        ({"mask": "OffsetCommit=0-6"}, "mask must be given by name, as in a dict, not as 'OffsetCommit=0-6'"),
        (
            {"mask": {"JoinGroup": "8"}, "as_version": "2.8"},
            "versions 0-7 of JoinGroup of Kafka 2.8 are served",
        ),
        ({"brokers": 3, "settings": {"brokers": 2}}, "brokers is 3, but settings say that brokers is 2"),
        ({"brokers": 1, "settings": {"brokers": "2"}}, "brokers is 1, but settings say that brokers is '2'"),
        (
            {"as_version": "2.8", "settings": {"as.version": "3.9"}},
            "as_version is '2.8', but settings say that as.version is '3.9'",
        ),
        (
            {"mask": {"OffsetCommit": "0-6"}, "settings": {"mask": "OffsetCommit=0-5"}},
            "mask is 'OffsetCommit=0-6', but settings say that mask is 'OffsetCommit=0-5'",
        ),
        (
            {"mask": {"OffsetCommit": "0-6"}, "settings": {"mask": ""}},
            "mask is 'OffsetCommit=0-6', but settings say that",
        ),
        ({"settings": {"store": "file:x"}}, "no store is called 'file:x'"),
    ],
)
def test_wrong_settings_are_said_to_the_caller(wrong, sentence):
    before = len(others())
    with (
        pytest.raises(ValueError if "store" in wrong.get("settings", ()) else ConfigError, match=sentence),
        Kcoord(**wrong),
    ):
        pass
    assert len(others()) == before


@pytest.mark.parametrize(
    "alike",
    [
        {"brokers": 2, "settings": {"brokers": "2"}},
        {"as_version": "3", "settings": {"as.version": "3.9.1"}},
        {
            "mask": {"OffsetCommit": "0-6", "OffsetDelete": None},
            "settings": {"mask": "OffsetCommit=0-6, OffsetDelete=none"},
        },
        {"settings": {"brokers": 2}},
    ],
)
def test_the_same_may_be_said_twice(alike):
    with Kcoord(**alike) as k:
        assert len(k.brokers.list()) == settings_of(k).brokers == (2 if "brokers" in alike["settings"] else 1)


# --- start and end ---


def others():
    return [each.name for each in threading.enumerate() if each.name == "kcoord"]


def test_a_port_that_is_taken_is_said_to_the_caller():
    before = len(others())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            Kcoord(settings={"listeners": f"PLAINTEXT://127.0.0.1:{port}"}).start()
    assert len(others()) == before


def test_what_does_not_run_says_so():
    k = Kcoord()
    with pytest.raises(ServerGone, match="the server does not run: use it in a with statement"):
        k.topics()
    with pytest.raises(ServerGone):
        k.bootstrap  # noqa: B018
    k.start()
    with pytest.raises(ServerGone, match="a server is started once"):
        k.start()
    assert k.topics() == ()
    k.close()
    k.close()
    with pytest.raises(ServerGone, match="the server has stopped"):
        k.topics()
    with pytest.raises(ServerGone, match="a server is started once"):
        k.start()


def test_one_that_was_never_started_can_be_closed():
    k = Kcoord()
    k.close()
    k.close()


def test_a_crash_is_told_by_the_next_call_and_by_who_waits():
    k = Kcoord()
    k.start()
    try:
        waiting = []

        def wait():
            with pytest.raises(ServerGone, match="the server has crashed") as caught:
                k.group("g").wait(state="Stable", timeout=3600)
            waiting.append(caught.value)

        async def crash():
            raise LookupError("a bug")

        def begin(_control):
            k._server._nursery.start_soon(crash)

        together(wait, lambda: k.run(begin))
        assert len(waiting) == 1
        with pytest.raises(ServerGone, match="LookupError") as caught:
            k.topics()
        assert isinstance(caught.value.__cause__, ExceptionGroup)
    finally:
        k.close()


def test_a_crash_is_told_as_it_was_also_to_calls_that_come_too_late_to_be_begun():
    k = Kcoord()
    k.start()
    told, asking = [], []

    def ask():
        with pytest.raises(ServerGone, match="LookupError") as caught:
            k.delete_topic("t")
        told.append(caught.value)

    async def crash():
        raise LookupError("a bug")

    async def ask_at_the_end():
        # It ends when the server has, and what was asked for until then is begun after it.
        try:
            await trio.sleep_forever()
        finally:
            asking.append(threading.Thread(target=ask))
            asking[0].start()
            while not k._server._calls:
                time.sleep(0.001)  # noqa: ASYNC251 - it is the end that has to wait

    def begin(_control):
        trio.lowlevel.spawn_system_task(ask_at_the_end)
        k._server._nursery.start_soon(crash)

    k.run(begin)
    k._server.join()
    asking[0].join()
    assert len(told) == 1
    assert isinstance(told[0].__cause__, ExceptionGroup)


def of_pytest():
    pytest.fail("a test says so")


def of_python():
    sys.exit(3)


@pytest.mark.parametrize("end", [of_pytest, of_python])
def test_what_ends_a_test_within_a_call_is_the_callers_and_costs_the_server_nothing(k, end):
    async def later(_control):
        await trio.lowlevel.checkpoint()
        end()

    for call in (lambda: k.run(lambda _: end()), lambda: k.run_async(later)):
        with pytest.raises((pytest.fail.Exception, SystemExit)):
            call()
    assert k.groups() == ()


def test_a_call_that_fails_while_it_is_cancelled_costs_the_server_nothing(k):
    async def fail_in_the_end():
        try:
            await trio.sleep_forever()
        finally:
            raise LookupError("in the end")

    async def work(_control):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_in_the_end)
            nursery.start_soon(trio.sleep_forever)

    call = k._server.call(work)
    call.cancel()
    with pytest.raises(ExceptionGroup) as caught:
        call.future.result(30)
    assert caught.group_contains(LookupError, match="in the end")
    assert k.groups() == ()


def test_whoever_waits_with_several_tasks_when_the_server_stops_is_told_that():
    async def work(_control):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)

    with Kcoord() as k:
        call = k._server.call(work)
        k.topics()
    with pytest.raises(ServerGone, match="has stopped"):
        call.future.result(30)


def test_nothing_is_left_behind():
    before = len(others())
    with Kcoord() as k:
        address = k.bootstrap.split(":")
        with Consumer(k.bootstrap, "a") as consumer:
            alone(consumer)
            assert len(others()) == before + 1
    assert len(others()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address[0], int(address[1])))


def test_stopping_does_not_wait_for_who_waits():
    with Kcoord() as k:
        first = alone(Consumer(k.bootstrap, "a"))
        second = Consumer(k.bootstrap, "b")
        gone = []

        def wait_in_vain():
            with pytest.raises((EOFError, ConnectionResetError)):
                second.join()
            gone.append("second")

        thread = threading.Thread(target=wait_in_vain)
        thread.start()
        k.group("g").wait(members=2)
    thread.join()
    assert gone == ["second"]
    first.close()
    second.close()


def test_several_servers_do_not_know_of_each_other():
    with Kcoord({"t": 1}) as one, Kcoord({"u": 1}) as other:
        one.group("g").set_offsets({("t", 0): 1})
        assert other.groups() == ()
        assert one.bootstrap != other.bootstrap
        assert [each.name for each in other.topics()] == ["u"]


def test_a_call_from_within_the_servers_loop_is_refused_and_stops_nothing(k):
    """It would wait for itself, and everybody for it."""
    for what, call in (("asked", k.groups), ("stopped", k.close)):
        with pytest.raises(Impossible, match=f"cannot be {what} from within its own loop, .* use the Control"):
            k.run(lambda _, call=call: call())
    assert k.groups() == ()


def test_one_that_is_forgotten_is_stopped_and_warned_of():
    threads = set(threading.enumerate())
    forgotten = Kcoord()
    forgotten.start()
    (thread,) = set(threading.enumerate()) - threads
    group = forgotten.group("g")
    del forgotten
    gc.collect()
    with pytest.raises(NotFound):
        group.view()
    with pytest.warns(ResourceWarning, match="never closed"):  # noqa: PT031 - it may be collected at once
        del group
        gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_one_that_is_forgotten_is_stopped_also_if_the_thread_that_notices_is_its_own():
    forgotten = Kcoord()
    forgotten.start()
    thread, may_look, told = forgotten._server._thread, threading.Event(), []

    async def collect():
        while not may_look.is_set():  # noqa: ASYNC110 - another thread sets it
            await trio.sleep(0.001)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gc.collect()
        told.extend(str(each.message) for each in caught)

    def begin(_control):
        trio.lowlevel.spawn_system_task(collect)

    gc.disable()
    try:
        forgotten.run(begin)
        del forgotten
        may_look.set()
        thread.join(30)
    finally:
        gc.enable()
    assert not thread.is_alive()
    assert any("never closed" in each for each in told)


def test_one_that_is_forgotten_is_stopped_also_where_warnings_are_errors(monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: raised.append(about.exc_type))
    forgotten = Kcoord()
    forgotten.start()
    thread = forgotten._server._thread
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        del forgotten
        gc.collect()
    thread.join(30)
    assert not thread.is_alive()
    assert raised == [ResourceWarning]


@pytest.mark.parametrize("start", [True, False])
def test_one_that_was_closed_or_never_started_is_forgotten_in_silence(start):
    server = Kcoord()
    if start:
        server.start()
        server.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del server
        gc.collect()


def test_what_controls_it_from_a_loop_keeps_it():
    server = Kcoord({"t": 1})
    server.start()
    awaited = server.aio
    del server
    gc.collect()
    try:
        assert [each.name for each in trio.run(awaited.topics)] == ["t"]
    finally:
        trio.run(awaited.close)


FORKED = """
import os
from kcoord.testing import Kcoord, ServerGone

with Kcoord() as k:
    child = os.fork()
    if child == 0:
        try:
            k.groups()
        except ServerGone as error:
            print(error, flush=True)
        k.close()
        os._exit(3)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), k.groups())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_in_a_fork_of_its_process_it_is_said_to_run_elsewhere():
    """Threads are not copied: there is nobody in a fork who would answer."""
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    told, status = run.stdout.splitlines()
    assert "in the process that started it" in told
    assert status == "3 ()"


@pytest.mark.parametrize("part", [lambda k: k, lambda k: k.aio, lambda k: k.clock, lambda k: k.group("g")])
def test_it_is_not_pickled_but_what_it_tells_is(k, part):
    with pytest.raises(TypeError, match=r"Kcoord can be neither copied nor pickled: .* its bootstrap"):
        pickle.dumps(part(k))
    told = k.group("g").set_offsets({("t", 0): 5})
    assert pickle.loads(pickle.dumps(told)) == told
