"""What is committed, partition by partition, and what the answer is like."""

import struct
from uuid import UUID

from kcoord.check.commits import BY_ID, NAMED, commit_listed, part
from kcoord.check.outcome import NotApplicable
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import OffsetCommitRequest, OffsetFetchRequest

NOBODY = UUID("0badcafe-0000-4000-8000-0123456789ab")
ZERO = UUID(int=0)
INT64_MAX = 2**63 - 1
UNKNOWN, UNKNOWN_ID, NONE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NONE
HANDLED = "Apache Kafka OffsetMetadataManager.commitOffset"
FILTERED = "Apache Kafka KafkaApis.handleOffsetCommitRequest"
STORED = "Apache Kafka OffsetAndMetadata.fromRequest"

# --- topics and partitions that are not there ---


@rule(
    id="J16",
    api="OffsetCommit",
    says="Partitions of a topic that does not exist are refused one by one, and those of others are committed.",
    source=FILTERED,
    versions="2-9",
)
async def j16(world: World) -> None:
    client, nope = await world.client(), world.topic("nope")
    for version in world.offered(OffsetCommitRequest, NAMED):
        group = world.group()
        answer = await client.commit(group, {(nope, 0): 1, (nope, 7): 1, (world.t, 0): 2}, version=version)
        assert answer == {(nope, 0): UNKNOWN, (nope, 7): UNKNOWN, (world.t, 0): NONE}
        assert await client.fetch(group) == {(world.t, 0): (2, -1, "")}


@rule(
    id="J17",
    api="OffsetCommit",
    says="Partitions that a topic does not have are refused one by one, and those it has are committed.",
    source=FILTERED,
    versions="2-9",
)
async def j17(world: World) -> None:
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {(world.t, 99): 1, (world.t, 0): 2, (world.t, -1): 3, (world.t, 3): 4})
    assert answer == {(world.t, 99): UNKNOWN, (world.t, 0): NONE, (world.t, -1): UNKNOWN, (world.t, 3): UNKNOWN}
    assert await client.fetch(group) == {(world.t, 0): (2, -1, "")}


@rule(
    id="J18",
    api="OffsetCommit",
    says="If all topics are unknown the group is not asked: every partition has the topic's error.",
    source=FILTERED,
    versions="2-9",
    cost=3.1,
)
async def j18(world: World) -> None:
    member = await world.stable1(world.group())
    nope = world.topic("nope")
    answer = await member.commit({(nope, 0): 1, (nope, 1): 1}, member_id="stranger", generation=99)
    assert answer == dict.fromkeys([(nope, 0), (nope, 1)], UNKNOWN)


