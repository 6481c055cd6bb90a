"""Requests as short as they can be, in every version: lists are empty, or null where they may be, and so are texts."""

from typing import Final

from kcoord.check.frames import ask, kebab
from kcoord.check.nodes import node_id
from kcoord.check.rule import rule
from kcoord.check.topics import soon
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    InitProducerIdRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListConfigResourcesRequest,
    ListedGroup,
    ListGroupsRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProduceRequest,
    ProduceResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from wire.schema import Message

NOTHING: Final[dict[str, tuple[Message, Message, str, range]]] = {
    "Produce": (ProduceRequest(acks=-1), ProduceResponse(), "handleProduceRequest", range(3, 14)),
    "Fetch": (FetchRequest(), FetchResponse(), "handleFetchRequest", range(4, 19)),
    "ListOffsets": (ListOffsetsRequest(), ListOffsetsResponse(), "handleListOffsetRequest", range(1, 12)),
    "DescribeGroups": (
        DescribeGroupsRequest(),
        DescribeGroupsResponse(),
        "handleDescribeGroupsRequest",
        range(7),
    ),
    "CreateTopics": (CreateTopicsRequest(), CreateTopicsResponse(), "handleCreateTopics", range(2, 8)),
    "DeleteTopics": (DeleteTopicsRequest(), DeleteTopicsResponse(), "handleDeleteTopics", range(1, 7)),
    "DeleteRecords": (DeleteRecordsRequest(), DeleteRecordsResponse(), "handleDeleteRecordsRequest", range(3)),
    "OffsetForLeaderEpoch": (
        OffsetForLeaderEpochRequest(),
        OffsetForLeaderEpochResponse(),
        "handleOffsetForLeaderEpochRequest",
        range(2, 5),
    ),
    "DescribeConfigs": (
        DescribeConfigsRequest(),
        DescribeConfigsResponse(),
        "handleDescribeConfigsRequest",
        range(1, 5),
    ),
    "AlterConfigs": (AlterConfigsRequest(), AlterConfigsResponse(), "handleAlterConfigsRequest", range(3)),
    "CreatePartitions": (CreatePartitionsRequest(), CreatePartitionsResponse(), "handleCreatePartitions", range(4)),
    "DeleteGroups": (DeleteGroupsRequest(), DeleteGroupsResponse(), "handleDeleteGroupsRequest", range(4)),
    "IncrementalAlterConfigs": (
        IncrementalAlterConfigsRequest(),
        IncrementalAlterConfigsResponse(),
        "handleIncrementalAlterConfigsRequest",
        range(2),
    ),
}


async def nothing(world: World, api: str, version: int) -> None:
    request, answer, _, _ = NOTHING[api]
    assert await ask(await world.client(), request, version) == answer


for _api, (_request, _, _handler, _versions) in NOTHING.items():
    rule(
        id=f"{kebab(_api)}-minimal",
        api=_api,
        says="A request in which nothing is asked for is answered with nothing.",
        source=f"Apache Kafka KafkaApis, ControllerApis: {_handler}",
        versions=f"{_versions[0]}-{_versions[-1]}",
        topics=(),
        each=[{"api": _api, "version": version} for version in _versions],
    )(nothing)


# --- groups ---


@rule(
    id="find-coordinator-minimal",
    api="FindCoordinator",
    says="Without a key it is the group of the empty id whose coordinator is told, and without keys it is nobody's.",
    source="KIP-699; Apache Kafka KafkaApis.handleFindCoordinatorRequest",
    versions="0-6",
    topics=(),
    each={"version": range(7)},
    also="B6 B9",
)
async def find_coordinator_minimal(world: World, version: int) -> None:
    client = await world.client()
    node = await node_id(client)
    answer = await ask(client, FindCoordinatorRequest(), version)
    if version <= 3:
        assert (answer.error_code, answer.node_id, answer.coordinators) == (ErrorCode.NONE, node, [])
        assert answer.host
        assert answer.port > 0
        assert answer.error_message in (None, "", "NONE")
    else:
        assert answer == FindCoordinatorResponse()


@rule(
    id="join-group-minimal",
    api="JoinGroup",
    says="Without a protocol nobody joins a new group.",
    source="Apache Kafka GroupMetadataManager.classicGroupJoinNewMember, ClassicGroup.supportsProtocols",
    versions="0-9",
    settings={"group.min.session.timeout.ms": 6_000},
    topics=(),
    each={"version": range(10)},
)
async def join_group_minimal(world: World, version: int) -> None:
    request = JoinGroupRequest(group_id=world.group(), session_timeout_ms=6000)
    answer = await ask(await world.client(), request, version)
    assert answer == JoinGroupResponse(
        error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, protocol_name=None if version >= 7 else ""
    )


