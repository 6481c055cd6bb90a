"""One rule against one broker: what came of it, and what is told when it is broken."""

import pytest
import trio

from kcoord.check.names import Names
from kcoord.check.result import Verdict
from kcoord.check.runner import run_case
from kcoord.check.target import reach
from kcoord.check.transcript import What
from kcoord.check.world import World
from tests.check.brokers import Close, answer, between
from tests.check.conftest import server
from wire.messages import HeartbeatRequest, ListGroupsRequest
from wire.schema import Versions


async def run(rule, opener, case=0, **what):
    async def make_world(transcript):
        return World(opener, Names(), exact=True, transcript=transcript, **what)

    return await run_case(rule, rule.cases[case], make_world)


async def run_at_server(rule, **what):
    async with server() as opener:
        return await run(rule, opener, **what)


async def test_kept(rule_of):
    found = await run_at_server(rule_of("kept"))
    assert (found.verdict, found.failure, found.why) == (Verdict.KEPT, None, "")
    assert [each.what for each in found.transcript] == [What.OPENED, What.SENT, What.GOT]


async def test_broken_tells_line_values_and_what_was_said(rule_of):
    found = await run_at_server(rule_of("broken"))
    assert found.verdict is Verdict.BROKEN
    source = '[ await client.heartbeat(world.group(), 1, "m", version=version), ]'
    place = found.failure.places[-1]
    assert (place.file, len(found.failure.places)) == ("rules/scripts.py", 1)
    assert place.text.splitlines() == [
        "assert [",
        '    await client.heartbeat(world.group(), 1, "m", version=version),',
        "] == expected",
    ]
    assert found.failure.values == (
        (source, "[<ErrorCode.UNKNOWN_MEMBER_ID: 25>]"),
        ("expected", "[<ErrorCode.NONE: 0>]"),
    )
    assert found.failure.message == (
        f"{source} is [<ErrorCode.UNKNOWN_MEMBER_ID: 25>], and must be [<ErrorCode.NONE: 0>]"
    )
    assert found.transcript[1].title == "Heartbeat 0 request 1, client 'client'"
    assert found.transcript[-1].fields[-1] == (0, "error_code", "25 UNKNOWN_MEMBER_ID")
    lines = list(found.failure.lines())
    assert lines[1].startswith(f"  rules/scripts.py:{place.line}  assert [")
    assert lines[-1] == "    expected = [<ErrorCode.NONE: 0>]"


@pytest.mark.parametrize("name", ["broken_in_a_helper", "broken_beside"])
async def test_broken_in_what_a_script_calls(rule_of, name):
    found = await run_at_server(rule_of(name))
    assert found.failure.places[-1].text.startswith("assert error is ErrorCode.NONE or")
    assert [each for each in found.failure.places if "told(" in each.text or "nursery" in each.text]
    assert found.failure.values == (
        ("error", "UNKNOWN_MEMBER_ID (25)"),
        ("ErrorCode.NONE", "NONE (0)"),
        ("error", "UNKNOWN_MEMBER_ID (25)"),
        ("ErrorCode.ILLEGAL_GENERATION", "ILLEGAL_GENERATION (22)"),
    )
    assert found.seconds < 1


async def test_a_sentence(rule_of):
    found = await run_at_server(rule_of("fails"))
    assert found.failure.message == "the broker is not as it says"
    assert found.failure.places[-1].text == 'fail("the broker is not as it says")'


async def test_a_script_that_stumbles_over_an_answer(rule_of):
    found = await run_at_server(rule_of("stumbles"))
    assert found.failure.message == (
        "the script cannot go on with what was answered: ValueError: not enough values to unpack (expected 1, got 0)"
    )
    assert found.failure.places[-1].text == "(_one,) = []"


async def test_cases(rule_of):
    rule = rule_of("by_case", each={"number": (1, 2, 3)})
    one, two, three = [await run_at_server(rule, case=case) for case in range(3)]
    assert one.verdict is Verdict.KEPT
    assert (two.verdict, two.why) == (Verdict.NOT_APPLICABLE, "two is not for everyone")
    assert three.failure.values == (("number + more", "3"),)


@pytest.mark.parametrize("name", ["does_not_apply", "does_not_apply_beside"])
async def test_not_applicable(rule_of, name):
    found = await run_at_server(rule_of(name))
    assert (found.verdict, found.why, found.failure) == (Verdict.NOT_APPLICABLE, "it is Sunday", None)


