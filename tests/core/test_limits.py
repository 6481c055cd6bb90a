"""Texts and numbers at the end of what a record can hold, and expiries that come late."""

import pytest

from kcoord.core.answers import fits
from kcoord.core.batches import around, commit_lengths, commit_too_large, most_bytes
from kcoord.core.behaviour import Behaviour, OffsetValues
from kcoord.core.coordinator import Coordinator
from kcoord.core.offsets import java_long
from kcoord.core.outcome import Context, Now
from kcoord.core.settings import GroupSettings
from tests.core.driver import Driver, sub
from wire.errors import ErrorCode
from wire.keyed import keyed_batch
from wire.messages import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.payloads import encode_key, encode_value
from wire.records import size_of_lengths

LONGEST_TEXT = 32_767
GROWN = "\ufffd" * 20_000
"""What 20,000 bytes that are no UTF-8 are read as: a text of 60,000 bytes."""
NOW = Now(0.0, 1_000)


def coordinator(**settings: int) -> Coordinator:
    made = Coordinator(GroupSettings(**settings), lambda: "id")
    made.loaded(NOW)
    return made


def ask(asked: Coordinator, request, version: int, client_id: str = "c"):
    """Hand in a request that the wire could not have brought in this form, and return what comes at once."""
    outcome = asked.handle("token", Context(version, client_id, "/h"), request, NOW)
    asked.check()
    return outcome.replies[0].response if outcome.replies else None


def join(**fields) -> JoinGroupRequest:
    given = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 30_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=sub("t"))],
    }
    return JoinGroupRequest(**(given | fields))


def commit(group_id: str = "g", metadata: str = "") -> OffsetCommitRequest:
    one = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=metadata)
    return OffsetCommitRequest(group_id=group_id, topics=[OffsetCommitRequestTopic(name="t", partitions=[one])])


