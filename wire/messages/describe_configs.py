"""DescribeConfigs (key 32): the settings of topics and brokers, and where each comes from. KIP-133.

| version | added |
|---|---|
| 0 | no longer served by Kafka 4 |
| 1 | include_synonyms; config_source instead of is_default, and synonyms, in the answer (KIP-226) |
| 2 | no change of layout; throttling happens after the answer (KIP-219) |
| 3 | include_documentation; config_type and documentation in the answer (KIP-569) |
| 4 | flexible (KIP-482) |
"""

from wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, Array, Message, Struct, field, message, struct


@struct
class DescribeConfigsResource(Struct):
    """A topic (type 2) or a broker (4) by its name, and the keys wanted, all of them if null."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configuration_keys: list[str] | None = field(Array(STRING), nullable="0+")


@message(api=32, versions="1-4", flexible="4+")
class DescribeConfigsRequest(Message):
    """The resources, and how much is to be told of each setting."""

    resources: list[DescribeConfigsResource] = field(Array(DescribeConfigsResource))
    include_synonyms: bool = field(BOOLEAN, "1+")
    include_documentation: bool = field(BOOLEAN, "3+")


@struct
class DescribeConfigsSynonym(Struct):
    """One of the places that a setting is looked for in, and what it has there."""

    name: str = field(STRING, "1+")
    value: str | None = field(STRING, "1+", nullable="0+")
    source: int = field(INT8, "1+")


@struct
class DescribeConfigsResourceResult(Struct):
    """A setting; the value of a sensitive one is withheld."""

    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")
    read_only: bool = field(BOOLEAN)
    config_source: int = field(INT8, "1+", default=-1, ignorable=True)
    is_default: bool = field(BOOLEAN, "0")
    is_sensitive: bool = field(BOOLEAN)
    synonyms: list[DescribeConfigsSynonym] = field(Array(DescribeConfigsSynonym), "1+", ignorable=True)
    config_type: int = field(INT8, "3+", ignorable=True)
    documentation: str | None = field(STRING, "3+", nullable="0+", ignorable=True)


@struct
class DescribeConfigsResult(Struct):
    """The settings of one resource."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[DescribeConfigsResourceResult] = field(Array(DescribeConfigsResourceResult))


@message(api=32, versions="1-4", flexible="4+", answers=DescribeConfigsRequest)
class DescribeConfigsResponse(Message):
    """One entry for each resource of the request."""

    throttle_time_ms: int = field(INT32)
    results: list[DescribeConfigsResult] = field(Array(DescribeConfigsResult))
