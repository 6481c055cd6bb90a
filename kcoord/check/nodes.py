"""The broker's id, which is also its name where it is told of as a resource with settings."""

from kcoord.check.probe import Client
from wire.messages import MetadataRequest


async def node_id(client: Client) -> int:
    """Return the id of the broker, which is alone."""
    version = client.newest(MetadataRequest, 12)
    answer = await client.call(MetadataRequest(topics=[], allow_auto_topic_creation=version >= 4), version)
    (broker,) = answer.brokers
    found: int = broker.node_id
    return found
