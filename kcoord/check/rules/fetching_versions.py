"""OffsetFetch: what came with later versions, that is layouts, several groups at once, and topics by their ids."""

import struct
from uuid import UUID

from kcoord.check.outcome import NotApplicable
from kcoord.check.rule import rule
from kcoord.check.rules.fetching_offsets import NAMED, VALIDATED, Topic, Wanted, asked, fetch_listed, listed
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetFetchRequest, OffsetFetchRequestTopic

SEVERAL_GROUPS = (8, 9)
BY_ID = 10
NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
ZERO = UUID(int=0)

HANDLED = "Apache Kafka KafkaApis.handleOffsetFetchRequest"

# --- several groups ---


@rule(
    id="K6",
    api="OffsetFetch",
    says="Each group of a request is answered by itself, in the order of the request.",
    source=f"KIP-709; {HANDLED}",
    versions="8-10",
)
async def k6(world: World) -> None:
    client = await world.client()
    one, all_of_it, unknown = world.group(), world.group(), world.group()
    await client.commit(one, {(world.t, 0): 1, (world.t, 1): 2})
    await client.commit(all_of_it, {(world.u, 2): 3})
    request = OffsetFetchRequest(
        groups=[asked(one, [(world.t, [0])]), asked(all_of_it, None), asked(unknown, [(world.t, [0])])]
    )
    for version in world.offered(OffsetFetchRequest, SEVERAL_GROUPS):
        answer = await client.call(request, version)
        assert [group.group_id for group in answer.groups] == [one, all_of_it, unknown]
        assert [group.error_code for group in answer.groups] == [ErrorCode.NONE] * 3
        assert [listed(group) for group in answer.groups] == [
            [(world.t, [(0, 1, 0)])],
            [(world.u, [(2, 3, 0)])],
            [(world.t, [(0, -1, 0)])],
        ]


@rule(
    id="K7",
    api="OffsetFetch",
    says="A group that is named twice is answered twice.",
    source=f"KIP-709; {HANDLED}",
    versions="8-10",
    since="3.5",
)
async def k7(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1, (world.t, 1): 2})
    request = OffsetFetchRequest(groups=[asked(group, [(world.t, [1])]), asked(group, [(world.t, [0])])])
    for version in world.offered(OffsetFetchRequest, SEVERAL_GROUPS):
        answer = await client.call(request, version)
        assert [group.group_id for group in answer.groups] == [group, group]
        assert [listed(group) for group in answer.groups] == [[(world.t, [(1, 2, 0)])], [(world.t, [(0, 1, 0)])]]


@rule(
    id="K8",
    api="OffsetFetch",
    says="A request without groups is answered without groups.",
    source=f"KIP-709; {HANDLED}",
    versions="8-10",
    since="4.1",
)
async def k8(world: World) -> None:
    client = await world.client()
    for version in world.offered(OffsetFetchRequest, (8, 9, 10)):
        answer = await client.call(OffsetFetchRequest(groups=[]), version)
        assert answer.groups == []
        assert answer.throttle_time_ms == 0


