"""Tools that read __consumer_offsets: two clients' consumers, and a reading of Kafka's formats by these tests alone."""

import itertools
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import OffsetAndMetadata

from integration.members import Group
from integration.server import TOPICS, Server

OFFSETS_TOPIC = "__consumer_offsets"
PARTITIONS = 50
PATIENCE = 60
"""Seconds in which everything must have been read."""

Row = tuple[int, int, bytes | None, bytes | None]
"""Partition, offset, key, value."""


def with_kafka_python(bootstrap: str) -> list[Row]:
    """Everything in the topic, with kafka-python, which leaves out internal topics unless told otherwise."""
    consumer = KafkaConsumer(
        OFFSETS_TOPIC,
        bootstrap_servers=bootstrap,
        group_id=None,
        auto_offset_reset="earliest",
        exclude_internal_topics=False,
        enable_auto_commit=False,
    )
    try:
        partitions = [PythonPartition(OFFSETS_TOPIC, index) for index in range(PARTITIONS)]
        ends = consumer.end_offsets(partitions)
        rows: list[Row] = []
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for records in consumer.poll(timeout_ms=200).values():
                rows += [(each.partition, each.offset, each.key, each.value) for each in records]
            if all(consumer.position(each) >= ends[each] for each in partitions):
                return rows
        raise AssertionError("it did not come to the end")
    finally:
        consumer.close()


def with_librdkafka(bootstrap: str) -> list[Row]:
    """The same with librdkafka, which checks every batch's checksum."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader-of-offsets",
            "enable.auto.commit": False,
            "check.crcs": True,
            "enable.partition.eof": False,
        }
    )
    try:
        partitions = [TopicPartition(OFFSETS_TOPIC, index, 0) for index in range(PARTITIONS)]
        ends = {each.partition: consumer.get_watermark_offsets(each, timeout=PATIENCE)[1] for each in partitions}
        consumer.assign(partitions)
        left = {partition for partition, end in ends.items() if end}
        rows: list[Row] = []
        until = time.monotonic() + PATIENCE
        while left and time.monotonic() < until:
            message = consumer.poll(0.5)
            if message is None:
                continue
            assert message.error() is None, message.error()
            rows.append((message.partition(), message.offset(), message.key(), message.value()))
            if message.offset() >= ends[message.partition()] - 1:
                left.discard(message.partition())
        assert not left
        return rows
    finally:
        consumer.close()


class Bytes:
    """Reads Kafka's old, inflexible formats."""

    def __init__(self, data: bytes) -> None:
        self._data, self._position = data, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._data, self._position)
        self._position += struct.calcsize(f">{form}")
        return int(value)

    def text(self) -> str | None:
        size = self.number("h")
        return None if size < 0 else self._take(size).decode()

    def blob(self) -> bytes:
        return self._take(self.number("i"))

    def _take(self, size: int) -> bytes:
        self._position += size
        assert self._position <= len(self._data)
        return self._data[self._position - size : self._position]

    def at_end(self) -> bool:
        return self._position == len(self._data)


def what_it_says(rows: Iterable[Row], group: str) -> Iterator[Any]:
    """Each record of a group: (topic, partition, offset, metadata) or (generation, members), or None in their place."""
    for _, _, key_bytes, value_bytes in rows:
        assert key_bytes is not None
        key, value = Bytes(key_bytes), None if value_bytes is None else Bytes(value_bytes)
        kind, of_group = key.number("h"), key.text()
        place = (key.text(), key.number("i")) if kind == 1 else ()
        assert kind in (1, 2)
        assert key.at_end()
        if of_group != group:
            continue
        if value is None:
            yield (*place, None)
            continue
        assert value.number("h") == 3
        if kind == 1:
            offset, _epoch, metadata = value.number("q"), value.number("i"), value.text()
            assert value.number("q") > 1_600_000_000_000
            yield (*place, offset, metadata)
        else:
            yield group_value(value)
        assert value.at_end()


def group_value(value: Bytes) -> tuple[int, dict[str, bytes]]:
    kind, generation, protocol, leader = value.text(), value.number("i"), value.text(), value.text()
    assert value.number("q") > 1_600_000_000_000
    members = {}
    for _ in range(value.number("i")):
        member, instance, client, host = value.text(), value.text(), value.text(), value.text()
        assert member is not None
        assert (instance, client is not None, host) == (None, True, "/127.0.0.1")
        assert value.number("i") > 0
        assert value.number("i") > 0
        value.blob()
        members[member] = value.blob()
    assert (kind, protocol, leader in members) == (("consumer", "range", True) if members else (kind, None, False))
    return generation, members


@pytest.mark.parametrize("read", [with_kafka_python, with_librdkafka])
def test_a_groups_life_is_read(server: Server, new_group: Callable[[Server], Group], read: Callable[[str], list[Row]]):
    group = new_group(server)
    topic = frozenset(PythonPartition("t", index) for index in range(TOPICS["t"]))
    member = group.join("t", partition_assignment_strategy=[RangePartitionAssignor])
    generation = group.settled(topic)
    for offset in (1, 2):
        commit = {PythonPartition("t", 0): OffsetAndMetadata(offset, f"note {offset}", -1)}
        member.do(lambda consumer, commit=commit: consumer.commit(commit))
    member.close()
    rows = read(server.bootstrap)
    for _, records in itertools.groupby(sorted(rows), key=lambda row: row[0]):
        offsets = [offset for _, offset, *_ in records]
        assert offsets == list(range(len(offsets)))
    said = list(what_it_says(sorted(rows), group.id))
    assert [each for each in said if len(each) == 4] == [("t", 0, 1, "note 1"), ("t", 0, 2, "note 2")]
    born, *joined, left = (each for each in said if len(each) == 2)
    assert born == (0, {})
    assert [number for number, _ in joined] == list(range(1, generation + 1))
    assert {len(members) for _, members in joined} == {1}
    (assignment,) = joined[-1][1].values()
    assert struct.pack(">h1sii", 1, b"t", 4, 0) in assignment
    assert left == (generation + 1, {})
