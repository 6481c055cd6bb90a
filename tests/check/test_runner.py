"""Many rules against one broker: what is run when, and what counts."""

from contextlib import suppress
from functools import partial

import pytest
import trio
from trio.testing import memory_stream_pair

from kcoord.check.first_answer import FIRST_ANSWER
from kcoord.check.outcome import CannotRun
from kcoord.check.result import Progress, Verdict
from kcoord.check.runner import Plan, check
from tests.check.brokers import Close
from tests.check.conftest import server
from tests.check.runs import only, results, run, without
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    MetadataRequest,
    MetadataResponseBroker,
)

# --- what counts ---


async def test_a_report(rule_of):
    rules = [rule_of("kept"), rule_of("broken"), rule_of("does_not_apply"), rule_of("by_case", each={"number": (1, 2)})]
    report = await run(*rules)
    assert [each.rule for each in report.results] == rules
    found = results(report)
    assert {name: each.verdict.value for name, each in found.items()} == {
        "kept": "kept",
        "broken": "broken",
        "does_not_apply": "not applicable",
        "by_case": "kept",
    }
    assert found["does_not_apply"].reason == "it is Sunday"
    assert [each.verdict.value for each in found["by_case"].cases] == ["kept", "not applicable"]
    assert found["by_case"].reason == ""
    assert (report.address, report.notes) == ("here:9092", ())
    assert report.count(Verdict.KEPT) == 2


async def test_the_transcript_of_a_kept_rule_only_if_wanted(rule_of):
    for wanted in (False, True):
        found = results(await run(rule_of("kept"), rule_of("broken"), transcripts=wanted))
        assert bool(found["kept"].cases[0].run.transcript) is wanted
        assert found["broken"].cases[0].run.transcript


async def test_a_broken_rule_is_run_once_more_and_that_counts(rule_of):
    answered = 0

    def wrong_at_first(message):
        nonlocal answered
        answered += 1
        if answered == 1:
            message.error_code = ErrorCode.NONE

    report = await run(rule_of("kept"), rule_of("waits", cost=3), change=only(HeartbeatRequest, wrong_at_first))
    kept = results(report)["kept"]
    assert (kept.verdict, kept.unsteady, answered) == (Verdict.KEPT, True, 2)
    (case,) = kept.cases
    assert case.before.verdict is Verdict.BROKEN
    assert case.before.failure.message.endswith("is NONE (0), and must be UNKNOWN_MEMBER_ID (25)")
    assert case.before.beside == 1
    assert case.run.beside == 0


async def test_a_rule_that_is_broken_twice_is_broken(rule_of):
    broken = results(await run(rule_of("broken")))["broken"]
    assert (broken.verdict, broken.unsteady) == (Verdict.BROKEN, False)
    assert broken.cases[0].before.verdict is Verdict.BROKEN


# --- what is run when ---


async def test_rules_that_wait_run_side_by_side(rule_of):
    rules = [rule_of("waits", id=f"w{number}", cost=3) for number in range(20)]
    progress = Progress()
    assert 3 < (await run(*rules, progress=progress)).seconds < 4
    assert (progress.done, progress.total, progress.broken, progress.running) == (20, 20, 0, {})
    assert 12 < (await run(*rules, side_by_side=5)).seconds < 13
    assert 30 < (await run(*rules, connections=20)).seconds < 32


async def test_a_rule_may_want_more_connections_than_all_may_have(rule_of):
    report = await run(rule_of("waits", connections=100), rule_of("waits", id="other"), connections=50)
    assert report.count(Verdict.KEPT) == 2


async def test_those_that_wait_longest_begin_first(rule_of, scripts, monkeypatch):
    begun = []

    async def notes(world, name):
        begun.append(name)

    monkeypatch.setattr(scripts, "notes", notes, raising=False)
    costs = {"a": 1, "b": 20, "c": 0.3}
    await run(*(rule_of("notes", id=name, cost=cost, each={"name": [name]}) for name, cost in costs.items()))
    assert begun == ["b", "a", "c"]


