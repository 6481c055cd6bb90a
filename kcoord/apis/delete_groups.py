"""DeleteGroups (key 42): each group by itself. v2 flexible (KIP-482)."""

from kcoord.apis.api import Api, Call
from wire.messages import DeleteGroupsRequest, DeleteGroupsResponse


async def delete_groups(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Ask each group's shard, all before waiting for any; a group that is named twice is asked once (KIP-229)."""
    slots = [
        call.broker.shard_for(group).begin(call.context, DeleteGroupsRequest(groups_names=[group]))
        for group in dict.fromkeys(request.groups_names)
    ]
    return DeleteGroupsResponse(results=[result for slot in slots for result in (await slot.wait()).results])


API = Api(request=DeleteGroupsRequest, versions="0-2", handle=delete_groups)
