"""ApiVersions (key 18): which APIs, and which of their versions, are served.

v1 throttle time; v3 flexible, and the client says what it is (KIP-511), and features are told (KIP-584); v4 features
whose minimum is 0 may be listed; v5 the client says which broker it means (KIP-1242). There are no features here, so
none is listed in any version, unless the server is like a release: then its metadata.version is.
"""

import re
from collections.abc import Iterable

from kcoord.apis.api import Api, Call
from kcoord.nodes import NOBODY
from kcoord.releases.release import RELEASES
from wire.errors import ErrorCode
from wire.messages import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

SOFTWARE_SINCE = 3
FEATURE = "metadata.version"
_SOFTWARE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def is_fine(request: ApiVersionsRequest) -> bool:
    """Whether the client, from v3 on, says properly what it is and whom it means.

    Its software has a name and a version, and it names a cluster and a broker of it or neither (Apache Kafka
    `ApiVersionsRequest.isValid`).
    """
    if (request.cluster_id is None) != (request.node_id == NOBODY):
        return False
    return all(_SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version))


def is_misrouted(call: Call, request: ApiVersionsRequest) -> bool:
    """Whether the client means another broker than the one that it reached (Apache Kafka `KafkaApis`, KIP-1242)."""
    meant = request.cluster_id, request.node_id
    return request.cluster_id is not None and meant != (call.broker.cluster_id, call.node.id)


def listed(apis: Iterable[Api]) -> list[ApiVersion]:
    """Return the table as it is told."""
    return [
        ApiVersion(api_key=api.key, min_version=api.offered.lowest, max_version=api.offered.highest) for api in apis
    ]


async def unsupported(call: Call, _request: object) -> ApiVersionsResponse:
    """Answer, in version 0, a request of a version that is not served (KIP-511).

    It names this API alone, so that the client can ask again. Before Kafka 2.4 it named nothing.
    """
    # The table has this module's API in it.
    from kcoord.apis.served import served

    config = call.broker.config
    tells = config.as_version is None or RELEASES[config.as_version].fallback_tells
    own = [served(config)[API.key]] if tells else []
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=listed(own))


async def api_versions(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Answer with the table of all APIs, unless the client is wrong here."""
    if call.context.version >= SOFTWARE_SINCE and not is_fine(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if is_misrouted(call, request):
        return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    from kcoord.apis.served import served

    config = call.broker.config
    answer = ApiVersionsResponse(api_keys=listed(served(config).values()))
    metadata = None if config.as_version is None else RELEASES[config.as_version].metadata_version
    if metadata is not None:
        lowest, highest = metadata
        answer.supported_features = [SupportedFeatureKey(name=FEATURE, min_version=lowest, max_version=highest)]
        answer.finalized_features = [
            FinalizedFeatureKey(name=FEATURE, max_version_level=highest, min_version_level=highest)
        ]
        answer.finalized_features_epoch = 0
    return answer


API = Api(request=ApiVersionsRequest, versions="0-5", handle=api_versions)