async def test_beside_a_rule_that_is_alone_nothing_runs(rule_of, scripts, monkeypatch):
    running = set()
    beside = []

    async def notes(world, name):
        running.add(name)
        beside.append(set(running))
        await trio.sleep(1)
        running.remove(name)

    monkeypatch.setattr(scripts, "notes", notes, raising=False)
    names = {"a": True, "b": False, "c": True, "d": False}
    await run(*(rule_of("notes", id=name, alone=alone, each={"name": [name]}) for name, alone in names.items()))
    assert beside == [{"b"}, {"b", "d"}, {"a"}, {"c"}]


async def test_broken_rules_run_alone_if_that_takes_no_longer_than_a_minute(rule_of, scripts, monkeypatch):
    running = 0
    most = []

    async def notes(world, seconds):
        nonlocal running
        running += 1
        most.append(running)
        await trio.sleep(seconds)
        running -= 1
        assert seconds == 0

    monkeypatch.setattr(scripts, "notes", notes, raising=False)
    for seconds, side_by_side in ((10, 1), (30, 3)):
        most.clear()
        await run(*(rule_of("notes", id=f"r{n}", each={"seconds": [seconds]}) for n in range(5)))
        assert (max(most[:5]), max(most[5:])) == (5, side_by_side)


async def test_no_rule_begins_while_this_process_is_late(rule_of, scripts, monkeypatch):
    begun = []

    async def keeps_busy(world):
        begun.append(trio.current_time())
        trio.lowlevel.current_clock().jump(5)

    monkeypatch.setattr(scripts, "keeps_busy", keeps_busy, raising=False)
    monkeypatch.setattr(scripts, "notes", keeps_busy, raising=False)
    await run(rule_of("keeps_busy", cost=9), rule_of("notes"))
    # What woke 5 s late sleeps once more.
    assert 5.01 < begun[1] - begun[0] < 5.05


# --- what does not apply ---


@pytest.mark.parametrize(
    ("parts", "plan", "why"),
    [
        ({"since": "4.1"}, {"release": (4, 0)}, "it holds from Kafka 4.1 on, and the broker is judged by 4.0"),
        ({"until": "3.9"}, {}, "it holds up to Kafka 3.9, and the broker is judged by 4.4"),
        ({"versions": "5+"}, {}, "Heartbeat is advertised in versions 0 to 4, not 5+"),
        ({"cost": 61}, {}, "it takes 61 s, and long ones were not asked for"),
        (
            {"settings": {"group.max.size": 2}},
            {},
            "group.max.size is 2147483647 there, and would have to be 2",
        ),
        ({"settings": {"no.such.setting": 2}}, {}, "the broker does not tell its no.such.setting"),
    ],
    ids=["since", "until", "versions", "long", "setting", "unknown"],
)
async def test_why_a_rule_does_not_apply(rule_of, parts, plan, why):
    found = results(await run(rule_of("broken", **parts), **plan))["broken"]
    assert (found.verdict, found.reason, found.cases) == (Verdict.NOT_APPLICABLE, why, ())


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"since": "4.1", "until": "4.4"}, {}),
        ({"cost": 61}, {"long": True}),
        ({"settings": {"group.max.size": 2}}, {"settings": {"group.max.size": "2"}}),
        ({"settings": {"delete.topic.enable": True}}, {}),
    ],
    ids=["release", "long", "setting", "boolean"],
)
async def test_a_rule_that_applies(rule_of, parts, what):
    assert results(await run(rule_of("kept", **parts), **what))["kept"].verdict is Verdict.KEPT


async def test_settings_that_cannot_be_read(rule_of):
    rule = rule_of("kept", settings={"group.max.size": 2})
    found = results(await run(rule, change=without(DescribeConfigsRequest)))["kept"]
    assert found.reason == "group.max.size: settings cannot be read: DescribeConfigs is not advertised"

    def refuse(message):
        message.results[0].error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    found = results(await run(rule, change=only(DescribeConfigsRequest, refuse)))["kept"]
    assert found.reason == "group.max.size: settings cannot be read: CLUSTER_AUTHORIZATION_FAILED"


