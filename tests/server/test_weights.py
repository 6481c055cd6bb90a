"""How heavy answers are: it is found out in little time, however heavy they are."""

from itertools import count

import pytest

from kcoord.apis import BY_KEY
from kcoord.apis.api import HEAVIEST, weighed
from kcoord.net.connection import HEAVY
from wire.messages import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    FetchableTopicResponse,
    FetchResponse,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
    PartitionData,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)


class Counting(list):
    """A list that knows how many of its entries were looked at."""

    looked_at = 0

    def __iter__(self):
        for each in super().__iter__():
            self.looked_at += 1
            yield each


ONE_OF = {
    "Fetch": (1, lambda inner: FetchResponse(responses=[FetchableTopicResponse(partitions=inner)]), PartitionData()),
    "Produce": (
        0,
        lambda inner: ProduceResponse(responses=[TopicProduceResponse(partition_responses=inner)]),
        PartitionProduceResponse(),
    ),
    "Metadata": (3, lambda inner: MetadataResponse(topics=inner), MetadataResponseTopic(name="t")),
    "DescribeConfigs": (32, lambda inner: DescribeConfigsResponse(results=inner), DescribeConfigsResult()),
    "DescribeLogDirs": (
        35,
        lambda inner: DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=inner)]),
        DescribeLogDirsTopic(),
    ),
}


@pytest.mark.parametrize("what", ONE_OF)
def test_only_so_many_entries_are_looked_at(what):
    key, answer, one = ONE_OF[what]
    entries = Counting([one] * (2 * HEAVIEST))
    assert BY_KEY[key].weight(answer(entries)) >= HEAVIEST >= HEAVY
    assert entries.looked_at <= HEAVIEST
    assert BY_KEY[key].weight(answer([one] * 100)) == 100


def test_what_is_inside_counts():
    topic = MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition()] * 5)
    assert BY_KEY[3].weight(MetadataResponse(topics=[topic, topic])) == 12
    result = DescribeConfigsResult(configs=[DescribeConfigsResourceResult()] * 5)
    assert BY_KEY[32].weight(DescribeConfigsResponse(results=[result])) == 6
    logs = DescribeLogDirsTopic(partitions=[DescribeLogDirsPartition()] * 5)
    assert BY_KEY[35].weight(DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=[logs])])) == 6


def test_the_sum_of_what_never_ends():
    assert weighed(count()) >= HEAVIEST
    assert weighed([]) == 0
