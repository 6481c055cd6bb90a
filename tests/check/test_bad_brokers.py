"""Many rules against a broker that dies, hangs, refuses or is slow: the run ends, and says what was the matter."""

import dataclasses
import json

import pytest
import trio

from kcoord.check import runner
from kcoord.check.probe import IMPATIENCE, SILENT, Client
from kcoord.check.report.json import as_json
from kcoord.check.report.junit import as_junit
from kcoord.check.result import Verdict
from kcoord.check.runner import FOR_AN_ANSWER, Plan, check
from kcoord.check.target import REFUSING, UNTIL_GONE
from kcoord.check.test_rules import told
from tests.check.brokers import answer, between
from tests.check.conftest import server
from wire.errors import ErrorCode
from wire.messages import ApiVersionsRequest, DescribeConfigsRequest, HeartbeatRequest, JoinGroupRequest


def without_settings(asked, version, message, frame):
    """A broker that does not tell its settings."""
    if asked is not ApiVersionsRequest:
        return frame
    message.api_keys = [each for each in message.api_keys if each.api_key != DescribeConfigsRequest.API_KEY]
    return answer(message, version, frame)


def on(rule, script):
    """The rule with another script."""
    return dataclasses.replace(rule, script=script)


@pytest.fixture
def refused():
    """Whether connections are refused, in the one entry."""
    return [False]


async def run(rules, change=None, refused=None, settings=None, **plan):
    async with server(settings) as opener, trio.open_nursery() as nursery:
        if change is not None:
            opener = between(opener, nursery, change)

        async def connect():
            if refused is not None and refused[0]:
                raise ConnectionRefusedError(111, "Connection refused")
            return await opener()

        report = await check(connect, "here:9092", Plan(rules, **plan))
        nursery.cancel_scope.cancel()
        return report


def verdicts(report):
    return {each.rule.id: each.verdict.value for each in report.results}


async def test_a_broker_that_is_gone_ends_the_run(rule_of, refused):
    async def goes(world):
        await trio.sleep(1)
        refused[0] = True
        await world.client()

    rules = [
        on(rule_of("kept", id="goes", cost=2), goes),
        rule_of("waits_for_ever", id="long", cost=3),
        rule_of("kept", cost=4),
        *(rule_of("kept", id=f"later-{number}", alone=True) for number in range(5)),
    ]
    report = await run(rules, refused=refused)
    assert report.stopped == (
        "the run was stopped, as the broker is gone (Connection refused); when it went, goes, long ran"
    )
    assert report.notes == (report.stopped, "nothing could be cleaned up: Connection refused")
    assert report.seconds < 1 + REFUSING + 2
    assert report.ran == ("goes", "long")
    assert verdicts(report) == {
        "goes": "not run",
        "long": "not run",
        "kept": "kept",
        **{f"later-{number}": "not run" for number in range(5)},
    }
    assert report.results[0].reason == "the broker was gone"
    assert (report.count(Verdict.BROKEN), report.count(Verdict.NOT_RUN)) == (0, 7)
    read = json.loads(as_json(report))
    assert (read["stopped"], read["summary"]["not run"]) == (report.stopped, 7)
    assert as_junit(report).count("<error") == 7
    as_tests = dict(told(report))
    assert as_tests["kept"] == ("kept", "")
    assert as_tests["later-4"] == ("not run", report.stopped)


async def test_many_rules_are_not_named_when_the_broker_goes(rule_of, refused):
    async def goes(world):
        await trio.sleep(5)
        refused[0] = True
        await world.client()

    rules = [on(rule_of("kept", id="a"), goes), *(rule_of("waits_for_ever", id=f"r{number}") for number in range(14))]
    report = await run(rules, refused=refused)
    assert report.stopped.endswith("when it went, a, r0, r1, r10, r11, r12, r13, r2, r3, r4 and 5 more ran")


async def test_a_rule_of_which_a_case_was_broken_is_broken_though_the_others_were_not_run(rule_of, refused):
    async def by_case(world, number):
        if number == 1:
            raise AssertionError
        refused[0] = True
        await world.client()

    rule = on(rule_of("kept", each={"number": (1, 2)}), by_case)
    report = await run([rule], refused=refused, side_by_side=1)
    unsure = "broken, and not run once more, as the broker was gone: 1 case; it may be that it was about to go"
    assert report.notes == (report.stopped, unsure, "nothing could be cleaned up: Connection refused")
    assert [each.verdict.value for each in report.results[0].cases] == ["broken", "not run"]
    assert report.results[0].verdict is Verdict.BROKEN


async def test_a_broker_that_takes_connections_again_soon_is_not_gone(rule_of, refused):
    """It may restart, or take only so many at a time."""

    async def refuses(world):
        refused[0] = True

    async def connects(world):
        await trio.sleep(1)
        await world.client()

    async def lets_in_again(world):
        await trio.sleep(REFUSING - 2)
        refused[0] = False

    scripts = {"refuses": refuses, "connects": connects, "lets-in": lets_in_again}
    rules = [on(rule_of("kept", id=name), script) for name, script in scripts.items()]
    report = await run(rules, refused=refused)
    assert report.stopped == ""
    assert verdicts(report) == dict.fromkeys(scripts, "kept")
    assert [each.unsteady for each in report.results] == [False, True, False]


async def test_a_broker_that_hangs_ends_the_run(rule_of):
    hangs = [False]

    def change(asked, version, message, frame):
        return b"" if hangs[0] else frame

    async def begins(world):
        await trio.sleep(1)
        hangs[0] = True

    rules = [on(rule_of("kept", id="begins"), begins)]
    rules += [rule_of("kept", id=f"k{number}", alone=True) for number in range(99)]
    report = await run(rules, change)
    assert report.stopped.startswith(
        f"the run was stopped, as the broker is gone (it answers nothing within {UNTIL_GONE:g} s); when it went, k"
    )
    assert report.count(Verdict.NOT_RUN) == 99
    assert report.seconds < 1 + FOR_AN_ANSWER + 2 + UNTIL_GONE + 25


