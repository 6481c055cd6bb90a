"""confluent-kafka, that is librdkafka, as a consumer, a producer or an operator."""

import base64
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from integration.clients import lines

POLL_S = 0.2
BATCH = 500
PATIENCE_S = 30
AMID_A_REBALANCE = (KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION)


class Member:
    """A consumer. What was `read` is reported, and what is `behind` that is committed, before partitions go."""

    def __init__(self, config: lines.ConsumerConfig) -> None:
        self.read: list[Any] = []
        self.behind: dict[tuple[str, int], int] = {}
        static = {} if config.instance_id is None else {"group.instance.id": config.instance_id}
        self.consumer = Consumer({
            "bootstrap.servers": config.bootstrap,
            "client.id": config.client_id,
            "group.id": config.group,
            "partition.assignment.strategy": ",".join(config.assignors),
            "session.timeout.ms": config.session_timeout_ms,
            "heartbeat.interval.ms": config.heartbeat_interval_ms,
            "max.poll.interval.ms": config.rebalance_timeout_ms,
            "topic.metadata.refresh.interval.ms": config.metadata_max_age_ms,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **static,
        })  # fmt: skip
        topics = config.topics if config.pattern is None else [config.pattern]
        self.consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    def _assigned(self, _, partitions):
        lines.tell_partitions("assigned", partitions)

    def _revoked(self, _, partitions):
        self.report()
        for each in partitions:
            self.behind.pop((each.topic, each.partition), None)
        lines.tell_partitions("revoked", partitions)

    def _lost(self, _, partitions):
        self.read.clear()
        self.behind.clear()
        lines.tell_partitions("lost", partitions)

    def step(self) -> None:
        """Read what is there, up to a batch, and report it."""
        message = self.consumer.poll(POLL_S)
        while message is not None:
            if message.error() is None:
                self.read.append(message)
            else:
                tell_error(message.error())
            message = self.consumer.poll(0) if len(self.read) < BATCH else None
        self.report()

    def report(self) -> None:
        read, self.read = self.read, []
        if read:
            records = [(each.topic(), each.partition(), each.offset(), each.value().decode()) for each in read]
            for topic, partition, offset in lines.tell_records(records):
                self.behind[topic, partition] = offset
        if self.behind:
            self._commit()

    def _commit(self) -> None:
        """Commit what was reported. The client rejoins in the background: what it is refused then is tried again."""
        wanted = [TopicPartition(*partition, offset) for partition, offset in self.behind.items()]
        try:
            done = self.consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in AMID_A_REBALANCE:
                self.behind.clear()
                tell_error(error.args[0])
            return
        self.behind.clear()
        for each in done:
            if each.error is not None:
                tell_error(each.error)
        lines.tell("committed", offsets=[(each.topic, each.partition, each.offset) for each in done if not each.error])


def tell_error(error: Any) -> None:
    lines.tell("error", message=error.str(), code=error.code(), fatal=error.fatal())


def consume(config: lines.ConsumerConfig) -> None:
    found = lines.commands()
    member = Member(config)
    while found.empty():
        member.step()
    assert found.get() == {"do": "close"}
    member.consumer.close()


def produce(config: lines.ProducerConfig) -> None:
    chosen = {} if config.idempotence is None else {"enable.idempotence": config.idempotence}
    producer = Producer({
        "bootstrap.servers": config.bootstrap,
        "client.id": config.client_id,
        "acks": config.acks,
        "compression.type": config.compression,
        **chosen,
    })  # fmt: skip
    failed: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error)

    for partition, key, value in config.records():
        producer.produce(config.topic, value, key, partition, on_delivery=delivered)
        producer.poll(0)
    left = producer.flush(PATIENCE_S)
    if failed or left:
        raise KafkaException(failed[0] if failed else KafkaError(KafkaError._TIMED_OUT))
    lines.tell("produced", count=config.count)