@rule(
    id="J19",
    api="OffsetCommit",
    says="A commit without topics has an answer without topics, and makes no group.",
    source=FILTERED,
    versions="2-9",
)
async def j19(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(OffsetCommitRequest, NAMED):
        assert await client.commit(group, {}, generation=5, version=version) == {}
        assert await client.commit(group, {}, version=version) == {}
    assert group not in await client.list()


@rule(
    id="J20",
    api="OffsetCommit",
    says="Partitions of unknown topics have the topic's error also if the group refuses the rest.",
    source=FILTERED,
    versions="2-9",
    cost=3.1,
)
async def j20(world: World) -> None:
    member = await world.stable1(world.group())
    nope = world.topic("nope")
    answer = await member.commit({(world.t, 0): 1, (nope, 0): 1}, generation=member.generation + 1)
    assert answer == {
        (world.t, 0): ErrorCode.ILLEGAL_GENERATION,
        (nope, 0): UNKNOWN,
    }


@rule(
    id="J33",
    api="OffsetCommit",
    says="A topic id that is nobody's, or zero, is refused for each of its partitions, and the rest is committed.",
    source=f"KIP-516; {FILTERED}",
    versions="10",
)
async def j33(world: World) -> None:
    client, group = await world.client(), world.group()
    known, other = await client.topic_ids(world.t, world.u)
    answer = await commit_listed(
        client,
        group,
        [
            (known, [part(0, 5)]),
            (NOBODY, [part(0), part(1)]),
            (ZERO, [part(0)]),
            (other, [part(9), part(1, 6)]),
        ],
        BY_ID,
    )
    # Entries with something refused come first.
    assert answer == [
        (NOBODY, [(0, UNKNOWN_ID), (1, UNKNOWN_ID)]),
        (ZERO, [(0, UNKNOWN_ID)]),
        (other, [(9, UNKNOWN), (1, NONE)]),
        (known, [(0, NONE)]),
    ]
    assert await client.fetch(group) == {(world.t, 0): (5, -1, ""), (world.u, 1): (6, -1, "")}


@rule(
    id="J33b",
    api="OffsetCommit",
    says="If all topic ids are unknown the group is not asked, and none is made.",
    source=f"KIP-516; {FILTERED}",
    versions="10",
)
async def j33b(world: World) -> None:
    client, group = await world.client(), world.group()
    topics = [(NOBODY, [part(0)])]
    answer = await commit_listed(client, group, topics, BY_ID, generation=9, member_id="stranger")
    assert answer == [(NOBODY, [(0, UNKNOWN_ID)])]
    assert group not in await client.list()


# --- metadata ---


@rule(
    id="J21",
    api="OffsetCommit",
    says="Metadata may have 4096 characters; a partition that has more is refused, and the others are committed.",
    source=f"{HANDLED}: offset.metadata.max.bytes",
    versions="2-9",
    settings={"offset.metadata.max.bytes": 4_096},
)
async def j21(world: World) -> None:
    client, group, t = await world.client(), world.group(), world.t
    answer = await client.commit(group, {(t, 0): (1, "x" * 4096), (t, 1): (2, "x" * 4097), (t, 2): (3, "")})
    assert answer == {(t, 0): NONE, (t, 1): ErrorCode.OFFSET_METADATA_TOO_LARGE, (t, 2): NONE}
    assert await client.fetch(group) == {(t, 0): (1, -1, "x" * 4096), (t, 2): (3, -1, "")}


@rule(
    id="J21b",
    api="OffsetCommit",
    says="A partition that is refused for its metadata keeps the offset that it had.",
    source=HANDLED,
    versions="2-9",
)
async def j21b(world: World) -> None:
    client, group = await world.client(), world.group()
    assert await client.commit(group, {(world.t, 0): (1, "old")}) == {(world.t, 0): NONE}
    answer = await client.commit(group, {(world.t, 0): (2, "x" * 5000)})
    assert answer == {(world.t, 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert await client.fetch(group) == {(world.t, 0): (1, -1, "old")}


@rule(
    id="J22",
    api="OffsetCommit",
    says="The characters of metadata are counted as Java counts them: neither bytes nor code points, but UTF-16.",
    source="Apache Kafka OffsetMetadataManager.isMetadataInvalid: String.length",
    versions="2-9",
    settings={"offset.metadata.max.bytes": 4_096},
)
async def j22(world: World) -> None:
    client, group, t = await world.client(), world.group(), world.t
    answer = await client.commit(group, {(t, 0): (1, "ü" * 4096), (t, 1): (2, "😀" * 2048), (t, 2): (3, "😀" * 2049)})
    assert answer == {(t, 0): NONE, (t, 1): NONE, (t, 2): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert await client.fetch(group) == {(t, 0): (1, -1, "ü" * 4096), (t, 1): (2, -1, "😀" * 2048)}


@rule(
    id="J23",
    api="OffsetCommit",
    says="Null metadata is committed as empty metadata.",
    source=STORED,
    versions="2-9",
)
async def j23(world: World) -> None:
    client = await world.client()
    for version in world.offered(OffsetCommitRequest, NAMED):
        group = world.group()
        assert await client.commit(group, {(world.t, 0): (1, None)}, version=version) == {(world.t, 0): NONE}
        for fetched_with in world.offered(OffsetFetchRequest, range(1, 10)):
            fetched = await client.fetch(group, {world.t: [0]}, version=fetched_with)
            assert fetched == {(world.t, 0): (1, -1, "")}


# --- offsets, and what goes with them ---


@rule(
    id="J24",
    api="OffsetCommit",
    says="The leader epoch of a commit comes back with its offset, to those whose version has a place for it.",
    source=f"KIP-320; {STORED}",
    versions="6-9",
)
async def j24(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(OffsetCommitRequest, range(6, 10)):
        answer = await client.commit(group, {(world.t, 0): version}, epoch=7, version=version)
        assert answer == {(world.t, 0): NONE}
        for fetched_with in world.offered(OffsetFetchRequest, range(1, 10)):
            epoch = 7 if fetched_with >= 5 else -1
            fetched = await client.fetch(group, {world.t: [0]}, version=fetched_with)
            assert fetched == {(world.t, 0): (version, epoch, "")}


@rule(
    id="J24b",
    api="OffsetCommit",
    says="A commit of a version without a leader epoch has none, and -1 is what comes back.",
    source=f"KIP-320; {STORED}",
    versions="2-5",
)
async def j24b(world: World) -> None:
    client, group = await world.client(), world.group()
    for version in world.offered(OffsetCommitRequest, range(2, 6)):
        assert await client.commit(group, {(world.t, 1): version}, version=version) == {(world.t, 1): NONE}
        assert await client.fetch(group, {world.t: [1]}) == {(world.t, 1): (version, -1, "")}


@rule(
    id="J25",
    api="OffsetCommit",
    says="Any number is taken for an offset, also a negative one, and comes back as it is.",
    source=f"{HANDLED}: offsets are not looked at",
    versions="2-9",
    each={"offset": (-1, 0, INT64_MAX, -2, -(2**63))},
)
async def j25(world: World, offset: int) -> None:
    client, group = await world.client(), world.group()
    assert await client.commit(group, {(world.t, 0): offset}) == {(world.t, 0): NONE}
    assert await client.fetch(group) == {(world.t, 0): (offset, -1, "")}


@rule(
    id="J26",
    api="OffsetCommit",
    says="A partition that is listed twice is answered twice, and the last one is what is committed.",
    source=f"{HANDLED}; GroupCoordinator up to 3.9 answered once",
    versions="2-9",
    since="4.0",
)
async def j26(world: World) -> None:
    client, group = await world.client(), world.group()
    answer = await commit_listed(client, group, [(world.t, [part(0, 1), part(1, 5), part(0, 2)])])
    assert answer == [(world.t, [(0, NONE), (1, NONE), (0, NONE)])]
    assert await client.fetch(group) == {(world.t, 0): (2, -1, ""), (world.t, 1): (5, -1, "")}


@rule(
    id="J27",
    api="OffsetCommit",
    says="A later commit replaces offset, leader epoch and metadata of the earlier one, also by none.",
    source=HANDLED,
    versions="6-9",
)
async def j27(world: World) -> None:
    client, group = await world.client(), world.group()
    assert await client.commit(group, {(world.t, 0): (1, "first")}, epoch=3) == {(world.t, 0): NONE}
    assert await client.commit(group, {(world.t, 0): (2, "second")}, epoch=4) == {(world.t, 0): NONE}
    version = world.offered(OffsetFetchRequest, range(5, 10))[-1]
    assert await client.fetch(group, version=version) == {(world.t, 0): (2, 4, "second")}
    assert await client.commit(group, {(world.t, 0): (3, "")}) == {(world.t, 0): NONE}
    assert await client.fetch(group, version=version) == {(world.t, 0): (3, -1, "")}


@rule(
    id="J28",
    api="OffsetCommit",
    says="A member may commit a lower offset than before.",
    source=f"{HANDLED}: offsets are not looked at",
    versions="2-9",
    cost=3.1,
)
async def j28(world: World) -> None:
    member = await world.stable1(world.group())
    assert await member.commit({(world.t, 0): 100}) == {(world.t, 0): NONE}
    assert await member.commit({(world.t, 0): 1}) == {(world.t, 0): NONE}
    assert await member.client.fetch(member.group) == {(world.t, 0): (1, -1, "")}


@rule(
    id="J29",
    api="OffsetCommit",
    says="Versions 2 to 4 may say how long the offset is to be kept, or leave it to the broker.",
    source="KIP-211; Apache Kafka OffsetMetadataManager.expireTimestampMs",
    versions="2-4",
    each={"version": (2, 3, 4), "retention": (-1, 3_600_000)},
)
async def j29(world: World, version: int, retention: int) -> None:
    client, group = await world.client(), world.group()
    answer = await client.commit(group, {(world.t, 0): 1}, version=version, retention=retention)
    assert answer == {(world.t, 0): NONE}
    assert await client.fetch(group) == {(world.t, 0): (1, -1, "")}


@rule(
    id="J31",
    api="OffsetCommit",
    says="Versions 0 and 1 are not served: where they are not advertised they close the connection.",
    source="KIP-896",
    versions="2+",
    each={"version": (0, 1)},
    also="J32",
    since="4.0",
)
async def j31(world: World, version: int) -> None:
    key = OffsetCommitRequest.API_KEY
    if world.offers is not None and version in world.offers[key]:
        raise NotApplicable(f"OffsetCommit {version} is advertised")
    client = await world.client()
    membership = struct.pack(">ih", -1, 0) if version == 1 else b""
    await client.send_frame(struct.pack(">hhih", key, version, 1, -1) + b"\x00\x01g" + membership + bytes(4))
    assert await client.is_closed()


@rule(
    id="J37",
    api="OffsetCommit",
    says="A thousand partitions are committed in one request.",
    source=HANDLED,
    versions="2-9",
    topics=("wide",),
)
async def j37(world: World) -> None:
    client, group = await world.client(), world.group()
    offsets = {(world.wide, index): 10_000 + index for index in range(1000)}
    assert await client.commit(group, offsets) == dict.fromkeys(offsets, NONE)
    assert await client.fetch(group) == {place: (offset, -1, "") for place, offset in offsets.items()}
