"""The ids of the broker and its cluster; the broker's is also its name as a resource with settings, and those."""

from typing import Any

from kcoord.check.outcome import NotApplicable
from kcoord.check.probe import Client
from kcoord.check.topics import BROKER, describe
from wire.messages import MetadataRequest

_DEFAULT = 5
"""Where a value comes from that nobody set (Apache Kafka DescribeConfigsResponse.ConfigSource)."""


async def node_id(client: Client) -> int:
    """Return the id of the broker, which is alone."""
    version = client.newest(MetadataRequest, 12)
    answer = await client.call(MetadataRequest(topics=[], allow_auto_topic_creation=version >= 4), version)
    (broker,) = answer.brokers
    found: int = broker.node_id
    return found


async def place_of(client: Client) -> tuple[str, int]:
    """Return the id of the cluster, and that of the broker, which is alone in it."""
    answer = await client.call(MetadataRequest(topics=[]), client.newest(MetadataRequest, 12))
    (broker,) = answer.brokers
    return answer.cluster_id, broker.node_id


async def settings_of(client: Client, *keys: str) -> dict[str, Any]:
    """Return what is told of these settings of the broker, or of all, by their names."""
    found = await describe(client, BROKER, str(await node_id(client)), *keys)
    assert found.error_code == 0
    return {each.name: each for each in found.configs}


async def left_at_default(client: Client, *keys: str) -> None:
    """See that nobody set these settings of the broker. Raises NotApplicable."""
    for key, entry in (await settings_of(client, *keys)).items():
        if entry.config_source != _DEFAULT:
            raise NotApplicable(f"{key} was set at this broker, to {entry.value}")
