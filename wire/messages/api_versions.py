"""ApiVersions (key 18): which versions of which APIs the broker serves. KIP-35, KIP-511, KIP-584, KIP-1242.

| version | added |
|---|---|
| 0 | error code and the list of ranges |
| 1 | throttle_time_ms, after the list |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | flexible; the client names its software (KIP-511); feature tags in the answer (KIP-584) |
| 4 | no change of layout; features whose minimum is 0 may be listed (KIP-1022) |
| 5 | the client names the cluster and the broker that it means; error 129 is allowed (KIP-1242) |

The response header is v0 in every version, so that a client that spoke too new a version can find the error code.
"""

from wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, Array, Message, Struct, field, message, struct


@message(api=18, versions="0-5", flexible="3+")
class ApiVersionsRequest(Message):
    """Asks for the ranges; from v3 on it also says what software asks, and from v5 on, if it knows, whom it means.

    `cluster_id` and `node_id` are there both or not at all: null and -1 then.
    """

    client_software_name: str = field(STRING, "3+", ignorable=True)
    client_software_version: str = field(STRING, "3+", ignorable=True)
    cluster_id: str | None = field(STRING, "5+", nullable="5+", default=None, ignorable=True)
    node_id: int = field(INT32, "5+", default=-1, ignorable=True)


@struct
class ApiVersion(Struct):
    """The range served of one API, both ends inclusive."""

    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class SupportedFeatureKey(Struct):
    """The levels of one feature that this broker could run."""

    name: str = field(STRING)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class FinalizedFeatureKey(Struct):
    """The level of one feature that the cluster has settled on."""

    name: str = field(STRING)
    max_version_level: int = field(INT16)
    min_version_level: int = field(INT16)


@message(api=18, versions="0-5", flexible="3+", answers=ApiVersionsRequest)
class ApiVersionsResponse(Message):
    """The ranges. The answer to a version not served is this message in v0, with error 35 and the entry for key 18."""

    error_code: int = field(INT16)
    api_keys: list[ApiVersion] = field(Array(ApiVersion))
    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = field(Array(SupportedFeatureKey), "3+", tag=0, ignorable=True)
    finalized_features_epoch: int = field(INT64, "3+", tag=1, default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field(Array(FinalizedFeatureKey), "3+", tag=2, ignorable=True)
    zk_migration_ready: bool = field(BOOLEAN, "3+", tag=3, ignorable=True)
