"""What each client's operator calls do, as far as it has them."""

import base64

import pytest

from integration.clients.clients import CLIENTS, having
from integration.clients.driver import Driver, eventually, wait_until
from integration.clients.group import STATIC_MS
from integration.clients.raw import Raw

UNKNOWN_MEMBER_ID = 25
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
UNKNOWN_TOPIC_OR_PARTITION = 3
GROUP_SUBSCRIBED_TO_TOPIC = 86
CONSUMER_GROUPS_ONLY = ("kafka-python",)
"""The clients that take everybody's bytes for a consumer's, and fail."""
MEMBER = CLIENTS["kafka-python"]
"""Whose group is operated on."""


def operators(*commands: str) -> pytest.MarkDecorator:
    """Run with each client that has all of these."""
    return pytest.mark.parametrize("client", having(*commands), ids=str)


def refused(operator: Driver, code: int, do: str, **arguments) -> None:
    """See that a command fails, with that error if the client tells which."""
    answer = operator.ask(do, **arguments)
    assert answer["event"] == "error", answer
    assert answer["code"] in (code, None), answer


def plain(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data)


@operators("list_groups", "describe_group")
def test_groups_of_every_type_are_listed_and_described(client, new_group):
    group = new_group()
    operator = group.operator(client)
    member = group.join(MEMBER)
    group.settled(member)
    foreign = {
        f"{group.id}-connect": (
            "connect",
            "sessioned",
            b"\x00\x02\x00\x04http\xff\xfe",
            b"\x00\x02\x00\x00\x00\x07\x80",
        ),
        f"{group.id}-registry": ("sr", "v0", b'{"host":"h","port":1}', b'{"error":0,"master":"sr-1"}'),
    }
    with Raw(group.world.bootstrap, "connect") as first, Raw(group.world.bootstrap, "registry") as second:
        for raw, (name, (kind, protocol, metadata, assignment)) in zip((first, second), foreign.items(), strict=True):
            raw.join(name, kind, protocol, metadata, assignment)
        listed = dict(operator.value("list_groups"))
        assert listed[group.id] == "consumer"
        for name, (kind, protocol, metadata, assignment) in foreign.items():
            assert listed[name] == kind
            if client.name in CONSUMER_GROUPS_ONLY:
                assert operator.ask("describe_group", group=name)["event"] == "unsupported"
                continue
            described = operator.value("describe_group", group=name)
            assert (described["state"], described["protocol_type"], described["protocol"]) == ("Stable", kind, protocol)
            (only,) = described["members"]
            assert plain(only["metadata"]) in (metadata, None)
            assert plain(only["assignment"]) in (assignment, None)
    described = operator.value("describe_group", group=group.id)
    assert (described["state"], described["protocol_type"], described["protocol"]) == ("Stable", "consumer", "range")
    (only,) = described["members"]
    assert (only["client_id"], only["host"], only["instance_id"]) == (member.name, "/127.0.0.1", None)
    assert only["member_id"].startswith(member.name)
    operator.close()


@operators("list_offsets")
def test_offsets_are_listed(client, new_group):
    group = new_group()
    operator = group.operator(client)
    member = group.join(MEMBER)
    group.write(MEMBER, 40)
    group.settled(member)
    group.all_read()
    group.all_committed()
    expected = [[group.topic, number, 10] for number in range(4)]
    assert sorted(operator.value("list_offsets", group=group.id)) == expected
    member.close()
    assert sorted(operator.value("list_offsets", group=group.id)) == expected
    assert operator.value("list_offsets", group=f"{group.id}-nobody") == []
    operator.close()


@operators("alter_offsets")
def test_offsets_are_altered_when_the_group_is_empty(client, new_group):
    group = new_group(2)
    operator = group.operator(client)
    member = group.join(MEMBER)
    group.write(MEMBER, 20)
    group.settled(member)
    group.all_read()
    wanted = [[group.topic, 0, 4], [group.topic, 1, 7]]
    refused(operator, UNKNOWN_MEMBER_ID, "alter_offsets", group=group.id, offsets=wanted)
    member.close()
    operator.value("alter_offsets", group=group.id, offsets=wanted)
    assert group.world.offsets(group.id) == {(group.topic, 0): 4, (group.topic, 1): 7}
    again = group.join(MEMBER)
    group.settled(again)
    group.write(MEMBER, 2)
    group.all_read()
    assert sorted((partition, offset) for _, partition, offset, _ in again.records) == [
        *((0, offset) for offset in range(4, 11)),
        *((1, offset) for offset in range(7, 11)),
    ]
    operator.close()


