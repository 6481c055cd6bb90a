"""Answers are compared, ids are learned and put into requests."""

import uuid

import pytest

import wire.messages as m
from kcoord.dump.compare import Comparison, Difference, Finding, Question
from kcoord.dump.fields import Absent
from kcoord.dump.learning import MEMBER, Ids, put_in
from kcoord.dump.plain import plain
from kcoord.dump.show import finding_as_text
from tests.dump.samples import ASSIGNMENT, METADATA, batches
from wire.compression import MOST_UNPACKED
from wire.records import Compression, Record, build, check_crc, read_header

A, B = uuid.UUID(int=1), uuid.UUID(int=2)


def differences(recorded, now, *, ids=None, version=9, ignored=(), group="g"):
    comparison = Comparison(Ids() if ids is None else ids, ignored)
    found = comparison.differences(plain(recorded, version), plain(now, version), group)
    return [(each.path, each.recorded, each.now) for each in found]


def joined(member, leader=None, others=(), **fields):
    members = [m.JoinGroupResponseMember(member_id=each, metadata=METADATA) for each in (member, *others)]
    return m.JoinGroupResponse(member_id=member, leader=leader or member, members=members, **fields)


def test_times_hosts_and_ids_may_differ():
    def cluster(node, host, port, topic_id, throttle):
        brokers = [m.MetadataResponseBroker(node_id=node, host=host, port=port)]
        partitions = [m.MetadataResponsePartition(leader_id=node, replica_nodes=[node], isr_nodes=[node])]
        topics = [m.MetadataResponseTopic(name="t", topic_id=topic_id, partitions=partitions)]
        return m.MetadataResponse(brokers=brokers, topics=topics, controller_id=node, throttle_time_ms=throttle)

    one, two = cluster(1, "a", 1, A, 0), cluster(7, "b", 2, B, 9)
    assert differences(one, two, version=12) == []
    two.topics[0].partitions[0].leader_id = 8
    assert differences(one, two, version=12) == [
        (("topics", "[name t]", "partitions", "[partition_index 0]", "leader_id"), 1, 8)
    ]


def test_ids_have_to_stay_apart():
    ids = Ids()
    assert ids.agree(MEMBER, "a", "x")
    assert ids.agree(MEMBER, "a", "x")
    assert not ids.agree(MEMBER, "a", "y")
    assert not ids.agree(MEMBER, "b", "x")
    assert ids.agree(MEMBER, "b", "y")
    assert ids.agree("other", "a", "y")
    for nothing in ("", None, -1):
        assert not ids.agree(MEMBER, "c", nothing)
        assert not ids.agree(MEMBER, nothing, "z")
        assert ids.agree(MEMBER, nothing, nothing)
    assert not ids.agree("session", 0, 5)
    assert ids.text("no a here") == "no a here"
    assert ids.agree(MEMBER, "member-1", "member-2")
    assert ids.text("The member-1 is gone") == "The member-2 is gone"


def test_members_are_found_in_any_order():
    ids = Ids()
    assert differences(joined("a"), joined("x"), ids=ids) == []
    assert differences(joined("b", "a", ["a"]), joined("y", "x", ["x"]), ids=ids) == []
    one, two = joined("a", None, ["b", "c"]), joined("x", None, ["z", "y"])
    assert differences(one, two, ids=ids) == []
    assert ids.now(MEMBER, "c") == "z"
    # Somebody else leads.
    assert differences(joined("a"), joined("x", "y"), ids=ids) == [(("leader",), "a", "y")]
    lost = differences(joined("a", None, ["b", "d"]), joined("x", None, ["y"]), ids=ids)
    assert [(path, now) for path, _, now in lost] == [(("members", 2), Absent())]
    more = differences(joined("a"), joined("x", None, ["w"]), ids=ids)
    assert [(path, recorded) for path, recorded, _ in more] == [(("members", 1), Absent())]


def test_generations_are_those_of_a_group():
    ids = Ids()
    assert differences(joined("a", generation_id=1), joined("x", generation_id=5), ids=ids) == []
    assert differences(joined("a", generation_id=2), joined("x", generation_id=5), ids=ids) == [
        (("generation_id",), 2, 5)
    ]
    assert differences(joined("a", generation_id=2), joined("x", generation_id=5), ids=ids, group="h") == []


def test_what_is_there_or_not_counts_also_where_the_value_does_not():
    one = m.ProduceResponse(responses=[m.TopicProduceResponse(name="t", partition_responses=[
        m.PartitionProduceResponse(base_offset=5, log_append_time_ms=-1)])])  # fmt: skip
    two = m.ProduceResponse(responses=[m.TopicProduceResponse(name="t", partition_responses=[
        m.PartitionProduceResponse(base_offset=6, log_append_time_ms=99)])])  # fmt: skip
    at = ("responses", "[name t]", "partition_responses", "[index 0]")
    assert differences(one, two) == [((*at, "base_offset"), 5, 6), ((*at, "log_append_time_ms"), -1, 99)]
    assert differences(one, two, ignored=["base_offset", "log_append_time_ms"]) == []