async def test_settings_that_most_rules_count_on_need_not_be_told(rule_of):
    rules = [
        rule_of("kept", settings={"group.initial.rebalance.delay.ms": 3000}),
        rule_of("broken", settings={"group.initial.rebalance.delay.ms": 0}),
    ]
    found = results(await run(*rules, change=without(DescribeConfigsRequest)))
    assert found["kept"].verdict is Verdict.KEPT
    assert found["broken"].reason.startswith("group.initial.rebalance.delay.ms: settings cannot be read")

    def keep_to_itself(message):
        message.results[0].configs = []

    found = results(await run(*rules, change=only(DescribeConfigsRequest, keep_to_itself)))
    assert found["kept"].verdict is Verdict.KEPT
    assert found["broken"].reason == "the broker does not tell its group.initial.rebalance.delay.ms"
    found = results(await run(*rules, settings={"group.initial.rebalance.delay.ms": "1000"}))
    assert found["kept"].reason == "group.initial.rebalance.delay.ms is 1000 there, and would have to be 3000"


async def test_settings_that_most_rules_count_on(rule_of):
    report = await run(rule_of("kept"), settings={"group.initial.rebalance.delay.ms": "0"})
    (note,) = report.notes
    assert note == "group.initial.rebalance.delay.ms is 0 at this broker; most rules count on 3000"


async def test_a_request_that_is_not_advertised(rule_of):
    found = results(await run(rule_of("kept"), change=without(HeartbeatRequest)))["kept"]
    assert found.reason == "Heartbeat is not advertised"


async def test_topics_that_cannot_be_made(rule_of):
    def refuse(message):
        for each in message.topics:
            each.error_code, each.error_message = ErrorCode.POLICY_VIOLATION, "no more"

    report = await run(rule_of("kept"), rule_of("leaves_things"), change=only(CreateTopicsRequest, refuse))
    found = results(report)
    assert found["kept"].verdict is Verdict.KEPT
    assert found["leaves_things"].reason == "topics cannot be made: POLICY_VIOLATION no more"


async def test_topics_that_come_by_themselves(rule_of):
    offers = without(CreateTopicsRequest)
    settings = {"auto.create.topics.enable": "true", "num.partitions": "3"}
    report = await run(rule_of("kept"), settings=settings, change=offers)
    assert report.notes == ("topics cannot be made: CreateTopics is not advertised",)
    assert results(report)["kept"].verdict is Verdict.KEPT


# --- when nothing can be run ---


async def test_nobody_to_connect_to(rule_of):
    async def connect():
        raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(CannotRun, match=r"^the broker cannot be reached: Connection refused$"):
        await check(connect, "here", Plan([rule_of("kept")]))


async def test_nobody_at_any_address_of_a_name(rule_of):
    """What trio raises then tells in itself only that all of them failed."""

    async def connect():
        each = [ConnectionRefusedError(111, f"Error connecting to {host}: refused") for host in ("::1", "127.0.0.1")]
        raise OSError("all attempts to connect to h:1 failed") from ExceptionGroup("all of them", each)

    with pytest.raises(CannotRun, match=r"^the broker cannot be reached: Connection refused$"):
        await check(connect, "here", Plan([rule_of("kept")]))


async def test_nobody_answers_the_connection(rule_of):
    with pytest.raises(CannotRun, match=rf"^the broker cannot be reached: nobody answers within {FIRST_ANSWER:g} s$"):
        await check(trio.sleep_forever, "here", Plan([rule_of("kept")]))
    with pytest.raises(CannotRun, match=r"nobody answers within 75 s$"):
        await check(trio.sleep_forever, "here", Plan([rule_of("kept")], patience=75))


