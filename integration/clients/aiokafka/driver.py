"""aiokafka as a consumer, a producer or an operator."""

import asyncio
import base64
from collections.abc import Coroutine
from typing import Any

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError, for_code

from integration.clients import lines

POLL_MS = 200
"""How soon a command is seen."""
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class Listener(ConsumerRebalanceListener):
    """Tells what it is told. It waits until what was reported is committed: the client rebalances in the background."""

    def __init__(self, busy: asyncio.Lock) -> None:
        self._busy = busy

    async def on_partitions_revoked(self, revoked):
        async with self._busy:
            lines.tell_partitions("revoked", revoked)

    async def on_partitions_assigned(self, assigned):
        lines.tell_partitions("assigned", assigned)


async def consume(config: lines.ConsumerConfig) -> None:
    found = lines.commands()
    busy = asyncio.Lock()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=config.bootstrap,
        client_id=config.client_id,
        group_id=config.group,
        group_instance_id=config.instance_id,
        partition_assignment_strategy=[ASSIGNORS[name] for name in config.assignors],
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        rebalance_timeout_ms=config.rebalance_timeout_ms,
        metadata_max_age_ms=config.metadata_max_age_ms,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    if config.pattern is None:
        consumer.subscribe(topics=config.topics, listener=Listener(busy))
    else:
        consumer.subscribe(pattern=config.pattern, listener=Listener(busy))
    await consumer.start()
    try:
        while found.empty():
            try:
                await step(consumer, busy)
            except KafkaError as error:
                lines.tell("error", message=repr(error), code=lines.code_of(error), fatal=False)
        assert found.get() == {"do": "close"}
    finally:
        await consumer.stop()


async def step(consumer: AIOKafkaConsumer, busy: asyncio.Lock) -> None:
    # Not under the lock: during a rebalance this waits until it is over.
    polled = await consumer.getmany(timeout_ms=POLL_MS)
    if not polled:
        return
    async with busy:
        records = [
            (each.topic, each.partition, each.offset, each.value.decode())
            for batch in polled.values()
            for each in batch
        ]
        behind = lines.tell_records(records)
        await consumer.commit({TopicPartition(topic, partition): offset for topic, partition, offset in behind})
        lines.tell("committed", offsets=behind)


async def produce(config: lines.ProducerConfig) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=config.bootstrap,
        client_id=config.client_id,
        acks="all" if config.acks == -1 else config.acks,
        enable_idempotence=bool(config.idempotence),  # its default is false
        compression_type=None if config.compression == "none" else config.compression,
    )
    await producer.start()
    try:
        sent = [
            await producer.send(config.topic, key=key, value=value, partition=partition)
            for partition, key, value in config.records()
        ]
        await producer.flush()
        for each in sent:
            await each
        lines.tell("produced", count=len(sent))
    finally:
        await producer.stop()


class Operator:
    """The admin's calls, named as the commands are; each command runs the loop until it is done."""

    def __init__(self, loop: asyncio.Runner, config: lines.AdminConfig, client: AIOKafkaAdminClient) -> None:
        self._loop, self._config, self.client = loop, config, client

    def _do(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run(call)

    def list_groups(self):
        return self._do(self.client.list_consumer_groups())

    def describe_group(self, group):
        ((found,),) = (answer.groups for answer in self._do(self.client.describe_consumer_groups([group])))
        code, _, state, protocol_type, protocol, members, *_ = found
        refuse(code, group)
        return {
            "state": state,
            "protocol_type": protocol_type,
            "protocol": protocol,
            "members": [
                {
                    "member_id": member_id,
                    "client_id": client_id,
                    "host": host,
                    "instance_id": None,  # DescribeGroups 4 gives it, the client speaks up to 3
                    "metadata": base64.b64encode(metadata).decode(),
                    "assignment": base64.b64encode(assignment).decode(),
                }
                for member_id, client_id, host, metadata, assignment in members
            ],
        }

    def list_offsets(self, group):
        found = self._do(self.client.list_consumer_group_offsets(group))
        return [(each.topic, each.partition, at.offset) for each, at in found.items()]

    def create_topic(self, topic, partitions, configs):
        new = NewTopic(topic, partitions, 1, topic_configs=configs)
        for name, code, *_ in self._do(self.client.create_topics([new])).topic_errors:
            refuse(code, name)

    def delete_topic(self, topic):
        for name, code in self._do(self.client.delete_topics([topic])).topic_error_codes:
            refuse(code, name)

    def create_partitions(self, topic, count):
        self._do(self.client.create_partitions({topic: NewPartitions(count)}))

    def describe_topic(self, topic):
        (found,) = self._do(self.client.describe_topics([topic]))
        refuse(found["error_code"], topic)
        return {"partitions": len(found["partitions"])}

    def describe_configs(self, type, name):  # noqa: A002 - the command's own word
        (answer,) = self._do(self.client.describe_configs([ConfigResource(ConfigResourceType[type.upper()], name)]))
        ((code, message, _, _, entries),) = answer.resources
        refuse(code, message)
        return {key: value for key, value, *_ in entries}

    def alter_configs(self, topic, set, delete):  # noqa: A002 - the command's own word
        # It has AlterConfigs alone, which puts back everything that is not named.
        if delete:
            raise lines.Unsupported
        (answer,) = self._do(self.client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, set)]))
        for code, message, *_ in answer.resources:
            refuse(code, message)

    def describe_cluster(self):
        found = self._do(self.client.describe_cluster())
        brokers = [(each["node_id"], each["host"], each["port"]) for each in found["brokers"]]
        return {"cluster_id": found["cluster_id"], "controller": found["controller_id"], "brokers": brokers}

    def topic_offsets(self, topic, timestamp):
        # The consumer's calls: the admin has none.
        return self._do(self._topic_offsets(topic, timestamp))

    async def _topic_offsets(self, topic: str, timestamp: int) -> list[tuple[int, int]]:
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=self._config.bootstrap, client_id=self._config.client_id)
        await consumer.start()
        try:
            partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
            if timestamp == -1:
                found = await consumer.end_offsets(partitions)
            elif timestamp == -2:
                found = await consumer.beginning_offsets(partitions)
            else:
                times = await consumer.offsets_for_times(dict.fromkeys(partitions, timestamp))
                found = {each: -1 if at is None else at.offset for each, at in times.items()}
        finally:
            await consumer.stop()
        return [(each.partition, offset) for each, offset in found.items()]

    def delete_records(self, topic, offsets):
        wanted = {TopicPartition(topic, number): RecordsToDelete(before) for number, before in offsets}
        self._do(self.client.delete_records(wanted))


def refuse(code: int, about: object) -> None:
    """Raise the client's error for a code of an answer that the client hands over unread."""
    if code:
        raise for_code(code)(about)


async def started(config: lines.AdminConfig) -> AIOKafkaAdminClient:
    client = AIOKafkaAdminClient(bootstrap_servers=config.bootstrap, client_id=config.client_id)
    await client.start()
    return client


def operate(config: lines.AdminConfig) -> None:
    with asyncio.Runner() as loop:
        client = loop.run(started(config))
        try:
            lines.serve(Operator(loop, config, client), KafkaError)
        finally:
            loop.run(client.close())


if __name__ == "__main__":
    lines.run(
        "aiokafka",
        aiokafka.__version__,
        consume=lambda config: asyncio.run(consume(config)),
        produce=lambda config: asyncio.run(produce(config)),
        operate=operate,
        failures=KafkaError,
    )
