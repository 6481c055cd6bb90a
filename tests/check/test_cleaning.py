"""What a run made is removed, whatever becomes of it, and nothing else is touched."""

import dataclasses
import struct
from contextlib import suppress

import pytest
import trio
from trio.testing import memory_stream_pair

from kcoord.check import runner
from kcoord.check.cleaning import PATIENCE
from kcoord.check.outcome import CannotRun
from kcoord.check.probe import Client
from kcoord.check.result import Verdict
from kcoord.check.runner import Plan, check
from tests.check.conftest import server
from tests.check.runs import only, run, things_at, without
from wire.errors import ErrorCode
from wire.frame import FrameBuffer
from wire.header import read_request_header
from wire.messages import (
    REQUESTS,
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
)


async def test_nothing_is_left_behind_and_nobody_is_touched(rule_of):
    async with server(topics={"t": 3, "kcoord-check": 1}) as opener:
        client = Client(await opener())
        for group in ("theirs", "kcoord-check"):
            assert await client.commit(group, {("t", 0): 7}) == {("t", 0): ErrorCode.NONE}
        before = await things_at(opener)
        report = await check(opener, "here", Plan([rule_of("leaves_things"), rule_of("takes_the_empty_group")]))
        assert (report.count(Verdict.KEPT), report.notes) == (2, ())
        assert await things_at(opener) == before
        assert await client.fetch("theirs") == {("t", 0): (7, -1, "")}


async def test_a_group_that_is_somebodys_is_not_taken(rule_of):
    async with server(topics={"t": 3}) as opener:
        client = Client(await opener())
        await client.commit("", {("t", 0): 7})
        report = await check(opener, "here", Plan([rule_of("takes_the_empty_group")]))
        assert report.results[0].reason == "there is a group '' at this broker, which is somebody's"
        assert await client.fetch("") == {("t", 0): (7, -1, "")}


async def test_a_group_that_was_taken_can_be_taken_by_the_next_rule(rule_of):
    async with server(topics={"t": 3}) as opener:
        rules = [rule_of("takes_the_empty_group", id=name, alone=True) for name in ("one", "two")]
        report = await check(opener, "here", Plan(rules))
        assert [each.verdict for each in report.results] == [Verdict.KEPT] * 2


async def test_nothing_is_left_behind_after_an_interrupt(rule_of):
    async with server() as opener:
        rules = [rule_of("leaves_things"), rule_of("waits_for_ever")]
        with trio.move_on_after(10) as scope:
            await check(opener, "here", Plan(rules))
        assert scope.cancelled_caught
        assert await things_at(opener) == (set(), set())


async def test_what_cannot_be_removed_is_told(rule_of):
    report = await run(rule_of("leaves_things"), change=without(DeleteTopicsRequest, DeleteGroupsRequest))
    assert report.notes == (
        "groups could not be removed: DeleteGroups is not advertised",
        "topics could not be removed: DeleteTopics is not advertised",
    )

    def refuse(message):
        for each in message.responses:
            each.error_code = ErrorCode.TOPIC_DELETION_DISABLED

    report = await run(rule_of("leaves_things"), change=only(DeleteTopicsRequest, refuse))
    assert report.notes == ("4 topics could not be removed: TOPIC_DELETION_DISABLED",)


def slow_to(seconds, *classes):
    """What connects to a server that answers some requests late, as `between` does what is at once."""

    def of(opener, nursery):
        async def connect():
            near, far = memory_stream_pair()
            nursery.start_soon(serve, far, await opener())
            return near

        async def serve(far, real):
            async def there():
                frames = FrameBuffer(1 << 20)
                while data := await far.receive_some():
                    frames.feed(data)
                    while (frame := frames.next()) is not None:
                        if REQUESTS[read_request_header(frame)[0].api_key] in classes:
                            await trio.sleep(seconds)
                        await real.send_all(struct.pack(">i", len(frame)) + frame)

            async def back():
                while data := await real.receive_some():
                    await far.send_all(data)

            async with far, real, trio.open_nursery() as both:
                both.start_soon(back)
                with suppress(trio.BrokenResourceError):
                    await there()
                both.cancel_scope.cancel()

        return connect

    return of


@pytest.mark.parametrize(("late", "left"), [(8, False), (PATIENCE + 1, True)])
async def test_what_was_made_is_removed_as_long_as_the_broker_goes_on_answering(rule_of, late, left):
    rules = [rule_of("leaves_things", id=f"leaves-{number}") for number in range(3)]
    async with server() as opener, trio.open_nursery() as nursery:
        slow = slow_to(late, DeleteGroupsRequest, DescribeGroupsRequest, LeaveGroupRequest, DeleteTopicsRequest)
        before = trio.current_time()
        report = await check(slow(opener, nursery), "here", Plan(rules))
        assert trio.current_time() - before > PATIENCE
        assert [note for note in report.notes if "given up" in note] == (
            [f"cleaning up was given up after {PATIENCE:g} s; names begin with kcoord-check-{report.run_id}-"]
            if left
            else []
        )
        assert (await things_at(opener) != (set(), set())) is left
        nursery.cancel_scope.cancel()


async def test_who_cannot_be_reached_any_more_is_told_of(rule_of):
    async with server() as opener:
        gone = False

        async def connect():
            if gone:
                raise ConnectionRefusedError("gone")
            return await opener()

        rule = rule_of("kept")

        async def goes(world):
            nonlocal gone
            await rule.script(world)
            gone = True

        report = await check(connect, "here", Plan([dataclasses.replace(rule, script=goes)]))
    assert report.notes == ("nothing could be cleaned up: gone",)


async def test_a_broker_that_lets_nobody_in_any_more(autojump_clock, rule_of):
    """As when a password, or a certificate, is another one from some moment on: the report is told all the same."""
    entered = 0
    async with server() as opener:

        async def connect():
            nonlocal entered
            entered += 1
            if entered > 3:
                raise CannotRun("the broker does not let 'u' in: no")
            return await opener()

        report = await check(connect, "here", Plan([rule_of("kept"), rule_of("kept", id="later", alone=True)]))
    assert report.stopped.startswith("the run was stopped, as the broker is gone (the broker does not let 'u' in: no)")
    assert report.notes == (report.stopped, "nothing could be cleaned up: the broker does not let 'u' in: no")
    assert runner.SIDE_BY_SIDE > 1