@pytest.mark.parametrize(
    ("name", "offers", "why"),
    [
        ("kept", {}, "Heartbeat is not advertised"),
        ("kept", {12: Versions(5, 9)}, "Heartbeat is advertised in versions 5 to 9 only"),
        ("broken", {12: Versions(1, 3)}, "of Heartbeat only versions 1 to 3 are advertised"),
        ("lists_groups", {16: Versions(0, 4)}, "ListGroups 5 is not advertised, only 0 to 4"),
    ],
)
async def test_versions_that_are_not_advertised_are_not_sent(rule_of, name, offers, why):
    found = await run_at_server(rule_of(name), offers=offers)
    assert (found.verdict, found.why) == (Verdict.NOT_APPLICABLE, why)
    assert not [each for each in found.transcript if each.what is What.SENT]


async def test_the_newest_version_that_both_know_is_sent(rule_of):
    found = await run_at_server(rule_of("kept"), offers={12: Versions(0, 2)})
    assert found.transcript[1].title.startswith("Heartbeat 2 request")


async def test_a_topic_that_could_not_be_made(rule_of):
    async with server() as opener:

        async def make_world(transcript):
            return World(opener, Names(shared={}, lacking="there is no room"), transcript=transcript)

        found = await run_case(rule := rule_of("leaves_things"), rule.cases[0], make_world)
    assert (found.verdict, found.why) == (Verdict.NOT_APPLICABLE, "there is no room")


async def test_a_rule_that_is_never_done(rule_of):
    found = await run_at_server(rule_of("waits_for_ever", cost=10))
    assert found.verdict is Verdict.BROKEN
    assert found.failure.message == "it is not done after 95 s"
    assert found.failure.places[-1].text == "await trio.sleep_forever()"
    assert 95 <= found.seconds < 96


@pytest.mark.parametrize(
    ("times", "verdict", "seconds"), [(18, Verdict.KEPT, 72), (48, Verdict.KEPT, 192), (60, Verdict.BROKEN, 197)]
)
async def test_what_connections_take_to_be_ready_is_not_the_time_of_a_script(
    autojump_clock, rule_of, times, verdict, seconds
):
    """As by TLS and SASL on a busy machine. But there is an end to that."""
    async with server() as opener:

        async def slowly():
            await trio.sleep(4)
            return await opener()

        found = await run(rule_of("connects_again_and_again", cost=1, each={"times": (times,)}), slowly)
    assert found.verdict is verdict
    assert found.seconds == pytest.approx(seconds, abs=0.1)
    if verdict is Verdict.BROKEN:
        assert found.failure.message == "it is not done after 77 s, and 120.0 s more until it was connected"


async def test_nobody_to_connect_to(rule_of):
    async def connect():
        raise ConnectionRefusedError("nobody there")

    found = await run(rule_of("kept"), connect)
    assert found.failure.message == "there is no connection: ConnectionRefusedError: nobody there"
    assert found.unanswered


def closing(cls, version, message, frame):
    raise Close


def silent(cls, version, message, frame):
    return b""


def garbage(cls, version, message, frame):
    return b"HTTP/1.1 400 Bad Request\r\n"


def short(cls, version, message, frame):
    return (len(frame) - 5).to_bytes(4, "big") + frame[4:-1]


def mixed_up(cls, version, message, frame):
    return frame[:4] + b"\0\0\x27\x0f" + frame[8:]


def unheard_of(cls, version, message, frame):
    message.error_code = 999
    return answer(message, version, frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (closing, "the broker closed the connection instead of answering Heartbeat 4"),
        (silent, "no answer to Heartbeat 4 within 60 s"),
        (garbage, "a frame of 1213486160 bytes; 0 to 100000000 are allowed"),
        (short, "the answer to Heartbeat 4 cannot be read: Truncated: "),
        (mixed_up, "an answer has correlation id 9999; the next request in line had 1"),
        (unheard_of, "the script cannot go on with what was answered: ValueError: 999 is not a valid ErrorCode"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_wrong_brokers(rule_of, change, message):
    async with server() as opener, trio.open_nursery() as nursery:
        found = await run(rule_of("kept"), between(opener, nursery, change))
        nursery.cancel_scope.cancel()
    assert found.verdict is Verdict.BROKEN
    assert found.failure.message.startswith(message)
    assert found.unanswered is (change in (closing, silent))
    assert found.failure.places[-1].text.startswith("assert await client.heartbeat(")
    expected = {closing: What.CLOSED, silent: What.SENT, garbage: What.SENT}.get(change, What.GOT)
    assert found.transcript[-1].what is expected


async def test_what_a_server_in_this_process_offers():
    async with server() as opener:
        target = await reach(opener, ["group.max.size"])
    assert target.offers[HeartbeatRequest.API_KEY] == Versions(0, 4)
    assert target.offers[ListGroupsRequest.API_KEY] == Versions(0, 5)
    assert target.settings["group.max.size"] == "2147483647"
