"""DescribeConfigs (key 32): the settings of topics and of this broker, and where each comes from (KIP-133).

v1 sources and synonyms (KIP-226); v3 types and documentation (KIP-569); v4 flexible (KIP-482).

The rules and their order are those of Apache Kafka 4 (`ConfigHelper.describeConfigs`). On purpose it differs in these
points:

- What is not honoured here is not told. Groups and client metrics have no settings, and there are no loggers.
- All settings of the broker are read-only, because none can be changed while it runs.
"""

from collections.abc import Iterable

from kcoord.apis.api import Api, Call, weighed
from kcoord.apis.config_entries import Entry, ResourceType, broker_entries, topic_entries
from kcoord.apis.resources import ResourceRefused, check_name, named_broker
from kcoord.apis.turns import Turns
from wire.errors import ErrorCode
from wire.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


async def describe_configs(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Answer for each resource by itself, also for one that comes twice, in the order of the request."""
    turns = Turns()
    results = []
    for resource in request.resources:
        await turns.step()
        result = DescribeConfigsResult(
            error_message="", resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        try:
            entries = described(call, resource)
        except ResourceRefused as refusal:
            result.error_code, result.error_message = refusal.code, str(refusal)
        else:
            wanted = await keys(turns, resource)
            for entry in entries:
                await turns.step()
                if wanted is None or entry.name in wanted:
                    result.configs.append(told(entry, resource, request))
        results.append(result)
    return DescribeConfigsResponse(results=results)


async def keys(turns: Turns, resource: DescribeConfigsResource) -> set[str] | None:
    """Return which keys are asked for; None for all, which an empty list stands for as well."""
    if not resource.configuration_keys:
        return None
    wanted: set[str] = set()
    for key in resource.configuration_keys:
        await turns.step()
        wanted.add(key)
    return wanted


def described(call: Call, resource: DescribeConfigsResource) -> Iterable[Entry]:
    """Return the settings of a resource. Raises ResourceRefused.

    The broker without a name stands for what was set for all brokers while they run, which cannot be done here.
    """
    broker, kind, name = call.broker, resource.resource_type, resource.resource_name
    if kind == ResourceType.TOPIC:
        check_name(name)
        topic = broker.catalog.by_name(name)
        if topic is None:
            raise ResourceRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return topic_entries(broker.config, topic.settings)
    if kind == ResourceType.BROKER:
        if not name:
            return ()
        named_broker(name, call.node.id)
        return broker_entries(broker.config)
    if kind not in tuple(ResourceType) or (kind == ResourceType.GROUP and broker.config.is_before_4):
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, f"there are no resources of type {kind}")
    if kind == ResourceType.BROKER_LOGGER:
        named_broker(name, call.node.id)
    elif not name:
        raise ResourceRefused(ErrorCode.INVALID_REQUEST, "the resource has no name")
    return ()


def told(
    entry: Entry, resource: DescribeConfigsResource, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    """Return a setting with as much of it as is asked for."""
    result = DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=resource.resource_type == ResourceType.BROKER,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        config_type=entry.type_id,
        documentation=entry.doc if request.include_documentation else None,
    )
    if request.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=place.name, value=place.value, source=place.source) for place in entry.places
        ]
    return result


def weight(response: DescribeConfigsResponse) -> int:
    """Return how many entries there are to be written."""
    return weighed(1 + len(result.configs) for result in response.results)


API = Api(request=DescribeConfigsRequest, versions="1-4", handle=describe_configs, weight=weight)
