"""A run that is stopped, at any moment: what it made is removed, and that is told."""

import struct

import pytest
import trio

from kcoord.check.outcome import CannotRun
from kcoord.check.result import Progress
from kcoord.check.runner import Plan, check
from kcoord.check.shared_topics import TO_MAKE_TOPICS
from kcoord.check.target import SOON
from tests.check.brokers import between
from tests.check.conftest import server
from tests.check.runs import only, things_at
from tests.check.test_bad_brokers import without_settings
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FindCoordinatorRequest,
    JoinGroupRequest,
    MetadataRequest,
)


def silent_to(*classes):
    """A broker that does what some requests ask for, and never says so."""

    def change(asked, version, message, frame):
        return b"" if asked in classes else frame

    return change


async def stopped(rule, change, after):
    """Stop a run after so many seconds; return what is at the broker then, and what was told of the run."""
    progress = Progress()
    async with server() as opener, trio.open_nursery() as nursery:
        start = trio.current_time()
        with trio.move_on_after(after) as scope:
            await check(between(opener, nursery, change), "here", Plan([rule]), progress)
        assert scope.cancelled_caught
        progress.phase = f"{progress.phase} {trio.current_time() - start:.0f}"
        left = await things_at(opener)
        nursery.cancel_scope.cancel()
    return left, progress


async def test_while_topics_are_made(rule_of):
    left, progress = await stopped(rule_of("kept"), silent_to(CreateTopicsRequest), 3)
    assert left == (set(), set())
    assert (progress.begun, progress.left) == (True, [])
    assert progress.phase == f"cleaning up {3 + TO_MAKE_TOPICS:.0f}"


async def test_while_topics_that_were_made_are_waited_for(rule_of):
    def leaderless(message):
        for topic in message.topics:
            topic.error_code = ErrorCode.LEADER_NOT_AVAILABLE

    left, _ = await stopped(rule_of("kept"), only(MetadataRequest, leaderless), 3)
    assert left == (set(), set())


async def test_while_the_first_group_waits_for_members(rule_of):
    left, progress = await stopped(rule_of("kept"), without_settings, 1)
    assert left == (set(), set())
    assert progress.begun


async def test_before_anything_was_made(rule_of):
    _, progress = await stopped(rule_of("kept"), silent_to(FindCoordinatorRequest), 1)
    assert not progress.begun


async def test_what_could_not_be_removed_is_told(rule_of):
    def refuse(message):
        for each in message.responses:
            each.error_code = ErrorCode.TOPIC_DELETION_DISABLED

    _, progress = await stopped(rule_of("waits_for_ever"), only(DeleteTopicsRequest, refuse), 3)
    assert progress.left == ["2 topics could not be removed: TOPIC_DELETION_DISABLED"]


async def test_topics_of_which_some_could_not_be_made_are_removed(rule_of):
    def refuse_one(message):
        message.topics[1].error_code = ErrorCode.POLICY_VIOLATION

    async with server() as opener, trio.open_nursery() as nursery:
        await check(between(opener, nursery, only(CreateTopicsRequest, refuse_one)), "here", Plan([rule_of("kept")]))
        assert await things_at(opener) == (set(), set())
        nursery.cancel_scope.cancel()


async def test_topics_that_do_not_get_ready_are_removed(rule_of):
    def leaderless(message):
        for topic in message.topics:
            topic.error_code = ErrorCode.LEADER_NOT_AVAILABLE

    async with server() as opener, trio.open_nursery() as nursery:
        changed = between(opener, nursery, only(MetadataRequest, leaderless))
        report = await check(changed, "here", Plan([rule_of("leaves_things")]))
        assert report.results[0].reason == f"topics were made, but are not there after {SOON:g} s"
        assert await things_at(opener) == (set(), set())
        nursery.cancel_scope.cancel()


async def test_topics_of_a_broker_that_is_of_no_use_after_all_are_removed(rule_of):
    def nonsense(message):
        message.topics.clear()

    async with server() as opener, trio.open_nursery() as nursery:
        changed = between(opener, nursery, only(MetadataRequest, nonsense))
        with pytest.raises(CannotRun, match="of no use: Metadata tells of 0 topics, where one was asked for"):
            await check(changed, "here", Plan([rule_of("kept")]))
        assert await things_at(opener) == (set(), set())
        nursery.cancel_scope.cancel()


# --- answers to other questions ---


def to_another_question(*classes):
    def change(asked, version, message, frame):
        number = struct.unpack_from(">i", frame, 4)[0]
        other = frame[:4] + struct.pack(">i", number + 77) + frame[8:]
        return other if asked in classes else frame

    return change


@pytest.mark.parametrize("asked", [MetadataRequest, CreateTopicsRequest])
async def test_an_answer_to_another_question_ends_the_run(rule_of, asked):
    async with server() as opener, trio.open_nursery() as nursery:
        changed = between(opener, nursery, to_another_question(asked))
        with pytest.raises(CannotRun, match=r"of no use: an answer has correlation id \d+; the next request in line"):
            await check(changed, "here", Plan([rule_of("kept")]))
        nursery.cancel_scope.cancel()


async def test_such_an_answer_while_things_are_removed_is_told(rule_of):
    async with server() as opener, trio.open_nursery() as nursery:
        changed = between(opener, nursery, to_another_question(DeleteTopicsRequest))
        report = await check(changed, "here", Plan([rule_of("kept")]))
        assert [note.partition(": an answer has")[0] for note in report.notes] == ["topics could not be removed"]
        nursery.cancel_scope.cancel()


async def test_such_an_answer_while_the_first_group_waits_says_nothing_about_how_long(rule_of):
    wrong = to_another_question(JoinGroupRequest)

    def change(asked, version, message, frame):
        if asked is ApiVersionsRequest:
            return without_settings(asked, version, message, frame)
        return wrong(asked, version, message, frame)

    async with server() as opener, trio.open_nursery() as nursery:
        report = await check(between(opener, nursery, change), "here", Plan([rule_of("kept")]))
        assert report.notes == ()
        nursery.cancel_scope.cancel()
