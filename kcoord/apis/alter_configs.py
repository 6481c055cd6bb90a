"""AlterConfigs (key 33): settings made anew, so that what is not named is not set any more (KIP-133).

v2 flexible (KIP-482). Clients should rather use IncrementalAlterConfigs (KIP-339); what rules both is in
`kcoord.apis.altering`.
"""

from kcoord.apis.altering import Change, Operation, alter, wishes_of
from kcoord.apis.api import Api, Call
from wire.messages import AlterConfigsRequest, AlterConfigsResponse


async def alter_configs(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Answer for each resource, in the order of the request."""
    wishes = await wishes_of(request.resources, lambda entry: Change(entry.name, Operation.SET, entry.value), anew=True)
    return AlterConfigsResponse(responses=await alter(call, wishes, validate_only=request.validate_only))


def weight(response: AlterConfigsResponse) -> int:
    """Return how many entries there are to be written."""
    return len(response.responses)


API = Api(request=AlterConfigsRequest, versions="0-2", handle=alter_configs, weight=weight)