class Operator:
    """The admin's calls, named as the commands are. There is none that deletes offsets or removes members."""

    def __init__(self, client: AdminClient) -> None:
        self.client = client

    def list_groups(self):
        # The older call; the newer one, `list_consumer_groups`, does not give the protocol's type.
        return [(each.id, each.protocol_type) for each in self.client.list_groups(timeout=PATIENCE_S)]

    def describe_group(self, group):
        # The older call gives the bytes as they are, the newer one the names of static members.
        (found,) = self.client.list_groups(group, PATIENCE_S)
        if found.error is not None:
            raise KafkaException(found.error)
        names: dict[str, str | None] = {}
        if found.protocol_type == "consumer":
            members = result(self.client.describe_consumer_groups([group])).members
            names = {each.member_id: each.group_instance_id for each in members}
        return {
            "state": found.state,
            "protocol_type": found.protocol_type,
            "protocol": found.protocol,
            "members": [
                {
                    "member_id": each.id,
                    "client_id": each.client_id,
                    "host": each.client_host,
                    "instance_id": names.get(each.id),
                    "metadata": base64.b64encode(each.metadata).decode(),
                    "assignment": base64.b64encode(each.assignment).decode(),
                }
                for each in found.members
            ],
        }

    def list_offsets(self, group):
        found = result(self.client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
        return [(each.topic, each.partition, each.offset) for each in refuse_errors(found.topic_partitions)]

    def alter_offsets(self, group, offsets):
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(*each) for each in offsets])
        refuse_errors(result(self.client.alter_consumer_group_offsets([wanted])).topic_partitions)

    def delete_group(self, group):
        result(self.client.delete_consumer_groups([group]))

    def create_topic(self, topic, partitions, configs):
        result(self.client.create_topics([NewTopic(topic, partitions, 1, config=configs)]))

    def delete_topic(self, topic):
        result(self.client.delete_topics([topic]))

    def create_partitions(self, topic, count):
        result(self.client.create_partitions([NewPartitions(topic, count)]))

    def describe_topic(self, topic):
        found = result(self.client.describe_topics(confluent_kafka.TopicCollection([topic])))
        return {"partitions": len(found.partitions)}

    def describe_configs(self, type, name):  # noqa: A002 - the command's own word
        found = result(self.client.describe_configs([ConfigResource(type, name)]))
        return {key: entry.value for key, entry in found.items()}

    def alter_configs(self, topic, set, delete):  # noqa: A002 - the command's own word
        changes = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in set.items()
        ] + [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in delete]
        wanted = ConfigResource("topic", topic, incremental_configs=changes)
        result(self.client.incremental_alter_configs([wanted]))

    def describe_cluster(self):
        found = self.client.describe_cluster().result(PATIENCE_S)
        brokers = [(each.id, each.host, each.port) for each in found.nodes]
        return {"cluster_id": found.cluster_id, "controller": found.controller.id, "brokers": brokers}

    def topic_offsets(self, topic, timestamp):
        about = result(self.client.describe_topics(confluent_kafka.TopicCollection([topic])))
        special = {-1: OffsetSpec.latest, -2: OffsetSpec.earliest}
        spec = special[timestamp]() if timestamp in special else OffsetSpec.for_timestamp(timestamp)
        futures = self.client.list_offsets({TopicPartition(topic, each.id): spec for each in about.partitions})
        return [(each.partition, future.result(PATIENCE_S).offset) for each, future in futures.items()]

    def delete_records(self, topic, offsets):
        for future in self.client.delete_records([TopicPartition(topic, *each) for each in offsets]).values():
            future.result(PATIENCE_S)


def result(futures: dict[Any, Any]) -> Any:
    """What the one call about one thing returned; KafkaException if it failed."""
    (future,) = futures.values()
    return future.result(PATIENCE_S)


def refuse_errors(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """The partitions; KafkaException for the first that bears an error."""
    for each in partitions:
        if each.error is not None:
            raise KafkaException(each.error)
    return partitions


def operate(config: lines.AdminConfig) -> None:
    client = AdminClient({"bootstrap.servers": config.bootstrap, "client.id": config.client_id})
    lines.serve(Operator(client), KafkaException)


if __name__ == "__main__":
    lines.run(
        "confluent",
        confluent_kafka.__version__,
        consume=consume,
        produce=produce,
        operate=operate,
        failures=KafkaException,
    )
