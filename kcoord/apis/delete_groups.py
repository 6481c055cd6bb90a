"""DeleteGroups (key 42): each group by itself. v2 flexible (KIP-482); v3 a message (KIP-1331).

Kafka has such a message only for streams groups, of which there are none here.
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import after, portions
from kcoord.shard import Elsewhere, Shard
from wire.messages import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


async def delete_groups(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Ask each group's shard, those of a portion before waiting for any.

    A group that is named twice is asked about once (KIP-229). Groups of one shard are deleted together, or not at all.
    """
    results: list[DeletableGroupResult] = []
    for portion in portions(list(dict.fromkeys(request.groups_names))):
        shards: dict[Elsewhere | Shard, list[str]] = {}
        for group in portion:
            shards.setdefault(call.shard_for(group), []).append(group)
        slots = [shard.begin(call.context, DeleteGroupsRequest(groups_names=names)) for shard, names in shards.items()]
        found = {result.group_id: result for slot in slots for result in (await slot.wait()).results}
        results += [found[group] for group in portion]
        await after(portion)
    return DeleteGroupsResponse(results=results)


API = Api(request=DeleteGroupsRequest, versions="0-3", handle=delete_groups)
