"""Where each API has its place for an error: for the whole request, or for single entries of it.

As Apache Kafka's requests have it in `getErrorResponse`, each for itself.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kcoord.errors_in_place import error_response
from kcoord.faults.listed import Listed
from kcoord.faults.nested import Nested
from kcoord.faults.place import Place, Whole
from kcoord.faults.special import FindCoordinatorPlace, LeavePlace, MetadataPlace, OffsetFetchPlace
from wire import messages as m


def _describe_log_dirs(_request: Any, version: int, code: int) -> m.DescribeLogDirsResponse:
    if version >= 3:
        return m.DescribeLogDirsResponse(error_code=code)
    return m.DescribeLogDirsResponse(results=[m.DescribeLogDirsResult(error_code=code)])


PLACES: Mapping[str, Place] = MappingProxyType(
    {
        "JoinGroup": Whole(error_response),
        "SyncGroup": Whole(error_response),
        "Heartbeat": Whole(error_response),
        "ListGroups": Whole(error_response),
        "ApiVersions": Whole(lambda _request, _version, code: m.ApiVersionsResponse(error_code=code)),
        "InitProducerId": Whole(
            lambda _request, _version, code: m.InitProducerIdResponse(error_code=code, producer_epoch=-1)
        ),
        "DescribeCluster": Whole(lambda _request, _version, code: m.DescribeClusterResponse(error_code=code)),
        "ListConfigResources": Whole(lambda _request, _version, code: m.ListConfigResourcesResponse(error_code=code)),
        "DescribeLogDirs": Whole(_describe_log_dirs),
        "FindCoordinator": FindCoordinatorPlace(),
        "LeaveGroup": LeavePlace(),
        "Metadata": MetadataPlace(),
        "OffsetFetch": OffsetFetchPlace(),
        "DescribeGroups": Listed(
            request=("groups",),
            response="groups",
            group="",
            answer=lambda name, code: m.DescribedGroup(group_id=name, error_code=code),
            make=m.DescribeGroupsResponse,
        ),
        "DeleteGroups": Listed(
            request=("groups_names",),
            response="results",
            group="",
            answer=lambda name, code: m.DeletableGroupResult(group_id=name, error_code=code),
            make=m.DeleteGroupsResponse,
        ),
        "CreateTopics": Listed(
            request=("topics",),
            response="topics",
            topic="name",
            answer=lambda topic, code: m.CreatableTopicResult(
                name=topic.name, error_code=code, num_partitions=-1, replication_factor=-1
            ),
            make=m.CreateTopicsResponse,
        ),
        "DeleteTopics": Listed(
            request=("topics", "topic_names"),
            response="responses",
            topic="name",
            answer=lambda topic, code: (
                m.DeletableTopicResult(name=topic, error_code=code)
                if isinstance(topic, str)
                else m.DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code)
            ),
            make=m.DeleteTopicsResponse,
        ),
        "CreatePartitions": Listed(
            request=("topics",),
            response="results",
            topic="name",
            answer=lambda topic, code: m.CreatePartitionsTopicResult(name=topic.name, error_code=code),
            make=m.CreatePartitionsResponse,
        ),
        "DescribeConfigs": Listed(
            request=("resources",),
            response="results",
            answer=lambda one, code: m.DescribeConfigsResult(
                error_code=code, error_message=None, resource_type=one.resource_type, resource_name=one.resource_name
            ),
            make=m.DescribeConfigsResponse,
        ),
        "AlterConfigs": Listed(
            request=("resources",),
            response="responses",
            answer=lambda one, code: m.AlterConfigsResourceResponse(
                error_code=code, error_message=None, resource_type=one.resource_type, resource_name=one.resource_name
            ),
            make=m.AlterConfigsResponse,
        ),
        "IncrementalAlterConfigs": Listed(
            request=("resources",),
            response="responses",
            answer=lambda one, code: m.AlterConfigsResourceResponse(
                error_code=code, error_message=None, resource_type=one.resource_type, resource_name=one.resource_name
            ),
            make=m.IncrementalAlterConfigsResponse,
        ),
        "DescribeTopicPartitions": Listed(
            request=("topics",),
            response="topics",
            topic="name",
            answer=lambda topic, code: m.DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=code),
            make=m.DescribeTopicPartitionsResponse,
        ),
        "Produce": Nested(
            request=("topic_data", "partition_data", "index"),
            response=("responses", "partition_responses"),
            topic=lambda topic: m.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id),
            partition=lambda index, code: m.PartitionProduceResponse(index=index, error_code=code, base_offset=-1),
            make=m.ProduceResponse,
        ),
        "Fetch": Nested(
            request=("topics", "partitions", "partition"),
            response=("responses", "partitions"),
            topic=lambda topic: m.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id),
            partition=lambda index, code: m.PartitionData(partition_index=index, error_code=code, high_watermark=-1),
            make=m.FetchResponse,
        ),
        "ListOffsets": Nested(
            request=("topics", "partitions", "partition_index"),
            response=("topics", "partitions"),
            topic=lambda topic: m.ListOffsetsTopicResponse(name=topic.name),
            partition=lambda index, code: m.ListOffsetsPartitionResponse(partition_index=index, error_code=code),
            make=m.ListOffsetsResponse,
        ),
        "OffsetCommit": Nested(
            request=("topics", "partitions", "partition_index"),
            response=("topics", "partitions"),
            topic=lambda topic: m.OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id),
            partition=lambda index, code: m.OffsetCommitResponsePartition(partition_index=index, error_code=code),
            make=m.OffsetCommitResponse,
        ),
        "OffsetDelete": Nested(
            request=("topics", "partitions", "partition_index"),
            response=("topics", "partitions"),
            topic=lambda topic: m.OffsetDeleteResponseTopic(name=topic.name),
            partition=lambda index, code: m.OffsetDeleteResponsePartition(partition_index=index, error_code=code),
            make=m.OffsetDeleteResponse,
            whole=lambda _version, code: m.OffsetDeleteResponse(error_code=code),
        ),
        "DeleteRecords": Nested(
            request=("topics", "partitions", "partition_index"),
            response=("topics", "partitions"),
            topic=lambda topic: m.DeleteRecordsTopicResult(name=topic.name),
            partition=lambda index, code: m.DeleteRecordsPartitionResult(
                partition_index=index, low_watermark=-1, error_code=code
            ),
            make=m.DeleteRecordsResponse,
        ),
        "OffsetForLeaderEpoch": Nested(
            request=("topics", "partitions", "partition"),
            response=("topics", "partitions"),
            topic=lambda topic: m.OffsetForLeaderTopicResult(topic=topic.topic),
            partition=lambda index, code: m.OffsetForLeaderPartitionResult(partition=index, error_code=code),
            make=m.OffsetForLeaderEpochResponse,
        ),
    }
)
"""By Kafka's names of the requests."""
