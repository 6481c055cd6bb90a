"""Requests that are wrong in one place: no two are the same, none can be read, and it is told which one is answered."""

import pytest

from kcoord.apis import APIS
from kcoord.check.frames import header_of
from kcoord.check.malformed import bad_varints, cut_short, negative_tags, nulls, one_of_each, too_long
from kcoord.check.names import Names
from kcoord.check.outcome import Broken
from kcoord.check.rules.malformed import refused
from kcoord.check.world import World
from tests.check.conftest import server
from wire import messages as m
from wire.codec import decode, encode
from wire.errors import WireError

EVERY = [pytest.param(api.request, version, id=f"{api.name}-{version}") for api in APIS for version in api.versions]


@pytest.mark.parametrize(("cls", "version"), EVERY)
def test_none_can_be_read(cls, version):
    wrong = [each for make in (cut_short, nulls, too_long, bad_varints, negative_tags) for each in make(cls, version)]
    assert len({each.what for each in wrong}) == len(wrong)
    for each in wrong:
        with pytest.raises(WireError):
            decode(cls, version, each.body)


def test_every_field_is_there_once():
    commit = one_of_each(m.OffsetCommitRequest, 9)
    assert [len(topic.partitions) for topic in commit.topics] == [1]
    assert None not in [commit.group_instance_id, commit.topics[0].partitions[0].committed_metadata]
    ends = {each.what: len(each.body) for each in cut_short(m.HeartbeatRequest, 3)}
    whole = len(encode(one_of_each(m.HeartbeatRequest, 3), 3))
    assert ends == {
        "it ends before group_id": 0,
        "it ends before generation_id": 3,
        "it ends before member_id": 7,
        "it ends before group_instance_id": 10,
        "it ends one byte early": whole - 1,
    }


def test_each_length_is_spoilt():
    assert [each.what for each in nulls(m.OffsetFetchRequest, 1)] == [
        "group_id has the length ffff",
        "group_id has the length 8000",
        "topics has the length ffffffff",
        "topics has the length 80000000",
        "topics.0.name has the length ffff",
        "topics.0.name has the length 8000",
        "topics.0.partition_indexes has the length ffffffff",
        "topics.0.partition_indexes has the length 80000000",
    ]
    assert not [each for each in nulls(m.OffsetFetchRequest, 2) if each.what.startswith("topics has")]
    assert [each.what for each in too_long(m.HeartbeatRequest, 4)][-3:] == [
        "group_instance_id has the length 8080808008",
        "tags has the length 01",
        "tags has the length ffffffff07",
    ]
    assert list(negative_tags(m.HeartbeatRequest, 3)) == []
    assert len(list(negative_tags(m.LeaveGroupRequest, 5))) == 4


async def test_it_is_told_which_one_is_answered():
    beat = header_of(m.HeartbeatRequest, 0, 7) + encode(m.HeartbeatRequest(group_id="g"), 0)
    async with server() as opener:
        world = World(opener, Names(), exact=True)
        await refused(world, [("it is cut short", beat[:-1])])
        with pytest.raises(Broken, match="the connection is not closed, though nothing is wrong"):
            await refused(world, [("it is cut short", beat[:-1]), ("nothing is wrong", beat)])
        await world.aclose()
