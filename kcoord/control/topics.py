"""Topics: to create, to list, and to delete."""

from collections.abc import Mapping
from types import MappingProxyType

from kcoord.broker import Broker
from kcoord.control import given
from kcoord.control.errors import Impossible, NotFound
from kcoord.control.views import TopicView, topic_view
from kcoord.log.catalog import INTERNAL_TOPICS, METADATA_TOPIC, Topic, TopicRefused
from kcoord.log.topic_config import InvalidSetting
from kcoord.shown import shown

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class TopicsControl:
    """All topics of a server."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def list(self) -> tuple[TopicView, ...]:
        """Return all topics but internal ones, in the order of their creation."""
        return tuple(topic_view(each) for each in self._broker.catalog if not each.is_internal)

    def get(self, name: str) -> TopicView:
        """Return one topic, also an internal one. Raises NotFound."""
        return topic_view(self._topic(name))

    def create(self, name: str, partitions: int = 1, settings: Mapping[str, object] = NO_SETTINGS) -> TopicView:
        """Create a topic, with settings of its own by Kafka's names. Raises Impossible."""
        if not isinstance(name, str) or name in INTERNAL_TOPICS or name == METADATA_TOPIC:
            raise Impossible(f"{shown(name)} cannot name a topic of a test")
        given.partitions(name, partitions)
        texts = given.settings(settings)
        try:
            why, replicas = "a test asked for it", self._broker.config.brokers
            return topic_view(self._broker.create_topic(name, partitions, why, texts, replicas=replicas))
        except (TopicRefused, InvalidSetting) as error:
            raise Impossible(str(error)) from None

    async def delete(self, name: str) -> None:
        """Delete a topic, its records, and what groups committed for it. Raises NotFound; Impossible if internal."""
        topic = self._topic(name)
        if topic.is_internal:
            raise Impossible(f"topic {name} is internal and stays")
        self._broker.delete_topic(topic, "a test asked for it")
        await self._broker.rest()

    async def reset(self) -> None:
        """Delete all topics, create those of the configuration anew, and drop the records of internal ones."""
        internal = [topic for topic in self._broker.catalog if topic.is_internal]
        for topic in [topic for topic in self._broker.catalog if not topic.is_internal]:
            self._broker.delete_topic(topic, "the server was reset")
        for name, partitions in self._broker.config.topics.items():
            self._broker.create_topic(name, partitions, "configured", replicas=self._broker.config.brokers)
        await self._broker.rest()
        for topic in internal:
            for partition in topic.partitions:
                partition.empty()

    def _topic(self, name: str) -> Topic:
        topic = self._broker.catalog.by_name(given.named("a topic's name", name))
        if topic is None:
            raise NotFound(f"there is no topic {name}")
        return topic
