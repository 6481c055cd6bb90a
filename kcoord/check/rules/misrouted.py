"""ApiVersions 5: a client says which cluster and which broker of it it means, and is told if it reached another."""

from typing import Final

from kcoord.check.frames import ask
from kcoord.check.nodes import place_of
from kcoord.check.rule import rule
from kcoord.check.world import World
from wire.errors import ErrorCode
from wire.messages import ApiVersionsRequest, ApiVersionsResponse, HeartbeatRequest

Place = tuple[str | None, int]
"""The ids of a cluster and of a broker in it."""
NOWHERE: Final[Place] = (None, -1)
ANOTHER: Final = "another-cluster"
NODES: Final = (-2, 2**31 - 1, 999_983)
"""Ids that few brokers have."""
CHECKED: Final = "KIP-1242; Apache Kafka KafkaApis.handleApiVersionsRequest"
VALID: Final = "KIP-1242; Apache Kafka ApiVersionsRequest.isValid"
BOOTSTRAP_ANEW: Final = ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
REFUSED: Final = ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)


def meaning(place: Place, software: str = "kcoord-check") -> ApiVersionsRequest:
    """Return the question of a client that means this broker."""
    cluster_id, node_id = place
    return ApiVersionsRequest(
        client_software_name=software, client_software_version="1", cluster_id=cluster_id, node_id=node_id
    )


@rule(
    id="api-versions-1",
    api="ApiVersions",
    says="Who means the broker that it reached, or none, is told the versions, however often it asks.",
    source=CHECKED,
    versions="5",
    topics=(),
)
async def api_versions_1(world: World) -> None:
    client = await world.client()
    here = await place_of(client)
    table = (await ask(client, ApiVersionsRequest(), 0)).api_keys
    for place in (here, NOWHERE, here, here):
        answer = await ask(client, meaning(place), 5)
        assert (answer.error_code, answer.throttle_time_ms) == (0, 0)
        assert answer.api_keys == table


@rule(
    id="api-versions-2",
    api="ApiVersions",
    says="Who means another cluster, or another broker, than it reached has to bootstrap anew, and is told no more.",
    source=CHECKED,
    versions="5",
    topics=(),
    each={"other": ("cluster", "broker", "both")},
)
async def api_versions_2(world: World, other: str) -> None:
    client = await world.client()
    cluster_id, node_id = await place_of(client)
    clusters = (cluster_id,) if other == "broker" else (ANOTHER, f"{cluster_id}x", "")
    nodes = (node_id,) if other == "cluster" else NODES
    for place in ((cluster, node) for cluster in clusters for node in nodes):
        if place != (cluster_id, node_id):
            assert await ask(client, meaning(place), 5) == BOOTSTRAP_ANEW


@rule(
    id="api-versions-3",
    api="ApiVersions",
    says="A cluster without a broker, or a broker without a cluster, is refused, also if it is the one reached.",
    source=VALID,
    versions="5",
    topics=(),
    each={"half": ("cluster", "broker")},
)
async def api_versions_3(world: World, half: str) -> None:
    client = await world.client()
    cluster_id, node_id = await place_of(client)
    places: list[Place] = [(None, node) for node in (node_id, *NODES)]
    if half == "cluster":
        places = [(cluster, -1) for cluster in (cluster_id, ANOTHER, "")]
    for place in places:
        assert await ask(client, meaning(place), 5) == REFUSED


@rule(
    id="api-versions-4",
    api="ApiVersions",
    says="Who does not say properly what it is, is refused for that, whomever it means.",
    source=CHECKED,
    versions="5",
    topics=(),
)
async def api_versions_4(world: World) -> None:
    client = await world.client()
    for place in (await place_of(client), NOWHERE, (ANOTHER, NODES[0])):
        assert await ask(client, meaning(place, software="no/name"), 5) == REFUSED


@rule(
    id="api-versions-5",
    api="ApiVersions",
    says="The connection of a client that has to bootstrap anew stays open, and what comes on it is answered.",
    source=CHECKED,
    versions="5",
    topics=(),
)
async def api_versions_5(world: World) -> None:
    client, group = await world.client(), world.group()
    here = await place_of(client)
    beat = HeartbeatRequest(group_id=group, member_id="nobody")
    version = client.newest(HeartbeatRequest, 4)
    for _ in range(2):
        assert await ask(client, meaning((ANOTHER, NODES[0])), 5) == BOOTSTRAP_ANEW
        assert (await ask(client, beat, version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert (await ask(client, meaning(here), 5)).error_code == ErrorCode.NONE