def closing(cls, version, message, frame):
    raise Close


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (closing, "of no use: the broker closed the connection"),
        (
            lambda *_: b"",
            f"of no use: no answer to ApiVersions 0 within {FIRST_ANSWER:g} s; does it speak Kafka's protocol",
        ),
        (
            lambda *_: b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "of no use: it says b'HTTP/1.1 400 Bad Request.*, which is no answer of Kafka's; does it speak",
        ),
        (
            only(ApiVersionsRequest, lambda it: setattr(it, "error_code", 35)),
            "of no use: it answers ApiVersions 0 with",
        ),
        (without(MetadataRequest), "of no use: Metadata is not advertised"),
        (
            only(MetadataRequest, lambda it: it.brokers.append(MetadataResponseBroker(node_id=2, host="h", port=1))),
            "this broker is one of 2 in its cluster",
        ),
        (
            only(MetadataRequest, lambda it: it.brokers.clear()),
            "the broker is not ready: within 30 s, Metadata names no broker in its cluster",
        ),
        (
            only(DescribeConfigsRequest, lambda it: it.results.append(it.results[0])),
            "of no use: DescribeConfigs tells of 2 resources, where one was asked for",
        ),
        (
            only(FindCoordinatorRequest, lambda it: setattr(it, "error_code", 15)),
            "the broker coordinates no groups: FindCoordinator is answered with COORDINATOR_NOT_AVAILABLE",
        ),
    ],
    ids=[
        "closes",
        "silent",
        "garbage",
        "refuses",
        "no metadata",
        "several",
        "no brokers",
        "two settings",
        "no coordinator",
    ],
)
async def test_brokers_of_no_use(rule_of, change, why):
    with pytest.RaisesGroup(pytest.RaisesExc(CannotRun, match=why), flatten_subgroups=True):
        await run(rule_of("kept"), change=change)


async def says(rule_of, *parts, closes=False, **plan):
    """Run a rule at something that says this, in parts a second apart; return how it ends, and after how long."""
    async with trio.open_nursery() as nursery:

        async def opener():
            near, far = memory_stream_pair()

            async def serve():
                await far.receive_some()
                for part in parts:
                    await far.send_all(part)
                    await trio.sleep(1)
                if closes:
                    await far.aclose()

            nursery.start_soon(serve)
            return near

        before = trio.current_time()
        with pytest.raises(CannotRun) as caught:
            await check(opener, "here", Plan([rule_of("kept")], **plan))
        nursery.cancel_scope.cancel()
        return str(caught.value).removeprefix("the broker is of no use: "), trio.current_time() - before


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"220 mail.example.org ESMTP\r\n",
        b"-ERR unknown command\r\n",
        b"\x00\x10\x00\x01",
        b"\xff\xff\xff\xff",
        b"H",
    ],
)
async def test_what_is_no_answer_of_kafkas_is_told_at_once(autojump_clock, rule_of, said):
    why, seconds = await says(rule_of, said)
    assert why.startswith(f"it says {said!r}, which is no answer of Kafka's; does it speak Kafka's protocol, without")
    assert seconds == 0