@rule(
    id="K9",
    api="OffsetFetch",
    says="A classic group does not look at the member and the epoch that a request names.",
    source=f"KIP-848; {VALIDATED}",
    versions="9-10",
)
async def k9(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    for version in world.offered(OffsetFetchRequest, (9, 10)):
        topic: Topic = (await client.topic_ids(world.t))[0] if version >= BY_ID else world.t
        for member_id, epoch in (("bogus", 99), ("bogus", -1), (None, 7), ("", 0)):
            question = asked(group, [(topic, [0])])
            question.member_id, question.member_epoch = member_id, epoch
            (answer,) = (await client.call(OffsetFetchRequest(groups=[question]), version)).groups
            assert answer.error_code == ErrorCode.NONE
            assert listed(answer) == [(topic, [(0, 1, 0)])]


# --- layouts, and requests that are not served ---

ANSWERS = {
    1: "00000001 {t} 00000001 00000000 ffffffffffffffff 0000 0000",
    2: "00000001 {t} 00000001 00000000 ffffffffffffffff 0000 0000  0000",
    3: "00000000  00000001 {t} 00000001 00000000 ffffffffffffffff 0000 0000  0000",
    4: "00000000  00000001 {t} 00000001 00000000 ffffffffffffffff 0000 0000  0000",
    5: "00000000  00000001 {t} 00000001 00000000 ffffffffffffffff ffffffff 0000 0000  0000",
    6: "00 00000000  02 {t} 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00",
    7: "00 00000000  02 {t} 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00",
    8: "00 00000000  02 {g}  02 {t} 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00 00",
    9: "00 00000000  02 {g}  02 {t} 02 00000000 ffffffffffffffff ffffffff 01 0000 00 00  0000 00 00",
}
"""What follows the correlation id when group g, which does not exist, is asked for partition 0 of t.

A top-level error since version 2, throttle time since 3, leader epoch since 5, compact lengths and tags since 6,
and groups, with their errors, since 8.
"""


def named(name: str, version: int) -> str:
    """A name as it stands in the answer, in hex: its length in 2 bytes, or from version 6 on, one more, in 1."""
    text = name.encode()
    assert len(text) < 127
    return ((len(text) + 1).to_bytes(1) + text if version >= 6 else len(text).to_bytes(2) + text).hex()


@rule(
    id="K13",
    api="OffsetFetch",
    says="Each version's answer has its own layout, byte by byte.",
    source="KIP-320, KIP-482, KIP-709; Apache Kafka OffsetFetchResponse.json",
    versions="1-9",
    each={"version": NAMED},
    also="K14",
)
async def k13(world: World, version: int) -> None:
    client, group = await world.client(), world.group()
    if version >= 8:
        request = OffsetFetchRequest(groups=[asked(group, [(world.t, [0])])])
    else:
        topics = [OffsetFetchRequestTopic(name=world.t, partition_indexes=[0])]
        request = OffsetFetchRequest(group_id=group, topics=topics)
    await client.send(request, version, correlation_id=5)
    answer = ANSWERS[version].format(t=named(world.t, version), g=named(group, version))
    assert await client.read_frame() == struct.pack(">i", 5) + bytes.fromhex(answer)


@rule(
    id="K15",
    api="OffsetFetch",
    says="In version 1 topics cannot be null: the connection is closed.",
    source="Apache Kafka OffsetFetchRequest.json: topics are nullable from version 2 on",
    versions="1",
)
async def k15(world: World) -> None:
    world.offered(OffsetFetchRequest, (1,))
    client = await world.client()
    await client.send_frame(struct.pack(">hhih", OffsetFetchRequest.API_KEY, 1, 1, -1) + b"\x00\x01g\xff\xff\xff\xff")
    assert await client.is_closed()


@rule(
    id="K15b",
    api="OffsetFetch",
    says="A version beside those that are advertised is not served: the connection is closed.",
    source="Apache Kafka RequestContext.parseRequest, SocketServer.processCompletedReceives",
    versions="0+",
    each={"beyond": ("the lowest", "the highest")},
)
async def k15b(world: World, beyond: str) -> None:
    offers = (world.offers or {}).get(OffsetFetchRequest.API_KEY, OffsetFetchRequest.VERSIONS)
    version = offers.lowest - 1 if beyond == "the lowest" else offers.highest + 1
    if version < 0:
        raise NotApplicable("all versions from 0 on are advertised")
    client = await world.client()
    await client.send_frame(struct.pack(">hhih", OffsetFetchRequest.API_KEY, version, 1, -1) + b"\x00\x01g\0\0\0\0")
    assert await client.is_closed()


# --- topics by their ids ---


@rule(
    id="K17",
    api="OffsetFetch",
    says="Topics can be asked for by their ids: those that the broker knows come first, others are an error each.",
    source=f"KIP-516; {HANDLED}",
    versions="10",
)
async def k17(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 5, (world.u, 1): 6})
    known, other = await client.topic_ids(world.t, world.u)
    wanted: Wanted = [(NOBODY, [0, 1]), (known, [1, 0]), (ZERO, [0]), (other, [1])]
    unknown = ErrorCode.UNKNOWN_TOPIC_ID
    assert await fetch_listed(client, group, wanted, BY_ID) == [
        (known, [(1, -1, 0), (0, 5, 0)]),
        (other, [(1, 6, 0)]),
        (NOBODY, [(0, -1, unknown), (1, -1, unknown)]),
        (ZERO, [(0, -1, unknown)]),
    ]


@rule(
    id="K17b",
    api="OffsetFetch",
    says="All that a group has committed comes with the ids of the topics, where topics have no names.",
    source=f"KIP-516; {HANDLED}",
    versions="10",
)
async def k17b(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 5, (world.u, 1): 6})
    known, other = await client.topic_ids(world.t, world.u)
    found = await fetch_listed(client, group, None, BY_ID)
    assert dict(found) == {known: [(0, 5, 0)], other: [(1, 6, 0)]}
    assert len(found) == 2
    assert await fetch_listed(client, group, [], BY_ID) == []


@rule(
    id="K17c",
    api="OffsetFetch",
    says="An unknown topic id is an error in a group that does not exist, too; it has no epoch and no metadata.",
    source=f"KIP-516; {HANDLED}",
    versions="10",
)
async def k17c(world: World) -> None:
    client, group = await world.client(), world.group()
    (known,) = await client.topic_ids(world.t)
    request = OffsetFetchRequest(groups=[asked(group, [(NOBODY, [0]), (known, [1])]), asked(group, None)])
    answer = await client.call(request, BY_ID)
    assert [listed(one) for one in answer.groups] == [
        [(known, [(1, -1, 0)]), (NOBODY, [(0, -1, ErrorCode.UNKNOWN_TOPIC_ID)])],
        [],
    ]
    for topic in answer.groups[0].topics:
        for one in topic.partitions:
            assert (one.committed_leader_epoch, one.metadata) == (-1, "")


@rule(
    id="K17d",
    api="OffsetFetch",
    says="A topic id that is asked for twice is answered twice, and one without partitions has an entry.",
    source=f"KIP-516; {HANDLED}",
    versions="10",
)
async def k17d(world: World) -> None:
    client, group = await world.client(), world.group()
    await client.commit(group, {(world.t, 0): 1})
    (known,) = await client.topic_ids(world.t)
    wanted: Wanted = [(known, [0]), (NOBODY, []), (known, [0, 1]), (known, [])]
    assert await fetch_listed(client, group, wanted, BY_ID) == [
        (known, [(0, 1, 0)]),
        (known, [(0, 1, 0), (1, -1, 0)]),
        (known, []),
        (NOBODY, []),
    ]
