"""Some rule asks each API that is served, in each version, as shortly and as fully as it can be asked."""

import pytest

import wire.messages as m
from kcoord.apis import APIS
from kcoord.check.frames import in_full, kebab
from kcoord.check.names import Names
from kcoord.check.rules import all_rules
from kcoord.check.rules.malformed import ABOUT
from kcoord.check.runner import run_case
from kcoord.check.world import World
from tests.check.conftest import server
from tests.check.requests_sent import is_minimal, parsed, parts_in, parts_of, sent
from wire.codec import encode

TOPICS = {"t": 3, "u": 3}
SERVED = {(api.request, version) for api in APIS for version in api.versions}


async def requests_of(ids):
    """What was asked in all cases of these rules: (class, version) and the request, for each one."""
    rules = all_rules()
    found = []
    async with server(topics=TOPICS) as opener:
        for rule in (rules[each] for each in ids):
            for case in rule.cases:
                names = Names()
                made = []

                async def make_world(transcript, names=names, made=made):
                    made.append(transcript)
                    return World(opener, names, exact=True, transcript=transcript)

                run = await run_case(rule, case, make_world, transcripts=False)
                assert run.failure is None, (rule.id, case.label, run.failure)
                found += [(cls, version, body) for each in made for cls, version, body in sent(each)]
    return found


def test_malformed_requests_are_of_every_api():
    named = [name for names in ABOUT.values() for name in names]
    assert sorted(named) == sorted(api.name for api in APIS)


async def test_as_shortly():
    asked = await requests_of(f"{kebab(api.name)}-minimal" for api in APIS)
    short = {(cls, version) for cls, version, body in asked if is_minimal(cls, version, parsed(cls, version, body))}
    assert SERVED - short == set()


async def test_as_fully():
    asked = await requests_of(f"{kebab(api.name)}-full" for api in APIS)
    least = dict.fromkeys(SERVED)
    for cls, version, body in asked:
        flexible = version in cls.FLEXIBLE
        there = parts_in(cls, version, parsed(cls, version, body), flexible=flexible)
        missing = parts_of(cls, version, flexible=flexible) - there
        known = least.get((cls, version))
        if known is None or len(missing) < len(known):
            least[cls, version] = missing
    assert {pair: missing for pair, missing in least.items() if missing is None or missing} == {}


FULL = m.FetchRequest(
    cluster_id="c",
    topics=[m.FetchTopic(topic="t", partitions=[m.FetchPartition(), m.FetchPartition()]), m.FetchTopic()],
    forgotten_topics_data=[m.ForgottenTopic(partitions=[1, 2]), m.ForgottenTopic()],
)


def lacking(request, version, body=None):
    cls, flexible = type(request), version in type(request).FLEXIBLE
    found = parsed(cls, version, encode(request, version) if body is None else body)
    return parts_of(cls, version, flexible=flexible) - parts_in(cls, version, found, flexible=flexible)


def test_what_counts_as_full():
    assert lacking(FULL, 11) == set()
    assert lacking(FULL, 12, in_full(FULL, 12)) == set()
    assert lacking(m.FetchRequest(topics=[m.FetchTopic(topic="t")]), 11) == {
        ".topics several", ".topics.partitions several", ".forgotten_topics_data several",
        ".forgotten_topics_data.partitions several",
    }  # fmt: skip
    assert lacking(FULL, 12) == {
        " tags", ".topics tags", ".topics.partitions tags", ".forgotten_topics_data tags"
    }  # fmt: skip
    assert lacking(m.HeartbeatRequest(), 3) == {".group_instance_id set"}
    assert lacking(m.HeartbeatRequest(group_instance_id=""), 3) == set()
    page = m.DescribeTopicPartitionsRequest(topics=[m.TopicRequest(name="a"), m.TopicRequest(name="b")])
    assert lacking(page, 0, in_full(page, 0)) == {".cursor set", ".cursor tags"}


@pytest.mark.parametrize(
    ("request_", "version", "short"),
    [
        (m.OffsetFetchRequest(topics=None), 2, True),
        (m.MetadataRequest(topics=[]), 1, True),
        (m.MetadataRequest(topics=[m.MetadataRequestTopic(name="t")]), 1, False),
        (m.HeartbeatRequest(group_id="g"), 4, True),
        (m.HeartbeatRequest(group_instance_id=""), 4, False),
        (m.FetchRequest(cluster_id="c"), 12, False),
        (m.FetchRequest(cluster_id="c"), 11, True),
    ],
)
def test_what_counts_as_short(request_, version, short):
    found = parsed(type(request_), version, encode(request_, version))
    assert is_minimal(type(request_), version, found) is short
