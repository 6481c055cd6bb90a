"""What Kafka did otherwise with topics, records and settings in earlier releases, beside the group coordinator.

Each rule has the id of the one that replaced it, with the last release in which it held behind that.
"""

import struct
import zlib
from typing import Any, Final

from kcoord.check.fetches import FETCH, NAMES_UNTIL, error_of
from kcoord.check.logs import appended, batch, ends, new_topic, produce
from kcoord.check.masked import masked
from kcoord.check.nodes import left_at_default, node_id
from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.rules.altering_configs import ALTERS, APPEND, DELETE, SET, error, in_both_forms, sets
from kcoord.check.rules.altering_one_by_one import assert_no_list
from kcoord.check.rules.configs import DEFAULT, LONG, assert_default_of_broker, assert_default_of_topics
from kcoord.check.rules.deleting_records import POLICY, delete, filled
from kcoord.check.rules.fetching import SESSIONS, ask, fetched, want
from kcoord.check.rules.growing_topics import DRY_FIRST, ENOUGH, ILLEGAL, more
from kcoord.check.rules.listing_offsets import (
    LATEST,
    NO_MEANING,
    TOO_OLD,
    TWICE,
    UNKNOWN,
    Place,
    look_up_all,
)
from kcoord.check.rules.listing_offsets import (
    ends as both_ends,
)
from kcoord.check.rules.topic_settings import AHEAD, assert_lead
from kcoord.check.topics import BROKER_LOGGER, GROUP, TOPIC, created, describe, owns, partitions
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import (
    CreatePartitionsRequest,
    DeleteRecordsRequest,
    DescribeConfigsRequest,
    FetchRequest,
    ListOffsetsRequest,
    ProduceRequest,
)

NEVER: Final = str(2**63 - 1)
FETCHED: Final = "Apache Kafka 3.9 ReplicaManager.fetchOffset"
Listed = list[tuple[str, list[tuple[int, Place]]]]


# --- ListOffsets ---


async def look_up_listed(client: Client, version: int, *topics: tuple[str, list[tuple[int, int]]]) -> Listed:
    """Ask for timestamps; return the answer as it comes, but in the order of names and numbers."""
    answer = await client.call(look_up_all(*topics), version)
    return sorted(
        (
            each.name,
            sorted(
                (one.partition_index, (one.error_code, one.timestamp, one.offset, one.leader_epoch))
                for one in each.partitions
            ),
        )
        for each in answer.topics
    )


@rule(
    id="list-offsets-4-3.9",
    api="ListOffsets",
    says="That a timestamp has no meaning is seen before the topic is looked for, but after it was seen what is asked "
    "for twice, which is answered so often.",
    source=FETCHED,
    versions="1-9",
    since="3.9",
    until="3.9",
)
async def list_offsets_4(world: World) -> None:
    client, t, nope = await world.client(), world.t, world.topic("nope")
    for version in world.offered(ListOffsetsRequest):
        found = await look_up_listed(
            client, version, (nope, [(0, NO_MEANING)]), (t, [(9, NO_MEANING), (0, NO_MEANING), (0, LATEST)])
        )
        assert found == sorted([(nope, [(0, TOO_OLD)]), (t, [(0, TWICE), (0, TWICE), (9, TOO_OLD)])])


@rule(
    id="list-offsets-4-3.8",
    api="ListOffsets",
    says="A topic is looked for before it is seen that a timestamp has no meaning, but after it was seen what is asked "
    "for twice.",
    source="Apache Kafka 3.8 KafkaApis.handleListOffsetRequestV1AndAbove",
    versions="1-8",
    until="3.8",
)
async def list_offsets_4_still_earlier(world: World) -> None:
    client, t, nope = await world.client(), world.t, world.topic("nope")
    for version in world.offered(ListOffsetsRequest):
        found = await look_up_listed(
            client, version, (nope, [(0, NO_MEANING)]), (t, [(9, NO_MEANING), (0, NO_MEANING), (0, LATEST)])
        )
        assert found == sorted([(nope, [(0, UNKNOWN)]), (t, [(0, TWICE), (0, TWICE), (9, UNKNOWN)])])


@rule(
    id="list-offsets-5-3.9",
    api="ListOffsets",
    says="A partition that is asked for twice is answered twice, with an error; the others are served.",
    source=FETCHED,
    versions="1-9",
    until="3.9",
)
async def list_offsets_5(world: World) -> None:
    client, t, u = await world.client(), world.t, world.u
    for version in world.offered(ListOffsetsRequest):
        end = both_ends(version)
        found = await look_up_listed(client, version, (t, [(0, LATEST), (0, LATEST), (1, LATEST)]), (u, [(0, LATEST)]))
        assert found == sorted([(t, [(0, TWICE), (0, TWICE), (1, end)]), (u, [(0, end)])])


