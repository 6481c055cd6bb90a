"""Every rule of `kcoord check`, against a server in this process, under virtual time."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio

from kcoord.check.names import Names
from kcoord.check.rules import all_rules
from kcoord.check.runner import run_case
from kcoord.check.target import Target, reach
from kcoord.check.world import World
from kcoord.config import Config
from kcoord.serve import serve
from kcoord.timeline import Recorder
from tests.scenarios.harness import must_be_kept, opener_to

TOPICS = {"t": 3, "u": 3, "wide": 1000}
RELEASE = (4, 4)
"""The release of Apache Kafka that kcoord is like."""
CASES = [
    pytest.param(rule, case, id=f"{rule.id}-{case.label}" if case.label else rule.id)
    for rule in all_rules().values()
    if rule.until is None or rule.until >= RELEASE
    for case in rule.cases
]


@asynccontextmanager
async def server(settings):
    """A server with these settings, and what it offers."""
    config = replace(Config.from_settings(settings, TOPICS), listeners=())
    async with trio.open_nursery() as nursery:
        running = await nursery.start(serve, config)
        opener = opener_to(running, nursery)
        target: Target = await reach(opener, ())
        recorder = Recorder(running.clock.now)
        running.broker.on_note(recorder.note)
        running.broker.on_request(recorder.request)
        yield opener, target.offers
        told(recorder)
        nursery.cancel_scope.cancel()


def told(recorder):
    """Whatever clients do to groups, their timelines can be told."""
    for group in recorder.groups():
        timeline = recorder.of(group)
        assert timeline.text()
        assert json.dumps(timeline.plain())


@pytest.mark.parametrize(("rule", "case"), CASES)
async def test_rule(request: pytest.FixtureRequest, rule, case):
    if request.config.getoption("--bootstrap") is not None:
        pytest.skip("rules are run against a foreign broker by `pytest --pyargs kcoord.check --bootstrap HOST:PORT`")
    async with server(rule.settings) as (opener, offers):

        async def make_world(transcript):
            return World(opener, Names(), offers=offers, exact=True, transcript=transcript)

        run = await run_case(rule, case, make_world, transcripts=False)
    must_be_kept(rule, run)