async def test_an_api_that_is_never_answered_is_soon_hardly_waited_for(rule_of):
    def change(asked, version, message, frame):
        return b"" if asked is HeartbeatRequest else frame

    many = 40
    report = await run([rule_of("kept", id=f"k{number}") for number in range(many)], change, side_by_side=1)
    assert report.stopped == ""
    assert report.count(Verdict.BROKEN) == many
    messages = [each.cases[0].before.failure.message for each in report.results]
    patience = FOR_AN_ANSWER + 2 * 0.3
    assert messages.count(f"no answer to Heartbeat 4 within {patience:g} s") == SILENT
    assert messages.count(f"no answer to Heartbeat 4 within {IMPATIENCE:g} s") == many - SILENT
    waited = SILENT * patience + (many - SILENT) * IMPATIENCE
    assert waited < report.seconds < waited + runner.SECOND_PASS + many


async def test_an_api_that_was_answered_once_is_waited_for(rule_of):
    answered = []

    def change(asked, version, message, frame):
        if asked is HeartbeatRequest:
            answered.append(frame)
            return frame if len(answered) == 1 else b""
        return frame

    report = await run([rule_of("kept", id=f"k{number}") for number in range(SILENT + 5)], change, side_by_side=1)
    assert report.count(Verdict.KEPT) == 1
    messages = {each.cases[0].run.failure.message for each in report.results[1:]}
    assert messages == {f"no answer to Heartbeat 4 within {FOR_AN_ANSWER + 0.6:g} s"}


# --- what is run once more ---


async def test_of_many_broken_cases_those_with_a_wrong_answer_at_once_are_not_run_again(rule_of, monkeypatch):
    monkeypatch.setattr(runner, "FEW", 3)

    async def takes_a_second(world):
        await trio.sleep(1)
        raise AssertionError

    async def loses_its_connection(world):
        client = await world.client()
        await client.send_bytes(b"\xff\xff\xff\xff")
        await client.read_frame()

    rules = [
        *(rule_of("broken", id=f"b{number}") for number in range(5)),
        on(rule_of("kept", id="late"), takes_a_second),
        on(rule_of("kept", id="lost"), loses_its_connection),
    ]
    report = await run(rules)
    assert report.notes == ("broken at once, by a wrong answer, and not run once more: 5 cases",)
    assert report.count(Verdict.BROKEN) == 7
    again = [each.rule.id for each in report.results if each.cases[0].before is not None]
    assert again == ["late", "lost"]
    monkeypatch.setattr(runner, "FEW", 7)
    report = await run(rules)
    assert report.notes == ()
    assert all(each.cases[0].before is not None for each in report.results)


async def test_the_second_pass_has_so_much_time(rule_of, monkeypatch):
    monkeypatch.setattr(runner, "SECOND_PASS", 5.0)

    async def takes_four(world, number):
        await trio.sleep(4)
        raise AssertionError

    rule = on(rule_of("kept", each={"number": range(4)}, cost=4), takes_four)
    report = await run([rule])
    assert all(each.before is not None for each in report.results[0].cases)
    assert (report.notes, 8 <= report.seconds < 9) == ((), True)
    monkeypatch.setattr(runner, "_width", lambda *_: 1)
    report = await run([rule])
    assert report.notes == ("broken, and not run once more for want of time: 3 cases",)
    assert report.count(Verdict.BROKEN) == 1
    assert 8 <= report.seconds < 9


# --- what is learned before ---


async def test_how_long_a_new_group_waits_is_measured_where_it_is_not_told(rule_of):
    async def needs_to_wait(world):
        world.waiting_group()

    rule = on(rule_of("kept"), needs_to_wait)
    report = await run([rule], without_settings, settings={"group.initial.rebalance.delay.ms": "0"})
    assert report.notes == (
        (
            "a new group waits for members for 0 s at this broker, which does not tell its "
            "group.initial.rebalance.delay.ms; many rules need 3 s, Kafka's default"
        ),
    )
    assert report.results[0].verdict is Verdict.NOT_APPLICABLE
    report = await run([rule], without_settings)
    assert (report.notes, report.results[0].verdict) == ((), Verdict.KEPT)
    assert 3 <= report.seconds < 4


async def test_what_was_made_to_learn_about_the_broker_is_removed(rule_of):
    async with server() as opener, trio.open_nursery() as nursery:
        await check(between(opener, nursery, without_settings), "here", Plan([rule_of("kept")]))
        assert await Client(await opener()).list() == {}
        nursery.cancel_scope.cancel()


async def test_a_broker_whose_first_member_is_refused_is_taken_to_wait_as_kafka_does(rule_of):
    def change(asked, version, message, frame):
        if asked is JoinGroupRequest:
            message.error_code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            return answer(message, version, frame)
        return without_settings(asked, version, message, frame)

    assert (await run([rule_of("kept")], change)).notes == ()


async def test_a_slow_broker_is_told_of(rule_of):
    async with server() as opener:

        async def connect():
            stream = await opener()
            receive = stream.receive_some

            async def late(most=None):
                await trio.sleep(0.4)
                return await receive(most)

            stream.receive_some = late
            return stream

        report = await check(connect, "here", Plan([rule_of("kept")]))
    assert report.notes == ("Metadata took 0.4 s; rules about time, and about who waits, need a quicker broker",)
