"""Heartbeat (key 12). v1 throttle time; v3 group_instance_id (KIP-345); v4 flexible (KIP-482)."""

from typing import cast

from kcoord.apis.api import Api, Call
from wire.messages import HeartbeatRequest, HeartbeatResponse


async def heartbeat(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    """Let the member's group answer."""
    response = await call.shard_for(request.group_id).submit(call.context, request)
    return cast("HeartbeatResponse", response)


API = Api(request=HeartbeatRequest, versions="0-4", handle=heartbeat)
