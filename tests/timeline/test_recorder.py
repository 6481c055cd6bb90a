"""What is kept stays within bounds, and what is not read is left alone."""

import pytest
import trio

from kcoord.core.notes import GroupCreated
from kcoord.core.outcome import Now
from kcoord.notices import BrokerStopped, ClockFrozen, ClockResumed, RequestAnswered, RequestReceived
from kcoord.timeline import Recorder, reading
from kcoord.timeline import recorder as recorder_module
from wire.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)


class Time:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return Now(self.seconds, 1_000_000 + int(self.seconds * 1000))


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def recorder(time):
    return Recorder(time)


def received(number, api, request):
    return RequestReceived(
        number=number,
        connection=1,
        host="127.0.0.1",
        port=5,
        client_id="app",
        node_id=1,
        api=api,
        version=4,
        request=request,
    )


def heard(recorder, number, api, request, response, fault=""):
    recorder.request(received(number, api, request))
    recorder.request(RequestAnswered(number=number, response=response, fault=fault))


def beat(recorder, number, group="g", member="m", error=0):
    request = HeartbeatRequest(group_id=group, generation_id=1, member_id=member)
    heard(recorder, number, "Heartbeat", request, HeartbeatResponse(error_code=error))


def test_the_first_and_the_last_events_of_a_group_are_kept(recorder, monkeypatch):
    monkeypatch.setattr(recorder_module, "MOST_EVENTS", 10)
    monkeypatch.setattr(recorder_module, "FIRST_EVENTS", 4)
    for number in range(100):
        beat(recorder, number, error=number % 2 * 27)
    events = recorder.of("g").events
    assert len(events) == 12
    assert [type(each).__name__ for each in events].index("LeftOut") == 4
    assert events[4].count == 89
    assert "89 events are left out" in recorder.of("g").text()


def test_the_groups_to_which_something_happened_last_are_kept(recorder, monkeypatch):
    monkeypatch.setattr(recorder_module, "MOST_GROUPS", 2)
    for number, group in enumerate(["a", "b", "a", "c"]):
        beat(recorder, number, group)
    assert recorder.groups() == ["a", "c"]


def test_heartbeats_of_others_do_not_part_those_of_one(recorder, time):
    for number in range(6):
        time.seconds += 1
        beat(recorder, number, member=f"m{number % 2}")
    counts = [(each.member, each.count, each.at, each.last) for each in recorder.of("g").events]
    assert counts == [("m0", 3, 1, 5), ("m1", 3, 2, 6)]


def test_a_request_that_gets_no_answer_and_one_with_a_fault(recorder):
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    heard(recorder, 1, "Heartbeat", request, None)
    heard(recorder, 2, "Heartbeat", request, HeartbeatResponse(error_code=27), "heartbeats are answered 27")
    told = recorder.of("g").text()
    assert "app heartbeats in generation 1: no answer" in told
    assert "app heartbeats in generation 1: REBALANCE_IN_PROGRESS [fault: heartbeats are answered 27]" in told


def test_requests_about_many_groups_are_told_of_each_up_to_some(recorder):
    heard(recorder, 1, "DescribeGroups", DescribeGroupsRequest(groups=[f"g{n}" for n in range(50)]), None)
    assert len(recorder.groups()) == reading.MOST_GROUPS
    several = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="x", topics=None)])
    heard(recorder, 2, "OffsetFetch", several, None)
    assert "app asks for the committed offsets: no answer" in recorder.of("x").text()


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\xff" * 10, b"x" * (reading.LONGEST + 1)])
def test_what_is_no_subscription_is_left_alone(recorder, metadata):
    protocols = [JoinGroupRequestProtocol(name="p", metadata=metadata)]
    request = JoinGroupRequest(
        group_id="g", session_timeout_ms=1, member_id="", protocol_type="consumer", protocols=protocols
    )
    heard(recorder, 1, "JoinGroup", request, None)
    assert recorder.of("g").events[0].claims == {}


@pytest.mark.parametrize("assignment", [b"\0", b"\xff" * 10, b"x" * (reading.LONGEST * 16 + 1)])
def test_what_is_no_assignment_is_left_alone(recorder, assignment):
    request = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id="m",
        assignments=[SyncGroupRequestAssignment(member_id="m", assignment=assignment)],
    )
    heard(recorder, 1, "SyncGroup", request, SyncGroupResponse(error_code=0, assignment=assignment))
    asked, answered = recorder.of("g").events
    assert (asked.handed_in, answered.assigned) == (None, None)


async def test_what_was_open_when_everything_was_forgotten_is_no_trouble(autojump_clock, stage):
    a, b = stage.actor("a"), stage.actor("b")
    await stage.generation({"a": (0, 1, 2)}, a)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(b.join)
        await trio.sleep(1)
        stage.recorder.forget()
        nursery.start_soon(a.join)
    assert stage.timeline().text().startswith("Group g: CompletingRebalance")


def test_that_the_time_stands_still_is_not_forgotten(recorder):
    recorder.note(ClockFrozen())
    recorder.forget()
    recorder.note(GroupCreated(group="g"))
    recorder.note(BrokerStopped(node_id=1))
    recorder.note(GroupCreated(group="h"))
    assert [type(each.note) for each in recorder.of("g").events] == [ClockFrozen, GroupCreated, BrokerStopped]
    assert [type(each.note) for each in recorder.of("h").events] == [ClockFrozen, GroupCreated]
    recorder.note(ClockResumed())
    recorder.note(GroupCreated(group="i"))
    assert [type(each.note) for each in recorder.of("i").events] == [GroupCreated]
