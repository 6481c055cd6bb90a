"""A server that is like a release: what it says of itself, what it refuses, and how it answers."""

import pytest

from kcoord.notices import RequestUnreadable
from wire.errors import ErrorCode
from wire.header import read_response, request_frame
from wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeGroupsRequest,
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    SyncGroupRequest,
)


def asked(version):
    named = {"client_software_name": "x", "client_software_version": "1"} if version >= 3 else {}
    return ApiVersionsRequest(**named)


@pytest.mark.parametrize(
    ("release", "newest", "join", "feature"),
    [
        ("0.11", 1, 2, None),
        ("2.0", 2, 3, None),
        ("2.8", 3, 7, None),
        ("3.2", 3, 9, None),
        ("3.3", 3, 9, (1, 7)),
        ("3.9", 4, 9, (1, 21)),
        ("4.3", 4, 9, (7, 30)),
        ("4.4", 5, 9, (7, 33)),
    ],
)
async def test_api_versions(autojump_clock, like, release, newest, join, feature):
    server = await like(release)
    for version in range(newest + 1):
        answer = await server.connect().call(asked(version), version)
        ranges = {each.api_key: each.max_version for each in answer.api_keys}
        assert (ranges[11], ranges[18]) == (join, newest)
        told = [(each.name, each.min_version, each.max_version) for each in answer.supported_features]
        in_force = [(each.name, each.min_version_level, each.max_version_level) for each in answer.finalized_features]
        if feature is None or version < 3:
            assert told == in_force == []
            assert answer.finalized_features_epoch == -1
        else:
            assert told == [("metadata.version", *feature)]
            assert in_force == [("metadata.version", feature[1], feature[1])]


@pytest.mark.parametrize(
    ("release", "told"), [("2.3", []), ("2.4", [(18, 0, 3)]), ("4.3", [(18, 0, 4)]), (None, [(18, 0, 5)])]
)
async def test_an_api_versions_that_is_too_new(autojump_clock, like, release, told):
    client = (await like(release)).connect()
    frame = request_frame(7, "c", asked(4), 4)
    await client.send_raw(frame[:6] + b"\0\x63" + frame[8:])
    _, answer = read_response(await client.receive_frame(), ApiVersionsResponse, 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == told


async def test_what_a_release_does_not_have_closes_the_connection(autojump_clock, like):
    server = await like("2.8")
    for request, version in ((HeartbeatRequest(group_id="g"), 4), (DescribeGroupsRequest(groups=["g"]), 5)):
        await server.connect().call(request, version)
    client = server.connect()
    with pytest.raises(EOFError):
        await client.call(DescribeGroupsRequest(groups=["g"]), 6)
    assert server.seen(RequestUnreadable)


async def test_a_masked_api_closes_the_connection_also_api_versions(autojump_clock, like):
    server = await like(mask="Heartbeat=0-3,ApiVersions=none")
    await server.connect().call(HeartbeatRequest(group_id="g"), 3)
    for request, version in ((HeartbeatRequest(group_id="g"), 4), (asked(0), 0)):
        with pytest.raises(EOFError):
            await server.connect().call(request, version)


def commit(*topics):
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                    for index, offset in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


@pytest.mark.parametrize(("release", "named"), [("3.4", []), ("3.5", ["nope"])])
async def test_an_unknown_topic_of_which_nothing_is_committed(autojump_clock, like, release, named):
    answer = await (await like(release)).connect().call(commit(("nope", [])), 8)
    assert [topic.name for topic in answer.topics] == named


async def test_entries_of_a_commit_and_of_a_question_about_all(autojump_clock, like):
    client = (await like("3.9")).connect()
    answer = await client.call(commit(("t", [(0, 1), (1, 5)]), ("u", [(0, 2)]), ("t", [(0, 3)])), 8)
    assert [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics] == [
        ("t", [0, 1]),
        ("u", [0]),
    ]
    answer = await client.call(OffsetFetchRequest(group_id="g", topics=None), 7)
    found = {
        (topic.name, one.partition_index): one.committed_offset for topic in answer.topics for one in topic.partitions
    }
    assert found == {("t", 0): 3, ("t", 1): 5, ("u", 0): 2}


@pytest.mark.parametrize(("release", "groups"), [("3.4", 1), ("3.5", 2)])
async def test_a_group_whose_offsets_are_asked_for_twice(autojump_clock, like, release, groups):
    client = (await like(release)).connect()
    wanted = [OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])])]
    answer = await client.call(OffsetFetchRequest(groups=wanted * 2), 8)
    assert len(answer.groups) == groups


@pytest.mark.parametrize(("release", "groups"), [("2.2", ["g", "h"]), ("2.3", ["g", "h", "g"])])
async def test_a_group_that_is_described_twice(autojump_clock, like, release, groups):
    answer = await (await like(release)).connect().call(DescribeGroupsRequest(groups=["g", "h", "g"]), 2)
    assert [each.group_id for each in answer.groups] == groups


async def test_sync_groups_version_does_not_matter_to_groups_that_are_not_there(autojump_clock, like):
    answer = await (await like("0.11")).connect().call(SyncGroupRequest(group_id="g", member_id="m"), 1)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
