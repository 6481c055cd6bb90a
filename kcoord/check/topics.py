"""What scripts about topics share: topics that are there when they are told so, and what is set on them.

A broker answers before its metadata says so, too; here both are one.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import trio

from kcoord.check.outcome import fail
from kcoord.check.probe import Client, error_name
from wire.messages import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    MetadataRequest,
    MetadataRequestTopic,
)

NO_ID = UUID(int=0)
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""Types of resources that have settings."""
SOON = 20.0
"""Seconds in which a foreign broker must have done what it said. One that has just made 1000 partitions is slow."""


async def partitions(client: Client, name: str) -> int | None:
    """Return how many partitions a topic has; None if it does not exist."""
    version = client.newest(MetadataRequest, 12)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=version < 4)
    (found,) = (await client.call(request, version)).topics
    return len(found.partitions) if found.error_code == 0 else None


async def soon(holds: Callable[[], Awaitable[bool]]) -> bool:
    """Whether something is so, if not at once then soon."""
    with trio.move_on_after(SOON):
        while True:
            if await holds():
                return True
            await trio.sleep(0.05)
    return False


async def has_partitions(client: Client, name: str, count: int | None) -> bool:
    """Whether a topic soon has so many partitions; None for no topic."""

    async def holds() -> bool:
        return await partitions(client, name) == count

    return await soon(holds)


async def created(client: Client, count: int = 1, *, name: str | None = None, **settings: str) -> str:
    """Create a topic with settings (`retention_ms="5"`), and return its name once it is there."""
    name = client.names.topic() if name is None else name
    wish = CreatableTopic(name=name, num_partitions=count, replication_factor=1)
    wish.configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    (made,) = (await client.call(CreateTopicsRequest(topics=[wish]), client.newest(CreateTopicsRequest, 7))).topics
    if made.error_code != 0:
        why = f"{error_name(made.error_code)} {made.error_message or ''}".rstrip()
        fail(f"the topic that this rule needs is not made: {why}")
    assert await has_partitions(client, name, count)
    return name


async def describe(
    client: Client,
    kind: int,
    name: str,
    *keys: str,
    version: int | None = None,
    synonyms: bool = False,
    doc: bool = False,
) -> Any:
    """Send DescribeConfigs for one resource, by default in version 4 or the newest there is; return its entry."""
    version = client.newest(DescribeConfigsRequest, 4) if version is None else version
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) if keys else None
    )
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=synonyms, include_documentation=doc if version >= 3 else False
    )
    answer = await client.call(request, version)
    assert answer.throttle_time_ms == 0
    (found,) = answer.results
    assert (found.resource_type, found.resource_name) == (kind, name)
    return found


async def own(client: Client, name: str) -> dict[str, str]:
    """Return what is set on a topic itself."""
    found = await describe(client, TOPIC, name)
    assert found.error_code == 0
    return {each.name: each.value for each in found.configs if each.config_source == 1}


async def owns(client: Client, name: str, **settings: str) -> bool:
    """Whether a topic soon has these settings of its own (`retention_ms="5"`), and no others."""
    wanted = {key.replace("_", "."): value for key, value in settings.items()}

    async def holds() -> bool:
        return await own(client, name) == wanted

    return await soon(holds)
