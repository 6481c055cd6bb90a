"""Questions with their answers, out of what was recorded."""

import struct

import pytest

from kcoord.check.transcript import MOST_BYTES, MOST_ENTRIES, What
from tests.check.talk import Talk, entry, framed, read
from wire.errors import ErrorCode
from wire.header import request_frame, response_frame
from wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def test_a_question_and_its_answer():
    talk = Talk()
    talk.ask(HEARTBEAT, 4, HeartbeatResponse(error_code=27))
    (one,) = talk.said().exchanges
    assert one.asked.title == "Heartbeat 4 request, client 'me'"
    assert one.asked.value == {"group_id": "g", "generation_id": 1, "member_id": "m", "group_instance_id": None}
    assert one.answer.title == "Heartbeat 4 response"
    assert one.answer.value == {"throttle_time_ms": 0, "error_code": 27}
    assert not one.closed
    assert talk.said().whole


def test_answers_find_their_questions_by_correlation_id_and_connection():
    talk = Talk()
    late = talk.ask(HEARTBEAT, 4)
    other = talk.ask(HEARTBEAT, 3, connection=2)
    talk.answer(other, HeartbeatResponse(error_code=1), 3, connection=2)
    talk.answer(late, HeartbeatResponse(error_code=2), 4)
    talk.answer(late, HeartbeatResponse(error_code=3), 4)
    first, second, nobody = talk.said().exchanges
    assert (first.answer.value["error_code"], second.answer.value["error_code"]) == (2, 1)
    assert nobody.asked is None
    assert nobody.answer.title == "a frame that answers nothing"


def test_a_connection_that_is_closed():
    talk = Talk()
    talk.ask(HEARTBEAT, 4)
    talk.close()
    talk.line(2)
    talk.close(2)
    first, second = talk.said().exchanges
    assert first.closed
    assert (second.connection, second.asked, second.closed) == (2, None, True)


def test_frames_in_pieces_and_several_at_once():
    frame = request_frame(1, "me", HEARTBEAT, 4)
    answer = response_frame(1, HeartbeatResponse(), 4)[4:]
    one, two, rest = read(
        entry(What.SENT, frame[:3]),
        entry(What.SENT, frame[3:] + frame + frame[:7]),
        entry(What.GOT, answer),
        entry(What.GOT, answer),
    )
    assert one.answer is not None
    assert two.answer is not None
    assert one.asked.title == two.asked.title == "Heartbeat 4 request, client 'me'"
    assert (rest.asked.title, rest.asked.value) == ("bytes", frame[:7])


def test_what_was_sent_last_comes_before_the_end():
    only, other = read(entry(What.SENT, b"\x7f\xff\xff\xff?"), entry(What.CLOSED), entry(What.SENT, b"\xff" * 5))
    assert (only.asked.value, only.closed) == (b"\x7f\xff\xff\xff?", True)
    assert (other.asked.value, other.closed) == (b"\xff" * 5, False)


@pytest.mark.parametrize(
    ("frame", "title", "value"),
    [
        (b"\0\x0c\0", "a frame", b"\0\x0c\0"),
        (struct.pack(">hhih1s", 99, 1, 7, 1, b"c") + b"body", "API 99 1 request, client 'c'", b"body"),
        (struct.pack(">hhih1s", 12, 99, 7, 1, b"c") + b"\0body", "Heartbeat 99 request, client 'c'", b"body"),
        (struct.pack(">hhih1s", 12, 0, 7, 1, b"c") + b"\0\x09g", "Heartbeat 0 request, client 'c'", b"\0\x09g"),
    ],
    ids=["no header", "no API", "no version", "no body"],
)
def test_questions_that_make_no_sense(frame, title, value):
    (one,) = read(entry(What.SENT, framed(frame)))
    assert (one.asked.title, one.asked.value) == (title, value)


def test_answers_that_make_no_sense():
    frame = request_frame(1, "me", HEARTBEAT, 4)
    (one,) = read(entry(What.SENT, frame), entry(What.GOT, struct.pack(">i", 1) + b"\0"))
    assert one.answer.value == b"\0"
    unknown = framed(struct.pack(">hhih1s", 12, 99, 7, 1, b"c") + b"\0")
    (one,) = read(entry(What.SENT, unknown), entry(What.GOT, struct.pack(">i", 7) + b"!"))
    assert one.answer.value == b"!"


def test_a_version_of_api_versions_that_there_is_not():
    frame = framed(struct.pack(">hhih1s", 18, 99, 7, 1, b"c") + b"\0")
    error = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    (one,) = read(entry(What.SENT, frame), entry(What.GOT, response_frame(7, error, 0)[4:]))
    assert one.answer.value["error_code"] == 35
    assert ApiVersionsRequest.API_KEY == 18


def test_of_long_frames_the_beginning_is_read():
    topics = [MetadataRequestTopic(name="t" * 100) for _ in range(400)]
    partitions = [MetadataResponsePartition(partition_index=number) for number in range(1000)]
    answer = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)])
    talk = Talk()
    talk.ask(MetadataRequest(topics=topics), 12, answer)
    (one,) = talk.said().exchanges
    assert one.asked.part
    assert one.answer.part
    assert one.asked.value["topics"][0]["name"] == "t" * 100
    assert 50 < len(one.asked.value["topics"]) < 400
    (topic,) = one.answer.value["topics"]
    assert (topic["name"], topic["partitions"][3]["partition_index"]) == ("t", 3)
    assert "tags" not in topic


def test_of_many_frames_in_one_long_write_the_first_are_read():
    frame = request_frame(1, "me", HEARTBEAT, 4)
    stream = frame * (MOST_BYTES // len(frame) + 10)
    found = read(entry(What.SENT, stream[:MOST_BYTES], len(stream)), entry(What.GOT, struct.pack(">i", 5)))
    assert len(found) == MOST_BYTES // len(frame)


def test_of_long_transcripts_the_first_part_is_read():
    talk = Talk()
    for _ in range(MOST_ENTRIES):
        talk.ask(HEARTBEAT, 4, HeartbeatResponse())
    said = talk.said()
    assert not said.whole
    assert len(said.exchanges) == MOST_ENTRIES // 4