@rule(
    id="heartbeat-minimal",
    api="Heartbeat",
    says="A heartbeat without a member id is that of nobody.",
    source="Apache Kafka GroupMetadataManager.classicGroupHeartbeat",
    versions="0-4",
    topics=(),
    each={"version": range(5)},
)
async def heartbeat_minimal(world: World, version: int) -> None:
    answer = await ask(await world.client(), HeartbeatRequest(group_id=world.group()), version)
    assert answer == HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="leave-group-minimal",
    api="LeaveGroup",
    says="Who leaves without a member id is nobody, and of no members none leaves.",
    source="KIP-345; Apache Kafka GroupMetadataManager.classicGroupLeave",
    versions="0-5",
    topics=(),
    each={"version": range(6)},
)
async def leave_group_minimal(world: World, version: int) -> None:
    answer = await ask(await world.client(), LeaveGroupRequest(group_id=world.group()), version)
    assert answer == LeaveGroupResponse(error_code=ErrorCode.NONE if version >= 3 else ErrorCode.UNKNOWN_MEMBER_ID)


@rule(
    id="sync-group-minimal",
    api="SyncGroup",
    says="Who syncs without a member id is nobody; from version 5 on the lack of a protocol is seen before that.",
    source="KIP-559; Apache Kafka KafkaApis.handleSyncGroupRequest",
    versions="0-5",
    topics=(),
    each={"version": range(6)},
)
async def sync_group_minimal(world: World, version: int) -> None:
    answer = await ask(await world.client(), SyncGroupRequest(group_id=world.group()), version)
    before_five = ErrorCode.UNKNOWN_MEMBER_ID
    assert answer == SyncGroupResponse(
        error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL if version >= 5 else before_five
    )


