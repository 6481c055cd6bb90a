"""The topics that rules share are there, and can be read, before any rule begins."""

import pytest
import trio

from kcoord.check.result import Verdict
from kcoord.check.rules import all_rules
from kcoord.check.shared_topics import LOGS_MADE
from tests.check.brokers import Close
from tests.check.runs import only, results, run
from wire.errors import ErrorCode
from wire.messages import ListOffsetsRequest

READ = all_rules()["list-offsets-1"]
OTHER = all_rules()["H1"]


def while_logs_are_made(seconds, error):
    """A broker that answers ListOffsets so, for so many seconds from when it is asked for the first time."""
    began = []

    def refuse(message):
        began.append(trio.current_time())
        if trio.current_time() - began[0] >= seconds:
            return
        for topic in message.topics:
            for one in topic.partitions:
                one.error_code, one.offset = error, -1

    return only(ListOffsetsRequest, refuse)


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
async def test_no_rule_begins_before_the_logs_are_made(error):
    result = results(await run(READ, change=while_logs_are_made(LOGS_MADE / 2, error)))[READ.id]
    assert (result.verdict, result.unsteady) == (Verdict.KEPT, False)


async def test_they_are_not_waited_for_forever():
    found = results(await run(READ, OTHER, change=while_logs_are_made(float("inf"), ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    assert {name: each.verdict for name, each in found.items()} == {
        READ.id: Verdict.BROKEN,
        OTHER.id: Verdict.KEPT,
    }


async def test_another_error_is_left_to_the_rules():
    start = trio.current_time()
    found = results(await run(READ, change=while_logs_are_made(float("inf"), ErrorCode.UNKNOWN_SERVER_ERROR)))
    assert found[READ.id].verdict is Verdict.BROKEN
    assert trio.current_time() - start < LOGS_MADE / 2


async def test_a_broker_that_closes_the_connection_is_left_to_the_rules():
    def change(asked, version, message, frame):
        if asked is ListOffsetsRequest:
            raise Close
        return frame

    found = results(await run(READ, OTHER, change=change))
    assert {name: each.verdict for name, each in found.items()} == {
        READ.id: Verdict.BROKEN,
        OTHER.id: Verdict.KEPT,
    }
