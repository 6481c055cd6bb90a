"""ListGroups (key 16): the groups of every shard that the broker leads.

v1 throttle time; v3 flexible (KIP-482); v4 states (KIP-518); v5 types (KIP-848).
"""

from kcoord.apis.api import Api, Call
from kcoord.core.listing import known_states, known_types
from wire.errors import ErrorCode
from wire.messages import ListedGroup, ListGroupsRequest, ListGroupsResponse


async def list_groups(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    """Ask every shard; one that is not owned is left out, any other error stands for the whole answer.

    Apache Kafka `GroupCoordinatorService.listGroups`: a list with holes would pass for a full one. Before 4.0 it was
    given beside the error.
    """
    behaviour = call.broker.config.behaviour
    asked = ListGroupsRequest(
        states_filter=in_short(known_states(request.states_filter, behaviour), request.states_filter),
        types_filter=in_short(known_types(request.types_filter), request.types_filter),
    )
    broker, node = call.broker, call.node.id
    mine = [shard for shard in broker.shards if broker.nodes.leader(broker.offsets_topic, shard.partition) == node]
    slots = [shard.begin(call.context, asked) for shard in mine]
    groups: list[ListedGroup] = []
    error = ErrorCode.NONE
    for slot in slots:
        part: ListGroupsResponse = await slot.wait()
        if part.error_code == ErrorCode.NONE:
            groups.extend(part.groups)
        elif part.error_code != ErrorCode.NOT_COORDINATOR and error is ErrorCode.NONE:
            error = ErrorCode(part.error_code)
    if error is not ErrorCode.NONE:
        return ListGroupsResponse(error_code=error, groups=groups if behaviour.lists_while_loading else [])
    return ListGroupsResponse(groups=groups)


def in_short(known: set[str], names: list[str]) -> list[str]:
    """Return a filter that lets the same groups pass, however many names the client put into it.

    Every shard goes through it. One name that nothing is called keeps a filter of only such names from being none.
    """
    return sorted(known) or names[:1]


API = Api(request=ListGroupsRequest, versions="0-5", handle=list_groups)