@pytest.mark.parametrize(
    ("said", "number"),
    [
        (b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05", 0),  # settings of HTTP/2
        (b"\x00\x00\x00\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00", 2),  # an answer, but to something else
        (b"\x00\x00\x00\x0a\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00", -1),
    ],
)
async def test_an_answer_to_something_else_is_told_in_words(autojump_clock, rule_of, said, number):
    why, seconds = await says(rule_of, said)
    assert why == (
        f"it says {said!r}, which is no answer of Kafka's: its correlation id would be {number}, and ApiVersions 0 was "
        "asked with 1; does it speak Kafka's protocol, without TLS?"
    )
    assert seconds == 0


async def test_who_speaks_tls_is_told_of_as_such(autojump_clock, rule_of):
    why, seconds = await says(rule_of, b"\x15\x03\x03\x00\x02\x02\x46")  # an alert
    assert (why, seconds) == ("it speaks TLS here: connect with --tls", 0)


async def test_what_ends_before_it_is_an_answer(autojump_clock, rule_of):
    why, seconds = await says(rule_of, b"\x00", b"\x00", closes=True)
    assert why.startswith(r"it says b'\x00\x00', which is no answer of Kafka's: the connection ends there; does it")
    assert seconds == 2
    why, _ = await says(rule_of, closes=True)
    assert why == "the broker closed the connection instead of answering ApiVersions 0; does it want TLS or SASL?"


async def test_who_answers_only_until_it_is_asked_for_more(rule_of):
    """As Apache Kafka does on a listener of SASL, when somebody does not authenticate."""

    def change(cls, version, message, frame):
        if cls is MetadataRequest:
            raise Close
        return frame

    with pytest.raises(ExceptionGroup) as caught:
        await run(rule_of("kept"), change=change)
    assert caught.group_contains(CannotRun, match=r"instead of answering Metadata \d+; does it want SASL\?$")


@pytest.mark.parametrize("parts", [(), (b"\x00", b"\x00\x00"), (b"\x00\x00\x01\x00\x00\x00\x00\x01",)])
@pytest.mark.parametrize("patience", [FIRST_ANSWER, 3, 100])
async def test_a_first_answer_is_waited_for_as_long_as_was_asked_for(autojump_clock, rule_of, parts, patience):
    why, seconds = await says(rule_of, *parts, patience=patience)
    assert why.startswith(f"no answer to ApiVersions 0 within {patience:g} s; does it speak Kafka's protocol here, and")
    assert seconds == pytest.approx(patience)


async def test_a_slow_broker_has_time_for_its_first_answer(autojump_clock, rule_of):
    slow = 25.0

    async def opener_of(real, nursery):
        near, far = memory_stream_pair()
        theirs = await real()

        async def there():
            with suppress(trio.BrokenResourceError):
                while data := await far.receive_some():
                    await theirs.send_all(data)

        async def back():
            await trio.sleep(slow)
            with suppress(trio.BrokenResourceError):
                while data := await theirs.receive_some():
                    await far.send_all(data)

        nursery.start_soon(there)
        nursery.start_soon(back)
        return near

    async with server() as real, trio.open_nursery() as nursery:
        with pytest.raises(CannotRun, match="no answer to ApiVersions 0 within 10 s"):
            await check(partial(opener_of, real, nursery), "here", Plan([rule_of("kept")]))
        report = await check(partial(opener_of, real, nursery), "here", Plan([rule_of("kept")], patience=30))
        nursery.cancel_scope.cancel()
    assert results(report)["kept"].verdict is Verdict.KEPT


async def test_a_broker_that_must_get_ready_first(rule_of):
    asked = 0

    def not_yet(message):
        nonlocal asked
        asked += 1
        if asked < 5:
            message.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE

    report = await run(rule_of("kept"), change=only(FindCoordinatorRequest, not_yet))
    assert (report.count(Verdict.KEPT), asked) == (1, 5)


async def test_a_broker_that_is_not_in_its_cluster_yet(rule_of):
    asked = 0

    def not_yet(message):
        nonlocal asked
        asked += 1
        if asked < 5:
            message.brokers.clear()

    report = await run(rule_of("kept"), change=only(MetadataRequest, not_yet))
    assert report.count(Verdict.KEPT) == 1
    assert report.notes == ()


async def test_a_broker_that_still_reads_some_of_its_offsets(rule_of):
    asked = []

    def not_yet(message):
        asked.append(trio.current_time())
        if len(asked) < 5:
            message.groups[7].error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    report = await run(rule_of("kept"), change=only(DescribeGroupsRequest, not_yet))
    assert len(asked) == 5
    assert report.notes == ()


async def test_a_broker_that_cannot_read_some_of_its_offsets(rule_of):
    def failed(message):
        message.groups[7].error_code = message.groups[9].error_code = ErrorCode.NOT_COORDINATOR

    report = await run(rule_of("kept"), change=only(DescribeGroupsRequest, failed))
    assert report.notes == ("2 of 100 groups are not coordinated by the broker: NOT_COORDINATOR",)
    assert results(report)["kept"].verdict is Verdict.KEPT


async def test_a_broker_that_describes_no_groups(rule_of):
    report = await run(rule_of("kept"), change=without(DescribeGroupsRequest))
    assert report.notes == ()
    assert results(report)["kept"].verdict is Verdict.KEPT
