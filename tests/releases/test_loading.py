"""What releases before Kafka 4 said while a group is loaded."""

import pytest

from kcoord.core.settings import GroupSettings
from kcoord.errors_in_place import refusal
from kcoord.releases.release import RELEASES
from kcoord.shard import Status
from tests.releases.test_served import commit
from wire.errors import ErrorCode
from wire.messages import HeartbeatRequest, JoinGroupRequest, ListGroupsRequest, SyncGroupRequest

LOADING, ELSEWHERE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR


def refused(release, request, code):
    return refusal(request, 3, code, GroupSettings(behaviour=RELEASES[release].behaviour))


@pytest.mark.parametrize(("release", "error"), [("3.9", ErrorCode.REBALANCE_IN_PROGRESS), ("4.0", LOADING)])
def test_a_sync_group_while_the_group_is_loaded(release, error):
    request = SyncGroupRequest(group_id="g", member_id="m")
    assert refused(release, request, LOADING).error_code == error
    assert refused(release, request, ELSEWHERE).error_code == ELSEWHERE


@pytest.mark.parametrize(("release", "error"), [("3.9", LOADING), ("4.0", ErrorCode.INVALID_SESSION_TIMEOUT)])
def test_whether_the_session_timeout_is_looked_at_first(release, error):
    request = JoinGroupRequest(group_id="g", session_timeout_ms=1)
    assert refused(release, request, LOADING).error_code == error


@pytest.mark.parametrize(("release", "error"), [("0.11", ELSEWHERE), ("1.0", ErrorCode.INVALID_GROUP_ID)])
def test_the_empty_group_id_where_nobody_coordinates(release, error):
    assert refused(release, HeartbeatRequest(group_id=""), ELSEWHERE).error_code == error
    assert refused(release, JoinGroupRequest(group_id=""), ELSEWHERE).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(("release", "generation"), [("2.1", 0), ("2.2", -1)])
def test_the_generation_of_a_refused_join(release, generation):
    assert refused(release, JoinGroupRequest(group_id="g"), ELSEWHERE).generation_id == generation


@pytest.mark.parametrize(("release", "listed"), [("3.9", ["g"]), ("4.0", [])])
async def test_groups_are_listed_as_far_as_they_are_there(autojump_clock, like, release, listed):
    server = await like(release)
    client = server.connect()
    await client.call(commit(("t", [(0, 1)])), 8)
    owner = server.broker.shard_for("g")
    next(shard for shard in server.broker.shards if shard is not owner).status = Status.LOADING
    answer = await client.call(ListGroupsRequest(), 4)
    assert answer.error_code == LOADING
    assert [group.group_id for group in answer.groups] == listed
