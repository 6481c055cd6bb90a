"""The fixture, in whichever form: what cannot be is one sentence where it is asked for, and changes nothing."""

import asyncio

import pytest
import trio

from kcoord.testing import AsyncClock, AsyncGroup, AsyncKcoord, Clock, ConfigError, Group, Impossible, Kcoord
from kcoord.testing.brokers import AsyncBrokers, Brokers
from kcoord.testing.external import ExternalKcoord
from kcoord.testing.faults import AsyncFaults, Faults
from kcoord.testing.remote import RemoteKcoord
from kcoord.web.remote import RemoteTimeline
from tests.control.wrong import WRONG, awaited_refusal, check, refusal, wrong_calls
from tests.testing.clients import Consumer, alone

NOT_ASKED = ("start", "close", "run", "run_async", "control_url", "reset")
"""What has a function of the test done, or takes nothing."""


@pytest.fixture(scope="module")
def k():
    """A server at which the time stands still, with a group of one member."""
    with Kcoord({"t": 3}) as running:
        running.faults.add(api="Heartbeat", error=27, member="nobody")
        with Consumer(running.bootstrap, "a", instance="i1") as consumer:
            alone(consumer)
            running.group("g").wait(synced=True)
            running.clock.freeze()
            yield running


def snapshot(k):
    return (
        k.groups(),
        k.topics(),
        [(each.node_id, each.running, each.leads, each.groups) for each in k.brokers.list()],
        k.faults.list(),
        k.clock.now(),
        list(map(str, k.timelines())),
    )


PARTS = [("clock", Clock), ("brokers", Brokers), ("faults", Faults), ("group", Group), (None, Kcoord)]


def part_of(k, name):
    return k if name is None else k.group("g") if name == "group" else getattr(k, name)


def walk(k, asked, name, cls):
    before = snapshot(k)
    for method, how, expected in wrong_calls(cls, *NOT_ASKED):
        check(refusal(getattr(part_of(asked, name), method), **how), expected, method, how)
    assert snapshot(k) == before


@pytest.mark.parametrize(("name", "cls"), PARTS)
def test_in_process(k, name, cls):
    walk(k, k, name, cls)


@pytest.mark.parametrize(("name", "cls"), PARTS)
def test_over_http(k, name, cls, monkeypatch):
    monkeypatch.setattr(RemoteKcoord, "reset", lambda _self: None)
    walk(k, RemoteKcoord(k.control_url), name, cls)


def test_stories(k):
    for timeline in (k.timeline("g"), k.timelines()[0], RemoteTimeline("g", {}, "")):
        for value in WRONG["most_events"]:
            how = {"most_events": value}
            check(refusal(timeline.text, **how), Impossible, "text", how)


@pytest.mark.parametrize("loop", [asyncio.run, lambda coroutine: trio.run(lambda: coroutine)], ids=["asyncio", "trio"])
@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("clock", AsyncClock),
        ("brokers", AsyncBrokers),
        ("faults", AsyncFaults),
        ("group", AsyncGroup),
        (None, AsyncKcoord),
    ],
)
def test_on_a_loop(k, loop, name, cls):
    async def main():
        for method, how, expected in wrong_calls(cls, *NOT_ASKED):
            error = await awaited_refusal(getattr(part_of(k.aio, name), method), **how)
            check(error, expected, method, how)

    before = snapshot(k)
    loop(main())
    assert snapshot(k) == before


def test_at_a_broker_that_somebody_else_started(k):
    external = ExternalKcoord(k.bootstrap)
    before = k.groups(), k.topics()
    for method in ("create_topic", "delete_topic"):
        for called, how, expected in wrong_calls(ExternalKcoord, *NOT_ASKED):
            if called == method:
                check(refusal(getattr(external, method), **how), expected, method, how)
    assert (k.groups(), k.topics()) == before


def test_a_rule_and_its_parts_at_once(k):
    rule = k.faults.list()[0].rule
    with pytest.raises(Impossible, match="a fault is given as a rule or by its parts, not as both: nth"):
        k.faults.add(rule, nth=2)
    assert len(k.faults.list()) == 1


@pytest.mark.parametrize("make", [Kcoord, AsyncKcoord])
@pytest.mark.parametrize(
    "how",
    [
        {"topics": {"x": "3"}},
        {"topics": {"a.b": 1, "a_b": 1}},
        {"mask": {"OffsetCommit": "99"}},
        {"brokers": 3, "settings": {"brokers": 2}},
        {"as_version": "2.8", "settings": {"as.version": "2.7"}},
        {"kafka_defaults": 1},
    ],
)
def test_servers_that_cannot_be(make, how):
    with pytest.raises(ConfigError) as caught:
        make(**how)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"topics": {"x": "3"}}, "topic x has '3' partitions: it must be a whole number"),
        ({"topics": {"a b": 1}}, "cannot name a topic"),
        ({"mask": {"OffsetCommit": "99"}}, "versions 2-10 of OffsetCommit are served"),
        ({"brokers": "3"}, "brokers is '3': it must be a whole number"),
        ({"brokers": 1, "settings": {"brokers": 2}}, "brokers is 1, but settings say that brokers is 2"),
        ({"kafka_defaults": "no"}, "kafka_defaults is 'no': it must be true or false"),
        ({"brokers": 2}, "has 1 brokers, and 2 are wanted"),
    ],
)
def test_what_a_server_that_runs_cannot_be_given_either(k, how, sentence):
    before = snapshot(k)[:2]
    for make in (lambda: ExternalKcoord(k.bootstrap, **how), lambda: RemoteKcoord(k.control_url, **how)):
        with pytest.raises((ConfigError, Impossible), match=sentence):
            make()
    assert snapshot(k)[:2] == before
