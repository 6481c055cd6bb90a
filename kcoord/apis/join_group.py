"""JoinGroup (key 11): waits until its group has gathered.

v1 rebalance timeout; v2 throttle time; v4 member ids are handed out first (KIP-394); v5 group_instance_id
(KIP-345); v6 flexible (KIP-482); v7 protocol type (KIP-559); v8 reason (KIP-800); v9 skip_assignment
(KIP-814).
"""

from typing import cast

from kcoord.apis.api import Api, Call
from wire.messages import JoinGroupRequest, JoinGroupResponse


async def join_group(call: Call, request: JoinGroupRequest) -> JoinGroupResponse:
    """Let the group answer, now or at the end of its join phase."""
    response = await call.shard_for(request.group_id).submit(call.context, request)
    return cast("JoinGroupResponse", response)


API = Api(request=JoinGroupRequest, versions="0-9", handle=join_group)