@rule(
    id="list-offsets-6-3.9",
    api="ListOffsets",
    says="A topic has an entry in the answer as often as it is named, also without partitions.",
    source=FETCHED,
    versions="1-9",
    until="3.9",
    also="list-offsets-7-3.9",
)
async def list_offsets_6(world: World) -> None:
    client, t, u, nope = await world.client(), world.t, world.u, world.topic("nope")
    for version in world.offered(ListOffsetsRequest):
        end = both_ends(version)
        found = await look_up_listed(client, version, (t, [(0, LATEST)]), (u, [(0, LATEST)]), (t, [(2, LATEST)]))
        assert found == sorted([(t, [(0, end)]), (u, [(0, end)]), (t, [(2, end)])])
        found = await look_up_listed(client, version, (t, []), (nope, []), (u, [(7, LATEST)]))
        assert found == sorted([(t, []), (nope, []), (u, [(7, UNKNOWN)])])


# --- Fetch ---


@rule(
    id="fetch-11-3.9",
    api="Fetch",
    says="An isolation level that does not exist fails as a whole where there is room to say so, and for each "
    "partition, with null in the place of records, as long as topics have names.",
    source="Apache Kafka 3.9 FetchRequest.getErrorResponse",
    versions="4-17",
    until="3.9",
)
async def fetch_11(world: World) -> None:
    asked = await masked(world)
    failed = ErrorCode.UNKNOWN_SERVER_ERROR
    for version in world.offered(FetchRequest, FETCH):
        found = [error_of(index, failed, aborted=[]) for index in (0, 9)]
        for one in found:
            one.records = None
        expected = fetched(
            version,
            *([("t", found)] if version <= NAMES_UNTIL else []),
            error=failed if version >= SESSIONS[0] else ErrorCode.NONE,
        )
        request = want(version, ("t", [(0, 0), (9, 0)]), isolation_level=7, wait=5_000)
        assert await ask(world, asked, request, version) == expected


# --- Produce ---


@rule(
    id="produce-18-3.9",
    api="Produce",
    says="Versions 0 to 2 take messages of the layouts that were before batches.",
    source="KIP-32; Apache Kafka 3.9 ProduceRequest.json",
    versions="0+",
    topics=(),
    each={"version": (0, 1, 2)},
    until="3.9",
)
async def produce_18(world: World, version: int) -> None:
    if world.offers is not None and version not in world.offers[ProduceRequest.API_KEY]:
        raise NotApplicable(f"Produce {version} is not advertised")
    client = await world.client()
    name = (await new_topic(client)).encode()
    magic = 1 if version == 2 else 0
    message = struct.pack(">bb", magic, 0) + (struct.pack(">q", 1_700_000_000_000) if magic else b"")
    message += struct.pack(">ii5s", -1, 5, b"value")
    message = struct.pack(">I", zlib.crc32(message)) + message
    records = struct.pack(">qi", 0, len(message)) + message
    body = struct.pack(f">hiih{len(name)}siii", -1, 10_000, 1, len(name), name, 1, 0, len(records)) + records
    await client.send_frame(struct.pack(">hhih", ProduceRequest.API_KEY, version, 7, -1) + body)
    answered = struct.pack(f">iih{len(name)}siihq", 7, 1, len(name), name, 1, 0, ErrorCode.NONE, 0)
    answered += struct.pack(">q", -1) if version >= 2 else b""
    answered += struct.pack(">i", 0) if version >= 1 else b""
    assert await client.read_frame() == answered
    assert await ends(client, name.decode(), 0) == [1]


@rule(
    id="produce-31-3.9",
    api="Produce",
    says="Unless the topic says otherwise, a record's time may be any in the future.",
    source="KIP-937; Apache Kafka 3.9 LogConfig",
    versions="3-11",
    topics=(),
    until="3.9",
    also="produce-32-3.9",
)
async def produce_31(world: World) -> None:
    client = await world.client()
    await left_at_default(client, f"log.{AHEAD}")
    name = await new_topic(client)
    for offset, version in enumerate(world.offered(ProduceRequest, range(3, 12))):
        found = (await produce(client, version, (name, [(0, batch(times=[2**62]))])))[name]
        assert found == {0: appended(0, offset, version)}


@rule(
    id="delete-records-8-4.1",
    api="DeleteRecords",
    says="Records are not deleted where the cleanup policy is empty.",
    source="KIP-107; Apache Kafka Partition.deleteRecordsOnLeader",
    versions="0-2",
    topics=(),
    until="4.1",
)
async def delete_records_8(world: World) -> None:
    client = await world.client()
    name = await filled(client, cleanup_policy="")
    for version in world.offered(DeleteRecordsRequest):
        assert await delete(client, version, (name, [(0, 4)])) == {name: {0: POLICY}}


# --- settings ---


@rule(
    id="create-topics-40b-3.9",
    api="CreateTopics",
    says="The answer tells that by default a topic takes records however far their time is ahead of the broker's.",
    source="KIP-937; Apache Kafka 3.9 LogConfig",
    versions="5-7",
    until="3.9",
)
async def create_topics_40b(world: World) -> None:
    await assert_lead(world, NEVER)


@rule(
    id="describe-configs-1b-3.9",
    api="DescribeConfigs",
    says="By default a topic takes records however far their time is ahead of the broker's.",
    source="KIP-937; Apache Kafka 3.9 LogConfig",
    versions="1-4",
    until="3.9",
)
async def describe_configs_1b(world: World) -> None:
    await left_at_default(await world.client(), f"log.{AHEAD}")
    await assert_default_of_topics(world, AHEAD, NEVER, LONG, [(f"log.{AHEAD}", NEVER, DEFAULT)])


