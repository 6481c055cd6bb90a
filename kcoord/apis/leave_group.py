"""LeaveGroup (key 13). v1 throttle time; v3 several members (KIP-345); v4 flexible (KIP-482); v5 reason (KIP-800)."""

from typing import cast

from kcoord.apis.api import Api, Call
from wire.messages import LeaveGroupRequest, LeaveGroupResponse


async def leave_group(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Let the group answer."""
    response = await call.shard_for(request.group_id).submit(call.context, request)
    return cast("LeaveGroupResponse", response)


API = Api(request=LeaveGroupRequest, versions="0-5", handle=leave_group)
