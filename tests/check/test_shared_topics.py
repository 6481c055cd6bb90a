"""The topics that rules share are there, and can be read, before any rule begins."""

import pytest
import trio

from kcoord.check.result import Verdict
from kcoord.check.rules import all_rules
from kcoord.check.runner import Plan, check
from kcoord.check.shared_topics import LOGS_MADE
from tests.check.brokers import Close, answer, between
from tests.check.conftest import server
from wire.errors import ErrorCode
from wire.messages import ListOffsetsRequest

READ = all_rules()["list-offsets-1"]
OTHER = all_rules()["H1"]


def while_logs_are_made(seconds, error):
    """A broker that answers ListOffsets so, for so many seconds from when it is asked for the first time."""
    began = []

    def change(asked, version, message, frame):
        if asked is not ListOffsetsRequest:
            return frame
        began.append(trio.current_time())
        if trio.current_time() - began[0] >= seconds:
            return frame
        for topic in message.topics:
            for one in topic.partitions:
                one.error_code, one.offset = error, -1
        return answer(message, version, frame)

    return change


async def run(change, *rules):
    async with server() as opener, trio.open_nursery() as nursery:
        report = await check(between(opener, nursery, change), "here:9092", Plan(rules))
        nursery.cancel_scope.cancel()
    return {each.rule.id: each for each in report.results}


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
async def test_no_rule_begins_before_the_logs_are_made(error):
    result = (await run(while_logs_are_made(LOGS_MADE / 2, error), READ))[READ.id]
    assert (result.verdict, result.unsteady) == (Verdict.KEPT, False)


async def test_they_are_not_waited_for_forever():
    found = await run(while_logs_are_made(float("inf"), ErrorCode.NOT_LEADER_OR_FOLLOWER), READ, OTHER)
    assert {name: each.verdict for name, each in found.items()} == {
        READ.id: Verdict.BROKEN,
        OTHER.id: Verdict.KEPT,
    }


async def test_another_error_is_left_to_the_rules():
    start = trio.current_time()
    found = await run(while_logs_are_made(float("inf"), ErrorCode.UNKNOWN_SERVER_ERROR), READ)
    assert found[READ.id].verdict is Verdict.BROKEN
    assert trio.current_time() - start < LOGS_MADE / 2


async def test_a_broker_that_closes_the_connection_is_left_to_the_rules():
    def change(asked, version, message, frame):
        if asked is ListOffsetsRequest:
            raise Close
        return frame

    found = await run(change, READ, OTHER)
    assert {name: each.verdict for name, each in found.items()} == {
        READ.id: Verdict.BROKEN,
        OTHER.id: Verdict.KEPT,
    }