def test_elements_that_one_lacks():
    one = m.ApiVersionsResponse(api_keys=[m.ApiVersion(api_key=1), m.ApiVersion(api_key=2, max_version=3)])
    two = m.ApiVersionsResponse(api_keys=[m.ApiVersion(api_key=2, max_version=4), m.ApiVersion(api_key=3)])
    assert [(path[1:], recorded, now) for path, recorded, now in differences(one, two, version=3)] == [
        (("[api_key 1]",), {"api_key": 1, "min_version": 0, "max_version": 0}, Absent()),
        (("[api_key 2]", "max_version"), 3, 4),
        (("[api_key 3]",), Absent(), {"api_key": 3, "min_version": 0, "max_version": 0}),
    ]
    shorter = differences(m.ListConfigResourcesResponse(), m.DescribeGroupsResponse(), version=0)
    assert (("groups",), Absent(), []) in shorter


def test_what_members_say_is_compared_field_by_field():
    one = m.SyncGroupResponse(assignment=ASSIGNMENT)
    two = m.SyncGroupResponse(assignment=ASSIGNMENT.replace(b"\0\0\0\2\xff", b"\0\0\0\3\xff"))
    assert differences(one, two, version=5) == [
        (("assignment", "assigned_partitions", "[topic t]", "partitions", 1), 2, 3)
    ]
    other = m.SyncGroupResponse(assignment=b"\0\1what")
    assert plain(other, 5)["assignment"] == b"\0\1what"
    assert plain(m.SyncGroupResponse(assignment=ASSIGNMENT + b"more"), 5)["assignment"] == ASSIGNMENT + b"more"


@pytest.mark.parametrize("compression", Compression)
def test_records_are_compared_one_by_one(compression):
    def fetched(value, time):
        record = Record(0, time, b"k", value, (("h", b"1"),))
        data = build([record], compression=compression)
        partitions = [m.PartitionData(partition_index=0, records=data)]
        return m.FetchResponse(responses=[m.FetchableTopicResponse(topic="t", partitions=partitions)])

    assert differences(fetched(b"1", 5), fetched(b"1", 6), version=12) == []
    ((path, *values),) = differences(fetched(b"1", 5), fetched(b"2", 6), version=12)
    assert path[-5:] == ("records", 0, "records", 0, "value")
    assert values == [b"1", b"2"]


def test_records_that_cannot_be_read_stay_bytes():
    def records(data):
        return plain(m.PartitionData(records=data), 12)["records"]

    assert records(b"x" * 70) == b"x" * 70
    assert records(b"") == b""
    big = build([Record(0, 0, None, bytes(MOST_UNPACKED - 40))], compression=Compression.ZSTD)
    assert isinstance(records(big + batches()), list)
    assert records(big + batches(Compression.GZIP) + batches()) == big + batches(Compression.GZIP) + batches()


def known():
    ids = Ids()
    for kind, old, new in [
        ("member", "a", "x"), ("topic", A, B), ("generation g", 1, 5), ("producer", 7, 99), ("node", 1, 3),
    ]:  # fmt: skip
        assert ids.agree(kind, old, new)
    return ids


def test_ids_are_put_into_requests():
    ids = known()
    request = m.SyncGroupRequest(group_id="g", generation_id=1, member_id="a", assignments=[
        m.SyncGroupRequestAssignment(member_id=each, assignment=ASSIGNMENT) for each in ("a", "b")])  # fmt: skip
    assert put_in(request, ids)
    assert (request.generation_id, request.member_id) == (5, "x")
    assert [each.member_id for each in request.assignments] == ["x", "b"]
    other = m.HeartbeatRequest(group_id="h", generation_id=1, member_id="b")
    assert not put_in(other, ids)
    fetched = m.OffsetFetchRequest(groups=[m.OffsetFetchRequestGroup(group_id=each, member_epoch=1) for each in "gh"])
    assert put_in(fetched, ids)
    assert [each.member_epoch for each in fetched.groups] == [5, 1]
    topics = m.MetadataRequest(topics=[m.MetadataRequestTopic(topic_id=A, name=None)])
    assert put_in(topics, ids)
    assert topics.topics[0].topic_id == B
    assert not put_in(m.MetadataRequest(topics=None), ids)
    create = m.CreateTopicsRequest(
        topics=[m.CreatableTopic(assignments=[m.CreatableReplicaAssignment(broker_ids=[1])])]
    )
    assert put_in(create, ids)
    assert create.topics[0].assignments[0].broker_ids == [3]


