"""ListGroups (key 16): the groups of every shard.

v1 throttle time; v3 flexible (KIP-482); v4 states (KIP-518); v5 types (KIP-848).
"""

from kcoord.apis.api import Api, Call
from wire.errors import ErrorCode
from wire.messages import ListedGroup, ListGroupsRequest, ListGroupsResponse


async def list_groups(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    """Ask every shard; one that is not owned is left out, any other error stands for the whole answer.

    Apache Kafka `GroupCoordinatorService.listGroups`: a list with holes would pass for a full one.
    """
    slots = [shard.begin(call.context, request) for shard in call.broker.shards]
    groups: list[ListedGroup] = []
    error = ErrorCode.NONE
    for slot in slots:
        part: ListGroupsResponse = await slot.wait()
        if part.error_code == ErrorCode.NONE:
            groups.extend(part.groups)
        elif part.error_code != ErrorCode.NOT_COORDINATOR and error is ErrorCode.NONE:
            error = ErrorCode(part.error_code)
    if error is not ErrorCode.NONE:
        return ListGroupsResponse(error_code=error)
    return ListGroupsResponse(groups=groups)


API = Api(request=ListGroupsRequest, versions="0-5", handle=list_groups)
