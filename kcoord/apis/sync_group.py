"""SyncGroup (key 14): waits until the leader has handed in the assignment.

v1 throttle time; v3 group_instance_id (KIP-345); v4 flexible (KIP-482); v5 protocol type and name (KIP-559).
"""

from typing import cast

from kcoord.apis.api import Api, Call
from wire.errors import ErrorCode
from wire.messages import SyncGroupRequest, SyncGroupResponse

PROTOCOL_MANDATORY_SINCE = 5
"""KIP-559: from this version on both the type and the name must be given."""


async def sync_group(call: Call, request: SyncGroupRequest) -> SyncGroupResponse:
    """Let the group answer, now or when the leader's SyncGroup is here.

    A request that leaves the protocol out where it must not is refused before the group is looked for (Apache
    Kafka `SyncGroupRequest.areMandatoryProtocolTypeAndNamePresent`).
    """
    if call.context.version >= PROTOCOL_MANDATORY_SINCE and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    response = await call.shard_for(request.group_id).submit(call.context, request)
    return cast("SyncGroupResponse", response)


API = Api(request=SyncGroupRequest, versions="0-5", handle=sync_group)
