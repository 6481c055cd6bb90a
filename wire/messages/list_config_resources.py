"""ListConfigResources (key 74): the names of what has settings of its own. KIP-714, KIP-1142.

| version | added |
|---|---|
| 0 | the API, under the name ListClientMetricsResources: client metrics (type 16) only |
| 1 | resource_types; resource_type in the answer (KIP-1142) |
"""

from wire.schema import INT8, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@message(api=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Message):
    """The types to list; every type that there is, if none is given."""

    resource_types: list[int] = field(Array(INT8), "1+")


@struct
class ConfigResource(Struct):
    """One resource."""

    resource_name: str = field(STRING)
    resource_type: int = field(INT8, "1+", default=16, ignorable=True)


@message(api=74, versions="0-1", flexible="0+", answers=ListConfigResourcesRequest)
class ListConfigResourcesResponse(Message):
    """The resources of those types."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    config_resources: list[ConfigResource] = field(Array(ConfigResource))
