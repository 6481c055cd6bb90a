"""Frames are read field by field, as far as they make sense."""

import json
import uuid

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wire.messages as m
from kcoord.dump.explain import Explainer, is_request
from kcoord.dump.frames import Frame, Remark
from kcoord.dump.inside import Room, record_batches
from kcoord.dump.show import as_json, as_text, kafka_uuid, path_text, remark_as_json, remark_as_text
from tests.dump.samples import (
    ASSIGNMENT,
    METADATA,
    batches,
    heartbeat,
    heartbeat_answer,
    join_request,
    join_response,
    produce,
)
from wire.compression import MOST_UNPACKED
from wire.header import request_frame, response_frame
from wire.records import Compression, Record, build


def explained(data, *, answers=None, from_client=None):
    from_client = answers is None if from_client is None else from_client
    return Explainer(answers).explain(Frame(data, from_client=from_client))


def shown(found):
    return {path_text(row.path): (row.offset, row.value) for row in [*found.header, *found.body]}


def lines(found):
    return as_text(1, found).splitlines()


def test_a_request_as_text():
    frame = Frame(join_request(), 3, True, "a:1", "b:2", 1_700_000_000_123.5)
    assert as_text(7, Explainer().explain(frame)) == (
        "#7 2023-11-14T22:13:20.123500Z a:1 > b:2 connection 3: JoinGroup v9 request, correlation id 1, 94 bytes\n"
        "     0  size                    90\n"
        "     4  api_key                 11  JoinGroup\n"
        "     6  api_version             9\n"
        "     8  correlation_id          1\n"
        "    12  client_id               'me'\n"
        "    17  group_id                'g'\n"
        "    19  session_timeout_ms      0\n"
        "    23  rebalance_timeout_ms    -1\n"
        "    27  member_id               ''\n"
        "    28  group_instance_id       null\n"
        "    29  protocol_type           'consumer'\n"
        "    38  protocols               1 of them\n"
        "    39    [0]\n"
        "    39      name                'range'\n"
        "    45      metadata            45 bytes, in which there is\n"
        "    46        version           3  subscription of the consumer protocol\n"
        "    48        topics            2 of them\n"
        "    52          [0]             't'\n"
        "    55          [1]             'u'\n"
        "    58        user_data         null\n"
        "    62        owned_partitions  1 of them\n"
        "    66          [0]\n"
        "    66            topic         't'\n"
        "    69            partitions    2 of them\n"
        "    73              [0]         0\n"
        "    77              [1]         1\n"
        "    81        generation_id     3\n"
        "    85        rack_id           'here'\n"
        "    92  reason                  null\n"
    )


def test_an_answer_is_known_by_its_request():
    explainer = Explainer()
    for number, group in enumerate("gh", 1):
        explainer.explain(Frame(join_request(number, group), number))
        explainer.explain(Frame(join_request(9, group), 3))
    first = explainer.explain(Frame(join_response(2, "n"), 2, from_client=False))
    assert (first.api, first.version, first.groups) == ("JoinGroup", 9, {"h"})
    assert shown(first)["members[0].metadata.topics[1]"][1] == "u"
    for _ in range(2):
        again = explainer.explain(Frame(join_response(2, "n"), 2, from_client=False))
        assert (again.api, again.correlation_id) == (None, 2)
        assert "the request that this answers was not seen" in as_text(1, again)
    explainer.forget(1)
    assert explainer.explain(Frame(join_response(1), 1, from_client=False)).api is None


def test_requests_that_nobody_answers_are_forgotten_in_the_end(monkeypatch):
    monkeypatch.setattr("kcoord.dump.explain.MOST_ASKED", 2)
    explainer = Explainer()
    for number in range(3):
        explainer.explain(Frame(heartbeat(number)))
    apis = [explainer.explain(Frame(heartbeat_answer(n), from_client=False)).api for n in range(3)]
    assert apis == [None, "Heartbeat", "Heartbeat"]


def test_errors_have_names():
    assert "error_code        27  REBALANCE_IN_PROGRESS" in as_text(
        1, explained(heartbeat_answer(1, 27), answers=(12, 4))
    )
    assert "no error that is known here" in as_text(1, explained(heartbeat_answer(1, 999), answers=(12, 4)))


