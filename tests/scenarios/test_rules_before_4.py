"""The rules that end with a release before Kafka 4.4, against servers like an older one, under virtual time."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio

from kcoord.check.names import Names
from kcoord.check.result import Verdict
from kcoord.check.rule import release_text
from kcoord.check.rules import all_rules
from kcoord.check.runner import run_case
from kcoord.check.target import reach
from kcoord.check.world import World
from kcoord.config import Config
from kcoord.serve import serve
from tests.scenarios.harness import must_be_kept, opener_to
from tests.scenarios.lateness import ORDERS, late
from tests.scenarios.test_rules import RELEASE, TOPICS

LIKE = "3.9"
NEVER_ANSWERED = {"D34b-4.3", "K8-4.0"}
"""Kafka leaves a client without an answer there, and kcoord does not."""
NOT_OFFERED = {"J31-3.9", "produce-18-3.9"}
"""Of versions that are not served, and so not offered, or not served though offered."""
NOT_OF_GROUPS = {
    "list-offsets-4-3.9",
    "list-offsets-5-3.9",
    "list-offsets-6-3.9",
    "fetch-11-3.9",
    "delete-records-8-4.1",
    "incremental-alter-configs-22b-4.1",
    "incremental-alter-configs-25-4.0",
    "incremental-alter-configs-27b-4.2",
    "create-partitions-14-4.3",
}
"""What topics and settings did otherwise is not imitated, but for defaults that differ."""
LEFT = NEVER_ANSWERED | NOT_OFFERED | NOT_OF_GROUPS
RULES = [rule for rule in all_rules().values() if rule.until is not None and (3, 9) <= rule.until < RELEASE]


def like(rule):
    """The release that the server is like: 3.9, or the last one of a rule that began after it."""
    return LIKE if rule.since is None or rule.since <= (3, 9) else release_text(rule.until)


@asynccontextmanager
async def server(settings, release):
    config = replace(Config.from_settings({**settings, "as.version": release}, TOPICS), listeners=())
    async with trio.open_nursery() as nursery:
        running = await nursery.start(serve, config)
        opener = opener_to(running, nursery)
        yield opener, (await reach(opener, ())).offers
        nursery.cancel_scope.cancel()


async def outcome(rule, case, order=None):
    """Run a case, with the connections late in such an order, if any."""
    async with server(rule.settings, like(rule)) as (opener, offers), trio.open_nursery() as nursery:
        connect = opener if order is None else late(opener, ORDERS[order], nursery)

        async def make_world(transcript):
            return World(connect, Names(), offers=offers, exact=order is None, transcript=transcript)

        run = await run_case(rule, case, make_world, transcripts=False)
        nursery.cancel_scope.cancel()
        return run


@pytest.mark.parametrize("order", [None, *ORDERS])
@pytest.mark.parametrize(
    ("rule", "case"),
    [
        pytest.param(rule, case, id=f"{rule.id}-{case.label}" if case.label else rule.id)
        for rule in RULES
        if rule.id not in LEFT
        for case in rule.cases
    ],
)
async def test_rule(rule, case, order):
    run = await outcome(rule, case, order)
    must_be_kept(rule, run)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.id in LEFT], ids=lambda rule: rule.id)
async def test_what_is_left_is_still_left(rule):
    """A rule that is kept by now belongs to the others."""
    runs = [await outcome(rule, case) for case in rule.cases]
    assert any(run.verdict is not Verdict.KEPT for run in runs)


async def test_what_is_left_is_a_rule():
    assert {rule.id for rule in RULES} >= LEFT