@operators("delete_offsets")
def test_offsets_are_deleted_unless_somebody_subscribes(client, new_group):
    group = new_group(2)
    operator = group.operator(client)
    member = group.join(MEMBER)
    group.write(MEMBER, 20)
    group.settled(member)
    group.all_read()
    group.all_committed()
    one = [[group.topic, 0]]
    refused(operator, GROUP_SUBSCRIBED_TO_TOPIC, "delete_offsets", group=group.id, partitions=one)
    member.close()
    operator.value("delete_offsets", group=group.id, partitions=one)
    assert group.world.offsets(group.id) == {(group.topic, 1): 10}
    operator.close()


@operators("delete_group")
def test_a_group_is_deleted_when_it_is_empty(client, new_group):
    group = new_group()
    operator = group.operator(client)
    member = group.join(MEMBER)
    group.settled(member)
    refused(operator, NON_EMPTY_GROUP, "delete_group", group=group.id)
    member.close()
    operator.value("delete_group", group=group.id)
    assert group.world.describe(group.id).state == "Dead"
    refused(operator, GROUP_ID_NOT_FOUND, "delete_group", group=group.id)
    operator.close()


@operators("remove_members")
def test_members_are_removed(client, new_group):
    group = new_group()
    operator = group.operator(client)
    config = {"session_timeout_ms": STATIC_MS}
    members = [group.join(MEMBER, instance_id=name, **config) for name in ("one", "two", "three")]
    group.settled(*members)
    members.pop().kill()
    operator.value("remove_members", group=group.id, instance_ids=["three"])
    group.settled(*members)
    refused(operator, UNKNOWN_MEMBER_ID, "remove_members", group=group.id, instance_ids=["three"])
    for member in members:
        member.kill()
    operator.value("remove_members", group=group.id, instance_ids=None)
    assert group.world.describe(group.id).state == "Empty"
    operator.close()


@operators("create_topic", "describe_topic", "create_partitions", "delete_topic")
def test_topics_are_created_grown_and_deleted(client, new_group):
    group = new_group()
    operator = group.operator(client)
    topic = f"{group.topic}-new"
    operator.value("create_topic", topic=topic, partitions=2, configs={"retention.ms": "3600000"})
    operator.comes_to({"partitions": 2}, "describe_topic", topic=topic)
    operator.value("create_partitions", topic=topic, count=5)
    operator.comes_to({"partitions": 5}, "describe_topic", topic=topic)
    operator.value("delete_topic", topic=topic)
    eventually(lambda: topic not in group.world.operator.list_topics(), "it is gone", operator)
    refused(operator, UNKNOWN_TOPIC_OR_PARTITION, "delete_topic", topic=topic)
    operator.close()


@operators("describe_configs", "alter_configs")
def test_settings_are_described_and_altered(client, new_group):
    group = new_group()
    operator = group.operator(client)
    operator.comes_to("604800000", "describe_configs", type="topic", name=group.topic, of="retention.ms")
    operator.value("alter_configs", topic=group.topic, set={"retention.ms": "3600000"}, delete=[])
    operator.comes_to("3600000", "describe_configs", type="topic", name=group.topic, of="retention.ms")
    if operator.ask("alter_configs", topic=group.topic, set={}, delete=["retention.ms"])["event"] != "unsupported":
        operator.comes_to("604800000", "describe_configs", type="topic", name=group.topic, of="retention.ms")
    assert operator.value("describe_configs", type="broker", name="1")["group.max.session.timeout.ms"] == "1800000"
    operator.close()


@operators("describe_cluster")
def test_the_cluster_is_described(client, new_group):
    group = new_group()
    operator = group.operator(client)
    described = operator.value("describe_cluster")
    host, _, port = group.world.bootstrap.rpartition(":")
    assert described["brokers"] == [[1, host, int(port)]]
    assert described["controller"] == 1
    assert described["cluster_id"] in (group.world.operator.describe_cluster()["cluster_id"], None)
    operator.close()


@operators("topic_offsets")
def test_a_topics_offsets_are_told(client, new_group):
    group = new_group(2)
    operator = group.operator(client)
    group.write(MEMBER, 20)
    assert sorted(operator.value("topic_offsets", topic=group.topic, timestamp=-2)) == [[0, 0], [1, 0]]
    assert sorted(operator.value("topic_offsets", topic=group.topic, timestamp=-1)) == [[0, 10], [1, 10]]
    assert sorted(operator.value("topic_offsets", topic=group.topic, timestamp=1_000)) == [[0, 0], [1, 0]]
    operator.close()


@operators("delete_records")
def test_records_are_deleted(client, new_group):
    group = new_group(2)
    operator = group.operator(client)
    group.write(MEMBER, 20)
    operator.value("delete_records", topic=group.topic, offsets=[[0, 4], [1, 10]])
    reader = group.join(MEMBER)
    group.settled(reader)
    group.write(MEMBER, 2)
    expected = [*((0, offset) for offset in range(4, 11)), (1, 10)]
    wait_until(lambda: len(reader.records) >= len(expected), f"{len(expected)} records", reader)
    assert sorted((partition, offset) for _, partition, offset, _ in reader.records) == expected
    operator.close()
