"""No rule counts on which of two connections a broker reads first.

A broker with several network threads, as Apache Kafka, may handle what came later before what came sooner, if it came
by another connection. Here the connections are read late, each by a time of its own, so that the requests of the older
ones always come after those of the newer ones that were sent at the same moment, or the other way round.
"""

import pytest
import trio

from kcoord.check.names import Names
from kcoord.check.runner import run_case
from kcoord.check.world import World
from tests.scenarios.harness import must_be_kept
from tests.scenarios.lateness import ORDERS, late
from tests.scenarios.test_rules import CASES, server


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rule", "case"), CASES)
async def test_rule(rule, case, order):
    async with server(rule.settings) as (opener, offers), trio.open_nursery() as nursery:
        names = Names()
        connect = late(opener, ORDERS[order], nursery)

        async def make_world(transcript):
            return World(connect, names, offers=offers, transcript=transcript)

        run = await run_case(rule, case, make_world, transcripts=False)
        nursery.cancel_scope.cancel()
    must_be_kept(rule, run)
