"""The same rules at several brokers in this process, of which one is wrong in a chosen way."""

import dataclasses

import pytest
import trio

from kcoord.check.outcome import CannotRun
from kcoord.check.result import Verdict
from kcoord.check.runner import Plan
from kcoord.check.several import NOT_AGAIN, Broker, compare
from tests.check.brokers import answer, between
from tests.check.conftest import server
from tests.scenarios.harness import no_jumps_while_threads_work
from wire.errors import ErrorCode
from wire.messages import ApiVersionsRequest, HeartbeatRequest


@pytest.fixture(autouse=True)
def _time_stands_still_while_brokers_are_compared():
    with no_jumps_while_threads_work():
        yield


async def several(*changes, rules, transcripts=False):
    """Compare as many brokers as there are changes; None changes nothing."""
    async with trio.open_nursery() as nursery:
        brokers = []
        for at, change in enumerate(changes):
            opener = await nursery.start(keep)
            brokers.append(Broker(f"broker:{at}", opener if change is None else between(opener, nursery, change)))
        found = await compare(brokers, Plan(rules, transcripts=transcripts))
        nursery.cancel_scope.cancel()
        return found


async def keep(task_status):
    async with server() as opener:
        task_status.started(opener)
        await trio.sleep_forever()


def error_is(error, times=1_000_000):
    left = [times]

    def change(cls, version, message, frame):
        if cls is HeartbeatRequest and left[0]:
            left[0] -= 1
            message.error_code = error
            return answer(message, version, frame)
        return frame

    return change


async def test_brokers_that_are_the_same(rule_of):
    found = await several(None, None, rules=[rule_of("kept"), rule_of("does_not_apply")])
    assert found.addresses == ("broker:0", "broker:1")
    assert not found.is_different
    assert [case.said for case in found.cases] == [(), ()]
    assert [case.verdicts[0] for case in found.cases] == [Verdict.KEPT, Verdict.NOT_APPLICABLE]


async def test_a_verdict_that_differs(rule_of):
    found = await several(None, error_is(ErrorCode.ILLEGAL_GENERATION), rules=[rule_of("kept"), rule_of("fails")])
    (case,) = found.different
    assert case.verdicts == (Verdict.KEPT, Verdict.BROKEN)
    assert case.gist == ("verdict", ("kept", "broken"))
    (differs,) = case.differs
    assert differs.values == ("25 UNKNOWN_MEMBER_ID", "22 ILLEGAL_GENERATION")


async def test_what_was_said_differs_though_all_kept(rule_of):
    changes = (None, None, error_is(ErrorCode.ILLEGAL_GENERATION))
    found = await several(*changes, rules=[rule_of("told_anything")])
    (case,) = found.different
    assert case.verdicts == (Verdict.KEPT,) * 3
    assert case.gist == (
        "#1 Heartbeat 4 response, error_code",
        ("25 UNKNOWN_MEMBER_ID", "25 UNKNOWN_MEMBER_ID", "22 ILLEGAL_GENERATION"),
    )
    assert found.letters == ("A", "B", "C")


async def test_a_rule_that_hears_different_things_each_time_is_not_compared(rule_of):
    rule = rule_of("told_anything", varies="the weather")
    assert not (await several(None, error_is(ErrorCode.ILLEGAL_GENERATION), rules=[rule])).is_different


async def test_a_difference_that_does_not_come_again_does_not_count(rule_of):
    found = await several(None, error_is(ErrorCode.ILLEGAL_GENERATION, 1), rules=[rule_of("told_anything")])
    assert not found.is_different
    assert found.unsteady == (("told_anything", ""),)


async def test_all_transcripts(rule_of):
    found = await several(None, None, rules=[rule_of("kept")], transcripts=True)
    (case,) = found.cases
    assert [len(each.exchanges) for each in case.said] == [1, 1]