def test_versions_that_the_broker_lacks_are_answered_in_version_0():
    answer = response_frame(1, m.ApiVersionsResponse(error_code=35, api_keys=[m.ApiVersion(api_key=18)]), 0)
    found = explained(answer, answers=(18, 99))
    assert shown(found)["api_keys[0].api_key"] == (14, 18)
    assert not found.problems


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0\0\0\x0d\0\x0c\0\x09\0\0\0\1\0\2me\0", "version 9 of Heartbeat is not described here; described"),
        (b"\0\0\0\x0a\0\x44\0\0\0\0\0\1\xff\xff", "version 0 of ConsumerGroupHeartbeat is not described here"),
        (b"\0\0\0\x0a\x7f\x44\0\0\0\0\0\1\xff\xff", "API 32580"),
        (b"\0\0\0\x03\0\x0c\0", "too short for the header of a request"),
        (b"\0\0\0\x08\0\x0c\0\4\0\0\0\1", "in client_id"),
        (heartbeat() + b"more", "4 bytes after the end of the message"),
        (heartbeat()[:-2], "the frame has"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(data, words):
    text = as_text(1, explained(data))
    assert words in text
    assert "! stopped at offset" in text or words.startswith("API")


def test_answers_that_are_too_short():
    assert "too short for the header of a response" in as_text(1, explained(b"\0\0\0\2ab", answers=(12, 4)))
    assert "tags" in as_text(1, explained(b"\0\0\0\4\0\0\0\1", answers=(12, 4)))


def test_tagged_fields_have_their_numbers():
    data = request_frame(1, "me", m.FetchRequest(cluster_id="c"), 12)
    data = data[:-5] + b"\2\0\2\2c\x4d\3abc"
    text = as_text(1, explained((len(data) - 4).to_bytes(4, "big") + data[4:]))
    assert "[0]                  tag 0" in text
    assert "cluster_id         'c'" in text
    assert "[1]                  tag 77" in text
    assert "body               616263 (3 bytes)" in text


def test_metadata_of_others_is_left_alone():
    rows = shown(explained(join_request(protocol_type="connect")))
    assert rows["protocols[0].metadata"][1] == METADATA
    assert "protocols[0].metadata.version" not in rows


def test_metadata_that_is_none_is_told_where_it_should_be_some():
    assert "in protocols[0].metadata" in as_text(1, explained(join_request(metadata=b"\0")))
    assert "a subscription of version -1" in as_text(1, explained(join_request(metadata=b"\xff\xff")))
    assert "2 bytes after the end of a subscription" in as_text(1, explained(join_request(metadata=METADATA + b"ab")))
    assert "stopped" in as_text(1, explained(join_request(metadata=METADATA[:-3])))
    # Nobody said in that version what it is.
    found = explained(join_response(metadata=b"\0", version=5), answers=(11, 5))
    assert not found.problems


def test_assignments_are_read():
    assignments = [m.SyncGroupRequestAssignment(member_id="m", assignment=ASSIGNMENT)]
    found = explained(request_frame(1, "me", m.SyncGroupRequest(group_id="g", assignments=assignments), 4))
    assert shown(found)["assignments[0].assignment.assigned_partitions[0].partitions[1]"][1] == 2
    answer = response_frame(1, m.SyncGroupResponse(assignment=ASSIGNMENT), 5)
    assert shown(explained(answer, answers=(14, 5)))["assignment.assigned_partitions[0].topic"][1] == "t"
    members = [m.DescribedGroupMember(member_id="m", member_metadata=METADATA, member_assignment=ASSIGNMENT)]
    groups = [m.DescribedGroup(group_id=kind, protocol_type=kind, members=members) for kind in ("consumer", "sr")]
    rows = shown(explained(response_frame(1, m.DescribeGroupsResponse(groups=groups), 5), answers=(15, 5)))
    assert rows["groups[0].members[0].member_metadata.topics[0]"][1] == "t"
    assert "groups[1].members[0].member_metadata.version" not in rows


@pytest.mark.parametrize("compression", Compression)
def test_records_are_read(compression):
    frame = produce(batches(compression))
    found = explained(frame)
    rows = shown(found)
    at = "topic_data[0].partition_data[0].records.batches[0]"
    assert rows[f"{at}.records[0].key"] == (None, b"key")
    assert rows[f"{at}.records[0].headers[0].value"] == (None, b"\xff")
    assert rows[f"{at}.records[1].value"] == (None, None)
    assert rows[f"{at}.producer_id"][1] == 7
    start = rows[at][0]
    assert frame[start : start + 8] == bytes(8)
    assert rows[f"{at}.record_count"] == (start + 57, 2)
    text = as_text(1, found)
    assert "right" in text
    assert "'value'" in text
    assert ("not compressed" if compression is Compression.NONE else compression.name.lower()) in text
    assert rows[f"{at}.records[0]"][0] == (start + 61 if compression is Compression.NONE else None)
    assert not found.problems


def test_records_that_are_wrong():
    good = batches()
    for data, words in [
        (good[:-1] + b"x", "wrong"),
        (good + good[:30], "a batch has at least 61 bytes, not 30"),
        (good[:16] + b"\1" + good[17:], "a batch of magic 1"),
        (good[:22] + b"\7" + good[23:], "no compression has the number 7"),
        (good[:22] + b"\x01" + good[23:], "gzip"),
        (good[:60] + b"\x09" + good[61:], "a malformed record"),
        (good[:60] + b"\x01" + good[61:], "after the 1 records"),
    ]:
        assert words in as_text(1, explained(produce(data)))


def test_there_is_an_end_to_what_is_shown():
    found = Explainer(most_rows=40).explain(Frame(produce(batches() * 100)))
    assert len(found.body) <= 40 + 14  # the header of a batch is shown in whole
    assert "that is enough of records" in as_text(1, found)
    found = Explainer(most_rows=10).explain(Frame(produce(b"x")))
    assert "10 values are enough" in as_text(1, found)


def test_bombs_are_not_unpacked_for_ever():
    big = build([Record(0, 0, None, bytes(MOST_UNPACKED // 2))], compression=Compression.ZSTD)
    room = Room()
    data = big * 5
    _, problems = record_batches(data, 0, len(data), (), room)
    assert [each.why for each in problems] == ["the records before it took all the room there is"] * 3
    assert room.unpacked <= 0


def test_json_is_one_object_a_line():
    text = as_json(2, explained(join_request()))
    assert text.count("\n") == 1
    loaded = json.loads(text)
    assert (loaded["frame"], loaded["api"], loaded["api_version"], loaded["groups"]) == (2, "JoinGroup", 9, ["g"])
    metadata = next(row for row in loaded["body"] if row["path"] == "protocols[0].metadata")
    assert (metadata["kind"], metadata["value"], metadata["size"]) == ("bytes", METADATA.hex(), len(METADATA) + 1)
    named = json.loads(as_json(1, explained(produce(build([Record(0, 0, None, None, (("\udcff", None),))])))))
    assert any(row["value"] == "\udcff" for row in named["body"])


def test_long_values_are_cut_unless_all_is_wanted():
    found = explained(produce(build([Record(0, 0, b"\xff" * 100, b"v" * 100)])))
    assert "ff" * 64 + "... (100 bytes)" in as_text(1, found)
    assert "ff" * 100 + " (100 bytes)" in as_text(1, found, whole=True)
    assert "v" * 100 not in as_text(1, found)
    assert "v" * 100 in as_text(1, found, whole=True)


def test_remarks():
    remark = Remark("gone", 2, "a", "b", float("nan"), b"\1")
    assert remark_as_text(remark) == "-- nan ms a > b connection 2: gone\n   it begins with 01 (1 bytes)\n"
    assert json.loads(remark_as_json(Remark("gone", 2)))["remark"] == "gone"


def test_groups():
    assert explained(request_frame(1, "", m.FindCoordinatorRequest(coordinator_keys=["g", "h"]), 4)).groups == {
        "g",
        "h",
    }
    assert explained(request_frame(1, "", m.DescribeGroupsRequest(groups=["g"]), 5)).groups == {"g"}
    groups = [m.OffsetFetchRequestGroup(group_id="k")]
    assert explained(request_frame(1, "", m.OffsetFetchRequest(groups=groups), 8)).groups == {"k"}


def test_what_is_a_request():
    assert is_request(heartbeat())
    assert not is_request(heartbeat_answer())
    assert not is_request(heartbeat() + b"x")
    assert not is_request(heartbeat()[:14])
    assert not is_request(b"")


def test_ids_are_written_as_kafka_does():
    assert kafka_uuid(uuid.UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"


SEEDS = [
    join_request(), heartbeat(), produce(batches()), produce(batches(Compression.ZSTD)), join_response(),
]  # fmt: skip


@st.composite
def damaged(draw):
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


@settings(max_examples=400)
@given(data=st.one_of(st.binary(max_size=80), damaged()), answers=st.sampled_from([None, (11, 9), (1, 12), (18, 4)]))
@example(data=b"", answers=None)
@example(data=b"\x7f\xff\xff\xff", answers=(11, 9))
def test_any_bytes_can_be_explained(data, answers):
    found = explained(data, answers=answers)
    as_text(1, found)
    loaded = json.loads(as_json(1, found))
    assert loaded["size"] == len(data)
    for row in [*found.header, *found.body]:
        assert row.offset is None or 0 <= row.offset <= len(data)
    for problem in found.problems:
        assert problem.offset is None or 0 <= problem.offset <= len(data)
