"""Settings that are not Kafka's defaults: a rule that does not count on them says nothing where they refuse it."""

import dataclasses

import pytest

from kcoord.check.limits import NONE, Limits
from kcoord.check.result import Verdict
from kcoord.check.runner import Plan, check
from tests.check.conftest import server
from wire.codec import encode
from wire.errors import ErrorCode
from wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

TOLD = {
    "group.max.size": "2",
    "group.min.session.timeout.ms": "8000",
    "group.max.session.timeout.ms": "60000",
    "offset.metadata.max.bytes": "10",
}


def joined(session, error):
    return JoinGroupRequest(session_timeout_ms=session), JoinGroupResponse(error_code=error)


def committed(text, error):
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=text)
    request = OffsetCommitRequest(topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    answered = OffsetCommitResponsePartition(partition_index=0, error_code=error)
    return request, OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[answered])])


FULL, SESSION, LONG = (
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.OFFSET_METADATA_TOO_LARGE,
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (joined(10_000, FULL), "group.max.size is 2 there, too few for the members of this rule"),
        (joined(10_000, ErrorCode.NONE), ""),
        (joined(6_000, SESSION), "group.min.session.timeout.ms is 8000 there, and the rule has a session of 6000 ms"),
        (joined(7_999, SESSION), "group.min.session.timeout.ms is 8000 there, and the rule has a session of 7999 ms"),
        (joined(8_000, SESSION), ""),
        (joined(5_999, SESSION), ""),
        (joined(60_000, SESSION), ""),
        (
            joined(60_001, SESSION),
            "group.max.session.timeout.ms is 60000 there, and the rule has a session of 60001 ms",
        ),
        (
            joined(1_800_000, SESSION),
            "group.max.session.timeout.ms is 60000 there, and the rule has a session of 1800000 ms",
        ),
        (joined(1_800_001, SESSION), ""),
        (committed("x" * 4_096, LONG), "offset.metadata.max.bytes is 10 there, too few for what the rule commits"),
        (committed("x" * 4_097, LONG), ""),
        (committed(None, ErrorCode.NONE), ""),
        ((HeartbeatRequest(), HeartbeatResponse(error_code=FULL)), ""),
    ],
)
def test_what_a_setting_explains(said, why):
    assert Limits.of(TOLD, ()).why_refused(*said) == why
    assert NONE.why_refused(*said) == ""
    assert Limits.of(TOLD, TOLD).why_refused(*said) == ""


def test_what_a_setting_explains_of_what_was_sent_as_bytes():
    request, answer = committed("x" * 100, LONG)
    body = encode(request, 8)
    told = Limits.of(TOLD, ())
    assert told.why_refused_as_sent(OffsetCommitRequest, 8, body, answer) == told.why_refused(request, answer) != ""
    assert told.why_refused_as_sent(OffsetCommitRequest, 8, body[:-9], answer) == ""
    assert NONE.why_refused_as_sent(OffsetCommitRequest, 8, body, answer) == ""


def test_only_what_is_told_and_is_not_at_its_default():
    told = {
        "group.max.size": None,
        "group.min.session.timeout.ms": "6000",
        "offset.metadata.max.bytes": "many",
        "x": "1",
    }
    assert Limits.of(told, ()) == NONE


async def test_a_rule_with_more_members_than_a_group_may_have_does_not_apply(rule_of):
    async def three_join(world):
        members = await world.completing(world.group(), None, None, None)
        assert len(members) == 3

    async def the_third_is_refused(world):
        leader, _ = await world.stable2(world.group())
        answer = await (await (await world.client()).join(leader.group)).answer()
        assert answer.error_code == FULL

    rules = [
        dataclasses.replace(rule_of("kept", id="three"), script=three_join),
        dataclasses.replace(rule_of("kept", id="full", settings={"group.max.size": 2}), script=the_third_is_refused),
    ]
    async with server({"group.max.size": "2"}) as opener:
        three, full = (await check(opener, "here", Plan(rules))).results
    assert (three.verdict, three.reason) == (
        Verdict.NOT_APPLICABLE,
        "group.max.size is 2 there, too few for the members of this rule",
    )
    assert full.verdict is Verdict.KEPT
