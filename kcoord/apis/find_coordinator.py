"""FindCoordinator (key 10): who serves a group.

v1 key type, throttle time, error message; v3 flexible (KIP-482); v4 several keys (KIP-699); v5 error 120 may
occur (KIP-890); v6 share groups (KIP-932).
"""

from kcoord.apis.api import Api, Call
from kcoord.apis.turns import Turns
from kcoord.nodes import NOBODY
from wire.errors import ErrorCode
from wire.messages import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

SEVERAL_KEYS_SINCE = 4
GROUP, TRANSACTION, SHARE = 0, 1, 2

_MESSAGES = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "No broker leads the partition that keeps this group.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "This broker does not serve transactions.",
    ErrorCode.INVALID_REQUEST: "This key type has no coordinator here.",
}


async def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """Name the leader of the partition that keeps the group, also for the group "".

    Transactions are not served, and nobody may wait for them until a time is up: only an id that is not allowed is
    final for all clients (librdkafka tries again after any other error, all do if there is none at the moment).
    Share groups and unknown key types are invalid requests.
    """
    if call.context.version >= SEVERAL_KEYS_SINCE:
        found_all: list[Coordinator] = []
        turns = Turns()
        for key in request.coordinator_keys:
            await turns.step()
            one = _find(call, request.key_type, key)
            if request.key_type == SHARE:
                one.error_message = ""  # only what is no key type at all is explained (`KafkaApis.getCoordinator`)
            found_all.append(one)
        return FindCoordinatorResponse(coordinators=found_all)
    found = _find(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(call: Call, key_type: int, key: str) -> Coordinator:
    if key_type == GROUP:
        node = call.broker.coordinator_of(key)
        if node is None:
            return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        where = call.endpoint_of(node)
        return Coordinator(key=key, node_id=node.id, host=where.host, port=where.port, error_message="")
    known = key_type == TRANSACTION
    error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if known else ErrorCode.INVALID_REQUEST
    return _none(key, error)


def _none(key: str, error: ErrorCode) -> Coordinator:
    return Coordinator(key=key, node_id=NOBODY, host="", port=-1, error_code=error, error_message=_MESSAGES[error])


API = Api(request=FindCoordinatorRequest, versions="0-6", handle=find_coordinator)