@rule(
    id="list-groups-minimal",
    api="ListGroups",
    says="Without filters all groups are listed, each with what the version tells of it.",
    source="KIP-518, KIP-848; Apache Kafka KafkaApis.handleListGroupsRequest",
    versions="0-5",
    each={"version": range(6)},
)
async def list_groups_minimal(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    assert await client.commit(group, {(world.t, 0): 1}) == {(world.t, 0): ErrorCode.NONE}
    answer = await ask(client, ListGroupsRequest(), version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    expected = ListedGroup(
        group_id=group, group_state="Empty" if version >= 4 else "", group_type="classic" if version >= 5 else ""
    )
    assert [each for each in answer.groups if each.group_id == group] == [expected]


@rule(
    id="offset-commit-minimal",
    api="OffsetCommit",
    says="Who commits nothing is told of nothing, though there is no such group, and there is none afterwards.",
    source="Apache Kafka KafkaApis.handleOffsetCommitRequest",
    versions="2-10",
    topics=(),
    each={"version": range(2, 11)},
)
async def offset_commit_minimal(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    assert await ask(client, OffsetCommitRequest(group_id=group), version) == OffsetCommitResponse()
    assert group not in await client.list()


@rule(
    id="offset-fetch-minimal",
    api="OffsetFetch",
    says="Of a group that does not exist no offset is told, and without groups there is no answer to any.",
    source="KIP-709; Apache Kafka KafkaApis.handleOffsetFetchRequest",
    versions="1-10",
    topics=(),
    each={"version": range(1, 11)},
    since="4.1",
)
async def offset_fetch_minimal(world: World, version: int) -> None:
    request = OffsetFetchRequest()
    if version <= 7:
        request = OffsetFetchRequest(group_id=world.group(), topics=[] if version == 1 else None)
    assert await ask(await world.client(), request, version) == OffsetFetchResponse()


@rule(
    id="offset-delete-minimal",
    api="OffsetDelete",
    says="A group that does not exist is told so, though nothing of it is to be deleted.",
    source="KIP-496; Apache Kafka KafkaApis.handleOffsetDeleteRequest",
    versions="0",
    topics=(),
)
async def offset_delete_minimal(world: World) -> None:
    answer = await ask(await world.client(), OffsetDeleteRequest(group_id=world.group()), 0)
    assert answer == OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)


# --- the cluster ---


@rule(
    id="api-versions-minimal",
    api="ApiVersions",
    says="From version 3 on a client has to say what it is, and is told nothing if it does not.",
    source="KIP-511; Apache Kafka ApiVersionsRequest.isValid",
    versions="0-5",
    topics=(),
    each={"version": range(6)},
    also="A1 A2 A4",
)
async def api_versions_minimal(world: World, version: int) -> None:
    answer = await ask(await world.client(), ApiVersionsRequest(), version)
    if version >= 3:
        assert answer == ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    else:
        told = {each.api_key for each in answer.api_keys}
        assert (answer.error_code, ApiVersionsRequest.API_KEY in told, len(told)) == (0, True, len(answer.api_keys))


@rule(
    id="metadata-minimal",
    api="Metadata",
    says="Without topics, by an empty list in version 0 and by null later, all topics are told of.",
    source="Apache Kafka KafkaApis.handleTopicMetadataRequest",
    versions="0-13",
    each={"version": range(14)},
)
async def metadata_minimal(world: World, version: int) -> None:
    client = await world.client()
    answer = await ask(client, MetadataRequest(topics=None if version else []), version)
    assert answer.throttle_time_ms == answer.error_code == 0
    assert [(each.node_id, bool(each.host)) for each in answer.brokers] == [(await node_id(client), True)]
    found = {each.name: len(each.partitions) for each in answer.topics}
    assert (found[world.t], found[world.u]) == (3, 3)


@rule(
    id="describe-cluster-minimal",
    api="DescribeCluster",
    says="Who asks for nothing else is told which brokers there are.",
    source="KIP-700, KIP-919; Apache Kafka KafkaApis.handleDescribeCluster",
    versions="0-2",
    topics=(),
    each={"version": range(3)},
)
async def describe_cluster_minimal(world: World, version: int) -> None:
    client = await world.client()
    answer = await ask(client, DescribeClusterRequest(), version)
    assert (answer.throttle_time_ms, answer.error_code, answer.error_message, answer.endpoint_type) == (0, 0, None, 1)
    assert (bool(answer.cluster_id), answer.cluster_authorized_operations) == (True, -(2**31))
    assert [(each.broker_id, each.is_fenced) for each in answer.brokers] == [(await node_id(client), False)]


@rule(
    id="list-config-resources-minimal",
    api="ListConfigResources",
    says="Who names no types is told of all, in version 0 of client metrics only.",
    source="KIP-1142; Apache Kafka KafkaApis.handleListConfigResources",
    versions="0-1",
    each={"version": range(2)},
)
async def list_config_resources_minimal(world: World, version: int) -> None:
    client = await world.client()
    answer = await ask(client, ListConfigResourcesRequest(), version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    found = {(each.resource_type, each.resource_name) for each in answer.config_resources}
    if version:
        assert {(2, world.t), (4, str(await node_id(client)))} <= found
    else:
        assert {kind for kind, _ in found} <= {16}


@rule(
    id="describe-log-dirs-minimal",
    api="DescribeLogDirs",
    says="Who names no topics is told of all logs.",
    source="KIP-113; Apache Kafka KafkaApis.handleDescribeLogDirsRequest",
    versions="1-5",
    each={"version": range(1, 6)},
)
async def describe_log_dirs_minimal(world: World, version: int) -> None:
    answer = await ask(await world.client(), DescribeLogDirsRequest(topics=None), version)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 0)
    assert all((each.error_code, bool(each.log_dir)) == (0, True) for each in answer.results)
    found = {topic.name: len(topic.partitions) for each in answer.results for topic in each.topics}
    assert (found[world.t], found[world.u]) == (3, 3)


@rule(
    id="describe-topic-partitions-minimal",
    api="DescribeTopicPartitions",
    says="Without topics and a cursor the first partition is told of, and where the next page begins.",
    source="KIP-966; Apache Kafka DescribeTopicPartitionsRequestHandler",
    versions="0",
)
async def describe_topic_partitions_minimal(world: World) -> None:
    request = DescribeTopicPartitionsRequest(response_partition_limit=1)
    answer = await ask(await world.client(), request, 0)
    assert answer.throttle_time_ms == 0
    assert sum(len(each.partitions) for each in answer.topics) == 1
    assert answer.next_cursor is not None


@rule(
    id="init-producer-id-minimal",
    api="InitProducerId",
    says="Who names no transactional id is given a producer id.",
    source="KIP-98; Apache Kafka TransactionCoordinator.handleInitProducerId",
    versions="0-5",
    topics=(),
    each={"version": range(6)},
)
async def init_producer_id_minimal(world: World, version: int) -> None:
    client, request = await world.client(), InitProducerIdRequest(transactional_id=None)

    async def has_ids() -> bool:
        answer = await ask(client, request, version)
        return bool(answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert await soon(has_ids)
    answer = await ask(client, request, version)
    assert (answer.throttle_time_ms, answer.error_code, answer.producer_epoch) == (0, 0, 0)
    assert answer.producer_id >= 0
