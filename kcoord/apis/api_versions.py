"""ApiVersions (key 18): which APIs, and which of their versions, are served.

v1 throttle time; v3 flexible, and the client says what it is (KIP-511); v4 features whose minimum is 0 may be
listed (KIP-584). There are no features here, so none is listed in any version.
"""

import re
from collections.abc import Iterable

from kcoord.apis.api import Api, Call
from wire.errors import ErrorCode
from wire.messages import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

SOFTWARE_SINCE = 3
_SOFTWARE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def is_fine(request: ApiVersionsRequest) -> bool:
    """Whether the client's software has a name and a version (Apache Kafka `ApiVersionsRequest.isValid`)."""
    return all(_SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version))


def listed(apis: Iterable[Api]) -> list[ApiVersion]:
    """Return the table as it is told."""
    return [
        ApiVersion(api_key=api.key, min_version=api.offered.lowest, max_version=api.offered.highest) for api in apis
    ]


def unsupported() -> ApiVersionsResponse:
    """Return the answer, to be sent as version 0, to a version that is not served (KIP-511).

    It names this API alone, so that the client can ask again.
    """
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=listed([API]))


async def api_versions(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Answer with the table of all APIs."""
    if call.context.version >= SOFTWARE_SINCE and not is_fine(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    # The table has this module's API in it.
    from kcoord.apis import APIS

    return ApiVersionsResponse(api_keys=listed(APIS))


API = Api(request=ApiVersionsRequest, versions="0-4", handle=api_versions)