@pytest.mark.parametrize(
    ("text", "does"),
    [
        (None, True),
        ("", True),
        ("x" * LONGEST_TEXT, True),
        ("x" * (LONGEST_TEXT + 1), False),
        ("é" * (LONGEST_TEXT // 2), True),
        ("é" * (LONGEST_TEXT // 2 + 1), False),
        ("日" * (LONGEST_TEXT // 3 + 1), False),
        ("😀" * (LONGEST_TEXT // 4), True),
        ("😀" * (LONGEST_TEXT // 4 + 1), False),
        ("\ud800" * (LONGEST_TEXT // 3), True),
    ],
)
def test_what_fits_is_counted_in_bytes(text, does):
    assert fits(text) is does
    assert fits("a", text, None) is does


@pytest.mark.parametrize(
    "request_",
    [
        join(group_id=GROWN),
        join(protocol_type=GROWN),
        join(group_instance_id=GROWN),
        join(protocols=[JoinGroupRequestProtocol(name=GROWN)]),
    ],
)
def test_a_member_that_could_not_be_stored_is_not_taken_in(request_):
    asked = coordinator()
    answer = ask(asked, request_, 9)
    assert (answer.error_code, answer.member_id, answer.generation_id) == (-1, "", -1)
    assert all(not group.pending_joins and not group.members for group in asked.tables.groups.values())
    assert GROWN not in asked.tables.groups


@pytest.mark.parametrize("version", [3, 9])
def test_nor_is_one_whose_id_would_be_too_long(version):
    asked = coordinator()
    answer = ask(asked, join(), version, "x" * (LONGEST_TEXT - 2))
    assert (answer.error_code, answer.member_id) == (-1, "")
    assert ask(asked, join(), 9, "x" * (LONGEST_TEXT - 3)).error_code == 79


def test_nor_one_that_brings_its_id_along_with_another_name():
    asked = coordinator()
    member_id = ask(asked, join(), 9).member_id
    answer = ask(asked, join(member_id=member_id), 9, GROWN)
    assert (answer.error_code, answer.member_id) == (-1, "")
    assert ask(asked, join(member_id=member_id), 9) is None


def test_an_offset_of_a_group_that_could_not_be_stored_is_refused():
    asked = coordinator()
    assert ask(asked, commit(GROWN), 9).topics[0].partitions[0].error_code == -1
    assert asked.tables.groups == {}


def test_a_text_that_the_setting_allows_but_no_record_can_hold_is_too_large():
    asked = coordinator(offset_metadata_max_bytes=100_000)
    assert ask(asked, commit(metadata="x" * LONGEST_TEXT), 9).topics[0].partitions[0].error_code == 0
    assert ask(asked, commit(metadata="x" * (LONGEST_TEXT + 1)), 9).topics[0].partitions[0].error_code == 12


@pytest.mark.parametrize(
    ("number", "kept"), [(0, 0), (-5, -5), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**63 + 7, 7 - 2**63)]
)
def test_sums_are_those_of_java(number, kept):
    assert java_long(number) == kept


def test_a_retention_beyond_the_end_of_time_is_over_at_the_next_sweep():
    driver = Driver.of()
    assert driver.commit("g", {("t", 0): 5}, version=4, retention_ms=2**63 - 1).error == 0
    driver.advance(600)
    assert driver.offset("g") == -1


def test_sweeps_keep_their_beat_over_a_jump_in_which_nobody_is_there():
    """A clock that is moved by weeks passes over thousands of sweeps that can find nothing."""
    driver = Driver.of(offsets_retention_check_interval_ms=7_000)
    driver.advance(7 * 1_000 + 3)
    assert driver.coordinator.next_deadline() == 7 * 1_001


def test_an_explicit_expiry_counts_from_its_own_millisecond_on():
    driver = Driver.of()
    driver.commit("on time", {("t", 0): 5}, version=4, retention_ms=600_000)
    driver.commit("later", {("t", 0): 5}, version=4, retention_ms=600_001)
    driver.advance(600)
    assert driver.offset("on time") == -1
    assert driver.offset("later") == 5


@pytest.mark.parametrize("generation", [-1, -2, -(2**31)])
def test_any_negative_generation_is_none(generation):
    driver = Driver.of()
    assert driver.commit("g", {("t", 0): 5}, "m", generation).error == 0
    assert driver.commit("g", {("t", 0): 6}, "m", generation).error == 0
    driver.enter("h", "a", 3)
    assert driver.commit("h", {("t", 0): 5}, "", generation).error == 25
    assert driver.commit("h", {("t", 0): 5}, "a-1", generation).error == 22


def test_a_members_expiry_may_end_an_initial_rebalance_early():
    """Its heartbeat sets the session of a newcomer, which then ends before the delay does."""
    driver = Driver.of(group_initial_rebalance_delay_ms=20_000)
    first = driver.enter("g", "a", 3, session_ms=6_000, rebalance_ms=60_000)
    assert driver.heartbeat("g", "a-1", 0).error == 27
    driver.advance(1)
    second = driver.enter("g", "b", 3, rebalance_ms=60_000)
    driver.advance(5)
    assert first.error == 25
    assert (second.error, second.response.generation_id) == (0, 1)


def test_what_is_late_happens_now_and_not_in_the_past():
    """Somebody held up whoever calls: a join that was due long ago is answered, and its session begins with that."""
    asked = coordinator()
    token = object()
    asked.handle(token, Context(3, "c", "/h"), join(), NOW)
    outcome = asked.advance(Now(100.0, 101_000), late=True)
    assert [reply.token for reply in outcome.replies] == [token]
    assert asked.next_deadline() == 110.0
    assert asked.tables.groups["g"].state_timestamp == 101_000


def many_commits(count: int, metadata: str = "", group_id: str = "g") -> OffsetCommitRequest:
    parts = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata=metadata)
        for index in range(count)
    ]
    return OffsetCommitRequest(group_id=group_id, topics=[OffsetCommitRequestTopic(name="t", partitions=parts)])


@pytest.mark.parametrize(("metadata", "fitting"), [("", 10783), ("m" * 200, 3506), (None, 10783)])
def test_a_commit_has_to_fit_one_batch_of_the_offsets_topic(metadata, fitting):
    """As many as Apache Kafka 4.4 took of a group and a topic with names of these lengths."""
    asked = coordinator()
    group = "g" * 35
    refused = ask(asked, many_commits(fitting + 1, metadata, group), 8)
    assert {one.error_code for one in refused.topics[0].partitions} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(refused.topics[0].partitions) == fitting + 1
    assert asked.tables.groups == asked.tables.offsets == {}
    stored = ask(asked, many_commits(fitting, metadata, group), 8)
    assert {one.error_code for one in stored.topics[0].partitions} == {ErrorCode.NONE}


@pytest.mark.parametrize("retention_ms", [-1, 0])
@pytest.mark.parametrize(
    ("count", "group_id", "metadata"), [(1, "g", ""), (3_000, "é" * 99, ""), (20, "g", "é" * 1000), (9_000, "g", "")]
)
def test_the_size_of_a_batch_is_known_to_the_byte(count, group_id, metadata, retention_ms):
    """Of values of version 3, which are those that are stored here."""
    settings = GroupSettings(behaviour=Behaviour(offset_values=OffsetValues.VERSION_3))
    request = many_commits(count, metadata, group_id)
    request.retention_time_ms = retention_ms
    outcome = Coordinator(settings, lambda: "1").handle("token", Context(4, "c", "/h"), request, NOW)
    rows = [(encode_key(record.key), encode_value(record.value)) for record in outcome.records]
    batch = keyed_batch(rows, 1, base_offset=0, leader_epoch=0)
    assert len(rows) == count
    assert len(batch) == size_of_lengths(commit_lengths(settings, request)) <= most_bytes(request)


@pytest.mark.parametrize(
    ("values", "length", "size"),
    [
        (OffsetValues.VERSION_3, 126, 24),
        (OffsetValues.VERSION_3, 127, 24),
        (OffsetValues.VERSION_4, 126, 24),
        (OffsetValues.VERSION_4, 127, 25),
        (OffsetValues.WITH_TOPIC_ID, 126, 42),
        (OffsetValues.WITH_TOPIC_ID, 127, 43),
        (OffsetValues.WITH_TOPIC_ID, 16_383, 44),
    ],
)
def test_what_an_offset_has_around_its_metadata(values, length, size):
    """Newer values tell lengths as varints, from one on; a topic's id is a tagged field."""
    assert around(values, length) == size


def test_what_is_not_stored_as_its_metadata_is_too_long_does_not_count():
    asked = coordinator(message_max_bytes=1_000)
    request = many_commits(2, "m" * 5_000)
    request.topics[0].partitions += many_commits(1).topics[0].partitions
    answer = ask(asked, request, 8)
    assert [one.error_code for one in answer.topics[0].partitions] == [12, 12, 0]


def test_what_stands_behind_metadata_that_is_too_long_counts():
    asked = coordinator(message_max_bytes=1_000)
    request = many_commits(1, "m" * 5_000)
    request.topics[0].partitions += many_commits(20).topics[0].partitions
    answer = ask(asked, request, 8)
    assert {one.error_code for one in answer.topics[0].partitions} == {ErrorCode.UNKNOWN_SERVER_ERROR}


@pytest.mark.parametrize("name", ["t", "t" * 200])
@pytest.mark.parametrize("values", OffsetValues)
def test_a_commit_fits_that_is_just_as_large_as_a_batch_may_be(values, name):
    request = many_commits(20, "m", "g" * 30)
    request.topics[0].name = name
    behaviour = Behaviour(offset_values=values)
    size = size_of_lengths(commit_lengths(GroupSettings(behaviour=behaviour), request))
    assert not commit_too_large(GroupSettings(behaviour=behaviour, message_max_bytes=size), request)
    assert commit_too_large(GroupSettings(behaviour=behaviour, message_max_bytes=size - 1), request)
