"""IncrementalAlterConfigs (key 44): single settings of a resource; those not named stay as they are. KIP-339.

| version | added |
|---|---|
| 0 | the API |
| 1 | flexible (KIP-482) |

Kafka gives the structs of the request the names that it gives those of AlterConfigs, too.
"""

from wire.messages.alter_configs import AlterConfigsResourceResponse
from wire.schema import BOOLEAN, INT8, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class IncrementalAlterableConfig(Struct):
    """A setting and what to do with it: set (0), delete (1), append to its list (2) or subtract from that (3)."""

    name: str = field(STRING)
    config_operation: int = field(INT8)
    value: str | None = field(STRING, nullable="0+")


@struct
class IncrementalAlterConfigsResource(Struct):
    """A topic (type 2) or a broker (4) by its name, and what shall change."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[IncrementalAlterableConfig] = field(Array(IncrementalAlterableConfig))


@message(api=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest(Message):
    """The resources, and whether they are only to be checked."""

    resources: list[IncrementalAlterConfigsResource] = field(Array(IncrementalAlterConfigsResource))
    validate_only: bool = field(BOOLEAN)


@message(api=44, versions="0-1", flexible="1+", answers=IncrementalAlterConfigsRequest)
class IncrementalAlterConfigsResponse(Message):
    """One entry for each resource of the request."""

    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(Array(AlterConfigsResourceResponse))
