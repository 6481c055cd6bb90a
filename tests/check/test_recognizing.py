"""Which release of Kafka a broker is, and the note if it is judged by another one."""

import pytest
import trio

from kcoord.check.recognizing import RELEASES, note_of_release, recognized
from kcoord.check.runner import Plan, check
from kcoord.check.target import reach
from tests.check.brokers import Close, answer, between
from tests.check.conftest import server
from wire.messages import ApiVersionsRequest
from wire.messages.api_versions import SupportedFeatureKey


def telling(*levels, name="metadata.version"):
    """A broker that tells of levels that it supports, up to each of these."""

    def change(asked, version, message, frame):
        if asked is not ApiVersionsRequest or version < 3:
            return frame
        message.supported_features = [SupportedFeatureKey(name=name, min_version=1, max_version=top) for top in levels]
        return answer(message, version, frame)

    return change


def never(number):
    """A broker that does not answer this version of ApiVersions but closes the connection."""

    def change(asked, version, message, frame):
        if asked is ApiVersionsRequest and version == number:
            raise Close
        return frame

    return change


async def found(change, judged_by=(4, 4)):
    async with server() as opener, trio.open_nursery() as nursery:
        opener = between(opener, nursery, change)
        offers = (await reach(opener, ())).offers
        note = await note_of_release(opener, offers, judged_by)
        report = await check(opener, "here:9092", Plan([], release=judged_by))
        nursery.cancel_scope.cancel()
    assert report.notes == tuple(note)
    return note


def test_each_release_has_a_level_of_its_own():
    assert len(set(RELEASES.values())) == len(RELEASES)
    assert list(RELEASES.items()) == sorted(RELEASES.items())


async def test_a_release_that_is_too_old_for_the_rules():
    old = "the rules were tried from Kafka 3.9 on: what 3.8 did otherwise may be called broken"
    assert await found(telling(20), (3, 8)) == [old]
    assert await found(telling(21), (3, 8)) == [
        old,
        "this broker looks like Kafka 3.9: --kafka 3.9 judges it by that release",
    ]
    assert await found(telling(21), (3, 9)) == []


@pytest.mark.parametrize(("level", "release"), [(21, "3.9"), (25, "4.0")])
async def test_a_broker_of_another_release(level, release):
    assert await found(telling(level)) == [
        f"this broker looks like Kafka {release}: --kafka {release} judges it by that release"
    ]


@pytest.mark.parametrize("change", [telling(33), telling(22), telling(), telling(21, name="kraft.version"), never(3)])
async def test_a_broker_of_which_there_is_nothing_to_note(change):
    assert await found(change) == []


async def test_a_broker_that_is_judged_by_its_release():
    assert await found(telling(21), (3, 9)) == []


async def test_a_broker_that_tells_no_features():
    async with server() as opener:
        offers = (await reach(opener, ())).offers
        key = ApiVersionsRequest.API_KEY
        for less in ({}, {key: type(offers[key])(0, 2)}):
            assert await recognized(None, less) is None
        assert await recognized(opener, offers) is None
