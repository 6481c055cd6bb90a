"""What was said, as people read it."""

import struct

from kcoord.check.transcript import MOST_ENTRIES, Transcript, What, shown_value
from wire.errors import ErrorCode
from wire.header import request_frame, response_frame
from wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    ListGroupsRequest,
    ListGroupsResponse,
)


def shown(what, data, answers=None):
    transcript = Transcript(lambda: 0.0)
    transcript.connection().note(what, data, answers)
    opened, entry = transcript.shown()
    assert opened.title == "opened"
    return entry


def test_a_request():
    request = JoinGroupRequest(
        group_id="g", member_id="", protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\1")]
    )
    entry = shown(What.SENT, request_frame(7, "me", request, 5))
    assert entry.title == "JoinGroup 5 request 7, client 'me'"
    assert (0, "group_id", "'g'") in entry.fields
    assert entry.fields[-4:] == (
        (0, "protocols", "1 of them"),
        (1, "[0]", ""),
        (2, "name", "'range'"),
        (2, "metadata", "00 01"),
    )
    first, second, *_ = entry.lines()
    assert first == "   0.000 s  #1 -> JoinGroup 5 request 7, client 'me'"
    assert second == f"{'':17}group_id: 'g'"


def test_an_answer():
    frame = response_frame(7, HeartbeatResponse(error_code=25), 4)[4:]
    entry = shown(What.GOT, frame, (HeartbeatRequest, 4))
    assert entry.title == "Heartbeat 4 response 7"
    assert entry.fields == ((0, "throttle_time_ms", "0"), (0, "error_code", "25 UNKNOWN_MEMBER_ID"))
    assert next(entry.lines()).endswith("#1 <- Heartbeat 4 response 7")


def test_an_empty_list_and_an_error_that_there_is_not():
    entry = shown(What.GOT, response_frame(1, ListGroupsResponse(error_code=999), 0)[4:], (ListGroupsRequest, 0))
    assert entry.fields == ((0, "error_code", "999 (no error that Kafka has)"), (0, "groups", "[]"))


def test_what_makes_no_sense():
    frame = response_frame(7, HeartbeatResponse(), 1)[4:]
    heartbeat = (HeartbeatRequest, 1)
    assert shown(What.GOT, frame + b"x", heartbeat).fields[-1] == (0, "left over", "b'x'")
    assert shown(What.GOT, frame[:-1], heartbeat).fields[-1][1].startswith("cannot be read further: ")
    assert shown(What.GOT, b"\0\1", heartbeat).title == "Heartbeat 1 response?, 2 bytes"
    assert shown(What.GOT, b"\0\1").title == "a frame that answers nothing, 2 bytes"
    assert shown(What.SENT, b"\0\1").title == "bytes, 2 bytes"
    assert shown(What.SENT, b"\0\0\0\1\0").title == "a frame, 1 bytes"
    foreign = struct.pack(">hhih", 999, 0, 1, -1) + b"body"
    entry = shown(What.SENT, struct.pack(">i", len(foreign)) + foreign)
    assert (entry.title, entry.fields) == ("API 999 0 request 1, client None, 4 bytes", ((0, "bytes", "b'body'"),))
    assert shown(What.CLOSED, b"").title == "closed"


def test_long_frames_are_cut():
    request = ListGroupsRequest(states_filter=["x" * 1000] * 50)
    entry = shown(What.SENT, request_frame(1, None, request, 4))
    assert entry.fields[-1][1] == "and so on"


def test_the_first_and_the_last_entries_are_kept():
    now = 0.0
    transcript = Transcript(lambda: now)
    line = transcript.connection()
    for now in range(1, 2 * MOST_ENTRIES):  # noqa: B007 - the clock reads it
        line.note(What.CLOSED)
    entries = transcript.entries
    assert len(entries) == MOST_ENTRIES
    assert [entries[0].seconds, entries[1].seconds, entries[-1].seconds] == [0, 1, 2 * MOST_ENTRIES - 1]
    assert transcript.left_out == MOST_ENTRIES
    titles = [each.title for each in transcript.shown()]
    assert titles[MOST_ENTRIES // 2] == f"{MOST_ENTRIES} entries are left out"
    assert len(titles) == MOST_ENTRIES + 1


def test_values():
    assert shown_value(ErrorCode.NONE) == "NONE (0)"
    assert shown_value(b"\xff" * 100) == "ff " * 47 + "ff ... (100 bytes)"
    assert shown_value("x" * 500) == "'" + "x" * 399 + "... (502 characters)"