async def test_what_a_broker_advertises_is_told_once(rule_of):
    def change(cls, version, message, frame):
        if cls is ApiVersionsRequest and message.api_keys:
            message.api_keys = [each for each in message.api_keys if each.api_key != 47]
            message.api_keys[0].max_version += 1
            return answer(message, version, frame)
        return frame

    found = await several(None, change, rules=[rule_of("asks_for_versions"), rule_of("asks_for_versions", id="too")])
    assert found.different == []
    assert found.is_different
    assert [(each.what, each.name) for each in found.offers] == [
        ("API", "OffsetDelete"),
        ("API", "Produce max_version"),
    ]
    assert found.offers[0].values == ("offered", "not offered")


async def test_a_broker_that_is_not_there(rule_of):
    async def nobody():
        raise OSError(111, "Connection refused")

    async with server() as opener:
        brokers = [Broker("here:1", opener), Broker("there:2", nobody)]
        with pytest.raises(ExceptionGroup) as caught:
            await compare(brokers, Plan([rule_of("kept")]))
    assert caught.group_contains(CannotRun, match="^there:2: the broker cannot be reached: Connection refused$")


# --- a broker that goes away ---


def until_refused(opener, times):
    """What connects to a broker, so many times."""
    left = [times]

    async def connect():
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionRefusedError(111, "Connection refused")
        return await opener()

    return connect


async def gone_after(times, rules):
    """Compare a broker with one that answers otherwise, and takes so many connections only."""
    async with server() as opener, trio.open_nursery() as nursery:
        other = until_refused(between(opener, nursery, error_is(ErrorCode.ILLEGAL_GENERATION)), times)
        found = await compare([Broker("here:1", opener), Broker("there:2", other)], Plan(rules))
        nursery.cancel_scope.cancel()
    return found


async def test_a_broker_that_went_before_the_second_time_is_told_of_with_all_that_was_found(rule_of):
    enough = 1_000_000
    counted = []

    async def counts(opener):
        counted.append(1)
        return await opener()

    async with server() as opener, trio.open_nursery() as nursery:
        changed = between(opener, nursery, error_is(ErrorCode.ILLEGAL_GENERATION))
        await compare([Broker("h:1", opener), Broker("h:2", lambda: counts(changed))], Plan([rule_of("told_anything")]))
        nursery.cancel_scope.cancel()
    # Both times the same was done.
    first_time = len(counted) // 2
    for times in range(first_time, len(counted) - 1):
        found = await gone_after(times, [rule_of("told_anything")])
        assert [each.key for each in found.different] == [("told_anything", "")], times
        assert found.stopped.startswith("there:2: the run was stopped")
        assert "Connection refused" in found.stopped
        assert NOT_AGAIN in found.reports[0].notes
        assert found.reports[1].stopped in found.reports[1].notes
        assert found.unsteady == ()
    assert (await gone_after(enough, [rule_of("told_anything")])).stopped == ""


async def test_a_broker_that_went_the_first_time(rule_of):
    async def waits(world):
        await trio.sleep(1)
        await (await world.client()).heartbeat(world.group(), 1, "m")

    rules = [rule_of("told_anything"), dataclasses.replace(rule_of("kept", id="waits"), script=waits)]
    refused = [False]

    async with server() as opener, trio.open_nursery() as nursery:
        changed = between(opener, nursery, error_is(ErrorCode.ILLEGAL_GENERATION))

        async def connect():
            if trio.current_time() > start + 1:
                refused[0] = True
                raise ConnectionRefusedError(111, "Connection refused")
            return await changed()

        start = trio.current_time()
        found = await compare([Broker("here:1", opener), Broker("there:2", connect)], Plan(rules))
        nursery.cancel_scope.cancel()
    assert refused == [True]
    assert found.cases[0].differs
    assert found.cases[1].verdicts == (Verdict.KEPT, Verdict.NOT_RUN)
    assert found.stopped.startswith("there:2: the run was stopped, as the broker is gone (Connection refused)")
    assert NOT_AGAIN in found.reports[0].notes
