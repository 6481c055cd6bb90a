"""IncrementalAlterConfigs (key 44): settings changed one by one, the others left as they are (KIP-339).

v1 flexible (KIP-482). What rules it is in `kcoord.apis.altering`.
"""

from kcoord.apis.altering import Change, alter, wishes_of
from kcoord.apis.api import Api, Call
from wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse


async def incremental_alter_configs(
    call: Call, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Answer for each resource, in the order of the request."""
    wishes = await wishes_of(
        request.resources, lambda entry: Change(entry.name, entry.config_operation, entry.value), anew=False
    )
    return IncrementalAlterConfigsResponse(responses=await alter(call, wishes, validate_only=request.validate_only))


def weight(response: IncrementalAlterConfigsResponse) -> int:
    """Return how many entries there are to be written."""
    return len(response.responses)


API = Api(request=IncrementalAlterConfigsRequest, versions="0-1", handle=incremental_alter_configs, weight=weight)