@rule(
    id="describe-configs-9b-3.9",
    api="DescribeConfigs",
    says="By default the broker lets records be however far ahead of its time.",
    source="KIP-937; Apache Kafka 3.9 KafkaConfig",
    versions="1-4",
    until="3.9",
)
async def describe_configs_9b(world: World) -> None:
    await assert_default_of_broker(world, f"log.{AHEAD}", NEVER, LONG)


@rule(
    id="describe-configs-14b-3.9",
    api="DescribeConfigs",
    says="Groups have no settings: to ask for them is refused.",
    source="Apache Kafka 3.9 ConfigHelper.describeConfigs",
    versions="1-4",
    until="3.9",
)
async def describe_configs_14b(world: World) -> None:
    client = await world.client()
    for version in world.offered(DescribeConfigsRequest, range(1, 5)):
        found = await describe(client, GROUP, world.group(), version=version)
        assert (ErrorCode(found.error_code), found.configs) == (ErrorCode.INVALID_REQUEST, [])


@in_both_forms(
    "6b-3.9",
    says="Groups have no settings: to change them is refused, and so is to change nothing.",
    source="Apache Kafka 3.9 ConfigAdminManager.preprocess",
    until="3.9",
)
async def settings_of_groups(world: World, alter: str, version: int) -> None:
    client, group = await world.client(), world.group()
    for changes in ([], sets(retention_ms="1")):
        for validate_only in DRY_FIRST:
            how: dict[str, Any] = {"alter": ALTERS[alter], "version": version, "validate_only": validate_only}
            assert await error(client, GROUP, group, *changes, **how) is ErrorCode.INVALID_REQUEST


@rule(
    id="incremental-alter-configs-22b-4.1",
    api="IncrementalAlterConfigs",
    says="Blanks around what is appended to a list make it something else, though they are not told.",
    source="KIP-339; Apache Kafka ConfigurationControlManager.incrementalAlterConfig",
    versions="0-1",
    until="4.1",
)
async def incremental_22b(world: World) -> None:
    client = await world.client()
    name = await created(client, cleanup_policy="delete")
    assert await error(client, TOPIC, name, ("cleanup.policy", APPEND, " delete")) is ErrorCode.NONE
    assert await owns(client, name, cleanup_policy="delete,delete")


@rule(
    id="incremental-alter-configs-25-4.0",
    api="IncrementalAlterConfigs",
    says="Loggers that do not exist are an unknown error; operations that loggers do not have are refused, and to "
    "change nothing is no fault.",
    source="KIP-412; Apache Kafka 3.9 ConfigAdminManager.preprocess",
    versions="0-1",
    until="4.0",
)
async def incremental_25(world: World) -> None:
    client = await world.client()
    node = str(await node_id(client))
    assert await error(client, BROKER_LOGGER, node) is ErrorCode.NONE
    for operation, value, code in (
        (SET, "INFO", ErrorCode.UNKNOWN_SERVER_ERROR),
        (DELETE, None, ErrorCode.UNKNOWN_SERVER_ERROR),
        (APPEND, "INFO", ErrorCode.INVALID_REQUEST),
    ):
        assert await error(client, BROKER_LOGGER, node, ("no.such.logger", operation, value)) is code


@rule(
    id="incremental-alter-configs-27b-4.2",
    api="IncrementalAlterConfigs",
    says="To append to what a broker does not have is an unknown error.",
    source="KIP-339; Apache Kafka 3.9 ConfigAdminManager.prepareIncrementalConfigs",
    versions="0-1",
    until="4.2",
    each={"name": ("{node}", "")},
)
async def incremental_27b(world: World, name: str) -> None:
    await assert_no_list(world, name, ErrorCode.UNKNOWN_SERVER_ERROR)


# --- topics ---


@rule(
    id="create-partitions-14-4.3",
    api="CreatePartitions",
    says="However many partitions a request adds in all, each topic is looked at by itself.",
    source="KIP-195; Apache Kafka ReplicationControlManager.createPartitions",
    versions="0-3",
    until="4.3",
)
async def create_partitions_14(world: World) -> None:
    client = await world.client()
    node, twice, nope = await node_id(client), world.topic(), world.topic()
    names = [await created(client) for _ in range(2)]
    # A new partition without a broker that can have it is refused: so none comes into being.
    wishes = [more(name, 9_001, [node]) for name in names] + [more(twice, 1), more(twice, 1), more(nope, 99_999)]
    expected = {
        **dict.fromkeys(names, ILLEGAL),
        twice: ErrorCode.INVALID_REQUEST,
        nope: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    for validate_only in DRY_FIRST:
        request = CreatePartitionsRequest(topics=wishes, timeout_ms=ENOUGH, validate_only=validate_only)
        answer = await client.call(request, client.newest(CreatePartitionsRequest, 3))
        assert {one.name: one.error_code for one in answer.results} == expected
    assert {await partitions(client, name) for name in names} == {1}
