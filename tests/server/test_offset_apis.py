"""What the API layer does around the coordinator for OffsetCommit, OffsetFetch and OffsetDelete."""

from uuid import UUID

import pytest

from tests.server.client import heartbeat, stable_member
from wire.messages import (
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

NOBODY = UUID(int=99)


def commit(group, topics, *, generation=-1, member="", offset=5):
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[
            OffsetCommitRequestTopic(
                **({"topic_id": name} if isinstance(name, UUID) else {"name": name}),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset + index, committed_metadata="m"
                    )
                    for index in indexes
                ],
            )
            for name, indexes in topics
        ],
    )


def committed(answer):
    return [
        (topic.name or topic.topic_id, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in answer.topics
    ]


def fetched(topics):
    return [
        (
            topic.name or topic.topic_id,
            [
                (each.partition_index, each.committed_offset, each.metadata, each.error_code)
                for each in topic.partitions
            ],
        )
        for topic in topics
    ]


def fetch_old(group, topics):
    wanted = topics and [OffsetFetchRequestTopic(name=name, partition_indexes=list(each)) for name, each in topics]
    return OffsetFetchRequest(group_id=group, topics=wanted)


def fetch_new(*groups, by_id=False):
    field = "topic_id" if by_id else "name"
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group,
                topics=topics
                and [OffsetFetchRequestTopics(**{field: name}, partition_indexes=list(each)) for name, each in topics],
            )
            for group, topics in groups
        ]
    )


@pytest.mark.parametrize("version", range(2, 10))
async def test_what_does_not_exist_is_sorted_out(autojump_clock, server, version):
    client = server.connect()
    request = commit("g", [("t", [0, 3, 2, -1]), ("nope", [0]), ("u", []), ("none", [])])
    answer = await client.call(request, version)
    assert committed(answer) == [
        ("t", [(3, 3), (-1, 3), (0, 0), (2, 0)]),
        ("nope", [(0, 3)]),
        ("none", []),
    ]


@pytest.mark.parametrize("version", range(2, 10))
async def test_a_commit_of_nothing_that_exists_does_not_reach_the_group(autojump_clock, server, version):
    client = server.connect()
    request = commit("g", [("nope", [0])], generation=7, member="unknown")
    assert committed(await client.call(request, version)) == [("nope", [(0, 3)])]
    assert (await client.call(commit("g", []), version)).topics == []
    assert (await client.call(ListGroupsRequest(), 0)).groups == []


@pytest.mark.parametrize("version", range(2, 10))
async def test_an_error_of_the_group_stands_beside_those_of_the_topics(autojump_clock, server, version):
    client = server.connect()
    await client.call(commit("g", [("t", [0])]), 2)
    request = commit("g", [("t", [1, 9])], generation=7, member="unknown")
    assert committed(await client.call(request, version)) == [("t", [(9, 3), (1, 25)])]


async def test_commits_by_topic_id(autojump_clock, server):
    client = server.connect()
    t, u = (server.broker.catalog.by_name(name).topic_id for name in "tu")
    request = commit("g", [(NOBODY, [0]), (t, [1, 8]), (u, [0]), (UUID(int=0), [0])])
    assert committed(await client.call(request, 10)) == [
        (NOBODY, [(0, 100)]),
        (t, [(8, 3), (1, 0)]),
        (UUID(int=0), [(0, 100)]),
        (u, [(0, 0)]),
    ]
    answer = await client.call(fetch_new(("g", [(NOBODY, [4]), (t, [1, 0])]), ("g", None), by_id=True), 10)
    asked, everything = answer.groups
    assert fetched(asked.topics) == [(t, [(1, 6, "m", 0), (0, -1, "", 0)]), (NOBODY, [(4, -1, "", 100)])]
    assert sorted(fetched(everything.topics)) == sorted([(t, [(1, 6, "m", 0)]), (u, [(0, 5, "m", 0)])])


@pytest.mark.parametrize("version", range(1, 8))
async def test_one_group_is_fetched_in_the_old_layout(autojump_clock, server, version):
    client = server.connect()
    await client.call(commit("g", [("t", [0, 2])]), 5)
    answer = await client.call(fetch_old("g", [("t", [2, 1]), ("nope", [0])]), version)
    assert answer.error_code == 0
    assert fetched(answer.topics) == [("t", [(2, 7, "m", 0), (1, -1, "", 0)]), ("nope", [(0, -1, "", 0)])]
    assert [each.committed_leader_epoch for each in answer.topics[0].partitions] == [-1, -1]
    assert (await client.call(fetch_old("g", []), version)).topics == []
    if version >= 2:
        everything = await client.call(fetch_old("g", None), version)
        assert fetched(everything.topics) == [("t", [(0, 5, "m", 0), (2, 7, "m", 0)])]


@pytest.mark.parametrize("version", [8, 9])
async def test_many_groups_are_fetched_each_by_itself(autojump_clock, server, version):
    client = server.connect()
    await client.call(commit("g1", [("t", [0])], offset=10), 5)
    await client.call(commit("g2", [("t", [0])], offset=20), 5)
    request = fetch_new(("g2", [("t", [0])]), ("nobody", [("t", [0])]), ("g1", None), ("g2", []), ("nobody", None))
    answer = await client.call(request, version)
    assert [(group.group_id, group.error_code, fetched(group.topics)) for group in answer.groups] == [
        ("g2", 0, [("t", [(0, 20, "m", 0)])]),
        ("nobody", 0, [("t", [(0, -1, "", 0)])]),
        ("g1", 0, [("t", [(0, 10, "m", 0)])]),
        ("g2", 0, []),
        ("nobody", 0, []),
    ]


def delete(group, topics):
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in topics
        ],
    )


async def test_deleting_sorts_out_what_does_not_exist(autojump_clock, server):
    client = server.connect()
    await client.call(commit("g", [("t", [0, 1])]), 5)
    answer = await client.call(delete("g", [("t", [0, 5]), ("nope", [0])]), 0)
    assert answer.error_code == 0
    assert committed(answer) == [("t", [(5, 3), (0, 0)]), ("nope", [(0, 3)])]
    left = await client.call(fetch_old("g", None), 5)
    assert fetched(left.topics) == [("t", [(1, 6, "m", 0)])]


async def test_deleting_asks_the_group_even_about_nothing(autojump_clock, server):
    client = server.connect()
    for topics in ([], [("nope", [0])]):
        answer = await client.call(delete("unknown", topics), 0)
        assert (answer.error_code, answer.topics) == (69, [])
        assert (await client.call(delete("", topics), 0)).error_code == 24


async def test_a_commit_restarts_the_session(autojump_clock, server):
    import trio

    client = server.connect()
    member, generation = await stable_member(client, "g")
    for _ in range(5):
        await trio.sleep(9)
        answer = await client.call(commit("g", [("t", [0])], generation=generation, member=member), 8)
        assert committed(answer) == [("t", [(0, 0)])]
    assert (await client.call(heartbeat("g", generation, member), 3)).error_code == 0