def test_producers_are_put_into_batches():
    def produced(data):
        data = m.PartitionProduceData(records=data)
        request = m.ProduceRequest(topic_data=[m.TopicProduceData(partition_data=[data])])
        return put_in(request, known()), data.records

    changed, data = produced(batches())
    assert changed
    assert (read_header(data).producer_id, check_crc(data)) == (99, True)
    other = build([Record(0, 0, None, None)], producer_id=8)
    assert produced(other) == (False, other)
    assert produced(b"rubbish") == (False, b"rubbish")
    assert produced(None) == (False, None)


def test_findings_are_one_line():
    asked = Question(11, 9, 3, "g")
    assert finding_as_text(Finding(2, asked, "it hangs")) == (
        "connection 2, JoinGroup v9, correlation id 3: it hangs"
    )  # fmt: skip
    assert finding_as_text(Finding(2, None, "gone")) == "connection 2: gone"
    difference = Difference(("members", 0, "error_code"), 0, 27)
    assert finding_as_text(Finding(2, asked, difference=difference)).endswith(
        "members[0].error_code was 0 NONE, is 27 REBALANCE_IN_PROGRESS"
    )
    difference = Difference(("topics", "[name t]"), Absent(), {"name": "t", "error_code": 3, "list": [None, b"\1"]})
    assert finding_as_text(Finding(2, asked, difference=difference)).endswith(
        "topics[name t] was nothing, is {name 't', error_code 3 UNKNOWN_TOPIC_OR_PARTITION, list [null, 01 (1 bytes)]}"
    )
    difference = Difference(("topics", "[name \x1b[2J]", "partitions"), 1, 2)
    assert finding_as_text(Finding(2, None, "\x1b[2J")) == r"connection 2: \x1b[2J"
    assert finding_as_text(Finding(2, None, difference=difference)) == (
        r"connection 2: topics[name \x1b[2J].partitions was 1, is 2"
    )
    assert "the whole answer was" in finding_as_text(Finding(2, asked, difference=Difference((), b"\xff", b"\xfe")))


LONG = bytes(range(100))


LONG_HEX = LONG[:64].hex()
LEGIBLE = repr("a" * 64)


@pytest.mark.parametrize(
    ("recorded", "now", "was", "is_now"),
    [
        (
            LONG + b"\1\2",
            LONG + b"\1\3",
            f"{LONG_HEX}... (102 bytes) (from byte 101 on 02 (1 bytes))",
            f"{LONG_HEX}... (102 bytes) (from byte 101 on 03 (1 bytes))",
        ),
        (
            b"a" * 66,
            b"a" * 65 + b"b",
            f"{LEGIBLE}... 66 bytes (from byte 65 on 61 (1 bytes))",
            f"{LEGIBLE}... 66 bytes (from byte 65 on 62 (1 bytes))",
        ),
        ("text", b"text", "'text' (str)", "'text' (bytes)"),
        (LONG, LONG[:99], f"{LONG_HEX}... (100 bytes)", f"{LONG_HEX}... (99 bytes)"),
        (b"a", b"b", "'a'", "'b'"),
    ],
)
def test_what_differs_does_not_look_the_same(recorded, now, was, is_now):
    told = finding_as_text(Finding(1, None, difference=Difference(("records", "value"), recorded, now)))
    assert told == f"connection 1: records.value was {was}, is {is_now}"


def test_an_id_that_became_another_one_is_told_with_it():
    """A broker of now may have an id for something else, so that both answers have the same one."""
    comparison = Comparison(Ids())
    assert comparison.differences({"generation_id": 1}, {"generation_id": 2}, "g") == []
    [found] = comparison.differences({"generation_id": 1}, {"generation_id": 1}, "g")
    told = finding_as_text(Finding(1, None, difference=found))
    assert told == "connection 1: generation_id was 1 (by now 2), is 1"
    [found] = comparison.differences({"generation_id": 1}, {"generation_id": 3}, "g")
    assert finding_as_text(Finding(1, None, difference=found)).endswith(" was 1 (by now 2), is 3")
    [found] = comparison.differences({"generation_id": 5}, {"generation_id": 2}, "g")
    assert finding_as_text(Finding(1, None, difference=found)).endswith(" was 5, is 2")
    [found] = comparison.differences({"isr_nodes": [3]}, {"isr_nodes": None}, "g")
    assert finding_as_text(Finding(1, None, difference=found)).endswith(" was [3], is null")


def test_differences_of_ids_are_alike():
    def gist(name, now):
        return Difference(("list", 0, name), 0, now).gist

    assert gist("session_id", 5) == gist("session_id", 6)
    assert gist("finalized_features_epoch", 5) == gist("finalized_features_epoch", 6)
    assert gist("error_code", 5) != gist("error_code", 6)
    assert gist("session_id", 5) != gist("node_id", 5)
    assert Difference((), b"a", b"b").gist != Difference((), b"a", b"c").gist
