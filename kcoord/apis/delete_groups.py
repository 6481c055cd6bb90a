"""DeleteGroups (key 42): each group by itself. v2 flexible (KIP-482); v3 a message (KIP-1331).

Kafka has such a message only for streams groups, of which there are none here.
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import after, portions
from wire.messages import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


async def delete_groups(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Ask each group's shard, those of a portion before waiting for any.

    A group that is named twice is asked once (KIP-229).
    """
    results: list[DeletableGroupResult] = []
    for portion in portions(list(dict.fromkeys(request.groups_names))):
        slots = [
            call.shard_for(group).begin(call.context, DeleteGroupsRequest(groups_names=[group])) for group in portion
        ]
        results += [result for slot in slots for result in (await slot.wait()).results]
        await after(portion)
    return DeleteGroupsResponse(results=results)


API = Api(request=DeleteGroupsRequest, versions="0-3", handle=delete_groups)
