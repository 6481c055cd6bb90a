"""kafka-python as a consumer, a producer or an operator."""

import base64
import contextlib
from typing import Any

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, MemberToRemove
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from integration.clients import lines

POLL_MS = 1_000
"""A poll that ends while a rebalance runs may lose what it did (3.0.12), so it takes long unless there are records."""
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class Listener(ConsumerRebalanceListener):
    """Tells what it is told. Everything reported was committed before the poll in which this is called."""

    def on_partitions_revoked(self, revoked):
        lines.tell_partitions("revoked", revoked)

    def on_partitions_assigned(self, assigned):
        lines.tell_partitions("assigned", assigned)

    def on_partitions_lost(self, lost):
        lines.tell_partitions("lost", lost)


def consume(config: lines.ConsumerConfig) -> None:
    found = lines.commands()
    consumer = KafkaConsumer(
        bootstrap_servers=config.bootstrap,
        client_id=config.client_id,
        group_id=config.group,
        group_instance_id=config.instance_id,
        partition_assignment_strategy=[ASSIGNORS[name] for name in config.assignors],
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        max_poll_interval_ms=config.rebalance_timeout_ms,
        metadata_max_age_ms=config.metadata_max_age_ms,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    if config.pattern is None:
        consumer.subscribe(topics=config.topics, listener=Listener())
    else:
        consumer.subscribe(pattern=config.pattern, listener=Listener())
    while found.empty():
        try:
            polled = consumer.poll(timeout_ms=POLL_MS)
            if polled:
                report(consumer, polled)
        except KafkaError as error:
            lines.tell("error", message=repr(error), code=lines.code_of(error), fatal=False)
    assert found.get() == {"do": "close"}
    consumer.close()


def report(consumer: KafkaConsumer, polled: dict[TopicPartition, list[Any]]) -> None:
    records = [
        (each.topic, each.partition, each.offset, each.value.decode()) for batch in polled.values() for each in batch
    ]
    behind = lines.tell_records(records)
    consumer.commit(
        {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1) for topic, partition, offset in behind}
    )
    lines.tell("committed", offsets=behind)


def produce(config: lines.ProducerConfig) -> None:
    chosen: dict[str, Any] = {} if config.idempotence is None else {"enable_idempotence": config.idempotence}
    producer = KafkaProducer(
        bootstrap_servers=config.bootstrap,
        client_id=config.client_id,
        acks="all" if config.acks == -1 else config.acks,
        compression_type=None if config.compression == "none" else config.compression,
        **chosen,
    )
    sent = [
        producer.send(config.topic, key=key, value=value, partition=partition)
        for partition, key, value in config.records()
    ]
    producer.flush()
    for each in sent:
        each.get(0)
    lines.tell("produced", count=len(sent))
    producer.close()


class Operator:
    """The admin's calls, named as the commands are."""

    def __init__(self, client: KafkaAdminClient) -> None:
        self.client = client

    def list_groups(self):
        return [(each["group_id"], each["protocol_type"]) for each in self.client.list_groups()]

    def describe_group(self, group):
        if dict(self.list_groups()).get(group, "consumer") != "consumer":
            # It decodes the bytes of all groups as those of consumers (3.0.12), and some raise UnicodeDecodeError.
            raise lines.Unsupported
        found = self.client.describe_groups([group])[group]
        if found["error"] is not None:
            raise KafkaError(found["error"])
        return {
            "state": found["group_state"],
            "protocol_type": found["protocol_type"],
            "protocol": found["protocol_data"],
            "members": [
                {
                    "member_id": each["member_id"],
                    "client_id": each["client_id"],
                    "host": each["client_host"],
                    "instance_id": each["group_instance_id"],
                    "metadata": raw(each["member_metadata"]),
                    "assignment": raw(each["member_assignment"]),
                }
                for each in found["members"]
            ],
        }

    def list_offsets(self, group):
        found = self.client.list_group_offsets(group)[group]
        return [(each.topic, each.partition, at.offset) for each, at in found.items()]

    def alter_offsets(self, group, offsets):
        wanted = {TopicPartition(topic, number): OffsetAndMetadata(at, "", -1) for topic, number, at in offsets}
        return refuse_errors(self.client.alter_group_offsets(group, wanted))

    def delete_offsets(self, group, partitions):
        return refuse_errors(self.client.delete_group_offsets(group, [TopicPartition(*each) for each in partitions]))

    def delete_group(self, group):
        # The client names the class of the error, and no number.
        return refuse_errors({each: BY_NAME[said] for each, said in self.client.delete_groups([group]).items()})

    def remove_members(self, group, instance_ids):
        if instance_ids is None:
            members = self.client.describe_groups([group])[group]["members"]
            wanted = [MemberToRemove(member_id=each["member_id"]) for each in members]
        else:
            wanted = [MemberToRemove(group_instance_id=each) for each in instance_ids]
        return refuse_errors(self.client.remove_group_members(group, wanted))

    def create_topic(self, topic, partitions, configs):
        self.client.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1, "configs": configs}})

    def delete_topic(self, topic):
        self.client.delete_topics([topic])

    def create_partitions(self, topic, count):
        self.client.create_partitions({topic: count})

    def describe_topic(self, topic):
        (found,) = self.client.describe_topics([topic])
        refuse_errors({topic: kafka.errors.for_code(found["error_code"])})
        return {"partitions": len(found["partitions"])}

    def describe_configs(self, type, name):  # noqa: A002 - the command's own word
        found = self.client.describe_configs([ConfigResource(type.upper(), name)], config_filter="all")
        return {key: value["value"] for key, value in found[type][name].items()}

    def alter_configs(self, topic, set, delete):  # noqa: A002 - the command's own word
        changes = {**set, **dict.fromkeys(delete, ("DELETE", None))}
        self.client.alter_configs([ConfigResource("TOPIC", topic, changes)])

    def describe_cluster(self):
        found = self.client.describe_cluster()
        brokers = [(each["broker_id"], each["host"], each["port"]) for each in found["brokers"]]
        return {"cluster_id": found["cluster_id"], "controller": found["controller_id"], "brokers": brokers}

    def topic_offsets(self, topic, timestamp):
        (about,) = self.client.describe_topics([topic])
        wanted = {TopicPartition(topic, each["partition_index"]): timestamp for each in about["partitions"]}
        return [(each.partition, at.offset) for each, at in self.client.list_partition_offsets(wanted).items()]

    def delete_records(self, topic, offsets):
        self.client.delete_records({TopicPartition(topic, number): before for number, before in offsets})


BY_NAME = {"OK": kafka.errors.NoError, **{each.__name__: each for each in kafka.errors.kafka_errors.values()}}


def raw(bytes_or_decoded: Any) -> str | None:
    """Bytes as they came, in base64; null where the client decoded them and the bytes are gone."""
    return base64.b64encode(bytes_or_decoded).decode() if isinstance(bytes_or_decoded, bytes) else None


def refuse_errors(results: dict[Any, type[KafkaError]]) -> None:
    """Raise the first error of what the client returns by name of the thing."""
    for about, error in results.items():
        if error is not kafka.errors.NoError:
            raise error(str(about))


def operate(config: lines.AdminConfig) -> None:
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=config.bootstrap, client_id=config.client_id)) as client:
        lines.serve(Operator(client), KafkaError)


if __name__ == "__main__":
    lines.run("kafka-python", kafka.__version__, consume=consume, produce=produce, operate=operate, failures=KafkaError)
