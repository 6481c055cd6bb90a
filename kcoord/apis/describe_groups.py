"""DescribeGroups (key 15): groups of any shard, answered in the order in which they are named.

v1 throttle time; v3 authorized operations (KIP-430); v4 instance ids (KIP-345); v5 flexible (KIP-482); v6 an
unknown group is an error with a message (KIP-1043).
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import after, portions
from wire.messages import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse


async def describe_groups(call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """Ask each group's shard, those of a portion before waiting for any."""
    described: list[DescribedGroup] = []
    once = call.broker.config.behaviour.describes_once
    for portion in portions(list(dict.fromkeys(request.groups)) if once else request.groups):
        slots = [
            call.shard_for(group).begin(
                call.context,
                DescribeGroupsRequest(
                    groups=[group], include_authorized_operations=request.include_authorized_operations
                ),
            )
            for group in portion
        ]
        described += [group for slot in slots for group in (await slot.wait()).groups]
        await after(portion)
    return DescribeGroupsResponse(groups=described)


API = Api(request=DescribeGroupsRequest, versions="0-6", handle=describe_groups)
