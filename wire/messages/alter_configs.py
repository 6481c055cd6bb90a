"""AlterConfigs (key 33): all settings of a resource at once; those not named go back to their defaults. KIP-133.

| version | added |
|---|---|
| 0 | the API |
| 1 | no change of layout; throttling happens after the answer (KIP-219) |
| 2 | flexible (KIP-482) |
"""

from wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class AlterableConfig(Struct):
    """A setting, in its text form."""

    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")


@struct
class AlterConfigsResource(Struct):
    """A topic (type 2) or a broker (4) by its name, and what it shall be set to."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(Array(AlterableConfig))


@message(api=33, versions="0-2", flexible="2+")
class AlterConfigsRequest(Message):
    """The resources, and whether they are only to be checked."""

    resources: list[AlterConfigsResource] = field(Array(AlterConfigsResource))
    validate_only: bool = field(BOOLEAN)


@struct
class AlterConfigsResourceResponse(Struct):
    """What became of a resource."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


@message(api=33, versions="0-2", flexible="2+", answers=AlterConfigsRequest)
class AlterConfigsResponse(Message):
    """One entry for each resource of the request."""

    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(Array(AlterConfigsResourceResponse))
