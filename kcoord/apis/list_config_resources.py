"""ListConfigResources (key 74): what has settings that can be described (KIP-714, KIP-1142).

v0 is a list of client metrics subscriptions, of which there are none; v1 of every type.
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.config_entries import ResourceType
from kcoord.apis.turns import Turns
from wire.errors import ErrorCode
from wire.messages import ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse

TYPES_SINCE = 1


async def list_config_resources(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """List the brokers and all topics, or those types of them that are asked for.

    A type that does not exist is an error of the request. Groups have no settings here, so none is listed.
    """
    turns = Turns()
    wanted = set(request.resource_types)
    if not wanted <= set(ResourceType):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if call.context.version < TYPES_SINCE:
        return ListConfigResourcesResponse()
    wanted = wanted or set(ResourceType)
    found = [
        ConfigResource(resource_name=str(node.id), resource_type=kind)
        for kind in (ResourceType.BROKER_LOGGER, ResourceType.BROKER)
        if kind in wanted
        for node in call.broker.nodes.alive
    ]
    if ResourceType.TOPIC in wanted:
        for topic in tuple(call.broker.catalog):
            await turns.step()
            found.append(ConfigResource(resource_name=topic.name, resource_type=ResourceType.TOPIC))
    return ListConfigResourcesResponse(config_resources=found)


def weight(response: ListConfigResourcesResponse) -> int:
    """Return how many entries there are to be written."""
    return len(response.config_resources)


API = Api(request=ListConfigResourcesRequest, versions="0-1", handle=list_config_resources, weight=weight)
