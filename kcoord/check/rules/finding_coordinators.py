"""FindCoordinator: where a group is coordinated."""

from typing import Any

from kcoord.check.probe import Client
from kcoord.check.rule import rule
from kcoord.check.tags import ask_with_tags, compact, many
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import FindCoordinatorRequest, MetadataRequest

FOUND = "Apache Kafka KafkaApis.handleFindCoordinatorRequest"
SEVERAL = f"KIP-699; {FOUND}"
OF_GROUPS, OF_SHARE_GROUPS, OF_NOTHING = 0, 2, 5
"""Types of keys: groups have one, share groups another, and nothing has the last."""


async def coordinator_of(client: Client, key: str) -> tuple[int, int, str, int]:
    """Return the error, node id, host and port that the oldest version tells."""
    answer = await client.call(FindCoordinatorRequest(key=key), 0)
    return place(answer)


def place(one: Any) -> tuple[int, int, str, int]:
    """Return the error, and where it is."""
    return one.error_code, one.node_id, one.host, one.port


@rule(
    id="connections-14",
    api="FindCoordinator",
    says="Tagged fields that nobody knows change nothing of where a coordinator is found.",
    source=f"KIP-482; {FOUND}",
    versions="3-6",
    each={"version": range(3, 7)},
)
async def connections_14(world: World, version: int) -> None:
    client = await world.client()
    if version < 4:
        found = [await ask_with_tags(client, FindCoordinatorRequest, version, compact("g"), b"\x00")]
    else:
        keys = many(compact("g"), compact("h"))
        found = (await ask_with_tags(client, FindCoordinatorRequest, version, b"\x00", keys)).coordinators
        assert [one.key for one in found] == ["g", "h"]
    older = await coordinator_of(client, "g")
    assert older[0] == ErrorCode.NONE
    for one in found:
        assert place(one) == older


@rule(
    id="connections-15",
    api="FindCoordinator",
    says="A broker that is alone coordinates every group, whatever its id, and every version tells so.",
    source=FOUND,
    versions="0-3",
)
async def connections_15(world: World) -> None:
    client = await world.client()
    (broker,) = (await client.call(MetadataRequest(topics=[]), 5)).brokers
    expected = (ErrorCode.NONE, broker.node_id, broker.host, broker.port)
    for version in world.offered(FindCoordinatorRequest, range(4)):
        assert place(await client.call(FindCoordinatorRequest(key="g"), version)) == expected


@rule(
    id="connections-15b",
    api="FindCoordinator",
    says="Any number of keys may be asked for at once; each has its answer, in their order, also if it comes twice.",
    source=SEVERAL,
    versions="4-6",
    also="B7",
)
async def connections_15b(world: World) -> None:
    client = await world.client()
    (broker,) = (await client.call(MetadataRequest(topics=[]), 5)).brokers
    expected = (ErrorCode.NONE, broker.node_id, broker.host, broker.port)
    for version in world.offered(FindCoordinatorRequest, range(4, 7)):
        for keys in (["g"], ["c", "a", "b"], [], ["g", "h", "g"], [""]):
            answer = await client.call(FindCoordinatorRequest(coordinator_keys=keys), version)
            assert [one.key for one in answer.coordinators] == keys
            for one in answer.coordinators:
                assert place(one) == expected


async def found_for(client: Client, key_type: int, version: int) -> list[Any]:
    """Ask for keys of a type, several if the version allows that; return an answer for each."""
    if version < 4:
        return [await client.call(FindCoordinatorRequest(key="x", key_type=key_type), version)]
    request = FindCoordinatorRequest(coordinator_keys=["x", "y", "x"], key_type=key_type)
    answer = await client.call(request, version)
    assert [one.key for one in answer.coordinators] == ["x", "y", "x"]
    return list(answer.coordinators)


@rule(
    id="connections-16",
    api="FindCoordinator",
    says="A key of a type that does not exist is refused as a wrong request, with a sentence and without a place.",
    source=f"{FOUND}: CoordinatorType",
    versions="1-6",
    each={"version": range(1, 7)},
    also="B4 B8",
)
async def connections_16(world: World, version: int) -> None:
    client = await world.client()
    for one in await found_for(client, OF_NOTHING, version):
        assert place(one) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
        assert one.error_message
    for one in await found_for(client, OF_GROUPS, version):
        assert one.error_code == ErrorCode.NONE


@rule(
    id="connections-23",
    api="FindCoordinator",
    says="The coordinator is where Metadata says that the broker is.",
    source=f"{FOUND}; handleTopicMetadataRequest",
    versions="0-6",
    also="B1",
)
async def connections_23(world: World) -> None:
    client = await world.client()
    for version in world.offered(MetadataRequest):
        (broker,) = (await client.call(MetadataRequest(topics=[]), version)).brokers
        for group in ("", "g", world.group()):
            found = await client.call(FindCoordinatorRequest(key=group), 2)
            assert place(found) == (ErrorCode.NONE, broker.node_id, broker.host, broker.port)
        assert broker.host not in {"", "0.0.0.0", "::"}  # noqa: S104 - no address to listen at
        assert broker.port > 0


@rule(
    id="find-coordinator-1",
    api="FindCoordinator",
    says="Keys of share groups are refused before version 6, which has them, and after that if they name no partition.",
    source=f"KIP-932; {FOUND}",
    versions="1-6",
    topics=(),
    each={"version": range(1, 7)},
    also="B10 B11",
    since="4.0",
)
async def find_coordinator_1(world: World, version: int) -> None:
    client = await world.client()
    for one in await found_for(client, OF_SHARE_GROUPS, version):
        assert place(one) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
