"""Requests with very many entries that are refused as a whole, or answered without much ado: not in one go either."""

import pytest
import trio

from kcoord.apis import BY_KEY
from kcoord.apis.api import Call
from kcoord.apis.turns import A_TURN
from kcoord.core.outcome import Context
from kcoord.nodes import Endpoint
from wire.messages import (
    AlterConfigsRequest,
    AlterConfigsResource,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    Cursor,
    DeleteTopicsRequest,
    DescribeTopicPartitionsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    TopicRequest,
)

MANY = range(20 * A_TURN)
NAMES = [f"n{number}" for number in MANY]

ASKED = {
    "Fetch at no isolation level": (
        1,
        12,
        lambda: FetchRequest(
            isolation_level=7, topics=[FetchTopic(topic="z", partitions=[FetchPartition(partition=n) for n in MANY])]
        ),
    ),
    "AlterConfigs of what cannot be": (
        5,
        1,
        lambda: AlterConfigsRequest(resources=[AlterConfigsResource(2, name, []) for name in NAMES]),
    ),
    "CreateTopics in no time": (
        3,
        2,
        lambda: CreateTopicsRequest(topics=[CreatableTopic(name, 1, 1) for name in NAMES], timeout_ms=0),
    ),
    "CreateTopics, too many": (
        4,
        2,
        lambda: CreateTopicsRequest(topics=[CreatableTopic(name, 3, 1) for name in NAMES], timeout_ms=1),
    ),
    "CreateTopics, each of them twice": (
        3,
        2,
        lambda: CreateTopicsRequest(
            topics=[CreatableTopic(name, 3, 1) for name in NAMES for _ in range(2)], timeout_ms=1
        ),
    ),
    "CreateTopics with assignments": (
        1,
        2,
        lambda: CreateTopicsRequest(
            topics=[CreatableTopic("one", -1, -1, [CreatableReplicaAssignment(n, [1]) for n in MANY])],
            timeout_ms=1,
            validate_only=True,
        ),
    ),
    "CreatePartitions in no time": (
        3,
        1,
        lambda: CreatePartitionsRequest(topics=[CreatePartitionsTopic(name, 9) for name in NAMES], timeout_ms=0),
    ),
    "DeleteTopics in no time": (2, 1, lambda: DeleteTopicsRequest(topic_names=NAMES, timeout_ms=0)),
    "ListOffsets": (
        2,
        1,
        lambda: ListOffsetsRequest(
            topics=[ListOffsetsTopic("z", [ListOffsetsPartition(partition_index=n, timestamp=-1) for n in MANY])]
        ),
    ),
    "OffsetCommit for no topic": (
        1,
        8,
        lambda: OffsetCommitRequest(
            group_id="g",
            topics=[OffsetCommitRequestTopic(name="z", partitions=[OffsetCommitRequestPartition(n, 0) for n in MANY])],
        ),
    ),
    "Metadata without names": (
        2,
        12,
        lambda: MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in [*NAMES, None]]),
    ),
    "Metadata with operations": (
        3,
        9,
        lambda: MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in NAMES],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        ),
    ),
    "DescribeTopicPartitions at no cursor": (
        2,
        0,
        lambda: DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in NAMES], cursor=Cursor(topic_name="x", partition_index=0)
        ),
    ),
}


class Looks(trio.abc.Instrument):
    """Counts how often the event loop has looked at its sockets."""

    number = 0

    def before_io_wait(self, _timeout):
        self.number += 1


@pytest.mark.parametrize("what", ASKED)
async def test_others_have_their_turns_all_the_time(autojump_clock, server, what):
    """The number is how often each entry comes up, at least."""
    times, version, make = ASKED[what]
    request = make()
    looks = Looks()
    call = Call(server.broker, Context(version, "c", "/127.0.0.1"), Endpoint("localhost", 9092))
    trio.lowlevel.add_instrument(looks)
    await BY_KEY[request.API_KEY].handle(call, request)
    assert looks.number >= times * len(MANY) // A_TURN - 1
